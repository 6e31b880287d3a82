//! Messages between registers and an event queue.

use blocks::netlist::Wire;

/// From the registers to an event queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventSource {
    /// A pointer: its source number, in the order of the firmware's event types, and its new value.
    Pointer(u8, u32),
    /// Period of the timer in microseconds; 0 stops it.
    TickEvery(u32),
}

/// From an event queue to the registers: all slots of a DMA ring before `producer` are filled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PostedSlots {
    /// 0 for the read ring, 1 for the write ring.
    pub ring: u8,
    /// Number of the slot after the last filled one, counted from reset.
    pub producer: u32,
}

impl Wire for EventSource {
    const NAME: &'static str = "event-sources";
}

impl Wire for PostedSlots {
    const NAME: &'static str = "posted-slots";
}
