//! The caches: direct-mapped, filled by whole lines.

use isa::riscv::{Class, Inst, Isa};

/// Encoding of the instruction that invalidates the data cache, or only the line of `rs1` if that is not register 0. Source:
/// VexRiscv, README, DBusCachedPlugin.
const FLUSH: u32 = 0x500f;
const RS1_SHIFT: u32 = 15;
const RS1_MASK: u32 = 0x1f << RS1_SHIFT;

/// A decoded instruction with the information that the pipeline needs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    /// An instruction of RV32I and its source registers.
    Rv32i(Inst, [u8; 2]),
    /// Invalidates the line at this register's address, or the whole cache for register 0.
    Flush(u8),
    /// The word is not an instruction of this core.
    Illegal(u32),
}

impl Slot {
    fn new(word: u32) -> Slot {
        if word & !RS1_MASK == FLUSH {
            return Slot::Flush((word >> RS1_SHIFT & 0x1f) as u8);
        }
        let inst = Isa::RV32I.decode(word);
        if inst.class() == Class::Illegal {
            return Slot::Illegal(word);
        }
        let mut reads = [0; 2];
        let read = (1..32).filter(|r| inst.reads() >> r & 1 != 0);
        for (place, r) in reads.iter_mut().zip(read) {
            *place = r;
        }
        Slot::Rv32i(inst, reads)
    }
}

/// The tags of a cache.
struct Tags {
    line_bytes: u32,
    /// Address of the line in each slot, or [`NONE`].
    lines: Vec<u32>,
}

/// An odd address, which no line has.
const NONE: u32 = 1;

impl Tags {
    fn new(bytes: u32, line_bytes: u32) -> Tags {
        Tags { line_bytes, lines: vec![NONE; (bytes / line_bytes) as usize] }
    }

    fn line(&self, addr: u32) -> u32 {
        addr & !(self.line_bytes - 1)
    }

    fn place(&self, addr: u32) -> usize {
        (addr / self.line_bytes) as usize & (self.lines.len() - 1)
    }

    fn holds(&self, addr: u32) -> bool {
        self.lines[self.place(addr)] == self.line(addr)
    }
}

/// The instruction cache. Instructions are decoded when their line is filled.
pub(super) struct InstructionCache {
    tags: Tags,
    slots: Vec<Slot>,
}

impl InstructionCache {
    pub fn new(bytes: u32, line_bytes: u32) -> InstructionCache {
        let slots = vec![Slot::Illegal(0); (bytes / 4) as usize];
        InstructionCache { tags: Tags::new(bytes, line_bytes), slots }
    }

    /// The instruction at `pc`, a multiple of 4, if its line is present.
    #[inline]
    pub fn slot(&self, pc: u32) -> Option<&Slot> {
        self.tags.holds(pc).then(|| &self.slots[pc as usize / 4 & (self.slots.len() - 1)])
    }

    /// Fills the line of `addr` with `bytes`.
    pub fn fill(&mut self, addr: u32, bytes: &[u8]) {
        let (place, line) = (self.tags.place(addr), self.tags.line(addr));
        self.tags.lines[place] = line;
        let first = place * self.tags.line_bytes as usize / 4;
        let (words, _) = bytes.as_chunks();
        for (slot, &word) in self.slots[first..].iter_mut().zip(words) {
            *slot = Slot::new(u32::from_le_bytes(word));
        }
    }

    pub fn forget(&mut self) {
        self.tags.lines.fill(NONE);
    }
}

/// The data cache: write-through, no write-allocate.
pub(super) struct DataCache {
    tags: Tags,
    bytes: Vec<u8>,
}

impl DataCache {
    pub fn new(bytes: u32, line_bytes: u32) -> DataCache {
        DataCache { tags: Tags::new(bytes, line_bytes), bytes: vec![0; bytes as usize] }
    }

    pub fn n_lines(&self) -> usize {
        self.tags.lines.len()
    }

    fn position(&self, addr: u32) -> usize {
        addr as usize & (self.bytes.len() - 1)
    }

    /// Up to four bytes from an aligned `addr` on, if their line is present.
    #[inline]
    pub fn read(&self, addr: u32, bytes: u32) -> Option<u32> {
        self.tags.holds(addr).then(|| {
            let at = self.position(addr);
            little_endian(&self.bytes[at..at + bytes as usize])
        })
    }

    /// Updates the line on a store, if it is present.
    #[inline]
    pub fn write(&mut self, addr: u32, value: u32, bytes: u32) {
        if self.tags.holds(addr) {
            let at = self.position(addr);
            self.bytes[at..at + bytes as usize].copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
        }
    }

    /// Fills the line of `addr` with `bytes`.
    pub fn fill(&mut self, addr: u32, bytes: &[u8]) {
        let (place, line) = (self.tags.place(addr), self.tags.line(addr));
        self.tags.lines[place] = line;
        let at = self.position(line);
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub fn forget(&mut self) {
        self.tags.lines.fill(NONE);
    }

    /// Invalidates the line of `addr`.
    pub fn forget_line(&mut self, addr: u32) {
        if self.tags.holds(addr) {
            let place = self.tags.place(addr);
            self.tags.lines[place] = NONE;
        }
    }
}

/// Up to four bytes as a little-endian number.
pub(super) fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
}
