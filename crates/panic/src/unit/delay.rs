//! The delay unit: an engine that forwards packets after a service time (7.1).

use crate::protocol::{Flit, PacketStep};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, RandomStream, Rx, Tx};

/// Fixed properties of a [`DelayUnit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayUnitParams {
    /// Service time of a packet.
    pub service: ServiceTime,
    /// Cycles from a packet's tail until the next descriptor is read, 1 or more. About 2 in the RTL.
    pub gap_cycles: u32,
    /// Cycles from reading a descriptor until the service time begins. 1 in the RTL.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start_cycles: u32,
    /// Cycles from the end of a service time above 0 until the descriptor is sent, while the output is requested. A packet
    /// without service time requests the output earlier. 1 in the RTL.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub grant_cycles: u32,
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// Service time of a packet in a [`DelayUnit`], in addition to forwarding it at one flit a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ServiceTime {
    /// The same for every packet.
    Fixed {
        /// Cycles.
        cycles: u32,
    },
    /// Uniformly distributed.
    Uniform {
        /// Least number of cycles.
        least_cycles: u32,
        /// Greatest number of cycles.
        most_cycles: u32,
    },
    /// The metadata of the packet's hop, in cycles, as in the RTL.
    Listed {},
}

impl DelayUnitParams {
    /// Checks the parameters.
    pub fn check(&self) -> Result<(), String> {
        blocks::checks::within("gap_cycles", self.gap_cycles, 1, 1 << 20)?;
        blocks::checks::within("start_cycles", self.start_cycles, 0, 1 << 20)?;
        blocks::checks::within("grant_cycles", self.grant_cycles, 0, 1 << 20)?;
        match self.service {
            ServiceTime::Uniform { least_cycles, most_cycles } => {
                blocks::checks::within("service.least_cycles", least_cycles, 0, most_cycles)
            }
            _ => Ok(()),
        }
    }
}

/// Reads a descriptor, waits, then forwards the message; one packet at a time.
///
/// Timing: a descriptor read in cycle t is sent at t + `start_cycles` + service time, and `grant_cycles` later if the service
///         time is above 0. The packet follows at one flit a cycle as it arrives.
/// Source: 7.1; RTL.
pub struct DelayUnit {
    params: DelayUnitParams,
    input: Rx<Flit>,
    output: Tx<Flit>,
    stream: RandomStream,
    state: State,
    packets: Counter,
    service_cycles: Counter,
}

enum State {
    /// Reads a descriptor from this cycle on.
    Ready(Cycle),
    /// Sends this descriptor from this cycle on.
    Waits(Cycle, Flit),
    Forwards,
}

impl DelayUnit {
    /// A delay unit that draws service times from `stream`. The parameters must have passed their check.
    pub fn new(params: DelayUnitParams, input: Rx<Flit>, output: Tx<Flit>, stream: RandomStream) -> DelayUnit {
        params.check().unwrap_or_else(|error| panic!("the parameters must have passed their check: {error}"));
        let (packets, service_cycles) = Default::default();
        DelayUnit { params, input, output, stream, state: State::Ready(0), packets, service_cycles }
    }

    fn service(&mut self, flit: &Flit) -> u64 {
        let Flit::Head(message) = flit else { panic!("a message must begin with its descriptor") };
        match self.params.service {
            ServiceTime::Fixed { cycles } => cycles.into(),
            ServiceTime::Uniform { least_cycles, most_cycles } => {
                u64::from(least_cycles) + self.stream.below(u64::from(most_cycles - least_cycles) + 1)
            }
            ServiceTime::Listed {} => message.descriptor.hop().map_or(0, |hop| hop.metadata),
        }
    }
}

impl Component for DelayUnit {
    fn tick(&mut self, now: Cycle) -> Activity {
        if let State::Ready(from) = self.state {
            if from > now {
                return Activity::Until(from);
            }
            let Some(mut flit) = self.input.take_due(now) else { return Activity::Idle };
            let service = self.service(&flit);
            if let Flit::Head(message) = &mut flit {
                let trail = &mut message.descriptor.trail;
                trail.mark(now, PacketStep::Begun, message.to);
                trail.mark(now.saturating_add(service), PacketStep::Finished, message.to);
            }
            self.packets.add(1);
            self.service_cycles.add(service);
            let grant = if service > 0 { self.params.grant_cycles } else { 0 };
            let rest = Cycle::from(self.params.start_cycles) + Cycle::from(grant);
            self.state = State::Waits(now.saturating_add(service).saturating_add(rest), flit);
        }
        if let State::Waits(until, _) = self.state
            && until > now
        {
            return Activity::Until(until);
        }
        if !self.output.has_room() {
            return Activity::Idle;
        }
        let flit = match std::mem::replace(&mut self.state, State::Forwards) {
            State::Waits(_, descriptor) => descriptor,
            _ if !self.input.is_due(now) => return Activity::Idle,
            _ if self.input.has_run() => {
                let n = self.input.take_run(now, self.output.room_for_run());
                self.output.send_run(n, Flit::Body);
                return Activity::Idle; // `input` wakes the unit when the next flit can be taken.
            }
            _ => self.input.take_due(now).expect("a flit is there"),
        };
        if flit == Flit::Tail {
            self.state = State::Ready(now + Cycle::from(self.params.gap_cycles));
        }
        self.output.send(flit);
        Activity::Busy
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("in", &self.input);
        ports.output("out", &self.output);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("packets", self.packets.total());
        counters.busy("service_cycles", self.service_cycles.total(), 1, "one packet at a time");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{flits, show};
    use expect_test::{Expect, expect};

    fn check(service: ServiceTime, gap_cycles: u32, input: &str, want: Expect) {
        want.assert_eq(&testkit::bench(500, |bench| {
            let (input, output) = (bench.input("in", 8, flits(input)), bench.output("out", 2, |_| true, show));
            let params = DelayUnitParams { service, gap_cycles, start_cycles: 0, grant_cycles: 0 };
            bench.log_counters();
            bench.add("it", DelayUnit::new(params, input, output, RandomStream::new(1, "it")));
        }));
    }

    #[test]
    fn packets_are_served_one_at_a_time() {
        check(
            ServiceTime::Fixed { cycles: 10 },
            2,
            "1 1 0 128; 5 2 0",
            expect![[r#"
            12   out #1 to 0 Entry
            13   out =
            14   out |
            26   out #2 to 0 Entry
            27   out |
            it.packets 2
            it.service_cycles 20
        "#]],
        );
        check(
            ServiceTime::Fixed { cycles: 0 },
            1,
            "1 1 0; 1 2 0",
            expect![[r#"
            2    out #1 to 0 Entry
            3    out |
            4    out #2 to 0 Entry
            5    out |
            it.packets 2
        "#]],
        );
    }

    #[test]
    fn service_times_come_from_metadata_or_a_uniform_distribution() {
        check(
            ServiceTime::Listed {},
            1,
            "1 1 0 m20; 5 2 0 m1",
            expect![[r#"
            22   out #1 to 0 Entry
            23   out |
            25   out #2 to 0 Entry
            26   out |
            it.packets 2
            it.service_cycles 21
        "#]],
        );
        check(
            ServiceTime::Uniform { least_cycles: 30, most_cycles: 32 },
            1,
            "1 1 0; 1 2 0; 1 3 0",
            expect![[r#"
            34   out #1 to 0 Entry
            35   out |
            67   out #2 to 0 Entry
            68   out |
            100  out #3 to 0 Entry
            101  out |
            it.packets 3
            it.service_cycles 94
        "#]],
        );
    }

    #[test]
    fn reversed_bounds_are_an_error() {
        let service = ServiceTime::Uniform { least_cycles: 3, most_cycles: 2 };
        let found = DelayUnitParams { service, gap_cycles: 1, start_cycles: 0, grant_cycles: 0 }.check();
        expect![[r#"Err("service.least_cycles is 3, must be 0 to 2")"#]].assert_eq(&format!("{found:?}"));
    }
}
