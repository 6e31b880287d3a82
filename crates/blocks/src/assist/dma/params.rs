//! What a wiring says about a DMA assist.

use super::{DmaAssist, DmaAssistPorts};
use crate::assist::card_side::CardPorts;
use crate::assist::protocol::{DmaOrder, DmaProgress};
use crate::checks;
use crate::netlist::{Built, Memory, Module, PortSpec, Site};

/// Which way a [`DmaAssist`] moves bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From host memory to the card's.
    Read,
    /// From the card's memory to the host's.
    Write,
}

/// A DMA assist.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DmaAssistParams {
    /// `read` moves host memory to the card, `write` the card's to the host.
    pub direction: Direction,
    /// Descriptors of the ring.
    pub ring_entries: u32,
    /// Descriptors of the second ring, which goes before the first; 0 if there is none.
    pub high_ring_entries: u32,
    /// Bytes of a descriptor: host address (8), local address (4), length (4), and from 24 on state (4) and checksum
    /// address (4); the rest is firmware's. All of it is read.
    pub descriptor_bytes: u32,
    /// Descriptors that are read while another one is being worked on.
    pub descriptors_ahead: usize,
    /// Bytes between the two sides: what was asked of one and not yet given to the other.
    pub buffer_bytes: u32,
    /// Longest reference to the card's memory; references end at multiples of it.
    pub memory_burst_bytes: u32,
    /// References to the card's memory under way.
    pub memory_references: usize,
    /// Longest reference to the host; references end at multiples of it.
    pub host_burst_bytes: u32,
    /// References to the host under way.
    pub host_references: usize,
}

impl Module for DmaAssistParams {
    const NAME: &'static str = "dma-assist";
    const ABOUT: &'static str = "Moves what a ring of descriptors says, one way between host memory and the card's.";
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
        // A whole reference of the source must fit beside all but a byte of one to the sink.
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
