//! A run of an experiment.

use crate::told::{self, Described};
use crate::tools::{format, read_experiment};
use crate::{gone, input, json};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use spinet::instructions::Choice;
use spinet::packets::Fate;
use spinet::record::Line;
use spinet::run::Wanted;
use spinet::table::{self, COLUMNS};
use spinet::worker::{StartError, Worker};
use std::path::PathBuf;
use std::time::Duration;

/// Most bytes of host memory in one call.
const MAX_HOST_BYTES: usize = 1 << 30;

/// Why nothing began, as Python hears it.
pub fn start_error<E: std::fmt::Display>(error: StartError<E>) -> PyErr {
    match error {
        StartError::Run(error) => input(error),
        StartError::Gone(error) => gone(error),
    }
}

/// A run of an experiment; it lives on a thread of its own.
#[pyclass(frozen, module = "spinet._native")]
pub struct Run {
    worker: Worker<spinet::run::Run>,
}

#[pymethods]
impl Run {
    /// Builds the system.
    #[new]
    #[pyo3(signature = (experiment, *, file, base_dir, format = "toml", elf = None, tenants = Vec::new(), out_pcapng = None, packets = false, instructions = None, trace_cores = None, trace_time = None))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        py: Python<'_>,
        experiment: &str,
        file: &str,
        base_dir: PathBuf,
        format: &str,
        elf: Option<PathBuf>,
        tenants: Vec<PathBuf>,
        out_pcapng: Option<String>,
        packets: bool,
        instructions: Option<PathBuf>,
        trace_cores: Option<String>,
        trace_time: Option<String>,
    ) -> PyResult<Self> {
        let format = self::format(format)?;
        let worker = py.detach(|| {
            let checked = read_experiment(experiment, file, &base_dir, format)?;
            let choice = Choice::parse(trace_cores.as_deref(), trace_time.as_deref()).map_err(input)?;
            let instructions = instructions.map(|directory| (directory, choice));
            let wanted = Wanted { packets, out_pcapng, instructions };
            Worker::start(move || spinet::run::Run::with_tenants(checked, elf.as_deref(), &tenants, &wanted))
                .map_err(start_error)
        })?;
        Ok(Run { worker })
    }

    /// Runs for about that long.
    fn advance<'py>(&self, py: Python<'py>, max_wall_ms: u64) -> PyResult<Bound<'py, PyDict>> {
        let budget = Duration::from_millis(max_wall_ms);
        let progress = py.detach(|| self.worker.call(move |run| run.advance(budget)));
        told::progress(py, progress.map_err(gone)?.map_err(input)?)
    }

    /// Rows of the packets that are finished since the last call, by column.
    fn take_packets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        told::by_name(py, py.detach(|| self.worker.call(|run| run.take_packets())).map_err(gone)?)
    }

    /// Lines printed since the last call: time in ps, cluster, core, text.
    fn take_console(&self, py: Python<'_>) -> PyResult<Vec<(u64, u32, u32, String)>> {
        let lines = py.detach(|| self.worker.call(|run| run.take_console())).map_err(gone)?;
        Ok(lines.into_iter().map(|(time, Line { cluster, core, text, .. })| (time.ps(), cluster, core, text)).collect())
    }

    /// The summary so far, as JSON.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| json(&self.worker.call(|run| run.summary()).map_err(gone)?))
    }

    /// The digest so far.
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.worker.call(|run| run.digest())).map_err(gone)
    }

    /// Bytes of host memory.
    fn host_memory<'py>(&self, py: Python<'py>, addr: u64, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        if size > MAX_HOST_BYTES {
            return Err(input(format!("size is {size}, must be at most {MAX_HOST_BYTES}")));
        }
        let read = move |run: &mut spinet::run::Run| {
            let mut data = vec![0; size];
            run.host_memory(addr, &mut data);
            data
        };
        let data = py.detach(|| self.worker.call(read)).map_err(gone)?;
        Ok(PyBytes::new(py, &data))
    }

    /// Writes host memory to files in a directory that is there; their names.
    fn write_host(&self, py: Python<'_>, directory: PathBuf) -> PyResult<Vec<String>> {
        py.detach(|| self.worker.call(move |run| run.write_host(&directory))).map_err(gone)?.map_err(input)
    }

    /// Ends the run and frees its memory.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.worker.stop());
    }
}

/// The columns of the per-packet table: name, NumPy type, meaning, names of values.
#[pyfunction]
pub fn packet_columns() -> Described {
    told::described(COLUMNS, |name| match name {
        "fate" => Fate::NAMES.to_vec(),
        "reason" => table::reasons(),
        _ => Vec::new(),
    })
}
