//! The signal from a host to the network that its card is ready.

use crate::netlist::Wire;

/// The card is ready: the network may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Go;

impl Wire for Go {
    const NAME: &'static str = "go";
}
