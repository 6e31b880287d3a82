//! The host: fills rings, rings doorbells, and reuses its buffers.

use super::DmaParams;
use super::due::Due;
use super::rings::{HostMemory, QueueLayout};
use crate::world::{Arrival, PortSource};
use kernel::Cycle;
use std::collections::VecDeque;

/// A doorbell: total number of descriptors that the host has put into a queue's ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doorbell {
    /// For a receive queue.
    Buffers { queue: usize, total: u32 },
    /// For a transmit queue.
    Packets { queue: usize, total: u32 },
}

/// A driver with zero latency, and the applications that send packets.
///
/// Timing: the host sees a completion when it is in memory. It returns a receive buffer to its ring `host_cycles` later; a slot
///         of a transmit ring is free at once. A packet of a source enters its ring when it arrives, or when a slot becomes
///         free.
pub struct Host {
    transmits: Vec<Transmits>,
    receives: Vec<(QueueLayout, u32)>,
    /// Receive buffers that the host is reading: queue and slot.
    read: Due<(usize, u32)>,
    /// Doorbells on their way to the card.
    doorbells: Due<Doorbell>,
    host_cycles: u64,
    doorbell_cycles: u64,
    buffer_bytes: usize,
    /// When to poll the sources next.
    look_at: Option<Cycle>,
}

struct Transmits {
    place: QueueLayout,
    source: Box<dyn PortSource>,
    n_posted: u32,
    n_sent: u32,
    slots: u32,
    /// Packet numbers of the ring's descriptors. They serve observation only and do not cross the link.
    ids: VecDeque<u64>,
    next: Option<Cycle>,
}

impl Host {
    /// A host with full receive rings and a source for each transmit queue from 0 on.
    pub fn new(params: &DmaParams, sources: Vec<Box<dyn PortSource>>, memory: &mut HostMemory) -> Host {
        let places = QueueLayout::all(params);
        let (receives, transmits) = places.split_at(params.rx_queues as usize);
        for place in receives {
            (0..params.ring_slots)
                .for_each(|slot| memory.write(place.descriptor(slot), &place.buffer(slot).to_bytes()));
        }
        let slots = params.ring_slots;
        let transmits = sources.into_iter().zip(transmits).map(|(source, &place)| {
            let (ids, n_posted, n_sent) = Default::default();
            Transmits { place, source, n_posted, n_sent, slots, ids, next: Some(0) }
        });
        Host {
            transmits: transmits.collect(),
            receives: receives.iter().map(|&place| (place, slots)).collect(),
            read: Due::new(),
            doorbells: Due::new(),
            host_cycles: params.host_cycles.into(),
            doorbell_cycles: params.pcie.one_way_cycles().into(),
            buffer_bytes: params.buffer_bytes as usize,
            look_at: Some(0),
        }
    }

    /// Runs a cycle. Returns a packet that fits no buffer, and its queue, if there is one.
    pub fn tick(&mut self, now: Cycle, memory: &mut HostMemory) -> Option<(usize, Arrival)> {
        while let Some((queue, slot)) = self.read.take(now) {
            let (place, posted) = &mut self.receives[queue];
            memory.write(place.descriptor(*posted), &place.buffer(slot).to_bytes());
            *posted = posted.wrapping_add(1);
            self.doorbells.push(now + self.doorbell_cycles, Doorbell::Buffers { queue, total: *posted });
        }
        if self.look_at.is_none_or(|at| at > now) {
            return None;
        }
        let mut long = None;
        for (queue, ring) in self.transmits.iter_mut().enumerate() {
            while long.is_none() && ring.n_posted.wrapping_sub(ring.n_sent) < ring.slots {
                let Some(arrival) = ring.source.next(now) else { break };
                match arrival.bytes.len() <= self.buffer_bytes {
                    true => ring.post(arrival, memory),
                    false => long = Some((queue, arrival)),
                }
                let doorbell = Doorbell::Packets { queue, total: ring.n_posted };
                self.doorbells.push(now + self.doorbell_cycles, doorbell);
            }
            let is_full = ring.n_posted.wrapping_sub(ring.n_sent) == ring.slots;
            ring.next = match long.is_some() {
                true => Some(now + 1),
                false if is_full => None,
                false => ring.source.next_at().map(|at| at.max(now + 1)),
            };
        }
        self.look_at = self.transmits.iter().filter_map(|ring| ring.next).min();
        long
    }

    /// The next doorbell that reaches the card by cycle `now`.
    pub fn doorbell(&mut self, now: Cycle) -> Option<Doorbell> {
        self.doorbells.take(now)
    }

    /// The number of the packet whose descriptor the card has just read.
    pub fn id(&mut self, queue: usize) -> u64 {
        self.transmits[queue].ids.pop_front().expect("each descriptor must belong to a packet")
    }

    /// The completion of slot `slot` of receive queue `queue` is in memory.
    pub fn received(&mut self, now: Cycle, queue: usize, slot: u32) {
        self.read.push(now + self.host_cycles, (queue, slot));
    }

    /// The completion of a packet of transmit queue `queue` is in memory.
    pub fn sent(&mut self, now: Cycle, queue: usize) {
        let ring = &mut self.transmits[queue];
        let was_full = ring.n_posted.wrapping_sub(ring.n_sent) == ring.slots;
        ring.n_sent = ring.n_sent.wrapping_add(1);
        if was_full {
            self.look_at = Some(now + 1);
        }
    }

    /// The next cycle in which the host acts or a doorbell reaches the card.
    pub fn next(&self) -> Option<Cycle> {
        [self.look_at, self.read.next(), self.doorbells.next()].into_iter().flatten().min()
    }
}

impl Transmits {
    fn post(&mut self, arrival: Arrival, memory: &mut HostMemory) {
        let mut buffer = self.place.buffer(self.place.slot(self.n_posted));
        buffer.len = arrival.bytes.len() as u32;
        memory.write(buffer.addr, &arrival.bytes);
        memory.write(self.place.descriptor(self.n_posted), &buffer.to_bytes());
        self.ids.push_back(arrival.id);
        self.n_posted = self.n_posted.wrapping_add(1);
    }
}
