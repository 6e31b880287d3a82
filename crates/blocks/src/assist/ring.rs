//! Pointers of a descriptor ring.

/// A descriptor ring in memory, as seen by the assist that consumes it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Ring {
    /// Address of entry 0.
    pub base: u64,
    /// Number of entries; 0 if the ring does not exist.
    pub entries: u32,
    /// Entries before this index are filled.
    pub producer: u32,
    /// Index of the next entry to read.
    pub next: u32,
}

impl Ring {
    pub fn new(entries: u32) -> Ring {
        Ring { entries, ..Ring::default() }
    }

    /// Sets the producer, modulo the number of entries.
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

    /// The index after `index`.
    pub fn after(&self, index: u32) -> u32 {
        (index + 1) % self.entries.max(1)
    }

    /// Address of an entry of `bytes` bytes.
    pub fn addr(&self, index: u32, bytes: u32) -> u64 {
        self.base.wrapping_add(u64::from(index) * u64::from(bytes))
    }
}
