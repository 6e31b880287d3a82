//! Any NIC of this crate: PANIC or one of its baselines.

use crate::baseline::{Manycore, ManycoreParams, Pipeline, PipelineParams, RmtOnly, RmtOnlyParams};
use crate::entry::Nodes;
use crate::nic::{Outside, Panic};
use crate::params::PanicParams;
use crate::unit::riscv::Program;
use blocks::mhz::Mhz;
use kernel::{Clock, ClockId, System};

/// A NIC, selected by the key `model`. A file without that key describes a PANIC: its reader adds `model = "panic"`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum NicModel {
    /// Offload chains under a central scheduler.
    Panic(PanicParams),
    /// Offloads in a row behind one queue.
    Pipeline(PipelineParams),
    /// Cores that carry packets from offload to offload.
    Manycore(ManycoreParams),
    /// Match-action tables only.
    RmtOnly(RmtOnlyParams),
}

/// A built NIC.
pub struct Nic {
    /// Its components and clocks.
    pub system: System,
    /// Its clock.
    pub clock: ClockId,
    /// The nodes that packet trails refer to.
    pub nodes: Nodes,
    /// The units' programs, by unit.
    pub programs: Vec<(String, Program)>,
}

impl NicModel {
    /// Checks the parameters. The error begins with the key.
    pub fn check(&self) -> Result<(), String> {
        match self {
            NicModel::Panic(params) => params.check(),
            NicModel::Pipeline(params) => params.check(),
            NicModel::Manycore(params) => params.check(),
            NicModel::RmtOnly(params) => params.check(),
        }
    }

    /// Builds the NIC at time 0. The parameters must have passed their check.
    pub fn build(&self, seed: u64, outside: Outside) -> Nic {
        match self {
            NicModel::Panic(params) => {
                let nic = Panic::new(params, seed, outside);
                let (nodes, programs) = (nic.nodes().clone(), nic.programs().to_vec());
                Nic { system: nic.system, clock: nic.clock, nodes, programs }
            }
            NicModel::Pipeline(params) => Pipeline::build(params, seed, outside),
            NicModel::Manycore(params) => Manycore::build(params, seed, outside),
            NicModel::RmtOnly(params) => RmtOnly::build(params, seed, outside),
        }
    }

    /// The names by which chains call the services, in index order.
    pub fn services(&self) -> Vec<&str> {
        match self {
            NicModel::Panic(params) => params.services.iter().map(|service| service.name.as_str()).collect(),
            NicModel::Pipeline(params) => params.stages.iter().map(|stage| stage.name.as_str()).collect(),
            NicModel::Manycore(params) => params.services.iter().map(|service| service.name.as_str()).collect(),
            NicModel::RmtOnly(params) => params.host_services.iter().map(String::as_str).collect(),
        }
    }

    /// Number of traffic classes.
    pub fn n_classes(&self) -> usize {
        match self {
            NicModel::Panic(params) => params.n_classes,
            NicModel::Pipeline(params) => params.card.n_classes,
            NicModel::Manycore(params) => params.card.n_classes,
            NicModel::RmtOnly(params) => params.card.n_classes,
        }
    }

    /// Number of network ports.
    pub fn network_ports(&self) -> u32 {
        match self {
            NicModel::Panic(params) => params.network_ports,
            NicModel::Pipeline(params) => params.card.network_ports,
            NicModel::Manycore(params) => params.card.network_ports,
            NicModel::RmtOnly(params) => params.card.network_ports,
        }
    }

    /// The NIC's clock frequency.
    pub fn clock_mhz(&self) -> Mhz {
        match self {
            NicModel::Panic(params) => params.clock_mhz,
            NicModel::Pipeline(params) => params.card.clock_mhz,
            NicModel::Manycore(params) => params.card.clock_mhz,
            NicModel::RmtOnly(params) => params.card.clock_mhz,
        }
    }

    /// The NIC's clock.
    pub fn edges(&self) -> Clock {
        Clock::new(self.clock_mhz().freq().expect("the clock must be in its range"))
    }
}
