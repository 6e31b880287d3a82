//! The inference engine: a network of three layers that classifies packets (Table 1).

use super::{EngineClock, EngineSite, Lanes, Region, Work};
use crate::protocol::Message;
use blocks::checks::{count, within};
use kernel::trace::Counter;
use kernel::{CounterList, Stream};

/// Layers of the network.
const N_LAYERS: usize = 3;
/// The most inputs or neurons of a layer.
const MOST: u32 = 1024;

/// Fixed properties of an inference engine.
///
/// Ports:   flits in, flits out; packets as long as they were.
/// Timing:  `bits_per_cycle` go in a cycle, each packet from a new cycle on; a packet is done `delay_cycles` behind its last bits.
///          Fully pipelined.
/// Source:  Table 1: three layers, 120 Gb/s at 200 MHz, which is 600 bits a cycle, 66 ns, which are 13 cycles.
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
    /// Into the metadata of the packet's further hops.
    Metadata,
    /// Into the packet; one that is too short stays as it is, counted `too_short`.
    Byte {
        /// Bytes of the packet before it.
        offset: u16,
    },
}

impl InferenceParams {
    fn lanes(&self) -> Lanes {
        Lanes { clock: self.clock, n_lanes: 1, fifo_flits: self.fifo_flits }
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
        count("the number of weights.layers", layers.len(), N_LAYERS as u32, N_LAYERS as u32)?;
        for ((i, layer), (n_inputs, n_neurons)) in layers.iter().enumerate().zip(self.shapes()) {
            let path = format!("weights.layers[{i}]");
            count(&format!("the number of {path}.weights"), layer.weights.len(), n_neurons, n_neurons)?;
            count(&format!("the number of {path}.biases"), layer.biases.len(), n_neurons, n_neurons)?;
            for (neuron, weights) in layer.weights.iter().enumerate() {
                count(&format!("the number of {path}.weights[{neuron}]"), weights.len(), n_inputs, n_inputs)?;
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
                let mut stream = Stream::new(*seed, "weights");
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

    fn transform(&mut self, message: &mut Message) {
        let start = self.params.region.start(message);
        let class = self.classify(start.map_or(&[], |start| &message.data[start..]));
        match self.params.class_into {
            ClassInto::Metadata => {
                let further = message.descriptor.next + 1;
                message.descriptor.chain.iter_mut().skip(further).for_each(|hop| hop.metadata = class as u64);
            }
            ClassInto::Byte { offset } => match message.data.get_mut(usize::from(offset)) {
                Some(byte) => *byte = class as u8,
                None => return self.too_short.add(1),
            },
        }
        self.classified.add(1);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("classified", self.classified.total());
        counters.add("too_short", self.too_short.total());
    }
}
