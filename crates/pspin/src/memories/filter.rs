//! The filter that gives L2 handler memory its atomic operations, on the port towards the clusters.

use crate::params::L2Params;
use crate::pe::{PeOp, PeReply, PeRequest};
use isa::riscv::Amo;
use kernel::Cycle;
use std::collections::VecDeque;

/// Reads between SRAM and filter: two in the converter's response buffers, one in a register. Source: PsPIN RTL a49fec8,
/// `axi_to_mem.sv`, BufDepth + 1, and events of loads back to back.
const IN_SRAM: usize = 3;

/// Reads between the SRAM and the filter, except bursts.
struct Passed {
    /// First cycle in which the data may pass on the way back.
    back: Cycle,
    cluster: usize,
    reply: PeReply,
    is_amo: bool,
}

/// A read burst that has passed the filter, and whose last beat is not back yet.
struct Burst {
    /// The cycle in which its first beat passes its bank, and the one after its last beat has; `Cycle::MAX` if it has not
    /// begun.
    from: Cycle,
    end: Cycle,
}

/// Decides which accesses may pass.
///
/// Timing: a queue of `depth` remembers the reads that are on their way. It is written or read in a cycle, not both, and
///         writing goes first: while reads come in, no read and no beat goes back. So a long series of single reads passes
///         at one read in two cycles, and a burst takes a cycle more than it has beats while the queue is full. An atomic
///         operation reads, and writes its result 5 cycles later; the next one waits until that is answered, 10 cycles
///         from the first. Meanwhile reads pass, and writes to other words. Reads that have passed wait for their bank;
///         they also wait while three are on their way back.
/// Source: PsPIN RTL a49fec8, `axi_riscv_lrsc.sv`, `axi_riscv_amos.sv`, `id_queue.sv`.
///         Differs: the queue of writes never delays anything. If a beat cannot pass on its way back, the next beat that
///         requests its bank waits instead.
pub(super) struct Filter {
    depth: usize,
    /// Cycles from when a read passes the filter until its data are back: register, SRAM, register.
    read_cycles: u64,
    /// Cycles from when a load passes the filter on the way back until its data leaves.
    load_cycles: u64,
    /// Cycles from the data of an atomic operation until the filter takes the next one: the result's write and its response.
    amo_write_cycles: u64,
    /// Cycles from the same data to the response to the core, which comes with that of the write.
    amo_response_cycles: u64,
    bursts: VecDeque<Burst>,
    /// Accesses that have passed and that no bank has served, with their clusters.
    waiting: VecDeque<(usize, PeRequest)>,
    reads: VecDeque<Passed>,
    /// The last cycle in which a read passed.
    passed_at: Option<Cycle>,
    /// The word of the last atomic operation.
    amo_word: u32,
    /// First cycle in which that operation is over.
    amo_over: Cycle,
    /// Cycle in which that operation passed. `amo_cycles` counts the cycles of all operations that are over.
    amo_since: Cycle,
    pub(super) amo_cycles: u64,
}

impl Filter {
    pub(super) fn new(l2: &L2Params) -> Self {
        Filter {
            depth: l2.atomics_depth as usize,
            read_cycles: l2.handler_read_cycles.into(),
            load_cycles: l2.handler_load_cycles.into(),
            amo_write_cycles: l2.amo_write_cycles.into(),
            amo_response_cycles: l2.amo_response_cycles.into(),
            bursts: VecDeque::new(),
            waiting: VecDeque::new(),
            reads: VecDeque::new(),
            passed_at: None,
            amo_word: 0,
            amo_over: 0,
            amo_since: 0,
            amo_cycles: 0,
        }
    }

    /// Returns true if a read may pass in this cycle.
    pub(super) fn has_place(&mut self, now: Cycle) -> bool {
        let read_cycles = self.read_cycles;
        self.bursts.retain(|burst| burst.end == Cycle::MAX || burst.end + read_cycles > now);
        self.passed_at != Some(now) && self.bursts.len() + self.waiting.len() + self.reads.len() < self.depth
    }

    /// Returns true if an atomic operation may pass in this cycle.
    pub(super) fn takes_amo(&mut self, now: Cycle) -> bool {
        self.amo_over <= now && self.has_place(now)
    }

    /// Returns true if a write of this word may pass in this cycle.
    pub(super) fn takes_write(&self, word: u32, now: Cycle) -> bool {
        self.amo_over <= now || word != self.amo_word
    }

    /// A read burst passes, and waits for its banks.
    pub(super) fn pass_burst(&mut self, now: Cycle) {
        self.bursts.push_back(Burst { from: Cycle::MAX, end: Cycle::MAX });
        self.passed_at = Some(now);
    }

    /// The oldest waiting burst begins: its first beat passes its bank. `end` is the cycle after its last beat.
    pub(super) fn burst_begins(&mut self, now: Cycle, end: Cycle) {
        let waiting = self.bursts.iter_mut().find(|burst| burst.end == Cycle::MAX).expect("a burst that has passed");
        (waiting.from, waiting.end) = (now, end);
    }

    /// The burst that began last ends one cycle later.
    pub(super) fn burst_is_late(&mut self) {
        if let Some(burst) = self.bursts.iter_mut().rfind(|burst| burst.end != Cycle::MAX) {
            burst.end += 1;
        }
    }

    /// Returns true if a beat is at the filter on its way back and does not pass, because a read passes in this cycle.
    pub(super) fn stops_a_beat(&self, now: Cycle) -> bool {
        self.passed_at == Some(now)
            && self.bursts.iter().any(|burst| {
                // For a burst that has not begun, the sum stays at the greatest cycle.
                burst.from.saturating_add(self.read_cycles) <= now && now < burst.end.saturating_add(self.read_cycles)
            })
    }

    /// A single access that reads passes, and waits for its bank.
    pub(super) fn pass(&mut self, now: Cycle, cluster: usize, request: PeRequest) {
        self.passed_at = Some(now);
        if let PeOp::Amo { amo, .. } = request.op
            && amo != Amo::LoadReserved
        {
            (self.amo_word, self.amo_over) = (request.addr, Cycle::MAX);
            self.amo_since = now;
        }
        self.waiting.push_back((cluster, request));
    }

    /// The address of the read that requests its bank in this cycle.
    pub(super) fn request(&self, now: Cycle) -> Option<u32> {
        let n = self.reads.len() - usize::from(self.passes_back(now));
        self.waiting.front().filter(|_| n < IN_SRAM).map(|(_, request)| request.addr)
    }

    /// Removes the read that requested its bank in this cycle: the bank serves it.
    pub(super) fn take(&mut self) -> (usize, PeRequest) {
        self.waiting.pop_front().expect("a read that requested")
    }

    /// Returns true if anything waits for its bank.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A bank has served a single read; its reply waits here.
    pub(super) fn read(&mut self, now: Cycle, cluster: usize, reply: PeReply, is_amo: bool) {
        self.reads.push_back(Passed { back: now + self.read_cycles, cluster, reply, is_amo });
    }

    /// Returns true if a reply passes on the way back in this cycle.
    fn passes_back(&self, now: Cycle) -> bool {
        self.passed_at != Some(now) && self.reads.front().is_some_and(|read| read.back <= now)
    }

    /// The reply that passes on the way back in this cycle, its cluster, and the cycle in which it leaves.
    pub(super) fn back(&mut self, now: Cycle) -> Option<(Cycle, usize, PeReply, bool)> {
        if !self.passes_back(now) {
            return None;
        }
        let Passed { cluster, reply, is_amo, .. } = self.reads.pop_front().expect("just seen");
        if is_amo {
            self.amo_over = now + self.amo_write_cycles;
            self.amo_cycles += self.amo_over - self.amo_since;
        }
        Some((now + if is_amo { self.amo_response_cycles } else { self.load_cycles }, cluster, reply, is_amo))
    }

    /// The next cycle in which a reply may pass on the way back.
    pub(super) fn next(&self, now: Cycle) -> Option<Cycle> {
        self.reads.front().map(|read| read.back.max(now + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: PeOp) -> PeRequest {
        PeRequest { core: 0, addr: 0x1c30_0000, op }
    }

    /// Simulates a cycle behind the filter. The bank refuses reads in the cycles `refused`. Returns true if a read requested
    /// its bank, and true if a reply passed.
    fn serve(filter: &mut Filter, now: Cycle, refused: &[Cycle]) -> (bool, bool) {
        let requests = filter.request(now).is_some();
        let is_served = requests && !refused.contains(&now);
        if is_served {
            let (cluster, PeRequest { core, op, .. }) = filter.take();
            filter.read(now, cluster, PeReply { core, value: 0 }, !matches!(op, PeOp::Load));
        }
        (requests, filter.back(now).is_some())
    }

    #[test]
    fn a_long_run_of_reads_passes_at_one_in_two_cycles_and_a_single_one_is_back_after_three() {
        let mut filter = Filter::new(&crate::testing::params().l2);
        let (mut passed, mut back) = (0, 0);
        for now in 0..100 {
            if filter.has_place(now) {
                filter.pass(now, 0, request(PeOp::Load));
                passed += 1;
            }
            back += u32::from(serve(&mut filter, now, &[]).1);
        }
        assert!((50..=54).contains(&passed), "{passed} passed");
        assert!((47..=50).contains(&back), "{back} came back");

        let mut filter = Filter::new(&crate::testing::params().l2);
        filter.pass(10, 0, request(PeOp::Load));
        let at = (10..20).find(|&now| serve(&mut filter, now, &[]).1);
        assert_eq!(at, Some(13));
    }

    /// Loads of a cluster in the RTL: they pass in cycles 0 to 3, 5 and 7, and a write has the bank in cycle 8.
    #[test]
    fn reads_wait_for_their_bank_while_three_are_on_their_way_back() {
        let mut filter = Filter::new(&crate::testing::params().l2);
        let (mut requested, mut back) = (Vec::new(), Vec::new());
        for now in 0..14 {
            if [0, 1, 2, 3, 5, 7].contains(&now) {
                assert!(filter.has_place(now));
                filter.pass(now, 0, request(PeOp::Load));
            }
            let (requests, passes) = serve(&mut filter, now, &[8]);
            requested.extend(requests.then_some(now));
            back.extend(passes.then_some(now));
        }
        assert_eq!(requested, [0, 1, 2, 4, 6, 8, 9]);
        assert_eq!(back, [4, 6, 8, 9, 10, 12]);
    }

    #[test]
    fn loads_and_atomic_operations_have_their_own_cycles_on_the_way_back() {
        let mut l2 = crate::testing::params().l2;
        (l2.handler_load_cycles, l2.amo_response_cycles) = (5, 9);
        for (is_amo, leaves) in [(false, 13 + 5), (true, 13 + 9)] {
            let mut filter = Filter::new(&l2);
            filter.read(10, 0, PeReply { core: 0, value: 0 }, is_amo);
            assert!(filter.back(12).is_none());
            assert_eq!(filter.back(13).map(|(at, ..)| at), Some(leaves));
        }
    }

    #[test]
    fn an_atomic_operation_passes_every_ten_cycles_and_holds_back_writes_of_its_word_alone() {
        let mut filter = Filter::new(&crate::testing::params().l2);
        let mut passed = Vec::new();
        for now in 0..40 {
            if filter.takes_amo(now) {
                filter.pass(now, 0, request(PeOp::Amo { amo: Amo::Add, operand: 1 }));
                passed.push(now);
            }
            assert!(!filter.takes_write(0x1c30_0000, now) && filter.takes_write(0x1c30_0004, now));
            serve(&mut filter, now, &[]);
        }
        assert_eq!(passed, [0, 10, 20, 30]);
        // The last one's data is back, and its result is being written.
        assert_eq!(filter.amo_cycles, 40);
    }
}
