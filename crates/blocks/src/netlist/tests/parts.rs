//! Small modules for test cards: a requester, a memory, a relay.

use crate::bus::{Access, Reference, Reply, Requester, Responder};
use crate::netlist::{Built, Catalog, Memory, Module, PortSpec, Site};
use kernel::{Activity, Component, Cycle, Ports};
use std::collections::VecDeque;

pub fn catalog() -> Catalog {
    Catalog::default().with::<Asker>().with::<Store>().with::<Relay>()
}

/// Reads consecutive bytes of its memory.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asker {
    /// Number of bytes to read.
    reads: u32,
    /// Address of the first byte.
    #[serde(default)]
    first: u64,
}

pub struct AskerPart {
    params: Asker,
    memory: Requester,
    n_requested: u32,
    /// Bytes read.
    pub read: Vec<u8>,
    /// Cycle of the last answer.
    pub done: Cycle,
}

impl Module for Asker {
    const NAME: &'static str = "asker";
    const ABOUT: &'static str = "Reads bytes one after the other.";

    fn ports(&self) -> Vec<PortSpec> {
        vec![PortSpec::from::<Memory>("memory"), PortSpec::from::<Memory>("spare").optional()]
    }

    fn build(self, site: &mut Site) -> Built {
        Built::new(AskerPart {
            params: self,
            memory: site.from::<Memory>("memory"),
            n_requested: 0,
            read: vec![],
            done: 0,
        })
    }
}

impl Component for AskerPart {
    fn tick(&mut self, now: Cycle) -> Activity {
        if let Some(reply) = self.memory.replies.take() {
            self.read.extend(reply.result.expect("the store answers everywhere"));
            self.done = now;
        }
        if self.n_requested < self.params.reads && self.memory.references.has_room() {
            let addr = self.params.first + u64::from(self.n_requested);
            self.memory.references.send(Reference { id: self.n_requested, addr, access: Access::Read(1) });
            self.n_requested += 1;
            return Activity::Busy;
        }
        if self.memory.replies.has_item() { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        self.memory.port("memory", ports);
    }
}

/// Answers one reference per cycle with the low byte of its address.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// Number of ports, 1 to 64.
    requesters: usize,
}

struct StorePart {
    requesters: Vec<Responder>,
    first: usize,
}

impl Module for Store {
    const NAME: &'static str = "store";
    const ABOUT: &'static str = "Answers one reference a cycle.";

    fn ports(&self) -> Vec<PortSpec> {
        (0..self.requesters).map(|i| PortSpec::to::<Memory>(format!("requesters[{i}]"))).collect()
    }

    fn check(&self) -> Result<(), String> {
        match self.requesters {
            1..=64 => Ok(()),
            n => Err(format!("requesters is {n}, must be 1 to 64")),
        }
    }

    fn build(self, site: &mut Site) -> Built {
        let requesters = (0..self.requesters).map(|i| site.to::<Memory>(&format!("requesters[{i}]"))).collect();
        Built::new(StorePart { requesters, first: 0 })
    }
}

impl Component for StorePart {
    fn tick(&mut self, _now: Cycle) -> Activity {
        let n = self.requesters.len();
        let asks = |i: &usize| self.requesters[*i].references.has_item() && self.requesters[*i].replies.has_room();
        let Some(i) = (0..n).map(|i| (self.first + i) % n).find(asks) else { return Activity::Idle };
        let reference = self.requesters[i].references.take().expect("it asks");
        let result = Ok([reference.addr as u8].into_iter().collect());
        self.requesters[i].replies.send(Reply::new(reference.id, result));
        self.first = i + 1;
        Activity::Busy
    }

    fn ports(&self, ports: &mut Ports) {
        self.requesters.iter().enumerate().for_each(|(i, end)| end.port(&format!("requesters[{i}]"), ports));
    }
}

/// Forwards references, and returns the answers.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Relay {}

struct RelayPart {
    upper: Responder,
    lower: Requester,
    waiting: VecDeque<Reply>,
}

impl Module for Relay {
    const NAME: &'static str = "relay";
    const ABOUT: &'static str = "Passes references on.";

    fn ports(&self) -> Vec<PortSpec> {
        vec![PortSpec::to::<Memory>("upper"), PortSpec::from::<Memory>("lower")]
    }

    fn build(self, site: &mut Site) -> Built {
        let (upper, lower) = (site.to::<Memory>("upper"), site.from::<Memory>("lower"));
        Built::new(RelayPart { upper, lower, waiting: VecDeque::new() })
    }
}

impl Component for RelayPart {
    fn tick(&mut self, _now: Cycle) -> Activity {
        if self.upper.references.has_item() && self.lower.references.has_room() {
            self.lower.references.send(self.upper.references.take().expect("it is there"));
        }
        if self.waiting.is_empty() {
            self.waiting.extend(self.lower.replies.take());
        }
        if !self.waiting.is_empty() && self.upper.replies.has_room() {
            self.waiting.drain(..1).for_each(|reply| self.upper.replies.send(reply));
        }
        let has_more = self.upper.references.has_item() || self.lower.replies.has_item();
        if has_more && self.lower.references.has_room() { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        self.upper.port("upper", ports);
        self.lower.port("lower", ports);
    }
}
