//! A card with a driver, for Python: [`spinet::driver::Driver`] one to one, handles as numbers, times in ps.

use crate::convert;
use crate::policy::Failure;
use crate::run::start_error;
use crate::{gone, input, json, settings, sharing};
use kernel::{Cycle, Time};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use spinet::driver::{
    ContextId, ContextSpec, Driver, Event, HostId, Kind, MemoryId, OwnSharing, ProgramId, Remaining, RuleId, RuleSpec,
    TenantId, TenantNames, TicketId,
};
use spinet::elf::Elf;
use spinet::experiment::{IoSpec, Traffic};
use spinet::handlers::HandlerError;
use spinet::handlers::record::PrintedLine;
use spinet::nics;
use spinet::toml_text::{self, Format};
use spinet::worker::Worker;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wire::faults::{Faults, NotFaults};
use wire::pacing::{NotAPacing, Pacing};
use wire::source::Snapped;

/// Cycles between two readings of the host's clock.
const SLICE: Cycle = 20_000;

/// An event: time in ps, context, kind, and its numbers by name.
type EventTuple<'py> = (u64, u64, &'static str, Bound<'py, PyDict>);

/// A card, ready for tenants; it lives on a thread of its own.
#[pyclass(frozen, module = "spinet._native")]
pub struct Machine {
    worker: Worker<Driver>,
    /// Simulated time in ps at the end of the last call. Reading it here needs no switch to the driver's thread.
    now: Arc<AtomicU64>,
    /// The exception that a policy raised.
    failure: Failure,
    /// Its thread holds Python's lock while it simulates, as for [`crate::run::Run`], because it calls policies.
    holds_python: bool,
}

/// Simulated time of a driver in ps.
fn now_ps(driver: &Driver) -> u64 {
    driver.clock().edge(driver.now()).ps()
}

impl Machine {
    /// Runs `what` on the driver's thread. Other Python threads can run meanwhile.
    fn with<T, E>(&self, py: Python<'_>, what: impl FnOnce(&mut Driver) -> Result<T, E> + Send + 'static) -> PyResult<T>
    where
        T: Send + 'static,
        E: Display,
    {
        let (holds_python, now) = (self.holds_python, self.now.clone());
        let go = move |driver: &mut Driver| {
            let done = if holds_python { Python::attach(|_| what(driver)) } else { what(driver) };
            now.store(now_ps(driver), Ordering::Release);
            done.map_err(|error| error.to_string())
        };
        let done = py.detach(|| self.worker.call(go));
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        done.map_err(gone)?.map_err(input)
    }

    fn look<T: Send + 'static>(
        &self,
        py: Python<'_>,
        what: impl FnOnce(&mut Driver) -> T + Send + 'static,
    ) -> PyResult<T> {
        py.detach(|| self.worker.call(what)).map_err(gone)
    }
}

#[pymethods]
impl Machine {
    /// Boots the card `nic` with the runtime in an ELF file.
    #[new]
    #[pyo3(signature = (nic, *, runtime, sets = Vec::new(), base_dir = PathBuf::from("."), seed = 1, policies = BTreeMap::new()))]
    fn new(
        py: Python<'_>,
        nic: &str,
        runtime: PathBuf,
        sets: Vec<String>,
        base_dir: PathBuf,
        seed: u64,
        policies: BTreeMap<String, Py<PyAny>>,
    ) -> PyResult<Self> {
        let params = nics::load(nic, &settings(&sets)?, &base_dir).map_err(input)?;
        let (names, failure, holds_python) = (TenantNames::default(), Failure::default(), !policies.is_empty());
        let policies = sharing::own(py, policies, &names, &failure)?;
        let build = move || -> Result<_, HandlerError> {
            let own = OwnSharing { policies: sharing::boxed(policies), names };
            let runtime = Rc::new(Elf::open(&runtime).map_err(HandlerError::from)?);
            let mut driver = Driver::boot_with(&params, runtime, seed, own)?;
            driver.keep_packets();
            driver.keep_table();
            Ok(driver)
        };
        let worker = py.detach(|| Worker::start(build)).map_err(start_error)?;
        let now = py.detach(|| worker.call(|driver| now_ps(driver))).map_err(gone)?;
        Ok(Machine { worker, now: Arc::new(AtomicU64::new(now)), failure, holds_python })
    }

    #[pyo3(signature = (name, scope = None, weight = 1, io = (0, None, None, None)))]
    fn open(
        &self,
        py: Python<'_>,
        name: String,
        scope: Option<String>,
        weight: u32,
        io: (u32, Option<String>, Option<String>, Option<String>),
    ) -> PyResult<u64> {
        let (priority, host_rate, egress_rate, cluster_rate) = io;
        let io = IoSpec { priority, host_rate, egress_rate, cluster_rate };
        self.with(py, move |driver| driver.open_with(&name, scope.as_deref(), weight, &io).map(|tenant| tenant.0))
    }

    fn close_tenant(&self, py: Python<'_>, tenant: u64) -> PyResult<()> {
        self.with(py, move |driver| driver.close(TenantId(tenant)))
    }

    /// The capabilities of the card, as JSON.
    fn capabilities(&self, py: Python<'_>) -> PyResult<String> {
        json(&self.look(py, |driver| driver.capabilities())?)
    }

    /// Loads the program in an ELF file, which errors call `name`.
    fn load(&self, py: Python<'_>, tenant: u64, elf: PathBuf, name: String) -> PyResult<u64> {
        self.with(py, move |driver| {
            let mut elf = Elf::open(&elf).map_err(|error| error.to_string())?;
            elf.file = name;
            let program = driver.load(TenantId(tenant), Rc::new(elf)).map_err(|error| error.to_string())?;
            Ok::<_, String>(program.0)
        })
    }

    fn unload(&self, py: Python<'_>, tenant: u64, program: u64) -> PyResult<()> {
        self.with(py, move |driver| driver.unload(TenantId(tenant), ProgramId(program)))
    }

    fn allocate(&self, py: Python<'_>, tenant: u64, kind: &str, size: u32) -> PyResult<u64> {
        let kind = self::kind(kind)?;
        self.with(py, move |driver| driver.allocate(TenantId(tenant), kind, size).map(|memory| memory.0))
    }

    /// Address and size in bytes of a memory.
    fn part(&self, py: Python<'_>, tenant: u64, memory: u64) -> PyResult<(u32, u32)> {
        self.with(py, move |driver| driver.part(TenantId(tenant), MemoryId(memory)).map(|part| (part.addr, part.size)))
    }

    fn free(&self, py: Python<'_>, tenant: u64, memory: u64) -> PyResult<()> {
        self.with(py, move |driver| driver.free(TenantId(tenant), MemoryId(memory)))
    }

    fn write(&self, py: Python<'_>, tenant: u64, memory: u64, offset: u32, data: Vec<u8>) -> PyResult<u64> {
        let write = move |driver: &mut Driver| driver.write(TenantId(tenant), MemoryId(memory), offset, &data);
        self.with(py, move |driver| write(driver).map(|ticket| ticket.0))
    }

    fn read(&self, py: Python<'_>, tenant: u64, memory: u64, offset: u32, size: u32) -> PyResult<u64> {
        let read = move |driver: &mut Driver| driver.read(TenantId(tenant), MemoryId(memory), offset, size);
        self.with(py, move |driver| read(driver).map(|ticket| ticket.0))
    }

    fn is_done(&self, py: Python<'_>, tenant: u64, ticket: u64) -> PyResult<bool> {
        self.with(py, move |driver| driver.is_done(TenantId(tenant), TicketId(ticket)))
    }

    /// Simulates until an access is finished.
    fn wait(&self, py: Python<'_>, tenant: u64, ticket: u64) -> PyResult<()> {
        self.with(py, move |driver| driver.wait(TenantId(tenant), TicketId(ticket)))
    }

    /// The bytes of a finished read, once.
    fn take<'py>(&self, py: Python<'py>, tenant: u64, ticket: u64) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let bytes = self.with(py, move |driver| driver.take(TenantId(tenant), TicketId(ticket)))?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }

    fn register(&self, py: Python<'_>, tenant: u64, size: u32) -> PyResult<u64> {
        self.with(py, move |driver| driver.register(TenantId(tenant), size).map(|host| host.0))
    }

    fn unregister(&self, py: Python<'_>, tenant: u64, host: u64) -> PyResult<()> {
        self.with(py, move |driver| driver.unregister(TenantId(tenant), HostId(host)))
    }

    /// Address and size in bytes of host memory.
    fn region(&self, py: Python<'_>, tenant: u64, host: u64) -> PyResult<(u64, u32)> {
        let region = move |driver: &mut Driver| driver.region(TenantId(tenant), HostId(host));
        self.with(py, move |driver| region(driver).map(|region| (region.addr, region.size)))
    }

    fn host_read<'py>(
        &self,
        py: Python<'py>,
        tenant: u64,
        host: u64,
        offset: u32,
        size: u32,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let data = self.with(py, move |driver| {
            let (tenant, host) = (TenantId(tenant), HostId(host));
            // Reserved before the bytes are filled.
            driver.host_part(tenant, host, offset, size.into())?;
            let mut data = vec![0; size as usize];
            driver.host_read(tenant, host, offset, &mut data).map(|()| data)
        })?;
        Ok(PyBytes::new(py, &data))
    }

    fn host_write(&self, py: Python<'_>, tenant: u64, host: u64, offset: u32, data: Vec<u8>) -> PyResult<()> {
        self.with(py, move |driver| driver.host_write(TenantId(tenant), HostId(host), offset, &data))
    }

    #[pyo3(signature = (tenant, program, *, handler = None, symbols = (None, None, None), handler_memory = None, scratchpad = None, host = None, copy_bytes = None, watchdog_cycles = None, delivery = None))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn build(
        &self,
        py: Python<'_>,
        tenant: u64,
        program: u64,
        handler: Option<String>,
        symbols: (Option<String>, Option<String>, Option<String>),
        handler_memory: Option<u64>,
        scratchpad: Option<u64>,
        host: Option<u64>,
        copy_bytes: Option<u32>,
        watchdog_cycles: Option<u32>,
        delivery: Option<&str>,
    ) -> PyResult<u64> {
        let delivery =
            delivery.map(|json| toml_text::read(json, "delivery", Format::Json)).transpose().map_err(input)?;
        let spec = ContextSpec {
            handler,
            symbols: symbols.into(),
            handler_memory: handler_memory.map(MemoryId),
            scratchpad: scratchpad.map(MemoryId),
            host: host.map(HostId),
            copy_bytes,
            watchdog_cycles,
            delivery: delivery.unwrap_or_default(),
            ..ContextSpec::new(ProgramId(program))
        };
        self.with(py, move |driver| driver.build(TenantId(tenant), &spec).map(|context| context.0))
    }

    fn destroy(&self, py: Python<'_>, tenant: u64, context: u64) -> PyResult<()> {
        self.with(py, move |driver| driver.destroy(TenantId(tenant), ContextId(context)))
    }

    /// The error that the card wrote last into a context's descriptor: eight words.
    fn error_record(&self, py: Python<'_>, tenant: u64, context: u64) -> PyResult<Option<[u32; 8]>> {
        let record = self.with(py, move |driver| driver.error_record(TenantId(tenant), ContextId(context)))?;
        Ok(record.map(|record| record.words()))
    }

    /// `rule_set` is JSON.
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    #[pyo3(signature = (tenant, context, *, matches = None, message = "each", priority = 0, rule_set = None))]
    fn install(
        &self,
        py: Python<'_>,
        tenant: u64,
        context: u64,
        matches: Option<String>,
        message: &str,
        priority: i32,
        rule_set: Option<&str>,
    ) -> PyResult<u64> {
        let rule_set = rule_set.map(serde_json::from_str).transpose();
        let rule_set = rule_set.map_err(|error| input(format!("rule_set: {error}")))?;
        let spec = RuleSpec { matches, message: message.into(), priority, rule_set };
        self.with(py, move |driver| driver.install(TenantId(tenant), ContextId(context), &spec).map(|rule| rule.0))
    }

    /// Removes a rule. `remaining` is `end` or `kill`: whether open messages may end, or are killed.
    fn remove(&self, py: Python<'_>, tenant: u64, rule: u64, remaining: &str) -> PyResult<()> {
        let remaining = match remaining {
            "end" => Remaining::End,
            "kill" => Remaining::Kill,
            _ => return Err(input(format!("messages is `{remaining}`, must be `end` or `kill`"))),
        };
        self.with(py, move |driver| driver.remove(TenantId(tenant), RuleId(rule), remaining))
    }

    /// Adds traffic from now on: a capture, or a definition for the generator.
    #[pyo3(signature = (source, *, pacing = "times", count = None, seed = 1, base_dir = PathBuf::from(".")))]
    fn add_traffic(
        &self,
        py: Python<'_>,
        source: String,
        pacing: &str,
        count: Option<u64>,
        seed: u64,
        base_dir: PathBuf,
    ) -> PyResult<()> {
        let pacing: Pacing = pacing.parse().map_err(|error: NotAPacing| input(error))?;
        self.with(py, move |driver| {
            let mut source = source;
            let traffic = Traffic::read(&mut source, Snapped::default(), seed, &base_dir);
            let traffic = traffic.map_err(|error| error.to_string())?;
            driver.add_traffic(&traffic, pacing, count.unwrap_or(u64::MAX)).map_err(|error| error.to_string())
        })
    }

    /// Sets the faults of the network for packets that are added from now on.
    fn set_network(&self, py: Python<'_>, faults: &str, seed: u64) -> PyResult<()> {
        let faults: Faults = faults.parse().map_err(|error: NotFaults| input(error))?;
        self.look(py, move |driver| driver.set_network(faults, seed))
    }

    /// Returns true if all added packets have arrived and the card is done with them.
    fn is_idle(&self, py: Python<'_>) -> PyResult<bool> {
        self.look(py, |driver| driver.is_idle())
    }

    /// Adds packets, each with the time in ps from now at which it arrives; times do not descend.
    fn add_packets(&self, py: Python<'_>, packets: Vec<(u64, Vec<u8>)>) -> PyResult<()> {
        let packets: Option<Vec<_>> =
            packets.into_iter().map(|(ps, bytes)| Some((Time::from_fs(ps.checked_mul(1000)?), bytes.into()))).collect();
        let packets = packets.ok_or_else(|| input("a packet arrives after more than 5.1 hours, must be earlier"))?;
        self.with(py, move |driver| driver.add_packets(packets))
    }

    /// Simulated time, in ps.
    fn now(&self) -> PyResult<u64> {
        self.worker.check().map_err(gone)?;
        Ok(self.now.load(Ordering::Acquire))
    }

    /// Simulates up to `ps`, for at most about `max_wall_ms` of host time; returns true if `ps` is reached.
    fn run_until(&self, py: Python<'_>, ps: u64, max_wall_ms: u64) -> PyResult<bool> {
        let Some(fs) = ps.checked_mul(1000) else { return Err(input("time is more than 5.1 hours, must be less")) };
        let budget = Duration::from_millis(max_wall_ms);
        self.with(py, move |driver| {
            let (begun, end) = (Instant::now(), driver.clock().cycle_at_or_after(Time::from_fs(fs)));
            while driver.now() < end && begun.elapsed() < budget {
                driver.run_until(end.min(driver.now() + SLICE));
                driver.check()?;
            }
            Ok::<_, spinet::handlers::record::RecordError>(driver.now() >= end)
        })
    }

    /// Events of a tenant's contexts: time in ps, context, kind, and its numbers by name.
    fn take_events<'py>(&self, py: Python<'py>, tenant: u64) -> PyResult<Vec<EventTuple<'py>>> {
        let (events, clock) =
            self.with(py, move |driver| driver.take_events(TenantId(tenant)).map(|events| (events, driver.clock())))?;
        let event = |event: Event| {
            let (name, numbers) = event.describe();
            let dict = PyDict::new(py);
            numbers.iter().try_for_each(|(name, value)| dict.set_item(name, value))?;
            Ok((clock.edge(event.at).ps(), event.context.0, name, dict))
        };
        events.into_iter().map(event).collect()
    }

    /// Packets that the card sent since the last call: time in ps, and bytes.
    fn take_sent<'py>(&self, py: Python<'py>) -> PyResult<Vec<(u64, Bound<'py, PyBytes>)>> {
        let sent = self.look(py, |driver| {
            let clock = driver.clock();
            let sent = driver.take_sent().into_iter();
            sent.map(|(at, bytes)| (clock.edge(at).ps(), bytes)).collect::<Vec<_>>()
        })?;
        Ok(sent.into_iter().map(|(ps, bytes)| (ps, PyBytes::new(py, &bytes))).collect())
    }

    /// Rows of the packets that are finished since the last call, by column.
    fn take_packets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        convert::by_name(py, self.look(py, |driver| driver.take_table())?)
    }

    /// Lines printed since the last call: time in ps, cluster, core, text.
    fn take_console(&self, py: Python<'_>) -> PyResult<Vec<(u64, u32, u32, String)>> {
        let lines = self.look(py, |driver| driver.take_console())?;
        Ok(lines
            .into_iter()
            .map(|(time, PrintedLine { cluster, core, text, .. })| (time.ps(), cluster, core, text))
            .collect())
    }

    /// Digest of everything that the card did so far.
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |driver| driver.digest())
    }

    /// Ends the machine and frees its memory.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.worker.stop());
    }
}

fn kind(name: &str) -> PyResult<Kind> {
    match name {
        "handler" => Ok(Kind::Handler),
        "program" => Ok(Kind::Program),
        "scratchpad" => Ok(Kind::Scratchpad),
        _ => Err(input(format!("kind is `{name}`, must be `handler`, `program` or `scratchpad`"))),
    }
}
