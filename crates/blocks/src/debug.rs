//! Reports of a core to a debugger or a checker. Only a core with a probe pays for it.

use kernel::Cycle;

/// An event that a core reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// It executes the instruction.
    Instruction,
    /// The instruction that it reported last accesses memory.
    Access {
        /// Address of the first byte.
        addr: u32,
        /// Number of bytes.
        bytes: u32,
        /// It reads memory.
        loads: bool,
        /// It writes memory.
        stores: bool,
        /// For a store to the core's own memory that is done ahead of time: the address of the word, and its value before.
        replaces: Option<(u32, u32)>,
    },
    /// The instruction ends in an exception, or the core is interrupted.
    Fault {
        /// The cause, as in `mcause` for RISC-V.
        cause: u32,
        /// Address that was accessed, or the instruction word.
        value: u32,
    },
    /// The core begins to process a packet.
    Begins(Task),
    /// The core has processed its packet, or gives it up.
    Ends,
    /// The last instruction starts a transfer of an engine.
    Moves {
        /// Address on the card of the first byte that it reads; `None` if it reads outside.
        from: Option<u32>,
        /// Address on the card of the first byte that it writes; `None` if it writes outside.
        to: Option<u32>,
        /// Number of bytes.
        bytes: u32,
    },
}

/// A packet that a core processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Task {
    /// Number of the packet on the card.
    pub packet: u64,
    /// Number of the queue that its message has.
    pub queue: u16,
    /// Part of the program that processes it: 0 header, 1 payload, 2 completion.
    pub stage: u8,
    /// Address and bytes of the packet in the core's own memory.
    pub copy: (u32, u32),
    /// Address and bytes of the packet in packet memory.
    pub stored: (u32, u32),
}

/// A report: a core that runs ahead of the others reports ahead of time.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The event.
    pub event: Event,
    /// Cycle of the core's clock in which the event happens.
    pub at: Cycle,
    /// Address of the instruction.
    pub pc: u32,
    /// The registers before the instruction: the general ones, then for MIPS `lo` and `hi`.
    pub registers: &'a [u32],
}

/// Receives what a core does. The core reports each instruction once.
pub type Probe = Box<dyn FnMut(&Report<'_>)>;
