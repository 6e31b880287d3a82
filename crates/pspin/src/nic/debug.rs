//! The card under a debugger.

use super::Pspin;
use crate::cluster::Work;
use crate::map;
use blocks::debug::Probe;

impl Pspin {
    /// Reports what every core does to its probe, which `probe` returns for a cluster and a core, and simulates in cycle order. It does
    /// not affect results.
    pub fn set_probes(&mut self, n_cores: u32, probe: impl Fn(u32, u32) -> Probe) {
        self.bound_run_ahead(1);
        for (id, cluster) in (0..).zip(&self.clusters) {
            (0..n_cores).for_each(|core| cluster.borrow_mut().set_probe(core, probe(id, core)));
        }
    }

    /// Program counter and general registers of a core.
    pub fn registers(&self, cluster: u32, core: u32) -> (u32, Vec<u32>) {
        let cluster = self.clusters[cluster as usize].borrow();
        let (pc, registers) = cluster.registers(core);
        (pc, registers.to_vec())
    }

    /// The handler that a core runs.
    pub fn work(&self, cluster: u32, core: u32) -> Option<Work> {
        self.clusters[cluster as usize].borrow().work(core)
    }

    /// Reads the task of a core at the address where the core reads it ([`map::TASK`]). No simulated time passes. Returns
    /// the number of bytes.
    pub fn read_task(&self, cluster: u32, core: u32, addr: u32, data: &mut [u8]) -> usize {
        self.clusters[cluster as usize].borrow().read_task(core, addr - map::TASK, data)
    }

    /// Converts an address of a core in `cluster` to one with the same meaning in every cluster: an address in the alias of
    /// the core's own L1 becomes the absolute address.
    pub fn absolute(&self, cluster: u32, addr: u32) -> u32 {
        let offset = addr.wrapping_sub(map::ALIAS_BASE);
        if offset < map::CLUSTER_PERIPHERALS { map::L1_BASE + cluster * map::L1_STRIDE + offset } else { addr }
    }

    /// Writes handler or packet memory, or a cluster's L1 at its own address. No simulated time passes. Returns false, and writes
    /// nothing, if no single memory has all of these addresses.
    pub fn write_memory(&mut self, addr: u32, data: &[u8]) -> bool {
        let offset = addr.wrapping_sub(map::L1_BASE);
        match self.clusters.get((offset / map::L1_STRIDE) as usize) {
            Some(cluster) => cluster.borrow_mut().write_l1(offset % map::L1_STRIDE, data),
            None => self.memories.borrow_mut().write(addr, data),
        }
    }
}
