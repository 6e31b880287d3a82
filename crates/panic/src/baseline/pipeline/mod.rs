//! The pipeline of offloads (2.2.1, 7.3): one queue, and behind it offloads in a line.

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
    /// Clock, ports, host.
    pub card: CardParams,
    /// Bytes of the queue in front of the first offload; at least one of the longest packets.
    pub queue_bytes: u32,
    /// What packets do at offloads that they do not need.
    pub unneeded: Unneeded,
    /// The offloads, in the order in which they are wired.
    #[serde(default, rename = "stage")]
    pub stages: Vec<StageParams>,
}

/// What packets do at offloads that they do not need. Source: 2.2.1, which has both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Unneeded {
    /// They go through as if they did, in order, and come out as they went in.
    Through,
    /// They pass by, and wait in a buffer at each offload for their turn behind it.
    Bypass {
        /// Flits of that buffer; when it is full, the line waits.
        flits: u32,
    },
}

/// An offload.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageParams {
    /// What chains call it.
    pub name: String,
    /// What it is.
    pub engine: EngineParams,
}

impl PipelineParams {
    /// What is wrong with them; begins with the key.
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
        checks::within("stage: nodes with all stages", n_nodes, 0, 256)?;
        let longest = self.card.longest_bytes;
        self.stages
            .iter()
            .try_for_each(|stage| check_engine(&format!("stage `{}`", stage.name), &stage.engine, longest))
    }
}

/// A NIC whose offloads are wired one to the next, first come first served, behind a queue with drop tail.
///
/// A packet whose next service lies before the offload at which it is goes round again, through the queue (2.2.1,
/// recirculation). A packet is held in the queue until the first offload takes it; nothing else in the line drops.
pub struct Pipeline;

impl Pipeline {
    /// A NIC at time 0. The parameters have passed their check.
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
