//! Functions that need no run: presets, expressions, ELF files, the plain machine.

use crate::{input, json, settings};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use spinet::diff_trace::{FolderDiff, Options};
use spinet::elf::Elf;
use spinet::exec::{Host, Isa, Limits, Machine, Verdict};
use spinet::experiment::{Checked, Span};
use spinet::instructions::CoreTraces;
use spinet::kinds::{self, Text};
use spinet::offered::Offered;
use spinet::run::Wanted;
use spinet::toml_text::{self, Format};
use spinet::window::Window;
use spinet::{chains, exhaustion, matching, network, nics, program, wired};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use wire::expr::Matcher;

/// The format of an experiment, by name.
pub fn format(name: &str) -> PyResult<Format> {
    match name {
        "toml" => Ok(Format::Toml),
        "json" => Ok(Format::Json),
        _ => Err(input(format!("format is `{name}`, must be `toml` or `json`"))),
    }
}

/// Reads and checks an experiment.
pub fn read_experiment(text: &str, file: &str, base_dir: &Path, format: Format) -> PyResult<Checked> {
    Checked::read(text, file, base_dir, format).map_err(input)
}

/// The version of spinet.
#[pyfunction]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Begins a command. If a library crashes because memory is short, the command ends with an error.
#[pyfunction]
pub fn guard_command() {
    exhaustion::guard();
}

/// The command has ended with this exit code.
#[pyfunction]
pub fn unguard_command(code: i32) {
    exhaustion::unguard(code);
}

/// Removes this file or folder if the process ends for lack of memory.
#[pyfunction]
pub fn watch_partial(path: PathBuf) {
    exhaustion::watch(path);
}

/// Keeps this file or folder from now on.
#[pyfunction]
pub fn unwatch_partial(path: PathBuf) {
    exhaustion::unwatch(&path);
}

/// Presets: name and a line about each.
#[pyfunction]
pub fn nic_list() -> Vec<(&'static str, String)> {
    nics::all().map(|preset| (preset.name, preset.about())).collect()
}

/// A preset as TOML, after the settings `sets`.
#[pyfunction]
#[pyo3(signature = (nic, sets = Vec::new(), base_dir = PathBuf::from(".")))]
pub fn nic_show(nic: &str, sets: Vec<String>, base_dir: PathBuf) -> PyResult<String> {
    nics::show(nic, &settings(&sets)?, &base_dir).map_err(input)
}

/// Area and power of a preset's parts after the settings `sets`, as JSON.
#[pyfunction]
#[pyo3(signature = (nic, sets = Vec::new(), base_dir = PathBuf::from(".")))]
pub fn nic_cost(nic: &str, sets: Vec<String>, base_dir: PathBuf) -> PyResult<String> {
    json(&nics::cost(nic, &settings(&sets)?, &base_dir).map_err(input)?)
}

/// The share of the prototype's FPGA that a NIC of chains takes, as JSON: percent of LUTs and block memory, by part.
#[pyfunction]
pub fn fpga_cost(ports: u32, flit_bytes: u32, pifo_entries: u32, buffer_bytes: u64) -> PyResult<String> {
    let shape = spinet::chains::cost::Shape { ports, flit_bytes, pifo_entries, buffer_bytes };
    json(&spinet::chains::cost::parts(&shape))
}

/// The kind of a card: `handlers`, `chains` or `modules`.
#[pyfunction]
#[pyo3(signature = (nic, base_dir = PathBuf::from(".")))]
pub fn kind_of_nic(nic: &str, base_dir: PathBuf) -> &'static str {
    kinds::of_nic(nic, &base_dir).name
}

/// The kind of card that an experiment is for.
#[pyfunction]
#[pyo3(signature = (text, base_dir = PathBuf::from("."), format = "toml"))]
pub fn kind_of_experiment(text: &str, base_dir: PathBuf, format: &str) -> PyResult<&'static str> {
    Ok(kinds::of_experiment(text, &base_dir, self::format(format)?).name)
}

/// The services of `nic`, as JSON; without `nic`, the services that come with spinet.
#[pyfunction]
#[pyo3(signature = (nic = None, base_dir = PathBuf::from(".")))]
pub fn chain_services(nic: Option<&str>, base_dir: PathBuf) -> PyResult<String> {
    let own = |nic| chains::load(nic, &[], &base_dir).map(|model| chains::services_of(&model));
    json(&nic.map_or_else(|| Ok(chains::services()), own).map_err(input)?)
}

/// The text of a card that is wired from modules.
#[pyfunction]
#[pyo3(signature = (nic, base_dir = PathBuf::from(".")))]
pub fn card_text(nic: &str, base_dir: PathBuf) -> PyResult<String> {
    Ok(wired::text_of(nic, &base_dir).map_err(input)?.1)
}

/// A card that is wired from modules, checked, as JSON.
#[pyfunction]
#[pyo3(signature = (nic, sets = Vec::new(), base_dir = PathBuf::from(".")))]
pub fn card_design(py: Python<'_>, nic: &str, sets: Vec<String>, base_dir: PathBuf) -> PyResult<String> {
    let settings = settings(&sets)?;
    py.detach(|| json(&wired::design(nic, &settings, &base_dir).map_err(input)?))
}

/// The same for a text. Errors call it `file`.
#[pyfunction]
#[pyo3(signature = (text, file, sets = Vec::new(), base_dir = PathBuf::from(".")))]
pub fn card_design_of(
    py: Python<'_>,
    text: &str,
    file: &str,
    sets: Vec<String>,
    base_dir: PathBuf,
) -> PyResult<String> {
    let settings = settings(&sets)?;
    py.detach(|| json(&wired::design_of(file, text, &settings, &base_dir).map_err(input)?))
}

/// The name of the firmware that comes with spinet for the host of a card, if it has such a host.
#[pyfunction]
#[pyo3(signature = (nic, sets = Vec::new(), base_dir = PathBuf::from(".")))]
pub fn card_firmware(
    py: Python<'_>,
    nic: &str,
    sets: Vec<String>,
    base_dir: PathBuf,
) -> PyResult<Option<&'static str>> {
    let settings = settings(&sets)?;
    py.detach(|| Ok(wired::firmware_of(&wired::design(nic, &settings, &base_dir).map_err(input)?)))
}

/// The modules that a card may name, or one of them, as JSON.
#[pyfunction]
#[pyo3(signature = (name = None))]
pub fn card_modules(name: Option<&str>) -> PyResult<String> {
    json(&wired::modules(name).map_err(input)?)
}

/// JSON schemas: of cards' files (`nic`, `panic`, `chain-cards`), of experiments (`experiment`, or a kind of card), or
/// of the summaries of all kinds of cards (`summary`).
#[pyfunction]
pub fn schema(of: &str) -> PyResult<String> {
    match of {
        "nic" => json(spinet::schema::nic()),
        "experiment" => json(&*kinds::HANDLERS.schema),
        "panic" => json(&spinet::schema::panic()),
        "chain-cards" => json(&spinet::schema::chain_cards()),
        "summary" => json(&spinet::summary::schema()),
        _ => match kinds::ALL.into_iter().find(|kind| kind.name == of) {
            Some(kind) => json(&*kind.schema),
            None => Err(input(format!(
                "schema: {of} is none, must be nic, experiment, panic, chain-cards, summary or a kind of card"
            ))),
        },
    }
}

/// The kinds of cards: name, the function of its cards as text that follows "a card that", and a preset.
#[pyfunction]
pub fn kinds_of_cards() -> Vec<(&'static str, &'static str, &'static str)> {
    kinds::ALL.iter().map(|kind| (kind.name, kind.does, kind.example)).collect()
}

/// An experiment with its defaults, as JSON. Without `kind`, the kind of card follows from the text. With `lines`, the card
/// is a part of a network, and needs no traffic.
#[pyfunction]
#[pyo3(signature = (text, file, base_dir, format = "toml", kind = None, *, lines = false))]
pub fn check_experiment(
    py: Python<'_>,
    text: &str,
    file: &str,
    base_dir: PathBuf,
    format: &str,
    kind: Option<&str>,
    lines: bool,
) -> PyResult<String> {
    let format = self::format(format)?;
    let named = |name: &str| kinds::ALL.into_iter().find(|kind| kind.name == name);
    let kind = match kind {
        Some(name) => named(name).ok_or_else(|| input(format!("there is no kind of card `{name}`")))?,
        None => kinds::of_experiment(text, &base_dir, format),
    };
    let text = Text { text, file, base_dir: &base_dir, format };
    let wanted = Wanted { lines, ..Wanted::default() };
    py.detach(|| Ok((kind.check)(&text, &wanted).map_err(input)?.to_string()))
}

/// A network before it runs, as JSON: nodes, switches, links, diameter, bisection and window.
#[pyfunction]
#[pyo3(signature = (text, file, base_dir, format = "toml", *, is_whole = true))]
pub fn network_overview(
    py: Python<'_>,
    text: &str,
    file: &str,
    base_dir: PathBuf,
    format: &str,
    is_whole: bool,
) -> PyResult<String> {
    let text = Text { text, file, base_dir: &base_dir, format: self::format(format)? };
    py.detach(|| json(&network::Setup::read(&text).map_err(input)?.overview(is_whole)))
}

/// A packet of the traffic: arrival in ps and bytes. If a context takes the packet, also the context, the message, its
/// identity, and true for the last packet of the message.
type OfferedPacket<'py> = (u64, Bound<'py, PyBytes>, Option<(usize, u64, Option<u16>, bool)>);

/// Number of packets between two checks for Ctrl-C. They take some milliseconds of host time.
const CHECK_EVERY: usize = 1 << 14;

/// The packets of an experiment's traffic, with their contexts and messages.
#[pyfunction]
#[pyo3(signature = (text, file, base_dir, format = "toml"))]
pub fn offered<'py>(
    py: Python<'py>,
    text: &str,
    file: &str,
    base_dir: PathBuf,
    format: &str,
) -> PyResult<Vec<OfferedPacket<'py>>> {
    let format = self::format(format)?;
    let mut ended = Ok(());
    let packets = py.detach(|| {
        let checked = read_experiment(text, file, &base_dir, format)?;
        let continues = || {
            ended = Python::attach(|py| py.check_signals());
            ended.is_ok()
        };
        spinet::offered::offered(&checked, continues).map_err(input)
    })?;
    ended?;
    let packet = |(number, p): (usize, Offered)| {
        if number % CHECK_EVERY == 0 {
            py.check_signals()?;
        }
        let target = p.target.map(|t| (t.context, t.message, t.msgid, t.is_last));
        Ok((p.arrival_fs / 1000, PyBytes::new(py, &p.bytes), target))
    };
    packets.unwrap_or_default().into_iter().enumerate().map(packet).collect()
}

/// An expression as it is understood.
#[pyfunction]
pub fn match_expression(expr: &str) -> PyResult<String> {
    Matcher::parse(expr).map(|matcher| matcher.to_string()).map_err(input)
}

/// Packets of a capture that match an expression, as JSON.
#[pyfunction]
#[pyo3(signature = (expr, path, limit = 10))]
pub fn match_capture(py: Python<'_>, expr: &str, path: PathBuf, limit: usize) -> PyResult<String> {
    py.detach(|| {
        let matcher = Matcher::parse(expr).map_err(input)?;
        json(&matching::match_capture(&matcher, &path, limit).map_err(input)?)
    })
}

/// A span of simulated time such as `10 us`, in ps.
#[pyfunction]
pub fn span_ps(text: &str) -> PyResult<u64> {
    Span::parse(text).map(|span| span.time().ps()).map_err(input)
}

/// A window of simulated time such as `1 us..2 us`, in ps: its beginning, and, if it has an end, the first time after
/// it.
#[pyfunction]
pub fn window_ps(text: &str) -> PyResult<(u64, Option<u64>)> {
    let window = Window::parse(text).map_err(input)?;
    Ok((window.times().0.ps(), window.to.map(|to| to.time().ps())))
}

/// Returns an error if the text of a file is too long, or if a TOML key has too many parts.
#[pyfunction]
pub fn check_limits(text: &str, file: &str, format: &str) -> PyResult<()> {
    let format = if format == "json" { Format::Json } else { Format::Toml };
    toml_text::check_limits(text, file, format).map_err(input)
}

/// Contents of a program for PsPIN, as JSON.
#[pyfunction]
pub fn elf_info(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| json(&program::Info::open(&path).map_err(input)?))
}

/// Runs a program on the plain machine; returns the result as JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
#[pyo3(signature = (path, *, isa = None, max_instructions = None, max_cycles = None, signature = None, linux_user = false, trace = None))]
pub fn exec_elf(
    py: Python<'_>,
    path: PathBuf,
    isa: Option<&str>,
    max_instructions: Option<u64>,
    max_cycles: Option<u64>,
    signature: Option<PathBuf>,
    linux_user: bool,
    trace: Option<PathBuf>,
) -> PyResult<String> {
    let isa: Isa = isa.map(str::parse).transpose().map_err(input)?.unwrap_or_default();
    let all = Limits::default();
    let (most, cycles) = (max_instructions.unwrap_or(all.instructions), max_cycles.unwrap_or(all.cycles));
    py.detach(|| {
        let elf = Elf::open(&path).map_err(input)?;
        let host = if linux_user { Host::LinuxUser } else { Host::Bare };
        let mut machine = Machine::new(elf, isa, host).map_err(input)?;
        if signature.is_some() {
            // Reports a missing signature before a long run, not after it.
            machine.signature().map_err(input)?;
        }
        let trace = trace.map(|path| machine.trace(&path)).transpose().map_err(input)?;
        let mut instructions = 0;
        let outcome = loop {
            instructions = most.min(instructions + INSTRUCTIONS_PER_SLICE);
            let outcome = machine.run(Limits { instructions, cycles });
            if outcome.verdict != Verdict::Limit || instructions == most || outcome.cycles >= cycles {
                break outcome;
            }
            trace.as_ref().map_or(Ok(()), CoreTraces::check).map_err(input)?;
            Python::attach(|py| py.check_signals())?;
        };
        trace.as_ref().map_or(Ok(()), CoreTraces::flush).map_err(input)?;
        if let Some(file) = signature {
            let words = machine.signature().map_err(input)?;
            std::fs::write(&file, words).map_err(|error| input(format!("{}: {error}", file.display())))?;
        }
        json(&outcome)
    })
}

/// Compares two instruction traces, or two folders of them; returns true if they are equal, a report for people, and
/// the report as JSON.
#[pyfunction]
#[pyo3(signature = (a, b, *, program = None, lookahead = None, listed = None))]
pub fn diff_trace(
    py: Python<'_>,
    a: PathBuf,
    b: PathBuf,
    program: Option<PathBuf>,
    lookahead: Option<usize>,
    listed: Option<usize>,
) -> PyResult<(bool, String, String)> {
    py.detach(|| {
        let all = Options::default();
        let program = program.map(|path| Elf::open(&path).map(Rc::new)).transpose().map_err(input)?;
        let (lookahead, listed) = (lookahead.unwrap_or(all.lookahead), listed.unwrap_or(all.listed));
        let mut diff = FolderDiff::open(&a, &b, Options { lookahead, listed, program }).map_err(input)?;
        while !diff.advance(INSTRUCTIONS_PER_SLICE as usize).map_err(input)? {
            Python::attach(|py| py.check_signals())?;
        }
        let report = diff.finish();
        Ok((report.equal, report.to_string(), json(&report)?))
    })
}

/// Instructions between two checks for Ctrl-C.
const INSTRUCTIONS_PER_SLICE: u64 = 2_000_000;
