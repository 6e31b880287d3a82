//! NIC inbound engine: writes packets to L2 packet memory, sends requests to the message queues, and frees memory on
//! feedback.

use crate::delivery::DropReason;
use crate::events::{PACKET_DROPPED, PACKET_IN, PACKET_STALLED};
use crate::map::L2_PACKET_BASE;
use crate::nhi::{NhiMaster, PAGE_BYTES, Ready, burst_bytes};
use crate::params::{IngressParams, PspinParams, Regions};
use crate::protocol::{
    BEAT_BYTES, BurstReply, ClusterActive, Her, Kill, PacketId, Release, Request, TenantsServed, WriteAddress,
    whole_words,
};
use crate::world::{Arrival, Completions, PacketSource};
use blocks::activity::{busy_if, earliest};
use kernel::trace::Tracer;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

mod admission;
mod endings;
mod packet_memory;
mod release;
mod ring;
mod slots;
mod stats;
use packet_memory::Places;
use stats::Stats;

/// Fixed properties of an [`Inbound`] engine.
#[derive(Clone, Copy, Debug)]
pub struct InboundParams {
    /// Size of L2 packet memory in bytes.
    pub ring_bytes: u32,
    /// Maximum bytes for one tenant while several have rules.
    pub share_bytes: u32,
    /// Memory is freed by the number of bytes copied to L1: `rtl_mistakes.l2_freed_by_copied_bytes`.
    pub frees_copied: bool,
    /// Maximum bytes of a packet that fit into an L1 packet ring.
    pub max_xfer_bytes: u32,
    /// If true, the last word of a packet is padded with zeros, so that no older data shows.
    pub fills_words: bool,
    /// Matching of packets, and their places in packet memory.
    pub ingress: IngressParams,
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
            ingress: params.ingress,
        }
    }
}

/// The ports of an [`Inbound`] engine.
pub struct InboundPorts {
    /// One per cluster. A cluster sends once, when all its cores have reached their drivers; latency 1.
    pub active: Vec<Rx<ClusterActive>>,
    /// To the message queues; capacity 2, latency 1.
    pub requests: Tx<Request>,
    /// Packets that can be freed.
    pub released: Rx<Release>,
    /// The source may have packets again; from outside the simulation.
    pub more: Rx<MorePackets>,
    /// Messages that the host ends; from outside the simulation.
    pub kills: Rx<Kill>,
    /// Number of tenants with rules; from outside the simulation.
    pub tenants: Rx<TenantsServed>,
    /// To L2.
    pub nhi: NhiMaster,
    /// Addresses of the bursts to packet memory, sent ahead of their data.
    pub addresses: Tx<WriteAddress>,
}

/// The source may have packets again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MorePackets;

/// A packet in L2 packet memory.
struct Stored {
    packet: PacketId,
    tenant: u32,
    /// Bytes of packet memory that it uses.
    room: u32,
    user: u64,
    arrival: Cycle,
    /// Number of unacknowledged bursts.
    bursts_left: u32,
    /// The request, until it is sent.
    her: Option<Her>,
    /// Reason why its message ended before its request was sent.
    killed: Option<DropReason>,
}

/// Accepts packets one by one, once all clusters are active.
///
/// The packet's context decides what happens if there is no room ([`crate::delivery::Delivery`]).
///
/// Ports:    `active[c]`, `released`, `more`, `kills` in, `requests` out, a master on the NIC-host interconnect.
/// Timing:   the unit looks for room [`IngressParams::match_cycles`] after the packet came; a match engine takes the
///           next packet in the cycle after that. If room is found in cycle p, L2 sees the first beat in p + 1. If the
///           last write response comes in cycle w, the queues see the request in w + 1. Feedback of cycle f is seen
///           here in f + 1, and the room can be used in f + 1.
/// Source:   PsPIN RTL a49fec8, `hw/verilator_model/src/NICInbound.hpp`; FPsPIN f5feca1, `pspin_pkt_match.v`, for the engine; Di Girolamo
///           et al., ISCA 2021, III-A, for the alternatives to waiting when packet memory is full.
/// Differs:  a packet frees the room that it was allocated. (The RTL frees the bytes copied to L1; if these round to
///           another size, the ring is blocked forever.) A packet that can never find room, or whose copy can find none
///           in L1, is dropped. An empty ring offers its full size.
pub struct Inbound {
    params: InboundParams,
    active: Vec<Rx<ClusterActive>>,
    requests: Tx<Request>,
    released: Rx<Release>,
    more: Rx<MorePackets>,
    kills: Rx<Kill>,
    tenants: Rx<TenantsServed>,
    nhi: NhiMaster,
    addresses: Tx<WriteAddress>,
    /// Bursts whose address is not sent.
    unsent_addresses: usize,
    source: Box<dyn PacketSource>,
    completions: Box<dyn Completions>,
    trace: Tracer,

    inactive: usize,
    /// The next packet to accept.
    arriving: Option<Arrival>,
    /// First cycle in which it can be accepted.
    next_at: Cycle,
    /// Cycle since which it has had no room.
    stalled_since: Option<Cycle>,
    n_seen: u64,
    /// Cycle in which the match engine finishes the next packet.
    matched_at: Option<Cycle>,
    ring: Places<Stored>,
    /// Several tenants have rules, so each is limited to its share.
    is_shared: bool,
    /// Bytes of packet memory used by each tenant.
    held: BTreeMap<u32, u32>,
    /// Killed messages whose last packet has not arrived.
    killed: BTreeSet<u16>,
    /// The end of a message that the message queues do not know yet: [`Request::Kill`] or [`Request::End`].
    ending: Option<Request>,
    /// Write bursts that wait for the interconnect.
    bursts: VecDeque<(u32, Box<[u8]>)>,
    /// Index, in order of arrival, of the packet whose write response and request are next.
    n_written: u64,
    n_requested: u64,

    stats: Stats,
}

impl Inbound {
    /// Creates an engine between `source` and `completions`.
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
            addresses: ports.addresses,
            unsent_addresses: 0,
            source,
            completions,
            trace,
            arriving: None,
            next_at: 0,
            stalled_since: None,
            n_seen: 0,
            matched_at: None,
            ring: Places::new(params.ring_bytes, &params.ingress),
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

    /// Processes acknowledgements of bursts, in order.
    fn take_replies(&mut self, now: Cycle) -> bool {
        let mut changed = false;
        while let Some(reply) = self.nhi.reply(now) {
            assert!(matches!(reply, BurstReply::Written { decoded: true, .. }), "packet memory takes all writes");
            let stored = self.ring.get_mut(self.n_written);
            stored.bursts_left -= 1;
            self.n_written += u64::from(stored.bursts_left == 0);
            changed = true;
        }
        changed
    }

    /// Accepts the next packet if it is due and has room.
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
        let matching = self.params.ingress.match_cycles(arriving.bytes.len());
        if self.matched_at.is_none() {
            self.stats.line_cycles.add(matching + 1);
        }
        let matched = *self.matched_at.get_or_insert(now + matching);
        if now < matched {
            return Activity::Until(matched);
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
        self.matched_at = None;
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
        self.matched_at = None;
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
        self.unsent_addresses += bursts_left as usize;
        let her = Some(Her { packet, taken: 0, msgid, som, eom, addr, size, xfer_size, context });
        let stored = Stored { packet, tenant, room, user, arrival: now, bursts_left, her, killed: None };
        let moves_by = if self.params.frees_copied { xfer_size.next_multiple_of(BEAT_BYTES) } else { room };
        self.ring.push(offset, room, moves_by, stored);
        self.stats.occupied.set(now, self.ring.occupied().into());
    }

    /// Splits a packet at page boundaries. A packet within one page is not copied.
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

    fn send_address(&mut self) -> bool {
        let sends = self.unsent_addresses > 0 && self.addresses.has_room();
        if sends {
            self.addresses.send(WriteAddress);
            self.unsent_addresses -= 1;
        }
        sends
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

    /// Sends the next request, or the end of a message, which goes first. Killed messages send no requests.
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
            self.stats.occupied.set(now, self.ring.occupied().into());
            return true;
        }
        if !self.requests.has_room() {
            return false;
        }
        let her = stored.her.take().expect("a request is sent once");
        self.requests.send(Request::Her(her));
        self.n_requested += 1;
        true
    }
}

impl Component for Inbound {
    fn tick(&mut self, now: Cycle) -> Activity {
        if self.inactive > 0 {
            self.inactive -= self.active.iter().filter(|active| active.take().is_some()).count();
            if self.inactive > 0 {
                return Activity::Idle;
            }
        }
        // First, because feedback is from the previous cycle and its room is usable in this one.
        let mut changed = self.take_release(now);
        changed |= self.take_replies(now);
        while self.more.take().is_some() {}
        changed |= self.take_kill(now);
        while let Some(TenantsServed(n)) = self.tenants.take() {
            self.is_shared = n > 1 && self.params.share_bytes < self.params.ring_bytes;
        }
        let taking = self.take_packet(now);
        changed |= self.send_address();
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
        ports.output("addresses", &self.addresses);
    }

    fn counters(&self, counters: &mut CounterList) {
        self.stats.counters(counters);
        let bytes = self.params.ring_bytes.into();
        counters.held("occupied_byte_cycles", &self.stats.occupied, bytes, "packet memory: its bytes");
        counters.busy(
            "line_cycles",
            self.stats.line_cycles.total(),
            1,
            "the line in: the next packet when one is matched",
        );
    }
}

#[cfg(test)]
mod tests;
