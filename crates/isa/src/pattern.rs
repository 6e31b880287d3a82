//! Bit patterns that identify an instruction.

/// The fixed bits of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Fixed bits.
    pub mask: u32,
    /// Values of the fixed bits; all other bits are 0.
    pub value: u32,
    /// Length of the instruction in bytes: 2 or 4.
    pub len: u8,
}

impl Pattern {
    /// Parses a pattern of 16 or 32 characters: `0` and `1` are fixed, `.` is free, spaces are ignored.
    ///
    /// # Panics
    ///
    /// On any other text. Patterns are constants, so a wrong one fails to compile.
    pub const fn parse(text: &str) -> Pattern {
        let text = text.as_bytes();
        let (mut mask, mut value, mut n_bits, mut i) = (0, 0, 0, 0);
        while i < text.len() {
            if text[i] != b' ' {
                let (fixed, one) = match text[i] {
                    b'0' => (1, 0),
                    b'1' => (1, 1),
                    b'.' => (0, 0),
                    _ => panic!("a pattern consists of 0, 1, dots and spaces"),
                };
                mask = mask << 1 | fixed;
                value = value << 1 | one;
                n_bits += 1;
            }
            i += 1;
        }
        assert!(n_bits == 16 || n_bits == 32, "a pattern has 16 or 32 bits");
        Pattern { mask, value, len: n_bits / 8 }
    }

    /// Returns true if `word` matches.
    pub const fn matches(&self, word: u32) -> bool {
        word & self.mask == self.value
    }
}
