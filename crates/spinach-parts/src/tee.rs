//! `tee`: copies each item to several outputs.
//!
//! Ports:   `input` (words or frames, receives), `outputs[i]` (the same, sends).
//! Timing:  0 cycles of its own; one item per cycle. An item waits until every output has room.
//! Source:  thesis, table 3.1.

use blocks::checks;
use blocks::ethernet::Frame;
use blocks::interconnect::{Carries, Word};
use blocks::netlist::{Built, Module, OneWay, PortSpec, Site, Wire};
use kernel::{Activity, Component, Cycle, Ports, Rx, Tx};

/// Parameters of a [`Tee`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TeeParams {
    /// Type of the items.
    pub carries: Carries,
    /// Number of outputs, 1 to 64.
    pub outputs: usize,
}

/// The ports of a [`Tee`].
pub struct TeePorts<T> {
    /// Incoming items.
    pub input: Rx<T>,
    /// Receivers of every item.
    pub outputs: Vec<Tx<T>>,
}

/// Copies each item to all outputs.
pub struct Tee<T> {
    input: Rx<T>,
    outputs: Vec<Tx<T>>,
}

impl<T> Tee<T> {
    /// A tee with these ports.
    pub fn new(ports: TeePorts<T>) -> Tee<T> {
        let TeePorts { input, outputs } = ports;
        Tee { input, outputs }
    }
}

impl<T: Clone> Component for Tee<T> {
    fn tick(&mut self, _now: Cycle) -> Activity {
        if !self.input.has_item() || !self.outputs.iter().all(Tx::has_room) {
            return Activity::Idle; // An item or room wakes us.
        }
        let item = self.input.take().expect("an item is there");
        self.outputs.iter().for_each(|output| output.send(item.clone()));
        if self.input.has_item() { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("input", &self.input);
        ports.outputs("outputs", &self.outputs);
    }
}

impl TeeParams {
    fn ports_of<T: Wire>(&self) -> Vec<PortSpec> {
        let outputs =
            (0..self.outputs).map(|i| PortSpec::from::<OneWay<T>>(format!("outputs[{i}]")).about("every item"));
        [PortSpec::to::<OneWay<T>>("input").about("items in")].into_iter().chain(outputs).collect()
    }

    fn build_of<T: Wire + Clone>(&self, site: &mut Site) -> Built {
        Built::new(Tee::new(TeePorts {
            input: site.to::<OneWay<T>>("input"),
            outputs: (0..self.outputs).map(|i| site.from::<OneWay<T>>(&format!("outputs[{i}]"))).collect(),
        }))
    }
}

impl Module for TeeParams {
    const NAME: &'static str = "tee";
    const ABOUT: &'static str = "Copies each item to all of its outputs.";
    const EXAMPLE: &'static str = r#"carries = "words"
outputs = 2"#;

    fn ports(&self) -> Vec<PortSpec> {
        match self.carries {
            Carries::Words => self.ports_of::<Word>(),
            Carries::Frames => self.ports_of::<Frame>(),
        }
    }

    fn check(&self) -> Result<(), String> {
        checks::within("outputs", self.outputs, 1, 64)
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
    use expect_test::expect;

    #[test]
    fn every_output_gets_every_item() {
        let log = testkit::bench(100, |bench| {
            let input = words(bench, "input", "1:a 1:b 2:c 9:d");
            let outputs = vec![
                bench.output("first", 2, |_| true, show_word),
                bench.output("second", 2, |now| now >= 6, show_word),
            ];
            bench.add("tee", Tee::new(TeePorts { input, outputs }));
        });
        expect![[r#"
            2    first a
            3    first b
            6    second a
            7    second b
            8    first c
            8    second c
            10   first d
            10   second d
        "#]]
        .assert_eq(&log);
    }
}
