//! Engines between a source and a sink, in their own clock domains: results and times.

use crate::protocol::{Fields, Flit, Hop, Message};
use crate::testing::flits;
use crate::unit::{EngineParams, EngineSite};
use kernel::{Cycle, Freq};
use proptest::prelude::*;
use std::fmt::Write;

pub(super) const AES: &str = r#"
    kind = "aes-256-ctr"
    clock = { kind = "nic" }
    fifo_flits = 4
    pipeline_cycles = 29
    region = { kind = "all" }
    trailer_bytes = 0
    headers = "keep"
    [[keys]]
    of = { kind = "all" }
    key = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"
    counter = { kind = "fixed", block = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff" }
"#;

pub(super) const SHA: &str = r#"
    kind = "sha-3-512"
    clock = { kind = "own", khz = 150_000, crossing_cycles = 2 }
    engines = 4
    fifo_flits = 25
    gap_cycles = 33
    region = { kind = "all" }
    digest = { kind = "discard" }
    headers = "keep"
"#;

pub(super) const COMPRESSION: &str = r#"
    kind = "compression"
    clock = { kind = "own", khz = 300_000, crossing_cycles = 2 }
    fifo_flits = 25
    bits_per_cycle = 12
    finish_cycles = 4
    direction = "compress"
    headers = "keep"
    region = { kind = "all" }
"#;

pub(super) const INFERENCE: &str = r#"
    kind = "inference"
    clock = { kind = "own", khz = 200_000, crossing_cycles = 2 }
    fifo_flits = 25
    bits_per_cycle = 600
    delay_cycles = 12
    region = { kind = "all" }
    n_inputs = 64
    n_neurons = [32, 32, 10]
    shift = 8
    headers = "keep"
    weights = { kind = "seeded", seed = 1 }
    class_into = { kind = "byte", offset = 0 }
"#;

pub(super) const RATE: &str = r#"
    kind = "rate"
    clock = { kind = "own", khz = 220_000, crossing_cycles = 2 }
    fifo_flits = 25
    bits_per_cycle = 512
    base_cycles = 4
    block_bytes = 64
    block_cycles = 98
    in_flight = 128
"#;

pub(super) fn params(toml: &str) -> EngineParams {
    let params: EngineParams = toml::from_str(toml).unwrap_or_else(|error| panic!("{error}"));
    params.check().unwrap_or_else(|error| panic!("{error}"));
    params
}

/// An input packet.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    /// Words after the packet number, in the notation of [`flits`], without the length.
    pub words: &'static str,
    pub fields: Fields,
    pub data: Vec<u8>,
}

impl Packet {
    pub fn of(data: &[u8]) -> Packet {
        Packet { words: "0>1", fields: Fields::default(), data: data.to_vec() }
    }
}

/// The fields of a packet whose payload offset alone is known.
pub(super) fn at(payload: u16) -> Fields {
    Fields { payload, ..Fields::default() }
}

/// The cycle in which the engine takes the first packet's descriptor.
pub(super) const TAKEN: Cycle = 1;

/// An output packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Out {
    pub id: usize,
    /// Cycles of the NIC in which the engine sent its descriptor and its last flit.
    pub first: Cycle,
    pub tail: Cycle,
    /// Number of flits after the descriptor.
    pub n_flits: usize,
    /// Kind of the message.
    pub leg: String,
    /// Metadata of all hops.
    pub metadata: Vec<u64>,
    pub data: Vec<u8>,
}

/// Settings of a run.
pub(super) struct Scene {
    pub nic_mhz: u64,
    pub longest: usize,
    /// The sink accepts a flit in the first `n` of every `of` cycles.
    pub ready: (Cycle, Cycle),
}

pub(super) const SCENE: Scene = Scene { nic_mhz: 250, longest: 1536, ready: (1, 1) };

pub(super) fn run(toml: &str, packets: &[Packet], scene: &Scene) -> (Vec<Out>, Vec<String>) {
    let params = params(toml);
    let freq = Freq::mhz(scene.nic_mhz).unwrap();
    let (ready, longest) = (scene.ready, scene.longest);
    let log = testkit::bench_at(freq, 40_000_000, |bench| {
        bench.log_counters();
        let clock = bench.clock();
        let input = bench.input("in", 100, feed(packets));
        let output = bench.output("out", 2, move |now| now % ready.1 < ready.0, show);
        let (path, node) = ("it", crate::protocol::NodeId(4));
        let system = bench.system();
        params.add(EngineSite {
            system,
            path,
            clock,
            node,
            flit_bytes: 64,
            longest,
            n_services: 1,
            program: None,
            input,
            output,
        });
    });
    read(&log)
}

/// The output packets only.
pub(super) fn outputs(toml: &str, packets: &[Packet]) -> Vec<Out> {
    run(toml, packets, &SCENE).0
}

fn feed(packets: &[Packet]) -> Vec<(Cycle, Flit)> {
    let line = |(id, packet): (usize, &Packet)| format!("1 {id} {} {}", packet.words, packet.data.len());
    let mut flits = flits(&packets.iter().enumerate().map(line).collect::<Vec<_>>().join(";"));
    for (_, flit) in &mut flits {
        if let Flit::Head(message) = flit {
            let Packet { fields, data, .. } = &packets[message.descriptor.id as usize];
            message.descriptor.fields = *fields;
            message.data = data.clone();
        }
    }
    flits
}

fn show(flit: &Flit) -> String {
    let Flit::Head(message) = flit else { return format!("{flit:?}") };
    let Message { descriptor, data, .. } = &**message;
    let metadata: String = descriptor.chain.iter().map(|hop: &Hop| format!(" {}", hop.metadata)).collect();
    let hex = data.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    });
    format!("#{} {:?}{metadata} :{hex}", descriptor.id, message.leg)
}

/// Parses packets and counters from a log.
fn read(log: &str) -> (Vec<Out>, Vec<String>) {
    let (mut outs, mut counters): (Vec<Out>, _) = (Vec::new(), Vec::new());
    for line in log.lines() {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            [at, "out", id, leg, ref metadata @ .., hex] if id.starts_with('#') => outs.push(Out {
                id: id[1..].parse().unwrap(),
                leg: leg.to_owned(),
                first: at.parse().unwrap(),
                tail: 0,
                n_flits: 0,
                metadata: metadata.iter().map(|word| word.parse().unwrap()).collect(),
                data: bytes(&hex[1..]),
            }),
            [at, "out", flit] => {
                let out = outs.last_mut().unwrap();
                assert_eq!(out.tail, 0, "no flit may follow the tail");
                out.n_flits += 1;
                if flit == "Tail" {
                    out.tail = at.parse().unwrap();
                }
            }
            _ => counters.push(line.to_owned()),
        }
    }
    (outs, counters)
}

pub(super) fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Throughput of an engine with waiting packets of `len` bytes in Gbit/s, and its latency in ns for a single packet, from
/// taking to sending the descriptor.
pub(super) fn speed(toml: &str, len: usize, scene: &Scene) -> (f64, f64) {
    let packet = Packet::of(&(0..len).map(|i| (i * i / 7) as u8).collect::<Vec<_>>());
    let ns = |cycles: Cycle| cycles as f64 * 1000.0 / scene.nic_mhz as f64;
    let lone = &run(toml, std::slice::from_ref(&packet), scene).0[0];
    // The first packets are not counted, so that the engine is full.
    let (skipped, n) = (8, 40);
    let outs = run(toml, &vec![packet; skipped + n + 1], scene).0;
    let gbps = (8 * len * n) as f64 / ns(outs[skipped + n].tail - outs[skipped].tail);
    (gbps, ns(lone.first - TAKEN))
}

/// Lengths at which behavior may change.
pub(super) const LENGTHS: [usize; 12] = [0, 1, 15, 16, 17, 63, 64, 65, 72, 1472, 1536, 9000];

/// Packets of random content and of edge-case lengths up to `longest`.
pub(super) fn packets(longest: usize) -> impl Strategy<Value = Vec<Packet>> {
    let len = prop_oneof![
        proptest::sample::select(LENGTHS.into_iter().filter(|&len| len <= longest).collect::<Vec<_>>()),
        0..=longest.min(300),
    ];
    let packet = (len, any::<u64>(), 0u32..8).prop_map(|(len, seed, entropy)| {
        let mut stream = kernel::RandomStream::new(seed, "bytes");
        Packet::of(&(0..len).map(|_| (stream.below(1 << entropy)) as u8).collect::<Vec<_>>())
    });
    proptest::collection::vec(packet, 1..12)
}

fn any_engine() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![AES, SHA, COMPRESSION, INFERENCE, RATE])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Every packet comes out once, in order, with the right number of flits, for any behaviour of the sink.
    #[test]
    fn no_packet_is_lost_and_order_is_kept(
        toml in any_engine(), packets in packets(9000), n in 1u64..4, of in 1u64..40,
    ) {
        let scene = Scene { longest: 9100, ready: (n.min(of), of), ..SCENE };
        let (outs, _) = run(toml, &packets, &scene);
        prop_assert_eq!(outs.iter().map(|out| out.id).collect::<Vec<_>>(), (0..packets.len()).collect::<Vec<_>>());
        for out in &outs {
            prop_assert_eq!(out.n_flits, out.data.len().div_ceil(64).max(1));
            prop_assert!(out.tail > 0);
        }
        // The sink affects only times.
        let bytes = |outs: &[Out]| outs.iter().map(|out| out.data.clone()).collect::<Vec<_>>();
        let at_ease = run(toml, &packets, &Scene { longest: 9100, ..SCENE }).0;
        prop_assert_eq!(bytes(&outs), bytes(&at_ease));
    }
}
