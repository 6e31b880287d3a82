//! The entry of the interconnect: builds the messages of packets and sends them flit by flit.

use crate::cells::Cells;
use crate::protocol::{Descriptor, Flit, Leg, Message, NodeId, PacketStep, Trail, n_flits};
use crate::world::{Arrival, ExternalPort, Verdict};
use kernel::trace::Counter;
use kernel::{CounterList, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

/// The scheduler's notice to an entry: a bank became short of free cells, or is no longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BankNote {
    /// Index of the scheduler's port.
    pub port: usize,
    /// True if few cells are free.
    pub is_short: bool,
}

/// The nodes of a NIC, by role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nodes {
    /// The scheduler's ports. A NIC without a scheduler lists its substitute, or nothing.
    pub scheduler: Vec<NodeId>,
    /// The DMA engine.
    pub dma: NodeId,
    /// The network ports.
    pub network: Vec<NodeId>,
    /// The units of each service.
    pub units: Vec<Vec<NodeId>>,
    /// Cores that carry packets from unit to unit; empty in a PANIC.
    pub cores: Vec<NodeId>,
}

impl Nodes {
    /// Numbers the nodes as in the RTL: the scheduler's ports are 0 and 3, the DMA engine is 1, the network port 2, units
    /// follow from 4. Additional ports of a larger NIC come after these.
    pub fn new(n_ports: usize, n_networks: usize, units: impl IntoIterator<Item = usize>) -> Nodes {
        let mut next = 3;
        let mut node = || {
            next += 1;
            NodeId(next - 1)
        };
        let mut more = |first: u8, n: usize| std::iter::once(NodeId(first)).chain((1..n).map(|_| node())).collect();
        let (scheduler, network) = (more(0, n_ports), more(2, n_networks));
        let units = units.into_iter().map(|n| (0..n).map(|_| node()).collect()).collect();
        Nodes { scheduler, dma: NodeId(1), network, units, cores: Vec::new() }
    }

    /// Number of nodes.
    pub fn count(&self) -> usize {
        // A NIC with one scheduler port has no gap: numbering continues from 3.
        self.scheduler.len() + 1 + self.network.len() + self.units.iter().map(Vec::len).sum::<usize>()
    }

    /// The node at which packets to `side` leave.
    pub fn exit(&self, side: ExternalPort) -> Option<NodeId> {
        match side {
            ExternalPort::Host(_) => Some(self.dma),
            ExternalPort::Network(port) => self.network.get(usize::from(port)).copied(),
        }
    }
}

/// Builds the messages of packets that enter, and assigns each a bank of the packet buffer.
///
/// Source: RTL: banks take turns, but a bank short of cells is skipped while another is not.
pub struct Entry {
    nodes: Nodes,
    turn: usize,
    is_short: Vec<bool>,
    notes: Option<Rx<BankNote>>,
    /// The allocator, if packets get cells before they enter, and the number of entries that may allocate before this one in a
    /// cycle.
    cells: Option<(Cells, u32)>,
    /// Bank of the cell allocated for the next packet, and the cycle of the allocation.
    granted: Option<usize>,
    taken_at: Option<Cycle>,
    /// Packets sent straight to the host because this NIC lacks their services.
    unserved: Counter,
}

impl Entry {
    /// The entry of a NIC with these nodes; the scheduler sends `notes`.
    pub fn new(nodes: Nodes, notes: Rx<BankNote>) -> Entry {
        Entry { notes: Some(notes), ..Entry::without_notes(nodes) }
    }

    /// The entry of a NIC whose scheduler sends no bank notes.
    pub fn without_notes(nodes: Nodes) -> Entry {
        Entry {
            turn: 0,
            is_short: vec![false; nodes.scheduler.len()],
            notes: None,
            cells: None,
            granted: None,
            taken_at: None,
            unserved: Counter::default(),
            nodes,
        }
    }

    /// Packets need a cell before they enter; `ahead` other entries may allocate one before this in a cycle.
    pub fn with_cells(self, cells: Option<Cells>, ahead: u32) -> Entry {
        Entry { cells: cells.map(|cells| (cells, ahead)), ..self }
    }

    /// Returns true if a packet with this verdict can enter, and allocates its cell if it needs one. Called for one packet a
    /// cycle.
    pub fn admits(&mut self, now: Cycle, verdict: &Verdict) -> bool {
        let Some((cells, ahead)) = &self.cells else { return true };
        let needs_one = !self.nodes.scheduler.is_empty() && !verdict.chain.is_empty();
        if !needs_one || self.granted.is_some() || verdict.exit.and_then(|side| self.nodes.exit(side)).is_none() {
            return true;
        }
        if self.taken_at == Some(now) {
            return false;
        }
        self.granted = cells.take(now, self.turn, *ahead);
        self.taken_at = self.granted.map(|_| now);
        self.turn = (self.turn + 1) % self.nodes.scheduler.len(); // RTL: the turn advances with every attempt.
        self.granted.is_some()
    }

    /// Reads the scheduler's bank notes. Called at each tick.
    pub fn take_bank_notes(&mut self) {
        while let Some(BankNote { port, is_short }) = self.notes.as_ref().and_then(Rx::take) {
            self.is_short[port] = is_short;
        }
    }

    /// Builds the message of a packet that came at `from`; returns the drop reason if it cannot enter.
    pub fn message(
        &mut self,
        now: Cycle,
        from: NodeId,
        arrival: Arrival,
        verdict: Verdict,
    ) -> Result<Box<Message>, Box<Message>> {
        let is_unserved = self.nodes.scheduler.is_empty() && !verdict.chain.is_empty();
        let side = match verdict.exit {
            Some(ExternalPort::Network(_)) if is_unserved => Some(ExternalPort::Host(0)),
            side => side,
        };
        let exit = side.and_then(|side| self.nodes.exit(side));
        let is_scheduled = !verdict.chain.is_empty() && !is_unserved;
        let home = match self.nodes.scheduler.first() {
            Some(_) if is_scheduled && exit.is_some() => self.home(),
            first => first.copied().unwrap_or(self.nodes.dma),
        };
        let mut descriptor = Descriptor {
            id: arrival.id,
            flow: verdict.flow,
            class: verdict.class,
            trail: Trail::with_services(verdict.chain.len()),
            chain: verdict.chain,
            next: 0,
            exit: exit.unwrap_or(self.nodes.dma),
            side: side.unwrap_or(ExternalPort::Host(0)),
            home,
            ranks: Default::default(),
            detours: 0,
            slack_cycles: verdict.slack_cycles,
            waited_cycles: 0,
            fields: verdict.fields,
        };
        descriptor.trail.mark(now, PacketStep::Arrived, from);
        if is_unserved && exit.is_some() {
            descriptor.trail.mark(now, PacketStep::Unserved, from);
            self.unserved.add(1);
        }
        let (to, leg) = if is_scheduled { (home, Leg::Entry) } else { (descriptor.exit, Leg::Exit) };
        let message = Box::new(Message { to, leg, descriptor, data: arrival.bytes });
        if exit.is_some() { Ok(message) } else { Err(message) }
    }

    fn home(&mut self) -> NodeId {
        if self.cells.is_some() {
            return self.nodes.scheduler[self.granted.take().expect("a packet must have a cell before it enters")];
        }
        let n = self.is_short.len();
        let in_turn = (0..n).map(|i| (self.turn + i) % n);
        let chosen = { in_turn }.find(|&port| !self.is_short[port]).unwrap_or(self.turn);
        self.turn = (chosen + 1) % n;
        self.nodes.scheduler[chosen]
    }

    /// Lists the counter of packets whose services this NIC lacks.
    pub fn counters(&self, counters: &mut CounterList) {
        if self.nodes.scheduler.is_empty() {
            counters.add("not_offloaded", self.unserved.total());
        }
    }

    /// Names the port.
    pub fn ports(&self, ports: &mut Ports) {
        if let Some(notes) = &self.notes {
            ports.input("bank_notes", notes);
        }
    }
}

/// Sends messages into the interconnect, one flit a cycle.
pub struct Sender {
    node: NodeId,
    flit_bytes: usize,
    output: Tx<Flit>,
    /// Waiting messages: the first cycle in which each may leave, and its number of flits.
    queue: VecDeque<(Cycle, Box<Message>, usize)>,
    /// Remaining flits of the message whose descriptor has gone.
    rest: usize,
    /// Number of waiting flits, without those of the last run (`waiting`), and the cycle after that run (`run_end`).
    waiting: usize,
    run_end: Cycle,
    /// Maximum number of flits in the buffer. Further flits wait in front of it.
    room: usize,
    /// Flits in the buffer: summed over all cycles before `noted`, and in that cycle.
    buffered: u64,
    noted: Cycle,
    noted_flits: u64,
}

impl Sender {
    /// A sender at `node`.
    pub fn new(node: NodeId, flit_bytes: usize, output: Tx<Flit>) -> Sender {
        let (queue, rest, waiting, run_end, buffered, noted, noted_flits) = Default::default();
        let room = usize::MAX;
        Sender { node, flit_bytes, output, queue, rest, waiting, run_end, room, buffered, noted, noted_flits }
    }

    /// Counts at most `room` flits as buffered.
    pub fn with_room(self, room: usize) -> Sender {
        Sender { room, ..self }
    }

    /// Flits in the buffer, summed over all cycles before `end`. A sent flit leaves the buffer in the next cycle, so during a
    /// run the number falls by one each cycle.
    pub fn buffered_before(&self, end: Cycle) -> u64 {
        if end <= self.noted {
            return self.buffered;
        }
        let begin = self.noted + 1;
        let falling = end.min(self.run_end).saturating_sub(begin);
        let (most, room) = (self.waiting(begin) as u64, self.room as u64);
        let full = most.saturating_add(1).saturating_sub(room).min(falling);
        // The numbers of flits in the following cycles; each is one less than the previous one.
        let rest = falling - full;
        let sum = rest * (most - full) - rest * rest.saturating_sub(1) / 2;
        let level = (self.waiting as u64).min(room) * (end - begin - falling);
        self.buffered + self.noted_flits + full * room.min(most) + sum + level
    }

    /// Notes the number of flits up to `now`, before it changes.
    fn note(&mut self, now: Cycle) {
        if now > self.noted {
            self.buffered = self.buffered_before(now);
            self.noted = now;
            self.noted_flits = self.waiting(now).min(self.room) as u64;
        }
    }

    /// Number of flits, including the next descriptor, that wait when cycle `now` begins.
    pub fn waiting(&self, now: Cycle) -> usize {
        self.waiting + self.run_end.saturating_sub(now) as usize
    }

    /// Queues a message in cycle `now`. Its descriptor may leave from cycle `ready` on.
    pub fn push(&mut self, now: Cycle, ready: Cycle, message: Box<Message>) {
        let n = n_flits(message.data.len(), self.flit_bytes);
        self.note(now);
        self.waiting += n;
        self.queue.push_back((ready, message, n));
        self.noted_flits = self.waiting(now).min(self.room) as u64;
    }

    /// Sends a flit, if one is due and there is room, or a run of them. Returns the cycle of the next attempt, or `None` if a
    /// port must change first.
    pub fn send(&mut self, now: Cycle) -> Option<Cycle> {
        let ready = match self.queue.front() {
            _ if self.run_end > now => self.run_end,
            _ if self.rest > 0 => now,
            Some(&(ready, ..)) => ready,
            None => return None,
        };
        if ready > now {
            return Some(ready);
        }
        if !self.output.has_room() {
            return None;
        }
        self.note(now);
        if self.rest > 1 {
            let n = (self.rest - 1).min(self.output.room_for_run());
            self.output.send_run(n, Flit::Body);
            (self.rest, self.waiting, self.run_end) = (self.rest - n, self.waiting - n, now + n as Cycle);
            return Some(self.run_end);
        }
        self.waiting -= 1;
        if self.rest == 1 {
            self.rest = 0;
            self.output.send(Flit::Tail);
        } else {
            let (_, mut message, n) = self.queue.pop_front().expect("a message must be waiting");
            message.descriptor.trail.mark(now, PacketStep::Entered, self.node);
            self.rest = n - 1;
            self.output.send(Flit::Head(message));
        }
        (self.waiting > 0).then_some(now + 1)
    }

    /// Names the port.
    pub fn ports(&self, ports: &mut Ports) {
        ports.output("out", &self.output);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::flits;
    use kernel::{Activity, Component};

    /// Sends a message of 25 flits at cycle 10 and 15, and compares the sum of buffered flits with a count cycle by cycle.
    struct Scene {
        sender: Sender,
        room: usize,
        counted: u64,
    }

    impl Component for Scene {
        fn tick(&mut self, now: Cycle) -> Activity {
            if now == 10 || now == 15 {
                let [(_, Flit::Head(message)), ..] = &flits("0 1 0 1500")[..] else { panic!("a message") };
                self.sender.push(now, now + 1, message.clone());
            }
            self.counted += self.sender.waiting(now).min(self.room) as u64;
            self.sender.send(now);
            assert_eq!(self.sender.buffered_before(now + 1), self.counted, "cycle {now}");
            // By then all flits are gone.
            if now < 250 { Activity::Busy } else { Activity::Idle }
        }

        fn ports(&self, ports: &mut Ports) {
            self.sender.ports(ports);
        }
    }

    #[test]
    fn buffered_flits_are_those_that_the_buffer_holds() {
        for (room, takes_all) in [(usize::MAX, true), (usize::MAX, false), (40, true), (8, true), (8, false)] {
            testkit::bench(300, |bench| {
                let output = bench.output("out", 8, move |now| takes_all || now % 3 == 0, |_| String::new());
                let sender = Sender::new(NodeId(0), 64, output).with_room(room);
                bench.add("sender", Scene { sender, room, counted: 0 });
            });
        }
    }
}
