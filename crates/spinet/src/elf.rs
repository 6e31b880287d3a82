//! ELF files for 32-bit RISC-V and big-endian MIPS. Every number in a file is checked before its use.

use crate::files::read_at_most;
use object::Endianness;
use object::elf::{self, FileHeader32};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use std::fmt::Display;
use std::io;
use std::path::Path;

/// Largest file, in bytes: enough for the largest program memory, 1 MiB, with much debug information.
pub const MAX_FILE_BYTES: u64 = 256 << 20;

/// Bounds for a program, far above the sizes that linkers produce. They are necessary because many headers may name the
/// same bytes, so the length of a file does not limit the time and the memory for reading it.
const MAX_SEGMENTS: usize = 1024;
const MAX_SECTIONS: usize = 0xff00;
const MAX_SYMBOLS: usize = 1 << 20;
/// Maximum number of loaded bytes, and of bytes of all names.
const MAX_BYTES: usize = 64 << 20;

/// An invalid ELF file. Each text names the file, the place, the value found and the values allowed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum ElfError {
    #[error("{file}: {source}")]
    Read { file: String, source: io::Error },
    #[error("{file}: more than {MAX_FILE_BYTES} bytes, must be a program within this limit")]
    TooLong { file: String },
    #[error("{file}: begins with {found}, must be an ELF file (7f 45 4c 46)")]
    NotElf { file: String, found: String },
    #[error("{file}: ELF header: {what} is {found}, must be {allowed}")]
    Header { file: String, what: &'static str, found: String, allowed: &'static str },
    #[error("{file}: {place}: {problem}")]
    Malformed { file: String, place: String, problem: String },
    #[error("{file}: {place} is at {first:#010x} to {last:#010x}, must be within {allowed}")]
    Outside { file: String, place: String, first: u32, last: u64, allowed: String },
    #[error("{file}: {place} and {other} overlap at {at:#010x}")]
    Overlap { file: String, place: String, other: String, at: u32 },
    #[error("{file}: nothing in it is loaded, must have code")]
    Empty { file: String },
    #[error("{file}: ELF header: the entry is {entry:#010x}, must be within {}", ranges(.parts))]
    Entry { file: String, entry: u32, parts: Vec<(u32, u64)> },
}

/// The machine that a program runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machine {
    /// Handlers: 32-bit RISC-V, little-endian.
    RiscV,
    /// Firmware: 32-bit MIPS, big-endian.
    Mips,
}

impl Machine {
    fn order(self) -> Endianness {
        match self {
            Machine::RiscV => Endianness::Little,
            Machine::Mips => Endianness::Big,
        }
    }

    /// Number and name of the machine, and the names of its byte order and of the other one.
    fn names(self) -> (u16, &'static str, &'static str, &'static str) {
        match self {
            Machine::RiscV => (elf::EM_RISCV.0, "243 (RISC-V)", "little-endian", "big-endian"),
            Machine::Mips => (elf::EM_MIPS.0, "8 (MIPS)", "big-endian", "little-endian"),
        }
    }
}

/// Bytes that a program puts into memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedBytes {
    /// Its place in the file, for errors: `section .text`, `segment 0`.
    pub place: String,
    /// First byte.
    pub addr: u32,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Size in memory, in bytes. Bytes after the content are zero.
    pub size: u32,
}

impl LoadedBytes {
    /// Address after its last byte.
    pub fn end(&self) -> u64 {
        u64::from(self.addr) + u64::from(self.size)
    }
}

/// A name for an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name; bytes that are not UTF-8 are replaced.
    pub name: String,
    /// Its value.
    pub addr: u32,
    /// Size in bytes; 0 if the file does not contain it.
    pub size: u32,
    /// True if it names code: its type says so, or it has no type and is in a section of code.
    pub is_code: bool,
}

/// The contents of an ELF file, checked.
#[derive(Clone, Debug)]
pub struct Elf {
    /// Name of the file, for errors.
    pub file: String,
    /// Address at which execution starts.
    pub entry: u32,
    /// Loaded segments by virtual address, as a loader of whole machines takes them.
    pub segments: Vec<LoadedBytes>,
    /// Sections with content by load address, as tools that write memory images take them; the segments if there are no
    /// sections.
    pub sections: Vec<LoadedBytes>,
    /// Named symbols that are defined, in order of their address.
    pub symbols: Vec<Symbol>,
    /// The file's bytes, for debug information.
    pub data: Vec<u8>,
}

impl Elf {
    /// Reads the file at `path`, for RISC-V.
    pub fn open(path: &Path) -> Result<Self, ElfError> {
        Self::open_for(Machine::RiscV, path)
    }

    /// Reads the file at `path`.
    pub fn open_for(machine: Machine, path: &Path) -> Result<Self, ElfError> {
        let file = path.display().to_string();
        match read_at_most(path, MAX_FILE_BYTES) {
            Ok(data) if data.len() as u64 > MAX_FILE_BYTES => Err(ElfError::TooLong { file }),
            Ok(data) => Self::parse_for(machine, file, data),
            Err(source) => Err(ElfError::Read { file, source }),
        }
    }

    /// Reads `data`, which came from `file`, for RISC-V.
    pub fn parse(file: String, data: Vec<u8>) -> Result<Self, ElfError> {
        Self::parse_for(Machine::RiscV, file, data)
    }

    /// Reads `data`, which came from `file`.
    pub fn parse_for(machine: Machine, file: String, data: Vec<u8>) -> Result<Self, ElfError> {
        let reader = Reader { machine, order: machine.order(), file: &file, data: &data };
        let header = reader.header()?;
        let segments = reader.segments(header)?;
        let sections = reader.sections(header, &segments)?;
        let symbols = reader.symbols(header)?;
        let segments: Vec<LoadedBytes> = segments.into_iter().map(|segment| segment.part).collect();
        if segments.iter().all(|part| part.size == 0) {
            return Err(ElfError::Empty { file });
        }
        // Firmware copies code to scratchpads, which have the same address in every core. So only load addresses
        // identify a place in one memory.
        if machine == Machine::RiscV {
            refuse_overlaps(&file, &segments)?;
        }
        refuse_overlaps(&file, &sections)?;
        let entry = header.e_entry.get(machine.order());
        Ok(Elf { entry, segments, sections, symbols, file, data })
    }

    /// The program, if its entry is in memory that it loads. On cards with a reset address, the entry has no meaning.
    pub fn with_entry(self) -> Result<Self, ElfError> {
        let has_entry = |part: &LoadedBytes| part.addr <= self.entry && u64::from(self.entry) < part.end();
        if self.segments.iter().any(has_entry) {
            return Ok(self);
        }
        let parts = self.segments.iter().map(|part| (part.addr, part.end() - 1)).collect();
        Err(ElfError::Entry { file: self.file, entry: self.entry, parts })
    }

    /// The symbol of this name.
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.symbols.iter().find(|symbol| symbol.name == name)
    }

    /// An address as text: `ping_pong_ph+0x10`, or its number if no code symbol precedes it.
    pub fn place(&self, addr: u32) -> String {
        match self.function_at(addr) {
            Some(function) if addr > function.addr => format!("{}+{:#x}", function.name, addr - function.addr),
            Some(function) => function.name.clone(),
            None => format!("{addr:#010x}"),
        }
    }

    /// The code symbol whose bytes have this address.
    fn function_at(&self, addr: u32) -> Option<&Symbol> {
        let nearest = self.function_before(addr);
        nearest.filter(|symbol| symbol.size == 0 || addr < symbol.addr.saturating_add(symbol.size))
    }

    /// The last code symbol at this address or before, whatever its size. Sizes in assembly code are often wrong.
    pub fn function_before(&self, addr: u32) -> Option<&Symbol> {
        let code = self.symbols.iter().filter(|symbol| symbol.is_code && symbol.addr <= addr);
        // If an address has several names, prefer one with a size.
        code.max_by_key(|symbol| (symbol.addr, symbol.size))
    }
}

/// The first and last addresses of loaded parts as text; of many parts, those of the first ones.
fn ranges(parts: &[(u32, u64)]) -> String {
    const MOST: usize = 4;
    let shown = parts.iter().take(MOST).map(|(first, last)| format!("{first:#010x} to {last:#010x}"));
    let rest = if parts.len() > MOST { " or a later segment" } else { "" };
    shown.collect::<Vec<_>>().join(" or ") + rest
}

/// Parts must not share a byte.
fn refuse_overlaps(file: &str, parts: &[LoadedBytes]) -> Result<(), ElfError> {
    let mut sorted: Vec<&LoadedBytes> = parts.iter().filter(|part| part.size > 0).collect();
    sorted.sort_by_key(|part| part.addr);
    for pair in sorted.windows(2) {
        if pair[0].end() > u64::from(pair[1].addr) {
            let (place, other) = (pair[0].place.clone(), pair[1].place.clone());
            return Err(ElfError::Overlap { file: file.into(), place, other, at: pair[1].addr });
        }
    }
    Ok(())
}

/// A loaded segment: the place of its content in the file and in memory.
struct Segment {
    part: LoadedBytes,
    load_addr: u32,
    offset: u64,
}

struct Reader<'a> {
    machine: Machine,
    order: Endianness,
    file: &'a str,
    data: &'a [u8],
}

impl<'a> Reader<'a> {
    fn malformed(&self, place: impl Display, problem: impl Display) -> ElfError {
        ElfError::Malformed { file: self.file.into(), place: place.to_string(), problem: problem.to_string() }
    }

    /// Checks that the number of headers or names is within the limit for a program.
    fn at_most(&self, place: &str, found: usize, most: usize, of: &str) -> Result<(), ElfError> {
        if found <= most { Ok(()) } else { Err(self.malformed(place, format!("{found} {of}, must be at most {most}"))) }
    }

    fn header(&self) -> Result<&'a FileHeader32<Endianness>, ElfError> {
        let refuse =
            |what, found: String, allowed| Err(ElfError::Header { file: self.file.into(), what, found, allowed });
        let (number, name, own_order, other_order) = self.machine.names();
        match self.data.get(..6) {
            Some(ident) if ident[..4] == elf::ELFMAG => {
                if ident[4] != 1 {
                    let found = if ident[4] == 2 { "64 bit".into() } else { ident[4].to_string() };
                    return refuse("the class", found, "32 bit");
                }
                let (own, other) = if self.order == Endianness::Little { (1, 2) } else { (2, 1) };
                if ident[5] != own {
                    let found = if ident[5] == other { other_order.into() } else { ident[5].to_string() };
                    return refuse("the byte order", found, own_order);
                }
            }
            _ => {
                let bytes: Vec<String> = self.data.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
                let found = if bytes.is_empty() { "nothing".into() } else { bytes.join(" ") };
                return Err(ElfError::NotElf { file: self.file.into(), found });
            }
        }
        let header = FileHeader32::<Endianness>::parse(self.data).map_err(|e| self.malformed("ELF header", e))?;
        let machine = header.e_machine(self.order).0;
        if machine != number {
            return refuse("the machine", machine.to_string(), name);
        }
        let kind = header.e_type(self.order).0;
        if kind != elf::ET_EXEC.0 {
            let allowed =
                "2 (linked for fixed addresses; an object file must be linked, a shared one linked with -static)";
            return refuse("the type", kind.to_string(), allowed);
        }
        Ok(header)
    }

    fn segments(&self, header: &FileHeader32<Endianness>) -> Result<Vec<Segment>, ElfError> {
        let table = header.program_headers(self.order, self.data).map_err(|e| self.malformed("program headers", e))?;
        self.at_most("program headers", table.len(), MAX_SEGMENTS, "segments")?;
        let (mut segments, mut loaded) = (Vec::new(), 0);
        for (index, row) in table.iter().enumerate() {
            let place = format!("segment {index}");
            let (addr, load_addr, size) =
                (row.p_vaddr.get(self.order), row.p_paddr.get(self.order), row.p_memsz.get(self.order));
            if row.p_type(self.order) != elf::PT_LOAD || size == 0 {
                continue;
            }
            let bytes = row.data(self.order, self.data).map_err(|()| {
                let (offset, n) = (row.p_offset.get(self.order), row.p_filesz.get(self.order));
                let have = self.data.len();
                self.malformed(&place, format!("{n} bytes at offset {offset} of a file of {have} bytes"))
            })?;
            if bytes.len() > size as usize {
                let problem = format!("{} bytes in the file for {size} bytes of memory", bytes.len());
                return Err(self.malformed(&place, problem));
            }
            let highest = addr.max(load_addr);
            if u64::from(highest) + u64::from(size) > 1 << 32 {
                return Err(self.malformed(&place, format!("{size} bytes at {highest:#010x} pass the end of memory")));
            }
            loaded += bytes.len();
            self.at_most(&place, loaded, MAX_BYTES, "bytes are loaded up to here")?;
            let part = LoadedBytes { place, addr, bytes: bytes.to_vec(), size };
            segments.push(Segment { part, load_addr, offset: u64::from(row.p_offset.get(self.order)) });
        }
        Ok(segments)
    }

    /// A section's load address comes from the segment around it.
    fn sections(&self, header: &FileHeader32<Endianness>, segments: &[Segment]) -> Result<Vec<LoadedBytes>, ElfError> {
        let table = header.sections(self.order, self.data).map_err(|e| self.malformed("section headers", e))?;
        self.at_most("section headers", table.len(), MAX_SECTIONS, "sections")?;
        let (mut parts, mut loaded, mut named) = (Vec::new(), 0, 0);
        for row in table.iter() {
            let (addr, size) = (row.sh_addr.get(self.order), row.sh_size.get(self.order));
            let is_loaded = row.sh_flags(self.order).contains(elf::SHF_ALLOC);
            if !is_loaded || size == 0 || row.sh_type(self.order) == elf::SHT_NOBITS {
                continue;
            }
            let name = table.section_name(self.order, row).map_err(|e| self.malformed("section names", e))?;
            named += name.len();
            self.at_most("section names", named, MAX_BYTES, "bytes")?;
            let place = format!("section {}", String::from_utf8_lossy(name));
            loaded += size as usize;
            self.at_most(&place, loaded, MAX_BYTES, "bytes are loaded up to here")?;
            let bytes = row.data(self.order, self.data).map_err(|e| self.malformed(&place, e))?;
            let offset = u64::from(row.sh_offset.get(self.order));
            let around = segments.iter().find(|segment| {
                let within = offset.checked_sub(segment.offset);
                within.is_some_and(|at| at + u64::from(size) <= segment.part.bytes.len() as u64)
            });
            let Some(around) = around else {
                return Err(self.malformed(&place, format!("{size} bytes at {addr:#010x} that no segment loads")));
            };
            let addr = around.load_addr + (offset - around.offset) as u32;
            parts.push(LoadedBytes { place, addr, bytes: bytes.to_vec(), size });
        }
        if table.is_empty() {
            parts = segments.iter().map(|s| LoadedBytes { addr: s.load_addr, ..s.part.clone() }).collect();
        }
        Ok(parts)
    }

    fn symbols(&self, header: &FileHeader32<Endianness>) -> Result<Vec<Symbol>, ElfError> {
        let sections = header.sections(self.order, self.data).map_err(|e| self.malformed("section headers", e))?;
        let table =
            sections.symbols(self.order, self.data, elf::SHT_SYMTAB).map_err(|e| self.malformed("symbol table", e))?;
        self.at_most("symbol table", table.len(), MAX_SYMBOLS, "symbols")?;
        let (mut symbols, mut named) = (Vec::new(), 0);
        for row in table.iter() {
            let kind = row.st_type();
            let is_named = kind == elf::STT_FUNC || kind == elf::STT_NOTYPE || kind == elf::STT_OBJECT;
            if !is_named || row.is_undefined(self.order) {
                continue;
            }
            let name = row.name(self.order, table.strings()).map_err(|e| self.malformed("symbol names", e))?;
            named += name.len();
            self.at_most("symbol names", named, MAX_BYTES, "bytes")?;
            // Assemblers create names with this prefix for data in code and for local labels.
            if name.is_empty() || name.starts_with(b"$") || name.starts_with(b".L") {
                continue;
            }
            let name = String::from_utf8_lossy(name).into_owned();
            let (addr, size) = (row.st_value.get(self.order), row.st_size.get(self.order));
            let section = sections.section(object::SectionIndex(row.st_shndx(self.order).0.into()));
            let runs = section.is_ok_and(|section| section.sh_flags(self.order).contains(elf::SHF_EXECINSTR));
            let is_code = kind == elf::STT_FUNC || kind == elf::STT_NOTYPE && runs;
            symbols.push(Symbol { name, addr, size, is_code });
        }
        symbols.sort_by(|a, b| (a.addr, &a.name).cmp(&(b.addr, &b.name)));
        symbols.dedup();
        Ok(symbols)
    }
}
