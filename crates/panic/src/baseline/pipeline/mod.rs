//! The pipeline of offloads (2.2.1, 7.3): one queue followed by offloads in a row.

mod fifo;
mod stage;

use super::card::{Card, CardParams, check_engine, check_names};
use super::queue::{Intake, Limits};
use crate::entry::Nodes;
use crate::model::Nic;
use crate::nic::Outside;
use crate::unit::EngineParams;
use blocks::checks;
use fifo::Fifo;
use stage::{Stage, StageWiring};

/// Fixed properties of a [`Pipeline`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PipelineParams {
    /// Clock, ports and host.
    pub card: CardParams,
    /// Size of the queue in front of the first offload, in bytes; at least one longest packet.
    pub queue_bytes: u32,
    /// How packets pass offloads that they do not need.
    pub unneeded: Unneeded,
    /// The offloads, in the order of the pipeline.
    #[serde(default, rename = "stage")]
    pub stages: Vec<StageParams>,
}

/// How packets pass offloads that they do not need. Source: 2.2.1, which describes both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Unneeded {
    /// They go through the engine in order, take its time, and leave unchanged.
    Through {},
    /// They bypass the engine and wait in a buffer for their turn at the offload's output.
    Bypass {
        /// Size of that buffer in flits; when it is full, the pipeline stalls.
        flits: u32,
    },
}

/// An offload.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageParams {
    /// Name in chains.
    pub name: String,
    /// The engine.
    pub engine: EngineParams,
}

impl PipelineParams {
    /// Checks the parameters. The error begins with the key.
    pub fn check(&self) -> Result<(), String> {
        self.card.check()?;
        checks::within(
            "queue_bytes",
            self.queue_bytes,
            self.card.longest_bytes.next_multiple_of(self.card.flit_bytes),
            1 << 28,
        )?;
        if let Unneeded::Bypass { flits } = self.unneeded {
            checks::within("unneeded.flits", flits, 1, 1 << 20)?;
        }
        check_names("stage", self.stages.iter().map(|stage| stage.name.as_str()))?;
        let n_nodes = 2 + self.card.network_ports as usize + self.stages.len();
        checks::within("stage: nodes including all stages", n_nodes, 0, 256)?;
        let longest = self.card.longest_bytes;
        self.stages
            .iter()
            .try_for_each(|stage| check_engine(&format!("stage `{}`", stage.name), &stage.engine, longest))
    }
}

/// A NIC whose offloads form a pipeline behind a drop-tail queue; first come, first served.
///
/// A packet whose next service is at an earlier offload recirculates through the queue (2.2.1). A packet stays in the queue
/// until the first offload accepts it; nothing else in the pipeline drops packets.
pub struct Pipeline;

impl Pipeline {
    /// Builds the NIC at time 0. The parameters must have passed their check.
    pub fn build(params: &PipelineParams, seed: u64, outside: Outside) -> Nic {
        let CardParams { flit_bytes, longest_bytes, n_classes, network_ports, .. } = params.card;
        let nodes = Nodes::new(1, network_ports as usize, params.stages.iter().map(|_| 1));
        let (mut card, mut inputs) = Card::new(params.card, seed, nodes.clone(), outside);
        let (to_queue, again) = card.lane("again");
        inputs.push(again);
        let node = nodes.scheduler[0];
        let n_services = params.stages.len();
        let limits = Limits { node, bytes: params.queue_bytes, flit_bytes, longest_bytes, n_services, n_classes };
        let (queued, mut line) = card.lane("line");
        let intake = Intake::new(limits, inputs, card.outlet.clone());
        card.add("queue", Fifo::new(intake, queued));
        for (number, stage) in params.stages.iter().enumerate() {
            let node = nodes.units[number][0];
            let (to_engine, from_engine) = card.engine(&stage.name, node, number, &stage.engine, n_services);
            let (output, next) = card.lane(&format!("behind {}", stage.name));
            let input = std::mem::replace(&mut line, next);
            let wires = StageWiring { input, output, to_engine, from_engine, outlet: card.outlet.clone() };
            let service = number as u8;
            card.add(&stage.name, Stage::new(node, service, flit_bytes as usize, params.unneeded, wires));
        }
        card.finish(vec![line], vec![to_queue], Vec::new(), usize::MAX)
    }
}
