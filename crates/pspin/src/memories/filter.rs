//! The filter that gives L2 handler memory its atomic operations, on the port towards the clusters.

use crate::params::L2Params;
use crate::pe::PeReply;
use kernel::Cycle;
use std::collections::VecDeque;

/// Accesses between the filter and the SRAM, except bursts.
struct Passed {
    /// First cycle in which the data may pass on the way back.
    back: Cycle,
    cluster: usize,
    reply: PeReply,
    is_amo: bool,
}

/// Decides which accesses may pass.
///
/// Timing: a queue of `depth` remembers the reads that are on their way. It is written or read in a cycle, not both, and
///         writing goes first: while reads come in, none goes back. So a long run of single reads passes at one in two
///         cycles. An atomic operation reads, and writes its result 5 cycles later; the next one waits until that is
///         answered, 10 cycles from the first. Meanwhile reads pass, and writes to other words.
/// Source: PsPIN RTL a49fec8, `axi_riscv_lrsc.sv`, `axi_riscv_amos.sv`, `id_queue.sv`.
/// Differs: a burst keeps its place for as long as it takes by itself, and the queue of writes never holds anybody up.
pub(super) struct Filter {
    depth: usize,
    /// Cycles from a read's passing the filter until its data is back: register, SRAM, register.
    read_cycles: u64,
    /// Cycles from the data of an atomic operation until the filter takes the next one: the result's write and its response.
    amo_write_cycles: u64,
    /// Cycles from the same data to the response to the core, which comes with that of the write.
    amo_response_cycles: u64,
    /// Until when bursts keep their places.
    bursts: Vec<Cycle>,
    reads: VecDeque<Passed>,
    /// The last cycle in which a read passed.
    passed_at: Option<Cycle>,
    /// The word of the last atomic operation.
    amo_word: u32,
    /// First cycle in which it is over.
    amo_over: Cycle,
}

impl Filter {
    pub(super) fn new(l2: &L2Params) -> Self {
        Filter {
            depth: l2.atomics_depth as usize,
            read_cycles: l2.handler_read_cycles.into(),
            amo_write_cycles: l2.amo_write_cycles.into(),
            amo_response_cycles: l2.amo_response_cycles.into(),
            bursts: Vec::new(),
            reads: VecDeque::new(),
            passed_at: None,
            amo_word: 0,
            amo_over: 0,
        }
    }

    /// Returns true if a read may pass in this cycle.
    pub(super) fn has_place(&mut self, now: Cycle) -> bool {
        self.bursts.retain(|&until| until > now);
        self.passed_at != Some(now) && self.bursts.len() + self.reads.len() < self.depth
    }

    /// Returns true if an atomic operation may pass in this cycle.
    pub(super) fn takes_amo(&mut self, now: Cycle) -> bool {
        self.amo_over <= now && self.has_place(now)
    }

    /// Returns true if a write of this word may pass in this cycle.
    pub(super) fn takes_write(&self, word: u32, now: Cycle) -> bool {
        self.amo_over <= now || word != self.amo_word
    }

    /// A read burst of this number of beats passes.
    pub(super) fn pass_burst(&mut self, now: Cycle, n_beats: u64) {
        self.bursts.push(now + self.read_cycles + n_beats);
        self.passed_at = Some(now);
    }

    /// A single read passes; its reply waits here.
    pub(super) fn pass_read(&mut self, now: Cycle, cluster: usize, reply: PeReply) {
        self.reads.push_back(Passed { back: now + self.read_cycles, cluster, reply, is_amo: false });
        self.passed_at = Some(now);
    }

    /// An atomic operation on this word passes; its reply waits here.
    pub(super) fn pass_amo(&mut self, now: Cycle, word: u32, cluster: usize, reply: PeReply) {
        self.reads.push_back(Passed { back: now + self.read_cycles, cluster, reply, is_amo: true });
        self.passed_at = Some(now);
        (self.amo_word, self.amo_over) = (word, Cycle::MAX);
    }

    /// The reply that passes on the way back in this cycle, to which cluster, and when it leaves.
    pub(super) fn back(&mut self, now: Cycle) -> Option<(Cycle, usize, PeReply, bool)> {
        if self.passed_at == Some(now) || self.reads.front().is_none_or(|read| read.back > now) {
            return None;
        }
        let Passed { cluster, reply, is_amo, .. } = self.reads.pop_front().expect("just seen");
        if is_amo {
            self.amo_over = now + self.amo_write_cycles;
        }
        Some((now + if is_amo { self.amo_response_cycles } else { 0 }, cluster, reply, is_amo))
    }

    /// The next cycle in which a reply may pass on the way back.
    pub(super) fn next(&self, now: Cycle) -> Option<Cycle> {
        self.reads.front().map(|read| read.back.max(now + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPLY: PeReply = PeReply { core: 0, value: 0 };

    #[test]
    fn a_long_run_of_reads_passes_at_one_in_two_cycles_and_a_single_one_is_back_after_three() {
        let mut filter = Filter::new(&crate::testing::params().l2);
        let (mut passed, mut back) = (0, Vec::new());
        for now in 0..100 {
            if filter.has_place(now) {
                filter.pass_read(now, 0, REPLY);
                passed += 1;
            }
            back.extend(filter.back(now).map(|(at, ..)| at));
        }
        assert!((50..=54).contains(&passed), "{passed} passed");
        assert!((47..=50).contains(&back.len()), "{} came back", back.len());

        let mut filter = Filter::new(&crate::testing::params().l2);
        filter.pass_read(10, 0, REPLY);
        let at = (10..20).find_map(|now| filter.back(now));
        assert_eq!(at.map(|(at, ..)| at), Some(13));
    }

    #[test]
    fn an_atomic_operation_passes_every_ten_cycles_and_holds_back_writes_of_its_word_alone() {
        let mut filter = Filter::new(&crate::testing::params().l2);
        let mut passed = Vec::new();
        for now in 0..40 {
            if filter.takes_amo(now) {
                filter.pass_amo(now, 0x1c30_0000, 0, REPLY);
                passed.push(now);
            }
            assert!(!filter.takes_write(0x1c30_0000, now) && filter.takes_write(0x1c30_0004, now));
            filter.back(now);
        }
        assert_eq!(passed, [0, 10, 20, 30]);
    }
}
