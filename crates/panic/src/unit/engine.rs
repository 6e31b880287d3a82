//! Parameters of engines, which do the work of units on packets.

use super::accelerator::{AesParams, CompressionParams, InferenceParams, RateParams, Sha3Params};
use super::delay::{DelayUnit, DelayUnitParams};
use super::riscv::{Program, RiscvParams, RiscvUnit, Sizes};
use crate::protocol::{Flit, NodeId};
use kernel::{ClockId, Rx, SystemBuilder, Tx};

/// The engine of a unit: `{ kind = "delay", service = { kind = "fixed", cycles = 20 }, gap_cycles = 2 }`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum EngineParams {
    /// Waits for a service time and forwards the packet unchanged.
    Delay(DelayUnitParams),
    /// Encrypts and decrypts with AES.
    #[serde(rename = "aes-256-ctr")]
    Aes(AesParams),
    /// Hashes with SHA-3.
    #[serde(rename = "sha-3-512")]
    Sha3(Sha3Params),
    /// Compresses or decompresses.
    Compression(CompressionParams),
    /// Classifies packets with a neural network.
    Inference(InferenceParams),
    /// Forwards packets at the rate of a known accelerator.
    Rate(RateParams),
    /// Runs a program on a RISC-V core.
    Riscv(RiscvParams),
}

/// Where to add an engine.
pub struct EngineSite<'a> {
    /// The system that receives the engine's clocks, random streams, channels and components.
    pub system: &'a mut SystemBuilder,
    /// Path of the engine; its parts have paths below it.
    pub path: &'a str,
    /// The NIC's clock; `input` and `output` belong to it.
    pub clock: ClockId,
    /// The unit's port of the interconnect.
    pub node: NodeId,
    /// Bytes of a flit.
    pub flit_bytes: usize,
    /// The longest packet, in bytes.
    pub longest: usize,
    /// Number of services of the NIC.
    pub n_services: usize,
    /// The core's program; `None` for engines without a core.
    pub program: Option<Program>,
    /// Flits from the unit's scratchpad.
    pub input: Rx<Flit>,
    /// Flits to the unit's traffic manager.
    pub output: Tx<Flit>,
}

impl EngineParams {
    /// Checks the parameters.
    pub fn check(&self) -> Result<(), String> {
        match self {
            EngineParams::Delay(params) => params.check(),
            EngineParams::Aes(params) => params.check(),
            EngineParams::Sha3(params) => params.check(),
            EngineParams::Compression(params) => params.check(),
            EngineParams::Inference(params) => params.check(),
            EngineParams::Rate(params) => params.check(),
            EngineParams::Riscv(params) => params.check(),
        }
    }

    /// Checks that the engine can process packets of up to `longest` bytes.
    pub fn check_longest(&self, longest: usize) -> Result<(), String> {
        match self {
            EngineParams::Riscv(params) => params.check_longest(longest),
            _ => Ok(()),
        }
    }

    /// Returns true if it needs a program.
    pub fn is_programmed(&self) -> bool {
        matches!(self, EngineParams::Riscv(_))
    }

    /// Adds the engine. The parameters must have passed their check.
    pub fn add(&self, site: EngineSite) {
        match self {
            EngineParams::Delay(params) => {
                let EngineSite { system, path, clock, input, output, .. } = site;
                let stream = system.stream(path);
                system.add(path, clock, DelayUnit::new(*params, input, output, stream));
            }
            EngineParams::Aes(params) => params.add(site),
            EngineParams::Sha3(params) => params.add(site),
            EngineParams::Compression(params) => params.add(site),
            EngineParams::Inference(params) => params.add(site),
            EngineParams::Rate(params) => params.add(site),
            EngineParams::Riscv(params) => {
                let EngineSite { system, path, clock, input, output, flit_bytes, longest, n_services, program, .. } =
                    site;
                let program = program.expect("a unit with a core needs a program");
                let sizes = Sizes { flit_bytes, longest, n_services };
                system.add(path, clock, RiscvUnit::new(params.clone(), program, sizes, input, output));
            }
        }
    }
}
