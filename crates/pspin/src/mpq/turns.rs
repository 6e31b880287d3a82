//! Arbitration of the queues' tasks: over tenants, then over the queues of each.

use super::shares::{Demand, Shares};
use crate::arbiter::WideTree;
use crate::bit_set::BitSet;
use crate::params::Schedule;
use crate::policy::{BorrowedTime, Chooser, RoundRobin, Tenant, TenantPolicy, WeightedRoundRobin};
use crate::protocol::{Context, Weight};
use kernel::Cycle;

/// The tenant to which a queue's message belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Owner {
    /// Its number.
    pub tenant: u32,
    /// Its weight.
    pub weight: Weight,
    /// Its priority.
    pub priority: u8,
}

impl From<&Context> for Owner {
    fn from(context: &Context) -> Self {
        Owner { tenant: context.tenant, weight: context.weight, priority: context.io.priority }
    }
}

/// The queues of a tenant with a task to send.
struct Party {
    n_queues: u32,
    queues: BitSet,
    tree: WideTree,
}

/// Result of a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// No requests, or the previous choice is kept.
    Nothing,
    /// The output is occupied: the choice stays among the current requesters until it is free.
    Kept,
    /// This queue sends its task.
    Queue(usize),
}

/// Chooses among queues. With one tenant, or without turns of tenants, it is the RTL's arbiter.
///
/// Fairness: a [`TenantPolicy`] decides. With the card's rules ([`Schedule`]), a tenant waits for one task of each other tenant
///           (round robin), for as many tasks as the other's weight (weighted), or until its use of HPUs divided by its weight is
///           the least ([`Shares`]). A tenant's queues are served by a
///           [`WideTree`]. With round robin a choice is made when the output is occupied, as in the RTL; with the others
///           when it is free.
/// Source:   PsPIN RTL a49fec8, `mpq_engine.sv`, for one tenant: `rr_arb_tree.sv` with `LockIn = 1`. Turns of tenants
///           are assumed: the simplest rule under which a tenant's wait does not grow with another's number of messages.
///           Khalilov et al., *OSMOSIS*, USENIX ATC 2024, find that PsPIN shares cores by queues, and share them by
///           tenant; the other rules are theirs.
/// Differs:  OSMOSIS's code serves a queue with priority p for p + 2 tasks in a row; here a tenant with weight w has w.
pub struct Turns {
    by_tenant: bool,
    /// True if the next queue is chosen while the output is still occupied.
    chooses_early: bool,
    chooser: Chooser,
    shares: Shares,
    now: Cycle,
    /// By place, like `parties`.
    tenants: Vec<Tenant>,
    parties: Vec<Party>,
    /// For each queue with a task, its place.
    party_of: Vec<Option<usize>>,
    /// While the output is occupied: the party in turn, and which of its queues requested when it was chosen.
    locked: Option<usize>,
    among: BitSet,
}

impl Turns {
    /// Creates the arbiter for `n_queues` queues, none with a task, before clusters that hold `capacity` tasks. Tenants
    /// share by the policy `own` or, without one, by the rule of `schedule`.
    pub fn new(
        n_queues: usize,
        by_tenant: bool,
        schedule: Schedule,
        own: Option<Box<dyn TenantPolicy>>,
        capacity: u32,
    ) -> Self {
        let chooses_early = own.is_none() && schedule == Schedule::RoundRobin;
        let policy = own.unwrap_or_else(|| match schedule {
            Schedule::RoundRobin => Box::new(RoundRobin::default()),
            Schedule::WeightedRoundRobin => Box::new(WeightedRoundRobin::default()),
            Schedule::Bvt => Box::new(BorrowedTime::unlimited()),
            Schedule::Wlbvt => Box::new(BorrowedTime::limited(capacity)),
        });
        Turns {
            by_tenant,
            chooses_early,
            chooser: Chooser::new(policy),
            shares: Shares::new(n_queues),
            now: 0,
            tenants: Vec::new(),
            parties: Vec::new(),
            party_of: vec![None; n_queues],
            locked: None,
            among: BitSet::new(n_queues),
        }
    }

    /// Begins a cycle.
    pub fn begin_cycle(&mut self, now: Cycle) {
        self.now = now;
        self.shares.begin_cycle(now);
    }

    /// The tenants' use of the HPUs.
    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// The next cycle in which the policy must be asked again, if it named one.
    pub fn asks_again(&self) -> Option<Cycle> {
        self.chooser.asks_again(self.now)
    }

    /// Sets whether queue `q`, whose message belongs to this tenant, has a task to send, and its packets and tasks.
    pub fn set(&mut self, q: usize, owner: Owner, has_task: bool, demand: Demand) {
        if self.shares.set(q, owner.tenant, owner.weight, demand) {
            self.chooser.changed();
        }
        let before = self.party_of[q];
        let number = if self.by_tenant { owner.tenant } else { 0 };
        let is_there = before.is_some_and(|party| self.tenants[party].number == number);
        if is_there == has_task && before.is_some() == has_task {
            return;
        }
        self.chooser.changed();
        if let Some(place) = before {
            let party = &mut self.parties[place];
            party.queues.set(q, false);
            party.n_queues -= 1;
            self.tenants[place].waits = party.n_queues > 0;
        }
        let after = has_task.then(|| self.place(Owner { tenant: number, ..owner }));
        if let Some(place) = after {
            let party = &mut self.parties[place];
            party.queues.set(q, true);
            party.n_queues += 1;
            if party.n_queues == 1 {
                self.tenants[place].waits = true;
                self.chooser.began(self.now, place, &self.tenants);
            }
        }
        self.party_of[q] = after;
    }

    fn place(&mut self, owner: Owner) -> usize {
        if let Some(place) = self.tenants.iter().position(|tenant| tenant.number == owner.tenant) {
            return place;
        }
        let n_queues = self.party_of.len();
        let tenant =
            Tenant { number: owner.tenant, weight: owner.weight.0, priority: owner.priority, ..Tenant::default() };
        // A queue uses at most one place, and this queue uses none yet. So if there are as many places as queues, at least
        // one place is free.
        let left =
            if self.tenants.len() < n_queues { None } else { self.tenants.iter().position(|tenant| !tenant.waits) };
        match left {
            Some(place) => {
                self.tenants[place] = tenant;
                place
            }
            None => {
                self.tenants.push(tenant);
                self.parties.push(Party { n_queues: 0, queues: BitSet::new(n_queues), tree: WideTree::default() });
                self.tenants.len() - 1
            }
        }
    }

    /// Chooses. If the output is free, the chosen queue sends. `bytes` is the size of the packet at the head of a queue.
    pub fn choose(&mut self, is_free: bool, bytes: impl Fn(usize) -> u32) -> Choice {
        if !is_free && (!self.chooses_early || self.locked.is_some()) {
            return Choice::Nothing;
        }
        let Some(place) = self.locked.or_else(|| self.next_place(&bytes)) else { return Choice::Nothing };
        let Party { queues, tree, .. } = &mut self.parties[place];
        if !is_free {
            self.among.copy_from(queues);
            self.locked = Some(place);
            return Choice::Kept;
        }
        let among = if self.locked.is_some() { &self.among } else { &*queues };
        let Some(q) = tree.choose(among) else { return Choice::Nothing };
        tree.grant(among);
        self.locked = None;
        self.tenants[place].bytes = bytes(q);
        self.chooser.started(self.now, place, &self.tenants);
        Choice::Queue(q)
    }

    fn next_place(&mut self, bytes: impl Fn(usize) -> u32) -> Option<usize> {
        let Turns { chooser, tenants, parties, shares, now, .. } = self;
        let place = chooser.choose(*now, tenants, |tenants| {
            for (tenant, party) in tenants.iter_mut().zip(&*parties).filter(|(tenant, _)| tenant.waits) {
                tenant.bytes = party.tree.choose(&party.queues).map_or(0, &bytes);
            }
            shares.complete(tenants);
        });
        tenants.truncate(parties.len());
        place
    }

    /// A task of this tenant ended.
    pub fn ended(&mut self, tenant: u32) {
        self.chooser.ended(self.now, tenant);
    }

    /// Removes queue `q` from a choice that waits for the output.
    pub fn unlock(&mut self, q: usize) {
        self.among.set(q, false);
        if self.among.next_from(0).is_none() {
            self.locked = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Words: `+a3` gives queue 3 a task of tenant a, `-3` removes it, `!` chooses while the output is occupied, `.`
    /// when it is free. The result is the chosen queue, which then has no task, or `-`.
    fn check(by_tenant: bool, script: &str, want: Expect) {
        check_weights(Turns::new(16, by_tenant, Schedule::RoundRobin, None, 36), script, want);
    }

    /// The same; tenants a, b, c have weights 1, 2, 3. `*a3` gives queue 3 tasks that never end.
    fn check_weights(mut turns: Turns, script: &str, want: Expect) {
        let (mut tenants, mut endless) = ([u32::from(b'a'); 16], [false; 16]);
        let owner = |tenant: u32| Owner { tenant, weight: Weight(tenant + 1 - u32::from(b'a')), priority: 0 };
        let mut shown = String::new();
        for (now, word) in script.split(' ').enumerate() {
            turns.begin_cycle(now as u64);
            let queue = |text: &str| text.parse::<usize>().expect("a queue");
            match word.as_bytes()[0] {
                b'+' | b'*' => {
                    let q = queue(&word[2..]);
                    tenants[q] = u32::from(word.as_bytes()[1]);
                    endless[q] = word.starts_with('*');
                    turns.set(q, owner(tenants[q]), true, Demand::default());
                }
                b'-' => {
                    let q = queue(&word[1..]);
                    turns.set(q, owner(tenants[q]), false, Demand::default());
                    turns.unlock(q);
                }
                what => match turns.choose(what == b'.', |_| 64) {
                    Choice::Queue(q) => {
                        turns.set(q, owner(tenants[q]), endless[q], Demand::default());
                        shown += &format!("{q} ");
                    }
                    _ => shown += "- ",
                },
            }
        }
        want.assert_eq(shown.trim_end());
    }

    #[test]
    fn weighted_tenants_send_as_many_tasks_in_a_row_as_they_weigh() {
        let turns = || Turns::new(16, true, Schedule::WeightedRoundRobin, None, 36);
        check_weights(turns(), "*a1 *b2 *c3 . . . . . . . .", expect!["1 2 2 3 3 3 1 2"]);
        // A tenant without a task gives its turn away, and does not keep the rest of it.
        check_weights(turns(), "*a1 +c3 . . . *c3 . . . .", expect!["1 3 1 3 3 3 1"]);
        check_weights(turns(), "! *a1 ! . .", expect!["- - 1 1"]);
    }

    #[test]
    fn tenants_take_turns_however_many_queues_they_have() {
        check(false, "+a1 +a2 +a3 +a4 +b9 . . . . .", expect!["1 3 2 4 9"]);
        check(true, "+a1 +a2 +a3 +a4 +b9 . . . . . .", expect!["1 9 3 2 4 -"]);
    }

    #[test]
    fn who_asks_while_the_output_is_taken_waits_for_the_choice_that_was_made() {
        check(true, "+a1 ! +b9 +a2 ! . . .", expect!["- - 1 9 2"]);
        check(true, "+a1 ! +b9 -1 . .", expect!["- 9 -"]);
    }

    #[test]
    fn a_queue_that_goes_to_another_tenant_asks_for_that_one() {
        check(true, "+a1 +a2 +b1 . . .", expect!["2 1 -"]);
    }
}
