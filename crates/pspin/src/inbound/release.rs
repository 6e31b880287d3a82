//! Packets that leave packet memory, and the room that they give back.

use super::{Cycle, Inbound, L2_PACKET_BASE, Release, Stored};
use crate::events::PACKET_DONE;
use crate::world::PacketDone;

/// Cycles of the channel of released packets, which in the RTL is a wire.
const RELEASE_LATENCY: u64 = 1;

impl Inbound {
    /// The packet whose feedback reached the NIC in cycle `now`, the last that was lived through; [`crate::world::Completions`] hear of it in
    /// the next.
    pub fn done_in(&self, now: Cycle) -> Option<PacketDone> {
        let coming = self.released.peek_ahead()?;
        let (seen, Release { pkt_addr, dropped: None, .. }) = *coming else { return None };
        let stored = self.ring.at(pkt_addr.wrapping_sub(L2_PACKET_BASE))?;
        let Stored { packet, user, arrival, her_at, .. } = *stored;
        let done = PacketDone { packet, user, nic_arrival: arrival, her: her_at, feedback: now };
        (seen == now + RELEASE_LATENCY).then_some(done)
    }

    /// A packet of this tenant has left.
    pub(super) fn give_back(&mut self, tenant: u32, room: u32) {
        *self.held.get_mut(&tenant).expect("a tenant with a packet has room for it") -= room;
    }

    /// Takes back the room of a packet that has been dealt with.
    pub(super) fn take_release(&mut self, now: Cycle) -> bool {
        let Some(Release { pkt_addr, dropped, .. }) = self.released.take() else { return false };
        let stored = self.ring.free(pkt_addr.wrapping_sub(L2_PACKET_BASE)).expect("what is released is in the ring");
        let Stored { packet, tenant, room, user, arrival, her_at, .. } = *stored;
        self.give_back(tenant, room);
        // The wire from the clusters has no register here; the channel that stands for it has.
        let feedback = now - RELEASE_LATENCY;
        if let Some(reason) = dropped {
            self.dropped(feedback, packet, reason);
        } else {
            self.stats.done(feedback, feedback - arrival);
            self.trace.emit(&PACKET_DONE, feedback, &[packet.0]);
            self.completions.done(PacketDone { packet, user, nic_arrival: arrival, her: her_at, feedback });
        }
        self.ring.reclaim();
        true
    }
}
