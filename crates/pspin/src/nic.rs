//! The whole NIC: its parts, wired.

mod channels;

use crate::cluster::{Cluster, ClusterPorts, CoreState, Links};
use crate::cmd_unit::{CommandUnit, CommandUnitPorts};
use crate::host_direct::{HostDirect, HostDirectPorts};
use crate::host_dma::{HostDma, HostDmaPorts};
use crate::host_events::{HostEventUnit, notice_room};
use crate::host_port::{HostAccess, HostAccessDone, HostOp, HostSlave};
use crate::inbound::{Inbound, InboundParams, InboundPorts, MorePackets};
use crate::iommu::SharedPageTables;
use crate::map;
use crate::memories::{BurstPort, Memories, MemoryPorts};
use crate::nhi::NhiMap;
use crate::outbound::{Outbound, OutboundPorts};
use crate::params::{NetworkParams, ParamError, PspinParams, Regions};
use crate::pcie::{Pcie, PciePorts};
use crate::protocol::{Kill, Region, TenantsServed};
use crate::scheduler::{PacketScheduler, SchedulerPorts};
use crate::world::{Completions, Console, Egress, HostEvents, HostMemory, PacketDone, PacketSource};
use blocks::cpu::{InstructionLog, Program};
use channels::{channels, host_channels, master, unit};
use isa::riscv::Isa;
use kernel::trace::Sink;
use kernel::{ClockId, Cycle, Freq, FreqError, Inlet, Mode, Outcome, System, SystemBuilder, WiringError};
use std::cell::RefCell;
use std::rc::Rc;

/// What the memories hold before the first cycle.
#[derive(Clone, Default, Debug)]
pub struct Image {
    /// Program memory from its first byte on.
    pub program: Vec<u8>,
    /// Parts of L2 handler memory, by address.
    pub handler_memory: Vec<(u32, Vec<u8>)>,
    /// Parts of L1, by offset, the same in every cluster.
    pub l1: Vec<(u32, Vec<u8>)>,
    /// Code that every core may run in user mode, with a task or without: the loop that waits for tasks. All of program
    /// memory if it is not known, which isolates no code.
    pub runtime: Option<Region>,
}

/// All that is outside the NIC.
pub struct Boundary {
    /// Where packets come from.
    pub source: Box<dyn PacketSource>,
    /// Who hears that packets are done.
    pub completions: Box<dyn Completions>,
    /// Where packets go.
    pub egress: Box<dyn Egress>,
    /// The host's memory.
    pub host: Box<dyn HostMemory>,
    /// What contexts may access of it, if the card translates addresses.
    pub page_tables: SharedPageTables,
    /// Who hears what becomes of contexts and messages; [`crate::world::Deaf`] if nobody does.
    pub events: Box<dyn HostEvents>,
    /// Where programs print.
    pub console: Rc<RefCell<dyn Console>>,
}

/// Why a NIC cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PspinError {
    /// A parameter.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The clock.
    #[error("clock_mhz: {0}")]
    Clock(#[from] FreqError),
    /// The program.
    #[error("the program has {found} bytes, program memory {allowed}")]
    Program {
        /// Its bytes.
        found: usize,
        /// Bytes of program memory.
        allowed: u32,
    },
    /// The wiring, which is ours.
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
    clock_gating: bool,
    inbound: Rc<RefCell<Inbound>>,
    host_port: Rc<RefCell<HostSlave>>,
    accesses: Inlet<HostAccess>,
    more_packets: Inlet<MorePackets>,
    kills: Inlet<Kill>,
    tenants: [Inlet<TenantsServed>; 2],
    /// Everything up to this cycle has been lived through.
    reached: Cycle,
}

/// Records of messages that are given up on their way to the HostDirect unit; more are lost.
const ERROR_RECORDS: usize = 16;

/// Notices of a core in a cycle: a core that runs ahead, trap by trap, tells of some cycles at once.
const CLUSTER_NOTICES: usize = 4;

impl Pspin {
    /// Wires a NIC. Nothing has happened yet; the cores boot when it runs.
    pub fn new(params: &PspinParams, image: &Image, boundary: Boundary, seed: u64) -> Result<Self, PspinError> {
        params.validate()?;
        let freq = Freq::mhz(params.clock_mhz)?;
        let allowed = params.l2.program_bytes;
        if image.program.len() > allowed as usize {
            return Err(PspinError::Program { found: image.program.len(), allowed });
        }
        let mut bytes = image.program.clone();
        bytes.resize(allowed as usize, 0);
        let program = Rc::new(Program::new(Isa::Rv32imacXpulpv2, map::PROGRAM_BASE, &bytes));

        let mut b = SystemBuilder::new(seed);
        let clock = b.clock(freq);
        let n = params.n_clusters as usize;

        // Tasks and their ends.
        let (requests, request_rx) = b.channel("requests", 2, 1);
        let (released_tx, released) = b.channel("released", 2, 1);
        let (task_txs, tasks) = channels(&mut b, "tasks", n, 2, 1);
        let (feedbacks, feedback_rxs) = channels(&mut b, "feedbacks", n, 2, 1);
        let (active_txs, active) = channels(&mut b, "active", n, 1, 1);

        // What the host is told.
        let (scheduler_notices, scheduler_rx) = b.channel("scheduler_notices", notice_room(3), 1);
        let room = notice_room(CLUSTER_NOTICES * params.cluster.n_cores as usize);
        let (cluster_notices, mut notices) = channels(&mut b, "cluster_notices", n, room, 1);
        let (record_tx, records) = b.channel("error_records", ERROR_RECORDS, 1);
        let (pcie_notices, pcie_rx) = b.channel("pcie_notices", notice_room(2), 1);
        notices.splice(0..0, [scheduler_rx, pcie_rx]);

        // Commands and their ends.
        let (commands, command_rxs) = channels(&mut b, "commands", n, 2, 1);
        let (response_txs, responses) = channels(&mut b, "responses", n, 2, 1);
        let (host_dma_unit, host_dma_end) = unit(&mut b, "host_dma");
        let (nic_send_unit, nic_send_end) = unit(&mut b, "nic_send");
        let (host_direct_unit, host_direct_end) = unit(&mut b, "host_direct");

        // The NIC-host interconnect: every initiator reaches L2, all but the inbound engine every L1.
        let mut memory_ports = MemoryPorts::default();
        let mut l1_bursts: Vec<Vec<BurstPort>> = (0..n).map(|_| Vec::new()).collect();
        let inbound_nhi = master(&mut b, "inbound", NhiMap::l2(params), &mut memory_ports, &mut []);
        let outbound_nhi = master(&mut b, "outbound", NhiMap::all(params), &mut memory_ports, &mut l1_bursts);
        let host_dma_nhi =
            master(&mut b, "host_dma", NhiMap::all(params), &mut memory_ports, &mut l1_bursts).beat_by_beat();
        memory_ports.host = memory_ports.bursts.len();
        let l1s = if params.isolation.host_clears_scratchpads { &mut l1_bursts[..] } else { &mut [] };
        let host_nhi = master(&mut b, "host", NhiMap::host(params), &mut memory_ports, l1s);

        // Clusters and memories.
        let mut clusters = Vec::new();
        let ends = tasks.into_iter().zip(feedbacks).zip(commands.into_iter().zip(responses));
        let ends = ends.zip(active_txs.into_iter().zip(cluster_notices));
        for ((((tasks, feedbacks), (commands, responses)), (active, notices)), bursts) in ends.zip(l1_bursts) {
            let id = clusters.len();
            let links = Links::new(&mut b, id, params, &mut memory_ports);
            let ports = ClusterPorts { tasks, feedbacks, commands, responses, bursts, active, notices };
            let path = format!("nic.cluster[{id}]");
            let trace = b.tracer(&path, clock);
            let console = boundary.console.clone();
            let mut cluster = Cluster::new(id as u32, params, program.clone(), ports, links, console, trace);
            image.runtime.iter().for_each(|&runtime| cluster.set_runtime(runtime));
            image.l1.iter().for_each(|(offset, bytes)| cluster.load_l1(*offset, bytes));
            let cluster = Rc::new(RefCell::new(cluster));
            b.add(&path, clock, cluster.clone());
            clusters.push(cluster);
        }
        b.add("nic.memories", clock, Memories::new(params, &image.handler_memory, bytes, memory_ports));

        // Packets in, tasks, commands, packets out.
        let ring = params.cluster.packet_buffer_bytes / params.cluster.packet_buffer_rings;
        let inbound_params = InboundParams {
            ring_bytes: params.l2.packet_bytes,
            share_bytes: (u64::from(params.l2.packet_bytes) * u64::from(params.sharing.packet_memory_percent) / 100)
                as u32,
            max_xfer_bytes: ring,
            fills_words: params.isolation.regions == Regions::Exact,
        };
        let (more_packets, more) = b.inlet("more_packets", clock);
        let (kills, kill_rx) = b.inlet("kills", clock);
        let (inbound_tenants, tenants) = b.inlet("inbound_tenants", clock);
        let ports = InboundPorts { active, requests, released, more, kills: kill_rx, tenants, nhi: inbound_nhi };
        let trace = b.tracer("nic.inbound", clock);
        let inbound = Inbound::new(inbound_params, ports, boundary.source, boundary.completions, trace);
        let inbound = Rc::new(RefCell::new(inbound));
        b.add("nic.inbound", clock, inbound.clone());
        let (tenants, tenants_rx) = b.inlet("tenants", clock);
        let ports = SchedulerPorts {
            requests: request_rx,
            tenants: tenants_rx,
            tasks: task_txs,
            feedbacks: feedback_rxs,
            released: released_tx,
            notices: scheduler_notices,
        };
        let trace = b.tracer("nic.scheduler", clock);
        b.add("nic.scheduler", clock, PacketScheduler::new(&params.scheduler, params.sharing, ports, trace));
        let (host_direct, nic_send, host_dma) = (host_direct_unit, nic_send_unit, host_dma_unit);
        let ports =
            CommandUnitPorts { commands: command_rxs, responses: response_txs, host_direct, nic_send, host_dma };
        b.add("nic.commands", clock, CommandUnit::new(params.commands.in_flight_per_unit, ports));
        let (commands, responses) = nic_send_end;
        let ports = OutboundPorts { commands, responses, nhi: outbound_nhi };
        let trace = b.tracer("nic.outbound", clock);
        b.add("nic.outbound", clock, Outbound::new(params.outbound.clone(), ports, boundary.egress, trace));

        b.add("nic.host_events", clock, HostEventUnit::new(notices, record_tx, boundary.events));

        // The way to the host, which HostDirect and the off-cluster DMA share.
        let (host, host_direct_target) = host_channels(&mut b, "host_direct");
        let (commands, responses) = host_direct_end;
        let ports = HostDirectPorts { commands, responses, records, host };
        let trace = b.tracer("nic.host_direct", clock);
        b.add("nic.host_direct", clock, HostDirect::new(params.commands.host_direct_fifo, ports, trace));
        let (host, host_dma_target) = host_channels(&mut b, "host_dma");
        let (commands, responses) = host_dma_end;
        let ports = HostDmaPorts { commands, responses, nhi: host_dma_nhi, host };
        let trace = b.tracer("nic.host_dma", clock);
        b.add("nic.host_dma", clock, HostDma::new(params.commands.host_dma_fifo, ports, trace));
        let ports = PciePorts { initiators: vec![host_direct_target, host_dma_target], notices: pcie_notices };
        let (tables, trace) = (boundary.page_tables, b.tracer("nic.pcie", clock));
        let (mhz, memory) = (params.clock_mhz, boundary.host);
        b.add("nic.pcie", clock, Pcie::new(mhz, &params.pcie, &params.iommu, tables, ports, memory, trace));

        let clock_gating = params.cluster.clock_gating;
        let (accesses, access_rx) = b.inlet("host_accesses", clock);
        let trace = b.tracer("nic.host_port", clock);
        let host_port = Rc::new(RefCell::new(HostSlave::new(access_rx, host_nhi, trace)));
        b.add("nic.host_port", clock, host_port.clone());

        Ok(Pspin {
            system: b.build()?,
            clock,
            freq,
            network: params.network,
            clusters,
            clock_gating,
            inbound,
            host_port,
            accesses,
            more_packets,
            kills,
            tenants: [inbound_tenants, tenants],
            reached: 0,
        })
    }

    /// Runs up to and including this cycle, or until nothing more can happen.
    pub fn run_until(&mut self, cycle: Cycle) -> Outcome {
        let outcome = self.system.run_until(kernel::Clock::new(self.freq).edge(cycle));
        self.reached = self.reached.max(match outcome {
            Outcome::Limit => cycle,
            Outcome::Quiet => self.now(),
        });
        outcome
    }

    /// The host writes to handler memory or program memory, or to L1 where its port reaches that: the NIC sees it at
    /// `earliest`, or in the first cycle that has not been lived through, and after what was asked before. See [`HostSlave`]
    /// for how long it takes.
    ///
    /// Code that is written is what the next fetch of its lines finds; a core that runs it meanwhile may see old and new.
    pub fn host_write(&mut self, earliest: Cycle, addr: u32, bytes: &[u8], tag: u64) {
        self.host_access(earliest, HostAccess { addr, op: HostOp::Write(bytes.into()), tag });
    }

    /// The host reads `size` bytes, in the same way.
    pub fn host_read(&mut self, earliest: Cycle, addr: u32, size: u32, tag: u64) {
        self.host_access(earliest, HostAccess { addr, op: HostOp::Read(size), tag });
    }

    fn host_access(&mut self, earliest: Cycle, access: HostAccess) {
        self.accesses.send_at(earliest.max(self.reached + 1), access);
    }

    /// The source that had no packet may have one from `earliest` on, or from the first cycle that has not been lived
    /// through: the NIC asks it then.
    pub fn expect_packets(&mut self, earliest: Cycle) {
        self.more_packets.send_at(earliest.max(self.reached + 1), MorePackets);
    }

    /// The host ends a message of a context, at `earliest` or in the first cycle that has not been lived through: its packets
    /// are dropped but for those whose handlers run. The source gives no packet of it any more. The host hears of it as a
    /// [`crate::host_events::HostEvent::MessageKilled`].
    pub fn kill_message(&mut self, earliest: Cycle, kill: Kill) {
        self.kills.send_at(earliest.max(self.reached + 1), kill);
    }

    /// From the next cycle on so many tenants have rules.
    pub fn serve_tenants(&mut self, n: u32) {
        self.tenants.iter().for_each(|inlet| inlet.send_at(self.reached + 1, TenantsServed(n)));
    }

    /// The packet whose feedback reached the NIC in the last cycle that was lived through, if there was one: its completion is
    /// told in the next. Asking changes nothing.
    pub fn done_now(&self) -> Option<PacketDone> {
        self.inbound.borrow().done_in(self.reached)
    }

    /// Accesses of the host that have ended since the last call, in order of time.
    pub fn take_host_accesses(&mut self) -> Vec<HostAccessDone> {
        self.host_port.borrow_mut().take_done()
    }

    /// The last cycle in which something happened.
    pub fn now(&self) -> Cycle {
        self.system.now(self.clock)
    }

    /// What the network promises to handlers.
    pub fn network(&self) -> NetworkParams {
        self.network
    }

    /// All counters, by path.
    pub fn counters(&self) -> Vec<(String, u64)> {
        self.system.counters()
    }

    /// Lets `sink` hear every event from now on.
    pub fn listen(&mut self, sink: Box<dyn Sink>) {
        self.system.listen(sink);
    }

    /// Sets how the system is run; no way changes a result.
    pub fn set_mode(&mut self, mode: Mode) {
        self.system.set_mode(mode);
    }

    /// Lets no core be simulated ahead of the others by more than so many cycles; no bound changes a result. With 1, nothing
    /// is done in another order than that of the machine's cycles.
    pub fn bound_run_ahead(&mut self, cycles: u64) {
        self.clusters.iter().for_each(|cluster| cluster.borrow_mut().bound_run_ahead(cycles));
    }

    /// Tells `log` of every instruction of a core from now on; panics where there is no such core.
    pub fn log_instructions(&mut self, cluster: u32, core: u32, log: InstructionLog) {
        self.clusters[cluster as usize].borrow_mut().log_instructions(core, log);
    }

    /// Cycles up to `now` in which the clocks of HPUs were stopped, since they had no task; all HPUs together. None
    /// where idle HPUs are not clock gated.
    pub fn asleep_cycles(&self, now: Cycle) -> Option<u64> {
        let asleep = || self.clusters.iter().map(|cluster| cluster.borrow().asleep_cycles(now)).sum();
        self.clock_gating.then(asleep)
    }

    /// What each core does or waits for.
    pub fn cores(&self) -> Vec<CoreState> {
        self.clusters.iter().flat_map(|cluster| cluster.borrow().core_states()).collect()
    }
}
