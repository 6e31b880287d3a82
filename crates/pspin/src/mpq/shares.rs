//! Tasks of tenants: each tenant's use of the HPUs since its first task, and how fair the use of all is.

use crate::policy::Tenant;
use crate::protocol::Weight;
use kernel::Cycle;

/// Packets and tasks of a queue, for its tenant's account.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Demand {
    /// Packets wait in the queue, including a packet whose header or completion handler runs.
    pub is_queued: bool,
    /// Tasks sent without feedback so far.
    pub in_flight: u32,
}

impl Demand {
    const NONE: Demand = Demand { is_queued: false, in_flight: 0 };
}

/// A tenant's use of the HPUs.
#[derive(Debug)]
struct Account {
    tenant: u32,
    weight: u64,
    /// Queues with packets.
    queued: u32,
    in_flight: u32,
    /// Sum over cycles of the tasks in flight.
    used: u64,
    /// Cycles with packets or tasks.
    active: u64,
    /// Cycle up to which `used` and `active` are complete.
    since: Cycle,
}

impl Account {
    fn is_active(&self) -> bool {
        self.queued > 0 || self.in_flight > 0
    }

    fn settle(&mut self, now: Cycle) {
        let cycles = now - self.since;
        self.used += cycles * u64::from(self.in_flight);
        self.active += if self.is_active() { cycles } else { 0 };
        self.since = now;
    }
}

/// The accounts of all tenants.
///
/// Timing:   an account at cycle t contains the cycles before t.
/// Source:   Khalilov et al., *OSMOSIS*, USENIX ATC 2024, and its code (miharulidze/pspin, branch `osmosis_fmqs`): mean
///           tasks in flight while active, over the tenant's whole life; the limit of WLBVT. A queue of the original is
///           a tenant here.
pub struct Shares {
    accounts: Vec<Account>,
    /// For each queue, the index of its account and what was last reported.
    of: Vec<Option<(usize, Demand)>>,
    now: Cycle,
    /// Cycle up to which the two sums below are complete.
    since: Cycle,
    /// Cycles in which several tenants had packets in queues.
    contended: u64,
    /// Sum of Jain's index over these cycles, in millionths.
    jain_millionths: u64,
}

impl Shares {
    /// No accounts, for `n_queues` queues.
    pub fn new(n_queues: usize) -> Self {
        Shares { accounts: Vec::new(), of: vec![None; n_queues], now: 0, since: 0, contended: 0, jain_millionths: 0 }
    }

    /// Begins a cycle.
    pub fn begin_cycle(&mut self, now: Cycle) {
        self.now = now;
    }

    /// Records packets and tasks of queue `q`, whose message belongs to this tenant. Returns true if they changed.
    pub fn set(&mut self, q: usize, tenant: u32, weight: Weight, demand: Demand) -> bool {
        let before = self.of[q];
        match before {
            None if demand == Demand::NONE => return false,
            Some((index, old)) if old == demand && self.accounts[index].tenant == tenant => return false,
            _ => {}
        }
        self.settle_fairness();
        if let Some((index, old)) = before {
            let account = &mut self.accounts[index];
            account.settle(self.now);
            account.queued -= u32::from(old.is_queued);
            account.in_flight -= old.in_flight;
        }
        self.of[q] = None;
        if demand != Demand::NONE {
            let index = self.account(tenant);
            let account = &mut self.accounts[index];
            account.settle(self.now);
            account.weight = weight.0.into();
            account.queued += u32::from(demand.is_queued);
            account.in_flight += demand.in_flight;
            self.of[q] = Some((index, demand));
        }
        true
    }

    fn account(&mut self, tenant: u32) -> usize {
        if let Some(index) = self.accounts.iter().position(|account| account.tenant == tenant) {
            return index;
        }
        let new = Account { tenant, weight: 1, queued: 0, in_flight: 0, used: 0, active: 0, since: self.now };
        // A queue uses at most one account, and this queue uses none yet. So if there are as many accounts as queues, at
        // least one account is idle.
        let idle = self.accounts.iter().position(|account| !account.is_active());
        match idle.filter(|_| self.accounts.len() >= self.of.len()) {
            Some(index) => {
                self.accounts[index] = new;
                index
            }
            None => {
                self.accounts.push(new);
                self.accounts.len() - 1
            }
        }
    }

    /// Updates the use of these tenants. Appends tenants that are missing and use HPUs or have packets.
    pub fn complete(&mut self, tenants: &mut Vec<Tenant>) {
        let n = tenants.len();
        for tenant in &mut *tenants {
            (tenant.is_queued, tenant.in_service, tenant.used, tenant.active_cycles) = (false, 0, 0, 0);
        }
        for account in &mut self.accounts {
            account.settle(self.now);
            let place = match tenants[..n].iter().position(|tenant| tenant.number == account.tenant) {
                Some(place) => place,
                None if account.is_active() => {
                    let weight = account.weight as u32;
                    tenants.push(Tenant { number: account.tenant, weight, ..Tenant::default() });
                    tenants.len() - 1
                }
                None => continue,
            };
            let tenant = &mut tenants[place];
            (tenant.is_queued, tenant.in_service) = (account.queued > 0, account.in_flight);
            (tenant.used, tenant.active_cycles) = (account.used, account.active);
        }
    }

    /// Adds the cycles since the last change to the sums about fairness.
    fn settle_fairness(&mut self) {
        let cycles = self.now - std::mem::replace(&mut self.since, self.now);
        let queued = || self.accounts.iter().filter(|account| account.queued > 0);
        if cycles > 0 && queued().nth(1).is_some() {
            self.contended += cycles;
            self.jain_millionths += cycles * jain_millionths(queued().map(|it| (it.in_flight, it.weight)));
        }
    }

    /// Cycles in which several tenants had packets in queues, and the sum of Jain's index of tasks in flight per weight
    /// over these cycles, in millionths.
    pub fn fairness(&self) -> (u64, u64) {
        (self.contended, self.jain_millionths)
    }
}

/// Jain's index, (sum x)^2 / (n sum x^2), of tasks per weight, in millionths; of all zeros it is 1.
fn jain_millionths(shares: impl Iterator<Item = (u32, u64)>) -> u64 {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for (tasks, weight) in shares {
        let x = f64::from(tasks) / weight as f64;
        (n, sum, squares) = (n + 1.0, sum + x, squares + x * x);
    }
    let index = if squares == 0.0 { 1.0 } else { sum * sum / (n * squares) };
    (index * 1e6).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUED: Demand = Demand { is_queued: true, in_flight: 0 };

    fn shares() -> Shares {
        Shares::new(8)
    }

    #[test]
    fn jains_index_of_known_shares() {
        assert_eq!(jain_millionths([(1, 1), (2, 1)].into_iter()), 900_000); // 9 / (2 * 5)
        assert_eq!(jain_millionths([(4, 1), (0, 1)].into_iter()), 500_000);
        assert_eq!(jain_millionths([(3, 3), (1, 1)].into_iter()), 1_000_000); // shares follow weights
        assert_eq!(jain_millionths([(0, 1), (0, 1)].into_iter()), 1_000_000);
    }

    #[test]
    fn an_account_is_the_mean_of_tasks_in_flight_while_active() {
        let mut shares = shares();
        shares.set(0, 7, Weight(2), QUEUED);
        shares.begin_cycle(10); // 10 cycles with 0 tasks
        shares.set(0, 7, Weight(2), Demand { is_queued: false, in_flight: 3 });
        shares.begin_cycle(30); // 20 cycles with 3
        shares.set(0, 7, Weight(2), Demand::NONE);
        shares.begin_cycle(1000); // idle: not active
        shares.set(0, 7, Weight(2), QUEUED);
        assert_eq!((shares.accounts[0].used, shares.accounts[0].active), (60, 30));
    }

    #[test]
    fn fairness_counts_only_cycles_in_which_several_tenants_wait() {
        let mut shares = shares();
        let one = |in_flight| Demand { is_queued: true, in_flight };
        shares.set(0, 1, Weight(1), one(1));
        shares.begin_cycle(100);
        shares.set(1, 2, Weight(1), one(2));
        shares.begin_cycle(150);
        shares.set(0, 1, Weight(1), Demand { is_queued: false, in_flight: 1 });
        shares.begin_cycle(170);
        shares.set(1, 2, Weight(1), Demand::NONE);
        assert_eq!(shares.fairness(), (50, 50 * 900_000));
    }

    #[test]
    fn tenants_that_ask_for_nothing_are_appended_while_they_use_hpus() {
        let mut shares = shares();
        shares.set(0, 1, Weight(1), QUEUED);
        shares.set(1, 2, Weight(3), Demand { is_queued: false, in_flight: 5 });
        shares.begin_cycle(10);
        let asking = Tenant { number: 1, weight: 1, waits: true, used: 99, ..Tenant::default() };
        let mut tenants = vec![asking];
        shares.complete(&mut tenants);
        let first = Tenant { is_queued: true, used: 0, active_cycles: 10, ..asking };
        let second = Tenant { number: 2, weight: 3, in_service: 5, used: 50, active_cycles: 10, ..Tenant::default() };
        assert_eq!(tenants, [first, second]);
        shares.set(1, 2, Weight(3), Demand::NONE);
        tenants.truncate(1);
        shares.complete(&mut tenants);
        assert_eq!(tenants, [first]);
    }

    #[test]
    fn accounts_of_idle_tenants_are_reused_when_there_are_as_many_as_queues() {
        let mut shares = Shares::new(2);
        for tenant in 0..10 {
            shares.set(0, tenant, Weight(1), QUEUED);
            shares.set(1, 100 + tenant, Weight(1), QUEUED);
        }
        assert_eq!(shares.accounts.len(), 2);
        let active: u32 = shares.accounts.iter().map(|account| account.queued).sum();
        assert_eq!(active, 2);
    }
}
