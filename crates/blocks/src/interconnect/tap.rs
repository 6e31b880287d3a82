//! `tap`: a memory connection with listeners.
//!
//! Ports:   `requester` (memory, answers), `memory` (memory, asks), `seen[i]` (seen-references, sends).
//! Timing:  0 cycles of its own; one reference and one answer per cycle.
//! Order:   listeners get a reference when its answer passes. An answer waits until every listener has room, so none
//! misses a write.
//! Source:  thesis, tables 3.1 and 3.2: a Tee in front of a memory feeds the snoop port of a cache controller.

use super::{ReturnPaths, Seen};
use crate::bus::{Requester, Responder};
use crate::checks;
use crate::netlist::{Built, Memory, Module, OneWay, PortSpec, Site};
use crate::policy::AccessSpan;
use kernel::{Activity, Component, Cycle, Ports, Tx};

/// Parameters of a [`Tap`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TapParams {
    /// Number of listeners, 1 to 64.
    pub listeners: usize,
    /// Maximum references in flight.
    pub outstanding: u32,
}

/// The ports of a [`Tap`].
pub struct TapPorts {
    /// The requester.
    pub requester: Responder,
    /// The memory.
    pub memory: Requester,
    /// The listeners.
    pub seen: Vec<Tx<Seen>>,
}

/// Forwards references and answers, and reports each reference to listeners when its answer passes.
pub struct Tap {
    requester: Responder,
    memory: Requester,
    seen: Vec<Tx<Seen>>,
    under_way: ReturnPaths<AccessSpan>,
}

impl Tap {
    /// A tap with these ports.
    pub fn new(params: TapParams, ports: TapPorts) -> Tap {
        let TapPorts { requester, memory, seen } = ports;
        Tap { requester, memory, seen, under_way: ReturnPaths::new(params.outstanding) }
    }

    fn return_answer(&mut self) -> bool {
        if !self.memory.replies.has_item() || !self.requester.replies.has_room() {
            return false;
        }
        if !self.seen.iter().all(Tx::has_room) {
            return false;
        }
        let span = self.under_way.pop().expect("an answer belongs to a reference");
        self.requester.replies.send(self.memory.replies.take().expect("an answer is there"));
        self.seen.iter().for_each(|listener| listener.send(Seen(span)));
        true
    }

    fn forward(&mut self) -> bool {
        if !self.requester.references.has_item() || !self.under_way.has_room() || !self.memory.references.has_room() {
            return false;
        }
        let reference = self.requester.references.take().expect("a reference is there");
        self.under_way.push(AccessSpan::from(&reference));
        self.memory.references.send(reference);
        true
    }
}

impl Component for Tap {
    fn tick(&mut self, _now: Cycle) -> Activity {
        let (back, on) = (self.return_answer(), self.forward());
        if back || on { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        self.requester.port("requester", ports);
        self.memory.port("memory", ports);
        ports.outputs("seen", &self.seen);
    }
}

impl Module for TapParams {
    const NAME: &'static str = "tap";
    const ABOUT: &'static str = "A memory connection that reports answered references to listeners.";
    const EXAMPLE: &'static str = r#"listeners = 1
outstanding = 4"#;

    fn ports(&self) -> Vec<PortSpec> {
        let seen = (0..self.listeners)
            .map(|i| PortSpec::from::<OneWay<Seen>>(format!("seen[{i}]")).about("answered references"));
        [
            PortSpec::to::<Memory>("requester").about("the requester"),
            PortSpec::from::<Memory>("memory").about("the memory"),
        ]
        .into_iter()
        .chain(seen)
        .collect()
    }

    fn check(&self) -> Result<(), String> {
        checks::within("listeners", self.listeners, 1, 64)?;
        checks::within("outstanding", self.outstanding, 1, 1024)
    }

    fn build(self, site: &mut Site) -> Built {
        let ports = TapPorts {
            requester: site.to::<Memory>("requester"),
            memory: site.from::<Memory>("memory"),
            seen: (0..self.listeners).map(|i| site.from::<OneWay<Seen>>(&format!("seen[{i}]"))).collect(),
        };
        Built::new(Tap::new(self, ports))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{scripted_requester, scripted_responder};
    use expect_test::expect;

    #[test]
    fn listeners_get_every_reference_together_with_its_answer() {
        let log = testkit::bench(100, |bench| {
            let requester = scripted_requester(bench, "a", "1 r 40+4; 1 w 44=0a0b; 1 r 48+1; 1 r 49+1", 0);
            let memory = scripted_responder(bench, ">", 0);
            let show = |seen: &Seen| format!("{:x}+{} {}", seen.0.addr, seen.0.bytes, seen.0.is_write);
            let seen = vec![
                bench.output("seen", 2, |_| true, show),
                bench.output("late", 2, |now| now >= 20, show), // Its two places are full at cycle 5.
            ];
            bench
                .add("tap", Tap::new(TapParams { listeners: 2, outstanding: 3 }, TapPorts { requester, memory, seen }));
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
