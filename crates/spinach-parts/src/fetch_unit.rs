//! `fetch-unit`: fetches the instructions at given program counters.
//!
//! Ports:   `pc` (words, receives); `squash` (words, receives, optional): any word discards all undelivered fetches
//!           of earlier program counters; `memory` (memory, asks), `instruction` (instructions, sends).
//! Timing:  0 cycles of its own. A fetch is sent at the edge that sees its program counter, and an instruction is
//!           delivered at the edge that sees its answer; one of each per cycle. At its edge, a squash takes effect
//!           before everything else.
//! Order:   a stall propagates backwards: while `instruction` is full nothing is delivered, and with `outstanding`
//! fetches outstanding no more are sent.
//! Errors:  a fetch that memory refuses is delivered as an error.
//! Source:  thesis, table 3.4 and 3.2.4: inputs PC, stall and squash; a memory of variable delay.

use crate::Fetched;
use blocks::bus::{Access, Reference, Requester, word};
use blocks::checks;
use blocks::interconnect::{ReturnPaths, Word};
use blocks::netlist::{Built, Memory, Module, OneWay, PortSpec, Site};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};

/// Parameters of a [`FetchUnit`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchUnitParams {
    /// Maximum outstanding fetches.
    pub outstanding: u32,
}

/// The ports of a [`FetchUnit`].
pub struct FetchUnitPorts {
    /// Addresses of instructions.
    pub pc: Rx<Word>,
    /// Discards undelivered fetches.
    pub squash: Option<Rx<Word>>,
    /// The instruction memory.
    pub memory: Requester,
    /// The instructions.
    pub instruction: Tx<Fetched>,
}

/// Fetches a 32-bit instruction for each program counter.
pub struct FetchUnit {
    pc: Rx<Word>,
    squash: Option<Rx<Word>>,
    memory: Requester,
    instruction: Tx<Fetched>,
    /// Program counters of outstanding fetches.
    under_way: ReturnPaths<u32>,
    /// Number of the oldest outstanding fetches that are discarded.
    discarded: usize,
    n_under_way: usize,
    fetched: Counter,
    squashed: Counter,
}

impl FetchUnit {
    /// A unit with these ports.
    pub fn new(params: FetchUnitParams, ports: FetchUnitPorts) -> FetchUnit {
        let FetchUnitPorts { pc, squash, memory, instruction } = ports;
        FetchUnit {
            pc,
            squash,
            memory,
            instruction,
            under_way: ReturnPaths::new(params.outstanding),
            discarded: 0,
            n_under_way: 0,
            fetched: Counter::default(),
            squashed: Counter::default(),
        }
    }

    fn deliver(&mut self) -> bool {
        if !self.memory.replies.has_item() || (self.discarded == 0 && !self.instruction.has_room()) {
            return false;
        }
        let reply = self.memory.replies.take().expect("an answer is there");
        let pc = self.under_way.pop().expect("an answer belongs to a fetch");
        self.n_under_way -= 1;
        if self.discarded > 0 {
            self.discarded -= 1;
            self.squashed.add(1);
        } else {
            self.fetched.add(1);
            self.instruction.send(Fetched { pc, word: reply.result.map(|data| word(&data)) });
        }
        true
    }

    fn request(&mut self) -> bool {
        if !self.pc.has_item() || !self.under_way.has_room() || !self.memory.references.has_room() {
            return false;
        }
        let pc = self.pc.take().expect("a program counter is there").0 as u32;
        self.memory.references.send(Reference { id: pc, addr: u64::from(pc), access: Access::Read(4) });
        self.under_way.push(pc);
        self.n_under_way += 1;
        true
    }
}

impl Component for FetchUnit {
    fn tick(&mut self, _now: Cycle) -> Activity {
        while self.squash.as_ref().and_then(Rx::take).is_some() {
            self.discarded = self.n_under_way;
        }
        let (delivered, requested) = (self.deliver(), self.request());
        if delivered || requested { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("pc", &self.pc);
        if let Some(squash) = &self.squash {
            ports.input("squash", squash);
        }
        self.memory.port("memory", ports);
        ports.output("instruction", &self.instruction);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("fetched", self.fetched.total());
        counters.add("squashed", self.squashed.total());
    }
}

impl Module for FetchUnitParams {
    const NAME: &'static str = "fetch-unit";
    const ABOUT: &'static str = "Fetches the instruction at each program counter.";
    const EXAMPLE: &'static str = "outstanding = 2";

    fn ports(&self) -> Vec<PortSpec> {
        vec![
            PortSpec::to::<OneWay<Word>>("pc").about("addresses of instructions"),
            PortSpec::to::<OneWay<Word>>("squash").about("discards outstanding fetches").optional(),
            PortSpec::from::<Memory>("memory").about("the instruction memory"),
            PortSpec::from::<OneWay<Fetched>>("instruction").about("fetched instructions"),
        ]
    }

    fn check(&self) -> Result<(), String> {
        checks::within("outstanding", self.outstanding, 1, 64)
    }

    fn build(self, site: &mut Site) -> Built {
        let ports = FetchUnitPorts {
            pc: site.to::<OneWay<Word>>("pc"),
            squash: site.try_to::<OneWay<Word>>("squash"),
            memory: site.from::<Memory>("memory"),
            instruction: site.from::<OneWay<Fetched>>("instruction"),
        };
        Built::new(FetchUnit::new(self, ports))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{scripted_responder, words};
    use expect_test::{Expect, expect};

    fn check(pcs: &str, squashes: &str, ready: Cycle, want: Expect) {
        want.assert_eq(&testkit::bench(100, |bench| {
            let (pc, squash) = (words(bench, "pc", pcs), Some(words(bench, "squash", squashes)));
            let show = |fetched: &Fetched| match fetched.word {
                Ok(word) => format!("{:x} {word:08x}", fetched.pc),
                Err(error) => format!("{:x} {error}", fetched.pc),
            };
            let instruction = bench.output("instruction", 2, move |now| now >= ready, show);
            let memory = scripted_responder(bench, ">", 0);
            let params = FetchUnitParams { outstanding: 2 };
            bench.add("fetch", FetchUnit::new(params, FetchUnitPorts { pc, squash, memory, instruction }));
            bench.log_counters();
        }));
    }

    #[test]
    fn each_program_counter_gives_an_instruction() {
        check(
            "1:100 2:104 3:108 9:10c",
            "",
            0,
            expect![[r#"
            2    > r 100+4
            3    > r 104+4
            4    > r 108+4
            4    instruction 100 00010203
            5    instruction 104 04050607
            6    instruction 108 08090a0b
            10   > r 10c+4
            12   instruction 10c 0c0d0e0f
            fetch.fetched 4
        "#]],
        );
    }

    #[test]
    fn a_stall_propagates_backwards() {
        check(
            "1:100 2:104 3:108 4:10c 5:110 6:114",
            "",
            20,
            expect![[r#"
            2    > r 100+4
            3    > r 104+4
            4    > r 108+4
            5    > r 10c+4
            20   instruction 100 00010203
            21   instruction 104 04050607
            22   > r 110+4
            22   instruction 108 08090a0b
            23   > r 114+4
            23   instruction 10c 0c0d0e0f
            24   instruction 110 10111213
            25   instruction 114 14151617
            fetch.fetched 6
        "#]],
        );
    }

    #[test]
    fn a_squash_discards_undelivered_fetches() {
        check(
            "1:100 2:104 3:200",
            "3:1",
            0,
            expect![[r#"
            2    > r 100+4
            3    > r 104+4
            4    > r 200+4
            6    instruction 200 00010203
            fetch.fetched 1
            fetch.squashed 2
        "#]],
        );
        check(
            "1:100 2:104 3:200",
            "4:1",
            0,
            expect![[r#"
            2    > r 100+4
            3    > r 104+4
            4    > r 200+4
            4    instruction 100 00010203
            fetch.fetched 1
            fetch.squashed 2
        "#]],
        );
    }
}
