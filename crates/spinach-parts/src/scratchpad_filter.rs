//! `scratchpad-filter`: routes a core's references to its registers, to its scratchpad, or onward, by address.
//!
//! Ports:   `core` (memory, answers); `registers`, `scratchpad`, `onward` (memory, ask).
//! Timing:  as [`Switch`]: 0 cycles of its own; one reference and one answer per cycle.
//! Order:   a reference to another output waits until all earlier ones are answered.
//! Errors:  a reference that starts in a window and ends beyond it gets a bus error.
//! Source:  thesis, table 3.2 and 3.2.2. A separate descriptor memory is one more filter (3.5.2, figure 3.7).
//! Differs: the thesis's filter answers within the cycle; here each connection costs a cycle each way. For a
//!           scratchpad of one cycle, `mips-core` contains a filter and a scratchpad.

use blocks::checks;
use blocks::interconnect::{AddressWindow, Route, Switch, SwitchWiring};
use blocks::netlist::{Built, Memory, Module, PortSpec, Site};
use blocks::policy::Policy;

/// Parameters of the module `scratchpad-filter`.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScratchpadFilterParams {
    /// Address window of the registers.
    pub registers: AddressWindow,
    /// Address window of the scratchpad.
    pub scratchpad: AddressWindow,
    /// Maximum outstanding references at each output.
    pub outstanding: u32,
}

impl Module for ScratchpadFilterParams {
    const NAME: &'static str = "scratchpad-filter";
    const ABOUT: &'static str = "Routes a core's references to its registers, its scratchpad, or onward, by address.";
    const EXAMPLE: &'static str = r#"registers = { base = 0xC0000000, bytes = 1024, becomes = 0 }
scratchpad = { base = 0x00C00000, bytes = 16384, becomes = 0 }
outstanding = 4"#;

    fn ports(&self) -> Vec<PortSpec> {
        vec![
            PortSpec::to::<Memory>("core").about("the core"),
            PortSpec::from::<Memory>("registers").about("addresses of the registers"),
            PortSpec::from::<Memory>("scratchpad").about("addresses of the scratchpad"),
            PortSpec::from::<Memory>("onward").about("all other addresses"),
        ]
    }

    fn check(&self) -> Result<(), String> {
        self.registers.check("registers")?;
        self.scratchpad.check("scratchpad")?;
        checks::within("outstanding", self.outstanding, 1, 1024)
    }

    fn build(self, site: &mut Site) -> Built {
        let outputs = ["registers", "scratchpad", "onward"].map(|name| (name.to_owned(), site.from::<Memory>(name)));
        let wiring = SwitchWiring {
            requesters: vec![("core".to_owned(), site.to::<Memory>("core"))],
            outputs: outputs.into(),
            route: Route::Address(vec![self.registers, self.scratchpad]),
            outstanding: self.outstanding,
            burst_references: 1,
        };
        Built::new(Switch::new(wiring, || Policy::RoundRobin {}.start()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{scripted_requester, scripted_responder};
    use expect_test::expect;

    #[test]
    fn the_address_selects_the_output() {
        let log = testkit::bench(200, |bench| {
            let core = scripted_requester(bench, "core", "1 r c0000004+4; 2 r c00000+4; 3 r 4000+4; 4 r c000003e+4", 0);
            let outputs =
                ["registers", "scratchpad", "onward"].map(|name| (name.to_owned(), scripted_responder(bench, name, 0)));
            let registers = AddressWindow { base: 0xc000_0000, bytes: 0x40, becomes: 0 };
            let scratchpad = AddressWindow { base: 0xc0_0000, bytes: 0x4000, becomes: 0xc0_0000 };
            let wiring = SwitchWiring {
                requesters: vec![("core".to_owned(), core)],
                outputs: outputs.into(),
                route: Route::Address(vec![registers, scratchpad]),
                outstanding: 2,
                burst_references: 1,
            };
            bench.add("filter", Switch::new(wiring, || Policy::RoundRobin {}.start()));
        });
        expect![[r#"
            2    registers r 4+4
            4    core 0 04050607
            4    scratchpad r c00000+4
            6    core 1 00010203
            6    onward r 4000+4
            8    core 2 00010203
            9    core 3 nothing answers at 0xc0000040
        "#]]
        .assert_eq(&log);
    }
}
