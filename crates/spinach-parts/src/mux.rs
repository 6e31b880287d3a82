//! `mux`: connects one of several requesters, the selected one, to a memory.
//!
//! Ports:   `requesters[i]` (memory, answers); `select` (words, receives), the index of the requester from the edge
//!           on at which the word is seen, initially 0; `memory` (memory, asks).
//! Timing:  as [`Switch`]: 0 cycles of its own; one reference and one answer per cycle.
//! Order:   references of other requesters wait in their connections. Answers to references in flight go to their
//! requester.
//! Errors:  a select beyond the last requester is counted and ignored.
//! Source:  thesis, 3.1.1 and table 3.1: the select is an input; requests of the others get a negative acknowledge.
//! Differs: it carries memory connections only, not vectors of any channel.

use blocks::checks;
use blocks::interconnect::{Route, Switch, SwitchWiring, Word, responders};
use blocks::netlist::{Built, Memory, Module, OneWay, PortSpec, Site};
use blocks::policy::Policy;

/// Parameters of the module `mux`.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MuxParams {
    /// Number of requesters, 1 to 64.
    pub requesters: usize,
    /// Maximum references in flight.
    pub outstanding: u32,
}

impl Module for MuxParams {
    const NAME: &'static str = "mux";
    const ABOUT: &'static str = "Connects the selected one of several requesters to one memory.";
    const EXAMPLE: &'static str = r#"requesters = 2
outstanding = 4"#;

    fn ports(&self) -> Vec<PortSpec> {
        let requesters =
            (0..self.requesters).map(|i| PortSpec::to::<Memory>(format!("requesters[{i}]")).about("a requester"));
        let others = [
            PortSpec::to::<OneWay<Word>>("select").about("index of the requester"),
            PortSpec::from::<Memory>("memory").about("the memory"),
        ];
        requesters.chain(others).collect()
    }

    fn check(&self) -> Result<(), String> {
        checks::within("outstanding", self.outstanding, 1, 1024)?;
        Policy::RoundRobin {}.check(self.requesters)
    }

    fn build(self, site: &mut Site) -> Built {
        let wiring = SwitchWiring {
            requesters: responders(site, self.requesters),
            outputs: vec![("memory".to_owned(), site.from::<Memory>("memory"))],
            route: Route::FromSelected(site.to::<OneWay<Word>>("select")),
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
    use expect_test::{Expect, expect};
    use kernel::Cycle;

    /// `selects`: cycles, and the index selected from each on.
    fn check(requesters: &[&str], selects: &[(Cycle, u64)], want: Expect) {
        want.assert_eq(&testkit::bench(200, |bench| {
            let asks =
                |(text, name): (&&str, char)| (name.to_string(), scripted_requester(bench, &name.to_string(), text, 0));
            let requesters = requesters.iter().zip('a'..).map(asks).collect();
            let outputs = vec![(">".to_owned(), scripted_responder(bench, ">", 0))];
            let select = bench.input("select", 2, selects.iter().map(|&(at, which)| (at, Word(which))).collect());
            let route = Route::FromSelected(select);
            let wiring = SwitchWiring { requesters, outputs, route, outstanding: 2, burst_references: 1 };
            bench.add("it", Switch::new(wiring, || Policy::RoundRobin {}.start()));
            bench.log_counters();
        }));
    }

    #[test]
    fn a_mux_forwards_the_selected_requester() {
        check(
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
}
