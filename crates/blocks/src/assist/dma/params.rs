//! Parameters of a DMA assist.

use super::{DmaAssist, DmaAssistPorts};
use crate::assist::card_side::CardPorts;
use crate::assist::protocol::{DmaOrder, DmaProgress};
use crate::checks;
use crate::netlist::{Built, Memory, Module, PortSpec, Site};

/// Direction in which a [`DmaAssist`] moves data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From host memory to card memory.
    Read,
    /// From card memory to host memory.
    Write,
}

/// A DMA assist.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DmaAssistParams {
    /// `read` moves data from host memory to the card, `write` from the card to host memory.
    pub direction: Direction,
    /// Descriptors in the ring.
    pub ring_entries: u32,
    /// Descriptors in the high-priority ring; 0 if there is none.
    pub high_ring_entries: u32,
    /// Bytes of a descriptor: host address (8), local address (4), length (4), and from byte 24 state (4) and
    /// checksum address (4); firmware uses the rest. The assist reads all of it.
    pub descriptor_bytes: u32,
    /// Descriptors read in advance while another transfer is in progress.
    pub descriptors_ahead: usize,
    /// Bytes of the buffer between source and sink; it includes bytes requested from the source and not yet sent to
    /// the sink.
    pub buffer_bytes: u32,
    /// Maximum bytes of a reference to card memory; references end at multiples of it.
    pub memory_burst_bytes: u32,
    /// Maximum outstanding references to card memory.
    pub memory_references: usize,
    /// Maximum bytes of a reference to host memory; references end at multiples of it.
    pub host_burst_bytes: u32,
    /// Maximum outstanding references to host memory.
    pub host_references: usize,
}

impl Module for DmaAssistParams {
    const NAME: &'static str = "dma-assist";
    const ABOUT: &'static str =
        "Moves data between host and card memory, in one direction, as a ring of descriptors says.";
    const EXAMPLE: &'static str = r#"direction = "read"
ring_entries = 64
high_ring_entries = 0
descriptor_bytes = 32
descriptors_ahead = 1
buffer_bytes = 256
memory_burst_bytes = 8
memory_references = 4
host_burst_bytes = 128
host_references = 2"#;

    fn ports(&self) -> Vec<PortSpec> {
        let mut ports = CardPorts::<DmaOrder, DmaProgress>::specs();
        ports.push(PortSpec::from::<Memory>("host").about("host memory"));
        ports
    }

    fn check(&self) -> Result<(), String> {
        checks::within("ring_entries", self.ring_entries, 2, 1 << 16)?;
        checks::within("high_ring_entries", self.high_ring_entries, 0, 1 << 16)?;
        checks::within("descriptors_ahead", self.descriptors_ahead, 0, 1024)?;
        checks::within("memory_references", self.memory_references, 1, 1024)?;
        checks::within("host_references", self.host_references, 1, 1024)?;
        checks::power_of_two("descriptor_bytes", self.descriptor_bytes, 16, 256)?;
        checks::power_of_two("memory_burst_bytes", self.memory_burst_bytes, 4, 1 << 14)?;
        checks::power_of_two("host_burst_bytes", self.host_burst_bytes, 4, 1 << 14)?;
        // The buffer must hold a whole reference from the source plus all but one byte of a reference to the sink.
        checks::within(
            "buffer_bytes (at least memory_burst_bytes and host_burst_bytes)",
            self.buffer_bytes,
            self.memory_burst_bytes + self.host_burst_bytes,
            1 << 20,
        )
    }

    fn build(self, site: &mut Site) -> Built {
        let ports = DmaAssistPorts { card: CardPorts::of(site), host: site.from::<Memory>("host") };
        Built::new(DmaAssist::new(self, ports))
    }
}
