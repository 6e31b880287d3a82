//! Parts of a program, by address or by slot index.

/// A range of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CodeWindow {
    /// First address.
    pub base: u32,
    /// Size in bytes.
    pub bytes: u32,
}

impl CodeWindow {
    /// All addresses except the last.
    pub const ALL: CodeWindow = CodeWindow { base: 0, bytes: u32::MAX };

    /// Returns true if an address is inside.
    #[inline]
    pub fn holds(self, addr: u32) -> bool {
        addr.wrapping_sub(self.base) < self.bytes
    }
}

/// A range of consecutive slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stretch {
    /// Index of the first.
    pub first: usize,
    /// Number of slots.
    pub n: usize,
    /// Index of the line after them, counted from the program's first.
    pub end_line: usize,
}

impl Stretch {
    /// Returns true if a slot is inside.
    #[inline]
    pub fn holds(self, at: usize) -> bool {
        at.wrapping_sub(self.first) < self.n
    }
}
