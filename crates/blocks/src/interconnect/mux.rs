//! Muxes and demuxes of memory connections.

use super::crossbar::{requesters, responders};
use super::{Crossbar, CrossbarWiring, Route, Window, Word};
use crate::checks;
use crate::netlist::{Built, Memory, Module, OneWay, PortSpec, Site};
use crate::policy::Policy;

/// Parameters of the module `mux`.
///
/// Ports:   `requesters[i]` (memory, answers), `select` (words): the requester that is passed from the edge on at which
///          the word is seen, the first one before; `memory` (memory, asks).
/// Timing:  that of a [`Crossbar`]: a reference a cycle, 0 cycles of its own.
/// What others ask waits in their channels. References under way are answered to whom they belong. A select of a
/// requester that is not there is counted and changes nothing.
/// Source:  thesis, 3.1.1 and table 3.1: the select is an input, and what is not passed gets a negative acknowledge.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MuxParams {
    /// Requesters, 1 to 64.
    pub requesters: usize,
    /// References under way at most.
    pub outstanding: u32,
}

impl Module for MuxParams {
    const NAME: &'static str = "mux";
    const ABOUT: &'static str = "The selected one of several requesters onto one memory.";
    const EXAMPLE: &'static str = r#"requesters = 2
outstanding = 4"#;

    fn ports(&self) -> Vec<PortSpec> {
        let requesters = (0..self.requesters).map(|i| PortSpec::to::<Memory>(format!("requesters[{i}]")));
        let others = [PortSpec::to::<OneWay<Word>>("select"), PortSpec::from::<Memory>("memory")];
        requesters.chain(others).collect()
    }

    fn check(&self) -> Result<(), String> {
        checks::within("outstanding", self.outstanding, 1, 1024)?;
        Policy::RoundRobin.check(self.requesters)
    }

    fn build(self, site: &mut Site) -> Built {
        let wiring = CrossbarWiring {
            requesters: responders(site, self.requesters),
            outputs: vec![("memory".to_owned(), site.from::<Memory>("memory"))],
            route: Route::FromSelected(site.to::<OneWay<Word>>("select")),
            outstanding: self.outstanding,
            burst_references: 1,
        };
        Built::new(Crossbar::new(wiring, || Policy::RoundRobin.start()))
    }
}

/// Parameters of the module `demux`.
///
/// Ports:   `requester` (memory, answers), `outputs[i]` (memory, asks); `select` (words) if that is how it chooses.
/// Timing:  that of a [`Crossbar`]: a reference a cycle, 0 cycles of its own.
/// By address, what no window has is an error of the bus. By select, a word chooses the output from the edge on at which
/// it is seen, the first output before; one that is not there is counted and changes nothing. A reference to another
/// output waits until those before it are answered.
/// Source:  thesis, table 3.1.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DemuxParams {
    /// How it chooses.
    pub by: DemuxBy,
    /// References under way at an output at most.
    pub outstanding: u32,
}

/// How a demux chooses.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum DemuxBy {
    /// By address: the windows of the outputs.
    Windows(Vec<Window>),
    /// By what comes at `select`: the number of outputs.
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
    const ABOUT: &'static str = "One requester onto several memories, by address or as selected.";
    const EXAMPLE: &'static str = r#"by = { windows = [{ base = 0, bytes = 65536, becomes = 0 }, { base = 0x10000, bytes = 65536, becomes = 0 }] }
outstanding = 4"#;

    fn ports(&self) -> Vec<PortSpec> {
        let mut ports = vec![PortSpec::to::<Memory>("requester")];
        ports.extend((0..self.outputs()).map(|i| PortSpec::from::<Memory>(format!("outputs[{i}]"))));
        if let DemuxBy::Select(_) = self.by {
            ports.push(PortSpec::to::<OneWay<Word>>("select"));
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
        let wiring = CrossbarWiring {
            requesters: vec![("requester".to_owned(), site.to::<Memory>("requester"))],
            outputs,
            route: match self.by {
                DemuxBy::Windows(windows) => Route::Address(windows),
                DemuxBy::Select(_) => Route::ToSelected(site.to::<OneWay<Word>>("select")),
            },
            outstanding: self.outstanding,
            burst_references: 1,
        };
        Built::new(Crossbar::new(wiring, || Policy::RoundRobin.start()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{answers, asks};
    use expect_test::{Expect, expect};
    use kernel::Cycle;

    /// `selects`: cycles and what is selected from each on.
    fn check(is_mux: bool, requesters: &[&str], selects: &[(Cycle, u64)], want: Expect) {
        want.assert_eq(&testkit::bench(200, |bench| {
            let asks = |(text, name): (&&str, char)| (name.to_string(), asks(bench, &name.to_string(), text, 0));
            let requesters = requesters.iter().zip('a'..).map(asks).collect();
            let names = if is_mux { &[">"][..] } else { &[">", ">>"] };
            let outputs = names.iter().map(|name| ((*name).to_owned(), answers(bench, name, 0))).collect();
            let select = bench.input("select", 2, selects.iter().map(|&(at, which)| (at, Word(which))).collect());
            let route = if is_mux { Route::FromSelected(select) } else { Route::ToSelected(select) };
            let wiring = CrossbarWiring { requesters, outputs, route, outstanding: 2, burst_references: 1 };
            bench.add("it", Crossbar::new(wiring, || Policy::RoundRobin.start()));
            bench.log_counters();
        }));
    }

    #[test]
    fn a_mux_passes_who_is_selected() {
        check(
            true,
            &["1 r 0+1; 1 r 1+1; 8 r 2+1", "1 r 10+1; 1 r 11+1"],
            &[(6, 1), (7, 9), (20, 0)],
            expect![[r#"
            2    > r 0+1
            3    > r 1+1
            4    a 0 00
            5    a 1 01
            7    > r 10+1
            8    > r 11+1
            9    b 0 10
            10   b 1 11
            21   > r 2+1
            23   a 2 02
            it.a.references 3
            it.b.references 2
            it.>.references 5
            it.unknown_selects 1
        "#]],
        );
    }

    #[test]
    fn a_demux_passes_to_what_is_selected() {
        check(
            false,
            &["1 r 0+1; 2 r 1+1; 3 r 2+1; 4 r 3+1"],
            &[(3, 1), (8, 2), (9, 0)],
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
        "#]],
        );
    }
}
