//! Tenants that share a cluster's DMA by a policy.

use crate::policy::TenantTable;
use crate::protocol::Sender;
use blocks::policy::RoundRobinTree;
use kernel::Cycle;
use std::collections::VecDeque;

/// The transfers of cores that wait for a cluster's DMA, by tenant.
///
/// Fairness: see [`TenantTable`]. Cores of a tenant take turns after each part.
/// Source:   assumed, and our own. The RTL's arbiter does not know tenants. The choice is made among the registers of the
///           cores, in front of that arbiter, from what the cores' drivers hold: their tasks with tenant, weight and rights.
pub(super) struct DmaShares {
    /// For each core, the place of the tenant whose transfer waits. `None` also if the core runs no handler.
    places: Vec<Option<usize>>,
    /// For each tenant, by place: the turn among its cores.
    turns: Vec<RoundRobinTree>,
    /// For each transfer of a core in the engine, in order, the number of its tenant.
    in_engine: VecDeque<Option<u32>>,
}

impl DmaShares {
    pub fn new(n_cores: u32) -> Self {
        DmaShares { places: vec![None; n_cores as usize], turns: Vec::new(), in_engine: VecDeque::new() }
    }

    /// Bit set of the cores that have a waiting transfer of the tenant at place `at`. `None` stands for all tenants.
    fn cores(&self, at: Option<usize>) -> u64 {
        let waits = |place: &Option<usize>| place.is_some() && (at.is_none() || *place == at);
        self.places.iter().enumerate().filter(|(_, place)| waits(place)).fold(0, |set, (i, _)| set | 1 << i)
    }

    /// Bit set of the cores that wait with a transfer of a tenant.
    pub fn waiting(&self) -> u64 {
        self.cores(None)
    }

    /// Core `i` begins to wait with a transfer of this tenant.
    pub fn add(&mut self, now: Cycle, i: usize, sender: Sender, tenants: &mut TenantTable) {
        let place = tenants.place(sender, sender.io.cluster_bps);
        if place == self.turns.len() {
            self.turns.push(Default::default());
        }
        self.places[i] = Some(place);
        tenants.add(now, place);
    }

    /// Core `i` no longer waits, without a part that starts.
    pub fn remove(&mut self, i: usize, tenants: &mut TenantTable) {
        if let Some(place) = self.places[i].take()
            && self.cores(Some(place)) == 0
        {
            tenants.clear(place);
        }
    }

    /// The core that the policy chooses. `bytes` returns the size of a core's next part.
    pub fn choose(&mut self, now: Cycle, bytes: impl Fn(usize) -> u32, tenants: &mut TenantTable) -> Option<u32> {
        let next = |place: usize| self.turns[place].choose(self.cores(Some(place)));
        let place =
            tenants.choose(now, |place| bytes(next(place).expect("a tenant that waits has a core") as usize))?;
        let of_tenant = self.cores(Some(place));
        self.turns[place].take(of_tenant)
    }

    /// The engine takes a part of core `i`.
    pub fn start(&mut self, now: Cycle, i: usize, bytes: u32, is_last: bool, tenants: &mut TenantTable) {
        let Some(place) = self.places[i] else { return self.in_engine.push_back(None) };
        if is_last {
            self.places[i] = None;
        }
        tenants.start(now, place, bytes, self.cores(Some(place)) != 0);
        self.in_engine.push_back(Some(tenants.tenants()[place].number));
    }

    /// The oldest transfer of a core in the engine ended.
    pub fn ended(&mut self, now: Cycle, tenants: &mut TenantTable) {
        if let Some(number) = self.in_engine.pop_front().expect("a transfer in the engine") {
            tenants.ended(now, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::IoSchedule;
    use crate::protocol::Weight;

    /// The order in which tenants start parts. `tenants` has one letter for each core: the tenant of its transfers. Each
    /// transfer is one part, whose size is the tenant's entry in `bytes`. All cores always wait.
    fn run(schedule: IoSchedule, tenants: &str, weights: [u32; 2], bytes: [u32; 2], parts: usize) -> String {
        let mut table = TenantTable::new(schedule, None, 1_000_000_000);
        let mut shares = DmaShares::new(tenants.len() as u32);
        let of: Vec<usize> = tenants.bytes().map(|name| usize::from(name - b'a')).collect();
        let sender =
            |i: usize| Sender { tenant: 7 + of[i] as u32, weight: Weight(weights[of[i]]), ..Sender::default() };
        (0..of.len()).for_each(|i| shares.add(0, i, sender(i), &mut table));
        let mut order = String::new();
        for now in 1..=parts as u64 {
            let i = shares.choose(now, |i| bytes[of[i]], &mut table).expect("cores wait") as usize;
            shares.start(now, i, bytes[of[i]], true, &mut table);
            shares.ended(now, &mut table);
            shares.add(now, i, sender(i), &mut table);
            order.push(tenants.as_bytes()[i] as char);
        }
        order
    }

    #[test]
    fn tenants_take_turns_however_many_cores_they_have() {
        let order = run(IoSchedule::RoundRobin, "aaab", [1, 1], [64, 64], 6);
        assert_eq!(order, "ababab");
    }

    #[test]
    fn parts_follow_weights() {
        // A part adds 100 / 3 to a's virtual time and 100 to b's. So after each part of b, a starts three parts.
        let order = run(IoSchedule::WeightedFair, "aaab", [3, 1], [100, 100], 12);
        assert_eq!(order, "abaaabaaabaa");
    }

    #[test]
    fn bytes_follow_weights_whatever_the_size_of_parts() {
        let order = run(IoSchedule::WeightedFair, "ab", [1, 1], [256, 64], 10);
        assert_eq!(order, "abbbbabbbb");
        // In round-robin order, a gets four of five bytes.
        let order = run(IoSchedule::RoundRobin, "ab", [1, 1], [256, 64], 4);
        assert_eq!(order, "abab");
    }

    #[test]
    fn cores_of_a_tenant_take_turns() {
        let mut table = TenantTable::new(IoSchedule::RoundRobin, None, 1_000_000_000);
        let mut shares = DmaShares::new(4);
        let mut add = |shares: &mut DmaShares, i: usize| {
            let sender = Sender { tenant: i as u32 % 2, ..Sender::default() };
            shares.add(0, i, sender, &mut table);
        };
        (0..4).for_each(|i| add(&mut shares, i));
        let mut order = Vec::new();
        for now in 1..=8 {
            let i = shares.choose(now, |_| 64, &mut table).expect("cores wait") as usize;
            // A part that is not the last one of its transfer: the core stays.
            shares.start(now, i, 64, false, &mut table);
            order.push(i);
        }
        // One tenant has the cores 0 and 2, the other one 1 and 3. The tree's pointer begins at core 0.
        assert_eq!(order, [0, 1, 2, 1, 0, 3, 2, 1]);
    }

    #[test]
    fn a_core_that_is_ended_leaves_the_others() {
        let mut table = TenantTable::new(IoSchedule::RoundRobin, None, 1_000_000_000);
        let mut shares = DmaShares::new(3);
        for (i, tenant) in [(0, 1), (1, 1), (2, 2)] {
            shares.add(0, i, Sender { tenant, ..Sender::default() }, &mut table);
        }
        shares.remove(2, &mut table);
        shares.remove(0, &mut table);
        assert_eq!(shares.waiting(), 0b10);
        assert_eq!(shares.choose(1, |_| 64, &mut table), Some(1));
    }
}
