//! Commands of handlers to the units that move data off the card.

use super::PacketId;

/// Identity of a command: its issuer and a number (`cmd_id`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandId {
    /// Index of the cluster.
    pub cluster: u8,
    /// Index of the core in its cluster.
    pub core: u8,
    /// Index of the command among those of the core in flight; 4 is the driver's own.
    pub local: u8,
}

/// Unit that executes a command (`intf_id`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandTarget {
    /// Off-cluster DMA between NIC memory and host memory.
    HostDma,
    /// NIC outbound engine.
    NicSend,
    /// HostDirect: a few bytes that the command itself carries.
    HostDirect,
}

/// Reason why a unit refuses a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandFault {
    /// The address range is partly or completely unmapped.
    Address,
    /// It has no bytes, or more than the unit accepts.
    Length,
}

/// Words of a command: seven from the core, the others for the driver's own error records.
pub const COMMAND_WORDS: usize = 11;

/// A command of a handler (`pspin_cmd_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    /// Packet whose handler issued the command; for observers.
    pub packet: PacketId,
    /// [`super::Context::id`] of the packet's context, which selects the host memory. Not in the RTL.
    pub context: u32,
    /// Issuer.
    pub id: CommandId,
    /// Executing unit.
    pub target: CommandTarget,
    /// Stored by the hardware but not used.
    pub generate_event: bool,
    /// The descriptor; the runtime defines a layout for each target.
    pub words: [u32; COMMAND_WORDS],
}

impl Command {
    /// True for commands that write host memory: a host DMA with an odd direction word, or HostDirect.
    pub fn writes_host(&self) -> bool {
        match self.target {
            CommandTarget::HostDma => self.words[4] & 1 == 1,
            CommandTarget::NicSend => false,
            CommandTarget::HostDirect => true,
        }
    }

    /// Destination and length of a copy to host memory; `None` for other commands.
    pub fn copy_to_host(&self) -> Option<(u64, u32)> {
        let [low, high, _, size, ..] = self.words;
        let copies = self.target == CommandTarget::HostDma && self.writes_host();
        copies.then_some((u64::from(high) << 32 | u64::from(low), size))
    }

    /// Splits a host DMA at the next multiple of `fragment_bytes` in NIC memory: returns the part before it and keeps the
    /// rest.
    pub fn split(&mut self, fragment_bytes: u32) -> Option<Command> {
        let [low, high, nic, size, ..] = self.words;
        let part = fragment_bytes - nic % fragment_bytes;
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
