//! Hardware loops: two sets of start, end and count, which fetch compares with the address at its output.
//!
//! At the end address of a loop with a count of 2 or more, fetch continues at the start; loop 0 has priority over
//! loop 1. The count decreases when the instruction at the start has left decode, so a finished loop leaves the count
//! 1, and a loop with a count of 1 or 0 runs once.
//!
//! This has two consequences that programs for RI5CY avoid and that are modelled too. Fetch is ahead of the
//! instruction that writes a register, and compares the next instruction with the old values: a loop of one
//! instruction directly after its `lp.setup` runs once. And in any loop of one instruction, the count decreases too
//! late for the comparison, so the loop runs once more than its count.
//!
//! Source: PsPIN RTL a49fec8, `hw/deps/riscv`: `riscv_hwloop_controller.sv`, `riscv_hwloop_regs.sv`, `riscv_if_stage.sv`,
//! `riscv_prefetch_L0_buffer.sv`. Derived, not measured.

use super::block::Plain;
use super::core::{Core, NO_LINE, Pending, Stop};
use super::lines::FetchLines;
use super::profile::Lost;
use super::program::{Kind, Place, Program, Slot};
use super::timing;
use super::watch::EVENT_CYCLE;
use isa::riscv::LoopPart;
use kernel::Cycle;

/// After an instruction that sets a loop leaves decode, fetch compares with the new values this many cycles later: they
/// are written while the next instruction is at the output of fetch. A control register is written one stage later.
pub(super) const SEEN_AFTER_LP: Cycle = 2;
pub(super) const SEEN_AFTER_CSR: Cycle = 3;

/// The registers of one hardware loop.
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
    /// The registers as fetch sees them: for instructions that leave decode before `seen_from`, the values before the
    /// last write.
    seen: [Loop; 2],
    seen_from: Cycle,
    /// The single-instruction loop whose count decreases when that instruction leaves decode.
    due: Option<usize>,
}

impl Loops {
    /// Reads a loop register.
    pub fn read(&self, id: usize, part: LoopPart) -> u32 {
        let Loop { start, end, count } = self.registers[id];
        match part {
            LoopPart::Start => start,
            LoopPart::End => end,
            LoopPart::Count => count,
        }
    }

    /// Writes a loop register at cycle `now`; fetch sees the value `delay` cycles later.
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

    /// Returns true if a loop may end at some instruction, now or after a pending write.
    pub fn are_active(&self) -> bool {
        self.due.is_some() || self.registers.iter().chain(&self.seen).any(Loop::repeats)
    }

    /// Applies writes that fetch sees by cycle `now`.
    fn look(&mut self, now: Cycle) {
        if now >= self.seen_from {
            self.seen = self.registers;
        }
    }

    /// The positions at which an instruction that leaves decode at `now` needs a call of [`Loops::ending`]: half
    /// words from `base`; `None` if any position may.
    pub fn ends(&self, base: u32, now: Cycle) -> Option<[usize; 2]> {
        let at = |of: &Loop| {
            if of.repeats() && of.end & 1 == 0 { (of.end.wrapping_sub(base) >> 1) as usize } else { usize::MAX }
        };
        (self.due.is_none() && now >= self.seen_from).then(|| [at(&self.seen[0]), at(&self.seen[1])])
    }

    /// The loop that ends with the instruction at `pc`.
    pub fn ending(&self, pc: u32) -> Option<usize> {
        self.seen.iter().position(|of| of.end == pc && of.repeats())
    }

    /// Counts a single-instruction loop down when its instruction leaves decode.
    fn settle_due(&mut self) {
        if let Some(id) = self.due.take() {
            self.count_down(id);
        }
    }

    /// Goes back from `pc` to the start of loop `id`. Returns the start address.
    fn go_back(&mut self, id: usize, pc: u32) -> u32 {
        let start = self.seen[id].start & !1;
        if start == pc {
            self.due = Some(id);
        } else {
            self.count_down(id);
        }
        start
    }

    /// Undoes a return to the start.
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

/// Checks that a core must make besides executing instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Attention {
    /// No further checks.
    None,
    /// Ends of hardware loops.
    Loops,
    /// Ends of hardware loops, and counting or logging.
    All,
    /// Cycles by instruction.
    Profile,
}

/// [`Attention`] as a constant parameter of the instruction loop.
pub(super) const PLAIN: u8 = Attention::None as u8;
pub(super) const WATCH: u8 = Attention::All as u8;
pub(super) const LOOPS: u8 = Attention::Loops as u8;
pub(super) const PROFILE: u8 = Attention::Profile as u8;

/// Returns true if an instruction loop with this parameter checks the ends of hardware loops.
pub(super) const fn has_loops(mode: u8) -> bool {
    mode == LOOPS || mode == WATCH
}

/// Returns true if it counts cycles by instruction.
pub(super) const fn has_profile(mode: u8) -> bool {
    mode == PROFILE || mode == WATCH
}

/// State of fetch after a return to the start of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct FetchAfterLoop {
    /// Earliest cycle in which the next instruction leaves decode.
    not_before: Cycle,
    /// A requested line that must arrive first.
    abandoned: u32,
    /// Number of retired instructions when fetch was last redirected.
    pub landed: u64,
    /// The loop of the last return.
    id: usize,
}

impl Default for FetchAfterLoop {
    fn default() -> Self {
        FetchAfterLoop { not_before: 0, abandoned: NO_LINE, landed: u64::MAX, id: 0 }
    }
}

impl Core {
    /// Updates the checks after a change of counters or loops.
    pub(super) fn choose_attention(&mut self) {
        self.waits_for = Plain::Not;
        let has_loops = self.csrs.loops.are_active();
        self.attention = match self.watched {
            0 if has_loops => Attention::Loops,
            0 => Attention::None,
            Core::PROFILED if !has_loops => Attention::Profile,
            _ => Attention::All,
        };
    }

    /// Writes a loop register.
    pub(super) fn set_loop(&mut self, id: u8, part: LoopPart, value: u32) {
        self.csrs.loops.write(usize::from(id & 1), part, value, self.time, SEEN_AFTER_LP);
        self.choose_attention();
        // Fetch is before the loop's first instruction, or outside the loop.
        self.pending = Pending::Done { cycles: timing::PLAIN, stop: Stop::Yield };
    }

    /// Completes a return to a loop start before the next instruction. Returns a stop that must come first, if any.
    pub(super) fn settle_loops<L: FetchLines>(&mut self, lines: &L, horizon: Cycle) -> Option<Stop> {
        let waited = self.fetch.not_before.saturating_sub(self.time);
        self.count(EVENT_CYCLE, waited);
        self.lose(Lost::FetchAlignment, waited);
        self.time += waited;
        let abandoned = std::mem::replace(&mut self.fetch.abandoned, NO_LINE) << 4;
        if abandoned != NO_LINE << 4 && !lines.present(abandoned) {
            return Some(Stop::Abandon(abandoned));
        }
        self.csrs.loops.look(self.time);
        self.choose_attention();
        (self.time >= horizon).then_some(Stop::Yield)
    }

    /// After the instruction at `pc`: if loop `ending` ends with it, fetch returns to the start of the loop.
    pub(super) fn end_loop(&mut self, program: &Program, slot: &Slot, pc: u32, ending: Option<usize>) {
        let loops = &mut self.csrs.loops;
        loops.settle_due();
        let Some(id) = ending else { return };
        if self.jumped {
            // When a branch is decided, the instruction at the start is already in decode, so it has counted the loop
            // down.
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
        // The return costs no cycle unless fetch was just redirected to this same instruction.
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

    /// The waiting access is refused. If a loop ended with it, the instruction at the start, which counts the loop
    /// down, never left decode.
    pub(super) fn stay_in_loop(&mut self) {
        // The access counts as retired only once it is granted.
        if self.fetch.landed == self.instructions + 1 {
            self.csrs.loops.stay(self.fetch.id);
            self.choose_attention();
        }
    }
}
