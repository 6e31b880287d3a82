//! A profile of a core's cycles. Only a core with a profile pays for it.
//!
//! A cycle belongs to the instruction that leaves decode in it. If none does, the cycle is lost: to an access that waits, to a taken jump,
//! or to the instruction that could not enter decode.

use super::block::End;
use super::core::{Access, AccessKind, Core};
use super::program::{Kind, Program, Slot};
use super::timing;
use crate::profile::CodeProfile;
use kernel::Cycle;

kernel::words! {
    /// Causes of lost cycles. The places of waiting accesses follow, as the owner of the core names them.
    pub enum Lost {
        /// The next instruction uses the result of a load.
        LoadUse = "load_use",
        /// A register jump waits for its register.
        JumpRegister = "jump_register",
        /// A taken branch or a jump redirects fetch.
        Branch = "branch",
        /// The upper half of a product.
        Multiply = "multiply",
        /// A division.
        Divider = "divider",
        /// The line of the instruction is missing.
        InstructionMiss = "instruction_miss",
        /// The instruction straddles two fetch lines, or follows one that fetch was redirected to.
        FetchAlignment = "fetch_alignment",
        /// An access across two words needs a second grant.
        Misaligned = "misaligned",
        /// The pipeline is emptied: control registers, fences, traps and returns from them.
        System = "system",
    }
}

/// Names of all causes: those of [`Lost`], then `places`. `N` is the sum of both lengths.
pub const fn causes<const N: usize>(places: &[&'static str]) -> [&'static str; N] {
    joined(&Lost::NAMES, places)
}

/// Meanings of all causes, in the order of [`causes`].
pub const fn causes_about<const N: usize>(places: &[&'static str]) -> [&'static str; N] {
    joined(&Lost::ABOUT, places)
}

const fn joined<const N: usize>(first: &[&'static str], second: &[&'static str]) -> [&'static str; N] {
    assert!(N == first.len() + second.len(), "the length is that of both lists");
    let mut all = [""; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < first.len() { first[i] } else { second[i - first.len()] };
        i += 1;
    }
    all
}

/// Returns the place of an access, as a position in the owner's list.
pub type PlaceOf = Box<dyn Fn(&Access) -> usize>;

/// The profile of one core.
pub(super) struct CoreProfile {
    code: CodeProfile,
    /// True if instructions are counted one by one. Otherwise only cycles between marks are counted, and `code` has one entry.
    has_code: bool,
    /// Lost cycles by cause: all, those up to the last mark, and those between the last two marks. Empty if marks are
    /// not used.
    lost: Vec<u64>,
    lost_to_mark: Vec<u64>,
    lost_between: Vec<u64>,
    /// The access that waits, or that was just granted, is a mark.
    is_marked: bool,
    /// For each position of the program, how often the block there has run.
    blocks: Vec<u64>,
    place: PlaceOf,
    /// Address of the access that waits; [`NONE`] if none does. It counts as executed.
    access_pc: u32,
}

/// Value of `access_pc` if no access waits.
const NONE: u32 = u32::MAX;

impl CoreProfile {
    fn new(code: CodeProfile, place: PlaceOf) -> CoreProfile {
        CoreProfile {
            code,
            has_code: false,
            lost: Vec::new(),
            lost_to_mark: Vec::new(),
            lost_between: Vec::new(),
            is_marked: false,
            blocks: Vec::new(),
            place,
            access_pc: NONE,
        }
    }

    /// Counts a run of the block at this position of the program.
    #[inline(always)]
    pub fn block(&mut self, at: usize) {
        if let Some(runs) = self.blocks.get_mut(at) {
            *runs += 1;
        }
    }

    /// The access at the end of a block waits.
    #[inline(always)]
    pub fn access_in_block(&mut self, pc: u32) {
        self.access_pc = pc;
    }

    /// An access waits.
    pub fn access(&mut self, pc: u32) {
        self.code.executed(pc, 1);
        self.access_pc = pc;
    }

    /// Counts cycles that an instruction loses.
    pub fn lost(&mut self, pc: u32, cause: Lost, cycles: u64) {
        self.lost_to(pc, cause as usize, cycles);
    }

    /// The same, with the index of the cause.
    #[inline(always)]
    fn lost_to(&mut self, pc: u32, cause: usize, cycles: u64) {
        self.code.lost(pc, cause, cycles);
        if let Some(lost) = self.lost.get_mut(cause) {
            *lost = lost.wrapping_add(cycles);
        }
    }

    /// The marked access was granted, and its waiting is counted.
    #[cold]
    fn pass_mark(&mut self) {
        self.is_marked = false;
        let counts = self.lost_between.iter_mut().zip(&mut self.lost_to_mark).zip(&self.lost);
        counts.for_each(|((between, mark), &lost)| *between = lost.wrapping_sub(std::mem::replace(mark, lost)));
    }

    /// Counts an instruction and the cycles that it lost.
    #[inline]
    pub fn instruction(&mut self, pc: u32, cause: Lost, lost: u64) {
        self.code.executed(pc, 1);
        if lost > 0 {
            self.lost(pc, cause, lost);
        }
    }

    /// The place of an access, as a cause.
    fn place_of(&self, access: &Access) -> usize {
        Lost::NAMES.len() + (self.place)(access)
    }

    /// Moves the counts of blocks to their instructions.
    fn settle(&mut self, program: &Program) {
        for (at, runs) in self.blocks.iter_mut().enumerate().filter(|(_, runs)| **runs > 0) {
            let mut pc = program.address(at);
            let Some(block) = program.block(at) else { continue };
            for step in &block.plain {
                self.code.executed(pc, *runs);
                pc = pc.wrapping_add(step.inst.bytes().into());
            }
            if block.end != End::Open {
                self.code.executed(block.last_pc, *runs);
            }
            *runs = 0;
        }
    }
}

impl Core {
    /// Bit of [`Core::watched`] beside the events: there is a profile.
    pub(super) const PROFILED: u32 = 1 << 30;

    /// Counts the cycles of all following instructions of the program. `all` is [`causes`] of the places that `place` returns.
    pub fn set_profile(&mut self, program: &Program, all: &'static [&'static str], place: PlaceOf) {
        let bytes = program.bytes().len();
        let code = CodeProfile::new(all, 1, [(program.address(0), bytes as u32)]);
        self.start_profile(CoreProfile { has_code: true, blocks: vec![0; bytes / 2], ..CoreProfile::new(code, place) });
    }

    fn start_profile(&mut self, profile: CoreProfile) {
        self.profile = Some(Box::new(profile));
        self.watched |= Core::PROFILED;
        self.choose_attention();
    }

    /// Must be called before the program changes.
    pub fn settle_profile(&mut self, program: &Program) {
        if let Some(profile) = &mut self.profile {
            profile.settle(program);
        }
    }

    /// Counts lost cycles between marks from now on, besides the profile if there is one. The arguments are those of
    /// [`Core::set_profile`].
    pub fn count_between_marks(&mut self, all: &'static [&'static str], place: PlaceOf) {
        if self.profile.is_none() {
            self.start_profile(CoreProfile::new(CodeProfile::new(all, 1, []), place));
        }
        if let Some(profile) = &mut self.profile {
            let none = vec![0; profile.code.causes().len()];
            (profile.lost, profile.lost_to_mark, profile.lost_between) = (none.clone(), none.clone(), none);
        }
    }

    /// The access that waits is a mark when it is granted.
    pub fn mark_profile(&mut self) {
        if let Some(profile) = &mut self.profile {
            profile.is_marked = !profile.lost.is_empty();
        }
    }

    /// Cycles lost between the grants of the two last marks, by cause; empty without [`Core::count_between_marks`].
    pub fn lost_between_marks(&self) -> &[u64] {
        self.profile.as_ref().map_or(&[], |profile| &profile.lost_between)
    }

    /// The profile up to cycle `now`, if there is one. A core that runs ahead has a profile up to its own time.
    pub fn profile(&mut self, program: &Program, now: Cycle) -> Option<CodeProfile> {
        self.settle_profile(program);
        let profile = self.profile.as_ref().filter(|profile| profile.has_code)?;
        let mut code = profile.code.clone();
        let waited = now.saturating_sub(self.time);
        if profile.access_pc == NONE {
            code.lost(self.pc, Lost::InstructionMiss as usize, waited);
        } else {
            code.take_back(profile.access_pc);
            code.lost(profile.access_pc, profile.place_of(&self.access), waited);
        }
        Some(code)
    }

    /// Counts cycles that the current instruction loses; a negative number is given as its two's complement.
    #[inline]
    pub(super) fn lose(&mut self, cause: Lost, cycles: u64) {
        if self.watched & Core::PROFILED != 0 && cycles != 0 {
            self.lose_at(self.pc, cause, cycles);
        }
    }

    #[cold]
    pub(super) fn lose_at(&mut self, pc: u32, cause: Lost, cycles: u64) {
        if let Some(profile) = &mut self.profile {
            profile.lost(pc, cause, cycles);
        }
    }

    /// Counts the current instruction, which does not access memory and takes `cycles`.
    pub(super) fn profile_instruction(&mut self, slot: &Slot, cycles: u64) {
        let cause = match slot.kind() {
            Kind::Branch | Kind::Jump | Kind::JumpReg => Lost::Branch,
            Kind::MulHigh => Lost::Multiply,
            Kind::Div => Lost::Divider,
            Kind::Special | Kind::Alu | Kind::Memory => Lost::System,
        };
        if let Some(profile) = &mut self.profile {
            profile.instruction(self.pc, cause, cycles - timing::PLAIN);
        }
    }

    /// Counts the lost cycles of an access that was granted after `waited` cycles.
    pub(super) fn profile_access(&mut self, waited: Cycle) {
        let Some(profile) = &mut self.profile else { return };
        let pc = std::mem::replace(&mut profile.access_pc, NONE);
        let mut lost = waited - timing::PLAIN;
        if lost > 0 && crosses_words(&self.access) {
            profile.lost(pc, Lost::Misaligned, timing::PLAIN);
            lost -= timing::PLAIN;
        }
        if lost > 0 {
            profile.lost_to(pc, profile.place_of(&self.access), lost);
        }
        if profile.is_marked {
            profile.pass_mark();
        }
        if self.access.feeds_next && !matches!(self.access.kind, AccessKind::Store(_)) {
            profile.lost(pc, Lost::LoadUse, timing::LOAD_USE);
        }
    }

    /// Removes the execution of the access at `pc`, which was refused but was still granted and counted. Adds `cycles` to the
    /// lost cycles of the access; a negative change is a wrapped number.
    pub(super) fn profile_late_refusal(&mut self, pc: u32, cycles: Cycle) {
        if let Some(profile) = &mut self.profile {
            profile.code.take_back(pc);
            profile.lost_to(pc, profile.place_of(&self.access), cycles.wrapping_add(timing::PLAIN));
        }
    }

    /// Counts the cycles that the access waited until it was refused. It was not executed.
    pub(super) fn profile_refusal(&mut self, waited: Cycle) {
        if let Some(profile) = &mut self.profile {
            let pc = std::mem::replace(&mut profile.access_pc, NONE);
            profile.code.take_back(pc);
            profile.lost_to(pc, profile.place_of(&self.access), waited);
        }
    }
}

/// Returns true if an access has bytes in two words.
fn crosses_words(access: &Access) -> bool {
    access.addr % 4 + access.bytes() > 4
}
