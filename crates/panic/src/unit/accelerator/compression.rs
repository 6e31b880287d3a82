//! The compression engine (Table 1).

use super::{EngineClock, EngineSite, Lanes, Region, Work, lzrw1};
use crate::protocol::Message;
use kernel::CounterList;
use kernel::trace::Counter;

/// Fixed properties of a compression engine.
///
/// Ports:   flits in, flits out; packets become shorter or longer, with as many flits as they then have.
/// Timing:  one packet at a time, `bits_per_cycle` of what is not compressed a cycle, headers included, then `finish_cycles`.
/// Source:  Table 1: LZRW1, 3.6 Gb/s at 300 MHz, which is 12 bits a cycle; 0.05 to 3.3 us, which is what packets of 16 and of
///          1472 bytes take at that rate with 4 cycles more. The algorithm: see `lzrw1.rs`.
/// Differs: lengths and checksums in the packet's headers stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompressionParams {
    /// Clock of the engine.
    pub clock: EngineClock,
    /// Flits between the scratchpad and the engine, 2 to 65536.
    pub fifo_flits: u32,
    /// Bits of what is not compressed that go through in a cycle, 1 to 4096.
    pub bits_per_cycle: u32,
    /// Cycles from a packet's last bits to the result, 0 to 65536.
    pub finish_cycles: u32,
    /// Which way.
    pub direction: Direction,
    /// The bytes that are compressed, or decompressed.
    pub region: Region,
}

/// What a compression engine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Makes the region smaller; one that does not get smaller becomes 4 bytes longer. If the packet then were longer than the
    /// NIC's longest, it stays as it is, counted `too_long`.
    Compress,
    /// Makes it again what it was. If it is no compressed region, or the packet would become too long, it stays as it is,
    /// counted `malformed`.
    Decompress,
}

impl CompressionParams {
    fn lanes(&self) -> Lanes {
        Lanes { clock: self.clock, n_lanes: 1, fifo_flits: self.fifo_flits }
    }

    /// What is wrong with them.
    pub fn check(&self) -> Result<(), String> {
        self.lanes().check()?;
        blocks::checks::within("bits_per_cycle", self.bits_per_cycle, 1, 4096)?;
        blocks::checks::within("finish_cycles", self.finish_cycles, 0, 1 << 16)
    }

    /// Puts the engine there.
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

    /// Cycles of what a packet has more after than before.
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

    fn transform(&mut self, message: &mut Message) {
        let Some(start) = self.params.region.start(message) else { return self.too_short.add(1) };
        let (data, most) = (&mut message.data, self.longest.saturating_sub(start));
        let region = &data[start..];
        let result = match self.params.direction {
            Direction::Compress if region.len() > lzrw1::LONGEST => None,
            Direction::Compress => Some(lzrw1::compress(region)).filter(|result| result.len() <= most),
            Direction::Decompress => lzrw1::decompress(region, most),
        };
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
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("changed", self.changed.total());
        counters.add("bytes_after", self.bytes_after.total());
        counters.add("too_long", self.too_long.total());
        counters.add("too_short", self.too_short.total());
        counters.add("malformed", self.malformed.total());
    }
}
