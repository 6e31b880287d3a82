//! Architectural state of a core.

use isa::mips::{Cpu, Exception, Load, Store};

/// A request of an instruction beyond registers. Until it is carried out, the instruction has changed nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Request {
    Nothing,
    Load { rt: u8, addr: u32, kind: Load },
    Store { addr: u32, value: u32, kind: Store },
    Conditional { rt: u8, addr: u32, value: u32 },
    Sync,
    Exception(Exception),
}

/// Registers, program counters, and the request of the current instruction.
pub(super) struct State {
    pub r: [u32; 32],
    pub hi: u32,
    pub lo: u32,
    /// Addresses of the current instruction, the next one, and the one after that.
    pub pc: u32,
    pub next: u32,
    pub after: u32,
    /// The next instruction is annulled.
    pub annuls: bool,
    /// Address of the word read by the last load linked.
    pub linked: Option<u32>,
    /// Token of that link in the memory.
    pub token: u32,
    pub request: Request,
}

impl State {
    pub fn new(pc: u32) -> State {
        State {
            r: [0; 32],
            hi: 0,
            lo: 0,
            pc,
            next: pc.wrapping_add(4),
            after: pc.wrapping_add(8),
            annuls: false,
            linked: None,
            token: 0,
            request: Request::Nothing,
        }
    }

    /// Continues at `pc`.
    pub fn set_pc(&mut self, pc: u32) {
        (self.pc, self.next, self.after) = (pc, pc.wrapping_add(4), pc.wrapping_add(8));
        self.annuls = false;
    }

    /// Advances to the next instruction.
    #[inline(always)]
    pub fn advance(&mut self) {
        (self.pc, self.next) = (self.next, self.after);
        self.after = self.next.wrapping_add(4);
    }
}

impl Cpu for State {
    #[inline(always)]
    fn r(&self, r: u8) -> u32 {
        self.r[usize::from(r & 31)]
    }

    #[inline(always)]
    fn set(&mut self, r: u8, value: u32) {
        self.r[usize::from(r & 31)] = value;
        self.r[0] = 0;
    }

    #[inline(always)]
    fn hi(&self) -> u32 {
        self.hi
    }

    #[inline(always)]
    fn lo(&self) -> u32 {
        self.lo
    }

    #[inline(always)]
    fn set_hi(&mut self, value: u32) {
        self.hi = value;
    }

    #[inline(always)]
    fn set_lo(&mut self, value: u32) {
        self.lo = value;
    }

    #[inline(always)]
    fn pc(&self) -> u32 {
        self.pc
    }

    #[inline(always)]
    fn branch(&mut self, target: u32) {
        self.after = target;
    }

    #[inline(always)]
    fn annul(&mut self) {
        self.annuls = true;
    }

    #[inline(always)]
    fn load(&mut self, rt: u8, addr: u32, kind: Load) {
        self.request = Request::Load { rt, addr, kind };
    }

    #[inline(always)]
    fn store(&mut self, addr: u32, value: u32, kind: Store) {
        self.request = Request::Store { addr, value, kind };
    }

    fn store_conditional(&mut self, rt: u8, addr: u32, value: u32) {
        self.request = Request::Conditional { rt, addr, value };
    }

    fn sync(&mut self) {
        self.request = Request::Sync;
    }

    fn exception(&mut self, what: Exception) {
        self.request = Request::Exception(what);
    }
}
