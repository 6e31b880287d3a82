//! The interconnect's switch: a crossbar that passes messages flit by flit (4.2).

use crate::protocol::{Flit, Leg, Message};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use smallvec::SmallVec;

/// A non-blocking crossbar with wormhole routing: a message that has an output keeps it until its tail has passed.
///
/// Ports:    `in[i]` and `out[i]`, a flit a cycle each; there may be more inputs than nodes, which are further lanes
///           of nodes that send on one at a time. The channels are its buffers, and their room its credits.
/// Timing:   0 cycles of its own, also for an output that was free; each channel adds its latency of at least 1.
/// Fairness: inputs whose next message is for an output take turns there.
/// Source:   4.2, 6; RTL for wormhole, one virtual channel and round robin.
/// Differs:  a message to a node that does not exist is dropped and counted.
pub struct Crossbar {
    inputs: Vec<Rx<Flit>>,
    outputs: Vec<Tx<Flit>>,
    /// By node: the output for what goes there, as [`lane`] tells them apart.
    table: Vec<[usize; 2]>,
    /// Outputs that share a flit a cycle; whose turn it is stands first.
    links: Vec<SmallVec<[usize; 2]>>,
    /// Where the message goes that each input is in the middle of.
    routes: Vec<Option<Route>>,
    /// How many inputs have a message for each output that does not pass yet.
    claims: Vec<usize>,
    /// The input whose message each output is in the middle of.
    owners: Vec<Option<usize>>,
    /// The input that each output looks at first in its next choice.
    turns: Vec<usize>,
    /// Flits that may pass in a cycle in all.
    limit: usize,
    /// The link that goes first when there are more flits than that.
    first: usize,
    flits: Vec<Counter>,
    unrouted: Counter,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Route {
    To(usize),
    Nowhere,
}

/// Of two lanes, that of a message: units may be slow to take theirs, on lane 0; who is at the other places always takes what comes,
/// on lane 1.
pub fn lane(message: &Message) -> usize {
    match message.leg {
        Leg::Paid | Leg::Pushed => 0,
        Leg::Entry | Leg::Detour | Leg::Exit | Leg::Dropped(_) => 1,
    }
}

impl Crossbar {
    /// A crossbar whose node i gets what goes to `outputs[i]`; there is at least one, and all inputs are alike.
    pub fn new(inputs: Vec<Rx<Flit>>, outputs: Vec<Tx<Flit>>) -> Crossbar {
        let n = outputs.len();
        Crossbar::with_routes(
            inputs,
            outputs,
            (0..n).map(|node| [node; 2]).collect(),
            (0..n).map(|to| [to].into_iter().collect()).collect(),
        )
    }

    /// A crossbar that sends what is for node i to `outputs[table[i]]` by its [`lane`]; of the outputs of a link one gets a flit a
    /// cycle, in turns if more than one could.
    pub fn with_routes(
        inputs: Vec<Rx<Flit>>,
        outputs: Vec<Tx<Flit>>,
        table: Vec<[usize; 2]>,
        links: Vec<SmallVec<[usize; 2]>>,
    ) -> Crossbar {
        let (n_inputs, n_outputs) = (inputs.len(), outputs.len());
        assert!(n_outputs > 0, "a crossbar has outputs");
        Crossbar {
            inputs,
            outputs,
            table,
            links,
            routes: vec![None; n_inputs],
            claims: vec![0; n_outputs],
            owners: vec![None; n_outputs],
            turns: vec![0; n_outputs],
            limit: usize::MAX,
            first: 0,
            flits: vec![Counter::default(); n_outputs],
            unrouted: Counter::default(),
        }
    }

    /// The same, of which no more than `limit` links get a flit in a cycle; they take turns.
    pub fn with_limit(self, limit: usize) -> Crossbar {
        Crossbar { limit, ..self }
    }

    /// Finds out where the next message of an input goes. Says whether a flit was thrown away.
    fn look(&mut self, now: Cycle, which: usize) -> bool {
        let input = &self.inputs[which];
        if !input.is_due(now) || matches!(self.routes[which], Some(Route::To(_))) {
            return false;
        }
        if self.routes[which].is_none() {
            let to = match input.peek().as_deref() {
                Some(Flit::Head(message)) => self.table.get(usize::from(message.to.0)).map(|to| to[lane(message)]),
                _ => panic!("a message begins with its descriptor"),
            };
            if let Some(to) = to {
                self.routes[which] = Some(Route::To(to));
                self.claims[to] += 1;
                return false;
            }
            self.routes[which] = Some(Route::Nowhere);
            self.unrouted.add(1);
        }
        if input.take() == Some(Flit::Tail) {
            self.routes[which] = None;
        }
        true
    }

    /// Passes a flit to an output, if there is one for it. Says whether there was.
    fn pass(&mut self, now: Cycle, to: usize) -> bool {
        let n = self.inputs.len();
        let from = match self.owners[to] {
            Some(owner) => owner,
            None if self.claims[to] == 0 => return false,
            None => {
                let mut in_turn = (self.turns[to]..n).chain(0..self.turns[to]);
                let winner = in_turn.find(|&i| self.routes[i] == Some(Route::To(to)));
                let winner = winner.expect("an input has claimed the output");
                self.claims[to] -= 1;
                self.owners[to] = Some(winner);
                self.turns[to] = (winner + 1) % n;
                winner
            }
        };
        if !self.inputs[from].is_due(now) || !self.outputs[to].has_room() {
            return false;
        }
        let flit = self.inputs[from].take().expect("a flit is there");
        if matches!(flit, Flit::Tail) {
            self.owners[to] = None;
            self.routes[from] = None;
        }
        self.outputs[to].send(flit);
        self.flits[to].add(1);
        true
    }

    /// Passes a flit over a link, if there is one for it.
    fn pass_over(&mut self, now: Cycle, link: usize) -> bool {
        if let [to] = self.links[link][..] {
            return self.pass(now, to);
        }
        for i in 0..self.links[link].len() {
            let to = self.links[link][i];
            if self.pass(now, to) {
                self.links[link].rotate_left(i + 1);
                return true;
            }
        }
        false
    }
}

impl Component for Crossbar {
    fn tick(&mut self, now: Cycle) -> Activity {
        let mut goes_on = false;
        for which in 0..self.inputs.len() {
            goes_on |= self.look(now, which);
        }
        let (n_links, first, mut passed) = (self.links.len(), self.first, 0);
        for link in (first..n_links).chain(0..first) {
            if passed < self.limit && self.pass_over(now, link) {
                passed += 1;
                self.first = if passed == self.limit { (link + 1) % n_links } else { first };
            }
        }
        // Whoever lost or is blocked waits for a flit that passes, or for room.
        if goes_on || passed > 0 { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.inputs("in", &self.inputs);
        ports.outputs("out", &self.outputs);
    }

    fn counters(&self, counters: &mut CounterList) {
        for (to, flits) in self.flits.iter().enumerate() {
            counters.add(&format!("flits[{to}]"), flits.total());
        }
        counters.add("unrouted", self.unrouted.total());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{flits, show};
    use expect_test::{Expect, expect};

    /// Three nodes, and what each sends; node 0 takes what comes from cycle `ready` on.
    fn check(inputs: [&str; 3], ready: Cycle, want: Expect) {
        want.assert_eq(&testkit::bench(200, |bench| {
            let input = |i: usize| bench.input(&format!("in{i}"), 4, flits(inputs[i]));
            let rxs = [0, 1, 2].map(input).into();
            let output = |i: usize| bench.output(&format!("out{i}"), 4, move |now| i > 0 || now >= ready, show);
            let txs = [0, 1, 2].map(output).into();
            bench.log_counters();
            bench.add("it", Crossbar::new(rxs, txs));
        }));
    }

    #[test]
    fn it_adds_no_cycle_and_all_pass_at_once() {
        check(
            ["1 1 0 128 @1", "1 2 0 @2", "1 3 0 @0"],
            0,
            expect![[r#"
            2    out0 #3 to 0 Entry
            2    out1 #1 to 1 Entry
            2    out2 #2 to 2 Entry
            3    out0 |
            3    out1 =
            3    out2 |
            4    out1 |
            it.flits[0] 2
            it.flits[1] 3
            it.flits[2] 2
        "#]],
        );
    }

    #[test]
    fn messages_for_one_output_stay_whole_and_inputs_take_turns() {
        check(
            ["", "1 1 0 128 @0; 2 2 0 @0", "1 3 0 @0; 2 4 0 @0"],
            0,
            expect![[r#"
            2    out0 #1 to 0 Entry
            3    out0 =
            4    out0 |
            5    out0 #3 to 0 Entry
            6    out0 |
            7    out0 #2 to 0 Entry
            8    out0 |
            9    out0 #4 to 0 Entry
            10   out0 |
            it.flits[0] 9
        "#]],
        );
    }

    #[test]
    fn a_blocked_message_holds_up_those_behind_it_and_no_others() {
        check(
            ["1 1 0 @2", "1 2 0 256 @0; 2 3 0 @2", "1 4 0 @1"],
            40,
            expect![[r#"
            2    out1 #4 to 1 Entry
            2    out2 #1 to 2 Entry
            3    out1 |
            3    out2 |
            40   out0 #2 to 0 Entry
            41   out0 =
            42   out0 =
            43   out0 =
            43   out2 #3 to 2 Entry
            44   out0 |
            44   out2 |
            it.flits[0] 5
            it.flits[1] 2
            it.flits[2] 4
        "#]],
        );
    }

    #[test]
    fn what_goes_nowhere_is_counted() {
        check(
            ["1 1 0 128 @3; 2 2 0 @1", "", ""],
            0,
            expect![[r#"
            5    out1 #2 to 1 Entry
            6    out1 |
            it.flits[1] 2
            it.unrouted 1
        "#]],
        );
    }
}
