//! Messages between a card's registers and its assists; see docs/concepts/protocols.md.

use super::filter::Filter;
use super::pieces::piece;
use crate::bus::BusError;
use crate::netlist::Wire;

/// A transfer between host and card.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transfer {
    /// Byte address in host memory.
    pub host: u64,
    /// Byte address in the card's memory.
    pub local: u64,
    /// Number of bytes; 0 is allowed.
    pub bytes: u32,
    /// State word of the descriptor (see [`Transfer::KEEPS_WORDS`] and [`Transfer::CHECKSUM`]).
    pub state: u32,
    /// Card address at which the checksum is stored.
    pub checksum_at: u64,
}

impl Transfer {
    /// Bit of the state word: 32-bit words keep their value between the little-endian host and the big-endian card,
    /// so their bytes are reversed. If clear, bytes keep their order. Source: docs/machines/tigon2.md, Descriptors.
    pub const KEEPS_WORDS: u32 = 1 << 1;
    /// Bit of the state word: stores the 16-bit ones' complement sum of the bytes at `checksum_at`.
    /// Source: docs/machines/tigon2.md, Descriptors.
    pub const CHECKSUM: u32 = 0xa00;
}

/// Orders to a DMA assist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DmaOrder {
    /// Discards everything unfinished and sets the pointers to 0.
    Reset,
    /// Allows or forbids starting descriptors. Started ones continue.
    Enable(bool),
    /// Base address of ring 0, or of ring 1, which has priority.
    Ring(u8, u64),
    /// The area in which local addresses wrap: a transfer that starts inside continues at the base.
    Buffers(Buffers),
    /// Sets a ring's producer: entries before it are filled.
    Producer(u8, u32),
    /// Sets a ring's consumer: entries before it are done.
    Consumer(u8, u32),
    /// A single transfer without a descriptor; it has priority over the rings.
    Single(Transfer),
}

/// Progress reports of a DMA assist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DmaProgress {
    /// A ring's consumer has moved: entries before it are done. The last of these entries had this state word and ended
    /// at this local address (exclusive).
    Consumer(u8, u32, u32, u64),
    /// The single transfer is done: the sum of its bytes, and its end address (exclusive).
    SingleDone(u16, u64),
    /// A transfer failed. The assist stops until it is reset.
    Failed(BusError),
}

/// A circular buffer area in memory, from `base` to before `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Buffers {
    /// Address of the first byte.
    pub base: u64,
    /// Address after the last byte.
    pub end: u64,
}

impl Buffers {
    /// The address `bytes` after `addr`, wrapped.
    pub fn after(&self, addr: u64, bytes: u64) -> u64 {
        let (next, len) = (addr.wrapping_add(bytes), self.end.saturating_sub(self.base));
        if (self.base..self.end).contains(&addr) && next >= self.end {
            self.base + (next - self.end) % len
        } else {
            next
        }
    }

    /// Bytes from `from` to `to`, wrapped.
    pub fn distance(&self, from: u64, to: u64) -> u64 {
        if to >= from { to - from } else { (self.end.saturating_sub(self.base)).saturating_sub(from - to) }
    }

    /// A range of `bytes` at `addr` as ranges that do not wrap: addresses and lengths.
    pub(super) fn areas(&self, addr: u64, bytes: u64) -> Vec<(u64, u64)> {
        let to_end = if (self.base..self.end).contains(&addr) { self.end - addr } else { bytes };
        let (first, rest) = (bytes.min(to_end), bytes.saturating_sub(to_end));
        std::iter::once((addr, first)).chain((rest > 0).then_some((self.base, rest))).collect()
    }

    /// Address and length of the next reference of a range of `bytes` at `addr`, after `done` bytes.
    pub(super) fn piece(&self, addr: u64, done: u32, bytes: u32, limit: u32) -> (u64, u32) {
        let at = self.after(addr, u64::from(done));
        let left = u64::from(bytes - done);
        let to_end = if (self.base..self.end).contains(&at) { self.end - at } else { left };
        (at, piece(at, left.min(to_end) as u32, limit))
    }
}

/// Orders to a transmitting MAC assist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransmitOrder {
    /// Discards everything that has not left and sets the pointers to 0.
    Reset,
    /// Allows or forbids starting frames. Started ones continue.
    Enable(bool),
    /// Base address of the ring of descriptors.
    Ring(u64),
    /// The area that holds the frames.
    Buffers(Buffers),
    /// Sets the producer: entries before it are to be sent.
    Producer(u32),
    /// Sets the consumer: entries before it are done.
    Consumer(u32),
    /// Frame bytes before this address are present. From the first such order on, a frame is read only when all of it
    /// is present.
    BufferProducer(u64),
    /// Address of the next frame in the buffers.
    BufferConsumer(u64),
    /// EtherType of inserted VLAN tags.
    VlanType(u16),
}

/// Progress reports of a transmitting MAC assist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransmitProgress {
    /// A frame has been read from memory: the new consumer, and the end address of its bytes.
    Consumer(u32, u64),
    /// An event for firmware.
    Attention(Attention),
}

/// Orders to a receiving MAC assist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveOrder {
    /// Discards everything not yet reported and sets the pointers to 0.
    Reset,
    /// Enables or disables reception; a disabled receiver drops frames.
    Enable(bool),
    /// Base address of the ring of descriptors.
    Ring(u64),
    /// The area for frames; the next frame goes to its base.
    Buffers(Buffers),
    /// Sets the producer: the next entry to fill.
    Producer(u32),
    /// Sets the consumer: firmware has processed the entries before it.
    Consumer(u32),
    /// Address for the next frame.
    BufferProducer(u64),
    /// Bytes before this address are free.
    BufferConsumer(u64),
    /// Sets the address filter; before the first such order all frames are accepted.
    Filter(Filter),
    /// Address of the counters of dropped frames; before the first such order drops are not counted in memory.
    Statistics(u64),
}

/// Progress reports of a receiving MAC assist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveProgress {
    /// A frame and its descriptor are in memory: the new producer, and the end address of the frame.
    Producer(u32, u64),
    /// An event for firmware.
    Attention(Attention),
}

/// Events that a MAC assist reports to firmware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attention {
    /// The receive buffers were full: a frame was dropped.
    BufferFull,
    /// No receive descriptor was free: a frame was dropped.
    RingFull,
    /// The memory was too slow to take a frame: it was dropped.
    Overrun,
    /// The memory was too slow to supply a frame: it was sent with an invalid check sequence.
    Underrun,
    /// A descriptor was invalid.
    Descriptor,
    /// Memory refused a reference.
    Memory(BusError),
}

impl Wire for DmaOrder {
    const NAME: &'static str = "dma-orders";
}

impl Wire for DmaProgress {
    const NAME: &'static str = "dma-progress";
}

impl Wire for TransmitOrder {
    const NAME: &'static str = "transmit-orders";
}

impl Wire for TransmitProgress {
    const NAME: &'static str = "transmit-progress";
}

impl Wire for ReceiveOrder {
    const NAME: &'static str = "receive-orders";
}

impl Wire for ReceiveProgress {
    const NAME: &'static str = "receive-progress";
}
