//! The memory areas of an experiment's contexts.
//!
//! The defaults are these. Handler memory: equal parts of the last quarter of L2 handler memory that the program's data
//! leave free. Scratchpads: equal parts of the memory that explicitly placed scratchpads leave free. Host memory: 1 GiB
//! for each context, from 0x1000_0000_0000_0000 on. Below that are the contexts' descriptors, 64 bytes each from
//! 0x0fff_ffff_ffff_0000 on, to which the card writes errors of handlers.

use super::{Checked, CheckedContext};
use crate::elf::Elf;
use crate::files::read_at_most;
use crate::program::{self, Handlers, Loaded, ProgramError};
use crate::toml_text::KeyPosition;
use pspin::map;
use pspin::protocol::{Context, IoTerms, Protection, Region, Weight};
use std::io;
use std::path::Path;
use std::rc::Rc;

/// First byte of host memory. Source: PsPIN RTL a49fec8, spin_hw_conf.h, PCIE_START_ADDR.
pub const HOST_BASE: u64 = 0x1000_0000_0000_0000;
/// Host memory of a context, in bytes.
const HOST_BYTES: u32 = 1 << 30;
/// Address in host memory of the descriptors of execution contexts. The NIC writes errors of handlers to them.
///
/// assumed: the page below host memory; the paper mentions such descriptors, but not their address.
pub const DESCRIPTORS: u64 = HOST_BASE - 0x1_0000;
/// Distance from one descriptor to the next, in bytes.
pub const DESCRIPTOR_BYTES: u64 = 64;
/// Granularity of memory protection, in bytes. Source: RISC-V privileged specification 20211203, 3.7.
const WORD: u64 = 4;
/// Alignment of default areas: a beat of the wide interconnects.
const ALIGN: u32 = 64;

/// Contexts that do not fit the NIC or each other.
#[derive(Debug, thiserror::Error)]
#[error("{place}{problem}")]
pub struct LayoutError {
    /// The place in the experiment's file.
    pub place: KeyPosition,
    /// The fault.
    pub problem: LayoutProblem,
}

/// The reason why they do not fit.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum LayoutProblem {
    #[error("{context}: {source}")]
    Program { context: String, source: Box<ProgramError> },
    #[error("{context}: {memory} is at {first:#x} to {last:#x}, must be within {allowed}")]
    Outside { context: String, memory: &'static str, first: u64, last: u64, allowed: String },
    #[error("{context} and {other}: {memory} overlaps at {at:#x}, must be apart")]
    Overlap { context: String, other: String, memory: &'static str, at: u64 },
    #[error(
        "{context} and {other}: the word at {at:#x} is handler memory of both, must be of one: memory is protected by \
             words of 4 bytes"
    )]
    SharedWord { context: String, other: String, at: u64 },
    #[error("{context}: handler memory overlaps static data of a program at {at:#x}, must be apart")]
    OverStaticData { context: String, at: u64 },
    #[error(
        "`{name}` is the name of one context, and the default name of another, must be unique: choose \
             another name, or name the other context"
    )]
    Name { name: String },
    #[error("{context}: {memory} needs {needed} bytes, {left} are left")]
    NoRoom { context: String, memory: &'static str, needed: u64, left: u64 },
    #[error("{context}: {file}: {source}")]
    Data { context: String, file: String, source: io::Error },
    #[error("{context}: {file} has more than the {allowed} bytes of its {memory}")]
    DataTooLong { context: String, file: String, memory: &'static str, allowed: u64 },
}

/// A context with its memories.
#[derive(Clone, Debug)]
pub struct PlacedContext {
    /// Its name in reports.
    pub name: String,
    /// Its handlers.
    pub handlers: Handlers,
    /// The context as the NIC sees it.
    pub context: Rc<Context>,
    /// Content of its host memory.
    pub host_data: Vec<u8>,
}

/// A program with its memory.
pub struct PlacedProgram<'a> {
    /// The file.
    pub elf: &'a Elf,
    /// Its code.
    pub code: Region,
    /// Its static data.
    pub data: Vec<Region>,
}

/// Finds handlers and memory for every context; adds the content of handler memory to the programs' image. `programs`
/// are the first program, then the programs of the tenants.
pub fn place(
    checked: &Checked,
    programs: &[PlacedProgram<'_>],
    loaded: &mut Loaded,
) -> Result<Vec<PlacedContext>, LayoutError> {
    let handler_memory = handler_memory(checked, loaded)?;
    let host_memory = host_memory(checked)?;
    let scratchpads = scratchpads(checked)?;
    let mut placed = Vec::new();
    for (index, context) in checked.contexts.iter().enumerate() {
        let spec = &context.spec;
        let symbols = [spec.header.as_deref(), spec.payload.as_deref(), spec.completion.as_deref()];
        let PlacedProgram { elf, code, data: static_data } = &programs[context.tenant.map_or(0, |tenant| tenant + 1)];
        let handlers = program::find_handlers(elf, &checked.nic, spec.handler.as_deref(), symbols)
            .map_err(|source| LayoutProblem::Program { context: name(context), source: Box::new(source) })
            .map_err(|problem| at(checked, index, "handler", problem))?;
        let [header, payload, completion] = handlers.regions();
        let (memory, host) = (handler_memory[index], host_memory[index]);
        let handler_data = data(context, "handler memory", &spec.handler_memory.data, memory.size)
            .map_err(|problem| at(checked, index, "handler_memory", problem))?;
        if let Some(data) = handler_data {
            loaded.image.handler_memory.push((memory.addr, data));
        }
        let host_data = data(context, "host memory", &spec.host_memory.data, host.1)
            .map_err(|problem| at(checked, index, "host_memory", problem))?
            .unwrap_or_default();
        let protection = Protection {
            code: *code,
            data: static_data.clone(),
            watchdog_cycles: spec.watchdog_cycles.unwrap_or(checked.nic.isolation.watchdog_cycles),
            error_addr: Some(DESCRIPTORS + index as u64 * DESCRIPTOR_BYTES),
        };
        let nic_context = Context {
            id: index as u32,
            tenant: 0,
            weight: Weight::default(),
            io: IoTerms::default(),
            handler_mem: memory,
            host_mem_addr: host.0,
            host_mem_size: host.1,
            header,
            payload,
            completion,
            scratchpads: vec![scratchpads[index]; checked.nic.n_clusters as usize],
            delivery: context.delivery,
            protection,
        };
        let name = reported_name(checked, index, &handlers.name, &placed)?;
        placed.push(PlacedContext { name, handlers, context: Rc::new(nic_context), host_data });
    }
    Ok(placed)
}

/// The name of a context in reports: the user's, that of its handlers if it is unique, or its number.
fn reported_name(
    checked: &Checked,
    index: usize,
    handlers: &str,
    placed: &[PlacedContext],
) -> Result<String, LayoutError> {
    if let Some(name) = &checked.contexts[index].spec.name {
        return Ok(name.clone());
    }
    let is_given = |name: &str| checked.contexts.iter().any(|other| other.spec.name.as_deref() == Some(name));
    let is_taken = |name: &str| is_given(name) || placed.iter().any(|other| other.name == name);
    if !handlers.is_empty() && !is_taken(handlers) {
        return Ok(handlers.to_owned());
    }
    let name = format!("context {index}");
    if is_taken(&name) { Err(at(checked, index, "name", LayoutProblem::Name { name })) } else { Ok(name) }
}

/// A problem with a context's value of this key.
fn at(checked: &Checked, index: usize, key: &str, problem: LayoutProblem) -> LayoutError {
    LayoutError { place: checked.place(&["context", &index.to_string(), key]), problem }
}

/// The name of a context in errors.
fn name(context: &CheckedContext) -> String {
    let given = context.spec.name.as_ref().or(context.spec.handler.as_ref());
    given.map_or_else(|| format!("context[{}]", context.index), |name| format!("context `{name}`"))
}

fn data(
    context: &CheckedContext,
    memory: &'static str,
    file: &Option<String>,
    allowed: u32,
) -> Result<Option<Vec<u8>>, LayoutProblem> {
    let allowed = u64::from(allowed);
    let Some(file) = file else { return Ok(None) };
    let fail = |source| LayoutProblem::Data { context: name(context), file: file.clone(), source };
    let too_long = || LayoutProblem::DataTooLong { context: name(context), file: file.clone(), memory, allowed };
    let bytes = read_at_most(Path::new(file), allowed).map_err(fail)?;
    if bytes.len() as u64 > allowed { Err(too_long()) } else { Ok(Some(bytes)) }
}

fn handler_memory(checked: &Checked, loaded: &Loaded) -> Result<Vec<Region>, LayoutError> {
    let bytes = u64::from(checked.nic.l2.handler_bytes);
    let (base, end) = (u64::from(map::L2_HANDLER_BASE), u64::from(map::L2_HANDLER_BASE) + bytes);
    let quarter = end - bytes / 4;
    let used = loaded.in_handler_memory.iter().map(|&(_, end)| end).max().unwrap_or(base);
    // Default places start at the last quarter, or after the programs' data if that is later. Each context has an equal
    // part.
    let free = quarter.max(used.next_multiple_of(ALIGN.into()));
    let n = checked.contexts.len() as u64;
    let part = (end.saturating_sub(free) / n) as u32 / ALIGN * ALIGN;
    let mut regions: Vec<(u64, u64)> = Vec::new();
    for (index, context) in checked.contexts.iter().enumerate() {
        let spec = &context.spec.handler_memory;
        let size = spec.size.unwrap_or(part);
        if spec.addr.is_none() && size > part {
            let (needed, left) = (u64::from(size), u64::from(part));
            let problem = LayoutProblem::NoRoom { context: name(context), memory: "handler memory", needed, left };
            return Err(at(checked, index, "handler_memory", problem));
        }
        let first = spec.addr.map_or(free + index as u64 * u64::from(part), |addr| addr.0);
        let last = first.saturating_add(u64::from(size));
        if first < base || last > end {
            let allowed = format!("{base:#x} to {:#x}", end - 1);
            let (context, memory) = (name(context), "handler memory");
            let problem = LayoutProblem::Outside { context, memory, first, last: last.max(1) - 1, allowed };
            return Err(at(checked, index, "handler_memory", problem));
        }
        let meets = |&&(from, to): &&(u32, u64)| first < last && u64::from(from) < last && first < to;
        if let Some(&(from, _)) = loaded.in_handler_memory.iter().find(meets) {
            let problem = LayoutProblem::OverStaticData { context: name(context), at: first.max(from.into()) };
            return Err(at(checked, index, "handler_memory", problem));
        }
        regions.push((first, last));
    }
    refuse_overlaps(checked, ("handler_memory", "handler memory"), &regions)?;
    let to_words = |&(first, last): &(u64, u64)| match last > first {
        true => (first / WORD * WORD, last.next_multiple_of(WORD)),
        false => (first, first),
    };
    let words: Vec<_> = regions.iter().map(to_words).collect();
    if let Some(([one, other], word)) = meeting(&words) {
        let [context, name_of_other] = [one, other].map(|index| name(&checked.contexts[index]));
        let problem = LayoutProblem::SharedWord { context, other: name_of_other, at: word };
        return Err(at(checked, one.max(other), "handler_memory", problem));
    }
    Ok(regions.iter().map(|&(first, last)| Region { addr: first as u32, size: (last - first) as u32 }).collect())
}

fn host_memory(checked: &Checked) -> Result<Vec<(u64, u32)>, LayoutError> {
    let mut regions = Vec::new();
    for (index, context) in checked.contexts.iter().enumerate() {
        let spec = &context.spec.host_memory;
        let size = spec.size.unwrap_or(HOST_BYTES);
        let first = spec.addr.map_or(HOST_BASE + index as u64 * u64::from(HOST_BYTES), |addr| addr.0);
        let Some(last) = first.checked_add(u64::from(size)) else {
            let (context, memory, allowed) = (name(context), "host memory", "the 2^64 bytes of host memory".into());
            let problem = LayoutProblem::Outside { context, memory, first, last: u64::MAX, allowed };
            return Err(at(checked, index, "host_memory", problem));
        };
        regions.push((first, last));
    }
    refuse_overlaps(checked, ("host_memory", "host memory"), &regions)?;
    Ok(regions.iter().map(|&(first, last)| (first, (last - first) as u32)).collect())
}

fn scratchpads(checked: &Checked) -> Result<Vec<Region>, LayoutError> {
    let cluster = &checked.nic.cluster;
    let room = cluster.l1_bytes - cluster.scratchpad_offset;
    let given: u64 = checked.contexts.iter().filter_map(|c| c.spec.scratchpad_bytes).map(|n| u64::from(round(n))).sum();
    let n_others = checked.contexts.iter().filter(|c| c.spec.scratchpad_bytes.is_none()).count() as u64;
    let left = u64::from(room).saturating_sub(given);
    let part = left.checked_div(n_others).unwrap_or(0) as u32 / ALIGN * ALIGN;
    let mut addr = 0;
    let mut regions = Vec::new();
    for context in &checked.contexts {
        let size = context.spec.scratchpad_bytes.unwrap_or(part);
        if u64::from(size) > u64::from(room - addr) {
            let (needed, left) = (u64::from(size), u64::from(room - addr));
            let problem = LayoutProblem::NoRoom { context: name(context), memory: "scratchpad", needed, left };
            return Err(at(checked, context.index, "scratchpad_bytes", problem));
        }
        regions.push(Region { addr, size });
        addr = addr.saturating_add(round(size)).min(room);
    }
    Ok(regions)
}

fn round(size: u32) -> u32 {
    size.checked_next_multiple_of(ALIGN).unwrap_or(u32::MAX)
}

fn refuse_overlaps(
    checked: &Checked,
    (key, memory): (&str, &'static str),
    regions: &[(u64, u64)],
) -> Result<(), LayoutError> {
    let Some(([one, other], addr)) = meeting(regions) else { return Ok(()) };
    let [context, name_of_other] = [one, other].map(|index| name(&checked.contexts[index]));
    let problem = LayoutProblem::Overlap { context, other: name_of_other, memory, at: addr };
    Err(at(checked, one.max(other), key, problem))
}

/// The first two contexts whose regions overlap, and the place.
fn meeting(regions: &[(u64, u64)]) -> Option<([usize; 2], u64)> {
    let mut sorted: Vec<usize> = (0..regions.len()).filter(|&i| regions[i].1 > regions[i].0).collect();
    sorted.sort_by_key(|&i| regions[i]);
    let pair = sorted.windows(2).find(|pair| regions[pair[0]].1 > regions[pair[1]].0)?;
    Some(([pair[0], pair[1]], regions[pair[1]].0))
}
