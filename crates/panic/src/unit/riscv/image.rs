//! A program image, as read from an ELF file.

use super::params::{MEMORY_BASE, RiscvParams};

/// Bytes of a program to load into memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Name in errors: `segment 0`.
    pub place: String,
    /// Address of the first byte.
    pub addr: u32,
    /// Initial content.
    pub bytes: Vec<u8>,
    /// Size in memory; bytes after the content are zero.
    pub size: u32,
}

/// A symbol, for error messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// Its address.
    pub addr: u32,
    /// Size in bytes; 0 if unknown.
    pub size: u32,
}

/// A program for a [`RiscvUnit`](super::RiscvUnit).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Initial memory content.
    pub segments: Vec<Segment>,
    /// Entry point, also after a reset.
    pub entry: u32,
    /// Its functions' symbols.
    pub symbols: Vec<Symbol>,
}

impl Image {
    /// Checks that the program can run in such a unit.
    pub fn check(&self, params: &RiscvParams) -> Result<(), String> {
        let (first, end) = (u64::from(MEMORY_BASE), u64::from(MEMORY_BASE + params.pinned()));
        let allowed = format!("must be within {first:#x} to {:#x}, the memory outside the packet region", end - 1);
        for segment in &self.segments {
            let (from, size) = (u64::from(segment.addr), u64::from(segment.size));
            let content = segment.bytes.len() as u64;
            if content > size {
                return Err(format!(
                    "{} has {content} bytes of content, must have at most its size of {size}",
                    segment.place
                ));
            }
            if size > 0 && (from < first || from + size > end) {
                return Err(format!("{} is at {from:#x} to {:#x}, {allowed}", segment.place, from + size - 1));
            }
        }
        let entry = u64::from(self.entry);
        if entry < first || entry >= end || entry % 4 != 0 {
            return Err(format!("the entry is {entry:#x}, {allowed}, and a multiple of 4"));
        }
        Ok(())
    }

    /// The memory with the program loaded; the image must have passed its check.
    pub(super) fn memory(&self, params: &RiscvParams) -> Vec<u8> {
        let mut memory = vec![0; params.memory_bytes as usize];
        for segment in &self.segments {
            let at = (segment.addr - MEMORY_BASE) as usize;
            memory[at..at + segment.bytes.len()].copy_from_slice(&segment.bytes);
        }
        memory
    }

    /// The function at `pc`, and the offset into it.
    pub(super) fn symbol_at(&self, pc: u32) -> Option<(&str, u32)> {
        let before = self.symbols.iter().filter(|symbol| symbol.addr <= pc);
        let nearest = before.max_by_key(|symbol| (symbol.addr, symbol.size))?;
        let distance = pc - nearest.addr;
        (nearest.size == 0 || distance < nearest.size).then_some((&nearest.name, distance))
    }
}
