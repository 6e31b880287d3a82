//! Bursts from outside to the cluster's L1, and the cycle of its wide ports.

use super::Cluster;
use super::l1::L1;
use super::wide::{BeatRequests, Side, WidePorts};
use crate::lanes::bytes_of;
use crate::map;
use crate::memories::BurstPort;
use crate::protocol::{BEAT_BYTES, Burst, BurstReply, beats};
use kernel::Cycle;
use std::collections::VecDeque;

/// A burst of which beats are to come.
struct UnderWay {
    /// Position of its initiator among the ports.
    initiator: usize,
    tag: u32,
    offset: u32,
    size: u32,
    /// What is written, or what has been read and is not told.
    data: Vec<u8>,
    /// Each beat that is read is told by itself.
    in_parts: bool,
    /// When its next beat is there.
    at: Cycle,
    /// Which of its beats that is, and how many there are.
    beat: u32,
    n_beats: u32,
}

impl UnderWay {
    /// Beats up to the next one that its initiator is told of, with that.
    fn to_answer(&self) -> u32 {
        if self.in_parts { 1 } else { self.n_beats - self.beat }
    }

    /// The line of its next beat, if L1 may be asked for that.
    fn next_line(&self, now: Cycle, ports: &[BurstPort]) -> Option<u32> {
        let may = self.at <= now && (self.to_answer() > 1 || ports[self.initiator].1.has_room());
        may.then(|| (self.offset & !(BEAT_BYTES - 1)) + self.beat * BEAT_BYTES)
    }
}

/// Reads and writes of L1 by the NIC-host interconnect, each in the order in which they came; their initiators have few
/// under way.
///
/// Timing:  a beat asks L1 when it is there: of a read at once, of a write one in a cycle. Data and responses leave as
///          L1 serves the beats; data that nobody looks at before the last beat, with that.
/// Source:  PsPIN RTL a49fec8, `nhi_port_wrap.sv`, `axi_to_mem_interleaved.sv`.
/// Differs: initiators take what is read whenever it comes; what stalls a write here does not keep its initiator from
///          writing elsewhere.
#[derive(Default)]
pub(super) struct Outside {
    reads: VecDeque<UnderWay>,
    writes: VecDeque<UnderWay>,
}

impl Outside {
    /// Whether no beats are to come.
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

    /// The first cycle behind `now` in which an initiator may be told of something, if nobody new comes.
    fn answers_at(&self, now: Cycle) -> Cycle {
        let next = |queue: &VecDeque<UnderWay>| queue.front().map(|burst| now + Cycle::from(burst.to_answer()));
        next(&self.reads).into_iter().chain(next(&self.writes)).min().unwrap_or(Cycle::MAX)
    }

    fn requests(&self, now: Cycle, ports: &[BurstPort]) -> BeatRequests {
        let next = |queue: &VecDeque<UnderWay>| queue.front().and_then(|burst| burst.next_line(now, ports));
        BeatRequests { write: next(&self.writes), read: next(&self.reads) }
    }

    /// Beats of the oldest read that nobody is told of, if there are only reads.
    fn lone_beats(&self) -> u32 {
        if self.writes.is_empty() { self.reads.front().map_or(0, |burst| burst.to_answer() - 1) } else { 0 }
    }

    /// As [`Outside::granted`] for so many beats of the oldest read from cycle `at` on, one a cycle, each of which asks alone.
    fn granted_alone(&mut self, at: Cycle, n: u32, l1: &mut L1, wide: &mut WidePorts) {
        let burst = self.reads.front_mut().expect("a read under way");
        let (first, last) = (burst.beat, burst.beat + n - 1);
        let [start, end] = [first, last].map(|beat| bytes_of(burst.offset, burst.size, beat));
        l1.read(burst.offset + start.start, end.end - start.start, &mut burst.data);
        (burst.beat, burst.at) = (last + 1, burst.at + Cycle::from(n));
        let line = (burst.offset & !(BEAT_BYTES - 1)) + first * BEAT_BYTES;
        wide.serve_reads(at, l1, line, n);
    }

    /// L1 serves the beat that this side asks for.
    fn granted(&mut self, now: Cycle, side: Side, l1: &mut L1, ports: &[BurstPort]) {
        let queue = if side == Side::Read { &mut self.reads } else { &mut self.writes };
        let burst = queue.front_mut().expect("a burst that asks");
        let bytes = bytes_of(burst.offset, burst.size, burst.beat);
        let (tag, answers) = (burst.tag, burst.to_answer() == 1);
        burst.beat += 1;
        burst.at += 1;
        let last = burst.beat == burst.n_beats;
        let replies = &ports[burst.initiator].1;
        if side == Side::Read {
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
    /// Bursts come from outside.
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

    /// Whether nothing uses the wide ports.
    #[inline]
    pub(super) fn wide_is_quiet(&self) -> bool {
        !self.dma.is_busy() && self.outside.is_quiet() && !self.wide.is_clearing()
    }

    /// DMA engine and wide ports live through the cycle. Whether a transfer ends in it.
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

    /// DMA engine and wide ports live through all they have left out before `now`. That nothing of it had to be told to anybody,
    /// [`Cluster::plan_wide`] has seen to.
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

    /// How many beats of a read from outside are served from cycle `at` on, before `end`, while nobody else asks for a beat and
    /// nobody is told of one.
    fn lone_beats(&self, at: Cycle, end: Cycle) -> u32 {
        let of_dma = if self.dma.is_busy() { self.dma.next_event(at - 1) } else { Cycle::MAX };
        if of_dma <= at || self.wide.is_clearing() || self.l1.writes_back() {
            return 0;
        }
        self.outside.lone_beats().min((of_dma.min(end) - at) as u32)
    }

    /// When DMA engine and wide ports go on, and when the cluster must tick for them.
    ///
    /// Beats come to L1 and go from it, which only cores of this cluster could see, and they look in cycles in which it ticks.
    /// So beats of cycles in which nobody else does anything are moved later, one cycle after the other. In a cycle in which
    /// something may come of them outside of L1 the cluster ticks: an answer, a request, the end of a transfer.
    pub(super) fn plan_wide(&mut self, now: Cycle) {
        if self.wide_is_quiet() {
            (self.plan.next_beat, self.plan.next_wide_effect) = (Cycle::MAX, Cycle::MAX);
            return;
        }
        self.plan.next_beat = self.next_wide(now);
        let of_dma = if self.dma.is_busy() { self.dma.shows_at(now) } else { Cycle::MAX };
        self.plan.next_wide_effect = self.outside.answers_at(now).min(self.wide.clears_at(now)).min(of_dma);
    }

    /// The next cycle in which DMA engine and wide ports have something to do.
    fn next_wide(&self, now: Cycle) -> Cycle {
        if !self.outside.is_quiet() || self.wide.is_clearing() {
            return now + 1;
        }
        if self.dma.is_busy() { self.dma.next_event(now) } else { Cycle::MAX }
    }
}
