//! Tracks the bits of a core's registers that come from memory that nobody has written.
//!
//! Bits are exact for moves, shifts by a defined number of bits, and, or, exclusive or, and sign and zero extension. A sum is undefined from its lowest
//! undefined bit on. All bits of any other result are undefined if a bit of an operand is undefined.

use isa::riscv::{Class, Inst, Op};

/// Where an undefined value was loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    /// Address of the load.
    pub pc: u32,
    /// First undefined byte.
    pub addr: u32,
}

/// The undefined bits of registers.
#[derive(Clone, Default)]
pub struct Values {
    undefined: [u32; 32],
    origins: [Origin; 32],
}

impl Values {
    /// The undefined bits of a register.
    pub fn of(&self, register: u8) -> u32 {
        self.undefined[register as usize & 31]
    }

    /// Origin of the undefined bits of a register.
    pub fn origin(&self, register: u8) -> Origin {
        self.origins[register as usize & 31]
    }

    /// Sets the undefined bits of a register.
    pub fn set(&mut self, register: u8, bits: u32, origin: Origin) {
        if register & 31 != 0 {
            self.undefined[register as usize & 31] = bits;
            self.origins[register as usize & 31] = origin;
        }
    }

    /// Treats a register as defined from now on, because its finding has been reported.
    pub fn forgive(&mut self, register: u8) {
        self.set(register, 0, Origin::default());
    }

    /// The first register in a mask that has undefined bits.
    pub fn first_of(&self, mask: u32) -> Option<u8> {
        (1..32u8).find(|&r| mask >> r & 1 == 1 && self.of(r) != 0)
    }

    /// The register whose undefined bits decide a branch, if there is one.
    pub fn decides(&self, inst: &Inst, registers: &[u32]) -> Option<u8> {
        let register = self.first_of(inst.reads())?;
        let (a, b) = (inst.rs1, inst.rs2);
        if matches!(inst.op, Op::Beq | Op::Bne) {
            // If defined bits differ, the undefined bits do not matter.
            let defined = !(self.of(a) | self.of(b));
            let differs = (registers[a as usize & 31] ^ registers[b as usize & 31]) & defined;
            return (differs == 0).then_some(register);
        }
        Some(register)
    }

    /// The effect of an instruction that accesses no memory.
    pub fn execute(&mut self, inst: &Inst, registers: &[u32]) {
        let Some(source) = self.first_of(inst.reads()) else {
            return self.forgive(inst.rd);
        };
        let bits = self.result(inst, registers);
        self.set(inst.rd, bits, self.origin(source));
    }

    fn result(&self, inst: &Inst, registers: &[u32]) -> u32 {
        let (a, b) = (registers[inst.rs1 as usize & 31], registers[inst.rs2 as usize & 31]);
        let (ua, ub) = (self.of(inst.rs1), self.of(inst.rs2));
        let imm = inst.imm as u32;
        let all = |bits: u32| if bits == 0 { 0 } else { u32::MAX };
        // Undefined from the lowest undefined bit on.
        let carried = |bits: u32| bits | bits.wrapping_neg();
        match inst.op {
            Op::Addi if imm == 0 => ua,
            Op::Addi => carried(ua),
            Op::Add if inst.rs2 == 0 => ua,
            Op::Add if inst.rs1 == 0 => ub,
            Op::Add | Op::Sub => carried(ua | ub),
            Op::Andi => ua & imm,
            Op::And => (ua | ub) & (a | ua) & (b | ub),
            Op::Ori => ua & !imm,
            Op::Or => (ua | ub) & (!a | ua) & (!b | ub),
            Op::Xori => ua,
            Op::Xor => ua | ub,
            Op::Slli => ua << (imm & 31),
            Op::Srli => ua >> (imm & 31),
            Op::Srai => ((ua as i32) >> (imm & 31)) as u32,
            Op::Sll if ub & 31 == 0 => ua << (b & 31),
            Op::Srl if ub & 31 == 0 => ua >> (b & 31),
            Op::Sra if ub & 31 == 0 => ((ua as i32) >> (b & 31)) as u32,
            Op::Slti | Op::Sltiu | Op::Slt | Op::Sltu => 1,
            Op::PExths => ua as i16 as u32,
            Op::PExthz => ua & 0xffff,
            Op::PExtbs => ua as i8 as u32,
            Op::PExtbz => ua & 0xff,
            // The numbers of hardware counters and of the core are defined.
            _ if inst.class() == Class::Csr => 0,
            _ => all(ua | ub | self.of(inst.rs3)),
        }
    }
}

/// The undefined bits of a register after a load of `bytes` bytes with these undefined bits.
pub fn extended(op: Op, bits: u32, bytes: u32) -> u32 {
    match (op, bytes) {
        (Op::Lb | Op::PLbPost | Op::PLbReg | Op::PLbRegPost, _) => bits as i8 as u32,
        (Op::Lh | Op::PLhPost | Op::PLhReg | Op::PLhRegPost, _) => bits as i16 as u32,
        _ => bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::riscv::decode;

    const FROM: Origin = Origin { pc: 0x10, addr: 0x20 };

    /// Undefined bits of a0 after an instruction with these undefined bits in a1 and a2, which hold `values`.
    fn after(word: u32, undefined: [u32; 2], values: [u32; 2]) -> u32 {
        let (mut core, mut registers) = (Values::default(), [0; 32]);
        for i in 0..2 {
            core.set(11 + i as u8, undefined[i], FROM);
            registers[11 + i] = values[i];
        }
        core.execute(&decode(word), &registers);
        core.of(10)
    }

    #[test]
    fn masks_and_shifts_keep_defined_bits() {
        assert_eq!(after(0x0ff5_f513, [0xff00, 0], [0, 0]), 0, "andi a0, a1, 255");
        assert_eq!(after(0x00c5_f533, [0xffff, 0], [0, 0xf0]), 0xf0, "and a0, a1, a2 with a defined mask");
        assert_eq!(after(0x00c5_e533, [0xffff, 0], [0, 0xf0]), 0xff0f, "or a0, a1, a2: ones are defined");
        assert_eq!(after(0x0085_d513, [0xff00, 0], [0, 0]), 0xff, "srli a0, a1, 8");
        assert_eq!(after(0x00c5_8533, [0x100, 0], [0, 0]), 0xffff_ff00, "add a0, a1, a2: a carry");
        assert_eq!(after(0x02c5_8533, [1, 0], [0, 0]), u32::MAX, "mul a0, a1, a2");
    }

    #[test]
    fn defined_bits_that_differ_decide_a_comparison() {
        let (mut core, mut registers) = (Values::default(), [0; 32]);
        core.set(11, 0xff, FROM);
        let beq = decode(0x00c5_8463); // beq a1, a2, 8
        assert_eq!(core.decides(&beq, &registers), Some(11));
        registers[11] = 0x100;
        assert_eq!(core.decides(&beq, &registers), None);
    }
}
