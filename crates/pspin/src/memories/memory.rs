//! The bytes of one L2 memory, and who uses its ports.

use blocks::memory::Store;
use blocks::policy::RoundRobinTree;
use kernel::Cycle;

/// One direction of one port of a memory: 64 bytes a cycle.
#[derive(Default)]
pub(super) struct Side {
    /// First cycle in which it is free.
    pub(super) free: Cycle,
    /// Whose turn it is: DMA engines by cluster, and between them and single accesses; or initiators.
    pub(super) dma: RoundRobinTree,
    pub(super) turn: RoundRobinTree,
}

/// One L2 memory.
pub(super) struct Memory {
    store: Store,
    /// Towards the clusters: reads, writes.
    pub(super) near: [Side; 2],
    /// Towards NIC and host: reads, writes.
    pub(super) far: [Side; 2],
}

impl Memory {
    pub(super) fn new(base: u32, bytes: u32) -> Self {
        Memory { store: Store::new(base.into(), bytes), near: Default::default(), far: Default::default() }
    }

    pub(super) fn contains(&self, addr: u32) -> bool {
        self.store.contains(addr.into())
    }

    pub(super) fn word(&self, addr: u32) -> u32 {
        let bytes = self.store.get(addr.into(), 4).expect("initiators stay within");
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    pub(super) fn set_word(&mut self, addr: u32, word: u32) {
        let bytes = self.store.get_mut(addr.into(), 4).expect("initiators stay within");
        bytes.copy_from_slice(&word.to_le_bytes());
    }

    /// A part of a burst beyond the end reads as 0 and is not written; initiators stay within.
    pub(super) fn read(&self, addr: u32, size: u32) -> Box<[u8]> {
        let there = size.min(self.store.behind(addr.into()));
        let mut data = vec![0; size as usize];
        data[..there as usize].copy_from_slice(self.store.get(addr.into(), there).expect("these bytes are there"));
        data.into_boxed_slice()
    }

    pub(super) fn write(&mut self, addr: u32, data: &[u8]) {
        let there = (data.len() as u32).min(self.store.behind(addr.into()));
        let bytes = self.store.get_mut(addr.into(), there).expect("these bytes are there");
        bytes.copy_from_slice(&data[..there as usize]);
    }
}
