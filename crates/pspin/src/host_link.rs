//! Messages between the NIC and host memory, beat by beat (512 bit), and the ports of both ends.

use crate::protocol::{Command, PacketId};
use blocks::pcie::Bytes;
use kernel::{Ports, Rx, Tx};

/// Write bursts of one initiator in flight to the host, and read bursts (PsPIN RTL a49fec8, `host_mst_mux.sv`:
/// identity remapper with 2 transactions per identity).
pub const HOST_BURSTS: u32 = 2;

/// Write bursts whose address has passed the mux in front of the host and whose last beat has not (the same,
/// `MaxWTrans`).
pub const MUX_BURSTS: usize = 8;

/// Cycles of an address in the registers of the mux in front of the host (the same, AW and AR spills).
pub const HOST_ADDRESS_REGISTER: u64 = 1;

/// Capacity of the channels of writes and reads: the registers on the path and the item in transfer.
pub const HOST_CHANNEL_ITEMS: usize = 4;

/// Capacity of a channel of read beats, so that a beat can arrive in each cycle.
pub const HOST_DATA: usize = 2;

/// Origin of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Issuer {
    /// The packet whose handler issued the command.
    pub packet: PacketId,
    /// [`crate::protocol::Context::id`] of its context.
    pub context: u32,
}

impl From<&Command> for Issuer {
    fn from(command: &Command) -> Self {
        Issuer { packet: command.packet, context: command.context }
    }
}

/// Announces a write burst: its address, which comes before its beats or with the first. Bursts of an initiator come
/// in address order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostBurst;

/// One beat of a write burst.
#[derive(Clone, Debug)]
pub struct HostWrite {
    /// Address of the first byte.
    pub addr: u64,
    /// The data; at least one byte.
    pub bytes: Bytes,
    /// True for the last beat of its burst.
    pub last: bool,
    /// Origin of the burst.
    pub issuer: Issuer,
}

/// The response to a write burst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostWritten;

/// A read burst, answered by one [`HostData`] for each 64-byte line that it touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostRead {
    /// Address of the first byte.
    pub addr: u64,
    /// Number of bytes; at least one.
    pub size: u32,
    /// Origin of the burst.
    pub issuer: Issuer,
}

/// One beat of the answer to a read burst.
#[derive(Clone, Debug)]
pub struct HostData {
    /// The bytes.
    pub bytes: Bytes,
    /// True for the last beat of its burst.
    pub last: bool,
}

/// The initiator's end.
pub struct HostPort {
    /// Addresses of write bursts; capacity [`HOST_CHANNEL_ITEMS`], latency 1.
    pub bursts: Tx<HostBurst>,
    /// Write beats; capacity [`HOST_CHANNEL_ITEMS`], latency 1.
    pub writes: Tx<HostWrite>,
    /// Write responses.
    pub written: Rx<HostWritten>,
    /// Read bursts; capacity [`HOST_CHANNEL_ITEMS`], latency 1.
    pub reads: Tx<HostRead>,
    /// Read beats; capacity [`HOST_DATA`], latency 1.
    pub data: Rx<HostData>,
}

impl HostPort {
    /// Reports the ports.
    pub fn ports(&self, ports: &mut Ports) {
        ports.output("host_bursts", &self.bursts);
        ports.output("host_writes", &self.writes);
        ports.input("host_written", &self.written);
        ports.output("host_reads", &self.reads);
        ports.input("host_data", &self.data);
    }
}

/// The host's end.
pub struct HostTarget {
    /// Addresses of write bursts.
    pub bursts: Rx<HostBurst>,
    /// Write beats.
    pub writes: Rx<HostWrite>,
    /// Write responses; capacity 2, latency 1.
    pub written: Tx<HostWritten>,
    /// Read bursts.
    pub reads: Rx<HostRead>,
    /// Read beats; capacity 2, latency 1.
    pub data: Tx<HostData>,
}
