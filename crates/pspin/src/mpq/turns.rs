//! Arbitration of the queues' tasks: round robin over tenants, then over the queues of each.

use crate::arbiter::WideTree;
use crate::bit_set::BitSet;

/// The queues of a tenant with a task to send.
struct Party {
    tenant: u32,
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
/// Fairness: a tenant waits for at most one task of each other tenant; its queues are served by a [`WideTree`].
/// Source:   PsPIN RTL a49fec8, `mpq_engine.sv`, for one tenant: `rr_arb_tree.sv` with `LockIn = 1`. Turns of tenants
///           are assumed: the simplest rule under which no tenant waits for the number of another's messages.
///           Khalilov et al., *OSMOSIS*, USENIX ATC 2024, find that PsPIN shares cores by queues, and share them by
///           tenant.
pub struct Turns {
    by_tenant: bool,
    parties: Vec<Party>,
    /// For each queue with a task, its index in `parties`.
    party_of: Vec<Option<usize>>,
    /// The party that comes first.
    first: usize,
    /// While the output is occupied: the party in turn, and which of its queues requested when it was chosen.
    locked: Option<usize>,
    among: BitSet,
}

impl Turns {
    /// Creates the arbiter for `n_queues` queues, none with a task.
    pub fn new(n_queues: usize, by_tenant: bool) -> Self {
        let (party_of, among) = (vec![None; n_queues], BitSet::new(n_queues));
        Turns { by_tenant, parties: Vec::new(), party_of, first: 0, locked: None, among }
    }

    /// Sets whether queue `q`, whose message belongs to this tenant, has a task to send.
    pub fn set(&mut self, q: usize, tenant: u32, has_task: bool) {
        let before = self.party_of[q];
        let tenant = if self.by_tenant { tenant } else { 0 };
        let is_there = before.is_some_and(|party| self.parties[party].tenant == tenant);
        if is_there == has_task && before.is_some() == has_task {
            return;
        }
        if let Some(party) = before {
            self.parties[party].queues.set(q, false);
        }
        let after = has_task.then(|| self.party(tenant));
        if let Some(party) = after {
            self.parties[party].queues.set(q, true);
        }
        self.party_of[q] = after;
    }

    fn party(&mut self, tenant: u32) -> usize {
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
            Some(party) => self.parties[party].tenant = tenant,
            None => self.parties.push(Party { tenant, queues, tree: WideTree::default() }),
        }
        party
    }

    /// Chooses. If the output is free, the chosen queue sends.
    pub fn choose(&mut self, is_free: bool) -> Choice {
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
        let mut turns = Turns::new(16, by_tenant);
        let mut tenants = [0; 16];
        let mut said = String::new();
        for word in script.split(' ') {
            let queue = |text: &str| text.parse::<usize>().expect("a queue");
            match word.as_bytes()[0] {
                b'+' => {
                    let q = queue(&word[2..]);
                    tenants[q] = u32::from(word.as_bytes()[1]);
                    turns.set(q, tenants[q], true);
                }
                b'-' => {
                    let q = queue(&word[1..]);
                    turns.set(q, tenants[q], false);
                    turns.unlock(q);
                }
                what => match turns.choose(what == b'.') {
                    Choice::Queue(q) => {
                        turns.set(q, tenants[q], false);
                        said += &format!("{q} ");
                    }
                    _ => said += "- ",
                },
            }
        }
        want.assert_eq(said.trim_end());
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
