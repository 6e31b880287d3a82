//! A four-stage in-order core with the timing of RI5CY.

use super::ahead::Runway;
use super::behind::Behind;
use super::block::Plain;
use super::csr::{Csrs, Privilege, Profile};
use super::divide::Leftover;
use super::lines::FetchLines;
use super::log::Log;
use super::loops::{Attention, FetchAfterLoop, LOOPS, PLAIN, PROFILE, WATCH};
use super::profile::{CoreProfile, Lost};
use super::program::{Program, SINK};
use super::timing;
use super::watch::{EVENT_CYCLE, EVENT_FETCH_MISS, EVENT_LOAD_USE};
use super::window::{CodeWindow, Stretch};
use crate::debug::{Event, Probe};
use isa::riscv::{Amo, Hart, Load, Width, cause};
use kernel::Cycle;

/// The type of a memory access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// A load; the answer goes to a register.
    Load(Load),
    /// A store; without an answer.
    Store(Width),
    /// An atomic read and write; the answer goes to a register.
    Amo(Amo),
}

impl AccessKind {
    /// Number of bytes accessed.
    pub fn bytes(self) -> u32 {
        match self {
            AccessKind::Load(load) => load.bytes(),
            AccessKind::Store(width) => width.bytes(),
            AccessKind::Amo(_) => 4,
        }
    }
}

/// A memory access that a core waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Address of the first byte.
    pub addr: u32,
    /// The value to store, or the operand of an AMO.
    pub value: u32,
    /// Type of the access.
    pub kind: AccessKind,
    pub(super) bytes: u8,
    pub(super) rd: u8,
    /// Address register that post-increment also writes; [`SINK`] if none.
    pub(super) stepped: u8,
    /// True if the next instruction waits for `rd`.
    pub(super) feeds_next: bool,
}

impl Access {
    #[inline(always)]
    pub(super) fn new(addr: u32, value: u32, kind: AccessKind, rd: u8) -> Self {
        Access { addr, value, kind, bytes: kind.bytes() as u8, rd, stepped: SINK, feeds_next: false }
    }

    /// Number of bytes accessed.
    #[inline(always)]
    pub fn bytes(&self) -> u32 {
        self.bytes.into()
    }
}

/// A trap taken by a core; the core continues in its trap handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrapInfo {
    /// The value of `mcause`.
    pub cause: u32,
    /// Address of the instruction.
    pub pc: u32,
    /// Address that was accessed, or the illegal instruction word.
    pub value: u32,
    /// Privilege before the trap.
    pub from: Privilege,
}

/// Why [`Core::run`] returned. [`Core::time`] gives the cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The next instruction would leave decode at the horizon or later, or the core lets its owner act.
    Yield,
    /// A memory access: the request is in EX one cycle after [`Core::time`], until [`Core::complete`] or
    /// [`Core::fault`].
    Access,
    /// The fetch line at this address is missing; run again when it is present.
    Fetch(u32),
    /// The next line, at this address, is missing and should be requested, so that the cache looks it up this many cycles
    /// after [`Core::time`]; the core continues meanwhile.
    Prefetch(u32, Cycle),
    /// The core jumps while the requested line at this address has not arrived. It must wait for that line, and one
    /// more cycle, before it can request its own.
    Abandon(u32),
    /// The owner must simulate the cycle after [`Core::time`] before the core continues. The next step depends on
    /// whether a line is there by then.
    Pause,
    /// A trap was taken; see [`Core::last_trap`].
    Trap,
    /// `fence.i`: stores must be visible to instruction fetch before the core runs again.
    FenceI,
    /// `wfi`: the core waits for an interrupt.
    Wait,
}

/// Offset of the last word in a fetch line.
pub(super) const LAST_WORD: u32 = timing::LINE_BYTES - 4;

/// Value of `line` if no line is current.
pub(super) const NO_LINE: u32 = u32::MAX;

/// Value of `ahead` if the core jumped to an instruction that straddles two lines, and waits for the first.
pub(super) const SECOND_HALF: u32 = NO_LINE - 1;

/// Value of `ahead` if the core jumped to an instruction before one that straddles two lines, see [`Program::delays_next`].
pub(super) const BEFORE_STRADDLING: u32 = NO_LINE - 2;

/// A core: registers, program counter and the cycle of its next instruction.
///
/// Timing:  in cycles from one instruction leaving decode to the next; see `timing.rs`. A memory access is in EX one
///           cycle after it left decode, and blocks all later instructions until it is granted.
/// Source:  PsPIN RTL a49fec8, `hw/deps/riscv` as configured there.
pub struct Core {
    /// Indexed by a byte, so that no register number is out of bounds; entry 32 takes writes to register 0.
    pub(super) regs: [u32; 256],
    pub(super) pc: u32,
    /// Address at which execution continues after the current instruction.
    pub(super) next: u32,
    /// Current fetch line, as `pc / 16`.
    pub(super) line: u32,
    /// If it waits for a plain access: position of `next` in the program.
    pub(super) next_at: u32,
    pub(super) jumped: bool,
    /// See [`Core::waits_for`].
    pub(super) waits_for: Plain,
    /// Register written by the last instruction. A jump that uses it waits. If other cycles have passed since, the value is
    /// [`SINK`].
    pub(super) last_rd: u8,
    /// Register written by the last load, and the cycle in which the load was granted.
    pub(super) load_rd: u8,
    pub(super) load_granted: Cycle,
    /// Cycles that the next instruction has waited in decode behind an access.
    pub(super) held: Cycle,
    /// Place of the instruction after the access that waits.
    pub(super) behind: Behind,
    /// Cycles from the grant of the access until the instruction behind it enters decode, if that instruction is not in
    /// decode yet.
    pub(super) enters_after: Cycle,
    pub(super) time: Cycle,
    /// The line requested in advance, as `pc / 16`, until it becomes the current one.
    pub(super) ahead: u32,
    /// True if the line in `ahead` was requested for the target of the jump in decode.
    pub(super) redirected: bool,
    /// Earliest cycle of the next instruction, while `ahead` is [`BEFORE_STRADDLING`] and the target of the jump is current.
    pub(super) second_from: Cycle,
    /// Work before the next instruction.
    pub(super) remains: Remains,
    /// Cycle in which the core stopped last before a division, see [`Core::look_behind_division`].
    pub(super) looked_behind: Cycle,
    pub(super) access: Access,
    pub(super) pending: Pending,
    pub(super) instructions: u64,
    /// Events counted by `mhpmcounter3`, by bit, and [`Core::LOGGED`]; 0 if nothing is counted or logged.
    pub(super) watched: u32,
    /// Value of `mhpmcounter3`.
    pub(super) events: u64,
    pub(super) log: Option<Log>,
    pub(super) profile: Option<Box<CoreProfile>>,
    pub(super) probe: Option<Probe>,
    pub(super) last_trap: TrapInfo,
    /// Code ranges allowed in user mode.
    pub(super) user_code: [CodeWindow; 2],
    /// The part of the program that may run at the current privilege.
    pub(super) stretch: Stretch,
    pub(super) csrs: Csrs,
    pub(super) attention: Attention,
    pub(super) fetch: FetchAfterLoop,
}

/// Work before the next instruction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Remains {
    /// Nothing.
    #[default]
    Nothing,
    /// Decode repeats a division until the next instruction enters.
    Division(Leftover),
    /// The core takes a trap. The access at `pc`, in user mode, was refused in cycle `at`, but is done in machine mode first.
    Refusal { pc: u32, cause: u32, at: Cycle },
}

/// The effect of an instruction beyond its register writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pending {
    Nothing,
    Trap { cause: u32, value: u32 },
    Done { cycles: u64, stop: Stop },
}

impl Core {
    /// A core in machine mode at address `boot`.
    pub fn new(profile: Profile, hart_id: u32, boot: u32) -> Self {
        Core {
            regs: [0; 256],
            pc: boot,
            next: boot,
            line: NO_LINE,
            next_at: 0,
            jumped: false,
            waits_for: Plain::Not,
            last_rd: SINK,
            load_rd: SINK,
            load_granted: 0,
            held: 0,
            behind: Behind::InDecode,
            enters_after: timing::PLAIN,
            time: 0,
            ahead: NO_LINE,
            redirected: false,
            second_from: 0,
            remains: Remains::Nothing,
            looked_behind: Cycle::MAX,
            access: Access::new(0, 0, AccessKind::Load(Load::Word), 0),
            pending: Pending::Nothing,
            instructions: 0,
            watched: 0,
            events: 0,
            log: None,
            profile: None,
            probe: None,
            last_trap: TrapInfo { cause: 0, pc: 0, value: 0, from: Privilege::Machine },
            user_code: [CodeWindow::ALL; 2],
            stretch: Stretch::default(),
            csrs: Csrs::new(profile, hart_id, boot),
            attention: Attention::None,
            fetch: FetchAfterLoop::default(),
        }
    }

    /// Adds the standard's registers `cycle` and `cycleh` to a core of the profile RI5CY.
    pub fn add_cycle_register(&mut self) {
        self.csrs.has_cycle = true;
    }

    /// Cycle in which the next instruction leaves decode, or in which the waiting one did.
    #[inline]
    pub fn time(&self) -> Cycle {
        self.time
    }

    /// Records that the missing fetch line is present: the next instruction leaves decode at `cycle` at the earliest.
    pub fn fetched(&mut self, mut cycle: Cycle) {
        if std::mem::replace(&mut self.behind, Behind::InDecode) == Behind::NotThere {
            cycle = cycle.max(self.load_granted + self.enters_after);
        }
        let waited = cycle.saturating_sub(self.time);
        self.count(EVENT_FETCH_MISS | EVENT_CYCLE, waited);
        self.lose(Lost::InstructionMiss, waited);
        self.time += waited;
        self.held = self.held.min(self.time - cycle);
        if waited > 0 {
            self.last_rd = SINK;
        }
    }

    /// Address of the next instruction, or of the waiting one.
    pub fn pc(&self) -> u32 {
        self.pc
    }

    /// Value of register `r`.
    pub fn x(&self, r: u8) -> u32 {
        self.regs[usize::from(r)]
    }

    /// Sets register `r`, as a loader does.
    pub fn set_x(&mut self, r: u8, value: u32) {
        self.set(if r == 0 { SINK } else { r }, value);
    }

    /// Number of retired instructions.
    #[inline]
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// The last trap taken.
    pub fn last_trap(&self) -> TrapInfo {
        self.last_trap
    }

    /// Current privilege.
    #[inline]
    pub fn privilege(&self) -> Privilege {
        self.csrs.privilege
    }

    /// The access for which the core waits after [`Stop::Access`].
    #[inline]
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Runs instructions that leave decode before `horizon`, up to the first that needs the owner of the core.
    pub fn run<L: FetchLines>(&mut self, program: &Program, lines: &L, horizon: Cycle) -> Stop {
        match self.run_ahead(&Runway::new(program, lines.there(), horizon)) {
            true => Stop::Access,
            false => self.run_carefully(program, lines, horizon),
        }
    }

    /// The same, after the fast path could not continue.
    pub fn run_carefully<L: FetchLines>(&mut self, program: &Program, lines: &L, horizon: Cycle) -> Stop {
        match self.attention {
            Attention::None => self.run_loop::<L, PLAIN>(program, lines, horizon),
            Attention::Loops => self.run_loop::<L, LOOPS>(program, lines, horizon),
            Attention::All => self.run_loop::<L, WATCH>(program, lines, horizon),
            Attention::Profile => self.run_loop::<L, PROFILE>(program, lines, horizon),
        }
    }

    /// Restricts user mode to code in these windows; a fetch elsewhere is an exception.
    pub fn set_user_code(&mut self, windows: [CodeWindow; 2]) {
        self.user_code = windows;
        self.stretch = Stretch::default();
    }

    /// Clears the hardware loops, so that those of one task do not affect the next.
    pub fn forget_loops(&mut self) {
        if self.attention != Attention::None {
            self.csrs.loops = Default::default();
            self.choose_attention();
        }
    }

    /// Completes the access, granted in cycle `granted`; `raw` is the data from the accessed byte on.
    #[inline]
    pub fn complete(&mut self, granted: Cycle, raw: u32) {
        match self.access.kind {
            AccessKind::Store(_) => self.stored(granted),
            AccessKind::Load(Load::Elw) => {
                self.loaded(granted, raw);
                self.held = 0;
            }
            AccessKind::Load(load) => self.loaded(granted, load.extend(raw)),
            AccessKind::Amo(_) => self.loaded(granted, raw),
        }
    }

    /// Completes a store, granted in cycle `granted`.
    #[inline(always)]
    pub fn stored(&mut self, granted: Cycle) {
        let waited = self.pass_access(granted);
        if self.watched != 0 {
            self.watch_access(waited);
        }
    }

    /// Completes a load or AMO, granted in cycle `granted`, which writes `value` to its register.
    #[inline(always)]
    pub fn loaded(&mut self, granted: Cycle, value: u32) {
        let waited = self.pass_access(granted);
        let rd = self.access.rd;
        self.regs[usize::from(rd)] = value;
        self.load_rd = rd;
        self.load_granted = granted;
        if self.watched != 0 {
            self.watch_access(waited);
        }
        // If the next instruction came to fetch only while the load waited, it enters decode when the result is
        // available.
        if self.access.feeds_next && self.behind != Behind::AtFetch {
            self.time += timing::LOAD_USE;
            // A jump has redirected fetch meanwhile, unless it jumps to the register that the load incremented, which is known
            // only now.
            self.held = if self.access.stepped == SINK { waited } else { 0 };
            self.last_rd = SINK;
            self.count(EVENT_LOAD_USE, 1);
        }
    }

    /// Makes the next instruction current after an access granted in cycle `granted`. Returns the cycles waited.
    #[inline(always)]
    fn pass_access(&mut self, granted: Cycle) -> Cycle {
        self.waits_for = Plain::Not;
        let waited = granted - self.time;
        self.time = granted;
        self.held = waited - 1;
        self.pc = self.next;
        self.instructions += 1;
        self.last_rd = self.access.stepped;
        waited
    }

    /// The access was refused in cycle `at`: takes a trap.
    pub fn fault(&mut self, at: Cycle) -> Stop {
        self.refuse(at, if self.only_loads() { cause::LOAD_FAULT } else { cause::STORE_FAULT })
    }

    /// The access was refused in cycle `at` as misaligned: takes a trap.
    pub fn misalign(&mut self, at: Cycle) -> Stop {
        self.refuse(at, if self.only_loads() { cause::LOAD_MISALIGNED } else { cause::STORE_MISALIGNED })
    }

    /// Refuses the access in cycle `at`, but leaves it in its stage. Two cycles later the core is in machine mode, and the owner
    /// performs and completes the access. Then the core takes the trap.
    ///
    /// Source: PsPIN RTL a49fec8, `riscv_load_store_unit.sv`, line 193; `riscv_pmp.sv`, lines 648 and 659;
    /// `riscv_controller.sv`, lines 398 to 412. Measured on it.
    pub fn fault_late(&mut self, at: Cycle) {
        self.waits_for = Plain::Not;
        let cause = if self.only_loads() { cause::LOAD_FAULT } else { cause::STORE_FAULT };
        self.remains = Remains::Refusal { pc: self.pc, cause, at };
        self.csrs.privilege = Privilege::Machine;
        self.access.feeds_next = false;
    }

    /// Takes the trap of an access that was refused in cycle `at` and granted in this one. The first instruction of the trap
    /// handler waits in decode for the grant.
    #[cold]
    pub(super) fn take_late_fault(&mut self, pc: u32, cause: u32, at: Cycle) -> Stop {
        self.behind = Behind::InDecode;
        self.instructions -= 1;
        let granted = self.time;
        self.time = at.max(granted + timing::PLAIN - timing::TRAP);
        self.profile_late_refusal(pc, self.time.wrapping_sub(granted));
        self.stay_in_loop();
        self.trap(cause, self.access.addr)
    }

    fn only_loads(&self) -> bool {
        matches!(self.access.kind, AccessKind::Load(_) | AccessKind::Amo(Amo::LoadReserved))
    }

    /// The access was refused in cycle `at` for this cause: takes a trap.
    pub fn refuse(&mut self, at: Cycle, cause: u32) -> Stop {
        self.profile_refusal(at.wrapping_sub(self.time));
        self.time = at;
        self.stay_in_loop();
        self.trap(cause, self.access.addr)
    }

    /// Interrupts the core in cycle `at` at the earliest: takes a trap at the next or the waiting instruction.
    pub fn interrupt(&mut self, at: Cycle, cause: u32) -> Stop {
        self.lose(Lost::System, at.saturating_sub(self.time));
        self.time = self.time.max(at);
        self.trap(cause, 0)
    }

    /// Leaves the trap just taken and continues at `pc`, as if a trap handler had run in zero time.
    pub fn resume(&mut self, pc: u32) {
        self.csrs.leave_trap().expect("a trap was taken to machine mode");
        self.stretch = Stretch::default();
        self.pc = pc;
        self.line = NO_LINE;
    }

    /// Enters the machine-mode trap handler.
    pub(super) fn trap(&mut self, cause: u32, value: u32) -> Stop {
        self.waits_for = Plain::Not;
        if let Remains::Refusal { pc, .. } = std::mem::take(&mut self.remains) {
            (self.pc, self.csrs.privilege) = (pc, Privilege::User);
        }
        let info = TrapInfo { cause, pc: self.pc, value, from: self.csrs.privilege };
        self.lose(Lost::System, timing::TRAP);
        if self.watched != 0 {
            self.log_trap(cause == cause::ILLEGAL_INSTRUCTION);
            self.report(Event::Fault { cause, value });
        }
        self.pc = self.csrs.enter_trap(cause, value, self.pc);
        self.stretch = Stretch::default();
        self.line = NO_LINE;
        self.redirected = false;
        self.last_rd = SINK;
        self.held = 0;
        self.time += timing::TRAP;
        self.last_trap = info;
        Stop::Trap
    }
}

#[cfg(test)]
mod tests;
