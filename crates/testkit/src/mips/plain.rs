//! A minimal MIPS machine: registers and flat memory, without time and traps.

use super::program::{Batch, SYS_EXIT, SYS_WRITE};
use crate::linked::Outcome;
use crate::plain_hart::Stop;
use isa::mips::{Cpu, Exception, Load, Store, decode, execute};

/// Registers, and memory that starts at `base`.
pub struct PlainMips {
    /// The general registers.
    pub regs: [u32; 32],
    /// HI and LO.
    pub hi_lo: (u32, u32),
    /// Address of the current instruction, of the next one, and of the one after that.
    pub pcs: [u32; 3],
    /// Address of the first byte of memory.
    pub base: u32,
    /// Memory.
    pub memory: Vec<u8>,
    /// True if the next instruction is annulled.
    pub annuls: bool,
    linked: Option<u32>,
    output: Vec<u8>,
    end: Option<Result<(), String>>,
}

/// Runs `programs` and returns their final states.
///
/// # Errors
///
/// On an action that Linux user mode does not allow, and after more than `n_steps` instructions.
pub fn run_plain(programs: &Batch, n_steps: u64) -> Result<Vec<Outcome>, Stop> {
    let mut cpu = PlainMips::new(programs.base, programs.image.clone());
    for _ in 0..n_steps {
        match cpu.step() {
            Some(Ok(())) => return Ok(Batch::outcomes(&cpu.output)),
            Some(Err(what)) => return Err(Stop { pc: cpu.pcs[0], what }),
            None => (),
        }
    }
    Err(Stop { pc: cpu.pcs[0], what: format!("still running after {n_steps} instructions") })
}

impl PlainMips {
    /// A machine with `memory` at address `base`, which starts at its first byte.
    pub fn new(base: u32, memory: Vec<u8>) -> PlainMips {
        let pcs = [0, 4, 8].map(|distance| base.wrapping_add(distance));
        PlainMips {
            regs: [0; 32],
            hi_lo: (0, 0),
            pcs,
            base,
            memory,
            annuls: false,
            linked: None,
            output: Vec::new(),
            end: None,
        }
    }

    /// Executes an instruction. Returns the end of the program if it ended.
    pub fn step(&mut self) -> Option<Result<(), String>> {
        let word = self.read(self.pcs[0]);
        if !std::mem::take(&mut self.annuls) {
            execute(self, &decode(word));
        }
        if self.end.is_none() {
            let [_, next, behind] = self.pcs;
            self.pcs = [next, behind, behind.wrapping_add(4)];
        }
        self.end.take()
    }

    fn stop(&mut self, what: String) {
        self.end.get_or_insert(Err(what));
    }

    /// The `n` bytes at `addr`. Outside of memory, stops the run and returns `None`.
    fn bytes(&mut self, addr: u32, n: usize) -> Option<&mut [u8]> {
        let start = addr.wrapping_sub(self.base) as usize;
        if start.checked_add(n).is_none_or(|end| end > self.memory.len()) {
            self.stop(format!("access to {n} bytes at {addr:#x}, outside of memory"));
            return None;
        }
        Some(&mut self.memory[start..start + n])
    }

    /// The aligned word around `addr`.
    fn read(&mut self, addr: u32) -> u32 {
        self.bytes(addr & !3, 4).map_or(0, |bytes| bytes.iter().fold(0, |word, &byte| word << 8 | u32::from(byte)))
    }

    /// Handles the two system calls of the programs.
    fn call(&mut self) {
        match self.regs[2] {
            SYS_WRITE => {
                let bytes = self.bytes(self.regs[5], self.regs[6] as usize).map(|bytes| bytes.to_vec());
                self.output.extend(bytes.unwrap_or_default());
            }
            SYS_EXIT => self.end = Some(Ok(())),
            number => self.stop(format!("system call {number}")),
        }
    }
}

impl Cpu for PlainMips {
    fn r(&self, r: u8) -> u32 {
        self.regs[usize::from(r & 31)]
    }

    fn set(&mut self, r: u8, value: u32) {
        self.regs[usize::from(r & 31)] = value;
        self.regs[0] = 0;
    }

    fn hi(&self) -> u32 {
        self.hi_lo.0
    }

    fn lo(&self) -> u32 {
        self.hi_lo.1
    }

    fn set_hi(&mut self, value: u32) {
        self.hi_lo.0 = value;
    }

    fn set_lo(&mut self, value: u32) {
        self.hi_lo.1 = value;
    }

    fn pc(&self) -> u32 {
        self.pcs[0]
    }

    fn branch(&mut self, target: u32) {
        if !target.is_multiple_of(4) {
            self.stop(format!("jump to {target:#x}"));
        }
        self.pcs[2] = target;
    }

    fn annul(&mut self) {
        self.annuls = true;
    }

    fn load(&mut self, rt: u8, addr: u32, kind: Load) {
        if !kind.is_aligned(addr) {
            return self.stop(format!("{kind:?} at {addr:#x}"));
        }
        if kind == Load::Linked {
            self.linked = Some(addr);
        }
        let word = self.read(addr);
        self.set(rt, kind.value(addr, word, self.r(rt)));
    }

    fn store(&mut self, addr: u32, value: u32, kind: Store) {
        if !kind.is_aligned(addr) {
            return self.stop(format!("{kind:?} at {addr:#x}"));
        }
        let (bits, mask) = kind.bits(addr, value);
        let word = self.read(addr) & !mask | bits;
        if let Some(bytes) = self.bytes(addr & !3, 4) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
    }

    fn store_conditional(&mut self, rt: u8, addr: u32, value: u32) {
        let holds = self.linked.take() == Some(addr);
        if holds {
            self.store(addr, value, Store::Word);
        }
        self.set(rt, u32::from(holds));
    }

    fn sync(&mut self) {} // Accesses happen at once.

    fn exception(&mut self, what: Exception) {
        match what {
            Exception::Syscall(_) => self.call(),
            _ => self.stop(format!("{what:x?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::assemble;
    use super::*;
    use expect_test::{Expect, expect};

    /// Runs a program at 0x4000 until it stops. Compares the address and cause of the stop, and a0 to a3.
    fn check(text: &str, want: Expect) {
        let mut cpu = PlainMips::new(0x4000, assemble(0x4000, text).into_iter().flat_map(u32::to_be_bytes).collect());
        let end = (0..1000).find_map(|_| cpu.step()).expect("it stops").expect_err("it stops with an exception");
        let [a0, a1, a2, a3] = [4, 5, 6, 7].map(|r| cpu.regs[r]);
        want.assert_eq(&format!("{:x}: {end}; {a0:x} {a1:x} {a2:x} {a3:x}", cpu.pcs[0]));
    }

    #[test]
    fn pri_counts_from_one() {
        let pri = "pri a0, a1, a2 \n break 0";
        check(
            &format!("lui a1, 0x8000 \n addiu a2, zero, -1 \n {pri}"),
            expect!["400c: Breakpoint(0); 20 80000000 ffffffff 0"],
        );
        check(
            &format!("addiu a1, zero, 1 \n addiu a2, zero, -1 \n {pri}"),
            expect!["400c: Breakpoint(0); 1 1 ffffffff 0"],
        );
        check(
            &format!("addiu a1, zero, 0x58 \n addiu a2, zero, 0x38 \n {pri}"),
            expect!["400c: Breakpoint(0); 5 58 38 0"],
        );
        check(
            &format!("addiu a1, zero, 0x50 \n addiu a2, zero, 0x28 \n {pri}"),
            expect!["400c: Breakpoint(0); 0 50 28 0"],
        );
    }

    /// The dispatch loop of the Tigon-2: a handler returns to the loop through its own address.
    #[test]
    fn joff_jumps_to_a_table_entry_of_two_instructions() {
        let text = |event: u32| {
            format!(
                "lui s2, 0 \n ori s2, s2, 0x4028 \n ori s3, zero, 0x4010 \n addiu s4, zero, -1
                 ori v1, zero, 0x{event:x}  # 4010
                 pri v0, v1, s4
                 joff s2, v0
                 addu ra, s3, zero          # its delay slot
                 break 9 \n break 9
                 break 0 \n nop             # 4028: no event
                 break 1 \n nop
                 j handler \n addiu a0, zero, 2
                 handler: \n addu a1, ra, zero \n break 3"
            )
        };
        check(&text(0), expect!["4028: Breakpoint(0); 0 0 0 0"]);
        check(&text(1), expect!["4030: Breakpoint(1); 0 0 0 0"]);
        check(&text(3), expect!["4044: Breakpoint(3); 2 4010 0 0"]);
    }

    #[test]
    fn a_likely_branch_that_is_not_taken_annuls_its_delay_slot() {
        check(
            "beql zero, zero, on \n addiu a0, zero, 1 \n on: \n bnel zero, zero, on \n addiu a1, zero, 1 \n break 1",
            expect!["4010: Breakpoint(1); 1 0 0 0"],
        );
        check("bne zero, zero, on \n addiu a0, zero, 1 \n on: \n break 1", expect!["4008: Breakpoint(1); 1 0 0 0"]);
    }

    #[test]
    fn an_instruction_with_an_exception_changes_no_register() {
        let most = "lui a1, 0x7fff \n ori a1, a1, 0xffff \n";
        check(&format!("{most} addi a0, a1, 1"), expect!["4008: Overflow; 0 7fffffff 0 0"]);
        check(&format!("{most} addiu a0, a1, 1 \n sub a2, a0, a1"), expect!["400c: Overflow; 80000000 7fffffff 0 0"]);
        check("teq zero, zero, 7", expect!["4000: Trap(7); 0 0 0 0"]);
        check("tnei zero, 0 \n tgeiu zero, -1 \n tlti zero, 1", expect!["4008: Trap(0); 0 0 0 0"]);
        check("addiu a0, zero, 0x4002 \n lw a0, 0(a0)", expect!["4004: Word at 0x4002; 4002 0 0 0"]);
        check("addiu a0, zero, 0x4001 \n sh a0, 0(a0)", expect!["4004: Half at 0x4001; 4001 0 0 0"]);
        check("addiu a0, zero, 0x4002 \n jr a0", expect!["4004: jump to 0x4002; 4002 0 0 0"]);
        check(".word 0x40016000", expect!["4000: Reserved(40016000); 0 0 0 0"]);
    }
}
