//! Parameters of a memory controller.

use super::MemoryController;
use crate::checks::within;
use crate::memory::RowsParams;
use crate::netlist::{Built, Memory, Module, PortSpec, Site};
use crate::policy::Policy;

/// A synchronous memory with bursts on one bus.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryControllerParams {
    /// Size of the memory in bytes, a power of two. Higher addresses alias.
    pub bytes: u64,
    /// Width of the bus in bytes, transferred per cycle.
    pub word_bytes: u32,
    /// Cycles of the first word of a burst.
    pub first_word_cycles: u64,
    /// Maximum words of a burst; then a new burst starts.
    pub burst_words: u32,
    /// Number of requesters.
    pub requesters: usize,
    /// Maximum bytes of a reference.
    pub max_bytes: u32,
    /// The rows of a DRAM; without it, the memory is an SRAM. A word in a closed row takes additional cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<RowsParams>,
    /// Arbitration policy.
    pub policy: Policy,
}

impl Module for MemoryControllerParams {
    const NAME: &'static str = "memory-controller";
    const ABOUT: &'static str =
        "A synchronous memory and its controller: bursts of words on one bus, shared by several requesters.";
    const EXAMPLE: &'static str = r#"bytes = 1048576
word_bytes = 8
first_word_cycles = 2
burst_words = 4
requesters = 3
max_bytes = 128
policy = { kind = "fixed-priority", groups = [[0], [1, 2]], keeps_bursts = true, timeout_cycles = 64 }"#;

    fn ports(&self) -> Vec<PortSpec> {
        (0..self.requesters)
            .map(|i| PortSpec::to::<Memory>(format!("requesters[{i}]")).about("a requester").optional())
            .collect()
    }

    fn check(&self) -> Result<(), String> {
        within("bytes", self.bytes, 8, 1 << 30)?;
        if !self.bytes.is_power_of_two() || !self.word_bytes.is_power_of_two() {
            return Err(format!(
                "bytes is {} and word_bytes is {}, must be powers of two",
                self.bytes, self.word_bytes
            ));
        }
        within("word_bytes", self.word_bytes, 1, 64)?;
        within("first_word_cycles", self.first_word_cycles, 1, 1000)?;
        within("burst_words", self.burst_words, 1, 1024)?;
        within("requesters", self.requesters, 1, 64)?;
        within("max_bytes", self.max_bytes, 1, 65_536)?;
        self.rows.as_ref().map_or(Ok(()), RowsParams::check)?;
        self.policy.check(self.requesters)
    }

    fn build(self, site: &mut Site) -> Built {
        let ports = (0..self.requesters).map(|i| site.try_to::<Memory>(&format!("requesters[{i}]"))).collect();
        Built::new(MemoryController::new(self, ports))
    }
}
