//! The bytes of one L2 memory, and who uses its ports.

use blocks::arbiter::RoundRobinTree;
use kernel::Cycle;

/// One direction of one port of a memory: 64 bytes a cycle.
#[derive(Default)]
pub(super) struct Side {
    /// First cycle in which it is free.
    pub(super) free: Cycle,
    /// Whose turn it is: single accesses by cluster, DMA engines by cluster, and between the two; or initiators.
    pub(super) pe: RoundRobinTree,
    pub(super) dma: RoundRobinTree,
    pub(super) turn: RoundRobinTree,
}

/// One L2 memory.
pub(super) struct Memory {
    pub(super) base: u32,
    pub(super) bytes: Vec<u8>,
    /// Towards the clusters: reads, writes.
    pub(super) near: [Side; 2],
    /// Towards NIC and host: reads, writes.
    pub(super) far: [Side; 2],
}

impl Memory {
    pub(super) fn new(base: u32, bytes: u32) -> Self {
        Memory { base, bytes: vec![0; bytes as usize], near: Default::default(), far: Default::default() }
    }

    pub(super) fn contains(&self, addr: u32) -> bool {
        ((addr.wrapping_sub(self.base)) as usize) < self.bytes.len()
    }

    pub(super) fn word(&self, addr: u32) -> u32 {
        let at = (addr - self.base) as usize;
        u32::from_le_bytes([self.bytes[at], self.bytes[at + 1], self.bytes[at + 2], self.bytes[at + 3]])
    }

    pub(super) fn set_word(&mut self, addr: u32, word: u32) {
        let at = (addr - self.base) as usize;
        self.bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }

    /// A part of a burst beyond the end reads as 0 and is not written; initiators stay within.
    pub(super) fn read(&self, addr: u32, size: u32) -> Box<[u8]> {
        let start = (addr - self.base) as usize;
        let end = (start + size as usize).min(self.bytes.len());
        let mut data = vec![0; size as usize];
        data[..end - start].copy_from_slice(&self.bytes[start..end]);
        data.into_boxed_slice()
    }

    pub(super) fn write(&mut self, addr: u32, data: &[u8]) {
        let start = (addr - self.base) as usize;
        let end = (start + data.len()).min(self.bytes.len());
        self.bytes[start..end].copy_from_slice(&data[..end - start]);
    }
}
