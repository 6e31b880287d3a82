//! Packets that leave packet memory, and the room that they free.

use super::{Cycle, Inbound, L2_PACKET_BASE, Release, Stored};
use crate::events::PACKET_DONE;
use crate::world::PacketDone;

/// Latency of the channel of released packets in cycles. In the RTL it is a wire.
const RELEASE_LATENCY: u64 = 1;

impl Inbound {
    /// Frees the packet whose feedback reached the NIC in cycle `now`. [`crate::world::Completions`] is notified in
    /// the next cycle.
    pub fn done_in(&self, now: Cycle) -> Option<PacketDone> {
        let (seen, coming) = self.released.peek_ahead()?;
        let Release { taken, pkt_addr, dropped: None, .. } = *coming else { return None };
        let stored = self.ring.at(pkt_addr.wrapping_sub(L2_PACKET_BASE))?;
        let Stored { packet, user, arrival, .. } = *stored;
        let done = PacketDone { packet, user, nic_arrival: arrival, her: taken, feedback: now };
        (seen == now + RELEASE_LATENCY).then_some(done)
    }

    /// Accounts for a packet of this tenant that left.
    pub(super) fn give_back(&mut self, tenant: u32, room: u32) {
        *self.held.get_mut(&tenant).expect("a tenant with a packet has room for it") -= room;
    }

    /// Frees the room of a finished packet.
    pub(super) fn take_release(&mut self, now: Cycle) -> bool {
        let Some(Release { taken, pkt_addr, dropped, .. }) = self.released.take() else { return false };
        let stored = self.ring.free(pkt_addr.wrapping_sub(L2_PACKET_BASE)).expect("a released block is in the ring");
        let Stored { packet, tenant, room, user, arrival, .. } = *stored;
        self.give_back(tenant, room);
        // The wire from the clusters has no register in the RTL, but the channel in the model has one.
        let feedback = now - RELEASE_LATENCY;
        if let Some(reason) = dropped {
            self.dropped(feedback, packet, reason);
        } else {
            self.stats.done(feedback, feedback - arrival);
            self.trace.emit(&PACKET_DONE, feedback, &[packet.0]);
            self.completions.done(PacketDone { packet, user, nic_arrival: arrival, her: taken, feedback });
        }
        self.ring.reclaim();
        self.stats.occupied.set(now, self.ring.occupied().into());
        true
    }
}
