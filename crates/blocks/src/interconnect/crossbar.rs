//! `crossbar`: connects several requesters to several memories, by address.
//!
//! Ports:   `requesters[i]` (memory, answers), `outputs[i]` (memory, asks): references to addresses in window i.
//! Timing:  as [`Switch`]: 0 cycles of its own; one reference and one answer per cycle for each output and requester.
//! Order:   a requester's references take effect and are answered in order. A reference to another output waits until
//! all earlier ones are answered.
//! Errors:  a reference outside all windows, or beyond the end of one, gets a bus error.
//! Source:  thesis, 3.1: a network of functions, muxes and demuxes is such a module.

use super::switch::{requesters, responders};
use super::{AddressWindow, Route, Switch, SwitchWiring};
use crate::checks;
use crate::netlist::{Built, Memory, Module, PortSpec, Site};
use crate::policy::Policy;

/// Parameters of the module `crossbar`.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrossbarParams {
    /// Number of requesters, 1 to 64.
    pub requesters: usize,
    /// Address windows; `outputs[i]` gets the references to window i.
    pub windows: Vec<AddressWindow>,
    /// Maximum references in flight at each output.
    pub outstanding: u32,
    /// Maximum references of a burst, which have consecutive addresses.
    pub burst_references: u32,
    /// Arbitration policy of each output.
    pub policy: Policy,
}

impl Module for CrossbarParams {
    const NAME: &'static str = "crossbar";
    const ABOUT: &'static str = "Connects several requesters to several memories, by address.";
    const EXAMPLE: &'static str = r#"requesters = 4
windows = [{ base = 0, bytes = 65536, becomes = 0 }, { base = 0x10000, bytes = 65536, becomes = 0 }]
outstanding = 4
burst_references = 1
policy = { kind = "round-robin" }"#;

    fn ports(&self) -> Vec<PortSpec> {
        let requesters =
            (0..self.requesters).map(|i| PortSpec::to::<Memory>(format!("requesters[{i}]")).about("a requester"));
        requesters
            .chain(
                (0..self.windows.len())
                    .map(|i| PortSpec::from::<Memory>(format!("outputs[{i}]")).about("the memory of a window")),
            )
            .collect()
    }

    fn check(&self) -> Result<(), String> {
        if !(1..=64).contains(&self.windows.len()) {
            return Err(format!("windows has {} entries, must have 1 to 64", self.windows.len()));
        }
        for (i, window) in self.windows.iter().enumerate() {
            window.check(&format!("windows[{i}]"))?;
        }
        checks::within("outstanding", self.outstanding, 1, 1024)?;
        checks::within("burst_references", self.burst_references, 1, 1024)?;
        self.policy.check(self.requesters)
    }

    fn build(self, site: &mut Site) -> Built {
        let wiring = SwitchWiring {
            requesters: responders(site, self.requesters),
            outputs: requesters(site, self.windows.len()),
            route: Route::Address(self.windows),
            outstanding: self.outstanding,
            burst_references: self.burst_references,
        };
        Built::new(Switch::new(wiring, || self.policy.start()))
    }
}
