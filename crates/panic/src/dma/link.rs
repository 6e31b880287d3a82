//! The card's end of PCIe: write beats and reads, each with its purpose.

use super::due::Due;
use super::receive::BEAT;
use super::rings::{Buffer, HostMemory};
use crate::protocol::Message;
use blocks::pcie::{Bytes, Ends, PcieParams, Read, Transport, Write};
use kernel::{Activity, CounterList, Cycle};
use std::collections::VecDeque;

/// The operation that is complete when a write beat arrives in host memory.
pub enum Landed {
    /// The whole packet, at this address.
    Packet(Box<Message>, u64),
    /// The completion for a slot of a receive queue; includes the message if the packet has no bytes.
    Received { queue: usize, slot: u32, empty: Option<Box<Message>> },
    /// The completion of a packet of a transmit queue.
    Sent { queue: usize },
}

/// Purpose of a read of host memory.
pub enum ReadPurpose {
    /// Descriptors of a receive queue.
    Buffers { queue: usize },
    /// Descriptors of a transmit queue.
    Packets { queue: usize },
    /// A packet to send, and its number.
    Packet { queue: usize, buffer: Buffer, id: u64 },
}

/// The answer to a read.
pub struct Answer {
    /// Purpose of the read.
    pub purpose: ReadPurpose,
    /// When the first bytes arrived.
    pub first: Cycle,
    /// All bytes.
    pub bytes: Vec<u8>,
}

/// PCIe and the host memory behind it.
pub struct HostLink {
    transport: Transport,
    room: usize,
    /// True inside a write burst.
    is_open: bool,
    edge: Edge,
}

struct Edge {
    now: Cycle,
    memory: HostMemory,
    /// For each write beat on its way, the operation that its arrival completes.
    beats: VecDeque<Option<Landed>>,
    /// Completed writes, and the cycle from which each is visible.
    landed: Due<Landed>,
    /// Reads in flight, in order.
    reads: VecDeque<Answer>,
    /// Answered reads, and the cycle from which each is visible.
    answers: Due<Answer>,
}

impl Ends for Edge {
    fn store(&mut self, at: Cycle, addr: u64, bytes: &[u8]) {
        self.memory.write(addr, bytes);
        let landed = self.beats.pop_front().expect("a beat must be in flight");
        if let Some(landed) = landed {
            self.landed.push(at, landed);
        }
    }

    fn load(&mut self, _at: Cycle, addr: u64, bytes: &mut [u8]) {
        self.memory.read(addr, bytes);
    }

    fn respond(&mut self, _from: usize) -> bool {
        true // Writes are posted: there is no response.
    }

    fn takes_data(&self, _from: usize) -> bool {
        true // The requester reserved room with the request.
    }

    fn give(&mut self, _from: usize, bytes: Bytes, last: bool) {
        let at = self.now + 1;
        let read = self.reads.front_mut().expect("a read must be in flight");
        if read.bytes.is_empty() {
            read.first = at;
        }
        read.bytes.extend_from_slice(&bytes);
        if last {
            let answer = self.reads.pop_front().expect("a read must be in flight");
            self.answers.push(at, answer);
        }
    }
}

impl HostLink {
    /// A link to `memory` with these parameters.
    pub fn new(clock_hz: u64, params: &PcieParams, memory: HostMemory) -> HostLink {
        let (beats, reads) = Default::default();
        let edge = Edge { now: 0, memory, beats, landed: Due::new(), reads, answers: Due::new() };
        let transport = Transport::new(clock_hz, params);
        HostLink { transport, room: params.buffer_beats as usize, is_open: false, edge }
    }

    /// The host's memory, for access by the host.
    pub fn memory(&mut self) -> &mut HostMemory {
        &mut self.edge.memory
    }

    /// Returns true if a write beat can be accepted.
    pub fn takes_write(&self) -> bool {
        self.transport.waiting().0 < self.room
    }

    /// Returns true inside a burst; no other burst may begin.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Writes up to 64 bytes of one line.
    pub fn write(&mut self, addr: u64, bytes: &[u8], last: bool, landed: Option<Landed>) {
        self.is_open = !last;
        self.edge.beats.push_back(landed);
        self.transport.write(Write { from: 0, addr, bytes: Bytes::from_slice(bytes), last, refused: false });
    }

    /// Returns true if a run of beats can begin in cycle `now`, as a new burst or in an open one.
    pub fn takes_run(&self, now: Cycle) -> bool {
        self.transport.takes_run(now)
    }

    /// Writes whole beats of a burst, one a cycle from `now` on, but not its last one. Until the run ends, nothing else may be
    /// written. The bytes are in memory at once, but nothing reads them before the burst has ended.
    pub fn write_run(&mut self, now: Cycle, addr: u64, bytes: &[u8]) {
        self.is_open = true;
        self.edge.memory.write(addr, bytes);
        self.transport.write_run(now, bytes.len() / BEAT);
    }

    /// Returns true if a read can be accepted.
    pub fn takes_read(&self) -> bool {
        self.transport.waiting().1 < self.room
    }

    /// Reads at least one byte.
    pub fn read(&mut self, addr: u64, size: u32, purpose: ReadPurpose) {
        self.edge.reads.push_back(Answer { purpose, first: 0, bytes: Vec::with_capacity(size as usize) });
        self.transport.read(Read { from: 0, addr, size, last: true, refused: false });
    }

    /// Runs a cycle.
    pub fn tick(&mut self, now: Cycle) -> Activity {
        self.edge.now = now;
        self.transport.tick(now, &mut self.edge)
    }

    /// The next answer visible in cycle `now`.
    pub fn answer(&mut self, now: Cycle) -> Option<Answer> {
        self.edge.answers.take(now)
    }

    /// The next completed write visible in cycle `now`.
    pub fn landed(&mut self, now: Cycle) -> Option<Landed> {
        self.edge.landed.take(now)
    }

    /// When the next answer or completed write becomes visible.
    pub fn next(&self) -> Option<Cycle> {
        self.edge.answers.next().into_iter().chain(self.edge.landed.next()).min()
    }

    /// Lists the counters of PCIe.
    pub fn counters(&self, counters: &mut CounterList) {
        self.transport.counters(counters);
    }
}
