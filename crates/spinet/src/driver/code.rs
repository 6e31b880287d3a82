//! Programs of tenants: code in program memory, static data in handler memory.

use super::handles::Handle;
use super::heap::{Heap, Refused};
use super::memory::{Kind, MemoryRange};
use super::{Driver, DriverError, OPERATOR, ProgramId, TenantId};
use crate::elf::{Elf, ElfError, LoadedBytes};
use crate::program::join;
use pspin::map;
use pspin::protocol::{DATA_REGIONS, Region};
use std::rc::Rc;

/// A program that is in the card.
pub(super) struct Program {
    pub elf: Rc<Elf>,
    /// Its parts in the card's memories, in order.
    pub parts: Vec<MemoryRange>,
}

impl Program {
    /// All its code, as one region.
    pub fn code(&self) -> Region {
        let code = self.parts.iter().filter(|part| part.kind == Kind::Program);
        let first = code.clone().map(|part| part.addr).min().unwrap_or(map::PROGRAM_BASE);
        let end = code.map(|part| part.addr + part.size).max().unwrap_or(map::PROGRAM_BASE);
        Region { addr: first, size: end - first }
    }

    /// Its static data.
    pub fn data(&self) -> Vec<Region> {
        let data = self.parts.iter().filter(|part| part.kind == Kind::Handler);
        data.map(|part| Region { addr: part.addr, size: part.size }).collect()
    }
}

impl Driver {
    /// Loads a program that is linked to free memory, which [`Driver::capabilities`] reports. The program is complete
    /// when its writes are done, and [`Driver::install`] waits for them. It runs under the runtime of the card, so it
    /// contains none, and its `init_handlers` is not called.
    pub fn load(&mut self, tenant: TenantId, elf: Rc<Elf>) -> Result<ProgramId, DriverError> {
        self.tenants.get(OPERATOR, tenant)?;
        // Memory of L1 is not allocated here: it would be another tenant's stack or scratchpad.
        if let Some(part) = elf.sections.iter().find(|part| is_below_handler_memory(part)) {
            return Err(outside(&elf, part, &self.program_memory, &self.handler_memory));
        }
        let program = self.adopt(tenant, elf.clone())?;
        for section in &elf.sections {
            self.begin_write(tenant, section.addr, &section.bytes);
        }
        Ok(program)
    }

    /// Allocates the memory of a program that is in the card before the first cycle.
    pub(crate) fn adopt(&mut self, tenant: TenantId, elf: Rc<Elf>) -> Result<ProgramId, DriverError> {
        let mut parts: Vec<MemoryRange> = Vec::new();
        for part @ MemoryRange { kind, addr, size } in wanted(&elf, &self.program_memory, &self.handler_memory)? {
            if let Err(refused) = self.heap(kind).claim(addr.into(), size.into()) {
                parts.iter().for_each(|part| self.heap(part.kind).give_back(part.addr.into()));
                let (first, last) = (u64::from(addr), u64::from(addr) + u64::from(size) - 1);
                let at = if let Refused::Taken(at) = refused { at } else { first };
                let (room, largest) = self.heap(kind).largest();
                let (file, memory) = (elf.file.clone(), kind.name());
                return Err(DriverError::Taken { file, memory, first, last, at, room, largest });
            }
            parts.push(part);
        }
        Ok(self.programs.add(tenant, Program { elf, parts }))
    }

    /// Removes a program; no context may use it. Its memory is set to zero.
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

/// The parts that a program needs in each memory, in order of address. They cover all its sections, also those without
/// content in the file. Code is one part, so that no other tenant's code can be between its sections. Static data has
/// at most as many parts as a context may name.
fn wanted(elf: &Elf, program: &Heap, handler: &Heap) -> Result<Vec<MemoryRange>, DriverError> {
    let (mut code, mut data) = (Vec::new(), Vec::new());
    for part in elf.sections.iter().chain(&elf.segments).filter(|part| part.size > 0) {
        let (first, end) = (u64::from(part.addr), part.end());
        match () {
            _ if program.spans(first, end) => code.push((first, end)),
            _ if handler.spans(first, end) => data.push((first, end)),
            // Only the program that boots the card may have such parts: they are loaded before the first cycle.
            _ if is_below_handler_memory(part) => {}
            _ => return Err(outside(elf, part, program, handler)),
        }
    }
    let part = |kind, (first, end): (u64, u64)| MemoryRange { kind, addr: first as u32, size: (end - first) as u32 };
    let code = join(code, 1).into_iter().map(|range| part(Kind::Program, range));
    let data = join(data, DATA_REGIONS).into_iter().map(|range| part(Kind::Handler, range));
    Ok(code.chain(data).collect())
}

/// Returns true if a part is linked to L1, or has no address.
fn is_below_handler_memory(part: &LoadedBytes) -> bool {
    part.addr < map::L2_HANDLER_BASE
}

/// The error of a part at an address that is not allowed for programs.
fn outside(elf: &Elf, part: &LoadedBytes, program: &Heap, handler: &Heap) -> DriverError {
    let range = |heap: &Heap| format!("{:#010x} to {:#010x}", heap.first(), heap.first() + heap.bytes() - 1);
    let allowed = format!("program memory ({}) or handler memory ({})", range(program), range(handler));
    let (file, place) = (elf.file.clone(), part.place.clone());
    ElfError::Outside { file, place, first: part.addr, last: part.end() - 1, allowed }.into()
}
