//! NIC outbound engine: reads data that handlers send from NIC memory and emits it as packets.

use crate::events::{COMMAND_FAULT, PACKET_SENT, SEND_TAKEN};
use crate::nhi::{NhiMaster, Ready, burst_bytes};
use crate::params::{OutboundParams, RtlMistakes};
use crate::protocol::{
    BEAT_BYTES, BurstReply, Command, CommandFault, CommandId, CommandResponse, CommandTarget, PAGE_BYTES, PacketId,
};
use crate::world::{Departure, Egress};
use blocks::activity::{busy_if, earliest};
use kernel::trace::{Counter, Level, Tracer};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

/// The ports of an [`Outbound`] engine.
pub struct OutboundPorts {
    /// From the command unit.
    pub commands: Rx<Command>,
    /// To the command unit; capacity 2, latency 1.
    pub responses: Tx<CommandResponse>,
    /// To L2 and every L1.
    pub nhi: NhiMaster,
}

/// A command that is not completely cut into packets.
struct Job {
    id: CommandId,
    cause: PacketId,
    nid: u32,
    fid: u32,
    addr: u32,
    /// Bytes that are not in a packet yet.
    left: u32,
    /// First cycle in which one of its packets can begin.
    start: Cycle,
}

/// If reads are cut, the next one is sent only while fewer bytes than this are under way. So a packet does not wait for many reads of
/// another one.
/// assumed: 8 beats cover the latency of L2; OSMOSIS has up to 32 reads under way.
const AHEAD_BYTES: u32 = 512;

/// The reads of a core's packets that have not been sent, in order.
struct Line {
    core: (u8, u8),
    reads: VecDeque<Read>,
}

/// A read of a packet.
#[derive(Clone, Copy)]
struct Read {
    /// [`Outgoing::number`] of the packet.
    packet: u64,
    addr: u32,
    size: u32,
}

/// A packet whose data is being read or that waits for the wire.
struct Outgoing {
    /// Number of packets before it.
    number: u64,
    id: CommandId,
    cause: PacketId,
    nid: u32,
    fid: u32,
    bytes: Vec<u8>,
    /// Bytes to read, and bytes in front of them.
    size: usize,
    /// Bytes to send, and zeros behind them.
    sent: (usize, usize),
    /// True for the last packet of its command.
    ends_command: bool,
    /// Cycle in which its last byte arrives.
    ready_at: Cycle,
}

/// Executes NIC commands: plain packets (flow 0), and RDMA puts, which are cut into packets with a header each.
///
/// The header holds the destination and the flow as its first two little-endian words, then zeros.
///
/// Ports:    `commands` in, `responses` out, up to 1 a cycle each; a master on the NIC-host interconnect.
/// Timing:   command seen in cycle n: memory sees the read in n + 1 + `start_cycles`. The packet leaves in the cycle in which its last
///           beat is here, if the wire is free, and the response is given `response_cycles` later. Up to 1 read and 1 packet a cycle.
/// Fairness: commands take turns, one packet each; packets are read one after the other, and leave in this order. If reads are cut
///           (`sharing.egress_fragment_bytes` below a page), cores take turns after each read, and packets leave in the order in which
///           their last bytes arrive; those of a core stay in order.
/// Source:   PsPIN RTL a49fec8, `hw/verilator_model/src/NICOutbound.hpp`; FPsPIN f5feca1, `axi_dma_rd.v`, for the cycles that
///           its engine adds.
/// Mistakes: RDMA headers, unaligned sources, empty commands and unmapped addresses, see [`RtlMistakes`]. The functional model stops at
///           an assertion when a packet follows an empty command; here that packet leaves.
/// Differs:  without these mistakes, commands of length 0 and reads of unmapped memory end at once and are counted. Plain packets that are
///           too long always do so.
pub struct Outbound {
    params: OutboundParams,
    fragment_bytes: u32,
    mistakes: RtlMistakes,
    commands: Rx<Command>,
    responses: Tx<CommandResponse>,
    nhi: NhiMaster,
    egress: Box<dyn Egress>,
    trace: Tracer,

    /// Commands that are accepted and not finished.
    n_open: u32,
    /// Commands with bytes left; the next in turn comes first.
    jobs: VecDeque<Job>,
    /// Reads that have not been sent. The first line is that of the core whose turn is next. One line for all cores unless reads are cut.
    lines: VecDeque<Line>,
    /// Reads whose data have not all arrived, with the bytes to come.
    under_way: VecDeque<Read>,
    /// The core whose read was sent last.
    last_core: (u8, u8),
    /// The packet to which the last data belong.
    last_data: u64,
    /// Packets begun so far.
    n_begun: u64,
    /// Packets whose data have not all arrived, oldest first.
    fetching: VecDeque<Outgoing>,
    /// Packets that wait for their last beat or the wire.
    leaving: VecDeque<Outgoing>,
    /// First cycle in which the wire is free.
    wire_free: Cycle,
    /// Finished commands without a response, and the first cycle in which each response can be sent.
    ended: VecDeque<(Cycle, CommandId)>,

    n_commands: Counter,
    n_faults: Counter,
    packets: Counter,
    bytes: Counter,
    /// Cycles in which the wire was not free.
    wire_cycles: Counter,
    /// Commands that are open, and packets that are read or wait for the wire.
    open: Level,
    queued: Level,
    first_packet: Option<Cycle>,
    last_packet: Cycle,
}

impl Outbound {
    /// An engine whose packets go to `egress`, and whose reads end at multiples of `fragment_bytes`.
    pub fn new(
        params: OutboundParams,
        fragment_bytes: u32,
        mistakes: RtlMistakes,
        ports: OutboundPorts,
        egress: Box<dyn Egress>,
        trace: Tracer,
    ) -> Self {
        Outbound {
            params,
            fragment_bytes,
            mistakes,
            commands: ports.commands,
            responses: ports.responses,
            nhi: ports.nhi,
            egress,
            trace,
            n_open: 0,
            jobs: VecDeque::new(),
            lines: VecDeque::new(),
            under_way: VecDeque::new(),
            last_core: (0, 0),
            last_data: 0,
            n_begun: 0,
            fetching: VecDeque::new(),
            leaving: VecDeque::new(),
            wire_free: 0,
            ended: VecDeque::new(),
            n_commands: Counter::default(),
            n_faults: Counter::default(),
            packets: Counter::default(),
            bytes: Counter::default(),
            wire_cycles: Counter::default(),
            open: Level::default(),
            queued: Level::default(),
            first_packet: None,
            last_packet: 0,
        }
    }

    /// Appends data to its packet. Replies arrive in the order of the reads.
    fn take_data(&mut self, now: Cycle) -> bool {
        let mut changed = false;
        while let Some(reply) = self.nhi.reply(now) {
            let (data, last) = match reply {
                BurstReply::Data { data, last, .. } => (data, last),
                BurstReply::Later { .. } => {
                    let mut packets = self.fetching.iter_mut().chain(self.leaving.iter_mut().rev());
                    let packet = packets.find(|packet| packet.number == self.last_data);
                    packet.expect("the last data are of a packet").ready_at += 1;
                    continue;
                }
                BurstReply::Written { .. } => unreachable!("this engine only reads"),
            };
            let read = self.under_way.front_mut().expect("data answer a read");
            self.last_data = read.packet;
            read.size -= data.len() as u32;
            if read.size == 0 {
                self.under_way.pop_front();
            }
            let place = self.fetching.iter().position(|packet| packet.number == self.last_data);
            let place = place.expect("data belong to a packet");
            let packet = &mut self.fetching[place];
            assert!(!data.is_empty(), "addresses are checked before they are read");
            match packet.bytes.is_empty() {
                true => packet.bytes = data.into_vec(), // Most packets are one burst.
                false => packet.bytes.extend_from_slice(&data),
            }
            packet.ready_at = last;
            assert!(packet.bytes.len() <= packet.size, "a read does not cross the end of its packet");
            if packet.bytes.len() == packet.size {
                let (read, behind) = packet.sent;
                packet.bytes.truncate(read);
                packet.bytes.resize(read + behind, 0);
                self.leaving.extend(self.fetching.remove(place));
            }
            changed = true;
        }
        changed
    }

    /// Sends the oldest complete packet when the wire is free.
    fn send_packet(&mut self, now: Cycle) -> Activity {
        let Some(packet) = self.leaving.front() else { return Activity::Idle };
        let at = packet.ready_at.max(self.wire_free);
        if now < at {
            return Activity::Until(at);
        }
        let Outgoing { id, cause, nid, fid, bytes, ends_command, .. } = self.leaving.pop_front().expect("one waits");
        let size = bytes.len() as u64;
        let pause = size / u64::from(BEAT_BYTES) * u64::from(self.params.cycles_per_beat);
        self.wire_free = now + pause.max(1);
        self.wire_cycles.add(pause.max(1));
        self.packets.add(1);
        self.bytes.add(size);
        self.first_packet.get_or_insert(now);
        self.last_packet = now;
        self.trace.emit(&PACKET_SENT, now, &[cause.0, size]);
        self.egress.send(Departure { cycle: now, cause, nid, fid, bytes: bytes.into() });
        if ends_command {
            self.ended.push_back((now + Cycle::from(self.params.response_cycles), id));
        }
        Activity::Busy
    }

    fn take_command(&mut self, now: Cycle) -> bool {
        if self.n_open == self.params.command_slots {
            return false;
        }
        let Some(command) = self.commands.take() else { return false };
        self.n_open += 1;
        self.n_commands.add(1);
        // The runtime's layout: destination, flow, source address, 0, length.
        let [nid, fid, addr, _, left, ..] = command.words;
        self.trace.emit(&SEND_TAKEN, now, &[command.packet.0, addr.into(), left.into(), fid.into()]);
        let too_long = fid == 0 && left > self.params.max_packet_bytes;
        let fault = match self.nhi.check(addr, left) {
            // Its packet has no data, so the functional model waits for a last beat that never comes.
            _ if left == 0 && self.mistakes.empty_commands_hang => return true,
            _ if left == 0 || too_long => Some((CommandFault::Length, addr)),
            Err(undecoded) => Some((CommandFault::Address, undecoded.addr)),
            Ok(()) => None,
        };
        if let Some((why, addr)) = fault {
            let (packet, target) = (command.packet.0, CommandTarget::NicSend as u64);
            self.n_faults.add(1);
            self.trace.emit(&COMMAND_FAULT, now, &[packet, target, addr.into(), left.into(), why as u64]);
            self.ended.push_back((now, command.id));
        } else {
            let start = now + Cycle::from(self.params.start_cycles);
            self.jobs.push_back(Job { id: command.id, cause: command.packet, nid, fid, addr, left, start });
        }
        true
    }

    /// Starts the next packet of the command in turn.
    fn build_packet(&mut self, now: Cycle) -> Activity {
        if self.fetching.len() + self.leaving.len() >= self.params.queue_packets as usize {
            return Activity::Idle;
        }
        if let Some(job) = self.jobs.front()
            && now < job.start
        {
            return Activity::Until(job.start);
        }
        let Some(mut job) = self.jobs.pop_front() else { return Activity::Idle };
        let header = if job.fid == 0 { 0 } else { self.params.rdma_header_bytes };
        let payload = job.left.min(self.params.max_packet_bytes - header);
        let (front, behind) = if self.mistakes.rdma_headers_behind { (0, header) } else { (header, 0) };
        let below = if self.mistakes.unaligned_sends { job.addr % BEAT_BYTES } else { 0 };
        let size = (front + below + payload) as usize;
        let sent = ((front + payload) as usize, behind as usize);
        let mut bytes = if header > 0 { Vec::with_capacity(size + behind as usize) } else { Vec::new() };
        let words = job.nid.to_le_bytes().into_iter().chain(job.fid.to_le_bytes()).chain(std::iter::repeat(0));
        bytes.extend(words.take(front as usize));
        let packet = self.n_begun;
        self.n_begun += 1;
        let mut done = 0;
        let reads = std::iter::from_fn(|| {
            let addr = (job.addr - below).wrapping_add(done);
            let fragment = self.fragment_bytes - addr % self.fragment_bytes;
            let size = burst_bytes(addr, below + payload - done).min(fragment);
            done += size;
            (size > 0).then_some(Read { packet, addr, size })
        });
        let core = if self.cuts_reads() { (job.id.cluster, job.id.core) } else { (0, 0) };
        match self.lines.iter_mut().find(|line| line.core == core) {
            Some(line) => line.reads.extend(reads),
            // The core that had its turn last comes last, behind this new one.
            None => {
                let behind = self.lines.back().is_some_and(|line| line.core == self.last_core);
                self.lines.insert(self.lines.len() - usize::from(behind), Line { core, reads: reads.collect() });
            }
        }
        job.addr = job.addr.wrapping_add(payload);
        job.left -= payload;
        let Job { id, cause, nid, fid, left, .. } = job;
        self.fetching.push_back(Outgoing {
            number: packet,
            id,
            cause,
            nid,
            fid,
            bytes,
            size,
            sent,
            ends_command: left == 0,
            ready_at: 0,
        });
        if left > 0 {
            self.jobs.push_back(job);
        }
        Activity::Busy
    }

    fn cuts_reads(&self) -> bool {
        self.fragment_bytes < PAGE_BYTES
    }

    fn send_read(&mut self, now: Cycle) -> Activity {
        let Some(line) = self.lines.front() else { return Activity::Idle };
        if self.cuts_reads() && self.under_way.iter().map(|read| read.size).sum::<u32>() >= AHEAD_BYTES {
            return Activity::Idle;
        }
        let read @ Read { addr, size, .. } = *line.reads.front().expect("a line has reads");
        match self.nhi.read_ready(now, addr).expect("addresses are checked before they are read") {
            Ready::Later => Activity::Idle,
            Ready::At(cycle) => Activity::Until(cycle),
            Ready::Now => {
                self.nhi.read(now, 0, addr, size);
                self.under_way.push_back(read);
                let mut line = self.lines.pop_front().expect("just seen");
                self.last_core = line.core;
                line.reads.pop_front();
                if !line.reads.is_empty() {
                    self.lines.push_back(line);
                }
                Activity::Busy
            }
        }
    }

    fn respond(&mut self, now: Cycle) -> Activity {
        let Some(&(at, id)) = self.ended.front() else { return Activity::Idle };
        if now < at {
            return Activity::Until(at);
        }
        if !self.responses.has_room() {
            return Activity::Idle;
        }
        self.ended.pop_front();
        self.responses.send(CommandResponse { id });
        self.n_open -= 1;
        Activity::Busy
    }
}

impl Component for Outbound {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.nhi.begin(now);
        let mut changed = self.take_data(now);
        let sending = self.send_packet(now);
        changed |= self.take_command(now);
        let building = self.build_packet(now);
        let reading = self.send_read(now);
        let responding = self.respond(now);
        changed |= self.nhi.end(now);
        self.open.set(now, self.n_open.into());
        self.queued.set(now, (self.fetching.len() + self.leaving.len()) as u64);
        let moving = earliest(earliest(sending, building), earliest(reading, responding));
        earliest(earliest(busy_if(changed), self.nhi.wake(now)), moving)
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("commands", &self.commands);
        ports.output("responses", &self.responses);
        self.nhi.ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("commands", self.n_commands.total());
        counters.add("faults", self.n_faults.total());
        counters.add("packets", self.packets.total());
        counters.add("bytes", self.bytes.total());
        let OutboundParams { cycles_per_beat, command_slots, queue_packets, .. } = self.params;
        let line = format!("the line out: {} a 64 bytes, and a packet a cycle", cycles(cycles_per_beat.max(1)));
        counters.busy("wire_cycles", self.wire_cycles.total(), 1, &line);
        counters.held("open_command_cycles", &self.open, command_slots.into(), "send commands under way");
        let queue = "packets that are read or wait for the line out";
        counters.held("queued_packet_cycles", &self.queued, queue_packets.into(), queue);
        counters.add("first_packet_cycle", self.first_packet.unwrap_or(0));
        counters.add("last_packet_cycle", self.last_packet);
    }
}

fn cycles(n: u32) -> String {
    format!("{n} cycle{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
