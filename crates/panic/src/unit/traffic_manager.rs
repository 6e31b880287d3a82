//! The traffic manager of a unit, with its local credits (4.4).

use crate::protocol::{CreditNote, Flit, Leg, PacketStep, n_flits};
use kernel::trace::{Counter, Level};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

/// Fixed properties of a [`TrafficManager`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrafficManagerParams {
    /// Maximum number of packets in the unit, equal to the scheduler's credits for it. 1 to 1024.
    pub credits: u32,
    /// Bytes of a flit, 8 to 256.
    pub flit_bytes: u32,
    /// Buffer for packets on their way back to the scheduler, in flits; at least one message of the longest packet.
    pub detour_flits: u32,
}

impl TrafficManagerParams {
    /// Checks the parameters for packets of up to `longest` bytes.
    pub fn check(&self, longest: usize) -> Result<(), String> {
        blocks::checks::within("credits", self.credits, 1, 1024)?;
        blocks::checks::within("flit_bytes", self.flit_bytes, 8, 256)?;
        let least = u32::try_from(n_flits(longest, self.flit_bytes as usize)).unwrap_or(u32::MAX);
        blocks::checks::within("detour_flits", self.detour_flits, least, 1 << 20)
    }
}

/// The ports of a [`TrafficManager`].
pub struct TrafficManagerWiring {
    /// From the interconnect.
    pub input: Rx<Flit>,
    /// To the interconnect.
    pub output: Tx<Flit>,
    /// To the interconnect: packets on their way back to the scheduler, in cycles in which `output` sends nothing.
    pub detours: Tx<Flit>,
    /// To the engine. Its capacity is the scratchpad's: one longest message per credit.
    pub to_engine: Tx<Flit>,
    /// From the engine.
    pub from_engine: Rx<Flit>,
    /// To the scheduler's credit manager, which reads notes at once; room for 3.
    pub notes: Tx<CreditNote>,
}

/// Accepts packets while the unit has fewer than its credits, sends the others back, and forwards the engine's output.
///
/// Timing:  a flit passes to the engine, from it, or back in the cycle of its arrival; one flit leaves per cycle. Detours go
///          first, between packets and while one is blocked. A cancel is sent with the accepted descriptor, a return with the
///          tail that leaves.
/// Source:  4.3.1, 4.4; RTL for the condition to accept a packet.
/// Differs: the RTL has one lane for all outgoing flits. Two units that push to each other can deadlock: each has a detour
///          behind a push that waits for the other's detour. Here detours have their own lane. The scheduler always accepts
///          packets, so detours always move, and so does everything else.
pub struct TrafficManager {
    params: TrafficManagerParams,
    wires: TrafficManagerWiring,
    /// Packets accepted that have not left.
    n_held: u32,
    held: Level,
    receiving: Receiving,
    /// True while a packet is being sent and its tail has not left.
    is_sending: bool,
    /// The cycle after the last run of flits that was sent.
    run_end: Cycle,
    /// Flits on their way back to the scheduler.
    detour: VecDeque<Flit>,
    taken: Counter,
    detours: Counter,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Receiving {
    Nothing,
    Packet,
    Detour,
}

impl TrafficManager {
    /// An empty traffic manager. The parameters must have passed their check.
    pub fn new(params: TrafficManagerParams, wires: TrafficManagerWiring) -> TrafficManager {
        TrafficManager {
            params,
            wires,
            n_held: 0,
            held: Level::default(),
            receiving: Receiving::Nothing,
            is_sending: false,
            run_end: 0,
            detour: VecDeque::new(),
            taken: Counter::default(),
            detours: Counter::default(),
        }
    }

    /// Takes a flit from the interconnect if possible, or a run of them. Returns true if there is more to do at the next edge.
    fn receive(&mut self, now: Cycle) -> bool {
        if !self.wires.input.is_due(now) {
            return false;
        }
        if self.receiving == Receiving::Nothing && !self.begin(now) {
            return false;
        }
        if self.receiving == Receiving::Packet {
            if !self.wires.to_engine.has_room() {
                return false;
            }
            if self.wires.input.has_run() {
                let n = self.wires.input.take_run(now, self.wires.to_engine.room_for_run());
                self.wires.to_engine.send_run(n, Flit::Body);
                return false; // `input` wakes the unit when the next flit can be taken.
            }
        }
        let mut flit = self.wires.input.take_due(now).expect("a flit must be there");
        let step = if self.receiving == Receiving::Packet { PacketStep::Taken } else { PacketStep::Refused };
        if let Flit::Head(message) = &mut flit {
            message.descriptor.trail.mark(now, step, message.to);
        }
        if self.receiving == Receiving::Packet {
            if flit == Flit::Tail {
                self.receiving = Receiving::Nothing;
            }
            self.wires.to_engine.send(flit);
            return true;
        }
        match &mut flit {
            Flit::Head(message) => {
                message.leg = Leg::Detour;
                message.to = message.descriptor.home;
                message.descriptor.detours += 1;
            }
            Flit::Body => {}
            Flit::Tail => self.receiving = Receiving::Nothing,
        }
        self.detour.push_back(flit);
        true
    }

    /// Accepts or refuses the next message and notifies the credit manager. Returns true if that was possible.
    fn begin(&mut self, now: Cycle) -> bool {
        let (leg, n_flits) = match self.wires.input.peek().as_deref() {
            Some(Flit::Head(message)) => (message.leg, n_flits(message.data.len(), self.params.flit_bytes as usize)),
            _ => panic!("a message must begin with its descriptor"),
        };
        assert!(matches!(leg, Leg::Paid | Leg::Pushed), "only the scheduler and units may send to units");
        if self.n_held < self.params.credits {
            if !self.wires.to_engine.has_room() {
                return false;
            }
            self.n_held += 1;
            self.held.set(now, self.n_held.into());
            self.taken.add(1);
            self.receiving = Receiving::Packet;
            if leg == Leg::Pushed {
                self.wires.notes.send(CreditNote::Cancel);
            }
            return true;
        }
        if self.detour.len() + n_flits > self.params.detour_flits as usize {
            return false; // An earlier detour still needs the buffer.
        }
        self.detours.add(1);
        self.receiving = Receiving::Detour;
        if leg == Leg::Paid {
            self.wires.notes.send(CreditNote::Return);
        }
        true
    }

    /// Sends a flit to the interconnect if possible, or a run of them. Returns the cycle of the next attempt, or `None` if a
    /// port must change first.
    fn send(&mut self, now: Cycle) -> Option<Cycle> {
        if self.run_end > now {
            return Some(self.run_end);
        }
        match self.is_sending {
            true => self.send_packet(now).or_else(|| self.send_back(now)),
            false => self.send_back(now).or_else(|| self.send_packet(now)),
        }
    }

    /// Sends a flit of a detour.
    fn send_back(&mut self, now: Cycle) -> Option<Cycle> {
        if self.detour.is_empty() || !self.wires.detours.has_room() {
            return None;
        }
        self.wires.detours.send(self.detour.pop_front().expect("a flit must be there"));
        Some(now + 1)
    }

    /// Sends a flit of the engine's output, or a run of them.
    fn send_packet(&mut self, now: Cycle) -> Option<Cycle> {
        if !self.wires.from_engine.is_due(now) || !self.wires.output.has_room() {
            return None;
        }
        if self.wires.from_engine.has_run() {
            let n = self.wires.from_engine.take_run(now, self.wires.output.room_for_run());
            self.wires.output.send_run(n, Flit::Body);
            self.run_end = now + n as Cycle;
            return Some(self.run_end);
        }
        let mut flit = self.wires.from_engine.take_due(now).expect("a flit must be there");
        match &mut flit {
            Flit::Head(message) => {
                self.is_sending = true;
                message.descriptor.trail.mark(now, PacketStep::Done, message.to);
                (message.to, message.leg) = match message.leg {
                    dropped @ Leg::Dropped(_) => (message.descriptor.exit, dropped),
                    _ => message.descriptor.advance(),
                };
            }
            Flit::Body => {}
            Flit::Tail => {
                self.is_sending = false;
                self.n_held -= 1;
                self.held.set(now, self.n_held.into());
                self.wires.notes.send(CreditNote::Return);
            }
        }
        self.wires.output.send(flit);
        Some(now + 1)
    }
}

impl Component for TrafficManager {
    fn tick(&mut self, now: Cycle) -> Activity {
        // A flit that leaves makes room for one that arrives in the same cycle, as with the RTL's credits.
        let next = self.send(now);
        match next {
            _ if self.receive(now) => Activity::Busy,
            Some(next) if next > now + 1 => Activity::Until(next),
            Some(_) => Activity::Busy,
            None => Activity::Idle,
        }
    }

    fn ports(&self, ports: &mut Ports) {
        let TrafficManagerWiring { input, output, detours, to_engine, from_engine, notes } = &self.wires;
        ports.input("in", input);
        ports.output("out", output);
        ports.output("detours", detours);
        ports.output("to_engine", to_engine);
        ports.input("from_engine", from_engine);
        ports.output("notes", notes);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("taken", self.taken.total());
        counters.add("detours", self.detours.total());
        let limit = "packets in the unit: its credits";
        counters.held("held_packet_cycles", &self.held, self.params.credits.into(), limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{flits, show};
    use crate::unit::{DelayUnit, DelayUnitParams, ServiceTime};
    use expect_test::{Expect, expect};
    use kernel::RandomStream;

    /// A unit with `credits` around a delay unit of 20 cycles. The interconnect accepts packets from cycle `ready` on and
    /// detours from `back_ready` on.
    fn check(credits: u32, input: &str, [ready, back_ready]: [Cycle; 2], want: Expect) {
        want.assert_eq(&testkit::bench(500, |bench| {
            let params = TrafficManagerParams { credits, flit_bytes: 64, detour_flits: 4 };
            let (to_engine, engine_in) = bench.channel("to engine", 25 * credits as usize, 1);
            let (engine_out, from_engine) = bench.channel("from engine", 2, 1);
            let note = |note: &CreditNote| format!("{note:?}");
            let wires = TrafficManagerWiring {
                input: bench.input("in", 8, flits(input)),
                output: bench.output("out", 2, move |now| now >= ready, show),
                detours: bench.output("back", 2, move |now| now >= back_ready, show),
                to_engine,
                from_engine,
                notes: bench.output("note", 3, |_| true, note),
            };
            let delay = DelayUnitParams {
                service: ServiceTime::Fixed { cycles: 20 },
                gap_cycles: 1,
                start_cycles: 0,
                grant_cycles: 0,
            };
            bench.add("engine", DelayUnit::new(delay, engine_in, engine_out, RandomStream::new(1, "engine")));
            bench.add("it", TrafficManager::new(params, wires));
        }));
    }

    #[test]
    fn a_packet_is_served_and_pushed_on_and_its_credit_returned() {
        check(
            1,
            "1 1 0 128 paid",
            [0, 0],
            expect![[r#"
            24   out #1 to 1 Exit
            25   out =
            26   note Return
            26   out |
        "#]],
        );
        check(
            1,
            "1 1 0>1 paid +6",
            [0, 0],
            expect![[r#"
            24   out #1 to 6 Pushed
            25   note Return
            25   out |
        "#]],
        );
        check(
            1,
            "1 1 0>1 pushed",
            [0, 0],
            expect![[r#"
            2    note Cancel
            24   out #1 to 0 Entry
            25   note Return
            25   out |
        "#]],
        );
    }

    #[test]
    fn a_unit_without_room_sends_packets_back() {
        check(
            1,
            "1 1 0 pushed; 3 2 0 pushed; 10 3 0 paid",
            [0, 0],
            expect![[r#"
                2    note Cancel
                5    back #2 to 0 Detour
                6    back |
                11   note Return
                12   back #3 to 0 Detour
                13   back |
                24   out #1 to 1 Exit
                25   note Return
                25   out |
            "#]],
        );
    }

    #[test]
    fn a_packet_that_leaves_makes_room_for_the_next() {
        // The tail of the first packet leaves in cycle 24.
        check(
            1,
            "1 1 0 paid; 23 2 0 paid",
            [0, 0],
            expect![[r#"
                24   note Return
                24   out #1 to 1 Exit
                25   note Return
                25   out |
                26   back #2 to 0 Detour
                27   back |
            "#]],
        );
        check(
            1,
            "1 1 0 paid; 24 2 0 paid",
            [0, 0],
            expect![[r#"
            24   out #1 to 1 Exit
            25   note Return
            25   out |
            47   out #2 to 1 Exit
            48   note Return
            48   out |
        "#]],
        );
    }

    #[test]
    fn detours_wait_for_the_interconnect() {
        check(
            1,
            "1 1 0 paid; 3 2 0 128 pushed; 6 3 0 128 pushed",
            [0, 100],
            expect![[r#"
                24   out #1 to 1 Exit
                25   note Return
                25   out |
                100  back #2 to 0 Detour
                101  back =
                102  back |
                103  back #3 to 0 Detour
                104  back =
                105  back |
            "#]],
        );
    }

    #[test]
    fn a_blocked_packet_does_not_block_detours() {
        check(
            1,
            "1 1 0 128 paid; 31 2 0 pushed",
            [100, 0],
            expect![[r#"
            33   back #2 to 0 Detour
            34   back |
            100  out #1 to 1 Exit
            101  out =
            102  note Return
            102  out |
        "#]],
        );
    }
}
