//! The hash unit: several SHA-3-512 engines side by side (6, 7.6).

use super::{EngineClock, EngineSite, Lanes, Region, Work};
use crate::protocol::Message;
use ::sha3::{Digest, Sha3_512};
use kernel::CounterList;
use kernel::trace::Counter;

/// Bytes of a digest.
const DIGEST: usize = 64;
/// Bytes that go into an engine a cycle.
const WORD: usize = 8;
/// Words of a block.
const BLOCK_WORDS: u64 = 9;
/// Cycles of the permutation behind each block.
const PERMUTATION: u64 = 12;

/// Fixed properties of a hash unit.
///
/// Ports:   flits in, flits out, in order of arrival.
/// Timing:  packets go to the engines in turn. Each takes 64 bits a cycle until a block of 72 bytes is full, and permutes it in
///          12 cycles, in which the next block fills. So a packet of n blocks, padding included, takes 9 + 12 n cycles, and
///          `gap_cycles` more until the next.
/// Source:  7.6 (150 MHz, 6 Gb/s, four engines a unit); RTL (widths, cycles of a block, asynchronous FIFOs).
/// Differs: blocks and permutation alone give 6.8 Gb/s for 1472 bytes; `gap_cycles` is there for the rest.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sha3Params {
    /// Clock of the engines.
    pub clock: EngineClock,
    /// Engines, 1 to 64.
    pub engines: u32,
    /// Flits between the scratchpad and each engine, 2 to 65536. With less than a packet, an engine holds up those behind it.
    pub fifo_flits: u32,
    /// Cycles of an engine from a digest until the next packet, 0 to 4096.
    pub gap_cycles: u32,
    /// The bytes that are hashed; of those, `check` leaves out the digest that they end with.
    pub region: Region,
    /// What becomes of the digest.
    pub digest: DigestUse,
}

/// What becomes of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DigestUse {
    /// Nothing, as in the prototype.
    Discard,
    /// It is put behind the packet, if that does not become longer than the NIC's longest packet, counted `too_long`.
    Append,
    /// It is compared with the last 64 bytes of the packet, counted `matches` and `mismatches`; a region that has no 64
    /// bytes is a mismatch.
    Check {
        /// What becomes of a packet with another digest.
        mismatch: Mismatch,
    },
}

/// What becomes of a packet that has not the right digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mismatch {
    /// Nothing.
    Pass,
    /// Its further hops have the metadata 1 instead of theirs.
    Mark,
    /// It visits no further services.
    Skip,
}

impl Sha3Params {
    fn lanes(&self) -> Lanes {
        Lanes { clock: self.clock, n_lanes: self.engines, fifo_flits: self.fifo_flits }
    }

    /// What is wrong with them.
    pub fn check(&self) -> Result<(), String> {
        blocks::checks::within("engines", self.engines, 1, 64)?;
        self.lanes().check()?;
        blocks::checks::within("gap_cycles", self.gap_cycles, 0, 4096)
    }

    /// Puts the engine there.
    pub(in crate::unit) fn add(&self, site: EngineSite) {
        let longest = site.longest;
        self.lanes().add(site, || Sha3::new(self.clone(), longest));
    }
}

struct Sha3 {
    params: Sha3Params,
    longest: usize,
    matches: Counter,
    mismatches: Counter,
    too_long: Counter,
    too_short: Counter,
}

impl Sha3 {
    fn new(params: Sha3Params, longest: usize) -> Sha3 {
        let (matches, mismatches, too_long, too_short) = Default::default();
        Sha3 { params, longest, matches, mismatches, too_long, too_short }
    }

    fn check(&mut self, message: &mut Message, start: Option<usize>, mismatch: Mismatch) {
        let region = start.map_or(&[][..], |start| &message.data[start..]);
        if let Some((hashed, digest)) = region.split_last_chunk::<DIGEST>()
            && Sha3_512::digest(hashed)[..] == *digest
        {
            return self.matches.add(1);
        }
        self.mismatches.add(1);
        let further = message.descriptor.next + 1;
        match mismatch {
            Mismatch::Pass => {}
            Mismatch::Mark => message.descriptor.chain.iter_mut().skip(further).for_each(|hop| hop.metadata = 1),
            Mismatch::Skip => message.descriptor.chain.truncate(further),
        }
    }
}

impl Work for Sha3 {
    fn intake_cycles(&self, bytes: usize) -> u64 {
        let words = bytes.div_ceil(WORD) as u64;
        match words.saturating_sub(1) / BLOCK_WORDS {
            0 => words,
            block => words - block * BLOCK_WORDS + BLOCK_WORDS + (block - 1) * PERMUTATION,
        }
    }

    fn finish_cycles(&self, len: usize, _len_after: usize) -> u64 {
        let n_blocks = len as u64 / (BLOCK_WORDS * WORD as u64) + 1;
        BLOCK_WORDS + n_blocks * PERMUTATION - self.intake_cycles(len.max(1))
    }

    fn pause_cycles(&self, len: usize, len_after: usize) -> u64 {
        self.finish_cycles(len, len_after) + u64::from(self.params.gap_cycles)
    }

    fn in_flight(&self) -> usize {
        1
    }

    fn transform(&mut self, message: &mut Message) {
        let start = self.params.region.start(message);
        match (self.params.digest, start) {
            (DigestUse::Check { mismatch }, start) => self.check(message, start, mismatch),
            (_, None) => self.too_short.add(1),
            (DigestUse::Discard, Some(_)) => {}
            (DigestUse::Append, Some(_)) if message.data.len() + DIGEST > self.longest => self.too_long.add(1),
            (DigestUse::Append, Some(start)) => {
                let digest = Sha3_512::digest(&message.data[start..]);
                message.data.extend_from_slice(&digest);
            }
        }
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("matches", self.matches.total());
        counters.add("mismatches", self.mismatches.total());
        counters.add("too_long", self.too_long.total());
        counters.add("too_short", self.too_short.total());
    }
}
