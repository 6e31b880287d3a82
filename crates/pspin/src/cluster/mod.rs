//! A cluster: cores with their drivers, L1 memory, instruction cache, DMA engine and scheduler.
//!
//! All parts that answer within a cycle form one component, made of plain structs. `tick` below gives the order of
//! steps within a cycle; `tick_plan.rs` decides when to tick and which steps to skip. `grant.rs` contains the cores'
//! turn, `cores.rs` runs a core, `access.rs` answers its accesses, `bursts.rs` moves beats, `scheduler.rs` assigns
//! tasks.

mod access;
mod beats;
mod bursts;
mod caching;
mod cores;
mod debug;
mod dma;
mod dma_registers;
mod drivers;
mod events;
mod execution;
mod fetch;
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
use crate::params::PspinParams;
use crate::pe::{PeReply, PeRequest, RemoteReply, RemoteRequest};
use crate::protocol::{BEAT_BYTES, ClusterActive, PacketId, Region, Stage};
use crate::world::Console;
use beats::Beats;
use blocks::cpu::{InstructionLog, Program};
use blocks::policy::RotatingTree;
use bursts::Outside;
use cores::Cores;
use dma::{Dma, Finished, Owner};
use dma_registers::{Accounts, DmaRegisters, Launcher};
use drivers::Drivers;
use events::EventUnit;
use fetch::Fetch;
use hpu::{Hpu, Wait};
use kernel::trace::{Counter, Tracer};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use l1::L1;
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
    plan: TickPlan,
    ports: ClusterPorts,
    pe: (Tx<PeRequest>, Rx<PeReply>),
    remotes: (Rx<RemoteRequest>, Tx<RemoteReply>),
    cores: Cores,
    l1: L1,
    beats: Beats,
    fetch: Fetch,
    event_unit: EventUnit,
    timer: Timer,
    scheduler: Scheduler,
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
    totals: Totals,
    trace: Tracer,
}

impl Cluster {
    /// Cluster `id` of the machine. All its cores run `program`.
    pub fn new(
        id: u32,
        params: &PspinParams,
        program: Rc<Program>,
        mut ports: ClusterPorts,
        links: Links,
        console: Rc<RefCell<dyn Console>>,
        trace: Tracer,
    ) -> Self {
        let cluster = &params.cluster;
        let n_cores = cluster.n_cores;
        Cluster {
            id,
            plan: TickPlan::new(),
            cores: Cores::new(id, params),
            l1: L1::new(cluster.l1_bytes, cluster.l1_banks),
            beats: Beats {
                dma: Dma::new(id, params, links.dma),
                outside: Outside::new(map::L1_BASE + id * map::L1_STRIDE, std::mem::take(&mut ports.bursts)),
                wide: WidePorts::default(),
            },
            fetch: Fetch::new(params, program, links.lines, links.code),
            ports,
            pe: links.pe,
            remotes: links.remote,
            event_unit: EventUnit::new(n_cores),
            timer: Timer::default(),
            scheduler: Scheduler::new(id, params),
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
        self.cores.set_runtime(runtime);
    }

    /// Limits how far a core may run ahead of the others to `cycles`, from now on and at least 1.
    pub fn bound_run_ahead(&mut self, cycles: u64) {
        self.plan.bound_run_ahead(cycles);
        self.fetch.plan_run_ahead(&mut self.plan);
    }

    /// Sets the arbiter of the instruction cache to its state after `grants` grants.
    pub fn set_fetch_grants(&mut self, grants: u32) {
        self.fetch.set_grants(grants);
    }

    /// Sets the arbiter of the bank at a byte offset of L1 to its state after an access of `core`.
    pub fn set_bank_turn(&mut self, offset: u32, core: u32) {
        self.l1.grant_alone(self.l1.bank(offset), core);
    }

    /// Records every instruction of a core in `log` from now on.
    pub fn log_instructions(&mut self, core: u32, log: InstructionLog) {
        self.cores[core as usize].core.log_instructions(log);
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
        self.cores.hpus.iter().enumerate().map(state).collect()
    }

    /// Cycles from `from`, which is before the first task, to `now` in which cores waited for tasks, summed over all cores.
    pub fn asleep_cycles(&self, from: Cycle, now: Cycle) -> u64 {
        self.cores.hpus.iter().map(|hpu| hpu.driver.slept(from, now)).sum()
    }

    /// The DMA engine has finished a transfer.
    fn transfer_done(&mut self, owner: Owner, now: Cycle) {
        match owner {
            Owner::Scheduler => self.packet_copied(now),
            Owner::Core(core) => {
                let driver = &mut self.cores[core as usize].driver;
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
        if !self.is_active && self.cores.hpus.iter().all(|hpu| hpu.driver.is_active()) {
            self.is_active = true;
            self.trace.emit(&CLUSTER_ACTIVE, now, &[]);
            self.ports.active.send(ClusterActive);
        }
    }

    /// One cycle of everything that moves beats. Returns true if a transfer ends in it.
    fn move_beats(&mut self, now: Cycle) -> bool {
        let finished = self.beats.tick(now, &mut self.l1);
        if let Some(Finished { owner }) = finished {
            self.transfer_done(owner, now);
        }
        finished.is_some()
    }

    /// The steps before the cores' turn: only beats, or all steps.
    #[inline(never)]
    fn begin_cycle(&mut self, now: Cycle, has_mail: bool) {
        self.beats.catch_up(now, &mut self.l1, &mut self.plan);
        if self.plan.is_calm(now, has_mail) {
            // The end of a transfer lets other parts continue.
            let has_ended = self.plan.next_beat == now && self.move_beats(now);
            self.beats.plan(now, &mut self.plan);
            self.plan.leave_out(!has_ended);
        } else {
            self.plan.do_all();
            self.prepare_cores(now);
        }
    }

    /// Returns when to tick next.
    fn next(&mut self, now: Cycle) -> Activity {
        let (refill, leaves) = (self.fetch.next_event(now, &self.cores), self.next_leave());
        let soon = self.pe_asking != 0
            || self.remote.is_busy()
            || self.remotes.0.is_due(now)
            || self.drivers.with_commands != 0
                && (!self.drivers.command_arbiter.is_locked() || self.ports.commands.has_room()) // New room wakes the cluster.
            || self.launching != 0
            || self.public_launch.is_some()
            || self.scheduler.is_pressing(self.drivers.without_task != 0)
            || self.pe.1.is_due(now)
            || self.may_accept(now)
            || leaves <= now + 1;
        self.beats.plan(now, &mut self.plan);
        // A feedback that waits for the end of a command or a transfer waits for a message or for `catch_up`. A
        // feedback that waits only for its time must not be missed.
        self.plan.leave_out(!soon && self.is_active && leaves == Cycle::MAX && refill == Cycle::MAX);
        if soon {
            return Activity::Busy;
        }
        self.plan.sleep(&self.cores.ready, now, refill.min(leaves))
    }

    /// All steps before the cores' turn.
    fn prepare_cores(&mut self, now: Cycle) {
        self.take_responses(now);
        self.fetch.take_code(now, &mut self.cores, &mut self.plan);
        self.fetch.refill(now, &mut self.cores, &mut self.plan);
        self.take_pe_replies(now);
        self.beats.outside.take_bursts(now);
        self.assign_task(now);
        self.move_beats(now);
        self.accept_task(now);
        if self.plan.next_deadline <= now {
            self.watch_deadlines(now);
        }
    }

    /// All steps after the cores' turn.
    #[inline(never)]
    fn finish_cycle(&mut self, now: Cycle) -> Activity {
        self.fetch.request_uncached(now);
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
            return self.plan.sleep_cores(&self.cores.ready, now);
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
        self.beats.dma.ports(ports);
        self.fetch.ports(ports);
        ports.input("remote_requests", &self.remotes.0);
        ports.output("remote_replies", &self.remotes.1);
        self.beats.outside.ports(ports);
        ports.output("active", &p.active);
        ports.output("notices", &p.notices);
    }

    fn counters(&self, counters: &mut CounterList) {
        let (dma_bytes, dma_faults) = self.beats.dma.totals();
        counters.add("tasks", self.totals.tasks.total());
        counters.add("instructions", self.cores.instructions());
        counters.add("traps", self.totals.traps.total());
        counters.add("unmapped", self.totals.unmapped.total());
        counters.add("dropped_notices", self.totals.dropped_notices.total());
        counters.add("l1_accesses", self.l1.accesses());
        counters.busy("l1_busiest_bank_cycles", self.l1.busiest_bank(), 1, "the busiest L1 bank: one access a cycle");
        counters.add("l1_conflicts", self.totals.l1_conflicts.total());
        let limit = "the cluster's instruction cache: a line from program memory in a cycle";
        counters.busy("icache_misses", self.fetch.line_misses(), 1, limit);
        let depth = self.scheduler.depth();
        counters.held("task_fifo_cycles", self.scheduler.level(), depth, "the cluster's tasks that no HPU has taken");
        counters.add("dma_bytes", dma_bytes);
        counters.busy("dma_beats", dma_bytes.div_ceil(BEAT_BYTES.into()), 1, "the cluster's DMA: 64 bytes a cycle");
        counters.add("dma_faults", dma_faults);
        self.accounts.counters(counters);
    }
}
