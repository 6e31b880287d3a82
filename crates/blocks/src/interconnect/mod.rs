//! What joins parts: arbiters, switches, delays, functions.

mod arbiter;
mod crossbar;
mod function;
mod mux;
mod pipe;
mod returns;
mod tap;
mod tee;
mod word;

pub use arbiter::ArbiterParams;
pub use crossbar::{Crossbar, CrossbarParams, CrossbarWiring, Route, Window};
pub use function::{Compute, Function, FunctionParams};
pub use mux::{DemuxBy, DemuxParams, MuxParams};
pub use pipe::{Pipe, PipeParams};
pub use returns::Returns;
pub use tap::{Seen, Tap, TapParams};
pub use tee::{Tee, TeeParams};
pub use word::{Carries, Word};
