//! The tenants at a part of the card that moves bytes.

use super::{ByPriority, Chooser, RoundRobin, Tenant, TenantPolicy, WeightedFair};
use crate::params::IoSchedule;
use crate::protocol::Sender;
use crate::rate::RateLimit;
use kernel::Cycle;
use std::num::NonZeroU64;

/// The tenants that a part of the card has seen, their limits, and the policy that chooses the next one.
///
/// Fairness: within any time t, a tenant with a limit moves at most its limit times t, plus one part. A [`TenantPolicy`]
///           chooses among the tenants that may start something. With the rules of [`IoSchedule`], tenants of the highest
///           priority go first. Among these, tenants take turns, or the tenant with the fewest bytes for its weight is next.
pub struct TenantTable {
    clock_hz: u64,
    chooser: Chooser,
    /// By place, like `limits`.
    tenants: Vec<Tenant>,
    limits: Vec<Option<RateLimit>>,
}

impl TenantTable {
    /// No tenants, at a part of a card with this clock frequency. Tenants share it by the policy `own` or, without one, by
    /// the rule of `schedule`.
    pub fn new(schedule: IoSchedule, own: Option<Box<dyn TenantPolicy>>, clock_hz: u64) -> Self {
        let policy = own.unwrap_or_else(|| match schedule {
            IoSchedule::WeightedFair => Box::new(ByPriority::<WeightedFair>::default()),
            IoSchedule::InOrder | IoSchedule::RoundRobin => Box::new(ByPriority::<RoundRobin>::default()),
        });
        TenantTable { clock_hz, chooser: Chooser::new(policy), tenants: Vec::new(), limits: Vec::new() }
    }

    /// Replaces the policy of a table without tenants.
    pub fn replace_policy(&mut self, own: Box<dyn TenantPolicy>) {
        self.chooser = Chooser::new(own);
    }

    /// All tenants, by place.
    pub fn tenants(&self) -> &[Tenant] {
        &self.tenants
    }

    /// The place of a tenant. At its first appearance it gets this limit.
    pub fn place(&mut self, sender: Sender, bps: Option<NonZeroU64>) -> usize {
        let Sender { tenant: number, weight, io } = sender;
        self.tenants.iter().position(|tenant| tenant.number == number).unwrap_or_else(|| {
            let tenant = Tenant { number, weight: weight.0, priority: io.priority, ..Tenant::default() };
            self.tenants.push(tenant);
            self.limits.push(bps.map(RateLimit::new));
            self.tenants.len() - 1
        })
    }

    /// The tenant at this place has one thing more to start.
    pub fn add(&mut self, now: Cycle, place: usize) {
        self.chooser.changed();
        if !self.tenants[place].is_queued {
            self.tenants[place].is_queued = true;
            self.chooser.began(now, place, &self.tenants);
        }
    }

    /// The tenant at this place has nothing to start any more.
    pub fn clear(&mut self, place: usize) {
        self.tenants[place].is_queued = false;
        self.chooser.changed();
    }

    /// Returns true if the limit of the tenant with this number allows a part to start in this cycle.
    pub fn allows(&self, now: Cycle, number: u32) -> bool {
        let mut all = self.tenants.iter().zip(&self.limits);
        let limit = all.find(|(tenant, _)| tenant.number == number).and_then(|(_, limit)| *limit);
        limit.is_none_or(|limit| limit.allows_at() <= now)
    }

    /// The place of the tenant that is next. `bytes` returns the size of the next part of the tenant at a place.
    pub fn choose(&mut self, now: Cycle, bytes: impl Fn(usize) -> u32) -> Option<usize> {
        let TenantTable { chooser, tenants, limits, .. } = self;
        for (tenant, limit) in tenants.iter_mut().zip(&*limits) {
            tenant.waits = tenant.is_queued && limit.is_none_or(|limit| limit.allows_at() <= now);
        }
        chooser.choose(now, tenants, |tenants| {
            let waiting = tenants.iter_mut().enumerate().filter(|(_, tenant)| tenant.waits);
            waiting.for_each(|(place, tenant)| tenant.bytes = bytes(place));
        })
    }

    /// A part of the chosen tenant starts. `is_queued`: the tenant has more to start.
    pub fn start(&mut self, now: Cycle, place: usize, bytes: u32, is_queued: bool) {
        self.tenants[place].bytes = bytes;
        self.chooser.started(now, place, &self.tenants);
        self.count(now, place, bytes);
        let tenant = &mut self.tenants[place];
        (tenant.is_queued, tenant.in_service) = (is_queued, tenant.in_service + 1);
    }

    /// Adds a part that starts to the tenant's use, and spends it from the tenant's limit.
    pub fn count(&mut self, now: Cycle, place: usize, bytes: u32) {
        self.tenants[place].used += u64::from(bytes);
        if let Some(limit) = &mut self.limits[place] {
            limit.spend(now, bytes, self.clock_hz);
        }
    }

    /// A part of this tenant that was started ended.
    pub fn ended(&mut self, now: Cycle, number: u32) {
        let tenant = self.tenants.iter_mut().find(|tenant| tenant.number == number);
        tenant.expect("a tenant with a part in service has a place").in_service -= 1;
        self.chooser.ended(now, number);
    }

    /// The next cycle after `now` in which the policy has to be asked again, or in which a tenant that waits only for its
    /// limit may start something.
    pub fn asks_again(&self, now: Cycle) -> Option<Cycle> {
        let queued = self.tenants.iter().zip(&self.limits).filter(|(tenant, _)| tenant.is_queued);
        let allowed = queued.filter_map(|(_, limit)| *limit).map(|limit| limit.allows_at()).filter(|&at| at > now);
        allowed.chain(self.chooser.asks_again(now)).min()
    }
}
