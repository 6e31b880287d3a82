//! What is fixed about a PANIC NIC, as `presets/panic.toml` says it.

use crate::cells::Cells;
use crate::dma::DmaParams;
use crate::entry::Nodes;
use crate::ingress::{IngressParams, WhenFull};
use crate::interconnect::Topology;
use crate::policy::{Level, PolicyParams};
use crate::scheduler::{BufferParams, DropParams, PifoParams, SchedulerParams, ServiceParams, UnitParams};
use crate::unit::EngineParams;
use blocks::checks;
use blocks::mhz::Mhz;

/// Fixed properties of a [`crate::nic::Panic`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PanicParams {
    /// The clock of everything but engines that have their own.
    pub clock_mhz: Mhz,
    /// Width of the interconnect, in bytes a cycle.
    pub flit_bytes: u32,
    /// Traffic classes, 1 to 256; weights and buckets of policies count them.
    pub n_classes: usize,
    /// Network ports, 1 to 8.
    pub network_ports: u32,
    /// How packets come in at each.
    pub ingress: IngressParams,
    /// Between all parts.
    pub interconnect: InterconnectParams,
    /// The DMA engine, PCIe and the host.
    pub dma: DmaParams,
    /// The central scheduler.
    pub scheduler: CentralParams,
    /// What units do, in the order of the scheduler's PIFOs.
    #[serde(default, rename = "service")]
    pub services: Vec<ServiceSpec>,
}

/// The interconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterconnectParams {
    /// Flits of buffer at each input, ...
    pub input_flits: u32,
    /// ... which a flit reaches after so many cycles.
    pub input_cycles: u32,
    /// Flits of buffer at each output, ...
    pub output_flits: u32,
    /// ... which a flit leaves after so many cycles.
    pub output_cycles: u32,
    /// What is between them.
    #[serde(default)]
    pub topology: Topology,
}

/// The central scheduler, without its services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CentralParams {
    /// Its ports on the interconnect, each with a bank of the packet buffer.
    pub ports: u32,
    /// The packet buffer.
    pub buffer: BufferParams,
    /// The PIFO blocks.
    pub pifo: PifoParams,
    /// When packets are dropped.
    pub dropping: DropParams,
    /// Whether units push packets on to units of the next service.
    pub chain_push: bool,
    /// By how much the ranks of a packet are lowered when a unit had no room for it.
    pub detour_raise: u64,
    /// Cycles from a unit's note about credits until the scheduler counts it, 1 or more.
    pub note_cycles: u32,
}

/// A service and its units.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceSpec {
    /// What chains call it.
    pub name: String,
    /// How many units there are, 1 to 250.
    pub units: u32,
    /// Packets that each may have at most.
    pub credits: u32,
    /// What they are.
    pub engine: EngineParams,
    /// Whether all packets of a flow go to one unit.
    #[serde(default)]
    pub flow_affinity: bool,
    /// Which packet goes next; in order of arrival if not given.
    #[serde(default = "fifo")]
    pub policy: Level,
}

fn fifo() -> Level {
    Level::of(PolicyParams::Fifo)
}

impl PanicParams {
    /// The longest packet, in bytes.
    pub fn longest(&self) -> usize {
        self.scheduler.buffer.cell_bytes as usize
    }

    /// Which node of the interconnect is what.
    pub fn nodes(&self) -> Nodes {
        let units = self.services.iter().map(|service| service.units as usize);
        Nodes::new(self.scheduler.ports as usize, self.network_ports as usize, units)
    }

    /// The scheduler with its services.
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

    /// Who gives cells out, if packets have them from entry to exit.
    pub fn cells(&self, nodes: &Nodes) -> Option<Cells> {
        let BufferParams { cells, allocator, .. } = self.scheduler.buffer;
        allocator.map(|params| Cells::new(params, nodes.scheduler.clone(), cells, self.scheduler.dropping.free_cells))
    }

    /// What is wrong with them; begins with the key.
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
                return Err(format!("service[{i}].name is empty, must be what chains call it"));
            }
            if self.services[..i].iter().any(|other| other.name == service.name) {
                return Err(format!("service[{i}].name is `{}`, which another service has", service.name));
            }
            checks::within(&format!("{at}: units"), service.units, 1, 250)?;
            checks::within(&format!("{at}: credits"), service.credits, 1, 1024)?;
            let checked = service.engine.check().and_then(|()| service.engine.check_longest(self.longest()));
            checked.map_err(|error| format!("{at}: engine: {error}"))?;
        }
        if self.scheduler.buffer.allocator.is_some() && self.ingress.when_full == WhenFull::Drop {
            return Err("ingress.when_full is `drop`, must be `stall` with scheduler.buffer.allocator".to_owned());
        }
        let n_nodes = u64::from(self.scheduler.ports + 1 + self.network_ports)
            + self.services.iter().map(|service| u64::from(service.units)).sum::<u64>();
        if n_nodes > 256 {
            return Err(format!("service: there are {n_nodes} nodes with all units, must be 256 at most"));
        }
        let most = self.interconnect.topology.most_nodes();
        if n_nodes > most as u64 {
            return Err(format!(
                "interconnect.topology has place for {most} nodes, there are {n_nodes} with all units"
            ));
        }
        if self.services.is_empty() {
            return Ok(()); // Everything goes straight through.
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
