//! The fast path: runs instructions that need few checks, up to the first memory access.
//!
//! Simulations spend most of their time here. Consecutive single-cycle instructions within a fetch line and the next
//! are executed without any checks. The result is the same as that of [`Core::run_loop`], which checks each
//! instruction.

use super::block::{BlockStep, End};
use super::core::{Core, NO_LINE, Remains, Stop};
use super::lines::FetchLines;
use super::loops::Attention;
use super::profile::Lost;
use super::program::{Kind, LINE_HALVES, Pace, Program, SINK, Slot};
use super::timing;
use isa::riscv::execute;
use kernel::Cycle;

impl Core {
    /// Runs arithmetic, jumps between lines that are present, and the instructions up to the first memory access.
    /// Returns true if it reached an access; otherwise [`Core::run_carefully`] continues. `there` is
    /// [`super::FetchLines::there`].
    #[inline(always)]
    pub fn run_ahead(&mut self, program: &Program, there: &[u8], horizon: Cycle) -> bool {
        if self.attention != Attention::None {
            return self.run_blocks_in_profile(program, there, horizon);
        }
        self.run_blocks::<false>(program, there, horizon)
    }

    #[cold]
    #[inline(never)]
    fn run_blocks_in_profile(&mut self, program: &Program, there: &[u8], horizon: Cycle) -> bool {
        self.attention == Attention::Profile && self.run_blocks::<true>(program, there, horizon)
    }

    /// Runs blocks; if it `PROFILES`, counts them.
    #[inline(always)]
    fn run_blocks<const PROFILES: bool>(&mut self, program: &Program, there: &[u8], horizon: Cycle) -> bool {
        // The next instruction must start within the horizon, whatever it is.
        let end = horizon.saturating_sub(timing::BRANCH_TAKEN);
        if self.time >= end || self.ahead != NO_LINE || !matches!(self.remains, Remains::Nothing) {
            return false;
        }
        // Code after the stretch is not present.
        let stretch = self.stretch;
        let Some(there) = there.get(..stretch.end_line) else { return false };
        let (mut pc, mut time) = (self.pc, self.time);
        // Fetch continues while an instruction is held, and requests the next line earlier than otherwise.
        if self.held > 0 && there.get(program.position(pc) / LINE_HALVES + 1).is_none_or(|&there| there == 0) {
            return false;
        }
        let mut held = std::mem::take(&mut self.held);
        while let at = program.position(pc)
            && let Some(block) = program.block(at)
            && at >= stretch.first
            && block.may_run(there)
        {
            let n = block.plain.len() as u64;
            if time + n * timing::PLAIN >= end {
                if PROFILES {
                    self.profile_some(pc, &block.plain[..(end - time) as usize]);
                }
                pc = self.run_some(pc, &block.plain[..(end - time) as usize]);
                time = end;
                break;
            }
            block.plain.iter().for_each(|step| step.execute(self));
            if PROFILES && let Some(profile) = &mut self.profile {
                profile.block(at);
            }
            self.instructions += n;
            time += n * timing::PLAIN;
            match block.end {
                End::Access { feeds_next } => {
                    block.last.execute(self);
                    self.access.feeds_next = feeds_next;
                    (self.pc, self.next, self.time) = (block.last_pc, block.next_pc, time);
                    self.line = block.last_pc >> 4;
                    if PROFILES && let Some(profile) = &mut self.profile {
                        profile.access_in_block(block.last_pc);
                    }
                    return true;
                }
                End::Jump { taken, least } => {
                    (self.pc, self.next) = (block.last_pc, block.next_pc);
                    block.last.execute(self);
                    // By the end of a jump its link register is ready.
                    self.last_rd = SINK;
                    self.instructions += 1;
                    let held = std::mem::take(&mut held);
                    let taken = match n {
                        0 => u64::from(taken).saturating_sub(held).max(least.into()),
                        _ => taken.into(),
                    };
                    let cycles = if std::mem::take(&mut self.jumped) { taken } else { timing::PLAIN };
                    if PROFILES
                        && cycles > timing::PLAIN
                        && let Some(profile) = &mut self.profile
                    {
                        profile.lost(block.last_pc, Lost::Branch, cycles - timing::PLAIN);
                    }
                    time += cycles;
                    pc = self.next;
                    if time >= end {
                        break;
                    }
                }
                End::Open => {
                    held = 0;
                    self.last_rd = last_rd(&block.plain);
                    pc = block.last_pc;
                }
            }
        }
        if time > self.time {
            // There is time left for the caller, which then checks whether the line is present.
            self.line = NO_LINE;
        } else {
            self.held = held;
        }
        (self.pc, self.time) = (pc, time);
        false
    }

    /// Executes consecutive instructions from `pc`. Returns the address after them.
    #[cold]
    #[inline(never)]
    fn run_some(&mut self, pc: u32, some: &[BlockStep]) -> u32 {
        some.iter().for_each(|step| step.execute(self));
        self.instructions += some.len() as u64;
        self.last_rd = last_rd(some);
        some.iter().fold(pc, |pc, step| pc.wrapping_add(step.inst.bytes().into()))
    }

    /// Counts consecutive plain instructions from `pc`.
    #[cold]
    fn profile_some(&mut self, mut pc: u32, some: &[BlockStep]) {
        let Some(profile) = &mut self.profile else { return };
        for step in some {
            profile.instruction(pc, Lost::System, 0);
            pc = pc.wrapping_add(step.inst.bytes().into());
        }
    }

    /// The same while hardware loops are active: each instruction's address is compared with the loop ends.
    #[inline(never)]
    pub(super) fn run_ahead_in_loops<L: FetchLines>(
        &mut self,
        program: &Program,
        lines: &L,
        horizon: Cycle,
    ) -> Option<Stop> {
        // The next instruction must start within the horizon, whatever it is.
        let end = horizon.saturating_sub(timing::BRANCH_TAKEN);
        let ends = self.csrs.loops.ends(program.address(0), self.time)?;
        let (slots, stretch) = (program.slots(), self.stretch);
        let mut at = program.position(self.pc);
        let (mut time, mut n, mut last_rd) = (self.time, 0, self.last_rd);
        let mut stop = None;
        let held = self.held;
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
                    let held = if n == 0 { held } else { 0 };
                    time += slot.taken_after(held, slots.get(at));
                    if program.delays_next(self.next) && (slot.kind() == Kind::Branch || held < timing::JUMP) {
                        n += 1;
                        self.delay_next(time);
                        break;
                    }
                }
                _ => {
                    (at, last_rd) = (at + slot.halves(), slot.inst.rd);
                    time += timing::PLAIN;
                }
            }
            n += 1;
        }
        self.last_rd = last_rd;
        if n > 0 {
            self.held = 0;
        }
        self.instructions += n;
        (self.pc, self.time) = (program.address(at), time);
        self.line = self.pc >> 4;
        stop
    }

    /// Returns true if the lines around an instruction at `pc` let it run without further checks; also prepares a
    /// jump.
    #[inline(always)]
    fn may_run<L: FetchLines>(&mut self, slot: &Slot, pc: u32, lines: &L) -> bool {
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

/// The register that the last of these instructions writes.
fn last_rd(some: &[BlockStep]) -> u8 {
    some.last().map_or(SINK, |step| step.inst.rd)
}
