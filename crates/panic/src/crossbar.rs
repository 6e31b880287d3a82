//! The crossbar of the interconnect: switches messages flit by flit (4.2).

use crate::protocol::{Flit, Leg, Message};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use smallvec::SmallVec;

/// A non-blocking crossbar with wormhole routing: a message that holds an output keeps it until its tail has passed.
///
/// Ports:    `in[i]` and `out[i]`, one flit a cycle each. There may be more inputs than nodes: a node can have several inputs
///           and sends on one of them at a time. The channels are the buffers, and their free space is the credit.
/// Timing:   adds 0 cycles, also for an output that was idle; each channel adds its latency of at least 1 cycle.
/// Fairness: round robin among the inputs whose next message goes to the same output.
/// Source:   4.2, 6; RTL for wormhole routing, one virtual channel and round robin.
/// Differs:  a message to a node that does not exist is dropped and counted.
pub struct Crossbar {
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    /// For each destination node, the output of each virtual channel; [`lane`] chooses between them.
    table: Vec<[usize; 2]>,
    /// Groups of outputs that share one flit a cycle; the group's next winner is first. Empty if nothing is shared.
    links: Vec<SmallVec<[usize; 2]>>,
    /// Maximum number of flits that pass in a cycle, over all links.
    limit: usize,
    /// Link served first when more flits than `limit` are ready.
    first: usize,
    unrouted: Counter,
}

struct Input {
    flits: Rx<Flit>,
    /// Route of the message that is passing.
    route: Option<Route>,
}

struct Output {
    flits: Tx<Flit>,
    /// Number of inputs whose next message waits for this output.
    claims: usize,
    /// Input whose message is passing.
    owner: Option<usize>,
    /// Input considered first in the next choice (round robin).
    turn: usize,
    /// Maximum number of flits that may pass as a run: one if outputs share the flits of a cycle.
    longest_run: usize,
    /// The cycle after the last run.
    run_end: Cycle,
    passed: Counter,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Route {
    To(usize),
    Nowhere,
}

/// The virtual channel of a message. Messages to units use channel 0, because a unit may be slow to accept them. All others use
/// channel 1: their receivers always accept.
pub fn lane(message: &Message) -> usize {
    match message.leg {
        Leg::Paid | Leg::Pushed => 0,
        Leg::Entry | Leg::Detour | Leg::Exit | Leg::Dropped(_) => 1,
    }
}

impl Crossbar {
    /// A crossbar that sends messages for node i to `outputs[i]`. There is at least one output.
    pub fn new(inputs: Vec<Rx<Flit>>, outputs: Vec<Tx<Flit>>) -> Crossbar {
        let n = outputs.len();
        Crossbar::with_routes(inputs, outputs, (0..n).map(|node| [node; 2]).collect(), Vec::new())
    }

    /// A crossbar that sends messages for node i to `outputs[table[i][lane]]`. The outputs of one link share one flit a cycle,
    /// in round robin.
    pub fn with_routes(
        inputs: Vec<Rx<Flit>>,
        outputs: Vec<Tx<Flit>>,
        table: Vec<[usize; 2]>,
        links: Vec<SmallVec<[usize; 2]>>,
    ) -> Crossbar {
        assert!(!outputs.is_empty(), "a crossbar needs an output");
        let longest_run = if links.is_empty() { usize::MAX } else { 1 };
        let output = |flits| Output {
            flits,
            claims: 0,
            owner: None,
            turn: 0,
            longest_run,
            run_end: 0,
            passed: Counter::default(),
        };
        Crossbar {
            inputs: inputs.into_iter().map(|flits| Input { flits, route: None }).collect(),
            outputs: outputs.into_iter().map(output).collect(),
            table,
            links,
            limit: usize::MAX,
            first: 0,
            unrouted: Counter::default(),
        }
    }

    /// Lets at most `limit` outputs pass a flit in a cycle; outputs take turns.
    pub fn with_limit(mut self, limit: usize) -> Crossbar {
        self.outputs.iter_mut().for_each(|output| output.longest_run = 1);
        let links = (0..self.outputs.len()).map(|to| [to].into_iter().collect()).collect();
        Crossbar { limit, links, ..self }
    }

    /// Passes a flit over a link, if one is ready. Returns true if it did.
    fn pass_over(&mut self, now: Cycle, link: usize) -> bool {
        if let [to] = self.links[link][..] {
            return self.outputs[to].pass(now, to, &mut self.inputs) > 0;
        }
        for i in 0..self.links[link].len() {
            let to = self.links[link][i];
            if self.outputs[to].pass(now, to, &mut self.inputs) > 0 {
                self.links[link].rotate_left(i + 1);
                return true;
            }
        }
        false
    }
}

impl Input {
    /// Routes the next message. Returns true if a flit was discarded.
    #[inline]
    fn look(&mut self, now: Cycle, table: &[[usize; 2]], outputs: &mut [Output], unrouted: &mut Counter) -> bool {
        if matches!(self.route, Some(Route::To(_))) || !self.flits.is_due(now) {
            return false;
        }
        if self.route.is_none() {
            let to = match self.flits.peek().as_deref() {
                Some(Flit::Head(message)) => table.get(usize::from(message.to.0)).map(|to| to[lane(message)]),
                _ => panic!("a message must begin with its descriptor"),
            };
            if let Some(to) = to {
                self.route = Some(Route::To(to));
                outputs[to].claims += 1;
                return false;
            }
            self.route = Some(Route::Nowhere);
            unrouted.add(1);
        }
        if self.flits.take_due(now) == Some(Flit::Tail) {
            self.route = None;
        }
        true
    }
}

impl Output {
    /// Passes a flit to this output, which has number `to`, if a flit is ready; or a run of flits that follow one a cycle.
    /// Returns the number of flits.
    #[inline]
    fn pass(&mut self, now: Cycle, to: usize, inputs: &mut [Input]) -> usize {
        let from = match self.owner {
            Some(owner) => owner,
            None if self.claims == 0 => return 0,
            None => self.choose(to, inputs),
        };
        let input = &mut inputs[from];
        if !input.flits.is_due(now) || !self.flits.has_room() {
            return 0;
        }
        if input.flits.has_run() {
            let n = input.flits.take_run(now, self.flits.room_for_run().min(self.longest_run));
            self.flits.send_run(n, Flit::Body);
            self.run_end = now + n as Cycle;
            self.passed.add(n as u64);
            return n;
        }
        let flit = input.flits.take_due(now).expect("a flit is there");
        if matches!(flit, Flit::Tail) {
            self.owner = None;
            input.route = None;
        }
        self.flits.send(flit);
        self.passed.add(1);
        1
    }

    /// Gives the output to one of the inputs that have claimed it, and returns that input.
    #[inline(never)]
    fn choose(&mut self, to: usize, inputs: &[Input]) -> usize {
        let n = inputs.len();
        let mut in_turn = (self.turn..n).chain(0..self.turn);
        let winner = in_turn.find(|&i| inputs[i].route == Some(Route::To(to)));
        let winner = winner.expect("an input must have claimed the output");
        self.claims -= 1;
        self.owner = Some(winner);
        self.turn = (winner + 1) % n;
        winner
    }
}

impl Component for Crossbar {
    fn tick(&mut self, now: Cycle) -> Activity {
        let mut is_active = false;
        let Crossbar { inputs, outputs, table, unrouted, .. } = self;
        for input in inputs.iter_mut() {
            is_active |= input.look(now, table, outputs, unrouted);
        }
        if self.links.is_empty() {
            for (to, output) in outputs.iter_mut().enumerate() {
                // The channels wake the crossbar at the end of a longer run.
                is_active |= output.pass(now, to, inputs) == 1;
            }
            return if is_active { Activity::Busy } else { Activity::Idle };
        }
        let (n_links, mut link, mut passed) = (self.links.len(), self.first, 0);
        for _ in 0..n_links {
            let next = if link + 1 == n_links { 0 } else { link + 1 };
            if self.pass_over(now, link) {
                passed += 1;
                if passed == self.limit {
                    self.first = next;
                    break;
                }
            }
            link = next;
        }
        // Inputs that lost or are blocked wait for a passing flit or for room.
        if is_active || passed > 0 { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        self.inputs.iter().enumerate().for_each(|(i, input)| ports.input(&format!("in[{i}]"), &input.flits));
        self.outputs.iter().enumerate().for_each(|(i, output)| ports.output(&format!("out[{i}]"), &output.flits));
    }

    fn counters(&self, counters: &mut CounterList) {
        for (to, output) in self.outputs.iter().enumerate() {
            let ahead = output.run_end.saturating_sub(counters.now() + 1);
            counters.busy(&format!("flits[{to}]"), output.passed.total() - ahead, 1, "one flit a cycle");
        }
        counters.add("unrouted", self.unrouted.total());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{flits, show};
    use expect_test::{Expect, expect};

    /// Three nodes and the messages that each sends; node 0 accepts flits from cycle `ready` on.
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
    fn it_adds_no_cycle_and_messages_to_different_outputs_pass_together() {
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
    fn messages_to_unknown_nodes_are_counted() {
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
