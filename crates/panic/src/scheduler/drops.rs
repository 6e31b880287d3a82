//! Packets that the scheduler drops, and why.

use super::SchedulerParams;
use crate::protocol::Message;
use kernel::trace::{Counter, EventKind, Tracer};
use kernel::{CounterList, Cycle};

/// Packet `id` of `class` is dropped; `reason` is the position in [`DropReason`].
pub static PACKET_DROPPED: EventKind = EventKind { name: "packet_dropped", fields: &["id", "class", "reason"] };

/// Why a packet is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// The logical PIFO has too many packets.
    Entries,
    /// The packet buffer has too few free cells.
    Cells,
    /// It is longer than a cell.
    TooLong,
    /// It was popped, and found no room in the queue behind its PIFO.
    Crossing,
    /// Its next service or its class does not exist, or it has no service left to visit.
    BadDescriptor,
}

const REASONS: [(DropReason, &str); 5] = [
    (DropReason::Entries, "entries"),
    (DropReason::Cells, "cells"),
    (DropReason::TooLong, "too_long"),
    (DropReason::BadDescriptor, "bad_descriptor"),
    (DropReason::Crossing, "crossing"),
];

impl DropReason {
    /// What reports call it.
    pub fn word(self) -> &'static str {
        REASONS.iter().find(|(reason, _)| *reason == self).expect("every reason is listed").1
    }
}

/// Counts drops.
pub(super) struct Drops {
    /// By reason and class.
    counts: [Vec<Counter>; REASONS.len()],
}

impl Drops {
    /// Nothing was dropped, of so many classes.
    pub fn new(n_classes: usize) -> Drops {
        Drops { counts: std::array::from_fn(|_| vec![Counter::default(); n_classes]) }
    }

    /// A packet is dropped. One whose class does not exist counts with the last class.
    pub fn note(&mut self, tracer: &Tracer, now: Cycle, message: &Message, reason: DropReason) {
        let position = REASONS.iter().position(|&(known, _)| known == reason).expect("every reason is listed");
        let counts = &mut self.counts[position];
        let class = message.descriptor.hop().map_or(0, |hop| usize::from(hop.class)).min(counts.len() - 1);
        counts[class].add(1);
        tracer.emit(&PACKET_DROPPED, now, &[message.descriptor.id, class as u64, position as u64]);
    }

    /// Names each counter, by reason and class.
    pub fn counters(&self, counters: &mut CounterList) {
        for ((_, reason), classes) in REASONS.iter().zip(&self.counts) {
            for (class, drops) in classes.iter().enumerate() {
                counters.add(&format!("drops.{reason}[{class}]"), drops.total());
            }
        }
    }
}

/// Why a packet that comes cannot be taken, whatever else is there.
pub(super) fn fault(params: &SchedulerParams, message: &Message) -> Option<DropReason> {
    let is_known = message.descriptor.hop().is_some_and(|hop| {
        usize::from(hop.service) < params.services.len() && usize::from(hop.class) < params.n_classes
    });
    match () {
        () if !is_known => Some(DropReason::BadDescriptor),
        () if message.data.len() > params.buffer.cell_bytes as usize => Some(DropReason::TooLong),
        () => None,
    }
}
