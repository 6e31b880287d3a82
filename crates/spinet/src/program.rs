//! Programs for PsPIN: the contents that an ELF file puts into the NIC's memories, and its handlers.

use crate::elf::{Elf, ElfError, LoadedBytes, Symbol};
use diagnostics::near::nearest;
use pspin::protocol::{DATA_REGIONS, Region};
use pspin::{Image, PspinParams, map};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Address at which cores start.
pub const BOOT_ADDR: u32 = map::BOOT_ADDR;
/// Address at which every cluster sees its own L1.
const L1_ALIAS: u32 = map::ALIAS_BASE;

/// Number of bytes that the host states as the size of a handler. The driver of PsPIN (libpspin,
/// `spin_find_handler_by_name`) states this size for every handler.
pub const HANDLER_BYTES: u32 = 4096;

/// The three kinds of handlers, and the suffixes of their symbols.
pub const STAGES: [(&str, &str); 3] = [("header", "_hh"), ("payload", "_ph"), ("completion", "_th")];

/// Names of the loop that waits for tasks and calls handlers: the SDK's runtime, PsPIN's runtime.
const RUNTIME_LOOPS: [&str; 2] = ["run_loop", "hpu_run"];

/// A program that this NIC cannot run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum ProgramError {
    #[error(transparent)]
    Elf(#[from] ElfError),
    #[error("{file}: its code is {found} bytes, program memory has {allowed}")]
    TooLarge { file: String, found: u64, allowed: u32 },
    #[error(
        "{file}: there is no code at {BOOT_ADDR:#010x}, where cores start; link it with the runtime and linker script of PsPIN"
    )]
    NoBoot { file: String },
    #[error("{file}: {key} is `{found}`, must be a function of the program{hint}")]
    NoSymbol { file: String, key: String, found: String, hint: String },
    #[error(
        "{file}: handler is `{found}`, must be one of the program's: a function `{found}_hh`, `{found}_ph` or `{found}_th`{hint}"
    )]
    NoHandler { file: String, found: String, hint: String },
    #[error("{file}: it has no handlers, must have a function that ends in `_hh`, `_ph` or `_th`")]
    NoHandlers { file: String },
    #[error("{file}: it has several handlers, `handler` must name one of {}", some(handlers))]
    Ambiguous { file: String, handlers: Vec<String> },
    #[error("{file}: `{symbol}` names {n} places, must name one")]
    Twice { file: String, symbol: String, n: usize },
    #[error(
        "{file}: `{symbol}` is at {addr:#010x}, a handler must be in program memory, {:#010x} to {last:#010x}",
        map::PROGRAM_BASE
    )]
    HandlerOutside { file: String, symbol: String, addr: u32, last: u64 },
}

/// Suggests a similar name, or lists all names.
fn hint<'a>(found: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    match (nearest(found, names.clone()), names.clone().next()) {
        (Some(near), _) => format!("; did you mean `{near}`?"),
        (None, None) => String::new(),
        (None, Some(_)) => format!("; it has {}", some(names)),
    }
}

/// The first of some names.
fn some(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    const SHOWN: usize = 12;
    let mut names = names.into_iter();
    let shown: Vec<String> = names.by_ref().take(SHOWN).map(|name| name.as_ref().to_owned()).collect();
    let more = if names.next().is_some() { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// A program, ready for a NIC.
pub struct Loaded {
    /// The contents of its memories.
    pub image: Image,
    /// Its ranges in handler memory, so that other data can be placed outside of them.
    pub in_handler_memory: Vec<(u32, u64)>,
    /// Its code.
    pub code: Region,
}

impl Loaded {
    /// The parts of handler memory with its static data, in order. If there are more than a context may name, the
    /// closest ones are merged with the gap between them.
    pub fn static_data(&self) -> Vec<Region> {
        let parts = join(self.in_handler_memory.iter().map(|&(from, to)| (from.into(), to)).collect(), DATA_REGIONS);
        parts.iter().map(|&(from, to)| Region { addr: from as u32, size: (to - from) as u32 }).collect()
    }
}

/// Joins ranges of addresses that touch or are close, in order, until at most `most` are left.
pub(crate) fn join(mut parts: Vec<(u64, u64)>, most: usize) -> Vec<(u64, u64)> {
    parts.sort_unstable();
    parts.retain(|&(from, to)| from < to);
    let near = |a: &(u64, u64), b: &(u64, u64)| b.0.saturating_sub(a.1) < SAME_PART;
    let apart = joined(&parts, |last, next, _| near(last, next));
    let mut widest: Vec<usize> = (1..apart.len()).collect();
    widest.sort_unstable_by_key(|&i| Reverse((apart[i].0 - apart[i - 1].1, i)));
    let stays: BTreeSet<usize> = widest.into_iter().take(most.saturating_sub(1)).collect();
    joined(&apart, |_, _, i| !stays.contains(&i))
}

/// Joins ranges in order. A range is joined to the previous one if `is_one` returns true for the two ranges and the
/// position of the second.
fn joined(parts: &[(u64, u64)], is_one: impl Fn(&(u64, u64), &(u64, u64), usize) -> bool) -> Vec<(u64, u64)> {
    let mut whole: Vec<(u64, u64)> = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        match whole.last_mut() {
            Some(last) if is_one(last, part, i) => last.1 = last.1.max(part.1),
            _ => whole.push(*part),
        }
    }
    whole
}

/// Parts with a smaller gap than this, in bytes, count as one part, because the linker aligns sections.
const SAME_PART: u64 = 64;

/// The symbol of each stage's handler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handlers {
    /// Name that they share, without the suffix; empty if the context names each symbol in full.
    pub name: String,
    /// For header, payload and completion.
    pub stages: [Option<Symbol>; 3],
}

impl Handlers {
    /// Code of header, payload and completion handler.
    pub fn regions(&self) -> [Region; 3] {
        [0, 1, 2].map(|stage| match &self.stages[stage] {
            Some(symbol) => Region { addr: symbol.addr, size: HANDLER_BYTES },
            None => Region::default(),
        })
    }
}

/// Loads the sections of the program that boots this NIC into the NIC's memories.
pub fn load(elf: &Elf, params: &PspinParams) -> Result<Loaded, ProgramError> {
    let mut loaded = Loaded { image: Image::default(), in_handler_memory: Vec::new(), code: Region::default() };
    loaded.put(elf, params)?;
    let Loaded { image, code, .. } = &mut loaded;
    let boot = (BOOT_ADDR - map::PROGRAM_BASE) as usize;
    if image.program.get(boot..boot + 2).is_none_or(|code| code == [0, 0]) {
        return Err(ProgramError::NoBoot { file: elf.file.clone() });
    }
    let is_loop = |symbol: &&Symbol| symbol.is_code && symbol.size > 0 && RUNTIME_LOOPS.contains(&&*symbol.name);
    image.runtime = elf.symbols.iter().find(is_loop).map(|symbol| Region { addr: symbol.addr, size: symbol.size });
    *code = Region { addr: map::PROGRAM_BASE, size: image.program.len() as u32 };
    Ok(loaded)
}

impl Loaded {
    /// Adds the sections of a tenant's program to the loaded ones; returns its code and its static data.
    pub fn add(&mut self, elf: &Elf, params: &PspinParams) -> Result<(Region, Vec<Region>), ProgramError> {
        let (n_l1, n_data) = (self.image.l1.len(), self.in_handler_memory.len());
        self.put(elf, params)?;
        if self.image.l1.len() > n_l1 {
            let in_l1 = |part: &&LoadedBytes| part.addr < map::L2_HANDLER_BASE;
            return Err(outside(elf, elf.sections.iter().find(in_l1).expect("a part in L1"), params));
        }
        let code = elf.sections.iter().filter_map(|part| within(part, map::PROGRAM_BASE, 0x0100_0000).map(|_| part));
        let code = join(code.map(|part| (part.addr.into(), part.end())).collect(), 1);
        let data = self.in_handler_memory[n_data..].iter().map(|&(from, to)| (from.into(), to)).collect();
        let region = |(from, to): (u64, u64)| Region { addr: from as u32, size: (to - from) as u32 };
        let data = join(data, DATA_REGIONS).into_iter().map(region).collect();
        Ok((code.into_iter().map(region).next().unwrap_or_default(), data))
    }

    fn put(&mut self, elf: &Elf, params: &PspinParams) -> Result<(), ProgramError> {
        let Loaded { image, in_handler_memory, .. } = self;
        let l1 = u64::from(params.cluster.l1_bytes);
        for part in &elf.sections {
            if let Some(at) = within(part, map::PROGRAM_BASE, 0x0100_0000) {
                let (at, end) = (at as usize, at as usize + part.bytes.len());
                if end > params.l2.program_bytes as usize {
                    let (found, allowed) = (end as u64, params.l2.program_bytes);
                    return Err(ProgramError::TooLarge { file: elf.file.clone(), found, allowed });
                }
                image.program.resize(image.program.len().max(end), 0);
                image.program[at..end].copy_from_slice(&part.bytes);
            } else if within(part, map::L2_HANDLER_BASE, params.l2.handler_bytes.into()).is_some() {
                in_handler_memory.push((part.addr, part.end()));
                image.handler_memory.push((part.addr, part.bytes.clone()));
            } else if let Some(at) = within(part, map::L1_BASE, l1).or(within(part, L1_ALIAS, l1)) {
                image.l1.push((at, part.bytes.clone()));
            } else {
                return Err(outside(elf, part, params));
            }
        }
        // .bss takes memory, but is not in the file.
        for part in &elf.segments {
            let (first, last) = (u64::from(part.addr), part.end());
            if within(part, map::L2_HANDLER_BASE, params.l2.handler_bytes.into()).is_some() {
                in_handler_memory.push((part.addr, last));
            } else if first < u64::from(map::L2_HANDLER_BASE) && last > u64::from(map::L2_HANDLER_BASE) {
                return Err(outside(elf, part, params));
            }
        }
        Ok(())
    }
}

fn outside(elf: &Elf, part: &LoadedBytes, params: &PspinParams) -> ProgramError {
    let range = |first: u32, size: u32| format!("{first:#010x} to {:#010x}", u64::from(first) + u64::from(size) - 1);
    let allowed = format!(
        "program memory ({}), handler memory ({}) or L1 ({} or {})",
        range(map::PROGRAM_BASE, params.l2.program_bytes),
        range(map::L2_HANDLER_BASE, params.l2.handler_bytes),
        range(L1_ALIAS, params.cluster.l1_bytes),
        range(map::L1_BASE, params.cluster.l1_bytes),
    );
    let (place, first, last) = (part.place.clone(), part.addr, part.end() - 1);
    ElfError::Outside { file: elf.file.clone(), place, first, last, allowed }.into()
}

/// Returns true if a file with this name must be compiled.
pub(crate) fn is_source(path: &str) -> bool {
    [".c", ".S", ".s"].iter().any(|suffix| path.ends_with(suffix))
}

/// Offset of a part within a range that contains all of it.
fn within(part: &LoadedBytes, base: u32, size: u64) -> Option<u32> {
    let at = part.addr.checked_sub(base)?;
    (u64::from(at) + u64::from(part.size) <= size).then_some(at)
}

/// Names of the handlers in a program, in the order of their code.
pub fn handler_names(elf: &Elf) -> Vec<String> {
    let (mut names, mut known) = (Vec::new(), BTreeSet::new());
    for symbol in elf.symbols.iter().filter(|symbol| symbol.is_code) {
        let stem = STAGES.iter().find_map(|(_, suffix)| symbol.name.strip_suffix(suffix));
        if let Some(stem) = stem.filter(|stem| !stem.is_empty() && known.insert(*stem)) {
            names.push(stem.into());
        }
    }
    names
}

/// The handlers that a context names: by a common name, by their symbols (an empty one means none), or the only ones
/// that there are.
pub fn find_handlers(
    elf: &Elf,
    params: &PspinParams,
    name: Option<&str>,
    symbols: [Option<&str>; 3],
) -> Result<Handlers, ProgramError> {
    let file = || elf.file.clone();
    let names = handler_names(elf);
    let wanted = match (name, &names[..]) {
        (Some(name), _) if names.iter().any(|known| known == name) => name,
        (Some(name), _) => {
            let hint = hint(name, names.iter().map(String::as_str));
            return Err(ProgramError::NoHandler { file: file(), found: name.into(), hint });
        }
        (None, _) if symbols.iter().flatten().any(|symbol| !symbol.is_empty()) => "",
        (None, [only]) => only,
        (None, []) => return Err(ProgramError::NoHandlers { file: file() }),
        (None, _) => return Err(ProgramError::Ambiguous { file: file(), handlers: names }),
    };
    let mut handlers = Handlers { name: wanted.into(), ..Handlers::default() };
    for ((slot, (stage, suffix)), symbol) in handlers.stages.iter_mut().zip(STAGES).zip(symbols) {
        *slot = match symbol {
            Some("") => None,
            Some(symbol) => Some(find_function(elf, params, stage, symbol)?),
            None if wanted.is_empty() => None,
            None => {
                let symbol = format!("{wanted}{suffix}");
                let exists = elf.symbols.iter().any(|known| known.is_code && known.name == symbol);
                exists.then(|| find_function(elf, params, stage, &symbol)).transpose()?
            }
        };
    }
    Ok(handlers)
}

fn find_function(elf: &Elf, params: &PspinParams, key: &str, name: &str) -> Result<Symbol, ProgramError> {
    let file = || elf.file.clone();
    let functions = || elf.symbols.iter().filter(|symbol| symbol.is_code);
    let found: Vec<&Symbol> = functions().filter(|symbol| symbol.name == name).collect();
    match found[..] {
        [] => {
            let hint = hint(name, functions().map(|symbol| symbol.name.as_str()));
            Err(ProgramError::NoSymbol { file: file(), key: key.into(), found: name.into(), hint })
        }
        [symbol] => {
            let size = params.l2.program_bytes;
            if symbol.addr.wrapping_sub(map::PROGRAM_BASE) >= size {
                let last = u64::from(map::PROGRAM_BASE) + u64::from(size) - 1;
                return Err(ProgramError::HandlerOutside {
                    file: file(),
                    symbol: name.into(),
                    addr: symbol.addr,
                    last,
                });
            }
            Ok(symbol.clone())
        }
        _ => Err(ProgramError::Twice { file: file(), symbol: name.into(), n: found.len() }),
    }
}

/// Facts about a program, for reports.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Info {
    /// Address at which execution starts.
    pub entry: u32,
    /// Bytes in program memory, up to the last.
    pub program_bytes: u64,
    /// Bytes that it puts into L2 handler memory.
    pub handler_memory_bytes: u64,
    /// Handlers by name, each with a symbol for each stage that it has.
    pub handlers: BTreeMap<String, BTreeMap<&'static str, Option<SymbolInfo>>>,
    /// Number of symbols.
    pub symbols: usize,
}

/// A symbol.
#[derive(Clone, Debug, serde::Serialize)]
pub struct SymbolInfo {
    /// Its name.
    pub symbol: String,
    /// Its value.
    pub addr: u32,
    /// Size in bytes; 0 if the file does not contain it.
    pub size: u32,
}

impl Info {
    /// Reads the program at `path`. It may be for a NIC with any sizes of memories.
    pub fn open(path: &Path) -> Result<Self, ElfError> {
        let elf = Elf::open(path)?;
        let parts = |base: u32, end: u32| elf.sections.iter().filter(move |p| (base..end).contains(&p.addr));
        let program_bytes = parts(map::PROGRAM_BASE, 0x1E00_0000).map(|part| part.end()).max();
        // If several handlers have a name, the first is used.
        let symbols: BTreeMap<&str, &Symbol> = elf.symbols.iter().rev().map(|s| (&*s.name, s)).collect();
        let stages = |name: &String| {
            let stage = |(stage, suffix)| {
                let symbol = symbols.get(&*format!("{name}{suffix}")).copied().cloned();
                (stage, symbol.map(|Symbol { name, addr, size, .. }| SymbolInfo { symbol: name, addr, size }))
            };
            (name.clone(), STAGES.into_iter().map(stage).collect())
        };
        Ok(Info {
            entry: elf.entry,
            program_bytes: program_bytes.map_or(0, |end| end - u64::from(map::PROGRAM_BASE)),
            handler_memory_bytes: parts(map::L2_HANDLER_BASE, map::L2_PACKET_BASE).map(|p| u64::from(p.size)).sum(),
            handlers: handler_names(&elf).iter().map(stages).collect(),
            symbols: elf.symbols.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Each character stands for 64 bytes, `#` for those that belong to a part.
    fn check(parts: &str, most: usize, want: Expect) {
        let taken = parts.char_indices().filter(|(_, c)| *c == '#').map(|(i, _)| (64 * i as u64, 64 * i as u64 + 64));
        let joined = join(taken.rev().collect(), most);
        let mut shown = vec!['.'; parts.len()];
        joined.iter().for_each(|&(from, to)| shown[from as usize / 64..to as usize / 64].fill('#'));
        want.assert_eq(&shown.iter().collect::<String>());
    }

    #[test]
    fn parts_are_joined_where_the_least_lies_between_them() {
        check("##.#..##...#.", 9, expect!["##.#..##...#."]);
        check("##.#..##...#.", 3, expect!["####..##...#."]);
        check("##.#..##...#.", 2, expect!["########...#."]);
        check("##.#..##...#.", 1, expect!["############."]);
        // If gaps are equal, the first one is closed.
        check("#..#..#", 2, expect!["####..#"]);
        assert_eq!(join(vec![(0, 100), (10, 20), (163, 170), (240, 250), (9, 9)], 9), [(0, 170), (240, 250)]);
    }
}
