//! Hardware loops: two sets of a start, an end and a count, which fetch compares with the address at its output.
//!
//! Where that is a loop's end and the count is 2 or more, fetch goes on at the start; loop 0 comes before loop 1. The count
//! falls when the instruction at the start has left decode, so a finished loop leaves 1, and a loop of 1 or 0 runs once.
//!
//! Two things follow that programs for RI5CY avoid and that happen here too. Fetch is ahead of the instruction that writes
//! a register: it compares the next instruction with the old values, so a loop of one instruction just behind its
//! `lp.setup` runs once. And in any loop of one instruction the count falls too late for the comparison, so that it runs
//! once more than its count.
//!
//! Source: PsPIN RTL a49fec8, `hw/deps/riscv`: `riscv_hwloop_controller.sv`, `riscv_hwloop_regs.sv`, `riscv_if_stage.sv`,
//! `riscv_prefetch_L0_buffer.sv`. Derived, not measured.

use super::core::{Core, NO_LINE, Pending, Stop};
use super::lines::Lines;
use super::program::{Kind, Place, Program, Slot};
use super::timing;
use super::watch::EVENT_CYCLE;
use isa::riscv::LoopPart;
use kernel::Cycle;

/// Cycles from an instruction that sets a loop leaving decode to the first that fetch compares with the new values: they
/// are written while the next instruction is at the output of fetch. A control register is written a stage later.
pub(super) const SEEN_AFTER_LP: Cycle = 2;
pub(super) const SEEN_AFTER_CSR: Cycle = 3;

/// The registers of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Loop {
    start: u32,
    end: u32,
    count: u32,
}

impl Loop {
    fn repeats(&self) -> bool {
        self.count >= 2
    }
}

/// Both loops.
#[derive(Clone, Debug, Default)]
pub(super) struct Loops {
    registers: [Loop; 2],
    /// The registers as fetch sees them: as they were before the last write for instructions that leave decode before
    /// `seen_from`.
    seen: [Loop; 2],
    seen_from: Cycle,
    /// The loop of one instruction whose count falls when that leaves decode.
    due: Option<usize>,
}

impl Loops {
    /// A part of a loop's registers.
    pub fn read(&self, id: usize, part: LoopPart) -> u32 {
        let Loop { start, end, count } = self.registers[id];
        match part {
            LoopPart::Start => start,
            LoopPart::End => end,
            LoopPart::Count => count,
        }
    }

    /// Writes a part of a loop's registers at cycle `now`; fetch sees it `delay` cycles later.
    pub fn write(&mut self, id: usize, part: LoopPart, value: u32, now: Cycle, delay: Cycle) {
        self.look(now);
        self.seen_from = now + delay;
        let registers = &mut self.registers[id];
        match part {
            LoopPart::Start => registers.start = value,
            LoopPart::End => registers.end = value,
            LoopPart::Count => registers.count = value,
        }
    }

    /// Whether an instruction's place may matter, now or when a write is seen.
    pub fn are_active(&self) -> bool {
        self.due.is_some() || self.registers.iter().chain(&self.seen).any(Loop::repeats)
    }

    /// Fetch sees what was written in time for an instruction that leaves decode at `now`.
    fn look(&mut self, now: Cycle) {
        if now >= self.seen_from {
            self.seen = self.registers;
        }
    }

    /// Where an instruction that leaves decode at `now` may not be run without asking [`Loops::ending`]: so many half words
    /// behind `base`, or, if `None`, anywhere.
    pub fn ends(&self, base: u32, now: Cycle) -> Option<[usize; 2]> {
        let at = |of: &Loop| {
            if of.repeats() && of.end & 1 == 0 { (of.end.wrapping_sub(base) >> 1) as usize } else { usize::MAX }
        };
        (self.due.is_none() && now >= self.seen_from).then(|| [at(&self.seen[0]), at(&self.seen[1])])
    }

    /// The loop that fetch goes back with from the instruction at `pc`.
    pub fn ending(&self, pc: u32) -> Option<usize> {
        self.seen.iter().position(|of| of.end == pc && of.repeats())
    }

    /// The instruction that a loop of one went back to left decode.
    fn settle_due(&mut self) {
        if let Some(id) = self.due.take() {
            self.count_down(id);
        }
    }

    /// Fetch goes back to the start of loop `id` from `pc`; the address.
    fn go_back(&mut self, id: usize, pc: u32) -> u32 {
        let start = self.seen[id].start & !1;
        if start == pc {
            self.due = Some(id);
        } else {
            self.count_down(id);
        }
        start
    }

    /// Fetch did not go back after all.
    fn stay(&mut self, id: usize) {
        if self.due.take().is_none() {
            self.count(id, 1);
        }
    }

    fn count_down(&mut self, id: usize) {
        self.count(id, u32::MAX);
    }

    fn count(&mut self, id: usize, difference: u32) {
        for all in [&mut self.registers, &mut self.seen] {
            all[id].count = all[id].count.wrapping_add(difference);
        }
    }
}

/// What a core must attend to besides its instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Attention {
    /// Nothing.
    None,
    /// Ends of hardware loops.
    Loops,
    /// These, and everything is counted or logged.
    All,
}

/// [`Attention`] as the parameter of the loop that runs instructions.
pub(super) const PLAIN: u8 = Attention::None as u8;
pub(super) const WATCH: u8 = Attention::All as u8;
pub(super) const LOOPS: u8 = Attention::Loops as u8;

/// What fetch does after it went back to the start of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct FetchAfterLoop {
    /// The next instruction leaves decode in this cycle at the earliest.
    not_before: Cycle,
    /// Line that was asked for ahead and must come first.
    abandoned: u32,
    /// Instructions retired when fetch was last directed elsewhere.
    pub landed: u64,
    /// The loop whose start it was directed to last.
    id: usize,
}

impl Default for FetchAfterLoop {
    fn default() -> Self {
        FetchAfterLoop { not_before: 0, abandoned: NO_LINE, landed: u64::MAX, id: 0 }
    }
}

impl Core {
    /// Decides anew what to attend to, after a change of counters or loops.
    pub(super) fn choose_attention(&mut self) {
        self.attention = if self.watched != 0 {
            Attention::All
        } else if self.csrs.loops.are_active() {
            Attention::Loops
        } else {
            Attention::None
        };
    }

    /// Sets a part of a loop.
    pub(super) fn set_loop(&mut self, id: u8, part: LoopPart, value: u32) {
        self.csrs.loops.write(usize::from(id & 1), part, value, self.time, SEEN_AFTER_LP);
        self.choose_attention();
        // Fetch stands before the instruction that is first in the loop, or has nothing to do with it.
        self.pending = Pending::Done { cycles: timing::PLAIN, stop: Stop::Yield };
    }

    /// Before an instruction: what fetch still does for the last jump back. Comes back with what must happen first.
    pub(super) fn settle_loops<L: Lines>(&mut self, lines: &L, horizon: Cycle) -> Option<Stop> {
        let waited = self.fetch.not_before.saturating_sub(self.time);
        self.count(EVENT_CYCLE, waited);
        self.time += waited;
        let abandoned = std::mem::replace(&mut self.fetch.abandoned, NO_LINE) << 4;
        if abandoned != NO_LINE << 4 && !lines.present(abandoned) {
            return Some(Stop::Abandon(abandoned));
        }
        self.csrs.loops.look(self.time);
        self.choose_attention();
        (self.time >= horizon).then_some(Stop::Yield)
    }

    /// After the instruction at `pc`, with which loop `ending` ends, if any does: fetch goes back to that loop's start.
    pub(super) fn end_loop(&mut self, program: &Program, slot: &Slot, pc: u32, ending: Option<usize>) {
        let loops = &mut self.csrs.loops;
        loops.settle_due();
        let Some(id) = ending else { return };
        if self.jumped {
            // A branch is decided when the instruction at the start is already being decoded, which counts.
            if slot.kind() == Kind::Branch {
                loops.count_down(id);
            }
            return;
        }
        let traps = slot.kind() == Kind::Special && matches!(self.pending, Pending::Trap { .. });
        if traps || self.next != pc.wrapping_add(slot.inst.bytes().into()) {
            return;
        }
        let start = loops.go_back(id, pc);
        // Fetch goes back without loss, unless it has just been directed to this very instruction.
        let has_landed = self.fetch.landed == self.instructions && slot.place() != Place::Straddles;
        let straddles = program.slot(start).is_some_and(|start| start.place() == Place::Straddles);
        let lost =
            u64::from(has_landed) * timing::LOOP_END_AT_TARGET + u64::from(straddles) * timing::STRADDLING_TARGET;
        self.fetch = FetchAfterLoop {
            not_before: self.time + timing::PLAIN + lost,
            abandoned: std::mem::replace(&mut self.ahead, NO_LINE),
            landed: self.instructions + 1,
            id,
        };
        self.next = start;
        self.line = NO_LINE;
    }

    /// The access that waits is refused. If a loop ended with it, the instruction at the start, which counts, never left decode.
    pub(super) fn stay_in_loop(&mut self) {
        // So many are retired only once the access is granted.
        if self.fetch.landed == self.instructions + 1 {
            self.csrs.loops.stay(self.fetch.id);
            self.choose_attention();
        }
    }
}
