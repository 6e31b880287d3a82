//! The engine that copies from the host to NIC memory.

use super::data_path::{Beat, DataPath, Register};
use super::{Open, PendingTransfer, Transfer, to_page_end};
use crate::host_link::{HOST_ADDRESS_REGISTER, HostPort, HostRead};
use crate::nhi::{NhiMaster, Ready, burst_bytes};
use crate::protocol::{CommandId, beats};
use crate::remap::Remap;
use blocks::activity::earliest;
use kernel::{Activity, Cycle};
use std::collections::VecDeque;

/// Beats between the engine's register and L1's answer: those in the register behind it, and the one that requests L1.
/// Source: PsPIN RTL a49fec8, `spill_register.sv`; `mem_to_banks` in `axi_to_mem.sv`.
const BEATS_TO_L1: u32 = 3;

/// Reads bursts from the host, shifts bytes to their positions in the memory's lines, and writes one line in each beat.
#[derive(Default)]
pub(super) struct FromHost {
    reads: VecDeque<PendingTransfer<u64>>,
    path: DataPath,
    addresses: Addresses,
    /// Beats that are sent and not answered, now and before this cycle.
    unanswered: u32,
    was_unanswered: u32,
    /// Commands that are not done, and their beats without a response.
    pub(super) open: Open,
}

impl FromHost {
    pub fn n_commands(&self) -> usize {
        self.open.commands.len()
    }

    pub fn start(&mut self, transfer: Transfer) {
        let Transfer { id, nic, host, size, issuer, start } = transfer;
        self.reads.push_back(PendingTransfer { addr: host, left: size, issuer, start });
        self.addresses.bursts.push_back(PendingTransfer { addr: nic, left: size, issuer, start });
        self.path.start(nic.into(), size, issuer);
        self.open.start(id, beats(nic, size));
    }

    /// A cycle begins.
    pub fn begin(&mut self) {
        self.path.begin();
        self.was_unanswered = self.unanswered;
    }

    /// Sends the next read burst to the host.
    pub fn read(&mut self, now: Cycle, host: &HostPort) -> Activity {
        let Some(part) = self.reads.front_mut() else { return Activity::Idle };
        if now < part.start {
            return Activity::Until(part.start);
        }
        if !host.reads.has_room() {
            return Activity::Idle;
        }
        let size = to_page_end(part.addr, part.left);
        host.reads.send_late(HostRead { addr: part.addr, size, issuer: part.issuer }, HOST_ADDRESS_REGISTER);
        part.addr = part.addr.wrapping_add(u64::from(size));
        part.left -= size;
        if part.left == 0 {
            self.reads.pop_front();
        }
        Activity::Busy
    }

    /// Moves beats on. Returns true if any moved.
    pub fn shift(&mut self, host: &HostPort) -> bool {
        let shifted = self.path.shift();
        let data = if self.path.has_room(Register::First) { host.data.take() } else { None };
        let has_come = data.is_some();
        if let Some(data) = data {
            self.path.enter(Register::First, data.bytes, data.last);
        }
        shifted || has_come
    }

    /// Sends the address of the next write burst, and the oldest beat that has passed all stages.
    pub fn send(&mut self, now: Cycle, nhi: &mut NhiMaster, remap: &mut Remap) -> Activity {
        let asking = self.addresses.ask(now, nhi, remap);
        earliest(asking, self.send_beat(now, nhi, remap))
    }

    fn send_beat(&mut self, now: Cycle, nhi: &mut NhiMaster, remap: &mut Remap) -> Activity {
        let Some(&Beat { addr, .. }) = self.path.first() else { return Activity::Idle };
        let addr = addr as u32;
        if !self.addresses.in_burst && !self.addresses.may_begin(now) {
            return Activity::Idle;
        }
        if nhi.is_l1(addr) && self.was_unanswered == BEATS_TO_L1 {
            // The answer of this cycle, if there is one, makes room in the next.
            return if self.unanswered < BEATS_TO_L1 { Activity::Busy } else { Activity::Idle };
        }
        match nhi.write_ready(now, addr).expect("addresses are checked before they are written") {
            Ready::Later => Activity::Idle,
            Ready::At(cycle) => Activity::Until(cycle),
            Ready::Now => {
                let Beat { bytes, last, .. } = self.path.take().expect("a beat waits");
                nhi.write(now, 0, addr, Box::from(&bytes[..]), last);
                self.addresses.sent(now, last, remap);
                self.unanswered += 1;
                Activity::Busy
            }
        }
    }

    /// A beat has its response. Returns the command that this ends.
    pub fn written(&mut self) -> Option<CommandId> {
        self.unanswered -= 1;
        self.open.done()
    }
}

/// The addresses of write bursts, which leave long before their data. A cluster takes an address together with the first beat.
///
/// Timing:  an address reaches the multiplexer before the clusters in the cycle after the previous address was taken;
///          its data pass the multiplexer from the next cycle on. So bursts of one beat take two cycles.
/// Source:  PsPIN RTL a49fec8, `axi_mux.sv`, i_w_fifo without FallThrough; `axi_to_mem.sv`.
#[derive(Default)]
struct Addresses {
    /// Transfers whose addresses are not all taken. The first one starts at its next address.
    bursts: VecDeque<PendingTransfer<u32>>,
    /// First cycle in which the next address may be at the multiplexer.
    from: Cycle,
    /// Cycle in which the next address reached the multiplexer.
    came: Option<Cycle>,
    /// The next address has passed the remapper.
    has_passed: bool,
    /// The first beat of a burst is sent, and the last is not.
    in_burst: bool,
}

impl Addresses {
    /// The next address advances as far as it can.
    fn ask(&mut self, now: Cycle, nhi: &NhiMaster, remap: &mut Remap) -> Activity {
        // Called even if no address waits, because the state of the other channel must be read when it changes.
        let passes = remap.passes();
        let Some(part) = self.bursts.front().filter(|_| !self.has_passed) else { return Activity::Idle };
        let from = part.start.max(self.from);
        if now < from {
            return Activity::Until(from);
        }
        // Data to L2 follow their address in the same cycle.
        let is_l1 = nhi.is_l1(part.addr);
        self.came.get_or_insert(if is_l1 { now } else { 0 });
        if is_l1 && !passes {
            return Activity::Idle;
        }
        self.has_passed = true;
        remap.set(is_l1);
        Activity::Busy
    }

    /// Returns true if the first beat of the next burst may be sent.
    fn may_begin(&self, now: Cycle) -> bool {
        self.has_passed && self.came.is_some_and(|came| came < now)
    }

    /// A beat is sent: the first one with its address.
    fn sent(&mut self, now: Cycle, last: bool, remap: &mut Remap) {
        if !self.in_burst {
            let part = self.bursts.front_mut().expect("a beat has an address");
            let size = burst_bytes(part.addr, part.left);
            (part.addr, part.left) = (part.addr.wrapping_add(size), part.left - size);
            if part.left == 0 {
                self.bursts.pop_front();
            }
            (self.from, self.came, self.has_passed) = (now + 1, None, false);
            remap.set(false);
        }
        self.in_burst = !last;
    }
}
