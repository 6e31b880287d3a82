//! Test scenes of memory modules, written as text.

use crate::bus::{Access, Data, Reference, Reply, Requester, Responder};
use kernel::{Activity, Component, Cycle, Ports, Time};
use testkit::{Bench, Log};

/// References and the first cycles in which they are visible: `3 r 100+4; 5 w 104=0a0b` reads four bytes at 0x100 and
/// writes two at 0x104. IDs count from 0.
pub fn script(text: &str) -> Vec<(Cycle, Reference)> {
    let lines = text.split(';').map(str::trim).filter(|line| !line.is_empty());
    lines.enumerate().map(|(id, line)| read(id as u32, line).unwrap_or_else(|| panic!("`{line}`"))).collect()
}

fn read(id: u32, line: &str) -> Option<(Cycle, Reference)> {
    let (cycle, rest) = line.split_once(' ')?;
    let (kind, rest) = rest.split_once(' ')?;
    let (addr, access) = match kind {
        "r" => {
            let (addr, bytes) = rest.split_once('+')?;
            (addr, Access::Read(bytes.parse().ok()?))
        }
        _ => {
            let (addr, digits) = rest.split_once('=')?;
            let byte = |i: usize| u8::from_str_radix(digits.get(i..i + 2)?, 16).ok();
            let data: Option<Data> = (0..digits.len()).step_by(2).map(byte).collect();
            (addr, Access::Write(data?))
        }
    };
    Some((cycle.parse().ok()?, Reference { id, addr: u64::from_str_radix(addr, 16).ok()?, access }))
}

pub fn hex(data: &[u8]) -> String {
    data.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn show_reference(reference: &Reference) -> String {
    match &reference.access {
        Access::Read(bytes) => format!("r {:x}+{bytes}", reference.addr),
        Access::Write(data) => format!("w {:x}={}", reference.addr, hex(data)),
        Access::Linked(link) => format!("{link:?} {:x}", reference.addr),
    }
}

pub fn show_reply(reply: &Reply) -> String {
    let waited = if reply.waited == Time::ZERO { String::new() } else { format!(", waited {}", reply.waited) };
    match &reply.result {
        Ok(data) if data.is_empty() => format!("{} done{waited}", reply.id),
        Ok(data) => format!("{} {}{waited}", reply.id, hex(data)),
        Err(error) => format!("{} {error}{waited}", reply.id),
    }
}

/// A requester of the scene. It sends the scripted references and logs the replies, which it accepts from cycle
/// `ready`.
pub fn scripted_requester(bench: &mut Bench, name: &str, text: &str, ready: Cycle) -> Responder {
    let references = bench.input(&format!("{name}?"), 2, script(text));
    Responder { references, replies: bench.output(name, 2, move |now| now >= ready, show_reply) }
}

/// A responder of the scene. It logs each reference when it sees it and replies `cycles` later. A read returns the
/// low bytes of its addresses; an address from 0x1_0000_0000 gives an error.
pub fn scripted_responder(bench: &mut Bench, name: &str, cycles: u64) -> Requester {
    let (references, requests) = bench.channel(&format!("{name}?"), 2, 1);
    let (answers, replies) = bench.channel(&format!("{name}!"), 2, 1);
    let port = Responder { references: requests, replies: answers };
    bench.add(name, ScriptedResponder { port, name: name.to_owned(), cycles, seen: None, log: bench.log.clone() });
    Requester { references, replies }
}

struct ScriptedResponder {
    port: Responder,
    name: String,
    cycles: u64,
    /// Cycle in which the reference at the front was first seen.
    seen: Option<Cycle>,
    log: Log,
}

impl Component for ScriptedResponder {
    fn tick(&mut self, now: Cycle) -> Activity {
        let Some(reference) = self.port.references.peek() else { return Activity::Idle };
        if self.seen.is_none() {
            self.log.note(now, format!("{} {}", self.name, show_reference(&reference)));
        }
        let due = *self.seen.get_or_insert(now) + self.cycles;
        if now < due {
            return Activity::Until(due);
        }
        if !self.port.replies.has_room() {
            return Activity::Idle;
        }
        let result = match &reference.access {
            _ if reference.addr >> 32 != 0 => Err(crate::bus::BusError::Nowhere(reference.addr)),
            Access::Read(bytes) => Ok((0..*bytes).map(|i| (reference.addr + u64::from(i)) as u8).collect()),
            Access::Write(_) => Ok(Data::new()),
            Access::Linked(_) => Err(crate::bus::BusError::NoLink(reference.addr)),
        };
        self.port.replies.send(Reply::new(reference.id, result));
        drop(reference);
        self.port.references.take();
        self.seen = None;
        Activity::Busy
    }

    fn ports(&self, ports: &mut Ports) {
        self.port.port("port", ports);
    }
}
