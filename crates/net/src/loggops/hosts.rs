//! The hosts of a schedule: they take events in order, and charge processors and cards.

use super::RunError;
use super::events::{Event, Events};
use super::matching::{Entry, Queues};
use super::network::{Ways, whole_ns};
use super::params::{Model, Params};
use super::record::{Cause, NO_OP, Outcome, Part, Record, Times};
use super::stuck::Stuck;
use crate::goal::{Kind, Op, Schedule};
use kernel::Time;

/// Maximum number of processors and cards of all ranks together.
const MAX_PLACES: usize = 1 << 26; // assumed: 3 GiB, which a computer of today has.

/// A processor or a card: the time from which it is free, and the cause of that time.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub free: u64,
    pub cause: Cause,
}

impl Slot {
    const NEW: Slot = Slot { free: 0, cause: Cause::START };

    /// The one that is free later.
    pub fn or_later(self, other: Slot) -> Slot {
        if other.free > self.free { other } else { self }
    }

    /// Keeps it busy at least until this time.
    pub fn raise(&mut self, free: u64, cause: Cause) {
        if self.free < free {
            *self = Slot { free, cause };
        }
    }
}

/// An operation that has become free.
#[derive(Clone, Copy)]
struct Freed {
    /// Operations with a lower number have their turn first.
    order: u32,
    host: u32,
    op: u32,
    ready: u64,
    cause: Cause,
}

/// A run of a schedule.
pub struct Run<'a> {
    pub(super) schedule: &'a Schedule,
    pub(super) params: Params,
    pub(super) model: Model,
    ways: Ways,
    n_cpus: usize,
    n_nics: usize,
    pub(super) cpus: Vec<Slot>,
    pub(super) sending: Vec<Slot>,
    pub(super) receiving: Vec<Slot>,
    /// Dependencies that each operation still waits for.
    open: Vec<u32>,
    /// In the model atlahs: for each operation, the latest end of the operations that it requires.
    ready: Vec<(u64, Cause)>,
    pub(super) events: Events,
    next_number: u64,
    /// Receives that wait for a message.
    pub(super) posted: Queues,
    /// Messages that wait for a receive.
    pub(super) unexpected: Queues,
    freed: Vec<Freed>,
    times: Vec<Times>,
    /// Operations that have ended.
    pub(super) is_done: Vec<bool>,
    pub(super) n_done: usize,
    messages: u64,
}

impl<'a> Run<'a> {
    /// A run at its start.
    pub fn new(schedule: &'a Schedule, params: Params, model: Model, with_record: bool) -> Result<Self, RunError> {
        let (ranks, n_ops) = (schedule.n_ranks(), schedule.ops().len());
        let n_cpus = usize::from(schedule.highest_cpu()) + 1;
        let n_nics = usize::from(schedule.highest_nic()) + 1;
        if ranks as usize > MAX_PLACES / (n_cpus + 2 * n_nics) {
            return Err(RunError::TooMany { ranks, cpus: n_cpus, nics: n_nics, most: MAX_PLACES });
        }
        let is_atlahs = model == Model::Atlahs;
        let per_byte = params.G.max(params.O);
        if !is_atlahs && per_byte > params.o.min(params.g) {
            let is_empty = |op: &Op| op.kind == Kind::Send && op.size == 0;
            if let Some(op) = schedule.ops().iter().position(is_empty) {
                return Err(RunError::Empty { at: schedule.describe(op), rank: schedule.rank_of(op) });
            }
        }
        let slots = |n: usize| vec![Slot::NEW; n * ranks as usize];
        let mut run = Run {
            schedule,
            params,
            model,
            ways: Ways::new(&params, model),
            n_cpus,
            n_nics,
            cpus: slots(n_cpus),
            sending: slots(n_nics),
            receiving: slots(n_nics),
            open: schedule.open_dependencies(),
            ready: if is_atlahs { vec![(0, Cause::START); n_ops] } else { Vec::new() },
            events: Events::new(),
            next_number: 0,
            posted: Queues::new(ranks as usize),
            unexpected: Queues::new(ranks as usize),
            freed: Vec::new(),
            times: if with_record { vec![Times::NONE; n_ops] } else { Vec::new() },
            is_done: vec![false; n_ops],
            n_done: 0,
            messages: 0,
        };
        for host in 0..ranks {
            let roots = schedule.range(host).filter(|&op| run.open[op] == 0);
            let freed = |op| Freed { order: host, host, op: op as u32, ready: 0, cause: Cause::START };
            let mut roots: Vec<Freed> = roots.map(freed).collect();
            if !is_atlahs {
                roots.sort_by_key(|freed| schedule.ops()[freed.op as usize].kind);
            }
            roots.into_iter().for_each(|freed| run.push_op(freed, 0, Cause::START));
        }
        Ok(run)
    }

    /// Handles events, at most this many. Returns true when there are none left.
    pub fn advance(&mut self, most: u64) -> Result<bool, RunError> {
        for _ in 0..most {
            let Some((event, waited)) = self.events.pop() else { return Ok(true) };
            let op = self.schedule.ops()[event.op as usize];
            let handled = match (event.is_message(), op.kind, self.model) {
                (true, _, Model::Loggopsim2010) => self.message(event, waited, op),
                (true, _, Model::Atlahs) => self.message_atlahs(event, op),
                (_, Kind::Calc, _) => self.calc(event, waited, op),
                (_, Kind::Send, _) => self.send(event, waited, op),
                (_, Kind::Recv, Model::Loggopsim2010) => self.recv(event, op),
                (_, Kind::Recv, Model::Atlahs) => self.recv_atlahs(event, op),
            };
            handled.ok_or_else(|| RunError::TooLong { at: self.schedule.describe(event.op as usize) })?;
            if !self.freed.is_empty() {
                self.release();
            }
        }
        Ok(false)
    }

    /// The results. Call it when [`Run::advance`] has returned true.
    pub fn finish(self) -> Result<Outcome, RunError> {
        if let Some(stuck) = Stuck::of(&self) {
            return Err(RunError::Stuck(stuck));
        }
        let last = |slots: &[Slot]| slots.iter().copied().fold(Slot::NEW, Slot::or_later);
        let ends: Vec<Slot> = self.cpus.chunks(self.n_cpus).map(last).collect();
        let end = last(&ends);
        let record = (!self.times.is_empty()).then_some(Record {
            times: self.times,
            params: self.params,
            model: self.model,
            end: (end.free, end.cause),
            path: None,
        });
        let hosts = ends.iter().map(|slot| Time::from_fs(slot.free)).collect();
        Ok(Outcome { finish: Time::from_fs(end.free), hosts, messages: self.messages, record })
    }

    pub(super) fn cpu(&self, host: u32, cpu: u8) -> usize {
        host as usize * self.n_cpus + usize::from(cpu)
    }

    pub(super) fn nic(&self, host: u32, nic: u8) -> usize {
        host as usize * self.n_nics + usize::from(nic)
    }

    /// The time at the end of a part of a message: `base` and `per_byte` for each byte but the first.
    pub(super) fn end(&self, time: u64, base: Time, per_byte: Time, bytes: u64) -> Option<u64> {
        let (base, per_byte) = (base.fs(), per_byte.fs());
        match bytes.checked_sub(1) {
            Some(more) => time.checked_add(base)?.checked_add(more.checked_mul(per_byte)?),
            // An empty message costs one `per_byte` less than a message of one byte, because LogGOPSim computes modulo 2^64.
            // `new` checks the bounds.
            None => time.checked_add(base - per_byte),
        }
    }

    /// The end of a card's part.
    fn gap_end(&self, time: u64, bytes: u64) -> Option<u64> {
        match self.model {
            Model::Loggopsim2010 => self.end(time, self.params.g, self.params.G, bytes),
            Model::Atlahs => {
                let gap = whole_ns(bytes, self.params.G.fs() as f64 / 1e6)?;
                time.checked_add(self.params.g.fs())?.checked_add(gap.fs())
            }
        }
    }

    /// The end of a processor's part of a message that arrives, in the model 2010.
    fn received(&self, time: u64, bytes: u64) -> Option<u64> {
        let Params { o, G, O, .. } = self.params;
        // LogGOPSim takes the maximum of (s-1) O and (s-1) G modulo 2^64. For an empty message, that is the smaller one
        // of O and G that is not 0.
        let is_smaller = bytes == 0 && G > Time::ZERO && O > Time::ZERO;
        self.end(time, o, if is_smaller { G.min(O) } else { G.max(O) }, bytes)
    }

    pub(super) fn note(&mut self, op: u32, change: impl FnOnce(&mut Times)) {
        if let Some(times) = self.times.get_mut(op as usize) {
            change(times);
        }
    }

    /// True if an event has its turn: its processor and card are free. Else it waits for them.
    fn has_turn(&mut self, place: u64, event: Event, waited: bool, busy: Slot) -> bool {
        if waited && !self.events.is_first(place, event) {
            return false;
        }
        if busy.free > event.time {
            match waited {
                true => self.events.wait_longer(place, event, busy.free, busy.cause),
                false => self.events.wait(place, event, busy.free, busy.cause),
            }
            return false;
        }
        if waited && let Some(cause) = self.events.leave(place, event) {
            self.note(event.op, |times| match event.is_message() {
                true => times.message_cause = cause,
                false => times.cause = cause,
            });
        }
        true
    }

    fn calc(&mut self, event: Event, waited: bool, op: Op) -> Option<()> {
        let (host, at) = (event.rank(), self.cpu(event.rank(), op.cpu));
        if !self.has_turn(place(host, op.cpu, 0, 0), event, waited, self.cpus[at]) {
            return Some(());
        }
        let end = event.time.checked_add(op.size.checked_mul(1_000_000)?)?;
        let cause = Cause::new(event.op, Part::Calc);
        self.cpus[at] = Slot { free: end, cause };
        self.note(event.op, |times| {
            (times.posted, times.started, times.done) = (times.posted.min(event.time), event.time, end);
        });
        self.mark_started(host, event);
        self.mark_done(host, host, event.op, end, cause);
        Some(())
    }

    fn send(&mut self, event: Event, waited: bool, op: Op) -> Option<()> {
        let (host, time) = (event.rank(), event.time);
        let (cpu, nic) = (self.cpu(host, op.cpu), self.nic(host, op.nic));
        let busy = self.cpus[cpu].or_later(self.sending[nic]);
        if !self.has_turn(place(host, op.cpu, op.nic, 1), event, waited, busy) {
            return Some(());
        }
        let is_atlahs = self.model == Model::Atlahs;
        let bytes = if is_atlahs { op.size.max(1) } else { op.size };
        let cpu_end = self.end(time, self.params.o, self.params.O, bytes)?;
        let gap_end = self.gap_end(time, bytes)?;
        let cause = Cause::new(event.op, Part::SendCpu);
        self.cpus[cpu] = Slot { free: cpu_end, cause };
        self.sending[nic] = Slot { free: gap_end, cause: Cause::new(event.op, Part::SendGap) };
        self.mark_started(host, event);
        let left = if is_atlahs { cpu_end } else { time.checked_add(self.params.o.fs())? };
        self.note(event.op, |times| {
            (times.posted, times.started, times.done) = (times.posted.min(time), time, cpu_end);
            times.left = left;
        });
        self.messages += 1;
        let arrival = self.ways.arrival(bytes, left)?;
        self.push_message(event.op, host, arrival);
        if bytes <= self.params.S {
            self.mark_done(host, host, event.op, cpu_end, cause);
        }
        Some(())
    }

    fn recv(&mut self, event: Event, op: Op) -> Option<()> {
        let (host, time) = (event.rank(), event.time);
        self.note(event.op, |times| times.posted = time);
        self.mark_started(host, event);
        let Some(found) = self.unexpected.take(host, op.peer, op.tag) else {
            self.posted.push(host, Entry { op: event.op, source: op.peer, tag: op.tag, at: time });
            return Some(());
        };
        let turn = Cause::new(event.op, Part::Turn);
        let bytes = self.schedule.ops()[found.op as usize].size;
        if bytes > self.params.S {
            let (cpu, nic) = (self.cpu(found.source, op.cpu), self.nic(found.source, op.nic));
            self.cpus[cpu].raise(time, turn);
            self.sending[nic].raise(time, turn);
            self.mark_done(found.source, found.source, found.op, time, turn);
        }
        let end = self.received(found.at, bytes)?.max(time);
        self.note_pair(found.op, event.op, found.at, end, (bytes > self.params.S).then_some(time));
        self.mark_done(host, host, event.op, end, turn);
        Some(())
    }

    fn message(&mut self, event: Event, waited: bool, op: Op) -> Option<()> {
        let (source, host, time) = (event.rank(), op.peer, event.time);
        let (cpu, nic) = (self.cpu(host, op.cpu), self.nic(host, op.nic));
        let busy = self.cpus[cpu].or_later(self.receiving[nic]);
        if !self.has_turn(place(host, op.cpu, op.nic, 2), event, waited, busy) {
            return Some(());
        }
        let end = self.received(time, op.size)?;
        self.cpus[cpu] = Slot { free: end, cause: Cause::new(event.op, Part::MessageCpu) };
        let gap_end = self.gap_end(time, op.size)?;
        self.receiving[nic] = Slot { free: gap_end, cause: Cause::new(event.op, Part::MessageGap) };
        let Some(found) = self.posted.take(host, source, op.tag) else {
            self.unexpected.push(host, Entry { op: event.op, source, tag: op.tag, at: time });
            self.note(event.op, |times| times.handled = time);
            return Some(());
        };
        let turn = Cause::new(event.op, Part::MessageTurn);
        if op.size > self.params.S {
            let (cpu, nic) = (self.cpu(source, op.cpu), self.nic(source, op.nic));
            self.cpus[cpu].raise(time, turn);
            self.sending[nic].raise(time, turn);
            self.mark_done(source, source, event.op, time, turn);
        }
        self.note_pair(event.op, found.op, time, end, (op.size > self.params.S).then_some(time));
        self.mark_done(host, host, found.op, end, turn);
        Some(())
    }

    /// Records that a message and a receive have met.
    pub(super) fn note_pair(&mut self, send: u32, recv: u32, handled: u64, end: u64, send_end: Option<u64>) {
        self.note(send, |times| {
            (times.handled, times.partner) = (handled, recv);
            times.done = times.done.max(send_end.unwrap_or(0));
        });
        self.note(recv, |times| (times.started, times.done, times.partner) = (handled, end, send));
    }

    /// Releases operations that wait for the start of this one.
    pub(super) fn mark_started(&mut self, host: u32, event: Event) {
        let base = self.schedule.range(host).start as u32;
        for dependent in self.schedule.dependents(event.op as usize).filter(|dependent| dependent.on_start) {
            let op = base + dependent.op;
            self.open[op as usize] -= 1;
            if self.open[op as usize] == 0 {
                // In ATLAHS, these operations are ready at time 0.
                let (ready, cause) = match self.model {
                    Model::Loggopsim2010 => (event.time, Cause::new(event.op, Part::Turn)),
                    Model::Atlahs => (0, Cause::START),
                };
                self.freed.push(Freed { order: host, host, op, ready, cause });
            }
        }
    }

    /// Releases operations that wait for the end of this one.
    pub(super) fn mark_done(&mut self, order: u32, host: u32, op: u32, end: u64, cause: Cause) {
        self.is_done[op as usize] = true;
        self.n_done += 1;
        let base = self.schedule.range(host).start as u32;
        for dependent in self.schedule.dependents(op as usize).filter(|dependent| !dependent.on_start) {
            let op = base + dependent.op;
            let (mut ready, mut why) = (end, cause);
            if let Some(latest) = self.ready.get_mut(op as usize) {
                if latest.0 < end {
                    *latest = (end, cause);
                }
                (ready, why) = *latest;
            }
            self.open[op as usize] -= 1;
            if self.open[op as usize] == 0 {
                self.freed.push(Freed { order, host, op, ready, cause: why });
            }
        }
    }

    /// Makes events of the operations that have become free.
    fn release(&mut self) {
        let mut freed = std::mem::take(&mut self.freed);
        if freed.len() > 1 {
            match self.model {
                Model::Loggopsim2010 => {
                    freed.sort_by_key(|freed| (freed.host, self.schedule.ops()[freed.op as usize].kind));
                }
                Model::Atlahs => freed.sort_by_key(|freed| freed.order),
            }
        }
        for freed in freed.drain(..) {
            let Freed { host, op, ready, cause, .. } = freed;
            let Op { kind, cpu, nic, .. } = self.schedule.ops()[op as usize];
            let (cpu, card) = (self.cpus[self.cpu(host, cpu)], self.sending[self.nic(host, nic)]);
            let ready = Slot { free: ready, cause };
            let start = match (self.model, kind) {
                (Model::Loggopsim2010, Kind::Calc | Kind::Recv) => cpu,
                (Model::Loggopsim2010, Kind::Send) => cpu.or_later(card),
                (Model::Atlahs, Kind::Calc) => ready.or_later(cpu),
                (Model::Atlahs, Kind::Send) => ready.or_later(card),
                (Model::Atlahs, Kind::Recv) => ready,
            };
            self.push_op(freed, start.free, start.cause);
        }
        self.freed = freed;
    }

    fn push_op(&mut self, freed: Freed, time: u64, cause: Cause) {
        self.note(freed.op, |times| (times.posted, times.cause) = (freed.ready, cause));
        let number = self.number();
        self.events.push(Event::new(time, number, freed.op, freed.host, false));
    }

    fn push_message(&mut self, op: u32, source: u32, arrival: u64) {
        self.note(op, |times| (times.arrived, times.message_cause) = (arrival, Cause::new(op, Part::Way)));
        let number = self.number();
        self.events.push(Event::new(arrival, number, op, source, true));
    }

    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }
}

/// The processor and the card that an operation waits for, as one number; `kind` distinguishes computations, sends and
/// messages.
fn place(host: u32, cpu: u8, nic: u8, kind: u64) -> u64 {
    u64::from(host) << 18 | u64::from(cpu) << 10 | u64::from(nic) << 2 | kind
}

const _: () = assert!(NO_OP as usize > crate::goal::MAX_OPERATIONS);
