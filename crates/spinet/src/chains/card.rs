//! A card that runs chains of offloads, as a run sees it.

use super::captures::Captures;
use super::changes::Change;
use super::check::{ChainError, CheckedChains, SideSource};
use super::classify::Chains;
use super::credits::{CreditLog, CreditSink};
use super::nic::host_queues;
use super::paths;
use super::programs::{self, Program, ProgramFault};
use super::record::{Record, RecordError, SharedRecord, Watched};
use super::source::SharedPort;
use super::table::Tables;
use super::weights::{self, Policies};
use crate::captured::CaptureFailed;
use crate::debug::Cores;
use crate::elf::{Elf, Machine};
use crate::paths::{PATHS, PathLog};
use crate::profile::{self, Profile};
use crate::run::{Card, Departure, Ended, HORIZON, InjectError, Port, Progress, Rows, RunError, Simulated, Wanted};
use crate::streams::FeedError;
use crate::summary::Remark;
use crate::trial::PacketOutcome;
use kernel::{Clock, Cycle, Mode, Outcome, Resource, Time};
use panic::model::{Nic, NicModel};
use panic::nic::Outside;
use panic::policy::{FairShare, Policy};
use panic::world::{ExternalPort, PortSource};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// Cycles between two checks for the end of a run. The checks do not depend on the run's slices.
const LOOK: Cycle = 2048;

/// A run that cannot begin, or cannot go on.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum ChainFault {
    #[error(transparent)]
    Experiment(#[from] ChainError),
    #[error(transparent)]
    Feed(#[from] FeedError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Capture(#[from] CaptureFailed),
    #[error(transparent)]
    Program(#[from] ProgramFault),
    #[error("policies: there is no service `{found}`, must be one of {known}")]
    NoService { found: String, known: String },
    #[error("policies: this NIC has none: packets wait in order of arrival")]
    NoPolicies,
}

/// The user's policies, by the names of services.
pub type OwnPolicies = Vec<(String, Box<dyn Policy>)>;

/// A card that runs chains of offloads, with the traffic and the record of an experiment.
pub struct ChainCard {
    pub(super) checked: CheckedChains,
    pub(super) nic: Nic,
    pub(super) clock: Clock,
    pub(super) record: SharedRecord,
    pub(super) ports: Vec<SharedPort>,
    pub(super) credits: Rc<RefCell<CreditLog>>,
    pub(super) ended: Option<Ended>,
    is_closed: bool,
    pub(super) chains: Rc<RefCell<Chains>>,
    shares: Vec<Rc<RefCell<FairShare>>>,
    /// Programs for the cores of services, by the names of services.
    programs: Vec<(String, Elf)>,
    /// Instructions that each unit had executed when outcomes were last taken.
    pub(super) instructions_before: BTreeMap<String, u64>,
    /// Number of changes made so far.
    changed: usize,
    pub(super) now: Cycle,
    /// The caller is the network.
    has_lines: bool,
    /// The card stops exactly at the requested time, not at its next check for the end.
    pub(super) stops_exactly: bool,
    /// Time of the next check for the end, once it is known. A stop before it does not move the check.
    look: Option<Cycle>,
    limit: Cycle,
    stall_limit: Cycle,
}

impl ChainCard {
    /// Builds the system.
    pub fn new(checked: CheckedChains, wanted: &Wanted) -> Result<ChainCard, ChainFault> {
        ChainCard::with_policies(checked, wanted, Vec::new())
    }

    /// Builds the system with the user's policies, by the names of services.
    pub fn with_policies(checked: CheckedChains, wanted: &Wanted, own: OwnPolicies) -> Result<ChainCard, ChainFault> {
        let clock = checked.nic.edges();
        let experiment = &checked.experiment;
        let limit = experiment.common.limit.map_or(HORIZON, |limit| limit.time().min(HORIZON));
        let (limit, stall_limit) =
            (clock.cycle_at_or_after(limit), clock.cycle_at_or_after(experiment.common.stall_limit.time()));
        let record: SharedRecord = Rc::new(RefCell::new(Record::new(&checked, clock)));
        let (seed, faults) = (experiment.common.seed, experiment.common.faults.0);
        let open = |side| SharedPort::open(side, &checked.sources, (faults, seed), clock, limit, &record);
        let networks: Vec<SharedPort> = (0..checked.nic.network_ports() as u8)
            .map(|port| open(ExternalPort::Network(port)))
            .collect::<Result<_, _>>()?;
        let queue = |source: &SideSource| match source.side {
            ExternalPort::Host(queue) => Some(queue),
            ExternalPort::Network(_) => None,
        };
        let n_queues = checked.sources.iter().filter_map(queue).max().map_or(0, |queue| queue + 1);
        // The caller may also be the host.
        let of_caller = if wanted.lines { host_queues(&checked.nic).1.min(1) as u16 } else { 0 };
        let n_queues = n_queues.max(of_caller);
        let transmits: Vec<SharedPort> =
            (0..n_queues).map(|queue| open(ExternalPort::Host(queue))).collect::<Result<_, FeedError>>()?;
        let chains = Rc::new(RefCell::new(checked.chains.clone()));
        let (shares, mut policies) = weights::shares(&checked);
        replace_policies(&mut policies, own, &checked)?;
        let boxed = |ports: &[SharedPort]| -> Vec<Box<dyn PortSource>> {
            ports.iter().map(|port| Box::new(port.clone()) as Box<dyn PortSource>).collect()
        };
        let classifier = Rc::new(RefCell::new(Watched { chains: chains.clone(), record: record.clone() }));
        let (mut images, mut programs) = (Vec::new(), Vec::new());
        for Program { service, image, elf } in programs::load(&checked, &wanted.programs)? {
            images.push((service, image));
            programs.push((checked.services[service].name.clone(), elf));
        }
        let outside = Outside {
            transmits: boxed(&transmits),
            policies,
            programs: images,
            ..Outside::new(boxed(&networks), classifier, record.clone())
        };
        let mut nic = checked.nic.build(seed, outside);
        for (unit, program) in nic.programs.iter().filter(|_| wanted.profile) {
            program.count_cycles(profile::ranges(program_of(&programs, unit)));
        }
        let units = nic.nodes.units.clone();
        record.borrow_mut().set_units(&units);
        let with_credits = units.iter().zip(&checked.services);
        let with_credits = with_credits.flat_map(|(nodes, service)| nodes.iter().map(|&node| (node, service.credits)));
        let credits = Rc::new(RefCell::new(CreditLog::new(clock, with_credits)));
        nic.system.listen(Box::new(CreditSink(credits.clone())));
        let ports = networks.into_iter().chain(transmits).collect();
        record.borrow_mut().departures = wanted.lines.then(Vec::new);
        record.borrow_mut().kept = wanted.outcomes.then(Vec::new);
        record.borrow_mut().tables = wanted.tables.then(|| Tables::new(clock, &units));
        // Last, so that nothing is written if anything else is wrong.
        record.borrow_mut().captures = Captures::create(wanted)?;
        let services = checked.services.iter().map(|service| service.name.clone()).collect();
        let names = checked.chains.all().iter().map(|chain| chain.params.name.clone());
        let paths = PathLog::new(wanted, clock, || paths::scenery(services, names)).map_err(RecordError::from)?;
        record.borrow_mut().paths = paths;
        Ok(ChainCard {
            checked,
            nic,
            clock,
            record,
            ports,
            credits,
            ended: None,
            is_closed: false,
            chains,
            shares,
            programs,
            instructions_before: BTreeMap::new(),
            changed: 0,
            now: 0,
            has_lines: wanted.lines,
            stops_exactly: wanted.lines,
            look: None,
            limit,
            stall_limit,
        })
    }

    /// Simulates up to the next check, change or limit, whichever is first, and not past `until`.
    fn step(&mut self, until: Cycle) -> Result<(), ChainFault> {
        let look = self.look.unwrap_or_else(|| (self.idle_until().max(self.now) / LOOK + 1).saturating_mul(LOOK));
        let change = self.next_change().unwrap_or(Cycle::MAX);
        let natural = look.min(change).min(self.limit);
        let target = natural.min(until);
        self.look = (target < natural).then_some(look);
        let outcome = self.nic.system.run_until(self.clock.edge(target));
        self.now = target;
        if let Some(error) = self.record.borrow_mut().error.take() {
            return Err(error.into());
        }
        while self.next_change().is_some_and(|at| at <= self.now) {
            self.change();
        }
        if self.look.is_some() {
            return Ok(());
        }
        self.ended = self.judge(outcome);
        // Nothing happens until the next packet or change, so fewer checks suffice.
        if outcome == Outcome::Quiet && self.ended.is_none() {
            self.now = self.now.max(self.next_change().unwrap_or(self.now).saturating_sub(1)).min(self.limit);
            self.now = self.now.min(until.max(target));
        }
        Ok(())
    }

    /// A cycle before which nothing happens, because no packet is inside and all parts sleep. Checks before that cycle
    /// would find nothing.
    fn idle_until(&self) -> Cycle {
        if self.record.borrow().n_open() > 0 {
            return self.now;
        }
        let next = self.nic.system.next_edge().map(|at| self.clock.cycle_at_or_after(at).saturating_sub(1));
        next.unwrap_or(self.now)
    }

    fn next_change(&self) -> Option<Cycle> {
        let change = self.checked.changes.get(self.changed)?;
        Some(self.clock.cycle_at_or_after(change.time))
    }

    fn change(&mut self) {
        let change = &self.checked.changes[self.changed];
        let mut chains = self.chains.borrow_mut();
        change.install.iter().for_each(|&chain| chains.install(chain, true));
        change.remove.iter().for_each(|&chain| chains.install(chain, false));
        for (table, entries) in &change.entries {
            chains.replace(table, entries).expect("this was possible when the experiment was checked");
        }
        for &(tenant, weight) in &change.weights {
            let class = usize::from(self.checked.tenants[tenant].class);
            self.shares.iter().for_each(|share| share.borrow_mut().set_weight(class, weight));
        }
        self.changed += 1;
    }

    /// Changes that have been made, in order of time.
    pub(super) fn changes_made(&self) -> &[Change] {
        &self.checked.changes[..self.changed]
    }

    /// The program of a unit such as `core[0]`.
    pub(super) fn program_of(&self, unit: &str) -> Option<&Elf> {
        program_of(&self.programs, unit)
    }

    fn judge(&self, outcome: Outcome) -> Option<Ended> {
        let record = self.record.borrow();
        let is_over = self.ports.iter().all(SharedPort::is_over);
        let has_changes = self.next_change().is_some_and(|at| at < self.limit);
        let waiting = self.ports.iter().filter_map(SharedPort::waiting).max().unwrap_or(0);
        let since = record.progress_at.max(waiting);
        let is_quiet = outcome == Outcome::Quiet && !has_changes;
        let is_still = is_quiet || self.now >= since.saturating_add(self.stall_limit);
        match () {
            _ if self.has_lines => (self.now >= self.limit).then_some(Ended::Limit),
            // All packets are finished. Other activity, such as a core that waits for packets, cannot change them.
            _ if is_over && record.n_open() == 0 => {
                Some(if self.ports.iter().any(SharedPort::is_cut) { Ended::Limit } else { Ended::Complete })
            }
            _ if is_still && !has_changes && record.n_open() > 0 => Some(Ended::Stalled(None)),
            _ if self.now >= self.limit => Some(Ended::Limit),
            _ => None,
        }
    }

    /// Number of simulated cycles. A complete run counts them up to the cycle in which the last packet left or was
    /// dropped.
    pub fn cycles(&self) -> Cycle {
        match self.ended {
            Some(Ended::Complete) => self.record.borrow().progress_at,
            _ => self.now,
        }
    }
}

impl Simulated for ChainCard {
    fn run_until(&mut self, until: Time) -> Result<(), RunError> {
        // With lines, the caller may still inject packets for the next cycle.
        let most = match () {
            _ if self.has_lines => self.clock.cycle_after(until) - 1,
            _ if self.stops_exactly => self.clock.cycle_at_or_after(until),
            _ => Cycle::MAX,
        };
        if self.has_lines {
            self.ports.iter().for_each(|port| port.set_quiet_until(most));
        }
        while self.ended.is_none() && self.now < most && self.now() < until {
            self.step(most).map_err(RunError::new)?;
        }
        Ok(())
    }

    fn now(&self) -> Time {
        self.clock.edge(self.now)
    }

    fn next_event(&self) -> Option<Time> {
        let change = self.next_change().map(|cycle| self.clock.edge(cycle));
        [self.nic.system.next_edge(), change].into_iter().flatten().min()
    }

    fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    fn progress(&self) -> Progress {
        let record = self.record.borrow();
        let packets_in = record.stats.all.came.packets;
        let totals = self.checked.sources.iter().map(|source| source.source.total());
        let total = totals.sum::<Option<u64>>();
        let file = self.ports.iter().map(SharedPort::file_progress);
        let (read, len) = file.fold((0, 0), |(read, len), file| (read + file.0, len + file.1));
        let part = |done: u64, all: u64| if all == 0 { 1.0 } else { (done as f64 / all as f64).min(1.0) };
        let fraction = match total {
            Some(total) => Some(part(packets_in, total)),
            None if len > 0 => Some(part(read, len)),
            None => None,
        };
        let (is_done, packets_done, cycles) = (self.ended.is_some(), packets_in - record.n_open(), self.cycles());
        let simulated = self.clock.edge(cycles);
        Progress { is_done, packets_in, packets_done, packets_total: total, fraction, simulated, cycles: Some(cycles) }
    }

    fn set_mode(&mut self, mode: Mode) {
        self.nic.system.set_mode(mode);
    }

    fn close(&mut self) -> Result<(), RunError> {
        let record = &mut *self.record.borrow_mut();
        if !std::mem::replace(&mut self.is_closed, true) {
            record.close_rest();
        }
        if let Some(paths) = &mut record.paths {
            paths.finish().map_err(RunError::new)?;
        }
        record.captures.flush().map_err(RunError::new)
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        self.all_counters()
    }

    fn flush(&mut self) -> Result<(), RunError> {
        self.record.borrow_mut().captures.flush().map_err(RunError::new)
    }

    fn observe_at(&self) -> Option<Time> {
        self.record.borrow().paths.as_ref()?.sample_at(self.next_event())
    }

    fn observe(&mut self) -> Result<(), RunError> {
        let (now, system) = (Simulated::now(self), &self.nic.system);
        let Some(paths) = &mut self.record.borrow_mut().paths else { return Ok(()) };
        paths.sample(now, || system.resources(), |loads| system.loads(loads)).map_err(RunError::new)
    }
}

/// The service of a unit such as `aes[1]`.
pub(super) fn service_of(unit: &str) -> &str {
    unit.rsplit_once('[').map_or(unit, |(service, _)| service)
}

/// The program of a unit, among those of all services.
fn program_of<'a>(programs: &'a [(String, Elf)], unit: &str) -> Option<&'a Elf> {
    programs.iter().find(|(name, _)| name == service_of(unit)).map(|(_, elf)| elf)
}

impl Card for ChainCard {
    fn digest(&self) -> String {
        self.record.borrow().digest.to_hex()
    }

    fn summary(&self, wall: Duration) -> Value {
        self.summarize(wall).to_json()
    }

    fn program_remarks(&self, _more: &str) -> Vec<Remark> {
        self.remarks_on_programs()
    }

    fn dropped(&self) -> Vec<(&'static str, u64)> {
        let record = self.record.borrow();
        record.stats.all.reasons.iter().map(|(&reason, &n)| (reason, n)).collect()
    }

    fn resources(&self) -> (Time, Vec<(Clock, Resource)>) {
        (Time::ZERO, self.nic.system.resources())
    }

    fn cores(&self) -> Option<&dyn Cores> {
        if self.nic.programs.is_empty() { None } else { Some(self) }
    }

    fn cores_mut(&mut self) -> Option<&mut dyn Cores> {
        if self.nic.programs.is_empty() { None } else { Some(self) }
    }

    fn profile(&self) -> Option<Profile> {
        let of_service = |(service, elf): &(String, Elf)| {
            let units = self.nic.programs.iter().filter(|(unit, _)| service_of(unit) == service);
            let profiles: Vec<_> = units.filter_map(|(_, program)| program.profile()).collect();
            (!profiles.is_empty()).then(|| (service.clone(), Profile::of(&profiles, Machine::RiscV, |_| Some(elf))))
        };
        Profile::joined(self.programs.iter().filter_map(of_service))
    }

    fn ports(&self) -> Vec<Port> {
        self.ports.iter().map(|port| port.side().into()).collect()
    }

    fn inject(&mut self, port: Port, at: Time, frame: Box<[u8]>) -> Result<(), InjectError> {
        if !self.has_lines {
            return Err(InjectError::NoLines { port });
        }
        let ports = Card::ports(self);
        InjectError::check(&ports, Simulated::now(self), port, at, &frame)?;
        let position = ports.iter().position(|&other| other == port).expect("the port was checked");
        self.ports[position].inject(self.clock.cycle_at_or_after(at), frame);
        Ok(())
    }

    fn take_departures(&mut self) -> Vec<Departure> {
        self.record.borrow_mut().departures.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn take_outcomes(&mut self) -> Vec<PacketOutcome> {
        self.outcomes()
    }

    fn read_memory(&self, core: &str, addr: u32, data: &mut [u8]) -> bool {
        self.program_at(core).is_some_and(|(_, program)| program.read_memory(addr, data))
    }

    fn take_tables(&mut self) -> Vec<Rows> {
        let mut record = self.record.borrow_mut();
        let mut rows = Vec::new();
        if let Some(tables) = &mut record.tables {
            rows.push(Rows { table: "packets", columns: tables.take_packets() });
            rows.push(Rows { table: "hops", columns: tables.take_hops() });
        }
        let paths = record.paths.as_mut().and_then(PathLog::take);
        rows.extend(paths.map(|columns| Rows { table: PATHS, columns }));
        rows
    }
}

/// Replaces the policies of services by the user's policies.
fn replace_policies(policies: &mut Policies, own: OwnPolicies, checked: &CheckedChains) -> Result<(), ChainFault> {
    if !own.is_empty() && !matches!(checked.nic, NicModel::Panic(_)) {
        return Err(ChainFault::NoPolicies);
    }
    for (name, policy) in own {
        let service = checked.services.iter().position(|service| service.name == name);
        let service = service.ok_or_else(|| ChainFault::NoService {
            known: checked.services.iter().map(|service| service.name.as_str()).collect::<Vec<_>>().join(", "),
            found: name,
        })?;
        policies.retain(|&(of, _)| of != service);
        policies.push((service, policy));
    }
    Ok(())
}
