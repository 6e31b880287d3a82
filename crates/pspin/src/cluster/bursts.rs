//! Bursts from outside to the cluster's L1, and the cycle of its wide ports.

use super::Cluster;
use super::l1::L1;
use super::wide::{BeatRequester, BeatRequests, WidePorts};
use crate::lanes::bytes_of;
use crate::map;
use crate::memories::BurstPort;
use crate::protocol::{BEAT_BYTES, Burst, BurstReply, beats};
use kernel::Cycle;
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
/// Timing:  the beats of a read may request L1 at once, those of a write one a cycle. Data and responses leave as L1
///          serves the beats. If an initiator uses the data only after the last beat, all data leave with that beat.
/// Source:  PsPIN RTL a49fec8, `nhi_port_wrap.sv`, `axi_to_mem_interleaved.sv`.
/// Differs: initiators accept read data in every cycle. A write that stalls here does not stop its initiator from
///          writing elsewhere.
#[derive(Default)]
pub(super) struct Outside {
    reads: VecDeque<UnderWay>,
    writes: VecDeque<UnderWay>,
}

impl Outside {
    /// Returns true if no beats are pending.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }

    fn take(&mut self, now: Cycle, initiator: usize, burst: Burst, base: u32) {
        let (offset, size) = (burst.addr() - base, burst.size());
        let (queue, tag, data, in_parts) = match burst {
            Burst::Read { tag, in_parts: true, .. } => (&mut self.reads, tag, Vec::new(), true),
            Burst::Read { tag, .. } => (&mut self.reads, tag, Vec::with_capacity(size as usize), false),
            Burst::Write { tag, data, .. } => (&mut self.writes, tag, data.into_vec(), false),
        };
        let n_beats = beats(offset, size);
        queue.push_back(UnderWay { initiator, tag, offset, size, data, in_parts, at: now, beat: 0, n_beats });
    }

    /// The first cycle after `now` in which an initiator may get a response, if no new burst arrives.
    fn answers_at(&self, now: Cycle) -> Cycle {
        let next = |queue: &VecDeque<UnderWay>| queue.front().map(|burst| now + Cycle::from(burst.to_answer()));
        next(&self.reads).into_iter().chain(next(&self.writes)).min().unwrap_or(Cycle::MAX)
    }

    fn requests(&self, now: Cycle, ports: &[BurstPort]) -> BeatRequests {
        let next = |queue: &VecDeque<UnderWay>| queue.front().and_then(|burst| burst.next_line(now, ports));
        BeatRequests { write: next(&self.writes), read: next(&self.reads) }
    }

    /// Number of beats of the oldest read before the next one that gets a response; 0 if a write is pending.
    fn lone_beats(&self) -> u32 {
        if self.writes.is_empty() { self.reads.front().map_or(0, |burst| burst.to_answer() - 1) } else { 0 }
    }

    /// Does the same as [`Outside::granted`] for `n` beats of the oldest read, one a cycle from cycle `at` on. No other
    /// beat is requested in these cycles.
    fn granted_alone(&mut self, at: Cycle, n: u32, l1: &mut L1, wide: &mut WidePorts) {
        let burst = self.reads.front_mut().expect("a read under way");
        let (first, last) = (burst.beat, burst.beat + n - 1);
        let [start, end] = [first, last].map(|beat| bytes_of(burst.offset, burst.size, beat));
        l1.read(burst.offset + start.start, end.end - start.start, &mut burst.data);
        (burst.beat, burst.at) = (last + 1, burst.at + Cycle::from(n));
        let line = (burst.offset & !(BEAT_BYTES - 1)) + first * BEAT_BYTES;
        wide.serve_reads(at, l1, line, n);
    }

    /// L1 serves the beat that this side requests.
    fn granted(&mut self, now: Cycle, side: BeatRequester, l1: &mut L1, ports: &[BurstPort]) {
        let queue = if side == BeatRequester::Read { &mut self.reads } else { &mut self.writes };
        let burst = queue.front_mut().expect("a burst that asks");
        let bytes = bytes_of(burst.offset, burst.size, burst.beat);
        let (tag, answers) = (burst.tag, burst.to_answer() == 1);
        burst.beat += 1;
        burst.at += 1;
        let last = burst.beat == burst.n_beats;
        let replies = &ports[burst.initiator].1;
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

impl Cluster {
    /// Takes bursts from outside.
    pub(super) fn take_bursts(&mut self, now: Cycle) {
        let base = map::L1_BASE + self.id * map::L1_STRIDE;
        for (initiator, (requests, _)) in self.ports.bursts.iter().enumerate() {
            while requests.is_due(now)
                && let Some(burst) = requests.take()
            {
                self.outside.take(now, initiator, burst, base);
            }
        }
    }

    /// Returns true if the wide ports are idle.
    #[inline]
    pub(super) fn wide_is_quiet(&self) -> bool {
        !self.dma.is_busy() && self.outside.is_quiet() && !self.wide.is_clearing()
    }

    /// Simulates one cycle of the DMA engine and the wide ports. Returns true if a transfer ends in it.
    pub(super) fn run_wide(&mut self, now: Cycle) -> bool {
        if self.wide_is_quiet() {
            return false;
        }
        let (mut of_dma, mut has_ended) = (BeatRequests::default(), false);
        if self.dma.is_busy() {
            let (finished, requests) = self.dma.tick(now, &self.l1);
            of_dma = requests;
            if let Some(finished) = finished {
                self.transfer_done(finished.owner, now);
                has_ended = true;
            }
        }
        let of_nhi = self.outside.requests(now, &self.ports.bursts);
        let granted = self.wide.grant(now, &mut self.l1, of_nhi, of_dma);
        if let Some(side) = granted.nhi {
            self.outside.granted(now, side, &mut self.l1, &self.ports.bursts);
        }
        if let Some(side) = granted.dma {
            self.dma.granted(now, side, &mut self.l1);
        }
        has_ended
    }

    /// Simulates the skipped cycles of the DMA engine and the wide ports before `now`. [`Cluster::plan_wide`] ensures
    /// that these cycles have no effect outside L1.
    pub(super) fn catch_up(&mut self, now: Cycle) {
        while self.plan.next_beat < now {
            let at = self.plan.next_beat;
            let n = self.lone_beats(at, now);
            if n > 0 {
                self.outside.granted_alone(at, n, &mut self.l1, &mut self.wide);
            } else {
                let has_ended = self.run_wide(at);
                assert!(!has_ended, "a cluster ticks in the cycle in which a transfer ends");
            }
            self.plan.next_beat = self.next_wide(at + Cycle::from(n.max(1)) - 1);
        }
    }

    /// Number of beats of a read from outside that are served from cycle `at` on and before cycle `end`, without a
    /// competing request and without a response.
    fn lone_beats(&self, at: Cycle, end: Cycle) -> u32 {
        let of_dma = if self.dma.is_busy() { self.dma.next_event(at - 1) } else { Cycle::MAX };
        if of_dma <= at || self.wide.is_clearing() || self.l1.writes_back() {
            return 0;
        }
        self.outside.lone_beats().min((of_dma.min(end) - at) as u32)
    }

    /// Plans the next cycle of the DMA engine and the wide ports, and the next cycle in which the cluster must tick for
    /// them.
    ///
    /// Beats move data to and from L1. Only cores of this cluster could see that, and they access L1 only in cycles in
    /// which the cluster ticks. So if no other part acts in a cycle, its beats are simulated later, one cycle after the
    /// other. The cluster ticks in each cycle in which a beat may have an effect outside L1: a response, a request or
    /// the end of a transfer.
    pub(super) fn plan_wide(&mut self, now: Cycle) {
        if self.wide_is_quiet() {
            (self.plan.next_beat, self.plan.next_wide_effect) = (Cycle::MAX, Cycle::MAX);
            return;
        }
        self.plan.next_beat = self.next_wide(now);
        let is_clearing = self.wide.is_clearing();
        let is_alone = self.outside.is_quiet() && !is_clearing;
        let of_dma = if self.dma.is_busy() { self.dma.shows_at(now, is_alone, is_clearing) } else { Cycle::MAX };
        self.plan.next_wide_effect = self.outside.answers_at(now).min(self.wide.clears_at(now)).min(of_dma);
    }

    /// The next cycle in which the DMA engine or the wide ports have work.
    fn next_wide(&self, now: Cycle) -> Cycle {
        if !self.outside.is_quiet() || self.wide.is_clearing() {
            return now + 1;
        }
        if self.dma.is_busy() { self.dma.next_event(now) } else { Cycle::MAX }
    }
}
