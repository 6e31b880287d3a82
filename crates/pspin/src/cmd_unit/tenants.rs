//! Commands of tenants that wait for a unit, and the rule by which the next part of one is chosen.

use crate::params::IoSchedule;
use crate::policy::{TenantPolicy, TenantTable};
use crate::protocol::{Command, CommandId};
use kernel::Cycle;
use std::collections::VecDeque;
use std::num::NonZeroU64;

/// The commands of one core of a tenant, in order, each with the cycle in which it began to wait.
struct Line {
    core: (u8, u8),
    commands: VecDeque<(Cycle, Command)>,
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
/// Fairness: see [`TenantTable`]. Cores of a tenant take turns after each part. Commands of a core stay in order.
pub struct TenantQueues {
    tenants: TenantTable,
    /// By place of the tenant. The first line is that of the core whose turn is next.
    lines: Vec<VecDeque<Line>>,
}

impl TenantQueues {
    /// Creates empty queues for a card with this clock frequency. Tenants share by the policy `own` or, without one, by the
    /// rule of `schedule`.
    pub fn new(schedule: IoSchedule, own: Option<Box<dyn TenantPolicy>>, clock_hz: u64) -> Self {
        TenantQueues { tenants: TenantTable::new(schedule, own, clock_hz), lines: Vec::new() }
    }

    /// Adds a command, which waits from this cycle on. `bps` is its tenant's limit at this unit.
    pub fn push(&mut self, now: Cycle, command: Command, bps: Option<NonZeroU64>) {
        let place = self.tenants.place(command.sender, bps);
        if place == self.lines.len() {
            self.lines.push(VecDeque::new());
        }
        self.tenants.add(now, place);
        let CommandId { cluster, core, .. } = command.id;
        let lines = &mut self.lines[place];
        match lines.iter_mut().find(|line| line.core == (cluster, core)) {
            Some(line) => line.commands.push_back((now, command)),
            None => lines.push_back(Line { core: (cluster, core), commands: VecDeque::from([(now, command)]) }),
        }
    }

    /// The next part, which goes to the unit in this cycle. `split` cuts the first part off a command.
    pub fn take(&mut self, now: Cycle, split: impl Fn(&mut Command) -> Option<Command>) -> Option<Part> {
        let TenantQueues { tenants, lines } = self;
        let place = tenants.choose(now, |place| {
            let mut command = lines[place][0].commands[0].1;
            split(&mut command).unwrap_or(command).bytes()
        })?;
        let lines = &mut lines[place];
        let mut line = lines.pop_front().expect("a chosen tenant has commands");
        let (since, first) = line.commands.front_mut().expect("a core with a line has commands");
        // Only the first part of a command reports how long it waited.
        let waited = std::mem::replace(since, Cycle::MAX);
        let waited = (waited != Cycle::MAX).then(|| now - waited);
        let part = split(first);
        let is_last = part.is_none();
        let command = part.unwrap_or_else(|| line.commands.pop_front().expect("just seen").1);
        if !line.commands.is_empty() {
            lines.push_back(line);
        }
        tenants.start(now, place, command.bytes(), !lines.is_empty());
        Some(Part { command, is_last, waited })
    }

    /// A part of a command of this tenant ended.
    pub fn ended(&mut self, now: Cycle, number: u32) {
        self.tenants.ended(now, number);
    }

    /// The next cycle after `now` in which a part may start, if no command comes and none ends.
    pub fn asks_again(&self, now: Cycle) -> Option<Cycle> {
        self.tenants.asks_again(now)
    }
}
