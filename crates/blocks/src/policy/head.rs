//! What of a reference decides whether a burst goes on.

use crate::bus::Reference;

/// What an arbiter looks at before it grants a reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// First byte.
    pub addr: u64,
    /// Number of bytes.
    pub bytes: u32,
    /// Whether it writes.
    pub is_write: bool,
}

impl From<&Reference> for Head {
    #[inline]
    fn from(reference: &Reference) -> Head {
        Head { addr: reference.addr, bytes: reference.access.len(), is_write: reference.access.is_write() }
    }
}

impl Head {
    /// Whether this reference goes on where `before` ended, in the same direction.
    pub fn continues(&self, before: &Head) -> bool {
        self.is_write == before.is_write && before.addr.checked_add(u64::from(before.bytes)) == Some(self.addr)
    }
}
