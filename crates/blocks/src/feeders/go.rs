//! How a host tells the network that its card is ready.

use crate::netlist::Wire;

/// That the card is ready: the network may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Go;

impl Wire for Go {
    const NAME: &'static str = "go";
}
