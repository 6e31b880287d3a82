//! Program faults: counted and reported with their place; they never end a run.

use super::core::Lost;
use super::debug::Debug;
use super::image::Image;
use super::params::MEMORY_BASE;
use blocks::profile::CodeProfile;
use isa::riscv::cause;
use kernel::Cycle;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// Kind of fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// An instruction could not be executed: `mcause` and `mtval`.
    Trap {
        /// Value of `mcause`.
        cause: u32,
        /// The address or the instruction word.
        value: u32,
    },
    /// The program exceeded the watchdog time without answering a packet or waiting for one.
    Watchdog,
    /// The output doorbell was rung for bytes outside memory, or more than a packet can have.
    Doorbell {
        /// First byte.
        addr: u32,
        /// Number of bytes.
        len: u32,
    },
    /// The output doorbell was rung without a current packet.
    NoPacket,
    /// The chain register was set to a service that does not exist.
    Chain {
        /// The value written.
        value: u32,
    },
}

/// A fault of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// Cycle of the NIC's clock.
    pub at: Cycle,
    /// Number of the packet that was dropped, if there was a current one.
    pub packet: Option<u64>,
    /// Kind of fault.
    pub cause: Cause,
    /// Address of the instruction.
    pub pc: u32,
    /// Function and offset of the instruction, if the symbols contain it.
    pub symbol: Option<(String, u32)>,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Cause::Trap { cause, value } => {
                let what = match cause {
                    cause::INSTRUCTION_MISALIGNED => "jump to an address that is not a multiple of 4",
                    cause::INSTRUCTION_FAULT => "fetch outside of memory",
                    cause::ILLEGAL_INSTRUCTION => "not an RV32I instruction",
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
                write!(f, "output doorbell for {len} bytes at {addr:#x}, which is not a packet in memory")
            }
            Cause::NoPacket => write!(f, "output doorbell without a current packet"),
            Cause::Chain { value } => write!(f, "chain {value:#x} names a service that does not exist"),
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

/// Number of faults that a unit keeps; all are counted.
pub const KEPT_TROUBLES: usize = 100;

/// The first [`KEPT_TROUBLES`] faults of a unit, in order of time; the unit's owner can read them while it runs.
pub type SharedTroubles = Rc<RefCell<Vec<Trouble>>>;

/// Observations of a unit's core that its owner asked for.
#[derive(Default)]
pub struct Observed {
    /// The cycles of the core; they end with the last instruction that was executed.
    pub(super) profile: Option<CodeProfile>,
    pub(super) debug: Option<Debug>,
}

/// A shared [`Observed`]: the unit's owner may ask for observations before the first cycle, and can read them while the
/// unit runs.
pub type SharedObserved = Rc<RefCell<Observed>>;

/// The local memory of a unit; the unit's owner can read it while it runs.
pub type SharedMemory = Rc<RefCell<Vec<u8>>>;

/// A program for a unit, and where the unit reports what it does.
#[derive(Clone, Default)]
pub struct Program {
    /// The program.
    pub image: Rc<Image>,
    /// Its faults.
    pub troubles: SharedTroubles,
    /// Its cycles, and its debugger.
    pub(super) observed: SharedObserved,
    /// The memory of its unit; empty without a unit.
    pub memory: SharedMemory,
}

impl Program {
    /// A program that has not run.
    pub fn new(image: Rc<Image>) -> Program {
        Program { image, ..Program::default() }
    }

    /// Reads a range of the unit's memory; false, without reading, if not all of it is there.
    pub fn read_memory(&self, addr: u32, data: &mut [u8]) -> bool {
        let memory = self.memory.borrow();
        let offset = addr.wrapping_sub(MEMORY_BASE) as usize;
        let Some(bytes) = memory.get(offset..).and_then(|rest| rest.get(..data.len())) else { return false };
        data.copy_from_slice(bytes);
        true
    }

    /// The cycles of its unit's core so far, if they are counted.
    pub fn profile(&self) -> Option<CodeProfile> {
        self.observed.borrow().profile.clone()
    }

    /// Counts the cycles of its unit's core in these ranges of code, first address and bytes of each, from now on.
    pub fn count_cycles(&self, ranges: impl IntoIterator<Item = (u32, u32)>) {
        self.observed.borrow_mut().profile = Some(CodeProfile::new(&Lost::NAMES, 2, ranges));
    }
}
