//! The initiator's side of the NIC-host interconnect (512 bit), which itself has no registers.

use crate::cluster_noc::ClusterNoc;
use crate::map::{L1_BASE, L1_STRIDE, L2_HANDLER_BASE, L2_PACKET_BASE, PROGRAM_BASE};
use crate::params::PspinParams;
use crate::protocol::{BEAT_BYTES, Burst, BurstReply, beats};
use kernel::{Activity, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

pub use crate::protocol::PAGE_BYTES;

/// Offset of an L1's alias from the L1.
pub const L1_ALIAS: u32 = 0x10_0000;

/// Maximum bursts in flight of one initiator and direction. `PACKET_BURSTS` holds for L2 packet memory and for all
/// clusters together; the demultiplexer of the initiator sets it. `OTHER_BURSTS` holds for each other target; the
/// identity remapper before the target sets it for one identity (PsPIN RTL a49fec8, `axi_demux.sv`, a counter of three
/// bits; `nhi_xbar.sv`, `cluster_noc.sv`).
const PACKET_BURSTS: u32 = 7;
const OTHER_BURSTS: u32 = 2;
/// Limit for bursts to unmapped addresses. Source: `nhi_xbar.sv`, MaxTrans of the error responders.
const NOWHERE_BURSTS: u32 = 4;

/// The first bytes of a beat from an unmapped address; the others are 0. Source: `axi_err_slv.sv`, RespData.
const NO_DATA: [u8; 8] = 0xca11_ab1e_badc_ab1e_u64.to_le_bytes();

/// Nothing answers at this address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("nothing answers at NIC address {addr:#010x}")]
pub struct Undecoded {
    /// The first such byte.
    pub addr: u32,
}

/// The memories that an initiator reaches, and their addresses.
#[derive(Clone, Debug)]
pub struct NhiMap {
    windows: Vec<AddressWindow>,
}

/// Addresses from `base` on, at which a memory answers as if they began at `seen_as`.
#[derive(Clone, Copy, Debug)]
struct AddressWindow {
    base: u32,
    size: u32,
    target: Target,
    seen_as: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    Handler,
    Packet,
    Program,
    L1(usize),
    /// All L1s, if another module distinguishes them.
    Clusters,
    /// Unmapped: see [`Nowhere`].
    Nowhere,
}

impl NhiMap {
    /// L2 alone, as the inbound engine sees it.
    pub fn l2(params: &PspinParams) -> Self {
        let window = |base, size, target| AddressWindow { base, size, target, seen_as: base };
        let handler = window(L2_HANDLER_BASE, params.l2.handler_bytes, Target::Handler);
        NhiMap { windows: vec![handler, window(L2_PACKET_BASE, params.l2.packet_bytes, Target::Packet)] }
    }

    /// The memories that the host accesses itself: handler and program memory; also each L1 if the host clears scratchpads.
    pub fn host(params: &PspinParams) -> Self {
        let window = |base, size, target| AddressWindow { base, size, target, seen_as: base };
        let handler = window(L2_HANDLER_BASE, params.l2.handler_bytes, Target::Handler);
        let mut windows = vec![handler, window(PROGRAM_BASE, params.l2.program_bytes, Target::Program)];
        if params.isolation.host_clears_scratchpads {
            let l1 =
                |cluster| window(L1_BASE + cluster * L1_STRIDE, params.cluster.l1_bytes, Target::L1(cluster as usize));
            windows.extend((0..params.n_clusters).map(l1));
        }
        NhiMap { windows }
    }

    /// L2 and the L1 of each cluster with its alias.
    pub fn all(params: &PspinParams) -> Self {
        let mut map = NhiMap::l2(params);
        for cluster in 0..params.n_clusters {
            let seen_as = L1_BASE + cluster * L1_STRIDE;
            let (size, target) = (params.cluster.l1_bytes, Target::L1(cluster as usize));
            let window = |base| AddressWindow { base, size, target, seen_as };
            map.windows.extend([seen_as, seen_as + L1_ALIAS].map(window));
        }
        map
    }

    fn window(&self, addr: u32) -> Result<AddressWindow, Undecoded> {
        let found = self.windows.iter().find(|window| addr.wrapping_sub(window.base) < window.size);
        found.copied().ok_or(Undecoded { addr })
    }

    /// Returns true if the whole range is mapped; it may span adjacent memories.
    pub fn check(&self, addr: u32, size: u32) -> Result<(), Undecoded> {
        let end = u64::from(addr) + u64::from(size);
        let mut next = u64::from(addr);
        while next < end {
            let at = u32::try_from(next).map_err(|_| Undecoded { addr: u32::MAX })?;
            let AddressWindow { base, size, .. } = self.window(at)?;
            next = u64::from(base) + u64::from(size);
        }
        Ok(())
    }
}

/// Bytes from `addr` on that a burst may cover: up to `size`, within a page.
pub fn burst_bytes(addr: u32, size: u32) -> u32 {
    size.min(PAGE_BYTES - addr % PAGE_BYTES)
}

/// The channels to and from one target; capacity 2 or more, latency 1 for the requests.
pub struct NhiPort {
    /// To the target.
    pub requests: Tx<Burst>,
    /// From the target.
    pub replies: Rx<BurstReply>,
}

/// When a burst can be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ready {
    /// At this edge.
    Now,
    /// Not before this cycle.
    At(Cycle),
    /// When a port has changed.
    Later,
}

/// One direction: bursts of one AXI identity.
#[derive(Default)]
struct AxiDirection {
    target: Option<Target>,
    /// Bursts sent whose reply has not begun, or comes in parts.
    outstanding: u32,
    /// Last cycle in which a reply's beats arrive.
    reply_until: Option<Cycle>,
}

impl AxiDirection {
    /// Replies of one identity come in order, so a burst to another target waits until earlier replies are complete. It may
    /// be sent in the cycle of their last beat, because it reaches its target in the next cycle.
    fn ready(&self, now: Cycle, target: Target) -> Ready {
        let draining = self.reply_until.filter(|&until| until > now);
        let limit = match target {
            Target::Packet | Target::Clusters => PACKET_BURSTS,
            Target::Nowhere => NOWHERE_BURSTS,
            _ => OTHER_BURSTS,
        };
        let same = self.target == Some(target);
        match (same, self.outstanding, draining) {
            (true, n, None) if n < limit => Ready::Now,
            (true, n, Some(_)) if n + 1 < limit => Ready::Now,
            (false, 0, None) => Ready::Now,
            (true, n, Some(until)) if n < limit => Ready::At(until),
            (false, 0, Some(until)) => Ready::At(until),
            _ => Ready::Later,
        }
    }

    fn sent(&mut self, target: Target) {
        self.target = Some(target);
        self.outstanding += 1;
    }

    fn replied(&mut self, until: Option<Cycle>) {
        assert!(self.outstanding > 0, "a reply answers a request");
        self.outstanding -= 1;
        self.reply_until = until;
    }
}

/// Answers bursts to unmapped addresses as if a memory were there. Part of `rtl_mistakes.unmapped_commands_succeed` and of
/// `rtl_mistakes.unmapped_host_writes_vanish`.
///
/// Timing:  the first beat of a read arrives 3 cycles after the read is sent, but no earlier than 2 cycles after the last beat of the
///          previous read; then one beat a cycle. The response of a write arrives in the cycle after its last beat.
/// Source:  PsPIN RTL a49fec8, `axi_err_slv.sv`.
#[derive(Default)]
struct Nowhere {
    /// Reads: first cycle for the next beat, tag, next address, bytes to come.
    reads: VecDeque<(Cycle, u32, u32, u32)>,
    /// Writes: cycle of the response, tag.
    writes: VecDeque<(Cycle, u32)>,
}

impl Nowhere {
    /// The cycle of the next answer.
    fn next(&self) -> Option<Cycle> {
        let times = [self.reads.front().map(|read| read.0), self.writes.front().map(|write| write.0)];
        times.into_iter().flatten().min()
    }

    /// The answer that is due, if any: one beat of a read if `in_parts`, else the whole read with its first beat.
    fn take(&mut self, now: Cycle, in_parts: bool) -> Option<BurstReply> {
        if let Some(&(at, tag)) = self.writes.front()
            && at <= now
        {
            self.writes.pop_front();
            return Some(BurstReply::Written { tag, decoded: true });
        }
        let (at, tag, addr, left) = self.reads.front_mut().filter(|read| read.0 <= now)?;
        let size = if in_parts { (*left).min(BEAT_BYTES - *addr % BEAT_BYTES) } else { *left };
        let byte = |addr: u32| NO_DATA.get((addr % BEAT_BYTES) as usize).copied().unwrap_or(0);
        let data = (0..size).map(|i| byte(addr.wrapping_add(i))).collect();
        let last = now + Cycle::from(beats(*addr, size)) - 1;
        let reply = BurstReply::Data { tag: *tag, data, last };
        (*at, *addr, *left) = (last + 1, addr.wrapping_add(size), *left - size);
        if *left == 0 {
            self.reads.pop_front();
            if let Some((at, ..)) = self.reads.front_mut() {
                *at = (*at).max(last + 2);
            }
        }
        Some(reply)
    }
}

/// Routes bursts to the target that answers at their address and takes back the replies, in order for each direction.
///
/// Ports:    `l2` (program memory too) and `l1[c]`, each a pair of requests out and replies in.
/// Timing:   none of its own. A write burst of n beats keeps the write data bus for n cycles.
/// Source:   PsPIN RTL a49fec8, `nhi_xbar.sv`, `cluster_noc.sv`, `axi_demux.sv`.
pub struct NhiMaster {
    map: NhiMap,
    l2: NhiPort,
    clusters: Clusters,
    reads: AxiDirection,
    writes: AxiDirection,
    /// First cycle in which the write data bus is free.
    bus_free: Cycle,
    /// For each write without a reply, true if it was the last part of its burst. `in_burst` is true while a burst is sent
    /// in parts.
    parts: VecDeque<bool>,
    in_burst: bool,
    /// True if read data of L1 arrives beat by beat. `unread` is the number of bytes that each read still waits for.
    in_parts: bool,
    unread: VecDeque<u32>,
    /// Answers at unmapped addresses; `None` if those are errors.
    nowhere: Option<Nowhere>,
}

/// The path to the L1s.
enum Clusters {
    /// A port for each.
    Each(Vec<NhiPort>),
    /// One port to the module that distinguishes the L1s.
    One(NhiPort),
    /// The module that distinguishes the L1s, contained here.
    Noc(Box<ClusterNoc>),
}

impl NhiMaster {
    /// A master that reaches the memories in `map`; `l1s` has a port for each cluster in `map`.
    pub fn new(map: NhiMap, l2: NhiPort, l1s: Vec<NhiPort>) -> Self {
        let reached = map.windows.iter().all(|window| !matches!(window.target, Target::L1(c) if c >= l1s.len()));
        assert!(reached, "each cluster that is mapped has a port");
        NhiMaster::with(map, l2, Clusters::Each(l1s))
    }

    /// A master that only reads and reaches L1s through `clusters`.
    pub fn through(map: NhiMap, l2: NhiPort, clusters: NhiPort) -> Self {
        NhiMaster::with(map, l2, Clusters::One(clusters))
    }

    /// A master that only reads and contains the path to the L1s; see [`NhiMaster::begin`].
    pub fn around(map: NhiMap, l2: NhiPort, clusters: ClusterNoc) -> Self {
        NhiMaster::with(map, l2, Clusters::Noc(Box::new(clusters)))
    }

    fn with(map: NhiMap, l2: NhiPort, clusters: Clusters) -> Self {
        let (parts, unread) = (VecDeque::new(), VecDeque::new());
        let (reads, writes) = (AxiDirection::default(), AxiDirection::default());
        let (in_burst, in_parts, nowhere) = (false, false, None);
        NhiMaster { map, l2, clusters, reads, writes, bus_free: 0, parts, in_burst, in_parts, unread, nowhere }
    }

    /// Beats arrive in this cycle. If this master contains the path to the L1s, call it before [`NhiMaster::reply`].
    pub fn begin(&mut self, now: Cycle) {
        if let Clusters::Noc(noc) = &mut self.clusters {
            noc.deliver(now);
        }
    }

    /// Addresses advance in this cycle; returns true if any waits. If this master contains the path to the L1s, call it
    /// after [`NhiMaster::read`].
    pub fn end(&mut self, now: Cycle) -> bool {
        if let Clusters::Noc(noc) = &mut self.clusters { noc.forward(now) } else { false }
    }

    /// The same master for an initiator that processes each beat when it arrives.
    pub fn beat_by_beat(self) -> Self {
        NhiMaster { in_parts: true, ..self }
    }

    /// The same, but if `is_silent`, accesses to unmapped addresses are answered as if a memory were there.
    pub fn with_silent_errors(self, is_silent: bool) -> Self {
        NhiMaster { nowhere: is_silent.then(Nowhere::default), ..self }
    }

    /// Returns the first unmapped address as an error, unless errors are silent.
    pub fn check(&self, addr: u32, size: u32) -> Result<(), Undecoded> {
        if self.nowhere.is_some() { Ok(()) } else { self.check_mapped(addr, size) }
    }

    /// See [`NhiMap::check`].
    pub fn check_mapped(&self, addr: u32, size: u32) -> Result<(), Undecoded> {
        self.map.check(addr, size)
    }

    /// The window at an address. If errors are silent, an unmapped address is a window of its own.
    fn window(&self, addr: u32) -> Result<AddressWindow, Undecoded> {
        let window = self.map.window(addr);
        let nowhere = AddressWindow { base: addr, size: 1, target: Target::Nowhere, seen_as: addr };
        if self.nowhere.is_some() { Ok(window.unwrap_or(nowhere)) } else { window }
    }

    /// Time of the next answer from an unmapped address, which no port announces.
    pub fn wake(&self, now: Cycle) -> Activity {
        match self.nowhere.as_ref().and_then(Nowhere::next) {
            Some(at) => Activity::Until(at.max(now + 1)),
            None => Activity::Idle,
        }
    }

    /// Returns true if `addr` is in a cluster behind another module, which takes a cycle in each direction.
    pub fn is_through(&self, addr: u32) -> bool {
        matches!(self.clusters, Clusters::One(_)) && self.is_l1(addr)
    }

    /// Returns true if `addr` is in a cluster.
    pub fn is_l1(&self, addr: u32) -> bool {
        self.map.window(addr).is_ok_and(|window| matches!(window.target, Target::L1(_)))
    }

    fn room(&self, target: Target) -> Ready {
        let has_room = match (target, &self.clusters) {
            (Target::Nowhere, _) => true,
            (Target::L1(cluster), Clusters::Each(l1s)) => l1s[cluster].requests.has_room(),
            (Target::L1(_), Clusters::One(port)) => port.requests.has_room(),
            (Target::L1(_), Clusters::Noc(noc)) => noc.has_room(),
            _ => self.l2.requests.has_room(),
        };
        if has_room { Ready::Now } else { Ready::Later }
    }

    fn send(&mut self, now: Cycle, target: Target, burst: Burst) {
        match (target, &mut self.clusters) {
            (Target::Nowhere, _) => {
                let nowhere = self.nowhere.as_mut().expect("otherwise the address is an error");
                match burst {
                    Burst::Read { tag, addr, size, .. } => nowhere.reads.push_back((now + 3, tag, addr, size)),
                    Burst::Write { tag, addr, data, .. } => {
                        nowhere.writes.push_back((now + Cycle::from(beats(addr, data.len() as u32)) + 1, tag));
                    }
                }
            }
            (Target::L1(cluster), Clusters::Each(l1s)) => l1s[cluster].requests.send(burst),
            (Target::L1(_), Clusters::One(port)) => port.requests.send(burst),
            (Target::L1(_), Clusters::Noc(noc)) => noc.send(burst),
            _ => self.l2.requests.send(burst),
        }
    }

    /// The target as this master sees it: behind another module, all L1s are one target.
    fn seen(&self, target: Target) -> Target {
        match (target, &self.clusters) {
            (Target::L1(_), Clusters::One(_) | Clusters::Noc(_)) => Target::Clusters,
            _ => target,
        }
    }

    /// When a read at `addr` can be sent.
    pub fn read_ready(&self, now: Cycle, addr: u32) -> Result<Ready, Undecoded> {
        let target = self.window(addr)?.target;
        Ok(match self.reads.ready(now, self.seen(target)) {
            Ready::Now => self.room(target),
            wait => wait,
        })
    }

    /// Sends a read within one page. Panics unless [`NhiMaster::read_ready`] said `Now`.
    pub fn read(&mut self, now: Cycle, tag: u32, addr: u32, size: u32) {
        assert_eq!(self.read_ready(now, addr), Ok(Ready::Now), "a read is sent when it can be");
        assert_eq!(burst_bytes(addr, size), size, "a burst stays within a page");
        let AddressWindow { base, target, seen_as, .. } = self.window(addr).expect("the address was decoded");
        self.reads.sent(self.seen(target));
        self.unread.push_back(size);
        let addr = addr - base + seen_as;
        let in_parts = self.in_parts;
        self.send(now, target, Burst::Read { tag, addr, size, in_parts });
    }

    /// When a write at `addr` can be sent, or the next part of the burst that is being sent.
    pub fn write_ready(&self, now: Cycle, addr: u32) -> Result<Ready, Undecoded> {
        let target = self.window(addr)?.target;
        let lane = if self.in_burst { Ready::Now } else { self.writes.ready(now, target) };
        Ok(match lane {
            Ready::Now if now < self.bus_free => Ready::At(self.bus_free),
            Ready::Now => self.room(target),
            wait => wait,
        })
    }

    /// Sends a write within one page, or a part of it while its other data have not arrived; `last` is false for all parts
    /// but the last. Each part has its own reply. Panics unless [`NhiMaster::write_ready`] said `Now`.
    pub fn write(&mut self, now: Cycle, tag: u32, addr: u32, data: Box<[u8]>, last: bool) {
        assert_eq!(self.write_ready(now, addr), Ok(Ready::Now), "a write is sent when it can be");
        let size = u32::try_from(data.len()).expect("a burst is at most a page");
        assert_eq!(burst_bytes(addr, size), size, "a burst stays within a page");
        let AddressWindow { base, target, seen_as, .. } = self.window(addr).expect("the address was decoded");
        if !self.in_burst {
            self.writes.sent(target);
        }
        self.in_burst = !last;
        self.parts.push_back(last);
        self.bus_free = now + u64::from(beats(addr, size));
        self.send(now, target, Burst::Write { tag, addr: addr - base + seen_as, data, last });
    }

    #[inline]
    fn take_reply(&mut self, now: Cycle) -> Option<BurstReply> {
        let in_parts = self.in_parts;
        if let Some(nowhere) = &mut self.nowhere
            && let Some(reply) = nowhere.take(now, in_parts)
        {
            return Some(reply);
        }
        if self.l2.replies.is_due(now) {
            return self.l2.replies.take();
        }
        match &mut self.clusters {
            Clusters::Each(l1s) => l1s.iter().find(|port| port.replies.is_due(now))?.replies.take(),
            Clusters::One(port) => port.replies.take_due(now),
            Clusters::Noc(noc) => noc.take(),
        }
    }

    /// The next reply that has arrived, if any; there may be one for each direction. Data of a read from L1 come with their
    /// last beat, or [`NhiMaster::beat_by_beat`].
    pub fn reply(&mut self, now: Cycle) -> Option<BurstReply> {
        let reply = self.take_reply(now)?;
        match &reply {
            BurstReply::Data { data, last, .. } => {
                let left = self.unread.front_mut().expect("data answer a read");
                // An unmapped address sends no data.
                *left -= if data.is_empty() { *left } else { data.len() as u32 };
                if *left == 0 {
                    self.unread.pop_front();
                    self.reads.replied(Some(*last));
                }
            }
            BurstReply::Later { .. } => self.reads.reply_until = self.reads.reply_until.map(|until| until + 1),
            BurstReply::Written { .. } => {
                let last = self.parts.pop_front().expect("a reply answers a request");
                if last {
                    self.writes.replied(None);
                }
            }
        }
        Some(reply)
    }

    /// Names the ports.
    pub fn ports(&self, ports: &mut Ports) {
        ports.output("l2_requests", &self.l2.requests);
        ports.input("l2_replies", &self.l2.replies);
        match &self.clusters {
            Clusters::Each(l1s) => {
                for (cluster, port) in l1s.iter().enumerate() {
                    ports.output(&format!("l1_requests[{cluster}]"), &port.requests);
                    ports.input(&format!("l1_replies[{cluster}]"), &port.replies);
                }
            }
            Clusters::One(port) => {
                ports.output("cluster_requests", &port.requests);
                ports.input("cluster_replies", &port.replies);
            }
            Clusters::Noc(noc) => noc.ports(ports),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::params;
    use expect_test::{Expect, expect};

    fn check(addr: u32, size: u32, want: Expect) {
        let text = match NhiMap::all(&params()).check(addr, size) {
            Ok(()) => "reached".to_owned(),
            Err(error) => error.to_string(),
        };
        want.assert_eq(&text);
    }

    #[test]
    fn memories_answer_up_to_their_last_byte() {
        check(0x1c00_0000, 0x80_0000, expect!["reached"]);
        check(0x1c00_0000, 0x80_0001, expect!["nothing answers at NIC address 0x1c800000"]);
        check(0x1bff_ffff, 1, expect!["nothing answers at NIC address 0x1bffffff"]);
        check(0x10c0_0000, 0x20_0000, expect!["reached"]);
        check(0x10df_ffff, 2, expect!["nothing answers at NIC address 0x10e00000"]);
        check(0x1100_0000, 1, expect!["nothing answers at NIC address 0x11000000"]);
        check(0xffff_ffff, 2, expect!["nothing answers at NIC address 0xffffffff"]);
        check(0, 0, expect!["reached"]);
    }

    #[test]
    fn a_burst_ends_at_its_page() {
        assert_eq!([burst_bytes(0x1ff0, 64), burst_bytes(0x1000, 8192), burst_bytes(0x1fff, 1)], [16, 4096, 1]);
    }
}
