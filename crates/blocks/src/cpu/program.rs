//! A program, decoded once.

use super::timing;
use isa::riscv::{Class, Inst, Isa, Op};

/// What a core must do around an instruction, ordered so that one comparison finds the ones that need care before
/// they execute.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// One cycle, no memory, no jump.
    Alu,
    /// High product.
    MulHigh,
    /// Load, store, AMO or event load: the core asks its owner.
    Memory,
    /// Conditional branch.
    Branch,
    /// Jump to a constant distance.
    Jump,
    /// Jump to a register, which must be there earlier than other operands.
    JumpReg,
    /// Quotient or remainder, whose time depends on the divisor.
    Div,
    /// Control registers, traps, fences, hardware loops: leaves the fast path.
    Special,
}

/// An instruction in its place.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// What it does.
    pub inst: Inst,
    /// What the core must do around it.
    pub kind: Kind,
    /// Where it stands in its fetch line.
    pub place: Place,
    /// Whether [`super::Core`] may run it without looking around.
    pub pace: Pace,
    /// Half words to the next instruction in memory.
    pub halves: u8,
}

/// How much a core must look around an instruction, ordered so that one comparison finds what needs no look before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pace {
    /// Not at all: one cycle, and the next instruction follows in the same line.
    Straight,
    /// An access to memory, all else as with [`Pace::Straight`].
    Memory,
    /// As [`Pace::Straight`], but it or the next instruction needs the next line.
    LineEnd,
    /// As [`Pace::Memory`], but it or the next instruction needs the next line.
    MemoryLineEnd,
    /// A branch or jump to a constant distance whose target does not straddle lines.
    Jump,
    /// The same, but it or the next instruction needs the next line.
    JumpLineEnd,
    /// All else.
    Careful,
}

/// Register number that stands for register 0 as a destination: written and never read.
pub const SINK: u8 = 32;

/// Where an instruction stands in its fetch line of 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Such that the next instruction is in the line too, or nearly so.
    Within,
    /// In the last word, or just before a 32-bit instruction of which half is in the next line: that is asked for now.
    End,
    /// Half of it is in the next line.
    Straddles,
}

/// A range of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Window {
    /// First byte.
    pub base: u32,
    /// Bytes.
    pub bytes: u32,
}

impl Window {
    /// All addresses but the last.
    pub const ALL: Window = Window { base: 0, bytes: u32::MAX };

    /// Whether an address is within.
    #[inline]
    pub fn holds(self, addr: u32) -> bool {
        addr.wrapping_sub(self.base) < self.bytes
    }
}

/// A range of memory as instructions, one slot for each half word.
#[derive(Clone)]
pub struct Program {
    isa: Isa,
    base: u32,
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    /// Registers that each slot's instruction reads, by bit.
    reads: Vec<u32>,
}

impl Program {
    /// Decodes `bytes`, which lie at `base`, for cores with this instruction set. An odd last byte is no instruction.
    pub fn new(isa: Isa, base: u32, bytes: &[u8]) -> Self {
        let slots: Vec<_> = (0..bytes.len() / 2).map(|index| decode_slot(isa, base, bytes, index)).collect();
        let reads = slots.iter().map(|slot| slot.inst.reads()).collect();
        Program { isa, base, bytes: bytes.to_vec(), slots, reads }
    }

    /// Whether the instruction at `pc` reads register `r`.
    #[inline]
    pub fn reads(&self, pc: u32, r: u8) -> bool {
        self.reads.get(self.position(pc)).is_some_and(|&reads| u64::from(reads) >> r & 1 != 0)
    }

    /// The instruction at an even `pc`, if that is within the program.
    #[inline]
    pub fn slot(&self, pc: u32) -> Option<&Slot> {
        self.slots.get(self.position(pc))
    }

    /// The slots of a window, one for each half word from its base on; those that are within the program.
    #[inline]
    pub fn slots(&self, window: Window) -> &[Slot] {
        let first = self.position(window.base).min(self.slots.len());
        let n = (window.bytes / 2) as usize;
        &self.slots[first..first + n.min(self.slots.len() - first)]
    }

    /// The part of a window that is within the program; its base is even.
    pub fn within(&self, window: Window) -> Window {
        let (start, end) = (u64::from(self.base), u64::from(self.base) + self.bytes.len() as u64);
        let from = u64::from(window.base).clamp(start, end);
        let to = (u64::from(window.base) + u64::from(window.bytes)).clamp(from, end);
        Window { base: from as u32 & !1, bytes: (to - from) as u32 }
    }

    /// Position among the slots of the one at `pc`.
    #[inline]
    pub fn position(&self, pc: u32) -> usize {
        (pc.wrapping_sub(self.base) >> 1) as usize
    }

    /// Whether an instruction of the program stands at `addr`.
    pub fn contains(&self, addr: u32) -> bool {
        self.slot(addr).is_some()
    }

    /// Writes bytes that lie wholly within the program and decodes anew what they touch.
    pub fn write(&mut self, addr: u32, data: &[u8]) {
        let start = addr.wrapping_sub(self.base) as usize;
        self.bytes[start..start + data.len()].copy_from_slice(data);
        // An instruction may begin one half word before the first byte.
        let first = (start / 2).saturating_sub(1);
        let end = (start + data.len()).div_ceil(2).min(self.slots.len());
        for index in first..end {
            self.slots[index] = decode_slot(self.isa, self.base, &self.bytes, index);
            self.reads[index] = self.slots[index].inst.reads();
        }
    }

    /// Bytes up to the last that is not 0.
    pub fn used_bytes(&self) -> usize {
        self.bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn decode_slot(isa: Isa, base: u32, bytes: &[u8], index: usize) -> Slot {
    let half = |i: usize| {
        let at = bytes.get(2 * i..).and_then(|rest| rest.first_chunk());
        at.map_or(0, |&half| u32::from(u16::from_le_bytes(half)))
    };
    let mut inst = isa.decode(half(index) | half(index + 1) << 16);
    let kind = match inst.class() {
        Class::Alu | Class::Mul => Kind::Alu,
        Class::MulHigh => Kind::MulHigh,
        Class::Load | Class::Store | Class::Amo | Class::Elw => Kind::Memory,
        Class::Branch => Kind::Branch,
        Class::Jump => Kind::Jump,
        Class::JumpReg => Kind::JumpReg,
        Class::Div => Kind::Div,
        Class::Csr | Class::System | Class::Fence | Class::Loop | Class::Illegal => Kind::Special,
    };
    let pc = base.wrapping_add(2 * index as u32);
    let end = pc % timing::LINE_BYTES + u32::from(inst.bytes());
    let before_straddling = end == timing::LINE_BYTES - 2 && half(index + usize::from(inst.bytes() / 2)) & 3 == 3;
    let place = match pc % timing::LINE_BYTES {
        _ if end > timing::LINE_BYTES => Place::Straddles,
        12.. => Place::End,
        _ if before_straddling => Place::End,
        _ => Place::Within,
    };
    // `auipc` is the one among them that needs the program counter.
    let plain = kind == Kind::Alu && inst.op != Op::Auipc;
    // A target before the program cannot straddle: there is nothing.
    let target_straddles = index.checked_add_signed(inst.imm as isize / 2).is_some_and(|target| {
        let pc = base.wrapping_add((target as u32).wrapping_mul(2));
        pc % timing::LINE_BYTES == timing::LINE_BYTES - 2 && half(target) & 3 == 3
    });
    let pace = match (kind, place) {
        (Kind::Alu, Place::Within) if plain && end < timing::LINE_BYTES => Pace::Straight,
        (Kind::Alu, _) if plain => Pace::LineEnd,
        (Kind::Memory, Place::Within) if end < timing::LINE_BYTES => Pace::Memory,
        (Kind::Memory, _) => Pace::MemoryLineEnd,
        (Kind::Branch | Kind::Jump, Place::Within) if !target_straddles => Pace::Jump,
        (Kind::Branch | Kind::Jump, _) if !target_straddles => Pace::JumpLineEnd,
        _ => Pace::Careful,
    };
    if inst.rd == 0 {
        inst.rd = SINK;
    }
    Slot { inst, kind, place, pace, halves: inst.bytes() / 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_decodes_anew_what_it_touches() {
        let nop = 0x0000_0013u32.to_le_bytes();
        let mut program = Program::new(Isa::Rv32imac, 0x100, &nop.repeat(4));
        assert_eq!(program.slot(0x104).map(|slot| slot.kind), Some(Kind::Alu));
        program.write(0x106, &0x0000u16.to_le_bytes()); // Upper half of the second nop: `addi x0, x0, 0` still.
        program.write(0x104, &0x0063u16.to_le_bytes()); // Its lower half: now `beq x0, x0, 0`.
        assert_eq!(program.slot(0x104).map(|slot| slot.kind), Some(Kind::Branch));
        assert!(program.slot(0x110).is_none() && program.slot(0xfe).is_none());
    }
}
