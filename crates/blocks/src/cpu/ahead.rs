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
        let mut left = horizon.checked_sub(self.time + timing::BRANCH_TAKEN)?;
        if self.ahead != NO_LINE {
            return None;
        }
        let stretch = self.stretch;
        let slots = program.slots();
        let there = lines.all().get(..stretch.end_line)?;
        let skew = program.skew();
        let line = |at: usize| (at + skew) / (timing::LINE_BYTES as usize / 2);
        let is_there = |line: usize| there.get(line).is_some_and(|&there| there != 0);

        let mut at = program.position(self.pc);
        if !stretch.holds(at) || !is_there(line(at)) {
            return None;
        }
        let (mut n, mut beyond) = (0, 0);
        // The last instruction, if it is one whose register may not have come.
        let mut last = usize::MAX;
        let mut stop = None;
        while n < left
            && let Some(slot) = slots.get(at)
        {
            let behind = || at + usize::from(slot.halves);
            match slot.pace {
                Pace::Straight | Pace::LineEnd => {
                    let mut run = slot.run;
                    if run >= Slot::CROSSES {
                        if !is_there(line(at) + 1) {
                            break;
                        }
                        run -= Slot::CROSSES;
                    }
                    let to_run = u64::from(run).min(left - n);
                    if to_run == 0 {
                        break;
                    }
                    n += to_run;
                    for _ in 0..to_run {
                        let slot = &slots[at];
                        execute(self, &slot.inst);
                        last = at;
                        at += usize::from(slot.halves);
                    }
                }
                Pace::Memory | Pace::MemoryLineEnd => {
                    if slot.pace == Pace::Memory || is_there(line(at) + 1) {
                        execute(self, &slot.inst);
                        self.next = program.address(behind());
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
                    let next = behind();
                    (self.pc, self.next) = (program.address(at), program.address(next));
                    execute(self, &slot.inst);
                    (last, at) = (at, next);
                    if self.jumped {
                        self.jumped = false;
                        (last, at) = (usize::MAX, target);
                        self.last_rd = SINK;
                        let taken = if slot.kind() == Kind::Branch { timing::BRANCH_TAKEN } else { timing::JUMP };
                        beyond += taken - timing::PLAIN;
                        left = left.saturating_sub(taken - timing::PLAIN);
                    }
                    n += 1;
                }
                Pace::Careful => break,
            }
        }
        // An access decides itself what comes behind it.
        let last = if stop.is_none() { slots.get(last) } else { None };
        let last_rd = last.map_or(self.last_rd, |slot| slot.inst.rd);
        self.ran(program.address(at), last_rd, n, beyond);
        stop
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
        let mut left = horizon.checked_sub(self.time + timing::BRANCH_TAKEN)?;
        let ends = self.csrs.loops.ends(program.address(0), self.time)?;
        let (slots, stretch) = (program.slots(), self.stretch);
        let mut at = program.position(self.pc);
        let (mut n, mut beyond, mut last_rd) = (0, 0, self.last_rd);
        let mut stop = None;
        while n < left {
            let Some(slot) = slots.get(at).filter(|_| stretch.holds(at)) else { break };
            if at == ends[0] || at == ends[1] {
                break;
            }
            if slot.pace > Pace::Memory && !self.may_run(slot, program.address(at), lines) {
                break;
            }
            execute(self, &slot.inst);
            if slot.pace == Pace::Straight {
                (at, n, last_rd) = (at + usize::from(slot.halves), n + 1, slot.inst.rd);
                continue;
            }
            match slot.pace {
                Pace::Memory | Pace::MemoryLineEnd => {
                    self.next = program.address(at + usize::from(slot.halves));
                    stop = Some(Stop::Access);
                    break;
                }
                Pace::Jump | Pace::JumpLineEnd if self.jumped => {
                    self.jumped = false;
                    self.fetch.landed = self.instructions + n + 1;
                    (at, last_rd) = (program.position(self.next), SINK);
                    let taken = if slot.kind() == Kind::Branch { timing::BRANCH_TAKEN } else { timing::JUMP };
                    beyond += taken - timing::PLAIN;
                    left = left.saturating_sub(taken - timing::PLAIN);
                }
                _ => (at, last_rd) = (at + usize::from(slot.halves), slot.inst.rd),
            }
            n += 1;
        }
        self.ran(program.address(at), last_rd, n, beyond);
        stop
    }

    /// Ran ahead to `pc`: `n` instructions, which took `beyond` cycles more than one each, the last of them writing `last_rd`.
    #[inline(always)]
    fn ran(&mut self, pc: u32, last_rd: u8, n: u64, beyond: Cycle) {
        (self.pc, self.line, self.last_rd) = (pc, pc >> 4, last_rd);
        self.time += n * timing::PLAIN + beyond;
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
                (self.pc, self.next) = (pc, pc.wrapping_add(2 * u32::from(slot.halves)));
                target_there && (slot.pace == Pace::Jump || lines.present((pc & !15).wrapping_add(16)))
            }
            Pace::Straight | Pace::Memory | Pace::Careful => false,
        }
    }
}
