//! What joins parts: arbiters, switches, delays, functions.

mod returns;

pub use returns::Returns;
