//! Source lines of addresses, where the program has debug information.

use crate::elf::{Elf, Part};
use addr2line::{Context, gimli};
use object::read::elf::ElfFile32;
use object::{Endianness, Object, ObjectSection};

/// `file.c:12` for an address; `None` where the program does not say.
pub fn line_of(elf: &Elf, addr: u32) -> Option<String> {
    // The linker leaves lines of functions that it dropped at addresses where no code is.
    let is_loaded = |part: &Part| addr >= part.addr && u64::from(addr) < part.end();
    if !elf.segments.iter().any(is_loaded) {
        return None;
    }
    let file = ElfFile32::<Endianness>::parse(&*elf.data).ok()?;
    let section = |id: gimli::SectionId| -> Result<_, gimli::Error> {
        let section = file.section_by_name(id.name());
        // A section that cannot be read says as much as one that is not there.
        let data = section.and_then(|section| section.data().ok()).unwrap_or_default();
        Ok(gimli::EndianSlice::new(data, gimli::LittleEndian))
    };
    let dwarf = gimli::Dwarf::load(section).ok()?;
    let context = Context::from_dwarf(dwarf).ok()?;
    let location = context.find_location(addr.into()).ok()??;
    Some(format!("{}:{}", location.file?, location.line?))
}
