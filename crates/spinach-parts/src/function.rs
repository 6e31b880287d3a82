//! `function`: computes a word from one word of each input.
//!
//! Ports:   `inputs[i]` (words, receives), `output` (words, sends).
//! Timing:  0 cycles of its own. At an edge at which every input has a word and the output has room, it takes one
//!           word of each and sends the result.
//! Source:  thesis, table 3.1: the algorithm is a parameter. A user's module can pass any closure.

use blocks::checks;
use blocks::interconnect::Word;
use blocks::netlist::{Built, Module, OneWay, PortSpec, Site};
use kernel::{Activity, Component, Cycle, Ports, Rx, Tx};

/// Parameters of the module `function`.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionParams {
    /// Number of inputs, 1 to 64.
    pub inputs: usize,
    /// The operation.
    pub compute: Compute,
}

/// An operation on 64-bit words; results wrap around.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Compute {
    /// Bitwise AND of all inputs.
    And,
    /// Bitwise OR of all inputs.
    Or,
    /// Bitwise XOR of all inputs.
    Xor,
    /// Sum of all inputs.
    Sum,
    /// The first input minus all others.
    Difference,
    /// 1 if all inputs are equal, otherwise 0.
    Equal,
    /// 1 if each input is less than the next, otherwise 0.
    Ascending,
    /// The smallest input.
    Least,
    /// The largest input.
    Greatest,
    /// One of the other inputs: the first input is its index, counted from 0. An index beyond the end selects the
    /// last.
    Select,
    /// Index of the highest bit set in any input, plus 1; 0 if no bit is set.
    HighestBit,
    /// Bits `first` to `first + count - 1` of the first input, shifted right by `first`.
    Bits {
        /// The lowest bit.
        first: u32,
        /// Number of bits.
        count: u32,
    },
    /// The entry of this table at the index that the first input gives. An index beyond the end selects the last.
    Table(Vec<u64>),
}

impl Compute {
    /// Checks the operation for this number of inputs.
    fn check(&self, inputs: usize) -> Result<(), String> {
        let (least, most) = match self {
            Compute::Bits { .. } | Compute::Table(_) => (1, 1),
            Compute::Select | Compute::Difference | Compute::Equal | Compute::Ascending => (2, 64),
            _ => (1, 64),
        };
        checks::within("inputs", inputs, least, most)?;
        match self {
            Compute::Bits { first, count } => {
                checks::within("compute.bits.first", *first, 0, 63)?;
                checks::within("compute.bits.count", *count, 1, 64 - first)
            }
            Compute::Table(entries) => checks::within("entries of compute.table", entries.len(), 1, 1 << 16),
            _ => Ok(()),
        }
    }

    /// Computes the result. The number of inputs must have passed `check`.
    pub fn of(&self, inputs: &[u64]) -> u64 {
        let entry = |entries: &[u64], which: u64| {
            let last = entries.len() - 1;
            entries[usize::try_from(which).map_or(last, |which| which.min(last))]
        };
        match self {
            Compute::And => inputs.iter().fold(u64::MAX, |all, input| all & input),
            Compute::Or => inputs.iter().fold(0, |all, input| all | input),
            Compute::Xor => inputs.iter().fold(0, |all, input| all ^ input),
            Compute::Sum => inputs.iter().fold(0, |sum, input| sum.wrapping_add(*input)),
            Compute::Difference => inputs[1..].iter().fold(inputs[0], |rest, input| rest.wrapping_sub(*input)),
            Compute::Equal => u64::from(inputs.windows(2).all(|pair| pair[0] == pair[1])),
            Compute::Ascending => u64::from(inputs.windows(2).all(|pair| pair[0] < pair[1])),
            Compute::Least => inputs.iter().copied().fold(u64::MAX, u64::min),
            Compute::Greatest => inputs.iter().copied().fold(0, u64::max),
            Compute::Select => entry(&inputs[1..], inputs[0]),
            Compute::HighestBit => u64::from(u64::BITS - Compute::Or.of(inputs).leading_zeros()),
            Compute::Bits { first, count } => inputs[0] >> first & u64::MAX >> (64 - count),
            Compute::Table(entries) => entry(entries, inputs[0]),
        }
    }
}

/// The ports of a [`Function`].
pub struct FunctionPorts {
    /// Operands.
    pub inputs: Vec<Rx<Word>>,
    /// Results.
    pub output: Tx<Word>,
}

/// Takes a word from every input and sends the result of a function.
pub struct Function<F> {
    inputs: Vec<Rx<Word>>,
    output: Tx<Word>,
    taken: Vec<u64>,
    compute: F,
}

impl<F: FnMut(&[u64]) -> u64> Function<F> {
    /// A function at these ports.
    pub fn new(ports: FunctionPorts, compute: F) -> Function<F> {
        let FunctionPorts { inputs, output } = ports;
        Function { taken: vec![0; inputs.len()], inputs, output, compute }
    }
}

impl<F: FnMut(&[u64]) -> u64> Component for Function<F> {
    fn tick(&mut self, _now: Cycle) -> Activity {
        if !self.inputs.iter().all(Rx::has_item) || !self.output.has_room() {
            return Activity::Idle; // An item or room wakes us.
        }
        for (taken, input) in self.taken.iter_mut().zip(&self.inputs) {
            *taken = input.take().expect("an item is there").0;
        }
        self.output.send(Word((self.compute)(&self.taken)));
        if self.inputs.iter().all(Rx::has_item) { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.inputs("inputs", &self.inputs);
        ports.output("output", &self.output);
    }
}

impl Module for FunctionParams {
    const NAME: &'static str = "function";
    const ABOUT: &'static str = "Computes a word from one word of each input.";
    const EXAMPLE: &'static str = r#"inputs = 2
compute = "sum""#;

    fn ports(&self) -> Vec<PortSpec> {
        let inputs = (0..self.inputs).map(|i| PortSpec::to::<OneWay<Word>>(format!("inputs[{i}]")).about("operands"));
        inputs.chain([PortSpec::from::<OneWay<Word>>("output").about("results")]).collect()
    }

    fn check(&self) -> Result<(), String> {
        self.compute.check(self.inputs)
    }

    fn build(self, site: &mut Site) -> Built {
        let ports = FunctionPorts {
            inputs: (0..self.inputs).map(|i| site.to::<OneWay<Word>>(&format!("inputs[{i}]"))).collect(),
            output: site.from::<OneWay<Word>>("output"),
        };
        Built::new(Function::new(ports, move |words: &[u64]| self.compute.of(words)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{show_word, words};
    use expect_test::{Expect, expect};

    #[test]
    fn each_operation_computes_its_result() {
        use Compute::*;
        let of = |compute: Compute, inputs: &[u64]| {
            assert_eq!(compute.check(inputs.len()), Ok(()), "{compute:?}");
            compute.of(inputs)
        };
        assert_eq!((of(And, &[12, 10]), of(Or, &[12, 10]), of(Xor, &[12, 10])), (8, 14, 6));
        assert_eq!((of(Sum, &[1, 2, 3]), of(Difference, &[9, 2, 3]), of(Difference, &[0, 1])), (6, 4, u64::MAX));
        assert_eq!((of(Equal, &[4, 4, 4]), of(Equal, &[4, 4, 5])), (1, 0));
        assert_eq!((of(Ascending, &[1, 2, 3]), of(Ascending, &[1, 2, 2])), (1, 0));
        assert_eq!((of(Least, &[7, 3, 5]), of(Greatest, &[7, 3, 5])), (3, 7));
        assert_eq!((of(Select, &[1, 10, 20]), of(Select, &[2, 10, 20])), (20, 20));
        assert_eq!((of(HighestBit, &[0]), of(HighestBit, &[1]), of(HighestBit, &[u64::MAX])), (0, 1, 64));
        assert_eq!((of(Bits { first: 4, count: 8 }, &[0xabcd]), of(Bits { first: 0, count: 64 }, &[7])), (0xbc, 7));
        assert_eq!((of(Table(vec![5, 6]), &[0]), of(Table(vec![5, 6]), &[u64::MAX])), (5, 6));
    }

    fn refused(inputs: usize, compute: Compute, want: Expect) {
        want.assert_eq(&FunctionParams { inputs, compute }.check().expect_err("it is wrong"));
    }

    #[test]
    fn wrong_functions_are_refused() {
        refused(1, Compute::Select, expect!["inputs is 1, must be 2 to 64"]);
        refused(0, Compute::And, expect!["inputs is 0, must be 1 to 64"]);
        refused(1, Compute::Bits { first: 60, count: 5 }, expect!["compute.bits.count is 5, must be 1 to 4"]);
        refused(1, Compute::Table(vec![]), expect!["entries of compute.table is 0, must be 1 to 65536"]);
    }

    #[test]
    fn a_function_waits_for_all_its_inputs() {
        let log = testkit::bench(100, |bench| {
            let inputs = vec![words(bench, "a", "1:1 1:2 2:3"), words(bench, "b", "1:4 6:5 9:6")];
            let output = bench.output("sum", 2, |_| true, show_word);
            bench.add("it", Function::new(FunctionPorts { inputs, output }, |words: &[u64]| words.iter().sum()));
        });
        expect![[r#"
            2    sum 5
            7    sum 7
            10   sum 9
        "#]]
        .assert_eq(&log);
    }
}
