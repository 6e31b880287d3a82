//! The path of read data from packet memory back to the clusters.

use super::memory::NEAR;
use super::{Memories, PACKET};
use kernel::Cycle;
use std::collections::VecDeque;

/// Beats that a register holds. Source: PsPIN RTL a49fec8, `spill_register.sv`.
const REGISTER: usize = 2;
/// Capacity for messages to an engine about late beats, if the path has `to_engine` cycles. Each beat on the path can
/// cause one message a cycle, and a message stays for two cycles.
pub fn late_beats(to_engine: u32) -> usize {
    2 * (REGISTER + to_engine as usize)
}

/// The shortest path with registers, in cycles from a bank to an engine: answer, register, register in front of the
/// engine. The bank's turn is checked a cycle early.
const REGISTERED: Cycle = 4;

/// Target of a beat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    /// The DMA engine of a cluster.
    Dma(usize),
    /// A core.
    Core,
}

/// A beat behind its bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Beat {
    target: Target,
    /// The cycle in which it arrives, as far as its target knows.
    at: Cycle,
}

/// Beats behind their banks in the next cycle.
#[derive(Default, Debug)]
struct Way {
    /// Beats in the register behind the converter.
    register: VecDeque<Beat>,
    /// Beats in front of that register: the answer of the memory, or the converter's buffer for one answer. A longer path
    /// holds more beats.
    answers: VecDeque<Beat>,
    /// The engine to which a beat left in the previous cycle.
    left: Option<usize>,
}

/// The path back: converter, register, and the multiplexers, which have no register.
///
/// Timing:  if no beat is held, a beat arrives `interconnect.dma_reply_cycles` after its bank, which is 4 in the RTL. A held beat
///          stops all beats behind it, also those of other clusters. When the register and the converter's buffer are full, the
///          converter requests no bank.
/// Source:  PsPIN RTL a49fec8, `axi_to_mem.sv`, `stream_to_mem.sv` lines 66 to 70 (BufDepth is 1), `axi_demux.sv`, i_r_spill_reg, of
///          `axi_to_mem_banked_mp.sv`; `l2_xbar.sv`, `dma_noc.sv` (SpillR is 0).
/// Differs: a path of less than 4 cycles has no registers, and no beat on it stops. Beats of handler memory are stopped
///          by their own engine only. A core always takes its answer, and gets it in time.
#[derive(Default)]
pub(super) struct Back {
    /// Beats and single accesses that passed their bank one a cycle: target, first cycle, and the cycle after the last.
    runs: VecDeque<(Target, Cycle, Cycle)>,
    /// Cycles from a beat's bank until it arrives at the engine.
    to_engine: Cycle,
    /// For each cluster, the beats that stay in the register in front of its engine.
    held: Vec<u32>,
    /// True if there are such beats, or were a short time ago.
    is_watched: bool,
    /// The beats in flight while one is held, or was a short time ago.
    way: Option<Way>,
}

/// The changes in a cycle.
#[derive(Default, PartialEq, Eq, Debug)]
struct Moved {
    /// Beats that arrive a cycle later than their engines know; later ones first.
    late: Vec<(usize, Cycle)>,
    /// True if an answer waits in front of the register.
    waits: bool,
    /// The converter requests no bank in this cycle.
    is_full: bool,
}

impl Back {
    /// Returns true if the path is simulated in each cycle.
    #[inline]
    pub(super) fn is_watched(&self) -> bool {
        self.is_watched
    }

    /// A path of `to_engine` cycles from a bank to an engine.
    pub(super) fn new(to_engine: Cycle) -> Self {
        Back { to_engine, ..Back::default() }
    }

    /// The number of beats that an engine holds changes.
    fn set_held(&mut self, cluster: usize, held: u32) {
        if self.held.len() <= cluster {
            self.held.resize(cluster + 1, 0);
        }
        self.held[cluster] = held;
        self.is_watched |= held > 0 && self.to_engine >= REGISTERED;
    }

    /// A burst begins: its beats pass their banks from this cycle until `end`.
    pub(super) fn begin(&mut self, cluster: usize, now: Cycle, end: Cycle) {
        self.add(Target::Dma(cluster), now, end);
    }

    /// A single access passes.
    pub(super) fn pass_single(&mut self, now: Cycle) {
        self.add(Target::Core, now, now + 1);
    }

    fn add(&mut self, target: Target, from: Cycle, end: Cycle) {
        while self.runs.front().is_some_and(|&(.., end)| end + self.to_engine < from) {
            self.runs.pop_front();
        }
        self.runs.push_back((target, from, end));
    }

    /// The burst under way does not pass a beat in this cycle.
    pub(super) fn pause(&mut self, now: Cycle) {
        if let Some((target, _, end)) = self.runs.iter_mut().rfind(|(target, ..)| *target != Target::Core)
            && *end > now
        {
            let rest = (*target, now + 1, *end + 1);
            *end = now;
            self.runs.push_back(rest);
        }
    }

    /// The beat that passed its bank in a cycle.
    fn passed(&self, at: Cycle) -> Option<Beat> {
        let run = self.runs.iter().find(|&&(_, from, end)| (from..end).contains(&at));
        run.map(|&(target, ..)| Beat { target, at: at + self.to_engine })
    }

    /// Simulates a cycle in which beats may be held.
    fn advance(&mut self, now: Cycle) -> Moved {
        if !self.is_watched() {
            return Moved::default();
        }
        let way = self.way.take();
        let before = |cycles: Cycle| now.checked_sub(cycles).and_then(|at| self.passed(at));
        let engine = |beat: Option<Beat>| match beat?.target {
            Target::Dma(cluster) => Some(cluster),
            Target::Core => None,
        };
        let [to_answer, to_register, to_leave] = [3, 2, 1].map(|left| self.to_engine - left);
        let accessed = before(to_answer);
        let mut way = way.unwrap_or_else(|| Way {
            register: before(to_leave).into_iter().collect(),
            answers: before(to_register).into_iter().collect(),
            left: engine(before(self.to_engine)),
        });
        let is_full = |cluster: usize| {
            let held = self.held.get(cluster).copied().unwrap_or(0);
            held as usize + usize::from(way.left == Some(cluster)) >= REGISTER
        };
        let has_room = way.register.len() < REGISTER;
        let leaves = engine(way.register.front().copied()).is_none_or(|cluster| !is_full(cluster));
        way.left = if leaves { engine(way.register.pop_front()) } else { None };
        let waits = !has_room && !way.answers.is_empty();
        if has_room {
            way.register.extend(way.answers.pop_front());
        }
        way.answers.extend(accessed);
        let mut late = Vec::new();
        let mut leaves_at = now;
        for (beat, earliest) in
            way.register.iter_mut().map(|beat| (beat, 1)).chain(way.answers.iter_mut().map(|beat| (beat, 2)))
        {
            leaves_at = (leaves_at + 1).max(now + earliest);
            if leaves_at + 1 > beat.at {
                if let Target::Dma(cluster) = beat.target {
                    late.push((cluster, beat.at));
                }
                beat.at += 1;
            }
        }
        late.reverse();
        let is_full = way.register.len() == REGISTER && !way.answers.is_empty();
        let is_as_ever = way.register.len() < REGISTER
            && self.held.iter().all(|&held| held == 0)
            && way.register.front().copied() == before(to_register)
            && way.answers.len() < 2
            && way.answers.front().copied() == accessed
            && way.left == engine(before(to_leave));
        self.is_watched = !is_as_ever;
        self.way = Some(way).filter(|_| !is_as_ever);
        Moved { late, waits, is_full }
    }
}

impl Memories {
    /// Takes the numbers of beats that engines hold.
    pub(super) fn take_held(&mut self, now: Cycle) {
        // Messages are rare, and all are taken at once, so most cycles have none.
        if !self.ports.dma_back.first().is_some_and(|(held, _)| held.take_mail()) {
            return;
        }
        for (cluster, (held, _)) in self.ports.dma_back.iter().enumerate() {
            while held.is_due(now)
                && let Some(n) = held.take()
            {
                self.memories[PACKET].back.set_held(cluster, n);
            }
        }
    }

    /// Moves beats on their path back. Returns true if the converter requests no bank in this cycle.
    pub(super) fn move_back(&mut self, now: Cycle) -> bool {
        let memory = &mut self.memories[PACKET];
        let Moved { late, waits, is_full } = memory.back.advance(now);
        if waits {
            memory.reads[NEAR].last_waits(now);
        }
        for (cluster, at) in late {
            self.ports.dma_back[cluster].1.send(at);
            memory.reads[NEAR].beat_is_late(at);
            let places = self.dma_reads[cluster].iter_mut();
            places.filter(|(free, of)| *free == at && *of == PACKET).for_each(|(free, _)| *free += 1);
        }
        is_full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cycle, the beats that are late (cluster and expected cycle), and true if the converter requests a bank.
    type Change = (Cycle, Vec<(usize, Cycle)>, bool);

    /// Four beats for cluster 0 and four for cluster 1 pass their banks from cycle 0 on, if the converter requests
    /// them. Cluster 0 holds two beats in the cycles `held`. Returns the cycles in which beats are late or the
    /// converter pauses.
    fn run(held: std::ops::Range<Cycle>) -> Vec<Change> {
        let mut back = Back::new(4);
        back.begin(0, 0, 4);
        back.begin(1, 4, 8);
        let mut changes = Vec::new();
        for now in 0..30 {
            back.set_held(0, if held.contains(&now) { 2 } else { 0 });
            let Moved { late, is_full, .. } = back.advance(now);
            if is_full {
                back.pause(now);
            }
            if !late.is_empty() || is_full {
                changes.push((now, late, !is_full));
            }
        }
        assert!(!back.is_watched(), "at the end, the state is as if nothing had been held");
        changes
    }

    #[test]
    fn a_held_beat_stops_those_of_other_clusters_and_then_the_converter() {
        // The last beat of cluster 0 passed its bank in cycle 3 and would leave in cycle 6. Two beats of cluster 1 are behind it.
        // All three arrive two cycles later, and the converter pauses twice.
        let changes = run(6..8);
        assert_eq!(changes[0], (6, vec![(1, 9), (1, 8), (0, 7)], false));
        assert_eq!(changes[1], (7, vec![(1, 10), (1, 9), (0, 8)], false));
        assert_eq!(changes.len(), 2);
    }

    #[test]
    fn a_cluster_with_room_is_not_stopped() {
        // From cycle 7 on no beat of cluster 0 is on the way.
        assert_eq!(run(7..12), []);
    }

    #[test]
    fn a_gap_behind_a_held_beat_takes_up_the_delay() {
        let mut back = Back::new(4);
        back.begin(0, 0, 1);
        back.begin(1, 2, 4);
        let mut late = Vec::new();
        for now in 0..20 {
            back.set_held(0, if now == 3 { 2 } else { 0 });
            let moved = back.advance(now);
            assert!(!moved.is_full);
            late.extend(moved.late);
        }
        assert_eq!(late, [(0, 4)]);
    }
}
