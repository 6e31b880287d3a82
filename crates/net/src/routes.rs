//! Routes: for each switch, the ports on shortest paths to each node. Computed once, from the links alone.

use crate::link::Link;
use crate::{NodeId, PortId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The routes of one switch.
#[derive(Clone, Debug, Default)]
pub struct SwitchRoutes {
    /// For each node, a position in `groups`; `u32::MAX` if no route leads there.
    group_of: Vec<u32>,
    groups: Vec<Box<[PortId]>>,
}

impl SwitchRoutes {
    /// Routes from lists of ports, by node.
    pub fn new(ports: impl IntoIterator<Item = Vec<PortId>>) -> Self {
        let mut routes = SwitchRoutes::default();
        let mut known: BTreeMap<Vec<PortId>, u32> = BTreeMap::new();
        for ports in ports {
            let group = if ports.is_empty() {
                u32::MAX
            } else {
                let next = routes.groups.len() as u32;
                *known.entry(ports.clone()).or_insert_with(|| {
                    routes.groups.push(ports.into());
                    next
                })
            };
            routes.group_of.push(group);
        }
        routes
    }

    /// Ports on shortest paths to a node, in order of their numbers; none if no route leads there.
    pub fn ports(&self, to: NodeId) -> &[PortId] {
        let group = self.group_of.get(to.0 as usize).filter(|&&group| group != u32::MAX);
        group.map_or(&[], |&group| &self.groups[group as usize])
    }
}

/// The links at each node: own port, and the node at the other end.
pub struct Graph {
    neighbours: Vec<Vec<(PortId, NodeId)>>,
    is_switch: Vec<bool>,
}

impl Graph {
    /// The graph of these links. Only switches pass frames on.
    pub fn new(links: &[Link], is_switch: Vec<bool>) -> Self {
        let mut neighbours = vec![Vec::new(); is_switch.len()];
        for link in links {
            for end in 0..2 {
                let ((node, port), (peer, _)) = (link.ends[end], link.ends[1 - end]);
                neighbours[node.0 as usize].push((port, peer));
            }
        }
        neighbours.iter_mut().for_each(|ports| ports.sort_unstable());
        Graph { neighbours, is_switch }
    }

    /// Links from each node to `to` on a shortest path; `u32::MAX` if there is none.
    pub fn distances(&self, to: NodeId) -> Vec<u32> {
        let mut distance = vec![u32::MAX; self.neighbours.len()];
        distance[to.0 as usize] = 0;
        let mut queue = VecDeque::from([to.0 as usize]);
        while let Some(node) = queue.pop_front() {
            // Only switches pass frames on. Any other node ends paths.
            if node != to.0 as usize && !self.is_switch[node] {
                continue;
            }
            for &(_, peer) in &self.neighbours[node] {
                let peer = peer.0 as usize;
                if distance[peer] == u32::MAX {
                    distance[peer] = distance[node] + 1;
                    queue.push_back(peer);
                }
            }
        }
        distance
    }

    /// Neighbours of a node that are switches, in the order of their ports.
    fn switches_at(&self, node: usize) -> impl Iterator<Item = (PortId, usize)> {
        let ports = self.neighbours[node].iter().map(|&(port, peer)| (port, peer.0 as usize));
        ports.filter(|&(_, peer)| self.is_switch[peer])
    }

    /// Two nodes, neither of them a switch, without a path between them: the first such pair, ordered by `to` and then `from`.
    pub fn parted(&self) -> Option<(NodeId, NodeId)> {
        let n = self.neighbours.len();
        let ends: Vec<usize> = (0..n).filter(|&node| !self.is_switch[node]).collect();
        // Usually one group of switches joins all nodes.
        let mut group = vec![false; n];
        let mut todo: Vec<usize> = ends.first().map(|&end| self.switches_at(end).map(|(_, peer)| peer).collect())?;
        todo.truncate(1);
        while let Some(switch) = todo.pop() {
            if !std::mem::replace(&mut group[switch], true) {
                todo.extend(self.switches_at(switch).map(|(_, peer)| peer));
            }
        }
        if ends.iter().all(|&end| self.switches_at(end).any(|(_, peer)| group[peer])) {
            return None;
        }
        ends.iter().find_map(|&to| {
            let distance = self.distances(NodeId(to as u32));
            let from = ends.iter().find(|&&from| distance[from] == u32::MAX)?;
            Some((NodeId(*from as u32), NodeId(to as u32)))
        })
    }

    /// For each switch, its routes to all other nodes; `None` for nodes that are not switches.
    pub fn routes(&self) -> Vec<Option<Arc<SwitchRoutes>>> {
        let n = self.neighbours.len();
        let switches: Vec<usize> = (0..n).filter(|&node| self.is_switch[node]).collect();
        let between: Vec<Vec<(PortId, usize)>> = (0..n).map(|node| self.switches_at(node).collect()).collect();
        // For each node, the switches that have it as a neighbour, with their ports.
        let mut toward: Vec<Vec<(usize, PortId)>> = vec![Vec::new(); n];
        for &switch in &switches {
            self.neighbours[switch].iter().for_each(|&(port, peer)| toward[peer.0 as usize].push((switch, port)));
        }
        let mut ports: Vec<Vec<Vec<PortId>>> = vec![Vec::with_capacity(n); switches.len()];
        let mut queue = VecDeque::new();
        for (to, beside) in toward.iter().enumerate() {
            if self.is_switch[to] {
                ports.iter_mut().for_each(|ports| ports.push(Vec::new()));
                continue;
            }
            // Only switches pass frames on, so all nodes on a path are switches.
            let mut distance = vec![u32::MAX; n];
            for &(switch, _) in beside {
                if std::mem::replace(&mut distance[switch], 1) == u32::MAX {
                    queue.push_back(switch);
                }
            }
            while let Some(switch) = queue.pop_front() {
                for &(_, peer) in &between[switch] {
                    if distance[peer] == u32::MAX {
                        distance[peer] = distance[switch] + 1;
                        queue.push_back(peer);
                    }
                }
            }
            for (&switch, ports) in switches.iter().zip(&mut ports) {
                let own = distance[switch];
                ports.push(match own {
                    1 => beside.iter().filter(|&&(at, _)| at == switch).map(|&(_, port)| port).collect(),
                    u32::MAX => Vec::new(),
                    _ => {
                        let is_next = |&&(_, peer): &&(PortId, usize)| distance[peer] == own - 1;
                        between[switch].iter().filter(is_next).map(|&(port, _)| port).collect()
                    }
                });
            }
        }
        let mut routes: Vec<Option<Arc<SwitchRoutes>>> = vec![None; n];
        for (switch, ports) in switches.into_iter().zip(ports) {
            routes[switch] = Some(Arc::new(SwitchRoutes::new(ports)));
        }
        routes
    }

    /// A cycle of links that wait for each other if all buffers are full: with back-pressure, the network can deadlock. The cycle is given as
    /// the switches that it passes.
    pub fn waiting_cycle(&self, routes: &[Option<Arc<SwitchRoutes>>]) -> Option<Vec<NodeId>> {
        // A channel is a link into a switch. It waits for the channels that its frames may take next.
        let n = self.neighbours.len();
        let mut waits: BTreeMap<(usize, usize), Vec<(usize, usize)>> = BTreeMap::new();
        for to in (0..n).filter(|&to| !self.is_switch[to]) {
            for (switch, ports) in routes.iter().enumerate().filter_map(|(node, routes)| Some((node, routes.as_ref()?)))
            {
                for (port, peer) in &self.neighbours[switch] {
                    let next = peer.0 as usize;
                    if !self.is_switch[next] || !ports.ports(NodeId(to as u32)).contains(port) {
                        continue;
                    }
                    let onward = routes[next].as_ref().map_or(&[][..], |routes| routes.ports(NodeId(to as u32)));
                    let then = self.neighbours[next]
                        .iter()
                        .filter(|(port, peer)| onward.contains(port) && self.is_switch[peer.0 as usize]);
                    let known = waits.entry((switch, next)).or_default();
                    for (_, peer) in then {
                        let channel = (next, peer.0 as usize);
                        if !known.contains(&channel) {
                            known.push(channel);
                        }
                    }
                }
            }
        }
        find_cycle(&waits).map(|cycle| cycle.into_iter().map(|(switch, _)| NodeId(switch as u32)).collect())
    }
}

type Channel = (usize, usize);

/// A cycle of a directed graph, found by depth-first search without recursion.
fn find_cycle(next: &BTreeMap<Channel, Vec<Channel>>) -> Option<Vec<Channel>> {
    let mut is_done: BTreeMap<Channel, bool> = BTreeMap::new();
    for &begin in next.keys() {
        if is_done.contains_key(&begin) {
            continue;
        }
        let mut path: Vec<(Channel, usize)> = vec![(begin, 0)];
        is_done.insert(begin, false);
        while let Some((channel, at)) = path.last_mut() {
            let channel = *channel;
            let Some(&following) = next.get(&channel).and_then(|next| next.get(*at)) else {
                is_done.insert(channel, true);
                path.pop();
                continue;
            };
            *at += 1;
            match is_done.get(&following) {
                Some(true) => {}
                Some(false) => {
                    let start = path.iter().position(|&(channel, _)| channel == following)?;
                    return Some(path[start..].iter().map(|&(channel, _)| channel).collect());
                }
                None => {
                    is_done.insert(following, false);
                    path.push((following, 0));
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::NetworkSpec;
    use crate::topology::Topology;

    fn graph(topology: Topology) -> (Graph, usize) {
        let spec = NetworkSpec { topology: Some(topology), ..NetworkSpec::default() };
        let design = spec.design(&["plain"], |_| false).unwrap();
        let n_devices = design.n_devices as usize;
        let is_switch = (0..design.nodes.len()).map(|node| node >= n_devices).collect();
        (Graph::new(&design.links, is_switch), n_devices)
    }

    /// The ports of a switch by definition: the next node is nearer to the destination.
    fn nearer(graph: &Graph, switch: usize, to: usize) -> Vec<PortId> {
        let distance = graph.distances(NodeId(to as u32));
        let leads = |peer: usize| (graph.is_switch[peer] || peer == to) && distance[peer] + 1 == distance[switch];
        let ports = graph.neighbours[switch].iter().filter(|(_, peer)| leads(peer.0 as usize));
        ports.map(|&(port, _)| port).collect()
    }

    #[test]
    fn routes_are_the_shortest_paths() {
        let topologies = [
            r#"{"name": "pair"}"#,
            r#"{"name": "star", "nodes": 5}"#,
            r#"{"name": "fat-tree", "levels": 2, "radix": 4, "nodes": 8}"#,
            r#"{"name": "fat-tree", "levels": 3, "radix": 4, "nodes": 16}"#,
            r#"{"name": "torus", "dimensions": [3, 4]}"#,
        ];
        for text in topologies {
            let (graph, n_devices) = graph(serde_json::from_str(text).unwrap());
            assert_eq!(graph.parted(), None, "{text}");
            let routes = graph.routes();
            for (switch, routes) in routes.iter().enumerate().skip(n_devices) {
                let routes = routes.as_ref().unwrap();
                for to in 0..n_devices {
                    assert_eq!(routes.ports(NodeId(to as u32)), nearer(&graph, switch, to), "{text}: {switch} to {to}");
                }
            }
        }
    }

    #[test]
    fn the_first_parted_pair_is_found() {
        // Nodes 0 and 1 at switch 4, nodes 2 and 3 at switch 5, and no link between the switches.
        let ports =
            [vec![(0, 4)], vec![(0, 4)], vec![(0, 5)], vec![(0, 5)], vec![(0, 0), (1, 1)], vec![(0, 2), (1, 3)]];
        let of = |list: &Vec<(u16, u32)>| list.iter().map(|&(port, peer)| (PortId(port), NodeId(peer))).collect();
        let is_switch = vec![false, false, false, false, true, true];
        let mut graph = Graph { neighbours: ports.iter().map(of).collect(), is_switch };
        assert_eq!(graph.parted(), Some((NodeId(2), NodeId(0))));
        graph.neighbours[4].push((PortId(2), NodeId(5)));
        graph.neighbours[5].push((PortId(2), NodeId(4)));
        assert_eq!(graph.parted(), None);
    }
}
