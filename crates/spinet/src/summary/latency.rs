//! Times of packets in the summary: mean, percentiles, and parts.

use super::ns;
use crate::histogram::Histogram;
use kernel::Clock;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Times of packets.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LatencySummary {
    /// Number of packets.
    pub count: u64,
    /// Minimum.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// 5th percentile.
    pub p5: f64,
    /// 50th percentile.
    pub median: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
    /// Parts of the latency in the order of time. Their means add up to the mean latency. Empty for wired cards.
    #[schemars(with = "BTreeMap<String, Spread>")]
    pub split: Split,
}

impl LatencySummary {
    /// Times in cycles; `None` if there are none.
    pub(crate) fn of(clock: Clock, cycles: &Histogram, split: Split) -> Option<Self> {
        let at = |percent| ns(clock, cycles.percentile(percent) as f64);
        let Spread { mean, p99, max } = Spread::of(clock, cycles)?;
        let (count, min) = (cycles.count(), ns(clock, cycles.min() as f64));
        Some(LatencySummary { count, min, mean, p5: at(5), median: at(50), p99, max, split })
    }

    /// Exact times in femtoseconds; `None` if there are none.
    pub(crate) fn exact(mut fs: Vec<u64>) -> Option<Self> {
        fs.sort_unstable();
        let (first, last) = (*fs.first()?, *fs.last()?);
        // The same definition as `Histogram::percentile`.
        let at = |percent: usize| fs[(fs.len() * percent).div_ceil(100).max(1) - 1] as f64 / 1e6;
        Some(LatencySummary {
            count: fs.len() as u64,
            min: first as f64 / 1e6,
            mean: fs.iter().map(|&fs| fs as f64).sum::<f64>() / fs.len() as f64 / 1e6,
            p5: at(5),
            median: at(50),
            p99: at(99),
            max: last as f64 / 1e6,
            split: Split::default(),
        })
    }
}

/// Mean, 99th percentile and maximum of times.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

impl Spread {
    /// Times in cycles; `None` if there are none.
    pub(crate) fn of(clock: Clock, cycles: &Histogram) -> Option<Self> {
        (cycles.count() > 0).then(|| Spread {
            mean: ns(clock, cycles.sum() as f64 / cycles.count() as f64),
            p99: ns(clock, cycles.percentile(99) as f64),
            max: ns(clock, cycles.max() as f64),
        })
    }
}

/// Parts of a latency, in the order of time.
#[derive(Clone, Debug, Default)]
pub struct Split(pub Vec<(&'static str, Spread)>);

impl Split {
    /// Parts in cycles; parts without a time are left out.
    pub(crate) fn of<'a>(clock: Clock, parts: impl IntoIterator<Item = (&'static str, &'a Histogram)>) -> Self {
        Split(parts.into_iter().filter_map(|(name, part)| Some((name, Spread::of(clock, part)?))).collect())
    }
}

impl Serialize for Split {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, part)| (name, part)))
    }
}
