//! The nodes of one thread, and the loop that runs them.

use crate::agenda::Agenda;
use crate::capture::Captured;
use crate::link::{Delivery, LinkCounts, Wire};
use crate::node::{Node, NodeFailure, Output, Place};
use crate::observe::{Ledger, Row};
use crate::ordered::Ordered;
use crate::{LinkId, NodeId, PortId};
use kernel::Time;

/// A node with the directions of links that begin at it.
struct Resident {
    node: Box<dyn Node>,
    name: String,
    /// Frames on their way to it, in order of their first bits, then of links, then on each link.
    inbox: Agenda<(LinkId, u64), Delivery>,
    wires: Vec<Option<Wire>>,
    /// Ports whose lines can hold frames back.
    faulty: Vec<usize>,
    output: Output,
    /// The time for which it stands in the agenda; `None` while it waits for frames.
    due: Option<Time>,
}

impl Resident {
    /// The next time at which something happens to it.
    fn next(&self) -> Option<Time> {
        let arrival = self.inbox.next();
        let wires = self.faulty.iter().filter_map(|&port| self.wires[port].as_ref()?.next_event()).min();
        [self.node.next_event(), arrival, wires].into_iter().flatten().min()
    }
}

/// A node failed, or broke a rule.
pub(crate) struct Failure {
    pub node: NodeId,
    pub name: String,
    pub at: Time,
    pub failure: NodeFailure,
}

/// A node broke a rule of [`Node`].
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("it sent a frame through port {0}, which has no link")]
    NoLink(PortId),
    #[error("it sent a frame at {at}, must be after {after} and at most {until}, which is simulated (bug in the node)")]
    Past { at: Time, after: Time, until: Time },
}

/// The nodes of one thread.
pub(crate) struct Shard {
    residents: Vec<Resident>,
    /// Position of each node that lives here, by its number.
    positions: Vec<Option<u32>>,
    /// Times at which nodes are due. An entry is stale if its time is not its node's `due`.
    agenda: Ordered<(Time, usize)>,
    /// Least delay of links between nodes that live here.
    lookahead: Time,
    /// Where each node lives.
    homes: Vec<u32>,
    me: u32,
    /// Simulated time.
    now: Option<Time>,
    deliveries: Vec<Delivery>,
    /// The node that runs now, and until when.
    running: Option<(usize, Time)>,
    /// How often a node was run.
    pub steps: u64,
}

impl Shard {
    /// An empty shard; `homes` names the shard of each node.
    pub fn new(me: u32, homes: Vec<u32>, lookahead: Time) -> Self {
        Shard {
            residents: Vec::new(),
            positions: vec![None; homes.len()],
            agenda: Ordered::default(),
            lookahead,
            homes,
            me,
            now: None,
            deliveries: Vec::new(),
            running: None,
            steps: 0,
        }
    }

    /// Adds a node.
    pub fn add(&mut self, node: Box<dyn Node>, place: &Place, wires: Vec<Option<Wire>>, is_observed: bool) {
        let output = Output { node: place.node, rows: is_observed.then(Vec::new), ..Output::default() };
        let faulty = (0..wires.len()).filter(|&port| wires[port].as_ref().is_some_and(Wire::has_faults)).collect();
        let name = place.name.clone();
        let resident = Resident { node, name, inbox: Agenda::default(), wires, faulty, output, due: None };
        self.positions[place.node.0 as usize] = Some(self.residents.len() as u32);
        self.residents.push(resident);
        self.schedule(self.residents.len() - 1);
    }

    fn position(&self, node: NodeId) -> Option<usize> {
        self.positions.get(node.0 as usize)?.map(|position| position as usize)
    }

    /// The next time at which something happens here.
    pub fn next_event(&mut self) -> Option<Time> {
        while let Some((at, position)) = self.agenda.first() {
            if self.residents[position].due == Some(at) {
                return Some(at);
            }
            self.agenda.pop();
        }
        None
    }

    /// Takes a frame from another thread.
    pub fn accept(&mut self, delivery: Delivery) {
        let position = self.position(delivery.node).expect("frames go to the homes of their nodes");
        let (resident, head) = (&mut self.residents[position], delivery.arrival.head);
        resident.inbox.push(head, (delivery.link, delivery.number), delivery);
        if resident.due.is_none_or(|due| head < due) {
            resident.due = Some(head);
            self.agenda.push((head, position));
        }
    }

    /// Puts a node into the agenda for the next time at which something happens to it.
    fn schedule(&mut self, position: usize) {
        let resident = &mut self.residents[position];
        let due = resident.next();
        // The node is due after the present time: a node that stays due in the past would run forever.
        let due = due.map(|due| self.now.map_or(due, |now| due.max(now + Time::from_fs(1))));
        let before = std::mem::replace(&mut resident.due, due);
        if let Some(due) = due.filter(|_| due != before) {
            self.agenda.push((due, position));
        }
    }

    /// Simulates all that happens up to `until`, `until` included. `away` takes frames for other threads.
    pub fn run_until(&mut self, until: Time, away: &mut dyn FnMut(u32, Delivery)) -> Result<(), Box<Failure>> {
        let mut due_now = Vec::new();
        while let Some(next) = self.next_event().filter(|&next| next <= until) {
            // An event at `next` or later reaches a neighbour at `next` + lookahead at the earliest.
            let end = next.fs().saturating_add(self.lookahead.fs() - 1);
            let end = Time::from_fs(end).min(until);
            while let Some(at) = self.next_event().filter(|&at| at <= end) {
                if let Some((_, position)) = self.agenda.pop() {
                    self.residents[position].due = None;
                    due_now.push(position);
                }
                debug_assert!(at <= end);
            }
            for &position in &due_now {
                self.running = Some((position, end));
                self.step(position, end)?;
            }
            self.running = None;
            self.now = Some(end);
            for position in due_now.drain(..) {
                self.schedule(position);
            }
            let mut deliveries = std::mem::take(&mut self.deliveries);
            for delivery in deliveries.drain(..) {
                match self.homes[delivery.node.0 as usize] {
                    home if home == self.me => self.accept(delivery),
                    home => away(home, delivery),
                }
            }
            self.deliveries = deliveries;
        }
        self.now = Some(until);
        Ok(())
    }

    /// Runs a node to `end`.
    fn step(&mut self, position: usize, end: Time) -> Result<(), Box<Failure>> {
        self.steps += 1;
        let after = self.now;
        let Resident { node, inbox, wires, faulty, output, name, .. } = &mut self.residents[position];
        while let Some((_, delivery)) = inbox.pop_until(end) {
            node.receive(delivery.port, delivery.arrival, output);
        }
        let id = output.node;
        let fail = |failure: NodeFailure| Box::new(Failure { node: id, name: name.clone(), at: end, failure });
        if let Err(failure) = node.run_until(end, output) {
            return Err(fail(failure));
        }
        let mut sent = std::mem::take(&mut output.sent);
        for transmission in sent.drain(..) {
            let at = transmission.slot.start;
            if at > end || after.is_some_and(|after| at <= after) {
                let after = after.unwrap_or_default();
                return Err(fail(Box::new(Broken::Past { at, after, until: end })));
            }
            let port = transmission.port;
            let Some(Some(wire)) = wires.get_mut(usize::from(port.0)) else {
                return Err(fail(Box::new(Broken::NoLink(port))));
            };
            wire.release(at, output, &mut self.deliveries);
            wire.carry(transmission, output, &mut self.deliveries);
        }
        output.sent = sent;
        for &port in faulty.iter() {
            if let Some(wire) = &mut wires[port] {
                wire.release(end, output, &mut self.deliveries);
            }
        }
        Ok(())
    }

    /// The node that was running when the thread panicked, its name, and the end of what it was to simulate.
    pub fn running(&self) -> Option<(NodeId, String, Time)> {
        let (position, end) = self.running?;
        let resident = &self.residents[position];
        Some((resident.output.node, resident.name.clone(), end))
    }

    /// Takes the rows of all nodes, in arbitrary order.
    pub fn take_rows(&mut self, rows: &mut Vec<Row>) {
        for resident in &mut self.residents {
            if let Some(own) = &mut resident.output.rows {
                rows.append(own);
            }
        }
    }

    /// Takes the captured frames of all nodes.
    pub fn take_captured(&mut self, frames: &mut Vec<Captured>) {
        self.residents.iter_mut().for_each(|resident| frames.append(&mut resident.output.captured));
    }

    /// Where the frames of its nodes are; frames in mailboxes between threads are not included.
    pub fn ledger(&self) -> Ledger {
        let mut sum = Ledger::default();
        for resident in &self.residents {
            sum.merge(&resident.output.ledger);
            sum.in_flight.merge(resident.node.inside());
            resident.wires.iter().flatten().for_each(|wire| sum.in_flight.merge(wire.held()));
            for delivery in resident.inbox.iter().filter(|delivery| !delivery.arrival.frame.is_control) {
                sum.in_flight.add(&delivery.arrival.frame);
            }
        }
        sum
    }

    /// The digests and counters of its nodes.
    pub fn report(&self) -> Vec<NodeReport> {
        let report = |resident: &Resident| NodeReport {
            node: resident.output.node,
            name: resident.name.clone(),
            digest: resident.node.digest(),
            counters: resident.node.counters(),
            lines: resident.wires.iter().map(|wire| wire.as_ref().map(|wire| (wire.counts(), wire.hash()))).collect(),
        };
        self.residents.iter().map(report).collect()
    }

    /// Calls `act` with a node that lives here, which may change it. `None` if the node lives elsewhere.
    pub fn call<R>(&mut self, node: NodeId, act: impl FnOnce(&mut dyn Node) -> R) -> Option<R> {
        let position = self.position(node)?;
        self.running = Some((position, self.now.unwrap_or_default()));
        let answer = act(&mut *self.residents[position].node);
        self.running = None;
        self.schedule(position);
        Some(answer)
    }
}

/// Digest and counters of a node and of the directions of links that begin at it.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct NodeReport {
    /// The node.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// Its digest.
    pub digest: String,
    /// Its counters.
    pub counters: Vec<(String, u64)>,
    /// For each port with a link: counters of its line, and the hash of what crossed it.
    pub lines: Vec<Option<(LinkCounts, u64)>>,
}
