//! A minimal hart: registers and flat memory, without time and traps.

use crate::linked::{Linked, Outcome, SYS_EXIT, SYS_WRITE};
use isa::riscv::{Amo, CsrWrite, Hart, Load, LoopPart, System, Width, decode, execute};

/// The reason why a run ended early.
#[derive(Debug, thiserror::Error)]
#[error("at {pc:#x}: {what}")]
pub struct Stop {
    /// Address of the instruction.
    pub pc: u32,
    /// The problem.
    pub what: String,
}

/// A hart with memory that starts at `base`.
pub struct PlainHart {
    regs: [u32; 32],
    pc: u32,
    next: u32,
    base: u32,
    memory: Vec<u8>,
    reserved: Option<u32>,
    output: Vec<u8>,
    end: Option<Result<(), String>>,
}

/// Runs `programs` and returns their final states.
///
/// # Errors
///
/// On an action that Linux user mode does not allow, and after more than `n_steps` instructions.
pub fn run_plain(programs: &Linked, n_steps: u64) -> Result<Vec<Outcome>, Stop> {
    let mut hart = PlainHart {
        regs: [0; 32],
        pc: programs.base,
        next: programs.base,
        base: programs.base,
        memory: programs.image.clone(),
        reserved: None,
        output: Vec::new(),
        end: None,
    };
    for _ in 0..n_steps {
        hart.step();
        match hart.end.take() {
            Some(Ok(())) => return Ok(Linked::outcomes(&hart.output)),
            Some(Err(what)) => return Err(Stop { pc: hart.pc, what }),
            None => hart.pc = hart.next,
        }
    }
    Err(Stop { pc: hart.pc, what: format!("still running after {n_steps} instructions") })
}

impl PlainHart {
    fn step(&mut self) {
        // An instruction may be in the last two bytes of memory.
        let low = self.read(self.pc, 2);
        let word = if low & 3 == 3 { low | self.read(self.pc.wrapping_add(2), 2) << 16 } else { low };
        let inst = decode(word);
        self.next = self.pc.wrapping_add(u32::from(inst.bytes()));
        execute(self, &inst);
    }

    fn stop(&mut self, what: String) {
        self.end = Some(Err(what));
    }

    /// The bytes at `addr`. Outside of memory, stops the run and returns `None`.
    fn bytes(&mut self, addr: u32, n: u32) -> Option<&mut [u8]> {
        let start = addr.wrapping_sub(self.base) as usize;
        if start + n as usize > self.memory.len() {
            self.stop(format!("access to {n} bytes at {addr:#x}, outside of memory"));
            return None;
        }
        Some(&mut self.memory[start..start + n as usize])
    }

    fn read(&mut self, addr: u32, n: u32) -> u32 {
        let bytes =
            self.bytes(addr, n).map(|bytes| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)));
        bytes.unwrap_or(0)
    }

    fn write(&mut self, addr: u32, value: u32, n: u32) {
        if let Some(bytes) = self.bytes(addr, n) {
            bytes.copy_from_slice(&value.to_le_bytes()[..n as usize]);
        }
    }

    /// Handles the two system calls of the programs.
    fn call(&mut self) {
        match self.regs[17] {
            SYS_WRITE => {
                let (addr, n) = (self.regs[11], self.regs[12]);
                let bytes = self.bytes(addr, n).map(|bytes| bytes.to_vec());
                self.output.extend(bytes.unwrap_or_default());
                self.regs[10] = n;
            }
            SYS_EXIT => self.end = Some(Ok(())),
            number => self.stop(format!("system call {number}")),
        }
    }
}

impl Hart for PlainHart {
    fn x(&self, r: u8) -> u32 {
        self.regs[(r & 31) as usize]
    }

    fn set(&mut self, r: u8, value: u32) {
        self.regs[(r & 31) as usize] = value;
        self.regs[0] = 0;
    }

    fn pc(&self) -> u32 {
        self.pc
    }

    fn jump(&mut self, target: u32) {
        self.next = target;
    }

    fn load(&mut self, rd: u8, addr: u32, kind: Load) {
        let raw = self.read(addr, kind.bytes());
        self.set(rd, kind.extend(raw));
    }

    fn store(&mut self, addr: u32, value: u32, width: Width) {
        self.write(addr, value, width.bytes());
    }

    fn amo(&mut self, rd: u8, addr: u32, value: u32, amo: Amo) {
        if !addr.is_multiple_of(4) {
            return self.stop(format!("{amo:?} at {addr:#x}, which is not word-aligned"));
        }
        let old = self.read(addr, 4);
        match amo {
            Amo::LoadReserved => self.reserved = Some(addr),
            Amo::StoreConditional => {
                let holds = self.reserved.take() == Some(addr);
                if holds {
                    self.write(addr, value, 4);
                }
                return self.set(rd, u32::from(!holds));
            }
            _ => self.write(addr, amo.apply(old, value), 4),
        }
        self.set(rd, old);
    }

    fn advance(&mut self, r: u8, value: u32) {
        self.set(r, value);
    }

    fn hardware_loop(&mut self, id: u8, _part: LoopPart, _value: u32) {
        self.stop(format!("hardware loop {id}"));
    }

    fn csr(&mut self, _rd: u8, csr: u16, _write: CsrWrite, _reads: bool) {
        self.stop(format!("access to control register {csr:#x}"));
    }

    fn system(&mut self, what: System) {
        match what {
            System::Ecall => self.call(),
            System::Fence | System::FenceI => {} // Accesses happen in order and nothing is cached.
            _ => self.stop(format!("{what:?}")),
        }
    }

    fn illegal(&mut self, word: u32) {
        self.stop(format!("illegal instruction {word:#x}"));
    }
}
