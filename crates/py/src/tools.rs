//! What needs no run: presets, expressions, ELF files, the plain machine.

use crate::{input, json};
use pyo3::prelude::*;
use spinet::elf::Elf;
use spinet::exec::{Host, Limits, Machine, Verdict};
use spinet::experiment::Checked;
use spinet::toml_text::Format;
use spinet::{matching, nics, program};
use std::path::{Path, PathBuf};
use wire::expr::Matcher;

/// How an experiment is written.
pub fn format(name: &str) -> PyResult<Format> {
    match name {
        "toml" => Ok(Format::Toml),
        "json" => Ok(Format::Json),
        _ => Err(input(format!("format is `{name}`, must be `toml` or `json`"))),
    }
}

/// Understands an experiment.
pub fn read_experiment(text: &str, file: &str, base_dir: &Path, format: Format) -> PyResult<Checked> {
    Checked::read(text, file, base_dir, format).map_err(input)
}

/// The version of spinet.
#[pyfunction]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Presets: name and a line about each.
#[pyfunction]
pub fn nic_list() -> Vec<(&'static str, String)> {
    nics::PRESETS.iter().map(|preset| (preset.name, preset.about())).collect()
}

/// A preset as TOML, with settings over it.
#[pyfunction]
#[pyo3(signature = (nic, sets = Vec::new(), base_dir = PathBuf::from(".")))]
pub fn nic_show(nic: &str, sets: Vec<String>, base_dir: PathBuf) -> PyResult<String> {
    let settings: Result<Vec<_>, _> = sets.iter().map(|set| nics::parse_setting(set)).collect();
    nics::show(nic, &settings.map_err(input)?, &base_dir).map_err(input)
}

/// Area and power of a preset's parts, with settings over it, as JSON.
#[pyfunction]
#[pyo3(signature = (nic, sets = Vec::new(), base_dir = PathBuf::from(".")))]
pub fn nic_cost(nic: &str, sets: Vec<String>, base_dir: PathBuf) -> PyResult<String> {
    let settings: Result<Vec<_>, _> = sets.iter().map(|set| nics::parse_setting(set)).collect();
    json(&nics::cost(nic, &settings.map_err(input)?, &base_dir).map_err(input)?)
}

/// An experiment with its defaults, as JSON.
#[pyfunction]
#[pyo3(signature = (text, file, base_dir, format = "toml"))]
pub fn check_experiment(py: Python<'_>, text: &str, file: &str, base_dir: PathBuf, format: &str) -> PyResult<String> {
    let format = self::format(format)?;
    py.detach(|| json(&read_experiment(text, file, &base_dir, format)?.experiment))
}

/// An expression as it is understood.
#[pyfunction]
pub fn match_expression(expr: &str) -> PyResult<String> {
    Matcher::parse(expr).map(|matcher| matcher.to_string()).map_err(input)
}

/// Packets of a capture that an expression means, as JSON.
#[pyfunction]
#[pyo3(signature = (expr, path, limit = 10))]
pub fn match_capture(py: Python<'_>, expr: &str, path: PathBuf, limit: usize) -> PyResult<String> {
    py.detach(|| {
        let matcher = Matcher::parse(expr).map_err(input)?;
        json(&matching::match_capture(&matcher, &path, limit).map_err(input)?)
    })
}

/// What a program for PsPIN has, as JSON.
#[pyfunction]
pub fn elf_info(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| json(&program::Info::open(&path).map_err(input)?))
}

/// Runs a program on the plain machine; what came of it, as JSON.
#[pyfunction]
#[pyo3(signature = (path, *, isa = "rv32imac", max_instructions = None, max_cycles = None, signature = None, linux_user = false))]
pub fn exec_elf(
    py: Python<'_>,
    path: PathBuf,
    isa: &str,
    max_instructions: Option<u64>,
    max_cycles: Option<u64>,
    signature: Option<PathBuf>,
    linux_user: bool,
) -> PyResult<String> {
    if isa != "rv32imac" {
        return Err(input(format!("isa is `{isa}`, must be `rv32imac`")));
    }
    let all = Limits::default();
    let (most, cycles) = (max_instructions.unwrap_or(all.instructions), max_cycles.unwrap_or(all.cycles));
    py.detach(|| {
        let elf = Elf::open(&path).map_err(input)?;
        let host = if linux_user { Host::LinuxUser } else { Host::Bare };
        let mut machine = Machine::new(elf, host).map_err(input)?;
        if signature.is_some() {
            // Better now than after a long run.
            machine.signature().map_err(input)?;
        }
        let mut instructions = 0;
        let outcome = loop {
            instructions = most.min(instructions + INSTRUCTIONS_PER_SLICE);
            let outcome = machine.run(Limits { instructions, cycles });
            if outcome.verdict != Verdict::Limit || instructions == most || outcome.cycles >= cycles {
                break outcome;
            }
            Python::attach(|py| py.check_signals())?;
        };
        if let Some(file) = signature {
            let words = machine.signature().map_err(input)?;
            std::fs::write(&file, words).map_err(|error| input(format!("{}: {error}", file.display())))?;
        }
        json(&outcome)
    })
}

/// Instructions between two looks for Ctrl-C.
const INSTRUCTIONS_PER_SLICE: u64 = 2_000_000;
