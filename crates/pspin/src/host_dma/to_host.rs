//! The engine that copies from NIC memory to the host.

use super::{BEATS_ON_THE_WAY, BEATS_WAITING, DATA_TO_BEAT, Part, SOURCE_BURSTS, Transfer};
use crate::host_link::{HostBurst, HostPort, HostWrite};
use crate::nhi::{NhiMaster, PAGE_BYTES, Ready, burst_bytes};
use crate::protocol::{BEAT_BYTES, CommandId, beats};
use blocks::pcie::{Bytes, to_line_end};
use kernel::{Activity, Cycle};
use std::collections::VecDeque;

/// The answer to a read burst, or part of it, as far as its bytes are not taken.
struct Chunk {
    addr: u32,
    data: Box<[u8]>,
    taken: usize,
    /// The last of its burst.
    ends: bool,
    /// When its first and its last beat are here.
    first: Cycle,
    last: Cycle,
    /// Cycles until its bytes can leave as a beat.
    behind: Cycle,
}

/// Reads bursts, shifts bytes to where they lie in the host's lines, and writes them a line a beat.
#[derive(Default)]
pub(super) struct ToHost {
    /// Beats behind the first of an unaligned burst land too low.
    lands_low: bool,
    /// By how much those of the burst that is being written do; `None` before its first beat.
    low: Option<u64>,
    reads: VecDeque<Part<u32>>,
    /// Next address and bytes to come of each read burst that is not answered.
    reading: VecDeque<(u32, u32)>,
    chunks: VecDeque<Chunk>,
    /// Transfers whose write bursts the host has not been told of.
    addresses: VecDeque<Part<u64>>,
    writes: VecDeque<Part<u64>>,
    /// Beats on their way out, with the cycle in which they may leave.
    beats: VecDeque<(Cycle, HostWrite)>,
    /// Commands that are not done, and how many of their write bursts are not.
    open: VecDeque<(CommandId, u32)>,
}

/// Host bytes from `addr` on within the page.
fn to_page_end(addr: u64, left: u32) -> u32 {
    left.min(PAGE_BYTES - (addr % u64::from(PAGE_BYTES)) as u32)
}

impl ToHost {
    pub fn new(lands_low: bool) -> Self {
        ToHost { lands_low, ..ToHost::default() }
    }

    pub fn n_commands(&self) -> usize {
        self.open.len()
    }

    pub fn start(&mut self, transfer: Transfer) {
        let Transfer { id, nic, host, size, issuer, start } = transfer;
        let bursts = 1 + (size - to_page_end(host, size)).div_ceil(PAGE_BYTES);
        self.reads.push_back(Part { addr: nic, left: size, issuer, start });
        self.addresses.push_back(Part { addr: host, left: size, issuer, start });
        self.writes.push_back(Part { addr: host, left: size, issuer, start });
        self.open.push_back((id, bursts));
    }

    /// Sends the next read burst.
    pub fn read(&mut self, now: Cycle, nhi: &mut NhiMaster) -> Activity {
        let Some(part) = self.reads.front_mut() else { return Activity::Idle };
        let start = part.start - Cycle::from(nhi.is_through(part.addr));
        if now < start {
            return Activity::Until(start);
        }
        if self.reading.len() + self.chunks.iter().filter(|chunk| chunk.ends).count() >= SOURCE_BURSTS {
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

    /// Whether another beat may come from the source.
    pub fn has_room(&self) -> bool {
        self.chunks.len() < BEATS_WAITING
    }

    /// Takes the answer to the oldest read burst, or the next part of it.
    pub fn data(&mut self, now: Cycle, data: Box<[u8]>, last: Cycle, nhi: &NhiMaster) {
        let (next, left) = self.reading.front_mut().expect("data answer a read");
        assert!(!data.is_empty(), "addresses are checked before they are read");
        let addr = *next;
        (*next, *left) = (addr.wrapping_add(data.len() as u32), *left - data.len() as u32);
        let ends = *left == 0;
        if ends {
            self.reading.pop_front();
        }
        let behind = DATA_TO_BEAT - Cycle::from(nhi.is_through(addr));
        self.chunks.push_back(Chunk { addr, data, taken: 0, ends, first: now, last, behind });
    }

    /// Forms the next beat of the oldest transfer once all its bytes are here.
    pub fn form_beat(&mut self, now: Cycle) -> Activity {
        let Some(part) = self.writes.front_mut() else { return Activity::Idle };
        if self.beats.len() == BEATS_ON_THE_WAY {
            return Activity::Idle;
        }
        let size = to_line_end(part.addr, part.left);
        match here_at(&self.chunks, size as usize) {
            None => return Activity::Idle,
            Some(at) if at > now => return Activity::Until(at),
            Some(_) => {}
        }
        let mut bytes = Bytes::zeros(size as usize);
        let behind = take(&mut self.chunks, &mut bytes);
        let last = to_page_end(part.addr, part.left) == size;
        let addr = part.addr - self.low.unwrap_or(0);
        if last {
            self.low = None;
        } else if self.lands_low && self.low.is_none() {
            self.low = Some(part.addr % u64::from(BEAT_BYTES));
        }
        self.beats.push_back((now + behind, HostWrite { addr, bytes, last, issuer: part.issuer }));
        part.addr = part.addr.wrapping_add(u64::from(size));
        part.left -= size;
        if part.left == 0 {
            self.writes.pop_front();
        }
        Activity::Busy
    }

    /// Sends the oldest beat that has gone all its way.
    pub fn send(&mut self, now: Cycle, host: &HostPort) -> Activity {
        let Some(&(at, _)) = self.beats.front() else { return Activity::Idle };
        if now < at {
            return Activity::Until(at);
        }
        if !host.writes.has_room() {
            return Activity::Idle;
        }
        let (_, beat) = self.beats.pop_front().expect("a beat waits");
        host.writes.send(beat);
        Activity::Busy
    }

    /// A write burst has its response. Returns the command that this ends.
    pub fn written(&mut self) -> Option<CommandId> {
        let (id, bursts) = self.open.front_mut().expect("a response belongs to a command");
        *bursts -= 1;
        let ended = (*bursts == 0).then_some(*id);
        if ended.is_some() {
            self.open.pop_front();
        }
        ended
    }
}

impl Chunk {
    /// When the byte at `position` is here. Where the source paused within the burst is not known: only the first beat
    /// is taken to be early.
    fn byte_at(&self, position: usize) -> Cycle {
        let beat = (self.addr % BEAT_BYTES + position as u32) / BEAT_BYTES;
        let n = beats(self.addr, self.data.len() as u32);
        if beat == 0 { self.first } else { self.last - u64::from(n - 1 - beat) }
    }
}

/// When the next `size` bytes are all here, as far as that is known.
fn here_at(chunks: &VecDeque<Chunk>, mut size: usize) -> Option<Cycle> {
    for chunk in chunks {
        let left = chunk.data.len() - chunk.taken;
        if size <= left {
            return Some(chunk.byte_at(chunk.taken + size - 1));
        }
        size -= left;
    }
    None
}

/// Takes the bytes that `to` has room for. Cycles until they can leave.
fn take(chunks: &mut VecDeque<Chunk>, to: &mut [u8]) -> Cycle {
    let (mut filled, mut behind) = (0, 0);
    while filled < to.len() {
        let chunk = chunks.front_mut().expect("the bytes are here");
        behind = chunk.behind;
        let n = (chunk.data.len() - chunk.taken).min(to.len() - filled);
        to[filled..filled + n].copy_from_slice(&chunk.data[chunk.taken..chunk.taken + n]);
        chunk.taken += n;
        filled += n;
        if chunk.taken == chunk.data.len() {
            chunks.pop_front();
        }
    }
    behind
}
