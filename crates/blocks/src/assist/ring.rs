//! Pointers into a ring of descriptors, and reading descriptors ahead.

/// A ring of descriptors in memory, as an assist that consumes it sees it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Ring {
    /// Address of entry 0.
    pub base: u64,
    /// How many entries it has; 0 where there is no such ring.
    pub entries: u32,
    /// Entries before this one are filled.
    pub producer: u32,
    /// The next entry to read.
    pub next: u32,
}

impl Ring {
    pub fn new(entries: u32) -> Ring {
        Ring { entries, ..Ring::default() }
    }

    /// Sets how far it is filled; what is not an entry counts modulo their number.
    pub fn fill_to(&mut self, index: u32) {
        self.producer = index % self.entries.max(1);
    }

    /// Sets the next entry to read.
    pub fn go_to(&mut self, index: u32) {
        self.next = index % self.entries.max(1);
    }

    pub fn is_empty(&self) -> bool {
        self.producer == self.next
    }

    /// The entry behind `index`.
    pub fn after(&self, index: u32) -> u32 {
        (index + 1) % self.entries.max(1)
    }

    /// Address of an entry of `bytes` bytes.
    pub fn addr(&self, index: u32, bytes: u32) -> u64 {
        self.base.wrapping_add(u64::from(index) * u64::from(bytes))
    }
}
