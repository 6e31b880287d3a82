//! Modules that connect others: arbiters, crossbars, delays, functions.

mod arbiter;
mod crossbar;
mod demux;
mod function;
mod mux;
mod pipe;
mod return_paths;
mod seen;
mod switch;
mod tap;
mod tee;
mod window;
mod word;

pub use arbiter::ArbiterParams;
pub use crossbar::CrossbarParams;
pub use demux::{DemuxBy, DemuxParams};
pub use function::{Compute, Function, FunctionParams, FunctionPorts};
pub use mux::MuxParams;
pub use pipe::{Pipe, PipeParams, PipePorts};
pub use return_paths::ReturnPaths;
pub use seen::Seen;
pub use switch::{Route, Switch, SwitchWiring};
pub use tap::{Tap, TapParams, TapPorts};
pub use tee::{Tee, TeeParams, TeePorts};
pub use window::AddressWindow;
pub use word::{Carries, Word};
