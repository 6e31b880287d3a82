//! In-order cores: timing around the instructions of `isa`.

mod core;
mod csr;
mod hart;
mod program;
mod run;
mod timing;
mod watch;

pub use self::core::{Access, AccessKind, Core, InstructionLog, Lines, Stop, TrapInfo};
pub use csr::{Csrs, Privilege, Profile};
pub use program::{Kind, Pace, Place, Program, SINK, Slot, Window};
