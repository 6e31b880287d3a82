//! Layout of rings and buffers in host memory.
//!
//! assumed: the paper mentions descriptors and doorbells (4.1) without details; these rings are of the usual form.

use super::DmaParams;
use std::collections::BTreeMap;

/// Size of a descriptor and of a completion.
pub const ENTRY_BYTES: u32 = 16;
/// Descriptors per read: those in a line of 64 bytes.
pub const ENTRIES_PER_READ: u32 = 64 / ENTRY_BYTES;

/// A buffer in host memory. Its descriptor holds address, size and slot, little-endian.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// Address of the first byte.
    pub addr: u64,
    /// Size of the buffer; for a packet to send, the packet length.
    pub len: u32,
    /// Index of the descriptor in its ring.
    pub slot: u32,
}

impl Buffer {
    /// Encodes the descriptor.
    pub fn to_bytes(self) -> [u8; ENTRY_BYTES as usize] {
        let word = u128::from(self.addr) | u128::from(self.len) << 64 | u128::from(self.slot) << 96;
        word.to_le_bytes()
    }

    /// Decodes a descriptor.
    pub fn from_bytes(bytes: [u8; ENTRY_BYTES as usize]) -> Buffer {
        let word = u128::from_le_bytes(bytes);
        Buffer { addr: word as u64, len: (word >> 64) as u32, slot: (word >> 96) as u32 }
    }
}

/// A completion entry: slot, packet length, flow hash and a number that is never 0; little-endian.
pub fn completion(slot: u32, len: u32, hash: u32, number: u32) -> [u8; ENTRY_BYTES as usize] {
    let word = u128::from(slot) | u128::from(len) << 32 | u128::from(hash) << 64 | u128::from(number) << 96;
    word.to_le_bytes()
}

/// Addresses of a queue's rings and buffers.
#[derive(Clone, Copy, Debug)]
pub struct QueueLayout {
    descriptors: u64,
    completions: u64,
    buffers: u64,
    slots: u32,
    buffer_bytes: u32,
}

impl QueueLayout {
    /// The addresses of all queues: first the receive queues, then the transmit queues.
    pub fn all(params: &DmaParams) -> Vec<QueueLayout> {
        let ring = u64::from(params.ring_slots * ENTRY_BYTES);
        let queue = 2 * ring + u64::from(params.ring_slots) * u64::from(params.buffer_bytes);
        let place = |i: u32| {
            // The first page is unused, so that address 0 is never a buffer; each queue begins on a new page.
            let descriptors = 4096 + u64::from(i) * queue.next_multiple_of(4096);
            let (completions, buffers) = (descriptors + ring, descriptors + 2 * ring);
            QueueLayout {
                descriptors,
                completions,
                buffers,
                slots: params.ring_slots,
                buffer_bytes: params.buffer_bytes,
            }
        };
        (0..params.rx_queues + params.tx_queues).map(place).collect()
    }

    /// The slot of descriptor or completion number `n`.
    pub fn slot(&self, n: u32) -> u32 {
        n % self.slots
    }

    /// The address of descriptor number `n`.
    pub fn descriptor(&self, n: u32) -> u64 {
        self.descriptors + u64::from(self.slot(n) * ENTRY_BYTES)
    }

    /// The address of completion number `n`.
    pub fn completion(&self, n: u32) -> u64 {
        self.completions + u64::from(self.slot(n) * ENTRY_BYTES)
    }

    /// The host's whole buffer of a slot.
    pub fn buffer(&self, slot: u32) -> Buffer {
        let addr = self.buffers + u64::from(slot) * u64::from(self.buffer_bytes);
        Buffer { addr, len: self.buffer_bytes, slot }
    }
}

const PAGE: u64 = 4096;

/// Host memory; bytes never written read as 0.
#[derive(Default)]
pub struct HostMemory {
    /// Each page's position in `pages`.
    positions: BTreeMap<u64, usize>,
    pages: Vec<Box<[u8; PAGE as usize]>>,
    /// Number and position of the page that was written last, because a packet is written in many pieces.
    last: Option<(u64, usize)>,
}

impl HostMemory {
    /// Fills `bytes` from `addr` on.
    pub fn read(&self, addr: u64, bytes: &mut [u8]) {
        for (page, at, range) in pages(addr, bytes.len()) {
            let part = &mut bytes[range];
            match self.positions.get(&page).map(|&position| &self.pages[position]) {
                Some(page) => part.copy_from_slice(&page[at..at + part.len()]),
                None => part.fill(0),
            }
        }
    }

    /// Writes `bytes` from `addr` on.
    pub fn write(&mut self, addr: u64, bytes: &[u8]) {
        for (page, at, range) in pages(addr, bytes.len()) {
            let part = &bytes[range];
            let position = match self.last {
                Some((number, position)) if number == page => position,
                _ => self.find(page),
            };
            self.pages[position][at..at + part.len()].copy_from_slice(part);
        }
    }

    /// The position of a page, which is added if it is new.
    fn find(&mut self, page: u64) -> usize {
        let position = *self.positions.entry(page).or_insert(self.pages.len());
        if position == self.pages.len() {
            self.pages.push(Box::new([0; PAGE as usize]));
        }
        self.last = Some((page, position));
        position
    }
}

/// The pages that `len` bytes from `addr` on touch: page number, offset in the page, and range of the bytes.
fn pages(addr: u64, len: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = addr + done as u64;
        let n = (len - done).min((PAGE - at % PAGE) as usize);
        done += n;
        (n > 0).then(|| (at / PAGE, (at % PAGE) as usize, done - n..done))
    })
}
