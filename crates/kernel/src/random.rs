//! Named random streams.

/// A deterministic stream of random numbers. The run's seed and a name, the path of the component, determine it.
///
/// Streams of one run share no draws, so a new component cannot change the draws of another.
/// The generator is xoshiro256** (Blackman and Vigna, 2018), seeded by SplitMix64.
#[derive(Clone, Debug)]
pub struct RandomStream {
    state: [u64; 4],
}

impl RandomStream {
    /// The stream called `name` in the run with this `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        // FNV-1a folds the name into the seed.
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        let mut counter = seed ^ hash.rotate_left(32);
        RandomStream { state: std::array::from_fn(|_| split_mix(&mut counter)) }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A uniform number from 0 to `bound - 1`; the bias is below `bound / 2^64`. Panics if the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a draw from an empty range");
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

fn split_mix(counter: &mut u64) -> u64 {
    *counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*counter ^ (*counter >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_name_alone() {
        let draws = |seed, name| {
            let mut stream = RandomStream::new(seed, name);
            [(); 4].map(|()| stream.below(1000))
        };
        assert_eq!(draws(1, "nic.a"), draws(1, "nic.a"));
        assert_ne!(draws(1, "nic.a"), draws(1, "nic.b"));
        assert_ne!(draws(1, "nic.a"), draws(2, "nic.a"));
    }

    /// From the authors' C programs: xoshiro256** from the state 1, 2, 3, 4, and SplitMix64 from 0.
    #[test]
    fn the_generators_match_their_published_code() {
        let mut stream = RandomStream { state: [1, 2, 3, 4] };
        let drawn = [(); 6].map(|()| stream.next_u64());
        let published = [11520, 0, 1509978240, 1215971899390074240, 1216172134540287360, 607988272756665600];
        assert_eq!(drawn, published);
        let mut counter = 0;
        let mixed = [(); 3].map(|()| split_mix(&mut counter));
        assert_eq!(mixed, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
    }

    /// Similar components have names that differ in a letter, and a sweep has seeds that differ by one. Half of the bits of any
    /// two such streams agree, within six standard deviations, and no draw occurs in two streams.
    #[test]
    fn streams_of_similar_names_and_seeds_are_independent() {
        const N_DRAWS: usize = 64;
        let names = (0..40).map(|i| (1, format!("nic.cluster[{}].hpu[{}]", i / 8, i % 8)));
        let seeds = (0..40).map(|seed| (seed, "nic.source".to_owned()));
        let streams: Vec<Vec<u64>> = names
            .chain(seeds)
            .map(|(seed, name)| {
                let mut stream = RandomStream::new(seed, &name);
                (0..N_DRAWS).map(|_| stream.next_u64()).collect()
            })
            .collect();
        let mut all = streams.concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), streams.len() * N_DRAWS, "two draws are equal");
        // 2048 of 4096 bits agree by chance, with a standard deviation of 32.
        for (i, one) in streams.iter().enumerate() {
            for other in &streams[..i] {
                let agreeing: u32 = one.iter().zip(other).map(|(a, b)| (a ^ b).count_zeros()).sum();
                assert!(agreeing.abs_diff(2048) < 6 * 32, "{agreeing} of 4096 bits agree");
            }
        }
    }

    #[test]
    fn draws_fill_their_range() {
        let mut stream = RandomStream::new(7, "range");
        let mut seen = [0u32; 10];
        (0..10_000).for_each(|_| seen[stream.below(10) as usize] += 1);
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
    }
}
