//! Layout of the host's memory.

use crate::tengig::map;

/// Capacity of the send ring in frames: two descriptors each.
pub const SEND_FRAMES: u32 = map::SEND_ENTRIES / 2;
/// Size and alignment of a standard buffer. The headers of a sent frame use one too.
pub const BUFFER_BYTES: u64 = 2048;
/// Size of a mini buffer.
pub const MINI_BUFFER_BYTES: u64 = 256;
/// Size of a jumbo buffer. The payload of a sent frame uses one too: headers and data are separate, as in an operating system.
pub const JUMBO_BUFFER_BYTES: u64 = 16_384;
/// Alignment of the memory.
pub const ALIGNMENT: u64 = 4096;

/// Offset of the send ring.
pub const SEND_RING: u64 = 0;
/// Offset of the ring of standard buffers, or of the only ring.
pub const RECEIVE_RING: u64 = SEND_RING + map::SEND_ENTRIES as u64 * map::DESCRIPTOR_BYTES as u64;
/// The ring of mini buffers.
pub const MINI_RING: u64 = RECEIVE_RING + map::RECEIVE_ENTRIES as u64 * map::LONG_DESCRIPTOR_BYTES as u64;
/// The ring of jumbo buffers.
pub const JUMBO_RING: u64 = MINI_RING + map::MINI_ENTRIES as u64 * map::LONG_DESCRIPTOR_BYTES as u64;
/// The return ring.
pub const RETURN_RING: u64 = JUMBO_RING + map::JUMBO_ENTRIES as u64 * map::LONG_DESCRIPTOR_BYTES as u64;
/// Send consumer and return producer.
pub const STATUS: u64 = RETURN_RING + map::LONG_RETURN_ENTRIES as u64 * map::LONG_DESCRIPTOR_BYTES as u64;
/// The card's statistics.
pub const STATISTICS: u64 = STATUS + 256;
/// Headers of frames to send.
pub const HEADERS: u64 = STATUS + ALIGNMENT;
/// Payloads of frames to send.
pub const PAYLOADS: u64 = HEADERS + SEND_FRAMES as u64 * BUFFER_BYTES;
/// Standard buffers for received frames.
pub const BUFFERS: u64 = PAYLOADS + SEND_FRAMES as u64 * JUMBO_BUFFER_BYTES;
/// Mini buffers.
pub const MINI_BUFFERS: u64 = BUFFERS + map::RECEIVE_ENTRIES as u64 * BUFFER_BYTES;
/// Jumbo buffers.
pub const JUMBO_BUFFERS: u64 = MINI_BUFFERS + map::MINI_ENTRIES as u64 * MINI_BUFFER_BYTES;
/// Total size.
pub const BYTES: u64 = JUMBO_BUFFERS + map::JUMBO_ENTRIES as u64 * JUMBO_BUFFER_BYTES;
