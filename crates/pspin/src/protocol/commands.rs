//! Commands of handlers to the units that move data out of the card.

use super::{PAGE_BYTES, PacketId};

/// Who issued a command, and which of its commands it is (`cmd_id`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandId {
    /// Position of the cluster.
    pub cluster: u8,
    /// Position of the core in its cluster.
    pub core: u8,
    /// Which of the core's commands in flight; 4 is its driver's own.
    pub local: u8,
}

/// Which unit executes a command (`intf_id`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandTarget {
    /// Off-cluster DMA between NIC memory and host memory.
    HostDma,
    /// NIC outbound engine.
    NicSend,
    /// A few bytes that travel in the command itself.
    HostDirect,
}

/// Why a unit does not do a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandFault {
    /// Nothing answers at its address, or it goes beyond the last one.
    Address,
    /// It has no bytes, or more than the unit takes.
    Length,
}

/// Words of a command: the seven that a core can write, and the rest of the driver's own error records.
pub const COMMAND_WORDS: usize = 11;

/// A command of a handler (`pspin_cmd_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    /// Packet whose handler issued it; for observers.
    pub packet: PacketId,
    /// [`super::Context::id`] of the packet's context: whose host memory is meant. Not in the RTL.
    pub context: u32,
    /// Issuer.
    pub id: CommandId,
    /// Executing unit.
    pub target: CommandTarget,
    /// Stored by the hardware and not used.
    pub generate_event: bool,
    /// The descriptor, as the runtime lays it out for each target.
    pub words: [u32; COMMAND_WORDS],
}

impl Command {
    /// Moves bytes to host memory: a host DMA whose direction word is odd, or what HostDirect does.
    pub fn writes_host(&self) -> bool {
        match self.target {
            CommandTarget::HostDma => self.words[4] & 1 == 1,
            CommandTarget::NicSend => false,
            CommandTarget::HostDirect => true,
        }
    }

    /// Of a host DMA that goes on behind a page of the NIC's memory: the part up to there; what is left is the command.
    pub fn split_page(&mut self) -> Option<Command> {
        let [low, high, nic, size, ..] = self.words;
        let part = PAGE_BYTES - nic % PAGE_BYTES;
        if self.target != CommandTarget::HostDma || size <= part {
            return None;
        }
        let mut first = *self;
        first.words[3] = part;
        let host = (u64::from(high) << 32 | u64::from(low)).wrapping_add(part.into());
        self.words[..4].copy_from_slice(&[host as u32, (host >> 32) as u32, nic.wrapping_add(part), size - part]);
        Some(first)
    }
}

/// The end of a command (`pspin_cmd_resp_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandResponse {
    /// Issuer.
    pub id: CommandId,
}
