//! The 10 Gigabit NIC: its registers, and the host driver that speaks to it.

mod event_messages;
mod event_queue;
mod host;
pub mod map;
mod pointer;
mod registers;
#[cfg(test)]
mod testing;

pub use event_messages::{EventSource, PostedSlots};
pub use event_queue::{EventQueue, EventQueueParams, EventQueuePorts};
pub use host::{TengigHost, TengigHostParams, TengigHostPorts};
pub use registers::{TengigRegisters, TengigRegistersParams};
