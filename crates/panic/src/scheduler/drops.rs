//! Packets dropped by the scheduler.

use super::SchedulerParams;
use crate::drops::{ClassDropCounts, DropReason};
use crate::protocol::Message;
use kernel::trace::{EventKind, Tracer};
use kernel::{CounterList, Cycle};

/// Packet `id` of `class` is dropped; `reason` is its index in [`DropReason`].
pub static PACKET_DROPPED: EventKind =
    EventKind { name: "packet_dropped", fields: &["id", "class", "reason"], number: 0 };

/// Counts and traces drops.
pub(super) struct Drops(ClassDropCounts);

impl Drops {
    /// No drops yet, for `n_classes`.
    pub fn new(n_classes: usize) -> Drops {
        use DropReason::{BadDescriptor, Cells, Crossing, Entries, TooLong};
        Drops(ClassDropCounts::new(&[Entries, Cells, TooLong, Crossing, BadDescriptor], n_classes))
    }

    /// Counts and traces the drop of a packet.
    pub fn note(&mut self, tracer: &Tracer, now: Cycle, message: &Message, reason: DropReason) {
        let class = message.descriptor.hop().map_or(0, |hop| hop.class);
        self.0.add(reason, class.into());
        tracer.emit(&PACKET_DROPPED, now, &[message.descriptor.id, class.into(), reason as u64]);
    }

    /// Lists one counter for each class and reason.
    pub fn counters(&self, counters: &mut CounterList) {
        self.0.counters(counters);
    }
}

/// Why an arriving packet can never be accepted, or `None`.
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
