//! Notices about references on a memory connection, for snooping caches.

use crate::netlist::Wire;
use crate::policy::AccessSpan;

/// A reference that was answered elsewhere, for snooping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen(pub AccessSpan);

impl Wire for Seen {
    const NAME: &'static str = "seen-references";
}
