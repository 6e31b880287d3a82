//! The 10 Gigabit NIC: its registers, and the host driver that speaks to it.

mod event_queue;
mod host;
pub mod map;
mod pointer;
mod registers;

pub use event_queue::EventQueueParams;
pub use host::{TengigHost, TengigHostParams};
pub use registers::{TengigRegisters, TengigRegistersParams};
