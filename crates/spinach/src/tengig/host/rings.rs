//! Where things stand in the host's memory.

use crate::tengig::map;

/// Frames in the send ring at most: two descriptors each.
pub const SEND_FRAMES: u32 = map::SEND_ENTRIES / 2;
/// Bytes of a buffer, which starts at a multiple of them. A frame that is sent stands in one too, but for its payload's
/// place: a page's worth on, as an operating system's headers and data stand apart.
pub const BUFFER_BYTES: u64 = 2048;
/// Where everything begins: a multiple of this.
pub const ALIGNMENT: u64 = 4096;

const RING_BYTES: u64 = 512 * map::DESCRIPTOR_BYTES as u64;

/// The send ring, from the start of the memory.
pub const SEND_RING: u64 = 0;
/// The ring of empty buffers.
pub const RECEIVE_RING: u64 = RING_BYTES;
/// The return ring.
pub const RETURN_RING: u64 = 2 * RING_BYTES;
/// Send consumer and return producer.
pub const STATUS: u64 = 3 * RING_BYTES;
/// Headers of frames to send.
pub const HEADERS: u64 = STATUS + ALIGNMENT;
/// Their payloads.
pub const PAYLOADS: u64 = HEADERS + SEND_FRAMES as u64 * BUFFER_BYTES;
/// Buffers for received frames.
pub const BUFFERS: u64 = PAYLOADS + SEND_FRAMES as u64 * BUFFER_BYTES;
/// All of it.
pub const BYTES: u64 = BUFFERS + map::RECEIVE_ENTRIES as u64 * BUFFER_BYTES;

/// Place of descriptor number `n` in a ring that starts at `ring`.
pub fn descriptor(ring: u64, n: u32) -> u64 {
    ring + u64::from(n % 512) * u64::from(map::DESCRIPTOR_BYTES)
}
