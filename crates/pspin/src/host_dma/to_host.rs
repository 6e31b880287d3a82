//! The engine that copies from NIC memory to the host.

use super::data_path::{Beat, DataPath, Register};
use super::{Open, PendingTransfer, SOURCE_BURSTS, Transfer, n_bursts, to_page_end};
use crate::host_link::{HostBurst, HostPort, HostWrite};
use crate::nhi::{NhiMaster, Ready, burst_bytes};
use crate::protocol::{BEAT_BYTES, BurstReply, CommandId};
use blocks::pcie::Bytes;
use kernel::{Activity, Cycle};
use std::collections::VecDeque;

/// Reads bursts, shifts bytes to their positions in the host's lines, and writes one line in each beat.
#[derive(Default)]
pub(super) struct ToHost {
    /// Beats after the first of an unaligned burst go to addresses that are too low.
    lands_low: bool,
    /// Number of bytes by which addresses of the current burst are too low; `None` until its first beat is sent.
    low: Option<u64>,
    reads: VecDeque<PendingTransfer<u32>>,
    /// Next address and bytes to come of each read burst that is not answered.
    reading: VecDeque<(u32, u32)>,
    /// Transfers whose write bursts are not yet sent to the host.
    addresses: VecDeque<PendingTransfer<u64>>,
    path: DataPath,
    /// Commands that are not done, and their write bursts without a response.
    pub(super) open: Open,
}

impl ToHost {
    pub fn new(lands_low: bool) -> Self {
        ToHost { lands_low, ..ToHost::default() }
    }

    pub fn n_commands(&self) -> usize {
        self.open.commands.len()
    }

    pub fn start(&mut self, transfer: Transfer) {
        let Transfer { id, nic, host, size, issuer, start } = transfer;
        let bursts = n_bursts(host, size);
        self.reads.push_back(PendingTransfer { addr: nic, left: size, issuer, start });
        self.addresses.push_back(PendingTransfer { addr: host, left: size, issuer, start });
        self.path.start(host, size, issuer);
        self.open.start(id, bursts);
    }

    /// Sends the next read burst.
    pub fn read(&mut self, now: Cycle, nhi: &mut NhiMaster) -> Activity {
        let Some(part) = self.reads.front_mut() else { return Activity::Idle };
        let start = part.start - Cycle::from(nhi.is_through(part.addr));
        if now < start {
            return Activity::Until(start);
        }
        if self.reading.len() + self.path.n_ending() >= SOURCE_BURSTS {
            return Activity::Idle;
        }
        match nhi.read_ready(now, part.addr).expect("addresses are checked before they are read") {
            Ready::Later => return Activity::Idle,
            Ready::At(cycle) => return Activity::Until(cycle),
            Ready::Now => {}
        }
        let size = burst_bytes(part.addr, part.left);
        nhi.read(now, 0, part.addr, size);
        self.reading.push_back((part.addr, size));
        part.addr = part.addr.wrapping_add(size);
        part.left -= size;
        if part.left == 0 {
            self.reads.pop_front();
        }
        Activity::Busy
    }

    /// Sends the address of the next write burst, which leaves together with the first read burst and does not wait for data.
    pub fn announce(&mut self, now: Cycle, host: &HostPort) -> Activity {
        let Some(part) = self.addresses.front_mut() else { return Activity::Idle };
        // The channel is the last of the registers.
        let start = part.start - 1;
        if now < start {
            return Activity::Until(start);
        }
        if !host.bursts.has_room() {
            return Activity::Idle;
        }
        host.bursts.send(HostBurst);
        let size = to_page_end(part.addr, part.left);
        part.addr = part.addr.wrapping_add(u64::from(size));
        part.left -= size;
        if part.left == 0 {
            self.addresses.pop_front();
        }
        Activity::Busy
    }

    /// A cycle begins.
    pub fn begin(&mut self) {
        self.path.begin();
    }

    /// Moves beats on. Returns true if any moved.
    pub fn shift(&mut self, now: Cycle, nhi: &mut NhiMaster) -> bool {
        let changed = self.path.shift();
        let Some(&(addr, _)) = self.reading.front() else { return changed };
        let at = if nhi.is_through(addr) { Register::Second } else { Register::First };
        if self.path.has_room(at)
            && let Some(reply) = nhi.reply(now)
        {
            let BurstReply::Data { data, .. } = reply else {
                unreachable!("this unit is told each beat that it reads")
            };
            let (bytes, ends) = self.data(&data);
            self.path.enter(at, bytes, ends);
            return true;
        }
        changed
    }

    /// Receives the next beat of the oldest read burst: its bytes, and true if it is the last.
    fn data(&mut self, data: &[u8]) -> (Bytes, bool) {
        assert!(!data.is_empty(), "addresses are checked before they are read");
        let (next, left) = self.reading.front_mut().expect("data answer a read");
        (*next, *left) = (next.wrapping_add(data.len() as u32), *left - data.len() as u32);
        let ends = *left == 0;
        if ends {
            self.reading.pop_front();
        }
        (Bytes::from_slice(data), ends)
    }

    /// Sends the oldest beat that has passed all stages.
    pub fn send(&mut self, host: &HostPort) -> bool {
        if self.path.first().is_none() || !host.writes.has_room() {
            return false;
        }
        let Beat { addr, bytes, last, issuer } = self.path.take().expect("a beat waits");
        let low = self.low.unwrap_or(0);
        if last {
            self.low = None;
        } else if self.lands_low && self.low.is_none() {
            self.low = Some(addr % u64::from(BEAT_BYTES));
        }
        host.writes.send(HostWrite { addr: addr - low, bytes, last, issuer });
        true
    }

    /// A write burst has its response. Returns the command that this ends.
    pub fn written(&mut self) -> Option<CommandId> {
        self.open.done()
    }
}
