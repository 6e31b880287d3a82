//! The engine that copies from the host to NIC memory.

use super::{BEATS_ON_THE_WAY, DATA_TO_BEAT, Part, Transfer};
use crate::host_link::{HOST_ADDRESS_REGISTER, HOST_BURSTS, HostData, HostPort, HostRead};
use crate::nhi::{NhiMaster, PAGE_BYTES, Ready, burst_bytes};
use crate::protocol::{CommandId, beats};
use blocks::pcie::to_line_end;
use kernel::{Activity, Cycle};
use std::collections::VecDeque;

/// A beat on its way to NIC memory.
struct Beat {
    /// When it may leave.
    at: Cycle,
    addr: u32,
    data: Box<[u8]>,
    /// The last of its burst.
    last: bool,
}

/// Reads bursts from the host, shifts bytes to where they lie in the memory's lines, and writes them a line a beat.
#[derive(Default)]
pub(super) struct FromHost {
    reads: VecDeque<Part<u64>>,
    /// Read bursts at the host whose data are not all here.
    at_host: u32,
    /// Bytes that are here.
    bytes: VecDeque<u8>,
    writes: VecDeque<Part<u32>>,
    beats: VecDeque<Beat>,
    /// Commands that are not done, and how many of their beats have no response.
    open: VecDeque<(CommandId, u32)>,
}

impl FromHost {
    pub fn n_commands(&self) -> usize {
        self.open.len()
    }

    pub fn start(&mut self, transfer: Transfer) {
        let Transfer { id, nic, host, size, issuer, start } = transfer;
        self.reads.push_back(Part { addr: host, left: size, issuer, start });
        self.writes.push_back(Part { addr: nic, left: size, issuer, start });
        self.open.push_back((id, beats(nic, size)));
    }

    /// Sends the next read burst to the host, unless more waits here than the engine holds.
    pub fn read(&mut self, now: Cycle, host: &HostPort) -> Activity {
        let Some(part) = self.reads.front_mut() else { return Activity::Idle };
        if now < part.start {
            return Activity::Until(part.start);
        }
        if self.at_host == HOST_BURSTS || self.bytes.len() > PAGE_BYTES as usize || !host.reads.has_room() {
            return Activity::Idle;
        }
        let size = part.left.min(PAGE_BYTES - (part.addr % u64::from(PAGE_BYTES)) as u32);
        host.reads.send_late(HostRead { addr: part.addr, size, issuer: part.issuer }, HOST_ADDRESS_REGISTER);
        self.at_host += 1;
        part.addr = part.addr.wrapping_add(u64::from(size));
        part.left -= size;
        if part.left == 0 {
            self.reads.pop_front();
        }
        Activity::Busy
    }

    /// Takes a beat of the oldest read burst.
    pub fn data(&mut self, data: HostData) {
        self.bytes.extend(data.bytes.iter());
        self.at_host -= u32::from(data.last);
    }

    /// Forms the next beat of the oldest transfer once all its bytes are here.
    pub fn form_beat(&mut self, now: Cycle) -> Activity {
        let Some(part) = self.writes.front_mut() else { return Activity::Idle };
        let size = to_line_end(u64::from(part.addr), part.left);
        if self.beats.len() == BEATS_ON_THE_WAY || self.bytes.len() < size as usize {
            return Activity::Idle;
        }
        let data = self.bytes.drain(..size as usize).collect();
        let last = burst_bytes(part.addr, part.left) == size;
        self.beats.push_back(Beat { at: now + DATA_TO_BEAT, addr: part.addr, data, last });
        part.addr = part.addr.wrapping_add(size);
        part.left -= size;
        if part.left == 0 {
            self.writes.pop_front();
        }
        Activity::Busy
    }

    /// Sends the oldest beat that has gone all its way.
    pub fn send(&mut self, now: Cycle, nhi: &mut NhiMaster) -> Activity {
        let Some(beat) = self.beats.front() else { return Activity::Idle };
        if now < beat.at {
            return Activity::Until(beat.at);
        }
        match nhi.write_ready(now, beat.addr).expect("addresses are checked before they are written") {
            Ready::Later => Activity::Idle,
            Ready::At(cycle) => Activity::Until(cycle),
            Ready::Now => {
                let Beat { addr, data, last, .. } = self.beats.pop_front().expect("a beat waits");
                nhi.write(now, 0, addr, data, last);
                Activity::Busy
            }
        }
    }

    /// A beat has its response. Returns the command that this ends.
    pub fn written(&mut self) -> Option<CommandId> {
        let (id, beats) = self.open.front_mut().expect("a response belongs to a command");
        *beats -= 1;
        let ended = (*beats == 0).then_some(*id);
        if ended.is_some() {
            self.open.pop_front();
        }
        ended
    }
}
