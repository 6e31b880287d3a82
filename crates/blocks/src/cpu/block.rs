//! Blocks: parts of a program that a core runs without checks.

use super::core::{Access, AccessKind, Core};
use super::csr::Profile;
use super::program::{Pace, Program, SINK, Slot};
use super::timing;
use super::window::Stretch;
use isa::riscv::{Class, Inst, Load, Meaning, Width, meaning};

/// Maximum plain instructions of a block. Published handlers have about four between two accesses or jumps, and few
/// have more than ten.
const MOST: usize = 16;

/// An instruction with its pre-resolved function. The instruction comes first, so that it has the same address as the
/// step.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct BlockStep {
    pub inst: Inst,
    meaning: Meaning<Core>,
}

impl BlockStep {
    fn new(inst: Inst) -> BlockStep {
        BlockStep { inst, meaning: meaning(inst.op) }
    }

    #[inline(always)]
    pub fn execute(&self, core: &mut Core) {
        (self.meaning)(core, &self.inst);
    }
}

/// Consecutive single-cycle instructions, and the access or jump after them.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// The single-cycle instructions.
    pub plain: Box<[BlockStep]>,
    /// The access or jump.
    pub last: BlockStep,
    /// Address of the access or jump (`last_pc`), which is the end of the plain instructions, and address and position
    /// of the instruction after it (`next_pc`, `next_at`).
    pub last_pc: u32,
    pub next_pc: u32,
    /// Fetch line of the access or jump: `last_pc / 16`.
    pub last_line: u32,
    pub next_at: u32,
    /// The last fetch line that must be present, counted from the program's first line, and the number of lines
    /// directly before it that must be present too. That number is [`NEVER`] if the block is empty.
    end_line: u32,
    more_lines: u8,
    /// The end of the block, after the plain instructions.
    pub end: End,
    /// The access at the end, if it is plain.
    pub plain_access: Option<PlainAccess>,
}

/// The end of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// A memory access; `feeds_next` if the next instruction reads the loaded register.
    Access { feeds_next: bool },
    /// A branch or jump to position `target`. If taken, it costs `taken` cycles without waiting, and `least` cycles
    /// after a long wait in decode.
    Jump { taken: u8, least: u8, target: u32 },
    /// The next block, or an instruction that needs checks.
    Open,
}

/// An access whose address is the sum of a register and a constant, and which does nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PlainAccess {
    /// The access, with the constant instead of the address and without its value.
    pub access: Access,
    /// The register that is added to the constant, and the register with the value to store.
    pub addr_from: u8,
    pub value_from: u8,
    /// Its effect on memory.
    pub does: Plain,
}

/// The effect of a plain access on memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plain {
    /// It loads a word.
    LoadsWord,
    /// It stores a word.
    StoresWord,
    /// It loads or stores a part of a word, or is atomic.
    Other,
    /// There is none: the core waits for something else, or for another access.
    Not,
}

/// Greater than any count of lines, so that the block never runs.
const NEVER: u8 = u8::MAX;

impl Block {
    /// Number of half words before an instruction in which the blocks that depend on it may begin.
    pub const REACH: usize = 2 * (MOST + 2);

    /// The block at a position of a program.
    pub fn at(program: &Program, start: usize) -> Block {
        let slots = program.slots();
        let (mut plain, mut at) = (Vec::new(), start);
        let (mut more_lines, mut end, mut last) = (NEVER, End::Open, slots[start].inst);
        let mut plain_access = None;
        while let Some(slot) = slots.get(at) {
            match slot.pace {
                Pace::Straight | Pace::LineEnd if plain.len() < MOST => {}
                Pace::Memory | Pace::MemoryLineEnd => {
                    end = End::Access { feeds_next: slot.feeds_next() };
                    plain_access = PlainAccess::of(slot);
                }
                Pace::Jump | Pace::JumpLineEnd
                    if program.delays_next(program.address(at).wrapping_add(slot.inst.imm as u32)) =>
                {
                    last = slot.inst;
                    break;
                }
                Pace::Jump | Pace::JumpLineEnd => {
                    let target = program.position(program.address(at).wrapping_add(slot.inst.imm as u32));
                    let [taken, least] = [0, u64::MAX].map(|held| slot.taken_after(held, slots.get(target)) as u8);
                    end = End::Jump { taken, least, target: target as u32 };
                }
                _ => break,
            }
            let needs_next = matches!(slot.pace, Pace::LineEnd | Pace::MemoryLineEnd | Pace::JumpLineEnd);
            more_lines = (line(at) - line(start)) as u8 + u8::from(needs_next);
            if end != End::Open {
                last = slot.inst;
                break;
            }
            plain.push(BlockStep::new(slot.inst));
            at += slot.halves();
        }
        let last_pc = program.address(at);
        let next_pc = last_pc.wrapping_add(last.bytes().into());
        Block {
            plain: plain.into(),
            last: BlockStep::new(last),
            last_pc,
            next_pc,
            last_line: last_pc >> 4,
            next_at: program.position(next_pc) as u32,
            end_line: line(start) as u32 + u32::from(more_lines),
            more_lines,
            end,
            plain_access,
        }
    }

    /// The target of the jump in the block or directly behind it, if there is one.
    pub fn target(&self) -> Option<u32> {
        let leads = matches!(self.last.inst.class(), Class::Branch | Class::Jump);
        leads.then(|| self.last_pc.wrapping_add(self.last.inst.imm as u32))
    }

    /// Returns true if the block, which begins at position `at`, is within the stretch, and the lines that it needs are
    /// present; for `there` see [`super::FetchLines::there`].
    #[inline(always)]
    pub fn may_run(&self, at: usize, stretch: &Stretch, there: &[u8]) -> bool {
        let end_line = self.end_line as usize;
        if at < stretch.first || end_line >= stretch.end_line {
            return false;
        }
        there.get(end_line).is_some_and(|&there| there > self.more_lines)
    }
}

impl PlainAccess {
    /// The access of an instruction, if it is plain. Only the function in an instruction's row knows what it does. So this executes
    /// the function on a core whose registers hold different numbers, and looks at the access that results.
    fn of(slot: &Slot) -> Option<PlainAccess> {
        let inst = &slot.inst;
        let mut core = Core::new(Profile::Ri5cy, 0, 0);
        (1..32).for_each(|r| core.set_x(r, u32::from(r) * 0x0765_4321));
        let before = core.registers().to_vec();
        BlockStep::new(*inst).execute(&mut core);
        let access = *core.access();
        let value_from = if access.value == 0 { 0 } else { inst.rs2 };
        let is_plain = core.registers() == before
            && access.addr == core.x(inst.rs1).wrapping_add(inst.imm as u32)
            && access.value == core.x(value_from)
            && access.stepped == SINK
            && access.kind != AccessKind::Load(Load::Elw);
        let does = match access.kind {
            AccessKind::Load(Load::Word) => Plain::LoadsWord,
            AccessKind::Store(Width::Word) => Plain::StoresWord,
            _ => Plain::Other,
        };
        let access = Access { addr: inst.imm as u32, value: 0, feeds_next: slot.feeds_next(), ..access };
        is_plain.then_some(PlainAccess { access, addr_from: inst.rs1, value_from, does })
    }
}

/// The fetch line of a position.
fn line(at: usize) -> usize {
    at / (timing::LINE_BYTES as usize / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::riscv::Isa;

    /// The effect of the instruction, and its constant, if it is a plain access.
    fn plain(word: u32) -> Option<(Plain, u32)> {
        let program = Program::new(Isa::RV32IMAC_XPULPV2, 0, &[word.to_le_bytes(), [0; 4]].concat());
        let plain = Block::at(&program, 0).plain_access?;
        Some((plain.does, plain.access.addr))
    }

    #[test]
    fn an_access_is_plain_unless_it_writes_its_address_register_or_adds_two_registers() {
        assert_eq!(plain(0xff85_2583), Some((Plain::LoadsWord, -8i32 as u32)), "lw a1, -8(a0)");
        assert_eq!(plain(0x00b5_2223), Some((Plain::StoresWord, 4)), "sw a1, 4(a0)");
        assert_eq!(plain(0x0015_4583), Some((Plain::Other, 1)), "lbu a1, 1(a0)");
        assert_eq!(plain(0x00c5_25af), Some((Plain::Other, 0)), "amoadd.w a1, a2, (a0)");
        assert_eq!(plain(0x0045_258b), None, "p.lw a1, 4(a0!)");
        assert_eq!(plain(0x20c5_7583), None, "p.lw a1, a2(a0)");
        assert_eq!(plain(0x0015_6583), None, "p.elw a1, 1(a0)");
        assert_eq!(plain(0x0015_0513), None, "addi a0, a0, 1");
    }
}
