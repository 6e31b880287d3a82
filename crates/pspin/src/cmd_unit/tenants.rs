//! Commands of tenants that wait for a unit, and the rule by which the next part of one is chosen.

use crate::params::IoSchedule;
use crate::protocol::{Command, CommandId, PRIORITIES, Sender};
use kernel::Cycle;
use std::collections::VecDeque;
use std::num::NonZeroU64;

/// The part of [`Party::served`] that a byte adds at weight 1. It is large, so that division by a weight loses little.
const BYTE: u64 = 1 << 20;

/// A rate that may not be exceeded. After n bytes the next ones wait for the time that n bytes take at this rate.
#[derive(Clone, Copy, Debug)]
struct Limit {
    bps: u128,
    /// The first time at which bytes may go, in cycles times `bps`. This is exact for every rate.
    from: u128,
}

impl Limit {
    fn new(bps: NonZeroU64) -> Self {
        Limit { bps: bps.get().into(), from: 0 }
    }

    /// First cycle in which bytes may go.
    fn allows_at(&self) -> Cycle {
        self.from.div_ceil(self.bps) as Cycle
    }

    fn spend(&mut self, now: Cycle, bytes: u32, clock_hz: u64) {
        let now = u128::from(now) * self.bps;
        self.from = self.from.max(now) + u128::from(bytes) * 8 * u128::from(clock_hz);
    }
}

/// The commands of one core of a tenant, in order, each with the cycle in which it began to wait.
struct Line {
    core: (u8, u8),
    commands: VecDeque<(Cycle, Command)>,
}

/// A tenant at a unit.
struct Party {
    tenant: u32,
    weight: u64,
    priority: usize,
    limit: Option<Limit>,
    /// The first line is that of the core whose turn is next.
    lines: VecDeque<Line>,
    /// Virtual time: bytes served divided by the weight, times [`BYTE`]. A tenant whose commands come after a pause begins at the level
    /// of its priority, so that the pause earns it nothing.
    served: u64,
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
/// Fairness: within any time t, a tenant with a limit moves at most its limit times t, and one part. Among tenants that may send, the ones with the
///           highest priority go first. Among these: `round_robin`, a part of each in turn; `weighted_fair`, the tenant with the fewest
///           bytes for its weight (start-time fair queueing, Goyal et al., SIGCOMM 1996). Cores of a tenant take turns after each part.
///           Commands of a core stay in order.
pub struct TenantQueues {
    schedule: IoSchedule,
    clock_hz: u64,
    parties: Vec<Party>,
    /// The party whose turn is next.
    first: usize,
    /// For each priority, the level: [`Party::served`] of the party that was chosen last, before its part was added.
    level: [u64; PRIORITIES],
}

impl TenantQueues {
    /// No commands, for a card whose cycles have this frequency.
    pub fn new(schedule: IoSchedule, clock_hz: u64) -> Self {
        TenantQueues { schedule, clock_hz, parties: Vec::new(), first: 0, level: [0; PRIORITIES] }
    }

    /// Adds a command, which waits from this cycle on. `bps` is its tenant's limit at this unit.
    pub fn push(&mut self, now: Cycle, command: Command, bps: Option<NonZeroU64>) {
        let Sender { tenant, weight, io } = command.sender;
        let level = self.level[usize::from(io.priority)];
        let found = self.parties.iter().position(|party| party.tenant == tenant);
        let party = found.unwrap_or(self.parties.len());
        if found.is_none() {
            self.parties.push(Party {
                tenant,
                weight: weight.0.into(),
                priority: io.priority.into(),
                limit: bps.map(Limit::new),
                lines: VecDeque::new(),
                served: 0,
            });
        }
        let party = &mut self.parties[party];
        if party.lines.is_empty() {
            party.served = party.served.max(level);
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
        let turn = self.choose(now)?;
        let n = self.parties.len();
        let party = &mut self.parties[turn];
        self.first = (turn + 1) % n;
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
        self.level[party.priority] = party.served;
        party.served += u64::from(bytes) * BYTE / party.weight;
        if let Some(limit) = &mut party.limit {
            limit.spend(now, bytes, self.clock_hz);
        }
        Some(Part { command, is_last, waited })
    }

    fn choose(&self, now: Cycle) -> Option<usize> {
        let may = |&party: &usize| self.parties[party].may_send(now);
        let priority = (0..self.parties.len()).filter(may).map(|party| self.parties[party].priority).max()?;
        let n = self.parties.len();
        let in_turn = (0..n).map(|k| (self.first + k) % n);
        let mut asking = in_turn.filter(may).filter(|&party| self.parties[party].priority == priority);
        match self.schedule {
            IoSchedule::WeightedFair => asking.min_by_key(|&party| (self.parties[party].served, party)),
            IoSchedule::InOrder | IoSchedule::RoundRobin => asking.next(),
        }
    }

    /// The next cycle after `now` in which a tenant that waits only for its limit may send.
    pub fn next_allowed(&self, now: Cycle) -> Option<Cycle> {
        let waiting = self.parties.iter().filter(|party| !party.lines.is_empty());
        waiting.filter_map(|party| party.limit).map(|limit| limit.allows_at()).filter(|&at| at > now).min()
    }
}
