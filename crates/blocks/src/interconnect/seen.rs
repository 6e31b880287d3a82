//! Notices about references on a memory connection, for snooping caches.

use crate::netlist::Wire;
use crate::policy::Head;

/// A reference that was answered elsewhere, for snooping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen(pub Head);

impl Wire for Seen {
    const NAME: &'static str = "seen-references";
}
