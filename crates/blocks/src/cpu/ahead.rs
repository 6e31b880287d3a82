//! Running ahead: what needs little looking around, up to the first access to memory.
//!
//! This is where a simulation spends its time, so a run of instructions that follow one another a cycle each, in a fetch
//! line and the next, is executed without a look at anything. What comes of it is what [`Core::run_loop`] would do one by one.

use super::core::{Core, Lines, NO_LINE, Stop};
use super::program::{Pace, Program, SINK, Slot};
use super::timing;
use isa::riscv::execute;
use kernel::Cycle;

impl Core {
    /// Runs arithmetic, jumps between lines that are there, and up to the first access to memory: whether it came to one. If
    /// not, an instruction is left for the caller.
    #[inline(always)]
    pub(super) fn run_ahead<L: Lines>(&mut self, program: &Program, lines: &L, horizon: Cycle) -> bool {
        // Whatever comes next, its time must be within the horizon when it starts.
        let end = horizon.saturating_sub(timing::BRANCH_TAKEN);
        if self.time >= end || self.ahead != NO_LINE {
            return false;
        }
        let stretch = self.stretch;
        let slots = program.slots();
        let Some(there) = lines.all().get(..stretch.end_line) else { return false };
        let line = |at: usize| at / (timing::LINE_BYTES as usize / 2);
        let is_there = |line: usize| there.get(line).is_some_and(|&there| there != 0);

        let mut at = program.position(self.pc);
        // What is behind the stretch is not there.
        if at < stretch.first || !is_there(line(at)) {
            return false;
        }
        // Cycles beyond one for each instruction.
        let (mut time, mut beyond) = (self.time, 0);
        // Where the instructions before this one began to follow one another.
        let mut landed = at;
        while let Some(mut slot) = slots.get(at) {
            let (run, span) = slot.run();
            if run != 0 {
                if slot.crosses() && !is_there(line(at) + 1) {
                    break;
                }
                landed = at;
                let left = end - time;
                if run >= left {
                    at += halves(&slots[at..], left);
                    self.run_straight(&slots[landed..at]);
                    time = end;
                    break;
                }
                at += span;
                self.run_straight(&slots[landed..at]);
                time += run * timing::PLAIN;
                match slots.get(at) {
                    Some(next) => slot = next,
                    None => break,
                }
            }
            match slot.pace {
                Pace::Memory | Pace::MemoryLineEnd => {
                    if slot.pace == Pace::MemoryLineEnd && !is_there(line(at) + 1) {
                        break;
                    }
                    execute(self, &slot.inst);
                    self.access.feeds_next = slot.feeds_next();
                    self.next = program.address(at + slot.halves());
                    self.ran(program.address(at), time - self.time - beyond, time);
                    return true;
                }
                Pace::Jump | Pace::JumpLineEnd => {
                    let target = at.wrapping_add_signed(slot.inst.imm as isize >> 1);
                    if target < stretch.first
                        || !is_there(line(target))
                        || slot.pace == Pace::JumpLineEnd && !is_there(line(at) + 1)
                    {
                        break;
                    }
                    self.pc = program.address(at);
                    execute(self, &slot.inst);
                    at += slot.halves();
                    time += timing::PLAIN;
                    if self.jumped {
                        self.jumped = false;
                        at = target;
                        time += slot.taken() - timing::PLAIN;
                        beyond += slot.taken() - timing::PLAIN;
                    }
                    landed = at;
                    if time >= end {
                        break;
                    }
                }
                // Behind a run that ends with its line.
                Pace::Straight | Pace::LineEnd => {}
                Pace::Careful => break,
            }
        }
        let n = time - self.time - beyond;
        if n > 0 {
            // A jump leaves its link register time enough.
            self.last_rd = slots.get(landed..at).and_then(last).map_or(SINK, |slot| slot.inst.rd);
        }
        self.ran(program.address(at), n, time);
        false
    }

    /// Executes instructions that follow one another.
    #[inline(always)]
    fn run_straight(&mut self, run: &[Slot]) {
        let mut at = 0;
        while let Some(slot) = run.get(at) {
            at += slot.halves(); // Before the call, so that little is kept over it.
            execute(self, &slot.inst);
        }
    }

    /// The same while hardware loops are active: every instruction is compared with their ends.
    #[inline(never)]
    pub(super) fn run_ahead_in_loops<L: Lines>(
        &mut self,
        program: &Program,
        lines: &L,
        horizon: Cycle,
    ) -> Option<Stop> {
        // Whatever comes next, its time must be within the horizon when it starts.
        let end = horizon.saturating_sub(timing::BRANCH_TAKEN);
        let ends = self.csrs.loops.ends(program.address(0), self.time)?;
        let (slots, stretch) = (program.slots(), self.stretch);
        let mut at = program.position(self.pc);
        let (mut time, mut n, mut last_rd) = (self.time, 0, self.last_rd);
        let mut stop = None;
        while time < end {
            let Some(slot) = slots.get(at).filter(|_| stretch.holds(at)) else { break };
            if at == ends[0] || at == ends[1] {
                break;
            }
            if slot.pace > Pace::Memory && !self.may_run(slot, program.address(at), lines) {
                break;
            }
            execute(self, &slot.inst);
            if slot.pace == Pace::Straight {
                (at, last_rd) = (at + slot.halves(), slot.inst.rd);
                (time, n) = (time + timing::PLAIN, n + 1);
                continue;
            }
            match slot.pace {
                Pace::Memory | Pace::MemoryLineEnd => {
                    self.access.feeds_next = slot.feeds_next();
                    self.next = program.address(at + slot.halves());
                    stop = Some(Stop::Access);
                    break;
                }
                Pace::Jump | Pace::JumpLineEnd if self.jumped => {
                    self.jumped = false;
                    self.fetch.landed = self.instructions + n + 1;
                    (at, last_rd) = (program.position(self.next), SINK);
                    time += slot.taken();
                }
                _ => {
                    (at, last_rd) = (at + slot.halves(), slot.inst.rd);
                    time += timing::PLAIN;
                }
            }
            n += 1;
        }
        self.last_rd = last_rd;
        self.ran(program.address(at), n, time);
        stop
    }

    /// Ran ahead to `pc` and `time`: `n` instructions.
    #[inline(always)]
    fn ran(&mut self, pc: u32, n: u64, time: Cycle) {
        (self.pc, self.line, self.time) = (pc, pc >> 4, time);
        self.instructions += n;
    }

    /// Whether the lines around an instruction at `pc` let it run without further ado; a jump is made ready.
    #[inline(always)]
    fn may_run<L: Lines>(&mut self, slot: &Slot, pc: u32, lines: &L) -> bool {
        match slot.pace {
            Pace::LineEnd | Pace::MemoryLineEnd => {
                let there = lines.present((pc & !15).wrapping_add(16));
                if there {
                    self.ahead = NO_LINE;
                }
                there
            }
            Pace::Jump | Pace::JumpLineEnd => {
                let target_there = self.ahead == NO_LINE && lines.present(pc.wrapping_add(slot.inst.imm as u32));
                (self.pc, self.next) = (pc, pc.wrapping_add(slot.inst.bytes().into()));
                target_there && (slot.pace == Pace::Jump || lines.present((pc & !15).wrapping_add(16)))
            }
            Pace::Straight | Pace::Memory | Pace::Careful => false,
        }
    }
}

/// Half words that `n` instructions take, which follow one another from the beginning of `slots` on.
#[cold]
#[inline(never)]
fn halves(slots: &[Slot], n: u64) -> usize {
    (0..n).fold(0, |at, _| at + slots[at].halves())
}

/// The last of instructions that follow one another and fill `slots`.
#[inline(never)]
fn last(slots: &[Slot]) -> Option<&Slot> {
    let mut at = 0;
    std::iter::from_fn(|| slots.get(at).inspect(|slot| at += slot.halves())).last()
}
