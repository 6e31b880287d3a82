//! Packet lengths.

use crate::eth;
use crate::random::Random;

/// Lengths of packets in bytes, without FCS.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "super::read::IntOrText", into = "String")]
pub enum Sizes {
    /// All packets have this length.
    Fixed(u32),
    /// Uniform from `min` to `max`.
    Uniform {
        /// Shortest.
        min: u32,
        /// Longest.
        max: u32,
    },
    /// One of two lengths.
    Bimodal {
        /// Shorter length.
        small: u32,
        /// Longer length.
        large: u32,
        /// Percentage of packets with the shorter length.
        small_percent: u32,
    },
    /// Frames of 64, 594 and 1518 bytes in the ratio 7:4:1.
    Imix,
    /// These lengths in turn.
    List(Vec<u32>),
}

/// Packet lengths and their frequencies out of 12: frames of 64, 594 and 1518 bytes, 7:4:1.
pub(super) const IMIX: [(u32, u32); 3] = [(60, 7), (590, 4), (1514, 1)];

impl Sizes {
    /// Shortest and longest length; (0, 0) for an empty list.
    pub(super) fn bounds(&self) -> (u32, u32) {
        match self {
            Self::Fixed(size) => (*size, *size),
            Self::Uniform { min, max } => (*min, *max),
            Self::Bimodal { small, large, .. } => (*small.min(large), *small.max(large)),
            Self::Imix => (IMIX[0].0, IMIX[2].0),
            Self::List(sizes) => (sizes.iter().copied().min().unwrap_or(0), sizes.iter().copied().max().unwrap_or(0)),
        }
    }

    /// Draws the length of packet `index`.
    pub(super) fn draw(&self, index: u64, random: &mut Random) -> u32 {
        match self {
            Self::Fixed(size) => *size,
            Self::Uniform { min, max } => min + random.below(u64::from(max - min) + 1) as u32,
            Self::Bimodal { small, large, small_percent } => {
                if random.below(100) < u64::from(*small_percent) {
                    *small
                } else {
                    *large
                }
            }
            Self::Imix => match random.below(12) {
                0..7 => IMIX[0].0,
                7..11 => IMIX[1].0,
                _ => IMIX[2].0,
            },
            Self::List(sizes) => sizes[(index % sizes.len() as u64) as usize],
        }
    }

    /// Mean number of bit times per packet on the line, as a fraction.
    pub(super) fn mean_line_bits(&self) -> (u128, u128) {
        let bits = |size: u32| u128::from(eth::line_bits(size as usize));
        match self {
            Self::Fixed(size) => (bits(*size), 1),
            Self::Uniform { min, max } => ((*min..=*max).map(bits).sum(), u128::from(max - min) + 1),
            Self::Bimodal { small, large, small_percent } => {
                let percent = u128::from(*small_percent);
                (bits(*small) * percent + bits(*large) * (100 - percent), 100)
            }
            Self::Imix => (IMIX.iter().map(|&(size, n)| bits(size) * u128::from(n)).sum(), 12),
            Self::List(sizes) => (sizes.iter().map(|&size| bits(size)).sum(), sizes.len() as u128),
        }
    }
}
