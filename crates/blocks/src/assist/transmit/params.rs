//! Parameters of a transmitting MAC assist.

use super::{MacTransmit, MacTransmitPorts};
use crate::assist::card_side::CardPorts;
use crate::assist::line_rate::LineRate;
use crate::assist::protocol::{TransmitOrder, TransmitProgress};
use crate::checks;
use crate::ethernet::Frame;
use crate::netlist::{Built, Module, OneWay, PortSpec, Site};

/// A transmitting MAC assist.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacTransmitParams {
    /// Bit rate of the line in bit/s.
    pub link_bps: u64,
    /// Descriptors in the ring, 8 bytes each.
    pub ring_entries: u32,
    /// Descriptors read in advance while another frame's bytes are read.
    pub descriptors_ahead: usize,
    /// Bytes of the buffer between memory and line; it includes bytes requested and not yet sent.
    pub buffer_bytes: u32,
    /// A frame starts when this many of its bytes have been read, or all of them.
    pub start_bytes: u32,
    /// Maximum bytes of a reference to memory; references end at multiples of it.
    pub memory_burst_bytes: u32,
    /// Maximum outstanding references to memory.
    pub memory_references: usize,
}

impl Module for MacTransmitParams {
    const NAME: &'static str = "mac-transmit";
    const ABOUT: &'static str = "Sends the frames of a ring of descriptors at the rate of the line.";
    const EXAMPLE: &'static str = r#"link_bps = 1_000_000_000
ring_entries = 256
descriptors_ahead = 1
buffer_bytes = 2048
start_bytes = 1024
memory_burst_bytes = 8
memory_references = 4"#;

    fn ports(&self) -> Vec<PortSpec> {
        let mut ports = CardPorts::<TransmitOrder, TransmitProgress>::specs();
        ports.push(PortSpec::from::<OneWay<Frame>>("wire").about("outgoing line"));
        ports
    }

    fn check(&self) -> Result<(), String> {
        LineRate::check(self.link_bps)?;
        checks::within("ring_entries", self.ring_entries, 2, 1 << 16)?;
        checks::within("descriptors_ahead", self.descriptors_ahead, 0, 1024)?;
        checks::within("memory_references", self.memory_references, 1, 1024)?;
        checks::power_of_two("memory_burst_bytes", self.memory_burst_bytes, 4, 1 << 14)?;
        let least = self.memory_burst_bytes;
        checks::within("buffer_bytes (at least memory_burst_bytes)", self.buffer_bytes, least, 1 << 20)?;
        let most = self.buffer_bytes - self.memory_burst_bytes + 1;
        checks::within("start_bytes (and a reference fit the buffer)", self.start_bytes, 1, most)
    }

    fn build(self, site: &mut Site) -> Built {
        let clock = site.system.edges(site.clock);
        let ports = MacTransmitPorts { card: CardPorts::of(site), wire: site.from::<OneWay<Frame>>("wire") };
        Built::new(MacTransmit::new(self, ports, clock))
    }
}
