//! Parameters of a receiving MAC assist.

use super::{MacReceive, MacReceivePorts};
use crate::assist::card_side::CardPorts;
use crate::assist::line_rate::LineRate;
use crate::assist::protocol::{ReceiveOrder, ReceiveProgress};
use crate::checks;
use crate::ethernet::Frame;
use crate::netlist::{Built, Module, OneWay, PortSpec, Site};

/// A receiving MAC assist.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacReceiveParams {
    /// Bit rate of the line in bit/s.
    pub link_bps: u64,
    /// Descriptors in the ring, 8 bytes each.
    pub ring_entries: u32,
    /// Bytes of the buffer between line and memory.
    pub buffer_bytes: u32,
    /// If true, bytes go to memory no faster than they arrived, as if written during reception; if false, a whole
    /// frame is written as fast as memory accepts it.
    pub is_paced: bool,
    /// Maximum bytes of a reference to memory; references end at multiples of it.
    pub memory_burst_bytes: u32,
    /// Maximum outstanding references to memory.
    pub memory_references: usize,
}

impl Module for MacReceiveParams {
    const NAME: &'static str = "mac-receive";
    const ABOUT: &'static str = "Stores arriving frames in a ring of buffers, with a ring of descriptors.";
    const EXAMPLE: &'static str = r#"link_bps = 1_000_000_000
ring_entries = 512
buffer_bytes = 2048
is_paced = true
memory_burst_bytes = 8
memory_references = 4"#;

    fn ports(&self) -> Vec<PortSpec> {
        let mut ports = CardPorts::<ReceiveOrder, ReceiveProgress>::specs();
        ports.push(PortSpec::to::<OneWay<Frame>>("wire").about("incoming line"));
        ports
    }

    fn check(&self) -> Result<(), String> {
        LineRate::check(self.link_bps)?;
        checks::within("ring_entries", self.ring_entries, 2, 1 << 16)?;
        checks::within("memory_references", self.memory_references, 1, 1024)?;
        checks::within("buffer_bytes", self.buffer_bytes, 64, 1 << 20)?;
        checks::power_of_two("memory_burst_bytes", self.memory_burst_bytes, 8, 1 << 14)
    }

    fn build(self, site: &mut Site) -> Built {
        let clock = site.system.edges(site.clock);
        let ports = MacReceivePorts { card: CardPorts::of(site), wire: site.to::<OneWay<Frame>>("wire") };
        Built::new(MacReceive::new(self, ports, clock))
    }
}
