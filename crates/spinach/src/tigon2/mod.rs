//! The Tigon-2: registers, events, and the host driver that speaks to it.

pub mod registers;
