//! The hash unit: several SHA-3-512 engines in parallel (6, 7.6).

use super::{EngineClock, EngineSite, Headers, Lanes, Region, Work};
use crate::drops::DropReason;
use crate::protocol::{Leg, Message};
use ::sha3::{Digest, Sha3_512};
use kernel::CounterList;
use kernel::trace::Counter;

/// Size of a digest.
const DIGEST: usize = 64;
/// Input of an engine, in bytes per cycle.
const WORD: usize = 8;
/// Words of a block.
const BLOCK_WORDS: u64 = 9;
/// Cycles of the permutation after each block.
const PERMUTATION: u64 = 12;

/// Parameters of a hash unit.
///
/// Ports:   flits in, flits out, in order of arrival.
/// Timing:  packets go to the engines in round robin. An engine takes 64 bits a cycle until a block of 72 bytes is full, and
///          permutes it in 12 cycles, during which the next block fills. A packet of n blocks, padding included, takes 9 + 12 n
///          cycles, and `gap_cycles` more until the next.
/// Source:  7.6 (150 MHz, 6 Gb/s, four engines a unit); RTL (widths, cycles of a block, asynchronous FIFOs).
/// Differs: blocks and permutation alone give 6.8 Gb/s for 1472 bytes; `gap_cycles` accounts for the rest.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sha3Params {
    /// Clock of the engines.
    pub clock: EngineClock,
    /// Number of engines, 1 to 64.
    pub engines: u32,
    /// FIFO between the scratchpad and each engine, in flits, 2 to 65536. If it holds less than a packet, a busy engine blocks
    /// the packets behind.
    pub fifo_flits: u32,
    /// Cycles of an engine from a digest until the next packet, 0 to 4096.
    pub gap_cycles: u32,
    /// The bytes to hash; `check` excludes the digest at their end.
    pub region: Region,
    /// Use of the digest.
    pub digest: DigestUse,
    /// How to update the headers of a packet to which a digest was appended.
    pub headers: Headers,
}

/// Use of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DigestUse {
    /// Discards it, as in the prototype.
    Discard {},
    /// Appends it to the packet. If that would exceed the NIC's longest packet, the packet stays unchanged and is counted as
    /// `too_long`.
    Append {},
    /// Compares it with the last 64 bytes of the packet and counts `matches` and `mismatches`. A region shorter than 64 bytes
    /// is a mismatch.
    Check {
        /// Action for a packet whose digest differs.
        mismatch: Mismatch,
    },
}

/// Action for a packet whose digest differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mismatch {
    /// Forwards it unchanged.
    Pass,
    /// Sets the metadata of this and all further hops to 1.
    Mark,
    /// Skips its remaining services.
    Skip,
    /// Drops it for the reason `bad-digest`.
    Drop,
}

impl Sha3Params {
    fn lanes(&self) -> Lanes {
        Lanes { clock: self.clock, n_lanes: self.engines, fifo_flits: self.fifo_flits, headers: self.headers }
    }

    /// Checks the parameters.
    pub fn check(&self) -> Result<(), String> {
        blocks::checks::within("engines", self.engines, 1, 64)?;
        self.lanes().check()?;
        blocks::checks::within("gap_cycles", self.gap_cycles, 0, 4096)
    }

    /// Adds the engine.
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
        match mismatch {
            Mismatch::Pass => {}
            Mismatch::Mark => super::write_metadata(message, 1),
            Mismatch::Skip => message.descriptor.chain.truncate(message.descriptor.next + 1),
            Mismatch::Drop => message.leg = Leg::Dropped(DropReason::BadDigest),
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

    fn transform(&mut self, message: &mut Message) -> bool {
        let start = self.params.region.start(message);
        match (self.params.digest, start) {
            (DigestUse::Check { mismatch }, start) => self.check(message, start, mismatch),
            (_, None) => self.too_short.add(1),
            (DigestUse::Discard {}, Some(_)) => {}
            (DigestUse::Append {}, Some(_)) if message.data.len() + DIGEST > self.longest => self.too_long.add(1),
            (DigestUse::Append {}, Some(start)) => {
                let digest = Sha3_512::digest(&message.data[start..]);
                message.data.extend_from_slice(&digest);
                return true;
            }
        }
        false
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("matches", self.matches.total());
        counters.add("mismatches", self.mismatches.total());
        counters.add("too_long", self.too_long.total());
        counters.add("too_short", self.too_short.total());
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Out, Packet, SCENE, SHA, TAKEN, bytes, outputs, run};
    use ::sha3::{Digest, Sha3_512};
    use expect_test::{Expect, expect};

    /// One engine in the NIC's clock domain, to test exact cycles.
    fn engine(digest: &str) -> String {
        SHA.replace("{ kind = \"own\", khz = 150_000, crossing_cycles = 2 }", "{ kind = \"nic\" }")
            .replace("{ kind = \"discard\" }", digest)
    }

    /// Source: NIST, example values of SHA3-512 for no byte, for 1600 bits of A3, and FIPS 202's implementations for `abc`.
    #[test]
    fn nist_test_vectors() {
        let toml = engine("{ kind = \"append\" }");
        for (text, digest) in [
            (
                &b""[..],
                "a69f73cca23a9ac5c8b567dc185a756e97c982164fe25859e0d1dcc1475c80a6
                 15b2123af1f5f94c11e3e9402c3ac558f500199d95b6d3e301758586281dcd26",
            ),
            (
                b"abc",
                "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e
                 10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0",
            ),
            (
                &[0xa3; 200],
                "e76dfad22084a8b1467fcf2ffa58361bec7628edf5f3fdc0e4805dc48caeeca8
                 1b7c13c30adf52a3659584739a2df46be589c51ca1a4a8416df6545a1ce8ba00",
            ),
        ] {
            let out = &outputs(&toml, &[Packet::of(text)])[0];
            assert_eq!(out.data, [text, &bytes(digest)].concat());
            assert_eq!(out.n_flits, out.data.len().div_ceil(64));
        }
    }

    fn signed(data: &[u8]) -> Vec<u8> {
        [data, &Sha3_512::digest(data)].concat()
    }

    /// The results for a good packet, one with a wrong byte, and one that is too short.
    fn check(mismatch: &str, want: Expect) {
        let mut wrong = signed(b"abc");
        wrong[0] ^= 1;
        let packets = [signed(b"abc"), wrong.clone(), vec![0; 63]];
        let packets = packets.map(|data| Packet { words: "0>1>2 m9", ..Packet::of(&data) });
        let toml = engine(&format!("{{ kind = \"check\", mismatch = \"{mismatch}\" }}"));
        let (outs, counters) = run(&toml, &packets, &SCENE);
        assert!(outs.iter().zip(&packets).all(|(out, packet)| out.data == packet.data), "bytes must not change");
        let total = |name: &str| {
            let totals = counters.iter().filter_map(|line| line.split_once(name)?.1.trim().parse::<u64>().ok());
            totals.sum::<u64>()
        };
        let fates: Vec<_> = outs.into_iter().map(|Out { leg, metadata, .. }| format!("{leg} {metadata:?}")).collect();
        want.assert_eq(&format!("{}; {} good, {} bad", fates.join(", "), total(".matches"), total(".mismatches")));
    }

    #[test]
    fn digests_are_checked() {
        check("pass", expect!["Entry [9, 9, 9], Entry [9, 9, 9], Entry [9, 9, 9]; 1 good, 2 bad"]);
        check("mark", expect!["Entry [9, 9, 9], Entry [1, 1, 1], Entry [1, 1, 1]; 1 good, 2 bad"]);
        check(
            "drop",
            expect!["Entry [9, 9, 9], Dropped(BadDigest) [9, 9, 9], Dropped(BadDigest) [9, 9, 9]; 1 good, 2 bad"],
        );
        check("skip", expect!["Entry [9, 9, 9], Entry [9], Entry [9]; 1 good, 2 bad"]);
    }

    #[test]
    fn a_digest_is_appended_if_the_packet_stays_short_enough() {
        let toml = engine("{ kind = \"append\" }").replace("kind = \"all\"", "kind = \"from\", offset = 14");
        let data: Vec<u8> = (0..=255).cycle().take(1473).collect();
        let (outs, counters) =
            run(&toml, &[Packet::of(&data[..1472]), Packet::of(&data), Packet::of(&data[..13])], &SCENE);
        assert_eq!(outs[0].data, [&data[..14], &signed(&data[14..1472])].concat());
        assert_eq!(outs[1].data, data);
        assert_eq!(outs[2].data, data[..13]);
        let shown: Vec<_> = counters.iter().filter(|line| line.contains("too_")).map(String::as_str).collect();
        expect![[r#"
            it.lane[1].too_long 1
            it.lane[2].too_short 1"#]]
        .assert_eq(&shown.join("\n"));
    }

    /// Packet lengths, and cycles from input to output of the descriptor in an idle engine. The descriptor and the result each
    /// take one more cycle through a FIFO.
    #[test]
    fn each_block_takes_12_cycles_and_the_first_9_more() {
        let toml = engine("{ kind = \"discard\" }");
        let lengths = [0, 1, 71, 72, 73, 143, 144, 1472];
        let found = lengths.map(|len| {
            let out = &outputs(&toml, &[Packet::of(&vec![0; len])])[0];
            format!("{len}: {}", out.first - TAKEN)
        });
        expect!["0: 25, 1: 25, 71: 25, 72: 37, 73: 37, 143: 37, 144: 49, 1472: 265"].assert_eq(&found.join(", "));
    }

    /// The packet that leaves, as a letter, at every second cycle of the NIC from the first departure on.
    #[test]
    fn packets_leave_in_order_of_arrival() {
        let line = |engines: u32| {
            let toml = SHA.replace("engines = 4", &format!("engines = {engines}"));
            let outs = outputs(&toml, &[400, 64, 64, 64, 64].map(|len| Packet::of(&vec![0; len])));
            let mut line = vec!['.'; outs.last().unwrap().tail as usize + 1];
            for out in outs {
                line[out.first as usize..=out.tail as usize].fill((b'a' + out.id as u8) as char);
            }
            line.into_iter().skip_while(|&letter| letter == '.').step_by(2).collect::<String>()
        };
        expect!["aaaa.........................................b............................................c............................................d............................................e"].assert_eq(&line(1));
        expect!["aaaab........................................cd...........................................e"]
            .assert_eq(&line(2));
        expect!["aaaabcd......................................e"].assert_eq(&line(4));
    }

    #[test]
    fn bad_parameters_are_errors() {
        let check = |from: &str, to: &str| match toml::from_str::<crate::unit::EngineParams>(&SHA.replace(from, to)) {
            Ok(params) => params.check().unwrap_err(),
            Err(error) => error.message().to_owned(),
        };
        expect!["engines is 0, must be 1 to 64"].assert_eq(&check("engines = 4", "engines = 0"));
        expect!["clock.khz is 0, must be 1000 to 10000000"].assert_eq(&check("khz = 150_000", "khz = 0"));
        expect!["clock.crossing_cycles is 0, must be 1 to 16"]
            .assert_eq(&check("crossing_cycles = 2", "crossing_cycles = 0"));
        expect!["fifo_flits is 1, must be 2 to 65536"].assert_eq(&check("fifo_flits = 25", "fifo_flits = 1"));
        expect!["gap_cycles is 5000, must be 0 to 4096"].assert_eq(&check("gap_cycles = 33", "gap_cycles = 5000"));
        expect!["unknown variant `explode`, expected one of `pass`, `mark`, `skip`, `drop`"]
            .assert_eq(&check("kind = \"discard\"", "kind = \"check\", mismatch = \"explode\""));
        expect!["unknown variant `keep`, expected one of `discard`, `append`, `check`"]
            .assert_eq(&check("kind = \"discard\"", "kind = \"keep\""));
    }
}
