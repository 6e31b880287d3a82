//! `mips-decoder`: decodes MIPS instructions into control signals.
//!
//! Ports:   `instruction` (instructions, receives), `controls` (mips-controls, sends); `operation`, `immediate`
//!           (words, send, optional): for an instruction of class `alu`, its word for an `alu`, and its immediate.
//! Timing:  0 cycles of its own, one instruction per cycle; an instruction waits until every output has room.
//! Errors:  an illegal instruction, or a word that could not be fetched, is marked, forwarded and counted.
//! Source:  thesis, table 3.4: data-stationary control signals for the following stages.

use crate::{Controls, Fetched};
use blocks::interconnect::Word;
use blocks::netlist::{Built, Module, OneWay, PortSpec, Site};
use isa::mips::Class;
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};

/// Parameters of a [`Decoder`]: none.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecoderParams {}

/// The ports of a [`Decoder`].
pub struct DecoderPorts {
    /// Fetched instructions.
    pub instruction: Rx<Fetched>,
    /// Decoded instructions.
    pub controls: Tx<Controls>,
    /// The words of instructions of class `alu`.
    pub operation: Option<Tx<Word>>,
    /// Their immediates.
    pub immediate: Option<Tx<Word>>,
}

/// Decodes instructions.
pub struct Decoder {
    instruction: Rx<Fetched>,
    controls: Tx<Controls>,
    operation: Option<Tx<Word>>,
    immediate: Option<Tx<Word>>,
    decoded: Counter,
    illegal: Counter,
}

impl Decoder {
    /// A decoder with these ports.
    pub fn new(ports: DecoderPorts) -> Decoder {
        let DecoderPorts { instruction, controls, operation, immediate } = ports;
        let (decoded, illegal) = (Counter::default(), Counter::default());
        Decoder { instruction, controls, operation, immediate, decoded, illegal }
    }
}

impl Component for Decoder {
    fn tick(&mut self, _now: Cycle) -> Activity {
        let has_room = |port: &Option<Tx<Word>>| port.as_ref().is_none_or(Tx::has_room);
        let is_free = self.controls.has_room() && has_room(&self.operation) && has_room(&self.immediate);
        if !self.instruction.has_item() || !is_free {
            return Activity::Idle; // An item or room wakes us.
        }
        let fetched = self.instruction.take().expect("an instruction is there");
        let controls = Controls::of(fetched);
        if let (Class::Alu, Ok(inst), Ok(word)) = (controls.class(), controls.inst, fetched.word) {
            let send = |port: &Option<Tx<Word>>, word: u32| port.iter().for_each(|port| port.send(Word(word.into())));
            send(&self.operation, word);
            send(&self.immediate, inst.imm as u32);
        }
        self.decoded.add(1);
        self.illegal.add(u64::from(controls.class() == Class::Illegal));
        self.controls.send(controls);
        if self.instruction.has_item() { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("instruction", &self.instruction);
        ports.output("controls", &self.controls);
        self.operation.iter().for_each(|port| ports.output("operation", port));
        self.immediate.iter().for_each(|port| ports.output("immediate", port));
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("decoded", self.decoded.total());
        counters.add("illegal", self.illegal.total());
    }
}

impl Module for DecoderParams {
    const NAME: &'static str = "mips-decoder";
    const ABOUT: &'static str = "Decodes MIPS instructions into control signals.";

    fn ports(&self) -> Vec<PortSpec> {
        vec![
            PortSpec::to::<OneWay<Fetched>>("instruction").about("fetched instructions"),
            PortSpec::from::<OneWay<Controls>>("controls").about("decoded instructions"),
            PortSpec::from::<OneWay<Word>>("operation").about("words of class alu").optional(),
            PortSpec::from::<OneWay<Word>>("immediate").about("their immediates").optional(),
        ]
    }

    fn build(self, site: &mut Site) -> Built {
        Built::new(Decoder::new(DecoderPorts {
            instruction: site.to::<OneWay<Fetched>>("instruction"),
            controls: site.from::<OneWay<Controls>>("controls"),
            operation: site.try_from::<OneWay<Word>>("operation"),
            immediate: site.try_from::<OneWay<Word>>("immediate"),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::show_word;
    use blocks::bus::BusError;
    use expect_test::expect;

    #[test]
    fn an_instruction_is_decoded_into_its_controls() {
        let log = testkit::bench(100, |bench| {
            // lw v1, 96(t0); pri v0, v1, s4; addiu sp, sp, -24; an illegal word; a fetch error
            let words = [Ok(0x8d03_0060), Ok(0x0074_100b), Ok(0x27bd_ffe8), Ok(u32::MAX), Err(BusError::Nowhere(0x10))];
            let fetched = (0..).zip(words).map(|(i, word)| (1 + u64::from(i), Fetched { pc: 4 * i, word })).collect();
            let instruction = bench.input("in", 2, fetched);
            let show = |controls: &Controls| {
                let name = controls.inst.map_or_else(|error| error.to_string(), |inst| format!("{:?}", inst.op));
                let Controls { pc, reads, writes, .. } = controls;
                format!("{pc:x} {name} {} reads {reads:x} writes {writes}", controls.class().name())
            };
            let controls = bench.output("controls", 2, |_| true, show);
            let operation = Some(bench.output("operation", 2, |_| true, show_word));
            let immediate = Some(bench.output("immediate", 2, |_| true, show_word));
            bench.add("decoder", Decoder::new(DecoderPorts { instruction, controls, operation, immediate }));
            bench.log_counters();
        });
        expect![[r#"
            2    controls 0 Lw load reads 100 writes 3
            3    controls 4 Pri alu reads 100008 writes 2
            3    immediate 0
            3    operation 74100b
            4    controls 8 Addiu alu reads 20000000 writes 29
            4    immediate ffffffe8
            4    operation 27bdffe8
            5    controls c Illegal illegal reads 0 writes 0
            6    controls 10 nothing answers at 0x10 illegal reads 0 writes 0
            decoder.decoded 5
            decoder.illegal 2
        "#]]
        .assert_eq(&log);
    }
}
