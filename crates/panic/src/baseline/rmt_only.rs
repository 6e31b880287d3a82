//! RMT only (2.2.3): the match-action stages do what they can at line rate; the host does the rest.

use super::card::{Card, CardParams, check_names};
use crate::entry::Nodes;
use crate::model::Nic;
use crate::nic::Outside;
use crate::protocol::NodeId;

/// Fixed properties of a [`RmtOnly`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RmtOnlyParams {
    /// Clock, ports and host.
    pub card: CardParams,
    /// Services that chains may name although no stage provides them. Their packets go to the host unchanged and are counted.
    #[serde(default)]
    pub host_services: Vec<String>,
}

impl RmtOnlyParams {
    /// Checks the parameters. The error begins with the key.
    pub fn check(&self) -> Result<(), String> {
        self.card.check()?;
        check_names("host_service", self.host_services.iter().map(String::as_str))
    }
}

/// A NIC with match-action stages only. The classifier does all their work; a packet whose chain is not empty is marked
/// [`crate::protocol::PacketStep::Unserved`] and counted as `not_offloaded`.
pub struct RmtOnly;

impl RmtOnly {
    /// Builds the NIC at time 0. The parameters must have passed their check.
    pub fn build(params: &RmtOnlyParams, seed: u64, outside: Outside) -> Nic {
        let networks = (1..=params.card.network_ports as u8).map(NodeId).collect();
        let nodes =
            Nodes { scheduler: Vec::new(), dma: NodeId(0), network: networks, units: Vec::new(), cores: Vec::new() };
        let (card, lanes) = Card::new(params.card, seed, nodes, outside);
        card.finish(lanes, Vec::new(), Vec::new(), usize::MAX)
    }
}
