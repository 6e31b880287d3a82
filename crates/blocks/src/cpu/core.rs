//! A four-stage in-order core with the timing of RI5CY.

use super::csr::{Counted, Csrs, Privilege, Profile};
use super::program::{Kind, Pace, Place, Program, SINK, Slot};
use super::timing;
use isa::riscv::{Amo, CsrWrite, Hart, Load, Op, System, Width, cause, csr, execute};
use kernel::Cycle;
use std::cell::RefCell;
use std::rc::Rc;

/// What a core asks of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// The answer goes to a register.
    Load(Load),
    /// No answer.
    Store(Width),
    /// Read and write in one; the answer goes to a register.
    Amo(Amo),
}

impl AccessKind {
    /// Bytes that are accessed.
    pub fn bytes(self) -> u32 {
        match self {
            AccessKind::Load(load) => load.bytes(),
            AccessKind::Store(width) => width.bytes(),
            AccessKind::Amo(_) => 4,
        }
    }
}

/// An access that a core waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// First byte.
    pub addr: u32,
    /// What to store, or the operand of an AMO.
    pub value: u32,
    /// What to do.
    pub kind: AccessKind,
    rd: u8,
}

/// A trap that a core took; it continues in its trap handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrapInfo {
    /// As in `mcause`.
    pub cause: u32,
    /// Address of the instruction.
    pub pc: u32,
    /// Address that was accessed, or the word that is no instruction.
    pub value: u32,
    /// Privilege in which it happened.
    pub from: Privilege,
}

/// Why [`Core::run`] came back. The core's [`Core::time`] says when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The next instruction would leave decode at the horizon or later, or the core just lets its owner look.
    Yield,
    /// Memory is asked: the request stands in EX one cycle after [`Core::time`], until [`Core::complete`] or
    /// [`Core::fault`].
    Access,
    /// The fetch line at this address is not there; run again when it is.
    Fetch(u32),
    /// The next line in order, at this address, is not there and should be asked for; the core goes on meanwhile.
    Prefetch(u32),
    /// The core jumps while the line at this address, asked for before, has not come: it must wait for that first, and
    /// for a cycle more, to ask for its own.
    Abandon(u32),
    /// A trap was taken; [`Core::last_trap`] tells more.
    Trap,
    /// `fence.i`: stores must be visible to instruction fetch before the core runs again.
    FenceI,
    /// `wfi`: nothing more happens without an interrupt.
    Wait,
}

/// The instruction cache, as a core sees it.
pub trait Lines {
    /// Whether the line of 16 bytes at `addr` is there.
    fn present(&self, addr: u32) -> bool;
}

/// No line is current.
const NO_LINE: u32 = u32::MAX;

/// A core: registers, program counter and the cycle of its next instruction.
///
/// Timing:  in cycles from one instruction leaving decode to the next; see `timing.rs`. An access is in EX one cycle
///          after it left decode and blocks everything behind it until it is granted.
/// Source:  PsPIN RTL a49fec8, `hw/deps/riscv` as configured there.
pub struct Core {
    /// As long as a byte can count, so that no register number is out of bounds; 32 takes what is meant for register 0.
    regs: [u32; 256],
    pc: u32,
    /// Where the instruction that executes continues.
    next: u32,
    jumped: bool,
    /// Register that the last instruction wrote.
    last_rd: u8,
    /// Register that the last load wrote, and the cycle in which it was granted.
    load_rd: u8,
    load_granted: Cycle,
    time: Cycle,
    /// Current fetch line, as `pc / 16`.
    line: u32,
    /// The line that was asked for ahead, in the same way, until it is the current one.
    ahead: u32,
    access: Access,
    pending: Pending,
    instructions: u64,
    /// Events that `mhpmcounter3` counts, by bit, and how many it has counted.
    counting: u32,
    events: u64,
    log: Option<InstructionLog>,
    last_trap: TrapInfo,
    csrs: Csrs,
}

/// Every instruction that a core starts: the cycle in which it leaves decode, and its address.
pub type InstructionLog = Rc<RefCell<Vec<(Cycle, u32)>>>;

/// What an instruction asked for besides its effect on registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pending {
    Nothing,
    Trap { cause: u32, value: u32 },
    Done { cycles: u64, stop: Stop },
}

// Bits of `mhpmevent3`. Source: PsPIN RTL a49fec8, `riscv_cs_registers.sv`.
const EVENT_CYCLE: u32 = 1;
const EVENT_INSTRUCTION: u32 = 1 << 1;
const EVENT_LOAD_USE: u32 = 1 << 2;
const EVENT_JUMP_REGISTER: u32 = 1 << 3;
const EVENT_FETCH_MISS: u32 = 1 << 4;
const EVENT_LOAD: u32 = 1 << 5;
const EVENT_STORE: u32 = 1 << 6;
const EVENT_JUMP: u32 = 1 << 7;
const EVENT_BRANCH: u32 = 1 << 8;
const EVENT_TAKEN: u32 = 1 << 9;
const EVENT_COMPRESSED: u32 = 1 << 10;
const EVENT_ELW_STALL: u32 = 1 << 11;

impl Core {
    /// A core that starts in machine mode at `boot`.
    pub fn new(profile: Profile, hart_id: u32, boot: u32) -> Self {
        Core {
            regs: [0; 256],
            pc: boot,
            next: boot,
            jumped: false,
            last_rd: SINK,
            load_rd: SINK,
            load_granted: 0,
            time: 0,
            line: NO_LINE,
            ahead: NO_LINE,
            access: Access { addr: 0, value: 0, kind: AccessKind::Load(Load::Word), rd: 0 },
            pending: Pending::Nothing,
            instructions: 0,
            counting: 0,
            events: 0,
            log: None,
            last_trap: TrapInfo { cause: 0, pc: 0, value: 0, from: Privilege::Machine },
            csrs: Csrs::new(profile, hart_id, boot),
        }
    }

    /// Cycle in which the next instruction leaves decode, or in which the one that waits did.
    #[inline]
    pub fn time(&self) -> Cycle {
        self.time
    }

    /// The fetch line that was missing is there: the next instruction leaves decode at `cycle` at the earliest.
    pub fn fetched(&mut self, cycle: Cycle) {
        let waited = cycle.saturating_sub(self.time);
        self.count(EVENT_FETCH_MISS | EVENT_CYCLE, waited);
        self.time += waited;
    }

    /// Address of the next instruction, or of the one that waits.
    pub fn pc(&self) -> u32 {
        self.pc
    }

    /// Value of register `r`.
    pub fn x(&self, r: u8) -> u32 {
        self.regs[usize::from(r)]
    }

    /// Sets register `r`, as a loader would.
    pub fn set_x(&mut self, r: u8, value: u32) {
        self.set(if r == 0 { SINK } else { r }, value);
    }

    /// Instructions retired.
    #[inline]
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// The last trap that was taken.
    pub fn last_trap(&self) -> TrapInfo {
        self.last_trap
    }

    /// Current privilege.
    #[inline]
    pub fn privilege(&self) -> Privilege {
        self.csrs.privilege
    }

    /// The access that the core waits for, after [`Stop::Access`].
    #[inline]
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Runs instructions that leave decode before `horizon`, up to the first that needs somebody else.
    #[inline]
    pub fn run<L: Lines>(&mut self, program: &Program, lines: &L, horizon: Cycle) -> Stop {
        if self.counting == 0 && self.log.is_none() {
            self.run_loop::<L, false>(program, lines, horizon)
        } else {
            self.run_loop::<L, true>(program, lines, horizon)
        }
    }

    /// Writes every instruction into `log` from now on.
    pub fn log_instructions(&mut self, log: InstructionLog) {
        self.log = Some(log);
    }

    #[inline(never)]
    fn run_loop<L: Lines, const WATCH: bool>(&mut self, program: &Program, lines: &L, horizon: Cycle) -> Stop {
        while self.time < horizon {
            let pc = self.pc;
            if pc >> 4 != self.line {
                if !lines.present(pc & !15) {
                    return Stop::Fetch(pc & !15);
                }
                self.line = pc >> 4;
                self.ahead = NO_LINE;
            }
            if !WATCH && let Some(stop) = self.run_ahead(program, lines, horizon) {
                return stop;
            }
            let pc = self.pc;
            let Some(slot) = program.slot(pc) else {
                return self.trap(cause::INSTRUCTION_FAULT, pc);
            };
            if slot.place != Place::Within {
                let next = (pc & !15).wrapping_add(16);
                let here = lines.present(next);
                match slot.place {
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
            if slot.kind >= Kind::JumpReg {
                match slot.kind {
                    Kind::JumpReg => self.wait_for_jump_register(inst.rs1),
                    Kind::Div => {
                        cycles = timing::div(self.x(inst.rs2), matches!(inst.op, Op::Div | Op::Rem));
                    }
                    _ => {}
                }
            }
            if WATCH && let Some(log) = &self.log {
                log.borrow_mut().push((self.time, pc));
            }
            self.next = pc.wrapping_add(u32::from(inst.len));
            execute(self, inst);
            match slot.kind {
                Kind::Alu | Kind::Div => {}
                Kind::MulHigh => cycles = timing::MUL_HIGH,
                Kind::Memory => {
                    if WATCH && inst.len == 2 {
                        self.count(EVENT_COMPRESSED, 1);
                    }
                    return Stop::Access;
                }
                Kind::Branch | Kind::Jump | Kind::JumpReg => {
                    if WATCH {
                        self.count_jump(slot.kind);
                    }
                    if self.jumped {
                        self.jumped = false;
                        self.line = NO_LINE;
                        cycles = if slot.kind == Kind::Branch { timing::BRANCH_TAKEN } else { timing::JUMP };
                        if program.slot(self.next).is_some_and(|target| target.place == Place::Straddles) {
                            cycles += timing::STRADDLING_TARGET;
                        }
                        if self.ahead != NO_LINE {
                            let ahead = std::mem::replace(&mut self.ahead, NO_LINE) << 4;
                            if !lines.present(ahead) {
                                self.retire(SINK, cycles);
                                return Stop::Abandon(ahead);
                            }
                        }
                    }
                }
                Kind::Special => match std::mem::replace(&mut self.pending, Pending::Nothing) {
                    Pending::Trap { cause, value } => return self.trap(cause, value),
                    Pending::Done { cycles, stop } => {
                        self.retire(inst.rd, cycles);
                        self.count(EVENT_CYCLE, cycles);
                        self.count(EVENT_INSTRUCTION, 1);
                        return stop;
                    }
                    Pending::Nothing => unreachable!("a special instruction says what comes of it"),
                },
            }
            if WATCH {
                self.count(EVENT_CYCLE, cycles);
                self.count(EVENT_INSTRUCTION, 1);
                self.count(EVENT_COMPRESSED, u64::from(inst.len == 2));
            }
            // A jump leaves its link register time enough.
            let jumps = matches!(slot.kind, Kind::Jump | Kind::JumpReg);
            self.retire(if jumps { SINK } else { inst.rd }, cycles);
        }
        Stop::Yield
    }

    /// Counts `n` if `mhpmcounter3` counts this event.
    #[inline]
    fn count(&mut self, event: u32, n: u64) {
        if self.counting & event != 0 {
            self.events += n;
        }
    }

    fn count_jump(&mut self, kind: Kind) {
        if kind == Kind::Branch {
            self.count(EVENT_BRANCH, 1);
            self.count(EVENT_TAKEN, u64::from(self.jumped));
        } else {
            self.count(EVENT_JUMP, 1);
        }
    }

    /// Runs what needs little looking around: arithmetic, jumps between lines that are there, and up to the first access
    /// to memory. Comes back with [`Stop::Access`], or with nothing and an instruction left for the caller.
    #[inline(always)]
    fn run_ahead<L: Lines>(&mut self, program: &Program, lines: &L, horizon: Cycle) -> Option<Stop> {
        // Whatever comes next, its time must be within the horizon when it starts.
        let mut left = horizon.checked_sub(self.time + timing::BRANCH_TAKEN)?;
        let (slots, mut at) = (program.slots(), program.position(self.pc));
        let (mut n, mut beyond, mut last_rd) = (0, 0, self.last_rd);
        let mut stop = None;
        while n < left {
            let Some(slot) = slots.get(at) else { break };
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
                    (at, last_rd) = (program.position(self.next), SINK);
                    let taken = if slot.kind == Kind::Branch { timing::BRANCH_TAKEN } else { timing::JUMP };
                    beyond += taken - timing::PLAIN;
                    left = left.saturating_sub(taken - timing::PLAIN);
                }
                _ => (at, last_rd) = (at + usize::from(slot.halves), slot.inst.rd),
            }
            n += 1;
        }
        self.pc = program.address(at);
        self.line = self.pc >> 4;
        self.last_rd = last_rd;
        self.time += n * timing::PLAIN + beyond;
        self.instructions += n;
        stop
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
                (self.pc, self.next) = (pc, pc.wrapping_add(u32::from(slot.inst.len)));
                target_there && (slot.pace == Pace::Jump || lines.present((pc & !15).wrapping_add(16)))
            }
            Pace::Straight | Pace::Memory | Pace::Careful => false,
        }
    }

    #[inline(always)]
    fn retire(&mut self, rd: u8, cycles: u64) {
        self.last_rd = rd;
        self.pc = self.next;
        self.time += cycles;
        self.instructions += 1;
    }

    /// The access was granted in cycle `granted` and answered with `raw`, the word's bytes from the accessed one on.
    #[inline]
    pub fn complete(&mut self, program: &Program, granted: Cycle, raw: u32) {
        let rd = self.access.rd;
        let waited = granted - self.time;
        self.time = granted;
        self.pc = self.next;
        self.instructions += 1;
        self.last_rd = SINK;
        if self.counting != 0 {
            self.count_access(waited);
        }
        let value = match self.access.kind {
            AccessKind::Store(_) => return,
            AccessKind::Load(load) => load.extend(raw),
            AccessKind::Amo(_) => raw,
        };
        self.regs[usize::from(rd)] = value;
        self.load_rd = rd;
        self.load_granted = granted;
        // What follows a load is known: the next instruction in memory.
        if program.slot(self.pc).is_some_and(|next| next.inst.rs1 == rd || next.inst.rs2 == rd) {
            self.time += timing::LOAD_USE;
            self.count(EVENT_LOAD_USE, 1);
        }
    }

    #[cold]
    fn count_access(&mut self, waited: u64) {
        self.count(EVENT_CYCLE, waited);
        self.count(EVENT_INSTRUCTION, 1);
        match self.access.kind {
            AccessKind::Load(Load::Elw) => self.count(EVENT_ELW_STALL, waited - 1),
            AccessKind::Load(_) => self.count(EVENT_LOAD, 1),
            AccessKind::Store(_) => self.count(EVENT_STORE, 1),
            AccessKind::Amo(_) => {
                self.count(EVENT_LOAD, 1);
                self.count(EVENT_STORE, 1);
            }
        }
    }

    /// The access was refused in cycle `at`: a trap.
    pub fn fault(&mut self, at: Cycle) -> Stop {
        self.time = at;
        let cause = match self.access.kind {
            AccessKind::Load(_) => cause::LOAD_FAULT,
            AccessKind::Store(_) | AccessKind::Amo(_) => cause::STORE_FAULT,
        };
        self.trap(cause, self.access.addr)
    }

    /// Leaves the trap that was just taken and continues at `pc`, as if a trap handler had run in no time.
    pub fn resume(&mut self, pc: u32) {
        self.csrs.leave_trap().expect("a trap was taken to machine mode");
        self.pc = pc;
        self.line = NO_LINE;
    }

    /// Enters the trap handler of machine mode.
    fn trap(&mut self, cause: u32, value: u32) -> Stop {
        let info = TrapInfo { cause, pc: self.pc, value, from: self.csrs.privilege };
        self.pc = self.csrs.enter_trap(cause, value, self.pc);
        self.line = NO_LINE;
        self.last_rd = SINK;
        self.time += timing::TRAP;
        self.last_trap = info;
        Stop::Trap
    }

    fn wait_for_jump_register(&mut self, rs1: u8) {
        let before = self.time;
        if rs1 == self.last_rd {
            // The instruction before left decode one cycle ago.
            self.time += timing::ALU_TO_JUMP - timing::PLAIN;
        } else if rs1 == self.load_rd {
            self.time = self.time.max(self.load_granted + timing::LOAD_TO_JUMP);
        }
        self.count(EVENT_JUMP_REGISTER, self.time - before);
    }

    fn counted(&self) -> Counted {
        Counted { cycle: self.time, instructions: self.instructions, events: self.events }
    }
}

impl Hart for Core {
    #[inline(always)]
    fn x(&self, r: u8) -> u32 {
        self.regs[usize::from(r)]
    }

    #[inline(always)]
    fn set(&mut self, r: u8, value: u32) {
        // Decoded programs write to `SINK` where register 0 is meant.
        self.regs[usize::from(r)] = value;
    }

    #[inline(always)]
    fn pc(&self) -> u32 {
        self.pc
    }

    #[inline(always)]
    fn jump(&mut self, target: u32) {
        self.next = target;
        self.jumped = true;
    }

    #[inline(always)]
    fn load(&mut self, rd: u8, addr: u32, kind: Load) {
        self.access = Access { addr, value: 0, kind: AccessKind::Load(kind), rd };
    }

    #[inline(always)]
    fn store(&mut self, addr: u32, value: u32, width: Width) {
        self.access = Access { addr, value, kind: AccessKind::Store(width), rd: 0 };
    }

    #[inline(always)]
    fn amo(&mut self, rd: u8, addr: u32, value: u32, amo: Amo) {
        self.access = Access { addr, value, kind: AccessKind::Amo(amo), rd };
    }

    #[inline(never)]
    fn csr(&mut self, rd: u8, number: u16, write: CsrWrite, reads: bool) {
        let counted = self.counted();
        let Some(old) = self.csrs.access(number, write, counted) else {
            return self.illegal_here();
        };
        if reads {
            self.set(rd, old);
        }
        self.counting = self.csrs.counted_events();
        let flushes = matches!(number, csr::MSTATUS | csr::USTATUS | csr::UEPC);
        let cycles = if flushes { timing::CSR_FLUSH } else { timing::CSR };
        self.pending = Pending::Done { cycles, stop: Stop::Yield };
    }

    #[inline(never)]
    fn system(&mut self, what: System) {
        self.pending = match what {
            System::Ecall => Pending::Trap { cause: self.csrs.ecall_cause(), value: 0 },
            System::Ebreak => Pending::Trap { cause: cause::BREAKPOINT, value: self.pc },
            System::Fence => Pending::Done { cycles: timing::FENCE, stop: Stop::Yield },
            System::FenceI => {
                self.line = NO_LINE;
                Pending::Done { cycles: timing::FENCE, stop: Stop::FenceI }
            }
            System::Wfi => Pending::Done { cycles: timing::FENCE, stop: Stop::Wait },
            System::Mret | System::Uret => {
                let target = if what == System::Mret { self.csrs.leave_trap() } else { Some(self.csrs.user_return()) };
                let Some(target) = target else { return self.illegal_here() };
                self.next = target;
                self.line = NO_LINE;
                Pending::Done { cycles: timing::TRAP_RETURN, stop: Stop::Yield }
            }
        };
    }

    #[inline(never)]
    fn illegal(&mut self, word: u32) {
        self.pending = Pending::Trap { cause: cause::ILLEGAL_INSTRUCTION, value: word };
    }
}

impl Core {
    /// The instruction exists but not here: for this privilege or this core.
    fn illegal_here(&mut self) {
        self.pending = Pending::Trap { cause: cause::ILLEGAL_INSTRUCTION, value: 0 };
    }
}
