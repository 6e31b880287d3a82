//! The plan of a network: nodes, links, addresses. It can be built on any thread.

use crate::address::{Directory, MAX_NODES};
use crate::error::NetError;
use crate::link::Link;
use crate::node::{BuildNode, Place, PortPlace};
use crate::{LinkId, NodeId, PortId};
use kernel::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A node to build.
pub struct NodePlan {
    /// Its name.
    pub name: String,
    /// Number of its ports.
    pub n_ports: u16,
    /// Builds it.
    pub build: BuildNode,
}

/// A network to build.
pub struct Plan {
    /// Its nodes; their positions are their numbers.
    pub nodes: Vec<NodePlan>,
    /// Its links; their positions are their numbers.
    pub links: Vec<Link>,
    /// Addresses of the nodes.
    pub directory: Directory,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Plan {
    /// Checks the links, and returns the place of each node.
    pub(crate) fn places(&self) -> Result<Vec<Place>, NetError> {
        let refuse = |key: String, found: String, allowed: String| Err(NetError::Plan { key, found, allowed });
        if self.nodes.is_empty() || self.nodes.len() > MAX_NODES as usize {
            return refuse("number of nodes".into(), self.nodes.len().to_string(), format!("1 to {MAX_NODES}"));
        }
        let directory = Arc::new(self.directory.clone());
        let place = |(number, node): (usize, &NodePlan)| Place {
            node: NodeId(number as u32),
            name: node.name.clone(),
            ports: vec![None; usize::from(node.n_ports)],
            directory: Arc::clone(&directory),
            seed: self.seed,
        };
        let mut places: Vec<Place> = self.nodes.iter().enumerate().map(place).collect();
        let mut users: BTreeMap<(NodeId, PortId), &str> = BTreeMap::new();
        for (number, link) in self.links.iter().enumerate() {
            let key = |what: &str| format!("links.{}.{what}", link.name);
            if link.ends[0].0 == link.ends[1].0 {
                return refuse(key("ends"), "a link from a node to itself".into(), "two nodes".into());
            }
            for (end, direction) in link.directions.iter().enumerate() {
                if direction.delay == Time::ZERO {
                    return refuse(
                        key("delay"),
                        "0".into(),
                        "at least 1 fs, so that time advances between nodes".into(),
                    );
                }
                let (node, port) = link.ends[end];
                let Some(plan) = self.nodes.get(node.0 as usize) else {
                    return refuse(key("ends"), format!("node {}", node.0), format!("below {}", self.nodes.len()));
                };
                if port.0 >= plan.n_ports {
                    let allowed = format!("below {}, the number of ports of `{}`", plan.n_ports, plan.name);
                    return refuse(key("ends"), format!("port {}", port.0), allowed);
                }
                if let Some(other) = users.insert((node, port), &link.name) {
                    let allowed = format!("a port without a link; `{other}` has it");
                    return refuse(key("ends"), format!("port {} of `{}`", port.0, plan.name), allowed);
                }
                places[node.0 as usize].ports[usize::from(port.0)] = Some(PortPlace {
                    link: LinkId(number as u32),
                    peer: link.ends[1 - end],
                    rate: direction.rate,
                    peer_rate: link.directions[1 - end].rate,
                    framing: direction.framing,
                    delay: direction.delay,
                    max_frame: direction.max_frame,
                    pause_reaction: link.pause_reaction[end],
                });
            }
        }
        Ok(places)
    }
}
