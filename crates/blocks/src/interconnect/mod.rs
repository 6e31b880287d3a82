//! What joins parts: arbiters, switches, delays, functions.

mod arbiter;
mod crossbar;
mod mux;
mod returns;
mod tap;
mod word;

pub use arbiter::ArbiterParams;
pub use crossbar::{Crossbar, CrossbarParams, CrossbarWiring, Route, Window};
pub use mux::{DemuxBy, DemuxParams, MuxParams};
pub use returns::Returns;
pub use tap::{Seen, Tap, TapParams};
pub use word::Word;
