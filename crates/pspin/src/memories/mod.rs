//! L2 memories and program memory, with the interconnects that lead to them.

mod back;
mod banks;
mod debug;
mod far;
mod filter;
mod fronts;
mod memory;
mod near;
mod program;
mod reads;
mod remapper;
mod singles;
mod turns;
mod upsizer;
mod waiting;

pub use self::back::late_beats;
use self::fronts::Fronts;
use self::memory::{FAR, Memory, NEAR, Reading, position};
use self::near::DmaTurn;
use self::program::ProgramMemory;
use self::singles::Singles;
use self::turns::ReplyTurns;
use self::waiting::Waiting;
use crate::map;
use crate::params::{MAX_CORES, PspinParams};
use crate::pe::{CodeWrite, LineReply, LineRequest, PeReply, PeRequest, RemoteReply, RemoteRequest};
use crate::protocol::{BEAT_BYTES, Burst, BurstReply, WriteAddress};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx, members};
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
    /// The path back to these engines. Received: the number of beats that an engine holds in front of it, at each change.
    /// Sent: the cycle of a beat that arrives one cycle later than its reply says.
    pub dma_back: Vec<(Rx<u32>, Tx<Cycle>)>,
    /// Bursts of the NIC-host interconnect.
    pub bursts: Vec<BurstPort>,
    /// The initiator that writes packet memory and sends addresses ahead of data: its position in `bursts`, and its addresses.
    pub addresses: Option<(usize, Rx<WriteAddress>)>,
    /// Position of the host in `bursts`. Only the host's bursts reach program memory.
    pub host: usize,
    /// Lines of the instruction caches.
    pub lines: Vec<(Rx<LineRequest>, Tx<LineReply>)>,
    /// Writes of the host to program memory, reported to the instruction caches.
    pub code: Vec<Tx<CodeWrite>>,
    /// Single accesses on their way to another cluster.
    pub remote: Vec<(Tx<RemoteRequest>, Rx<RemoteReply>)>,
}

impl MemoryPorts {
    /// The initiators of a side of a memory.
    fn bursts(&self, at: usize) -> &[BurstPort] {
        if at < position(FAR, READ) { &self.dma } else { &self.bursts }
    }

    fn replies(&self, at: usize, initiator: usize) -> &Tx<BurstReply> {
        &self.bursts(at)[initiator].1
    }
}

/// For each kind of input, the ports at which something waits or will arrive.
struct Arrivals {
    pe: Waiting,
    /// For the inputs `dma` and `bursts`, in the order of the memories' ports.
    bursts: [Waiting; 2],
    lines: Waiting,
    remote: Waiting,
}

impl Arrivals {
    fn at(ports: &MemoryPorts) -> Self {
        let MemoryPorts { pe, dma, bursts, lines, remote, .. } = ports;
        Arrivals {
            pe: Waiting::at(pe.iter().map(|(requests, _)| requests)),
            bursts: [dma, bursts].map(|ports| Waiting::at(ports.iter().map(|(requests, _)| requests))),
            lines: Waiting::at(lines.iter().map(|(requests, _)| requests)),
            remote: Waiting::at(remote.iter().map(|(_, replies)| replies)),
        }
    }
}

/// Requests for lines that a cluster's buffer before program memory holds.
pub const LINE_REQUESTS: usize = 2;
/// Cycles from an instruction cache to program memory.
pub const LINE_REQUEST_CYCLES: u64 = 1;

/// Cycles of the memories and of the paths to them.
#[derive(Clone, Copy)]
struct Timing {
    packet_load: u64,
    packet_store: u64,
    handler_store: u64,
    packet_amo: u64,
    remote_load: u64,
    remote_store: u64,
    remote_amo: u64,
    dma_reply: u64,
    nhi_reply: u64,
}

impl Timing {
    fn new(PspinParams { l2, interconnect, .. }: &PspinParams) -> Timing {
        Timing {
            packet_load: l2.packet_load_cycles.into(),
            packet_store: l2.packet_store_cycles.into(),
            handler_store: l2.handler_store_cycles.into(),
            packet_amo: l2.packet_amo_cycles.into(),
            remote_load: interconnect.remote_load_cycles.into(),
            remote_store: interconnect.remote_store_cycles.into(),
            remote_amo: interconnect.remote_amo_cycles.into(),
            dma_reply: interconnect.dma_reply_cycles.into(),
            nhi_reply: interconnect.nhi_reply_cycles.into(),
        }
    }
}

/// The sides of a memory, by [`position`].
const SIDE_NAMES: [(&str, &str); 4] = [
    ("cluster_reads", "reads of clusters"),
    ("cluster_writes", "writes of clusters"),
    ("nic_reads", "reads of the NIC and the host"),
    ("nic_writes", "writes of the NIC and the host"),
];

const READ: usize = 0;
const WRITE: usize = 1;
const HANDLER: usize = 0;
const PACKET: usize = 1;

/// Bit of [`Memories::requested`] for an address in neither memory.
const ELSEWHERE: u32 = 1 << 2;

/// Banks of handler memory, 64 bytes wide: a beat uses eight of the 32 banks of 64 bits together. Source: PsPIN RTL
/// a49fec8, `pspin_cfg_pkg.sv`, `L2_HND_N_PAR_CUTS` and `L2_HND_CUT_DW`.
const HANDLER_BANKS: u32 = 4;
/// Banks of packet memory, 64 bytes wide. Source: the same, `L2_PKT_N_PAR_CUTS`.
const PACKET_BANKS: u32 = 32;

/// Handler memory, packet memory, program memory and the system's control block.
///
/// Timing:  `[interconnect]` and `[l2]` of the parameters; each port serves 64 bytes a cycle in each direction.
///          Bursts take turns. Only single reads pass between the beats of a burst.
/// Source:  PsPIN RTL a49fec8, `hw/src/memories`, `hw/src/interconnects`, `axi_to_mem.sv`.
/// Differs: reads of handler memory by clusters are counted by the filter only, not by a demultiplexer; an atomic
///          operation on handler memory returns the old value (the RTL returns 1), and its write does not compete with
///          other accesses; an atomic operation on packet memory is a read.
pub struct Memories {
    memories: [Memory; 2],
    program: ProgramMemory,
    ports: MemoryPorts,
    waiting: Arrivals,
    /// The next bursts in this cycle, for each port.
    fronts: [Fronts; 2],
    /// For each cluster, the places that reads of its DMA engine hold: the cycle in which each becomes free, and the
    /// memory that is read. An engine has `max_dma_reads` places.
    dma_reads: Vec<VecDeque<(Cycle, usize)>>,
    max_dma_reads: usize,
    dma_turn: DmaTurn,
    reply_turns: ReplyTurns,
    timing: Timing,
    singles: Singles,
    /// Words reserved by `lr.w`, for each core of each cluster.
    reservations: Vec<Option<u32>>,
    /// True if any word may be reserved; few programs reserve words.
    has_reservations: bool,
    control: [u32; 4],
    info: u32,
    pe_accesses: Counter,
    faults: Counter,
}

impl Memories {
    /// Creates the memories. `handler_image` has parts of handler memory, `program` has all bytes of program memory.
    pub fn new(params: &PspinParams, handler_image: &[(u32, Vec<u8>)], program: Vec<u8>, ports: MemoryPorts) -> Self {
        let timing = Timing::new(params);
        let mut memories = [
            Memory::new(map::L2_HANDLER_BASE, params.l2.handler_bytes, HANDLER_BANKS, timing.dma_reply),
            Memory::new(map::L2_PACKET_BASE, params.l2.packet_bytes, PACKET_BANKS, timing.dma_reply),
        ];
        for (addr, bytes) in handler_image {
            memories[HANDLER].write(*addr, bytes);
        }
        Memories {
            memories,
            timing,
            program: ProgramMemory::new(program, params.interconnect.nhi_reply_cycles.into()),
            waiting: Arrivals::at(&ports),
            ports,
            fronts: Default::default(),
            dma_reads: vec![VecDeque::new(); params.n_clusters as usize],
            max_dma_reads: params.cluster.dma_bursts as usize,
            dma_turn: DmaTurn::default(),
            reply_turns: ReplyTurns::default(),
            singles: Singles::new(params),
            reservations: vec![None; params.n_clusters as usize * MAX_CORES],
            has_reservations: false,
            control: [0; 4],
            info: (params.n_clusters * params.cluster.n_cores) << 16 | params.n_clusters,
            pe_accesses: Counter::default(),
            faults: Counter::default(),
        }
    }

    /// The bytes of a range, or `None` unless the range is entirely in handler, packet or program memory.
    pub fn bytes(&self, addr: u32, size: u32) -> Option<&[u8]> {
        self.memories.iter().find_map(|memory| memory.bytes(addr, size)).or_else(|| self.program.range(addr, size))
    }

    fn memory_at(&self, addr: u32) -> Option<usize> {
        self.memories.iter().position(|memory| memory.contains(addr))
    }

    /// Memories with a waiting access or burst, by bit; most cycles have one.
    fn requested(&self, now: Cycle) -> u32 {
        let single = |side| match self.singles.next(side) {
            Some(request) => self.memory_at(request.addr).map_or(ELSEWHERE, |memory| 1 << memory),
            None => 0,
        };
        let mut requested = single(READ) | single(WRITE) | u32::from(self.singles.filter.is_waiting()) << HANDLER;
        if self.ports.addresses.as_ref().is_some_and(|(_, addresses)| addresses.is_due(now)) {
            requested |= 1 << PACKET;
        }
        requested | self.fronts[NEAR].requested() | self.fronts[FAR].requested()
    }

    /// Initiators whose next burst goes to this side of this memory and may be answered. A read that is answered beat by beat may
    /// come before there is room: its beats then wait.
    fn burst_candidates(&self, port: usize, memory: usize, side: usize) -> u64 {
        let ports = self.ports.bursts(position(port, side));
        let may_come = |&initiator: &u32| {
            let (requests, replies) = &ports[initiator as usize];
            replies.has_room()
                || requests.peek().is_some_and(|burst| matches!(*burst, Burst::Read { in_parts: true, .. }))
        };
        let set = members(self.fronts[port].to(memory, side)).filter(may_come);
        set.fold(0, |set, initiator| set | 1 << initiator)
    }

    /// Takes the next burst of an initiator of a port.
    fn take_front(&mut self, port: usize, initiator: usize, now: Cycle) -> Burst {
        let ports = self.ports.bursts(position(port, READ));
        let burst = self.fronts[port].take(initiator, ports, &self.memories, now);
        self.waiting.bursts[port].taken(initiator, &ports[initiator].0);
        burst
    }

    /// Simulates a cycle of a memory: bursts and single accesses arrive, and banks decide which beats pass.
    fn serve(&mut self, memory: usize, now: Cycle) {
        self.memories[memory].end_reads(now);
        let is_back_full = memory == PACKET && self.move_back(now);
        let singles = self.take_near(memory, now);
        self.take_far(memory, now);
        let held = self.hold_parts(memory, now);
        let near = position(NEAR, READ);
        let waits_for_turn = self.waits_for_turn(memory, now);
        let banks = &mut self.memories[memory].banks;
        let waits_for_filter = memory == HANDLER && banks.has_beat(near, now) && self.singles.filter.stops_a_beat(now);
        let stopped = match (is_back_full, waits_for_turn || waits_for_filter) {
            (true, _) => banks.stop(near, now),
            (false, true) => {
                banks.hold(near, now);
                (1 << near, 0)
            }
            (false, false) => (0, 0),
        };
        let (refused, refused_singles) = banks.decide(now);
        let (refused, refused_singles) = (refused | stopped.0, refused_singles | stopped.1);
        self.memories[memory].is_contended = refused != 0;
        self.memories[memory].reads[NEAR].end_cycle(refused_singles >> near & 1 != 0, refused >> near & 1 != 0);
        self.pass_singles(memory, singles, refused_singles, now);
        for at in 0..banks::SIDES {
            let Memory { sides, .. } = &mut self.memories[memory];
            if sides[at].is_idle() {
                continue;
            }
            if refused >> at & 1 != 0 {
                if sides[at].coming.is_none()
                    && let Some(Reading { initiator, parts: None, .. }) = sides[at].reading
                {
                    let beats = (self.memories[memory].banks.end(at) - now - 1) as u32;
                    self.ports.replies(at, initiator).send(BurstReply::Later { beats });
                    if at == near {
                        self.memories[memory].back.pause(now);
                        if memory == HANDLER {
                            self.singles.filter.burst_is_late();
                        }
                        self.place_is_late(initiator);
                    }
                }
                continue;
            }
            if let Some((initiator, burst)) = sides[at].coming.take() {
                self.begin_burst(memory, at, initiator, burst, now);
            }
            if at == position(FAR, READ) && !held && self.memories[memory].banks.end(at) > now {
                self.read_part(memory, at, now);
            }
            if let Memory { banks, sides, .. } = &mut self.memories[memory]
                && let Some((initiator, tag)) = sides[at].writing.take_if(|_| banks.end(at) <= now + 1)
            {
                self.ports.replies(at, initiator).send(BurstReply::Written { tag, decoded: true });
            }
        }
    }

    /// A read of a port passes the demultiplexer, and the next burst comes to its side when the one before is over.
    fn come_read(&mut self, memory: usize, port: usize, now: Cycle) {
        let at = position(port, READ);
        let memory = &mut self.memories[memory];
        memory.reads[port].pass(now);
        let side = &mut memory.sides[at];
        if side.coming.is_none()
            && side.reading.is_none()
            && let Some((initiator, burst, identity)) = memory.reads[port].take_burst()
        {
            side.identity = identity;
            memory.come(at, initiator, burst, now);
        }
    }

    /// Returns true if a separately reported beat does not request its bank, because its initiator cannot take it.
    fn hold_parts(&mut self, memory: usize, now: Cycle) -> bool {
        let at = position(FAR, READ);
        let Memory { banks, sides, .. } = &mut self.memories[memory];
        let initiator = match (&sides[at].coming, &sides[at].reading) {
            (Some((initiator, Burst::Read { in_parts: true, .. })), _) => *initiator,
            (None, Some(Reading { initiator, parts: Some(_), .. })) => *initiator,
            _ => return false,
        };
        let is_held = banks.end(at) > now && !self.ports.replies(at, initiator).has_room();
        if is_held {
            banks.hold(at, now);
        }
        is_held
    }

    /// A separately reported beat passes.
    fn read_part(&mut self, memory: usize, at: usize, now: Cycle) {
        let Memory { sides, .. } = &mut self.memories[memory];
        let Some(Reading { initiator, parts: Some((tag, addr, size)), .. }) = &mut sides[at].reading else { return };
        let (initiator, tag, from) = (*initiator, *tag, *addr);
        let n = (*size).min(BEAT_BYTES - from % BEAT_BYTES);
        (*addr, *size) = (from.wrapping_add(n), *size - n);
        let data = self.memories[memory].read(from, n);
        self.ports.replies(at, initiator).send(BurstReply::Data { tag, data, last: now + self.timing.nhi_reply });
    }

    /// The burst of an initiator reaches a side.
    fn take_burst(&mut self, memory: usize, at: usize, initiator: usize, now: Cycle) {
        let burst = self.take_front(if at < position(FAR, READ) { NEAR } else { FAR }, initiator, now);
        self.memories[memory].come(at, initiator, burst, now);
    }

    /// The first beat of a burst passes: its bytes are read or written as a whole.
    fn begin_burst(&mut self, memory: usize, at: usize, initiator: usize, burst: Burst, now: Cycle) {
        match burst {
            Burst::Read { tag, addr, size, in_parts } => {
                let Memory { banks, sides, .. } = &mut self.memories[memory];
                let is_near = at == position(NEAR, READ);
                let parts = (in_parts && !is_near).then_some((tag, addr, size));
                sides[at].reading = Some(Reading {
                    initiator,
                    identity: sides[at].identity,
                    is_counted: !is_near || memory == PACKET,
                    parts,
                });
                if parts.is_some() {
                    return;
                }
                let in_bank = banks.end(at) - 1;
                // One more register: the filter for atomic operations.
                let filter = u64::from(is_near && memory == HANDLER);
                let last = in_bank + filter + if is_near { self.timing.dma_reply } else { self.timing.nhi_reply };
                let data = self.memories[memory].read(addr, size);
                if is_near {
                    self.memories[memory].back.begin(initiator, now, in_bank + 1);
                    let free = in_bank + near::DMA_READ_PLACE;
                    let places = &mut self.dma_reads[initiator];
                    places.iter_mut().find(|(free, _)| *free == Cycle::MAX).expect("a read has a place").0 = free;
                    if memory == HANDLER {
                        self.singles.filter.burst_begins(now, in_bank + 1);
                    }
                }
                self.ports.replies(at, initiator).send(BurstReply::Data { tag, data, last });
            }
            Burst::Write { tag, addr, data, last } => {
                self.memories[memory].write(addr, &data);
                // A write that begins within a word changes that word, too.
                self.forget_reservations(addr & !3..addr + data.len() as u32);
                let side = &mut self.memories[memory].sides[at];
                side.writing = Some((initiator, tag));
                if at == position(NEAR, WRITE) {
                    side.has_address = false;
                }
                side.in_parts = (!last).then_some(initiator);
            }
        }
    }

    /// Bursts to unmapped addresses.
    fn refuse_bursts(&mut self) {
        let host = self.ports.bursts.get(self.ports.host);
        for port @ (requests, replies) in self.ports.dma.iter().chain(&self.ports.bursts) {
            let to_program = |addr| host.is_some_and(|host| std::ptr::eq(host, port)) && self.program.contains(addr);
            let is_there = |addr| self.memory_at(addr).is_some() || to_program(addr);
            let nowhere = requests.peek().is_some_and(|burst| !is_there(burst.addr()));
            if nowhere && replies.has_room() {
                self.faults.add(1);
                // The port stays in the set of those at which something waits, until its next burst is taken.
                replies.send(match requests.take().expect("just seen") {
                    Burst::Read { tag, .. } => BurstReply::Data { tag, data: Box::default(), last: 0 },
                    Burst::Write { tag, .. } => BurstReply::Written { tag, decoded: false },
                });
            }
        }
    }

    fn next(&self, now: Cycle) -> Activity {
        let Arrivals { pe, bursts: [dma, bursts], lines, remote } = &self.waiting;
        let waits = dma.positions().any(|i| self.ports.dma[i].0.is_due(now))
            || bursts.positions().any(|i| self.ports.bursts[i].0.is_due(now))
            || pe.positions().any(|i| self.ports.pe[i].0.is_due(now))
            || lines.positions().any(|i| self.ports.lines[i].0.is_due(now))
            || self.program.is_busy()
            || self.ports.addresses.as_ref().is_some_and(|(_, addresses)| addresses.is_due(now))
            || remote.positions().any(|i| self.ports.remote[i].1.is_due(now))
            || self.share_turns(now + 1);
        let beats = self.memories.iter().filter_map(|memory| memory.next_event(now));
        match self.singles.next_event(now).into_iter().chain(beats).min() {
            _ if waits => Activity::Busy,
            Some(at) => Activity::Until(at),
            None => Activity::Idle,
        }
    }
}

impl Component for Memories {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.take_held(now);
        self.take_singles(now);
        self.singles.choose(now);
        for port in [NEAR, FAR] {
            let waiting = self.waiting.bursts[port].positions();
            self.fronts[port].look(waiting, self.ports.bursts(position(port, READ)), &self.memories, now);
        }
        self.choose_dma_read();
        let mut requested = self.requested(now);
        self.begin_turn(now);
        let share_turns = self.share_turns(now);
        for memory in [HANDLER, PACKET] {
            let is_due = self.memories[memory].next_event(now).is_some_and(|at| at <= now + 1);
            if is_due || share_turns || requested & 1 << memory != 0 {
                self.serve(memory, now);
                // A requester that this memory has served may now request the other memory.
                requested = self.requested(now);
            }
        }
        self.dma_turn.settle();
        if requested & ELSEWHERE != 0 {
            self.refuse_bursts();
        }
        self.take_remote_replies(now);
        self.singles.send_replies(now, |cluster, reply| self.ports.pe[cluster].1.send(reply));
        self.program.tick(now, &self.ports, &self.waiting.lines);
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
        for (i, (held, late)) in p.dma_back.iter().enumerate() {
            ports.input(&format!("dma_held[{i}]"), held);
            ports.output(&format!("dma_late[{i}]"), late);
        }
        for (i, (requests, replies)) in p.bursts.iter().enumerate() {
            ports.input(&format!("bursts[{i}]"), requests);
            ports.output(&format!("burst_replies[{i}]"), replies);
        }
        if let Some((_, addresses)) = &p.addresses {
            ports.input("addresses", addresses);
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
        for (name, memory) in ["handler", "packet"].into_iter().zip(&self.memories) {
            for ((side, of), beats) in SIDE_NAMES.into_iter().zip(memory.banks.served) {
                let limit = format!("L2 {name} memory, {of}: 64 bytes a cycle");
                counters.busy(&format!("{name}_{side}"), beats, 1, &limit);
            }
        }
        let amos = self.singles.amo_cycles();
        counters.busy("handler_amo_cycles", amos, 1, "atomic operations on L2 handler memory: one at a time");
        let limit = "program memory: a line of an instruction cache in two cycles";
        counters.busy("program_cycles", self.program.port_cycles.total(), 1, limit);
        counters.add("faults", self.faults.total());
    }
}

#[cfg(test)]
mod tests;
