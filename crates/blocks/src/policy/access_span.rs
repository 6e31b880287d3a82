//! The properties of a reference that decide whether it continues a burst.

use crate::bus::Reference;

/// Address range and direction of a memory access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessSpan {
    /// First byte.
    pub addr: u64,
    /// Number of bytes.
    pub bytes: u32,
    /// True for a write.
    pub is_write: bool,
}

impl From<&Reference> for AccessSpan {
    #[inline]
    fn from(reference: &Reference) -> AccessSpan {
        AccessSpan { addr: reference.addr, bytes: reference.access.len(), is_write: reference.access.is_write() }
    }
}

impl AccessSpan {
    /// Returns true if this access starts where `before` ended, in the same direction.
    pub fn continues(&self, before: &AccessSpan) -> bool {
        self.is_write == before.is_write && before.addr.checked_add(u64::from(before.bytes)) == Some(self.addr)
    }
}
