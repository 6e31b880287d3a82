//! Where things stand in the host's memory.

use crate::tengig::map;

/// Frames in the send ring at most: two descriptors each.
pub const SEND_FRAMES: u32 = map::SEND_ENTRIES / 2;
/// Bytes of a standard buffer, which starts at a multiple of them. The headers of a frame that is sent stand in one too.
pub const BUFFER_BYTES: u64 = 2048;
/// Bytes of a mini buffer.
pub const MINI_BUFFER_BYTES: u64 = 256;
/// Bytes of a jumbo buffer. The payload of a frame that is sent has one too: headers and data stand apart, as an operating
/// system's do.
pub const JUMBO_BUFFER_BYTES: u64 = 16_384;
/// Where everything begins: a multiple of this.
pub const ALIGNMENT: u64 = 4096;

/// The send ring, from the start of the memory.
pub const SEND_RING: u64 = 0;
/// The ring of standard buffers, or the one ring.
pub const RECEIVE_RING: u64 = SEND_RING + map::SEND_ENTRIES as u64 * map::DESCRIPTOR_BYTES as u64;
/// The ring of mini buffers.
pub const MINI_RING: u64 = RECEIVE_RING + map::RECEIVE_ENTRIES as u64 * map::LONG_DESCRIPTOR_BYTES as u64;
/// The ring of jumbo buffers.
pub const JUMBO_RING: u64 = MINI_RING + map::MINI_ENTRIES as u64 * map::LONG_DESCRIPTOR_BYTES as u64;
/// The return ring.
pub const RETURN_RING: u64 = JUMBO_RING + map::JUMBO_ENTRIES as u64 * map::LONG_DESCRIPTOR_BYTES as u64;
/// Send consumer and return producer.
pub const STATUS: u64 = RETURN_RING + map::LONG_RETURN_ENTRIES as u64 * map::LONG_DESCRIPTOR_BYTES as u64;
/// What the card has counted.
pub const STATISTICS: u64 = STATUS + 256;
/// Headers of frames to send.
pub const HEADERS: u64 = STATUS + ALIGNMENT;
/// Their payloads.
pub const PAYLOADS: u64 = HEADERS + SEND_FRAMES as u64 * BUFFER_BYTES;
/// Standard buffers for received frames.
pub const BUFFERS: u64 = PAYLOADS + SEND_FRAMES as u64 * JUMBO_BUFFER_BYTES;
/// Mini buffers.
pub const MINI_BUFFERS: u64 = BUFFERS + map::RECEIVE_ENTRIES as u64 * BUFFER_BYTES;
/// Jumbo buffers.
pub const JUMBO_BUFFERS: u64 = MINI_BUFFERS + map::MINI_ENTRIES as u64 * MINI_BUFFER_BYTES;
/// All of it.
pub const BYTES: u64 = JUMBO_BUFFERS + map::JUMBO_ENTRIES as u64 * JUMBO_BUFFER_BYTES;
