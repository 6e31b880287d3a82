//! The driver's receive side: posted buffers and the return ring.

use super::accesses::Accesses;
use super::layout::{BufferRing, Layout, RECEIVE_BYTES, put_address};
use super::window::mailbox;
use blocks::feeders::HostMemory;

/// Flags of a receive descriptor.
mod flags {
    pub const JUMBO: u32 = 0x10;
    pub const ERROR: u32 = 0x400;
    pub const MINI: u32 = 0x1000;
}

/// Names of the error flags, from bit 0 up.
pub const ERRORS: [&str; 9] =
    ["crc", "collision", "link_lost", "decode", "odd_nibbles", "mac_abort", "runt", "truncated", "too_long"];

/// A ring of posted buffers, as the driver sees it.
struct Posted {
    ring: BufferRing,
    /// The driver's producer.
    producer: u32,
    /// The buffer that the card should return next.
    next: u32,
    /// How often each buffer was posted; the card returns the count unchanged.
    times: Vec<u32>,
}

/// An entry of the return ring.
pub struct Returned {
    /// The ring of its buffer.
    ring: usize,
    index: u32,
    /// Address of the entry.
    pub entry: u64,
    /// Address of the frame.
    pub address: u64,
    /// Length in bytes without check sequence.
    pub len: u32,
    /// Error flags; 0 for a good frame.
    pub errors: u32,
}

/// All receive rings, as the driver sees them.
pub struct Receiver {
    posted: [Posted; 3],
    batch: u32,
    returns: u64,
    return_entries: u32,
    /// The driver's position in the return ring.
    pub consumer: u32,
}

impl Receiver {
    pub fn new(layout: &Layout, batch: u32, return_entries: u32) -> Receiver {
        let posted =
            layout.buffers.map(|ring| Posted { ring, producer: 0, next: 0, times: vec![0; ring.entries as usize] });
        Receiver { posted, batch, returns: layout.returns, return_entries, consumer: 0 }
    }

    /// Reposts buffers of rings that lack at least `least`, and notifies the card.
    pub fn post(&mut self, least: u32, memory: &mut HostMemory, bus: &mut Accesses) {
        for Posted { ring, producer, next, times } in &mut self.posted {
            let waiting = (*producer + ring.entries - *next) % ring.entries;
            let missing = ring.posted - waiting.min(ring.posted);
            if missing < least.max(1) {
                continue;
            }
            for _ in 0..missing {
                let (index, at) = (*producer, ring.descriptor(*producer));
                let times = &mut times[index as usize];
                *times = times.wrapping_add(1);
                put_address(memory, at, ring.buffer(index));
                let words = [index << 16 | ring.buffer_bytes, ring.flag, 0, 0, 0, *times << 16 | index];
                for (at, word) in (at + 8..).step_by(4).zip(words) {
                    memory.put_word(at, word);
                }
                *producer = (index + 1) % ring.entries;
            }
            bus.write(mailbox(ring.mailbox), *producer);
        }
    }

    /// As `post`, for rings that lack a batch.
    pub fn post_batch(&mut self, memory: &mut HostMemory, bus: &mut Accesses) {
        self.post(self.batch, memory, bus);
    }

    /// Decodes and checks the next entry of the return ring.
    pub fn take(&mut self, memory: &HostMemory) -> Result<Returned, String> {
        let entry = self.consumer;
        let at = self.returns + u64::from(entry * RECEIVE_BYTES);
        self.consumer = (entry + 1) % self.return_entries;
        let word = |n: u64| memory.word(at + 4 * n);
        let (index, len) = (word(2) >> 16, word(2) & 0xffff);
        let flags = word(3) & 0xffff;
        let ring = match flags & (flags::JUMBO | flags::MINI) {
            0 => 0,
            flags::JUMBO => 1,
            flags::MINI => 2,
            _ => return Err(format!("return entry {entry} has flags 0x{flags:x} of two rings")),
        };
        let Posted { ring: buffers, producer, next, times } = &mut self.posted[ring];
        let name = buffers.name;
        if index != *next || next == producer {
            let expected = if next == producer { "none".to_owned() } else { next.to_string() };
            if index < buffers.entries {
                *next = (index + 1) % buffers.entries; // Continue from this entry, so that it causes only one fault.
            }
            return Err(format!("return entry {entry} is {name} buffer {index}, expected {expected}"));
        }
        let address = u64::from(word(0)) << 32 | u64::from(word(1));
        let opaque = times[index as usize] << 16 | index;
        if address != buffers.buffer(index) || word(7) != opaque {
            let found = word(7);
            let posted = buffers.buffer(index);
            return Err(format!(
                "return entry {entry}, {name} buffer {index}: address 0x{address:x}, mark 0x{found:x}, \
                 posted were 0x{posted:x}, 0x{opaque:x}"
            ));
        }
        let most = buffers.buffer_bytes;
        if len > most {
            return Err(format!("return entry {entry}: {len} bytes in {name} buffer {index} of {most}"));
        }
        let errors = if flags & flags::ERROR != 0 { (word(5) >> 16).max(1) } else { 0 };
        Ok(Returned { ring, index, entry: at, address, len, errors })
    }

    /// Marks a buffer as free.
    pub fn free(&mut self, returned: &Returned) {
        let Posted { ring, next, .. } = &mut self.posted[returned.ring];
        *next = (returned.index + 1) % ring.entries;
    }

    /// Name, producer, and next expected buffer of each ring in use.
    pub fn rings(&self) -> impl Iterator<Item = (&'static str, u32, u32)> {
        let in_use = self.posted.iter().filter(|posted| posted.ring.posted > 0);
        in_use.map(|posted| (posted.ring.name, posted.producer, posted.next))
    }
}
