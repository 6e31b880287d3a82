//! Layout of the host's memory, and the information block that describes it to the card.

use super::params::{SendRing, Tigon2HostParams};
use blocks::feeders::HostMemory;

pub const EVENT_ENTRIES: u32 = 256;
pub const COMMAND_ENTRIES: u32 = 64;
pub const EVENT_BYTES: u32 = 8;
pub const SEND_BYTES: u32 = 16;
pub const RECEIVE_BYTES: u32 = 32;

/// Size above which a frame needs a jumbo buffer, and size of a standard buffer, with check sequence.
const STANDARD_BYTES: u32 = 1518;
/// Size of a mini buffer. Source: the Linux driver.
const MINI_BYTES: u32 = 100;

/// Offsets in the information block.
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
    /// Name in messages.
    pub name: &'static str,
    /// Mailbox of its producer.
    pub mailbox: u32,
    /// Flag of its descriptors.
    pub flag: u32,
    /// Address of its descriptors.
    pub ring: u64,
    pub entries: u32,
    /// Number of posted buffers.
    pub posted: u32,
    /// Address of its buffers, one for each entry.
    pub buffers: u64,
    pub buffer_bytes: u32,
    /// Distance between buffers.
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

/// Addresses of all structures shared by host and card.
#[derive(Clone, Debug)]
pub struct Layout {
    pub information: u64,
    pub events: u64,
    /// The card writes eight bytes at each of these; the first four are used.
    pub event_producer: u64,
    pub return_producer: u64,
    pub send_consumer: u64,
    pub send_ring: u64,
    pub returns: u64,
    /// Standard, jumbo, mini.
    pub buffers: [BufferRing; 3],
    /// A slot for each frame that waits to be sent.
    pub send_places: u64,
    pub send_stride: u32,
    end: u64,
}

/// Offset of the payload in a frame's slot.
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

    /// Creates the memory with the information block and empty rings.
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

    /// Address where frame `place` is prepared for sending.
    pub fn send_place(&self, place: u32) -> u64 {
        self.send_places + u64::from(place) * u64::from(self.send_stride)
    }
}

/// Start of a send ring in card memory; it ends at 0x4000.
pub fn card_send_ring(entries: u32) -> u32 {
    0x4000 - entries * SEND_BYTES
}

/// Writes an address as two words, the high one first.
pub fn put_address(memory: &mut HostMemory, at: u64, address: u64) {
    memory.put_word(at, (address >> 32) as u32);
    memory.put_word(at + 4, address as u32);
}
