//! A program, decoded once.

use super::block::Block;
use super::timing;
use super::window::{Stretch, Window};
use isa::riscv::{Class, Inst, Isa, Op};
use std::cell::{Cell, OnceCell};

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
    /// Its [`Kind`], from bit 4 on its [`Place`], and [`Slot::FEEDS`]: a slot has 16 bytes.
    what: u8,
    /// Whether [`super::Core`] may run it without looking around.
    pub pace: Pace,
}

const _: () = assert!(size_of::<Slot>() == 16, "a slot's address is found by a shift");

impl Slot {
    /// Added to what it is if the next instruction in memory reads the register that it writes.
    const FEEDS: u8 = 0x80;

    /// What the core must do around it.
    #[inline]
    pub fn kind(&self) -> Kind {
        KINDS[usize::from(self.what & 7)]
    }

    /// Where it stands in its fetch line.
    #[inline]
    pub fn place(&self) -> Place {
        PLACES[usize::from(self.what >> 4 & 3)]
    }

    /// Whether the next instruction in memory reads the register that it writes.
    #[inline]
    pub fn feeds_next(&self) -> bool {
        self.what & Slot::FEEDS != 0
    }

    /// Cycles that a branch or jump takes when it is taken and leads to `target`, if anything is there.
    #[inline]
    pub fn taken(&self, target: Option<&Slot>) -> u64 {
        let cycles = if self.kind() == Kind::Branch { timing::BRANCH_TAKEN } else { timing::JUMP };
        let straddles = target.is_some_and(|target| target.place() == Place::Straddles);
        if straddles { cycles + timing::STRADDLING_TARGET } else { cycles }
    }

    /// The same for one that has waited in decode for `held` cycles: a jump redirects fetch in the first of them.
    #[inline]
    pub fn taken_after(&self, held: u64, target: Option<&Slot>) -> u64 {
        let cycles = self.taken(target);
        if self.kind() == Kind::Branch { cycles } else { cycles.saturating_sub(held).max(timing::PLAIN) }
    }

    /// Half words to the next instruction in memory.
    #[inline]
    pub fn halves(&self) -> usize {
        usize::from(self.inst.halves)
    }
}

/// By [`Kind`].
const KINDS: [Kind; 8] =
    [Kind::Alu, Kind::MulHigh, Kind::Memory, Kind::Branch, Kind::Jump, Kind::JumpReg, Kind::Div, Kind::Special];
/// By [`Place`].
const PLACES: [Place; 4] = [Place::Within, Place::End, Place::Straddles, Place::Straddles];

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
    /// A branch or jump to a constant distance.
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

/// A range of memory as instructions, one slot for each half word.
#[derive(Clone)]
pub struct Program {
    isa: Isa,
    base: u32,
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    /// Registers that each slot's instruction reads, by bit.
    reads: Vec<u32>,
    /// The block that begins at each slot, made when it is first asked for: most slots are never jumped to.
    blocks: Vec<OnceCell<Box<Block>>>,
    /// Slots to which some block jumps: how long that takes depends on where they stand in their lines.
    landings: Vec<Cell<bool>>,
}

impl Program {
    /// Decodes `bytes`, which lie at `base`, for cores with this instruction set. An odd last byte is no instruction.
    ///
    /// Panics unless `base` is where a fetch line begins.
    pub fn new(isa: Isa, base: u32, bytes: &[u8]) -> Self {
        assert!(base.is_multiple_of(timing::LINE_BYTES), "a program begins where a fetch line does");
        let slots: Vec<_> = (0..bytes.len() / 2).map(|index| decode_slot(isa, base, bytes, index)).collect();
        let reads = slots.iter().map(|slot| slot.inst.reads()).collect();
        let blocks = vec![OnceCell::new(); slots.len()];
        let landings = vec![Cell::new(false); slots.len()];
        let mut program = Program { isa, base, bytes: bytes.to_vec(), slots, reads, blocks, landings };
        program.link(0, program.slots.len());
        program
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

    /// All slots, one for each half word from the base on.
    #[inline]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Positions of the slots in a window, by whole fetch lines: fetch asks for lines, so protection cannot be finer.
    pub fn stretch(&self, window: Window) -> Stretch {
        let line = u64::from(timing::LINE_BYTES);
        let (start, end) = (u64::from(self.base), u64::from(self.base) + 2 * self.slots.len() as u64);
        let from = (u64::from(window.base) / line * line).clamp(start, end);
        let to = (u64::from(window.base) + u64::from(window.bytes)).next_multiple_of(line).clamp(from, end);
        if window.bytes == 0 {
            return Stretch::default();
        }
        let end_line = (to - start).div_ceil(line);
        Stretch { first: ((from - start) / 2) as usize, n: ((to - from) / 2) as usize, end_line: end_line as usize }
    }

    /// Looks anew at what follows slots `first..end`.
    fn link(&mut self, first: usize, end: usize) {
        for index in first..end.min(self.slots.len()) {
            let slot = &mut self.slots[index];
            let behind = index + slot.halves();
            let feeds = self.reads.get(behind).is_some_and(|&reads| u64::from(reads) >> slot.inst.rd & 1 != 0);
            slot.what = slot.what & !Slot::FEEDS | if feeds { Slot::FEEDS } else { 0 };
            if behind >= self.reads.len() {
                // Its end, or what follows it, is not there.
                slot.pace = Pace::Careful;
            }
        }
    }

    /// The block that begins at a position, if that is within the program.
    #[inline(always)]
    pub(super) fn block(&self, at: usize) -> Option<&Block> {
        self.blocks.get(at).map(|block| block.get().map_or_else(|| self.make_block(at), |block| &**block))
    }

    #[cold]
    fn make_block(&self, at: usize) -> &Block {
        self.blocks[at].get_or_init(|| {
            let block = Block::at(self.base, &self.slots, at);
            if let Some(landing) = block.target().and_then(|target| self.landings.get(self.position(target))) {
                landing.set(true);
            }
            Box::new(block)
        })
    }

    /// Position among the slots of the one at `pc`.
    #[inline]
    pub fn position(&self, pc: u32) -> usize {
        (pc.wrapping_sub(self.base) >> 1) as usize
    }

    /// Address of the slot at a position.
    #[inline]
    pub fn address(&self, position: usize) -> u32 {
        self.base.wrapping_add(position as u32 * 2)
    }

    /// Whether an instruction of the program stands at `addr`.
    pub fn contains(&self, addr: u32) -> bool {
        self.slot(addr).is_some()
    }

    /// Writes bytes that lie wholly within the program and decodes anew what they touch.
    pub fn write(&mut self, addr: u32, data: &[u8]) {
        let start = addr.wrapping_sub(self.base) as usize;
        self.bytes[start..start + data.len()].copy_from_slice(data);
        // An instruction may begin one half word before the first byte, and what it takes to run the one before that may
        // depend on it.
        let first = (start / 2).saturating_sub(3);
        let end = (start + data.len()).div_ceil(2).min(self.slots.len());
        let mut moves_landing = false;
        for index in first..end {
            let slot = decode_slot(self.isa, self.base, &self.bytes, index);
            moves_landing |= self.landings[index].get() && slot.place() != self.slots[index].place();
            self.reads[index] = slot.inst.reads();
            self.slots[index] = slot;
        }
        self.link(first.saturating_sub(2), end);
        // Who jumps to what has moved may stand anywhere; such writes to code that has run are rare.
        let stale = if moves_landing { 0..self.blocks.len() } else { first.saturating_sub(Block::REACH)..end };
        self.blocks[stale].fill(OnceCell::new());
    }

    /// The `n` bytes, at most four, at `pc` as a number.
    pub(super) fn word(&self, n: usize, pc: u32) -> u32 {
        let at = pc.wrapping_sub(self.base) as usize;
        let bytes = self.bytes.iter().skip(at).take(n);
        bytes.rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
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
    let half = |at: usize| {
        let half = bytes.get(2 * at..).and_then(|rest| rest.first_chunk());
        half.map_or(0, |&half| u32::from(u16::from_le_bytes(half)))
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
    let pace = match (kind, place) {
        (Kind::Alu, Place::Within) if plain && end < timing::LINE_BYTES => Pace::Straight,
        (Kind::Alu, _) if plain => Pace::LineEnd,
        (Kind::Memory, Place::Within) if end < timing::LINE_BYTES => Pace::Memory,
        (Kind::Memory, _) => Pace::MemoryLineEnd,
        (Kind::Branch | Kind::Jump, Place::Within) => Pace::Jump,
        (Kind::Branch | Kind::Jump, _) => Pace::JumpLineEnd,
        _ => Pace::Careful,
    };
    if inst.rd == 0 {
        inst.rd = SINK;
    }
    Slot { inst, what: kind as u8 | (place as u8) << 4, pace }
}

#[cfg(test)]
mod tests {
    use super::super::block::End;
    use super::*;

    #[test]
    fn a_write_decodes_anew_what_it_touches() {
        let nop = 0x0000_0013u32.to_le_bytes();
        let mut program = Program::new(Isa::RV32IMAC, 0x100, &nop.repeat(4));
        assert_eq!(program.slot(0x104).map(|slot| slot.kind()), Some(Kind::Alu));
        program.write(0x106, &0x0000u16.to_le_bytes()); // Upper half of the second nop: `addi x0, x0, 0` still.
        program.write(0x104, &0x0063u16.to_le_bytes()); // Its lower half: now `beq x0, x0, 0`.
        assert_eq!(program.slot(0x104).map(|slot| slot.kind()), Some(Kind::Branch));
        assert!(program.slot(0x110).is_none() && program.slot(0xfe).is_none());
    }

    #[test]
    fn a_block_ends_where_a_write_puts_a_jump() {
        let nop = 0x0000_0013u32.to_le_bytes();
        let mut program = Program::new(Isa::RV32IMAC, 0x100, &nop.repeat(40));
        let n = |program: &Program, at| program.block(at).map(|block| block.plain.len());
        assert_eq!(
            (n(&program, 0), n(&program, 2), n(&program, 48)),
            (Some(16), Some(16), Some(15)),
            "the last is alone"
        );
        program.write(0x100 + 4 * 12, &0x0000_0063u32.to_le_bytes()); // beq x0, x0, 0
        assert_eq!((n(&program, 0), n(&program, 2), n(&program, 48)), (Some(12), Some(11), Some(15)));
        assert_eq!(n(&program, 24), Some(0), "the jump itself");
    }

    #[test]
    fn a_write_forgets_the_blocks_around_it_and_where_a_jump_lands_otherwise_those_that_jump_there() {
        let nop = 0x0000_0013u32.to_le_bytes();
        let mut program = Program::new(Isa::RV32IMAC, 0x100, &nop.repeat(100));
        program.write(0x100, &0x1080_006fu32.to_le_bytes()); // jal x0, +264: to 0x208
        let is_made = |program: &Program, at: usize| program.blocks[at].get().is_some();
        let make = |program: &Program| [0, 132].map(|at| program.block(at).is_some());
        make(&program);
        program.write(0x280, &[0xff; 4]); // Data, far from both.
        assert_eq!((is_made(&program, 0), is_made(&program, 132)), (true, true));
        program.write(0x1f0, &[0xff; 4]); // Just before the one, as data may stand behind code.
        assert_eq!((is_made(&program, 0), is_made(&program, 132)), (true, true));
        program.write(0x208, &0x0000_0063u32.to_le_bytes()); // beq x0, x0, 0: the jump to it takes as long as before.
        assert_eq!((is_made(&program, 0), is_made(&program, 132)), (true, false));
    }

    #[test]
    fn a_jump_takes_longer_once_a_write_makes_its_target_straddle_lines() {
        let jump = 0x00e0_006fu32.to_le_bytes(); // jal x0, +14: to the last half word of the line
        let mut program = Program::new(Isa::RV32IMAC, 0x100, &[&jump[..], &[0; 28]].concat());
        let taken = |program: &Program| program.block(0).map(|block| block.end);
        assert_eq!(taken(&program), Some(End::Jump { taken: 2, least: 1 }));
        program.write(0x10e, &0x0000_0013u32.to_le_bytes()); // nop
        assert_eq!(taken(&program), Some(End::Jump { taken: 3, least: 1 }));
        program.write(0x10e, &0x0001u16.to_le_bytes()); // c.nop
        assert_eq!(taken(&program), Some(End::Jump { taken: 2, least: 1 }));
    }
}
