//! Zipf's distribution: rank r has a frequency proportional to r^-theta.

use crate::random::{Random, log2_q40};

/// Ranks from 1 to n, drawn by their weights.
///
/// Weights are computed with integers, so they are equal on every machine; floating-point powers depend on the
/// machine's library. They have 43 fraction bits, so that the sum of 2^20 of them fits 64 bits.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    /// Sum of the weights up to each rank.
    cumulative: Vec<u64>,
}

/// Maximum number of ranks.
pub(super) const MAX_RANKS: u32 = 1 << 20;

/// Fraction bits of a weight.
const WEIGHT_BITS: u32 = 43;

impl Zipf {
    /// The distribution over ranks 1 to `n`, which is at most [`MAX_RANKS`]. `theta` is in thousandths; 0 is uniform.
    pub fn new(n: u32, theta_milli: u32) -> Self {
        assert!((1..=MAX_RANKS).contains(&n), "{n} ranks");
        let powers = Powers::new();
        let mut sum = 0;
        let weights = (1..=n).map(|rank| {
            let exponent_q40 = log2_q40(rank.into()) * u128::from(theta_milli) / 1000;
            sum += powers.of_half_q43(exponent_q40);
            sum
        });
        Zipf { cumulative: weights.collect() }
    }

    /// Draws a rank, from 0 for the most frequent.
    pub fn draw(&self, random: &mut Random) -> u32 {
        let total = self.cumulative[self.cumulative.len() - 1];
        let point = random.below(total);
        self.cumulative.partition_point(|&sum| sum <= point) as u32
    }
}

/// Powers of one half.
struct Powers {
    /// 2^-(1/2), 2^-(1/4), ..., with 63 fraction bits.
    roots: [u64; 40],
}

impl Powers {
    fn new() -> Self {
        let mut root: u128 = 1 << 62; // One half.
        Powers {
            roots: std::array::from_fn(|_| {
                root = (root << 63).isqrt();
                root as u64
            }),
        }
    }

    /// 2^-x for `x` with 40 fraction bits; the result has 43 fraction bits.
    fn of_half_q43(&self, x_q40: u128) -> u64 {
        let mut power: u128 = 1 << 63;
        for (bit, &root) in (0..40).rev().zip(&self.roots) {
            if x_q40 >> bit & 1 != 0 {
                power = (power * u128::from(root)) >> 63;
            }
        }
        let shift = (x_q40 >> 40) + u128::from(63 - WEIGHT_BITS);
        if shift < 128 { (power >> shift) as u64 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn weights_agree_with_floating_point() {
        for theta_milli in [0, 500, 990, 1000, 1100, 2500] {
            let zipf = Zipf::new(1000, theta_milli);
            let mut before = 0;
            for (rank, &sum) in (1..).zip(&zipf.cumulative) {
                let want = f64::powf(f64::from(rank), -f64::from(theta_milli) / 1000.0);
                let got = (sum - before) as f64 / 2f64.powi(43);
                assert!((got - want).abs() < 1e-11, "{rank} {theta_milli}: {got} {want}");
                before = sum;
            }
        }
    }

    #[test]
    fn the_sum_of_the_largest_table_fits_64_bits() {
        let zipf = Zipf::new(MAX_RANKS, 0);
        assert_eq!(zipf.cumulative.last(), Some(&(1 << 63)));
        assert_eq!(Zipf::new(3, 10_000_000).cumulative, [1 << 43; 3], "other ranks have weight 0");
    }

    #[test]
    fn draws_follow_the_weights() {
        let (zipf, mut random) = (Zipf::new(1000, 1100), Random::new(1, 0));
        let mut hits = vec![0; 1000];
        for _ in 0..100_000 {
            hits[zipf.draw(&mut random) as usize] += 1;
        }
        // 1 / zeta_1000(1.1) = 0.1790 for the first rank; 2^-1.1 = 0.4665 of that for the second.
        expect!["[18184, 8411, 5281, 3906]"].assert_eq(&format!("{:?}", &hits[..4]));
    }
}
