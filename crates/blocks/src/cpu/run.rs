//! The instruction loop with all checks.

use super::ahead::Runway;
use super::behind::Behind;
use super::block::Plain;
use super::core::{BEFORE_STRADDLING, Core, LAST_WORD, NO_LINE, Pending, Remains, SECOND_HALF, Stop};
use super::csr::Privilege;
use super::hart::empties_pipeline;
use super::lines::FetchLines;
use super::loops::{LOOPS, PLAIN, PROFILE, WATCH, has_loops, has_profile};
use super::profile::Lost;
use super::program::{Kind, LAST_BEFORE_END, Place, Program, SINK, Slot};
use super::timing;
use super::watch::{EVENT_COMPRESSED, EVENT_CYCLE, EVENT_INSTRUCTION, EVENT_JUMP_REGISTER};
use super::window::CodeWindow;
use crate::debug::Event;
use isa::riscv::{cause, execute};
use kernel::Cycle;

impl Core {
    /// Runs instructions one by one with all checks. `MODE` is one of [`PLAIN`], [`LOOPS`], [`PROFILE`] and
    /// [`WATCH`].
    #[inline(never)]
    pub(super) fn run_loop<L: FetchLines, const MODE: u8>(
        &mut self,
        program: &Program,
        lines: &L,
        horizon: Cycle,
    ) -> Stop {
        self.waits_for = Plain::Not;
        if let Remains::Refusal { pc, cause, at } = self.remains {
            return self.take_late_fault(pc, cause, at);
        }
        if self.behind != Behind::InDecode {
            self.enter_decode();
        }
        while self.time < horizon {
            if has_loops(MODE)
                && let Some(stop) = self.settle_loops(lines, horizon)
            {
                return stop;
            }
            if let Some(stop) = self.enter_line(program, lines) {
                return stop;
            }
            if MODE == LOOPS
                && let Some(stop) = self.run_ahead_in_loops(program, lines, horizon)
            {
                return stop;
            }
            let pc = self.pc;
            let Some(slot) = program.slot(pc) else {
                return self.trap(cause::INSTRUCTION_FAULT, pc);
            };
            let ending = if has_loops(MODE) { self.csrs.loops.ending(pc) } else { None };
            // While a division repeats, this instruction waits at fetch, which requests the next line only for the last word.
            let repeats = matches!(self.remains, Remains::Division(_));
            if (!repeats || slot.place() == Place::Straddles || pc & 15 >= LAST_WORD)
                && let Some(stop) = self.look_at_next_line(program, slot, lines, ending.is_some())
            {
                return stop;
            }
            if let Remains::Division(leftover) = self.remains {
                match self.pass_leftover(leftover, program, slot, lines) {
                    Some(stop) => return stop,
                    None => continue,
                }
            }
            if matches!(slot.kind(), Kind::Div | Kind::MulHigh)
                && let Some(stop) = self.look_behind_division(program, slot, lines)
            {
                return stop;
            }
            let before = self.wait_for_operands(slot);
            if MODE == WATCH {
                if self.log.is_some() {
                    self.log_start(&slot.inst);
                }
                self.report(Event::Instruction);
            }
            self.next = pc.wrapping_add(slot.inst.bytes().into());
            execute(self, &slot.inst);
            if has_loops(MODE) {
                self.end_loop(program, slot, pc, ending);
            }
            let stop = match slot.kind() {
                Kind::Alu => self.end::<MODE>(slot, before),
                Kind::Div | Kind::MulHigh => self.end_division::<L, MODE>(program, slot, lines, before),
                Kind::Memory => self.ask_memory::<MODE>(program, slot),
                Kind::Branch | Kind::Jump | Kind::JumpReg => self.end_jump::<L, MODE>(program, slot, lines),
                Kind::Special => self.end_special::<MODE>(program, slot),
            };
            if let Some(stop) = stop {
                return stop;
            }
            if !has_loops(MODE) && self.run_ahead(&Runway::new(program, lines.there(), horizon)) {
                return Stop::Access;
            }
        }
        Stop::Yield
    }

    /// Checks that the instruction at the program counter may run and that its line is present; otherwise returns a
    /// stop.
    #[inline(always)]
    fn enter_line<L: FetchLines>(&mut self, program: &Program, lines: &L) -> Option<Stop> {
        let pc = self.pc;
        if !self.stretch.holds(program.position(pc)) && !self.enter_window(program) {
            return Some(self.trap(cause::INSTRUCTION_FAULT, pc));
        }
        if pc >> 4 != self.line {
            if !lines.present(pc & !15) {
                self.expect_target(program);
                return Some(Stop::Fetch(pc & !15));
            }
            self.line = pc >> 4;
            match std::mem::replace(&mut self.ahead, NO_LINE) {
                SECOND_HALF => {
                    self.lose(Lost::FetchAlignment, timing::STRADDLING_TARGET);
                    self.time += timing::STRADDLING_TARGET;
                    return Some(Stop::Yield);
                }
                BEFORE_STRADDLING if program.delays_next(pc) => self.delay_next(self.time),
                _ => {}
            }
        }
        None
    }

    /// The line at the program counter is missing. If the instruction there straddles two lines, the core jumped to it:
    /// the cycle for the second half then comes after the line has arrived.
    #[cold]
    fn expect_target(&mut self, program: &Program) {
        let straddles = program.slot(self.pc).is_some_and(|slot| slot.place() == Place::Straddles);
        if straddles && self.ahead != SECOND_HALF {
            self.lose(Lost::InstructionMiss, timing::STRADDLING_TARGET.wrapping_neg());
            self.time -= timing::STRADDLING_TARGET;
            self.ahead = SECOND_HALF;
        }
    }

    /// The same for the next line, if the instruction needs it or fetch requests it in advance. Not done if a loop
    /// returns to its start.
    #[inline(always)]
    fn look_at_next_line<L: FetchLines>(
        &mut self,
        program: &Program,
        slot: &Slot,
        lines: &L,
        goes_back: bool,
    ) -> Option<Stop> {
        let next = (self.pc & !15).wrapping_add(16);
        match slot.place() {
            Place::Straddles if lines.present(next) => {
                self.line = next >> 4;
                let is_late =
                    std::mem::replace(&mut self.ahead, NO_LINE) == BEFORE_STRADDLING && self.wait_for_second(program);
                is_late.then_some(Stop::Yield)
            }
            Place::Straddles => Some(Stop::Fetch(next)),
            _ if goes_back || self.ahead == next >> 4 || lines.present(next) => None,
            _ => {
                let after = self.asks_ahead(program, slot)?;
                self.ahead = next >> 4;
                Some(Stop::Prefetch(next, after))
            }
        }
    }

    /// The target of a jump leaves decode in cycle `at`, and the instruction behind it a cycle later than elsewhere.
    pub(super) fn delay_next(&mut self, at: Cycle) {
        self.ahead = BEFORE_STRADDLING;
        self.second_from = at + timing::PLAIN + timing::STRADDLING_TARGET;
    }

    /// Returns true if the instruction after a jump's target straddles two lines and has to wait for the second one.
    #[cold]
    fn wait_for_second(&mut self, program: &Program) -> bool {
        if program.reads_own_result(self.pc & !15 | LAST_BEFORE_END) {
            self.second_from = self.second_from.max(self.load_granted + timing::OWN_RESULT);
        }
        let late = self.second_from.saturating_sub(self.time);
        self.count(EVENT_CYCLE, late);
        self.lose(Lost::FetchAlignment, late);
        self.time += late;
        self.held = self.held.min(self.time - self.second_from);
        if late > 0 {
            self.last_rd = SINK;
        }
        late > 0
    }

    /// Returns when the cache looks up the next line, in cycles after this instruction leaves decode, if fetch requests
    /// that line for this instruction or one of the next two.
    ///
    /// Fetch has an instruction when the one before enters decode. If the instruction is in the last word of its line,
    /// fetch requests the next line then. If it precedes one that straddles two lines, fetch requests the next line when
    /// decode takes it. Fetch does so behind a branch too, but behind a jump only while the jump waits for its register.
    ///
    /// Source: PsPIN RTL a49fec8, `riscv_prefetch_L0_buffer.sv`, state VALID.
    #[cold]
    fn asks_ahead(&self, program: &Program, slot: &Slot) -> Option<Cycle> {
        let is_jump = |slot: &Slot| matches!(slot.kind(), Kind::Jump | Kind::JumpReg);
        if self.ahead == BEFORE_STRADDLING {
            return (!is_jump(slot)).then_some(self.second_from.saturating_sub(self.time));
        }
        // The instruction has entered decode. While it waits there, fetch continues.
        if slot.place() == Place::End {
            return Some(1u64.saturating_sub(self.held));
        }
        let line = self.pc & !15;
        let behind = |pc: u32, slot: &Slot| pc.wrapping_add(slot.inst.bytes().into());
        let first_pc = behind(self.pc, slot);
        let first = program.slot(first_pc).filter(|_| first_pc & !15 == line && !is_jump(slot))?;
        if self.csrs.loops.ending(first_pc).is_some() {
            return None; // Fetch returns to the start of the loop.
        }
        let waits_at_fetch = first_pc & 15 >= LAST_WORD;
        if empties_pipeline(slot) && !waits_at_fetch {
            return None;
        }
        if first.place() == Place::End {
            let ahead = if waits_at_fetch { self.held } else { 0 };
            return Some(2u64.saturating_sub(ahead));
        }
        let waits_for_load =
            first.inst.rs1 == self.load_rd && self.load_granted + timing::LOAD_TO_JUMP > self.time + timing::PLAIN;
        let waits = first.kind() == Kind::JumpReg && (first.inst.rs1 == slot.inst.rd || waits_for_load);
        let second_pc = behind(first_pc, first);
        let asks = second_pc & 15 >= LAST_WORD && second_pc & !15 == line;
        (asks && slot.kind() != Kind::Branch && (!is_jump(first) || waits)).then_some(3)
    }

    /// Waits for the register of a register jump. Returns the cycles of the instruction if it neither jumps nor stops.
    #[inline(always)]
    fn wait_for_operands(&mut self, slot: &Slot) -> u64 {
        let inst = &slot.inst;
        match slot.kind() {
            Kind::JumpReg => self.wait_for_jump_register(inst.rs1),
            Kind::Div => return self.division_cycles(slot),
            Kind::MulHigh => return timing::MUL_HIGH,
            _ => {}
        }
        timing::PLAIN
    }

    /// Completes an instruction of `cycles` cycles without further effects.
    #[inline(always)]
    pub(super) fn end<const MODE: u8>(&mut self, slot: &Slot, cycles: u64) -> Option<Stop> {
        if MODE == WATCH {
            self.count(EVENT_CYCLE, cycles);
            self.count(EVENT_INSTRUCTION, 1);
            self.count(EVENT_COMPRESSED, u64::from(slot.inst.halves == 1));
        }
        if has_profile(MODE) {
            self.profile_instruction(slot, cycles);
        }
        // By the end of a jump its link register is ready.
        let jumps = matches!(slot.kind(), Kind::Jump | Kind::JumpReg);
        self.retire::<MODE>(if jumps { SINK } else { slot.inst.rd }, cycles);
        None
    }

    /// Starts a memory access. The following instruction is known: the next in memory, or the first of a loop.
    #[inline(always)]
    fn ask_memory<const MODE: u8>(&mut self, program: &Program, slot: &Slot) -> Option<Stop> {
        self.access.feeds_next = match MODE {
            PLAIN | PROFILE => slot.feeds_next(),
            _ => program.waits_for(self.next, &slot.inst),
        };
        if has_profile(MODE)
            && let Some(profile) = &mut self.profile
        {
            profile.access(self.pc);
        }
        if MODE == WATCH {
            self.report_access();
        }
        if MODE == WATCH && slot.inst.halves == 1 {
            self.count(EVENT_COMPRESSED, 1);
        }
        Some(Stop::Access)
    }

    /// Completes a branch or jump, taken or not.
    #[inline(always)]
    fn end_jump<L: FetchLines, const MODE: u8>(&mut self, program: &Program, slot: &Slot, lines: &L) -> Option<Stop> {
        if MODE == WATCH {
            self.count_jump(slot.kind());
        }
        if !std::mem::take(&mut self.jumped) {
            return self.end::<MODE>(slot, timing::PLAIN);
        }
        if has_loops(MODE) {
            self.fetch.landed = self.instructions + 1;
        }
        if slot.kind() == Kind::Branch {
            self.remains = self.left_by_branch(program, slot, lines);
        }
        self.line = NO_LINE;
        let target = program.slot(self.next);
        let mut cycles = slot.taken_after(self.held, target);
        let waits_for_itself = slot.kind() == Kind::JumpReg
            && slot.inst.rd == slot.inst.rs1
            && cycles == timing::JUMP
            && lines.present(self.next & !15);
        if waits_for_itself {
            cycles = timing::JUMP_OWN_RESULT;
        }
        let ahead = std::mem::replace(&mut self.ahead, NO_LINE);
        let redirected = std::mem::take(&mut self.redirected);
        if target.is_some_and(|target| target.place() == Place::Straddles) && !lines.present(self.next & !15) {
            // The cycle for the second half comes after the first line has arrived.
            cycles = slot.taken_after(self.held, None);
            self.ahead = SECOND_HALF;
        }
        if program.delays_next(self.next) && !waits_for_itself && !self.fetches_early(slot, lines) {
            self.ahead = BEFORE_STRADDLING;
        }
        if ahead < BEFORE_STRADDLING && !lines.present(ahead << 4) {
            if redirected {
                if self.ahead == NO_LINE {
                    self.ahead = ahead;
                }
                return self.end::<MODE>(slot, cycles);
            }
            if has_profile(MODE) {
                self.profile_instruction(slot, cycles);
            }
            self.retire::<MODE>(SINK, cycles);
            self.expect_target(program);
            return Some(Stop::Abandon(ahead << 4));
        }
        self.end::<MODE>(slot, cycles)
    }

    /// Returns true if the target of this jump came while the jump waited in decode, so that fetch continued behind it.
    fn fetches_early<L: FetchLines>(&self, slot: &Slot, lines: &L) -> bool {
        slot.kind() != Kind::Branch && self.held >= timing::JUMP && lines.present(self.next & !15)
    }

    /// Completes a special instruction, according to its own result.
    #[inline(always)]
    fn end_special<const MODE: u8>(&mut self, program: &Program, slot: &Slot) -> Option<Stop> {
        match std::mem::replace(&mut self.pending, Pending::Nothing) {
            Pending::Trap { cause: cause::ILLEGAL_INSTRUCTION, .. } if self.csrs.shows_illegal_words() => {
                let word = program.word(slot.inst.bytes().into(), self.pc);
                Some(self.trap(cause::ILLEGAL_INSTRUCTION, word))
            }
            Pending::Trap { cause, value } => Some(self.trap(cause, value)),
            Pending::Done { cycles, stop } => {
                if self.line == NO_LINE && self.ahead == NO_LINE && program.delays_next(self.next) {
                    self.ahead = BEFORE_STRADDLING;
                }
                if has_profile(MODE) {
                    self.profile_instruction(slot, cycles);
                }
                self.retire::<MODE>(slot.inst.rd, cycles);
                self.count(EVENT_CYCLE, cycles);
                self.count(EVENT_INSTRUCTION, 1);
                Some(stop)
            }
            Pending::Nothing => unreachable!("a special instruction sets its result"),
        }
    }

    /// Finds the code window at the program counter; false if the core may not run code there.
    #[cold]
    fn enter_window(&mut self, program: &Program) -> bool {
        let allowed = match self.csrs.privilege {
            Privilege::Machine => [CodeWindow::ALL; 2],
            Privilege::User => self.user_code,
        };
        let window = allowed.into_iter().find(|window| window.holds(self.pc));
        self.stretch = program.stretch(window.unwrap_or_default());
        // Outside the program, the missing line is reported first.
        window.is_some() || program.slot(self.pc).is_none()
    }

    #[inline(always)]
    pub(super) fn retire<const MODE: u8>(&mut self, rd: u8, cycles: u64) {
        if MODE == WATCH && self.log.is_some() {
            self.log_end();
        }
        self.last_rd = rd;
        self.held = 0;
        self.pc = self.next;
        self.time += cycles;
        self.instructions += 1;
    }

    pub(super) fn wait_for_jump_register(&mut self, rs1: u8) {
        let before = self.time;
        if rs1 == self.last_rd {
            // The previous instruction left decode one cycle ago.
            self.time += timing::ALU_TO_JUMP - timing::PLAIN;
            self.held = 0;
        } else if rs1 == self.load_rd {
            let known = self.load_granted + timing::LOAD_TO_JUMP;
            self.time = self.time.max(known);
            self.held = self.held.min(self.time - known);
        }
        self.count(EVENT_JUMP_REGISTER, self.time - before);
        self.lose(Lost::JumpRegister, self.time - before);
    }
}
