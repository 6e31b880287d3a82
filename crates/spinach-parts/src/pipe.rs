//! `pipe`: delays items by a number of cycles.
//!
//! Ports:   `input` (words or frames, receives), `output` (the same, sends).
//! Timing:  an item seen at edge k is sent at k + `cycles` if there is room; one item per cycle. While the output is
//!           full, items advance until every stage holds one.
//! Source:  thesis, table 3.1. Connections have a latency of their own; use a pipe for a delay in another clock, or
//!           for stages that buffer items while the output is full.

use blocks::checks;
use blocks::ethernet::Frame;
use blocks::interconnect::{Carries, Word};
use blocks::netlist::{Built, Module, OneWay, PortSpec, Site, Wire};
use kernel::{Activity, Component, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

/// Parameters of a [`Pipe`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PipeParams {
    /// Type of the items.
    pub carries: Carries,
    /// Number of stages, at least 1: cycles of its own clock from seeing an item to sending it.
    pub cycles: u32,
}

/// The ports of a [`Pipe`].
pub struct PipePorts<T> {
    /// Incoming items.
    pub input: Rx<T>,
    /// Delayed items.
    pub output: Tx<T>,
}

/// Delays items; each stage holds one.
pub struct Pipe<T> {
    cycles: u64,
    input: Rx<T>,
    output: Tx<T>,
    /// Items with the edges at which they may leave.
    stages: VecDeque<(Cycle, T)>,
}

impl<T> Pipe<T> {
    /// An empty pipe.
    pub fn new(params: PipeParams, ports: PipePorts<T>) -> Pipe<T> {
        let PipePorts { input, output } = ports;
        Pipe { cycles: u64::from(params.cycles), input, output, stages: VecDeque::new() }
    }
}

impl<T> Component for Pipe<T> {
    fn tick(&mut self, now: Cycle) -> Activity {
        let is_due = |stages: &VecDeque<(Cycle, T)>| stages.front().is_some_and(|&(leaves, _)| leaves <= now);
        if is_due(&self.stages) && self.output.has_room() {
            self.output.send(self.stages.pop_front().expect("an item is due").1);
        }
        if (self.stages.len() as u64) < self.cycles
            && let Some(item) = self.input.take()
        {
            self.stages.push_back((now + self.cycles, item));
        }
        let has_place = (self.stages.len() as u64) < self.cycles;
        match self.stages.front() {
            _ if has_place && self.input.has_item() => Activity::Busy,
            None => Activity::Idle,
            Some(&(leaves, _)) if leaves > now => Activity::Until(leaves),
            Some(_) if self.output.has_room() => Activity::Busy,
            Some(_) => Activity::Idle, // Room at the output wakes us.
        }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("input", &self.input);
        ports.output("output", &self.output);
    }
}

impl PipeParams {
    fn ports_of<T: Wire>() -> Vec<PortSpec> {
        vec![
            PortSpec::to::<OneWay<T>>("input").about("items in"),
            PortSpec::from::<OneWay<T>>("output").about("items out, delayed"),
        ]
    }

    fn build_of<T: Wire>(self, site: &mut Site) -> Built {
        let ports = PipePorts { input: site.to::<OneWay<T>>("input"), output: site.from::<OneWay<T>>("output") };
        Built::new(Pipe::new(self, ports))
    }
}

impl Module for PipeParams {
    const NAME: &'static str = "pipe";
    const ABOUT: &'static str = "Delays items by a number of cycles.";
    const EXAMPLE: &'static str = r#"carries = "frames"
cycles = 4"#;

    fn ports(&self) -> Vec<PortSpec> {
        match self.carries {
            Carries::Words => PipeParams::ports_of::<Word>(),
            Carries::Frames => PipeParams::ports_of::<Frame>(),
        }
    }

    fn check(&self) -> Result<(), String> {
        checks::within("cycles", self.cycles, 1, 4096)
    }

    fn build(self, site: &mut Site) -> Built {
        match self.carries {
            Carries::Words => self.build_of::<Word>(site),
            Carries::Frames => self.build_of::<Frame>(site),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{show_word, words};
    use expect_test::{Expect, expect};

    fn check(cycles: u32, items: &str, ready: Cycle, want: Expect) {
        want.assert_eq(&testkit::bench(100, |bench| {
            let input = words(bench, "in", items);
            let output = bench.output("out", 2, move |now| now >= ready, show_word);
            let params = PipeParams { carries: Carries::Words, cycles };
            bench.add("pipe", Pipe::new(params, PipePorts { input, output }));
        }));
    }

    #[test]
    fn an_item_passes_all_stages_and_one_leaves_each_cycle() {
        // The channel adds one cycle.
        check(
            3,
            "1:a 2:b 3:c 4:d 9:e",
            0,
            expect![[r#"
            5    out a
            6    out b
            7    out c
            8    out d
            13   out e
        "#]],
        );
        check(
            1,
            "1:a 2:b 3:c",
            0,
            expect![[r#"
            3    out a
            4    out b
            5    out c
        "#]],
        );
    }

    #[test]
    fn stages_buffer_items_while_the_output_is_full() {
        check(
            3,
            "1:a 2:b 3:c 4:d 5:e 6:f 7:0 8:1",
            20,
            expect![[r#"
            20   out a
            21   out b
            22   out c
            23   out d
            24   out e
            25   out f
            26   out 0
            27   out 1
        "#]],
        );
    }
}
