//! The whole NIC: its parts. `wiring.rs` connects them.

mod channels;
mod debug;
mod wiring;

use crate::cluster::{Cluster, CoreState};
use crate::cmd_unit::CommandUnit;
use crate::host_direct::HostDirect;
use crate::host_dma::HostDma;
use crate::host_events::HostEventUnit;
use crate::host_port::{HostAccess, HostAccessDone, HostOp, HostSlave};
use crate::inbound::{Inbound, InboundParams, MorePackets};
use crate::iommu::SharedPageTables;
use crate::map;
use crate::memories::Memories;
use crate::outbound::Outbound;
use crate::params::{NetworkParams, PspinParams};
use crate::pcie::Pcie;
use crate::policy::Policies;
use crate::protocol::{Kill, Region, TenantsServed};
use crate::scheduler::PacketScheduler;
use crate::world::{Completions, Console, Egress, HostEvents, HostMemory, PacketDone, PacketSource};
use blocks::cpu::{InstructionLog, Program};
use blocks::profile::CodeProfile;
use diagnostics::param::ParamError;
use isa::riscv::Isa;
use kernel::trace::{Sink, Tracer};
use kernel::{
    Clock, ClockId, Component, Cycle, Freq, FreqError, Mode, Outcome, Resource, System, SystemBuilder, Time,
    WiringError,
};
use std::cell::RefCell;
use std::rc::Rc;
use wiring::{Inlets, Wiring};

/// Initial contents of the memories.
#[derive(Clone, Default, Debug)]
pub struct Image {
    /// Contents of program memory.
    pub program: Vec<u8>,
    /// Contents of L2 handler memory, by address.
    pub handler_memory: Vec<(u32, Vec<u8>)>,
    /// Contents of L1 by offset, the same in every cluster.
    pub l1: Vec<(u32, Vec<u8>)>,
    /// Code that every core may run in user mode, with or without a task: the loop that waits for tasks. If unknown,
    /// all of program memory, which isolates no code.
    pub runtime: Option<Region>,
}

/// The outside of the NIC.
pub struct Boundary {
    /// Source of packets.
    pub source: Box<dyn PacketSource>,
    /// Receives notices of finished packets.
    pub completions: Box<dyn Completions>,
    /// Destination of packets.
    pub egress: Box<dyn Egress>,
    /// Host memory.
    pub host: Box<dyn HostMemory>,
    /// Host memory that contexts may access, if the card translates addresses.
    pub page_tables: SharedPageTables,
    /// Receives events of contexts and messages; [`crate::world::IgnoreEvents`] ignores them.
    pub events: Box<dyn HostEvents>,
    /// Console of the programs.
    pub console: Rc<RefCell<dyn Console>>,
    /// Policies by which tenants share the card, in place of its own rules.
    pub policies: Policies,
}

/// Reason why a NIC cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PspinError {
    /// A parameter is out of range.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The clock frequency is invalid.
    #[error("clock_mhz: {0}")]
    Clock(#[from] FreqError),
    /// The program does not fit.
    #[error("the program has {found} bytes, program memory {allowed}")]
    Program {
        /// Size of the program in bytes.
        found: usize,
        /// Size of program memory in bytes.
        allowed: u32,
    },
    /// The wiring is wrong: a defect of the model.
    #[error(transparent)]
    Wiring(#[from] WiringError),
}

/// A PsPIN NIC, ready to run.
pub struct Pspin {
    system: System,
    clock: ClockId,
    freq: Freq,
    network: NetworkParams,
    clusters: Vec<Rc<RefCell<Cluster>>>,
    memories: Rc<RefCell<Memories>>,
    clock_gating: bool,
    inbound: Rc<RefCell<Inbound>>,
    host_port: Rc<RefCell<HostSlave>>,
    inlets: Inlets,
    /// Last simulated cycle.
    reached: Cycle,
}

/// A NIC under construction, whose parts have one clock.
struct Card {
    b: SystemBuilder,
    clock: ClockId,
}

impl Card {
    /// Adds the part at `path`, created with its tracer.
    fn add<C: Component + 'static>(&mut self, path: &str, part: impl FnOnce(Tracer) -> C) {
        self.b.add(path, self.clock, part(self.b.tracer(path, self.clock)));
    }

    /// Adds a part that is also accessed between runs.
    fn add_shared<C: Component + 'static>(&mut self, path: &str, part: impl FnOnce(Tracer) -> C) -> Rc<RefCell<C>> {
        let part = Rc::new(RefCell::new(part(self.b.tracer(path, self.clock))));
        self.b.add(path, self.clock, part.clone());
        part
    }
}

impl Pspin {
    /// Builds a NIC. The cores boot when it runs.
    pub fn new(params: &PspinParams, image: &Image, boundary: Boundary, seed: u64) -> Result<Self, PspinError> {
        params.validate()?;
        let freq = params.clock_mhz.freq()?;
        let allowed = params.l2.program_bytes;
        if image.program.len() > allowed as usize {
            return Err(PspinError::Program { found: image.program.len(), allowed });
        }
        let mut bytes = image.program.clone();
        bytes.resize(allowed as usize, 0);
        let program = Rc::new(Program::new(Isa::RV32IMAC_XPULPV2, map::PROGRAM_BASE, &bytes));

        let mut b = SystemBuilder::new(seed);
        let clock = b.clock(freq);
        let w = Wiring::new(&mut b, clock, params);
        let mut card = Card { b, clock };
        let Boundary { source, completions, egress, host, page_tables, events, console, policies } = boundary;
        policies.validate(params)?;
        let Policies([mut tasks, host_direct, nic_send, host_dma, cluster_dma]) = policies;
        let commands = [host_direct, nic_send, host_dma].map(|mut own| own.pop());
        let mut cluster_dma = cluster_dma.into_iter();

        let mut clusters = Vec::new();
        for (id, (ports, links)) in w.clusters.into_iter().enumerate() {
            let (program, console) = (program.clone(), console.clone());
            clusters.push(card.add_shared(&format!("nic.cluster[{id}]"), |trace| {
                let mut cluster = Cluster::new(id as u32, params, program, ports, links, console, trace);
                image.runtime.iter().for_each(|&runtime| cluster.set_runtime(runtime));
                image.l1.iter().for_each(|(offset, bytes)| cluster.load_l1(*offset, bytes));
                if let Some(own) = cluster_dma.next() {
                    cluster.share_dma(own);
                }
                cluster
            }));
        }
        let memories =
            card.add_shared("nic.memories", |_| Memories::new(params, &image.handler_memory, bytes, w.memories));
        let inbound = card.add_shared("nic.inbound", |trace| {
            Inbound::new(InboundParams::from(params), w.inbound, source, completions, trace)
        });
        card.add("nic.scheduler", |trace| PacketScheduler::new(params, tasks.pop(), w.scheduler, trace));
        card.add("nic.commands", |_| CommandUnit::new(params, commands, w.commands));
        card.add("nic.outbound", |trace| {
            let fragment_bytes = params.sharing.egress_fragment_bytes;
            Outbound::new(params.outbound.clone(), fragment_bytes, params.rtl_mistakes, w.outbound, egress, trace)
        });
        let (notices, records) = w.host_events;
        card.add("nic.host_events", |_| HostEventUnit::new(notices, records, events));
        let one_burst = params.commands.one_host_burst;
        let (direct_fifo, dma_fifo) = (params.commands.host_direct_fifo, params.commands.host_dma_fifo);
        card.add("nic.host_direct", |trace| HostDirect::new(direct_fifo, w.host_direct, trace));
        card.add("nic.host_dma", |trace| HostDma::new(dma_fifo, one_burst, params.rtl_mistakes, w.host_dma, trace));
        card.add("nic.pcie", |trace| {
            let hz = params.clock_mhz.hz();
            let pcie = Pcie::new(hz, &params.pcie, &params.iommu, page_tables, w.pcie, host, trace);
            if one_burst { pcie.one_burst_at_a_time() } else { pcie }
        });
        let (accesses, nhi) = w.host_port;
        let host_port = card.add_shared("nic.host_port", |trace| HostSlave::new(accesses, nhi, trace));

        Ok(Pspin {
            system: card.b.build()?,
            clock,
            freq,
            network: params.network,
            clusters,
            memories,
            clock_gating: params.cluster.clock_gating,
            inbound,
            host_port,
            inlets: w.inlets,
            reached: 0,
        })
    }

    /// Simulates up to and including this cycle, or until nothing more can happen.
    pub fn run_until(&mut self, cycle: Cycle) -> Outcome {
        let outcome = self.system.run_until(kernel::Clock::new(self.freq).edge(cycle));
        self.reached = self.reached.max(match outcome {
            Outcome::Limit => cycle,
            Outcome::Quiet => self.now(),
        });
        outcome
    }

    /// The host writes to handler memory or program memory, or to L1 if its port reaches that. The NIC sees the write
    /// at `earliest` or in the first cycle not simulated yet, after earlier accesses. See [`HostSlave`] for its
    /// duration.
    ///
    /// The next fetch of a written line finds the new code. A core that runs the code meanwhile may see old and new
    /// instructions.
    pub fn host_write(&mut self, earliest: Cycle, addr: u32, bytes: &[u8], tag: u64) {
        self.host_access(earliest, HostAccess { addr, op: HostOp::Write(bytes.into()), tag });
    }

    /// The host reads `size` bytes, in the same way.
    pub fn host_read(&mut self, earliest: Cycle, addr: u32, size: u32, tag: u64) {
        self.host_access(earliest, HostAccess { addr, op: HostOp::Read(size), tag });
    }

    fn host_access(&mut self, earliest: Cycle, access: HostAccess) {
        self.inlets.accesses.send_at(earliest.max(self.reached + 1), access);
    }

    /// Makes the NIC call the source again, at `earliest` or in the first cycle not simulated yet, after the source
    /// returned `None`.
    pub fn expect_packets(&mut self, earliest: Cycle) {
        self.inlets.more_packets.send_at(earliest.max(self.reached + 1), MorePackets);
    }

    /// The host kills a message of a context, at `earliest` or in the first cycle not simulated yet. Its packets are
    /// dropped, except those whose handlers run. The source provides no further packet of it. The host receives
    /// [`crate::host_events::HostEvent::MessageKilled`].
    pub fn kill_message(&mut self, earliest: Cycle, kill: Kill) {
        self.inlets.kills.send_at(earliest.max(self.reached + 1), kill);
    }

    /// Sets the number of tenants with rules, from the next cycle on.
    pub fn serve_tenants(&mut self, n: u32) {
        self.inlets.tenants.iter().for_each(|inlet| inlet.send_at(self.reached + 1, TenantsServed(n)));
    }

    /// The packet whose feedback reached the NIC in the last simulated cycle, if any; its completion is reported in
    /// the next. Calling this changes nothing.
    pub fn done_now(&self) -> Option<PacketDone> {
        self.inbound.borrow().done_in(self.reached)
    }

    /// Host accesses finished since the last call, in order of time.
    pub fn take_host_accesses(&mut self) -> Vec<HostAccessDone> {
        self.host_port.borrow_mut().take_done()
    }

    /// The last cycle in which something happened.
    pub fn now(&self) -> Cycle {
        self.system.now(self.clock)
    }

    /// The next time at which the NIC acts by itself.
    pub fn next_edge(&self) -> Option<Time> {
        self.system.next_edge()
    }

    /// The guarantees of the network.
    pub fn network(&self) -> NetworkParams {
        self.network
    }

    /// All counters, by path.
    pub fn counters(&self) -> Vec<(String, u64)> {
        self.system.counters()
    }

    /// Everything that can be full, with its clock.
    pub fn resources(&self) -> Vec<(Clock, Resource)> {
        self.system.resources()
    }

    /// Appends the busy cycles of everything that can be full, in the order of [`Pspin::resources`].
    pub fn loads(&self, loads: &mut Vec<u64>) {
        self.system.loads(loads);
    }

    /// Sends every event from now on to `sink`.
    pub fn listen(&mut self, sink: Box<dyn Sink>) {
        self.system.listen(sink);
    }

    /// Sets the execution mode; it does not affect results.
    pub fn set_mode(&mut self, mode: Mode) {
        self.system.set_mode(mode);
    }

    /// Limits how many cycles a core is simulated ahead of the others; the bound does not affect results. With 1,
    /// everything is simulated in cycle order.
    pub fn bound_run_ahead(&mut self, cycles: u64) {
        self.clusters.iter().for_each(|cluster| cluster.borrow_mut().bound_run_ahead(cycles));
    }

    /// Sets the arbiter of a cluster's instruction cache to its state after `grants` grants since reset. The count
    /// decides which of several cores gets a line first; boot code determines it. Panics if there is no such cluster.
    pub fn set_fetch_grants(&mut self, cluster: u32, grants: u32) {
        self.clusters[cluster as usize].borrow_mut().set_fetch_grants(grants);
    }

    /// Sets the arbiter of the L1 bank at this byte offset to its state after an access of `core`. That decides which
    /// of several cores goes first; boot code determines it. Panics if there is no such cluster.
    pub fn set_bank_turn(&mut self, cluster: u32, offset: u32, core: u32) {
        self.clusters[cluster as usize].borrow_mut().set_bank_turn(offset, core);
    }

    /// Reports every instruction of a core to `log` from now on; panics if there is no such core.
    pub fn log_instructions(&mut self, cluster: u32, core: u32, log: InstructionLog) {
        self.clusters[cluster as usize].borrow_mut().log_instructions(core, log);
    }

    /// Counts the cycles of every core by instruction and cause from now on; it does not affect results.
    pub fn profile_cores(&mut self) {
        self.clusters.iter().for_each(|cluster| cluster.borrow_mut().profile_cores());
    }

    /// Reports the lost cycles of each handler by cause from now on. [`Pspin::profile_cores`] comes first, if both are wanted.
    pub fn profile_handlers(&mut self) {
        self.clusters.iter().for_each(|cluster| cluster.borrow_mut().profile_handlers());
    }

    /// The profile of each core up to cycle `now`, by cluster; empty without [`Pspin::profile_cores`].
    pub fn core_profiles(&self, now: Cycle) -> Vec<CodeProfile> {
        self.clusters.iter().flat_map(|cluster| cluster.borrow_mut().core_profiles(now)).collect()
    }

    /// HPU cycles from `from`, which is before the first task, to `now` with the clock stopped for lack of a task, summed over all
    /// HPUs; `None` if idle HPUs are not clock gated.
    pub fn asleep_cycles(&self, from: Cycle, now: Cycle) -> Option<u64> {
        let asleep = || self.clusters.iter().map(|cluster| cluster.borrow().asleep_cycles(from, now)).sum();
        self.clock_gating.then(asleep)
    }

    /// Reads handler, packet or program memory, or a cluster's L1 at its own address, as a debugger does: no time passes. Returns
    /// false, without reading, if no memory has all of these addresses.
    pub fn read_memory(&self, addr: u32, data: &mut [u8]) -> bool {
        let Ok(size) = u32::try_from(data.len()) else { return false };
        let offset = addr.wrapping_sub(map::L1_BASE);
        if let Some(cluster) = self.clusters.get((offset / map::L1_STRIDE) as usize) {
            return cluster.borrow().read_l1(offset % map::L1_STRIDE, data);
        }
        let memories = self.memories.borrow();
        let Some(bytes) = memories.bytes(addr, size) else { return false };
        data.copy_from_slice(bytes);
        true
    }

    /// The state of each core.
    pub fn cores(&self) -> Vec<CoreState> {
        self.clusters.iter().flat_map(|cluster| cluster.borrow().core_states()).collect()
    }
}
