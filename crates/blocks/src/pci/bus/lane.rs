//! The ports of a bus and their outstanding references.

use crate::bus::{Access, BusError, Data, Reference, Requester, Responder};
use kernel::trace::Counter;
use kernel::{Cycle, Time};
use std::collections::VecDeque;

/// A requester's port and its references.
pub struct BusLane {
    pub port: Responder,
    pub queue: VecDeque<Active>,
    /// Cycle in which its last transaction left the bus.
    pub free_at: Cycle,
    pub transactions: Counter,
    pub bytes: Counter,
    pub wait_cycles: Counter,
}

pub struct Active {
    pub reference: Reference,
    /// Cycle since which it waits for the bus.
    pub since: Cycle,
    /// Time spent waiting for others.
    pub waited: Time,
    /// Bytes sent in transactions, and bytes acknowledged.
    pub sent: u32,
    pub acknowledged: u32,
    pub read: Data,
    pub failed: Option<BusError>,
}

/// A port to a memory, and its outstanding parts: lane and bytes.
pub struct BusSide {
    pub port: Requester,
    pub waiting: VecDeque<(usize, u32)>,
}

impl BusLane {
    pub fn new(port: Responder) -> BusLane {
        BusLane {
            port,
            queue: VecDeque::new(),
            free_at: 0,
            transactions: Counter::default(),
            bytes: Counter::default(),
            wait_cycles: Counter::default(),
        }
    }

    /// Index of the first reference that needs another transaction.
    pub fn next(&self) -> Option<usize> {
        self.queue.iter().position(|active| active.sent < active.reference.access.len())
    }
}

impl BusSide {
    pub fn new(port: Requester) -> BusSide {
        BusSide { port, waiting: VecDeque::new() }
    }
}

impl Active {
    pub fn is_write(&self) -> bool {
        self.reference.access.is_write()
    }

    /// The next transaction of the reference.
    pub fn part(&self, burst: u32) -> Reference {
        let (sent, Reference { id, addr, access }) = (self.sent, &self.reference);
        let addr = addr.wrapping_add(u64::from(sent));
        let to_boundary = burst - (addr % u64::from(burst)) as u32;
        let bytes = (access.len() - sent).min(to_boundary);
        let access = match access {
            Access::Read(_) => Access::Read(bytes),
            Access::Linked(link) => Access::Linked(*link),
            Access::Write(data) => Access::Write(Data::from_slice(&data[sent as usize..(sent + bytes) as usize])),
        };
        Reference { id: *id, addr, access }
    }
}
