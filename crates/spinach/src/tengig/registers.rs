//! The registers of the 10 Gigabit NIC: what joins processors, assists and host.

mod assists;

use super::event_queue::{EventQueue, EventQueueParams, SOURCES};
use super::map;
use assists::{Assists, Dma, Receive, Transmit};
use blocks::assist::{DmaOrder, DmaProgress, ReceiveOrder, ReceiveProgress, TransmitOrder, TransmitProgress};
use blocks::bus::{Access, BusError, Data, Reference, Reply, Responder, word};
use blocks::checks;
use blocks::interrupt::InterruptLine;
use blocks::netlist::{Built, Memory, Module, OneWay, PortSpec, Site};
use kernel::trace::Counter;
use kernel::{Activity, Clock, Component, CounterList, Cycle, Ports, Tx};
use std::collections::VecDeque;

/// Parameters of [`TengigRegisters`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TengigRegistersParams {
    /// Processors, 1 to 32. Source: thesis, 4.5 (six and eight are evaluated).
    pub cpus: usize,
    /// The hardware-managed event queue, if the card has one; the thesis's has none.
    pub event_queue: Option<EventQueueParams>,
}

/// Pointers, mailboxes, timer, locks, and what the host tells the firmware.
///
/// Ports:    `cpus[i]` and `host` (memory, answer: words at the offsets of [`map`]), `interrupt`, and for each assist
///           `X.orders` and `X.progress`.
/// Timing:   one cycle: a reference is answered at the edge that sees it; each port one a cycle, all at once.
/// Locks:    reading a free lock takes it; of those who read it at one edge the first in turn gets it, and whose turn is
///           first moves on every cycle.
/// Source:   assumed, see `firmware/tengig/regs.h`; the Tigon-2's registers answer in one cycle too (thesis, 2.1.2).
pub struct TengigRegisters {
    clock: Clock,
    cpus: Vec<Responder>,
    host: Responder,
    interrupt: Tx<InterruptLine>,
    assists: Assists,
    events: Option<EventQueue>,
    /// What was written, by word; pointers and locks stand elsewhere.
    words: Vec<u32>,
    locks: u32,
    interrupts: Counter,
    /// How the line is, with changes that have not been sent.
    is_raised: bool,
    changes: VecDeque<bool>,
    accesses: Counter,
    /// Reads of a lock that was held.
    contended: Counter,
    faults: Counter,
}

impl TengigRegisters {
    /// Everything is 0 and every lock free.
    fn new(
        clock: Clock,
        cpus: Vec<Responder>,
        host: Responder,
        interrupt: Tx<InterruptLine>,
        assists: Assists,
        event_queue: Option<EventQueueParams>,
    ) -> TengigRegisters {
        TengigRegisters {
            events: event_queue.map(|params| EventQueue::new(params, cpus.len())),
            clock,
            cpus,
            host,
            interrupt,
            assists,
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

    /// What a reference does. `cpu` is who refers, if it is a processor.
    fn answer(&mut self, now: Cycle, cpu: Option<usize>, reference: Reference) -> Reply {
        self.accesses.add(1);
        let Reference { id, addr, access } = reference;
        // Who is connected has chosen the window: only the place in it counts.
        let offset = addr as u32 % map::WINDOW_BYTES;
        let result = match access.len() {
            4 if offset.is_multiple_of(4) => Ok(match access {
                Access::Read(_) => Data::from_slice(&self.read(now, cpu, offset).to_be_bytes()),
                Access::Write(data) => {
                    self.write(cpu, offset, word(&data));
                    Data::new()
                }
            }),
            bytes => Err(BusError::Length(addr, bytes)),
        };
        if result.is_err() {
            self.faults.add(1);
        }
        Reply { id, result }
    }

    /// How far pointers are that the event queue makes events of.
    fn newest(&self, now: Cycle) -> [u32; SOURCES] {
        let Assists { dma_read, dma_write, transmit, receive } = &self.assists;
        let word = |offset: u32| self.words[(offset / 4) as usize];
        // No descriptors are fetched of frames that have no place in the transmitter's ring; two a frame.
        let sendable = transmit.consumer.count().wrapping_add(map::MAC_TRANSMIT_ENTRIES - 1).wrapping_mul(2);
        [
            earlier(word(map::MAILBOX_SEND), sendable),
            word(map::MAILBOX_RECEIVE),
            dma_read.consumer.count(),
            dma_write.consumer.count(),
            earlier(receive.producer.count(), word(map::BUFFERS_THERE)),
            self.microseconds(now),
        ]
    }

    fn microseconds(&self, now: Cycle) -> u32 {
        (self.clock.edge(now).ns() / 1000) as u32
    }

    fn next_event(&mut self, now: Cycle, cpu: usize) -> u32 {
        let (newest, tick) = (self.newest(now), self.words[(map::COALESCE_US / 4) as usize]);
        self.events.as_mut().map_or(0, |events| events.next(cpu, newest, tick))
    }

    fn read(&mut self, now: Cycle, cpu: Option<usize>, offset: u32) -> u32 {
        if let (Some(events), Some(cpu), map::EVENT..map::BUFFERS_THERE) = (&self.events, cpu, offset) {
            return if offset == map::EVENT { self.next_event(now, cpu) } else { events.read(cpu, offset) };
        }
        let Assists { dma_read, dma_write, transmit, receive } = &self.assists;
        match offset {
            map::CPU_ID => cpu.map_or(u32::MAX, |cpu| cpu as u32),
            map::CPUS => self.cpus.len() as u32,
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

    fn write(&mut self, cpu: Option<usize>, offset: u32, value: u32) {
        if let (Some(events), Some(cpu), map::EVENT..map::BUFFERS_THERE) = (&mut self.events, cpu, offset) {
            match events.write(cpu, offset, value) {
                Some((0, producer)) => self.assists.dma_read.set_producer(producer),
                Some((_, producer)) => self.assists.dma_write.set_producer(producer),
                None => {}
            }
            return;
        }
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
            // Two changes that nobody has heard of are none.
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

/// The one of two counts that was reached first.
fn earlier(a: u32, b: u32) -> u32 {
    if a.wrapping_sub(b) > 1 << 31 { a } else { b }
}

/// The lock whose word is here.
fn lock_at(offset: u32) -> Option<u32> {
    let lock = offset.checked_sub(map::LOCK_WORDS)? / 4;
    (lock < map::LOCKS).then_some(lock)
}

impl Component for TengigRegisters {
    fn tick(&mut self, now: Cycle) -> Activity {
        let Assists { dma_read, dma_write, transmit, receive } = &mut self.assists;
        dma_read.tick();
        dma_write.tick();
        transmit.tick();
        receive.tick();
        let n_cpus = self.cpus.len();
        let mut goes_on = false;
        for i in 0..n_cpus {
            let cpu = (now as usize + i) % n_cpus;
            if let Some(reference) = next_at(&self.cpus[cpu]) {
                let reply = self.answer(now, Some(cpu), reference);
                self.cpus[cpu].replies.send(reply);
                goes_on = true;
            }
        }
        if let Some(reference) = next_at(&self.host) {
            let reply = self.answer(now, None, reference);
            self.host.replies.send(reply);
            goes_on = true;
        }
        while !self.changes.is_empty() && self.interrupt.has_room() {
            let change = self.changes.pop_front().map(|is_raised| InterruptLine { is_raised });
            change.into_iter().for_each(|line| self.interrupt.send(line));
        }
        // What was written at this edge is passed on at the next, and a second reference is answered there.
        if goes_on { Activity::Busy } else { Activity::Idle }
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
        if let Some(events) = &self.events {
            counters.add("events.handed", events.handed.total());
            counters.add("events.queued", events.queued.total());
            counters.add("events.lost", events.lost.total());
        }
    }
}

/// The next reference at a port whose answer has room.
fn next_at(port: &Responder) -> Option<Reference> {
    if port.references.has_item() && port.replies.has_room() { port.references.take() } else { None }
}

impl Module for TengigRegistersParams {
    const NAME: &'static str = "tengig-registers";
    const ABOUT: &'static str = "The registers of the 10 Gigabit NIC: pointers, mailboxes, timer, locks";
    const EXAMPLE: &'static str = "cpus = 6";

    fn ports(&self) -> Vec<PortSpec> {
        let cpus = (0..self.cpus).map(|i| PortSpec::to::<Memory>(format!("cpus[{i}]")));
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
            PortSpec::to::<Memory>("host"),
            PortSpec::from::<OneWay<InterruptLine>>("interrupt"),
        ];
        cpus.chain(dma).chain(others).collect()
    }

    fn check(&self) -> Result<(), String> {
        let events = self.event_queue.as_ref().map_or(1, |queue| queue.events);
        checks::within("event_queue.events", events, 1, 65_536)?;
        checks::within("cpus", u32::try_from(self.cpus).unwrap_or(u32::MAX), 1, 32)
    }

    fn build(self, site: &mut Site) -> Built {
        let assists = Assists {
            dma_read: Dma::new(
                site.from::<OneWay<DmaOrder>>("dma_read.orders"),
                site.to::<OneWay<DmaProgress>>("dma_read.progress"),
            ),
            dma_write: Dma::new(
                site.from::<OneWay<DmaOrder>>("dma_write.orders"),
                site.to::<OneWay<DmaProgress>>("dma_write.progress"),
            ),
            transmit: Transmit::new(
                site.from::<OneWay<TransmitOrder>>("mac_transmit.orders"),
                site.to::<OneWay<TransmitProgress>>("mac_transmit.progress"),
            ),
            receive: Receive::new(
                site.from::<OneWay<ReceiveOrder>>("mac_receive.orders"),
                site.to::<OneWay<ReceiveProgress>>("mac_receive.progress"),
            ),
        };
        let cpus = (0..self.cpus).map(|i| site.to::<Memory>(&format!("cpus[{i}]"))).collect();
        let (host, interrupt) = (site.to::<Memory>("host"), site.from::<OneWay<InterruptLine>>("interrupt"));
        Built::new(TengigRegisters::new(
            site.system.edges(site.clock),
            cpus,
            host,
            interrupt,
            assists,
            self.event_queue,
        ))
    }
}

#[cfg(test)]
mod tests;
