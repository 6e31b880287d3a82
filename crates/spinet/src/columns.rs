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
    /// NumPy's name of the type.
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

/// Defines a table. Each column has a line: its name, its type, its meaning, and an expression that computes its value
/// from the data of a row.
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

/// Number of rows that are moved to the columns at once. Until then, they stay in the processor's first cache.
const BATCH: usize = 64;

/// Rows of numbers, kept by column.
pub struct Columns {
    columns: &'static [Column],
    data: Vec<Vec<u8>>,
    /// The last rows, one after the other. They are not in `data` yet.
    rows: Vec<i64>,
}

impl Columns {
    /// No rows yet.
    pub fn new(columns: &'static [Column]) -> Self {
        Columns { columns, data: vec![Vec::new(); columns.len()], rows: Vec::new() }
    }

    /// Adds a row: a number for each column, which its type holds.
    pub fn push(&mut self, row: &[i64]) {
        assert_eq!(row.len(), self.columns.len(), "a row has a value for each column");
        self.rows.extend_from_slice(row);
        if self.rows.len() >= BATCH * row.len() {
            self.distribute();
        }
    }

    /// Moves the last rows to their columns.
    fn distribute(&mut self) {
        for (position, (column, data)) in self.columns.iter().zip(&mut self.data).enumerate() {
            let values = self.rows.chunks_exact(self.columns.len()).map(|row| row[position]);
            match column.kind {
                Kind::U8 => append(data, values, |value| [value as u8]),
                Kind::U32 | Kind::I32 => append(data, values, |value| (value as u32).to_le_bytes()),
                Kind::U64 | Kind::I64 => append(data, values, i64::to_le_bytes),
            }
        }
        self.rows.clear();
    }

    /// The rows since the last call.
    pub fn take(&mut self) -> Vec<(&'static str, Vec<u8>)> {
        self.distribute();
        self.columns.iter().zip(&mut self.data).map(|(column, data)| (column.name, std::mem::take(data))).collect()
    }
}

/// Reserves memory for all numbers, then appends them as bytes.
fn append<const N: usize>(
    data: &mut Vec<u8>,
    values: impl ExactSizeIterator<Item = i64>,
    bytes_of: impl Fn(i64) -> [u8; N],
) {
    let start = data.len();
    data.resize(start + N * values.len(), 0);
    let (bytes, _) = data[start..].as_chunks_mut();
    for (bytes, value) in bytes.iter_mut().zip(values) {
        *bytes = bytes_of(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        Column { name: "small", kind: Kind::U8, about: "" },
        Column { name: "signed", kind: Kind::I32, about: "" },
        Column { name: "wide", kind: Kind::I64, about: "" },
    ];

    #[test]
    fn every_row_is_taken_once_and_in_order() {
        let mut columns = Columns::new(COLUMNS);
        // Less than a batch; several batches and a part; nothing.
        let mut next = 0;
        for n in [3, 2 * BATCH as i64 + 1, 0] {
            let rows = next..next + n;
            rows.clone().for_each(|row| columns.push(&[row % 256, -row, row << 32]));
            let column = |of: fn(i64) -> Vec<u8>| rows.clone().flat_map(of).collect::<Vec<u8>>();
            let want = vec![
                ("small", column(|row| vec![row as u8])),
                ("signed", column(|row| (-row as i32).to_le_bytes().into())),
                ("wide", column(|row| (row << 32).to_le_bytes().into())),
            ];
            assert_eq!(columns.take(), want);
            next += n;
        }
    }
}
