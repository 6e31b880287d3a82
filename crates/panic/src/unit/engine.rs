//! Engines as data: what a unit does with packets.

use super::delay::{DelayUnit, DelayUnitParams};
use super::riscv::{Program, RiscvParams, RiscvUnit};
use crate::protocol::{Flit, NodeId};
use kernel::{ClockId, Rx, SystemBuilder, Tx};

/// The engine of a unit: `{ kind = "delay", service = { kind = "fixed", cycles = 20 }, gap_cycles = 2 }`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum EngineParams {
    /// Takes time and does nothing.
    Delay(DelayUnitParams),
    /// Runs a program.
    Riscv(RiscvParams),
}

/// Where an engine is to stand.
pub struct EngineSite<'a> {
    /// The system, for clocks, streams, channels and components.
    pub system: &'a mut SystemBuilder,
    /// Path of the engine; parts of it have paths below it.
    pub path: &'a str,
    /// The NIC's clock; `input` and `output` belong to it.
    pub clock: ClockId,
    /// The unit's port of the interconnect.
    pub node: NodeId,
    /// Bytes of a flit.
    pub flit_bytes: usize,
    /// The longest packet, in bytes.
    pub longest: usize,
    /// How many services the NIC has.
    pub n_services: usize,
    /// What a core runs; none for engines without one.
    pub program: Option<Program>,
    /// From the unit's scratchpad.
    pub input: Rx<Flit>,
    /// To the unit's traffic manager.
    pub output: Tx<Flit>,
}

impl EngineParams {
    /// What is wrong with them.
    pub fn check(&self) -> Result<(), String> {
        match self {
            EngineParams::Delay(params) => params.check(),
            EngineParams::Riscv(params) => params.check(),
        }
    }

    /// Puts the engine there. The parameters have passed their check.
    pub fn add(&self, site: EngineSite) {
        let EngineSite { system, path, clock, input, output, flit_bytes, longest, n_services, program, .. } = site;
        match self {
            EngineParams::Delay(params) => {
                let stream = system.stream(path);
                system.add(path, clock, DelayUnit::new(*params, input, output, stream));
            }
            EngineParams::Riscv(params) => {
                let program = program.expect("a unit with a core has a program");
                let sizes = [flit_bytes, longest, n_services];
                system.add(path, clock, RiscvUnit::new(params.clone(), program, sizes, input, output));
            }
        }
    }
}
