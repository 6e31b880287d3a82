//! Commands of handlers to the units that move data off the card.

use super::{PacketId, Sender};

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
    /// The tenant whose handler issued it. Not in the RTL.
    pub sender: Sender,
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

    /// Bytes that it moves.
    pub fn bytes(&self) -> u32 {
        match self.target {
            CommandTarget::HostDma => self.words[3],
            CommandTarget::NicSend => self.words[4],
            CommandTarget::HostDirect => self.words[2] >> 1 & 0x1ff,
        }
    }

    /// Splits a put that needs several packets with `payload_bytes` each: returns the part for the first packet and keeps the rest.
    /// Plain packets stay whole.
    pub fn split_put(&mut self, payload_bytes: u32) -> Option<Command> {
        let [_, flow, addr, _, left, ..] = self.words;
        if self.target != CommandTarget::NicSend || flow == 0 || left <= payload_bytes {
            return None;
        }
        let mut first = *self;
        first.words[4] = payload_bytes;
        (self.words[2], self.words[4]) = (addr.wrapping_add(payload_bytes), left - payload_bytes);
        Some(first)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{command, id};

    /// Host address, NIC address and size of each part of a host DMA.
    fn parts(fragment_bytes: u32, host: u64, nic: u32, size: u32) -> Vec<(u64, u32, u32)> {
        let mut rest = command(id(0), CommandTarget::HostDma, &[host as u32, (host >> 32) as u32, nic, size, 1]);
        let mut parts: Vec<Command> = std::iter::from_fn(|| rest.split(fragment_bytes)).collect();
        parts.push(rest);
        let show = |part: &Command| {
            let [low, high, nic, size, ..] = part.words;
            assert_eq!((part.words[4], part.id, part.bytes()), (1, id(0), size));
            (u64::from(high) << 32 | u64::from(low), nic, size)
        };
        parts.iter().map(show).collect()
    }

    #[test]
    fn a_transfer_is_cut_at_multiples_of_the_fragment_in_nic_memory() {
        let host = 0xffff_ff00; // The host address carries into its upper word.
        let expected = [(host, 0x100c0, 64), (host + 64, 0x10100, 256), (host + 320, 0x10200, 8)];
        assert_eq!(parts(256, host, 0x100c0, 328), expected);
        // Up to the next multiple, and one byte beyond it.
        assert_eq!(parts(512, 0, 0x10000, 512), [(0, 0x10000, 512)]);
        assert_eq!(parts(512, 0, 0x10000, 513), [(0, 0x10000, 512), (512, 0x10200, 1)]);
        assert_eq!(parts(4096, 0, 0x10fff, 2), [(0, 0x10fff, 1), (1, 0x11000, 1)]);
        assert_eq!(parts(64, 0, 0x10001, 0), [(0, 0x10001, 0)]);
    }

    #[test]
    fn no_byte_of_a_cut_transfer_is_lost_or_moved_twice() {
        for fragment_bytes in [64, 128, 1024, 4096] {
            for (nic, size) in [(0x1c40_0000, 10_000), (0x1c40_0fff, 4097), (0x1c40_0001, 63)] {
                let mut next = (0x1_0000_0000, nic);
                for (host, addr, bytes) in parts(fragment_bytes, 0x1_0000_0000, nic, size) {
                    assert_eq!((host, addr), next);
                    assert_eq!(addr / fragment_bytes, (addr + bytes - 1) / fragment_bytes);
                    next = (host + u64::from(bytes), addr + bytes);
                }
                assert_eq!(next.1 - nic, size);
            }
        }
    }

    #[test]
    fn only_puts_of_several_packets_are_split() {
        let send = |flow, size| command(id(0), CommandTarget::NicSend, &[9, flow, 0x1000, 0, size]);
        assert_eq!(send(0, 5000).split_put(2016), None);
        assert_eq!(send(1, 2016).split_put(2016), None);
        let mut rest = send(1, 2017);
        let first = rest.split_put(2016).expect("two packets");
        assert_eq!((first.words[2], first.words[4]), (0x1000, 2016));
        assert_eq!((rest.words[2], rest.words[4]), (0x1000 + 2016, 1));
        assert_eq!(send(1, 2017).split(64), None, "not a host DMA");
    }
}
