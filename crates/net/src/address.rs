//! Addresses of nodes: a rule for all, exceptions for some, and the way back from a packet to its node.

use crate::NodeId;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use wire::eth::{self, Mac};
use wire::ipv4;
use wire::layers::{Layer, Layers};

/// Maximum number of nodes of a network: the rule gives them addresses within 10.0.0.0/8.
pub const MAX_NODES: u32 = (1 << 24) - 2;

/// Addresses of all nodes.
///
/// By rule, node `i` has the IPv4 address 10.0.0.1 + `i` and the MAC address `02:00:` followed by the four bytes of that IPv4 address,
/// so node 0 is 10.0.0.1 and 02:00:0a:00:00:01. A node with addresses of its own has only these.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    n_nodes: u32,
    ips: BTreeMap<Ipv4Addr, NodeId>,
    macs: BTreeMap<Mac, NodeId>,
    own: BTreeMap<NodeId, (Ipv4Addr, Mac)>,
}

impl Directory {
    /// The addresses of nodes 0 to `n_nodes` - 1 by rule.
    pub fn by_rule(n_nodes: u32) -> Self {
        assert!(n_nodes <= MAX_NODES, "{n_nodes} nodes have no addresses in 10.0.0.0/8");
        Directory { n_nodes, ..Self::default() }
    }

    /// Number of nodes with addresses.
    pub fn n_nodes(&self) -> u32 {
        self.n_nodes
    }

    /// Gives a node addresses of its own. If another node already has one of them, returns that node.
    pub fn assign(&mut self, node: NodeId, ip: Ipv4Addr, mac: Mac) -> Result<(), NodeId> {
        let holder = self.node_of_ip(ip).or_else(|| self.node_of_mac(mac)).filter(|&holder| holder != node);
        if let Some(holder) = holder {
            return Err(holder);
        }
        if let Some((ip, mac)) = self.own.insert(node, (ip, mac)) {
            self.ips.remove(&ip);
            self.macs.remove(&mac);
        }
        self.ips.insert(ip, node);
        self.macs.insert(mac, node);
        Ok(())
    }

    /// IPv4 address of a node.
    pub fn ip(&self, node: NodeId) -> Ipv4Addr {
        self.own.get(&node).map_or_else(|| rule_ip(node), |own| own.0)
    }

    /// MAC address of a node.
    pub fn mac(&self, node: NodeId) -> Mac {
        self.own.get(&node).map_or_else(|| rule_mac(rule_ip(node)), |own| own.1)
    }

    /// The node with this IPv4 address.
    pub fn node_of_ip(&self, ip: Ipv4Addr) -> Option<NodeId> {
        self.ips.get(&ip).copied().or_else(|| self.by_number(u32::from(ip).checked_sub(u32::from(rule_ip(NodeId(0))))?))
    }

    /// The node with this MAC address.
    pub fn node_of_mac(&self, mac: Mac) -> Option<NodeId> {
        let own = self.macs.get(&mac).copied();
        own.or_else(|| {
            let [2, 0, a, b, c, d] = mac.0 else { return None };
            let number = u32::from_be_bytes([a, b, c, d]).checked_sub(u32::from(rule_ip(NodeId(0))))?;
            self.by_number(number)
        })
    }

    /// The node that a packet goes to: by its IPv4 destination if it has one, else by its MAC destination.
    pub fn node_of(&self, bytes: &[u8], layers: &Layers) -> Option<NodeId> {
        if let Some(at) = layers.offset(Layer::Ipv4) {
            let ip = &bytes[at + ipv4::DST.start..at + ipv4::DST.end];
            return self.node_of_ip(Ipv4Addr::new(ip[0], ip[1], ip[2], ip[3]));
        }
        let mac: [u8; 6] = bytes.get(eth::DST)?.try_into().ok()?;
        self.node_of_mac(Mac(mac))
    }

    /// The node that has this number by rule.
    fn by_number(&self, number: u32) -> Option<NodeId> {
        let node = NodeId(number);
        (number < self.n_nodes && !self.own.contains_key(&node)).then_some(node)
    }
}

fn rule_ip(node: NodeId) -> Ipv4Addr {
    Ipv4Addr::from(u32::from_be_bytes([10, 0, 0, 1]) + node.0)
}

fn rule_mac(ip: Ipv4Addr) -> Mac {
    let [a, b, c, d] = ip.octets();
    Mac([2, 0, a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn the_rule_and_its_way_back() {
        let directory = Directory::by_rule(70_000);
        let show = |n| format!("{} {}", directory.ip(NodeId(n)), directory.mac(NodeId(n)));
        expect!["10.0.0.1 02:00:0a:00:00:01"].assert_eq(&show(0));
        expect!["10.1.17.112 02:00:0a:01:11:70"].assert_eq(&show(69_999));
        for node in [0, 1, 254, 255, 65_535, 69_999].map(NodeId) {
            assert_eq!(directory.node_of_ip(directory.ip(node)), Some(node));
            assert_eq!(directory.node_of_mac(directory.mac(node)), Some(node));
        }
        for ip in [[10, 0, 0, 0], [10, 1, 17, 113], [11, 0, 0, 1], [255, 255, 255, 255], [0, 0, 0, 0]] {
            assert_eq!(directory.node_of_ip(ip.into()), None, "{ip:?}");
        }
    }

    #[test]
    fn own_addresses_replace_those_of_the_rule() {
        let mut directory = Directory::by_rule(4);
        let (ip, mac) = (Ipv4Addr::new(192, 168, 0, 9), Mac([2, 0, 0, 0, 0, 9]));
        directory.assign(NodeId(2), ip, mac).unwrap();
        assert_eq!((directory.node_of_ip(ip), directory.node_of_mac(mac)), (Some(NodeId(2)), Some(NodeId(2))));
        assert_eq!(directory.node_of_ip(Ipv4Addr::new(10, 0, 0, 3)), None, "its address by rule is free");
        assert_eq!(directory.assign(NodeId(1), ip, Mac([2, 0, 0, 0, 0, 8])), Err(NodeId(2)));
        assert_eq!(directory.assign(NodeId(1), Ipv4Addr::new(10, 0, 0, 4), mac), Err(NodeId(3)));
    }
}
