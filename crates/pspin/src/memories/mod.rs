//! L2 memories and program memory, with the interconnects that lead to them.

mod memory;
mod program;

use self::memory::Memory;
use self::program::ProgramMemory;
use crate::map;
use crate::params::{MAX_CORES, PspinParams};
use crate::pe::{CodeWrite, LineReply, LineRequest, PeOp, PeReply, PeRequest, RemoteReply, RemoteRequest};
use crate::protocol::{Burst, BurstReply, beats};
use isa::riscv::Amo;
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A target's end of the channels of one initiator: bursts and their replies.
pub type BurstPort = (Rx<Burst>, Tx<BurstReply>);

/// Channels of the memories; each list has one entry for each cluster, `bursts` one for each initiator.
#[derive(Default)]
pub struct MemoryPorts {
    /// Single accesses, and their answers.
    pub pe: Vec<(Rx<PeRequest>, Tx<PeReply>)>,
    /// Bursts of the cluster DMA engines.
    pub dma: Vec<BurstPort>,
    /// Bursts of the NIC-host interconnect.
    pub bursts: Vec<BurstPort>,
    /// Position among them of the host's own, which alone reach program memory.
    pub host: usize,
    /// Lines of the instruction caches.
    pub lines: Vec<(Rx<LineRequest>, Tx<LineReply>)>,
    /// What the host writes to program memory, told to the instruction caches.
    pub code: Vec<Tx<CodeWrite>>,
    /// Single accesses on their way to another cluster.
    pub remote: Vec<(Tx<RemoteRequest>, Rx<RemoteReply>)>,
}

/// Latencies of the channels that the memories are wired with, in cycles. A single access asks at c0, leaves its cluster
/// at c1, meets the SRAM at c10 and is back at its core's demultiplexer at c18 (loads from packet memory).
pub mod latency {
    /// From the cluster to the SRAM, for single accesses.
    pub const PE_REQUEST: u64 = 9;
    /// From the SRAM back to the cluster, at the least; what takes longer stands in `extra` below.
    pub const PE_REPLY: u64 = 7;
    /// From the DMA engine to the SRAM.
    pub const DMA_REQUEST: u64 = 2;
    /// From the SRAM back to the DMA engine.
    pub const DMA_REPLY: u64 = 3;
    /// From an initiator on the NIC-host interconnect to the SRAM.
    pub const BURST_REQUEST: u64 = 1;
    /// From the SRAM back to the initiator.
    pub const BURST_REPLY: u64 = 3;
    /// From L1 back to an initiator on the NIC-host interconnect.
    pub const L1_BURST_REPLY: u64 = 1;
    /// On to another cluster's L1.
    pub const REMOTE_REQUEST: u64 = 2;
    /// Back from there.
    pub const REMOTE_REPLY: u64 = 1;
    /// From an instruction cache to program memory.
    pub const LINE_REQUEST: u64 = 1;
}

/// What a single access takes beyond [`latency::PE_REPLY`]. Source: RTL measurement: 20, 21, 21, 27, 22, 23 and 24 cycles
/// from one such access to the next on one core, in the order below.
mod extra {
    pub const PACKET_LOAD: u64 = 1;
    pub const HANDLER_LOAD: u64 = 2;
    pub const STORE: u64 = 2;
    pub const AMO: u64 = 8;
    pub const REMOTE_LOAD: u64 = 0;
    pub const REMOTE_STORE: u64 = 1;
    pub const REMOTE_AMO: u64 = 2;
}

/// Cycles for which a single access to handler memory keeps a place in the filter for atomic operations, which has
/// [`crate::params::L2Params::atomics_depth`] for reads and as many for writes. assumed: 10, by which handlers that load
/// one word eight times, 9 at a time, take as long as measured on the RTL (180 to 208 cycles); writes as reads.
const FILTER_PLACE: u64 = 10;
/// Cycles for which an atomic operation keeps handler memory to itself. assumed: a locked read and a locked write.
const AMO_INTERVAL: u64 = 6;
/// Cycles for which a read of a cluster's DMA engine keeps one of its places in the interconnect, beyond its further beats:
/// request, SRAM, answer, and back before the next request. Source: PsPIN RTL a49fec8, `dma_noc.sv`, `axi_id_remap.sv`.
const DMA_READ_PLACE: u64 = 4;
/// An answer to a single access, ordered by when it passes and then by when it was made.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct LateReply {
    at: Cycle,
    number: u64,
    cluster: usize,
    core: u32,
    value: u32,
}

const READ: usize = 0;
const WRITE: usize = 1;
const HANDLER: usize = 0;
const PACKET: usize = 1;

/// A side of a memory in [`Memories::asked`].
const fn side_bit(memory: usize, side: usize) -> u32 {
    1 << (2 * memory + side)
}

/// In [`Memories::asked`], somewhere that is neither memory.
const ELSEWHERE: u32 = 1 << 4;

/// Handler memory, packet memory, program memory and the system's control block.
///
/// Timing:  see [`latency`]; each port serves 64 bytes a cycle each way, bursts whole and in turn.
/// Source:  PsPIN RTL a49fec8, `hw/src/memories`, `hw/src/interconnects`.
/// Differs: bursts take no places in the filter for atomics; banks are not told apart, so two ports never meet in one; an
///          atomic operation on handler memory returns the old value (the RTL returns 1); one on packet memory only reads.
pub struct Memories {
    memories: [Memory; 2],
    program: ProgramMemory,
    ports: MemoryPorts,
    /// For each cluster, when the places that its DMA engine's reads hold become free, and how many there are.
    dma_reads: Vec<VecDeque<Cycle>>,
    max_dma_reads: usize,
    /// When the places in the filter for atomics become free, for reads and writes, and how many there are.
    filter: [VecDeque<Cycle>; 2],
    filter_depth: usize,
    /// When the last atomic operation on handler memory is over.
    handler_free: Cycle,
    /// Answers to single accesses on their way.
    replies: BinaryHeap<Reverse<LateReply>>,
    n_replies: u64,
    /// Words reserved by `lr.w`, for each core of each cluster.
    reservations: Vec<Option<u32>>,
    control: [u32; 4],
    info: u32,
    pe_accesses: Counter,
    faults: Counter,
}

impl Memories {
    /// Memories with the given parts of handler memory and the bytes of program memory, all of them.
    pub fn new(params: &PspinParams, handler_image: &[(u32, Vec<u8>)], program: Vec<u8>, ports: MemoryPorts) -> Self {
        let mut memories = [
            Memory::new(map::L2_HANDLER_BASE, params.l2.handler_bytes),
            Memory::new(map::L2_PACKET_BASE, params.l2.packet_bytes),
        ];
        for (addr, bytes) in handler_image {
            memories[HANDLER].write(*addr, bytes);
        }
        Memories {
            memories,
            program: ProgramMemory::new(program),
            ports,
            dma_reads: vec![VecDeque::new(); params.n_clusters as usize],
            max_dma_reads: params.cluster.dma_bursts as usize,
            filter: Default::default(),
            filter_depth: params.l2.atomics_depth as usize,
            handler_free: 0,
            replies: BinaryHeap::new(),
            n_replies: 0,
            reservations: vec![None; params.n_clusters as usize * MAX_CORES],
            control: [0; 4],
            info: (params.n_clusters * params.cluster.n_cores) << 16 | params.n_clusters,
            pe_accesses: Counter::default(),
            faults: Counter::default(),
        }
    }

    fn memory_at(&self, addr: u32) -> Option<usize> {
        self.memories.iter().position(|memory| memory.contains(addr))
    }

    /// Sides of memories that somebody's next access or burst goes to, by bit: most cycles have one or two.
    fn asked(&self) -> u32 {
        let side =
            |addr, writes| self.memory_at(addr).map_or(ELSEWHERE, |memory| side_bit(memory, usize::from(writes)));
        let single = self.ports.pe.iter().filter_map(|(requests, _)| requests.peek());
        let single = single.map(|request| side(request.addr, matches!(request.op, PeOp::Store { .. })));
        let bursts = self.ports.dma.iter().chain(&self.ports.bursts).filter_map(|(requests, _)| requests.peek());
        let bursts = bursts.map(|burst| side(burst.addr(), matches!(*burst, Burst::Write { .. })));
        single.chain(bursts).fold(0, |asked, bit| asked | bit)
    }

    /// Clusters whose next single access goes to this side of this memory and may be served now.
    fn pe_candidates(&self, memory: usize, side: usize, now: Cycle) -> u64 {
        if memory == HANDLER {
            // Places are taken and freed in order.
            let taken = self.filter[side].iter().rev().take_while(|&&free| free > now).count();
            if now < self.handler_free || taken == self.filter_depth {
                return 0;
            }
        }
        let wants = |(requests, _): &(Rx<PeRequest>, Tx<PeReply>)| {
            requests.peek().is_some_and(|request| {
                let writes = matches!(request.op, PeOp::Store { .. });
                self.memories[memory].contains(request.addr) && usize::from(writes) == side
            })
        };
        (0..).zip(&self.ports.pe).filter(|(_, port)| wants(port)).fold(0, |set, (i, _)| set | 1 << i)
    }

    /// Serves one side of the port towards the clusters: a single access or a burst of a DMA engine.
    fn serve_near(&mut self, memory: usize, side: usize, now: Cycle) {
        if now < self.memories[memory].near[side].free {
            return;
        }
        let pe = self.pe_candidates(memory, side, now);
        let mut dma = burst_candidates(&self.ports.dma, &self.memories[memory], side);
        if side == READ {
            dma &= self.clusters_with_place(now);
        }
        let near = &mut self.memories[memory].near[side];
        match near.turn.take(u64::from(pe != 0) | u64::from(dma != 0) << 1) {
            Some(0) => {
                let cluster = near.pe.take(pe).expect("somebody asks") as usize;
                near.free = now + 1;
                let request = self.ports.pe[cluster].0.take().expect("just seen");
                self.access(cluster, request, memory, now);
            }
            Some(_) => {
                let cluster = near.dma.take(dma).expect("somebody asks") as usize;
                let burst = self.ports.dma[cluster].0.take().expect("just seen");
                let n_beats = self.serve_burst(memory, burst, now, latency::DMA_REPLY, |ports| &ports.dma[cluster].1);
                if side == READ {
                    self.dma_reads[cluster].push_back(now + DMA_READ_PLACE + n_beats - 1);
                }
                self.memories[memory].near[side].free = now + n_beats;
            }
            None => {}
        }
    }

    /// Clusters whose DMA engine may have one more read under way.
    fn clusters_with_place(&mut self, now: Cycle) -> u64 {
        let mut clusters = 0;
        for (cluster, places) in self.dma_reads.iter_mut().enumerate() {
            while places.front().is_some_and(|&free| free <= now) {
                places.pop_front();
            }
            clusters |= u64::from(places.len() < self.max_dma_reads) << cluster;
        }
        clusters
    }

    /// Serves one side of the port towards NIC and host.
    fn serve_far(&mut self, memory: usize, side: usize, now: Cycle) {
        if now < self.memories[memory].far[side].free {
            return;
        }
        let asking = burst_candidates(&self.ports.bursts, &self.memories[memory], side);
        if let Some(initiator) = self.memories[memory].far[side].turn.take(asking) {
            let initiator = initiator as usize;
            let burst = self.ports.bursts[initiator].0.take().expect("just seen");
            let n_beats =
                self.serve_burst(memory, burst, now, latency::BURST_REPLY, |ports| &ports.bursts[initiator].1);
            self.memories[memory].far[side].free = now + n_beats;
        }
    }

    /// Does a burst and answers it; the cycles for which it takes its side.
    fn serve_burst(
        &mut self,
        memory: usize,
        burst: Burst,
        now: Cycle,
        reply_latency: u64,
        reply: impl Fn(&MemoryPorts) -> &Tx<BurstReply>,
    ) -> u64 {
        match burst {
            Burst::Read { tag, addr, size } => {
                let n_beats = u64::from(beats(addr, size)).max(1);
                let data = self.memories[memory].read(addr, size);
                let last = now + reply_latency + n_beats - 1;
                reply(&self.ports).send(BurstReply::Data { tag, data, last });
                n_beats
            }
            Burst::Write { tag, addr, data } => {
                let n_beats = u64::from(beats(addr, data.len() as u32)).max(1);
                self.memories[memory].write(addr, &data);
                let end = addr + data.len() as u32;
                self.reservations.iter_mut().for_each(|held| *held = held.filter(|word| !(addr..end).contains(word)));
                reply(&self.ports).send_late(BurstReply::Written { tag, decoded: true }, n_beats - 1);
                n_beats
            }
        }
    }

    /// Does a single access to a memory.
    fn access(&mut self, cluster: usize, request: PeRequest, memory: usize, now: Cycle) {
        self.pe_accesses.add(1);
        let PeRequest { core, addr, op } = request;
        let old = self.memories[memory].word(addr);
        let hart = cluster * MAX_CORES + core as usize;
        let (value, extra) = match op {
            PeOp::Load if memory == PACKET => (old, extra::PACKET_LOAD),
            PeOp::Load => (old, extra::HANDLER_LOAD),
            PeOp::Store { value, mask } => {
                self.memories[memory].set_word(addr, old & !mask | value & mask);
                self.forget_reservations(addr);
                (0, extra::STORE)
            }
            PeOp::Amo { .. } if memory == PACKET => (old, extra::AMO),
            PeOp::Amo { amo: Amo::LoadReserved, .. } => {
                self.reservations[hart] = Some(addr);
                (old, extra::HANDLER_LOAD)
            }
            PeOp::Amo { amo: Amo::StoreConditional, operand } => {
                let holds = self.reservations[hart] == Some(addr);
                if holds {
                    self.memories[memory].set_word(addr, operand);
                    self.forget_reservations(addr);
                }
                self.reservations[hart] = None;
                (u32::from(!holds), extra::STORE)
            }
            PeOp::Amo { amo, operand } => {
                self.memories[memory].set_word(addr, amo.apply(old, operand));
                self.forget_reservations(addr);
                (old, extra::AMO)
            }
        };
        if memory == HANDLER {
            if matches!(op, PeOp::Amo { .. }) {
                self.handler_free = now + AMO_INTERVAL;
            }
            let places = &mut self.filter[usize::from(matches!(op, PeOp::Store { .. }))];
            if places.len() == self.filter_depth {
                places.pop_front();
            }
            places.push_back(now + FILTER_PLACE);
        }
        self.reply_later(now + extra, cluster, PeReply { core, value });
    }

    fn forget_reservations(&mut self, addr: u32) {
        self.reservations.iter_mut().for_each(|held| *held = held.filter(|&word| word != addr));
    }

    fn reply_later(&mut self, at: Cycle, cluster: usize, reply: PeReply) {
        self.n_replies += 1;
        let PeReply { core, value } = reply;
        self.replies.push(Reverse(LateReply { at, number: self.n_replies, cluster, core, value }));
    }

    /// Single accesses that go elsewhere: to another cluster, to the control block, or nowhere.
    fn pass_on(&mut self, now: Cycle) {
        for cluster in 0..self.ports.pe.len() {
            let Some(request) = self.ports.pe[cluster].0.peek().map(|request| *request) else { continue };
            if self.memory_at(request.addr).is_some() {
                continue;
            }
            let target = (request.addr.wrapping_sub(map::L1_BASE) / map::L1_STRIDE) as usize;
            if let Some((remote, _)) = self.ports.remote.get(target) {
                if !remote.has_room() {
                    continue;
                }
                remote.send(RemoteRequest { from: cluster as u32, request });
            } else {
                let value = self.control_register(&request);
                self.reply_later(now + extra::PACKET_LOAD, cluster, PeReply { core: request.core, value });
            }
            self.ports.pe[cluster].0.take().expect("just seen");
        }
    }

    /// Answers of other clusters.
    fn take_remote_replies(&mut self, now: Cycle) {
        for target in 0..self.ports.remote.len() {
            let Some(RemoteReply { to, reply, op }) = self.ports.remote[target].1.take() else { continue };
            let extra = match op {
                PeOp::Load => extra::REMOTE_LOAD,
                PeOp::Store { .. } => extra::REMOTE_STORE,
                PeOp::Amo { .. } => extra::REMOTE_AMO,
            };
            self.reply_later(now + extra, to as usize, reply);
        }
    }

    fn control_register(&mut self, request: &PeRequest) -> u32 {
        match request.addr.wrapping_sub(map::SOC_CONTROL) {
            0x10 => self.info,
            offset @ 0x80..0x90 => {
                let register = &mut self.control[((offset - 0x80) / 4) as usize];
                let old = *register;
                if let PeOp::Store { value, mask } = request.op {
                    *register = old & !mask | value & mask;
                }
                old
            }
            0..0x2000 => 0,
            _ => {
                self.faults.add(1);
                0
            }
        }
    }

    fn send_replies(&mut self, now: Cycle) {
        while self.replies.peek().is_some_and(|Reverse(reply)| reply.at <= now) {
            let Reverse(LateReply { cluster, core, value, .. }) = self.replies.pop().expect("just seen");
            self.ports.pe[cluster].1.send(PeReply { core, value });
        }
    }

    /// Bursts to addresses where no memory is.
    fn refuse_bursts(&mut self) {
        let host = self.ports.bursts.get(self.ports.host);
        for port @ (requests, replies) in self.ports.dma.iter().chain(&self.ports.bursts) {
            let to_program = |addr| host.is_some_and(|host| std::ptr::eq(host, port)) && self.program.contains(addr);
            let is_there = |addr| self.memory_at(addr).is_some() || to_program(addr);
            let nowhere = requests.peek().is_some_and(|burst| !is_there(burst.addr()));
            if nowhere && replies.has_room() {
                self.faults.add(1);
                replies.send(match requests.take().expect("just seen") {
                    Burst::Read { tag, .. } => BurstReply::Data { tag, data: Box::default(), last: 0 },
                    Burst::Write { tag, .. } => BurstReply::Written { tag, decoded: false },
                });
            }
        }
    }

    fn next(&self, now: Cycle) -> Activity {
        let waits = self.ports.pe.iter().any(|(requests, _)| requests.has_item())
            || self.ports.dma.iter().chain(&self.ports.bursts).any(|(requests, _)| requests.has_item())
            || self.ports.lines.iter().any(|(requests, _)| requests.has_item())
            || self.ports.remote.iter().any(|(_, replies)| replies.has_item());
        match self.replies.peek() {
            _ if waits => Activity::Busy,
            Some(Reverse(reply)) => Activity::Until(reply.at.max(now + 1)),
            None => Activity::Idle,
        }
    }
}

/// Initiators whose next burst goes to this side of this memory and may be answered.
fn burst_candidates(ports: &[BurstPort], memory: &Memory, side: usize) -> u64 {
    let wants = |(requests, replies): &BurstPort| {
        let fits = requests.peek().is_some_and(|burst| {
            memory.contains(burst.addr()) && usize::from(matches!(*burst, Burst::Write { .. })) == side
        });
        fits && replies.has_room()
    };
    (0..).zip(ports).filter(|(_, port)| wants(port)).fold(0, |set, (i, _)| set | 1 << i)
}

impl Component for Memories {
    fn tick(&mut self, now: Cycle) -> Activity {
        let mut asked = self.asked();
        for (memory, side) in [(HANDLER, READ), (HANDLER, WRITE), (PACKET, READ), (PACKET, WRITE)] {
            if asked & side_bit(memory, side) != 0 {
                self.serve_near(memory, side, now);
                self.serve_far(memory, side, now);
                asked = self.asked(); // Who was served may ask for the next side.
            }
        }
        if asked & ELSEWHERE != 0 {
            self.pass_on(now);
            self.refuse_bursts();
        }
        self.take_remote_replies(now);
        self.send_replies(now);
        self.program.tick(now, &self.ports);
        self.next(now)
    }

    fn ports(&self, ports: &mut Ports) {
        let p = &self.ports;
        for (i, (requests, replies)) in p.pe.iter().enumerate() {
            ports.input(&format!("pe[{i}]"), requests);
            ports.output(&format!("pe_replies[{i}]"), replies);
        }
        for (i, (requests, replies)) in p.dma.iter().enumerate() {
            ports.input(&format!("dma[{i}]"), requests);
            ports.output(&format!("dma_replies[{i}]"), replies);
        }
        for (i, (requests, replies)) in p.bursts.iter().enumerate() {
            ports.input(&format!("bursts[{i}]"), requests);
            ports.output(&format!("burst_replies[{i}]"), replies);
        }
        for (i, (requests, replies)) in p.lines.iter().enumerate() {
            ports.input(&format!("lines[{i}]"), requests);
            ports.output(&format!("line_replies[{i}]"), replies);
        }
        ports.outputs("code", &p.code);
        for (i, (requests, replies)) in p.remote.iter().enumerate() {
            ports.output(&format!("remote[{i}]"), requests);
            ports.input(&format!("remote_replies[{i}]"), replies);
        }
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("pe_accesses", self.pe_accesses.total());
        counters.add("faults", self.faults.total());
    }
}
