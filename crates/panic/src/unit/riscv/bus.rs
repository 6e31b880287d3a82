//! Requests of a core to its memory and its registers, in order.

use super::params::{MEMORY_BASE, REGISTERS_BASE, RiscvParams};
use kernel::Cycle;
use std::collections::VecDeque;

/// An access that misses the caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// A line fill of the instruction cache.
    Instructions(u32),
    /// A line fill of the data cache.
    Data(u32),
    /// A store to memory.
    Store { addr: u32, value: u32, bytes: u32 },
    /// A load of a register.
    Read(Register),
    /// A store to a register.
    Write(Register, u32),
}

/// A request, and the first cycle in which it can be at the port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub due: Cycle,
    /// Address of the requesting instruction.
    pub pc: u32,
    pub what: What,
}

macro_rules! registers {
    ($($(#[$doc:meta])* $name:ident = $offset:literal;)*) => {
        /// The doorbell registers, one word each, by their offset from [`REGISTERS_BASE`]. Assumed: the paper mentions two
        /// doorbells (4.4) and metadata from the descriptor (7.4) without their layout.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum Register { $($(#[$doc])* $name = $offset,)* }

        impl Register {
            /// The register at `addr`, if any.
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
    /// Length of the current packet in bytes. The read waits for a packet and then takes it.
    InLength = 0x00;
    /// Address of the current packet.
    InAddress = 0x04;
    /// Hash from the RMT pipeline.
    InHash = 0x08;
    /// Offset of the network header (bits 0 to 15) and of the transport header (bits 16 to 31).
    InHeaders = 0x0c;
    /// Offset of the payload after all headers.
    InPayload = 0x10;
    /// Flow.
    InFlow = 0x14;
    /// Metadata of the hop, lower half.
    InMetadataLow = 0x18;
    /// Metadata of the hop, upper half.
    InMetadataHigh = 0x1c;
    /// Service (bits 0 to 7) and traffic class (bits 8 to 15) of the hop.
    InService = 0x20;
    /// Write: address of the answer; keeps its value.
    OutAddress = 0x40;
    /// Write: length of the answer in bytes; sends it.
    OutLength = 0x44;
    /// Write: replaces the remaining services. Four bytes, lowest first, each the service number plus 1; 0 ends the list.
    OutChain = 0x48;
    /// Write: drops the packet without an answer.
    OutDrop = 0x4c;
    /// Number of answers that have not left the memory.
    OutCount = 0x50;
}

impl Register {
    /// Returns true if it can be read; otherwise it can be written.
    pub fn is_readable(self) -> bool {
        !matches!(self, Register::OutAddress | Register::OutLength | Register::OutChain | Register::OutDrop)
    }

    /// Returns true if writing it finishes a packet.
    pub fn answers(self) -> bool {
        matches!(self, Register::OutLength | Register::OutDrop)
    }
}

/// The device at an address.
pub(super) enum Target {
    Memory,
    Register(Register),
    Nothing,
}

/// Requests in flight.
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

    /// Returns true if the store buffer has room.
    pub fn has_room(&self) -> bool {
        self.requests.len() < self.store_buffer
    }

    /// Cycle of the instruction that issued a request.
    pub fn issued(&self, request: &Request) -> Cycle {
        request.due - self.request_cycles
    }

    /// Issues a request of the instruction at `pc`, which executes in cycle `at`.
    pub fn ask(&mut self, at: Cycle, pc: u32, what: What) {
        self.requests.push_back(Request { due: at + self.request_cycles, pc, what });
    }
}
