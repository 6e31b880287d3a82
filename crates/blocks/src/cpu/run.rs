//! The loop that runs instructions.

use super::core::{Core, NO_LINE, Pending, Stop};
use super::csr::Privilege;
use super::lines::Lines;
use super::loops::{LOOPS, PLAIN, WATCH};
use super::program::{Kind, Place, Program, SINK, Window};
use super::timing;
use super::watch::{EVENT_COMPRESSED, EVENT_CYCLE, EVENT_INSTRUCTION, EVENT_JUMP_REGISTER};
use isa::riscv::{Op, cause, execute};
use kernel::Cycle;

impl Core {
    /// `MODE` is one of [`PLAIN`], `LOOPS` and [`WATCH`].
    #[inline(never)]
    pub(super) fn run_loop<L: Lines, const MODE: u8>(&mut self, program: &Program, lines: &L, horizon: Cycle) -> Stop {
        while self.time < horizon {
            if MODE != PLAIN
                && let Some(stop) = self.settle_loops(lines, horizon)
            {
                return stop;
            }
            let pc = self.pc;
            if !self.stretch.holds(program.position(pc)) && !self.enter_window(program) {
                return self.trap(cause::INSTRUCTION_FAULT, pc);
            }
            if pc >> 4 != self.line {
                if !lines.present(pc & !15) {
                    return Stop::Fetch(pc & !15);
                }
                self.line = pc >> 4;
                self.ahead = NO_LINE;
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
            let ending = if MODE == PLAIN { None } else { self.csrs.loops.ending(pc) };
            // Where a loop goes back, the next line is not asked for.
            if slot.place() != Place::Within && !(ending.is_some() && slot.place() == Place::End) {
                let next = (pc & !15).wrapping_add(16);
                let here = lines.present(next);
                match slot.place() {
                    Place::Straddles if here => (self.line, self.ahead) = (next >> 4, NO_LINE),
                    Place::Straddles => return Stop::Fetch(next),
                    _ if !here && self.ahead != next >> 4 => {
                        self.ahead = next >> 4;
                        return Stop::Prefetch(next);
                    }
                    _ => {}
                }
            }
            let inst = &slot.inst;
            let mut cycles = timing::PLAIN;
            if slot.kind() >= Kind::JumpReg {
                match slot.kind() {
                    Kind::JumpReg => self.wait_for_jump_register(inst.rs1),
                    Kind::Div => {
                        cycles = timing::div(self.x(inst.rs2), matches!(inst.op, Op::Div | Op::Rem));
                    }
                    _ => {}
                }
            }
            if MODE == WATCH && self.log.is_some() {
                self.log_start(inst);
            }
            self.next = pc.wrapping_add(slot.inst.bytes().into());
            execute(self, inst);
            if MODE != PLAIN {
                self.end_loop(program, slot, pc, ending);
            }
            match slot.kind() {
                Kind::Alu | Kind::Div => {}
                Kind::MulHigh => cycles = timing::MUL_HIGH,
                Kind::Memory => {
                    // What follows is known: the next instruction in memory, or the first of a loop.
                    self.access.feeds_next = match MODE {
                        PLAIN => slot.feeds_next(),
                        _ => program.reads(self.next, self.access.rd),
                    };
                    if MODE == WATCH && slot.inst.halves == 1 {
                        self.count(EVENT_COMPRESSED, 1);
                    }
                    return Stop::Access;
                }
                Kind::Branch | Kind::Jump | Kind::JumpReg => {
                    if MODE == WATCH {
                        self.count_jump(slot.kind());
                    }
                    if self.jumped {
                        self.jumped = false;
                        if MODE != PLAIN {
                            self.fetch.landed = self.instructions + 1;
                        }
                        self.line = NO_LINE;
                        cycles = if slot.kind() == Kind::Branch { timing::BRANCH_TAKEN } else { timing::JUMP };
                        if program.slot(self.next).is_some_and(|target| target.place() == Place::Straddles) {
                            cycles += timing::STRADDLING_TARGET;
                        }
                        if self.ahead != NO_LINE {
                            let ahead = std::mem::replace(&mut self.ahead, NO_LINE) << 4;
                            if !lines.present(ahead) {
                                self.retire::<MODE>(SINK, cycles);
                                return Stop::Abandon(ahead);
                            }
                        }
                    }
                }
                Kind::Special => match std::mem::replace(&mut self.pending, Pending::Nothing) {
                    Pending::Trap { cause: cause::ILLEGAL_INSTRUCTION, .. } if self.csrs.shows_illegal_words() => {
                        return self.trap(cause::ILLEGAL_INSTRUCTION, program.word(slot.inst.bytes().into(), pc));
                    }
                    Pending::Trap { cause, value } => return self.trap(cause, value),
                    Pending::Done { cycles, stop } => {
                        self.retire::<MODE>(inst.rd, cycles);
                        self.count(EVENT_CYCLE, cycles);
                        self.count(EVENT_INSTRUCTION, 1);
                        return stop;
                    }
                    Pending::Nothing => unreachable!("a special instruction says what comes of it"),
                },
            }
            if MODE == WATCH {
                self.count(EVENT_CYCLE, cycles);
                self.count(EVENT_INSTRUCTION, 1);
                self.count(EVENT_COMPRESSED, u64::from(slot.inst.halves == 1));
            }
            // A jump leaves its link register time enough.
            let jumps = matches!(slot.kind(), Kind::Jump | Kind::JumpReg);
            self.retire::<MODE>(if jumps { SINK } else { inst.rd }, cycles);
            if MODE == PLAIN && self.run_ahead(program, lines.there(), horizon) {
                return Stop::Access;
            }
        }
        Stop::Yield
    }

    /// Looks for the code that the core may run at its program counter; false if it may run none there.
    #[cold]
    fn enter_window(&mut self, program: &Program) -> bool {
        let allowed = match self.csrs.privilege {
            Privilege::Machine => [Window::ALL; 2],
            Privilege::User => self.user_code,
        };
        let window = allowed.into_iter().find(|window| window.holds(self.pc));
        self.stretch = program.stretch(window.unwrap_or_default());
        // Where no program is, that is said when the line is there.
        window.is_some() || program.slot(self.pc).is_none()
    }

    #[inline(always)]
    pub(super) fn retire<const MODE: u8>(&mut self, rd: u8, cycles: u64) {
        if MODE == WATCH && self.log.is_some() {
            self.log_end();
        }
        self.last_rd = rd;
        self.pc = self.next;
        self.time += cycles;
        self.instructions += 1;
    }

    pub(super) fn wait_for_jump_register(&mut self, rs1: u8) {
        let before = self.time;
        if rs1 == self.last_rd {
            // The instruction before left decode one cycle ago.
            self.time += timing::ALU_TO_JUMP - timing::PLAIN;
        } else if rs1 == self.load_rd {
            self.time = self.time.max(self.load_granted + timing::LOAD_TO_JUMP);
        }
        self.count(EVENT_JUMP_REGISTER, self.time - before);
    }
}
