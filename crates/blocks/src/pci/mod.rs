//! The way to the host's memory over a parallel bus.

mod bus;

pub use bus::{BusWidth, PciBus, PciBusParams};

use crate::netlist::Wire;

/// Level of a card's interrupt line, sent when it changes: whether it is asserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interrupt(pub bool);

impl Wire for Interrupt {
    const NAME: &'static str = "interrupt";
}
