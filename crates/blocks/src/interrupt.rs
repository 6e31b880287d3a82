//! The interrupt line from a card to its host.

use crate::netlist::Wire;

/// The state of an interrupt line, sent when it changes. Initially the line is low.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InterruptLine {
    /// True if the card requests an interrupt.
    pub is_raised: bool,
}

impl Wire for InterruptLine {
    const NAME: &'static str = "interrupt";
}
