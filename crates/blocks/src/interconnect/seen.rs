//! What listeners on a memory connection hear.

use crate::netlist::Wire;
use crate::policy::Head;

/// A reference that was answered somewhere: what a cache snoops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen(pub Head);

impl Wire for Seen {
    const NAME: &'static str = "seen-references";
}
