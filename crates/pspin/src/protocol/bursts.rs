//! Bursts on the wide interconnects.

/// Bytes of a beat on the wide (512-bit) interconnects.
pub const BEAT_BYTES: u32 = 64;

/// Beats that `size` bytes at `addr` take on a wide interconnect; 0 bytes take none.
pub fn beats(addr: u32, size: u32) -> u32 {
    if size == 0 { 0 } else { (addr % BEAT_BYTES + size).div_ceil(BEAT_BYTES) }
}

/// Bursts do not cross a multiple of this (AXI). Where transfers and commands are checked, they also take turns by pages.
/// assumed: as much as a burst can move; a turn that is shorter would cost bandwidth.
pub const PAGE_BYTES: u32 = 4096;

/// A packet's bytes with zeros up to the end of their last word: a handler may read that word, and must not see bytes of an
/// earlier packet.
pub fn whole_words(bytes: Box<[u8]>) -> Box<[u8]> {
    if bytes.len().is_multiple_of(4) {
        return bytes;
    }
    let mut bytes = bytes.into_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.into_boxed_slice()
}

/// A burst on the NIC-host interconnect (512 bit): at most 4 KiB, within one page of 4 KiB.
///
/// The target sees it when its address (and the first beat of a write) arrives. Further beats of a write follow, one
/// per cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Burst {
    /// Reads `size` bytes at `addr`.
    Read {
        /// Returned in the reply.
        tag: u32,
        /// First byte.
        addr: u32,
        /// Number of bytes.
        size: u32,
        /// If true, L1 answers each beat separately, for an initiator that forwards beats. If false, it answers once,
        /// with the last beat.
        in_parts: bool,
    },
    /// Writes `data` at `addr`.
    Write {
        /// Returned in the reply.
        tag: u32,
        /// First byte.
        addr: u32,
        /// The bytes.
        data: Box<[u8]>,
        /// This is the last part of its burst.
        last: bool,
    },
}

impl Burst {
    /// First byte.
    pub fn addr(&self) -> u32 {
        match self {
            Burst::Read { addr, .. } | Burst::Write { addr, .. } => *addr,
        }
    }

    /// Number of bytes.
    pub fn size(&self) -> u32 {
        match self {
            Burst::Read { size, .. } => *size,
            Burst::Write { data, .. } => data.len() as u32,
        }
    }
}

/// The address of a [`Burst::Write`], where it is ahead of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteAddress;

/// The reply to a [`Burst`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BurstReply {
    /// Visible when the first beat arrives; the last one arrives at `last`.
    Data {
        /// Tag of the request.
        tag: u32,
        /// The data; empty if the address is unmapped (DECERR).
        data: Box<[u8]>,
        /// Cycle in which the last beat arrives at the requester.
        last: u64,
    },
    /// The last beats of the last [`BurstReply::Data`], which have not passed their bank, arrive one cycle later.
    Later {
        /// Number of late beats.
        beats: u32,
    },
    /// Visible when the write response arrives.
    Written {
        /// Tag of the request.
        tag: u32,
        /// False if the address is unmapped (DECERR).
        decoded: bool,
    },
}
