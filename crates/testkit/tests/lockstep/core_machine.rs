//! The timed core with flat memory, in user mode, with the system calls of the random programs.
//!
//! Memory latency and missing cache lines are random, because time must not change the results of a program.

use blocks::cpu::{AccessKind, Core, FetchLines, PresentLines, Privilege, Profile, Program, Stop, TrapInfo};
use isa::riscv::{Amo, Isa, Operands, cause, csr};
use kernel::RandomStream;
use testkit::assembler::{Assembler, i, u};
use testkit::linked::{Linked, Outcome, SYS_EXIT, SYS_WRITE};

const T0: u8 = 5;
/// Address of the boot code. The trap handler is at 0, the value of `mtvec` after reset.
const BOOT: u32 = 0x80;
const MPP: i32 = 0x1800;

/// Runs `programs` and returns their final states, or the position and cause of a failure.
pub fn run_core(programs: &Linked, n_steps: u64) -> Result<Vec<Outcome>, String> {
    let mut machine = Machine::new(programs);
    while machine.core.instructions() < n_steps {
        let time = machine.core.time();
        machine.lines.draw(machine.core.pc());
        match machine.core.run(&machine.program, &machine.lines, time + 1000) {
            Stop::Yield | Stop::Pause | Stop::FenceI | Stop::Prefetch(..) => {}
            Stop::Fetch(_) | Stop::Abandon(_) => machine.core.fetched(time + 1),
            Stop::Access => machine.access()?,
            Stop::Trap if is_call(machine.core.last_trap()) => {
                if machine.call()? {
                    return Ok(Linked::outcomes(&machine.output));
                }
            }
            stop => return Err(format!("{stop:x?} at {:#x}", machine.core.pc())),
        }
    }
    Err(format!("still running after {n_steps} instructions, at {:#x}", machine.core.pc()))
}

struct Machine {
    core: Core,
    program: Program,
    lines: Unreliable,
    memory: Vec<u8>,
    reserved: Option<u32>,
    output: Vec<u8>,
}

/// A cache that lacks one line in eight. The missing lines are drawn again each time the program executes near them.
struct Unreliable {
    there: PresentLines,
    n_lines: usize,
    draws: RandomStream,
}

impl Unreliable {
    fn new(n_lines: usize) -> Self {
        let mut lines = Unreliable { there: PresentLines::new(n_lines), n_lines, draws: RandomStream::new(0, "lines") };
        (0..n_lines).step_by(8).for_each(|first| lines.draw_eighth(first));
        lines
    }

    /// Draws the missing lines around `pc` again. Most runs of instructions stay in this range.
    fn draw(&mut self, pc: u32) {
        let here = pc as usize / 16 / 8;
        for eighth in here.saturating_sub(1)..here + 3 {
            self.draw_eighth(8 * eighth);
        }
    }

    fn draw_eighth(&mut self, first: usize) {
        let missing = first + self.draws.below(8) as usize;
        (first..self.n_lines.min(first + 8)).for_each(|line| self.there.set(line, line != missing));
    }
}

impl FetchLines for Unreliable {
    fn present(&self, addr: u32) -> bool {
        self.there.get(addr as usize / 16).unwrap_or(true)
    }

    fn there(&self) -> &[u8] {
        self.there.counts()
    }
}

impl Machine {
    fn new(programs: &Linked) -> Self {
        let mut memory = vec![0; programs.base as usize];
        let (handler, boot) = (trap_handler(), boot_code(programs.base));
        memory[..handler.len()].copy_from_slice(&handler);
        memory[BOOT as usize..][..boot.len()].copy_from_slice(&boot);
        memory.extend(&programs.image);
        Machine {
            core: Core::new(Profile::Standard, 0, BOOT),
            program: Program::new(Isa::RV32IMAC, 0, &memory),
            lines: Unreliable::new(memory.len() / 16 + 1),
            memory,
            reserved: None,
            output: Vec::new(),
        }
    }

    /// Grants the pending access of the core, one to four cycles after it left decode.
    fn access(&mut self) -> Result<(), String> {
        let access = *self.core.access();
        let n = access.kind.bytes() as usize;
        let start = access.addr as usize;
        let Some(bytes) = self.memory.get_mut(start..start + n) else {
            return Err(format!("{access:x?} at {:#x} is outside of memory", self.core.pc()));
        };
        let old = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
        let mut answer = old;
        let new = match access.kind {
            AccessKind::Load(_) => old,
            AccessKind::Store(_) => access.value,
            AccessKind::Amo(Amo::LoadReserved) => {
                self.reserved = Some(access.addr);
                old
            }
            AccessKind::Amo(Amo::StoreConditional) => {
                let holds = self.reserved.take() == Some(access.addr);
                answer = u32::from(!holds);
                if holds { access.value } else { old }
            }
            AccessKind::Amo(amo) => amo.apply(old, access.value),
        };
        bytes.copy_from_slice(&new.to_le_bytes()[..n]);
        let delay = 1 + self.lines.draws.below(4);
        self.core.complete(self.core.time() + delay, answer);
        Ok(())
    }

    /// Handles a system call. Returns true if it was the last.
    fn call(&mut self) -> Result<bool, String> {
        match self.core.x(17) {
            SYS_WRITE => {
                let (start, n) = (self.core.x(11) as usize, self.core.x(12) as usize);
                self.output.extend(self.memory.get(start..start + n).ok_or("write from outside of memory")?);
                Ok(false)
            }
            SYS_EXIT => Ok(true),
            number => Err(format!("system call {number}")),
        }
    }
}

/// Returns to the instruction after the `ecall` and changes no register.
fn trap_handler() -> Vec<u8> {
    let mut code = Assembler::default();
    code.emit("csrrw", i(T0, T0, csr::MSCRATCH.into()));
    code.emit("csrrs", i(T0, 0, csr::MEPC.into()));
    code.emit("c.addi", i(T0, T0, 4));
    code.emit("csrrw", i(0, T0, csr::MEPC.into()));
    code.emit("csrrw", i(T0, T0, csr::MSCRATCH.into()));
    code.emit("mret", Operands::default());
    code.code
}

/// Jumps to `entry` in user mode.
fn boot_code(entry: u32) -> Vec<u8> {
    let mut code = Assembler::default();
    code.emit("lui", u(T0, entry as i32)); // Images begin on a page.
    code.emit("csrrw", i(0, T0, csr::MEPC.into()));
    code.emit("lui", u(T0, 0x2000));
    code.emit("addi", i(T0, T0, MPP - 0x2000));
    code.emit("csrrc", i(0, T0, csr::MSTATUS.into()));
    code.emit("mret", Operands::default());
    code.code
}

fn is_call(trap: TrapInfo) -> bool {
    trap.cause == cause::ECALL_USER && trap.from == Privilege::User
}
