//! Write beats and read bursts to host memory.

/// Bytes of a beat.
pub const BEAT_BYTES: u32 = 64;

/// Up to 64 bytes that move together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bytes {
    len: u8,
    data: [u8; BEAT_BYTES as usize],
}

impl Bytes {
    /// `len` zero bytes, at most 64.
    #[inline]
    pub fn zeros(len: usize) -> Self {
        assert!(len <= BEAT_BYTES as usize, "a beat has 64 bytes");
        Bytes { len: len as u8, data: [0; BEAT_BYTES as usize] }
    }

    /// The bytes from `start` to before `end`.
    #[inline]
    pub fn part(&self, start: usize, end: usize) -> Self {
        Bytes::from_slice(&self[start..end])
    }

    /// A copy of a slice of at most 64 bytes.
    #[inline]
    pub fn from_slice(bytes: &[u8]) -> Self {
        let mut copy = Bytes::zeros(bytes.len());
        copy.copy_from_slice(bytes);
        copy
    }
}

impl std::ops::Deref for Bytes {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.data[..usize::from(self.len)]
    }
}

impl std::ops::DerefMut for Bytes {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.data[..usize::from(self.len)]
    }
}

/// A write beat.
#[derive(Clone, Debug)]
pub struct Write {
    /// Index of the initiator.
    pub from: usize,
    /// Host address of the first byte; the beat is within one 64-byte line.
    pub addr: u64,
    /// The data; at least one byte.
    pub bytes: Bytes,
    /// True for the last beat of a burst.
    pub last: bool,
    /// True if the beat is discarded; its burst is still answered.
    pub refused: bool,
}

/// A read burst. Each 64-byte line that it touches gives one answer.
#[derive(Clone, Debug)]
pub struct Read {
    /// Index of the initiator.
    pub from: usize,
    /// Host address of the first byte.
    pub addr: u64,
    /// Number of bytes; at least one.
    pub size: u32,
    /// True if its last beat ends the initiator's burst.
    pub last: bool,
    /// True if the burst is answered with zeros.
    pub refused: bool,
}

impl Read {
    /// Removes the first `size` bytes. Returns them as a burst, and true if bytes are left.
    #[inline]
    pub(super) fn split(&mut self, size: u32) -> (Read, bool) {
        let is_rest = size < self.size;
        let first = Read { size, last: self.last && !is_rest, ..*self };
        self.addr = self.addr.wrapping_add(u64::from(size));
        self.size -= size;
        (first, is_rest)
    }
}

/// Bytes from `addr` to the end of its line, at most `left`.
#[inline]
pub fn to_line_end(addr: u64, left: u32) -> u32 {
    left.min(BEAT_BYTES - (addr % u64::from(BEAT_BYTES)) as u32)
}
