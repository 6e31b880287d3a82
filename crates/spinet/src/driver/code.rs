//! Programs of tenants: code in program memory, static data in handler memory.

use super::handles::Handle;
use super::heap::{Heap, Refused};
use super::memory::{Kind, Part};
use super::{Driver, DriverError, OPERATOR, ProgramId, TenantId};
use crate::elf::{Elf, ElfError};
use pspin::map;
use std::rc::Rc;

/// A program that is in the card.
pub(super) struct Program {
    pub elf: Rc<Elf>,
    /// What it takes of the card's memories, in order.
    pub parts: Vec<Part>,
}

/// Where a program can be linked: the largest part of a memory that nobody has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// First byte.
    pub addr: u32,
    /// Bytes.
    pub size: u32,
}

/// Bytes of a program between which a gap may be: they are one part.
const GAP: u64 = super::ALIGN;

impl Driver {
    /// The largest part of a memory that nobody has.
    pub fn room(&mut self, kind: Kind) -> Room {
        let (addr, size) = self.heap(kind).largest();
        Room { addr: addr as u32, size: size as u32 }
    }

    /// Loads a program that is linked for memory that nobody has; see [`Driver::room`]. It is there when the writes are done,
    /// which [`Driver::install`] waits for. It runs under the runtime of the card, so it brings none, and nobody calls its
    /// `init_handlers`.
    pub fn load(&mut self, tenant: TenantId, elf: Rc<Elf>) -> Result<ProgramId, DriverError> {
        self.tenants.get(OPERATOR, tenant)?;
        let program = self.adopt(tenant, elf.clone())?;
        for section in &elf.sections {
            self.begin_write(tenant, section.addr, &section.bytes);
        }
        Ok(program)
    }

    /// Books the memory of a program that is in the card before the first cycle.
    pub(crate) fn adopt(&mut self, tenant: TenantId, elf: Rc<Elf>) -> Result<ProgramId, DriverError> {
        let mut parts: Vec<Part> = Vec::new();
        for wanted in wanted(&elf, &self.program_memory, &self.handler_memory)? {
            let (place, Part { kind, addr, size }) = &wanted;
            if let Err(refused) = self.heap(*kind).claim((*addr).into(), (*size).into()) {
                parts.iter().for_each(|part| self.heap(part.kind).give_back(part.addr.into()));
                let (first, last) = (u64::from(*addr), u64::from(*addr) + u64::from(*size) - 1);
                let at = if let Refused::Taken(at) = refused { at } else { first };
                let (room, largest) = self.heap(*kind).largest();
                let (file, place) = (elf.file.clone(), place.clone());
                return Err(DriverError::Taken { file, place, first, last, at, room, largest });
            }
            parts.push(wanted.1);
        }
        Ok(self.programs.add(tenant, Program { elf, parts }))
    }

    /// Takes a program out; no context may use it. Its memory is set to zero.
    pub fn unload(&mut self, tenant: TenantId, program: ProgramId) -> Result<(), DriverError> {
        self.programs.get(tenant, program)?;
        if let Some(user) = self.contexts.all().find(|(.., built)| built.program == program) {
            return Err(program.in_use(user.0));
        }
        let Program { parts, .. } = self.programs.remove(tenant, program)?;
        parts.into_iter().for_each(|part| self.give_back(part));
        Ok(())
    }
}

/// What a program takes, in order of address, and what is there in the file: its sections, and what is not in the file but
/// takes room all the same. Parts that share a beat are one.
fn wanted(elf: &Elf, program: &Heap, handler: &Heap) -> Result<Vec<(String, Part)>, DriverError> {
    let mut ranges: Vec<(u64, u64, Kind, &str)> = Vec::new();
    for part in elf.sections.iter().chain(&elf.segments).filter(|part| part.size > 0) {
        let (first, end) = (u64::from(part.addr), part.end());
        let kind = match () {
            _ if program.spans(first, end) => Kind::Program,
            _ if handler.spans(first, end) => Kind::Handler,
            // Its bytes are there before the first cycle; only the program that boots the card has such.
            _ if first < u64::from(map::L2_HANDLER_BASE) => continue,
            _ => {
                let range =
                    |heap: &Heap| format!("{:#010x} to {:#010x}", heap.first(), heap.first() + heap.bytes() - 1);
                let allowed = format!("program memory ({}) or handler memory ({})", range(program), range(handler));
                let (file, place) = (elf.file.clone(), part.place.clone());
                return Err(ElfError::Outside { file, place, first: part.addr, last: end - 1, allowed }.into());
            }
        };
        ranges.push((first, end, kind, &part.place));
    }
    ranges.sort_by_key(|&(first, ..)| first);
    let mut merged: Vec<(u64, u64, Kind, &str)> = Vec::new();
    for (first, end, kind, place) in ranges {
        match merged.last_mut() {
            Some((_, last, other, _)) if *other == kind && first <= last.next_multiple_of(GAP) => {
                *last = end.max(*last)
            }
            _ => merged.push((first, end, kind, place)),
        }
    }
    let part = |(first, end, kind, place): (u64, u64, Kind, &str)| {
        (place.to_owned(), Part { kind, addr: first as u32, size: (end - first) as u32 })
    };
    Ok(merged.into_iter().map(part).collect())
}
