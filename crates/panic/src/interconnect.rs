//! The interconnect between the nodes: one crossbar, or a flattened butterfly of routers for larger systems (4.2).

use crate::crossbar::Crossbar;
use crate::protocol::{Flit, NodeId};
use blocks::checks;
use kernel::{ClockId, Rx, SystemBuilder, Tx};
use smallvec::SmallVec;

/// Topology of the interconnect: `{ kind = "crossbar" }`, or
/// `{ kind = "flattened-butterfly", concentration = 4, columns = 4, rows = 4, link_flits = 8, link_cycles = 2 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Topology {
    /// One crossbar joins all nodes.
    Crossbar {},
    /// Routers in rows and columns, each joined to all others of its row and of its column.
    FlattenedButterfly(FlattenedButterfly),
}

impl Default for Topology {
    fn default() -> Self {
        Topology::Crossbar {}
    }
}

/// Routers in rows and columns, each joined to all others of its row and of its column: at most one hop per dimension.
///
/// Routing: minimal, first along the row, then along the column; a message keeps its channel until its tail has passed.
/// Deadlock: row channels wait only for column channels, and these only for nodes. Messages to units have virtual channels of
///           their own, because a unit may be slow to accept them. They cannot block detours, and the scheduler always accepts
///           detours, so a unit eventually accepts or refuses every message.
/// Source:   4.2; Kim, Dally, Abts, Flattened Butterfly, ISCA 2007: concentration, one router for each point of the grid,
///           minimal dimension-order routing. assumed: two virtual channels share a link, which passes one flit a cycle in
///           round robin.
/// Differs:  the paper's global adaptive routing over detours of two hops per dimension is missing. A router may read both
///           virtual channels of a link in one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlattenedButterfly {
    /// Nodes at each router. Nodes are assigned in order: the first ones belong to the first router.
    pub concentration: u32,
    /// Routers in a row.
    pub columns: u32,
    /// Rows.
    pub rows: u32,
    /// Buffer of a channel between two routers, in flits; each link has two channels.
    pub link_flits: u32,
    /// Latency of a link between two routers.
    pub link_cycles: u32,
}

impl Topology {
    /// Checks the topology. The error begins with the key.
    pub fn check(&self) -> Result<(), String> {
        let Topology::FlattenedButterfly(params) = self else { return Ok(()) };
        checks::within("concentration", params.concentration, 1, 64)?;
        checks::within("columns", params.columns, 1, 16)?;
        checks::within("rows", params.rows, 1, 16)?;
        checks::within("link_flits", params.link_flits, 1, 65536)?;
        checks::within("link_cycles", params.link_cycles, 1, 1024)
    }

    /// The largest number of nodes it can join.
    pub fn most_nodes(&self) -> usize {
        match self {
            Topology::Crossbar {} => 256,
            Topology::FlattenedButterfly(params) => params.concentration as usize * params.n_routers(),
        }
    }

    /// Wires the interconnect: `inputs` come from these nodes, `outputs` go to each node. It must have passed its check and
    /// have room for all nodes.
    pub fn add(
        &self,
        system: &mut SystemBuilder,
        clock: ClockId,
        inputs: Vec<(NodeId, Rx<Flit>)>,
        outputs: Vec<Tx<Flit>>,
    ) {
        assert!(outputs.len() <= self.most_nodes(), "the topology must have room for each node");
        match self {
            Topology::Crossbar {} => {
                let inputs = inputs.into_iter().map(|(_, input)| input).collect();
                system.add("interconnect", clock, Crossbar::new(inputs, outputs));
            }
            Topology::FlattenedButterfly(params) => params.add(system, clock, inputs, outputs),
        }
    }
}

/// A router during wiring.
#[derive(Default)]
struct Router {
    inputs: Vec<Rx<Flit>>,
    outputs: Vec<Tx<Flit>>,
    links: Vec<SmallVec<[usize; 2]>>,
}

impl FlattenedButterfly {
    fn n_routers(&self) -> usize {
        (self.columns * self.rows) as usize
    }

    fn router_of(&self, node: usize) -> usize {
        node / self.concentration as usize
    }

    /// The next router on the way from `at` to `to`.
    fn next(&self, at: usize, to: usize) -> usize {
        let columns = self.columns as usize;
        if at % columns != to % columns { at - at % columns + to % columns } else { to }
    }

    /// Returns true if a link joins the two routers.
    fn are_joined(&self, one: usize, other: usize) -> bool {
        one != other && self.next(one, other) == other
    }

    fn add(&self, system: &mut SystemBuilder, clock: ClockId, inputs: Vec<(NodeId, Rx<Flit>)>, outputs: Vec<Tx<Flit>>) {
        let (n_nodes, n_routers) = (outputs.len(), self.n_routers());
        let mut routers: Vec<Router> = (0..n_routers).map(|_| Router::default()).collect();
        // For each router: its first output to each of its nodes, and to each neighbor.
        let mut to_node = vec![0; n_nodes];
        let mut to_router = vec![vec![0; n_routers]; n_routers];
        for (node, input) in inputs {
            routers[self.router_of(node.0.into())].inputs.push(input);
        }
        for (node, output) in outputs.into_iter().enumerate() {
            let router = &mut routers[self.router_of(node)];
            to_node[node] = router.outputs.len();
            router.links.push([router.outputs.len()].into_iter().collect());
            router.outputs.push(output);
        }
        let pairs = (0..n_routers).flat_map(|from| (0..n_routers).map(move |to| (from, to)));
        for (from, to) in pairs.filter(|&(from, to)| self.are_joined(from, to)) {
            let first = routers[from].outputs.len();
            to_router[from][to] = first;
            routers[from].links.push([first, first + 1].into_iter().collect());
            for lane in 0..2 {
                let name = format!("router {from} to {to}, lane {lane}");
                let (output, input) = system.channel(&name, self.link_flits as usize, self.link_cycles.into());
                routers[from].outputs.push(output);
                routers[to].inputs.push(input);
            }
        }
        for (at, Router { inputs, outputs, links }) in routers.into_iter().enumerate() {
            let route = |node: usize| match self.router_of(node) {
                here if here == at => [to_node[node]; 2],
                there => [0, 1].map(|lane| to_router[at][self.next(at, there)] + lane),
            };
            let table = (0..n_nodes).map(route).collect();
            let path = format!("interconnect.router[{at}]");
            system.add(&path, clock, Crossbar::with_routes(inputs, outputs, table, links));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{flits, show};
    use expect_test::{Expect, expect};
    use kernel::Cycle;

    /// Two rows of two routers with two nodes each, and the messages they send; node 7 accepts flits from cycle `ready` on.
    fn check(inputs: &[(u8, &str)], ready: Cycle, want: Expect) {
        let params = FlattenedButterfly { concentration: 2, columns: 2, rows: 2, link_flits: 4, link_cycles: 3 };
        want.assert_eq(&testkit::bench(300, |bench| {
            let input = |&(node, text): &(u8, &str)| (NodeId(node), bench.input(&format!("in{node}"), 4, flits(text)));
            let inputs: Vec<_> = inputs.iter().map(input).collect();
            let output = |i: usize| bench.output(&format!("out{i}"), 4, move |now| i != 7 || now >= ready, show);
            let outputs = (0..8).map(output).collect();
            let clock = bench.clock();
            Topology::FlattenedButterfly(params).add(bench.system(), clock, inputs, outputs);
        }));
    }

    #[test]
    fn a_message_takes_one_hop_per_dimension() {
        // From router 0: to itself, along the row, along the column, and along both.
        check(
            &[(0, "1 1 0 @1; 20 2 0 @2; 40 3 0 @4; 60 4 0 128 @7")],
            0,
            expect![[r#"
            2    out1 #1 to 1 Entry
            3    out1 |
            24   out2 #2 to 2 Entry
            25   out2 |
            44   out4 #3 to 4 Entry
            45   out4 |
            67   out7 #4 to 7 Entry
            68   out7 =
            69   out7 |
        "#]],
        );
    }

    #[test]
    fn messages_to_a_slow_unit_do_not_block_detours() {
        // Both go from router 0 over router 1 to router 3; node 7 accepts nothing before cycle 100.
        check(
            &[(0, "1 1 0 512 @7 paid; 20 2 0 @7 paid"), (1, "10 3 0 128 @6 detour")],
            100,
            expect![[r#"
            17   out6 #3 to 6 Detour
            18   out6 =
            19   out6 |
            100  out7 #1 to 7
            101  out7 =
            102  out7 =
            103  out7 =
            104  out7 =
            105  out7 =
            106  out7 =
            107  out7 =
            108  out7 |
            109  out7 #2 to 7
            110  out7 |
        "#]],
        );
    }

    #[test]
    fn lanes_of_a_link_take_turns() {
        check(
            &[(0, "1 1 0 256 @3 paid"), (1, "1 2 0 256 @2")],
            0,
            expect![[r#"
            5    out3 #1 to 3
            6    out2 #2 to 2 Entry
            7    out3 =
            8    out2 =
            9    out3 =
            10   out2 =
            11   out3 =
            12   out2 =
            13   out3 |
            14   out2 |
        "#]],
        );
    }
}
