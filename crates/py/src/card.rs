//! A run of a card that is wired from modules.

use crate::run::start_error;
use crate::told::{self, Described};
use crate::{gone, input, json, settings};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spinet::cards::{CardRun as Inner, FRAME_COLUMNS, Firmware, Setup, Terms, WAYS};
use spinet::experiment::Span;
use spinet::worker::Worker;
use std::path::PathBuf;
use std::time::Duration;
use wire::faults::Faults;
use wire::pacing::Pacing;

/// A run of a card with firmware; it lives on a thread of its own.
#[pyclass(frozen, module = "spinet._native")]
pub struct CardRun {
    worker: Worker<Inner>,
}

#[pymethods]
impl CardRun {
    /// Builds the card.
    #[new]
    #[pyo3(signature = (nic, *, base_dir, sets = Vec::new(), elf = None, image = None, load = None, entry = None, traffic = None, send = None, pacing = None, count = None, faults = None, limit = None, seed = 1, profile = false))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        py: Python<'_>,
        nic: String,
        base_dir: PathBuf,
        sets: Vec<String>,
        elf: Option<PathBuf>,
        image: Option<PathBuf>,
        load: Option<u32>,
        entry: Option<u32>,
        traffic: Option<String>,
        send: Option<String>,
        pacing: Option<&str>,
        count: Option<u64>,
        faults: Option<&str>,
        limit: Option<&str>,
        seed: u64,
        profile: bool,
    ) -> PyResult<Self> {
        let firmware = match (elf, image, load, entry) {
            (Some(elf), ..) => Some(Firmware::Elf(elf)),
            (None, Some(image), Some(load), entry) => Some(Firmware::Raw(image, load, entry.unwrap_or(load))),
            (None, Some(image), None, _) => Some(Firmware::Image(image)),
            (None, None, ..) => None,
        };
        let limit = limit.map(Span::parse).transpose().map_err(|error| input(format!("limit: {error}")))?;
        let limit = limit.map(|limit| limit.time());
        let pacing = pacing.map_or(Ok(Pacing::TIMES), str::parse).map_err(|error| input(format!("pacing: {error}")))?;
        let faults = faults.map_or(Ok(Faults::default()), str::parse);
        let faults = faults.map_err(|error| input(format!("faults: {error}")))?;
        let terms = Terms { pacing, count, faults, seed };
        let settings = settings(&sets)?;
        let setup = Setup { nic, settings, base_dir, firmware, traffic, send, terms, limit, profile };
        let started = py.detach(|| Worker::start(move || Inner::new(setup)));
        let worker = started.map_err(start_error)?;
        Ok(CardRun { worker })
    }

    /// Runs for about that long.
    fn advance<'py>(&self, py: Python<'py>, max_wall_ms: u64) -> PyResult<Bound<'py, PyDict>> {
        let budget = Duration::from_millis(max_wall_ms);
        let progress = py.detach(|| self.worker.call(move |run| run.advance(budget))).map_err(gone)?;
        let dict = PyDict::new(py);
        dict.set_item("done", progress.is_done)?;
        dict.set_item("frames", progress.frames)?;
        dict.set_item("simulated_ns", progress.simulated.fs() / 1_000_000)?;
        dict.set_item("fraction", progress.fraction)?;
        Ok(dict)
    }

    /// The summary so far, as JSON.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| json(&self.worker.call(|run| run.summary()).map_err(gone)?))
    }

    /// Every frame, by column: little-endian numbers.
    fn frame_table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        told::by_name(py, py.detach(|| self.worker.call(|run| run.frame_table())).map_err(gone)?)
    }

    /// Writes what came out of the card as captures into a folder.
    fn write_captures(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        py.detach(|| self.worker.call(move |run| run.write_captures(&folder))).map_err(gone)?.map_err(input)
    }

    /// Ends the run and frees its memory.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.worker.stop());
    }
}

/// The columns of the table of frames: name, NumPy type, meaning, names of values.
#[pyfunction]
pub fn frame_columns() -> Described {
    told::described(FRAME_COLUMNS, |name| if name == "way" { WAYS.to_vec() } else { Vec::new() })
}
