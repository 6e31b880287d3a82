//! Engines that are hardware for one purpose: what they have in common.
//!
//! Such an engine is a chain of three parts: an entry in the NIC's clock domain that deals packets to lanes, the lanes, which do
//! the work in a clock domain that may be the engine's own, and an exit in the NIC's that gives the packets out in the order in
//! which they came. What differs between engines is their [`Work`]: how many cycles a packet takes, and what becomes of it.

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

/// The clock of an engine, and how packets come into its domain and out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum EngineClock {
    /// The NIC's.
    Nic,
    /// Its own, behind asynchronous FIFOs.
    Own {
        /// Frequency in kHz: 150 MHz is 150000.
        khz: u32,
        /// Cycles of whoever writes a FIFO until its reader sees what was written, 1 to 16.
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

/// The bytes of a packet that an engine works on: from here to the packet's end. A packet that ends before has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Region {
    /// The whole packet.
    All,
    /// What is behind all headers that the RMT pipeline has parsed; nothing if it has found no such place.
    Payload,
    /// From a fixed place on.
    From {
        /// Bytes before it.
        offset: u16,
    },
}

impl Region {
    /// Where the region of this packet begins; none if there is no such place in it.
    fn start(&self, message: &Message) -> Option<usize> {
        let start = match *self {
            Region::All => 0,
            Region::Payload => match message.descriptor.fields.payload {
                0 => return None,
                payload => payload.into(),
            },
            Region::From { offset } => offset.into(),
        };
        (start <= message.data.len()).then_some(start)
    }
}

/// What the engine has found goes with the packet: to the services that it visits next, and to whoever looks at it in the end.
fn write_metadata(message: &mut Message, found: u64) {
    let from_here_on = message.descriptor.next;
    message.descriptor.chain.iter_mut().skip(from_here_on).for_each(|hop| hop.metadata = found);
}

/// What a lane does with a packet, and how long it takes. Cycles are the engine's.
trait Work: 'static {
    /// Cycles that the first `bytes` bytes of a packet take to go in, if all are there; grows with `bytes`, 1 or more from 1 on.
    fn intake_cycles(&self, bytes: usize) -> u64;

    /// Cycles from the last of `len` bytes in until the result of `len_after` bytes is whole.
    fn finish_cycles(&self, len: usize, len_after: usize) -> u64;

    /// Cycles from the last of `len` bytes in until the next packet may go in.
    fn pause_cycles(&self, _len: usize, _len_after: usize) -> u64 {
        0
    }

    /// Packets that may be in the lane, from their first byte in until their result leaves it; 1 or more.
    fn in_flight(&self) -> usize;

    /// Does the work; says whether bytes of the packet have changed.
    fn transform(&mut self, message: &mut Message) -> bool;

    /// What the work has counted.
    fn counters(&self, _counters: &mut CounterList) {}
}

/// How the lanes of an engine stand in the NIC.
struct Lanes {
    clock: EngineClock,
    n_lanes: u32,
    /// Flits of the FIFO in front of each lane.
    fifo_flits: u32,
    headers: Headers,
}

impl Lanes {
    /// What is wrong with them.
    fn check(&self) -> Result<(), String> {
        self.clock.check()?;
        within("fifo_flits", self.fifo_flits, 2, 1 << 16)
    }

    /// Puts an engine there that does `work`; parts have paths below the engine's.
    fn add<W: Work>(&self, site: EngineSite, work: impl Fn() -> W) {
        let EngineSite { system, path, clock: nic, flit_bytes, input, output, .. } = site;
        let (clock, latency) = match self.clock {
            EngineClock::Nic => (nic, 1),
            EngineClock::Own { khz, crossing_cycles } => {
                let freq = Freq::khz(khz.into()).expect("a frequency that was checked");
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
            system.add(&lane, clock, lane::Lane::new(work(), site, lane_in, lane_out));
            to_lanes.push(to_lane);
            from_lanes.push(from_lane);
        }
        system.add(&format!("{path}.entry"), nic, entry::Entry::new(input, to_lanes));
        system.add(&format!("{path}.exit"), nic, exit::Exit::new(flit_bytes, from_lanes, output));
    }
}
