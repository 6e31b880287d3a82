//! Source lines of addresses, where the program has debug information.

use crate::elf::{Elf, LoadedBytes};
use addr2line::{Context, gimli};
use object::read::elf::ElfFile32;
use object::{Endianness, Object, ObjectSection};
use schemars::JsonSchema;
use serde::Serialize;

/// The source line of an address, in the function whose code it is.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct SourceLine {
    /// Source line of the address, such as `file.c:12`; `null` without debug information.
    pub line: Option<String>,
    /// Functions that the compiler inlined there, outermost first. The instruction belongs to the last one.
    pub inlined: Vec<InlinedLine>,
}

/// A line of a function that the compiler inlined.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct InlinedLine {
    /// Its name.
    pub function: Option<String>,
    /// Source line in it.
    pub line: String,
}

impl SourceLine {
    /// `handler.c:12, inlined from lock.h:40, atomic.h:7`, with files as `file` shows them.
    pub fn text(&self, file: impl Fn(&str) -> &str) -> Option<String> {
        let line = file(self.line.as_deref()?);
        let inlined: Vec<&str> = self.inlined.iter().map(|call| file(&call.line)).collect();
        Some(match inlined.is_empty() {
            true => line.to_owned(),
            false => format!("{line}, inlined from {}", inlined.join(", ")),
        })
    }
}

/// The source line of an address; empty if the program has no debug information.
pub fn line_of(elf: &Elf, addr: u32) -> SourceLine {
    Lines::of(elf).at(addr)
}

/// The source lines of a program.
pub struct Lines<'a> {
    elf: &'a Elf,
    context: Option<Context<Slice<'a>>>,
}

type Slice<'a> = gimli::EndianSlice<'a, gimli::RunTimeEndian>;

impl<'a> Lines<'a> {
    /// Reads the debug information, if the program has any.
    pub fn of(elf: &'a Elf) -> Lines<'a> {
        Lines { elf, context: context(elf) }
    }

    /// The source line of an address; empty if there is none.
    pub fn at(&self, addr: u32) -> SourceLine {
        let mut frames = self.frames_at(addr).unwrap_or_default();
        // Frames come innermost first.
        let outermost = frames.pop();
        frames.reverse();
        SourceLine { line: outermost.map(|frame| frame.line), inlined: frames }
    }

    /// The function at an address and those inlined there, innermost first.
    fn frames_at(&self, addr: u32) -> Option<Vec<InlinedLine>> {
        // The linker leaves lines of functions that it dropped at addresses where no code is.
        let is_loaded = |part: &LoadedBytes| addr >= part.addr && u64::from(addr) < part.end();
        if !self.elf.segments.iter().any(is_loaded) {
            return None;
        }
        let mut found = self.context.as_ref()?.find_frames(addr.into()).skip_all_loads().ok()?;
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            let Some((file, line)) = frame.location.and_then(|at| Some((at.file?, at.line?))) else { continue };
            let function = frame.function.and_then(|function| Some(function.raw_name().ok()?.into_owned()));
            frames.push(InlinedLine { function, line: format!("{file}:{line}") });
        }
        Some(frames)
    }
}

fn context(elf: &Elf) -> Option<Context<Slice<'_>>> {
    let file = ElfFile32::<Endianness>::parse(&*elf.data).ok()?;
    let order = if file.is_little_endian() { gimli::RunTimeEndian::Little } else { gimli::RunTimeEndian::Big };
    let section = |id: gimli::SectionId| -> Result<_, gimli::Error> {
        let section = file.section_by_name(id.name());
        // An unreadable section counts as missing.
        let data = section.and_then(|section| section.data().ok()).unwrap_or_default();
        Ok(gimli::EndianSlice::new(data, order))
    };
    Context::from_dwarf(gimli::Dwarf::load(section).ok()?).ok()
}
