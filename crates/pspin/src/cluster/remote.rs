//! Accesses from other clusters to L1 and to peripherals.

use super::cores::Cores;
use super::dma_frontend::{DmaFrontend, is_public};
use super::l1::{L1, OUTSIDE_PORT, OUTSIDE_PORTS};
use crate::map;
use crate::pe::{PeOp, PeReply, PeRequest, RemoteReply, RemoteRequest};
use kernel::{Cycle, Ports, Rx, Tx, members};

/// Cycles from the arbiter of the cluster's bus to L1, for an address and for its data.
const ADDRESS_WAY: Cycle = 1;
const DATA_WAY: Cycle = 2;

/// The path of writes from the cluster's bus to L1. It is free again some cycles after the last write.
///
/// Timing:  an address takes one cycle from the arbiter to the spill register behind it, and its data take two, since they follow the
///          address. So the first address waits a cycle in the register before L1. This register holds one address, and
///          accepts no other in the cycle in which it leaves. The spill register fills, and the arbiter loses a cycle:
///          in a series of writes, every fifth is delayed by a cycle more than the four before it.
/// Source:  PsPIN RTL a49fec8, `cluster_bus_wrap.sv` (CUT_ALL_PORTS), `axi_mux.sv` (`w_fifo`), `spill_register.sv`,
///          `pulp_cluster.sv` (`i_axi_to_mem_aw_ft_reg`).
#[derive(Default)]
struct WriteWay {
    /// Cycle in which the last address left the arbiter.
    arbitrated: Cycle,
    /// Cycles in which the last address and the one before it entered the register before L1.
    entered: [Cycle; 2],
    /// Cycle in which the last address left it, with its data.
    requested: Cycle,
}

impl WriteWay {
    /// The cycles in which the next write leaves the arbiter, enters the register, and can request L1. If no other write
    /// were on the way, it would request L1 in cycle `due`.
    fn next(&self, due: Cycle) -> [Cycle; 3] {
        let comes = due.saturating_sub(DATA_WAY).max(self.arbitrated + 1);
        let arbitrated = comes.max(self.entered[1] + 1);
        let entered = (arbitrated + ADDRESS_WAY).max(self.requested + 1);
        [arbitrated, entered, entered.max(comes + DATA_WAY)]
    }

    /// Returns true if the next write can request L1 in this cycle; then it does.
    fn passes(&mut self, due: Cycle, now: Cycle) -> bool {
        let [arbitrated, entered, requested] = self.next(due);
        let passes = requested <= now;
        if passes {
            *self = WriteWay { arbitrated, entered: [entered, self.entered[0]], requested: now };
        }
        passes
    }
}

/// Accesses from other clusters, one at a time.
///
/// Timing:  an access to L1 requests two banks, those of the 64 bits around its word, and is answered when it has accessed both.
///          An AMO occupies both for a further cycle.
/// Source:  PsPIN RTL a49fec8, `axi_to_mem.sv` (`mem_to_banks`), `amo_shim.sv`.
pub(super) struct Remote {
    link: (Rx<RemoteRequest>, Tx<RemoteReply>),
    writes: WriteWay,
    /// The access under way to L1.
    request: Option<RemoteRequest>,
    /// Bit set of the ports that request their banks.
    requesting: u32,
    /// The word read, once its bank was granted.
    value: u32,
}

impl Remote {
    pub fn new(link: (Rx<RemoteRequest>, Tx<RemoteReply>)) -> Self {
        Remote { link, writes: WriteWay::default(), request: None, requesting: 0, value: 0 }
    }

    pub fn ports(&self, ports: &mut Ports) {
        ports.input("remote_requests", &self.link.0);
        ports.output("remote_replies", &self.link.1);
    }

    /// Returns true if it may act in the next cycle.
    pub fn is_pressing(&self, now: Cycle) -> bool {
        self.request.is_some() || self.link.0.is_due(now)
    }

    /// Takes an access. Returns it if it is for a peripheral.
    pub fn take(&mut self, now: Cycle, dma: &DmaFrontend) -> Option<RemoteRequest> {
        if !self.link.0.is_due(now) || self.request.is_some() || !self.link.1.has_room() {
            return None;
        }
        let next = self.link.0.peek().map(|remote| *remote)?;
        let RemoteRequest { request: PeRequest { addr, op, .. }, .. } = next;
        let is_l1 = (addr - map::L1_BASE) % map::L1_STRIDE < map::CLUSTER_PERIPHERALS;
        if dma.holds_back_remote(!is_l1 && is_public(addr))
            || is_l1 && op != PeOp::Load && !self.writes.passes(self.link.0.due(), now)
        {
            return None;
        }
        self.link.0.take();
        if is_l1 {
            (self.request, self.requesting) = (Some(next), OUTSIDE_PORTS);
            return None;
        }
        Some(next)
    }

    /// The access under way to L1 joins the requests of the cores.
    pub fn request_banks(&self, now: Cycle, cores: &mut Cores, l1: &L1) {
        let Some(RemoteRequest { request, .. }) = &self.request else { return };
        let bank = l1.bank(request.addr) as u8;
        for port in members(self.requesting.into()) {
            let bank = bank & !1 | (port - OUTSIDE_PORT) as u8;
            cores.banks[port as usize] = bank;
            cores.ready.request(port, bank, now, now);
        }
    }

    /// The access gets the bank of this port.
    #[inline(never)]
    pub fn grant(&mut self, port: u32, bank: u32, l1: &mut L1, now: Cycle) {
        let remote = self.request.expect("an access that requests banks");
        let PeRequest { addr, op, .. } = remote.request;
        if bank == l1.bank(addr) {
            self.value = l1.access(addr, op, now);
        } else if matches!(op, PeOp::Amo { .. }) {
            l1.commit(now, bank);
        }
        self.requesting &= !(1 << port);
        if self.requesting == 0 {
            self.request = None;
            self.answer(&remote, self.value);
        }
    }

    pub fn answer(&self, remote: &RemoteRequest, value: u32) {
        let reply = PeReply { core: remote.request.core, value };
        self.link.1.send(RemoteReply { to: remote.from, reply, op: remote.request.op });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cycles in which writes request L1. `due` has the cycle in which each would request L1 if it were the only write.
    fn requests(due: &[Cycle]) -> Vec<Cycle> {
        let mut way = WriteWay::default();
        let request = |&due: &Cycle| {
            let at = way.next(due)[2];
            assert!(at == due || !way.passes(due, at - 1), "not before {at}");
            assert!(way.passes(due, at), "in {at}");
            at
        };
        due.iter().map(request).collect()
    }

    #[test]
    fn in_a_row_of_writes_every_fifth_comes_a_cycle_later() {
        let row: Vec<Cycle> = (100..109).collect();
        assert_eq!(requests(&row), [100, 101, 102, 103, 105, 106, 107, 108, 110]);
    }

    #[test]
    fn a_pause_of_a_cycle_empties_the_way() {
        assert_eq!(requests(&[100, 101, 102, 103, 105, 106, 107, 108]), [100, 101, 102, 103, 105, 106, 107, 108]);
        assert_eq!(requests(&[100, 102, 104, 106, 108, 110]), [100, 102, 104, 106, 108, 110]);
    }
}
