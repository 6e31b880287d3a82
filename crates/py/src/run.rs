//! A run of an experiment, on a card of any kind.

use crate::convert::{self, Described};
use crate::peers::OwnPeers;
use crate::policy::{Failure, OwnPolicy, Shared};
use crate::tools::format;
use crate::{gone, input, json};
use crate::{program, sharing};
use kernel::Time;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use spinet::chains::Policy;
use spinet::debug::{Debugged, Session};
use spinet::driver::{OwnSharing, TenantNames};
use spinet::handlers::record::PrintedLine;
use spinet::instructions::Choice;
use spinet::kinds::{self, HANDLERS, OwnPolicies, Text};
use spinet::live::{self, Coming, Exchanged};
use spinet::ranks::Ranks;
use spinet::run::{HORIZON, Nodes, Port, RunError, Wanted};
use spinet::tracks::TracksSpec;
use spinet::trial::{self, Trial};
use spinet::window::Window;
use spinet::worker::{StartError, Worker};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of bytes of memory that one call reads.
const MAX_HOST_BYTES: usize = 1 << 30;

/// An outcome as JSON; packets that left (time in ps, port, bytes); writes to host memory (address, bytes).
type Offered<'py> = (String, Vec<Left<'py>>, Vec<(u64, Bound<'py, PyBytes>)>);

/// A frame that left a card: time in ps, port, bytes.
type Left<'py> = (u64, String, Bound<'py, PyBytes>);

/// The progress, the simulated time in ps, frames that left, the number of refused frames.
type Live<'py> = (Bound<'py, PyDict>, u64, Vec<Left<'py>>, u64);

/// A span of simulated time.
fn within(ps: u64) -> PyResult<Time> {
    let fs = ps.checked_mul(1000).filter(|&fs| fs <= HORIZON.fs() / 2);
    fs.map(Time::from_fs).ok_or_else(|| input("the time is more than 2.5 hours, must be less"))
}

/// The error of a run that did not start.
pub fn start_error<E: std::fmt::Display>(error: StartError<E>) -> PyErr {
    match error {
        StartError::Run(error) => input(error),
        StartError::Gone(error) => gone(error),
    }
}

/// A run of an experiment; it lives on a thread of its own.
#[pyclass(frozen, module = "spinet._native")]
pub struct Run {
    worker: Worker<Session>,
    /// The TCP port at which it waits for gdb.
    debug_port: Option<u16>,
    /// The exception that a policy raised.
    failure: Failure,
    /// Its thread holds Python's lock while it simulates, because it calls policies for every packet. On a thread that
    /// Python did not create, taking the lock for each call costs some microseconds. While policies run, Python
    /// switches to other threads as usual.
    holds_python: bool,
}

#[pymethods]
impl Run {
    /// Builds the card.
    #[new]
    #[pyo3(signature = (experiment, *, file, base_dir, format = "toml", programs = BTreeMap::new(), captures = None, tables = false, profile = false, paths = false, timeline = None, waves = None, timeline_only = Vec::new(), drops = false, sent = None, check = false, instructions = None, trace_cores = None, trace_time = None, policies = BTreeMap::new(), trial = false, lines = false, debug_port = None, threads = 0, keep_nodes = None, keep_time = None, keep_messages = None, peers = None, hosts = BTreeMap::new()))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        py: Python<'_>,
        experiment: String,
        file: String,
        base_dir: PathBuf,
        format: &str,
        programs: BTreeMap<String, PathBuf>,
        captures: Option<PathBuf>,
        tables: bool,
        profile: bool,
        paths: bool,
        timeline: Option<PathBuf>,
        waves: Option<PathBuf>,
        timeline_only: Vec<String>,
        drops: bool,
        sent: Option<PathBuf>,
        check: bool,
        instructions: Option<PathBuf>,
        trace_cores: Option<String>,
        trace_time: Option<String>,
        policies: BTreeMap<String, Py<PyAny>>,
        trial: bool,
        lines: bool,
        debug_port: Option<u16>,
        threads: usize,
        keep_nodes: Option<Vec<String>>,
        keep_time: Option<String>,
        keep_messages: Option<Vec<String>>,
        peers: Option<(u32, u32, Py<PyAny>)>,
        hosts: BTreeMap<String, Py<PyAny>>,
    ) -> PyResult<Self> {
        let format = self::format(format)?;
        let shared = Shared::default();
        let host = |(node, factory)| (node, program::build(factory, shared.failure.clone()));
        let hosts = hosts.into_iter().map(host).collect();
        let failure = shared.failure.clone();
        let ranks = peers.map(|(rank, n_ranks, exchange)| {
            let peers = OwnPeers { rank, n_ranks, exchange, failure };
            Ranks(Arc::new(peers))
        });
        let own = |(service, object): (String, Py<PyAny>)| {
            let policy = OwnPolicy::new(py, &service, object, shared.clone())?;
            Ok((service, policy))
        };
        let holds_python = !policies.is_empty() && debug_port.is_none();
        let runs_handlers =
            !policies.is_empty() && kinds::of_experiment(&experiment, &base_dir, format).name == HANDLERS.name;
        let (services, parts) = if runs_handlers { (BTreeMap::new(), policies) } else { (policies, BTreeMap::new()) };
        let services = services.into_iter().map(own).collect::<PyResult<Vec<_>>>()?;
        let names = TenantNames::default();
        let parts = sharing::own(py, parts, &names, &shared.failure)?;
        let worker = py.detach(|| {
            let choice = Choice::parse(trace_cores.as_deref(), trace_time.as_deref()).map_err(input)?;
            let instructions = instructions.map(|directory| (directory, choice));
            let (lines, outcomes) = (lines || trial, trial);
            let window = |text: String| Window::parse(&text).map_err(|error| input(format!("keep_time: {error}")));
            let keep_time = keep_time.map(window).transpose()?;
            let tracks = TracksSpec::parse(timeline, waves, &timeline_only).map_err(input)?;
            let wanted = Wanted {
                tables,
                captures,
                drops,
                sent,
                instructions,
                paths,
                tracks,
                profile,
                check,
                programs,
                lines,
                outcomes,
                threads,
                ranks,
                hosts,
                keep_nodes,
                keep_time,
                keep_messages,
                ..Wanted::default()
            };
            let boxed = |(service, policy)| (service, Box::new(policy) as Box<dyn Policy>);
            let build = move || {
                let text = Text { text: &experiment, file: &file, base_dir: &base_dir, format };
                let kind = kinds::of_experiment(&experiment, &base_dir, format);
                let services = services.into_iter().map(boxed).collect();
                let sharing = OwnSharing { policies: sharing::boxed(parts), names };
                let run = (kind.start)(&text, &wanted, OwnPolicies { services, sharing })?;
                Ok(match debug_port {
                    None => Session::Plain(run),
                    Some(port) => Session::Debugged(Box::new(Debugged::new(run, port).map_err(RunError::new)?)),
                })
            };
            Worker::start(build).map_err(start_error::<RunError>)
        });
        if let Some(error) = shared.failure.take() {
            return Err(error);
        }
        let worker = worker?;
        let port = |session: &mut Session| match session {
            Session::Plain(_) => None,
            Session::Debugged(debugged) => Some(debugged.address().port()),
        };
        let debug_port = py.detach(|| worker.call(port)).map_err(gone)?;
        Ok(Run { worker, debug_port, failure: shared.failure, holds_python })
    }

    /// The TCP port at which it waits for gdb, if it is debugged.
    #[getter]
    fn debug_port(&self) -> Option<u16> {
        self.debug_port
    }

    /// Runs for about `max_wall_ms`, but not past the simulated time `until_ps`. Raises the exception of Python code that
    /// the run called, and `KeyboardInterrupt` if gdb ended the run.
    #[pyo3(signature = (max_wall_ms, until_ps = None))]
    fn advance<'py>(&self, py: Python<'py>, max_wall_ms: u64, until_ps: Option<u64>) -> PyResult<Bound<'py, PyDict>> {
        let budget = Duration::from_millis(max_wall_ms);
        let end = until_ps.map(|ps| Time::from_fs(ps.saturating_mul(1000)));
        let holds_python = self.holds_python;
        let advance = move |run: &mut Session| {
            let go = |run: &mut Session| match (run, end) {
                (Session::Plain(run), Some(end)) => run.advance_to(end, budget),
                (run, _) => run.advance(budget),
            };
            let progress = if holds_python { Python::attach(|_| go(run)) } else { go(run) };
            (progress, matches!(run, Session::Debugged(debugged) if debugged.is_killed()))
        };
        let advanced = py.detach(|| self.worker.call(advance));
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let (progress, is_killed) = advanced.map_err(gone)?;
        let progress = progress.map_err(input)?;
        if is_killed {
            return Err(PyKeyboardInterrupt::new_err("gdb has ended the run"));
        }
        convert::progress(py, progress)
    }

    /// For runs with lines: gives frames to the card, each with its port and its arrival in ps. Then simulates up to
    /// the time `until` in ps, for at most about `max_wall_ms` of host time. Returns the progress, the simulated time
    /// in ps, frames that left (time in ps, port, bytes), and the number of frames that the card cannot take.
    fn exchange<'py>(
        &self,
        py: Python<'py>,
        coming: Vec<(String, u64, Vec<u8>)>,
        until: u64,
        max_wall_ms: u64,
    ) -> PyResult<Live<'py>> {
        let time = |ps: u64| Time::from_fs(ps.saturating_mul(1000)).min(HORIZON);
        let coming = coming.into_iter().map(|(port, at, frame)| {
            let port = port.parse::<Port>().map_err(input)?;
            Ok(Coming { port, at: time(at), frame: frame.into() })
        });
        let coming = coming.collect::<PyResult<Vec<_>>>()?;
        let budget = Duration::from_millis(max_wall_ms);
        let exchange = move |run: &mut Session| live::exchange(run, coming, time(until), budget);
        let exchanged = py.detach(|| self.worker.call(exchange));
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let Exchanged { now, progress, left, refused } = exchanged.map_err(gone)?.map_err(input)?;
        let left = left.into_iter().map(|left| (left.at.ps(), left.port.to_string(), PyBytes::new(py, &left.frame)));
        Ok((convert::progress(py, progress)?, now.ps(), left.collect(), refused))
    }

    /// For trials: simulates until the card has booted, for at most this time in ps. Returns true if it waits for
    /// packets now.
    fn boot(&self, py: Python<'_>, within: u64) -> PyResult<bool> {
        let within = self::within(within)?;
        py.detach(|| self.worker.call(move |run| trial::boot(&mut *run.card, within))).map_err(gone)?.map_err(input)
    }

    /// For trials: announces the packets that `offer` will give to the card next.
    fn expect(&self, py: Python<'_>, packets: Vec<Vec<u8>>) -> PyResult<()> {
        let packets: Vec<Box<[u8]>> = packets.into_iter().map(Vec::into_boxed_slice).collect();
        py.detach(|| self.worker.call(move |run| run.card.expect(&packets))).map_err(gone)
    }

    /// For trials: gives a packet to the card and simulates until the card has finished it, for at most this time in
    /// ps. Returns its outcome as JSON, packets that left with their ports, and writes to host memory with their
    /// addresses.
    fn offer<'py>(&self, py: Python<'py>, packet: Vec<u8>, within: u64) -> PyResult<Offered<'py>> {
        let within = self::within(within)?;
        let offer = move |run: &mut Session| trial::offer(&mut *run.card, Port::Network(0), packet.into(), within);
        let Trial { outcome, left, host_writes } =
            py.detach(|| self.worker.call(offer)).map_err(gone)?.map_err(input)?;
        let left = left.into_iter().map(|left| (left.at.ps(), left.port.to_string(), PyBytes::new(py, &left.frame)));
        let host_writes = host_writes.into_iter().map(|(addr, data)| (addr, PyBytes::new(py, &data)));
        Ok((json(&outcome)?, left.collect(), host_writes.collect()))
    }

    /// Reads memory of the card in no simulated time. If each core has a memory of its own, `core` selects one.
    fn read_memory<'py>(&self, py: Python<'py>, core: String, addr: u32, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        if size > MAX_HOST_BYTES {
            return Err(input(format!("size is {size}, must be at most {MAX_HOST_BYTES}")));
        }
        let read = move |run: &mut Session| {
            let mut data = vec![0; size];
            run.card.read_memory(&core, addr, &mut data).then_some(data)
        };
        match py.detach(|| self.worker.call(read)).map_err(gone)? {
            Some(data) => Ok(PyBytes::new(py, &data)),
            None => Err(input(format!("the card has no memory of {size} bytes at {addr:#x}"))),
        }
    }

    /// Ends the run now: packets inside the card get rows, and files are complete. A run that ended by itself does not
    /// need it.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.worker.call(|run| run.card.close())).map_err(gone)?.map_err(input)
    }

    /// Rows that are complete since the last call, by table and column.
    fn take_tables<'py>(&self, py: Python<'py>) -> PyResult<BTreeMap<&'static str, Bound<'py, PyDict>>> {
        let tables = py.detach(|| self.worker.call(|run| run.card.take_tables())).map_err(gone)?;
        tables.into_iter().map(|rows| Ok((rows.table, convert::by_name(py, rows.columns)?))).collect()
    }

    /// Lines printed since the last call: time in ps, cluster, core, text.
    fn take_console(&self, py: Python<'_>) -> PyResult<Vec<(u64, u32, u32, String)>> {
        let lines = py.detach(|| self.worker.call(|run| run.card.take_console())).map_err(gone)?;
        Ok(lines
            .into_iter()
            .map(|(time, PrintedLine { cluster, core, text, .. })| (time.ps(), cluster, core, text))
            .collect())
    }

    /// The summary so far, as JSON.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.worker.call(|run| run.summary().to_string())).map_err(gone)
    }

    /// Where the cycles of the cores went so far, as JSON; `None` if they are not counted.
    fn profile(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let json = |profile| serde_json::to_string(&profile).expect("a profile is numbers and texts");
        py.detach(|| self.worker.call(move |run| run.card.profile().map(json))).map_err(gone)
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
        let read = move |run: &mut Session| {
            let mut data = vec![0; size];
            run.card.read_host(addr, &mut data).then_some(data)
        };
        match py.detach(|| self.worker.call(read)).map_err(gone)? {
            Some(data) => Ok(PyBytes::new(py, &data)),
            None => Err(input("this card keeps no host memory; cards that run handlers do")),
        }
    }

    /// Writes host memory to files in an existing directory; returns their names.
    fn write_host(&self, py: Python<'_>, directory: PathBuf) -> PyResult<Vec<String>> {
        py.detach(|| self.worker.call(move |run| run.card.write_host(&directory))).map_err(gone)?.map_err(input)
    }

    /// Nodes of a network whose records are kept: number, name, and kind of the card.
    fn kept_nodes(&self, py: Python<'_>) -> PyResult<Vec<(usize, String, &'static str)>> {
        self.on_nodes(py, |nodes| nodes.kept())
    }

    /// Rows of the nodes' tables that were completed since the last call: number of the node, table, columns.
    fn take_node_tables<'py>(&self, py: Python<'py>) -> PyResult<Vec<(usize, &'static str, Bound<'py, PyDict>)>> {
        let tables = self.on_nodes(py, |nodes| nodes.take_tables())?;
        tables.into_iter().map(|(node, rows)| Ok((node, rows.table, convert::by_name(py, rows.columns)?))).collect()
    }

    /// The summary of a node's card so far, and its profile if cycles are counted, as JSON. `None` if the card was not built,
    /// because no packet has reached it.
    fn node_records(&self, py: Python<'_>, node: usize) -> PyResult<Option<(String, Option<String>)>> {
        let found = self.on_nodes(py, move |nodes| nodes.records(node))?.map_err(input)?;
        Ok(found.map(|(summary, profile)| (summary.to_string(), profile.map(|profile| profile.to_string()))))
    }

    /// Bytes of a host's memory.
    fn node_host_memory<'py>(
        &self,
        py: Python<'py>,
        node: usize,
        addr: u64,
        size: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        if size > MAX_HOST_BYTES {
            return Err(input(format!("size is {size}, must be at most {MAX_HOST_BYTES}")));
        }
        match self.on_nodes(py, move |nodes| nodes.read_host(node, addr, size))?.map_err(input)? {
            Some(data) => Ok(PyBytes::new(py, &data)),
            None => Err(input("this card keeps no host memory; cards that run handlers do")),
        }
    }

    /// Writes the memory of a host to files in an existing directory; returns their names.
    fn write_node_host(&self, py: Python<'_>, node: usize, directory: PathBuf) -> PyResult<Vec<String>> {
        self.on_nodes(py, move |nodes| nodes.write_host(node, &directory))?.map_err(input)
    }

    /// Ends the run and frees its memory.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.worker.stop());
    }
}

impl Run {
    /// Calls `act` with the cards on the nodes of a network.
    fn on_nodes<R: Send + 'static>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut dyn Nodes) -> R + Send + 'static,
    ) -> PyResult<R> {
        let found = py.detach(|| self.worker.call(|run| run.card.as_nodes().map(act))).map_err(gone)?;
        found.ok_or_else(|| input("this is a single card; only networks have nodes"))
    }
}

/// Causes of time in tables of paths, by kind of card: name, meaning, and the resource that is waited for.
#[pyfunction]
pub fn path_causes() -> BTreeMap<&'static str, Vec<(&'static str, &'static str, &'static str)>> {
    let causes =
        |kind: &kinds::Kind| (kind.causes)().iter().map(|cause| (cause.name, cause.about, cause.resource)).collect();
    kinds::ALL.iter().map(|kind| (kind.name, causes(kind))).collect()
}

/// The tables of each kind of card, and their columns: name, NumPy type, meaning, names of values.
#[pyfunction]
pub fn table_columns() -> BTreeMap<&'static str, BTreeMap<&'static str, Described>> {
    let tables = |kind: &kinds::Kind| kind.tables.iter().map(|table| (table.name, convert::described(table))).collect();
    kinds::ALL.iter().map(|kind| (kind.name, tables(kind))).collect()
}
