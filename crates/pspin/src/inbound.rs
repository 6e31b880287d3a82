//! NIC inbound engine: packets into L2 packet memory, requests to the message queues, room back from feedback.

use crate::delivery::DropReason;
use crate::events::{HER_SENT, PACKET_DROPPED, PACKET_IN, PACKET_STALLED};
use crate::map::L2_PACKET_BASE;
use crate::nhi::{NhiMaster, PAGE_BYTES, Ready, burst_bytes};
use crate::params::{PspinParams, Regions};
use crate::protocol::{
    BEAT_BYTES, BurstReply, ClusterActive, Her, Kill, PacketId, Release, Request, TenantsServed, whole_words,
};
use crate::world::{Arrival, Completions, PacketSource};
use blocks::activity::{busy_if, earliest};
use kernel::trace::Tracer;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

mod admission;
mod endings;
mod release;
mod ring;
mod stats;
use ring::Ring;
use stats::Stats;

/// Fixed properties of an [`Inbound`] engine.
#[derive(Clone, Copy, Debug)]
pub struct InboundParams {
    /// Bytes of L2 packet memory.
    pub ring_bytes: u32,
    /// Of them, so many a tenant may have while several have rules.
    pub share_bytes: u32,
    /// Room comes back by the bytes that were copied to L1: `rtl_mistakes.l2_freed_by_copied_bytes`.
    pub frees_copied: bool,
    /// Most bytes of a packet that fit into an L1 packet ring.
    pub max_xfer_bytes: u32,
    /// A packet's last word is filled with zeros, so that it shows nothing of the packet that lay there before.
    pub fills_words: bool,
}

impl From<&PspinParams> for InboundParams {
    fn from(params: &PspinParams) -> Self {
        let ring_bytes = params.l2.packet_bytes;
        let share = u64::from(ring_bytes) * u64::from(params.sharing.packet_memory_percent) / 100;
        InboundParams {
            ring_bytes,
            share_bytes: share as u32,
            frees_copied: params.rtl_mistakes.l2_freed_by_copied_bytes,
            max_xfer_bytes: params.cluster.packet_buffer_bytes / params.cluster.packet_buffer_rings,
            fills_words: params.isolation.regions == Regions::Exact,
        }
    }
}

/// The ports of an [`Inbound`] engine.
pub struct InboundPorts {
    /// One from each cluster, which sends once all its cores wait for a task; latency 1.
    pub active: Vec<Rx<ClusterActive>>,
    /// To the message queues; capacity 2, latency 1.
    pub requests: Tx<Request>,
    /// Packets that may leave packet memory.
    pub released: Rx<Release>,
    /// Says that the source may have packets again; from outside the simulation.
    pub more: Rx<MorePackets>,
    /// Messages that the host ends; from outside the simulation.
    pub kills: Rx<Kill>,
    /// How many tenants have rules; from outside the simulation.
    pub tenants: Rx<TenantsServed>,
    /// To L2.
    pub nhi: NhiMaster,
}

/// The source may have packets again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MorePackets;

/// A packet in L2 packet memory.
struct Stored {
    packet: PacketId,
    tenant: u32,
    /// Bytes of packet memory.
    room: u32,
    user: u64,
    arrival: Cycle,
    /// Bursts that are not acknowledged.
    bursts_left: u32,
    /// Until it is sent.
    her: Option<Her>,
    her_at: Cycle,
    /// Why its message was ended before its request was sent.
    killed: Option<DropReason>,
}

/// Takes packets from the world one by one, once all clusters are active.
///
/// What a packet meets that finds no room is its context's choice ([`crate::delivery::Delivery`]).
///
/// Ports:    `active[c]`, `released`, `more`, `kills` in, `requests` out, a master on the NIC-host interconnect.
/// Timing:   room found in cycle p: L2 sees the first beat in p + 1. The last write response in cycle w: the request is
///           seen by the queues in w + 1. Feedback of cycle f, seen here in f + 1: the room can be used in f + 1.
/// Source:   PsPIN RTL a49fec8, `hw/verilator_model/src/NICInbound.hpp`; Di Girolamo et al., ISCA 2021, III-A, for what
///           may be done when packet memory is full besides waiting.
/// Differs:  room is freed by what was allocated, not by the bytes copied to L1, which may round to another size and then
///           blocks the ring for ever; a packet that can never find room, or whose copy none in L1, is dropped;
///           a ring that is empty gives all its room.
pub struct Inbound {
    params: InboundParams,
    active: Vec<Rx<ClusterActive>>,
    requests: Tx<Request>,
    released: Rx<Release>,
    more: Rx<MorePackets>,
    kills: Rx<Kill>,
    tenants: Rx<TenantsServed>,
    nhi: NhiMaster,
    source: Box<dyn PacketSource>,
    completions: Box<dyn Completions>,
    trace: Tracer,

    inactive: usize,
    /// The packet to be taken next.
    arriving: Option<Arrival>,
    /// From when it may be taken.
    next_at: Cycle,
    /// Since when it has found no room.
    stalled_since: Option<Cycle>,
    n_seen: u64,
    ring: Ring<Stored>,
    /// Several tenants have rules, and none may have all.
    is_shared: bool,
    /// Bytes of packet memory that tenants have.
    held: BTreeMap<u32, u32>,
    /// Messages that were killed and whose last packet has not come.
    killed: BTreeSet<u16>,
    /// The end of a message of which the message queues have not heard: [`Request::Kill`] or [`Request::End`].
    ending: Option<Request>,
    /// Write bursts that wait for the bus.
    bursts: VecDeque<(u32, Box<[u8]>)>,
    /// Position in order of arrival of the packet whose write response, and whose request, is next.
    n_written: u64,
    n_requested: u64,

    stats: Stats,
}

impl Inbound {
    /// An engine between the world's `source` and `completions`.
    pub fn new(
        params: InboundParams,
        ports: InboundPorts,
        source: Box<dyn PacketSource>,
        completions: Box<dyn Completions>,
        trace: Tracer,
    ) -> Self {
        Inbound {
            params,
            inactive: ports.active.len(),
            active: ports.active,
            requests: ports.requests,
            released: ports.released,
            more: ports.more,
            kills: ports.kills,
            tenants: ports.tenants,
            nhi: ports.nhi,
            source,
            completions,
            trace,
            arriving: None,
            next_at: 0,
            stalled_since: None,
            n_seen: 0,
            ring: Ring::new(params.ring_bytes),
            is_shared: false,
            held: BTreeMap::new(),
            killed: BTreeSet::new(),
            ending: None,
            bursts: VecDeque::new(),
            n_written: 0,
            n_requested: 0,
            stats: Stats::default(),
        }
    }

    /// Acknowledged bursts, in order.
    fn take_replies(&mut self) -> bool {
        let mut changed = false;
        while let Some(reply) = self.nhi.reply() {
            assert!(matches!(reply, BurstReply::Written { decoded: true, .. }), "packet memory takes all writes");
            let stored = self.ring.get_mut(self.n_written);
            stored.bursts_left -= 1;
            self.n_written += u64::from(stored.bursts_left == 0);
            changed = true;
        }
        changed
    }

    /// Takes the next packet if its time has come and there is room.
    fn take_packet(&mut self, now: Cycle) -> Activity {
        if now < self.next_at {
            return Activity::Until(self.next_at);
        }
        if self.arriving.is_none() {
            self.arriving = self.source.next(now);
        }
        let Some(arriving) = &self.arriving else {
            return self.source.next_at().map_or(Activity::Idle, |cycle| Activity::Until(cycle.max(now + 1)));
        };
        if now < arriving.earliest {
            return Activity::Until(arriving.earliest);
        }
        if !self.evict() {
            return Activity::Idle;
        }
        let arriving = self.arriving.as_ref().expect("just seen");
        let size = arriving.bytes.len() as u32;
        let room = self.ring.find_room(size.next_multiple_of(BEAT_BYTES));
        let verdict =
            self.refused(arriving).or_else(|| if room.is_none() { self.refused_when_full(arriving) } else { None });
        match (verdict, room) {
            (Some(reason), _) if self.ending.is_some() && self.may_end(arriving, reason) => return Activity::Idle,
            (Some(reason), _) => self.refuse(now, reason),
            (None, Some(offset)) => {
                let arriving = self.arriving.take().expect("a packet arrives");
                self.store(now, arriving, offset);
            }
            (None, None) => {
                if self.stalled_since.is_none() {
                    self.stalled_since = Some(now);
                    self.trace.emit(&PACKET_STALLED, now, &[self.n_seen]);
                }
                return Activity::Idle;
            }
        }
        Activity::Busy
    }

    fn drop_arriving(&mut self, now: Cycle, reason: DropReason) -> Arrival {
        let arriving = self.arriving.take().expect("a packet arrives");
        self.next_at = now.saturating_add(arriving.gap.max(1));
        self.stats.stall_cycles.add(self.stalled_since.take().map_or(0, |since| now - since));
        self.dropped(now, PacketId(self.n_seen), reason);
        self.n_seen += 1;
        arriving
    }

    fn dropped(&mut self, now: Cycle, packet: PacketId, reason: DropReason) {
        self.stats.dropped[reason as usize].add(1);
        self.trace.emit(&PACKET_DROPPED, now, &[packet.0, reason as u64]);
    }

    fn store(&mut self, now: Cycle, mut arriving: Arrival, offset: u32) {
        let packet = PacketId(self.n_seen);
        self.mark(now, packet, &mut arriving);
        let Arrival { gap, bytes, msgid, som, eom, xfer_size, context, user, .. } = arriving;
        let (addr, size) = (L2_PACKET_BASE + offset, bytes.len() as u32);
        let (tenant, room) = (context.tenant, size.next_multiple_of(BEAT_BYTES));
        *self.held.entry(tenant).or_default() += room;
        self.n_seen += 1;
        if som == Some(true) {
            self.killed.remove(&msgid);
        }
        self.next_at = now + gap.max(1);
        let waited = self.stalled_since.take().map_or(0, |since| now - since);
        self.stats.stall_cycles.add(waited);
        self.stats.packets.add(1);
        self.stats.bytes.add(u64::from(size));
        self.trace.emit(&PACKET_IN, now, &[packet.0, u64::from(msgid), u64::from(size), u64::from(addr)]);
        let before = self.bursts.len();
        self.queue_bursts(addr, if self.params.fills_words { whole_words(bytes) } else { bytes });
        let bursts_left = (self.bursts.len() - before) as u32;
        let her = Some(Her { packet, msgid, som, eom, addr, size, xfer_size, context });
        let stored = Stored { packet, tenant, room, user, arrival: now, bursts_left, her, her_at: 0, killed: None };
        let moves_by = if self.params.frees_copied { xfer_size.next_multiple_of(BEAT_BYTES) } else { room };
        self.ring.push(offset, room, moves_by, stored);
    }

    /// Cuts a packet at pages; one that lies within a page is not copied.
    fn queue_bursts(&mut self, addr: u32, bytes: Box<[u8]>) {
        let size = bytes.len() as u32;
        if burst_bytes(addr, size) == size {
            return self.bursts.push_back((addr, bytes));
        }
        let first = (PAGE_BYTES - addr % PAGE_BYTES) as usize;
        let (head, rest) = bytes.split_at(first);
        self.bursts.push_back((addr, head.into()));
        let pages = rest.chunks(PAGE_BYTES as usize).zip((addr + first as u32..).step_by(PAGE_BYTES as usize));
        self.bursts.extend(pages.map(|(page, addr)| (addr, page.into())));
    }

    fn send_burst(&mut self, now: Cycle) -> Activity {
        let Some((addr, _)) = self.bursts.front() else { return Activity::Idle };
        match self.nhi.write_ready(now, *addr).expect("packet memory is mapped") {
            Ready::Later => Activity::Idle,
            Ready::At(cycle) => Activity::Until(cycle),
            Ready::Now => {
                let (addr, data) = self.bursts.pop_front().expect("a burst waits");
                self.nhi.write(now, 0, addr, data, true);
                Activity::Busy
            }
        }
    }

    /// Sends the next request; before it, the end of a message. Of killed messages no request is sent.
    fn send_request(&mut self, now: Cycle) -> bool {
        if self.ending.is_some() {
            if !self.requests.has_room() {
                return false;
            }
            self.requests.send(self.ending.take().expect("a message ends"));
            return true;
        }
        if self.n_requested == self.n_written {
            return false;
        }
        let stored = self.ring.get_mut(self.n_requested);
        if let Some(reason) = stored.killed {
            let (packet, tenant, room) = (stored.packet, stored.tenant, stored.room);
            self.give_back(tenant, room);
            self.ring.free_nth(self.n_requested);
            self.n_requested += 1;
            self.dropped(now, packet, reason);
            self.ring.reclaim();
            return true;
        }
        if !self.requests.has_room() {
            return false;
        }
        let her = stored.her.take().expect("a request is sent once");
        stored.her_at = now + 1;
        self.trace.emit(&HER_SENT, now + 1, &[her.packet.0, u64::from(her.eom)]);
        self.requests.send(Request::Her(her));
        self.n_requested += 1;
        true
    }
}

impl Component for Inbound {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.inactive -= self.active.iter().filter(|active| active.take().is_some()).count();
        if self.inactive > 0 {
            return Activity::Idle;
        }
        // First, since feedback is from the cycle before and its room is usable from this one on.
        let mut changed = self.take_release(now);
        changed |= self.take_replies();
        while self.more.take().is_some() {}
        changed |= self.take_kill(now);
        while let Some(TenantsServed(n)) = self.tenants.take() {
            self.is_shared = n > 1 && self.params.share_bytes < self.params.ring_bytes;
        }
        let taking = self.take_packet(now);
        let sending = self.send_burst(now);
        changed |= self.send_request(now);
        earliest(busy_if(changed), earliest(taking, sending))
    }

    fn ports(&self, ports: &mut Ports) {
        ports.inputs("active", &self.active);
        ports.output("requests", &self.requests);
        ports.input("released", &self.released);
        ports.input("more", &self.more);
        ports.input("kills", &self.kills);
        ports.input("tenants", &self.tenants);
        self.nhi.ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        self.stats.counters(counters);
    }
}

#[cfg(test)]
mod tests;
