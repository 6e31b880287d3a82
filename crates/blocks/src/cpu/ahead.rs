//! Running ahead: what needs little looking around, up to the first access to memory.
//!
//! This is where a simulation spends its time, so a run of instructions that follow one another a cycle each, in a fetch
//! line and the next, is executed without a look at anything. What comes of it is what [`Core::run_loop`] would do one by one.

use super::core::{Core, Lines, NO_LINE, Stop};
use super::program::{Kind, Pace, Program, SINK, Slot};
use super::timing;
use isa::riscv::execute;
use kernel::Cycle;

impl Core {
    /// Runs arithmetic, jumps between lines that are there, and up to the first access to memory. Comes back with
    /// [`Stop::Access`], or with nothing and an instruction left for the caller.
    #[inline(never)]
    pub(super) fn run_ahead<L: Lines>(&mut self, program: &Program, lines: &L, horizon: Cycle) -> Option<Stop> {
        // Whatever comes next, its time must be within the horizon when it starts.
        let end = horizon.saturating_sub(timing::BRANCH_TAKEN);
        if self.time >= end || self.ahead != NO_LINE {
            return None;
        }
        let stretch = self.stretch;
        let slots = program.slots();
        let there = lines.all().get(..stretch.end_line)?;
        let line = |at: usize| at / (timing::LINE_BYTES as usize / 2);
        let is_there = |line: usize| there.get(line).is_some_and(|&there| there != 0);

        let mut at = program.position(self.pc);
        if !stretch.holds(at) || !is_there(line(at)) {
            return None;
        }
        let (mut time, mut n) = (self.time, 0);
        // Where the instructions before this one began to follow one another.
        let mut landed = at;
        let mut stop = None;
        while time < end
            && let Some(slot) = slots.get(at)
        {
            match slot.pace {
                Pace::Straight | Pace::LineEnd => {
                    if slot.crosses() && !is_there(line(at) + 1) {
                        break;
                    }
                    let (mut run, mut span) = slot.run();
                    if time + run > end {
                        run = end - time;
                        span = halves(&slots[at..], run);
                    }
                    self.run_straight(&slots[at..at + span]);
                    (landed, at) = (at, at + span);
                    (time, n) = (time + run * timing::PLAIN, n + run);
                }
                Pace::Memory | Pace::MemoryLineEnd => {
                    if slot.pace == Pace::Memory || is_there(line(at) + 1) {
                        execute(self, &slot.inst);
                        self.access.feeds_next = slot.feeds_next();
                        self.next = program.address(at + slot.halves());
                        stop = Some(Stop::Access);
                    }
                    break;
                }
                Pace::Jump | Pace::JumpLineEnd => {
                    let target = at.wrapping_add_signed(slot.inst.imm as isize >> 1);
                    if !stretch.holds(target)
                        || !is_there(line(target))
                        || slot.pace == Pace::JumpLineEnd && !is_there(line(at) + 1)
                    {
                        break;
                    }
                    self.pc = program.address(at);
                    execute(self, &slot.inst);
                    if self.jumped {
                        self.jumped = false;
                        at = target;
                        time += if slot.kind() == Kind::Branch { timing::BRANCH_TAKEN } else { timing::JUMP };
                    } else {
                        at += slot.halves();
                        time += timing::PLAIN;
                    }
                    (landed, n) = (at, n + 1);
                }
                Pace::Careful => break,
            }
        }
        // An access decides itself what comes behind it.
        if stop.is_none() && n > 0 {
            // A jump leaves its link register time enough.
            self.last_rd = last(&slots[landed..at]).map_or(SINK, |slot| slot.inst.rd);
        }
        self.ran(program.address(at), n, time);
        stop
    }

    /// Executes instructions that follow one another.
    #[inline(always)]
    fn run_straight(&mut self, run: &[Slot]) {
        let mut at = 0;
        while let Some(slot) = run.get(at) {
            execute(self, &slot.inst);
            at += slot.halves();
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
                    time += if slot.kind() == Kind::Branch { timing::BRANCH_TAKEN } else { timing::JUMP };
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
fn halves(slots: &[Slot], n: u64) -> usize {
    (0..n).fold(0, |at, _| at + slots[at].halves())
}

/// The last of instructions that follow one another and fill `slots`.
fn last(slots: &[Slot]) -> Option<&Slot> {
    let mut at = 0;
    std::iter::from_fn(|| slots.get(at).inspect(|slot| at += slot.halves())).last()
}
