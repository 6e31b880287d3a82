//! The central scheduler: buffers packets and assigns them to units in order of rank (4.3).

pub(crate) mod buffer;
mod credits;
mod crossing;
mod drops;
mod leaving;
mod params;
#[cfg(test)]
mod tests;

pub use crossing::CrossingParams;
pub use drops::PACKET_DROPPED;
pub use params::{BufferParams, DropParams, PifoParams, SchedulerParams, ServiceParams, UnitParams};

use crate::cells::Cells;
use crate::drops::DropReason;
use crate::entry::BankNote;
use crate::pifo::LogicalPifo;
use crate::policy::{Arrival, Policy};
use crate::protocol::{CreditNote, Flit, Leg, Message, NodeId, PacketStep};
use crate::world::SharedOutlet;
use buffer::Bank;
use credits::Credits;
use crossing::Crossing;
use drops::Drops;
use kernel::trace::{Counter, EventKind, Level, Tracer};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

/// Packet `id` is queued for `service`; `rank` is its rank at the outermost level.
pub static PACKET_QUEUED: EventKind =
    EventKind { name: "packet_queued", fields: &["id", "service", "rank"], number: 0 };
/// Packet `id` leaves for a unit after `waited` cycles.
pub static PACKET_SCHEDULED: EventKind =
    EventKind { name: "packet_scheduled", fields: &["id", "node", "waited"], number: 0 };
/// The number of credits of a unit changed.
pub static CREDITS: EventKind = EventKind { name: "credits", fields: &["node", "held"], number: 0 };

/// A port of the scheduler on the interconnect.
pub struct SchedulerPort {
    /// Its node on the interconnect.
    pub node: NodeId,
    /// Packets that arrive.
    pub input: Rx<Flit>,
    /// Packets that leave.
    pub output: Tx<Flit>,
}

/// Location of a packet in the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct BufferCell {
    port: usize,
    cell: usize,
}

/// State of a port's input.
enum Receiving {
    Nothing,
    Into(usize),
    /// Discarding the rest of a packet that was dropped at its descriptor.
    Away,
}

struct Port {
    wires: SchedulerPort,
    bank: Bank,
    receiving: Receiving,
    /// Popped packets, and the cycle from which each can leave.
    leaving: VecDeque<(Cycle, usize)>,
    /// Their number over time.
    n_leaving: Level,
    /// The cycle after the last run of flits that was sent.
    run_end: Cycle,
}

/// A PIFO block.
struct Block {
    /// The services of the block, in the order in which their packets leave.
    services: Vec<usize>,
    /// Packets waiting for their push: first cycle, service and location.
    entering: VecDeque<(Cycle, usize, BufferCell)>,
    pushed: Counter,
}

/// The central scheduler.
///
/// Ports:   `in[i]` and `out[i]`, one flit a cycle each; `notes[j]` from unit j, numbered across all services.
/// Timing:  a descriptor that arrives in cycle t is pushed at the first push edge from t + `enqueue_cycles` on and may be
///          popped in the same cycle. It leaves `dequeue_cycles` after its pop, followed by its packet as far as it has
///          arrived. A credit counts in the cycle of its note. Push edges are multiples of `push_cycles`, pop edges of
///          `pop_cycles`. A block pops for its last service first (RTL).
/// Modes:   push and pull share one path (RTL): every packet enters its PIFO and leaves when a unit has a credit.
/// Drops:   see [`DropParams`]. If a port's bank is full, the port drops packets of that bank, one a cycle, until a cell is
///          free. It takes the last packet of the PIFO for which the arriving packet is meant, otherwise of the longest PIFO.
///          So a packet can always enter, and the NIC cannot deadlock.
/// Source:  4.3; RTL for ports, cells, thresholds, order of services.
/// Differs: in the RTL the parser holds a packet until it has a cell. Here a packet learns at the scheduler whether it has one.
///          It cannot wait there, because packets that return from units would wait behind it. The RTL keeps credits between
///          0 and the initial number. Here they may go below 0, so that none is lost when a pushed packet takes the room of a
///          packet with a credit. The RTL lowers the rank at every entry, the model only after detours.
pub struct Scheduler {
    params: SchedulerParams,
    ports: Vec<Port>,
    notes: Vec<Rx<CreditNote>>,
    queues: Vec<LogicalPifo<BufferCell>>,
    blocks: Vec<Block>,
    /// FIFOs behind the services' PIFOs, if the NIC has them.
    crossings: Vec<Crossing<BufferCell>>,
    credits: Credits,
    tracer: Tracer,
    entered: Counter,
    detours: Counter,
    scheduled: Counter,
    waited_cycles: Counter,
    pushes_planned: Counter,
    /// Packets in the buffer, and whether their number may have changed in this cycle.
    buffered: Level,
    cells_changed: bool,
    /// A packet at an input could not be accepted in this cycle.
    is_blocked: bool,
    drops: Drops,
    outlet: Option<SharedOutlet>,
    /// Entries that receive bank notes, and which banks are short of cells.
    bank_notes: Vec<Tx<BankNote>>,
    is_short: Vec<bool>,
    /// The allocator, if packets get their cells before they arrive here.
    cells: Option<Cells>,
}

impl Scheduler {
    /// A scheduler with these ports and the note channels of all units in order. The parameters must have passed their check.
    pub fn new(
        params: SchedulerParams,
        ports: Vec<SchedulerPort>,
        notes: Vec<Rx<CreditNote>>,
        tracer: Tracer,
    ) -> Scheduler {
        params
            .check(ports.len())
            .unwrap_or_else(|error| panic!("the parameters must have passed their check: {error}"));
        let n_units: usize = params.services.iter().map(|service| service.units.len()).sum();
        assert_eq!(notes.len(), n_units, "each unit needs a note channel");
        let cells = params.buffer.cells as usize;
        let PifoParams { crossing, crossing_slots, pop_cycles, .. } = params.pifo;
        let crossing = |_| crossing.map(|crossing| Crossing::new(crossing, crossing_slots as usize, pop_cycles));
        let crossings = params.services.iter().filter_map(crossing).collect();
        let (n_services, n_blocks) = (params.services.len(), params.pifo.blocks as usize);
        let block = |block: usize| Block {
            services: (block..n_services).step_by(n_blocks).rev().collect(),
            entering: VecDeque::new(),
            pushed: Counter::default(),
        };
        let port = |wires| Port {
            wires,
            bank: Bank::new(cells),
            receiving: Receiving::Nothing,
            leaving: VecDeque::new(),
            n_leaving: Level::default(),
            run_end: 0,
        };
        Scheduler {
            ports: ports.into_iter().map(port).collect(),
            notes,
            queues: params.services.iter().map(|service| LogicalPifo::of(&service.policy, params.n_classes)).collect(),
            blocks: (0..params.pifo.blocks as usize).map(block).collect(),
            credits: Credits::new(&params.services),
            tracer,
            entered: Counter::default(),
            detours: Counter::default(),
            scheduled: Counter::default(),
            waited_cycles: Counter::default(),
            pushes_planned: Counter::default(),
            buffered: Level::default(),
            cells_changed: true,
            is_blocked: false,
            drops: Drops::new(params.n_classes),
            outlet: None,
            bank_notes: Vec::new(),
            is_short: Vec::new(),
            cells: None,
            crossings,
            params,
        }
    }

    /// Reports drops to `outlet`.
    pub fn with_outlet(self, outlet: SharedOutlet) -> Scheduler {
        Scheduler { outlet: Some(outlet), ..self }
    }

    /// Sends bank notes on these channels, which need room for twice the number of ports.
    pub fn with_bank_notes(self, bank_notes: Vec<Tx<BankNote>>) -> Scheduler {
        let is_short = vec![false; self.ports.len()];
        Scheduler { bank_notes, is_short, ..self }
    }

    /// Packets have a cell from `cells` before they arrive.
    pub fn with_cells(self, cells: Option<Cells>) -> Scheduler {
        Scheduler { cells, ..self }
    }

    /// Replaces the policy of a service with a user's own.
    pub fn with_policy(mut self, service: usize, policy: Box<dyn Policy>) -> Scheduler {
        self.queues[service] = LogicalPifo::new(policy, self.params.n_classes);
        self
    }

    /// Cells of all banks.
    fn n_cells(&self) -> u64 {
        self.ports.len() as u64 * u64::from(self.params.buffer.cells)
    }

    fn take_notes(&mut self, now: Cycle) {
        for (unit, notes) in self.notes.iter().enumerate() {
            while let Some(note) = notes.take_due(now) {
                self.credits.take_note(unit, note);
                self.credits.trace_held(unit, now, &self.tracer);
            }
        }
    }

    /// Takes a flit from a port if possible, or a run of them. Returns true if there is more to do at the next edge.
    fn receive(&mut self, now: Cycle, which: usize) -> bool {
        let port = &mut self.ports[which];
        if !port.wires.input.is_due(now) {
            return false;
        }
        if port.wires.input.has_run() {
            let n = port.wires.input.take_run(now, usize::MAX);
            if let Receiving::Into(cell) = port.receiving {
                port.bank.write_run(cell, now, n);
            }
            return false; // `input` wakes the scheduler when the next flit can be taken.
        }
        match port.receiving {
            Receiving::Nothing => return self.admit(now, which),
            Receiving::Into(cell) => {
                let is_last = port.wires.input.take_due(now) == Some(Flit::Tail);
                port.bank.write(cell, is_last);
                if is_last {
                    port.receiving = Receiving::Nothing;
                    self.cells_changed = true; // The cell is free if the packet was dropped.
                }
            }
            Receiving::Away => {
                if port.wires.input.take_due(now) == Some(Flit::Tail) {
                    port.receiving = Receiving::Nothing;
                }
            }
        }
        true
    }

    /// Accepts a descriptor at a port if possible. Returns true if it did.
    fn admit(&mut self, now: Cycle, which: usize) -> bool {
        let port = &mut self.ports[which];
        let (fault, service) = match &*port.wires.input.peek().expect("a flit must be there") {
            Flit::Head(message) => {
                (drops::fault(&self.params, message), message.descriptor.hop().map(|hop| hop.service))
            }
            _ => panic!("a message must begin with its descriptor"),
        };
        let take = |port: &Port| match port.wires.input.take() {
            Some(Flit::Head(message)) => message,
            _ => unreachable!("the flit must be a descriptor"),
        };
        if let Some(reason) = fault {
            port.receiving = Receiving::Away;
            let message = take(port);
            if let Some(cells) = &self.cells {
                cells.leaves(now, &message);
            }
            self.note_drop(now, message, reason);
            return true;
        }
        let service = usize::from(service.expect("a service must be left to visit"));
        let block = &mut self.blocks[service % self.params.pifo.blocks as usize];
        if block.entering.len() >= self.params.pifo.entering_slots() {
            self.is_blocked = true; // The block continues first.
            return false;
        }
        if port.bank.n_free() == 0 {
            let has_dropped = self.make_room(now, which, service);
            self.is_blocked |= !has_dropped;
            return has_dropped;
        }
        let mut message = take(port);
        message.descriptor.trail.mark(now, PacketStep::Queued, port.wires.node);
        self.entered.add(1);
        self.detours.add(u64::from(message.leg == Leg::Detour));
        let cell = port.bank.begin(message, now);
        port.receiving = Receiving::Into(cell);
        let ready = now + Cycle::from(self.params.pifo.enqueue_cycles);
        block.entering.push_back((ready, service, BufferCell { port: which, cell }));
        self.cells_changed = true;
        true
    }

    /// Drops a packet of the bank that is full; a drop from another bank would not free a cell here.
    fn make_room(&mut self, now: Cycle, which: usize, service: usize) -> bool {
        let mut others: Vec<usize> = (0..self.queues.len()).filter(|&i| i != service).collect();
        others.sort_by_key(|&i| std::cmp::Reverse(self.queues[i].len()));
        let queues = std::iter::once(service).chain(others);
        let place = { queues }.find_map(|i| self.queues[i].drop_last_of(|place| place.port == which));
        place.is_some_and(|place| {
            self.drop(now, place, DropReason::Cells);
            true
        })
    }

    /// Drops the last packet of a logical PIFO, which must not be empty.
    fn drop_last(&mut self, now: Cycle, service: usize, reason: DropReason) {
        let place = self.queues[service].drop_last().expect("the PIFO must hold a packet");
        self.drop(now, place, reason);
    }

    fn drop(&mut self, now: Cycle, BufferCell { port, cell }: BufferCell, reason: DropReason) {
        let message = self.ports[port].bank.drop(cell);
        if let Some(cells) = &self.cells {
            cells.dropped(now, &message);
        }
        self.cells_changed = true;
        self.note_drop(now, message, reason);
    }

    fn note_drop(&mut self, now: Cycle, message: Box<Message>, reason: DropReason) {
        self.drops.note(&self.tracer, now, &message, reason);
        if let Some(outlet) = &self.outlet {
            outlet.borrow_mut().drop(now, *message, reason);
        }
    }

    /// Counts the packets in the buffer, and sends a note for each bank that became short of cells or is no longer.
    fn note_cells(&mut self, now: Cycle) {
        let n_free: usize = self.ports.iter().map(|port| port.bank.n_free()).sum();
        self.buffered.set(now, self.n_cells() - n_free as u64);
        for (port, is_short) in self.is_short.iter_mut().enumerate() {
            let now_short = self.ports[port].bank.n_free() <= self.params.dropping.free_cells as usize;
            if *is_short != now_short {
                *is_short = now_short;
                self.bank_notes.iter().for_each(|notes| notes.send(BankNote { port, is_short: now_short }));
            }
        }
    }

    /// Pushes a packet into a block. Returns the cycle of the next attempt, or `None` if no packet waits.
    fn push(&mut self, now: Cycle, block: usize) -> Option<Cycle> {
        let entering = &mut self.blocks[block].entering;
        let &(from, ..) = entering.front()?;
        let push_cycles = self.params.pifo.push_cycles.into();
        if from > now || !now.is_multiple_of(push_cycles) {
            return Some(from.max(now).next_multiple_of(push_cycles));
        }
        let (_, service, place) = entering.pop_front().expect("a packet must be waiting");
        self.blocks[block].pushed.add(1);
        let few = self.params.dropping.free_cells as usize;
        let are_few = match &self.cells {
            Some(cells) => cells.are_few(now),
            None => self.ports.iter().all(|port| port.bank.n_free() <= few),
        };
        let Message { descriptor, leg, data, .. } = self.ports[place.port].bank.message(place.cell).0;
        let hop = &descriptor.chain[descriptor.next];
        let arrival = Arrival {
            now,
            class: hop.class.into(),
            flow: descriptor.flow,
            bytes: data.len() as u32,
            priority: hop.priority,
            slack_cycles: descriptor.slack_cycles.saturating_sub(descriptor.waited_cycles),
            metadata: hop.metadata,
        };
        let raise = if *leg == Leg::Detour { self.params.detour_raise } else { 0 };
        let queue = &mut self.queues[service];
        // RTL: the packet popped at this edge still counts.
        let n_queued = queue.len() + usize::from(self.crossings.get(service).is_some_and(Crossing::has_popped));
        queue.push(&arrival, &mut descriptor.ranks, raise, place);
        let rank = descriptor.ranks.last().expect("a queued packet must have a rank").rank;
        self.tracer.emit(&PACKET_QUEUED, now, &[descriptor.id, service as u64, rank]);
        let dropping = self.params.dropping;
        if n_queued >= dropping.used_entries as usize {
            self.drop_last(now, service, DropReason::Entries);
        } else if are_few && n_queued > dropping.spared_entries as usize {
            self.drop_last(now, service, DropReason::Cells);
        }
        // A packet at an input may wait for the slot that is free now. Or it may wait until this packet can be dropped, which is
        // from now on.
        (self.is_blocked || !self.blocks[block].entering.is_empty()).then_some(now + 1)
    }

    /// Sends a flit from a port, or a run of them. Returns the cycle of the next attempt, or `None` if a port must change first.
    fn send(&mut self, now: Cycle, which: usize) -> Option<Cycle> {
        let port = &mut self.ports[which];
        let &(ready, cell) = port.leaving.front()?;
        let earliest = match port.bank.n_read(cell) {
            0 => ready,
            // The bytes are read out of the buffer.
            n_read => ready + Cycle::from(n_read) + Cycle::from(self.params.buffer.read_cycles),
        };
        let next = port.bank.next(cell, now)?.max(earliest).max(port.run_end);
        if next > now {
            return Some(next);
        }
        let room = port.wires.output.room_for_run();
        if room == 0 {
            return None;
        }
        let n = port.bank.read_run(cell, room);
        if n > 0 {
            port.wires.output.send_run(n, Flit::Body);
            port.run_end = now + n as Cycle;
            return Some(port.run_end);
        }
        let mut flit = port.bank.read(cell);
        match &mut flit {
            Flit::Head(message) => message.descriptor.trail.mark(now, PacketStep::Scheduled, port.wires.node),
            Flit::Body => {}
            Flit::Tail => {
                port.leaving.pop_front();
                // No other packet takes the slot of this packet before the next cycle.
                port.n_leaving.set(now + 1, port.leaving.len() as u64);
                self.cells_changed = true;
            }
        }
        port.wires.output.send(flit);
        Some(now + 1)
    }
}

impl Component for Scheduler {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.take_notes(now);
        self.is_blocked = false;
        let mut is_active = false;
        for which in 0..self.ports.len() {
            is_active |= self.receive(now, which);
        }
        let mut next: Option<Cycle> = None;
        self.pop_into_crossings(now);
        for block in 0..self.blocks.len() {
            let push = self.push(now, block);
            let pop = match self.crossings.is_empty() {
                true => self.pop(now, block),
                false => self.take_from_crossings(now, block),
            };
            next = [next, push, pop].into_iter().flatten().min();
            is_active |= !self.crossings.is_empty() && push.is_some();
        }
        for which in 0..self.ports.len() {
            let send = self.send(now, which);
            next = [next, send].into_iter().flatten().min();
        }
        if std::mem::take(&mut self.cells_changed) {
            self.note_cells(now);
        }
        match next {
            Some(next) if !is_active && next > now + 1 => Activity::Until(next),
            _ if is_active || next.is_some() => Activity::Busy,
            _ => Activity::Idle,
        }
    }

    fn ports(&self, ports: &mut Ports) {
        for (i, port) in self.ports.iter().enumerate() {
            ports.input(&format!("in[{i}]"), &port.wires.input);
            ports.output(&format!("out[{i}]"), &port.wires.output);
        }
        ports.inputs("notes", &self.notes);
        ports.outputs("bank_notes", &self.bank_notes);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("entered", self.entered.total());
        counters.add("detours", self.detours.total());
        counters.add("scheduled", self.scheduled.total());
        counters.add("waited_cycles", self.waited_cycles.total());
        counters.add("pushes_planned", self.pushes_planned.total());
        counters.held(
            "buffered_packet_cycles",
            &self.buffered,
            self.n_cells(),
            "packets in the packet buffer: its cells",
        );
        let slots = self.params.pifo.leaving_slots() as u64;
        for (i, port) in self.ports.iter().enumerate() {
            let limit = format!("descriptors on their way to port {i}");
            counters.held(&format!("leaving_packet_cycles[{i}]"), &port.n_leaving, slots, &limit);
        }
        let slots = self.params.pifo.crossing_slots.into();
        for (i, crossing) in self.crossings.iter().enumerate() {
            let cycles = crossing.occupied_before(counters.now() + 1);
            counters.held_for(&format!("crossing_packet_cycles[{i}]"), cycles, slots, "the FIFO behind the PIFO");
        }
        let push_cycles = u64::from(self.params.pifo.push_cycles);
        for (i, block) in self.blocks.iter().enumerate() {
            let limit = format!("PIFO block {i}: a packet each {push_cycles} cycles");
            counters.busy(&format!("pifo_cycles[{i}]"), block.pushed.total() * push_cycles, 1, &limit);
        }
        self.credits.held().enumerate().for_each(|(i, held)| counters.add(&format!("credits[{i}]"), held));
        self.drops.counters(counters);
    }
}
