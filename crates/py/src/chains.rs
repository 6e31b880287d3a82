//! A run of a NIC of offload chains.

use crate::policy::{Failure, OwnPolicy, Shared};
use crate::run::start_error;
use crate::told::{self, Described};
use crate::tools::format;
use crate::{gone, input, json};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spinet::chains::{self, CheckedChains, Fate, HOP_COLUMNS, PACKET_COLUMNS, Policy, Wanted};
use spinet::columns::Column;
use spinet::worker::Worker;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A run of a NIC of offload chains; it lives on a thread of its own.
#[pyclass(frozen, module = "spinet._native")]
pub struct ChainRun {
    worker: Worker<chains::ChainRun>,
    /// What went wrong in a policy.
    failure: Failure,
}

#[pymethods]
impl ChainRun {
    /// Builds the system.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    #[pyo3(signature = (experiment, *, file, base_dir, format = "json", captures = None, tables = false, programs = BTreeMap::new(), policies = BTreeMap::new()))]
    fn new(
        py: Python<'_>,
        experiment: &str,
        file: &str,
        base_dir: PathBuf,
        format: &str,
        captures: Option<PathBuf>,
        tables: bool,
        programs: BTreeMap<String, PathBuf>,
        policies: BTreeMap<String, Py<PyAny>>,
    ) -> PyResult<Self> {
        let format = self::format(format)?;
        let shared = Shared::default();
        let own = |(service, object): (String, Py<PyAny>)| {
            let policy = OwnPolicy::new(py, &service, object, shared.clone())?;
            Ok((service, policy))
        };
        let policies = policies.into_iter().map(own).collect::<PyResult<Vec<_>>>()?;
        let worker = py.detach(|| {
            let checked = CheckedChains::read(experiment, file, &base_dir, format).map_err(input)?;
            let wanted = Wanted { tables, captures, programs };
            let boxed = |(service, policy)| (service, Box::new(policy) as Box<dyn Policy>);
            let build = move || {
                let own = policies.into_iter().map(boxed).collect();
                chains::ChainRun::with_policies(checked, &wanted, own)
            };
            Worker::start(build).map_err(start_error)
        })?;
        Ok(ChainRun { worker, failure: shared.failure })
    }

    /// Runs for about that long. Raises what a policy raised.
    fn advance<'py>(&self, py: Python<'py>, max_wall_ms: u64) -> PyResult<Bound<'py, PyDict>> {
        let budget = Duration::from_millis(max_wall_ms);
        let progress = py.detach(|| self.worker.call(move |run| run.advance(budget)));
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        told::progress(py, progress.map_err(gone)?.map_err(input)?)
    }

    /// Rows of packets that are finished since the last call, by column.
    fn take_packets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        told::by_name(py, py.detach(|| self.worker.call(|run| run.take_packets())).map_err(gone)?)
    }

    /// Rows of their visits of services.
    fn take_hops<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        told::by_name(py, py.detach(|| self.worker.call(|run| run.take_hops())).map_err(gone)?)
    }

    /// The summary so far, as JSON.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| json(&self.worker.call(|run| run.summary()).map_err(gone)?))
    }

    /// The digest so far.
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.worker.call(|run| run.digest())).map_err(gone)
    }

    /// Ends the run and frees its memory.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.worker.stop());
    }
}

/// Whether a text is an experiment with chains.
#[pyfunction]
#[pyo3(signature = (text, base_dir = PathBuf::from("."), format = "toml"))]
pub fn is_chain_experiment(text: &str, base_dir: PathBuf, format: &str) -> PyResult<bool> {
    Ok(chains::is_experiment(text, &base_dir, self::format(format)?))
}

/// Whether a card runs chains of offloads.
#[pyfunction]
#[pyo3(signature = (nic, base_dir = PathBuf::from(".")))]
pub fn nic_has_chains(nic: &str, base_dir: PathBuf) -> bool {
    chains::is_nic(nic, &base_dir)
}

/// An experiment with chains, with its defaults, as JSON.
#[pyfunction]
#[pyo3(signature = (text, file, base_dir, format = "toml"))]
pub fn check_chains(py: Python<'_>, text: &str, file: &str, base_dir: PathBuf, format: &str) -> PyResult<String> {
    let format = self::format(format)?;
    py.detach(|| json(&CheckedChains::read(text, file, &base_dir, format).map_err(input)?.experiment))
}

/// The services that come with spinet, as JSON; of a NIC's file, its own.
#[pyfunction]
#[pyo3(signature = (nic = None, base_dir = PathBuf::from(".")))]
pub fn chain_services(nic: Option<&str>, base_dir: PathBuf) -> PyResult<String> {
    let own = |nic| chains::load(nic, &[], Path::new(&base_dir)).map(|model| chains::services_of(&model));
    json(&nic.map_or_else(|| Ok(chains::services()), own).map_err(input)?)
}

fn described(columns: &'static [Column]) -> Described {
    told::described(columns, |name| match name {
        "fate" => Fate::NAMES.to_vec(),
        "reason" => chains::reasons(),
        _ => Vec::new(),
    })
}

/// The columns of the tables of packets and of visits: name, NumPy type, meaning, names of values.
#[pyfunction]
pub fn chain_columns() -> (Described, Described) {
    (described(PACKET_COLUMNS), described(HOP_COLUMNS))
}
