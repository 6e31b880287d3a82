//! `dma-assist`: moves data between host and card memory, in one direction, as a ring of descriptors says.
//!
//! Ports:   `orders` (dma-orders, receives), `progress` (dma-progress, sends); `memory`, `host`, and `descriptors` if
//!          they are not in `memory` (memory, ask): one reference per cycle on each.
//! Timing:  a descriptor is read in references of `memory_burst_bytes`. The source is read when the buffer has room,
//!          and the sink is written when the buffer holds a whole reference. An entry is done when the sink has
//!          acknowledged its last byte and its checksum is stored.
//! Order:   the high ring has priority over the other. Transfers complete in the order in which they began; the
//!          source may be one transfer ahead of the sink.
//! Errors:  if a memory refuses a reference, the assist reports it and stops until it is reset.
//! Source:  thesis, table 3.3 (DMA assist); docs/machines/tigon2.md, Descriptors, has the layout of descriptors.
//! Differs: the thresholds for requesting the bus are ignored: a reference is as long as the buffer and
//!          `host_burst_bytes` allow.

mod job;
mod params;

use super::byte_queue::ByteQueue;
use super::card_side::{CardPorts, CardSide, Reading};
use super::moves::{MoveLog, Recorder, Route, Wait, count_since};
use super::pieces::mirror;
use super::protocol::{Buffers, DmaOrder, DmaProgress, Transfer};
use super::ring::Ring;
use super::tracked_port::{MOST_PLANNED, TrackedPort, TrackedReply};
use crate::activity::{busy_if, earliest};
use crate::bus::{Access, BusError, Data, Planned, Requester};
use job::{Entry, Job, Times, transfer};
use kernel::trace::Counter;
use kernel::{Activity, Clock, Component, CounterList, Cycle, Ports};
pub use params::{Direction, DmaAssistParams};
use std::collections::VecDeque;

/// The ports of a [`DmaAssist`].
pub struct DmaAssistPorts {
    /// The ports of every assist.
    pub card: CardPorts<DmaOrder, DmaProgress>,
    /// Host memory.
    pub host: Requester,
}

/// Processes descriptors in order; the high ring has priority.
pub struct DmaAssist {
    params: DmaAssistParams,
    card: CardSide<DmaOrder, DmaProgress, Use>,
    host: TrackedPort<Use>,
    rings: [Ring; 2],
    buffers: Buffers,
    is_enabled: bool,
    /// The descriptor that is being read.
    reading: Option<Reading<Entry>>,
    /// When its first word was requested.
    reading_since: Cycle,
    singles: VecDeque<(Transfer, Cycle)>,
    jobs: VecDeque<Job>,
    /// Bytes read from the source and not yet written to the sink.
    buffer: ByteQueue,
    failed: Option<BusError>,
    is_failure_reported: bool,
    transfers: Counter,
    bytes: Counter,
    failures: Counter,
    busy_cycles: Counter,
    busy_since: Option<Cycle>,
    recorder: Option<Recorder>,
    /// Cycle since which the source gets no requests, because the buffer is full. Set only while transfers are
    /// recorded.
    full_since: Option<Cycle>,
}

/// Purpose of a memory reference.
#[derive(Clone, Copy)]
enum Use {
    /// A read of a part of a descriptor, with its number of bytes.
    Descriptor(u32),
    /// Bytes from the source, in the order of the transfer.
    Source {
        bytes: u32,
        is_mirrored: bool,
    },
    /// A write of this many bytes to the sink.
    Sink(u32),
    Checksum,
}

impl DmaAssist {
    /// A disabled assist.
    pub fn new(params: DmaAssistParams, ports: DmaAssistPorts) -> DmaAssist {
        let rings = [Ring::new(params.ring_entries), Ring::new(params.high_ring_entries)];
        DmaAssist {
            card: CardSide::new(ports.card, params.memory_references),
            host: TrackedPort::new(ports.host, params.host_references),
            rings,
            buffers: Buffers::default(),
            is_enabled: false,
            reading: None,
            reading_since: 0,
            singles: VecDeque::new(),
            jobs: VecDeque::new(),
            buffer: ByteQueue::default(),
            failed: None,
            is_failure_reported: false,
            transfers: Counter::default(),
            bytes: Counter::default(),
            failures: Counter::default(),
            busy_cycles: Counter::default(),
            busy_since: None,
            recorder: None,
            full_since: None,
            params,
        }
    }

    /// Records its transfers from now on; `clock` drives it.
    pub fn record(&mut self, clock: Clock, log: MoveLog) {
        let rings = self.rings.map(|ring| ring.entries);
        self.recorder = Some(Recorder::new(clock, log, &rings));
    }

    fn apply(&mut self, now: Cycle, order: DmaOrder) {
        match order {
            DmaOrder::Reset => {
                drop(self.card.memory.take_back(now));
                self.card.reset();
                self.host.reset();
                (self.reading, self.failed, self.is_failure_reported) = (None, None, false);
                (self.jobs, self.singles) = Default::default();
                self.buffer.take(self.buffer.len());
                for ring in &mut self.rings {
                    (ring.producer, ring.next) = (0, 0);
                }
            }
            DmaOrder::Enable(is_enabled) => self.is_enabled = is_enabled,
            DmaOrder::Single(transfer) => self.singles.push_back((transfer, now)),
            DmaOrder::Buffers(buffers) => {
                self.take_back(now);
                self.buffers = buffers;
            }
            DmaOrder::Ring(ring, base) => self.ring(ring).base = base,
            DmaOrder::Producer(ring, index) => {
                let from = self.ring(ring).producer;
                self.ring(ring).fill_to(index);
                if let Some(recorder) = &mut self.recorder {
                    recorder.order(now, usize::from(ring).min(1), from, index);
                }
            }
            DmaOrder::Consumer(ring, index) => self.ring(ring).go_to(index),
        }
    }

    fn ring(&mut self, ring: u8) -> &mut Ring {
        &mut self.rings[usize::from(ring).min(1)]
    }

    /// Handles all replies that have arrived.
    fn take_answers(&mut self, now: Cycle) -> bool {
        let mut any = false;
        while let Some(TrackedReply { what, result, is_current, at }) =
            self.card.answer(now).or_else(|| self.host.answer(now))
        {
            any = true;
            match result {
                _ if !is_current => {}
                Ok(data) => self.take_answer(at, what, data),
                Err(error) => {
                    self.failures.add(1);
                    self.failed.get_or_insert(error);
                }
            }
        }
        any
    }

    fn take_answer(&mut self, now: Cycle, what: Use, mut data: Data) {
        match what {
            Use::Descriptor(_) => self.take_descriptor(now, &data),
            Use::Source { is_mirrored, .. } => {
                if is_mirrored {
                    mirror(&mut data);
                }
                let job =
                    self.jobs.iter_mut().find(|job| job.received < job.transfer.bytes).expect("a job requested it");
                if job.needs_sum() {
                    job.sum.add(&data);
                }
                job.received += data.len() as u32;
                job.times.received = now;
                self.buffer.push(&data);
            }
            Use::Sink(bytes) => {
                let job =
                    self.jobs.iter_mut().find(|job| job.acknowledged < job.transfer.bytes).expect("a job wrote it");
                job.acknowledged += bytes;
                job.times.stored = now;
            }
            Use::Checksum => {
                let job = self.jobs.iter_mut().find(|job| !job.is_sum_stored).expect("a job stored it");
                job.is_sum_stored = true;
                job.times.stored = now;
            }
        }
    }

    fn take_descriptor(&mut self, now: Cycle, data: &Data) {
        let is_whole = self.reading.as_mut().expect("a descriptor is being read").take(data);
        if let Some(Reading { entry, data, .. }) = self.reading.take_if(|_| is_whole) {
            let recorder = self.recorder.as_ref();
            let ordered = recorder.map_or(0, |recorder| recorder.ordered(entry.ring.into(), entry.index));
            self.jobs.push_back(Job::new(Some(entry), transfer(&data)).at(ordered, self.reading_since, now));
        }
    }

    /// Reports completed jobs in order.
    fn report(&mut self, now: Cycle) -> bool {
        let progress = &self.card.progress;
        if let Some(error) = self.failed {
            if !self.is_failure_reported && progress.has_room() {
                progress.send(DmaProgress::Failed(error));
                self.is_failure_reported = true;
            }
            return false;
        }
        let mut any = false;
        while progress.has_room() && self.jobs.front().is_some_and(Job::is_done) {
            let Job { entry, transfer, sum, times, .. } = self.jobs.pop_front().expect("there is one");
            let Transfer { local, host, bytes, state, .. } = transfer;
            if let Some(recorder) = &self.recorder {
                let (route, from, to) = match self.params.direction {
                    Direction::Read => (Route::FromHost, Wait::HostRead, Wait::MemoryWrite),
                    Direction::Write => (Route::ToHost, Wait::MemoryRead, Wait::HostWrite),
                };
                let Times { ordered, reading, read, requested, received, full, stored } = times;
                let steps = [
                    (Wait::Before, reading),
                    (Wait::Descriptor, read),
                    (Wait::Before, requested),
                    // While the buffer was full, the sink was the slower side.
                    (from, requested.max(received.saturating_sub(full))),
                    (to, stored),
                    (Wait::Report, now),
                ];
                let areas = self.buffers.areas(local, bytes.into());
                recorder.note(route, areas, (host, bytes.into()), [ordered, requested], &steps);
            }
            let end = self.buffers.after(local, u64::from(bytes));
            progress.send(match entry {
                Some(Entry { ring, index }) => {
                    DmaProgress::Consumer(ring, self.rings[usize::from(ring)].after(index), state, end)
                }
                None => DmaProgress::SingleDone(sum.sum(), end),
            });
            self.transfers.add(1);
            self.bytes.add(u64::from(bytes));
            any = true;
        }
        any
    }

    /// Starts the next transfer: a single transfer first, then a descriptor of the high ring, then of the other ring.
    fn begin(&mut self, now: Cycle) -> bool {
        if self.reading.is_some() || self.jobs.len() > self.params.descriptors_ahead {
            return false;
        }
        if let Some((transfer, ordered)) = self.singles.pop_front() {
            self.jobs.push_back(Job::new(None, transfer).at(ordered, ordered, ordered));
            return true;
        }
        let Some(ring) = [1, 0].into_iter().find(|&i| self.is_enabled && !self.rings[i].is_empty()) else {
            return false;
        };
        let index = self.rings[ring].next;
        self.rings[ring].next = self.rings[ring].after(index);
        let addr = self.rings[ring].addr(index, self.params.descriptor_bytes);
        self.reading = Some(Reading::new(Entry { ring: ring as u8, index }, addr, self.params.descriptor_bytes));
        self.reading_since = now;
        true
    }

    /// Sends the next reference for the descriptor that is being read.
    fn ask_descriptor(&mut self, now: Cycle) {
        if let Some(reading) = &mut self.reading {
            reading.ask(now, self.card.descriptors(), self.params.memory_burst_bytes, Use::Descriptor);
        }
    }

    /// The first job whose checksum is not stored; `None` if some of its bytes have not been received or sent.
    fn unsummed(&self) -> Option<usize> {
        let first = self.jobs.iter().position(|job| !job.is_sum_sent)?;
        let job = &self.jobs[first];
        (job.received == job.transfer.bytes && job.sent == job.received).then_some(first)
    }

    /// Stores the checksum of the first job that has all its bytes.
    fn ask_checksum(&mut self, now: Cycle) {
        let Some(first) = self.unsummed().filter(|_| self.card.memory.is_free(now)) else { return };
        let job = &mut self.jobs[first];
        let data = Data::from_slice(&job.sum.sum().to_be_bytes());
        self.card.memory.ask(now, job.transfer.checksum_at, Access::Write(data), Use::Checksum);
        job.is_sum_sent = true;
    }

    /// Reads the next bytes of the source.
    fn ask_source(&mut self, now: Cycle) {
        let mut reserved = self.reserved();
        let DmaAssist { params, card, host, jobs, buffers, recorder, full_since, .. } = self;
        let is_host = params.direction == Direction::Read;
        let limit = if is_host { params.host_burst_bytes } else { params.memory_burst_bytes };
        let source = if is_host { &mut *host } else { &mut card.memory };
        if recorder.is_none() && !source.is_free(now) {
            return;
        }
        let Some(job) = jobs.iter_mut().find(|job| job.requested < job.transfer.bytes) else { return };
        let (addr, bytes) = job.reference(is_host, job.requested, limit, buffers);
        if is_host && card.memory.is_planning() {
            // Planned bytes are in the buffer until they are sent.
            for (behind, planned) in card.memory.planned(now + 1).enumerate() {
                let Use::Sink(planned) = planned else { continue };
                if reserved + bytes <= params.buffer_bytes && reserved + bytes + planned > params.buffer_bytes {
                    card.memory.wake_when_sent(now, behind);
                }
                reserved += planned;
            }
        }
        let source = if is_host { host } else { &mut card.memory };
        if recorder.is_some() {
            let is_full = job.requested > 0 && reserved + bytes > params.buffer_bytes;
            job.times.full += count_since(full_since, now, is_full);
        }
        if reserved + bytes <= params.buffer_bytes && source.is_free(now) {
            let is_mirrored = is_host && job.is_mirrored();
            source.ask(now, addr, Access::Read(bytes), Use::Source { bytes, is_mirrored });
            if job.requested == 0 {
                job.times.requested = now;
            }
            job.requested += bytes;
        }
    }

    /// Writes the next bytes to the sink.
    fn ask_sink(&mut self, now: Cycle) {
        let DmaAssist { params, card, host, jobs, buffer, buffers, .. } = self;
        let is_host = params.direction == Direction::Write;
        let limit = if is_host { params.host_burst_bytes } else { params.memory_burst_bytes };
        let sink = if is_host { host } else { &mut card.memory };
        if buffer.is_empty() || !sink.is_free(now) {
            return;
        }
        let Some(job) = jobs.iter_mut().find(|job| job.sent < job.transfer.bytes) else { return };
        let (addr, bytes) = job.reference(is_host, job.sent, limit, buffers);
        if job.received - job.sent >= bytes {
            let mut data = Data::from_slice(buffer.take(bytes as usize));
            if is_host && job.is_mirrored() {
                mirror(&mut data);
            }
            sink.ask(now, addr, Access::Write(data), Use::Sink(bytes));
            job.sent += bytes;
        }
    }

    /// The next cycle to tick in, if a checksum is ready: it is stored before any planned reference that is not sent yet.
    fn next_look(&self, now: Cycle) -> Option<Cycle> {
        let (memory, must_sum) = (&self.card.memory, self.unsummed().is_some());
        memory.reply_aloud(must_sum);
        match () {
            () if !must_sum => None,
            () if memory.n_planned(now) > 0 => Some(now + 1),
            () => memory.reply_due(),
        }
    }

    /// Cancels all planned references that were not sent before this tick.
    fn take_back(&mut self, now: Cycle) {
        let DmaAssist { card, jobs, reading, buffer, .. } = self;
        for what in card.memory.take_back(now) {
            let mut jobs = jobs.iter_mut().rev();
            let job = match what {
                Use::Descriptor(bytes) => {
                    reading.as_mut().expect("a descriptor is being read").take_back(bytes);
                    continue;
                }
                Use::Source { .. } => jobs.find(|job| job.requested > 0),
                Use::Sink(_) => jobs.find(|job| job.sent > 0),
                Use::Checksum => jobs.find(|job| job.is_sum_sent && !job.is_sum_stored),
            };
            let job = job.expect("a job asked for it");
            match what {
                Use::Source { bytes, .. } => job.requested -= bytes,
                Use::Sink(bytes) => {
                    job.sent -= bytes;
                    buffer.put_back(bytes as usize);
                }
                Use::Checksum | Use::Descriptor(_) => job.is_sum_sent = false,
            }
        }
    }

    /// Sends or plans references. Descriptors and checksums go before data.
    fn ask(&mut self, now: Cycle) {
        let has_first = self.reading.as_ref().is_some_and(Reading::is_asking) || self.unsummed().is_some();
        if !self.card.memory.start_planning(self.recorder.is_none() && !self.card.is_split()) || has_first {
            self.take_back(now);
        }
        self.ask_descriptor(now);
        self.ask_checksum(now);
        self.buffer.keep(if self.card.memory.is_planning() {
            MOST_PLANNED * self.params.memory_burst_bytes as usize
        } else {
            0
        });
        if !self.card.memory.is_planning() {
            self.ask_sink(now);
            self.ask_source(now);
        } else if self.params.direction == Direction::Read {
            while self.plan_sink(now) {
                self.ask_checksum(now);
            }
            self.ask_source(now);
        } else {
            self.ask_sink(now);
            self.plan_source(now);
        }
    }

    /// Plans writes for all bytes in the buffer that belong to the first unfinished transfer. Returns true if its last byte is
    /// among them.
    fn plan_sink(&mut self, now: Cycle) -> bool {
        let DmaAssist { params, card, jobs, buffer, buffers, .. } = self;
        let Some(job) = jobs.iter_mut().find(|job| job.sent < job.transfer.bytes) else { return false };
        while job.sent < job.transfer.bytes {
            let (addr, bytes) = job.reference(false, job.sent, params.memory_burst_bytes, buffers);
            if job.received - job.sent < bytes || !card.memory.is_free(now) {
                return false;
            }
            let data = Data::from_slice(buffer.take(bytes as usize));
            job.sent += bytes;
            let is_quiet = job.sent < job.transfer.bytes;
            let planned = Planned::new(now, addr, Access::Write(data)).quiet(is_quiet);
            card.memory.plan(now, planned, Use::Sink(bytes));
        }
        true
    }

    /// Plans reads, as long as the buffer has room for their bytes.
    fn plan_source(&mut self, now: Cycle) {
        let mut room = self.params.buffer_bytes.saturating_sub(self.reserved());
        let DmaAssist { params, card, jobs, buffers, .. } = self;
        for job in jobs.iter_mut() {
            while job.requested < job.transfer.bytes {
                let (addr, bytes) = job.reference(false, job.requested, params.memory_burst_bytes, buffers);
                if bytes > room || !card.memory.is_free(now) {
                    return;
                }
                room -= bytes;
                job.requested += bytes;
                let is_quiet = !job.completes_host_reference(bytes, params.host_burst_bytes);
                let planned = Planned::new(now, addr, Access::Read(bytes)).quiet(is_quiet);
                card.memory.plan(now, planned, Use::Source { bytes, is_mirrored: false });
            }
        }
    }

    /// Number of bytes that are in the buffer or on their way to it.
    fn reserved(&self) -> u32 {
        self.buffer.len() as u32 + self.jobs.iter().map(|job| job.requested - job.received).sum::<u32>()
    }

    /// Counts cycles with work in progress.
    fn count(&mut self, now: Cycle) {
        let is_busy = self.reading.is_some() || !self.jobs.is_empty();
        match (self.busy_since, is_busy) {
            (None, true) => self.busy_since = Some(now),
            (Some(since), false) => {
                self.busy_cycles.add(now - since);
                self.busy_since = None;
            }
            _ => {}
        }
    }
}

impl Component for DmaAssist {
    fn tick(&mut self, now: Cycle) -> Activity {
        let mut has_begun = false;
        if self.card.orders.is_due(now) {
            self.take_answers(now.saturating_sub(1));
        }
        while let Some(order) = self.card.orders.take_due(now) {
            self.apply(now, order);
            has_begun = true;
        }
        let has_acted = self.take_answers(now) | self.report(now);
        if self.failed.is_none() {
            has_begun |= self.begin(now);
            self.ask(now);
        } else {
            self.take_back(now);
        }
        self.count(now);
        // All work that the received answers allow is done by now. To record waiting times, the assist must check after
        // each request if the buffer is full.
        let may_ask = match self.recorder {
            None => self.card.may_follow(now) || self.host.may_follow(now),
            Some(_) => has_acted || self.card.has_sent(now) || self.host.has_sent(now),
        };
        let activity = busy_if(has_begun || may_ask);
        match if self.card.memory.is_planning() { self.next_look(now) } else { None } {
            Some(cycle) => earliest(activity, Activity::Until(cycle.max(now + 1))),
            None => activity,
        }
    }

    fn ports(&self, ports: &mut Ports) {
        self.card.ports(ports);
        self.host.port("host", ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("transfers", self.transfers.total());
        counters.add("bytes", self.bytes.total());
        counters.add("failures", self.failures.total());
        counters.busy("busy_cycles", self.busy_cycles.total(), 1, "one transfer at a time");
    }
}

#[cfg(test)]
mod tests;
