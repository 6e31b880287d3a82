//! `event-queue`: a hardware-managed event queue that replaces the firmware's dispatch loop.
//!
//! A read of one register takes the next event, limited to the maximum range of its type. Events come from hardware pointers,
//! the timer, and the processors' own queue, in round robin. DMA ring slots may be filled in any order; the queue posts them in
//! ring order.
//!
//! Ports:   `cpus[i]` (memory, answers): a processor's register accesses; `onward[i]` (memory, asks): accesses to registers
//!          other than the queue's own, which are EVENT up to but not including BUFFERS_THERE of [`map`]; `sources`
//!          (event-sources, receives): pointer values; `posted` (posted-slots, sends): filled slots of the DMA rings.
//! Timing:  one cycle: an access to its registers is answered at the edge that sees it, for all processors at once. Adds 0
//!          cycles to forwarded accesses and answers; one access and one answer a cycle for each processor.
//! Order:   a processor's accesses take effect and are answered in order: an access to the queue waits until earlier forwarded
//!          ones are answered. If several processors ask at one edge, the first in turn gets the first event; the turn advances
//!          every cycle.
//! Errors:  an access other than to a whole word is a bus error; an event that finds the queue full is lost and counted.
//! Source:  assumed throughout: the thesis proposes such a block in its conclusion and says only that the assists are designed
//!          around an event queue mechanism (4.5.3). Registers: `firmware/tengig/regs.h`.

mod queue;

use super::event_messages::{EventSource, PostedSlots};
use super::map;
use blocks::activity::busy_if;
use blocks::bus::{Access, BusError, Data, Reference, Reply, Requester, Responder, word};
use blocks::checks;
use blocks::netlist::{Built, Memory, Module, OneWay, PortSpec, Site};
use kernel::{Activity, Clock, Component, CounterList, Cycle, Ports, Rx, Tx};
use queue::{Queue, SOURCES, TIMER};

/// Parameters of an [`EventQueue`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventQueueParams {
    /// Number of processors, 1 to 32.
    pub cpus: usize,
    /// Capacity for events queued by processors; further ones are lost and counted.
    pub events: u32,
}

/// The ports of an [`EventQueue`].
pub struct EventQueuePorts {
    /// Processors.
    pub cpus: Vec<Responder>,
    /// All other registers, for each processor.
    pub onward: Vec<Requester>,
    /// Pointer values.
    pub sources: Rx<EventSource>,
    /// Filled slots.
    pub posted: Tx<PostedSlots>,
}

/// Hands out events and forwards accesses to other registers.
pub struct EventQueue {
    clock: Clock,
    cpus: Vec<CpuPath>,
    sources: Rx<EventSource>,
    posted: Tx<PostedSlots>,
    queue: Queue,
    /// Latest value of each source, and the timer's period in microseconds.
    newest: [u32; SOURCES],
    tick_us: u32,
    /// Producers not yet sent, by ring.
    unsent: [Option<u32>; 2],
}

/// A processor and its forward path.
struct CpuPath {
    port: Responder,
    onward: Requester,
    /// Forwarded accesses without an answer.
    under_way: u32,
}

impl EventQueue {
    /// An empty queue; `clock` drives it.
    pub fn new(params: EventQueueParams, ports: EventQueuePorts, clock: Clock) -> EventQueue {
        let EventQueuePorts { cpus, onward, sources, posted } = ports;
        let lanes = cpus.into_iter().zip(onward);
        EventQueue {
            clock,
            cpus: lanes.map(|(port, onward)| CpuPath { port, onward, under_way: 0 }).collect(),
            sources,
            posted,
            queue: Queue::new(params.events as usize, params.cpus),
            newest: [0; SOURCES],
            tick_us: 0,
            unsent: [None; 2],
        }
    }

    fn take_sources(&mut self) {
        while let Some(source) = self.sources.take() {
            match source {
                EventSource::Pointer(source, count) => self.newest[usize::from(source)] = count,
                EventSource::TickEvery(us) => self.tick_us = us,
            }
        }
    }

    /// Passes an answer back, or processes a processor's next access. Returns true if it did anything.
    fn serve(&mut self, now: Cycle, cpu: usize) -> bool {
        let lane = &mut self.cpus[cpu];
        let mut is_active = false;
        let is_answered = lane.onward.replies.has_item() && lane.port.replies.has_room();
        if is_answered {
            lane.port.replies.send(lane.onward.replies.take().expect("an answer must be there"));
            lane.under_way -= 1;
            is_active = true;
        }
        let Some(addr) = lane.port.references.peek().map(|reference| reference.addr) else { return is_active };
        let offset = addr as u32 % map::WINDOW_BYTES;
        if !(map::EVENT..map::BUFFERS_THERE).contains(&offset) {
            if lane.onward.references.has_room() {
                lane.onward.references.send(lane.port.references.take().expect("an access must be there"));
                lane.under_way += 1;
                is_active = true;
            }
        } else if lane.under_way == 0 && !is_answered && lane.port.replies.has_room() {
            let reference = lane.port.references.take().expect("an access must be there");
            let reply = self.answer(now, cpu, offset, reference);
            self.cpus[cpu].port.replies.send(reply);
            is_active = true;
        }
        is_active
    }

    /// Executes an access to a register of the queue.
    fn answer(&mut self, now: Cycle, cpu: usize, offset: u32, reference: Reference) -> Reply {
        let Reference { id, addr, access } = reference;
        let result = match access {
            _ if access.len() != 4 || !offset.is_multiple_of(4) => Err(BusError::Length(addr, access.len())),
            Access::Read(_) => Ok(Data::from_slice(&self.read(now, cpu, offset).to_be_bytes())),
            Access::Linked(_) => Err(BusError::NoLink(addr)),
            Access::Write(data) => {
                if let Some((ring, producer)) = self.queue.write(cpu, offset, word(&data)) {
                    self.unsent[ring] = Some(producer);
                }
                Ok(Data::new())
            }
        };
        Reply::new(id, result)
    }

    fn read(&mut self, now: Cycle, cpu: usize, offset: u32) -> u32 {
        if offset != map::EVENT {
            return self.queue.read(cpu, offset);
        }
        self.newest[TIMER] = (self.clock.edge(now).ns() / 1000) as u32;
        self.queue.next(cpu, self.newest, self.tick_us)
    }

    /// Sends the latest producers as far as there is room; room for the others wakes this component.
    fn post(&mut self) {
        for (ring, unsent) in (0..).zip(&mut self.unsent) {
            if self.posted.has_room()
                && let Some(producer) = unsent.take()
            {
                self.posted.send(PostedSlots { ring, producer });
            }
        }
    }
}

impl Component for EventQueue {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.take_sources();
        let n_cpus = self.cpus.len();
        let mut is_active = false;
        for i in 0..n_cpus {
            is_active |= self.serve(now, (now as usize + i) % n_cpus);
        }
        self.post();
        busy_if(is_active)
    }

    fn ports(&self, ports: &mut Ports) {
        for (i, lane) in self.cpus.iter().enumerate() {
            lane.port.port(&format!("cpus[{i}]"), ports);
            lane.onward.port(&format!("onward[{i}]"), ports);
        }
        ports.input("sources", &self.sources);
        ports.output("posted", &self.posted);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("handed", self.queue.handed.total());
        counters.add("queued", self.queue.queued.total());
        counters.add("lost", self.queue.lost.total());
    }
}

impl Module for EventQueueParams {
    const NAME: &'static str = "event-queue";
    const ABOUT: &'static str = "A hardware-managed event queue between the processors and the registers of a card.";
    const EXAMPLE: &'static str = "cpus = 6\nevents = 1024";

    fn ports(&self) -> Vec<PortSpec> {
        let cpus = (0..self.cpus).map(|i| PortSpec::to::<Memory>(format!("cpus[{i}]")).about("processors"));
        let onward = (0..self.cpus)
            .map(|i| PortSpec::from::<Memory>(format!("onward[{i}]")).about("registers other than the queue's own"));
        let others = [
            PortSpec::to::<OneWay<EventSource>>("sources").about("pointer values"),
            PortSpec::from::<OneWay<PostedSlots>>("posted").about("filled DMA slots"),
        ];
        cpus.chain(onward).chain(others).collect()
    }

    fn check(&self) -> Result<(), String> {
        checks::within("cpus", self.cpus, 1, 32)?;
        checks::within("events", self.events, 1, 65_536)
    }

    fn build(self, site: &mut Site) -> Built {
        let ports = EventQueuePorts {
            cpus: (0..self.cpus).map(|i| site.to::<Memory>(&format!("cpus[{i}]"))).collect(),
            onward: (0..self.cpus).map(|i| site.from::<Memory>(&format!("onward[{i}]"))).collect(),
            sources: site.to::<OneWay<EventSource>>("sources"),
            posted: site.from::<OneWay<PostedSlots>>("posted"),
        };
        let clock = site.system.edges(site.clock);
        Built::new(EventQueue::new(self, ports, clock))
    }
}

#[cfg(test)]
mod tests;
