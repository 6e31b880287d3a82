//! A decoded program.

use super::block::Block;
use super::timing;
use super::window::{CodeWindow, Stretch};
use isa::riscv::{Class, Inst, Isa, Op};
use std::cell::{Cell, OnceCell};

/// How a core handles an instruction. The variants are ordered so that one comparison finds the instructions that need
/// work before they execute.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Single cycle, no memory access, no jump.
    Alu,
    /// High half of a product.
    MulHigh,
    /// Load, store, AMO or event load: needs the owner of the core.
    Memory,
    /// Conditional branch.
    Branch,
    /// Jump to a constant distance.
    Jump,
    /// Jump to a register, which is needed earlier than other operands.
    JumpReg,
    /// Quotient or remainder; its time depends on the divisor.
    Div,
    /// Control registers, traps, fences, hardware loops: leaves the fast path.
    Special,
}

/// A decoded instruction at an address.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The instruction.
    pub inst: Inst,
    /// Its [`Kind`], its [`Place`] from bit 4 on, and [`Slot::FEEDS`]; packed so that a slot has 16 bytes.
    what: u8,
    /// The checks that [`super::Core`] must make to run it.
    pub pace: Pace,
}

const _: () = assert!(size_of::<Slot>() == 16, "a slot's address is found by a shift");

impl Slot {
    /// Set in `what` if the next instruction in memory waits for the register that this one loads.
    const FEEDS: u8 = 0x80;

    /// How the core handles it.
    #[inline]
    pub fn kind(&self) -> Kind {
        KINDS[usize::from(self.what & 7)]
    }

    /// Its position in its fetch line.
    #[inline]
    pub fn place(&self) -> Place {
        PLACES[usize::from(self.what >> 4 & 3)]
    }

    /// Returns true if the next instruction in memory waits for the register that this one loads, see
    /// [`Program::waits_for`].
    #[inline]
    pub fn feeds_next(&self) -> bool {
        self.what & Slot::FEEDS != 0
    }

    /// Cycles of a taken branch or jump to `target`, if an instruction is known there.
    #[inline]
    pub fn taken(&self, target: Option<&Slot>) -> u64 {
        let cycles = if self.kind() == Kind::Branch { timing::BRANCH_TAKEN } else { timing::JUMP };
        let straddles = target.is_some_and(|target| target.place() == Place::Straddles);
        if straddles { cycles + timing::STRADDLING_TARGET } else { cycles }
    }

    /// The same after a wait of `held` cycles in decode. The wait is part of a jump's cycles, because a jump redirects
    /// fetch in its first cycle in decode.
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

/// The checks that an instruction needs. The variants are ordered so that one comparison finds the instructions that
/// need no checks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pace {
    /// Single cycle, and the next instruction is in the same fetch line: no checks needed.
    Straight,
    /// A memory access, otherwise as [`Pace::Straight`].
    Memory,
    /// As [`Pace::Straight`], but this or the next instruction needs the next line.
    LineEnd,
    /// As [`Pace::Memory`], but this or the next instruction needs the next line.
    MemoryLineEnd,
    /// A branch or jump to a constant distance.
    Jump,
    /// As [`Pace::Jump`], but fetch requests the next line with this or, behind a branch, with the next instruction.
    JumpLineEnd,
    /// All others: every check.
    Careful,
}

/// Register number that replaces register 0 as a destination: written and never read.
pub const SINK: u8 = 32;

/// Position of an instruction in its fetch line of 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Entirely in the line, with no early request of the next line.
    Within,
    /// In the last word, or just before a 32-bit instruction that straddles two lines: the next line is requested now.
    End,
    /// Half of the instruction is in the next line.
    Straddles,
}

/// The last offset in a fetch line at which an instruction outside the last word can precede an instruction that straddles two
/// lines.
pub(super) const LAST_BEFORE_END: u32 = timing::LINE_BYTES - 6;

/// Half words in a fetch line.
pub(super) const LINE_HALVES: usize = timing::LINE_BYTES as usize / 2;

/// A range of memory decoded as instructions, with one slot for each half word.
#[derive(Clone)]
pub struct Program {
    isa: Isa,
    base: u32,
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    /// Registers read by each slot's instruction, by bit.
    reads: Vec<u32>,
    /// The block at each slot, made on first use: most slots are never jump targets.
    blocks: Vec<OnceCell<Box<Block>>>,
    /// True for slots that are jump targets of a block; the time of such jumps depends on the target's position in
    /// its line.
    landings: Vec<Cell<bool>>,
}

impl Program {
    /// Decodes `bytes` at address `base` for cores with this instruction set. An odd last byte is ignored.
    ///
    /// Panics unless `base` is the start of a fetch line.
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

    /// Returns true if the instruction at `pc` waits in decode for the register of `load`, the instruction before it.
    ///
    /// It waits if it reads that register, or if its own ALU result goes to that register. This holds for register 0
    /// too.
    ///
    /// Source: PsPIN RTL a49fec8, `riscv_controller.sv`, lines 1014 to 1024.
    #[inline]
    pub fn waits_for(&self, pc: u32, load: &Inst) -> bool {
        self.slot_waits_for(self.position(pc), load)
    }

    fn slot_waits_for(&self, position: usize, load: &Inst) -> bool {
        let (Some(slot), Some(&reads)) = (self.slots.get(position), self.reads.get(position)) else { return false };
        let loads = matches!(load.class(), Class::Load | Class::Amo | Class::Elw);
        loads && (u64::from(reads) >> load.rd & 1 != 0 || slot.inst.rd == load.rd && alu_writes(slot.inst.class()))
    }

    /// Returns true if the instruction at `pc` loads a register that it also reads. If the next instruction is not fetched yet,
    /// decode keeps the load, and the load waits there for its own result. So the next instruction enters decode at the earliest
    /// two cycles after the grant.
    ///
    /// Source: PsPIN RTL a49fec8, `riscv_controller.sv`, lines 1014 to 1020, which do not ask whether the instruction in decode is valid.
    #[cold]
    pub(super) fn reads_own_result(&self, pc: u32) -> bool {
        let slot = self.slot(pc);
        slot.is_some_and(|slot| {
            let loads = matches!(slot.inst.class(), Class::Load | Class::Amo);
            loads && u64::from(slot.inst.reads()) >> slot.inst.rd & 1 != 0
        })
    }

    /// The instruction at an even `pc` within the program.
    #[inline]
    pub fn slot(&self, pc: u32) -> Option<&Slot> {
        self.slots.get(self.position(pc))
    }

    /// Returns true if, after a jump to `pc`, the instruction behind the one at `pc` is one cycle later than elsewhere.
    ///
    /// This holds if that instruction straddles two lines and the one at `pc` is not in the last word. After a jump, fetch
    /// requests the line behind the target only when the target is already in decode, not when decode takes it.
    ///
    /// Source: PsPIN RTL a49fec8, `riscv_prefetch_L0_buffer.sv`, state BRANCHED; measured on it.
    #[inline]
    pub fn delays_next(&self, pc: u32) -> bool {
        pc & 15 == LAST_BEFORE_END && self.slot(pc).is_some_and(|slot| slot.place() == Place::End)
    }

    /// All slots, one for each half word from the base on.
    #[inline]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The slots in a window, rounded to whole fetch lines, because fetch checks protection by line.
    pub fn stretch(&self, window: CodeWindow) -> Stretch {
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

    /// Recomputes the properties of slots `first..end` that depend on the following instruction.
    fn link(&mut self, first: usize, end: usize) {
        for index in first..end.min(self.slots.len()) {
            let inst = self.slots[index].inst;
            let behind = index + self.slots[index].halves();
            let feeds = self.slot_waits_for(behind, &inst);
            // Fetch requests the line after a branch before the branch is resolved.
            let is_behind = |slot: &Slot| slot.place() == Place::End && index / LINE_HALVES == behind / LINE_HALVES;
            let asks_behind = self.slots.get(behind).is_some_and(is_behind);
            // A branch leaves a division behind it in decode.
            let divides_behind = self.slots.get(behind).is_some_and(|slot| slot.kind() == Kind::Div);
            // Fetch requests the next line while a jump waits for its register, if the instruction behind the jump is in the last word.
            let waits_before_end = self.slots.get(behind).is_some_and(|slot| {
                let end = behind + slot.halves();
                let is_last_word = end % LINE_HALVES >= LINE_HALVES - 2;
                slot.kind() == Kind::JumpReg && is_last_word && index / LINE_HALVES == end / LINE_HALVES
            });
            let slot = &mut self.slots[index];
            if slot.place() == Place::Within {
                slot.pace = match (slot.pace, waits_before_end) {
                    (Pace::Straight | Pace::LineEnd, true) => Pace::LineEnd,
                    (Pace::Straight | Pace::LineEnd, false) => Pace::Straight,
                    (Pace::Memory | Pace::MemoryLineEnd, true) => Pace::MemoryLineEnd,
                    (Pace::Memory | Pace::MemoryLineEnd, false) => Pace::Memory,
                    (pace, _) => pace,
                };
            }
            if slot.kind() == Kind::Branch {
                slot.pace = match slot.place() {
                    _ if divides_behind => Pace::Careful,
                    Place::Within if !asks_behind => Pace::Jump,
                    _ => Pace::JumpLineEnd,
                };
            }
            slot.what = slot.what & !Slot::FEEDS | if feeds { Slot::FEEDS } else { 0 };
            if behind >= self.reads.len() {
                // Its end, or the following instruction, is outside the program.
                slot.pace = Pace::Careful;
            }
        }
    }

    /// The block at a position within the program.
    #[inline(always)]
    pub(super) fn block(&self, at: usize) -> Option<&Block> {
        self.blocks.get(at).map(|block| block.get().map_or_else(|| self.make_block(at), |block| &**block))
    }

    #[cold]
    fn make_block(&self, at: usize) -> &Block {
        self.blocks[at].get_or_init(|| {
            let block = Block::at(self, at);
            if let Some(landing) = block.target().and_then(|target| self.landings.get(self.position(target))) {
                landing.set(true);
            }
            Box::new(block)
        })
    }

    /// Index of the slot at `pc`.
    #[inline]
    pub fn position(&self, pc: u32) -> usize {
        (pc.wrapping_sub(self.base) >> 1) as usize
    }

    /// Address of a slot.
    #[inline]
    pub fn address(&self, position: usize) -> u32 {
        self.base.wrapping_add(position as u32 * 2)
    }

    /// Returns true if `addr` is within the program.
    pub fn contains(&self, addr: u32) -> bool {
        self.slot(addr).is_some()
    }

    /// Writes bytes within the program, and decodes the affected instructions again.
    pub fn write(&mut self, addr: u32, data: &[u8]) {
        let start = addr.wrapping_sub(self.base) as usize;
        self.bytes[start..start + data.len()].copy_from_slice(data);
        // An instruction may begin one half word before the first byte. The handling of the instruction before it may
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
        // Jumps to a moved instruction may be anywhere. Such writes to code that has run are rare.
        let stale = if moves_landing { 0..self.blocks.len() } else { first.saturating_sub(Block::REACH)..end };
        self.blocks[stale].fill(OnceCell::new());
    }

    /// The `n` bytes, at most four, at `pc` as a number.
    pub(super) fn word(&self, n: usize, pc: u32) -> u32 {
        let at = pc.wrapping_sub(self.base) as usize;
        let bytes = self.bytes.iter().skip(at).take(n);
        bytes.rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
    }

    /// Number of bytes up to the last nonzero one.
    pub fn used_bytes(&self) -> usize {
        self.bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)
    }

    /// The bytes of the program.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns true if the ALU writes the destination register of these instructions.
fn alu_writes(class: Class) -> bool {
    use Class::{Alu, Csr, Div, Jump, JumpReg, Mul, MulHigh};
    matches!(class, Alu | Mul | MulHigh | Div | Jump | JumpReg | Csr)
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
    // `auipc` is the only one of these that needs the program counter.
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
    fn a_write_decodes_the_affected_instructions_again() {
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
    fn a_write_discards_nearby_blocks_and_those_that_jump_to_a_moved_target() {
        let nop = 0x0000_0013u32.to_le_bytes();
        let mut program = Program::new(Isa::RV32IMAC, 0x100, &nop.repeat(100));
        program.write(0x100, &0x1080_006fu32.to_le_bytes()); // jal x0, +264: to 0x208
        let is_made = |program: &Program, at: usize| program.blocks[at].get().is_some();
        let make = |program: &Program| [0, 132].map(|at| program.block(at).is_some());
        make(&program);
        program.write(0x280, &[0xff; 4]); // Data, far from both blocks.
        assert_eq!((is_made(&program, 0), is_made(&program, 132)), (true, true));
        program.write(0x1f0, &[0xff; 4]); // Just before a block, as data may follow code.
        assert_eq!((is_made(&program, 0), is_made(&program, 132)), (true, true));
        program.write(0x208, &0x0000_0063u32.to_le_bytes()); // beq x0, x0, 0: the jump to it takes as long as before.
        assert_eq!((is_made(&program, 0), is_made(&program, 132)), (true, false));
    }

    #[test]
    fn a_jump_takes_longer_once_a_write_makes_its_target_straddle_lines() {
        let jump = 0x00e0_006fu32.to_le_bytes(); // jal x0, +14: to the last half word of the line
        let mut program = Program::new(Isa::RV32IMAC, 0x100, &[&jump[..], &[0; 28]].concat());
        let taken = |program: &Program| program.block(0).map(|block| block.end);
        assert_eq!(taken(&program), Some(End::Jump { taken: 2, least: 1, target: 7 }));
        program.write(0x10e, &0x0000_0013u32.to_le_bytes()); // nop
        assert_eq!(taken(&program), Some(End::Jump { taken: 3, least: 1, target: 7 }));
        program.write(0x10e, &0x0001u16.to_le_bytes()); // c.nop
        assert_eq!(taken(&program), Some(End::Jump { taken: 2, least: 1, target: 7 }));
    }
}
