//! Faults of an unreliable network: packet loss, duplication and reordering.
//!
//! ```text
//! loss=0.01                      1 % of the packets are lost
//! duplicate=1/1000               one in a thousand arrives twice, the copy directly after the original
//! reorder=0.02:8                 2 % arrive late, after 1 to 8 of the packets that follow them
//! loss=0.01,reorder=0.02:8       both, drawn independently
//! ```

use crate::random::Random;
use crate::source::{Frame, Source, SourceError};
use crate::units::parse_ratio;
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

/// A probability: `numerator / denominator`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance {
    numerator: u64,
    denominator: u64,
}

impl Chance {
    /// Probability 0.
    pub const NEVER: Self = Self { numerator: 0, denominator: 1 };

    /// Parses a number from 0 to 1, such as `0.01` or `1/3`.
    fn parse(text: &str) -> Option<Self> {
        if !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'0' | b'.')) && text.contains('0') {
            return Some(Self::NEVER);
        }
        let (numerator, denominator) = parse_ratio(text)?;
        (numerator <= denominator).then_some(Self { numerator, denominator })
    }

    fn happens(self, random: &mut Random) -> bool {
        random.below(self.denominator) < self.numerator
    }
}

impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.numerator {
            0 => f.write_str("0"),
            _ => write!(f, "{}/{}", self.numerator, self.denominator),
        }
    }
}

/// Largest reordering distance, in packets. It bounds the number of packets held back.
pub const MAX_DISTANCE: u32 = 4096;

/// Probabilities of each fault. The text form is described in [`crate::faults`]; the empty text means no faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Faults {
    /// Probability of loss.
    pub loss: Chance,
    /// Probability of duplication.
    pub duplicate: Chance,
    /// Probability of late arrival.
    pub reorder: Chance,
    /// Largest distance of a late packet, in packets, from 1 to [`MAX_DISTANCE`].
    pub distance: u32,
}

impl Faults {
    /// A reliable network.
    pub const NONE: Self = Self { loss: Chance::NEVER, duplicate: Chance::NEVER, reorder: Chance::NEVER, distance: 1 };

    /// Returns true if every packet arrives exactly once.
    pub fn is_reliable(&self) -> bool {
        self.loss == Chance::NEVER && self.duplicate == Chance::NEVER
    }

    /// Returns true if packets arrive in the order in which they were sent.
    pub fn is_in_order(&self) -> bool {
        self.reorder == Chance::NEVER
    }
}

impl Default for Faults {
    fn default() -> Self {
        Self::NONE
    }
}

/// Error: the text is not a list of faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "fault `{found}`, must be `loss=CHANCE`, `duplicate=CHANCE` or `reorder=CHANCE:DISTANCE`, each at most once, with a chance \
     from 0 to 1 such as `0.01` or `1/100` and a distance from 1 to {MAX_DISTANCE}"
)]
pub struct NotFaults {
    found: String,
}

impl FromStr for Faults {
    type Err = NotFaults;

    fn from_str(text: &str) -> Result<Self, NotFaults> {
        let mut faults = Self::NONE;
        let mut seen = Vec::new();
        for part in text.split(',').map(str::trim).filter(|_| !text.trim().is_empty()) {
            let refuse = || NotFaults { found: part.into() };
            let (name, value) = part.split_once('=').ok_or_else(refuse)?;
            let (name, value) = (name.trim(), value.trim());
            if seen.contains(&name) {
                return Err(refuse());
            }
            seen.push(name);
            match name {
                "loss" => faults.loss = Chance::parse(value).ok_or_else(refuse)?,
                "duplicate" => faults.duplicate = Chance::parse(value).ok_or_else(refuse)?,
                "reorder" => {
                    let (chance, distance) = value.split_once(':').ok_or_else(refuse)?;
                    faults.reorder = Chance::parse(chance.trim()).ok_or_else(refuse)?;
                    let distance: Option<u32> = distance.trim().parse().ok();
                    faults.distance = distance.filter(|n| (1..=MAX_DISTANCE).contains(n)).ok_or_else(refuse)?;
                }
                _ => return Err(refuse()),
            }
        }
        if faults.reorder == Chance::NEVER {
            faults.distance = Self::NONE.distance;
        }
        Ok(faults)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (name, chance) in [("loss", self.loss), ("duplicate", self.duplicate)] {
            if chance != Chance::NEVER {
                parts.push(format!("{name}={chance}"));
            }
        }
        if self.reorder != Chance::NEVER {
            parts.push(format!("reorder={}:{}", self.reorder, self.distance));
        }
        f.write_str(&parts.join(","))
    }
}

impl TryFrom<String> for Faults {
    type Error = NotFaults;
    fn try_from(text: String) -> Result<Self, NotFaults> {
        text.parse()
    }
}

impl From<Faults> for String {
    fn from(faults: Faults) -> Self {
        faults.to_string()
    }
}

/// Number of faults of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct FaultCounts {
    /// Lost packets.
    pub lost: u64,
    /// Duplicated packets.
    pub duplicated: u64,
    /// Late packets.
    pub reordered: u64,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// It is lost; the other fields have no meaning.
    pub is_lost: bool,
    /// A copy arrives directly after it, or at its place if it is late.
    pub is_double: bool,
    /// It arrives after this number of the packets that follow it.
    pub late_by: Option<u32>,
}

/// Draws the fates of packets. Each kind of fault has its own random stream and draws once per packet, so the probability of one kind
/// does not change the draws of another.
#[derive(Clone, Debug)]
pub struct FaultDraws {
    faults: Faults,
    loss: Random,
    duplicate: Random,
    reorder: Random,
}

impl FaultDraws {
    /// The draws of `seed` from the streams `NAME.loss`, `NAME.duplicate` and `NAME.reorder`.
    pub fn new(faults: Faults, seed: u64, name: &str) -> Self {
        let stream = |kind| Random::named(seed, &format!("{name}.{kind}"));
        FaultDraws { faults, loss: stream("loss"), duplicate: stream("duplicate"), reorder: stream("reorder") }
    }

    /// The fate of the next packet.
    pub fn next_fate(&mut self) -> Fate {
        let is_lost = self.faults.loss.happens(&mut self.loss);
        let is_double = self.faults.duplicate.happens(&mut self.duplicate);
        let is_late = self.faults.reorder.happens(&mut self.reorder);
        let distance = 1 + self.reorder.below(u64::from(self.faults.distance)) as u32;
        Fate { is_lost, is_double, late_by: is_late.then_some(distance) }
    }
}

/// A buffered packet.
#[derive(Clone, Debug)]
struct HeldPacket {
    index: u64,
    arrival_fs: u64,
    bytes: Box<[u8]>,
    original_len: u32,
}

/// Applies faults to the packets of a source.
///
/// [`FaultDraws`] draws the fate of each packet. A copy has the arrival time of its original. A late packet has the arrival time of the
/// packet before it. At the end of the source, the remaining late packets arrive after the last packet. Packets keep
/// the numbers of the source.
pub struct FaultySource<S> {
    source: S,
    faults: Faults,
    draws: FaultDraws,
    /// Late packets, each with the number of packets that must arrive before it.
    late: Vec<(u32, HeldPacket)>,
    /// Packets to return next.
    ready: VecDeque<HeldPacket>,
    current: Option<HeldPacket>,
    last_arrival_fs: u64,
    counts: FaultCounts,
}

impl<S> FaultySource<S> {
    /// Applies `faults` to `source`. `seed` determines the random draws.
    pub fn new(source: S, faults: Faults, seed: u64) -> Self {
        FaultySource {
            source,
            faults,
            draws: FaultDraws::new(faults, seed, "faults"),
            late: Vec::new(),
            ready: VecDeque::new(),
            current: None,
            last_arrival_fs: 0,
            counts: FaultCounts::default(),
        }
    }

    /// Faults injected so far.
    pub fn counts(&self) -> &FaultCounts {
        &self.counts
    }

    /// The source without faults.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Processes one packet of the source: loses, forwards, duplicates or delays it. Then releases late packets that
    /// are due.
    fn pass(&mut self, packet: HeldPacket) {
        let Fate { is_lost, is_double, late_by } = self.draws.next_fate();
        if is_lost {
            self.counts.lost += 1;
            return;
        }
        self.counts.duplicated += u64::from(is_double);
        self.counts.reordered += u64::from(late_by.is_some());
        self.last_arrival_fs = self.last_arrival_fs.max(packet.arrival_fs);
        for (left, _) in &mut self.late {
            *left -= 1;
        }
        let copy = is_double.then(|| packet.clone());
        match late_by {
            Some(distance) => self.late.push((distance, packet)),
            None => self.release(packet),
        }
        if let Some(copy) = copy {
            self.release(copy);
        }
        while let Some(at) = self.late.iter().position(|&(left, _)| left == 0) {
            let (_, packet) = self.late.remove(at);
            self.release(packet);
        }
    }

    fn release(&mut self, packet: HeldPacket) {
        self.ready.push_back(HeldPacket { arrival_fs: self.last_arrival_fs, ..packet });
    }
}

impl<S: Source> Source for FaultySource<S> {
    fn next(&mut self) -> Result<Option<Frame<'_>>, SourceError> {
        if self.faults == Faults::NONE {
            return self.source.next();
        }
        while self.ready.is_empty() {
            match self.source.next()? {
                Some(Frame { index, arrival_fs, bytes, original_len }) => {
                    let packet = HeldPacket { index, arrival_fs, bytes: bytes.into(), original_len };
                    self.pass(packet);
                }
                None if self.late.is_empty() => return Ok(None),
                None => {
                    let late = std::mem::take(&mut self.late);
                    late.into_iter().for_each(|(_, packet)| self.release(packet));
                }
            }
        }
        self.current = self.ready.pop_front();
        Ok(self.current.as_ref().map(|packet| Frame {
            index: packet.index,
            arrival_fs: packet.arrival_fs,
            bytes: &packet.bytes,
            original_len: packet.original_len,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    /// A source of packets that arrive every nanosecond: next number, and count.
    struct Count(u64, u64);

    impl Source for Count {
        fn next(&mut self) -> Result<Option<Frame<'_>>, SourceError> {
            let index = self.0;
            self.0 += 1;
            let frame = Frame { index, arrival_fs: index * 1_000_000, bytes: &[1, 2, 3], original_len: 3 };
            Ok((index < self.1).then_some(frame))
        }
    }

    fn run(faults: &str, seed: u64, n: u64) -> (Vec<(u64, u64)>, FaultCounts) {
        let mut source = FaultySource::new(Count(0, n), faults.parse().unwrap(), seed);
        let mut packets = Vec::new();
        while let Some(frame) = source.next().unwrap() {
            assert_eq!((frame.bytes, frame.original_len), (&[1, 2, 3][..], 3));
            packets.push((frame.index, frame.arrival_fs / 1_000_000));
        }
        (packets, *source.counts())
    }

    /// Packets as `number@time`, without the time if it equals the number.
    fn check(faults: &str, want: Expect) {
        let (packets, counts) = run(faults, 3, 20);
        let show = |&(index, at): &(u64, u64)| if index == at { index.to_string() } else { format!("{index}@{at}") };
        let text: Vec<String> = packets.iter().map(show).collect();
        let FaultCounts { lost, duplicated, reordered } = counts;
        want.assert_eq(&format!("{}\nlost {lost}, duplicated {duplicated}, reordered {reordered}\n", text.join(" ")));
    }

    #[test]
    fn a_network_that_never_reorders_has_no_distance() {
        let read = |text: &str| text.parse::<Faults>().unwrap();
        assert_eq!(read("loss=1/4,reorder=0:8"), read("loss=1/4"));
        assert_eq!(read("loss=0,reorder=0:8"), Faults::NONE);
    }

    #[test]
    fn kinds_of_faults_are_independent() {
        check(
            "",
            expect![[r#"
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19
            lost 0, duplicated 0, reordered 0
        "#]],
        );
        check(
            "loss=0.2",
            expect![[r#"
            0 1 2 3 4 5 6 7 8 11 12 13 14 18 19
            lost 5, duplicated 0, reordered 0
        "#]],
        );
        check(
            "duplicate=0.2",
            expect![[r#"
            0 0 1 2 3 3 4 4 5 5 6 7 7 8 8 9 10 11 12 12 13 14 15 16 17 18 19
            lost 0, duplicated 7, reordered 0
        "#]],
        );
        check(
            "reorder=0.2:4",
            expect![[r#"
            0 1 2 3 4 5 6 7 8 9 10 13 11@13 14 12@14 15 18 16@18 19 17@19
            lost 0, duplicated 0, reordered 4
        "#]],
        );
        check(
            "loss=0.2,duplicate=0.2,reorder=0.2:4",
            expect![[r#"
            0 0 1 2 3 3 4 4 5 5 6 7 7 8 8 12 13 11@13 14 12@14 18 19
            lost 5, duplicated 7, reordered 2
        "#]],
        );
        check(
            "reorder=1:3",
            expect![[r#"
            0@2 1@2 3@4 2@5 4@7 5@7 6@7 7@9 8@9 9@10 10@11 11@13 12@14 13@15 14@16 15@16 16@18 17@19 18@19 19
            lost 0, duplicated 0, reordered 20
        "#]],
        );
    }

    #[test]
    fn chances_are_kept() {
        let (packets, counts) = run("loss=0.01,duplicate=1/1000,reorder=0.02:8", 1, 100_000);
        assert!((900..1100).contains(&counts.lost), "{counts:?}");
        assert!((70..130).contains(&counts.duplicated), "{counts:?}");
        assert!((1800..2200).contains(&counts.reordered), "{counts:?}");
        assert_eq!(packets.len() as u64, 100_000 - counts.lost + counts.duplicated);
    }

    #[test]
    fn text_both_ways_and_errors() {
        for text in ["", "loss=1/100", "loss=1/2,duplicate=1/1000,reorder=1/50:8"] {
            assert_eq!(text.parse::<Faults>().unwrap().to_string(), text);
        }
        assert_eq!("loss=0.01, reorder=0.0:8".parse::<Faults>().unwrap().to_string(), "loss=1/100");
        for text in
            ["loss", "loss=2", "loss=-1", "loss=", "reorder=0.1", "reorder=0.1:0", "late=1", "loss=0,loss=1", ","]
        {
            let error = text.parse::<Faults>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("fault `{}`, must be", text.rsplit(',').next().unwrap())), "{error}");
        }
    }

    proptest! {
        /// Losses match the counts, late packets stay within the distance, and times never decrease.
        #[test]
        fn packets_are_accounted_for(seed in any::<u64>(), n in 0u64..300, loss in 0u32..3, double in 0u32..3, late in 0u32..=4, distance in 1u32..9) {
            let text = format!("loss={loss}/4,duplicate={double}/4,reorder={late}/4:{distance}")
                .replace("loss=0/4", "loss=0").replace("duplicate=0/4", "duplicate=0").replace("reorder=0/4", "reorder=0");
            let (packets, counts) = run(&text, seed, n);
            prop_assert_eq!(packets.len() as u64, n - counts.lost + counts.duplicated);
            prop_assert!(packets.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{:?}", packets);
            prop_assert!(packets.iter().all(|&(index, at)| at >= index));
            let distinct: std::collections::BTreeSet<u64> = packets.iter().map(|&(index, _)| index).collect();
            prop_assert_eq!(distinct.len() as u64, n - counts.lost);
            if loss == 0 {
                // Each packet is late by at most the distance, not counting copies.
                for &(index, at) in &packets {
                    prop_assert!(at <= index + u64::from(distance), "{index} at {at}");
                }
            }
            prop_assert_eq!(run(&text, seed, n).0, packets);
        }
    }
}
