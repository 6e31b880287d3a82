//! Fixed-function engines: their common parts.
//!
//! Such an engine has three parts. An entry in the NIC's clock domain distributes packets over lanes. The lanes do the work, in
//! the engine's own clock domain if it has one. An exit in the NIC's clock domain returns the packets in order of arrival.
//! Engines differ in their [`Work`]: how many cycles a packet takes, and how it changes the packet.

mod aes;
mod compression;
mod entry;
mod exit;
mod headers;
mod hex;
mod inference;
mod lane;
mod lzrw1;
mod rate;
mod sha3;
#[cfg(test)]
mod speed_tests;
#[cfg(test)]
mod tests;

pub use aes::{AesKey, AesParams, CounterBlock, KeyUse};
pub use compression::{CompressionParams, Direction};
pub use headers::Headers;
pub use hex::Hex;
pub use inference::{ClassInto, InferenceParams, LayerParams, Weights};
pub use rate::RateParams;
pub use sha3::{DigestUse, Mismatch, Sha3Params};

use super::engine::EngineSite;
use crate::protocol::Message;
use blocks::checks::within;
use kernel::{CounterList, Freq};

/// The clock of an engine, and the clock domain crossing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum EngineClock {
    /// The NIC's clock.
    Nic {},
    /// The engine's own clock, behind asynchronous FIFOs.
    Own {
        /// Frequency in kHz: 150 MHz is 150000.
        khz: u32,
        /// FIFO latency in cycles of its writer, 1 to 16.
        crossing_cycles: u32,
    },
}

impl EngineClock {
    fn check(&self) -> Result<(), String> {
        let EngineClock::Own { khz, crossing_cycles } = *self else { return Ok(()) };
        within("clock.khz", khz, 1_000, 10_000_000)?;
        within("clock.crossing_cycles", crossing_cycles, 1, 16)
    }
}

/// The bytes of a packet that an engine works on, up to the packet's end. Empty if the packet is too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Region {
    /// The whole packet.
    All {},
    /// The bytes after all headers parsed by the RMT pipeline; empty if it parsed none.
    Payload {},
    /// The bytes from a fixed offset on.
    From {
        /// Offset of the first byte.
        offset: u16,
    },
}

impl Region {
    /// Offset of the region in this packet, or `None` if the packet has no such region.
    fn start(&self, message: &Message) -> Option<usize> {
        let start = match *self {
            Region::All {} => 0,
            Region::Payload {} => match message.descriptor.fields.payload {
                0 => return None,
                payload => payload.into(),
            },
            Region::From { offset } => offset.into(),
        };
        (start <= message.data.len()).then_some(start)
    }
}

/// Writes the engine's result into the packet's metadata, for later services and for the end of the chain.
fn write_metadata(message: &mut Message, found: u64) {
    let from_here_on = message.descriptor.next;
    message.descriptor.chain.iter_mut().skip(from_here_on).for_each(|hop| hop.metadata = found);
}

/// The work of a lane on a packet and its duration, in cycles of the engine.
trait Work: 'static {
    /// Cycles to take in the first `bytes` bytes of a packet if all are available; grows with `bytes`, at least 1 for 1 byte.
    fn intake_cycles(&self, bytes: usize) -> u64;

    /// Cycles from the last of `len` input bytes until the result of `len_after` bytes is complete.
    fn finish_cycles(&self, len: usize, len_after: usize) -> u64;

    /// Cycles from the last of `len` input bytes until the next packet may enter.
    fn pause_cycles(&self, _len: usize, _len_after: usize) -> u64 {
        0
    }

    /// Maximum number of packets in the lane, from the first input byte until the result leaves; at least 1.
    fn in_flight(&self) -> usize;

    /// Processes the packet; returns true if its bytes have changed.
    fn transform(&mut self, message: &mut Message) -> bool;

    /// Counters of the work.
    fn counters(&self, _counters: &mut CounterList) {}
}

/// Lanes of an engine and their surroundings.
struct Lanes {
    clock: EngineClock,
    n_lanes: u32,
    /// FIFO in front of each lane, in flits.
    fifo_flits: u32,
    headers: Headers,
}

impl Lanes {
    /// Checks the parameters.
    fn check(&self) -> Result<(), String> {
        self.clock.check()?;
        within("fifo_flits", self.fifo_flits, 2, 1 << 16)
    }

    /// Adds an engine that does `work`; its parts have paths below the engine's.
    fn add<W: Work>(&self, site: EngineSite, work: impl Fn() -> W) {
        let EngineSite { system, path, clock: nic, flit_bytes, input, output, .. } = site;
        let (clock, latency) = match self.clock {
            EngineClock::Nic {} => (nic, 1),
            EngineClock::Own { khz, crossing_cycles } => {
                let freq = Freq::khz(khz.into()).expect("the frequency must have passed its check");
                (system.clock(freq), u64::from(crossing_cycles))
            }
        };
        let (mut to_lanes, mut from_lanes) = (Vec::new(), Vec::new());
        for i in 0..self.n_lanes {
            let lane = format!("{path}.lane[{i}]");
            let (to_lane, lane_in) = system.channel(&format!("to {lane}"), self.fifo_flits as usize, latency);
            let (lane_out, from_lane) = system.channel(&format!("from {lane}"), latency as usize + 1, latency);
            let clocks = (system.edges(clock), system.edges(nic));
            let site = lane::Site { headers: self.headers, flit_bytes, clocks };
            system.add(&lane, clock, lane::EngineLane::new(work(), site, lane_in, lane_out));
            to_lanes.push(to_lane);
            from_lanes.push(from_lane);
        }
        system.add(&format!("{path}.entry"), nic, entry::Entry::new(input, to_lanes));
        system.add(&format!("{path}.exit"), nic, exit::Exit::new(flit_bytes, from_lanes, output));
    }
}
