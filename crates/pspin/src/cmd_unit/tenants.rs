//! Commands of tenants that wait for a unit, and the rule by which the next part of one is chosen.

use crate::params::IoSchedule;
use crate::policy::{ByPriority, Chooser, RoundRobin, Tenant, TenantPolicy, WeightedFair};
use crate::protocol::{Command, CommandId, Sender};
use crate::rate::RateLimit;
use kernel::Cycle;
use std::collections::VecDeque;
use std::num::NonZeroU64;

/// The commands of one core of a tenant, in order, each with the cycle in which it began to wait.
struct Line {
    core: (u8, u8),
    commands: VecDeque<(Cycle, Command)>,
}

/// The commands of a tenant at a unit.
struct Party {
    limit: Option<RateLimit>,
    /// The first line is that of the core whose turn is next.
    lines: VecDeque<Line>,
}

impl Party {
    fn may_send(&self, now: Cycle) -> bool {
        !self.lines.is_empty() && self.limit.is_none_or(|limit| limit.allows_at() <= now)
    }
}

/// A part of a command on its way to the unit.
pub struct Part {
    /// The part.
    pub command: Command,
    /// True for the last part of its command.
    pub is_last: bool,
    /// For the first part of its command: the cycles that the command waited.
    pub waited: Option<u64>,
}

/// The commands that wait for one unit, by tenant.
///
/// Fairness: within any time t, a tenant with a limit moves at most its limit times t, and one part. A [`TenantPolicy`]
///           chooses among the tenants that may send. With the rules of [`IoSchedule`], tenants of the highest priority
///           go first; among these, each sends a part in turn, or the one with the fewest bytes for its weight sends.
///           Cores of a tenant take turns after each part. Commands of a core stay in order.
pub struct TenantQueues {
    clock_hz: u64,
    chooser: Chooser,
    /// By place, like `parties`.
    tenants: Vec<Tenant>,
    parties: Vec<Party>,
}

impl TenantQueues {
    /// Creates empty queues for a card with this clock frequency. Tenants share by the policy `own` or, without one, by the
    /// rule of `schedule`.
    pub fn new(schedule: IoSchedule, own: Option<Box<dyn TenantPolicy>>, clock_hz: u64) -> Self {
        let policy = own.unwrap_or_else(|| match schedule {
            IoSchedule::WeightedFair => Box::new(ByPriority::<WeightedFair>::default()),
            IoSchedule::InOrder | IoSchedule::RoundRobin => Box::new(ByPriority::<RoundRobin>::default()),
        });
        TenantQueues { clock_hz, chooser: Chooser::new(policy), tenants: Vec::new(), parties: Vec::new() }
    }

    /// Adds a command, which waits from this cycle on. `bps` is its tenant's limit at this unit.
    pub fn push(&mut self, now: Cycle, command: Command, bps: Option<NonZeroU64>) {
        let Sender { tenant: number, weight, io } = command.sender;
        let found = self.tenants.iter().position(|tenant| tenant.number == number);
        let place = found.unwrap_or(self.tenants.len());
        if found.is_none() {
            let tenant = Tenant { number, weight: weight.0, priority: io.priority, ..Tenant::default() };
            self.tenants.push(tenant);
            self.parties.push(Party { limit: bps.map(RateLimit::new), lines: VecDeque::new() });
        }
        self.chooser.changed();
        let party = &mut self.parties[place];
        if party.lines.is_empty() {
            self.tenants[place].is_queued = true;
            self.chooser.began(now, place, &self.tenants);
        }
        let CommandId { cluster, core, .. } = command.id;
        match party.lines.iter_mut().find(|line| line.core == (cluster, core)) {
            Some(line) => line.commands.push_back((now, command)),
            None => {
                let commands = VecDeque::from([(now, command)]);
                party.lines.push_back(Line { core: (cluster, core), commands });
            }
        }
    }

    /// The next part, which goes to the unit in this cycle. `split` cuts the first part off a command.
    pub fn take(&mut self, now: Cycle, split: impl Fn(&mut Command) -> Option<Command>) -> Option<Part> {
        let place = self.choose(now, &split)?;
        let party = &mut self.parties[place];
        let mut line = party.lines.pop_front().expect("a chosen tenant has commands");
        let (since, first) = line.commands.front_mut().expect("a core with a line has commands");
        // Only the first part of a command reports how long it waited.
        let waited = std::mem::replace(since, Cycle::MAX);
        let waited = (waited != Cycle::MAX).then(|| now - waited);
        let part = split(first);
        let is_last = part.is_none();
        let command = part.unwrap_or_else(|| line.commands.pop_front().expect("just seen").1);
        if !line.commands.is_empty() {
            party.lines.push_back(line);
        }
        let bytes = command.bytes();
        if let Some(limit) = &mut party.limit {
            limit.spend(now, bytes, self.clock_hz);
        }
        let tenant = &mut self.tenants[place];
        tenant.bytes = bytes;
        self.chooser.started(now, place, &self.tenants);
        let tenant = &mut self.tenants[place];
        (tenant.is_queued, tenant.used) = (!party.lines.is_empty(), tenant.used + u64::from(bytes));
        tenant.in_service += 1;
        Some(Part { command, is_last, waited })
    }

    fn choose(&mut self, now: Cycle, split: impl Fn(&mut Command) -> Option<Command>) -> Option<usize> {
        let TenantQueues { chooser, tenants, parties, .. } = self;
        tenants.iter_mut().zip(&*parties).for_each(|(tenant, party)| tenant.waits = party.may_send(now));
        chooser.choose(now, tenants, |tenants| {
            for (tenant, party) in tenants.iter_mut().zip(&*parties).filter(|(tenant, _)| tenant.waits) {
                let mut command = party.lines[0].commands[0].1;
                tenant.bytes = split(&mut command).unwrap_or(command).bytes();
            }
        })
    }

    /// A part of a command of this tenant ended.
    pub fn ended(&mut self, now: Cycle, number: u32) {
        let tenant = self.tenants.iter_mut().find(|tenant| tenant.number == number);
        tenant.expect("a tenant with a part in service has a place").in_service -= 1;
        self.chooser.ended(now, number);
    }

    /// The next cycle after `now` in which the policy has to be asked again.
    pub fn asks_again(&self, now: Cycle) -> Option<Cycle> {
        self.chooser.asks_again(now)
    }

    /// The next cycle after `now` in which a tenant that waits only for its limit may send.
    pub fn next_allowed(&self, now: Cycle) -> Option<Cycle> {
        let waiting = self.parties.iter().filter(|party| !party.lines.is_empty());
        waiting.filter_map(|party| party.limit).map(|limit| limit.allows_at()).filter(|&at| at > now).min()
    }
}
