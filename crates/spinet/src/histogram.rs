//! Percentiles of any number of integers in little memory.

/// Counts integers: exactly below 2048, above that with an error of at most one in 1024.
///
/// Every power of two is split into 1024 equal buckets, as in HdrHistogram (Gil Tene, public domain).
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// Each power of two has 2^`BITS` buckets.
const BITS: u32 = 10;

impl Histogram {
    /// Counts `value`.
    pub fn add(&mut self, value: u64) {
        let bucket = bucket(value);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += 1;
        self.sum += u128::from(value);
    }

    /// Adds all values of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        if other.buckets.len() > self.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(mine, theirs)| *mine += theirs);
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum += other.sum;
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all values, exact.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The smallest value, exact; 0 if there is none.
    pub fn min(&self) -> u64 {
        self.min
    }

    /// The largest value, exact; 0 if there is none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The smallest value such that at least `percent` percent of the values are not larger; 0 without values.
    pub fn percentile(&self, percent: u32) -> u64 {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100).max(1) as u64;
        let mut seen = 0;
        for (index, n) in self.buckets.iter().enumerate() {
            seen += n;
            if seen >= rank {
                return first_of(index).clamp(self.min, self.max);
            }
        }
        0
    }
}

#[inline]
fn bucket(value: u64) -> usize {
    if value < 2 << BITS {
        return value as usize; // Almost always.
    }
    let shift = u64::BITS - value.leading_zeros() - (BITS + 1);
    ((shift as usize) << BITS) + (value >> shift) as usize
}

/// The smallest value of a bucket.
fn first_of(bucket: usize) -> u64 {
    let shift = (bucket >> BITS).saturating_sub(1) as u32;
    let in_power = bucket - ((shift as usize) << BITS);
    (in_power as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bucket_is_within_a_thousandth_of_its_values(value: u64) {
            let first = first_of(bucket(value));
            prop_assert!(first <= value);
            prop_assert!(value - first <= value / 1024);
        }

        #[test]
        fn percentiles_are_those_of_the_sorted_values(
            mut values in prop::collection::vec(0u64..5000, 1..200), percent in 1u32..=100,
        ) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| histogram.add(value));
            values.sort_unstable();
            let want = values[(values.len() * percent as usize).div_ceil(100) - 1];
            let got = histogram.percentile(percent);
            prop_assert!(got <= want && want - got <= want / 1024, "{got} for {want}");
            prop_assert_eq!(histogram.min(), values[0]);
            prop_assert_eq!(histogram.max(), values[values.len() - 1]);
            prop_assert_eq!(histogram.sum(), values.iter().map(|&v| u128::from(v)).sum::<u128>());
        }
    }

    #[test]
    fn nothing_counted_gives_zeros() {
        let none = Histogram::default();
        assert_eq!((none.count(), none.min(), none.max(), none.percentile(99)), (0, 0, 0, 0));
    }

    #[test]
    fn a_merged_histogram_counts_the_values_of_both() {
        let of = |values: &[u64]| {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| histogram.add(value));
            histogram
        };
        let (all, mut merged) = (of(&[7, 90_000, 3, 12, 5000]), of(&[7, 12]));
        merged.merge(&of(&[3, 5000, 90_000]));
        merged.merge(&Histogram::default());
        let numbers =
            |it: &Histogram| (it.count(), it.sum(), it.min(), it.max(), [1, 50, 80, 99].map(|p| it.percentile(p)));
        assert_eq!(numbers(&merged), numbers(&all));
        let mut empty = Histogram::default();
        empty.merge(&all);
        assert_eq!(numbers(&empty), numbers(&all));
    }
}
