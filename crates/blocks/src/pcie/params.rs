//! Parameters of the transport to host memory.

use diagnostics::param::{ParamError, one_of, power_of_two, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Model of the transport to host memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PcieModel {
    /// Beats of 64 bytes with a latency and gaps: the RTL's functional model.
    Ideal,
    /// Beats at the rate of the link's lanes: the paper's data sink.
    FixedRate,
    /// Transaction layer packets on the link's lanes.
    Tlp,
}

/// PCIe and host memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PcieParams {
    /// The model; it decides which of the parameters below apply.
    pub model: PcieModel,
    /// Ideal and fixed rate: cycles from accepting a beat until it is in host memory, or until its data return.
    pub latency_cycles: u32,
    /// Ideal: additional cycles between write beats.
    pub write_gap_cycles: u32,
    /// Ideal: additional cycles between read beats.
    pub read_gap_cycles: u32,
    /// Beats that each of the five AXI channels can buffer.
    pub buffer_beats: u32,
    /// The lanes and their packets.
    pub link: LinkParams,
}

/// The serial link to the host; each direction has its own lanes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkParams {
    /// Number of lanes: 1, 2, 4, 8 or 16.
    pub lanes: u32,
    /// Rate of a lane in MT/s; one bit per transfer.
    pub lane_mtps: u32,
    /// Data bits in a block of the line code.
    pub code_bits: u32,
    /// Line bits of a block of the line code.
    pub code_line_bits: u32,
    /// Packets: cycles from the last bit on the line until the packet is available at the other side.
    pub latency_cycles: u32,
    /// Packets: cycles from the arrival of a read request at the host until its data are available.
    pub host_read_cycles: u32,
    /// Packets: header bytes of a write or a read request.
    pub header_bytes: u32,
    /// Packets: header bytes of a completion.
    pub completion_header_bytes: u32,
    /// Packets: framing bytes around each packet.
    pub framing_bytes: u32,
    /// Packets: maximum data bytes of a write.
    pub max_payload_bytes: u32,
    /// Packets: maximum data bytes of a read request.
    pub max_read_request_bytes: u32,
    /// Packets: completions end at multiples of this number of bytes.
    pub read_completion_boundary_bytes: u32,
    /// Packets: maximum outstanding read requests.
    pub read_tags: u32,
}

impl PcieParams {
    /// One-way latency of a few bytes such as a doorbell, in cycles, without their time on the lanes.
    pub fn one_way_cycles(&self) -> u32 {
        match self.model {
            PcieModel::Tlp => self.link.latency_cycles,
            PcieModel::Ideal | PcieModel::FixedRate => self.latency_cycles,
        }
    }

    /// Checks that the parameters are valid together.
    pub fn check(&self) -> Result<(), ParamError> {
        within("latency_cycles", self.latency_cycles, 1, 1_000_000)?;
        within("write_gap_cycles", self.write_gap_cycles, 0, 1_000_000)?;
        within("read_gap_cycles", self.read_gap_cycles, 0, 1_000_000)?;
        let link = &self.link;
        one_of("link.lanes", link.lanes, &[1, 2, 4, 8, 16])?;
        within("link.lane_mtps", link.lane_mtps, 1, 1_000_000)?;
        within("link.code_bits", link.code_bits, 1, 1024)?;
        within("link.code_line_bits", link.code_line_bits, link.code_bits, 2048)?;
        within("link.latency_cycles", link.latency_cycles, 0, 1_000_000)?;
        within("link.host_read_cycles", link.host_read_cycles, 0, 1_000_000)?;
        within("link.header_bytes", link.header_bytes, 0, 64)?;
        within("link.completion_header_bytes", link.completion_header_bytes, 0, 64)?;
        within("link.framing_bytes", link.framing_bytes, 0, 64)?;
        power_of_two("link.max_payload_bytes", link.max_payload_bytes, 64, 4096)?;
        power_of_two("link.max_read_request_bytes", link.max_read_request_bytes, 64, 4096)?;
        let boundary = link.read_completion_boundary_bytes;
        power_of_two("link.read_completion_boundary_bytes", boundary, 64, link.max_payload_bytes)?;
        within("link.read_tags", link.read_tags, 1, 65_536)?;
        match self.model {
            // A packet leaves when all its beats have arrived.
            PcieModel::Tlp => within("buffer_beats", self.buffer_beats, link.max_payload_bytes / 64 + 1, 65_536)
                .map_err(|error| error.because("more than link.max_payload_bytes / 64")),
            PcieModel::Ideal | PcieModel::FixedRate => within("buffer_beats", self.buffer_beats, 1, 65_536),
        }
    }
}
