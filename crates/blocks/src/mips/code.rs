//! Scratchpad and instruction cache, with each word decoded only once.

use super::params::{AddressRange, InstructionCacheParams};
use isa::mips::format::Role;
use isa::mips::{Class, Inst, Op, decode};

/// How the pipeline treats an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// Not decoded yet.
    Unknown,
    /// Single cycle, registers only.
    Plain,
    /// Needs its operands in decode: branches and jumps to registers.
    Branch,
    /// Starts a multiplication.
    Multiply,
    /// Starts a division.
    Divide,
    /// Moves HI or LO.
    HiLo,
    /// May cause an exception, or waits.
    Special,
    /// A load or store.
    Memory,
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub inst: Inst,
    /// Registers that it reads; 0 for none.
    pub reads: [u8; 2],
    /// Register that it writes; 0 for none.
    pub writes: u8,
    pub what: What,
    pub class: Class,
}

const _: () = assert!(size_of::<Slot>() <= 16, "a slot has four words");

impl Slot {
    /// The pipeline's view of an annulled delay slot.
    pub const BUBBLE: Slot = Slot { what: What::Plain, ..Slot::UNKNOWN };

    const UNKNOWN: Slot = Slot {
        inst: Inst { op: Op::Illegal, rs: 0, rt: 0, rd: 0, imm: 0 },
        reads: [0; 2],
        writes: 0,
        what: What::Unknown,
        class: Class::Illegal,
    };

    fn new(word: u32) -> Slot {
        let inst = decode(word);
        let class = inst.class();
        let what = match class {
            Class::Alu if matches!(inst.op, Op::Add | Op::Addi | Op::Sub) => What::Special,
            Class::Alu => What::Plain,
            Class::Multiply => What::Multiply,
            Class::Divide => What::Divide,
            Class::HiLo => What::HiLo,
            Class::Load | Class::Store => What::Memory,
            Class::Branch | Class::BranchLikely | Class::Jump | Class::JumpReg => What::Branch,
            Class::Trap | Class::System | Class::Illegal => What::Special,
        };
        let source = |role, r| if matches!(role, Role::Source | Role::Both) { r } else { 0 };
        let reads = inst.row().map_or([0; 2], |row| [source(row.format.rs, inst.rs), source(row.format.rt, inst.rt)]);
        Slot { inst, reads, writes: inst.writes(), what, class }
    }
}

/// Words of memory, each decoded when it is first executed.
struct Words {
    words: Vec<u32>,
    slots: Vec<Slot>,
}

impl Words {
    fn new(n: usize) -> Words {
        Words { words: vec![0; n], slots: vec![Slot::UNKNOWN; n] }
    }

    #[inline(always)]
    fn slot(&mut self, at: usize) -> &Slot {
        if self.slots[at].what == What::Unknown {
            self.decode(at);
        }
        &self.slots[at]
    }

    #[cold]
    fn decode(&mut self, at: usize) {
        self.slots[at] = Slot::new(self.words[at]);
    }

    fn write(&mut self, at: usize, word: u32) {
        self.words[at] = word;
        self.slots[at] = Slot::UNKNOWN;
    }
}

/// Local memory of a core, for data and instructions.
pub(super) struct Scratchpad {
    pub window: AddressRange,
    words: Words,
}

impl Scratchpad {
    /// Empty if `window` is `None`.
    pub fn new(window: Option<AddressRange>) -> Scratchpad {
        let window = window.unwrap_or(AddressRange { base: 0, bytes: 0 });
        Scratchpad { window, words: Words::new(window.bytes as usize / 4) }
    }

    fn place(&self, addr: u32) -> usize {
        (addr.wrapping_sub(self.window.base) / 4) as usize
    }

    /// The instruction at `pc`, if it is in the scratchpad.
    #[inline(always)]
    pub fn slot(&mut self, pc: u32) -> Option<&Slot> {
        self.window.holds(pc).then(|| self.words.slot((pc.wrapping_sub(self.window.base) / 4) as usize))
    }

    /// The aligned word that contains `addr`, which must be in the scratchpad.
    #[inline(always)]
    pub fn read(&self, addr: u32) -> u32 {
        self.words.words[self.place(addr)]
    }

    /// Changes the bits of `mask` in that word.
    #[inline(always)]
    pub fn write(&mut self, addr: u32, bits: u32, mask: u32) {
        let at = self.place(addr);
        let word = self.words.words[at] & !mask | bits;
        self.words.write(at, word);
    }
}

/// Tag of an empty way.
const NO_LINE: u32 = u32::MAX;

/// The line used last; no bytes if it was replaced.
#[derive(Clone, Copy, Default)]
struct Current {
    line: u32,
    bytes: u32,
    /// Index of its first word.
    first: usize,
}

/// The instruction cache of a core.
pub(super) struct InstructionCache {
    params: InstructionCacheParams,
    words: Words,
    /// Address of the line in each way of each set, or [`NO_LINE`].
    tags: Vec<u32>,
    /// Sequence number of the last use of each way.
    used: Vec<u64>,
    turns: u64,
    current: Current,
    /// The number of sets minus 1, which is a mask, and the number of bits of an address within a line.
    last_set: u32,
    line_bits: u32,
}

impl InstructionCache {
    pub fn new(params: InstructionCacheParams) -> InstructionCache {
        let n_lines = (params.bytes / params.line_bytes) as usize;
        // All sizes are powers of two.
        InstructionCache {
            last_set: n_lines as u32 / params.ways - 1,
            line_bits: params.line_bytes.trailing_zeros(),
            params,
            words: Words::new(params.bytes as usize / 4),
            tags: vec![NO_LINE; n_lines],
            used: vec![0; n_lines],
            turns: 0,
            current: Current::default(),
        }
    }

    /// Address of the line that contains `addr`.
    #[inline(always)]
    pub fn line(&self, addr: u32) -> u32 {
        addr & !(self.params.line_bytes - 1)
    }

    pub fn line_bytes(&self) -> u32 {
        self.params.line_bytes
    }

    /// Returns true if `pc` is in the line used last.
    #[inline(always)]
    pub fn is_current(&self, pc: u32) -> bool {
        pc.wrapping_sub(self.current.line) < self.current.bytes
    }

    /// The instruction at `pc`, if it is in the line used last.
    #[inline(always)]
    pub fn slot(&mut self, pc: u32) -> Option<&Slot> {
        let Current { line, bytes, first } = self.current;
        let place = pc.wrapping_sub(line);
        (place < bytes).then(|| self.words.slot(first + (place / 4) as usize))
    }

    /// Returns true if the instruction at `pc` is cached.
    pub fn holds(&self, pc: u32) -> bool {
        self.is_current(pc) || self.find(self.line(pc)).is_some()
    }

    /// The ways of a line's set.
    fn set(&self, line: u32) -> std::ops::Range<usize> {
        let ways = self.params.ways as usize;
        let first = (line >> self.line_bits & self.last_set) as usize * ways;
        first..first + ways
    }

    fn find(&self, line: u32) -> Option<usize> {
        self.set(line).find(|&way| self.tags[way] == line)
    }

    /// Uses the line that begins at `line`. Returns false if it is not cached.
    pub fn turn_to(&mut self, line: u32) -> bool {
        let Some(way) = self.find(line) else { return false };
        self.turns += 1;
        self.used[way] = self.turns;
        self.current = Current { line, bytes: self.params.line_bytes, first: way << (self.line_bits - 2) };
        true
    }

    /// Stores a line; `data` must be as long as a line.
    pub fn fill(&mut self, line: u32, data: &[u8]) {
        let oldest = self.set(line).min_by_key(|&way| (self.tags[way] != NO_LINE, self.used[way]));
        let way = oldest.expect("a set has a way");
        self.turns += 1;
        (self.tags[way], self.used[way]) = (line, self.turns);
        self.current = Current::default();
        let first = way * (self.params.line_bytes / 4) as usize;
        for (at, bytes) in (first..).zip(data.chunks_exact(4)) {
            self.words.write(at, u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        }
    }

    /// Handles a store of the core to `addr`. Returns true if the cache drops stored lines.
    #[inline]
    pub fn stored(&mut self, addr: u32) -> bool {
        if self.params.drops_stored_lines
            && let Some(way) = self.find(self.line(addr))
        {
            self.tags[way] = NO_LINE;
            self.current = Current::default();
        }
        self.drops_stored_lines()
    }

    /// Returns true if a line must not be fetched while a store to it is outstanding.
    pub fn drops_stored_lines(&self) -> bool {
        self.params.drops_stored_lines
    }

    /// Removes all lines.
    pub fn clear(&mut self) {
        self.tags.fill(NO_LINE);
        self.current = Current::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Uses lines in order; shows `h` for a hit, and `m` for a miss that fills the line.
    fn check(bytes: u32, ways: u32, lines: &[u32], want: Expect) {
        let params = InstructionCacheParams { bytes, line_bytes: 32, ways, drops_stored_lines: true };
        let mut cache = InstructionCache::new(params);
        let mut text = String::new();
        for line in lines {
            let pc = line * 32 + 4;
            let hit = cache.slot(pc).is_some() || cache.turn_to(cache.line(pc));
            text.push(if hit { 'h' } else { 'm' });
            if !hit {
                cache.fill(cache.line(pc), &[0; 32]);
            }
        }
        want.assert_eq(&text);
    }

    #[test]
    fn a_line_stays_until_its_set_is_full() {
        check(64, 1, &[0, 0, 1, 0, 2, 0, 1], expect!["mhmhmmh"]);
        check(128, 2, &[0, 2, 0, 2, 4, 0, 2], expect!["mmhhmmm"]);
        check(128, 2, &[0, 2, 0, 4, 0, 2, 4], expect!["mmhmhmm"]);
    }

    #[test]
    fn a_stored_line_is_dropped() {
        let params = InstructionCacheParams { bytes: 64, line_bytes: 32, ways: 1, drops_stored_lines: true };
        let mut cache = InstructionCache::new(params);
        cache.fill(32, &[0; 32]);
        cache.stored(31);
        assert!(cache.turn_to(32));
        cache.stored(63);
        assert!(cache.slot(32).is_none() && !cache.turn_to(32));
    }
}
