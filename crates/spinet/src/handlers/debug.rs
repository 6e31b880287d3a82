//! PsPIN under a debugger: its HPUs are threads.

use super::{HandlerCard, cause_name};
use crate::debug::{CoreKind, Cores, Region, Work};
use crate::program::STAGES;
use blocks::debug::Probe;
use isa::riscv::cause::{ECALL_MACHINE, ECALL_USER};
use kernel::Clock;
use pspin::protocol::CONTEXT_CAUSE;
use pspin::{TASK_BYTES, map};
use std::collections::{BTreeMap, HashMap};

/// Positions of packets in their messages.
#[derive(Default)]
pub(super) struct Positions {
    /// Number of the first packet that was not examined.
    next: u64,
    /// Packets of each message so far, by context and message.
    counts: HashMap<(usize, u64), u64>,
    /// Positions of packets inside the card.
    inside: BTreeMap<u64, u64>,
}

impl HandlerCard {
    /// Cluster and core of a number.
    fn place(&self, core: usize) -> (u32, u32) {
        let n = self.checked.nic.cluster.n_cores;
        (core as u32 / n, core as u32 % n)
    }
}

impl Cores for HandlerCard {
    fn kind(&self) -> CoreKind {
        CoreKind::RiscV
    }

    fn names(&self) -> Vec<String> {
        let n = (self.checked.nic.n_clusters * self.checked.nic.cluster.n_cores) as usize;
        let name = |(cluster, core)| format!("HPU {cluster}.{core}");
        (0..n).map(|core| name(self.place(core))).collect()
    }

    fn observe(&mut self, probe: &dyn Fn(usize, Clock) -> Probe) {
        let (n, clock) = (self.checked.nic.cluster.n_cores, self.driver.clock());
        self.driver.nic.set_probes(n, |cluster, core| probe((cluster * n + core) as usize, clock));
    }

    fn look(&mut self) {
        let record = self.driver.record.borrow();
        let (inside, positions) = (&record.window.inside, &mut self.positions);
        if positions.next == inside.next() {
            return;
        }
        positions.inside.retain(|&packet, _| inside.get(packet).is_some());
        for packet in std::mem::replace(&mut positions.next, inside.next())..inside.next() {
            let Some(row) = inside.get(packet) else { continue };
            let count = positions.counts.entry((row.context, row.message)).or_default();
            positions.inside.insert(packet, *count);
            *count += 1;
            if row.is_last {
                positions.counts.remove(&(row.context, row.message));
            }
        }
    }

    fn registers(&self, core: usize) -> (u32, Vec<u32>) {
        let (cluster, core) = self.place(core);
        self.driver.nic.registers(cluster, core)
    }

    fn work(&self, core: usize) -> Option<Work> {
        let (cluster, core) = self.place(core);
        let work = self.driver.nic.work(cluster, core)?;
        let record = self.driver.record.borrow();
        let row = record.window.inside.get(work.packet)?;
        let position = self.positions.inside.get(&work.packet).copied();
        Some(Work {
            packet: row.frame,
            message: position.map(|position| (row.message, position)),
            stage: STAGES[work.stage as usize].0,
            entry: Some(work.handler.addr),
        })
    }

    fn state(&self, core: usize) -> String {
        self.driver.nic.cores()[core].waits.to_owned()
    }

    fn fault(&self, cause: u32) -> Option<String> {
        (![ECALL_USER, ECALL_MACHINE, CONTEXT_CAUSE].contains(&cause)).then(|| cause_name(cause))
    }

    fn read(&self, core: usize, addr: u32, data: &mut [u8]) -> usize {
        let (cluster, core) = self.place(core);
        if addr.wrapping_sub(map::TASK) < TASK_BYTES {
            return self.driver.nic.read_task(cluster, core, addr, data);
        }
        let addr = self.driver.nic.absolute(cluster, addr);
        if self.driver.nic.read_memory(addr, data) { data.len() } else { 0 }
    }

    fn write(&mut self, core: usize, addr: u32, data: &[u8]) -> usize {
        let addr = self.driver.nic.absolute(self.place(core).0, addr);
        if self.driver.nic.write_memory(addr, data) { data.len() } else { 0 }
    }

    fn regions(&self) -> Vec<Region> {
        let params = &self.checked.nic;
        let region = |name: &str, base, bytes| Region { name: name.to_owned(), base, bytes, is_writable: true };
        let l1 = params.cluster.l1_bytes;
        let of_clusters = (0..params.n_clusters).map(|id| {
            let base = map::L1_BASE + id * map::L1_STRIDE;
            Region { name: format!("L1 of cluster {id}"), base, bytes: l1, is_writable: true }
        });
        let others = [
            region("L1 of the core's own cluster", map::ALIAS_BASE, l1),
            region("L2 handler memory", map::L2_HANDLER_BASE, params.l2.handler_bytes),
            region("L2 packet memory", map::L2_PACKET_BASE, params.l2.packet_bytes),
            Region { is_writable: false, ..region("task of the core", map::TASK, TASK_BYTES) },
            Region { is_writable: false, ..region("program memory", map::PROGRAM_BASE, params.l2.program_bytes) },
        ];
        of_clusters.chain(others).collect()
    }
}
