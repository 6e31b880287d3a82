//! The card's end of PCIe: write beats with what their arrival means, and reads with what was asked.

use super::due::Due;
use super::rings::{Buffer, HostMemory};
use crate::protocol::Message;
use blocks::pcie::{Bytes, Ends, PcieParams, Read, Transport, Write};
use kernel::{Activity, CounterList, Cycle};
use std::collections::VecDeque;

/// What it means that a write beat is in host memory.
pub enum Landed {
    /// All bytes of a packet are there, from this address on.
    Packet(Box<Message>, u64),
    /// The completion of a packet in this slot of a receive queue is there; with the packet, if it has no bytes.
    Received { queue: usize, slot: u32, empty: Option<Box<Message>> },
    /// The completion of a packet of this transmit queue is there.
    Sent { queue: usize },
}

/// What was asked of the host.
pub enum Asked {
    /// Descriptors of a receive queue.
    Buffers { queue: usize },
    /// Descriptors of a transmit queue.
    Packets { queue: usize },
    /// A packet to send, and its number.
    Packet { queue: usize, buffer: Buffer, id: u64 },
}

/// An answer of the host.
pub struct Answer {
    /// To what.
    pub asked: Asked,
    /// When its first bytes were here.
    pub first: Cycle,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// PCIe and the memory behind it.
pub struct HostLink {
    transport: Transport,
    room: usize,
    /// The last write beat was not the last of its burst.
    is_open: bool,
    edge: Edge,
}

struct Edge {
    now: Cycle,
    memory: HostMemory,
    /// For each write beat that is under way, what it means that it is there.
    beats: VecDeque<Option<Landed>>,
    /// What has arrived, from which cycle on.
    landed: Due<Landed>,
    /// Reads under way, in order.
    reads: VecDeque<Answer>,
    /// Reads that are answered, and from which cycle on.
    answers: Due<Answer>,
}

impl Ends for Edge {
    fn store(&mut self, at: Cycle, addr: u64, bytes: &[u8]) {
        self.memory.write(addr, bytes);
        let landed = self.beats.pop_front().expect("beats arrive in order");
        if let Some(landed) = landed {
            self.landed.push(at, landed);
        }
    }

    fn load(&mut self, _at: Cycle, addr: u64, bytes: &mut [u8]) {
        self.memory.read(addr, bytes);
    }

    fn respond(&mut self, _from: usize) -> bool {
        true // Writes are posted: nobody waits.
    }

    fn takes_data(&self, _from: usize) -> bool {
        true // There was room for it when it was asked for.
    }

    fn give(&mut self, _from: usize, bytes: Bytes, last: bool) {
        let at = self.now + 1;
        let read = self.reads.front_mut().expect("answers come in order");
        if read.bytes.is_empty() {
            read.first = at;
        }
        read.bytes.extend_from_slice(&bytes);
        if last {
            let answer = self.reads.pop_front().expect("it was there");
            self.answers.push(at, answer);
        }
    }
}

impl HostLink {
    /// A link as `params` say, to `memory`.
    pub fn new(clock_hz: u64, params: &PcieParams, memory: HostMemory) -> HostLink {
        let (beats, reads) = Default::default();
        let edge = Edge { now: 0, memory, beats, landed: Due::new(), reads, answers: Due::new() };
        let transport = Transport::new(clock_hz, params);
        HostLink { transport, room: params.buffer_beats as usize, is_open: false, edge }
    }

    /// The host's memory, for the host.
    pub fn memory(&mut self) -> &mut HostMemory {
        &mut self.edge.memory
    }

    /// Whether a write beat may be given to it.
    pub fn takes_write(&self) -> bool {
        self.transport.waiting().0 < self.room
    }

    /// Whether a burst has begun and not ended: no other may begin.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Writes up to 64 bytes of one line.
    pub fn write(&mut self, addr: u64, bytes: &[u8], last: bool, landed: Option<Landed>) {
        self.is_open = !last;
        self.edge.beats.push_back(landed);
        self.transport.write(Write { from: 0, addr, bytes: Bytes::from_slice(bytes), last, refused: false });
    }

    /// Whether a read may be given to it.
    pub fn takes_read(&self) -> bool {
        self.transport.waiting().1 < self.room
    }

    /// Reads at least one byte.
    pub fn read(&mut self, addr: u64, size: u32, asked: Asked) {
        self.edge.reads.push_back(Answer { asked, first: 0, bytes: Vec::with_capacity(size as usize) });
        self.transport.read(Read { from: 0, addr, size, last: true, refused: false });
    }

    /// Lives through a cycle.
    pub fn tick(&mut self, now: Cycle) -> Activity {
        self.edge.now = now;
        self.transport.tick(now, &mut self.edge)
    }

    /// The next answer that is here in cycle `now`.
    pub fn answer(&mut self, now: Cycle) -> Option<Answer> {
        self.edge.answers.take(now)
    }

    /// What next has arrived in cycle `now`.
    pub fn landed(&mut self, now: Cycle) -> Option<Landed> {
        self.edge.landed.take(now)
    }

    /// When something is to be taken from it.
    pub fn next(&self) -> Option<Cycle> {
        self.edge.answers.next().into_iter().chain(self.edge.landed.next()).min()
    }

    /// What PCIe counts.
    pub fn counters(&self, counters: &mut CounterList) {
        self.transport.counters(counters);
    }
}
