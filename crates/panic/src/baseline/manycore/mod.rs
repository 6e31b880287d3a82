//! The manycore NIC (2.2.2): cores carry packets from offload to offload.

mod balancer;
mod core;
mod relay;

use self::core::{Core, CoreWiring};
use super::card::{Card, CardParams, check_engine, check_names};
use super::queue::{Intake, Limits};
use crate::entry::Nodes;
use crate::model::Nic;
use crate::nic::Outside;
use crate::protocol::NodeId;
use crate::unit::EngineParams;
use balancer::Balancer;
use blocks::checks;
use relay::{Relay, RelayWiring};

/// Fixed properties of a [`Manycore`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ManycoreParams {
    /// Clock, ports and host.
    pub card: CardParams,
    /// Buffer in which packets wait for cores, in bytes; at least one longest packet.
    pub buffer_bytes: u32,
    /// Load balancing: the core that a packet goes to.
    pub balance: Balance,
    /// Maximum number of flits that the interconnect passes in a cycle; 2 suffice to send every packet to a core and from there
    /// to its exit.
    pub interconnect_flits: u32,
    /// The cores.
    pub cores: CoreParams,
    /// The services to which cores send packets.
    #[serde(default, rename = "service")]
    pub services: Vec<PoolParams>,
}

/// Load balancing: the core that a packet goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// All packets of a flow go to one core.
    Flow,
    /// Round robin.
    RoundRobin,
    /// The core with the fewest packets; round robin among equals.
    Fewest,
}

/// The cores. They orchestrate; units process the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoreParams {
    /// Number of cores, 1 to 200.
    pub count: u32,
    /// Maximum number of packets of a core, including those that it has sent to units.
    pub packets: u32,
    /// Cycles that a core is busy with a packet each time it arrives from the network or from a unit.
    pub work_cycles: u32,
    /// Additional latency of the packet each time, for the core's memory and queues. The core works on other packets
    /// meanwhile.
    pub wait_cycles: u32,
}

/// A service and its units.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolParams {
    /// Name in chains.
    pub name: String,
    /// Number of units, 1 to 200; cores use them in round robin.
    pub units: u32,
    /// The engine in each unit.
    pub engine: EngineParams,
}

impl ManycoreParams {
    /// Checks the parameters. The error begins with the key.
    pub fn check(&self) -> Result<(), String> {
        self.card.check()?;
        let least = self.card.longest_bytes.next_multiple_of(self.card.flit_bytes);
        checks::within("buffer_bytes", self.buffer_bytes, least, 1 << 28)?;
        checks::within("interconnect_flits", self.interconnect_flits, 1, 256)?;
        let CoreParams { count, packets, work_cycles, wait_cycles } = self.cores;
        checks::within("cores.count", count, 1, 200)?;
        checks::within("cores.packets", packets, 1, 1024)?;
        checks::within("cores.work_cycles", work_cycles, 1, 1 << 20)?;
        checks::within("cores.wait_cycles", wait_cycles, 0, 1 << 20)?;
        check_names("service", self.services.iter().map(|service| service.name.as_str()))?;
        for service in &self.services {
            checks::within(&format!("service `{}`: units", service.name), service.units, 1, 200)?;
            check_engine(&format!("service `{}`", service.name), &service.engine, self.card.longest_bytes)?;
        }
        let n_units: u32 = self.services.iter().map(|service| service.units).sum();
        let n_nodes = 2 + self.card.network_ports + count + n_units;
        checks::within("service: nodes including all units and cores", n_nodes, 0, 256)
    }

    /// Nodes: the DMA engine, the network ports, units, cores, and the balancer in front of them.
    fn nodes(&self) -> Nodes {
        let mut next = 0;
        let mut nodes = |n: u32| -> Vec<NodeId> {
            next += n;
            (next - n..next).map(|node| NodeId(node as u8)).collect()
        };
        let (dma, network) = (nodes(1)[0], nodes(self.card.network_ports));
        let units = self.services.iter().map(|service| nodes(service.units)).collect();
        let (cores, scheduler) = (nodes(self.cores.count), nodes(1));
        Nodes { scheduler, dma, network, units, cores }
    }
}

/// A NIC that distributes packets over cores. Each core sends a packet to the units of its services, one after the other, and
/// then to its exit; first come, first served, with drop tail.
///
/// It cannot deadlock: the balancer limits the packets of a core, including those at units, so a core always accepts packets. So
/// units always make progress, and so do packets on their way to units.
pub struct Manycore;

impl Manycore {
    /// Builds the NIC at time 0. The parameters must have passed their check.
    pub fn build(params: &ManycoreParams, seed: u64, outside: Outside) -> Nic {
        let CardParams { flit_bytes, longest_bytes, n_classes, .. } = params.card;
        let nodes = params.nodes();
        let (mut card, from_networks) = Card::new(params.card, seed, nodes.clone(), outside);
        let (mut inputs, mut outputs, mut done_rx) = (Vec::new(), Vec::new(), Vec::new());
        let n_services = params.services.len();
        for (i, (service, units)) in params.services.iter().zip(&nodes.units).enumerate() {
            for (number, &node) in units.iter().enumerate() {
                let path = format!("{}[{number}]", service.name);
                let (to_engine, from_engine) = card.engine(&path, node, i, &service.engine, n_services);
                let (to_unit, input) = card.lane(&format!("to {path}"));
                let (output, from_unit) = card.lane(&format!("from {path}"));
                outputs.push(to_unit);
                inputs.push(from_unit);
                card.add(&path, Relay::new(node, RelayWiring { input, output, to_engine, from_engine }));
            }
        }
        for (number, &node) in nodes.cores.iter().enumerate() {
            let path = format!("manycore.core[{number}]");
            let (to_core, input) = card.lane(&format!("to {path}"));
            let (output, from_core) = card.lane(&format!("from {path}"));
            let (done, rx) = card.system.channel(&format!("{path}.done"), 2, 1);
            outputs.push(to_core);
            inputs.push(from_core);
            done_rx.push(rx);
            let wires = CoreWiring { input, output, done };
            card.add(&path, Core::new(params.cores, node, number, flit_bytes as usize, &nodes.units, wires));
        }
        let node = nodes.scheduler[0];
        let limits = Limits { node, bytes: params.buffer_bytes, flit_bytes, longest_bytes, n_services, n_classes };
        let intake = Intake::new(limits, from_networks, card.outlet.clone());
        let (output, from_balancer) = card.lane("from balancer");
        inputs.push(from_balancer);
        card.add("balancer", Balancer::new(params.balance, params.cores.packets, nodes.cores, intake, output, done_rx));
        card.finish(inputs, Vec::new(), outputs, params.interconnect_flits as usize)
    }
}
