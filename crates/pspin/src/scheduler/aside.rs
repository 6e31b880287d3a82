//! Requests that wait for their queue without being in the way of other tenants'.

use crate::mpq::{Admission, MpqEngine};
use crate::protocol::Her;
use kernel::Cycle;
use std::collections::{BTreeMap, VecDeque};

/// Requests of each tenant, in order, each with when it came. There are no more of them than packets in packet memory.
#[derive(Default)]
pub struct Aside {
    lists: BTreeMap<u32, VecDeque<(Cycle, Her)>>,
    /// The tenant that was served last.
    last: u32,
}

impl Aside {
    /// Whether requests of this tenant wait.
    pub fn has(&self, tenant: u32) -> bool {
        self.lists.contains_key(&tenant)
    }

    /// A request waits behind those of its tenant.
    pub fn push(&mut self, now: Cycle, her: Her) {
        self.lists.entry(her.context.tenant).or_default().push_back((now, her));
    }

    /// The tenant whose first request need not wait longer, in turn, and what may be done with it.
    pub fn next(&self, engine: &MpqEngine) -> Option<(u32, Admission)> {
        let behind = self.lists.range(self.last.saturating_add(1)..);
        behind.chain(self.lists.range(..=self.last)).find_map(|(&tenant, list)| {
            let admission = engine.admission(&list.front()?.1);
            (admission != Admission::Wait).then_some((tenant, admission))
        })
    }

    /// Takes the first request of a tenant.
    pub fn take(&mut self, tenant: u32) -> Option<(Cycle, Her)> {
        self.last = tenant;
        let list = self.lists.get_mut(&tenant)?;
        let first = list.pop_front();
        if list.is_empty() {
            self.lists.remove(&tenant);
        }
        first
    }

    /// Takes out the requests of a message.
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

    /// The last request of this message that waits is the last of all. False if none waits.
    pub fn end(&mut self, msgid: u16) -> bool {
        let mut hers = self.lists.values_mut().flatten().filter(|(_, her)| her.msgid == msgid);
        let last = hers.by_ref().last();
        last.map(|(_, her)| her.eom = true).is_some()
    }
}
