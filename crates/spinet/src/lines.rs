//! Source lines of addresses, where the program has debug information.

use crate::elf::Elf;
use addr2line::{Context, gimli};
use object::read::elf::ElfFile32;
use object::{Endianness, Object, ObjectSection};

/// `file.c:12` for an address; `None` where the program does not say.
pub fn line_of(elf: &Elf, addr: u32) -> Option<String> {
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
