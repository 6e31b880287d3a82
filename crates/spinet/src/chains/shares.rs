//! The shares of tenants while all of them send. Outside that time a share depends on the set of active tenants, not on
//! fairness.

use kernel::Cycle;

/// Maximum number of bins; beyond it, pairs of bins are merged.
const MOST_BINS: usize = 1024;

/// Bytes that left, by tenant, over time. The memory for it is bounded.
#[derive(Clone, Debug)]
pub struct Shares {
    /// Cycles of a bin.
    width: Cycle,
    n_tenants: usize,
    /// Bytes of each tenant in the first bin, then in the second, and so on.
    bytes: Vec<u64>,
}

impl Default for Shares {
    fn default() -> Self {
        Shares::new(0)
    }
}

impl Shares {
    /// No bytes yet.
    pub fn new(n_tenants: usize) -> Shares {
        Shares { width: 1, n_tenants, bytes: Vec::new() }
    }

    /// A packet of a tenant has left.
    pub fn add(&mut self, at: Cycle, tenant: usize, bytes: u64) {
        if tenant >= self.n_tenants {
            return; // The packet has no tenant.
        }
        while at / self.width >= MOST_BINS as Cycle {
            self.halve();
        }
        let slot = (at / self.width) as usize * self.n_tenants + tenant;
        if slot >= self.bytes.len() {
            self.bytes.resize(slot + self.n_tenants - tenant, 0);
        }
        self.bytes[slot] += bytes;
    }

    fn halve(&mut self) {
        let pair = |two: &[u64]| -> Vec<u64> {
            (0..self.n_tenants).map(|tenant| two.iter().skip(tenant).step_by(self.n_tenants).sum()).collect()
        };
        self.bytes = self.bytes.chunks(2 * self.n_tenants).flat_map(pair).collect();
        self.width *= 2;
    }

    /// The span of cycles in which all tenants sent, and the bytes of each tenant in it. `spans` has the first and last
    /// arrival of each tenant that sent. The result lies within all of them, and begins and ends at bounds of bins.
    /// `None` if they have no bin in common.
    pub fn together(&self, spans: &[Option<(Cycle, Cycle)>]) -> Option<((Cycle, Cycle), Vec<u64>)> {
        let sent = || spans.iter().flatten();
        let (first, last) = (sent().map(|span| span.0).max()?, sent().map(|span| span.1).min()?);
        let (begin, end) = (first.div_ceil(self.width), last / self.width);
        if begin >= end {
            return None;
        }
        let span = (begin * self.width, end * self.width);
        let mut found = vec![0; self.n_tenants];
        for (_, bin) in self.bins(span) {
            found.iter_mut().zip(bin).for_each(|(sum, bytes)| *sum += bytes);
        }
        Some((span, found))
    }

    /// First cycle of each bin in a span, and the bytes of each tenant in it. The span begins and ends at bounds of
    /// bins.
    fn bins(&self, (begin, end): (Cycle, Cycle)) -> impl Iterator<Item = (Cycle, &[u64])> {
        let bins = self.bytes.chunks(self.n_tenants.max(1)).enumerate().map(|(i, bin)| (i as Cycle * self.width, bin));
        bins.skip_while(move |&(at, _)| at < begin).take_while(move |&(at, _)| at < end)
    }

    /// Fair share of each tenant in a span (the whole run, if `None`): the bytes that left, divided by the weights at
    /// the time when they left. `weights` lists the weights with their first cycles, in order; tenants without a share
    /// have 0.
    pub fn due(&self, span: Option<(Cycle, Cycle)>, weights: &[(Cycle, Vec<u32>)]) -> Vec<f64> {
        let mut due = vec![0.0; self.n_tenants];
        for (begin, bin) in self.bins(span.unwrap_or((0, Cycle::MAX))) {
            let bytes = bin.iter().sum::<u64>() as f64;
            // The order within a bin is unknown, so bytes are divided by time.
            for (i, (from, weights_then)) in weights.iter().enumerate() {
                let to = weights.get(i + 1).map_or(Cycle::MAX, |next| next.0);
                let overlap = to.min(begin + self.width).saturating_sub((*from).max(begin));
                let total: u64 = weights_then.iter().map(|&weight| u64::from(weight)).sum();
                if overlap > 0 && total > 0 {
                    let part = bytes * overlap as f64 / (self.width as f64 * total as f64);
                    due.iter_mut().zip(weights_then).for_each(|(due, &weight)| *due += part * f64::from(weight));
                }
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Two tenants whose packets of 100 bytes leave every `every[i]` cycles within `spans[i]`.
    fn check(every: [Cycle; 2], spans: [(Cycle, Cycle); 2], want: Expect) {
        let mut shares = Shares::new(2);
        for at in 0..spans[0].1.max(spans[1].1) {
            for i in (0..2).filter(|&i| (spans[i].0..=spans[i].1).contains(&at) && at % every[i] == 0) {
                shares.add(at, i, 100);
            }
        }
        want.assert_eq(&format!("{:?}", shares.together(&spans.map(Some))));
    }

    #[test]
    fn only_the_time_counts_in_which_all_send() {
        check([10, 20], [(0, 500), (100, 300)], expect!["Some(((100, 300), [2000, 1000]))"]);
        check([10, 20], [(0, 500_000), (100_000, 300_000)], expect!["Some(((100352, 299520), [1991600, 995800]))"]);
    }

    /// Two tenants that alternately get 100 bytes a cycle; their weights from these cycles on.
    fn check_due(until: Cycle, weights: &[(Cycle, [u32; 2])], want: Expect) {
        let mut shares = Shares::new(2);
        (0..until).for_each(|at| shares.add(at, (at % 2) as usize, 100));
        let weights: Vec<_> = weights.iter().map(|(from, weights)| (*from, weights.to_vec())).collect();
        want.assert_eq(&format!("{:.1?} {:.1?}", shares.due(None, &weights), shares.due(Some((100, 200)), &weights)));
    }

    #[test]
    fn what_is_due_follows_the_weights_as_they_were() {
        check_due(400, &[(0, [1, 1])], expect!["[20000.0, 20000.0] [5000.0, 5000.0]"]);
        check_due(400, &[(0, [1, 1]), (200, [3, 1])], expect!["[25000.0, 15000.0] [5000.0, 5000.0]"]);
        check_due(400, &[(0, [1, 1]), (150, [3, 1])], expect!["[26250.0, 13750.0] [6250.0, 3750.0]"]);
        check_due(400, &[(0, [2, 0])], expect!["[40000.0, 0.0] [10000.0, 0.0]"]);
        // Bins of many cycles: a change within one counts by time.
        check_due(400_000, &[(0, [1, 1]), (200_001, [3, 1])], expect!["[24999975.0, 15000025.0] [0.0, 0.0]"]);
    }

    #[test]
    fn who_never_sent_together_shared_nothing() {
        check([10, 10], [(0, 100), (100, 300)], expect!["None"]);
        check([10, 10], [(0, 100), (200, 300)], expect!["None"]);
    }

    #[test]
    fn who_sent_nothing_does_not_count() {
        let mut shares = Shares::new(3);
        shares.add(7, 1, 60);
        shares.add(7, 5, 60);
        expect!["Some(((0, 9), [0, 60, 0]))"].assert_eq(&format!("{:?}", shares.together(&[None, Some((0, 9)), None])));
        expect!["None"].assert_eq(&format!("{:?}", shares.together(&[None, None, None])));
    }
}
