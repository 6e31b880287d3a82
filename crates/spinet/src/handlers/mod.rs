//! A card that runs handlers, as a run sees it: PsPIN between its traffic and its record.

mod check;
mod debug;
pub mod feed;
pub mod host;
pub mod message_ids;
pub mod outcomes;
pub mod packets;
pub mod paths;
pub mod record;
pub mod rules;
pub mod stats;
mod summary;
pub mod table;
mod timeline;
pub mod to_host;
mod unmatched;

pub use check::{CheckSummary, FindingPlace, FindingSummary};
pub use summary::{HandlerPackets, HandlerSection, HandlerSummary, cause_name};

use crate::captured::{CaptureFailed, CaptureFile};
use crate::debug::Cores;
use crate::driver::{ContextSpec, Driver, DriverError, NoPart, OwnSharing, RuleSpec};
use crate::elf::{Elf, ElfError, Machine};
use crate::experiment::{
    Checked, CheckedSource, ExperimentError, LayoutError, OneOrMany, PlacedContext, PlacedProgram, Span, place,
};
use crate::handlers::record::{Drops, PrintedLine, Record, RecordError, SENT_AT, SharedRecord};
use crate::handlers::stats::Stats;
use crate::handlers::table::Table;
use crate::handlers::timeline::{Known, Timeline};
use crate::handlers::to_host::ToHost;
use crate::instructions::{Choice, CoreTraces, TraceWriteError};
use crate::paths::{PATHS, PathLog};
use crate::profile::Profile;
use crate::program::{self, ProgramError, is_source};
use crate::run::{
    Card, Departure, Ended, HORIZON, HostChange, InjectError, Port, Progress, Rows, RunError, Simulated, Wanted,
};
use crate::streams::FeedError;
use crate::summary::{BusyCore, HPUS, Remark};
use crate::toml_text::KeyPosition;
use crate::trial::{Fault, HostWrites, PacketOutcome};
use feed::Feed;
use kernel::{Clock, Cycle, FreqError, Mode, Outcome, Resource, Time, Use};
use net::host::CardMemory;
use pspin::PspinError;
use pspin::protocol::Context;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use wire::message::Classifier;

/// Why a run of handlers cannot start or continue.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum HandlerError {
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    #[error(transparent)]
    Elf(#[from] ElfError),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Nic(#[from] PspinError),
    #[error("clock_mhz: {0}")]
    Clock(#[from] FreqError),
    #[error(transparent)]
    Feed(#[from] FeedError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Capture(#[from] CaptureFailed),
    #[error(transparent)]
    Driver(#[from] DriverError),
    #[error(transparent)]
    NoPart(#[from] NoPart),
    #[error(transparent)]
    Trace(#[from] TraceWriteError),
    #[error("{file}: {source}")]
    Create { file: String, source: io::Error },
    #[error("{place}at {time}: {end} bytes of the handler memory of `{context}` are named, it has {allowed}")]
    BeyondMemory { place: KeyPosition, time: Span, context: String, end: u64, allowed: u64 },
    #[error("{file}: {source}")]
    Data { file: String, source: io::Error },
    #[error("program is a list of C sources: they must be compiled before they can run")]
    NotCompiled,
}

/// Name of the file with the packets that the card sent.
pub const SENT: &str = "out.pcapng";

/// While the card boots, the run checks it at each multiple of this number of cycles.
const BOOT_STEP: Cycle = 64;

/// PsPIN with the traffic, the driver and the record of an experiment.
pub struct HandlerCard {
    pub(crate) checked: Checked,
    /// The program that boots the card, and those of the tenants.
    elfs: Vec<Rc<Elf>>,
    pub(crate) placed: Vec<PlacedContext>,
    pub(crate) driver: Driver,
    pub(crate) timeline: Timeline,
    traces: CoreTraces,
    pub(crate) ended: Option<Ended>,
    /// True if the run ended because nothing more could happen.
    pub(crate) is_quiet: bool,
    /// Cores that were not at rest when the run ended early.
    pub(crate) restless: Vec<BusyCore>,
    limit: Cycle,
    stall_limit: Cycle,
    /// Packets that the caller injected, if it is the network.
    injected: Option<u64>,
    /// Busy cycles of the NIC's resources before its traffic: booting fills program caches.
    boot_loads: Option<Vec<u64>>,
    /// Positions of packets in their messages, for a debugger.
    positions: debug::Positions,
    /// The memory checker, if one was wanted.
    checker: Option<check::SharedChecker>,
}

impl HandlerCard {
    /// Builds the system. Programs without a compiled file must be ELF files already.
    pub fn new(checked: Checked, wanted: &Wanted) -> Result<Self, HandlerError> {
        HandlerCard::with_policies(checked, wanted, OwnSharing::default())
    }

    /// Builds the system with a user's policies for what tenants share.
    pub fn with_policies(checked: Checked, wanted: &Wanted, own: OwnSharing) -> Result<Self, HandlerError> {
        let compiled = |name: &str| wanted.programs.get(name).map(PathBuf::as_path);
        let mut elfs = vec![open_program(compiled(""), &checked.experiment.program)?];
        for tenant in &checked.experiment.tenant {
            elfs.push(open_program(compiled(&tenant.name), &tenant.program)?);
        }
        let mut loaded = program::load(&elfs[0], &checked.nic)?;
        let mut programs = vec![PlacedProgram { elf: &elfs[0], code: loaded.code, data: loaded.static_data() }];
        for elf in &elfs[1..] {
            let (code, data) = loaded.add(elf, &checked.nic)?;
            programs.push(PlacedProgram { elf, code, data });
        }
        let placed = place(&checked, &programs, &mut loaded)?;
        let clock = Clock::new(checked.nic.clock_mhz.freq()?);
        let common = &checked.experiment.common;
        let limit = common.limit.map_or(HORIZON, |limit| limit.time().min(HORIZON));
        let limit = clock.cycle_at_or_after(limit);
        let stall_limit = clock.cycle_at_or_after(common.stall_limit.time());

        let table = wanted.tables.then(|| Table::new(clock));
        let record = Record::new(clock, Stats::new(checked.nic.n_clusters), table);
        let record: SharedRecord = Rc::new(RefCell::new(record));
        record.borrow_mut().sent = wanted.lines.then(Vec::new);
        // A caller that takes outcomes gets verdicts and writes to host memory instead.
        record.borrow_mut().to_host = (wanted.lines && !wanted.outcomes).then(Default::default);
        record.borrow_mut().for_host = wanted.host.then(Vec::new);
        if wanted.needs_paths() {
            record.borrow_mut().window.tracker = Some(Default::default());
        }
        record.borrow_mut().kept = wanted.outcomes.then(Default::default);
        for context in &placed {
            record.borrow_mut().host.write(context.context.host_mem_addr, &context.host_data);
        }
        let classifiers = feed::classifiers(&checked)?;
        let gap = common.traffic.iter().filter_map(|spec| spec.gap_cycles).max().unwrap_or(0);
        let mut feed = Feed::new(&checked.nic, gap, limit, record.clone());
        feed::traffic(&checked)?.into_iter().for_each(|stream| feed.add_source(stream));
        let (feed, seed) = (Rc::new(RefCell::new(feed)), common.seed);
        let mut driver = Driver::new(&checked.nic, &loaded.image, feed, record.clone(), seed, own.placed()?)?;
        let known = install(&checked, &elfs, &placed, classifiers, &mut driver)?;
        let timeline = Timeline::new(&checked, &placed, clock, known)?;
        // Last, so that nothing is written if anything else is wrong.
        for path in wanted.captures.iter().map(|folder| folder.join(SENT)).chain(wanted.sent.clone()) {
            let mut out = CaptureFile::create(&path, "what the NIC sends, in simulated time since reset")?;
            out.add_interface(SENT_AT)?;
            record.borrow_mut().out.push(out);
        }
        let drops = wanted.captures.as_deref().filter(|_| wanted.drops).map(CaptureFile::of_drops).transpose()?;
        record.borrow_mut().drops = drops.map(|capture| Drops { capture, inside: BTreeMap::new() });
        let runs = placed.iter().map(|one| one.handlers.stages.clone().map(|symbol| symbol.map(|symbol| symbol.name)));
        let paths = PathLog::new(wanted, clock, || paths::scenery(runs)).map_err(RecordError::from)?;
        record.borrow_mut().paths = paths;
        let start = |(directory, choice): &(PathBuf, Choice)| {
            CoreTraces::start(&mut driver.nic, &checked.nic, clock, directory, choice)
        };
        let traces = wanted.instructions.as_ref().map(start).transpose()?.unwrap_or_default();
        if wanted.profile {
            driver.nic.profile_cores();
        }
        if wanted.needs_paths() {
            driver.nic.profile_handlers();
        }
        let mut card = HandlerCard {
            checked,
            elfs,
            placed,
            driver,
            timeline,
            traces,
            ended: None,
            is_quiet: false,
            restless: Vec::new(),
            limit,
            stall_limit,
            injected: wanted.lines.then_some(0),
            boot_loads: None,
            positions: debug::Positions::default(),
            checker: None,
        };
        if wanted.check {
            card.start_check();
        }
        Ok(card)
    }

    /// The program that an address of code belongs to.
    pub(crate) fn elf_at(&self, pc: u32) -> &Elf {
        let holds = |elf: &&Rc<Elf>| elf.sections.iter().any(|part| part.addr <= pc && u64::from(pc) < part.end());
        self.elfs.iter().find(holds).unwrap_or(&self.elfs[0])
    }

    pub(crate) fn record(&self) -> &SharedRecord {
        &self.driver.record
    }

    /// The cycle in which the run ends if nothing happens until then.
    fn deadline(&self) -> Cycle {
        let record = self.record().borrow();
        if self.injected.is_some() && record.ready.0 == self.checked.nic.n_clusters {
            return Cycle::MAX; // More packets may come.
        }
        let arrives = self.driver.feed.borrow().status().waiting.unwrap_or(0);
        let acts = self.timeline.next().unwrap_or(0);
        record.progress_at.max(arrives).max(acts).saturating_add(self.stall_limit)
    }

    /// Simulates up to `until`, but never past the cycle in which the run has to end, as far as that is known. That
    /// cycle can only become later.
    fn step(&mut self, until: Cycle) -> Result<(), HandlerError> {
        let target = self.deadline().min(self.limit).min(until);
        let target = self.timeline.next().map_or(target, |at| target.min(at.max(self.driver.now())));
        let outcome = self.driver.run_until(target);
        self.timeline.act(&mut self.driver)?;
        self.driver.check()?;
        self.traces.check()?;
        self.ended = self.judge(outcome);
        self.is_quiet = outcome == Outcome::Quiet;
        Ok(())
    }

    /// Returns true if all clusters have booted.
    fn is_ready(&self) -> bool {
        self.record().borrow().ready.0 == self.checked.nic.n_clusters
    }

    fn judge(&self, outcome: Outcome) -> Option<Ended> {
        let record = self.record().borrow();
        let is_ready = self.is_ready();
        let status = self.driver.feed.borrow().status();
        let is_finished = is_ready && status.is_over && record.window.inside.count() == 0;
        let is_waiting = is_ready && self.injected.is_some();
        let is_stalled = !is_waiting && (outcome == Outcome::Quiet || self.driver.now() >= self.deadline());
        let early = if is_ready { Ended::Stalled(None) } else { Ended::NotReady };
        match () {
            _ if self.timeline.next().is_some() && self.driver.now() < self.limit => None,
            // Does not wait for packets that come after the limit.
            _ if is_finished && is_stalled => Some(if status.is_cut { Ended::Limit } else { Ended::Complete }),
            _ if is_stalled => Some(early),
            _ if self.driver.now() >= self.limit => Some(Ended::Limit),
            _ => None,
        }
    }

    /// Cores that are not waiting for a packet.
    pub(crate) fn cores(&self) -> Vec<BusyCore> {
        let record = self.record().borrow();
        let is_ready = self.is_ready();
        let restless = self.driver.nic.cores().into_iter().filter(|core| core.task.is_some() || !is_ready);
        let summary = |core: pspin::CoreState| BusyCore {
            cluster: core.cluster,
            core: core.core,
            pc: format!("{:#010x}", core.pc),
            place: self.elf_at(core.pc).place(core.pc),
            source: crate::lines::line_of(self.elf_at(core.pc), core.pc),
            waiting_for: core.waits,
            stage: core.task.map(|(_, stage)| program::STAGES[stage as usize].0),
            frame: core.task.and_then(|(packet, _)| record.window.inside.get(packet.0)).map(|row| row.frame),
        };
        restless.map(summary).collect()
    }

    /// Cycles that were simulated: up to the last in which anything happened, or the end of the run. If nothing can happen any more, the
    /// driver has gone to the end of its slice, which depends on the host.
    pub fn cycles(&self) -> Cycle {
        match &self.ended {
            Some(Ended::Complete) => self.driver.nic.now(),
            Some(_) if self.is_quiet => self.driver.nic.now(),
            _ => self.driver.now().max(self.driver.nic.now()),
        }
    }
}

impl Simulated for HandlerCard {
    fn run_until(&mut self, until: Time) -> Result<(), RunError> {
        let clock = self.record().borrow().clock;
        // A card between lines, for example: packets may be injected for the next cycle.
        let is_exact = self.injected.is_some();
        let until = if is_exact { clock.cycle_after(until) - 1 } else { clock.cycle_at_or_after(until) };
        while self.ended.is_none() && self.driver.now() < until {
            let boots = self.boot_loads.is_none();
            let next = if boots { (self.driver.now() / BOOT_STEP + 1) * BOOT_STEP } else { until };
            self.step(until.min(next)).map_err(RunError::new)?;
            if boots && self.driver.now().is_multiple_of(BOOT_STEP) && self.is_ready() {
                let mut loads = Vec::new();
                self.driver.nic.loads(&mut loads);
                self.boot_loads = Some(loads);
            }
        }
        Ok(())
    }

    fn now(&self) -> Time {
        self.record().borrow().clock.edge(self.driver.now())
    }

    fn next_event(&self) -> Option<Time> {
        let clock = self.record().borrow().clock;
        let acts = self.timeline.next().map(|cycle| clock.edge(cycle));
        [self.driver.nic.next_edge(), acts].into_iter().flatten().min()
    }

    fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    fn progress(&self) -> Progress {
        let record = self.record().borrow();
        let file = self.driver.feed.borrow().file_progress();
        let packets_in = record.stats.frames.packets;
        let total: Option<u64> = self.checked.sources.iter().map(CheckedSource::total).sum();
        let fraction = match total {
            Some(total) if total > 0 => Some(packets_in as f64 / total as f64),
            Some(_) => Some(1.0),
            None => file.map(|(read, len)| (read as f64 / len as f64).min(1.0)),
        };
        Progress {
            is_done: self.ended.is_some(),
            packets_in,
            packets_done: packets_in - record.window.inside.count(),
            packets_total: total,
            fraction,
            simulated: record.clock.edge(self.cycles()),
            cycles: Some(self.cycles()),
        }
    }

    fn set_mode(&mut self, mode: Mode) {
        self.driver.set_mode(mode);
    }

    fn close(&mut self) -> Result<(), RunError> {
        if self.ended != Some(Ended::Complete) && self.restless.is_empty() {
            self.restless = self.cores();
        }
        self.traces.flush().map_err(RunError::new)?;
        let (at, record) = (self.driver.now(), &mut *self.driver.record.borrow_mut());
        for row in record.window.inside.drain() {
            record.stats.still_busy(&row, at);
            record.finish(&row);
        }
        if let Some(paths) = &mut record.paths {
            paths.finish().map_err(RunError::new)?;
        }
        let mut captures = record.out.iter_mut().chain(record.drops.as_mut().map(|drops| &mut drops.capture));
        captures.try_for_each(CaptureFile::flush).map_err(RunError::new)?;
        Ok(())
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        self.driver.nic.counters().into_iter().collect()
    }

    fn flush(&mut self) -> Result<(), RunError> {
        self.record().borrow_mut().out.iter_mut().try_for_each(CaptureFile::flush).map_err(RunError::new)
    }

    fn observe_at(&self) -> Option<Time> {
        self.record().borrow().paths.as_ref()?.sample_at(self.next_event())
    }

    fn observe(&mut self) -> Result<(), RunError> {
        // The tracks of HPUs show when these are busy.
        let (now, nic) = (Simulated::now(self), &self.driver.nic);
        let Some(paths) = &mut self.record().borrow_mut().paths else { return Ok(()) };
        paths.sample(now, || nic.resources(), |loads| nic.loads(loads)).map_err(RunError::new)
    }
}

impl Card for HandlerCard {
    fn digest(&self) -> String {
        self.record().borrow().digest.to_hex()
    }

    fn summary(&self, wall: Duration) -> Value {
        self.summarize(wall).to_json()
    }

    fn program_remarks(&self, more: &str) -> Vec<Remark> {
        self.remarks_on_handlers(more)
    }

    fn dropped(&self) -> Vec<(&'static str, u64)> {
        pspin::delivery::DropReason::NAMES.into_iter().zip(self.record().borrow().stats.dropped).collect()
    }

    fn resources(&self) -> (Time, Vec<(Clock, Resource)>) {
        let record = self.record().borrow();
        let n_cores = self.checked.nic.cluster.n_cores;
        let hpus = |(cluster, &busy): (usize, &u64)| {
            let (path, limit) = (format!("nic.cluster[{cluster}]{HPUS}"), format!("{n_cores} HPUs: one handler each"));
            (record.clock, Resource { path, limit, busy, units: n_cores.into(), does: Use::Passes })
        };
        let hpus = record.stats.busy.iter().enumerate().map(hpus);
        let start = record.clock.edge(record.stats.traffic_start.unwrap_or(0));
        let mut resources = self.driver.nic.resources();
        let before = self.boot_loads.iter().flatten();
        resources.iter_mut().zip(before).for_each(|((_, one), before)| one.busy -= before);
        (start, resources.into_iter().chain(hpus).collect())
    }

    fn cores(&self) -> Option<&dyn Cores> {
        Some(self)
    }

    fn cores_mut(&mut self) -> Option<&mut dyn Cores> {
        Some(self)
    }

    fn profile(&self) -> Option<Profile> {
        let profiles = self.driver.nic.core_profiles(self.cycles());
        (!profiles.is_empty()).then(|| Profile::of(&profiles, Machine::RiscV, |pc| Some(self.elf_at(pc))))
    }

    fn take_tables(&mut self) -> Vec<Rows> {
        let columns = self.driver.take_table();
        let packets = (!columns.is_empty()).then_some(Rows { table: "packets", columns });
        let paths = self.record().borrow_mut().paths.as_mut().and_then(PathLog::take);
        let paths = paths.map(|columns| Rows { table: PATHS, columns });
        packets.into_iter().chain(paths).collect()
    }

    fn take_console(&mut self) -> Vec<(Time, PrintedLine)> {
        self.driver.take_console()
    }

    fn ports(&self) -> Vec<Port> {
        vec![Port::Network(0)]
    }

    fn inject(&mut self, port: Port, at: Time, frame: Box<[u8]>) -> Result<(), InjectError> {
        let number = self.injected.ok_or(InjectError::NoLines { port })?;
        InjectError::check(&self.ports(), Simulated::now(self), port, at, &frame)?;
        let at = self.record().borrow().clock.cycle_at_or_after(at);
        self.driver.inject(number, at, frame);
        self.injected = Some(number + 1);
        Ok(())
    }

    fn take_departures(&mut self) -> Vec<Departure> {
        let clock = self.record().borrow().clock;
        let departure = |port| move |(at, frame)| Departure { at: clock.edge(at), port, frame };
        let to_host = self.record().borrow_mut().to_host.as_mut().map(ToHost::take).unwrap_or_default();
        let sent = self.driver.take_sent().into_iter().map(departure(Port::Network(0)));
        let mut departures: Vec<_> = sent.chain(to_host.into_iter().map(departure(Port::Host(0)))).collect();
        departures.sort_by_key(|departure| departure.at);
        departures
    }

    fn take_outcomes(&mut self) -> Vec<PacketOutcome> {
        self.outcomes()
    }

    fn take_host_writes(&mut self) -> HostWrites {
        self.handlers_writes()
    }

    fn take_host_changes(&mut self) -> Vec<(Time, HostChange)> {
        let record = &mut *self.driver.record.borrow_mut();
        let changes = record.for_host.as_mut().map(std::mem::take).unwrap_or_default();
        changes.into_iter().map(|(at, change)| (record.clock.edge(at), change)).collect()
    }

    fn host_writes(&mut self, addr: u64, bytes: &[u8]) {
        self.driver.record.borrow_mut().host.write(addr, bytes);
    }

    fn host_memory(&self) -> Vec<CardMemory> {
        let memory = |placed: &PlacedContext| CardMemory {
            context: placed.name.clone(),
            addr: placed.context.host_mem_addr,
            bytes: placed.context.host_mem_size.into(),
        };
        self.placed.iter().map(memory).collect()
    }

    fn expect(&mut self, packets: &[Box<[u8]>]) {
        self.driver.feed.borrow_mut().rules.expect(packets);
    }

    fn stuck(&self) -> Vec<Fault> {
        self.busy_places()
    }

    fn read_memory(&self, _core: &str, addr: u32, data: &mut [u8]) -> bool {
        self.driver.nic.read_memory(addr, data)
    }

    fn read_host(&self, addr: u64, data: &mut [u8]) -> bool {
        self.record().borrow().host.read(addr, data);
        true
    }

    fn write_host(&self, folder: &Path) -> Result<Vec<String>, RunError> {
        let fail = |source| RunError::new(HandlerError::Create { file: folder.display().to_string(), source });
        let contexts = self.placed.iter().map(|placed| host::ContextMemory {
            context: placed.name.clone(),
            addr: placed.context.host_mem_addr,
            size: placed.context.host_mem_size.into(),
        });
        host::dump(&self.record().borrow().host, &contexts.collect::<Vec<_>>(), folder).map_err(fail)
    }
}

/// Opens a program: the compiled one, or its only file if that needs no compiler.
fn open_program(elf: Option<&Path>, sources: &OneOrMany<String>) -> Result<Rc<Elf>, HandlerError> {
    match (elf, &sources.iter().collect::<Vec<_>>()[..]) {
        (Some(path), _) => Ok(Rc::new(Elf::open(path)?)),
        (None, [only]) if !is_source(only) => Ok(Rc::new(Elf::open(Path::new(only))?)),
        _ => Err(HandlerError::NotCompiled),
    }
}

/// Gives the tenants and contexts of an experiment to the driver, and installs the rules of those that start at once.
fn install(
    checked: &Checked,
    elfs: &[Rc<Elf>],
    placed: &[PlacedContext],
    classifiers: Vec<Classifier>,
    driver: &mut Driver,
) -> Result<Vec<Known>, DriverError> {
    let mut owners =
        vec![(driver.open_with("program", None, checked.experiment.weight, &checked.experiment.io)?, &elfs[0])];
    for (tenant, elf) in checked.experiment.tenant.iter().zip(&elfs[1..]) {
        owners.push((driver.open_with(&tenant.name, tenant.scope.as_deref(), tenant.weight, &tenant.io)?, elf));
    }
    let mut programs = Vec::new();
    for (tenant, elf) in owners {
        programs.push((tenant, driver.adopt(tenant, elf.clone())?));
    }
    let mut known = Vec::new();
    for ((context, placed), classifier) in checked.contexts.iter().zip(placed).zip(classifiers) {
        let (tenant, program) = programs[context.tenant.map_or(0, |tenant| tenant + 1)];
        let spec = ContextSpec { copy_bytes: context.spec.copy_bytes, ..ContextSpec::new(program) };
        let id = driver.keep(tenant, &spec, Context::clone(&placed.context));
        let priority = context.spec.priority;
        let rule = match context.spec.installed {
            true => Some(driver.install_classified(tenant, id, context.matcher.clone(), priority, classifier)?),
            false => None,
        };
        let memory = driver.adopt_memory(tenant, placed.context.handler_mem);
        let (matches, message) = (context.spec.matches.clone(), context.spec.message.clone());
        let rule_set = context.spec.rule_set.clone();
        known.push(Known { tenant, id, rule, memory, spec: RuleSpec { matches, message, priority, rule_set } });
    }
    Ok(known)
}
