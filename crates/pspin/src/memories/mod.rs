//! L2 memories and program memory, with the interconnects that lead to them.

mod filter;
mod memory;
mod near;
mod program;
mod singles;

use self::memory::Memory;
use self::program::ProgramMemory;
use self::singles::Singles;
use crate::map;
use crate::params::{MAX_CORES, PspinParams};
use crate::pe::{CodeWrite, LineReply, LineRequest, PeReply, PeRequest, RemoteReply, RemoteRequest};
use crate::protocol::{Burst, BurstReply, beats};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

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
    pub const PE_REPLY: u64 = 6;
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
    /// How many requests for lines a cluster's buffer before that memory holds.
    pub const LINE_REQUESTS: usize = 2;
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
/// Timing:  see [`latency`]; each port serves 64 bytes a cycle each way, bursts in turn and whole, but for the single
///          reads that pass between their beats.
/// Source:  PsPIN RTL a49fec8, `hw/src/memories`, `hw/src/interconnects`, `axi_to_mem.sv`.
/// Differs: banks are not told apart, so two ports never meet in one; a burst under way is not delayed by what passes
///          between its beats, the next one is; an atomic operation on handler memory returns the old value (the RTL
///          returns 1); one on packet memory only reads.
pub struct Memories {
    memories: [Memory; 2],
    program: ProgramMemory,
    ports: MemoryPorts,
    /// For each cluster, when the places that its DMA engine's reads hold become free, and how many there are.
    dma_reads: Vec<VecDeque<Cycle>>,
    max_dma_reads: usize,
    singles: Singles,
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
            singles: Singles::new(params),
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
        let single = |writes: usize| self.singles.next(writes).map_or(0, |request| side(request.addr, writes == WRITE));
        let bursts = self.ports.dma.iter().chain(&self.ports.bursts).filter_map(|(requests, _)| requests.peek());
        let bursts = bursts.map(|burst| side(burst.addr(), matches!(*burst, Burst::Write { .. })));
        bursts.fold(single(READ) | single(WRITE), |asked, bit| asked | bit)
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
        let waits = self.ports.dma.iter().chain(&self.ports.bursts).any(|(requests, _)| requests.has_item())
            || self.ports.pe.iter().any(|(requests, _)| requests.has_item())
            || self.ports.lines.iter().any(|(requests, _)| requests.has_item())
            || self.program.is_busy()
            || self.ports.remote.iter().any(|(_, replies)| replies.has_item());
        match self.singles.next_event(now) {
            _ if waits => Activity::Busy,
            Some(at) => Activity::Until(at),
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
        self.take_singles(now);
        self.singles.choose(now);
        let mut asked = self.asked();
        // The read of an atomic operation goes before other reads.
        for (memory, side) in [(HANDLER, WRITE), (HANDLER, READ), (PACKET, READ), (PACKET, WRITE)] {
            if asked & side_bit(memory, side) != 0 {
                self.serve_near(memory, side, now);
                self.serve_far(memory, side, now);
                asked = self.asked(); // Who was served may ask for the next side.
            }
        }
        if asked & ELSEWHERE != 0 {
            self.refuse_bursts();
        }
        self.take_remote_replies(now);
        self.singles.send_replies(now, |cluster, reply| self.ports.pe[cluster].1.send(reply));
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
