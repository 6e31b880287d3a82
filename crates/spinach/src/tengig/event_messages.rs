//! What registers and an event queue say to each other.

use blocks::netlist::Wire;

/// What registers tell an event queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventSource {
    /// A source's number, in the order of the firmware's types of events, and how far its pointer is.
    Pointer(u8, u32),
    /// Microseconds from one tick of the timer to the next; 0 for none.
    TickEvery(u32),
}

/// What an event queue tells registers: slots of a DMA ring before this one are filled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PostedSlots {
    /// 0 for the ring of reads, 1 for that of writes.
    pub ring: u8,
    /// The slot behind the last one filled, counted from reset.
    pub producer: u32,
}

impl Wire for EventSource {
    const NAME: &'static str = "event-sources";
}

impl Wire for PostedSlots {
    const NAME: &'static str = "posted-slots";
}
