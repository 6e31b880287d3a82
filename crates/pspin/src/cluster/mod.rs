//! A cluster: cores with their drivers, L1 memory, instruction cache, DMA engine and scheduler.
//!
//! All parts that answer within a cycle form one component. Each is a plain struct in a file of its own, and owns its
//! state. `tick` below gives the order of steps within a cycle; `tick_plan.rs` decides when to tick and which steps to
//! skip. Parts meet in three more files: `grant.rs` contains the cores' turn, `execution.rs` runs a core and ends its
//! handler, `access.rs` answers its accesses.

mod access;
mod beats;
mod bursts;
mod caching;
mod cores;
mod debug;
mod dma;
mod dma_frontend;
mod dma_shares;
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
mod pe_port;
mod peripherals;
mod ports;
mod profile;
mod ready;
mod refills;
mod remote;
mod rings;
mod scheduler;
mod stdout;
mod tick_plan;
mod timer;
mod traps;
mod wide;

pub use debug::{TASK_BYTES, Work};
pub use ports::{ClusterPorts, DmaPorts, Links};
pub use profile::{CAUSES, CAUSES_ABOUT};
pub use refills::MISS_PATH;

use crate::events::TRANSFER_DONE;
use crate::map;
use crate::params::PspinParams;
use crate::policy::TenantPolicy;
use crate::protocol::{BEAT_BYTES, PacketId, Region, Stage};
use crate::world::Console;
use beats::Beats;
use blocks::cpu::{InstructionLog, Program};
use bursts::Outside;
use cores::Cores;
use dma::{Dma, Finished, Owner};
use dma_frontend::DmaFrontend;
use drivers::Drivers;
use fetch::Fetch;
use hpu::{Hpu, Wait};
use kernel::trace::Tracer;
use kernel::{Activity, Component, CounterList, Cycle, Ports};
use l1::L1;
use pe_port::PePort;
use peripherals::Peripherals;
use remote::Remote;
use scheduler::Scheduler;
use std::cell::RefCell;
use std::rc::Rc;
use stdout::Stdout;
use tick_plan::TickPlan;
use traps::Traps;
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

/// One cluster. Each part owns its state; [`Cluster::tick`] says which part acts when.
///
/// Ports:  see [`ClusterPorts`] and [`Links`].
/// Timing: a task that arrives in cycle c with 64 bytes is copied, assigned and running in cycle c + 14. Each part
///         documents its own timing.
/// Source: PsPIN RTL a49fec8, `hw/deps/pulp_cluster`, `hw/src/pkt_scheduler/cluster_scheduler.sv`.
pub struct Cluster {
    /// HPUs, and the banks of L1 that they request.
    cores: Cores,
    /// L1 memory: banks and their arbiters.
    l1: L1,
    /// The movers of 64-byte beats: the DMA engine, bursts from outside, the wide ports of L1.
    beats: Beats,
    /// Registers of the DMA engine, and the arbiter of launches.
    dma_frontend: DmaFrontend,
    /// The instruction cache and its way to program memory.
    fetch: Fetch,
    /// Tasks that arrive, and their packets in L1.
    scheduler: Scheduler,
    /// The FIFOs and arbiters behind the HPU drivers: commands, responses, feedback.
    drivers: Drivers,
    /// Reports of traps to the drivers and the host.
    traps: Traps,
    /// Event unit and timer.
    peripherals: Peripherals,
    /// Single accesses of cores to the rest of the card.
    pe: PePort,
    /// Single accesses from other clusters.
    remote: Remote,
    /// Text that cores print.
    stdout: Stdout,
    /// When to tick, how far cores run ahead, and which steps to skip. It changes no result.
    plan: TickPlan,
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
        let n_cores = params.cluster.n_cores;
        let ClusterPorts { tasks, feedbacks, commands, responses, bursts, active, notices } = ports;
        Cluster {
            cores: Cores::new(id, params),
            l1: L1::new(params.cluster.l1_bytes, params.cluster.l1_banks),
            beats: Beats {
                dma: Dma::new(id, params, links.dma),
                outside: Outside::new(map::L1_BASE + id * map::L1_STRIDE, bursts),
                wide: WidePorts::default(),
            },
            dma_frontend: DmaFrontend::new(params),
            fetch: Fetch::new(params, program, links.lines, links.code),
            scheduler: Scheduler::new(id, params, tasks),
            drivers: Drivers::new(params, (feedbacks, active), (commands, responses)),
            traps: Traps::new(notices),
            peripherals: Peripherals::new(n_cores),
            pe: PePort::new(n_cores, links.pe),
            remote: Remote::new(links.remote),
            stdout: Stdout::new(id, n_cores, console),
            plan: TickPlan::new(),
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
        self.cores.hpus.iter_mut().for_each(|hpu| hpu.guard.set_runtime(runtime));
    }

    /// Tenants share the DMA engine by this policy, in place of the rule of `sharing.cluster_dma_schedule`.
    pub fn share_dma(&mut self, own: Box<dyn TenantPolicy>) {
        self.dma_frontend.replace_policy(own);
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
            cluster: self.cores.cluster,
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
            Owner::Scheduler => self.scheduler.packet_copied(now, &self.trace),
            Owner::Core(core) => {
                self.dma_frontend.ended(now);
                let driver = &mut self.cores[core as usize].driver;
                driver.transfers -= 1;
                if let Some(packet) = driver.done_packet() {
                    self.trace.emit(&TRANSFER_DONE, now, &[packet.0]);
                }
            }
            Owner::Public => {}
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

    /// The steps up to the grants of banks: only beats and cores, or all steps.
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
        self.run_others(now);
    }

    #[inline(never)]
    fn tick_fully(&mut self, now: Cycle, has_mail: bool) -> Activity {
        if has_mail || !self.plan.is_cores_only(now) {
            self.begin_cycle(now, has_mail);
        } else if self.cores.ready.has_others(now) {
            self.run_others(now);
        }
        self.grant_banks_among_others(now);
        if self.plan.is_cores_only(now) {
            // All other steps would have no effect.
            return self.plan.sleep_cores(&self.cores.ready, now);
        }
        self.finish_cycle(now)
    }

    /// Returns when to tick next.
    fn next(&mut self, now: Cycle) -> Activity {
        let (refill, leaves) = (self.fetch.next_event(now, &self.cores), self.drivers.next_leave(&self.cores));
        let soon = self.pe.is_pressing(now)
            || self.remote.is_pressing(now)
            || self.drivers.is_pressing()
            || self.dma_frontend.is_pressing()
            || self.scheduler.is_pressing(now, self.drivers.without_task != 0)
            || leaves <= now + 1;
        self.beats.plan(now, &mut self.plan);
        // If a feedback waits for the end of a command or a transfer, a message or `catch_up` reports that end. A
        // feedback that waits only for its time must not be missed.
        self.plan.leave_out(!soon && self.drivers.is_active && leaves == Cycle::MAX && refill == Cycle::MAX);
        if soon {
            return Activity::Busy;
        }
        self.plan.sleep(&self.cores.ready, now, refill.min(leaves))
    }

    /// All steps before the cores' turn.
    fn prepare_cores(&mut self, now: Cycle) {
        self.drivers.take_responses(now, &mut self.cores, &self.trace);
        self.fetch.take_code(now, &mut self.cores, &mut self.plan);
        self.fetch.refill(now, &mut self.cores, &mut self.plan);
        self.take_pe_replies(now);
        self.beats.outside.take_bursts(now);
        self.scheduler.assign_task(now, &mut self.cores, &mut self.drivers, &self.trace);
        self.move_beats(now);
        self.scheduler.accept_task(now, &self.trace);
        if self.plan.next_deadline() <= now {
            self.watch_deadlines(now);
        }
    }

    /// All steps after the cores' turn.
    #[inline(never)]
    fn finish_cycle(&mut self, now: Cycle) -> Activity {
        self.fetch.request_uncached(now);
        self.launch_transfer(now);
        self.pe.send(now);
        self.drivers.send_command(&mut self.cores);
        self.drivers.send_feedback(now, &mut self.cores, &mut self.scheduler, &self.trace);
        self.drivers.report_active(now, &self.cores, &self.trace);
        self.next(now)
    }
}

impl Component for Cluster {
    fn tick(&mut self, now: Cycle) -> Activity {
        let has_mail = self.scheduler.tasks.take_mail();
        self.tick_fully(now, has_mail)
    }

    #[inline(always)]
    fn tick_again(&mut self, now: Cycle) -> Activity {
        if !self.plan.is_swift(now) || self.cores.ready.has_others(now) {
            return self.tick_fully(now, false);
        }
        self.grant_banks(now);
        if self.plan.is_cores_only(now) {
            self.plan.sleep_cores(&self.cores.ready, now)
        } else {
            self.finish_cycle(now)
        }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("tasks", &self.scheduler.tasks);
        self.drivers.ports(ports);
        self.pe.ports(ports);
        self.beats.dma.ports(ports);
        self.fetch.ports(ports);
        self.remote.ports(ports);
        self.beats.outside.ports(ports);
        self.traps.ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        let (dma_bytes, dma_faults) = self.beats.dma.totals();
        counters.add("tasks", self.scheduler.assigned.total());
        counters.add("instructions", self.cores.hpus.iter().map(|hpu| hpu.core.instructions()).sum());
        counters.add("traps", self.traps.traps.total());
        counters.add("unmapped", self.pe.unmapped.total());
        counters.add("dropped_notices", self.traps.dropped_notices.total());
        counters.add("l1_accesses", self.l1.accesses());
        counters.busy("l1_busiest_bank_cycles", self.l1.busiest_bank(), 1, "the busiest L1 bank: one access a cycle");
        counters.add("l1_conflicts", self.l1.conflicts.total());
        let limit = "the cluster's instruction cache: a line from program memory in a cycle";
        counters.busy("icache_misses", self.fetch.line_misses.total(), 1, limit);
        let depth = self.scheduler.depth();
        counters.held("task_fifo_cycles", self.scheduler.level(), depth, "the cluster's tasks that no HPU has taken");
        let (room, booked) = self.scheduler.packet_room();
        counters.held("l1_packet_byte_cycles", booked, room, "room for packets in L1: its bytes");
        counters.add("dma_bytes", dma_bytes);
        counters.busy("dma_beats", dma_bytes.div_ceil(BEAT_BYTES.into()), 1, "the cluster's DMA: 64 bytes a cycle");
        counters.add("dma_faults", dma_faults);
        self.dma_frontend.counters(counters);
    }
}
