//! What a card's registers and its assists say to each other, as docs/concepts/protocols.md tells it.

use super::filter::Filter;
use super::pieces::piece;
use crate::bus::BusError;
use crate::netlist::Wire;

/// A move of bytes between host and card.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transfer {
    /// Byte address in host memory.
    pub host: u64,
    /// Byte address in the card's memory.
    pub local: u64,
    /// How many bytes; none is possible and moves none.
    pub bytes: u32,
    /// The state word of the descriptor (see [`Transfer::KEEPS_WORDS`] and [`Transfer::CHECKSUM`]).
    pub state: u32,
    /// Where in the card's memory the checksum is stored.
    pub checksum_at: u64,
}

impl Transfer {
    /// Bit of the state word: 32-bit words keep their value between a little-endian host and the big-endian card, so bytes
    /// change place within them. Without it bytes keep their order. Source: docs/machines/tigon2.md, Descriptors.
    pub const KEEPS_WORDS: u32 = 1 << 1;
    /// Bit of the state word: the 16-bit ones' complement sum of the bytes is stored at `checksum_at`.
    /// Source: docs/machines/tigon2.md, Descriptors.
    pub const CHECKSUM: u32 = 0xa00;
}

/// What a card tells a DMA assist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DmaOrder {
    /// Forget everything that is not done; pointers are 0.
    Reset,
    /// Whether it may begin descriptors. What has begun goes on.
    Enable(bool),
    /// Ring 0, or ring 1 that goes before it, stands at this address.
    Ring(u8, u64),
    /// Where local addresses wrap: a transfer that begins in this area goes on at its base.
    Buffers(Buffers),
    /// Entries of the ring before this one are to be done.
    Producer(u8, u32),
    /// Firmware sets how far the ring is done.
    Consumer(u8, u32),
    /// One transfer without a descriptor. It goes before the rings.
    Single(Transfer),
}

/// What a DMA assist tells its card.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DmaProgress {
    /// Entries of the ring before this one are done; the last had this state word and ended before this local address.
    Consumer(u8, u32, u32, u64),
    /// The transfer without a descriptor is done; with the sum of its bytes, and before which local address it ended.
    SingleDone(u16, u64),
    /// A transfer failed. The assist stands still until it is reset.
    Failed(BusError),
}

/// A ring of bytes in memory: from `base` to before `end`, where it goes on at `base`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Buffers {
    /// First byte.
    pub base: u64,
    /// Behind the last byte.
    pub end: u64,
}

impl Buffers {
    /// The address `bytes` behind `addr`.
    pub fn after(&self, addr: u64, bytes: u64) -> u64 {
        let (next, len) = (addr.wrapping_add(bytes), self.end.saturating_sub(self.base));
        if (self.base..self.end).contains(&addr) && next >= self.end {
            self.base + (next - self.end) % len
        } else {
            next
        }
    }

    /// How far it is from one address to another behind it.
    pub fn distance(&self, from: u64, to: u64) -> u64 {
        if to >= from { to - from } else { (self.end.saturating_sub(self.base)).saturating_sub(from - to) }
    }

    /// Address and bytes of the next reference of a run of `bytes` at `addr` of which `done` are dealt with.
    pub(super) fn piece(&self, addr: u64, done: u32, bytes: u32, limit: u32) -> (u64, u32) {
        let at = self.after(addr, u64::from(done));
        let left = u64::from(bytes - done);
        let to_end = if (self.base..self.end).contains(&at) { self.end - at } else { left };
        (at, piece(at, left.min(to_end) as u32, limit))
    }
}

/// What a card tells a transmitting MAC assist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransmitOrder {
    /// Forget everything that has not left; pointers are 0.
    Reset,
    /// Whether it may begin frames. What has begun goes on.
    Enable(bool),
    /// The ring of descriptors stands at this address.
    Ring(u64),
    /// Where frames stand.
    Buffers(Buffers),
    /// Entries before this one are to be sent.
    Producer(u32),
    /// Firmware sets how far the ring is done.
    Consumer(u32),
    /// Bytes of the buffers before this address are there: from the first such order on, a frame is read when all of it is.
    BufferProducer(u64),
    /// Where the next frame stands in the buffers.
    BufferConsumer(u64),
    /// Type of inserted VLAN tags.
    VlanType(u16),
}

/// What a transmitting MAC assist tells its card.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransmitProgress {
    /// The last frame has been read: entries before this one are done, and their bytes up to this address.
    Consumer(u32, u64),
    /// Something needs firmware's attention.
    Attention(Attention),
}

/// What a card tells a receiving MAC assist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveOrder {
    /// Forget everything that has not been reported; pointers are 0.
    Reset,
    /// Whether it takes frames. Others are dropped.
    Enable(bool),
    /// The ring of descriptors stands at this address.
    Ring(u64),
    /// Where frames go; the next one to the base.
    Buffers(Buffers),
    /// Firmware sets the next entry.
    Producer(u32),
    /// Firmware has dealt with the entries before this one.
    Consumer(u32),
    /// Firmware sets where the next frame goes.
    BufferProducer(u64),
    /// Bytes before this address are free.
    BufferConsumer(u64),
    /// Whose frames are taken; everybody's before the first such order.
    Filter(Filter),
    /// Where dropped frames are counted in memory; nowhere before the first such order.
    Statistics(u64),
}

/// What a receiving MAC assist tells its card.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveProgress {
    /// A frame is in memory, and its descriptor: entries before this one are filled, bytes up to this address.
    Producer(u32, u64),
    /// Something needs firmware's attention.
    Attention(Attention),
}

/// Why a MAC assist wants attention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attention {
    /// No room in the receive buffers: a frame was dropped.
    BufferFull,
    /// No free receive descriptor: a frame was dropped.
    RingFull,
    /// The memory did not take the bytes of a frame fast enough: a frame was dropped.
    Overrun,
    /// The memory did not give the bytes of a frame fast enough: it went out broken.
    Underrun,
    /// A descriptor that no frame can be made of.
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
