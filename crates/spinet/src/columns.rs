//! Columns of numbers as little-endian arrays, for writers of files.

/// Type of a column's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the types")]
pub enum Kind {
    U8,
    U32,
    I32,
    U64,
    I64,
}

impl Kind {
    /// As NumPy writes it.
    pub fn dtype(self) -> &'static str {
        match self {
            Kind::U8 => "|u1",
            Kind::U32 => "<u4",
            Kind::I32 => "<i4",
            Kind::U64 => "<u8",
            Kind::I64 => "<i8",
        }
    }
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Its description.
    pub about: &'static str,
}

/// A table of a kind of card.
pub struct TableSpec {
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
    /// Words for the numbers of a column; empty if its values are plain numbers.
    pub words: fn(&str) -> Vec<&'static str>,
}

/// A table: a line for each column with its name, type, meaning, and its value, computed from what a row is made of.
macro_rules! columns {
    ($(#[$about:meta])* $list:ident, $values:ident($row:ident: &$of:ident):
     $($name:literal $kind:ident $text:literal => $value:expr;)*) => {
        $(#[$about])*
        pub const $list: &[$crate::columns::Column] = &[$($crate::columns::Column {
            name: $name,
            kind: $crate::columns::Kind::$kind,
            about: $text,
        }),*];

        fn $values($row: &$of) -> [i64; $list.len()] {
            [$($value),*]
        }
    };
}
pub(crate) use columns;

/// Rows of numbers, kept by column.
pub struct Columns {
    columns: &'static [Column],
    data: Vec<Vec<u8>>,
}

impl Columns {
    /// No rows yet.
    pub fn new(columns: &'static [Column]) -> Self {
        Columns { columns, data: vec![Vec::new(); columns.len()] }
    }

    /// Adds a row: a number for each column, which its type holds.
    pub fn push(&mut self, row: &[i64]) {
        assert_eq!(row.len(), self.columns.len(), "a row has a value for each column");
        for ((column, data), value) in self.columns.iter().zip(&mut self.data).zip(row) {
            match column.kind {
                Kind::U8 => data.push(*value as u8),
                Kind::U32 | Kind::I32 => data.extend_from_slice(&(*value as u32).to_le_bytes()),
                Kind::U64 | Kind::I64 => data.extend_from_slice(&value.to_le_bytes()),
            }
        }
    }

    /// The rows since the last call.
    pub fn take(&mut self) -> Vec<(&'static str, Vec<u8>)> {
        self.columns.iter().zip(&mut self.data).map(|(column, data)| (column.name, std::mem::take(data))).collect()
    }
}
