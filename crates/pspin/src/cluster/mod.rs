//! A cluster: cores with their drivers, L1 memory, instruction cache, DMA engine and scheduler.
//!
//! All parts that answer within a cycle form one component, made of plain structs. `tick` below gives the order of
//! steps within a cycle; `tick_plan.rs` decides when to tick and which steps to skip. `grant.rs` contains the cores'
//! turn, `cores.rs` runs a core, `access.rs` answers its accesses, `bursts.rs` moves beats, `scheduler.rs` assigns
//! tasks.

mod access;
mod bursts;
mod caching;
mod code;
mod cores;
mod debug;
mod dma;
mod dma_registers;
mod drivers;
mod events;
mod grant;
mod guard;
mod hpu;
mod hpu_driver;
mod icache;
mod l1;
mod ports;
mod profile;
mod ready;
mod refills;
mod remote;
mod rings;
mod scheduler;
mod tick_plan;
mod timer;
mod traps;
mod wide;

pub use debug::{TASK_BYTES, Work};
pub use ports::{ClusterPorts, DmaPorts, Links};
pub use profile::{CAUSES, CAUSES_ABOUT};
pub use refills::MISS_PATH;

use crate::arbiter::LockingTree;
use crate::events::{CLUSTER_ACTIVE, TRANSFER_DONE};
use crate::map;
use crate::params::{PspinParams, RtlMistakes};
use crate::pe::{CodeWrite, LineReply, LineRequest, PeReply, PeRequest, RemoteReply, RemoteRequest};
use crate::protocol::{BEAT_BYTES, ClusterActive, PacketId, Region, Stage};
use crate::world::Console;
use blocks::cpu::{InstructionLog, Program};
use blocks::policy::RotatingTree;
use bursts::Outside;
use caching::Caching;
use dma::{Dma, Owner};
use dma_registers::{Accounts, DmaRegisters, Launcher};
use drivers::Drivers;
use events::EventUnit;
use hpu::{Hpu, Wait};
use icache::Icache;
use kernel::trace::{Counter, Tracer};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use l1::L1;
use ready::Ready;
use refills::Refills;
use remote::Remote;
use scheduler::Scheduler;
use std::cell::RefCell;
use std::rc::Rc;
use tick_plan::TickPlan;
use timer::Timer;
use wide::WidePorts;

/// The state of a core between runs: what it does or waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoreState {
    /// Position of its cluster.
    pub cluster: u32,
    /// Position in its cluster.
    pub core: u32,
    /// Address of its next instruction, or of the one that waits.
    pub pc: u32,
    /// A short text: `runs`, `waits for its driver`, ...
    pub waits: &'static str,
    /// The packet and the stage of its task.
    pub task: Option<(PacketId, Stage)>,
}

/// Totals of a cluster.
#[derive(Default)]
struct Totals {
    /// Cycles in which a narrow access found its bank taken, summed over all such accesses.
    l1_conflicts: Counter,
    line_misses: Counter,
    traps: Counter,
    /// Notices to the host that were dropped because the queue was full.
    dropped_notices: Counter,
    tasks: Counter,
    /// Accesses of cores to unmapped addresses.
    unmapped: Counter,
}

/// One cluster.
///
/// Ports:  see [`ClusterPorts`] and [`Links`].
/// Timing: a task that arrives in cycle c with 64 bytes is copied, assigned and running in cycle c + 14. Each part
///         documents its own timing.
/// Source: PsPIN RTL a49fec8, `hw/deps/pulp_cluster`, `hw/src/pkt_scheduler/cluster_scheduler.sv`.
pub struct Cluster {
    id: u32,
    program: Rc<Program>,
    plan: TickPlan,
    ports: ClusterPorts,
    pe: (Tx<PeRequest>, Rx<PeReply>),
    lines: (Tx<LineRequest>, Rx<LineReply>),
    code: Rx<CodeWrite>,
    remotes: (Rx<RemoteRequest>, Tx<RemoteReply>),
    hpus: Vec<Hpu>,
    ready: Ready,
    /// For each core and the outside port, the bank of the own L1 of its current or last request.
    banks: [u8; 32],
    l1: L1,
    wide: WidePorts,
    outside: Outside,
    icache: Icache,
    caching: Caching,
    refills: Refills,
    /// Bit set of the cores whose cache controllers miss a line.
    missing: u32,
    event_unit: EventUnit,
    timer: Timer,
    dma: Dma,
    scheduler: Scheduler,
    inter_core_fifo: usize,
    /// Bit set of the cores that request the PE interconnect, and the arbiter's turn.
    pe_asking: u32,
    pe_turn: RotatingTree,
    drivers: Drivers,
    /// Bit set of the cores that wait for the DMA engine to take their transfer, and the arbiter's turn.
    launching: u32,
    launch_turn: LockingTree,
    /// Transfers of tenants.
    accounts: Accounts,
    remote: Remote,
    public_dma: DmaRegisters,
    /// The requester that waits for the DMA engine to take the transfer in `public_dma`.
    public_launch: Option<Launcher>,
    console: Rc<RefCell<dyn Console>>,
    is_active: bool,
    misaligned_amo_traps: bool,
    mistakes: RtlMistakes,
    totals: Totals,
    trace: Tracer,
}

impl Cluster {
    /// Cluster `id` of the machine. All its cores run `program`.
    pub fn new(
        id: u32,
        params: &PspinParams,
        program: Rc<Program>,
        ports: ClusterPorts,
        links: Links,
        console: Rc<RefCell<dyn Console>>,
        trace: Tracer,
    ) -> Self {
        let cluster = &params.cluster;
        let n_cores = cluster.n_cores;
        Cluster {
            id,
            program,
            plan: TickPlan::new(),
            ports,
            pe: links.pe,
            lines: links.lines,
            code: links.code,
            remotes: links.remote,
            hpus: (0..n_cores).map(|core| Hpu::new(id, core, params)).collect(),
            ready: Ready::new(n_cores),
            banks: [0; 32],
            l1: L1::new(cluster.l1_bytes, cluster.l1_banks),
            wide: WidePorts::default(),
            outside: Outside::default(),
            icache: Icache::new(&cluster.icache, n_cores, map::PROGRAM_BASE, params.l2.program_bytes),
            caching: Caching::new(&cluster.icache),
            refills: Refills::new(n_cores),
            missing: 0,
            event_unit: EventUnit::new(n_cores),
            timer: Timer::default(),
            dma: Dma::new(id, params, links.dma),
            scheduler: Scheduler::new(id, params),
            inter_core_fifo: cluster.inter_core_fifo as usize,
            pe_asking: 0,
            pe_turn: RotatingTree::new(n_cores),
            drivers: Drivers::new(params),
            launching: 0,
            launch_turn: LockingTree::default(),
            accounts: Accounts::new(params.clock_mhz.hz()),
            remote: Remote::default(),
            public_dma: DmaRegisters::default(),
            public_launch: None,
            console,
            is_active: false,
            misaligned_amo_traps: params.isolation.misaligned_amo_traps,
            mistakes: params.rtl_mistakes,
            totals: Totals::default(),
            trace,
        }
    }

    /// Writes bytes to L1 before the first cycle.
    pub fn load_l1(&mut self, offset: u32, bytes: &[u8]) {
        self.l1.write(offset, bytes);
    }

    /// Reads a range of L1; false, without reading, if it reaches beyond the end.
    pub fn read_l1(&self, offset: u32, data: &mut [u8]) -> bool {
        let Some(bytes) = self.l1.range(offset, data.len()) else { return false };
        data.copy_from_slice(bytes);
        true
    }

    /// Sets the code that every core may run in user mode, with or without a task.
    pub fn set_runtime(&mut self, runtime: Region) {
        self.hpus.iter_mut().for_each(|hpu| hpu.guard.set_runtime(runtime));
    }

    /// Limits how far a core may run ahead of the others to `cycles`, from now on and at least 1.
    pub fn bound_run_ahead(&mut self, cycles: u64) {
        self.plan.bound_run_ahead(cycles);
        self.plan_run_ahead();
    }

    /// Sets the arbiter of the instruction cache to its state after `grants` grants.
    pub fn set_fetch_grants(&mut self, grants: u32) {
        self.refills.set_grants(grants);
    }

    /// Sets the arbiter of the bank at a byte offset of L1 to its state after an access of `core`.
    pub fn set_bank_turn(&mut self, offset: u32, core: u32) {
        self.l1.grant_alone(self.l1.bank(offset), core);
    }

    /// Records every instruction of a core in `log` from now on.
    pub fn log_instructions(&mut self, core: u32, log: InstructionLog) {
        self.hpus[core as usize].core.log_instructions(log);
    }

    /// The state of each core: what it does or waits for.
    pub fn core_states(&self) -> Vec<CoreState> {
        let state = |(i, hpu): (usize, &Hpu)| CoreState {
            cluster: self.id,
            core: i as u32,
            pc: if hpu.wait == Wait::Stray { hpu.core.last_trap().pc } else { hpu.core.pc() },
            waits: hpu.wait.describe(),
            task: hpu.driver.task().map(|held| (held.task.packet, held.task.stage)),
        };
        self.hpus.iter().enumerate().map(state).collect()
    }

    /// Cycles from `from`, which is before the first task, to `now` in which cores waited for tasks, summed over all cores.
    pub fn asleep_cycles(&self, from: Cycle, now: Cycle) -> u64 {
        self.hpus.iter().map(|hpu| hpu.driver.slept(from, now)).sum()
    }

    /// The DMA engine has finished a transfer.
    fn transfer_done(&mut self, owner: Owner, now: Cycle) {
        match owner {
            Owner::Scheduler => self.packet_copied(now),
            Owner::Core(core) => {
                let driver = &mut self.hpus[core as usize].driver;
                driver.transfers -= 1;
                if let Some(packet) = driver.done_packet() {
                    self.trace.emit(&TRANSFER_DONE, now, &[packet.0]);
                }
            }
            Owner::Public => {}
        }
    }

    /// Notifies the inbound engine, once, that all cores have reached their drivers.
    fn report_active(&mut self, now: Cycle) {
        if !self.is_active && self.hpus.iter().all(|hpu| hpu.driver.is_active()) {
            self.is_active = true;
            self.trace.emit(&CLUSTER_ACTIVE, now, &[]);
            self.ports.active.send(ClusterActive);
        }
    }

    /// All steps before the cores' turn.
    fn prepare_cores(&mut self, now: Cycle) {
        self.take_responses(now);
        self.take_code(now);
        self.refill(now);
        self.take_pe_replies(now);
        self.take_bursts(now);
        self.assign_task(now);
        self.run_wide(now);
        self.accept_task(now);
        if self.plan.next_deadline <= now {
            self.watch_deadlines(now);
        }
    }

    /// All steps after the cores' turn.
    #[inline(never)]
    fn finish_cycle(&mut self, now: Cycle) -> Activity {
        self.ask_uncached(now);
        self.launch_transfer(now);
        self.send_pe_request(now);
        self.send_command();
        self.send_feedback(now);
        self.report_active(now);
        self.next(now)
    }
}

impl Component for Cluster {
    #[inline(always)]
    fn tick(&mut self, now: Cycle) -> Activity {
        let has_mail = self.ports.tasks.take_mail();
        if has_mail || !self.plan.is_cores_only(now) {
            self.begin_cycle(now, has_mail);
        }
        self.run_cores(now);
        if self.plan.is_cores_only(now) {
            // All other steps would have no effect.
            // One tick without effect costs less than to sleep.
            return match self.ready.is_due(now + 1) || self.ready.is_due(now + 2) {
                true => Activity::Busy,
                false => self.sleep(now, Cycle::MAX),
            };
        }
        self.finish_cycle(now)
    }

    fn ports(&self, ports: &mut Ports) {
        let p = &self.ports;
        ports.input("tasks", &p.tasks);
        ports.output("feedbacks", &p.feedbacks);
        ports.output("commands", &p.commands);
        ports.input("responses", &p.responses);
        ports.output("pe_requests", &self.pe.0);
        ports.input("pe_replies", &self.pe.1);
        self.dma.ports(ports);
        ports.output("line_requests", &self.lines.0);
        ports.input("line_replies", &self.lines.1);
        ports.input("code", &self.code);
        ports.input("remote_requests", &self.remotes.0);
        ports.output("remote_replies", &self.remotes.1);
        for (i, (requests, replies)) in p.bursts.iter().enumerate() {
            ports.input(&format!("bursts[{i}]"), requests);
            ports.output(&format!("burst_replies[{i}]"), replies);
        }
        ports.output("active", &p.active);
        ports.output("notices", &p.notices);
    }

    fn counters(&self, counters: &mut CounterList) {
        let (dma_bytes, dma_faults) = self.dma.totals();
        counters.add("tasks", self.totals.tasks.total());
        counters.add("instructions", self.hpus.iter().map(|hpu| hpu.core.instructions()).sum());
        counters.add("traps", self.totals.traps.total());
        counters.add("unmapped", self.totals.unmapped.total());
        counters.add("dropped_notices", self.totals.dropped_notices.total());
        counters.add("l1_accesses", self.l1.accesses());
        counters.busy("l1_busiest_bank_cycles", self.l1.busiest_bank(), 1, "the busiest L1 bank: one access a cycle");
        counters.add("l1_conflicts", self.totals.l1_conflicts.total());
        let limit = "the cluster's instruction cache: a line from program memory in a cycle";
        counters.busy("icache_misses", self.totals.line_misses.total(), 1, limit);
        let depth = self.scheduler.depth();
        counters.held("task_fifo_cycles", self.scheduler.level(), depth, "the cluster's tasks that no HPU has taken");
        counters.add("dma_bytes", dma_bytes);
        counters.busy("dma_beats", dma_bytes.div_ceil(BEAT_BYTES.into()), 1, "the cluster's DMA: 64 bytes a cycle");
        counters.add("dma_faults", dma_faults);
        self.accounts.counters(counters);
    }
}
