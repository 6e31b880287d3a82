//! Parameters of the DMA engine and the host behind it.

use crate::protocol::n_flits;
use blocks::checks;
use blocks::pcie::PcieParams;

/// Fixed properties of a [`super::Dma`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DmaParams {
    /// Number of receive queues, 1 to 1024.
    pub rx_queues: u32,
    /// Number of transmit queues, 1 to 1024.
    pub tx_queues: u32,
    /// Descriptors in each queue's ring, a power of two from 4 to 4096. The host has one buffer for each.
    pub ring_slots: u32,
    /// Size of a buffer, a multiple of 64; limits the length of packets from and to the host.
    pub buffer_bytes: u32,
    /// Maximum number of descriptors of each ring that are on the card or on their way to it: a power of two, at least
    /// 4.
    pub prefetched: u32,
    /// Buffer for packets that wait for PCIe, in flits.
    pub rx_flits: u32,
    /// Buffer for packets that are being read from the host or wait for the interconnect, in flits.
    pub tx_flits: u32,
    /// Cycles from a completion in host memory until the host has returned the buffer to its ring.
    pub host_cycles: u32,
    /// The path to host memory.
    pub pcie: PcieParams,
}

impl DmaParams {
    /// Checks the parameters for packets of up to `longest` bytes. The error begins with the key.
    pub fn check(&self, longest: usize, flit_bytes: usize) -> Result<(), String> {
        checks::within("rx_queues", self.rx_queues, 1, 1024)?;
        checks::within("tx_queues", self.tx_queues, 1, 1024)?;
        checks::power_of_two("ring_slots", self.ring_slots, 4, 4096)?;
        checks::power_of_two("prefetched", self.prefetched, 4, self.ring_slots)?;
        let longest = u32::try_from(longest.next_multiple_of(64)).unwrap_or(u32::MAX);
        checks::within("buffer_bytes", self.buffer_bytes, longest, 1 << 20)?;
        if !self.buffer_bytes.is_multiple_of(64) {
            return Err(format!("buffer_bytes is {}, must be a multiple of 64", self.buffer_bytes));
        }
        // A packet is read as a whole before it is forwarded.
        let whole = n_flits(self.buffer_bytes as usize, flit_bytes) as u32;
        let line = 64_usize.div_ceil(flit_bytes) as u32;
        checks::within("rx_flits", self.rx_flits, 2 * line, 1 << 20)?;
        checks::within("tx_flits", self.tx_flits, whole, 1 << 20)?;
        checks::within("host_cycles", self.host_cycles, 0, 1 << 30)?;
        self.pcie.check().map_err(|refused| format!("pcie.{refused}"))
    }
}
