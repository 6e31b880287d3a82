//! Accesses from other clusters to L1 and to peripherals.

use super::Cluster;
use super::access::is_public_dma;
use super::dma_registers::Launcher;
use super::l1::{OUTSIDE_PORT, OUTSIDE_PORTS};
use crate::map;
use crate::pe::{PeOp, PeReply, PeRequest, RemoteReply, RemoteRequest};
use kernel::{Cycle, members};

/// Cycles from the arbiter of the cluster's bus to L1, for an address and for its data.
const ADDRESS_WAY: Cycle = 1;
const DATA_WAY: Cycle = 2;

/// The way of writes from the cluster's bus to L1, which is free again some cycles after the last write.
///
/// Timing:  an address takes one cycle from the arbiter to the spill register behind it, and its data take two, since they follow the
///          address. So the first address waits a cycle in the register before L1, which holds one and takes no other in the cycle
///          in which it leaves. The spill register fills, and the arbiter loses a cycle: in a row of writes every fifth comes a
///          cycle later than the four before it.
/// Source:  PsPIN RTL a49fec8, `cluster_bus_wrap.sv` (CUT_ALL_PORTS), `axi_mux.sv` (`w_fifo`), `spill_register.sv`,
///          `pulp_cluster.sv` (`i_axi_to_mem_aw_ft_reg`).
#[derive(Default)]
struct WriteWay {
    /// Cycle in which the last address left the arbiter.
    arbitrated: Cycle,
    /// Cycles in which the last address and the one before it entered the register before L1.
    entered: [Cycle; 2],
    /// Cycle in which the last address left it, with its data.
    asked: Cycle,
}

impl WriteWay {
    /// The cycles of the next write, which would ask L1 in cycle `due` if nothing were on the way: it leaves the arbiter, it enters the
    /// register, it can ask.
    fn next(&self, due: Cycle) -> [Cycle; 3] {
        let comes = due.saturating_sub(DATA_WAY).max(self.arbitrated + 1);
        let arbitrated = comes.max(self.entered[1] + 1);
        let entered = (arbitrated + ADDRESS_WAY).max(self.asked + 1);
        [arbitrated, entered, entered.max(comes + DATA_WAY)]
    }

    /// Returns true if the next write can ask in this cycle; then it does.
    fn passes(&mut self, due: Cycle, now: Cycle) -> bool {
        let [arbitrated, entered, asks] = self.next(due);
        let passes = asks <= now;
        if passes {
            *self = WriteWay { arbitrated, entered: [entered, self.entered[0]], asked: now };
        }
        passes
    }
}

/// The access under way.
///
/// Timing:  it asks for two banks, those of the 64 bits around its word, and is answered when it has had both. An AMO occupies both
///          for a cycle more.
/// Source:  PsPIN RTL a49fec8, `axi_to_mem.sv` (`mem_to_banks`), `amo_shim.sv`.
#[derive(Default)]
pub(super) struct Remote {
    writes: WriteWay,
    request: Option<RemoteRequest>,
    /// Bit set of the ports that ask for their banks.
    asking: u32,
    /// The word read, once its bank was granted.
    value: u32,
}

impl Remote {
    pub(super) fn is_busy(&self) -> bool {
        self.request.is_some()
    }
}

impl Cluster {
    /// An access from another cluster joins the requests of the cores.
    #[inline(never)]
    pub(super) fn admit_remote(&mut self, now: Cycle) {
        self.take_remote(now);
        if let Some(RemoteRequest { request, .. }) = &self.remote.request {
            let bank = self.l1.bank(request.addr) as u8;
            for port in members(self.remote.asking.into()) {
                let bank = bank & !1 | (port - OUTSIDE_PORT) as u8;
                self.cores.banks[port as usize] = bank;
                self.cores.ready.request(port, bank, now, now);
            }
        }
    }

    /// Takes an access from another cluster. An access to L1 asks for its banks; a peripheral answers in this cycle, except for a
    /// launch.
    fn take_remote(&mut self, now: Cycle) {
        if !self.remotes.0.is_due(now) || self.remote.is_busy() || !self.remotes.1.has_room() {
            return;
        }
        let Some(next) = self.remotes.0.peek().map(|remote| *remote) else { return };
        let RemoteRequest { request: PeRequest { addr, op, .. }, .. } = next;
        let is_l1 = (addr - map::L1_BASE) % map::L1_STRIDE < map::CLUSTER_PERIPHERALS;
        let to_public = !is_l1 && is_public_dma(addr);
        // While a remote launch is held, all remote accesses wait. While any launch is held, accesses to the public
        // registers wait.
        let waits = self.public_launch.as_ref().is_some_and(|held| to_public || matches!(held, Launcher::Remote(_)));
        if waits || is_l1 && op != PeOp::Load && !self.remote.writes.passes(self.remotes.0.due(), now) {
            return;
        }
        self.remotes.0.take();
        if is_l1 {
            self.remote.request = Some(next);
            self.remote.asking = OUTSIDE_PORTS;
        } else if !(to_public && self.hold_public(Launcher::Remote(next), addr & 0x3c, op)) {
            let value = self.slow_register(0, addr, op, now);
            self.answer_remote(&next, value);
        }
    }

    /// The access from another cluster gets the bank of this port.
    pub(super) fn grant_remote(&mut self, port: u32, now: Cycle) {
        let remote = self.remote.request.expect("an access that asked");
        let PeRequest { addr, op, .. } = remote.request;
        let bank = u32::from(self.cores.banks[port as usize]);
        if bank == self.l1.bank(addr) {
            self.remote.value = self.word_on_l1(addr, op, now);
        } else if matches!(op, PeOp::Amo { .. }) {
            self.l1.commit(now, bank);
        }
        self.remote.asking &= !(1 << port);
        if self.remote.asking == 0 {
            self.remote.request = None;
            self.answer_remote(&remote, self.remote.value);
        }
    }

    pub(super) fn answer_remote(&mut self, remote: &RemoteRequest, value: u32) {
        let reply = PeReply { core: remote.request.core, value };
        self.remotes.1.send(RemoteReply { to: remote.from, reply, op: remote.request.op });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cycles in which writes ask that would ask in these cycles if each were alone.
    fn asks(due: &[Cycle]) -> Vec<Cycle> {
        let mut way = WriteWay::default();
        let ask = |&due: &Cycle| {
            let at = way.next(due)[2];
            assert!(at == due || !way.passes(due, at - 1), "not before {at}");
            assert!(way.passes(due, at), "in {at}");
            at
        };
        due.iter().map(ask).collect()
    }

    #[test]
    fn in_a_row_of_writes_every_fifth_comes_a_cycle_later() {
        let row: Vec<Cycle> = (100..109).collect();
        assert_eq!(asks(&row), [100, 101, 102, 103, 105, 106, 107, 108, 110]);
    }

    #[test]
    fn a_pause_of_a_cycle_empties_the_way() {
        assert_eq!(asks(&[100, 101, 102, 103, 105, 106, 107, 108]), [100, 101, 102, 103, 105, 106, 107, 108]);
        assert_eq!(asks(&[100, 102, 104, 106, 108, 110]), [100, 102, 104, 106, 108, 110]);
    }
}
