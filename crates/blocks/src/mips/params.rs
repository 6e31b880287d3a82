//! Parameters of a MIPS core.

use super::control::{CpuControl, CpuStatus};
use super::core::{MipsCore, MipsCorePorts};
use super::locking::Locks;
use crate::checks;
use crate::netlist::{Built, Memory, Module, OneWay, PortSpec, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A MIPS core with the memories that answer it within the cycle: scratchpad, address filter, instruction cache.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MipsCoreParams {
    /// Timing model of instructions.
    pub pipeline: PipelineKind,
    /// Address of the first instruction, at the start and after a reset.
    pub reset_pc: u32,
    /// If true, the core runs from the start; otherwise it waits for an order.
    pub runs_at_start: bool,
    /// Scratchpad for data and instructions, with one port that accesses one word per cycle. Its addresses never
    /// reach port `memory`.
    pub scratchpad: Option<AddressRange>,
    /// Cache of the instructions from port `fetch`; without it, the core runs only from the scratchpad.
    pub instruction_cache: Option<InstructionCacheParams>,
    /// Addresses that go to port `registers`, as offsets in the window.
    pub registers: Option<AddressRange>,
    /// Locks whose time a profile reports. Words used by `ll` and `sc` always count as locks.
    pub locks: Option<Locks>,
    /// Addresses that go to port `memory` after subtracting the stack offset, which an order sets.
    pub stack_window: Option<AddressRange>,
    /// Minimum cycles from a load at port `memory` to its answer, at least 2. The next reference can start one
    /// cycle earlier.
    pub memory_cycles: u32,
    /// The same for port `registers`.
    pub register_cycles: u32,
    /// Selects if stores stall the core.
    pub stores: StoreKind,
    /// Cycles of a multiplication.
    pub multiply_cycles: u32,
    /// Cycles of a division.
    pub divide_cycles: u32,
}

/// Timing model of instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PipelineKind {
    /// Fetch, decode, execute, memory, write-back, in order; branches are decided in decode.
    FiveStage,
    /// One instruction per cycle; only memory causes waits.
    Functional,
}

/// Selects if stores stall the core.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StoreKind {
    /// A store occupies the memory stage for one cycle.
    Posted,
    /// A store occupies the memory stage until it is answered, like a load.
    Held,
}

/// Maximum of all latencies in cycles.
const MOST_CYCLES: u32 = 10_000;

/// A range of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressRange {
    /// First address.
    pub base: u32,
    /// Size in bytes.
    pub bytes: u32,
}

/// An instruction cache. A line is filled by one reference; the least recently used line of a set is replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstructionCacheParams {
    /// Total size in bytes, a power of two.
    pub bytes: u32,
    /// Bytes of a line, a power of two, at least 4.
    pub line_bytes: u32,
    /// Ways of a set, a power of two.
    pub ways: u32,
    /// If true, a store of this core to a line drops the line. If false, changed code takes effect only after its
    /// line is replaced.
    pub drops_stored_lines: bool,
}

impl AddressRange {
    /// Returns true if `addr` is inside.
    #[inline(always)]
    pub fn holds(&self, addr: u32) -> bool {
        addr.wrapping_sub(self.base) < self.bytes
    }

    fn check(&self, name: &str) -> Result<(), String> {
        let AddressRange { base, bytes } = *self;
        if bytes == 0 || !base.is_multiple_of(4) || !bytes.is_multiple_of(4) || base.checked_add(bytes - 1).is_none() {
            return Err(format!("{name} is 0x{bytes:x} bytes at 0x{base:x}, must be words within 4 GiB"));
        }
        Ok(())
    }
}

impl Module for MipsCoreParams {
    const NAME: &'static str = "mips-core";
    const ABOUT: &'static str = "A MIPS core with its scratchpad, address filter and instruction cache.";
    const EXAMPLE: &'static str = r#"pipeline = "five-stage"
reset_pc = 0x00C00000
runs_at_start = true
scratchpad = { base = 0x00C00000, bytes = 16384 }
instruction_cache = { bytes = 128, line_bytes = 128, ways = 1, drops_stored_lines = false }
registers = { base = 0xC0000000, bytes = 1024 }
locks = { window = { base = 0xC0000100, bytes = 128 }, kind = "load-takes" }
memory_cycles = 2
register_cycles = 2
stores = "posted"
multiply_cycles = 3
divide_cycles = 35"#;

    fn ports(&self) -> Vec<PortSpec> {
        let mut ports = vec![PortSpec::from::<Memory>("memory").about("loads and stores")];
        if self.instruction_cache.is_some() {
            ports.push(PortSpec::from::<Memory>("fetch").about("lines of the instruction cache"));
        }
        if self.registers.is_some() {
            ports.push(PortSpec::from::<Memory>("registers").about("loads and stores in the register window"));
        }
        ports.push(PortSpec::to::<OneWay<CpuControl>>("control").about("orders").optional());
        ports.push(PortSpec::from::<OneWay<CpuStatus>>("status").about("state of the core").optional());
        ports
    }

    fn check(&self) -> Result<(), String> {
        for (window, name) in
            [(self.scratchpad, "scratchpad"), (self.registers, "registers"), (self.stack_window, "stack_window")]
        {
            window.map_or(Ok(()), |window| window.check(name))?;
        }
        self.locks.map_or(Ok(()), |locks| locks.window.check("locks.window"))?;
        let latencies = [
            (self.memory_cycles, "memory_cycles", 2),
            (self.register_cycles, "register_cycles", 2),
            (self.multiply_cycles, "multiply_cycles", 1),
            (self.divide_cycles, "divide_cycles", 1),
        ];
        for (cycles, name, least) in latencies {
            checks::within(name, cycles, least, MOST_CYCLES)?;
        }
        if self.scratchpad.is_none() && self.instruction_cache.is_none() {
            return Err("scratchpad and instruction_cache are both missing, must be at least one of them: the core fetches from it".into());
        }
        if let Some(scratchpad) = self.scratchpad {
            checks::within("scratchpad.bytes", scratchpad.bytes, 4, 1 << 24)?;
        }
        if let Some(InstructionCacheParams { bytes, line_bytes, ways, .. }) = self.instruction_cache {
            for (value, name, least) in [(bytes, "bytes", 4), (line_bytes, "line_bytes", 4), (ways, "ways", 1)] {
                checks::power_of_two(&format!("instruction_cache.{name}"), value, least, 1 << 24)?;
            }
            if u64::from(line_bytes) * u64::from(ways) > bytes.into() {
                return Err(format!(
                    "instruction_cache: {ways} ways of {line_bytes} bytes are more than {bytes} bytes"
                ));
            }
        }
        if !self.reset_pc.is_multiple_of(4) {
            return Err(format!("reset_pc is 0x{:x}, must be a multiple of 4", self.reset_pc));
        }
        Ok(())
    }

    fn build(self, site: &mut Site) -> Built {
        let ports = MipsCorePorts {
            memory: site.from::<Memory>("memory"),
            fetch: site.try_from::<Memory>("fetch"),
            registers: site.try_from::<Memory>("registers"),
            control: site.try_to::<OneWay<CpuControl>>("control"),
            status: site.try_from::<OneWay<CpuStatus>>("status"),
        };
        let tracer = site.system.tracer(site.path, site.clock);
        Built::new(MipsCore::new(self, ports, tracer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const GOOD: &str = r#"
        pipeline = "five-stage"
        reset_pc = 0x4000
        runs_at_start = false
        scratchpad = { base = 0x00c00000, bytes = 0x4000 }
        instruction_cache = { bytes = 128, line_bytes = 128, ways = 1, drops_stored_lines = true }
        registers = { base = 0xc0000000, bytes = 0x400 }
        stack_window = { base = 0x00b00000, bytes = 0x100000 }
        memory_cycles = 4
        register_cycles = 2
        stores = "posted"
        multiply_cycles = 10
        divide_cycles = 69
    "#;

    fn check(from: &str, to: &str, want: Expect) {
        let params: MipsCoreParams = toml::from_str(&GOOD.replace(from, to)).expect("it reads");
        want.assert_eq(&params.check().err().unwrap_or_else(|| "good".into()));
    }

    #[test]
    fn parameters_are_checked() {
        check("", "", expect!["good"]);
        check("0x4000 }", "0x4002 }", expect!["scratchpad is 0x4002 bytes at 0xc00000, must be words within 4 GiB"]);
        check(
            "base = 0xc0000000",
            "base = 0xfffffffc",
            expect!["registers is 0x400 bytes at 0xfffffffc, must be words within 4 GiB"],
        );
        check("memory_cycles = 4", "memory_cycles = 1", expect!["memory_cycles is 1, must be 2 to 10000"]);
        check(
            "line_bytes = 128",
            "line_bytes = 96",
            expect!["instruction_cache.line_bytes is 96, must be a power of two from 4 to 16777216"],
        );
        check("ways = 1", "ways = 2", expect!["instruction_cache: 2 ways of 128 bytes are more than 128 bytes"]);
        check("reset_pc = 0x4000", "reset_pc = 0x4002", expect!["reset_pc is 0x4002, must be a multiple of 4"]);
    }
}
