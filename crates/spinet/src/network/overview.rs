//! A network before it runs: its nodes, switches, links, diameter and bisection.

use super::flow::Flow;
use super::plain::PLAIN;
use super::setup::Setup;
use net::NodeId;
use net::line::Framing;
use net::routes::Graph;
use serde::Serialize;

/// Largest number of nodes and switches for which the diameter and the bisection are computed: larger networks take minutes.
const MOST_COMPUTED: usize = 8192;

/// A network before it runs.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// Nodes in the order of their numbers.
    pub nodes: Vec<NodeOverview>,
    /// Names of the switches.
    pub switches: Vec<String>,
    /// Links in the order of their numbers.
    pub links: Vec<LinkOverview>,
    /// Name of the topology, if the network has one.
    pub topology: Option<String>,
    /// Greatest number of links on a shortest path between two nodes; none for networks that are too large.
    pub diameter: Option<u32>,
    /// The least capacity between the first and the second half of the nodes; none for networks that are too large.
    pub bisection: Option<Bisection>,
    /// Least delay of a link: nodes are simulated for this time without an exchange of frames.
    pub window_ns: f64,
}

/// A node before the run.
#[derive(Clone, Debug, Serialize)]
pub struct NodeOverview {
    /// Its name.
    pub name: String,
    /// Its card.
    pub nic: String,
    /// Kind of its card; `plain` for a plain NIC.
    pub kind: &'static str,
    /// Its IPv4 address.
    pub ip: String,
    /// Its MAC address.
    pub mac: String,
    /// Position of its entry in `nodes`.
    pub entry: Option<usize>,
}

/// A link before the run.
#[derive(Clone, Debug, Serialize)]
pub struct LinkOverview {
    /// Its name.
    pub name: String,
    /// The node or switch at one end.
    pub from: String,
    /// The port of `from`.
    pub from_port: u16,
    /// The node or switch at the other end.
    pub to: String,
    /// The port of `to`.
    pub to_port: u16,
    /// Bits a second from `from` to `to`; none for a sender that serialises frames itself.
    pub rate_bps: Option<u64>,
    /// Bits a second from `to` to `from`.
    pub rate_back_bps: Option<u64>,
    /// Delay of a bit.
    pub delay_ns: f64,
    /// Bits that the line adds to frames.
    pub framing: Framing,
}

/// The least capacity between the first and the second half of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bisection {
    /// Least number of links to cut.
    pub links: u64,
    /// Least sum of rates from the first to the second half; none if links without a rate join them.
    pub gbps: Option<f64>,
}

impl Setup {
    /// The network before it runs. Without `is_whole`, diameter and bisection are not computed, because they take longest.
    pub fn overview(&self, is_whole: bool) -> Overview {
        let node = |(number, node): (usize, &super::NodeSetup)| NodeOverview {
            name: node.name.clone(),
            nic: node.nic.clone(),
            kind: node.kind.map_or(PLAIN, |kind| kind.name),
            ip: self.ip(number).to_string(),
            mac: self.design.directory.mac(NodeId(number as u32)).to_string(),
            entry: node.entry,
        };
        let name = |node: NodeId| self.design.nodes[node.0 as usize].name.clone();
        let link = |link: &net::link::Link| LinkOverview {
            name: link.name.clone(),
            from: name(link.ends[0].0),
            from_port: link.ends[0].1.0,
            to: name(link.ends[1].0),
            to_port: link.ends[1].1.0,
            rate_bps: link.directions[0].rate.in_bps(),
            rate_back_bps: link.directions[1].rate.in_bps(),
            delay_ns: link.directions[0].delay.fs() as f64 / 1e6,
            framing: link.directions[0].framing,
        };
        let topology = self.experiment.topology.as_ref().and_then(|topology| {
            let value = serde_json::to_value(topology).expect("a topology is numbers and texts");
            Some(value.get("name")?.as_str()?.to_owned())
        });
        let least = self.design.links.iter().flat_map(|link| link.directions).map(|way| way.delay).min();
        let is_small = is_whole && self.design.nodes.len() <= MOST_COMPUTED;
        Overview {
            nodes: self.nodes.iter().enumerate().map(node).collect(),
            switches: self.design.nodes[self.nodes.len()..].iter().map(|node| node.name.clone()).collect(),
            links: self.design.links.iter().map(link).collect(),
            topology,
            diameter: is_small.then(|| self.diameter()),
            bisection: is_small.then(|| self.bisection()),
            window_ns: least.unwrap_or_default().fs() as f64 / 1e6,
        }
    }

    fn diameter(&self) -> u32 {
        let (n, n_nodes) = (self.design.nodes.len(), self.nodes.len());
        let graph = Graph::new(&self.design.links, (0..n).map(|node| node >= n_nodes).collect());
        let farthest = |to: usize| graph.distances(NodeId(to as u32))[..n_nodes].iter().copied().max();
        // The design is checked: all nodes reach each other.
        (0..n_nodes).filter_map(farthest).max().unwrap_or(0)
    }

    fn bisection(&self) -> Bisection {
        let n_nodes = self.nodes.len();
        let least = |capacity: &dyn Fn(Option<u64>) -> u64| {
            let mut flow = Flow::new(self.design.nodes.len() + 2);
            let (source, sink) = (self.design.nodes.len(), self.design.nodes.len() + 1);
            for node in 0..n_nodes {
                let is_first = node < n_nodes.div_ceil(2);
                if is_first { flow.add(source, node, u64::MAX, 0) } else { flow.add(node, sink, u64::MAX, 0) }
            }
            for link in &self.design.links {
                let [from, to] = link.ends.map(|(node, _)| node.0 as usize);
                let [there, back] = link.directions.map(|way| capacity(way.rate.in_bps()));
                flow.add(from, to, there, back);
            }
            flow.most(source, sink)
        };
        // A link without a rate carries more than all other links together.
        let endless = self.design.links.iter().flat_map(|link| link.directions);
        let endless = 1 + endless.filter_map(|way| way.rate.in_bps()).map(u128::from).sum::<u128>().min(1 << 62) as u64;
        let rate = least(&|rate| rate.unwrap_or(endless));
        Bisection { links: least(&|_| 1), gbps: (rate < endless).then_some(rate as f64 / 1e9) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Text;
    use crate::toml_text::Format;
    use expect_test::{Expect, expect};
    use std::path::Path;

    fn check(text: &str, want: Expect) {
        let text = Text { text, file: "net.toml", base_dir: Path::new("."), format: Format::Toml };
        let seen = Setup::read(&text).unwrap().overview(true);
        let cut = seen.bisection.unwrap();
        want.assert_eq(&format!(
            "{} nodes, {} switches, {} links, diameter {}, bisection {} links {:?} Gbit/s, window {} ns",
            seen.nodes.len(),
            seen.switches.len(),
            seen.links.len(),
            seen.diameter.unwrap(),
            cut.links,
            cut.gbps,
            seen.window_ns
        ));
    }

    #[test]
    fn diameter_and_bisection_follow_from_the_topology() {
        check(
            "topology = { name = 'pair' }",
            expect!["2 nodes, 0 switches, 1 links, diameter 1, bisection 1 links Some(100.0) Gbit/s, window 500 ns"],
        );
        check(
            "topology = { name = 'star', nodes = 9 }",
            expect!["9 nodes, 1 switches, 9 links, diameter 2, bisection 4 links Some(400.0) Gbit/s, window 500 ns"],
        );
        // A k-ary fat tree with three levels joins its halves with k^3/8 links.
        check(
            "topology = { name = 'fat-tree', levels = 3, radix = 4 }\nlink = { delay = '100 ns' }",
            expect!["16 nodes, 20 switches, 48 links, diameter 6, bisection 8 links Some(800.0) Gbit/s, window 100 ns"],
        );
        // The cut of a 4x4 torus crosses four rings, each at two links.
        check(
            "topology = { name = 'torus', dimensions = [4, 4] }\nlink = { rate = '25G' }",
            expect!["16 nodes, 16 switches, 48 links, diameter 6, bisection 8 links Some(200.0) Gbit/s, window 500 ns"],
        );
        check(
            "topology = { name = 'pair' }\nlink = { rate = 'none' }",
            expect!["2 nodes, 0 switches, 1 links, diameter 1, bisection 1 links None Gbit/s, window 500 ns"],
        );
    }
}
