//! The fast path: runs instructions that need few checks, up to the first memory access.
//!
//! Simulations spend most of their time here. Consecutive single-cycle instructions within a fetch line and the next
//! are executed without any checks. The result is the same as that of [`Core::run_loop`], which checks each
//! instruction.

use super::behind::Behind;
use super::block::{Block, BlockStep, End, Plain};
use super::core::{Access, Core, NO_LINE, Remains, Stop};
use super::lines::FetchLines;
use super::loops::Attention;
use super::profile::Lost;
use super::program::{Kind, LINE_HALVES, Pace, Program, SINK, Slot};
use super::timing;
use isa::riscv::execute;
use kernel::Cycle;

/// Bounds of a run ahead: the core's program, the lines that are present, and a last cycle.
#[derive(Clone, Copy)]
pub struct Runway<'a> {
    program: &'a Program,
    there: &'a [u8],
    /// The next instruction must start before this cycle, whatever it is.
    end: Cycle,
}

impl<'a> Runway<'a> {
    /// Number of cycles ahead of a grant that the horizon must be at least, so that the runway is open.
    pub const LEAST_OPEN: Cycle = timing::LOAD_USE + timing::BRANCH_TAKEN + 1;

    /// Allows instructions that leave decode before cycle `horizon`. `there` is [`super::FetchLines::there`].
    #[inline(always)]
    pub fn new(program: &'a Program, there: &'a [u8], horizon: Cycle) -> Self {
        Runway { program, there, end: horizon.saturating_sub(timing::BRANCH_TAKEN) }
    }

    /// Returns true if there is time for an instruction after an access that is granted in cycle `granted`.
    #[inline(always)]
    pub fn is_open(&self, granted: Cycle) -> bool {
        granted + timing::LOAD_USE < self.end
    }
}

impl Core {
    /// Runs arithmetic, jumps between lines that are present, and the instructions up to the first memory access.
    /// Returns true if it reached an access; otherwise [`Core::run_carefully`] continues.
    #[inline(always)]
    pub fn run_ahead(&mut self, runway: &Runway) -> bool {
        if self.attention != Attention::None {
            return self.run_blocks_in_profile(runway);
        }
        self.start_blocks::<false>(runway)
    }

    #[cold]
    #[inline(never)]
    fn run_blocks_in_profile(&mut self, runway: &Runway) -> bool {
        self.attention == Attention::Profile && self.start_blocks::<true>(runway)
    }

    #[inline(always)]
    fn start_blocks<const PROFILES: bool>(&mut self, runway: &Runway) -> bool {
        if self.time >= runway.end || self.ahead != NO_LINE || !matches!(self.remains, Remains::Nothing) {
            return false;
        }
        let (at, held) = (runway.program.position(self.pc), std::mem::take(&mut self.held));
        self.run_blocks::<PROFILES>(runway, at, held)
    }

    /// Tells whether the core waits for a plain access at the end of a block, with nothing else pending, and what the access does.
    /// [`Core::pass_plain`] completes such an access.
    #[inline(always)]
    pub fn waits_for(&self) -> Plain {
        self.waits_for
    }

    /// Completes a plain access that is granted in cycle `granted`, and runs ahead like [`Core::run_ahead`]. If the access loads,
    /// [`Core::load_plain`] must be called first. The runway must be open. `PROFILES` tells whether the core may have a profile.
    #[inline(always)]
    pub fn pass_plain<const PROFILES: bool>(&mut self, runway: &Runway, granted: Cycle) -> bool {
        debug_assert!(self.waits_for != Plain::Not);
        debug_assert!(self.attention == if PROFILES { Attention::Profile } else { Attention::None });
        debug_assert!(self.behind == Behind::InDecode && self.ahead == NO_LINE && self.remains == Remains::Nothing);
        debug_assert!(runway.is_open(granted));
        let waits = if self.access.feeds_next { timing::LOAD_USE } else { 0 };
        let held = granted - self.time - timing::PLAIN + waits;
        if PROFILES {
            self.profile_access(granted - self.time);
        }
        self.time = granted + waits;
        self.last_rd = SINK;
        self.instructions += 1;
        self.run_blocks::<PROFILES>(runway, self.next_at as usize, held)
    }

    /// Puts the loaded value of a plain access that is granted in cycle `granted` into its register.
    #[inline(always)]
    pub fn load_plain(&mut self, granted: Cycle, value: u32) {
        let rd = self.access.rd;
        self.regs[usize::from(rd)] = value;
        (self.load_rd, self.load_granted) = (rd, granted);
    }

    /// Runs blocks from position `at` on. With `PROFILES`, the profile counts them. The first instruction has been in decode for
    /// `held` cycles.
    #[inline(always)]
    fn run_blocks<const PROFILES: bool>(&mut self, runway: &Runway, mut at: usize, mut held: Cycle) -> bool {
        let &Runway { program, there, end } = runway;
        let mut time = self.time;
        // Fetch continues while an instruction is held, and requests the next line earlier than otherwise.
        if held > 0 && there.get(at / LINE_HALVES + 1).is_none_or(|&there| there == 0) {
            return self.stop_before(program, at, time, held);
        }
        while let Some(block) = program.block(at)
            && block.may_run(at, &self.stretch, there)
        {
            let n = block.plain.len() as u64;
            if time + n * timing::PLAIN >= end {
                return self.run_some::<PROFILES>(program, at, &block.plain[..(end - time) as usize], end);
            }
            block.plain.iter().for_each(|step| step.execute(self));
            if PROFILES && let Some(profile) = &mut self.profile {
                profile.block(at);
            }
            self.instructions += n;
            time += n * timing::PLAIN;
            if let Some(plain) = &block.plain_access {
                let addr = self.regs[usize::from(plain.addr_from)].wrapping_add(plain.access.addr);
                self.access = Access { addr, value: self.regs[usize::from(plain.value_from)], ..plain.access };
                self.wait_in_block::<PROFILES>(block, time);
                self.waits_for = plain.does;
                return true;
            }
            match block.end {
                End::Access { feeds_next } => {
                    block.last.execute(self);
                    self.access.feeds_next = feeds_next;
                    self.wait_in_block::<PROFILES>(block, time);
                    self.waits_for = Plain::Not;
                    return true;
                }
                End::Jump { taken, least, target } => {
                    (self.pc, self.next) = (block.last_pc, block.next_pc);
                    block.last.execute(self);
                    // By the end of a jump its link register is ready.
                    self.last_rd = SINK;
                    self.instructions += 1;
                    let was_held = std::mem::take(&mut held);
                    let mut cycles = timing::PLAIN;
                    at = block.next_at as usize;
                    if std::mem::take(&mut self.jumped) {
                        at = target as usize;
                        cycles = match n {
                            0 => u64::from(taken).saturating_sub(was_held).max(least.into()),
                            _ => taken.into(),
                        };
                    }
                    if PROFILES
                        && cycles > timing::PLAIN
                        && let Some(profile) = &mut self.profile
                    {
                        profile.lost(block.last_pc, Lost::Branch, cycles - timing::PLAIN);
                    }
                    time += cycles;
                    if time >= end {
                        break;
                    }
                }
                End::Open => {
                    held = 0;
                    self.last_rd = last_rd(&block.plain);
                    at = program.position(block.last_pc);
                }
            }
        }
        self.stop_before(program, at, time, held)
    }

    /// The core waits for the access at the end of a block from cycle `time` on.
    #[inline(always)]
    fn wait_in_block<const PROFILES: bool>(&mut self, block: &Block, time: Cycle) {
        (self.pc, self.next, self.line, self.next_at) = (block.last_pc, block.next_pc, block.last_line, block.next_at);
        self.time = time;
        if PROFILES && let Some(profile) = &mut self.profile {
            profile.access_in_block(block.last_pc);
        }
    }

    /// The instruction at position `at` needs checks, which begin in cycle `time`. Returns false.
    #[cold]
    #[inline(never)]
    fn stop_before(&mut self, program: &Program, at: usize, time: Cycle, held: Cycle) -> bool {
        self.waits_for = Plain::Not;
        if time > self.time {
            // There is time left for the caller, which then checks whether the line is present.
            self.line = NO_LINE;
        }
        (self.pc, self.time, self.held) = (program.address(at), time, held);
        false
    }

    /// Executes consecutive instructions from position `at`, up to cycle `end`. Returns false.
    #[cold]
    #[inline(never)]
    fn run_some<const PROFILES: bool>(
        &mut self,
        program: &Program,
        mut at: usize,
        some: &[BlockStep],
        end: Cycle,
    ) -> bool {
        if PROFILES {
            self.profile_some(program.address(at), some);
        }
        for step in some {
            step.execute(self);
            at += usize::from(step.inst.halves);
        }
        self.instructions += some.len() as u64;
        self.last_rd = last_rd(some);
        self.stop_before(program, at, end, 0)
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

#[cfg(test)]
mod tests;
