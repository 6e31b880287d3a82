//! Random numbers that are equal on every host: only integer arithmetic.

/// Random number generator: xoshiro256** (Blackman and Vigna 2018), seeded by SplitMix64.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

/// SplitMix64 (Steele, Lea and Flood 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    /// Stream number `stream` of `seed`. Streams of one seed are independent.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut mixed = stream;
        let mut state = seed ^ split_mix(&mut mixed);
        Self { state: std::array::from_fn(|_| split_mix(&mut state)) }
    }

    /// The stream of `seed` with this name.
    pub fn named(seed: u64, name: &str) -> Self {
        // FNV-1a hashes the name.
        let fold = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Self::new(seed, name.bytes().fold(0xcbf2_9ce4_8422_2325, fold))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let out = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }

    /// A uniform number below `n` (Lemire 2019). `n` must not be 0.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "a random number below 0 does not exist");
        let threshold = n.wrapping_neg() % n; // 2^64 mod n: the number of low halves to reject.
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }

    /// Fills `bytes` with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.bits().to_le_bytes()[..chunk.len()]);
        }
    }

    /// A time to the next event of a Poisson process with mean gap `mean`, in the unit of `mean`.
    pub fn exponential(&mut self, mean: u128) -> u128 {
        // Inverse of the distribution function at (bits + 1) / 2^64, with 32 fraction bits.
        let log = minus_ln_q32(self.bits());
        // Split, so that means up to 2^96 do not overflow.
        (mean >> 32) * log + (((mean & 0xffff_ffff) * log) >> 32)
    }
}

/// -ln((u + 1) / 2^64) with 32 fraction bits, rounded down. The maximum is 44.37.
fn minus_ln_q32(u: u64) -> u128 {
    /// ln 2 with 64 fraction bits.
    const LN_2_Q64: u128 = 0xb172_17f7_d1cf_79ab;
    (((64u128 << 40) - log2_q40(u128::from(u) + 1)) * LN_2_Q64) >> 72
}

/// Logarithm to base 2 of a number from 1 to 2^64, with 40 fraction bits, rounded down.
pub(crate) fn log2_q40(x: u128) -> u128 {
    assert!((1..=1 << 64).contains(&x), "a logarithm of {x}");
    let exponent = 127 - x.leading_zeros(); // x / 2^exponent is in [1, 2).
    // Bit by bit: squaring doubles the logarithm, and an overflow into [2, 4) is a 1 bit.
    let mut mantissa = (x << (64 - exponent)) >> 1; // 63 fraction bits.
    let mut log2_q40 = u128::from(exponent) << 40;
    for bit in (0..40).rev() {
        mantissa = (mantissa * mantissa) >> 63;
        if mantissa >> 64 != 0 {
            log2_q40 |= 1 << bit;
            mantissa >>= 1;
        }
    }
    log2_q40
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_xoshiro256_starstar() {
        // Output of the authors' implementation for the state 1, 2, 3, 4.
        let mut random = Random { state: [1, 2, 3, 4] };
        assert_eq!([random.bits(), random.bits(), random.bits()], [11520, 0, 1_509_978_240]);
        let mut state = 0;
        assert_eq!(split_mix(&mut state), 0xe220_a839_7b1d_cdaf); // The published first output for seed 0.
    }

    #[test]
    fn logarithms_agree_with_floating_point() {
        let mut random = Random::new(1, 0);
        let edges = [0, 1, 2, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1];
        for u in edges.into_iter().chain((0..1000).map(|i| random.bits() >> (i % 64))) {
            let want = -((u as f64 + 1.0) / 2f64.powi(64)).ln();
            let got = minus_ln_q32(u) as f64 / 2f64.powi(32);
            assert!((got - want).abs() < 1e-8, "{u}: {got} {want}");
        }
    }

    #[test]
    fn the_mean_and_spread_are_those_of_the_distribution() {
        let mut random = Random::new(7, 3);
        let (n, mean) = (200_000u128, 1_000_000u128);
        let draws: Vec<u128> = (0..n).map(|_| random.exponential(mean)).collect();
        let found = draws.iter().sum::<u128>() / n;
        let square = draws.iter().map(|d| d * d).sum::<u128>() / n;
        assert!((990_000..1_010_000).contains(&found), "{found}");
        assert!((1_940_000_000_000..2_060_000_000_000).contains(&square), "{square}");
        let below: Vec<u64> = (0..60_000).map(|_| random.below(6)).collect();
        for face in 0..6 {
            let hits = below.iter().filter(|&&b| b == face).count();
            assert!((9_500..10_500).contains(&hits), "{face}: {hits}");
        }
    }
}
