//! Arbitration of the queues' tasks: over tenants, then over the queues of each.

use super::shares::{Demand, Shares};
use crate::arbiter::WideTree;
use crate::bit_set::BitSet;
use crate::params::Schedule;
use crate::protocol::Weight;
use kernel::Cycle;

/// The queues of a tenant with a task to send.
struct Party {
    tenant: u32,
    weight: u32,
    queues: BitSet,
    tree: WideTree,
}

impl Party {
    fn asks(&self) -> bool {
        self.queues.next_from(0).is_some()
    }
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
/// Fairness: by [`Schedule`], a tenant waits for one task of each other tenant, for as many as the other's weight, or
///           until its use of the HPUs for its weight is the least ([`Shares`]). A tenant's queues are served by a
///           [`WideTree`]. With round robin a choice is made when the output is occupied, as in the RTL; with the others
///           when it is free.
/// Source:   PsPIN RTL a49fec8, `mpq_engine.sv`, for one tenant: `rr_arb_tree.sv` with `LockIn = 1`. Turns of tenants
///           are assumed: the simplest rule under which no tenant waits for the number of another's messages.
///           Khalilov et al., *OSMOSIS*, USENIX ATC 2024, find that PsPIN shares cores by queues, and share them by
///           tenant; the other rules are theirs.
/// Differs:  OSMOSIS's code serves a queue with priority p for p + 2 tasks in a row; here a tenant with weight w has w.
pub struct Turns {
    by_tenant: bool,
    schedule: Schedule,
    shares: Shares,
    parties: Vec<Party>,
    /// For each queue with a task, its index in `parties`.
    party_of: Vec<Option<usize>>,
    /// The party that comes first.
    first: usize,
    /// With weights: the party that sent last, and the tasks that it may still send in a row.
    in_a_row: (usize, u32),
    /// While the output is occupied: the party in turn, and which of its queues requested when it was chosen.
    locked: Option<usize>,
    among: BitSet,
}

impl Turns {
    /// Creates the arbiter for `n_queues` queues, none with a task, before clusters that hold `capacity` tasks.
    pub fn new(n_queues: usize, by_tenant: bool, schedule: Schedule, capacity: u32) -> Self {
        let (party_of, among) = (vec![None; n_queues], BitSet::new(n_queues));
        let (shares, parties) = (Shares::new(n_queues, capacity), Vec::new());
        Turns { by_tenant, schedule, shares, parties, party_of, first: 0, in_a_row: (0, 0), locked: None, among }
    }

    /// Begins a cycle.
    pub fn begin_cycle(&mut self, now: Cycle) {
        self.shares.begin_cycle(now);
    }

    /// The tenants' use of the HPUs.
    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// Sets whether queue `q`, whose message belongs to this tenant, has a task to send, and its packets and tasks.
    pub fn set(&mut self, q: usize, tenant: u32, weight: Weight, has_task: bool, demand: Demand) {
        self.shares.set(q, tenant, weight, demand);
        let before = self.party_of[q];
        let tenant = if self.by_tenant { tenant } else { 0 };
        let is_there = before.is_some_and(|party| self.parties[party].tenant == tenant);
        if is_there == has_task && before.is_some() == has_task {
            return;
        }
        if let Some(party) = before {
            self.parties[party].queues.set(q, false);
        }
        let after = has_task.then(|| self.party(tenant, weight));
        if let Some(party) = after {
            self.parties[party].queues.set(q, true);
        }
        self.party_of[q] = after;
    }

    fn party(&mut self, tenant: u32, weight: Weight) -> usize {
        if let Some(party) = self.parties.iter().position(|party| party.tenant == tenant) {
            return party;
        }
        let n_queues = self.party_of.len();
        // There are as many parties as queues at most; this queue has none, so one is free.
        let left =
            if self.parties.len() < n_queues { None } else { self.parties.iter().position(|party| !party.asks()) };
        let queues = BitSet::new(n_queues);
        let party = left.unwrap_or(self.parties.len());
        match left {
            Some(party) => (self.parties[party].tenant, self.parties[party].weight) = (tenant, weight.0),
            None => self.parties.push(Party { tenant, weight: weight.0, queues, tree: WideTree::default() }),
        }
        party
    }

    /// Chooses. If the output is free, the chosen queue sends.
    pub fn choose(&mut self, is_free: bool) -> Choice {
        match self.schedule {
            Schedule::RoundRobin => self.choose_in_turn(is_free),
            _ if !is_free => Choice::Nothing,
            Schedule::WeightedRoundRobin => self.choose_by_weight(),
            Schedule::Bvt | Schedule::Wlbvt => self.choose_by_use(),
        }
    }

    fn choose_by_weight(&mut self) -> Choice {
        let (last, credit) = self.in_a_row;
        if credit > 0 && self.parties[last].asks() {
            self.in_a_row = (last, credit - 1);
            return self.grant(last);
        }
        let n = self.parties.len();
        let Some(turn) = (0..n).map(|k| (self.first + k) % n).find(|&party| self.parties[party].asks()) else {
            return Choice::Nothing;
        };
        self.in_a_row = (turn, self.parties[turn].weight - 1);
        self.first = (turn + 1) % n;
        self.grant(turn)
    }

    fn choose_by_use(&mut self) -> Choice {
        let Turns { parties, shares, schedule, .. } = self;
        let asks = |tenant| parties.iter().any(|party| party.tenant == tenant && party.asks());
        let Some(tenant) = shares.least_served(*schedule, asks) else { return Choice::Nothing };
        let turn = self.parties.iter().position(|party| party.tenant == tenant);
        self.grant(turn.expect("a tenant that asks is a party"))
    }

    /// The next queue of a party sends.
    fn grant(&mut self, turn: usize) -> Choice {
        let Party { queues, tree, .. } = &mut self.parties[turn];
        let Some(q) = tree.choose(queues) else { return Choice::Nothing };
        tree.grant(queues);
        Choice::Queue(q)
    }

    fn choose_in_turn(&mut self, is_free: bool) -> Choice {
        let n = self.parties.len();
        let mut in_turn = (0..n).map(|k| (self.first + k) % n);
        let Some(turn) = self.locked.or_else(|| in_turn.find(|&party| self.parties[party].asks())) else {
            return Choice::Nothing;
        };
        let is_locked = self.locked.is_some();
        let Party { queues, tree, .. } = &mut self.parties[turn];
        if !is_free {
            if !is_locked {
                self.among.copy_from(queues);
                self.locked = Some(turn);
            }
            return if is_locked { Choice::Nothing } else { Choice::Kept };
        }
        let among = if is_locked { &self.among } else { &*queues };
        let Some(q) = tree.choose(among) else { return Choice::Nothing };
        tree.grant(among);
        self.locked = None;
        self.first = (turn + 1) % n;
        Choice::Queue(q)
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
        check_weights(Turns::new(16, by_tenant, Schedule::RoundRobin, 36), script, want);
    }

    /// The same; tenants a, b, c have weights 1, 2, 3. `*a3` gives queue 3 tasks that never end.
    fn check_weights(mut turns: Turns, script: &str, want: Expect) {
        let (mut tenants, mut endless) = ([0; 16], [false; 16]);
        let weight = |tenant: u32| Weight(tenant + 1 - u32::from(b'a'));
        let mut said = String::new();
        for (now, word) in script.split(' ').enumerate() {
            turns.begin_cycle(now as u64);
            let queue = |text: &str| text.parse::<usize>().expect("a queue");
            match word.as_bytes()[0] {
                b'+' | b'*' => {
                    let q = queue(&word[2..]);
                    tenants[q] = u32::from(word.as_bytes()[1]);
                    endless[q] = word.starts_with('*');
                    turns.set(q, tenants[q], weight(tenants[q]), true, Demand::default());
                }
                b'-' => {
                    let q = queue(&word[1..]);
                    turns.set(q, tenants[q], weight(tenants[q]), false, Demand::default());
                    turns.unlock(q);
                }
                what => match turns.choose(what == b'.') {
                    Choice::Queue(q) => {
                        turns.set(q, tenants[q], weight(tenants[q]), endless[q], Demand::default());
                        said += &format!("{q} ");
                    }
                    _ => said += "- ",
                },
            }
        }
        want.assert_eq(said.trim_end());
    }

    #[test]
    fn weighted_tenants_send_as_many_tasks_in_a_row_as_they_weigh() {
        let turns = || Turns::new(16, true, Schedule::WeightedRoundRobin, 36);
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
