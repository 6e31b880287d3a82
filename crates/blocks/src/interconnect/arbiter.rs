//! `arbiter`: connects several requesters to one memory.
//!
//! Ports:   `requesters[i]` (memory, answers), `memory` (memory, asks).
//! Timing:  as [`Switch`]: 0 cycles of its own; one reference and one answer per cycle.
//! Order:   references go to `memory` in the order of the grants; each requester is answered in its own order.
//! Source:  thesis, table 3.2 and 3.3.1: the arbitration policy is a parameter, and arbiters may be stacked.
//! Differs: the thesis's arbiter answers within the cycle. Here each connection costs a cycle each way, so a memory
//!           with several requesters is better built as one module that arbitrates inside, such as
//!           `memory-controller`.

use super::switch::responders;
use super::{Route, Switch, SwitchWiring};
use crate::checks;
use crate::netlist::{Built, Memory, Module, PortSpec, Site};
use crate::policy::{Arbitrator, Policy};

/// Parameters of the module `arbiter`.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArbiterParams {
    /// Number of requesters, 1 to 64.
    pub requesters: usize,
    /// Maximum references in flight.
    pub outstanding: u32,
    /// Maximum references of a burst, which have consecutive addresses.
    pub burst_references: u32,
    /// Arbitration policy.
    pub policy: Policy,
}

impl ArbiterParams {
    /// Builds the component with a given policy. A user's own module calls this with its own policy.
    pub fn with_arbitration(self, site: &mut Site, policy: Arbitrator) -> Built {
        let wiring = SwitchWiring {
            requesters: responders(site, self.requesters),
            outputs: vec![("memory".to_owned(), site.from::<Memory>("memory"))],
            route: Route::Address(Vec::new()),
            outstanding: self.outstanding,
            burst_references: self.burst_references,
        };
        let mut policy = Some(policy);
        Built::new(Switch::new(wiring, || policy.take().expect("an arbiter has one output")))
    }
}

impl Module for ArbiterParams {
    const NAME: &'static str = "arbiter";
    const ABOUT: &'static str = "Connects several requesters to one memory, one at a time.";
    const EXAMPLE: &'static str = r#"requesters = 4
outstanding = 4
burst_references = 4
policy = { kind = "round-robin" }"#;

    fn ports(&self) -> Vec<PortSpec> {
        let requesters =
            (0..self.requesters).map(|i| PortSpec::to::<Memory>(format!("requesters[{i}]")).about("a requester"));
        requesters.chain([PortSpec::from::<Memory>("memory").about("the memory")]).collect()
    }

    fn check(&self) -> Result<(), String> {
        checks::within("outstanding", self.outstanding, 1, 1024)?;
        checks::within("burst_references", self.burst_references, 1, 1024)?;
        self.policy.check(self.requesters)
    }

    fn build(self, site: &mut Site) -> Built {
        let policy = self.policy.start();
        self.with_arbitration(site, policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Arbitration, Contest, FixedPriority};
    use crate::testing::{scripted_requester, scripted_responder};
    use expect_test::{Expect, expect};

    fn check(policy: impl Fn() -> Arbitrator, requesters: &[&str], want: Expect) {
        want.assert_eq(&testkit::bench(200, |bench| {
            let asks =
                |(text, name): (&&str, char)| (name.to_string(), scripted_requester(bench, &name.to_string(), text, 0));
            let requesters = requesters.iter().zip('a'..).map(asks).collect();
            let outputs = vec![(">".to_owned(), scripted_responder(bench, ">", 0))];
            let route = Route::Address(Vec::new());
            let wiring = SwitchWiring { requesters, outputs, route, outstanding: 8, burst_references: 3 };
            bench.add("it", Switch::new(wiring, &policy));
        }));
    }

    /// `a` writes consecutive addresses from 0x80 on; `b` writes scattered ones.
    const RIVALS: [&str; 2] =
        ["1 w 80=01; 2 w 81=02; 3 w 82=03; 4 w 83=04; 5 w 84=05; 6 w 85=06", "2 w 10=0a; 2 w 20=0b; 2 w 30=0c"];

    #[test]
    fn requesters_take_turns() {
        check(
            || Policy::RoundRobin {}.start(),
            &RIVALS,
            expect![[r#"
                2    > w 80=01
                3    > w 10=0a
                4    > w 81=02
                4    a 0 done
                5    > w 20=0b
                5    b 0 done
                6    > w 82=03
                6    a 1 done, waited 1 ns
                7    > w 30=0c
                7    b 1 done, waited 1 ns
                8    > w 83=04
                8    a 2 done, waited 1 ns
                9    > w 84=05
                9    b 2 done, waited 1 ns
                10   > w 85=06
                10   a 3 done, waited 1 ns
                11   a 4 done
                12   a 5 done
            "#]],
        );
    }

    #[test]
    fn a_burst_continues_up_to_its_maximum_length() {
        let groups = vec![vec![1], vec![0]];
        let policy = Policy::FixedPriority(FixedPriority { groups, keeps_bursts: true, timeout_cycles: 100 });
        check(
            || policy.start(),
            &RIVALS,
            expect![[r#"
                2    > w 80=01
                3    > w 81=02
                4    > w 82=03
                4    a 0 done
                5    > w 10=0a
                5    a 1 done
                6    > w 20=0b
                6    a 2 done
                7    > w 30=0c
                7    b 0 done, waited 2 ns
                8    > w 83=04
                8    b 1 done
                9    > w 84=05
                9    b 2 done
                10   > w 85=06
                10   a 3 done, waited 3 ns
                11   a 4 done
                12   a 5 done
            "#]],
        );
    }

    /// A user-defined policy: the last requester first.
    struct LastFirst;

    impl Arbitration for LastFirst {
        fn choose(&mut self, contest: &Contest) -> u32 {
            contest.waiting.ilog2()
        }
    }

    #[test]
    fn a_user_defined_policy_decides() {
        check(
            || Arbitrator::Own(Box::new(LastFirst)),
            &RIVALS,
            expect![[r#"
                2    > w 80=01
                3    > w 10=0a
                4    > w 20=0b
                4    a 0 done
                5    > w 30=0c
                5    b 0 done
                6    > w 81=02
                6    b 1 done
                7    > w 82=03
                7    b 2 done
                8    > w 83=04
                8    a 1 done, waited 3 ns
                9    > w 84=05
                9    a 2 done
                10   > w 85=06
                10   a 3 done
                11   a 4 done
                12   a 5 done
            "#]],
        );
    }
}
