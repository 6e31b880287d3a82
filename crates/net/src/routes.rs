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

    /// The routes of all switches to all other nodes; `None` for the other nodes.
    pub fn routes(&self) -> Vec<Option<Arc<SwitchRoutes>>> {
        let n = self.neighbours.len();
        let switches: Vec<usize> = (0..n).filter(|&node| self.is_switch[node]).collect();
        let mut ports: Vec<Vec<Vec<PortId>>> = vec![Vec::with_capacity(n); switches.len()];
        for to in 0..n {
            if self.is_switch[to] {
                ports.iter_mut().for_each(|ports| ports.push(Vec::new()));
                continue;
            }
            let distance = self.distances(NodeId(to as u32));
            for (&switch, ports) in switches.iter().zip(&mut ports) {
                let is_next = |&&(_, peer): &&(PortId, NodeId)| {
                    let peer = peer.0 as usize;
                    let passes = self.is_switch[peer] || peer == to;
                    passes && distance[peer] != u32::MAX && distance[peer] + 1 == distance[switch]
                };
                ports.push(self.neighbours[switch].iter().filter(is_next).map(|&(port, _)| port).collect());
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
