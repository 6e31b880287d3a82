//! Why packets are dropped, wherever in the NIC, and counts of it.

use kernel::CounterList;
use kernel::trace::Counter;

kernel::words! {
    /// Why a packet is dropped. A new reason is a row here; tables and reports have it from here.
    pub enum DropReason {
        /// Its exit is `drop`.
        Rmt = "rmt",
        /// There is no room behind the RMT pipeline, where `ingress.when_full` is `drop`.
        IngressBuffer = "ingress_buffer",
        /// Too many packets are in the queue of a service; it is the last in rank.
        Entries = "entries",
        /// Too few cells of the packet buffer are free; it is the last in rank.
        Cells = "cells",
        /// It is longer than a cell.
        TooLong = "too_long",
        /// Its next service or its class does not exist, or it has no service left to visit.
        BadDescriptor = "bad_descriptor",
        /// The queue of a card to compare with has no room for it.
        Full = "full",
        /// It comes from the host and goes nowhere.
        NoExit = "no_exit",
        /// The host's queue has no buffer for it.
        NoHostBuffer = "no_host_buffer",
        /// It is longer than the host's buffer, or than what the card reads from one.
        LongForHostBuffer = "long_for_host_buffer",
        /// The digest that it carries is not its own, and the engine is told to drop it then.
        BadDigest = "bad-digest",
        /// The program of a core trapped on it.
        Trap = "trap",
        /// The program of a core took too long for it.
        Watchdog = "watchdog",
        /// The program of a core rang for what cannot be sent.
        BadDoorbell = "bad-doorbell",
        /// The program of a core did not want it.
        Program = "program",
        /// It was popped, and found no room in the queue behind its PIFO.
        Crossing = "crossing",
    }
}

/// How many packets a part has dropped, for each of its reasons.
#[derive(Clone)]
pub(crate) struct DropCounts(Vec<(DropReason, Counter)>);

impl DropCounts {
    /// None, of a part that has these reasons.
    pub fn new(reasons: &[DropReason]) -> DropCounts {
        DropCounts(reasons.iter().map(|&reason| (reason, Counter::default())).collect())
    }

    /// One more, for a reason of the part's.
    pub fn add(&mut self, reason: DropReason) {
        let count = self.0.iter_mut().find(|(known, _)| *known == reason);
        count.expect("a part drops for its own reasons").1.add(1);
    }

    /// Names the counters: what stands around a reason's word is the part's.
    pub fn counters(&self, counters: &mut CounterList, before: &str, behind: &str) {
        for (reason, drops) in &self.0 {
            counters.add(&format!("{before}{}{behind}", reason.word()), drops.total());
        }
    }
}

/// The same for each traffic class.
pub(crate) struct ClassDropCounts(Vec<DropCounts>);

impl ClassDropCounts {
    /// None, of so many classes.
    pub fn new(reasons: &[DropReason], n_classes: usize) -> ClassDropCounts {
        ClassDropCounts(vec![DropCounts::new(reasons); n_classes])
    }

    /// One more; a class that does not exist counts with the last.
    pub fn add(&mut self, reason: DropReason, class: usize) {
        let last = self.0.len() - 1;
        self.0[class.min(last)].add(reason);
    }

    /// Names the counters: `drops.cells[1]`.
    pub fn counters(&self, counters: &mut CounterList) {
        for (class, drops) in self.0.iter().enumerate() {
            drops.counters(counters, "drops.", &format!("[{class}]"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DropReason;

    #[test]
    fn the_reference_has_every_reason() {
        let page = include_str!("../../../docs/reference/chains-summary.md");
        let (_, table) = page.split_once("## Why packets are dropped").expect("the page has a section about it");
        let missing: Vec<&str> =
            DropReason::NAMES.into_iter().filter(|word| !table.contains(&format!("`{word}`"))).collect();
        assert_eq!(missing, [""; 0], "docs/reference/chains-summary.md");
    }
}
