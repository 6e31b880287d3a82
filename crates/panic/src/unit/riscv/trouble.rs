//! What a program did wrong: counted, told with its place, never the end of a run.

use super::image::Image;
use isa::riscv::cause;
use kernel::Cycle;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// What went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// An instruction could not be executed: `mcause` and `mtval`.
    Trap {
        /// As in `mcause`.
        cause: u32,
        /// The address or the word.
        value: u32,
    },
    /// The program neither answered a packet nor waited for one for too long.
    Watchdog,
    /// The output doorbell was rung for bytes that are not in memory, or are more than a packet can have.
    Doorbell {
        /// First byte.
        addr: u32,
        /// How many.
        len: u32,
    },
    /// The output doorbell was rung with no packet to answer.
    NoPacket,
    /// A chain was set that names a service which is not there.
    Chain {
        /// What was written.
        value: u32,
    },
}

/// Something that a program did wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// Cycle of the NIC's clock.
    pub at: Cycle,
    /// Number of the packet that was dropped for it, if one was at hand.
    pub packet: Option<u64>,
    /// What went wrong.
    pub cause: Cause,
    /// The instruction.
    pub pc: u32,
    /// The function that the instruction is in, and how far from its beginning, if the program's symbols say.
    pub symbol: Option<(String, u32)>,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Cause::Trap { cause, value } => {
                let what = match cause {
                    cause::INSTRUCTION_MISALIGNED => "jump to an address that is no multiple of 4",
                    cause::INSTRUCTION_FAULT => "fetch outside of memory",
                    cause::ILLEGAL_INSTRUCTION => "no RV32I instruction",
                    cause::BREAKPOINT => "ebreak",
                    cause::LOAD_MISALIGNED => "misaligned load",
                    cause::LOAD_FAULT => "load outside of memory",
                    cause::STORE_MISALIGNED => "misaligned store",
                    cause::STORE_FAULT => "store outside of memory",
                    cause::ECALL_MACHINE => "ecall",
                    _ => "trap",
                };
                write!(f, "{what} ({value:#x})")
            }
            Cause::Watchdog => write!(f, "neither answers a packet nor waits for one"),
            Cause::Doorbell { addr, len } => {
                write!(f, "output doorbell for {len} bytes at {addr:#x}, which are no packet in memory")
            }
            Cause::NoPacket => write!(f, "output doorbell without a packet to answer"),
            Cause::Chain { value } => write!(f, "chain {value:#x} names a service that is not there"),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cycle {}: {} at pc {:#x}", self.at, self.cause, self.pc)?;
        if let Some((name, distance)) = &self.symbol {
            write!(f, " ({name}+{distance:#x})")?;
        }
        match self.packet {
            Some(packet) => write!(f, ", packet {packet} dropped"),
            None => Ok(()),
        }
    }
}

/// How many of a unit's troubles are kept; all are counted.
pub const KEPT_TROUBLES: usize = 100;

/// The first [`KEPT_TROUBLES`] troubles of a unit, in order of time; whoever made it can look while the unit runs.
pub type SharedTroubles = Rc<RefCell<Vec<Trouble>>>;

/// A program for a unit, and where the unit tells what that did wrong.
#[derive(Clone, Default, Debug)]
pub struct Program {
    /// The program.
    pub image: Rc<Image>,
    /// What it did wrong.
    pub troubles: SharedTroubles,
}
