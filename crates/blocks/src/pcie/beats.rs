//! What is put on the way to the host: write beats and read bursts.

/// Bytes of a beat.
pub const BEAT_BYTES: u32 = 64;

/// Up to 64 bytes that go together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bytes {
    len: u8,
    data: [u8; BEAT_BYTES as usize],
}

impl Bytes {
    /// `len` zeros, at most 64.
    #[inline]
    pub fn zeros(len: usize) -> Self {
        assert!(len <= BEAT_BYTES as usize, "a beat has 64 bytes");
        Bytes { len: len as u8, data: [0; BEAT_BYTES as usize] }
    }

    /// Those from `start` up to `end`.
    #[inline]
    pub fn part(&self, start: usize, end: usize) -> Self {
        Bytes::from_slice(&self[start..end])
    }

    /// A copy of these, at most 64.
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
    /// Number of the initiator.
    pub from: usize,
    /// First byte in host memory; the beat lies in one line of 64 bytes.
    pub addr: u64,
    /// The bytes; at least one.
    pub bytes: Bytes,
    /// The last beat of its burst.
    pub last: bool,
    /// It goes nowhere, and its burst is answered all the same.
    pub refused: bool,
}

/// A read burst, answered by as many bytes for each 64-byte line as it touches of it.
#[derive(Clone, Debug)]
pub struct Read {
    /// Number of the initiator.
    pub from: usize,
    /// First byte in host memory.
    pub addr: u64,
    /// Bytes; at least one.
    pub size: u32,
    /// Its last beat is the last of the initiator's burst.
    pub last: bool,
    /// Zeros are the answer.
    pub refused: bool,
}

impl Read {
    /// Takes the first `size` bytes off; says of which burst they are, and whether something is left.
    #[inline]
    pub(super) fn split(&mut self, size: u32) -> (Read, bool) {
        let is_rest = size < self.size;
        let first = Read { size, last: self.last && !is_rest, ..*self };
        self.addr = self.addr.wrapping_add(u64::from(size));
        self.size -= size;
        (first, is_rest)
    }
}

/// Bytes of the line of `addr` from `addr` on, at most `left`.
#[inline]
pub fn to_line_end(addr: u64, left: u32) -> u32 {
    left.min(BEAT_BYTES - (addr % u64::from(BEAT_BYTES)) as u32)
}
