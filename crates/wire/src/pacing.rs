//! Packet arrival times: original, scaled, at the rate of a line, or all at once.

use crate::capture::FS_PER_S;
use crate::eth;
use crate::source::SourceError;
use crate::units::{parse_bps, parse_ratio, show_bps};
use std::fmt;
use std::str::FromStr;

/// Latest arrival time, in femtoseconds (5 hours). A gap that exceeds it is shortened, because 64 bits end at 5.1
/// hours.
pub const HORIZON_FS: u128 = 18_000 * FS_PER_S;
/// Length of a shortened gap: 1 ms.
pub const CUT_GAP_FS: u128 = FS_PER_S / 1000;

/// Source of arrival times.
///
/// Text forms: `times`, `times:0.5` (gaps half as long), `line:400G`, `asap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Pacing {
    /// Times of the capture or generator, relative to the first packet, multiplied by `numerator / denominator`.
    Times {
        /// At least 1.
        numerator: u64,
        /// At least 1.
        denominator: u64,
    },
    /// Back-to-back frames on a line of `bps` bit/s, with padding to 64 bytes, FCS, preamble and gap.
    Line {
        /// Rate of the line, in bit/s, at least 1.
        bps: u64,
    },
    /// All at time 0, so that the NIC takes them as fast as it can.
    Asap,
}

impl Pacing {
    /// Unscaled times of the capture or generator.
    pub const TIMES: Self = Self::Times { numerator: 1, denominator: 1 };
}

/// Error: the text is not a pacing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "pacing is `{0}`, must be `times`, `times:FACTOR` such as `times:0.5`, `line:RATE` with its unit such as `line:400G`, or `asap`"
)]
pub struct NotAPacing(String);

impl FromStr for Pacing {
    type Err = NotAPacing;

    fn from_str(text: &str) -> Result<Self, NotAPacing> {
        let (name, value) = match text.trim().split_once(':') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (text.trim(), None),
        };
        match (name, value) {
            ("times", None) => Some(Self::TIMES),
            ("times", Some(v)) => parse_ratio(v).map(|(numerator, denominator)| Self::Times { numerator, denominator }),
            ("line", Some(v)) => parse_bps(v).filter(|&bps| bps > 0).map(|bps| Self::Line { bps }),
            ("asap", None) => Some(Self::Asap),
            _ => None,
        }
        .ok_or_else(|| NotAPacing(text.into()))
    }
}

impl fmt::Display for Pacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times { numerator, denominator } if numerator == denominator => f.write_str("times"),
            Self::Times { numerator, denominator } => write!(f, "times:{numerator}/{denominator}"),
            Self::Line { bps } => write!(f, "line:{}", show_bps(*bps)),
            Self::Asap => f.write_str("asap"),
        }
    }
}

impl TryFrom<String> for Pacing {
    type Error = NotAPacing;
    fn try_from(text: String) -> Result<Self, NotAPacing> {
        text.parse()
    }
}

impl From<Pacing> for String {
    fn from(pacing: Pacing) -> Self {
        pacing.to_string()
    }
}

/// Corrections of the times of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct PacingCounts {
    /// Packets with a time before that of the previous packet. They arrive together with it.
    pub out_of_order: u64,
    /// Packets without a time. They arrive together with the previous packet.
    pub without_time: u64,
    /// Gaps that were cut to a millisecond, because the run would take more than five hours of simulated time.
    pub cut_gaps: u64,
}

/// Converts the times of packets into arrival times.
#[derive(Clone, Debug)]
pub struct Pacer {
    pacing: Pacing,
    counts: PacingCounts,
    n_packets: u64,
    /// Original time of the previous packet, or `None` before the first packet with a time.
    last_given_fs: Option<i128>,
    /// Sum of the gaps so far, unscaled, so that only one rounding occurs.
    elapsed_fs: u128,
    /// Bit times on the line so far.
    line_bits: u128,
    /// Total time removed from gaps.
    cut_fs: u128,
    last_arrival_fs: u128,
}

impl Pacer {
    /// A pacer before its first packet.
    pub fn new(pacing: Pacing) -> Self {
        Self {
            pacing,
            counts: PacingCounts::default(),
            n_packets: 0,
            last_given_fs: None,
            elapsed_fs: 0,
            line_bits: 0,
            cut_fs: 0,
            last_arrival_fs: 0,
        }
    }

    /// Arrival time of the next packet's first bit, in femtoseconds since the start of the run.
    ///
    /// `given_fs` is its time from the capture or generator, `len` its length without FCS. Errors: the time does not
    /// fit 64 bits (5.1 hours).
    pub fn arrival_fs(&mut self, given_fs: Option<i128>, len: usize) -> Result<u64, SourceError> {
        let arrival_fs = match self.pacing {
            Pacing::Asap => 0,
            Pacing::Line { bps } => {
                let at = self.line_bits * FS_PER_S / u128::from(bps.max(1));
                self.line_bits += u128::from(eth::line_bits(len));
                at
            }
            Pacing::Times { numerator, denominator } => self.by_times(given_fs, numerator, denominator),
        };
        self.last_arrival_fs = arrival_fs;
        let index = self.n_packets;
        self.n_packets += 1;
        u64::try_from(arrival_fs).map_err(|_| SourceError::TooLate { index })
    }

    fn by_times(&mut self, given_fs: Option<i128>, numerator: u64, denominator: u64) -> u128 {
        match (given_fs, self.last_given_fs) {
            (None, _) => self.counts.without_time += 1,
            (Some(given), None) => self.last_given_fs = Some(given),
            // Keeps the later time as reference, so that one packet out of order delays no others.
            (Some(given), Some(last)) if given < last => self.counts.out_of_order += 1,
            (Some(given), Some(last)) => {
                self.elapsed_fs = self.elapsed_fs.saturating_add(given.abs_diff(last));
                self.last_given_fs = Some(given);
            }
        }
        let (top, bottom) = (u128::from(numerator), u128::from(denominator.max(1)));
        // Split, so that the product fits 128 bits whenever the result does.
        let (whole, part) = (self.elapsed_fs / bottom, self.elapsed_fs % bottom);
        let scaled = whole.saturating_mul(top).saturating_add(part * top / bottom);
        let arrival = scaled.saturating_sub(self.cut_fs);
        if arrival <= HORIZON_FS || arrival <= self.last_arrival_fs + CUT_GAP_FS {
            return arrival;
        }
        self.counts.cut_gaps += 1;
        let cut_arrival = self.last_arrival_fs + CUT_GAP_FS;
        self.cut_fs = scaled - cut_arrival;
        cut_arrival
    }

    /// Corrections made so far.
    pub fn counts(&self) -> &PacingCounts {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i128 = FS_PER_S as i128;

    fn arrivals(pacing: &str, times: &[Option<i128>]) -> (Vec<u64>, PacingCounts) {
        let mut pacer = Pacer::new(pacing.parse().unwrap());
        let arrivals = times.iter().map(|&t| pacer.arrival_fs(t, 60).unwrap()).collect();
        (arrivals, *pacer.counts())
    }

    #[test]
    fn captured_times_start_at_zero_and_never_decrease() {
        let times = [None, Some(1000 * S), Some(1000 * S + 7), Some(999 * S), Some(1000 * S + 9)];
        let (got, counts) = arrivals("times", &times);
        assert_eq!(got, [0, 0, 7, 7, 9]);
        assert_eq!(counts, PacingCounts { out_of_order: 1, without_time: 1, cut_gaps: 0 });
    }

    #[test]
    fn scaling_rounds_once() {
        let times: Vec<_> = (0..4).map(|i| Some(i * 10)).collect();
        assert_eq!(arrivals("times:1/3", &times).0, [0, 3, 6, 10]);
        assert_eq!(arrivals("times:2.5", &times).0, [0, 25, 50, 75]);
    }

    #[test]
    fn a_line_keeps_its_exact_rate() {
        // 672 bit times at 400 Gbit/s are 1.68 ns.
        assert_eq!(arrivals("line:400G", &[None; 4]).0, [0, 1_680_000, 3_360_000, 5_040_000]);
        // At 3 bit/s a frame takes 224 s. At 7 bit/s, seven frames take exactly 672 s.
        assert_eq!(arrivals("line:7bit/s", &[None; 8]).0[7], 672 * FS_PER_S as u64);
        assert_eq!(arrivals("asap", &[Some(5), Some(7)]).0, [0, 0]);
    }

    #[test]
    fn only_the_gap_that_exceeds_the_horizon_is_shortened() {
        let day = 86_400 * S;
        let (got, counts) = arrivals("times", &[Some(0), Some(S), Some(day), Some(day + 5), Some(3 * day)]);
        let ms = CUT_GAP_FS as u64;
        let s = S as u64;
        assert_eq!(got, [0, s, s + ms, s + ms + 5, s + 2 * ms + 5]);
        assert_eq!(counts.cut_gaps, 2);
        let times = [Some(i128::MIN), Some(i128::MAX), Some(i128::MAX)];
        assert_eq!(arrivals("times:18446744073709551615", &times).1.cut_gaps, 1);
    }

    #[test]
    fn text_both_ways() {
        for text in ["times", "times:1/2", "line:400G", "asap"] {
            assert_eq!(text.parse::<Pacing>().unwrap().to_string(), text);
        }
        for text in ["", "line", "line:0", "times:0", "asap:1", "fast"] {
            assert!(text.parse::<Pacing>().is_err(), "{text}");
        }
    }
}
