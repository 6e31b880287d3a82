//! Fetch behind a memory access that waits.

use super::block::Plain;
use super::core::{AccessKind, BEFORE_STRADDLING, Core, LAST_WORD};
use super::lines::FetchLines;
use super::profile::Lost;
use super::program::{Kind, LINE_HALVES, Place, Program, SINK, Slot};
use super::timing;
use isa::riscv::Load;
use kernel::Cycle;

/// Place of the instruction after an access that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Behind {
    /// It entered decode in the cycle in which the access left it.
    InDecode,
    /// Its line was missing in that cycle.
    NotThere,
    /// It came to fetch while the access waited; nothing enters decode then.
    AtFetch,
}

impl Core {
    /// The access of this cycle may have to wait, while fetch is up to two instructions ahead of it. Returns the line
    /// that fetch requests first, if it is missing, and the cycles from now until the cache looks it up. The line then
    /// counts as requested.
    ///
    /// The first instruction after the access enters decode if its line is present. If its place is [`Place::End`], fetch
    /// requests the next line, whether the instruction is in the last word or before it. A jump that need not wait for its
    /// register redirects fetch. The second instruction waits in the prefetch buffer, which requests the next line only if the
    /// instruction is in the last word.
    ///
    /// Source: PsPIN RTL a49fec8, `riscv_prefetch_L0_buffer.sv`, lines 163, 320 and 322 to 327; `riscv_controller.sv`,
    /// lines 481 to 490.
    pub fn fetch_behind_access<L: FetchLines>(&mut self, program: &Program, lines: &L) -> Option<(u32, Cycle)> {
        let mut pc = self.next;
        for cycles in 1..=2 {
            let slot = program.slot(pc)?;
            let is_jump = cycles == 1 && matches!(slot.kind(), Kind::Jump | Kind::JumpReg);
            let line = (pc >> 4) + 1;
            if slot.place() == Place::End && !(is_jump && lines.present(line << 4)) {
                let waits_before_last_word = cycles == 2 && pc % timing::LINE_BYTES < LAST_WORD;
                if waits_before_last_word || self.line != pc >> 4 || self.ahead == line || lines.present(line << 4) {
                    return None;
                }
                self.waits_for = Plain::Not;
                self.ahead = line;
                return Some((line << 4, cycles));
            }
            if is_jump {
                // An event load stops decode until the event (state ELW_EXE).
                if matches!(self.access.kind, AccessKind::Load(Load::Elw)) {
                    return None;
                }
                let target = self.jump_target(slot, pc)?;
                if self.behind != Behind::InDecode {
                    return None;
                }
                return self.redirect_fetch(program, lines, target);
            }
            pc = pc.wrapping_add(slot.inst.bytes().into());
        }
        None
    }

    /// A line that this core requested in advance has come in cycle `now`. Returns the line that fetch requests next, if that is at the
    /// target of a jump that waits in decode. The cache looks it up a cycle later. `in_access` tells whether the jump waits for an
    /// access, which has been requested.
    #[cold]
    pub fn fetch_at_target<L: FetchLines>(
        &mut self,
        program: &Program,
        lines: &L,
        now: Cycle,
        in_access: bool,
    ) -> Option<u32> {
        let target = if !in_access {
            self.target_behind_division(program, now)?
        } else {
            let slot = program.slot(self.next)?;
            let is_jump = matches!(slot.kind(), Kind::Jump | Kind::JumpReg);
            let sleeps = matches!(self.access.kind, AccessKind::Load(Load::Elw));
            if !is_jump || sleeps || self.behind != Behind::InDecode {
                return None;
            }
            self.jump_target(slot, self.next)?
        };
        self.redirect_fetch(program, lines, target).map(|(line, _)| line)
    }

    /// Fetch continues at the target of the jump in decode. Returns the first line that is missing there, which then counts as requested,
    /// and the cycles from the jump's entry into decode until the cache looks up that line. Fetch requests the next line too if the
    /// instruction at the target is in the last word of its line, or straddles two lines.
    ///
    /// Source: measured on PsPIN's RTL a49fec8.
    pub(super) fn redirect_fetch<L: FetchLines>(
        &mut self,
        program: &Program,
        lines: &L,
        target: u32,
    ) -> Option<(u32, Cycle)> {
        let line = target & !15;
        let next = line.wrapping_add(timing::LINE_BYTES);
        let needs_next =
            || target & 15 >= LAST_WORD || program.slot(target).is_some_and(|slot| slot.place() == Place::Straddles);
        let (missing, looks_after) = match lines.present(line) {
            false => (line, 2),
            true if needs_next() && !lines.present(next) => (next, 3),
            true => return None,
        };
        self.waits_for = Plain::Not;
        (self.ahead, self.redirected) = (missing >> 4, true);
        Some((missing, looks_after))
    }

    /// Returns true if neither [`Core::wait_for_access`] nor [`Core::fetch_behind_access`] can find a missing line: the line of the next
    /// instruction and the one after it are present, and the next instruction does not jump. `there` is [`FetchLines::there`].
    #[inline]
    pub fn needs_no_fetch(&self, program: &Program, there: &[u8]) -> bool {
        debug_assert_eq!(self.behind, Behind::InDecode, "an access begins to wait once");
        if self.ahead == BEFORE_STRADDLING {
            return false;
        }
        let lines = there.get(program.position(self.next) / LINE_HALVES + 1).is_some_and(|&lines| lines > 1);
        lines && program.slot(self.next).is_some_and(|slot| !matches!(slot.kind(), Kind::Jump | Kind::JumpReg))
    }

    /// The access of this cycle waits: records whether the next instruction is present.
    pub fn wait_for_access<L: FetchLines>(&mut self, program: &Program, lines: &L) {
        self.waits_for = Plain::Not;
        self.enters_after = if program.reads_own_result(self.pc) { timing::OWN_RESULT } else { timing::PLAIN };
        self.behind = match self.is_fetched(program, lines, self.next) {
            true if self.ahead == BEFORE_STRADDLING => Behind::AtFetch,
            true => Behind::InDecode,
            false => Behind::NotThere,
        };
    }

    /// A line that this core requested has arrived, and the core does not wait for it. Behind an event load, no instruction
    /// enters decode before the event, even if its line is present (`riscv_controller.sv`, state ELW_EXE).
    pub fn line_came(&mut self) {
        self.waits_for = Plain::Not;
        if self.behind == Behind::NotThere {
            let waits_for_event = matches!(self.access.kind, AccessKind::Load(Load::Elw));
            self.behind = if waits_for_event { Behind::InDecode } else { Behind::AtFetch };
        }
    }

    /// Target of the jump at `pc`, which is after the access that waits; `None` if the jump must wait for its register.
    fn jump_target(&self, slot: &Slot, pc: u32) -> Option<u32> {
        let (inst, access) = (&slot.inst, &self.access);
        if slot.kind() == Kind::Jump {
            return Some(pc.wrapping_add(inst.imm as u32));
        }
        let loads = !matches!(access.kind, AccessKind::Store(_));
        let waits = loads && inst.rs1 == access.rd || inst.rs1 == access.stepped || inst.rs1 == self.last_rd;
        (!waits).then(|| self.x(inst.rs1).wrapping_add(inst.imm as u32) & !1)
    }

    /// The access is over. If the line of the next instruction arrived during the access, that instruction enters decode only now.
    /// [`Core::run_ahead`] does not need this: it stops while the line is missing or requested.
    pub(super) fn enter_decode(&mut self) {
        if self.behind == Behind::AtFetch {
            self.lose(Lost::InstructionMiss, self.enters_after);
            self.time += self.enters_after;
            (self.held, self.last_rd) = (0, SINK);
        }
        self.behind = Behind::InDecode;
    }
}
