//! In-order cores: timing for the instructions of `isa`.

mod ahead;
mod behind;
mod block;
mod core;
mod csr;
mod debug;
mod divide;
mod hart;
mod lines;
mod log;
mod loops;
mod pmp;
mod profile;
mod program;
mod run;
mod timing;
mod watch;
mod window;

pub use self::ahead::Runway;
pub use self::block::Plain;
pub use self::core::{Access, AccessKind, Core, Stop, TrapInfo};
pub use csr::{Csrs, Privilege, Profile};
pub use lines::{FetchLines, PresentLines};
pub use log::{InstructionLog, Named, Retired};
pub use profile::{Lost, PlaceOf, causes, causes_about};
pub use program::{Kind, Pace, Place, Program, SINK, Slot};
pub use window::CodeWindow;
