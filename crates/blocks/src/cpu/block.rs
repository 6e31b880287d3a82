//! Blocks: parts of a program that a core runs without checks.

use super::core::Core;
use super::program::{Pace, Program};
use super::timing;
use isa::riscv::{Class, Inst, Meaning, meaning};

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
    /// Address of the access or jump (`last_pc`), which is the end of the plain instructions; address after it
    /// (`next_pc`).
    pub last_pc: u32,
    pub next_pc: u32,
    /// The last fetch line that must be present, counted from the program's first line, and the number of lines
    /// directly before it that must be present too. That number is [`NEVER`] if the block is empty.
    end_line: u32,
    more_lines: u8,
    /// The end of the block, after the plain instructions.
    pub end: End,
}

/// The end of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// A memory access; `feeds_next` if the next instruction reads the loaded register.
    Access { feeds_next: bool },
    /// A branch or jump to a constant distance. If taken, it costs `taken` cycles without waiting, and `least` cycles
    /// after a long wait in decode.
    Jump { taken: u8, least: u8 },
    /// The next block, or an instruction that needs checks.
    Open,
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
        while let Some(slot) = slots.get(at) {
            match slot.pace {
                Pace::Straight | Pace::LineEnd if plain.len() < MOST => {}
                Pace::Memory | Pace::MemoryLineEnd => end = End::Access { feeds_next: slot.feeds_next() },
                Pace::Jump | Pace::JumpLineEnd
                    if program.delays_next(program.address(at).wrapping_add(slot.inst.imm as u32)) =>
                {
                    last = slot.inst;
                    break;
                }
                Pace::Jump | Pace::JumpLineEnd => {
                    let target = at.checked_add_signed(slot.inst.imm as isize / 2);
                    let target = target.and_then(|target| slots.get(target));
                    let [taken, least] = [0, u64::MAX].map(|held| slot.taken_after(held, target) as u8);
                    end = End::Jump { taken, least };
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
        Block {
            plain: plain.into(),
            last: BlockStep::new(last),
            last_pc,
            next_pc: last_pc.wrapping_add(last.bytes().into()),
            end_line: line(start) as u32 + u32::from(more_lines),
            more_lines,
            end,
        }
    }

    /// The target of the jump in the block or directly behind it, if there is one.
    pub fn target(&self) -> Option<u32> {
        let leads = matches!(self.last.inst.class(), Class::Branch | Class::Jump);
        leads.then(|| self.last_pc.wrapping_add(self.last.inst.imm as u32))
    }

    /// Returns true if the lines that the block needs are present; for `there` see [`super::FetchLines::there`].
    #[inline(always)]
    pub fn may_run(&self, there: &[u8]) -> bool {
        there.get(self.end_line as usize).is_some_and(|&there| there > self.more_lines)
    }
}

/// The fetch line of a position.
fn line(at: usize) -> usize {
    at / (timing::LINE_BYTES as usize / 2)
}
