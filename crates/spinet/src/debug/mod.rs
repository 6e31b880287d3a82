//! A gdb server: the cores of a card are threads.
//!
//! A core reports each instruction with the cycle in which it executes and the registers before it ([`blocks::debug::Probe`]). The
//! [`watcher::Watcher`] compares reports with breakpoints and watchpoints, and simulation proceeds edge by edge, so that it stops at the
//! end of the edge in which one hits. The debugger then sees the registers of the report. The instruction itself is already under way:
//! a stop never holds it back, so the debugger cannot change simulated time.

mod monitor;
mod registers;
mod server;
mod target;
mod watcher;

pub use server::{DebugError, Debugged, Session};

use blocks::debug::Probe;
use kernel::Clock;

/// Instruction set of a card's cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoreKind {
    /// 32-bit RISC-V, little-endian.
    RiscV,
    /// 32-bit MIPS, big-endian.
    Mips,
}

impl CoreKind {
    /// Converts a word to its bytes in memory.
    pub(crate) fn order(self) -> fn(u32) -> [u8; 4] {
        match self {
            CoreKind::RiscV => u32::to_le_bytes,
            CoreKind::Mips => u32::to_be_bytes,
        }
    }
}

/// A memory that cores address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// Its name.
    pub name: String,
    /// Address of its first byte.
    pub base: u32,
    /// Its size in bytes.
    pub bytes: u32,
    /// True if the debugger may write to it.
    pub is_writable: bool,
}

/// The packet that a core works on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Work {
    /// Number of the packet in its source, from 0.
    pub packet: u64,
    /// Number of its message, and its position in the message, from 0.
    pub message: Option<(u64, u64)>,
    /// The part of the program that processes it.
    pub stage: &'static str,
    /// Address of the first instruction that processes it; `None` if there is no fixed one.
    pub entry: Option<u32>,
}

/// The cores of a card, as a debugger sees them. Nothing here takes simulated time.
pub trait Cores {
    /// Their instruction set.
    fn kind(&self) -> CoreKind;

    /// Their names, by number.
    fn names(&self) -> Vec<String>;

    /// Lets each core report to the probe that `probe` returns for the core's number and clock. Probes do not change
    /// results.
    fn observe(&mut self, probe: &dyn Fn(usize, Clock) -> Probe);

    /// Called after each edge, to follow packets.
    fn look(&mut self) {}

    /// Program counter and registers of a core, as a [`Probe`] gets them.
    fn registers(&self, core: usize) -> (u32, Vec<u32>);

    /// The packet that a core works on.
    fn work(&self, core: usize) -> Option<Work>;

    /// The state of a core: it runs, or waits for something.
    fn state(&self, core: usize) -> String;

    /// The name of a fault's cause; `None` if programs use this cause for calls.
    fn fault(&self, cause: u32) -> Option<String>;

    /// Reads memory as a core addresses it. Returns the number of bytes; 0 if no memory has the address.
    fn read(&self, core: usize, addr: u32, data: &mut [u8]) -> usize;

    /// Writes memory in the same way.
    fn write(&mut self, core: usize, addr: u32, data: &[u8]) -> usize;

    /// The memories that cores address.
    fn regions(&self) -> Vec<Region>;
}
