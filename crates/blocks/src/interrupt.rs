//! What a card's interrupt pin says to its host.

use crate::netlist::Wire;

/// The level of an interrupt line, sent when it changes. Before the first one the line is low.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InterruptLine {
    /// Whether the card asks for its host.
    pub is_raised: bool,
}

impl Wire for InterruptLine {
    const NAME: &'static str = "interrupt";
}
