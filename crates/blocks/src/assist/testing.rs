//! Memories and scripts for test scenes of assists.

use crate::assist::moves::{Move, MoveLog};
use crate::bus::{Access, BusError, Data, Reply, Requester, Responder};
use kernel::{Activity, Component, Cycle, Ports};
use std::cell::RefCell;
use std::rc::Rc;
use testkit::{Bench, Log};

/// Recorded transfers, one a line, in nanoseconds.
pub fn as_text(moves: &MoveLog) -> String {
    let as_text = |one: &Move| {
        let steps = one.steps.iter().map(|(wait, end)| format!(" {}@{}", wait.word(), end.ns()));
        let Move { route, card, host, ordered, begun, .. } = one;
        let (ordered, begun) = (ordered.ns(), begun.ns());
        format!("{route:?} {card:x?} {host:x?} ordered@{ordered} begun@{begun}{}\n", steps.collect::<String>())
    };
    moves.borrow().iter().map(as_text).collect()
}

/// Memory contents shared between a scene and its memory.
pub type Shared = Rc<RefCell<Vec<u8>>>;

pub fn hex(data: &[u8]) -> String {
    data.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A memory that answers in the cycle in which it sees a reference, and logs references as `name` if `is_logged`.
/// Addresses beyond its end are errors.
pub fn memory(bench: &mut Bench, name: &str, bytes: &Shared, is_logged: bool) -> Requester {
    let (references, requested) = bench.channel(&format!("{name}?"), 4, 1);
    let (answers, replies) = bench.channel(&format!("{name}!"), 4, 1);
    let log = is_logged.then(|| bench.log.clone());
    let port = Responder { references: requested, replies: answers };
    bench.add(name, Ram { port, name: name.to_owned(), bytes: bytes.clone(), log });
    Requester { references, replies }
}

struct Ram {
    port: Responder,
    name: String,
    bytes: Shared,
    log: Option<Log>,
}

impl Component for Ram {
    fn tick(&mut self, now: Cycle) -> Activity {
        if !self.port.references.has_item() || !self.port.replies.has_room() {
            return Activity::Idle;
        }
        let reference = self.port.references.take().expect("one is there");
        let mut bytes = self.bytes.borrow_mut();
        let (from, to) = (reference.addr as usize, reference.addr as usize + reference.access.len() as usize);
        let result = match &reference.access {
            _ if to > bytes.len() => Err(BusError::Nowhere(reference.addr)),
            Access::Read(_) => Ok(Data::from_slice(&bytes[from..to])),
            Access::Write(data) => {
                bytes[from..to].copy_from_slice(data);
                Ok(Data::new())
            }
            Access::Linked(_) => Err(BusError::NoLink(reference.addr)),
        };
        if let Some(log) = &self.log {
            let what = match &reference.access {
                Access::Read(bytes) => format!("r {from:x}+{bytes}"),
                Access::Write(data) => format!("w {from:x}={}", hex(data)),
                Access::Linked(link) => format!("{link:?} {from:x}"),
            };
            log.note(now, format!("{} {what}", self.name));
        }
        self.port.replies.send(Reply::new(reference.id, result));
        Activity::Busy
    }

    fn ports(&self, ports: &mut Ports) {
        self.port.port("port", ports);
    }
}
