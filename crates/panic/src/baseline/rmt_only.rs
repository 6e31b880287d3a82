//! RMT only (2.2.3): what match-action stages can do is done there, at line rate; everything else is left to the host.

use super::card::{Card, CardParams, check_names};
use crate::entry::Nodes;
use crate::model::Nic;
use crate::nic::Outside;
use crate::protocol::NodeId;

/// Fixed properties of a [`RmtOnly`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RmtOnlyParams {
    /// Clock, ports, host.
    pub card: CardParams,
    /// What chains may name although no stage can do it: their packets go to the host untouched, which is counted.
    #[serde(default)]
    pub host_services: Vec<String>,
}

impl RmtOnlyParams {
    /// What is wrong with them; begins with the key.
    pub fn check(&self) -> Result<(), String> {
        self.card.check()?;
        check_names("host_service", self.host_services.iter().map(String::as_str))
    }
}

/// A NIC that is match-action stages and nothing else. All that they do is done by the classifier; a packet whose chain is not
/// empty is marked [`crate::protocol::Step::Unserved`] and counted as `not_offloaded`.
pub struct RmtOnly;

impl RmtOnly {
    /// A NIC at time 0. The parameters have passed their check.
    pub fn build(params: &RmtOnlyParams, seed: u64, outside: Outside) -> Nic {
        let networks = (1..=params.card.network_ports as u8).map(NodeId).collect();
        let nodes =
            Nodes { scheduler: Vec::new(), dma: NodeId(0), network: networks, units: Vec::new(), cores: Vec::new() };
        let (card, lanes) = Card::new(params.card, seed, nodes, outside);
        card.finish(lanes, Vec::new(), Vec::new(), usize::MAX)
    }
}
