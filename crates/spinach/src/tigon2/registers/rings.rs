//! Pointers into the descriptor rings, as firmware accesses them.

/// A ring of descriptors below the transmit buffers, and its pointer registers.
///
/// A read of a pointer gives the address of its entry. A write takes an address or an offset and wraps after the last entry.
/// Source: docs/machines/tigon2.md.
#[derive(Clone, Debug)]
pub struct Ring {
    /// Offset of entry 0 from the private area's base.
    pub offset: u32,
    pub entries: u32,
    pub entry_bytes: u32,
    /// Indices of the three pointers.
    pub producer: u32,
    pub consumer: u32,
    pub reference: u32,
}

impl Ring {
    pub const fn new(offset: u32, entries: u32, entry_bytes: u32) -> Ring {
        Ring { offset, entries, entry_bytes, producer: 0, consumer: 0, reference: 0 }
    }

    /// Address of an entry; `private` is the base of the private area.
    pub fn addr(&self, private: u32, index: u32) -> u32 {
        private.wrapping_add(self.offset).wrapping_add(index * self.entry_bytes)
    }

    /// The entry that a written value refers to.
    pub fn index(&self, value: u32) -> u32 {
        value % (self.entries * self.entry_bytes) / self.entry_bytes
    }

    /// Returns true if the consumer has passed the reference: the entry at the reference is done.
    ///
    /// The reference may be ahead of the consumer, up to the producer: firmware sets it to the next entry whose completion it
    /// wants to know, and skips others. (If every entry completes at once, this is equivalent to the two being different.)
    pub fn has_passed(&self) -> bool {
        let left = |from: u32| (self.producer + self.entries - from) % self.entries;
        left(self.reference) > left(self.consumer)
    }

    /// Address of the entry to fill next; 0 if the ring is full.
    pub fn next_free(&self, private: u32) -> u32 {
        let is_full = (self.producer + 1) % self.entries == self.consumer;
        if is_full { 0 } else { self.addr(private, self.producer) }
    }
}
