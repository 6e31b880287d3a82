//! Blocks: what a core runs of a program without a look at anything.

use super::program::{Pace, Slot};
use super::timing;
use isa::riscv::Inst;

/// Plain instructions that a block has at most; published handlers have some four between two accesses or jumps, and few have
/// more than ten.
const MOST: usize = 16;

/// Instructions that follow one another from a position on, a cycle each, and the access or jump behind them.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// The instructions that follow one another.
    pub plain: Box<[Inst]>,
    /// Half words that they take.
    span: u8,
    /// Fetch lines that must be there besides that of the position; [`NEVER`] if there is nothing to run.
    more_lines: u8,
    /// What is behind them.
    pub end: End,
    /// The access or jump.
    pub last: Inst,
}

/// What ends a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// An access to memory, and whether the next instruction reads what it loads.
    Access { feeds_next: bool },
    /// A branch or jump to a constant distance, and the cycles that it takes when it is taken.
    Jump { taken: u8 },
    /// The next block, or an instruction that needs care.
    Open,
}

/// More lines than are counted.
const NEVER: u8 = u8::MAX;

impl Block {
    /// Half words before an instruction in which blocks may begin that depend on it.
    pub const REACH: usize = 2 * (MOST + 2);

    /// The block that begins at a position.
    pub fn at(slots: &[Slot], start: usize) -> Block {
        let (mut plain, mut at) = (Vec::new(), start);
        let (mut more_lines, mut end, mut last) = (NEVER, End::Open, slots[start].inst);
        while let Some(slot) = slots.get(at) {
            match slot.pace {
                Pace::Straight | Pace::LineEnd if plain.len() < MOST => {}
                Pace::Memory | Pace::MemoryLineEnd => end = End::Access { feeds_next: slot.feeds_next() },
                Pace::Jump | Pace::JumpLineEnd => end = End::Jump { taken: slot.taken() as u8 },
                _ => break,
            }
            let needs_next = matches!(slot.pace, Pace::LineEnd | Pace::MemoryLineEnd | Pace::JumpLineEnd);
            more_lines = (line(at) - line(start)) as u8 + u8::from(needs_next);
            if end != End::Open {
                last = slot.inst;
                break;
            }
            plain.push(slot.inst);
            at += slot.halves();
        }
        Block { plain: plain.into(), span: (at - start) as u8, more_lines, end, last }
    }

    /// Half words that they take.
    #[inline(always)]
    pub fn span(&self) -> usize {
        self.span.into()
    }

    /// Whether the lines that it needs are there, if it begins at this position; for the meaning of `there` see
    /// [`super::Lines::there`].
    #[inline(always)]
    pub fn may_run(&self, at: usize, there: &[u8]) -> bool {
        there.get(line(at) + usize::from(self.more_lines)).is_some_and(|&there| there > self.more_lines)
    }
}

/// The fetch line of a position.
fn line(at: usize) -> usize {
    at / (timing::LINE_BYTES as usize / 2)
}
