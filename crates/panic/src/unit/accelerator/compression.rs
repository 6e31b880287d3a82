//! The compression engine (Table 1).

use super::{EngineClock, EngineSite, Headers, Lanes, Region, Work, lzrw1};
use crate::protocol::Message;
use kernel::CounterList;
use kernel::trace::Counter;

/// Parameters of a compression engine.
///
/// Ports:   flits in, flits out; packets change their length and number of flits.
/// Timing:  one packet at a time, `bits_per_cycle` of the uncompressed side a cycle, headers included, then `finish_cycles`.
/// Source:  Table 1: LZRW1, 3.6 Gb/s at 300 MHz, which is 12 bits a cycle; 0.05 to 3.3 us, which packets of 16 and of 1472
///          bytes take at that rate plus 4 cycles. The algorithm: see `lzrw1.rs`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompressionParams {
    /// Clock of the engine.
    pub clock: EngineClock,
    /// FIFO between the scratchpad and the engine, in flits, 2 to 65536.
    pub fifo_flits: u32,
    /// Rate in bits of uncompressed data per cycle, 1 to 4096.
    pub bits_per_cycle: u32,
    /// Cycles from a packet's last bits to the result, 0 to 65536.
    pub finish_cycles: u32,
    /// Compress or decompress.
    pub direction: Direction,
    /// The bytes to compress or decompress.
    pub region: Region,
    /// How headers are updated; `update` needs the region `payload`.
    pub headers: Headers,
}

/// Direction of a compression engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Compresses the region. A region that does not compress becomes 4 bytes longer. If the packet would then exceed the NIC's
    /// longest packet, it stays unchanged and is counted as `too_long`.
    Compress,
    /// Decompresses the region. If it is not compressed data, or the packet would become too long, the packet stays unchanged
    /// and is counted as `malformed`.
    Decompress,
}

impl CompressionParams {
    fn lanes(&self) -> Lanes {
        Lanes { clock: self.clock, n_lanes: 1, fifo_flits: self.fifo_flits, headers: self.headers }
    }

    /// Checks the parameters.
    pub fn check(&self) -> Result<(), String> {
        self.lanes().check()?;
        self.headers.check(self.region)?;
        blocks::checks::within("bits_per_cycle", self.bits_per_cycle, 1, 4096)?;
        blocks::checks::within("finish_cycles", self.finish_cycles, 0, 1 << 16)
    }

    /// Adds the engine.
    pub(in crate::unit) fn add(&self, site: EngineSite) {
        let longest = site.longest;
        self.lanes().add(site, || Compression::new(self.clone(), longest));
    }
}

struct Compression {
    params: CompressionParams,
    longest: usize,
    changed: Counter,
    bytes_after: Counter,
    too_long: Counter,
    too_short: Counter,
    malformed: Counter,
}

impl Compression {
    fn new(params: CompressionParams, longest: usize) -> Compression {
        let (changed, bytes_after, too_long, too_short, malformed) = Default::default();
        Compression { params, longest, changed, bytes_after, too_long, too_short, malformed }
    }

    /// Cycles for the bytes by which a packet grows.
    fn growth_cycles(&self, len: usize, len_after: usize) -> u64 {
        match self.params.direction {
            Direction::Compress => 0,
            Direction::Decompress => {
                self.intake_cycles(len_after.max(1)).saturating_sub(self.intake_cycles(len.max(1)))
            }
        }
    }
}

impl Work for Compression {
    fn intake_cycles(&self, bytes: usize) -> u64 {
        (8 * bytes as u64).div_ceil(self.params.bits_per_cycle.into())
    }

    fn finish_cycles(&self, len: usize, len_after: usize) -> u64 {
        self.growth_cycles(len, len_after) + u64::from(self.params.finish_cycles)
    }

    fn pause_cycles(&self, len: usize, len_after: usize) -> u64 {
        self.growth_cycles(len, len_after)
    }

    fn in_flight(&self) -> usize {
        1
    }

    fn transform(&mut self, message: &mut Message) -> bool {
        let Some(start) = self.params.region.start(message) else {
            self.too_short.add(1);
            return false;
        };
        let (data, most) = (&mut message.data, self.longest.saturating_sub(start));
        let region = &data[start..];
        let result = match self.params.direction {
            Direction::Compress if region.len() > lzrw1::LONGEST => None,
            Direction::Compress => Some(lzrw1::compress(region)).filter(|result| result.len() <= most),
            Direction::Decompress => lzrw1::decompress(region, most),
        };
        let has_changed = result.is_some();
        match (result, self.params.direction) {
            (Some(result), _) => {
                data.truncate(start);
                data.extend(result);
                self.changed.add(1);
            }
            (None, Direction::Compress) => self.too_long.add(1),
            (None, Direction::Decompress) => self.malformed.add(1),
        }
        self.bytes_after.add(data.len() as u64);
        has_changed
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("changed", self.changed.total());
        counters.add("bytes_after", self.bytes_after.total());
        counters.add("too_long", self.too_long.total());
        counters.add("too_short", self.too_short.total());
        counters.add("malformed", self.malformed.total());
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{COMPRESSION, Packet, SCENE, Scene, TAKEN, outputs, packets, run};
    use expect_test::expect;
    use proptest::prelude::*;

    fn engine(direction: &str, offset: u16) -> String {
        COMPRESSION
            .replace("\"compress\"", &format!("\"{direction}\""))
            .replace("kind = \"all\"", &format!("kind = \"from\", offset = {offset}"))
    }

    fn noise(len: usize) -> Vec<u8> {
        let mut stream = kernel::RandomStream::new(1, "noise");
        (0..len).map(|_| stream.below(256) as u8).collect()
    }

    #[test]
    fn a_packet_shrinks_by_its_redundancy() {
        let text = "the quick brown fox jumps over the lazy dog, ".repeat(30);
        let packets = [text.into_bytes(), vec![0; 1350], noise(1350)].map(|data| Packet::of(&data));
        let packed = outputs(&engine("compress", 42), &packets);
        let found: Vec<_> = packed.iter().map(|out| format!("{} in {}", out.data.len(), out.n_flits)).collect();
        expect!["250 in 4, 203 in 4, 1354 in 22"].assert_eq(&found.join(", "));
        assert!(packed.iter().zip(&packets).all(|(out, packet)| out.data[..42] == packet.data[..42]));
    }

    #[test]
    fn packets_that_cannot_be_changed_stay_and_are_counted() {
        let packets = [vec![9; 100], noise(1531), vec![0; 10]].map(|data| Packet::of(&data));
        for direction in ["compress", "decompress"] {
            let (outs, counters) = run(&engine(direction, 42), &packets, &Scene { longest: 1534, ..SCENE });
            let changed: Vec<_> = outs.iter().zip(&packets).map(|(out, packet)| out.data != packet.data).collect();
            let names = ["changed", "too_long", "too_short", "malformed"];
            let shown = counters.iter().filter(|line| names.iter().any(|name| line.contains(name)));
            let shown: Vec<_> = shown.map(|line| line.trim_start_matches("it.lane[0].")).collect();
            match direction {
                "compress" => expect!["[true, false, false] changed 1, too_long 1, too_short 1"]
                    .assert_eq(&format!("{changed:?} {}", shown.join(", "))),
                _ => expect!["[false, false, false] too_short 1, malformed 2"]
                    .assert_eq(&format!("{changed:?} {}", shown.join(", "))),
            }
        }
    }

    /// Compression and decompression of a packet take the same time, except for the FIFOs.
    #[test]
    fn the_rate_counts_uncompressed_bytes() {
        let data = Packet::of(&[7; 1472]);
        let (packed, n) = (outputs(&engine("compress", 0), std::slice::from_ref(&data))[0].clone(), 6);
        let back = vec![Packet::of(&packed.data); n];
        let pace = |toml: &str, packets: &[Packet]| {
            let outs = outputs(toml, packets);
            let steps: Vec<_> = outs.windows(2).map(|pair| pair[1].tail - pair[0].tail).collect();
            format!("first {}, then {steps:?}", outs[0].first - TAKEN)
        };
        expect!["first 828, then [822, 821, 822, 822, 821]"].assert_eq(&pace(&engine("compress", 0), &vec![data; n]));
        expect!["first 828, then [822, 821, 822, 822, 821]"].assert_eq(&pace(&engine("decompress", 0), &back));
    }

    #[test]
    fn bad_parameters_are_errors() {
        let check =
            |from: &str, to: &str| match toml::from_str::<crate::unit::EngineParams>(&COMPRESSION.replace(from, to)) {
                Ok(params) => params.check().unwrap_err(),
                Err(error) => error.message().to_owned(),
            };
        expect!["bits_per_cycle is 0, must be 1 to 4096"]
            .assert_eq(&check("bits_per_cycle = 12", "bits_per_cycle = 0"));
        expect!["finish_cycles is 4000000000, must be 0 to 65536"]
            .assert_eq(&check("finish_cycles = 4", "finish_cycles = 4_000_000_000"));
        expect!["unknown variant `inflate`, expected `compress` or `decompress`"]
            .assert_eq(&check("\"compress\"", "\"inflate\""));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn decompression_restores_the_packet(packets in packets(9000), offset in 0u16..100) {
            let scene = Scene { longest: 9004, ..SCENE };
            let there = run(&engine("compress", offset), &packets, &scene).0;
            let there: Vec<_> = there.iter().map(|out| Packet::of(&out.data)).collect();
            let back = run(&engine("decompress", offset), &there, &scene).0;
            for (packet, out) in packets.iter().zip(back) {
                prop_assert_eq!(&packet.data, &out.data);
            }
        }
    }
}
