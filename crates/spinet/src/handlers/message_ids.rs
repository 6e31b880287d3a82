//! Assigns messages their identities in the NIC.

use std::collections::BTreeMap;

/// Identities of messages: 10 bits. Source: PsPIN RTL a49fec8, pspin_cfg_pkg.sv, C_MSGID_WIDTH.
pub const N_IDS: u32 = 1024;

/// A message: its tenant, its rule, and its number there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// The tenant.
    pub tenant: u64,
    /// The rule.
    pub rule: u64,
    /// Its number in the rule's classifier.
    pub number: u64,
}

/// A queue in use: from the first packet of a message until its last packet has come and the NIC is done with all of
/// them.
#[derive(Clone, Copy, Default)]
struct Queue {
    /// The tenant of the last message.
    tenant: u64,
    /// The message that still waits for its last packet.
    open: Option<(u64, u64)>,
    /// Its identity.
    msgid: u16,
    /// Packets that were given to the NIC and are not finished.
    packets: u32,
    /// Number of its last packet, counted over all queues.
    last: u64,
}

impl Queue {
    fn owner(&self) -> Option<u64> {
        (self.open.is_some() || self.packets > 0).then_some(self.tenant)
    }
}

/// Assigns messages their identities in the NIC, and thereby its queues.
///
/// Identities are assigned in turn, so that messages spread over queues and home clusters. An identity is skipped while
/// its queue belongs to a message whose last packet has not arrived, because a queue holds one message at a time and
/// knows packets by their queue only. If all queues are taken, the message gets no identity.
///
/// If several tenants have rules, `reserved` queues are reserved for each, or an equal part of all if that is less. No
/// other tenant gets a free queue that is needed for these reservations, and messages never wait behind those of
/// another tenant in a queue. A tenant borrows further queues. If a tenant needs a reserved queue and all are taken,
/// which can happen when its first rule is new, it reclaims the borrowed queue that has been idle the longest.
pub struct MessageIds {
    next: u32,
    reserved: u32,
    queues: Vec<Queue>,
    /// Messages whose last packet has not arrived, by rule and number.
    open: BTreeMap<(u64, u64), Option<u16>>,
    /// Queues that tenants have.
    held: BTreeMap<u64, u32>,
    n_packets: u64,
}

impl MessageIds {
    /// Creates the identities for a NIC with `n_queues` queues, of which `reserved` are reserved for each tenant.
    pub fn new(n_queues: u32, reserved: u32) -> Self {
        let queues = vec![Queue::default(); n_queues as usize];
        MessageIds { next: 0, reserved, queues, open: BTreeMap::new(), held: BTreeMap::new(), n_packets: 0 }
    }

    /// The identity of a message for one of its packets; `None` if it got no queue when it began. `sharers` are the tenants
    /// with rules. A packet with an identity is the NIC's until [`MessageIds::finished`].
    pub fn of(&mut self, message: Message, is_last: bool, sharers: &[u64]) -> Option<u16> {
        let key = (message.rule, message.number);
        let id = match self.open.get(&key) {
            Some(id) => *id,
            None => self.take(message.tenant, sharers),
        };
        if is_last {
            self.open.remove(&key);
        } else {
            self.open.insert(key, id);
        }
        if let Some(msgid) = id {
            self.n_packets += 1;
            let last = self.n_packets;
            self.change(msgid, |queue| {
                let open = (!is_last).then_some(key);
                *queue = Queue { tenant: message.tenant, open, msgid, packets: queue.packets + 1, last };
            });
        }
        id
    }

    /// The message that must leave its queue so that this new one can have it: rule, number, identity.
    pub fn to_evict(&self, message: Message, sharers: &[u64]) -> Option<(u64, u64, u16)> {
        let is_sure = self.shares(sharers) && self.held(message.tenant) < self.share(sharers);
        if !is_sure || self.open.contains_key(&(message.rule, message.number)) {
            return None;
        }
        if self.queues.iter().any(|queue| queue.owner().is_none()) {
            return None;
        }
        let kept = |tenant: u64| if sharers.contains(&tenant) { self.share(sharers) } else { 0 };
        let borrowed = |(&tenant, &held): (&u64, &u32)| (held.saturating_sub(kept(tenant)), std::cmp::Reverse(tenant));
        let (_, std::cmp::Reverse(most)) = self.held.iter().map(borrowed).max()?;
        let theirs = self.queues.iter().filter(|queue| queue.tenant == most);
        let oldest = theirs.min_by_key(|queue| queue.last)?;
        oldest.open.map(|(rule, number)| (rule, number, oldest.msgid))
    }

    /// Returns true if queues are reserved for tenants.
    fn shares(&self, sharers: &[u64]) -> bool {
        self.reserved > 0 && sharers.len() > 1
    }

    /// Number of queues reserved for each tenant.
    fn share(&self, sharers: &[u64]) -> u32 {
        self.reserved.min(self.queues.len() as u32 / sharers.len().max(1) as u32)
    }

    fn held(&self, tenant: u64) -> u32 {
        self.held.get(&tenant).copied().unwrap_or(0)
    }

    fn take(&mut self, tenant: u64, sharers: &[u64]) -> Option<u16> {
        let id = match self.shares(sharers) {
            false => self.next_where(|queue| queue.open.is_none()),
            true => self.take_shared(tenant, sharers),
        }?;
        self.next = (id + 1) % N_IDS;
        Some(id as u16)
    }

    /// An empty queue that is not reserved for others, or a queue with messages of this tenant only.
    fn take_shared(&self, tenant: u64, sharers: &[u64]) -> Option<u32> {
        let share = self.share(sharers);
        let is_sure = self.held(tenant) < share;
        let n_empty = self.queues.len() as u32 - self.held.values().sum::<u32>();
        let others = sharers.iter().filter(|&&other| other != tenant);
        let kept: u32 = others.map(|&other| share.saturating_sub(self.held(other))).sum();
        let may_have_empty = n_empty > kept;
        if !is_sure {
            return self.next_where(|queue| match queue.owner() {
                None => may_have_empty,
                Some(owner) => owner == tenant && queue.open.is_none(),
            });
        }
        // A tenant with older rules finds an empty queue. Otherwise choose a queue with the fewest packets.
        let closed = self.queues.iter().filter(|queue| queue.open.is_none());
        let fewest = closed.map(|queue| queue.packets).min()?;
        self.next_where(|queue| queue.open.is_none() && queue.packets == fewest)
    }

    /// The next identity in turn whose queue satisfies the condition.
    fn next_where(&self, fits: impl Fn(&Queue) -> bool) -> Option<u32> {
        let n = self.queues.len() as u32;
        (0..n).map(|k| (self.next + k) % N_IDS).find(|id| fits(&self.queues[(id % n) as usize]))
    }

    /// Changes the queue of this identity, and the tenants' counts of queues.
    fn change(&mut self, msgid: u16, change: impl FnOnce(&mut Queue)) {
        let n = self.queues.len();
        let queue = &mut self.queues[usize::from(msgid) % n];
        let before = queue.owner();
        change(queue);
        let after = queue.owner();
        if before == after {
            return;
        }
        if let Some(held) = before.and_then(|tenant| self.held.get_mut(&tenant)) {
            *held -= 1;
        }
        if let Some(tenant) = after {
            *self.held.entry(tenant).or_default() += 1;
        }
    }

    /// The NIC is done with a packet of this identity.
    pub fn finished(&mut self, msgid: u16) {
        self.change(msgid, |queue| queue.packets = queue.packets.saturating_sub(1));
    }

    /// Ends the open messages of a rule, which get no more packets; returns the identities that they had.
    pub fn abandon(&mut self, rule: u64) -> Vec<u16> {
        let mut ids = Vec::new();
        self.open.retain(|key, id| {
            if key.0 == rule {
                ids.extend(*id);
            }
            key.0 != rule
        });
        ids
    }

    /// The card has given up the message with this identity, and no packet of it is on the way. Returns its rule and
    /// number if it is open. Its queue is free.
    pub fn give_up(&mut self, msgid: u16) -> Option<(u64, u64)> {
        let n = self.queues.len();
        let queue = &self.queues[usize::from(msgid) % n];
        let key = queue.open.filter(|_| queue.msgid == msgid)?;
        self.open.remove(&key);
        self.release(msgid);
        Some(key)
    }

    /// The queue of an abandoned message is free.
    pub fn release(&mut self, id: u16) {
        self.change(id, |queue| queue.open = None);
    }

    /// Messages whose last packet has not arrived.
    pub fn n_open(&self) -> usize {
        self.open.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Four queues, of which `reserved` are reserved for each tenant. In the script, `a1` is a packet of message 1 of
    /// tenant a, and `a1!` is its last packet. The result for a packet is its identity, or `-` without one; `x3:`
    /// before it means that the message with identity 3 has to leave its queue. `~3` finishes a packet of identity 3.
    /// `+b` gives tenant b a rule.
    fn check(reserved: u32, script: &str, want: Expect) {
        let mut ids = MessageIds::new(4, reserved);
        let (mut sharers, mut said) = (Vec::new(), Vec::new());
        let number = |text: &str| u64::from(text.as_bytes()[0]);
        for word in script.split(' ') {
            if let Some(tenant) = word.strip_prefix('+') {
                sharers.push(number(tenant));
            } else if let Some(msgid) = word.strip_prefix('~') {
                ids.finished(msgid.parse().expect("an identity"));
            } else {
                let message = Message { tenant: number(word), rule: number(word), number: number(&word[1..]) };
                let evicted = ids.to_evict(message, &sharers).map(|(.., msgid)| {
                    ids.give_up(msgid).expect("it is open");
                    format!("x{msgid}:")
                });
                let id = ids.of(message, word.ends_with('!'), &sharers);
                said.push(evicted.unwrap_or_default() + &id.map_or("-".into(), |id| id.to_string()));
            }
        }
        want.assert_eq(&said.join(" "));
    }

    #[test]
    fn one_tenant_has_all_queues_in_turn() {
        check(2, "+a a1 a2! a3 a4 a5 a6 a7", expect!["0 1 2 3 5 - -"]);
    }

    #[test]
    fn nobody_gets_the_last_queues_that_another_is_sure_of() {
        check(0, "+a +b a1 a2 a3 a4 b1 b2", expect!["0 1 2 3 - -"]);
        check(2, "+a +b a1 a2 a3 a4 b1 b2 b3 a1 b1", expect!["0 1 - - 2 3 - 0 2"]);
        check(1, "+a +b a1 a2 a3 a4 b1 b2", expect!["0 1 2 - 3 -"]);
    }

    #[test]
    fn a_queue_is_anothers_until_the_card_is_done_with_its_packets() {
        check(1, "+a +b a1! a2! a3! a4! b1! ~0 ~3 b2!", expect!["0 1 2 4 7 11"]);
    }

    #[test]
    fn who_comes_later_gets_what_was_borrowed_from_who_was_silent_for_longest() {
        check(2, "+a a1 a2 a3 a4 a1 +b b1 b2 b3 a2 a1", expect!["0 1 2 3 0 x1:5 x2:6 - - 0"]);
        check(2, "+a a1! a2 a3 a4 +b b1", expect!["0 1 2 3 4"]);
    }
}
