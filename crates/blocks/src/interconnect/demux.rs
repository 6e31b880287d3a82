//! `demux`: connects one requester to several memories, by address or by selection.
//!
//! Ports:   `requester` (memory, answers), `outputs[i]` (memory, asks). If it chooses by selection: `select` (words,
//!           receives), the index of the output from the edge on at which the word is seen; initially 0.
//! Timing:  as [`Switch`]: 0 cycles of its own; one reference and one answer per cycle.
//! Order:   a reference to another output waits until all earlier ones are answered.
//! Errors:  a reference outside all windows gets a bus error; a select beyond the last output is counted and ignored.
//! Source:  thesis, table 3.1.
//! Differs: it carries memory connections only, not vectors of any channel.

use super::switch::requesters;
use super::{AddressWindow, Route, Switch, SwitchWiring, Word};
use crate::checks;
use crate::netlist::{Built, Memory, Module, OneWay, PortSpec, Site};
use crate::policy::Policy;

/// Parameters of the module `demux`.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DemuxParams {
    /// How the output is chosen.
    pub by: DemuxBy,
    /// Maximum references in flight at each output.
    pub outstanding: u32,
}

/// How a demux chooses the output.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum DemuxBy {
    /// By address; one window for each output.
    Windows(Vec<AddressWindow>),
    /// By the word at `select`; the value is the number of outputs.
    Select(usize),
}

impl DemuxParams {
    fn outputs(&self) -> usize {
        match &self.by {
            DemuxBy::Windows(windows) => windows.len(),
            DemuxBy::Select(outputs) => *outputs,
        }
    }
}

impl Module for DemuxParams {
    const NAME: &'static str = "demux";
    const ABOUT: &'static str = "Connects one requester to several memories, by address or by selection.";
    const EXAMPLE: &'static str = r#"by = { windows = [{ base = 0, bytes = 65536, becomes = 0 }, { base = 0x10000, bytes = 65536, becomes = 0 }] }
outstanding = 4"#;

    fn ports(&self) -> Vec<PortSpec> {
        let mut ports = vec![PortSpec::to::<Memory>("requester").about("the requester")];
        ports.extend((0..self.outputs()).map(|i| PortSpec::from::<Memory>(format!("outputs[{i}]")).about("a memory")));
        if let DemuxBy::Select(_) = self.by {
            ports.push(PortSpec::to::<OneWay<Word>>("select").about("index of the output"));
        }
        ports
    }

    fn check(&self) -> Result<(), String> {
        if !(1..=64).contains(&self.outputs()) {
            return Err(format!("by names {} outputs, must be 1 to 64", self.outputs()));
        }
        if let DemuxBy::Windows(windows) = &self.by {
            for (i, window) in windows.iter().enumerate() {
                window.check(&format!("by.windows[{i}]"))?;
            }
        }
        checks::within("outstanding", self.outstanding, 1, 1024)
    }

    fn build(self, site: &mut Site) -> Built {
        let outputs = requesters(site, self.outputs());
        let wiring = SwitchWiring {
            requesters: vec![("requester".to_owned(), site.to::<Memory>("requester"))],
            outputs,
            route: match self.by {
                DemuxBy::Windows(windows) => Route::Address(windows),
                DemuxBy::Select(_) => Route::ToSelected(site.to::<OneWay<Word>>("select")),
            },
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
    fn a_demux_forwards_to_the_selected_output() {
        let log = testkit::bench(200, |bench| {
            let requesters =
                vec![("a".to_owned(), scripted_requester(bench, "a", "1 r 0+1; 2 r 1+1; 3 r 2+1; 4 r 3+1", 0))];
            let outputs = [">", ">>"].map(|name| (name.to_owned(), scripted_responder(bench, name, 0))).into();
            let selects = [(3, 1), (8, 2), (9, 0)].map(|(at, which)| (at, Word(which))).into();
            let route = Route::ToSelected(bench.input("select", 2, selects));
            let wiring = SwitchWiring { requesters, outputs, route, outstanding: 2, burst_references: 1 };
            bench.add("it", Switch::new(wiring, || Policy::RoundRobin {}.start()));
            bench.log_counters();
        });
        expect![[r#"
            2    > r 0+1
            3    > r 1+1
            4    a 0 00
            5    >> r 2+1
            5    a 1 01
            6    >> r 3+1
            7    a 2 02
            8    a 3 03
            it.a.references 4
            it.>.references 2
            it.>>.references 2
            it.unknown_selects 1
        "#]]
        .assert_eq(&log);
    }
}
