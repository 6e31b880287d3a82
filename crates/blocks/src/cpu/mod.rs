//! In-order cores: timing around the instructions of `isa`.

mod ahead;
mod core;
mod csr;
mod hart;
mod log;
mod loops;
mod pmp;
mod program;
mod run;
mod timing;
mod watch;

pub use self::core::{Access, AccessKind, Core, Lines, Stop, TrapInfo};
pub use csr::{Csrs, Privilege, Profile};
pub use log::{InstructionLog, Named, Retired};
pub use program::{Kind, Pace, Place, Program, SINK, Slot, Window};
