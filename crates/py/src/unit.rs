//! A core-based unit of a PANIC NIC by itself.

use crate::{input, json};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use spinet::elf::Elf;
use spinet::unit::{self, Offer, Setting};
use std::path::PathBuf;

/// A packet as Python gives it: bytes, flow, hash, metadata, offsets of the network and transport header.
type Packet = (Vec<u8>, u32, u32, u64, [u16; 2]);

/// Runs a program on packets. Returns the result as JSON, and the output for each packet, which is empty for dropped
/// packets.
#[pyfunction]
#[pyo3(signature = (path, packets, *, params = None, clock_mhz = 250, credits = 4, most_cycles = 1_000_000_000))]
pub fn run_unit<'py>(
    py: Python<'py>,
    path: PathBuf,
    packets: Vec<Packet>,
    params: Option<&str>,
    clock_mhz: u32,
    credits: u32,
    most_cycles: u64,
) -> PyResult<(String, Vec<Bound<'py, PyBytes>>)> {
    let report = py.detach(|| {
        let elf = Elf::open(&path).map_err(input)?;
        let params = unit::params(params.unwrap_or(unit::PRESET)).map_err(input)?;
        let setting = Setting { params, clock_mhz, credits, most_cycles };
        let offer = |(bytes, flow, hash, metadata, headers)| Offer { bytes, flow, hash, metadata, headers };
        unit::run(&elf, &setting, packets.into_iter().map(offer).collect()).map_err(input)
    })?;
    let bytes = report.answers.iter().map(|answer| PyBytes::new(py, &answer.bytes)).collect();
    Ok((json(&report)?, bytes))
}
