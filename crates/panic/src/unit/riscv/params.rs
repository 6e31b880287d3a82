//! Parameters of a core-based unit.

use blocks::checks::{power_of_two, within};

/// Base address of the local memory. Assumed, like the other base: the paper gives no memory map.
pub const MEMORY_BASE: u32 = 0x8000_0000;
/// Base address of the doorbell registers.
pub const REGISTERS_BASE: u32 = 0xf000_0000;

/// Fixed properties of a [`RiscvUnit`](super::RiscvUnit).
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RiscvParams {
    /// Size of the local memory, a power of two from 4096 to 16 MiB.
    pub memory_bytes: u32,
    /// Size of the packet region at the end of the memory; a multiple of 64, smaller than the memory.
    pub pinned_bytes: u32,
    /// Maximum number of packets in that region, 1 to 64; fewer if `pinned_bytes` does not hold that number of longest
    /// packets.
    pub buffers: u32,
    /// Size of the instruction cache, a power of two.
    pub instruction_cache_bytes: u32,
    /// Size of the data cache, a power of two.
    pub data_cache_bytes: u32,
    /// Line size of both caches, a power of two from 16 to 256. Both caches are direct-mapped.
    pub line_bytes: u32,
    /// Cycles from an instruction's execute stage until its access reaches the port of memory or registers, 1 or more.
    pub request_cycles: u32,
    /// Read latency of the memory.
    pub memory_cycles: u32,
    /// Read latency of a register.
    pub register_cycles: u32,
    /// Cycles from the port back to the core.
    pub answer_cycles: u32,
    /// Cycles to write a line into a cache and retry the access that missed.
    pub refill_cycles: u32,
    /// Depth of the store buffer, 1 to 64.
    pub store_buffer: u32,
    /// Stall of an instruction that uses the result of a load directly before it.
    pub load_use_cycles: u32,
    /// Cycles lost by a correctly predicted jump or branch that is taken.
    pub predicted_cycles: u32,
    /// Cycles lost by a mispredicted branch, a jump to a register, or a trap.
    pub mispredicted_cycles: u32,
    /// Watchdog: cycles after which a program that neither answers a packet nor waits for one is restarted, 1 or more.
    pub watchdog_cycles: u32,
}

impl RiscvParams {
    /// Checks the parameters.
    pub fn check(&self) -> Result<(), String> {
        power_of_two("memory_bytes", self.memory_bytes, 4096, 16 << 20)?;
        within("pinned_bytes", self.pinned_bytes, 64, self.memory_bytes - 64)?;
        if !self.pinned_bytes.is_multiple_of(64) {
            return Err(format!("pinned_bytes is {}, must be a multiple of 64", self.pinned_bytes));
        }
        within("buffers", self.buffers, 1, 64)?;
        power_of_two("line_bytes", self.line_bytes, 16, 256)?;
        power_of_two("instruction_cache_bytes", self.instruction_cache_bytes, self.line_bytes, 1 << 20)?;
        power_of_two("data_cache_bytes", self.data_cache_bytes, self.line_bytes, 1 << 20)?;
        within("request_cycles", self.request_cycles, 1, 1000)?;
        within("store_buffer", self.store_buffer, 1, 64)?;
        for (name, cycles) in [
            ("memory_cycles", self.memory_cycles),
            ("register_cycles", self.register_cycles),
            ("answer_cycles", self.answer_cycles),
            ("refill_cycles", self.refill_cycles),
            ("load_use_cycles", self.load_use_cycles),
            ("predicted_cycles", self.predicted_cycles),
            ("mispredicted_cycles", self.mispredicted_cycles),
        ] {
            within(name, cycles, 0, 1000)?;
        }
        within("watchdog_cycles", self.watchdog_cycles, 1, 1 << 30)
    }

    /// Checks that there is room for packets of up to `longest` bytes.
    pub fn check_longest(&self, longest: usize) -> Result<(), String> {
        match self.slots(longest) {
            0 => Err(format!("pinned_bytes is {}, must hold a packet of {longest} bytes", self.pinned_bytes)),
            _ => Ok(()),
        }
    }

    /// Bytes reserved for a packet of up to `longest` bytes.
    pub(super) fn slot_bytes(longest: usize) -> u32 {
        u32::try_from(longest.max(1).next_multiple_of(64)).unwrap_or(u32::MAX)
    }

    /// Number of packets of up to `longest` bytes that fit.
    pub(super) fn slots(&self, longest: usize) -> u32 {
        (self.pinned_bytes / Self::slot_bytes(longest)).min(self.buffers)
    }

    /// Offset of the packet region in memory.
    pub(super) fn pinned(&self) -> u32 {
        self.memory_bytes - self.pinned_bytes
    }
}
