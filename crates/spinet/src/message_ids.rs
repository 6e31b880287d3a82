//! Which identity a message has in the NIC.

use std::collections::BTreeMap;

/// Identities of messages: 10 bits. Source: PsPIN RTL a49fec8, pspin_cfg_pkg.sv, C_MSGID_WIDTH.
pub const N_IDS: u32 = 1024;

/// Gives messages their identities in the NIC.
///
/// Identities are given in turn, so that messages spread over queues and home clusters. One whose queue belongs to a
/// message that still waits for its last packet is passed over, since a queue holds one message at a time and knows
/// packets by their queue alone. When every queue is so taken the message gets none.
pub struct MessageIds {
    next: u32,
    /// For each queue, whether it belongs to a message whose last packet has not come.
    taken: Vec<bool>,
    /// Messages whose last packet has not come, by rule and number.
    open: BTreeMap<(u64, u64), Option<u16>>,
}

impl MessageIds {
    /// Identities for a NIC of so many queues.
    pub fn new(n_queues: u32) -> Self {
        MessageIds { next: 0, taken: vec![false; n_queues as usize], open: BTreeMap::new() }
    }

    /// The identity of a message for one of its packets; `None` if no queue was free when it began.
    pub fn of(&mut self, rule: u64, message: u64, is_last: bool) -> Option<u16> {
        let key = (rule, message);
        let id = match self.open.get(&key) {
            Some(id) => *id,
            None => self.take(),
        };
        let queue = id.map(|id| usize::from(id) % self.taken.len());
        if is_last {
            self.open.remove(&key);
        } else {
            self.open.insert(key, id);
        }
        if let Some(queue) = queue {
            self.taken[queue] = !is_last;
        }
        id
    }

    fn take(&mut self) -> Option<u16> {
        let n = self.taken.len() as u32;
        let free = (0..n).map(|k| (self.next + k) % N_IDS).find(|id| !self.taken[(id % n) as usize])?;
        self.next = (free + 1) % N_IDS;
        Some(free as u16)
    }

    /// The messages of a rule that have begun will get no packet any more; the identities of those that had one.
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

    /// The card has given up the message that had this identity, and no packet of it is on the way: its rule and its number, if
    /// it is open. Its queue is free.
    pub fn give_up(&mut self, msgid: u16) -> Option<(u64, u64)> {
        let key = self.open.iter().find(|(_, id)| **id == Some(msgid)).map(|(key, _)| *key)?;
        self.open.remove(&key);
        self.release(msgid);
        Some(key)
    }

    /// The queue of an abandoned message is free.
    pub fn release(&mut self, id: u16) {
        let queue = usize::from(id) % self.taken.len();
        self.taken[queue] = false;
    }

    /// Messages whose last packet has not come.
    pub fn n_open(&self) -> usize {
        self.open.len()
    }
}
