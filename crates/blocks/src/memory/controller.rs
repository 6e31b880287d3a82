//! `memory-controller`: a synchronous memory whose bus is shared by several requesters, with bursts of words.
//!
//! Ports:   `requesters[i]` (memory, answer, optional): references of up to `max_bytes`.
//! Timing:  the first word of a burst takes `first_word_cycles`, each further word 1 cycle. A word continues a burst
//!           if it has the next address and the same requester and direction, and is ready in the cycle after the
//!           previous word. The reply is visible at the earliest when the last word has moved. In a DRAM, a word in a
//!           closed row also takes the cycles to open the row.
//! Order:   one word at a time, as the arbitration policy decides; each requester is answered in its own order.
//! Source:  thesis, 3.2 and table 3.2: burst length and a fixed gap between bursts; row length and row activation
//!           latency.

mod params;

use super::{Links, Rows, Zeroed};
use crate::bus::{Access, BusError, Data, Link, Planned, Reference, Reply, Responder, Stream};
use crate::policy::{Arbitration, Arbitrator, Contest, WaitTimes};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, members};
pub use params::MemoryControllerParams;
use std::cell::Cell;
use std::rc::Rc;

/// Serves one word at a time, in bursts of consecutive addresses.
pub struct MemoryController {
    params: MemoryControllerParams,
    lanes: Vec<ControllerLane>,
    /// Requesters that have sent references which were not taken yet.
    arrivals: Rc<Cell<u64>>,
    /// Requesters with a reference.
    active: u64,
    /// Requesters in `active` that have room for the reply. The room remains until the reply is sent.
    ready: u64,
    arbitrator: Arbitrator,
    waits: WaitTimes,
    burst: Option<Burst>,
    rows: Option<Rows>,
    free_at: Cycle,
    bytes: Zeroed,
    links: Links,
    busy_cycles: Counter,
    bursts: Counter,
}

/// A requester's port, and its reference that is being served or was served last.
struct ControllerLane {
    port: Option<Responder>,
    /// References and replies of a requester that plans.
    stream: Rc<Stream>,
    /// `is_streamed`: `reference` came from the stream. `is_quiet`: its reply does not wake the requester.
    is_streamed: bool,
    is_quiet: bool,
    reference: Reference,
    /// Bytes of the reference that have moved.
    done: u32,
    /// Bytes read so far.
    read: Data,
    /// Start of the reference's waiting time, moved forward by the cycles of its own words.
    since: Cycle,
    /// Cycle in which its last word has moved.
    free_at: Cycle,
    served_words: Counter,
    wait_cycles: Counter,
}

/// The word that would continue the current burst.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Burst {
    lane: usize,
    next_addr: u64,
    is_write: bool,
    words_left: u32,
    /// The cycle in which the word must be ready.
    at: Cycle,
}

impl MemoryController {
    /// A memory of zeros. A port that is `None` is not connected.
    pub fn new(params: MemoryControllerParams, ports: Vec<Option<Responder>>) -> MemoryController {
        assert_eq!(ports.len(), params.requesters, "a port for each requester");
        let arrivals = Rc::default();
        let lane = |(i, port): (usize, Option<Responder>)| ControllerLane {
            port,
            stream: Rc::new(Stream::new(&arrivals, 1 << i)),
            is_streamed: false,
            is_quiet: false,
            reference: Reference { id: 0, addr: 0, access: Access::Read(0) },
            done: 0,
            read: Data::new(),
            since: 0,
            free_at: 0,
            served_words: Counter::default(),
            wait_cycles: Counter::default(),
        };
        let lanes: Vec<ControllerLane> = ports.into_iter().enumerate().map(lane).collect();
        for (i, lane) in lanes.iter().enumerate() {
            let Some(port) = &lane.port else { continue };
            port.references.announce(&arrivals, 1 << i);
            // A lane takes a reference when the reply to the one before is visible, as a stream requires.
            port.references.offer(lane.stream.clone());
        }
        MemoryController {
            arrivals,
            active: 0,
            ready: 0,
            lanes,
            arbitrator: params.policy.start(),
            waits: WaitTimes::new(params.requesters),
            burst: None,
            rows: params.rows.clone().map(Rows::new),
            free_at: 0,
            bytes: Zeroed::new(usize::try_from(params.bytes).expect("a memory fits the host's")),
            links: Links::default(),
            busy_cycles: Counter::default(),
            bursts: Counter::default(),
            params,
        }
    }

    /// Replaces the arbitration policy by a user-defined one.
    pub fn with_arbitration(mut self, policy: Box<dyn Arbitration>) -> MemoryController {
        self.arbitrator = Arbitrator::Own(policy);
        self
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.params.bytes
    }

    /// The bytes at `addr`; for use while the simulation is paused.
    pub fn read(&self, addr: u64, len: usize) -> Vec<u8> {
        (0..len as u64).map(|i| self.bytes[self.place(addr + i)]).collect()
    }

    /// Writes `bytes` at `addr`; for use while the simulation is paused.
    pub fn write(&mut self, addr: u64, bytes: &[u8]) {
        self.links.written(addr & (self.params.bytes - 1), bytes.len() as u32);
        for (i, &byte) in (0..).zip(bytes) {
            let place = self.place(addr + i);
            self.bytes[place] = byte;
        }
    }

    fn place(&self, addr: u64) -> usize {
        (addr & (self.params.bytes - 1)) as usize
    }

    /// Takes new references.
    fn take_references(&mut self, now: Cycle) {
        for i in members((self.arrivals.get() | self.active) & !self.ready) {
            let lane = &mut self.lanes[i as usize];
            let Some(port) = &lane.port else { continue };
            if self.active >> i & 1 == 0 {
                if lane.stream.due() <= now {
                    lane.take_planned(now);
                    self.active |= 1 << i;
                    self.ready |= 1 << i; // Nothing can keep its reply from leaving.
                    continue;
                }
                if !port.references.is_due(now) {
                    continue;
                }
                lane.is_streamed = false;
                lane.since = port.references.due().max(lane.free_at);
                lane.reference = port.references.take_due(now).expect("one is due");
                if port.references.due() == Cycle::MAX {
                    self.arrivals.set(self.arrivals.get() & !(1 << i));
                }
                lane.done = 0;
                self.active |= 1 << i;
            }
            // Require room for the reply before the first word moves.
            self.ready |= u64::from(port.replies.has_room()) << i;
        }
        self.waits.update(now, self.ready);
    }

    /// Waits for the next planned reference.
    fn next_planned(&self) -> Activity {
        let due = members(self.arrivals.get()).map(|i| self.lanes[i as usize].stream.due()).min();
        due.filter(|&due| due != Cycle::MAX).map_or(Activity::Idle, Activity::Until)
    }

    /// The waiting requester that would continue the current burst, if any, as a set.
    fn continuing(&self, now: Cycle) -> u64 {
        let Some(burst) = self.burst.filter(|burst| burst.at == now && burst.words_left > 0) else { return 0 };
        let lane = &self.lanes[burst.lane];
        let is_next = (lane.addr(), lane.reference.access.is_write()) == (burst.next_addr, burst.is_write);
        u64::from(is_next) << burst.lane & self.ready
    }

    /// Moves one word of requester `winner`. Returns the cycles it takes.
    fn serve(&mut self, now: Cycle, winner: usize, continues_burst: bool) -> u64 {
        let word = u64::from(self.params.word_bytes);
        let MemoryController { lanes, bytes, links, params, .. } = self;
        let lane = &mut lanes[winner];
        lane.wait_cycles.add(self.waits.granted(now, winner as u32));
        let len = lane.reference.access.len();
        let is_wrong = len == 0 || len > params.max_bytes;
        let (addr, is_write) = (lane.addr(), lane.reference.access.is_write());
        // A transfer ends at the end of a bus word.
        let here = ((word - addr % word) as u32).min(len - lane.done);
        let mut linked = Ok(());
        if let Access::Linked(link) = lane.reference.access {
            linked = lane.link(link, here, bytes, links);
        } else if !is_wrong {
            if is_write {
                links.written(addr & (params.bytes - 1), here);
            }
            // A memory may be smaller than a word of its bus; its addresses repeat within the word.
            let (mut done, end) = (lane.done as usize, (lane.done + here) as usize);
            while done < end {
                let at = (lane.reference.addr.wrapping_add(done as u64) & (params.bytes - 1)) as usize;
                let len = (end - done).min(params.bytes as usize - at);
                let place = &mut bytes[at..at + len];
                match &lane.reference.access {
                    Access::Read(_) => lane.read.extend_from_slice(place),
                    Access::Write(data) => place.copy_from_slice(&data[done..done + len]),
                    Access::Linked(_) => unreachable!("linked accesses were handled before"),
                }
                done += len;
            }
        }
        lane.done += here;
        let opening = self.rows.as_mut().filter(|_| !is_wrong).map_or(0, |rows| rows.open(addr & (params.bytes - 1)));
        let cycles = opening + if continues_burst { 1 } else { params.first_word_cycles };
        let words_left = match self.burst {
            Some(burst) if continues_burst => burst.words_left - 1,
            _ => {
                self.bursts.add(1);
                params.burst_words - 1
            }
        };
        let next_addr = (addr & !(word - 1)).wrapping_add(word);
        self.burst = Some(Burst { lane: winner, next_addr, is_write, words_left, at: now + cycles });
        lane.served_words.add(1);
        lane.free_at = now + cycles;
        if is_wrong || lane.done == len {
            let (id, addr, read) = (lane.reference.id, lane.reference.addr, std::mem::take(&mut lane.read));
            let result = if is_wrong { Err(BusError::Length(addr, len)) } else { linked.map(|()| read) };
            let port = lane.port.as_ref().expect("a waiting requester is connected");
            if !lane.is_streamed {
                port.replies.send_late(Reply { id, result, waited: port.span(lane.since, now) }, cycles - 1);
            } else if lane.stream.answer(now + cycles, result, lane.is_quiet) {
                port.replies.wake_receiver(now + cycles);
            }
            self.active &= !(1 << winner);
            self.ready &= !(1 << winner);
        } else {
            lane.since += cycles;
        }
        cycles
    }
}

impl ControllerLane {
    /// Takes the planned reference that is due.
    fn take_planned(&mut self, now: Cycle) {
        let (Planned { addr, access, is_quiet, .. }, wake) = self.stream.take(now).expect("one is due");
        (self.is_streamed, self.is_quiet, self.done) = (true, is_quiet, 0);
        self.reference = Reference { id: 0, addr, access };
        if let (Some(cycle), Some(port)) = (wake, &self.port) {
            port.replies.wake_receiver(cycle);
        }
    }

    /// Address of the next word.
    fn addr(&self) -> u64 {
        self.reference.addr.wrapping_add(u64::from(self.done))
    }

    /// Carries out a linked access, of which `here` bytes are in one bus word.
    fn link(&mut self, link: Link, here: u32, bytes: &mut [u8], links: &mut Links) -> Result<(), BusError> {
        if here < Link::BYTES {
            return Err(BusError::NoLink(self.reference.addr));
        }
        // The size is a power of two.
        let place = self.reference.addr as usize & (bytes.len() - 1);
        let word = &mut bytes[place..place + Link::BYTES as usize];
        let (reply, written) = links.serve(link, place as u64, word)?;
        written.iter().for_each(|written| word.copy_from_slice(written));
        self.read = reply;
        Ok(())
    }
}

impl Component for MemoryController {
    fn tick(&mut self, now: Cycle) -> Activity {
        if now < self.free_at {
            return Activity::Until(self.free_at);
        }
        self.take_references(now);
        let waiting = self.ready;
        if waiting == 0 {
            return self.next_planned();
        }
        let (continues, since) = (self.continuing(now), self.waits.since());
        let winner = self.arbitrator.choose(&Contest { now, waiting, continues, since });
        let cycles = self.serve(now, winner as usize, continues >> winner & 1 == 1);
        self.free_at = now + cycles;
        self.busy_cycles.add(cycles);
        Activity::Until(self.free_at)
    }

    fn ports(&self, ports: &mut Ports) {
        for (i, lane) in self.lanes.iter().enumerate() {
            if let Some(port) = &lane.port {
                port.port(&format!("requesters[{i}]"), ports);
            }
        }
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.busy("busy_cycles", self.busy_cycles.total(), 1, "one burst at a time");
        counters.add("bursts", self.bursts.total());
        if let Some(rows) = &self.rows {
            counters.add("rows_opened", rows.n_opened);
            counters.add("row_cycles", rows.cycles);
        }
        for (i, lane) in self.lanes.iter().enumerate() {
            counters.add(&format!("requesters[{i}].words"), lane.served_words.total());
            counters.add(&format!("requesters[{i}].wait_cycles"), lane.wait_cycles.total());
        }
    }
}

#[cfg(test)]
mod tests;
