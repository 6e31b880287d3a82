//! Distributes nodes and switches over processes and threads. No result depends on it.
//!
//! Nodes with neighbouring numbers stay together: in a tree, a torus and a dragonfly they are close to each other. Each part gets about
//! equal shares of the expected work. A switch goes to the part with most of its neighbours; if several parts have as many, to the one with
//! the least work.

use super::setup::Setup;
use crate::ranks::Ranks;
use net::error::NetError;
use net::link::Link;

// assumed: host time per frame, relative to a plain NIC; a PsPIN simulates several parts for some hundred cycles per packet
const PLAIN: u64 = 1;
const CARD: u64 = 20;
const SWITCH_PORT: u64 = 1;

/// The process and the thread of each node and switch.
pub struct Places {
    /// The process; none if there is only one.
    pub ranks: Option<Vec<u32>>,
    /// The thread within that process.
    pub threads: Vec<u32>,
    /// Number of threads of this process.
    pub n_threads: usize,
}

/// Work to distribute: expected cost, and the part that the user chose.
struct Item {
    node: usize,
    cost: u64,
    pinned: Option<u32>,
}

/// Distributes the nodes and switches of a network. `threads` is the wanted number; 0 means one for each core.
pub fn place(setup: &Setup, threads: usize, ranks: Option<&Ranks>) -> Result<Places, NetError> {
    let n = setup.design.nodes.len();
    let all: Vec<usize> = (0..n).collect();
    let entry = |node: usize| setup.nodes.get(node).and_then(|node| Some(&setup.experiment.nodes[node.entry?]));
    let (me, n_ranks) = ranks.map_or((0, 1), |ranks| (ranks.0.rank(), ranks.0.n_ranks()));
    if n_ranks as usize > n {
        let allowed = format!("at most {n}, the number of nodes and switches");
        return Err(NetError::Plan { key: "number of processes".into(), found: n_ranks.to_string(), allowed });
    }
    let ranks = parts(setup, &all, n_ranks, "rank", "number of processes", |node| entry(node)?.rank)?;
    let here: Vec<usize> = all.into_iter().filter(|&node| ranks[node] == me).collect();
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    // Several processes on one machine would share its cores: each gets one thread, unless the user wants more.
    let wanted = match threads {
        0 if n_ranks > 1 => 1,
        0 => cores(),
        threads => threads,
    };
    let n_threads = wanted.clamp(1, here.len().max(1));
    let threads = parts(setup, &here, n_threads as u32, "thread", "number of threads", |node| entry(node)?.thread)?;
    Ok(Places { ranks: (n_ranks > 1).then_some(ranks), threads, n_threads })
}

/// The part of each node and switch of `nodes`; 0 for others.
fn parts(
    setup: &Setup,
    nodes: &[usize],
    n_parts: u32,
    key: &str,
    number: &str,
    pinned: impl Fn(usize) -> Option<u32>,
) -> Result<Vec<u32>, NetError> {
    let links = &setup.design.links;
    let n_nodes = setup.nodes.len();
    let item = |&node: &usize| {
        let cost = setup.nodes.get(node).map_or(0, |node| if node.kind.is_some() { CARD } else { PLAIN });
        Item { node, cost, pinned: pinned(node) }
    };
    let items: Vec<Item> = nodes.iter().filter(|&&node| node < n_nodes).map(item).collect();
    if let Some(item) = items.iter().find(|item| item.pinned.is_some_and(|part| part >= n_parts)) {
        let key = format!("{key} of node `{}`", setup.nodes[item.node].name);
        let found = item.pinned.unwrap_or(0).to_string();
        return Err(NetError::Plan { key, found, allowed: format!("below {n_parts}, the {number}") });
    }
    let mut part_of = vec![0; setup.design.nodes.len()];
    let mut load = vec![0u64; n_parts as usize];
    for item in &items {
        if let Some(part) = item.pinned {
            part_of[item.node] = part;
            load[part as usize] += item.cost;
        }
    }
    let mut left: u64 = items.iter().filter(|item| item.pinned.is_none()).map(|item| item.cost).sum();
    let mut part = 0;
    for item in items.iter().filter(|item| item.pinned.is_none()) {
        // The parts from this one on get equal shares of the remaining work.
        let behind = &load[part + 1..];
        let share = (left + load[part] + behind.iter().sum::<u64>()).div_ceil(behind.len() as u64 + 1);
        if load[part] + item.cost.div_ceil(2) > share && part + 1 < load.len() {
            part += 1;
        }
        part_of[item.node] = part as u32;
        load[part] += item.cost;
        left -= item.cost;
    }
    let switches: Vec<usize> = nodes.iter().copied().filter(|&node| node >= n_nodes).collect();
    place_switches(&switches, nodes, links, &mut part_of, &mut load, n_nodes);
    Ok(part_of)
}

/// Places switches level by level: first those with links to nodes.
fn place_switches(
    switches: &[usize],
    nodes: &[usize],
    links: &[Link],
    part_of: &mut [u32],
    load: &mut [u64],
    n_nodes: usize,
) {
    let mut is_placed = vec![false; part_of.len()];
    nodes.iter().filter(|&&node| node < n_nodes).for_each(|&node| is_placed[node] = true);
    let mut neighbours = vec![Vec::new(); part_of.len()];
    for link in links {
        let [one, other] = link.ends.map(|(node, _)| node.0 as usize);
        neighbours[one].push(other);
        neighbours[other].push(one);
    }
    let mut waiting = switches.to_vec();
    while !waiting.is_empty() {
        // Switches with a placed neighbour come next. If no switch has one, all remaining switches do.
        let is_next = |switch: &usize| neighbours[*switch].iter().any(|&peer| is_placed[peer]);
        let (mut next, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(is_next);
        waiting = later;
        if next.is_empty() {
            next = std::mem::take(&mut waiting);
        }
        for &switch in &next {
            let mut votes = vec![0u32; load.len()];
            neighbours[switch].iter().filter(|&&peer| is_placed[peer]).for_each(|&peer| {
                votes[part_of[peer] as usize] += 1;
            });
            let best = (0..load.len()).max_by_key(|&part| (votes[part], std::cmp::Reverse((load[part], part))));
            part_of[switch] = best.unwrap_or(0) as u32;
            load[best.unwrap_or(0)] += SWITCH_PORT * neighbours[switch].len() as u64;
        }
        next.iter().for_each(|&switch| is_placed[switch] = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Text;
    use crate::toml_text::Format;
    use expect_test::{Expect, expect};
    use std::path::Path;

    /// The parts by name of the node or switch.
    fn check(text: &str, threads: usize, want: Expect) {
        let text = Text { text, file: "net.toml", base_dir: Path::new("."), format: Format::Toml };
        let setup = Setup::read(&text).unwrap();
        let shown = match place(&setup, threads, None) {
            Ok(places) => {
                let named = setup.design.nodes.iter().zip(&places.threads);
                named.map(|(node, thread)| format!("{}={thread}", node.name)).collect::<Vec<_>>().join(" ")
            }
            Err(error) => error.to_string(),
        };
        want.assert_eq(&shown);
    }

    #[test]
    fn neighbours_stay_together_and_work_is_shared() {
        let tree = "topology = { name = 'fat-tree', levels = 2, radix = 4 }";
        check(
            tree,
            2,
            expect!["n0=0 n1=0 n2=0 n3=0 n4=1 n5=1 n6=1 n7=1 leaf0=0 leaf1=0 leaf2=1 leaf3=1 spine0=0 spine1=1"],
        );
        // A card is as much work as 20 plain NICs.
        check(
            "topology = { name = 'star', nodes = 6 }\nnodes = [{ name = 'n0', nic = 'panic', \
             service = ['w: delay, cycles=20'], chain = ['all: w'] }]",
            2,
            expect!["n0=0 n1=1 n2=1 n3=1 n4=1 n5=1 sw0=1"],
        );
        check("topology = { name = 'star', nodes = 3 }", 8, expect!["n0=0 n1=1 n2=2 sw0=0"]);
    }

    #[test]
    fn users_place_nodes_themselves() {
        let star = "topology = { name = 'star', nodes = 4 }\nnodes = [{ name = 'n0', thread = 1 }]";
        check(star, 2, expect!["n0=1 n1=0 n2=0 n3=1 sw0=0"]);
        check(star, 1, expect!["network: thread of node `n0` is 1, must be below 1, the number of threads"]);
    }
}
