//! Parts of a program: by their addresses, and by the slots that they hold.

/// A range of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Window {
    /// First byte.
    pub base: u32,
    /// Bytes.
    pub bytes: u32,
}

impl Window {
    /// All addresses but the last.
    pub const ALL: Window = Window { base: 0, bytes: u32::MAX };

    /// Whether an address is within.
    #[inline]
    pub fn holds(self, addr: u32) -> bool {
        addr.wrapping_sub(self.base) < self.bytes
    }
}

/// Slots that follow one another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stretch {
    /// Position of the first.
    pub first: usize,
    /// How many.
    pub n: usize,
    /// The line behind them, counted from the program's first.
    pub end_line: usize,
}

impl Stretch {
    /// Whether the slot at a position is among them.
    #[inline]
    pub fn holds(self, at: usize) -> bool {
        at.wrapping_sub(self.first) < self.n
    }
}
