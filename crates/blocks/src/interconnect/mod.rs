//! Modules that connect others: arbiters, crossbars, taps.

mod arbiter;
mod crossbar;
mod demux;
mod return_paths;
mod seen;
mod switch;
mod tap;
mod window;
mod word;

pub use arbiter::ArbiterParams;
pub use crossbar::CrossbarParams;
pub use demux::{DemuxBy, DemuxParams};
pub use return_paths::ReturnPaths;
pub use seen::Seen;
pub use switch::{Route, Switch, SwitchWiring, responders};
pub use tap::{Tap, TapParams, TapPorts};
pub use window::AddressWindow;
pub use word::{Carries, Word};
