//! Deferred requests: they wait for their queue without blocking other tenants.

use crate::mpq::{Admission, MpqEngine};
use crate::protocol::Her;
use kernel::Cycle;
use std::collections::{BTreeMap, VecDeque};

/// The requests of each tenant in order, with their arrival cycles. There are at most as many as packets in packet
/// memory.
#[derive(Default)]
pub struct Deferred {
    lists: BTreeMap<u32, VecDeque<(Cycle, Her)>>,
    /// The tenant served last.
    last: u32,
}

impl Deferred {
    /// Returns true if requests of this tenant are deferred.
    pub fn has(&self, tenant: u32) -> bool {
        self.lists.contains_key(&tenant)
    }

    /// Defers a request behind those of its tenant.
    pub fn push(&mut self, now: Cycle, her: Her) {
        self.lists.entry(her.context.tenant).or_default().push_back((now, her));
    }

    /// Returns the next tenant in turn whose first request can proceed, and what can be done with it.
    pub fn next(&self, engine: &MpqEngine) -> Option<(u32, Admission)> {
        if self.lists.is_empty() {
            return None;
        }
        let behind = self.lists.range(self.last.saturating_add(1)..);
        behind.chain(self.lists.range(..=self.last)).find_map(|(&tenant, list)| {
            let admission = engine.admission(&list.front()?.1);
            (admission != Admission::Wait).then_some((tenant, admission))
        })
    }

    /// Removes the first request of a tenant.
    pub fn take(&mut self, tenant: u32) -> Option<(Cycle, Her)> {
        self.last = tenant;
        let list = self.lists.get_mut(&tenant)?;
        let first = list.pop_front();
        if list.is_empty() {
            self.lists.remove(&tenant);
        }
        first
    }

    /// Removes the requests of a message.
    pub fn take_message(&mut self, msgid: u16) -> Vec<Her> {
        let mut taken = Vec::new();
        self.lists.retain(|_, list| {
            let (theirs, others) = list.drain(..).partition(|(_, her)| her.msgid == msgid);
            *list = others;
            taken.extend(theirs.into_iter().map(|(_, her): (Cycle, Her)| her));
            !list.is_empty()
        });
        taken
    }

    /// Marks the last deferred request of this message as the last of the message. Returns false if none is deferred.
    pub fn end(&mut self, msgid: u16) -> bool {
        let mut hers = self.lists.values_mut().flatten().filter(|(_, her)| her.msgid == msgid);
        let last = hers.by_ref().last();
        last.map(|(_, her)| her.eom = true).is_some()
    }
}
