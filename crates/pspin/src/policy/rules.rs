//! The card's own rules.

use super::{Choice, Tenant, TenantPolicy};
use crate::protocol::PRIORITIES;
use kernel::Cycle;

/// The first tenant that waits, from this place on.
fn from(first: usize, tenants: &[Tenant]) -> Option<usize> {
    let waits = |&place: &usize| tenants[place].waits;
    (first..tenants.len()).find(waits).or_else(|| (0..first.min(tenants.len())).find(waits))
}

fn start(place: Option<usize>) -> Choice {
    place.map_or(Choice::Nobody, Choice::Start)
}

/// Tenants take turns: one task or part of a command each.
#[derive(Clone, Copy, Default, Debug)]
pub struct RoundRobin {
    /// The place that comes first.
    first: usize,
}

impl TenantPolicy for RoundRobin {
    fn choose(&mut self, _now: Cycle, tenants: &[Tenant]) -> Choice {
        start(from(self.first, tenants))
    }

    fn started(&mut self, _now: Cycle, place: usize, tenants: &[Tenant]) {
        self.first = if place + 1 == tenants.len() { 0 } else { place + 1 };
    }
}

/// Tenants take turns, and each has as many tasks in a row as its weight.
#[derive(Clone, Copy, Default, Debug)]
pub struct WeightedRoundRobin {
    turns: RoundRobin,
    /// The place that was served last, and how often it may still be served in a row.
    in_a_row: (usize, u32),
}

impl TenantPolicy for WeightedRoundRobin {
    fn choose(&mut self, now: Cycle, tenants: &[Tenant]) -> Choice {
        match self.in_a_row {
            (last, credit) if credit > 0 && tenants[last].waits => Choice::Start(last),
            _ => self.turns.choose(now, tenants),
        }
    }

    fn started(&mut self, now: Cycle, place: usize, tenants: &[Tenant]) {
        let (last, credit) = self.in_a_row;
        if credit > 0 && place == last {
            self.in_a_row = (last, credit - 1);
            return;
        }
        self.in_a_row = (place, tenants[place].weight - 1);
        self.turns.started(now, place, tenants);
    }
}

/// The tenant with the least use for its weight while it was active; equal ones go by number.
///
/// Source:   Khalilov et al., *OSMOSIS*, USENIX ATC 2024: BVT, and with a limit WLBVT.
#[derive(Clone, Copy, Debug)]
pub struct BorrowedTime {
    /// Tasks that all clusters together hold. A tenant has at most its share by weight among the queued
    /// tenants, rounded up.
    capacity: Option<u64>,
}

impl BorrowedTime {
    /// Without a limit.
    pub fn unlimited() -> Self {
        BorrowedTime { capacity: None }
    }

    /// With each tenant's limit, for clusters that hold `capacity` tasks.
    pub fn limited(capacity: u32) -> Self {
        BorrowedTime { capacity: Some(capacity.into()) }
    }
}

impl TenantPolicy for BorrowedTime {
    fn choose(&mut self, _now: Cycle, tenants: &[Tenant]) -> Choice {
        let weights: u64 = tenants.iter().filter(|it| it.is_queued).map(|it| u64::from(it.weight)).sum();
        let may = |tenant: &Tenant| {
            // ceil(capacity * weight / weights)
            let limit = self.capacity.map(|capacity| (capacity * u64::from(tenant.weight)).div_ceil(weights.max(1)));
            tenant.waits && limit.is_none_or(|limit| u64::from(tenant.in_service) < limit)
        };
        // Tasks in service per weight, mean over the active cycles, as a fraction.
        let use_of = |tenant: &Tenant| {
            let cycles = (tenant.active_cycles * u64::from(tenant.weight)).max(1);
            (u128::from(tenant.used), u128::from(cycles))
        };
        let allowed = tenants.iter().enumerate().filter(|(_, tenant)| may(tenant));
        let least = allowed.min_by(|(_, a), (_, b)| {
            let ((used, cycles), (others, others_cycles)) = (use_of(a), use_of(b));
            (used * others_cycles).cmp(&(others * cycles)).then(a.number.cmp(&b.number))
        });
        start(least.map(|(place, _)| place))
    }

    fn holds_back(&self) -> bool {
        self.capacity.is_some()
    }
}

/// The part of a tenant's virtual time that a byte adds at weight 1. It is large, so that division by a weight loses little.
const BYTE: u64 = 1 << 20;

/// The tenant with the fewest bytes for its weight.
///
/// Source:   start-time fair queueing, Goyal et al., SIGCOMM 1996.
#[derive(Clone, Default, Debug)]
pub struct WeightedFair {
    /// By place: the tenant's number, and its virtual time, bytes divided by its weight, times [`BYTE`]. A tenant that waits after a pause
    /// begins at the level of its priority, so that the pause earns it nothing.
    served: Vec<(u32, u64)>,
    /// For each priority, the level: the virtual time of the tenant that was served last, before its bytes were added.
    level: [u64; PRIORITIES],
}

impl WeightedFair {
    fn served(&mut self, place: usize, number: u32) -> &mut u64 {
        let n = self.served.len().max(place + 1);
        self.served.resize(n, (number, 0));
        let served = &mut self.served[place];
        if served.0 != number {
            *served = (number, 0);
        }
        &mut served.1
    }
}

impl TenantPolicy for WeightedFair {
    fn choose(&mut self, _now: Cycle, tenants: &[Tenant]) -> Choice {
        let waiting = (0..tenants.len()).filter(|&place| tenants[place].waits);
        start(waiting.min_by_key(|&place| (self.served[place].1, place)))
    }

    fn began(&mut self, _now: Cycle, place: usize, tenants: &[Tenant]) {
        let Tenant { number, priority, .. } = tenants[place];
        let level = self.level[usize::from(priority)];
        let served = self.served(place, number);
        *served = level.max(*served);
    }

    fn started(&mut self, _now: Cycle, place: usize, tenants: &[Tenant]) {
        let Tenant { number, weight, priority, bytes, .. } = tenants[place];
        let served = self.served(place, number);
        let before = *served;
        *served += u64::from(bytes) * BYTE / u64::from(weight);
        self.level[usize::from(priority)] = before;
    }
}

/// The tenants of the highest priority go first, and among them those that `P` chooses.
#[derive(Clone, Default, Debug)]
pub struct ByPriority<P> {
    among: P,
    /// Copies of the tenants, in which only the most urgent ones wait.
    urgent: Vec<Tenant>,
}

impl<P: TenantPolicy> TenantPolicy for ByPriority<P> {
    fn choose(&mut self, now: Cycle, tenants: &[Tenant]) -> Choice {
        let highest = tenants.iter().filter(|tenant| tenant.waits).map(|tenant| tenant.priority).max();
        self.urgent.clear();
        self.urgent.extend_from_slice(tenants);
        self.urgent.iter_mut().for_each(|tenant| tenant.waits &= Some(tenant.priority) == highest);
        self.among.choose(now, &self.urgent)
    }

    fn began(&mut self, now: Cycle, place: usize, tenants: &[Tenant]) {
        self.among.began(now, place, tenants);
    }

    fn started(&mut self, now: Cycle, place: usize, tenants: &[Tenant]) {
        self.among.started(now, place, tenants);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(number: u32, weight: u32) -> Tenant {
        Tenant { number, weight, waits: true, is_queued: true, ..Tenant::default() }
    }

    #[test]
    fn the_least_use_for_its_weight_is_next() {
        let mut policy = BorrowedTime::unlimited();
        let mut tenants = [queued(1, 1), queued(2, 3)];
        assert_eq!(policy.choose(0, &tenants), Choice::Start(0)); // without use so far, the lowest number
        (tenants[0].used, tenants[0].active_cycles) = (20, 10);
        (tenants[1].used, tenants[1].active_cycles) = (50, 10);
        assert_eq!(policy.choose(0, &tenants), Choice::Start(1)); // 5 / 3 < 2 / 1
        tenants[1].waits = false;
        assert_eq!(policy.choose(0, &tenants), Choice::Start(0));
    }

    #[test]
    fn the_limit_is_the_weights_part_of_the_capacity_rounded_up() {
        for (weights, limits) in [([1, 1], [18, 18]), ([3, 1], [27, 9]), ([2, 3], [15, 22])] {
            for (place, limit) in limits.into_iter().enumerate() {
                for (in_service, may) in [(limit - 1, true), (limit, false)] {
                    let mut tenants = [queued(0, weights[0]), queued(1, weights[1])];
                    tenants[1 - place].waits = false;
                    tenants[place].in_service = in_service;
                    let choice = BorrowedTime::limited(36).choose(0, &tenants);
                    assert_eq!(choice == Choice::Start(place), may, "{weights:?} {place} {in_service}");
                }
            }
        }
    }

    #[test]
    fn a_tenant_alone_may_have_all() {
        let mut tenants = [queued(1, 1), Tenant { is_queued: false, waits: false, ..queued(2, 9) }];
        for (in_service, want) in [(35, Choice::Start(0)), (36, Choice::Nobody)] {
            tenants[0].in_service = in_service;
            assert_eq!(BorrowedTime::limited(36).choose(0, &tenants), want);
        }
    }

    #[test]
    fn a_pause_earns_nothing_and_bytes_count_by_weight() {
        let mut policy = WeightedFair::default();
        let tenants = [1, 2, 1].map(|weight| Tenant { bytes: 100, ..queued(weight, weight) });
        let mut order = Vec::new();
        policy.began(0, 0, &tenants);
        policy.began(0, 1, &tenants);
        for now in 0..6 {
            let Choice::Start(place) = policy.choose(now, &tenants[..2]) else { panic!("two wait") };
            policy.started(now, place, &tenants);
            order.push(place);
        }
        assert_eq!(order, [0, 1, 1, 0, 1, 1]);
        policy.began(6, 2, &tenants); // As if it had been there all the time.
        assert_eq!(policy.served[2].1, policy.level[0]);
    }
}
