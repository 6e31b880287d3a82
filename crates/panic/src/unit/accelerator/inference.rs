//! The inference engine: a network of three layers that classifies packets (Table 1).

use super::{EngineClock, EngineSite, Headers, Lanes, Region, Work};
use crate::protocol::Message;
use blocks::checks::within;
use kernel::trace::Counter;
use kernel::{CounterList, RandomStream};

/// Layers of the network.
const N_LAYERS: usize = 3;
/// The most inputs or neurons of a layer.
const MOST: u32 = 1024;

/// Fixed properties of an inference engine.
///
/// Ports:   flits in, flits out; packets as long as they were.
/// Timing:  `bits_per_cycle` go in a cycle, each packet from a new cycle on; a packet is done `delay_cycles` behind its last bits.
///          Fully pipelined.
/// Source:  Table 1: three layers, 120 Gb/s at 200 MHz, which is 600 bits a cycle, 66 ns, which are 13 cycles: one in which
///          a short packet goes in, and 12.
/// Differs: the paper says neither sizes nor weights nor number formats. Here inputs are bytes, weights are 8 bits and sums 32;
///          a hidden neuron gives its sum, at least 0, shifted right and at most 127; the class is the output with
///          the highest sum, the first of several.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InferenceParams {
    /// Clock of the engine.
    pub clock: EngineClock,
    /// Flits between the scratchpad and the engine, 2 to 65536.
    pub fifo_flits: u32,
    /// Bits that go in a cycle, 1 to 65536.
    pub bits_per_cycle: u32,
    /// Cycles from a packet's last bits to its class, 1 to 4096.
    pub delay_cycles: u32,
    /// The bytes that the inputs are; those of a packet that has not enough are 0.
    pub region: Region,
    /// Bytes that are looked at, 1 to 1024.
    pub n_inputs: u32,
    /// Neurons of the three layers, 1 to 1024 each; the last has one for each class, at most 256.
    pub n_neurons: [u32; N_LAYERS],
    /// Bits that the sums of hidden neurons are shifted right, 0 to 31.
    pub shift: u32,
    /// Weights and biases.
    pub weights: Weights,
    /// Where the class is written.
    pub class_into: ClassInto,
    /// What becomes of the headers of a packet into which its class is written.
    pub headers: Headers,
}

/// Where the weights of a network come from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Weights {
    /// Drawn: any 8-bit number, each as likely; biases are 0.
    Seeded {
        /// Of the draw.
        seed: u64,
    },
    /// Listed.
    Listed {
        /// The three layers, from the inputs on.
        layers: Vec<LayerParams>,
    },
}

/// A layer of a network.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LayerParams {
    /// For each neuron, a weight for each of its inputs.
    pub weights: Vec<Vec<i8>>,
    /// For each neuron, what its sum begins with.
    pub biases: Vec<i32>,
}

/// Where a class is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ClassInto {
    /// Into the metadata of this hop and of all further ones.
    Metadata,
    /// Into the packet; one that is too short stays as it is, counted `too_short`.
    Byte {
        /// Bytes of the packet before it.
        offset: u16,
    },
}

impl InferenceParams {
    fn lanes(&self) -> Lanes {
        Lanes { clock: self.clock, n_lanes: 1, fifo_flits: self.fifo_flits, headers: self.headers }
    }

    /// What is wrong with them.
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

    /// Puts the engine there.
    pub(in crate::unit) fn add(&self, site: EngineSite) {
        self.lanes().add(site, || Inference::new(self.clone()));
    }
}

/// A list of the length that it must have.
fn exactly(name: &str, found: usize, wanted: u32) -> Result<(), String> {
    match found == wanted as usize {
        true => Ok(()),
        false => Err(format!("{name} has {found} entries, must have {wanted}")),
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
        let (last, hidden) = self.layers.split_last().expect("there are three layers");
        for layer in hidden {
            values = layer.sums(&values).map(|sum| (sum.max(0) >> self.params.shift).min(127)).collect();
        }
        let sums: Vec<i32> = last.sums(&values).collect();
        (0..sums.len()).rev().max_by_key(|&class| sums[class]).expect("there is a class")
    }
}

impl LayerParams {
    /// What the sums of the neurons are; they wrap.
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
            ClassInto::Metadata => {
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

    /// A network that says which of its two inputs is greater: 0 the first or none, 1 the second.
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
    fn a_network_says_what_its_weights_say() {
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
    fn drawn_weights_are_the_same_whenever_and_their_classes_differ() {
        let packets: Vec<_> = (0..40u8).map(|i| Packet::of(&[i.wrapping_mul(37); 80].map(|byte| byte ^ i))).collect();
        let classes = |seed: &str| {
            let outs = outputs(&INFERENCE.replace("seed = 1", seed), &packets);
            outs.iter().map(|out| out.data[0].to_string()).collect::<Vec<_>>().join("")
        };
        expect!["0999993999999399999939999933999993999999 0777777777777777777777777777777777777777"]
            .assert_eq(&format!("{} {}", classes("seed = 1"), classes("seed = 2")));
    }

    #[test]
    fn weights_of_the_wrong_shape_are_told() {
        let check =
            |from: &str, to: &str| match toml::from_str::<crate::unit::EngineParams>(&GREATER.replacen(from, to, 1)) {
                Ok(params) => params.check().unwrap_err(),
                Err(error) => error.message().to_owned(),
            };
        expect!["n_neurons[2] is 300, must be 1 to 256"].assert_eq(&check("[2, 2, 2]", "[2, 2, 300]"));
        expect!["weights.layers[0].weights has 2 entries, must have 3"].assert_eq(&check("[2, 2, 2]", "[3, 2, 2]"));
        expect!["weights.layers[1].weights[1] has 1 entries, must have 2"]
            .assert_eq(&check("[2, 0], [0, 2]", "[2, 0], [0]"));
        expect!["weights.layers[0].biases has 1 entries, must have 2"]
            .assert_eq(&check("biases = [0, 0]", "biases = [0]"));
        expect!["invalid value: integer `-129`, expected i8"].assert_eq(&check("[1, -1]", "[1, -129]"));
        expect!["shift is 32, must be 0 to 31"].assert_eq(&check("shift = 0", "shift = 32"));
        expect!["n_inputs is 0, must be 1 to 1024"].assert_eq(&check("n_inputs = 2", "n_inputs = 0"));
        expect!["weights.layers has 2 entries, must have 3"]
            .assert_eq(&check("[[weights.layers]]\n        weights = [[1, 0], [0, 1]]\n        biases = [0, 0]", ""));
    }
}
