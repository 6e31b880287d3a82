//! `alu`: an arithmetic and logic unit with the operations of MIPS.
//!
//! Ports:   `a`, `b` (words, receive): the values of registers `rs` and `rt`; `operation` (words, receives): the
//!           instruction word, whose register numbers are ignored; `result` (words, sends).
//! Timing:  0 cycles of its own. At an edge at which every input has a word and the output has room, it takes one
//!           word of each and sends the result.
//! Errors:  a word that is not an arithmetic or logic operation, or an overflow, gives 0 and is counted.
//! Source:  thesis, table 3.4: single-cycle; the operations are the rows of `isa::mips` of class `alu`.

use blocks::interconnect::Word;
use blocks::netlist::{Built, Module, OneWay, PortSpec, Site};
use isa::mips::{Class, Cpu, Exception, Load, Store, decode, execute};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};

/// Parameters of an [`Alu`]: none.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AluParams {}

/// The ports of an [`Alu`].
pub struct AluPorts {
    /// The value of register `rs`.
    pub a: Rx<Word>,
    /// The value of register `rt`.
    pub b: Rx<Word>,
    /// The instruction word.
    pub operation: Rx<Word>,
    /// The result.
    pub result: Tx<Word>,
}

/// Computes MIPS operations.
pub struct Alu {
    a: Rx<Word>,
    b: Rx<Word>,
    operation: Rx<Word>,
    result: Tx<Word>,
    operations: Counter,
    exceptions: Counter,
}

/// A minimal machine: two operands and a result.
struct Operands {
    a: u32,
    b: u32,
    result: Option<u32>,
}

impl Alu {
    /// A unit with these ports.
    pub fn new(ports: AluPorts) -> Alu {
        let AluPorts { a, b, operation, result } = ports;
        Alu { a, b, operation, result, operations: Counter::default(), exceptions: Counter::default() }
    }

    fn has_all(&self) -> bool {
        self.a.has_item() && self.b.has_item() && self.operation.has_item()
    }
}

/// The result of instruction `word`, or `None` if it is not an arithmetic or logic operation or overflows.
fn compute(word: u32, a: u32, b: u32) -> Option<u32> {
    let mut inst = decode(word);
    if inst.class() != Class::Alu {
        return None;
    }
    // Read the operands from registers 1 and 2. The register numbers of the instruction do not matter.
    (inst.rs, inst.rt, inst.rd) = (1, 2, 3);
    let mut operands = Operands { a, b, result: None };
    execute(&mut operands, &inst);
    operands.result
}

impl Cpu for Operands {
    fn r(&self, r: u8) -> u32 {
        match r {
            1 => self.a,
            2 => self.b,
            _ => 0,
        }
    }

    fn set(&mut self, _r: u8, value: u32) {
        self.result = Some(value);
    }

    fn exception(&mut self, _what: Exception) {
        self.result = None;
    }

    fn hi(&self) -> u32 {
        0
    }

    fn lo(&self) -> u32 {
        0
    }

    fn pc(&self) -> u32 {
        0
    }

    // Arithmetic and logic operations do none of the following.
    fn set_hi(&mut self, _value: u32) {}
    fn set_lo(&mut self, _value: u32) {}
    fn branch(&mut self, _target: u32) {}
    fn annul(&mut self) {}
    fn load(&mut self, _rt: u8, _addr: u32, _kind: Load) {}
    fn store(&mut self, _addr: u32, _value: u32, _kind: Store) {}
    fn store_conditional(&mut self, _rt: u8, _addr: u32, _value: u32) {}
    fn sync(&mut self) {}
}

impl Component for Alu {
    fn tick(&mut self, _now: Cycle) -> Activity {
        if !self.has_all() || !self.result.has_room() {
            return Activity::Idle; // An item or room wakes us.
        }
        let take = |port: &Rx<Word>| port.take().expect("an item is there").0 as u32;
        let (a, b, operation) = (take(&self.a), take(&self.b), take(&self.operation));
        let result = compute(operation, a, b);
        self.operations.add(1);
        self.exceptions.add(u64::from(result.is_none()));
        self.result.send(Word(u64::from(result.unwrap_or(0))));
        if self.has_all() { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("a", &self.a);
        ports.input("b", &self.b);
        ports.input("operation", &self.operation);
        ports.output("result", &self.result);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("operations", self.operations.total());
        counters.add("exceptions", self.exceptions.total());
    }
}

impl Module for AluParams {
    const NAME: &'static str = "alu";
    const ABOUT: &'static str = "Computes the arithmetic and logic operations of MIPS.";

    fn ports(&self) -> Vec<PortSpec> {
        vec![
            PortSpec::to::<OneWay<Word>>("a").about("the value of rs"),
            PortSpec::to::<OneWay<Word>>("b").about("the value of rt"),
            PortSpec::to::<OneWay<Word>>("operation").about("the instruction word"),
            PortSpec::from::<OneWay<Word>>("result").about("the result"),
        ]
    }

    fn build(self, site: &mut Site) -> Built {
        Built::new(Alu::new(AluPorts {
            a: site.to::<OneWay<Word>>("a"),
            b: site.to::<OneWay<Word>>("b"),
            operation: site.to::<OneWay<Word>>("operation"),
            result: site.from::<OneWay<Word>>("result"),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{show_word, words};
    use expect_test::expect;
    use isa::mips::{Operands, row};

    fn of(name: &str, imm: i32, a: u32, b: u32) -> Option<u32> {
        let operands = Operands { rs: 9, rt: 9, rd: 9, imm };
        let word = row(name).and_then(|row| {
            let kept = row.format.decode(row.format.encode(operands).unwrap_or(0));
            row.encode(Operands { imm, ..kept })
        });
        compute(word.unwrap_or_else(|| panic!("{name} cannot be encoded")), a, b)
    }

    #[test]
    fn operations_match_the_instruction_table() {
        assert_eq!(of("addu", 0, 7, u32::MAX), Some(6));
        assert_eq!(of("add", 0, i32::MAX as u32, 1), None, "it overflows");
        assert_eq!(of("addiu", -4, 3, 99), Some(u32::MAX));
        assert_eq!(of("pri", 0, 0xf0, 0x31), Some(6));
        assert_eq!(of("sltu", 0, 3, 4), Some(1));
        assert_eq!(compute(0x8d03_0060, 1, 2), None, "a load is not an operation of the unit");
        assert_eq!(compute(0xffff_ffff, 1, 2), None, "an illegal instruction");
    }

    #[test]
    fn a_result_comes_with_the_last_operand() {
        let log = testkit::bench(100, |bench| {
            let [a, b] = [("a", "1:7 2:1"), ("b", "1:2 5:1")].map(|(name, text)| words(bench, name, text));
            let operation = words(bench, "operation", "1:432821 1:8d030060"); // addu, then lw
            let result = bench.output("result", 2, |_| true, show_word);
            bench.add("alu", Alu::new(AluPorts { a, b, operation, result }));
            bench.log_counters();
        });
        expect![[r#"
            2    result 9
            6    result 0
            alu.operations 2
            alu.exceptions 1
        "#]]
        .assert_eq(&log);
    }
}
