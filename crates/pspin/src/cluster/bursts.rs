//! Bursts from outside to the cluster's L1.

use super::l1::L1;
use super::wide::{BeatRequester, BeatRequests, WidePorts};
use crate::lanes::bytes_of;
use crate::memories::BurstPort;
use crate::protocol::{BEAT_BYTES, Burst, BurstReply, beats};
use kernel::{Cycle, Ports};
use std::collections::VecDeque;

/// A burst in flight, with beats pending.
struct UnderWay {
    /// Position of its initiator among the ports.
    initiator: usize,
    tag: u32,
    offset: u32,
    size: u32,
    /// Data to write, or data that were read and are not sent yet.
    data: Vec<u8>,
    /// Each beat of the read gets its own response.
    in_parts: bool,
    /// First cycle in which the next beat may request L1.
    at: Cycle,
    /// Index of the next beat, and the number of beats.
    beat: u32,
    n_beats: u32,
}

impl UnderWay {
    /// Number of beats up to and including the next one that gets a response.
    fn to_answer(&self) -> u32 {
        if self.in_parts { 1 } else { self.n_beats - self.beat }
    }

    /// The line of the next beat, if the beat may request L1 in this cycle.
    fn next_line(&self, now: Cycle, ports: &[BurstPort]) -> Option<u32> {
        let may = self.at <= now && (self.to_answer() > 1 || ports[self.initiator].1.has_room());
        may.then(|| (self.offset & !(BEAT_BYTES - 1)) + self.beat * BEAT_BYTES)
    }
}

/// Reads and writes of L1 by the NIC-host interconnect. Each direction is served in the order of arrival. Each
/// initiator has few bursts in flight.
///
/// Timing:  the beats of a read may request L1 at once. The beats of a write arrive one a cycle, and each may request L1
///          when it arrives. Data and responses leave as L1 serves the beats. If an initiator uses the data only after
///          the last beat, all data leave with that beat.
/// Source:  PsPIN RTL a49fec8, `nhi_port_wrap.sv`, `axi_to_mem_interleaved.sv`.
/// Differs: initiators accept read data in every cycle. A write that stalls here does not stop its initiator from
///          writing elsewhere.
pub(super) struct Outside {
    /// Address of L1.
    base: u32,
    /// The bursts of each initiator, and their responses.
    ports: Vec<BurstPort>,
    reads: VecDeque<UnderWay>,
    writes: VecDeque<UnderWay>,
}

impl Outside {
    pub fn new(base: u32, ports: Vec<BurstPort>) -> Self {
        Outside { base, ports, reads: VecDeque::new(), writes: VecDeque::new() }
    }

    pub fn ports(&self, ports: &mut Ports) {
        for (i, (requests, replies)) in self.ports.iter().enumerate() {
            ports.input(&format!("bursts[{i}]"), requests);
            ports.output(&format!("burst_replies[{i}]"), replies);
        }
    }

    /// Returns true if no beats are pending.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }

    /// Takes the bursts that have arrived.
    #[inline]
    pub fn take_bursts(&mut self, now: Cycle) {
        for (initiator, (requests, _)) in self.ports.iter().enumerate() {
            while requests.is_due(now)
                && let Some(burst) = requests.take()
            {
                let (offset, size) = (burst.addr() - self.base, burst.size());
                let (queue, tag, data, in_parts) = match burst {
                    Burst::Read { tag, in_parts: true, .. } => (&mut self.reads, tag, Vec::new(), true),
                    Burst::Read { tag, .. } => (&mut self.reads, tag, Vec::with_capacity(size as usize), false),
                    Burst::Write { tag, data, .. } => (&mut self.writes, tag, data.into_vec(), false),
                };
                let n_beats = beats(offset, size);
                queue.push_back(UnderWay { initiator, tag, offset, size, data, in_parts, at: now, beat: 0, n_beats });
            }
        }
    }

    /// The first cycle after `now` in which an initiator may get a response, if no new burst arrives.
    pub fn answers_at(&self, now: Cycle) -> Cycle {
        let next = |queue: &VecDeque<UnderWay>| queue.front().map(|burst| now + Cycle::from(burst.to_answer()));
        next(&self.reads).into_iter().chain(next(&self.writes)).min().unwrap_or(Cycle::MAX)
    }

    #[inline(always)]
    pub fn requests(&self, now: Cycle) -> BeatRequests {
        let next = |queue: &VecDeque<UnderWay>| queue.front().and_then(|burst| burst.next_line(now, &self.ports));
        BeatRequests { write: next(&self.writes), read: next(&self.reads) }
    }

    /// Number of beats of the oldest read before the next one that gets a response; 0 if a write is pending.
    pub fn lone_beats(&self) -> u32 {
        if self.writes.is_empty() { self.reads.front().map_or(0, |burst| burst.to_answer() - 1) } else { 0 }
    }

    /// Does the same as [`Outside::granted`] for `n` beats of the oldest read, one a cycle from cycle `at` on. No other
    /// beat is requested in these cycles.
    pub fn granted_alone(&mut self, at: Cycle, n: u32, l1: &mut L1, wide: &mut WidePorts) {
        let burst = self.reads.front_mut().expect("a read under way");
        let (first, last) = (burst.beat, burst.beat + n - 1);
        let [start, end] = [first, last].map(|beat| bytes_of(burst.offset, burst.size, beat));
        l1.read(burst.offset + start.start, end.end - start.start, &mut burst.data);
        (burst.beat, burst.at) = (last + 1, burst.at + Cycle::from(n));
        let line = (burst.offset & !(BEAT_BYTES - 1)) + first * BEAT_BYTES;
        wide.serve_reads(at, l1, line, n);
    }

    /// L1 serves the beat that this side requests.
    #[inline(always)]
    pub fn granted(&mut self, now: Cycle, side: BeatRequester, l1: &mut L1) {
        let queue = if side == BeatRequester::Read { &mut self.reads } else { &mut self.writes };
        let burst = queue.front_mut().expect("a burst under way");
        let bytes = bytes_of(burst.offset, burst.size, burst.beat);
        let (tag, answers) = (burst.tag, burst.to_answer() == 1);
        burst.beat += 1;
        burst.at += 1;
        let last = burst.beat == burst.n_beats;
        let replies = &self.ports[burst.initiator].1;
        if side == BeatRequester::Read {
            l1.read(burst.offset + bytes.start, bytes.len() as u32, &mut burst.data);
            if answers {
                replies.send(BurstReply::Data { tag, data: std::mem::take(&mut burst.data).into(), last: now + 1 });
            }
        } else {
            l1.write(burst.offset + bytes.start, &burst.data[bytes.start as usize..bytes.end as usize]);
            if answers {
                replies.send(BurstReply::Written { tag, decoded: true });
            }
        }
        if last {
            queue.pop_front();
        }
    }
}
