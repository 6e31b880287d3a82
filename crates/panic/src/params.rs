//! Parameters of a PANIC NIC, as in `presets/panic.toml`.

use crate::cells::Cells;
use crate::dma::DmaParams;
use crate::entry::Nodes;
use crate::ingress::{IngressParams, WhenFull};
use crate::interconnect::Topology;
use crate::policy::{PolicyParams, PolicyTree};
use crate::scheduler::{BufferParams, DropParams, PifoParams, SchedulerParams, ServiceParams, UnitParams};
use crate::unit::EngineParams;
use blocks::checks;
use blocks::mhz::Mhz;

/// Fixed properties of a [`crate::nic::Panic`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PanicParams {
    /// The clock of everything except engines with a clock of their own.
    pub clock_mhz: Mhz,
    /// Width of the interconnect, in bytes per cycle.
    pub flit_bytes: u32,
    /// Number of traffic classes, 1 to 256; weights and buckets of policies have one entry for each.
    pub n_classes: usize,
    /// Number of network ports, 1 to 8.
    pub network_ports: u32,
    /// Input of each network port.
    pub ingress: IngressParams,
    /// The interconnect between all nodes.
    pub interconnect: InterconnectParams,
    /// The DMA engine, PCIe and the host.
    pub dma: DmaParams,
    /// The central scheduler.
    pub scheduler: CentralParams,
    /// The services, in the order of the scheduler's PIFOs.
    #[serde(default, rename = "service")]
    pub services: Vec<ServiceSpec>,
}

/// The interconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterconnectParams {
    /// Buffer at each input, in flits.
    pub input_flits: u32,
    /// Cycles until a flit reaches that buffer.
    pub input_cycles: u32,
    /// Buffer at each output, in flits.
    pub output_flits: u32,
    /// Cycles until a flit leaves that buffer.
    pub output_cycles: u32,
    /// Topology between inputs and outputs.
    #[serde(default)]
    pub topology: Topology,
}

/// The central scheduler, without its services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CentralParams {
    /// Ports on the interconnect; each has a bank of the packet buffer.
    pub ports: u32,
    /// The packet buffer.
    pub buffer: BufferParams,
    /// The PIFO blocks.
    pub pifo: PifoParams,
    /// Drop thresholds.
    pub dropping: DropParams,
    /// True if a unit pushes a packet directly to a unit of the next service.
    pub chain_push: bool,
    /// Amount subtracted from a packet's ranks after a unit refused it.
    pub detour_raise: u64,
    /// Cycles from a unit's credit note until the scheduler counts it, at least 1.
    pub note_cycles: u32,
}

/// A service and its units.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceSpec {
    /// Name in chains.
    pub name: String,
    /// Number of units, 1 to 250.
    pub units: u32,
    /// Credits of each unit: the maximum number of packets that it may have.
    pub credits: u32,
    /// The engine in each unit.
    pub engine: EngineParams,
    /// True if all packets of a flow go to the same unit.
    #[serde(default)]
    pub flow_affinity: bool,
    /// Scheduling policy; FIFO by default.
    #[serde(default = "fifo")]
    pub policy: PolicyTree,
}

fn fifo() -> PolicyTree {
    PolicyTree::of(PolicyParams::Fifo)
}

impl PanicParams {
    /// Longest packet, in bytes.
    pub fn longest(&self) -> usize {
        self.scheduler.buffer.cell_bytes as usize
    }

    /// The nodes of the interconnect, by role.
    pub fn nodes(&self) -> Nodes {
        let units = self.services.iter().map(|service| service.units as usize);
        Nodes::new(self.scheduler.ports as usize, self.network_ports as usize, units)
    }

    /// Parameters of the scheduler including its services.
    pub fn scheduler(&self) -> SchedulerParams {
        let CentralParams { buffer, pifo, dropping, chain_push, detour_raise, .. } = self.scheduler;
        let service = |(spec, nodes): (&ServiceSpec, &Vec<_>)| ServiceParams {
            units: nodes.iter().map(|&node| UnitParams { node, credits: spec.credits }).collect(),
            flow_affinity: spec.flow_affinity,
            policy: spec.policy.clone(),
        };
        let nodes = self.nodes();
        let services = self.services.iter().zip(&nodes.units).map(service).collect();
        SchedulerParams { services, n_classes: self.n_classes, buffer, pifo, dropping, chain_push, detour_raise }
    }

    /// The allocator, if packets hold a cell from entry to exit.
    pub fn cells(&self, nodes: &Nodes) -> Option<Cells> {
        let BufferParams { cells, allocator, .. } = self.scheduler.buffer;
        allocator.map(|params| Cells::new(params, nodes.scheduler.clone(), cells, self.scheduler.dropping.free_cells))
    }

    /// Checks the parameters. The error begins with the key.
    pub fn check(&self) -> Result<(), String> {
        checks::within("clock_mhz", self.clock_mhz, Mhz::LEAST, Mhz::MOST)?;
        checks::within("flit_bytes", self.flit_bytes, 8, 256)?;
        checks::within("network_ports", self.network_ports, 1, 8)?;
        let named = |at: &'static str| move |error| format!("{at}.{error}");
        self.ingress.check(self.longest(), self.flit_bytes as usize).map_err(named("ingress"))?;
        self.interconnect.check().map_err(named("interconnect"))?;
        self.dma.check(self.longest(), self.flit_bytes as usize).map_err(named("dma"))?;
        checks::within("scheduler.ports", self.scheduler.ports, 1, 64)?;
        checks::within("scheduler.note_cycles", self.scheduler.note_cycles, 1, 1024)?;
        for (i, service) in self.services.iter().enumerate() {
            let at = format!("service `{}`", service.name);
            if service.name.is_empty() {
                return Err(format!("service[{i}].name is empty; must be the name that chains use"));
            }
            if self.services[..i].iter().any(|other| other.name == service.name) {
                return Err(format!(
                    "service[{i}].name is `{}`, which names another service too; must be a name of its own",
                    service.name
                ));
            }
            checks::within(&format!("{at}: units"), service.units, 1, 250)?;
            checks::within(&format!("{at}: credits"), service.credits, 1, 1024)?;
            let checked = service.engine.check().and_then(|()| service.engine.check_longest(self.longest()));
            checked.map_err(|error| format!("{at}: engine: {error}"))?;
        }
        if self.scheduler.buffer.allocator.is_some() && self.ingress.when_full == WhenFull::Drop {
            return Err(
                "ingress.when_full is `drop`; must be `stall` when scheduler.buffer.allocator is set".to_owned()
            );
        }
        let n_nodes = u64::from(self.scheduler.ports + 1 + self.network_ports)
            + self.services.iter().map(|service| u64::from(service.units)).sum::<u64>();
        if n_nodes > 256 {
            return Err(format!("service: the NIC has {n_nodes} nodes including all units, must be at most 256"));
        }
        let most = self.interconnect.topology.most_nodes();
        if n_nodes > most as u64 {
            return Err(format!(
                "interconnect.topology has room for {most} nodes, but the NIC has {n_nodes} including all units"
            ));
        }
        if self.services.is_empty() {
            return Ok(()); // A crossbar passes packets of any length.
        }
        self.scheduler().check(self.scheduler.ports as usize).map_err(named("scheduler"))
    }
}

impl InterconnectParams {
    fn check(&self) -> Result<(), String> {
        checks::within("input_cycles", self.input_cycles, 1, 1024)?;
        checks::within("output_cycles", self.output_cycles, 1, 1024)?;
        checks::within("input_flits", self.input_flits, 1, 65536)?;
        checks::within("output_flits", self.output_flits, 1, 65536)?;
        self.topology.check().map_err(|error| format!("topology.{error}"))
    }
}
