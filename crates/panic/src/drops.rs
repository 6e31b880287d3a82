//! Reasons for which packets are dropped anywhere in the NIC, and their counters.

use kernel::CounterList;
use kernel::trace::Counter;

kernel::words! {
    /// Why a packet is dropped. To add a reason, add a row here; tables and reports use this list.
    pub enum DropReason {
        /// The RMT program chose the exit `drop`.
        Rmt = "rmt",
        /// The buffer behind the RMT pipeline is full and `ingress.when_full` is `drop`.
        IngressBuffer = "ingress_buffer",
        /// The logical PIFO is over its entry limit, and the packet has the greatest rank.
        Entries = "entries",
        /// Too few cells of the packet buffer are free, and the packet has the greatest rank.
        Cells = "cells",
        /// The packet is longer than a cell.
        TooLong = "too_long",
        /// The descriptor names a service or class that does not exist, or has no service left to visit.
        BadDescriptor = "bad_descriptor",
        /// A queue of a baseline card is full.
        Full = "full",
        /// The host sent the packet, but it has no exit.
        NoExit = "no_exit",
        /// The host's receive queue has no free buffer.
        NoHostBuffer = "no_host_buffer",
        /// The packet is longer than the host's buffer, or than the card reads from one.
        LongForHostBuffer = "long_for_host_buffer",
        /// The packet's digest is wrong and the engine is set to drop such packets.
        BadDigest = "bad-digest",
        /// The program of a core trapped on the packet.
        Trap = "trap",
        /// The program of a core exceeded its time limit on the packet.
        Watchdog = "watchdog",
        /// The program of a core rang a doorbell for something that cannot be sent.
        BadDoorbell = "bad-doorbell",
        /// The program of a core dropped the packet.
        Program = "program",
        /// The packet was popped from its PIFO, but the queue behind the PIFO was full.
        Crossing = "crossing",
    }
}

/// Drops of one part of the NIC, counted by reason.
#[derive(Clone)]
pub(crate) struct DropCounts(Vec<(DropReason, Counter)>);

impl DropCounts {
    /// Zero counts for these reasons.
    pub fn new(reasons: &[DropReason]) -> DropCounts {
        DropCounts(reasons.iter().map(|&reason| (reason, Counter::default())).collect())
    }

    /// Counts a drop.
    pub fn add(&mut self, reason: DropReason) {
        let count = self.0.iter_mut().find(|(known, _)| *known == reason);
        count.expect("the part must list the reason").1.add(1);
    }

    /// Lists the counters as `before`, the reason's name, `behind`.
    pub fn counters(&self, counters: &mut CounterList, before: &str, behind: &str) {
        for (reason, drops) in &self.0 {
            counters.add(&format!("{before}{}{behind}", reason.word()), drops.total());
        }
    }
}

/// Drops by reason and traffic class.
pub(crate) struct ClassDropCounts(Vec<DropCounts>);

impl ClassDropCounts {
    /// Zero counts for these reasons and `n_classes`.
    pub fn new(reasons: &[DropReason], n_classes: usize) -> ClassDropCounts {
        ClassDropCounts(vec![DropCounts::new(reasons); n_classes])
    }

    /// Counts a drop. A class that does not exist counts as the last one.
    pub fn add(&mut self, reason: DropReason, class: usize) {
        let last = self.0.len() - 1;
        self.0[class.min(last)].add(reason);
    }

    /// Lists the counters, for example `drops.cells[1]`.
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
        let page = include_str!("../../../docs/reference/summary.md");
        let (_, table) = page.split_once("## Why packets are dropped").expect("the page needs this section");
        let missing: Vec<&str> =
            DropReason::NAMES.into_iter().filter(|word| !table.contains(&format!("`{word}`"))).collect();
        assert_eq!(missing, [""; 0], "docs/reference/summary.md");
    }
}
