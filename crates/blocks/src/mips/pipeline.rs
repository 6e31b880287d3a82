//! When instructions execute: the timing rule of both kinds of core, in cycles, and where the cycles went.
//!
//! A cycle here is that in which an instruction is in the execute stage for the last time. In the five-stage core instruction *i*
//! is fetched when *i - 1* enters decode, enters decode when *i - 1* enters execute, and executes one cycle later, unless
//!
//! - its word is not there (a miss), or a load or store of the data stands in its way at the scratchpad's one port (a conflict);
//! - a load before it has not left the memory stage: what it takes by itself is a load stall, what others make of it a
//!   conflict;
//! - an operand is not there: that of a branch is wanted in decode. What an arithmetic instruction makes can be an operand in
//!   the next cycle, what a load brings in the cycle in which its answer comes;
//! - it stands in a delay slot that was annulled: then its cycle is lost.
//!
//! Source: P. Willmann's thesis (Rice University, 2004), Figure 3.3, and 4.5.3 for the stalls. Branches cost nothing by
//! themselves: they are decided in decode, and the delay slot covers the fetch.
//! Assumed: data goes before instructions at the scratchpad's port (the thesis says only that it has one port).

use super::code::{Slot, What};
use kernel::Cycle;

/// Where the cycles of a core went: the rows of the thesis's Table 4.4.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cycles {
    /// In each an instruction was executed.
    pub execution: u64,
    /// Waiting for a line of the instruction cache.
    pub instruction_misses: u64,
    /// Waiting for data memory as long as it takes when nobody is in the way.
    pub load_stalls: u64,
    /// Waiting for data memory while it serves others, or for the one port of the scratchpad.
    pub conflicts: u64,
    /// Waiting for an operand, and annulled delay slots.
    pub pipeline: u64,
}

/// Names of the counts, in order.
pub const fn cycle_names() -> [&'static str; 5] {
    ["execution", "instruction_misses", "load_stalls", "conflicts", "pipeline"]
}

impl Cycles {
    /// The counts in the order of [`cycle_names`].
    pub const fn counts(&self) -> [u64; 5] {
        [self.execution, self.instruction_misses, self.load_stalls, self.conflicts, self.pipeline]
    }
}

/// What the timing rule knows.
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
    /// What kept it, in cycles.
    misses: u64,
    loads: u64,
    conflicts: u64,
    pipeline: u64,
}

impl Start {
    /// Cycle in which it enters decode, and the one behind it is fetched.
    pub fn decodes(&self) -> Cycle {
        self.decodes
    }

    /// It waits in execute until the memory stage is free at cycle `free`, then until cycle `taken` because others are in
    /// the way.
    pub fn wait(&mut self, free: Cycle, taken: Cycle) {
        let on_time = self.executes.max(free);
        self.loads += on_time - self.executes;
        self.executes = on_time.max(taken);
        self.conflicts += self.executes - on_time;
    }
}

/// A register that a load has not brought yet can be an operand from this cycle on.
const NEVER: Cycle = Cycle::MAX / 2;

/// The pipeline: what the instructions before have left behind.
pub(super) struct Pipeline {
    rule: Rule,
    /// Of the last instruction.
    decoded: Cycle,
    entered: Cycle,
    executed: Cycle,
    /// From which cycle on each register can be an operand in execute.
    ready: [Cycle; 32],
    hi_lo_ready: Cycle,
    /// Cycle in which the line that was missing came.
    line_came: Cycle,
    /// The memory stage lets the next instruction leave execute in this cycle if loads take what they take by themselves ...
    free_on_time: Cycle,
    /// ... and in this with all that happened.
    free: Cycle,
    /// The cycles behind the last ones in which data used the scratchpad's port.
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
            behind_data: [0; 4],
            n_data: 0,
            cycles: Cycles::default(),
        };
        pipeline.begin(0);
        pipeline
    }

    /// The first instruction is fetched in cycle `now`, or behind what was simulated ahead.
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

    /// Cycle in which the next instruction is wanted from where instructions are.
    pub fn fetches(&self) -> Cycle {
        self.decoded.max(self.line_came)
    }

    /// The line of the next instruction came in time for a fetch in this cycle.
    pub fn line_came(&mut self, cycle: Cycle) {
        self.line_came = cycle;
    }

    /// Whether the instruction names a register that a load has not brought yet.
    #[inline(always)]
    pub fn misses_operand(&self, slot: &Slot) -> bool {
        let never = |r: u8| self.ready[usize::from(r & 31)] == NEVER;
        never(slot.reads[0]) || never(slot.reads[1]) || never(slot.writes)
    }

    /// When the next instruction executes, as far as registers and earlier loads have to do with it.
    #[inline(always)]
    pub fn start(&self, slot: &Slot, is_in_scratchpad: bool) -> Start {
        let depth = u64::from(self.rule.is_five_stage);
        let next = self.executed + 1;
        let mut fetched = self.decoded.max(self.line_came);
        let there = next.max(fetched + 1 + depth);
        if is_in_scratchpad && fetched < self.behind_data[self.n_data & 3] {
            fetched = self.when_port_is_free(fetched);
        }
        let unhindered = next.max(fetched + 1 + depth);
        let loaded = unhindered.max(self.free_on_time);
        let freed = loaded.max(self.free);
        let operands = self.operands(slot);
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

    /// The first cycle from `fetched` on in which no data uses the scratchpad's port.
    #[cold]
    fn when_port_is_free(&self, mut fetched: Cycle) -> Cycle {
        while self.behind_data.contains(&(fetched + 1)) {
            fetched += 1;
        }
        fetched
    }

    /// From when on all operands are there.
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

    /// The instruction goes its way, once it is known that it can.
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

    /// An annulled delay slot goes its way; only pipelines have them.
    pub fn annul(&mut self, is_in_scratchpad: bool) {
        if self.rule.is_five_stage {
            let start = self.start(&Slot::BUBBLE, is_in_scratchpad);
            self.pass(&start);
            self.cycles.pipeline += 1;
        }
    }

    #[inline(always)]
    fn pass(&mut self, start: &Start) {
        (self.decoded, self.entered, self.executed) = (start.decodes, start.enters, start.executes);
        self.cycles.instruction_misses += start.misses;
        self.cycles.load_stalls += start.loads;
        self.cycles.conflicts += start.conflicts;
        self.cycles.pipeline += start.pipeline;
    }

    /// The instruction that executes in `cycle` reads or writes the scratchpad, in its memory stage.
    #[inline(always)]
    pub fn uses_scratchpad(&mut self, cycle: Cycle) {
        if self.rule.is_five_stage {
            self.n_data += 1;
            self.behind_data[self.n_data & 3] = cycle + 2;
        }
    }

    /// What the scratchpad gave to a load that executes in `cycle` can be an operand behind the memory stage.
    #[inline(always)]
    pub fn loads_at_once(&mut self, cycle: Cycle, rt: u8) {
        if rt != 0 {
            self.ready[usize::from(rt & 31)] = cycle + 2;
        }
    }

    /// A load to `rt` is under way.
    pub fn awaits(&mut self, rt: u8) {
        if rt != 0 {
            self.ready[usize::from(rt & 31)] = NEVER;
        }
    }

    /// What a load asked for is there in cycle `now`. It was due in cycle `due`; what is later is a conflict as far as others
    /// were in the way, for `waited` cycles, and else what memory takes.
    pub fn answered(&mut self, rt: u8, due: Cycle, waited: Cycle, now: Cycle) {
        if rt != 0 {
            self.ready[usize::from(rt & 31)] = now;
        }
        self.free_on_time = self.free_on_time.max(now - waited.min(now.saturating_sub(due)) - 1);
        self.free = self.free.max(now - 1);
    }

    /// What was under way is forgotten.
    pub fn forget(&mut self) {
        self.ready = [0; 32];
    }
}
