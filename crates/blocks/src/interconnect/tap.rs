//! A tap: a memory connection that others listen to.

use super::Returns;
use crate::bus::{Requester, Responder};
use crate::checks;
use crate::netlist::{Built, Memory, Module, OneWay, PortSpec, Site, Wire};
use crate::policy::Head;
use kernel::{Activity, Component, Cycle, Ports, Tx};

/// A reference that was answered somewhere: what a cache snoops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen(pub Head);

impl Wire for Seen {
    const NAME: &'static str = "seen-references";
}

/// Parameters of a [`Tap`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TapParams {
    /// Listeners, 1 to 64.
    pub listeners: usize,
    /// References under way at most.
    pub outstanding: u32,
}

/// Passes references and answers, and tells listeners of each reference when its answer passes.
///
/// Ports:  `requester` (memory, answers), `memory` (memory, asks), `seen[i]` (seen-references, sends).
/// Timing: 0 cycles of its own, one reference and one answer a cycle. An answer waits until every listener has room, so
///         that none misses what was written.
/// Source: thesis, tables 3.1 and 3.2: a Tee in front of a memory feeds the snoop port of a cache controller.
pub struct Tap {
    requester: Responder,
    memory: Requester,
    listeners: Vec<Tx<Seen>>,
    under_way: Returns<Head>,
}

impl Tap {
    /// A tap at these ports.
    pub fn new(params: &TapParams, requester: Responder, memory: Requester, listeners: Vec<Tx<Seen>>) -> Tap {
        Tap { requester, memory, listeners, under_way: Returns::new(params.outstanding) }
    }

    fn pass_back(&mut self) -> bool {
        if !self.memory.replies.has_item() || !self.requester.replies.has_room() {
            return false;
        }
        if !self.listeners.iter().all(Tx::has_room) {
            return false;
        }
        let head = self.under_way.pop().expect("an answer belongs to a reference");
        self.requester.replies.send(self.memory.replies.take().expect("an answer is there"));
        self.listeners.iter().for_each(|listener| listener.send(Seen(head)));
        true
    }

    fn pass_on(&mut self) -> bool {
        if !self.requester.references.has_item() || !self.under_way.has_room() || !self.memory.references.has_room() {
            return false;
        }
        let reference = self.requester.references.take().expect("a reference is there");
        self.under_way.push(Head::from(&reference));
        self.memory.references.send(reference);
        true
    }
}

impl Component for Tap {
    fn tick(&mut self, _now: Cycle) -> Activity {
        let (back, on) = (self.pass_back(), self.pass_on());
        if back || on { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        self.requester.port("requester", ports);
        self.memory.port("memory", ports);
        ports.outputs("seen", &self.listeners);
    }
}

impl Module for TapParams {
    const NAME: &'static str = "tap";
    const ABOUT: &'static str = "Passes references and tells listeners of those that were answered.";
    const EXAMPLE: &'static str = r#"listeners = 1
outstanding = 4"#;

    fn ports(&self) -> Vec<PortSpec> {
        let seen = (0..self.listeners).map(|i| PortSpec::from::<OneWay<Seen>>(format!("seen[{i}]")));
        [PortSpec::to::<Memory>("requester"), PortSpec::from::<Memory>("memory")].into_iter().chain(seen).collect()
    }

    fn check(&self) -> Result<(), String> {
        checks::count("listeners", self.listeners, 1, 64)?;
        checks::within("outstanding", self.outstanding, 1, 1024)
    }

    fn build(self, site: &mut Site) -> Built {
        let listeners = (0..self.listeners).map(|i| site.from::<OneWay<Seen>>(&format!("seen[{i}]"))).collect();
        let (requester, memory) = (site.to::<Memory>("requester"), site.from::<Memory>("memory"));
        Built::new(Tap::new(&self, requester, memory, listeners))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{answers, asks};
    use expect_test::expect;

    #[test]
    fn listeners_hear_with_the_answer_and_none_misses_any() {
        let log = testkit::bench(100, |bench| {
            let requester = asks(bench, "a", "1 r 40+4; 1 w 44=0a0b; 1 r 48+1; 1 r 49+1", 0);
            let memory = answers(bench, ">", 0);
            let show = |seen: &Seen| format!("{:x}+{} {}", seen.0.addr, seen.0.bytes, seen.0.is_write);
            let listeners = vec![
                bench.output("seen", 2, |_| true, show),
                bench.output("late", 2, |now| now >= 20, show), // Its room for two is used up at 5.
            ];
            bench.add("tap", Tap::new(&TapParams { listeners: 2, outstanding: 3 }, requester, memory, listeners));
        });
        expect![[r#"
            2    > r 40+4
            3    > w 44=0a0b
            4    > r 48+1
            4    a 0 40414243
            4    seen 40+4 false
            5    > r 49+1
            5    a 1 done
            5    seen 44+2 true
            20   late 40+4 false
            21   late 44+2 true
            22   a 2 48
            22   late 48+1 false
            22   seen 48+1 false
            23   a 3 49
            23   late 49+1 false
            23   seen 49+1 false
        "#]]
        .assert_eq(&log);
    }
}
