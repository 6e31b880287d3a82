//! The bytes of one L2 memory, and the users of its ports.

use super::READ;
use super::back::Back;
use super::banks::{Banks, SIDES};
use super::far::Addresses;
use super::reads::Reads;
use crate::protocol::{Burst, beats};
use blocks::memory::Store;
use blocks::policy::RoundRobinTree;
use kernel::Cycle;
use std::collections::VecDeque;

/// One direction of one port of a memory: 64 bytes a cycle.
#[derive(Default)]
pub(super) struct MemoryPortSide {
    /// The burst whose first beat has not passed, with the position of its initiator.
    pub(super) coming: Option<(usize, Burst)>,
    /// The write whose last beat has not passed: the position of its initiator, and its tag.
    pub(super) writing: Option<(usize, u32)>,
    /// The read whose first beat has passed.
    pub(super) reading: Option<Reading>,
    /// The identity of the arriving read.
    pub(super) identity: usize,
    /// The address of the next write has passed the demultiplexer.
    pub(super) has_address: bool,
    /// The initiator of a write whose parts have not all arrived.
    pub(super) in_parts: Option<usize>,
    /// Turns. Near port: `dma` is the turn among DMA engines, `turn` that between DMA engines and single accesses. Far port:
    /// `turn` is that among initiators.
    pub(super) dma: RoundRobinTree,
    pub(super) turn: RoundRobinTree,
}

impl MemoryPortSide {
    /// Returns true if no burst has come whose last beat has not passed.
    pub(super) fn is_idle(&self) -> bool {
        self.coming.is_none() && self.writing.is_none() && self.reading.is_none()
    }

    /// Returns true if the address of the next write has passed the demultiplexer, which stops while it counts too many reads of
    /// the port. The address behind it has its turn when the first beat of this write has requested its bank.
    pub(super) fn address_passes(&mut self, is_requesting: bool, reads: &mut Reads, now: Cycle) -> bool {
        self.has_address |= is_requesting && reads.is_open(now);
        self.has_address
    }
}

/// A read whose beats have not all arrived, or had not all arrived in the last simulated cycle.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    /// The position of its initiator.
    pub(super) initiator: usize,
    pub(super) identity: usize,
    /// The demultiplexer counts it.
    pub(super) is_counted: bool,
    /// Each beat is reported separately: tag, address and bytes of the rest.
    pub(super) parts: Option<(u32, u32, u32)>,
}

/// The port towards the clusters.
pub(super) const NEAR: usize = 0;
/// The port towards NIC and host.
pub(super) const FAR: usize = 1;

/// A side in the order of the banks' arbiters.
pub(super) const fn position(port: usize, side: usize) -> usize {
    2 * port + side
}

/// One L2 memory.
pub(super) struct Memory {
    store: Store,
    pub(super) banks: Banks,
    /// By [`position`].
    pub(super) sides: [MemoryPortSide; SIDES],
    /// State of each port.
    pub(super) reads: [Reads; 2],
    pub(super) far: Addresses,
    /// Handler memory: bursts of DMA engines behind the filter, in the order in which they are served, with their clusters.
    pub(super) bursts: VecDeque<(usize, Burst)>,
    /// The path back to the clusters' DMA engines.
    pub(super) back: Back,
    /// A bank refused an access, which may conflict with another access in the next cycle.
    pub(super) is_contended: bool,
}

impl Memory {
    /// A memory of `n_banks` banks of 64 bytes, with `to_engine` cycles from a bank to a cluster's DMA engine.
    pub(super) fn new(base: u32, bytes: u32, n_banks: u32, to_engine: Cycle) -> Self {
        let store = Store::new(base.into(), bytes);
        Memory {
            store,
            banks: Banks::new(n_banks),
            sides: Default::default(),
            reads: Default::default(),
            far: Addresses::default(),
            bursts: VecDeque::new(),
            back: Back::new(to_engine),
            is_contended: false,
        }
    }

    /// A burst of an initiator comes to the banks of a side, whose previous burst is over.
    pub(super) fn come(&mut self, at: usize, initiator: usize, burst: Burst, now: Cycle) {
        let n_beats = u64::from(beats(burst.addr(), burst.size())).max(1);
        self.banks.begin(at, burst.addr(), n_beats, now);
        self.sides[at].coming = Some((initiator, burst));
    }

    /// Ends reads whose last beat has passed.
    pub(super) fn end_reads(&mut self, now: Cycle) {
        let Memory { banks, sides, reads, .. } = self;
        for (port, reads) in reads.iter_mut().enumerate() {
            let at = position(port, 0);
            if let Some(reading) = sides[at].reading.take_if(|_| banks.end(at) <= now)
                && reading.is_counted
            {
                reads.end(banks.end(at) - 1, reading.identity);
            }
        }
    }

    /// The next cycle with work if no access arrives.
    pub(super) fn next_event(&self, now: Cycle) -> Option<Cycle> {
        let in_parts = self.sides.iter().any(|side| side.reading.is_some_and(|reading| reading.parts.is_some()));
        if self.is_contended
            || self.back.is_watched()
            || in_parts
            || self.far.is_waiting()
            || self.reads.iter().any(Reads::is_waiting)
        {
            return Some(now + 1);
        }
        let writing = (0..).zip(&self.sides).filter(|(_, side)| side.writing.is_some());
        let written = writing.map(|(position, _)| self.banks.end(position) - 1);
        let next_burst = self.bursts.front().map(|_| self.banks.end(position(NEAR, READ)).max(now + 1));
        written.chain(next_burst).min()
    }

    pub(super) fn contains(&self, addr: u32) -> bool {
        self.store.contains(addr.into())
    }

    /// The bytes of a range, or `None` if the range is not entirely in this memory.
    pub(super) fn bytes(&self, addr: u32, size: u32) -> Option<&[u8]> {
        self.store.get(addr.into(), size).ok()
    }

    pub(super) fn word(&self, addr: u32) -> u32 {
        let bytes = self.store.get(addr.into(), 4).expect("initiators stay within");
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    pub(super) fn set_word(&mut self, addr: u32, word: u32) {
        let bytes = self.store.get_mut(addr.into(), 4).expect("initiators stay within");
        bytes.copy_from_slice(&word.to_le_bytes());
    }

    /// A part of a burst beyond the end reads as 0 and is not written; initiators stay within.
    pub(super) fn read(&self, addr: u32, size: u32) -> Box<[u8]> {
        let there = size.min(self.store.behind(addr.into()));
        let mut data = Vec::with_capacity(size as usize);
        data.extend_from_slice(self.store.get(addr.into(), there).expect("these bytes are there"));
        data.resize(size as usize, 0);
        data.into_boxed_slice()
    }

    pub(super) fn write(&mut self, addr: u32, data: &[u8]) {
        let there = (data.len() as u32).min(self.store.behind(addr.into()));
        let bytes = self.store.get_mut(addr.into(), there).expect("these bytes are there");
        bytes.copy_from_slice(&data[..there as usize]);
    }
}
