//! Admission of packets: accepted, marked for congestion (ECN), or dropped.

use super::{Arrival, BEAT_BYTES, Cycle, DropReason, Inbound, PacketId};
use crate::delivery::WhenFull;
use crate::events::PACKET_MARKED;
use wire::ecn;

impl Inbound {
    /// Returns the reason if the packet is dropped regardless of free room.
    pub(super) fn refused(&self, arriving: &Arrival) -> Option<DropReason> {
        match arriving.bytes.len() {
            _ if self.is_killed(arriving) => Some(DropReason::MessageKilled),
            0 => Some(DropReason::Empty),
            size if size > self.ring.most_bytes(self.params.ring_bytes) as usize => Some(DropReason::TooLarge),
            _ if arriving.xfer_size > self.params.max_xfer_bytes => Some(DropReason::TransferTooLarge),
            size if self.is_beyond_share(arriving.context.tenant, size) => Some(DropReason::PacketMemoryShare),
            _ => None,
        }
    }

    /// Returns true if the tenant would exceed its share of packet memory while there are others. One packet is
    /// always allowed.
    fn is_beyond_share(&self, tenant: u32, size: usize) -> bool {
        if !self.is_shared {
            return false;
        }
        let held = self.held.get(&tenant).copied().unwrap_or(0);
        held > 0
            && u64::from(held) + size.next_multiple_of(BEAT_BYTES as usize) as u64 > u64::from(self.params.share_bytes)
    }

    /// Applies the context's choice for a packet that has no room.
    pub(super) fn refused_when_full(&self, arriving: &Arrival) -> Option<DropReason> {
        match arriving.context.delivery.when_full {
            WhenFull::Stall => None,
            WhenFull::Drop => Some(DropReason::PacketMemoryFull),
            WhenFull::MarkEcn if ecn::is_capable(&arriving.bytes) => None,
            WhenFull::MarkEcn => Some(DropReason::PacketMemoryFull),
            WhenFull::KillMessage => Some(DropReason::MessageKilled),
        }
    }

    /// Marks a packet if its context asks for marks and packet memory is occupied beyond the threshold.
    pub(super) fn mark(&mut self, now: Cycle, packet: PacketId, arriving: &mut Arrival) {
        let delivery = arriving.context.delivery;
        let occupied = u64::from(self.ring.occupied());
        let threshold = u64::from(self.params.ring_bytes) * u64::from(delivery.ecn_threshold_percent);
        if delivery.when_full == WhenFull::MarkEcn && occupied * 100 > threshold && ecn::mark(&mut arriving.bytes) {
            self.stats.marked.add(1);
            self.trace.emit(&PACKET_MARKED, now, &[packet.0, occupied]);
        }
    }
}
