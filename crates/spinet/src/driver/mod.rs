//! The driver of a card: the software between a card and its users.
//!
//! This is the sPIN interface as the PsPIN paper describes it (Di Girolamo et al., ISCA 2021, III-A, III-E; after
//! Hoefler et al., SC 2017). Tenants allocate memory of the card, load code, build execution contexts, install matching
//! rules, register host memory, and receive events about their messages. All of this is possible while packets flow,
//! and one tenant cannot disturb another.
//!
//! A caller uses a [`Driver`] between two periods of simulated time; [`Driver::run_until`] simulates. Calls that move
//! bytes to the card begin in the next cycle and take as long as the card's host port needs; [`Driver::wait`] waits for
//! one. The driver's own software takes no time.

mod capabilities;
mod code;
mod context;
mod error;
mod event;
mod handles;
mod heap;
mod host;
mod memory;
mod rule;
mod sharing;
mod traffic;

pub use capabilities::{Capabilities, MemoryLeft};
pub use context::ContextSpec;
pub use error::DriverError;
pub use event::{Event, describe};
pub use handles::{ContextId, HostId, MemoryId, ProgramId, RuleId, TenantId, TicketId};
pub use memory::Kind;
pub use rule::{Remaining, RuleSpec};
pub use sharing::{Choice, NoPart, OwnSharing, Tenant as WaitingTenant, TenantNames, TenantPolicy};

use crate::elf::Elf;
use crate::experiment::{DESCRIPTOR_BYTES, DESCRIPTORS, HOST_BASE, IoSpec};
use crate::handlers::HandlerError;
use crate::handlers::feed::{Feed, SharedFeed};
use crate::handlers::packets::Row;
use crate::handlers::record::{PrintedLine, Record, RecordError, Scribe, SharedRecord};
use crate::handlers::stats::Stats;
use crate::handlers::table::Table;
use crate::program;
use diagnostics::param::within;
use handles::Registry;
use heap::Heap;
use kernel::{Clock, Cycle, Mode, Outcome, Time};
use pspin::host_events::HostEvent;
use pspin::iommu::SharedPageTables;
use pspin::policy::Policies;
use pspin::protocol::{IoTerms, Weight};
use pspin::world::HostEvents;
use pspin::{Boundary, Image, Pspin, PspinError, PspinParams, map};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use wire::expr::Matcher;
use wire::faults::Faults;

/// Largest weight of a tenant.
pub const MAX_WEIGHT: u32 = 1000;
/// The owner of the tenants.
const OPERATOR: TenantId = TenantId(0);
/// Size of a beat of the card's wide interconnects, in bytes. Addresses and sizes of allocated memory are multiples of
/// it.
const ALIGN: u64 = 64;

struct Tenant {
    name: String,
    scope: Option<Matcher>,
    weight: Weight,
    io: IoTerms,
}

/// Events on their way from the card to the tenants; `None` if no caller takes them, because they would accumulate.
type PendingEvents = Rc<RefCell<Option<Vec<(Cycle, u32, HostEvent)>>>>;

/// A card and its driver. It lives on one thread.
pub struct Driver {
    pub(crate) nic: Pspin,
    pub(crate) feed: SharedFeed,
    pub(crate) record: SharedRecord,
    params: PspinParams,
    clock: Clock,
    /// The last simulated cycle.
    at: Cycle,
    program_memory: Heap,
    handler_memory: Heap,
    scratchpad_memory: Heap,
    /// Place of the contexts' descriptors in host memory, to which the card writes errors.
    descriptors: Heap,
    /// Host memory that the card may access, by context.
    page_tables: SharedPageTables,
    /// First byte of host memory that was never allocated.
    next_host: u64,
    tenants: Registry<TenantId, Tenant>,
    names: TenantNames,
    memories: Registry<MemoryId, memory::MemoryRange>,
    programs: Registry<ProgramId, code::Program>,
    hosts: Registry<HostId, host::Region>,
    contexts: Registry<ContextId, context::Built>,
    rules: Registry<RuleId, rule::Installed>,
    /// Removed rules that may still have open messages, with their tenants.
    ending: BTreeMap<RuleId, (TenantId, ContextId)>,
    tickets: Registry<TicketId, memory::Access>,
    pending: PendingEvents,
    events: VecDeque<(TenantId, Event)>,
    /// Faults of the network, and their seed, for the packets that are added next.
    faults: (Faults, u64),
    /// Number of tenants with rules that the card knows.
    n_served: u32,
}

impl Driver {
    /// A driver for a new card, whose memories contain `image` before the first cycle. `feed` supplies its packets, and
    /// `record` records them. Tenants share the card by `policies`, and `names` gets the tenants' names. The driver
    /// keeps no events; use [`Driver::boot`] for a driver that does.
    pub fn new(
        params: &PspinParams,
        image: &Image,
        feed: SharedFeed,
        record: SharedRecord,
        seed: u64,
        (policies, names): (Policies, TenantNames),
    ) -> Result<Self, PspinError> {
        let (pending, page_tables) = (PendingEvents::default(), SharedPageTables::default());
        let (events, mut scribe, timeouts) = (pending.clone(), Scribe(record.clone()), feed.clone());
        let boundary = Boundary {
            source: Box::new(crate::handlers::feed::Source(feed.clone())),
            completions: Box::new(Scribe(record.clone())),
            egress: Box::new(Scribe(record.clone())),
            host: Box::new(Scribe(record.clone())),
            console: Rc::new(RefCell::new(Scribe(record.clone()))),
            page_tables: page_tables.clone(),
            policies,
            events: Box::new(move |at, context, event: &HostEvent| {
                scribe.event(at, context, event);
                if let HostEvent::MessageTimeout { msgid, received, .. } = *event {
                    timeouts.borrow_mut().gave_up(at, msgid, received);
                }
                if let Some(pending) = events.borrow_mut().as_mut() {
                    pending.push((at, context, *event));
                }
            }),
        };
        let mut nic = Pspin::new(params, image, boundary, seed)?;
        nic.listen(Box::new(Scribe(record.clone())));
        let cluster = &params.cluster;
        let scratchpad_bytes = cluster.l1_bytes - cluster.scratchpad_offset;
        let clock = record.borrow().clock;
        Ok(Driver {
            nic,
            feed,
            record,
            clock,
            at: 0,
            program_memory: Heap::new(map::PROGRAM_BASE.into(), params.l2.program_bytes.into(), ALIGN),
            handler_memory: Heap::new(map::L2_HANDLER_BASE.into(), params.l2.handler_bytes.into(), ALIGN),
            scratchpad_memory: Heap::new(0, scratchpad_bytes.into(), ALIGN),
            descriptors: Heap::new(DESCRIPTORS, HOST_BASE - DESCRIPTORS, DESCRIPTOR_BYTES),
            page_tables,
            next_host: HOST_BASE,
            tenants: Registry::default(),
            names,
            memories: Registry::default(),
            programs: Registry::default(),
            hosts: Registry::default(),
            contexts: Registry::default(),
            rules: Registry::default(),
            ending: BTreeMap::new(),
            tickets: Registry::default(),
            pending,
            events: VecDeque::new(),
            faults: (Faults::NONE, 0),
            n_served: 0,
            params: params.clone(),
        })
    }

    /// A card that runs the runtime in `runtime`, has no tenants and gets no packets.
    pub fn boot(params: &PspinParams, runtime: Rc<Elf>, seed: u64) -> Result<Self, HandlerError> {
        Driver::boot_with(params, runtime, seed, OwnSharing::default())
    }

    /// Like [`Driver::boot`], with a user's policies for what tenants share.
    pub fn boot_with(params: &PspinParams, runtime: Rc<Elf>, seed: u64, own: OwnSharing) -> Result<Self, HandlerError> {
        let clock = Clock::new(params.clock_mhz.freq()?);
        let image = program::load(&runtime, params)?.image;
        let stats = Stats::new(params.n_clusters);
        let record: SharedRecord = Rc::new(RefCell::new(Record::new(clock, stats, None)));
        let feed = Feed::new(params, 0, Cycle::MAX, record.clone());
        let mut driver = Driver::new(params, &image, Rc::new(RefCell::new(feed)), record, seed, own.placed()?)?;
        driver.pending.replace(Some(Vec::new()));
        driver.adopt(OPERATOR, runtime)?;
        Ok(driver)
    }

    /// Adds a tenant. Its rules may only take packets that match `scope`, a match expression; by default, all packets.
    pub fn open(&mut self, name: &str, scope: Option<&str>) -> Result<TenantId, DriverError> {
        self.open_with(name, scope, 1, &IoSpec::default())
    }

    /// The same with a weight of 1 to [`MAX_WEIGHT`], and with priority and limits of the tenant's commands. Not every
    /// schedule of the card uses them.
    pub fn open_with(
        &mut self,
        name: &str,
        scope: Option<&str>,
        weight: u32,
        io: &IoSpec,
    ) -> Result<TenantId, DriverError> {
        within("weight", weight, 1, MAX_WEIGHT)?;
        let io = io.terms(&self.params).map_err(|(what, error)| DriverError::Io { what, error })?;
        let scope = scope.map(Matcher::parse).transpose()?;
        let tenant = self.tenants.add(OPERATOR, Tenant { name: name.into(), scope, weight: Weight(weight), io });
        self.names.add(tenant.0 as u32, name);
        Ok(tenant)
    }

    /// Removes a tenant and all its objects. It must have no rules and no packets in the card.
    pub fn close(&mut self, tenant: TenantId) -> Result<(), DriverError> {
        self.tenants.get(OPERATOR, tenant)?;
        if let Some(rule) = self.rules.owned(tenant).first() {
            return Err(DriverError::InUse {
                what: "tenant",
                number: tenant.0,
                user: rule.to_string(),
                end: "be removed",
            });
        }
        for context in self.contexts.owned(tenant) {
            self.check_idle(tenant, context)?;
        }
        for context in self.contexts.owned(tenant) {
            self.destroy(tenant, context)?;
        }
        for program in self.programs.owned(tenant) {
            self.unload(tenant, program)?;
        }
        for memory in self.memories.owned(tenant) {
            self.free(tenant, memory)?;
        }
        for host in self.hosts.owned(tenant) {
            self.unregister(tenant, host)?;
        }
        self.events.retain(|(owner, _)| *owner != tenant);
        for ticket in self.tickets.owned(tenant) {
            // The result of a read can no longer be taken. A write is forgotten when it has ended, and `settle` waits
            // for that.
            if matches!(self.tickets.get(tenant, ticket), Ok(memory::Access::Read(_))) {
                self.tickets.drop_any(ticket);
            }
        }
        self.tenants.remove(OPERATOR, tenant).map(drop)
    }

    /// The name of a tenant.
    pub fn name(&self, tenant: TenantId) -> Result<&str, DriverError> {
        Ok(&self.tenants.get(OPERATOR, tenant)?.name)
    }

    /// Sets the order in which components tick; no result depends on it.
    pub fn set_mode(&mut self, mode: Mode) {
        self.nic.set_mode(mode);
    }

    /// The card's clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The last simulated cycle.
    pub fn now(&self) -> Cycle {
        self.at
    }

    /// Simulates up to and including `cycle`; does nothing if that has passed.
    pub fn run_until(&mut self, cycle: Cycle) -> Outcome {
        let outcome = self.nic.run_until(cycle.max(self.at));
        self.at = self.at.max(cycle);
        self.end_accesses();
        for (at, context, what) in self.pending.borrow_mut().iter_mut().flat_map(|pending| pending.drain(..)) {
            let context = ContextId(context.into());
            if let Some(owner) = self.contexts.owner(context) {
                self.events.push_back((owner, Event { at, context, what }));
            }
        }
        outcome
    }

    /// The events of a tenant's contexts since the last call, in order of time.
    pub fn take_events(&mut self, tenant: TenantId) -> Result<Vec<Event>, DriverError> {
        self.tenants.get(OPERATOR, tenant)?;
        let (mine, others) = self.events.drain(..).partition::<Vec<_>, _>(|(owner, _)| *owner == tenant);
        self.events = others.into();
        Ok(mine.into_iter().map(|(_, event)| event).collect())
    }

    /// Keeps what the card does from now on, for [`Driver::take_sent`] and [`Driver::take_packets`].
    pub fn keep_packets(&mut self) {
        let record = &mut *self.record.borrow_mut();
        record.sent.get_or_insert_default();
        record.finished.get_or_insert_default();
    }

    /// Packets that the card sent since the last call: the cycle in which each was handed over, and its bytes.
    pub fn take_sent(&mut self) -> Vec<(Cycle, Box<[u8]>)> {
        self.record.borrow_mut().sent.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Packets of contexts that were finished since the last call, with their context and the times of their events.
    pub fn take_packets(&mut self) -> Vec<(ContextId, Row)> {
        let finished = self.record.borrow_mut().finished.as_mut().map(std::mem::take);
        finished.unwrap_or_default().into_iter().map(|row| (ContextId(row.context as u64 + 1), row)).collect()
    }

    /// Keeps a table of packets from now on, for [`Driver::take_table`].
    pub fn keep_table(&mut self) {
        let clock = self.clock;
        self.record.borrow_mut().table.get_or_insert_with(|| Table::new(clock));
    }

    /// Rows of packets that are finished since the last call, by column; none if no table is kept.
    pub fn take_table(&mut self) -> Vec<(&'static str, Vec<u8>)> {
        self.record.borrow_mut().table.as_mut().map(Table::take).unwrap_or_default()
    }

    /// Lines printed since the last call, with their times.
    pub fn take_console(&mut self) -> Vec<(Time, PrintedLine)> {
        let (clock, record) = (self.clock, &mut *self.record.borrow_mut());
        record.lines.drain(..).map(|line| (clock.edge(line.at), line)).collect()
    }

    /// Returns the error that ended the traffic, if there is one. Call it after simulating.
    pub fn check(&mut self) -> Result<(), RecordError> {
        self.record.borrow_mut().error.take().map_or(Ok(()), Err)
    }

    /// Digest of everything that the card did so far.
    pub fn digest(&self) -> String {
        self.record.borrow().digest.to_hex()
    }
}
