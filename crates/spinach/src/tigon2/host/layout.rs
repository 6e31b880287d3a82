//! Where things are in the host's memory, and the information block that tells the card.

use super::params::{SendRing, Tigon2HostParams};
use blocks::feeders::HostMemory;

pub const EVENT_ENTRIES: u32 = 256;
pub const COMMAND_ENTRIES: u32 = 64;
pub const EVENT_BYTES: u32 = 8;
pub const SEND_BYTES: u32 = 16;
pub const RECEIVE_BYTES: u32 = 32;

/// Size above which a frame goes to the jumbo ring, and of a standard buffer: a frame with check sequence.
const STANDARD_BYTES: u32 = 1518;
/// Size of a mini buffer. Source: the Linux driver.
const MINI_BYTES: u32 = 100;

/// Offsets within the information block.
mod block {
    pub const RINGS: u64 = 0x400;
    pub const EVENT_PRODUCER: u64 = 0x470;
    pub const RETURN_PRODUCER: u64 = 0x478;
    pub const SEND_CONSUMER: u64 = 0x480;
    pub const STATISTICS: u64 = 0x488;
    pub const BYTES: u64 = 0x490;
}

/// Flags of ring control blocks.
mod ring_flags {
    pub const IN_HOST_MEMORY: u32 = 0x40;
    pub const DISABLED: u32 = 0x200;
}

/// A ring of posted receive buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferRing {
    /// What it is called.
    pub name: &'static str,
    /// Mailbox of its producer.
    pub mailbox: u32,
    /// Flag of its descriptors.
    pub flag: u32,
    /// Its descriptors.
    pub ring: u64,
    pub entries: u32,
    /// Buffers that are posted.
    pub posted: u32,
    /// Its buffers, one for each entry.
    pub buffers: u64,
    pub buffer_bytes: u32,
    /// Distance of two buffers.
    pub stride: u32,
}

impl BufferRing {
    pub fn descriptor(&self, index: u32) -> u64 {
        self.ring + u64::from(index * RECEIVE_BYTES)
    }

    pub fn buffer(&self, index: u32) -> u64 {
        self.buffers + u64::from(index) * u64::from(self.stride)
    }
}

/// Addresses of everything that host and card share.
#[derive(Clone, Debug)]
pub struct Layout {
    pub information: u64,
    pub events: u64,
    /// The card writes eight bytes at each of these, of which the first four count.
    pub event_producer: u64,
    pub return_producer: u64,
    pub send_consumer: u64,
    pub send_ring: u64,
    pub returns: u64,
    /// Standard, jumbo, mini.
    pub buffers: [BufferRing; 3],
    /// A place for each frame that waits to be sent.
    pub send_places: u64,
    pub send_stride: u32,
    end: u64,
}

/// Where the payload begins in a place for a frame.
pub const PAYLOAD_OFFSET: u64 = 64;

impl Layout {
    pub fn new(params: &Tigon2HostParams) -> Layout {
        let mut next = params.memory_base;
        let mut take = |bytes: u64| {
            let at = next;
            next += bytes.next_multiple_of(64);
            at
        };
        let (information, events) = (take(block::BYTES), take(u64::from(EVENT_ENTRIES * EVENT_BYTES)));
        let (event_producer, return_producer, send_consumer) = (take(8), take(8), take(8));
        let send_ring = take(u64::from(params.send.entries * SEND_BYTES));
        let returns = take(u64::from(params.receive.return_entries * RECEIVE_BYTES));
        let mut ring = |name, mailbox, flag, entries: u32, posted: u32, buffer_bytes: u32| {
            let stride = buffer_bytes.next_multiple_of(64);
            let buffers = if posted > 0 { entries } else { 0 };
            BufferRing {
                name,
                mailbox,
                flag,
                ring: take(u64::from(entries * RECEIVE_BYTES)),
                entries,
                posted,
                buffers: take(u64::from(buffers) * u64::from(stride)),
                buffer_bytes,
                stride,
            }
        };
        let receive = &params.receive;
        let buffers = [
            ring("standard receive", 3, 0, 512, receive.standard_buffers, STANDARD_BYTES),
            ring("jumbo receive", 4, 0x10, 256, receive.jumbo_buffers, params.mtu),
            ring("mini receive", 5, 0x1000, 1024, receive.mini_buffers, MINI_BYTES),
        ];
        let send_stride = (params.mtu + PAYLOAD_OFFSET as u32).next_multiple_of(64);
        let send_places = take(u64::from(params.send.entries) * u64::from(send_stride));
        Layout {
            information,
            events,
            event_producer,
            return_producer,
            send_consumer,
            send_ring,
            returns,
            buffers,
            send_places,
            send_stride,
            end: next,
        }
    }

    /// The memory with the information block in it and empty rings.
    pub fn memory(&self, params: &Tigon2HostParams) -> HostMemory {
        let len = usize::try_from(self.end - params.memory_base).expect("some megabytes");
        let mut memory = HostMemory::new(params.memory_base, len);
        let (send_ring, send_flags) = match params.send.ring {
            SendRing::Host => (self.send_ring, ring_flags::IN_HOST_MEMORY),
            SendRing::Card => (u64::from(card_send_ring(params.send.entries)), 0),
        };
        // Source: the command ring's address is 0x100 by convention.
        let rings = [
            (self.events, 0, 0),
            (0x100, 0, 0),
            (send_ring, params.send.entries, send_flags),
            self.receive_ring(0),
            self.receive_ring(1),
            self.receive_ring(2),
            (self.returns, params.receive.return_entries, 0),
        ];
        for (at, (ring, longest, flags)) in (self.information + block::RINGS..).step_by(16).zip(rings) {
            put_address(&mut memory, at, ring);
            memory.put_word(at + 8, longest << 16 | flags);
        }
        put_address(&mut memory, self.information + block::EVENT_PRODUCER, self.event_producer);
        put_address(&mut memory, self.information + block::RETURN_PRODUCER, self.return_producer);
        put_address(&mut memory, self.information + block::SEND_CONSUMER, self.send_consumer);
        put_address(&mut memory, self.information + block::STATISTICS, self.information);
        memory
    }

    fn receive_ring(&self, position: usize) -> (u64, u32, u32) {
        let ring = &self.buffers[position];
        match ring.posted {
            0 => (ring.ring, 0, ring_flags::DISABLED),
            _ => (ring.ring, ring.buffer_bytes, 0),
        }
    }

    /// Where frame `place` is prepared for sending.
    pub fn send_place(&self, place: u32) -> u64 {
        self.send_places + u64::from(place) * u64::from(self.send_stride)
    }
}

/// Where a send ring in card memory begins: it ends at 0x4000.
pub fn card_send_ring(entries: u32) -> u32 {
    0x4000 - entries * SEND_BYTES
}

/// Puts an address as two words, the high one first.
pub fn put_address(memory: &mut HostMemory, at: u64, address: u64) {
    memory.put_word(at, (address >> 32) as u32);
    memory.put_word(at + 4, address as u32);
}
