//! `tengig-registers`: the registers of the 10 Gigabit NIC, which connect processors, assists and host.
//!
//! Ports:   `cpus[i]` and `host` (memory, answer): words at the offsets of [`map`]; `interrupt` (interrupt, sends); for each
//!          assist its orders (sends) and its progress (receives); `sources` (event-sources, sends, optional) and `posted`
//!          (posted-slots, receives, optional): an `event-queue`.
//! Timing:  one cycle: an access is answered at the edge that sees it; one a cycle at each port, all ports at once.
//! Order:   a read of a free lock takes it. If several processors read it at one edge, the first in turn gets it; the turn
//!          advances every cycle.
//! Errors:  an access other than to a whole word is a bus error.
//! Source:  assumed, see `firmware/tengig/regs.h`; the Tigon-2's registers answer in one cycle too (thesis, 2.1.2).

mod assists;

use super::event_messages::{EventSource, PostedSlots};
use super::map;
use assists::{Assists, Dma, Receive, Transmit};
use blocks::assist::{DmaOrder, DmaProgress, ReceiveOrder, ReceiveProgress, TransmitOrder, TransmitProgress};
use blocks::bus::{Access, BusError, Data, Reference, Reply, Responder, word};
use blocks::bus::{WordAccess, WordAnswer, WordLane, WordOp, word_and_token};
use blocks::checks;
use blocks::interrupt::InterruptLine;
use blocks::netlist::{Built, Memory, Module, OneWay, PortSpec, Site};
use kernel::trace::Counter;
use kernel::{Activity, Clock, Component, CounterList, Cycle, Ports, Rx, Time, Tx, members};
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Parameters of [`TengigRegisters`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TengigRegistersParams {
    /// Number of processors, 1 to 32. Source: thesis, 4.5 (six and eight are evaluated).
    pub cpus: usize,
}

/// The ports of a [`TengigRegisters`].
pub struct TengigRegistersPorts {
    /// Processors.
    pub cpus: Vec<Responder>,
    /// The host's accesses.
    pub host: Responder,
    /// To the host.
    pub interrupt: Tx<InterruptLine>,
    /// Orders to the DMA read assist, and its progress.
    pub dma_read: (Tx<DmaOrder>, Rx<DmaProgress>),
    /// Likewise for the DMA write assist.
    pub dma_write: (Tx<DmaOrder>, Rx<DmaProgress>),
    /// Likewise for the transmitter.
    pub mac_transmit: (Tx<TransmitOrder>, Rx<TransmitProgress>),
    /// Likewise for the receiver.
    pub mac_receive: (Tx<ReceiveOrder>, Rx<ReceiveProgress>),
    /// Pointer values for an event queue.
    pub sources: Option<Tx<EventSource>>,
    /// Filled slots from an event queue.
    pub posted: Option<Rx<PostedSlots>>,
}

/// Number of pointers reported to an event queue, plus the timer's period.
const SENT_VALUES: usize = 6;

/// Pointers, mailboxes, timer, locks, and settings from the host for the firmware.
pub struct TengigRegisters {
    params: TengigRegistersParams,
    clock: Clock,
    cpus: Vec<Responder>,
    /// The lanes of the processors, which replace their channels.
    lanes: Vec<Rc<WordLane>>,
    /// Processors that have sent references which were not taken yet.
    arrivals: Rc<Cell<u64>>,
    host: Responder,
    interrupt: Tx<InterruptLine>,
    assists: Assists,
    sources: Option<Tx<EventSource>>,
    posted: Option<Rx<PostedSlots>>,
    /// Latest values sent to the event queue: pointers, then the timer's period.
    sent: [u32; SENT_VALUES],
    /// Written words; pointers and locks are stored elsewhere.
    words: Vec<u32>,
    locks: u32,
    interrupts: Counter,
    /// Level of the line after all unsent changes.
    is_raised: bool,
    changes: VecDeque<bool>,
    accesses: Counter,
    /// Reads of a lock that was taken.
    contended: Counter,
    faults: Counter,
}

impl TengigRegisters {
    /// All registers are 0 and all locks free; `clock` drives it.
    pub fn new(params: TengigRegistersParams, ports: TengigRegistersPorts, clock: Clock) -> TengigRegisters {
        let assists = Assists {
            dma_read: Dma::new(ports.dma_read),
            dma_write: Dma::new(ports.dma_write),
            transmit: Transmit::new(ports.mac_transmit),
            receive: Receive::new(ports.mac_receive),
        };
        let arrivals: Rc<Cell<u64>> = Rc::default();
        let lane = |(cpu, port): (usize, &Responder)| {
            // All addresses are valid, because only the offset counts.
            let lane = Rc::new(WordLane::new(0, u64::MAX, &arrivals, 1 << cpu).of_whole_words());
            port.references.announce(&arrivals, 1 << cpu);
            port.references.offer(lane.clone());
            lane
        };
        let lanes = ports.cpus.iter().enumerate().map(lane).collect();
        TengigRegisters {
            params,
            clock,
            lanes,
            arrivals,
            cpus: ports.cpus,
            host: ports.host,
            interrupt: ports.interrupt,
            assists,
            sources: ports.sources,
            posted: ports.posted,
            sent: [0; SENT_VALUES],
            words: vec![0; (map::WINDOW_BYTES / 4) as usize],
            locks: 0,
            interrupts: Counter::default(),
            is_raised: false,
            changes: VecDeque::new(),
            accesses: Counter::default(),
            contended: Counter::default(),
            faults: Counter::default(),
        }
    }

    /// Executes an access. `cpu` is the accessing processor, or `None` for the host.
    fn answer(&mut self, now: Cycle, cpu: Option<usize>, reference: Reference) -> Reply {
        self.accesses.add(1);
        let Reference { id, addr, access } = reference;
        // The wiring selects the window; only the offset in it counts.
        let offset = addr as u32 % map::WINDOW_BYTES;
        let result = match access.len() {
            4 if offset.is_multiple_of(4) => match access {
                Access::Read(_) => Ok(Data::from_slice(&self.read(now, cpu, offset).to_be_bytes())),
                Access::Write(data) => {
                    self.write(offset, word(&data));
                    Ok(Data::new())
                }
                Access::Linked(_) => Err(BusError::NoLink(addr)),
            },
            bytes => Err(BusError::Length(addr, bytes)),
        };
        if result.is_err() {
            self.faults.add(1);
        }
        Reply::new(id, result)
    }

    /// Executes a processor's access over its lane.
    fn answer_word(&mut self, now: Cycle, cpu: usize, access: WordAccess) {
        let result = self.answer(now, Some(cpu), access.reference()).result.map(|data| word_and_token(&data));
        let answer = WordAnswer { at: now + 1, result, waited: Time::ZERO };
        if self.lanes[cpu].answer(answer, matches!(access.op, WordOp::Write { .. })) {
            self.cpus[cpu].replies.wake_receiver(now + 1);
        }
    }

    /// The processors with references, beginning with the one whose turn it is in this cycle.
    fn in_turn(&self, now: Cycle) -> impl Iterator<Item = u32> + use<> {
        let (arrived, first) = (self.arrivals.get(), now % self.params.cpus as u64);
        members(arrived >> first << first).chain(members(arrived & !(u64::MAX << first)))
    }

    /// Pointer values from which events are made, in the order of the firmware's types, and the timer's period.
    fn newest(&self) -> [u32; SENT_VALUES] {
        let Assists { dma_read, dma_write, transmit, receive } = &self.assists;
        let word = |offset: u32| self.words[(offset / 4) as usize];
        // Descriptors are fetched only for frames with a place in the transmitter's ring; two per frame.
        let sendable = transmit.consumer.count().wrapping_add(map::MAC_TRANSMIT_ENTRIES - 1).wrapping_mul(2);
        [
            earlier(word(map::MAILBOX_SEND), sendable),
            word(map::MAILBOX_RECEIVE),
            dma_read.consumer.count(),
            dma_write.consumer.count(),
            earlier(receive.producer.count(), word(map::BUFFERS_THERE)),
            word(map::COALESCE_US),
        ]
    }

    /// Sends changed values to the event queue as far as there is room; room for the rest wakes this component.
    fn send_changed_values(&mut self) {
        let Some(sources) = &self.sources else { return };
        let newest = self.newest();
        for (source, (sent, newest)) in (0..).zip(self.sent.iter_mut().zip(newest)) {
            if *sent != newest && sources.has_room() {
                let is_pointer = usize::from(source) < SENT_VALUES - 1;
                sources.send(if is_pointer {
                    EventSource::Pointer(source, newest)
                } else {
                    EventSource::TickEvery(newest)
                });
                *sent = newest;
            }
        }
    }

    /// Processes reports of filled slots. Returns true if there were any.
    fn take_posted(&mut self) -> bool {
        let mut has_any = false;
        while let Some(PostedSlots { ring, producer }) = self.posted.as_ref().and_then(Rx::take) {
            let assist = if ring == 0 { &mut self.assists.dma_read } else { &mut self.assists.dma_write };
            assist.set_producer(producer);
            has_any = true;
        }
        has_any
    }

    fn microseconds(&self, now: Cycle) -> u32 {
        (self.clock.edge(now).ns() / 1000) as u32
    }

    fn read(&mut self, now: Cycle, cpu: Option<usize>, offset: u32) -> u32 {
        let Assists { dma_read, dma_write, transmit, receive } = &self.assists;
        match offset {
            map::CPU_ID => cpu.map_or(u32::MAX, |cpu| cpu as u32),
            map::CPUS => self.params.cpus as u32,
            map::TIMER => self.microseconds(now),
            map::DMA_READ_BASE => dma_read.base,
            map::DMA_READ_PRODUCER => dma_read.producer,
            map::DMA_READ_CONSUMER => dma_read.consumer.count(),
            map::DMA_WRITE_BASE => dma_write.base,
            map::DMA_WRITE_PRODUCER => dma_write.producer,
            map::DMA_WRITE_CONSUMER => dma_write.consumer.count(),
            map::MAC_TRANSMIT_BASE => transmit.base,
            map::MAC_TRANSMIT_PRODUCER => transmit.producer,
            map::MAC_TRANSMIT_CONSUMER => transmit.consumer.count(),
            map::MAC_RECEIVE_BASE => receive.base,
            map::MAC_RECEIVE_PRODUCER => receive.producer.count(),
            map::MAC_RECEIVE_CONSUMER => receive.consumer,
            _ => match lock_at(offset) {
                Some(lock) => self.take_lock(lock),
                None => self.words[(offset / 4) as usize],
            },
        }
    }

    fn write(&mut self, offset: u32, value: u32) {
        let Assists { dma_read, dma_write, transmit, receive } = &mut self.assists;
        self.words[(offset / 4) as usize] = value;
        match offset {
            map::INTERRUPT => self.set_line(value != 0),
            map::DMA_READ_BASE => dma_read.set_base(value),
            map::DMA_READ_PRODUCER => dma_read.set_producer(value),
            map::DMA_WRITE_BASE => dma_write.set_base(value),
            map::DMA_WRITE_PRODUCER => dma_write.set_producer(value),
            map::MAC_TRANSMIT_BASE => transmit.set_base(value),
            map::MAC_TRANSMIT_PRODUCER => transmit.set_producer(value),
            map::MAC_RECEIVE_BASE => receive.set_base(value),
            map::MAC_RECEIVE_CONSUMER => receive.set_consumer(value),
            map::RECEIVE_AREA => receive.area = value,
            map::RECEIVE_AREA_BYTES => receive.enable(value),
            map::MAC_STATISTICS => receive.orders.push(ReceiveOrder::Statistics(u64::from(value))),
            map::RECEIVE_AREA_CONSUMER => receive.orders.push(ReceiveOrder::BufferConsumer(u64::from(value))),
            _ => {
                if let Some(lock) = lock_at(offset) {
                    self.locks &= !(1 << lock);
                }
            }
        }
    }

    fn set_line(&mut self, is_raised: bool) {
        if is_raised != self.is_raised {
            self.is_raised = is_raised;
            self.interrupts.add(u64::from(is_raised));
            // The second of two unseen changes restores the line, so both are dropped.
            if self.changes.len() < 2 {
                self.changes.push_back(is_raised);
            } else {
                self.changes.pop_back();
            }
        }
    }

    fn take_lock(&mut self, lock: u32) -> u32 {
        let was_held = self.locks >> lock & 1;
        self.locks |= 1 << lock;
        self.contended.add(u64::from(was_held));
        was_held
    }
}

/// The smaller of two counts, modulo wrap-around.
fn earlier(a: u32, b: u32) -> u32 {
    if a.wrapping_sub(b) > 1 << 31 { a } else { b }
}

/// The lock at this offset.
fn lock_at(offset: u32) -> Option<u32> {
    let lock = offset.checked_sub(map::LOCK_WORDS)? / 4;
    (lock < map::LOCKS).then_some(lock)
}

/// The next access at a port whose answer has room.
fn next_at(port: &Responder) -> Option<Reference> {
    if port.references.has_item() && port.replies.has_room() { port.references.take() } else { None }
}

impl Component for TengigRegisters {
    fn tick(&mut self, now: Cycle) -> Activity {
        let Assists { dma_read, dma_write, transmit, receive } = &mut self.assists;
        dma_read.tick();
        dma_write.tick();
        transmit.tick();
        receive.tick();
        let mut is_active = self.take_posted();
        for cpu in self.in_turn(now) {
            let cpu = cpu as usize;
            if let Some(access) = self.lanes[cpu].take(now) {
                self.answer_word(now, cpu, access);
                is_active = true;
            } else if let Some(reference) = next_at(&self.cpus[cpu]) {
                if self.cpus[cpu].references.due() == Cycle::MAX {
                    self.arrivals.set(self.arrivals.get() & !(1 << cpu));
                }
                let reply = self.answer(now, Some(cpu), reference);
                self.cpus[cpu].replies.send(reply);
                is_active = true;
            }
        }
        if let Some(reference) = next_at(&self.host) {
            let reply = self.answer(now, None, reference);
            self.host.replies.send(reply);
            is_active = true;
        }
        while !self.changes.is_empty() && self.interrupt.has_room() {
            let change = self.changes.pop_front().map(|is_raised| InterruptLine { is_raised });
            change.into_iter().for_each(|line| self.interrupt.send(line));
        }
        self.send_changed_values();
        // Writes and filled slots of this edge are forwarded at the next, and a second access is answered there.
        if is_active { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        for (i, cpu) in self.cpus.iter().enumerate() {
            cpu.port(&format!("cpus[{i}]"), ports);
        }
        self.host.port("host", ports);
        ports.output("interrupt", &self.interrupt);
        self.assists.dma_read.ports("dma_read", ports);
        self.assists.dma_write.ports("dma_write", ports);
        ports.output("mac_transmit.orders", &self.assists.transmit.orders.tx);
        ports.input("mac_transmit.progress", &self.assists.transmit.progress);
        ports.output("mac_receive.orders", &self.assists.receive.orders.tx);
        ports.input("mac_receive.progress", &self.assists.receive.progress);
        self.sources.iter().for_each(|sources| ports.output("sources", sources));
        self.posted.iter().for_each(|posted| ports.input("posted", posted));
    }

    fn counters(&self, counters: &mut CounterList) {
        let Assists { dma_read, dma_write, transmit, receive } = &self.assists;
        counters.add("accesses", self.accesses.total());
        counters.add("faults", self.faults.total());
        counters.add("contended_locks", self.contended.total());
        counters.add("interrupts", self.interrupts.total());
        counters.add("dma_failures", dma_read.failures.total() + dma_write.failures.total());
        counters.add("transmit_attentions", transmit.attentions.total());
        counters.add("receive_attentions", receive.attentions.total());
        counters.add("dropped_frames", receive.dropped.total());
    }
}

impl Module for TengigRegistersParams {
    const NAME: &'static str = "tengig-registers";
    const ABOUT: &'static str = "The registers of the 10 Gigabit NIC: pointers, mailboxes, timer, locks.";
    const EXAMPLE: &'static str = "cpus = 6";

    fn ports(&self) -> Vec<PortSpec> {
        let cpus =
            (0..self.cpus).map(|i| PortSpec::to::<Memory>(format!("cpus[{i}]")).about("references of the cores"));
        let dma = ["dma_read", "dma_write"].into_iter().flat_map(|name| {
            [
                PortSpec::from::<OneWay<DmaOrder>>(format!("{name}.orders")),
                PortSpec::to::<OneWay<DmaProgress>>(format!("{name}.progress")),
            ]
        });
        let others = [
            PortSpec::from::<OneWay<TransmitOrder>>("mac_transmit.orders"),
            PortSpec::to::<OneWay<TransmitProgress>>("mac_transmit.progress"),
            PortSpec::from::<OneWay<ReceiveOrder>>("mac_receive.orders"),
            PortSpec::to::<OneWay<ReceiveProgress>>("mac_receive.progress"),
            PortSpec::to::<Memory>("host").about("the host's accesses"),
            PortSpec::from::<OneWay<InterruptLine>>("interrupt").about("to the host"),
            PortSpec::from::<OneWay<EventSource>>("sources").optional().about("pointer values for an event queue"),
            PortSpec::to::<OneWay<PostedSlots>>("posted").optional().about("filled slots from an event queue"),
        ];
        cpus.chain(dma).chain(others).collect()
    }

    fn check(&self) -> Result<(), String> {
        checks::within("cpus", self.cpus, 1, 32)
    }

    fn build(self, site: &mut Site) -> Built {
        let ports = TengigRegistersPorts {
            cpus: (0..self.cpus).map(|i| site.to::<Memory>(&format!("cpus[{i}]"))).collect(),
            host: site.to::<Memory>("host"),
            interrupt: site.from::<OneWay<InterruptLine>>("interrupt"),
            dma_read: (
                site.from::<OneWay<DmaOrder>>("dma_read.orders"),
                site.to::<OneWay<DmaProgress>>("dma_read.progress"),
            ),
            dma_write: (
                site.from::<OneWay<DmaOrder>>("dma_write.orders"),
                site.to::<OneWay<DmaProgress>>("dma_write.progress"),
            ),
            mac_transmit: (
                site.from::<OneWay<TransmitOrder>>("mac_transmit.orders"),
                site.to::<OneWay<TransmitProgress>>("mac_transmit.progress"),
            ),
            mac_receive: (
                site.from::<OneWay<ReceiveOrder>>("mac_receive.orders"),
                site.to::<OneWay<ReceiveProgress>>("mac_receive.progress"),
            ),
            sources: site.try_from::<OneWay<EventSource>>("sources"),
            posted: site.try_to::<OneWay<PostedSlots>>("posted"),
        };
        let clock = site.system.edges(site.clock);
        Built::new(TengigRegisters::new(self, ports, clock))
    }
}

#[cfg(test)]
mod tests;
