//! A four-stage in-order core with the timing of RI5CY.

use super::behind::Behind;
use super::csr::{Csrs, Privilege, Profile};
use super::lines::FetchLines;
use super::log::Log;
use super::loops::{Attention, FetchAfterLoop, LOOPS, PLAIN, WATCH};
use super::program::{Program, SINK};
use super::timing;
use super::watch::{EVENT_CYCLE, EVENT_FETCH_MISS, EVENT_LOAD_USE};
use super::window::{CodeWindow, Stretch};
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
    bytes: u8,
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
    pub(super) jumped: bool,
    /// Register written by the last instruction.
    pub(super) last_rd: u8,
    /// Register written by the last load, and the cycle in which the load was granted.
    pub(super) load_rd: u8,
    pub(super) load_granted: Cycle,
    /// Cycles that the next instruction has waited in decode behind an access.
    pub(super) held: Cycle,
    /// Place of the instruction after the access that waits.
    pub(super) behind: Behind,
    pub(super) time: Cycle,
    /// Current fetch line, as `pc / 16`.
    pub(super) line: u32,
    /// The line requested in advance, as `pc / 16`, until it becomes the current one.
    pub(super) ahead: u32,
    pub(super) access: Access,
    pub(super) pending: Pending,
    pub(super) instructions: u64,
    /// Events counted by `mhpmcounter3`, by bit, and [`Core::LOGGED`]; 0 if nothing is counted or logged.
    pub(super) watched: u32,
    /// Value of `mhpmcounter3`.
    pub(super) events: u64,
    pub(super) log: Option<Log>,
    pub(super) last_trap: TrapInfo,
    /// Code ranges allowed in user mode.
    pub(super) user_code: [CodeWindow; 2],
    /// The part of the program that may run at the current privilege.
    pub(super) stretch: Stretch,
    pub(super) csrs: Csrs,
    pub(super) attention: Attention,
    pub(super) fetch: FetchAfterLoop,
}

/// The effect of an instruction besides that on registers.
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
            jumped: false,
            last_rd: SINK,
            load_rd: SINK,
            load_granted: 0,
            held: 0,
            behind: Behind::InDecode,
            time: 0,
            line: NO_LINE,
            ahead: NO_LINE,
            access: Access::new(0, 0, AccessKind::Load(Load::Word), 0),
            pending: Pending::Nothing,
            instructions: 0,
            watched: 0,
            events: 0,
            log: None,
            last_trap: TrapInfo { cause: 0, pc: 0, value: 0, from: Privilege::Machine },
            user_code: [CodeWindow::ALL; 2],
            stretch: Stretch::default(),
            csrs: Csrs::new(profile, hart_id, boot),
            attention: Attention::None,
            fetch: FetchAfterLoop::default(),
        }
    }

    /// Cycle in which the next instruction leaves decode, or in which the waiting one did.
    #[inline]
    pub fn time(&self) -> Cycle {
        self.time
    }

    /// Records that the missing fetch line is present: the next instruction leaves decode at `cycle` at the earliest.
    pub fn fetched(&mut self, cycle: Cycle) {
        self.behind = Behind::InDecode;
        let waited = cycle.saturating_sub(self.time);
        self.count(EVENT_FETCH_MISS | EVENT_CYCLE, waited);
        self.time += waited;
        self.held = self.held.min(self.time - cycle);
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
        match self.run_ahead(program, lines.there(), horizon) {
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
        if self.access.feeds_next {
            self.time += timing::LOAD_USE;
            // A jump redirects fetch meanwhile, unless to the address that the load has stepped, which is known only now.
            self.held = if self.access.stepped == SINK { waited } else { 0 };
            self.last_rd = SINK;
            self.count(EVENT_LOAD_USE, 1);
        }
    }

    /// Makes the next instruction current after an access granted in cycle `granted`. Returns the cycles waited.
    #[inline(always)]
    fn pass_access(&mut self, granted: Cycle) -> Cycle {
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

    fn only_loads(&self) -> bool {
        matches!(self.access.kind, AccessKind::Load(_) | AccessKind::Amo(Amo::LoadReserved))
    }

    /// The access was refused in cycle `at` for this cause: takes a trap.
    pub fn refuse(&mut self, at: Cycle, cause: u32) -> Stop {
        self.time = at;
        self.stay_in_loop();
        self.trap(cause, self.access.addr)
    }

    /// Interrupts the core in cycle `at` at the earliest: takes a trap at the next or the waiting instruction.
    pub fn interrupt(&mut self, at: Cycle, cause: u32) -> Stop {
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
        let info = TrapInfo { cause, pc: self.pc, value, from: self.csrs.privilege };
        if self.watched != 0 {
            self.log_trap(cause == cause::ILLEGAL_INSTRUCTION);
        }
        self.pc = self.csrs.enter_trap(cause, value, self.pc);
        self.stretch = Stretch::default();
        self.line = NO_LINE;
        self.last_rd = SINK;
        self.held = 0;
        self.time += timing::TRAP;
        self.last_trap = info;
        Stop::Trap
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::PresentLines;
    use isa::riscv::Isa;

    /// Only the first line is present.
    struct First(PresentLines);

    impl FetchLines for First {
        fn present(&self, addr: u32) -> bool {
            addr >> 4 == 0
        }

        fn there(&self) -> &[u8] {
            self.0.counts()
        }
    }

    /// Line fetched behind a waiting store at `at`; `widths` lists the bytes of all instructions.
    fn behind(widths: &[u8], at: u32) -> Option<(u32, Cycle)> {
        let store = 0x0000_2023u32.to_le_bytes(); // sw x0, 0(x0)
        let code: Vec<u8> = widths
            .iter()
            .scan(0, |pc, &bytes| {
                let here = std::mem::replace(pc, *pc + u32::from(bytes));
                Some(match bytes {
                    2 => 0x0001u16.to_le_bytes().to_vec(), // c.nop
                    _ if here == at => store.to_vec(),
                    _ => 0x0000_0013u32.to_le_bytes().to_vec(), // nop
                })
            })
            .flatten()
            .collect();
        let program = Program::new(Isa::RV32IMAC, 0, &code);
        let mut lines = First(PresentLines::new(code.len().div_ceil(16)));
        lines.0.set(0, true);
        let mut core = Core::new(Profile::Ri5cy, 0, 0);
        assert_eq!(core.run(&program, &lines, 100), Stop::Access);
        assert_eq!(core.pc(), at);
        core.fetch_behind_access(&program, &lines)
    }

    /// A core at address 0 of this program, of which the first line alone is there.
    fn cold(text: &str) -> (Core, Program, First) {
        let code = testkit::text::assemble(0, text);
        let mut lines = First(PresentLines::new(code.len().div_ceil(16)));
        lines.0.set(0, true);
        (Core::new(Profile::Ri5cy, 0, 0), Program::new(Isa::RV32IMAC, 0, &code), lines)
    }

    /// Runs a core by `step` cycles at a time, its accesses granted at once, until it needs a line: that stop, and when.
    fn run_in_steps(program: &Program, lines: &First, step: Cycle) -> (Stop, Cycle) {
        let (mut core, mut horizon) = (Core::new(Profile::Ri5cy, 0, 0), step);
        loop {
            match core.run(program, lines, horizon) {
                Stop::Yield => horizon = core.time() + step,
                Stop::Access => core.complete(core.time() + 1, 0),
                stop => return (stop, core.time()),
            }
        }
    }

    const NOP: &str = "addi zero, zero, 0\n";

    #[test]
    fn fetch_asks_for_the_next_line_two_instructions_before_its_last_word_though_decode_waits() {
        let (mut core, program, lines) = cold(&format!("{NOP} lw a2, 0(zero)\n addi a3, a2, 1\n {NOP}{NOP}"));
        // The last word is fetched when the addition enters decode, where it waits for the load.
        assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Access, 1));
        core.complete(2, 0);
        assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Prefetch(16, 1), 3));
        assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Fetch(16), 5));
        // If the addition is in the last word itself, the cache looks when it leaves decode.
        let (mut core, program, lines) = cold(&format!("{NOP}{NOP} lw a2, 0(zero)\n addi a3, a2, 1\n {NOP}"));
        assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Access, 2));
        core.complete(3, 0);
        assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Prefetch(16, 0), 4));
    }

    #[test]
    fn fetch_asks_for_the_line_behind_a_branch_that_is_taken_and_must_wait_for_it() {
        let (mut core, program, lines) = cold(&format!("{NOP}{NOP} beq zero, zero, there\n there:\n {NOP}{NOP}"));
        assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Prefetch(16, 3), 1));
        assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Abandon(16), 5));
        // Behind a jump it does not.
        let (mut core, program, lines) = cold(&format!("here:\n {NOP}{NOP} jal zero, here\n {NOP}{NOP}"));
        assert_eq!(core.run(&program, &lines, 5), Stop::Yield);
    }

    #[test]
    fn what_comes_while_an_access_waits_enters_decode_behind_it() {
        let (mut core, program, lines) = cold(&format!("{NOP}{NOP}{NOP} lw a2, 0(zero)\n {NOP}"));
        assert_eq!(core.run(&program, &lines, 100), Stop::Prefetch(16, 3));
        assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Access, 3));
        core.wait_for_access(&program, &lines);
        core.line_came();
        core.complete(20, 0);
        assert_eq!((core.run(&program, &AllLines, 21), core.time()), (Stop::Yield, 21));
    }

    #[test]
    fn the_second_half_of_an_instruction_is_requested_when_the_one_before_enters_decode() {
        let mut code = testkit::text::assemble(0, &format!("{NOP}{NOP} lw a2, 0(zero)\n addi a3, a2, 1\n {NOP}{NOP}"));
        code.splice(0..4, [1, 0]); // c.nop: the addition is at 10, and the instruction after it straddles lines.
        let program = Program::new(Isa::RV32IMAC, 0, &code);
        let mut lines = First(PresentLines::new(code.len().div_ceil(16)));
        lines.0.set(0, true);
        // The load leaves decode in cycle 2, and the addition enters it in cycle 3, where it waits for the load until cycle 4.
        // The cache looks for the next line in cycle 4: two cycles after the load, or none after the addition.
        for (step, want) in [(1, (Stop::Prefetch(16, 2), 2)), (100, (Stop::Prefetch(16, 0), 4))] {
            assert_eq!(run_in_steps(&program, &lines, step), want);
        }
    }

    #[test]
    fn behind_an_access_that_waits_a_jump_asks_for_its_target() {
        let (mut core, program, lines) =
            cold(&format!("sw zero, 0(zero)\n jal zero, there\n {}there:\n {NOP}", NOP.repeat(6)));
        assert_eq!(core.run(&program, &lines, 100), Stop::Access);
        core.wait_for_access(&program, &lines);
        assert_eq!(core.fetch_behind_access(&program, &lines), Some((32, 2)));
    }

    #[test]
    fn the_second_half_of_a_target_is_fetched_when_the_first_has_come() {
        let mut code = testkit::text::assemble(0, &format!("jal zero, there\n {}there:\n {NOP}", NOP.repeat(6)));
        code.splice(28..28, [1, 0]); // c.nop: what is behind it straddles lines, and the jump leads there.
        code[..4].copy_from_slice(&0x01e0_006fu32.to_le_bytes()); // jal x0, 30
        let program = Program::new(Isa::RV32IMAC, 0, &code);
        let mut lines = First(PresentLines::new(code.len().div_ceil(16)));
        lines.0.set(0, true);
        let mut core = Core::new(Profile::Ri5cy, 0, 0);
        assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Fetch(16), timing::JUMP));
        core.fetched(10);
        assert_eq!((core.run(&program, &AllLines, 100), core.time()), (Stop::Yield, 11));
    }

    /// All lines are there, as far as they are looked at one by one.
    struct AllLines;

    impl FetchLines for AllLines {
        fn present(&self, _addr: u32) -> bool {
            true
        }

        fn there(&self) -> &[u8] {
            &[]
        }
    }

    #[test]
    fn behind_a_waiting_store_the_next_line_is_requested_from_the_last_word_or_in_decode() {
        // All instructions have 4 bytes: the second one after the store is in the last word.
        assert_eq!(behind(&[4, 4, 4, 4, 4], 4), Some((16, 2)));
        assert_eq!(behind(&[4, 4, 4, 4, 4], 0), None);
        // The first one precedes an instruction that straddles two lines.
        assert_eq!(behind(&[2, 4, 4, 4, 4, 4], 6), Some((16, 1)));
        // The second one does, but it waits in the prefetch buffer.
        assert_eq!(behind(&[2, 4, 4, 4, 4, 4], 2), None);
    }

    #[test]
    fn behind_an_event_load_a_jump_does_not_ask_for_its_target() {
        let text = format!("p.elw a0, 0(zero)\n jal zero, there\n {}there:\n {NOP}", NOP.repeat(6));
        let code = testkit::text::assemble(0, &text);
        let mut lines = First(PresentLines::new(code.len().div_ceil(16)));
        lines.0.set(0, true);
        let program = Program::new(Isa::RV32IMAC_XPULPV2, 0, &code);
        let mut core = Core::new(Profile::Ri5cy, 0, 0);
        assert_eq!(core.run(&program, &lines, 100), Stop::Access);
        core.wait_for_access(&program, &lines);
        assert_eq!(core.fetch_behind_access(&program, &lines), None);
        // The jump then takes two cycles, as if nothing had waited in front of it.
        core.complete(40, 0);
        assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Fetch(32), 42));
    }

    #[test]
    fn a_core_asks_for_the_first_line_of_a_straddling_target_as_early_in_small_steps() {
        let mut code = 0x01e0_006fu32.to_le_bytes().to_vec(); // jal zero, 30
        code.extend([0x01, 0x00].repeat(13)); // c.nop
        code.extend(0x0000_0013u32.to_le_bytes()); // nop, in lines 1 and 2
        let mut lines = First(PresentLines::new(code.len().div_ceil(16)));
        lines.0.set(0, true);
        let program = Program::new(Isa::RV32IMAC, 0, &code);
        for step in [1, 100] {
            assert_eq!(run_in_steps(&program, &lines, step), (Stop::Fetch(16), 2));
        }
    }

    #[test]
    fn the_line_of_the_current_instruction_counts_as_there_behind_an_access() {
        struct NoLines;
        impl FetchLines for NoLines {
            fn present(&self, _addr: u32) -> bool {
                false
            }

            fn there(&self) -> &[u8] {
                &[]
            }
        }
        let (mut core, program, lines) = cold(&format!("sw zero, 0(zero)\n {NOP}{NOP}"));
        assert_eq!(core.run(&program, &lines, 100), Stop::Access);
        core.wait_for_access(&program, &NoLines);
        core.line_came();
        core.complete(20, 0);
        // The next instruction leaves decode in the cycle of the grant.
        assert_eq!((core.run(&program, &lines, 21), core.time()), (Stop::Prefetch(16, 3), 20));
    }
}
