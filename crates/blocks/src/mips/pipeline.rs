//! The timing of instructions in both kinds of core, and the causes of lost cycles.
//!
//! The cycle of an instruction is its last one in the execute stage. In the five-stage core, instruction *i* is
//! fetched when *i - 1* enters decode, enters decode when *i - 1* enters execute, and executes one cycle later,
//! unless
//!
//! - its word is missing (a miss), or a load or store uses the scratchpad's only port (a conflict);
//! - an earlier load is still in the memory stage: its own latency is a load stall, and its waiting for others is a
//!   conflict;
//! - an operand is missing; a branch needs its operands in decode. The result of an arithmetic instruction is
//!   available in the next cycle, and loaded data in the cycle of the answer;
//! - it is in an annulled delay slot, and its cycle is lost.
//!
//! Source: P. Willmann's thesis (Rice University, 2004), Figure 3.3, and 4.5.3 for the stalls. Branches cost nothing
//!           by themselves: they are decided in decode, and the delay slot covers the fetch.
//! Assumed: data accesses have priority over fetches at the scratchpad's port (the thesis says only that it has one
//! port).

use super::code::{Slot, What};
use kernel::Cycle;

/// Cycles of a core by cause: the rows of the thesis's Table 4.4.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cycles {
    /// Cycles in which an instruction executed.
    pub execution: u64,
    /// Waiting for a line of the instruction cache.
    pub instruction_misses: u64,
    /// Waiting for data memory for its latency without contention.
    pub load_stalls: u64,
    /// Waiting for data memory because of other requesters, or for the scratchpad's only port.
    pub conflicts: u64,
    /// Waiting for an operand, and annulled delay slots.
    pub pipeline: u64,
}

/// Names of the causes, in order. All but the first are causes of lost cycles.
pub static CYCLE_NAMES: [&str; 5] = ["execution", MISSES, "load_stalls", "conflicts", "pipeline"];
/// Name of the time for which a core waits for its instruction cache.
pub(super) const MISSES: &str = "instruction_misses";

impl Cycles {
    /// The counts in the order of [`CYCLE_NAMES`].
    pub const fn counts(&self) -> [u64; 5] {
        [self.execution, self.instruction_misses, self.load_stalls, self.conflicts, self.pipeline]
    }
}

/// Parameters of the timing rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub is_five_stage: bool,
    pub multiply_cycles: u64,
    pub divide_cycles: u64,
}

/// An instruction's way through the pipeline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// Cycle in which it enters decode.
    decodes: Cycle,
    /// Cycle in which it enters execute.
    enters: Cycle,
    /// Cycle in which it is in execute for the last time.
    pub executes: Cycle,
    /// Cycles lost by cause.
    misses: u64,
    loads: u64,
    conflicts: u64,
    pipeline: u64,
}

impl Start {
    /// Cycle in which it enters decode, and the next instruction is fetched.
    pub fn decodes(&self) -> Cycle {
        self.decodes
    }

    /// Cycles lost by cause, in the order of [`CYCLE_NAMES`].
    pub fn lost(&self) -> [u64; 4] {
        [self.misses, self.loads, self.conflicts, self.pipeline]
    }

    /// Keeps it in execute until the memory stage is free: from cycle `free` by latency alone, from cycle `taken`
    /// because of others.
    pub fn wait(&mut self, free: Cycle, taken: Cycle) {
        let on_time = self.executes.max(free);
        self.loads += on_time - self.executes;
        self.executes = on_time.max(taken);
        self.conflicts += self.executes - on_time;
    }
}

/// Ready cycle of a register with an outstanding load.
const NEVER: Cycle = Cycle::MAX / 2;

/// State of the pipeline after the last instruction.
pub(super) struct Pipeline {
    rule: Rule,
    /// Cycle in which the last instruction entered decode.
    decoded: Cycle,
    entered: Cycle,
    executed: Cycle,
    /// First cycle in which each register is available in execute.
    ready: [Cycle; 32],
    hi_lo_ready: Cycle,
    /// Cycle in which the missing line arrived.
    line_came: Cycle,
    /// First cycle in which the next instruction can leave execute, if all loads take only their own latency.
    free_on_time: Cycle,
    /// The same with all waiting included.
    free: Cycle,
    /// From this cycle on, no line, no earlier load and no operand delays an instruction. Arithmetic results that are available in the
    /// next cycle do not count.
    settled: Cycle,
    /// Cycles directly after the latest data accesses at the scratchpad's port.
    behind_data: [Cycle; 4],
    n_data: usize,
    pub cycles: Cycles,
}

impl Pipeline {
    pub fn new(rule: Rule) -> Pipeline {
        let mut pipeline = Pipeline {
            rule,
            decoded: 0,
            entered: 0,
            executed: 0,
            ready: [0; 32],
            hi_lo_ready: 0,
            line_came: 0,
            free_on_time: 0,
            free: 0,
            settled: 0,
            behind_data: [0; 4],
            n_data: 0,
            cycles: Cycles::default(),
        };
        pipeline.begin(0);
        pipeline
    }

    /// Starts fetching in cycle `now`, or after the cycles already simulated.
    pub fn begin(&mut self, now: Cycle) {
        let now = now.max(self.executed);
        let depth = u64::from(self.rule.is_five_stage);
        (self.decoded, self.entered, self.executed) = (now, now + depth, now + depth);
    }

    pub fn is_five_stage(&self) -> bool {
        self.rule.is_five_stage
    }

    /// Cycle of the last instruction.
    #[inline(always)]
    pub fn executed(&self) -> Cycle {
        self.executed
    }

    /// Cycle in which the next instruction is fetched.
    #[inline(always)]
    pub fn fetches(&self) -> Cycle {
        self.decoded.max(self.line_came)
    }

    /// Records that the line of the next instruction arrived in time for a fetch in this cycle.
    pub fn line_came(&mut self, cycle: Cycle) {
        self.line_came = cycle;
        self.settle(cycle + 1 + u64::from(self.rule.is_five_stage));
    }

    fn settle(&mut self, cycle: Cycle) {
        self.settled = self.settled.max(cycle);
    }

    /// Returns true if the instruction uses a register with an outstanding load.
    #[inline(always)]
    pub fn misses_operand(&self, slot: &Slot) -> bool {
        let never = |r: u8| self.ready[usize::from(r & 31)] == NEVER;
        never(slot.reads[0]) || never(slot.reads[1]) || never(slot.writes)
    }

    /// Returns true if nothing delays the next instruction, unless it is a branch or uses HI or LO. There must be no outstanding load.
    #[inline(always)]
    pub fn flows(&self, is_in_scratchpad: bool) -> bool {
        self.executed + 1 >= self.settled && !(is_in_scratchpad && self.fetches() < self.behind_data[self.n_data & 3])
    }

    /// Completes a [`What::Plain`] or a [`What::Branch`] that nothing delays. A branch may have to wait for the result of the last
    /// instruction.
    #[inline(always)]
    pub fn flow(&mut self, slot: &Slot) {
        let (fetched, next) = (self.fetches(), self.executed + 1);
        let at = if slot.what == What::Branch { next.max(self.operands(slot)) } else { next };
        self.decoded = if self.rule.is_five_stage { self.entered.max(fetched + 1) } else { at };
        (self.entered, self.executed) = (at, at);
        self.cycles.execution += 1;
        self.cycles.pipeline += at - next;
        if slot.writes != 0 {
            self.ready[usize::from(slot.writes & 31)] = at + 1;
        }
    }

    /// When the next instruction executes, considering registers and earlier loads.
    #[inline(always)]
    pub fn start(&self, slot: &Slot, is_in_scratchpad: bool) -> Start {
        let depth = u64::from(self.rule.is_five_stage);
        let next = self.executed + 1;
        let mut fetched = self.fetches();
        if slot.what == What::Memory && self.flows(is_in_scratchpad) {
            let decodes = if self.rule.is_five_stage { self.entered.max(fetched + 1) } else { next };
            return Start { decodes, enters: next, executes: next, misses: 0, loads: 0, conflicts: 0, pipeline: 0 };
        }
        let operands = self.operands(slot);
        let is_port_taken = is_in_scratchpad && fetched < self.behind_data[self.n_data & 3];
        if (fetched + 1 + depth).max(operands).max(self.free) <= next && !is_port_taken {
            // Nothing delays it, as in most cases. `free_on_time` is not after `free`.
            let decodes = if self.rule.is_five_stage { self.entered.max(fetched + 1) } else { next };
            let (misses, loads, conflicts, pipeline) = (0, 0, 0, 0);
            return Start { decodes, enters: next, executes: next, misses, loads, conflicts, pipeline };
        }
        let there = next.max(fetched + 1 + depth);
        if is_port_taken {
            fetched = self.when_port_is_free(fetched);
        }
        let unhindered = next.max(fetched + 1 + depth);
        let loaded = unhindered.max(self.free_on_time);
        let freed = loaded.max(self.free);
        let executes = freed.max(operands);
        let enters = unhindered.max(operands);
        Start {
            decodes: if self.rule.is_five_stage { self.entered.max(fetched + 1) } else { executes },
            enters,
            executes,
            misses: there - next,
            loads: loaded - unhindered,
            conflicts: (unhindered - there) + (freed - loaded),
            pipeline: executes - freed,
        }
    }

    /// The first cycle from `fetched` on in which no data access uses the scratchpad's port.
    #[cold]
    fn when_port_is_free(&self, mut fetched: Cycle) -> Cycle {
        while self.behind_data.contains(&(fetched + 1)) {
            fetched += 1;
        }
        fetched
    }

    /// First cycle in which all operands are available.
    #[inline(always)]
    fn operands(&self, slot: &Slot) -> Cycle {
        if !self.rule.is_five_stage {
            return 0;
        }
        let ready = |r: u8| self.ready[usize::from(r & 31)];
        let registers = ready(slot.reads[0]).max(ready(slot.reads[1]));
        match slot.what {
            What::Branch if registers != 0 => registers + 1,
            What::HiLo | What::Multiply | What::Divide => registers.max(self.hi_lo_ready),
            _ => registers,
        }
    }

    /// Completes an instruction.
    #[inline(always)]
    pub fn retire(&mut self, slot: &Slot, start: &Start) {
        self.pass(start);
        self.cycles.execution += 1;
        if slot.writes != 0 {
            self.ready[usize::from(slot.writes & 31)] = start.executes + 1;
        }
        match slot.what {
            What::Multiply => self.hi_lo_ready = start.executes + self.rule.multiply_cycles,
            What::Divide => self.hi_lo_ready = start.executes + self.rule.divide_cycles,
            _ => (),
        }
    }

    /// Completes an annulled delay slot; only a pipeline has them. Returns the cycles lost, as [`Start::lost`].
    pub fn annul(&mut self, is_in_scratchpad: bool) -> [u64; 4] {
        if !self.rule.is_five_stage {
            return [0; 4];
        }
        let mut start = self.start(&Slot::BUBBLE, is_in_scratchpad);
        start.pipeline += 1;
        self.pass(&start);
        start.lost()
    }

    #[inline(always)]
    fn pass(&mut self, start: &Start) {
        (self.decoded, self.entered, self.executed) = (start.decodes, start.enters, start.executes);
        self.cycles.instruction_misses += start.misses;
        self.cycles.load_stalls += start.loads;
        self.cycles.conflicts += start.conflicts;
        self.cycles.pipeline += start.pipeline;
    }

    /// Records that the instruction that executes in `cycle` accesses the scratchpad in its memory stage.
    #[inline(always)]
    pub fn uses_scratchpad(&mut self, cycle: Cycle) {
        if self.rule.is_five_stage {
            self.n_data += 1;
            self.behind_data[self.n_data & 3] = cycle + 2;
        }
    }

    /// Records that a scratchpad load that executes in `cycle` provides `rt` after the memory stage.
    #[inline(always)]
    pub fn loads_at_once(&mut self, cycle: Cycle, rt: u8) {
        if rt != 0 {
            self.ready[usize::from(rt & 31)] = cycle + 2;
            self.settle(cycle + 2);
        }
    }

    /// Marks `rt` as having an outstanding load.
    pub fn awaits(&mut self, rt: u8) {
        if rt != 0 {
            self.ready[usize::from(rt & 31)] = NEVER;
        }
    }

    /// Records the answer to a load in cycle `now`, which was due in cycle `due`. Up to `waited`
    /// cycles of the delay are a conflict, and the rest is a load stall.
    pub fn answered(&mut self, rt: u8, due: Cycle, waited: Cycle, now: Cycle) {
        if rt != 0 {
            self.ready[usize::from(rt & 31)] = now;
        }
        self.settle(now);
        self.free_on_time = self.free_on_time.max(now - waited.min(now.saturating_sub(due)) - 1);
        self.free = self.free.max(now - 1);
    }

    /// Discards outstanding loads.
    pub fn forget(&mut self) {
        self.ready = [0; 32];
    }
}
