//! A four-stage in-order core with the timing of RI5CY.

use super::csr::{Csrs, Privilege, Profile};
use super::lines::Lines;
use super::log::Log;
use super::loops::{Attention, FetchAfterLoop, LOOPS, PLAIN, WATCH};
use super::program::{Place, Program, SINK};
use super::timing;
use super::watch::{EVENT_CYCLE, EVENT_FETCH_MISS, EVENT_LOAD_USE};
use super::window::{Stretch, Window};
use isa::riscv::{Amo, Hart, Load, Width, cause};
use kernel::Cycle;

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
    bytes: u8,
    pub(super) rd: u8,
    /// Address register that the access writes besides, by post-increment; [`SINK`] if none.
    pub(super) stepped: u8,
    /// The instruction behind it reads `rd`.
    pub(super) feeds_next: bool,
}

impl Access {
    #[inline(always)]
    pub(super) fn new(addr: u32, value: u32, kind: AccessKind, rd: u8) -> Self {
        Access { addr, value, kind, bytes: kind.bytes() as u8, rd, stepped: SINK, feeds_next: false }
    }

    /// Bytes that are accessed.
    #[inline(always)]
    pub fn bytes(&self) -> u32 {
        self.bytes.into()
    }
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

/// Where the last word of a fetch line begins.
const LAST_WORD: u32 = timing::LINE_BYTES - 4;

/// No line is current.
pub(super) const NO_LINE: u32 = u32::MAX;

/// A core: registers, program counter and the cycle of its next instruction.
///
/// Timing:  in cycles from one instruction leaving decode to the next; see `timing.rs`. An access is in EX one cycle
///          after it left decode and blocks everything behind it until it is granted.
/// Source:  PsPIN RTL a49fec8, `hw/deps/riscv` as configured there.
pub struct Core {
    /// As long as a byte can count, so that no register number is out of bounds; 32 takes what is meant for register 0.
    pub(super) regs: [u32; 256],
    pub(super) pc: u32,
    /// Where the instruction that executes continues.
    pub(super) next: u32,
    pub(super) jumped: bool,
    /// Register that the last instruction wrote.
    pub(super) last_rd: u8,
    /// Register that the last load wrote, and the cycle in which it was granted.
    pub(super) load_rd: u8,
    pub(super) load_granted: Cycle,
    /// Cycles that the next instruction has waited in decode, behind an access.
    pub(super) held: Cycle,
    pub(super) time: Cycle,
    /// Current fetch line, as `pc / 16`.
    pub(super) line: u32,
    /// The line that was asked for ahead, in the same way, until it is the current one.
    pub(super) ahead: u32,
    pub(super) access: Access,
    pub(super) pending: Pending,
    pub(super) instructions: u64,
    /// Events that `mhpmcounter3` counts, by bit, and [`Core::LOGGED`]; 0 if nobody looks.
    pub(super) watched: u32,
    /// How many events `mhpmcounter3` has counted.
    pub(super) events: u64,
    pub(super) log: Option<Log>,
    pub(super) last_trap: TrapInfo,
    /// Code that it may run in user mode.
    pub(super) user_code: [Window; 2],
    /// The part of the program that it runs now and may run.
    pub(super) stretch: Stretch,
    pub(super) csrs: Csrs,
    pub(super) attention: Attention,
    pub(super) fetch: FetchAfterLoop,
}

/// What an instruction asked for besides its effect on registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pending {
    Nothing,
    Trap { cause: u32, value: u32 },
    Done { cycles: u64, stop: Stop },
}

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
            held: 0,
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
            user_code: [Window::ALL; 2],
            stretch: Stretch::default(),
            csrs: Csrs::new(profile, hart_id, boot),
            attention: Attention::None,
            fetch: FetchAfterLoop::default(),
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
        self.held = self.held.min(self.time - cycle);
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
    pub fn run<L: Lines>(&mut self, program: &Program, lines: &L, horizon: Cycle) -> Stop {
        match self.run_ahead(program, lines.there(), horizon) {
            true => Stop::Access,
            false => self.run_carefully(program, lines, horizon),
        }
    }

    /// The same, for a core that has just run ahead as far as it could.
    pub fn run_carefully<L: Lines>(&mut self, program: &Program, lines: &L, horizon: Cycle) -> Stop {
        match self.attention {
            Attention::None => self.run_loop::<L, PLAIN>(program, lines, horizon),
            Attention::Loops => self.run_loop::<L, LOOPS>(program, lines, horizon),
            Attention::All => self.run_loop::<L, WATCH>(program, lines, horizon),
        }
    }

    /// Lets user mode run code of these windows alone from now on; elsewhere fetch is an exception.
    pub fn set_user_code(&mut self, windows: [Window; 2]) {
        self.user_code = windows;
        self.stretch = Stretch::default();
    }

    /// Forgets hardware loops, so that what runs next is not led astray by what ran before.
    pub fn forget_loops(&mut self) {
        if self.attention != Attention::None {
            self.csrs.loops = Default::default();
            self.choose_attention();
        }
    }

    /// The access of this cycle may have to wait. Fetch is up to two instructions ahead of it. Returns the next line, unless it is
    /// there or asked for, and the cycles from now until the cache looks for it. From here on it counts as asked for.
    ///
    /// The first instruction behind the access enters decode in any case, so it asks for the next line wherever that happens.
    /// The second one waits in the prefetch buffer, which then asks only if the instruction is in the last word of its line.
    ///
    /// Source: PsPIN RTL a49fec8, `riscv_prefetch_L0_buffer.sv`, lines 163, 320 and 322 to 327.
    pub fn fetch_behind_access<L: Lines>(&mut self, program: &Program, lines: &L) -> Option<(u32, Cycle)> {
        let mut pc = self.next;
        for cycles in 1..=2 {
            let slot = program.slot(pc)?;
            if slot.place() == Place::End {
                let line = (pc >> 4) + 1;
                let waits_before_last_word = cycles == 2 && pc % timing::LINE_BYTES < LAST_WORD;
                if waits_before_last_word || self.line != pc >> 4 || self.ahead == line || lines.present(line << 4) {
                    return None;
                }
                self.ahead = line;
                return Some((line << 4, cycles));
            }
            pc = pc.wrapping_add(slot.inst.bytes().into());
        }
        None
    }

    /// The access was granted in cycle `granted` and answered with `raw`, the word's bytes from the accessed one on.
    #[inline]
    pub fn complete(&mut self, granted: Cycle, raw: u32) {
        match self.access.kind {
            AccessKind::Store(_) => self.stored(granted),
            AccessKind::Load(load) => self.loaded(granted, load.extend(raw)),
            AccessKind::Amo(_) => self.loaded(granted, raw),
        }
    }

    /// The store was granted in cycle `granted`.
    #[inline(always)]
    pub fn stored(&mut self, granted: Cycle) {
        let waited = self.pass_access(granted);
        if self.watched != 0 {
            self.watch_access(waited);
        }
    }

    /// The load or AMO was granted in cycle `granted`, and its register receives `value`.
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
            self.count(EVENT_LOAD_USE, 1);
        }
    }

    /// The access was granted in cycle `granted`: the next instruction is current. Cycles that it waited.
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

    /// The access was refused in cycle `at`: a trap.
    pub fn fault(&mut self, at: Cycle) -> Stop {
        self.refuse(at, if self.only_loads() { cause::LOAD_FAULT } else { cause::STORE_FAULT })
    }

    /// The access was refused in cycle `at` for its address, which is no multiple of its size: a trap.
    pub fn misalign(&mut self, at: Cycle) -> Stop {
        self.refuse(at, if self.only_loads() { cause::LOAD_MISALIGNED } else { cause::STORE_MISALIGNED })
    }

    fn only_loads(&self) -> bool {
        matches!(self.access.kind, AccessKind::Load(_) | AccessKind::Amo(Amo::LoadReserved))
    }

    /// The access was refused in cycle `at` for this cause: a trap.
    pub fn refuse(&mut self, at: Cycle, cause: u32) -> Stop {
        self.time = at;
        self.stay_in_loop();
        self.trap(cause, self.access.addr)
    }

    /// Something from outside ends what the core does, in cycle `at` at the earliest: a trap at the instruction that is
    /// next, or that waits.
    pub fn interrupt(&mut self, at: Cycle, cause: u32) -> Stop {
        self.time = self.time.max(at);
        self.trap(cause, 0)
    }

    /// Leaves the trap that was just taken and continues at `pc`, as if a trap handler had run in no time.
    pub fn resume(&mut self, pc: u32) {
        self.csrs.leave_trap().expect("a trap was taken to machine mode");
        self.stretch = Stretch::default();
        self.pc = pc;
        self.line = NO_LINE;
    }

    /// Enters the trap handler of machine mode.
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

    /// Only the first line is there.
    struct First(PresentLines);

    impl Lines for First {
        fn present(&self, addr: u32) -> bool {
            addr >> 4 == 0
        }

        fn there(&self) -> &[u8] {
            self.0.counts()
        }
    }

    /// What is fetched behind a store that waits, if the store is the instruction at `at` and `widths` are the bytes of all.
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

    #[test]
    fn behind_a_store_that_waits_the_next_line_is_asked_for_from_the_last_word_or_by_what_enters_decode() {
        // All of 4 bytes: the second instruction behind the store is in the last word.
        assert_eq!(behind(&[4, 4, 4, 4, 4], 4), Some((16, 2)));
        assert_eq!(behind(&[4, 4, 4, 4, 4], 0), None);
        // The first one stands before an instruction that straddles two lines.
        assert_eq!(behind(&[2, 4, 4, 4, 4, 4], 6), Some((16, 1)));
        // The second one does, but it waits in the prefetch buffer.
        assert_eq!(behind(&[2, 4, 4, 4, 4, 4], 2), None);
    }
}
