//! The inference engine: a neural network of three layers that classifies packets (Table 1).

use super::{EngineClock, EngineSite, Headers, Lanes, Region, Work};
use crate::protocol::Message;
use blocks::checks::within;
use kernel::trace::Counter;
use kernel::{CounterList, RandomStream};

/// Layers of the network.
const N_LAYERS: usize = 3;
/// Maximum number of inputs or neurons of a layer.
const MOST: u32 = 1024;

/// Parameters of an inference engine.
///
/// Ports:   flits in, flits out; packets keep their length.
/// Timing:  `bits_per_cycle` enter each cycle; each packet starts in a new cycle. A packet is done `delay_cycles` after its
///          last bits. Fully pipelined.
/// Source:  Table 1: three layers, 120 Gb/s at 200 MHz, which is 600 bits a cycle; 66 ns, which is 13 cycles: one to take in a
///          short packet, and 12.
/// Differs: the paper gives no sizes, weights or number formats. Here inputs are bytes, weights are 8 bits and sums 32 bits. A
///          hidden neuron outputs its sum, clamped at 0, shifted right and clamped at 127. The class is the output with the
///          highest sum, the first of equals.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InferenceParams {
    /// Clock of the engine.
    pub clock: EngineClock,
    /// FIFO between the scratchpad and the engine, in flits, 2 to 65536.
    pub fifo_flits: u32,
    /// Input width, in bits per cycle, 1 to 65536.
    pub bits_per_cycle: u32,
    /// Cycles from a packet's last bits to its class, 1 to 4096.
    pub delay_cycles: u32,
    /// The input bytes; bytes missing in a short packet are 0.
    pub region: Region,
    /// Number of input bytes, 1 to 1024.
    pub n_inputs: u32,
    /// Neurons of the three layers, 1 to 1024 each; the last has one for each class, at most 256.
    pub n_neurons: [u32; N_LAYERS],
    /// Right shift of the hidden neurons' sums, 0 to 31.
    pub shift: u32,
    /// Weights and biases.
    pub weights: Weights,
    /// Where the class is written.
    pub class_into: ClassInto,
    /// How to update the headers of a packet into which the class is written.
    pub headers: Headers,
}

/// Source of the network's weights.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Weights {
    /// Random: uniformly distributed 8-bit numbers; biases are 0.
    Seeded {
        /// Seed of the random numbers.
        seed: u64,
    },
    /// Given explicitly.
    Listed {
        /// The three layers, from the inputs to the outputs.
        layers: Vec<LayerParams>,
    },
}

/// A layer of a network.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LayerParams {
    /// For each neuron, one weight for each of its inputs.
    pub weights: Vec<Vec<i8>>,
    /// For each neuron, the initial value of its sum.
    pub biases: Vec<i32>,
}

/// Where the class is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ClassInto {
    /// Into the metadata of this and all further hops.
    Metadata {},
    /// Into the packet; one that is too short stays unchanged and is counted as `too_short`.
    Byte {
        /// Offset of the byte.
        offset: u16,
    },
}

impl InferenceParams {
    fn lanes(&self) -> Lanes {
        Lanes { clock: self.clock, n_lanes: 1, fifo_flits: self.fifo_flits, headers: self.headers }
    }

    /// Checks the parameters.
    pub fn check(&self) -> Result<(), String> {
        self.lanes().check()?;
        within("bits_per_cycle", self.bits_per_cycle, 1, 1 << 16)?;
        within("delay_cycles", self.delay_cycles, 1, 4096)?;
        within("n_inputs", self.n_inputs, 1, MOST)?;
        for (layer, (n_neurons, most)) in self.n_neurons.into_iter().zip([MOST, MOST, 256]).enumerate() {
            within(&format!("n_neurons[{layer}]"), n_neurons, 1, most)?;
        }
        within("shift", self.shift, 0, 31)?;
        let Weights::Listed { layers } = &self.weights else { return Ok(()) };
        exactly("weights.layers", layers.len(), N_LAYERS as u32)?;
        for ((i, layer), (n_inputs, n_neurons)) in layers.iter().enumerate().zip(self.shapes()) {
            let path = format!("weights.layers[{i}]");
            exactly(&format!("{path}.weights"), layer.weights.len(), n_neurons)?;
            exactly(&format!("{path}.biases"), layer.biases.len(), n_neurons)?;
            for (neuron, weights) in layer.weights.iter().enumerate() {
                exactly(&format!("{path}.weights[{neuron}]"), weights.len(), n_inputs)?;
            }
        }
        Ok(())
    }

    /// Inputs and neurons of each layer.
    fn shapes(&self) -> [(u32, u32); N_LAYERS] {
        let [first, second, third] = self.n_neurons;
        [(self.n_inputs, first), (first, second), (second, third)]
    }

    fn layers(&self) -> Vec<LayerParams> {
        match &self.weights {
            Weights::Listed { layers } => layers.clone(),
            Weights::Seeded { seed } => {
                let mut stream = RandomStream::new(*seed, "weights");
                let mut neuron = |n_inputs| (0..n_inputs).map(|_| stream.below(256) as u8 as i8).collect();
                let mut layer = |(n_inputs, n_neurons): (u32, u32)| LayerParams {
                    weights: (0..n_neurons).map(|_| neuron(n_inputs)).collect(),
                    biases: vec![0; n_neurons as usize],
                };
                self.shapes().into_iter().map(&mut layer).collect()
            }
        }
    }

    /// Adds the engine.
    pub(in crate::unit) fn add(&self, site: EngineSite) {
        self.lanes().add(site, || Inference::new(self.clone()));
    }
}

/// Checks the length of a list.
fn exactly(name: &str, found: usize, wanted: u32) -> Result<(), String> {
    match found == wanted as usize {
        true => Ok(()),
        false => Err(format!("{name} has {found} entries; must have {wanted}")),
    }
}

struct Inference {
    params: InferenceParams,
    layers: Vec<LayerParams>,
    classified: Counter,
    too_short: Counter,
}

impl Inference {
    fn new(params: InferenceParams) -> Inference {
        let layers = params.layers();
        Inference { params, layers, classified: Counter::default(), too_short: Counter::default() }
    }

    fn classify(&self, bytes: &[u8]) -> usize {
        let inputs = bytes.iter().copied().chain(std::iter::repeat(0)).take(self.params.n_inputs as usize);
        let mut values: Vec<i32> = inputs.map(i32::from).collect();
        let (last, hidden) = self.layers.split_last().expect("there must be three layers");
        for layer in hidden {
            values = layer.sums(&values).map(|sum| (sum.max(0) >> self.params.shift).min(127)).collect();
        }
        let sums: Vec<i32> = last.sums(&values).collect();
        (0..sums.len()).rev().max_by_key(|&class| sums[class]).expect("there must be a class")
    }
}

impl LayerParams {
    /// The weighted sums of the neurons; they wrap.
    fn sums<'a>(&'a self, values: &'a [i32]) -> impl Iterator<Item = i32> + 'a {
        self.weights.iter().zip(&self.biases).map(move |(weights, &bias)| {
            let products = weights.iter().zip(values).map(|(&weight, &value)| i32::from(weight) * value);
            products.fold(bias, i32::wrapping_add)
        })
    }
}

impl Work for Inference {
    fn intake_cycles(&self, bytes: usize) -> u64 {
        (8 * bytes as u64).div_ceil(self.params.bits_per_cycle.into())
    }

    fn finish_cycles(&self, _len: usize, _len_after: usize) -> u64 {
        self.params.delay_cycles.into()
    }

    fn in_flight(&self) -> usize {
        self.params.delay_cycles as usize + 1
    }

    fn transform(&mut self, message: &mut Message) -> bool {
        let start = self.params.region.start(message);
        let class = self.classify(start.map_or(&[], |start| &message.data[start..]));
        match self.params.class_into {
            ClassInto::Metadata {} => {
                super::write_metadata(message, class as u64);
                self.classified.add(1);
                false
            }
            ClassInto::Byte { offset } => match message.data.get_mut(usize::from(offset)) {
                Some(byte) => {
                    *byte = class as u8;
                    self.classified.add(1);
                    true
                }
                None => {
                    self.too_short.add(1);
                    false
                }
            },
        }
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("classified", self.classified.total());
        counters.add("too_short", self.too_short.total());
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{INFERENCE, Packet, SCENE, at, outputs, run};
    use expect_test::expect;

    /// A network that compares its two inputs: class 0 if the first is greater or they are equal, otherwise class 1.
    const GREATER: &str = r#"
        kind = "inference"
        clock = { kind = "nic" }
        fifo_flits = 25
        bits_per_cycle = 600
        delay_cycles = 13
        region = { kind = "payload" }
        n_inputs = 2
        n_neurons = [2, 2, 2]
        shift = 0
        headers = "keep"
        class_into = { kind = "metadata" }
        [weights]
        kind = "listed"
        [[weights.layers]]
        weights = [[1, -1], [-1, 1]]
        biases = [0, 0]
        [[weights.layers]]
        weights = [[2, 0], [0, 2]]
        biases = [-1, -1]
        [[weights.layers]]
        weights = [[1, 0], [0, 1]]
        biases = [0, 0]
    "#;

    #[test]
    fn the_class_follows_the_weights() {
        let packets = [[3, 2], [2, 3], [255, 0], [0, 255], [7, 7]].map(|pair| Packet {
            words: "0>1>2 m9",
            fields: at(2),
            ..Packet::of(&[&[9, 9], &pair[..]].concat())
        });
        let packets = [&packets[..], &[Packet { words: "0>1 m9", ..Packet::of(&[1, 2, 3]) }]].concat();
        let metadata: Vec<_> = outputs(GREATER, &packets).into_iter().map(|out| out.metadata).collect();
        expect!["[[0, 0, 0], [1, 1, 1], [0, 0, 0], [1, 1, 1], [0, 0, 0], [0, 0]]"].assert_eq(&format!("{metadata:?}"));
        let into_byte = GREATER.replace("kind = \"metadata\"", "kind = \"byte\", offset = 3");
        let (outs, counters) = run(&into_byte, &packets, &SCENE);
        let found: Vec<_> = outs.iter().map(|out| format!("{:?}", out.data)).collect();
        expect!["[9, 9, 3, 0] [9, 9, 2, 1] [9, 9, 255, 0] [9, 9, 0, 1] [9, 9, 7, 0] [1, 2, 3]"]
            .assert_eq(&found.join(" "));
        assert!(counters.contains(&"it.lane[0].too_short 1".to_owned()), "{counters:?}");
    }

    #[test]
    fn seeded_weights_depend_only_on_the_seed() {
        let packets: Vec<_> = (0..40u8).map(|i| Packet::of(&[i.wrapping_mul(37); 80].map(|byte| byte ^ i))).collect();
        let classes = |engine: &str| outputs(engine, &packets).iter().map(|out| out.data[0]).collect::<Vec<_>>();
        let one = classes(INFERENCE);
        assert_eq!(one, classes(INFERENCE));
        assert_ne!(one, classes(&INFERENCE.replace("seed = 1", "seed = 2")));
        assert!(one.iter().any(|class| *class != one[0]), "one class for all inputs: {one:?}");
    }

    #[test]
    fn seeded_weights_equal_the_listed_weights_that_they_stand_for() {
        let params = |toml: &str| toml::from_str::<super::InferenceParams>(&toml.replace("kind = \"inference\"", ""));
        let seeded = params(INFERENCE).unwrap();
        let listed = super::InferenceParams { weights: super::Weights::Listed { layers: seeded.layers() }, ..seeded };
        listed.check().unwrap();
        let mut stream = kernel::RandomStream::new(1, "weights");
        for layer in listed.layers() {
            let drawn: Vec<_> = layer.weights.iter().flatten().map(|_| stream.below(256) as u8 as i8).collect();
            assert_eq!(layer.weights.concat(), drawn);
            assert!(layer.biases.iter().all(|bias| *bias == 0));
        }
    }

    #[test]
    fn weights_of_the_wrong_shape_are_errors() {
        let check =
            |from: &str, to: &str| match toml::from_str::<crate::unit::EngineParams>(&GREATER.replacen(from, to, 1)) {
                Ok(params) => params.check().unwrap_err(),
                Err(error) => error.message().to_owned(),
            };
        expect!["n_neurons[2] is 300, must be 1 to 256"].assert_eq(&check("[2, 2, 2]", "[2, 2, 300]"));
        expect!["weights.layers[0].weights has 2 entries; must have 3"].assert_eq(&check("[2, 2, 2]", "[3, 2, 2]"));
        expect!["weights.layers[1].weights[1] has 1 entries; must have 2"]
            .assert_eq(&check("[2, 0], [0, 2]", "[2, 0], [0]"));
        expect!["weights.layers[0].biases has 1 entries; must have 2"]
            .assert_eq(&check("biases = [0, 0]", "biases = [0]"));
        expect!["invalid value: integer `-129`, expected i8"].assert_eq(&check("[1, -1]", "[1, -129]"));
        expect!["shift is 32, must be 0 to 31"].assert_eq(&check("shift = 0", "shift = 32"));
        expect!["n_inputs is 0, must be 1 to 1024"].assert_eq(&check("n_inputs = 2", "n_inputs = 0"));
        expect!["weights.layers has 2 entries; must have 3"]
            .assert_eq(&check("[[weights.layers]]\n        weights = [[1, 0], [0, 1]]\n        biases = [0, 0]", ""));
    }
}
