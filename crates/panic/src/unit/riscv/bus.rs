//! What a core has asked of its memory and its registers: requests on their way, in order.

use super::params::{MEMORY_BASE, REGISTERS_BASE, RiscvParams};
use kernel::Cycle;
use std::collections::VecDeque;

/// An access that is not a cache's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// The line at this address, for the instruction cache.
    Instructions(u32),
    /// The line at this address, for the data cache.
    Data(u32),
    /// Bytes to memory.
    Store { addr: u32, value: u32, bytes: u32 },
    /// A word from a register.
    Read(Register),
    /// A word to a register.
    Write(Register, u32),
}

/// Something asked for, and the cycle in which it is at the port at the earliest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub due: Cycle,
    /// The instruction that asks.
    pub pc: u32,
    pub what: What,
}

macro_rules! registers {
    ($($(#[$doc:meta])* $name:ident = $offset:literal;)*) => {
        /// The doorbell registers, words each, by their distance from [`REGISTERS_BASE`]. Assumed: the paper tells of two
        /// doorbells (4.4) and of metadata from the descriptor (7.4), not how they are laid out.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum Register { $($(#[$doc])* $name = $offset,)* }

        impl Register {
            /// The register at `addr`.
            fn at(addr: u32) -> Option<Register> {
                match addr.wrapping_sub(REGISTERS_BASE) {
                    $($offset => Some(Register::$name),)*
                    _ => None,
                }
            }
        }
    };
}

registers! {
    /// Bytes of the packet at hand. The answer waits until there is one; with it the packet is taken.
    InLength = 0x00;
    /// Where it is.
    InAddress = 0x04;
    /// Hash that the RMT pipeline made.
    InHash = 0x08;
    /// Offsets of the network header (bits 0 to 15) and of the transport header.
    InHeaders = 0x0c;
    /// Offset of what is behind all headers.
    InPayload = 0x10;
    /// Flow.
    InFlow = 0x14;
    /// Metadata of the hop, lower half.
    InMetadataLow = 0x18;
    /// Upper half.
    InMetadataHigh = 0x1c;
    /// Service (bits 0 to 7) and traffic class (bits 8 to 15) of the hop.
    InService = 0x20;
    /// Write: where the answer is; stays for the next.
    OutAddress = 0x40;
    /// Write: bytes of the answer, which is sent.
    OutLength = 0x44;
    /// Write: services to visit instead of those that are left, four bytes of number and 1, lowest first, 0 ends them.
    OutChain = 0x48;
    /// Write: there is no answer, the packet is dropped.
    OutDrop = 0x4c;
    /// Answers that have not left the memory.
    OutCount = 0x50;
}

impl Register {
    /// Whether it can be read; else it can be written.
    pub fn is_readable(self) -> bool {
        !matches!(self, Register::OutAddress | Register::OutLength | Register::OutChain | Register::OutDrop)
    }

    /// Whether writing it answers a packet.
    pub fn answers(self) -> bool {
        matches!(self, Register::OutLength | Register::OutDrop)
    }
}

/// What stands at an address.
pub(super) enum Target {
    Memory,
    Register(Register),
    Nothing,
}

/// Requests on their way.
pub(super) struct Bus {
    memory_bytes: u32,
    request_cycles: Cycle,
    store_buffer: usize,
    pub requests: VecDeque<Request>,
}

impl Bus {
    pub fn new(params: &RiscvParams) -> Bus {
        Bus {
            memory_bytes: params.memory_bytes,
            request_cycles: params.request_cycles.into(),
            store_buffer: params.store_buffer as usize,
            requests: VecDeque::new(),
        }
    }

    pub fn target(&self, addr: u32) -> Target {
        match Register::at(addr) {
            _ if addr.wrapping_sub(MEMORY_BASE) < self.memory_bytes => Target::Memory,
            Some(register) => Target::Register(register),
            None => Target::Nothing,
        }
    }

    /// Whether another store can be on its way.
    pub fn has_room(&self) -> bool {
        self.requests.len() < self.store_buffer
    }

    /// The instruction at `pc`, which executes in cycle `at`, asks.
    pub fn ask(&mut self, at: Cycle, pc: u32, what: What) {
        self.requests.push_back(Request { due: at + self.request_cycles, pc, what });
    }
}
