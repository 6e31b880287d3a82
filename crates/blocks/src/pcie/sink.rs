//! Host memory without a packet model: ideal, with gaps, or at a fixed rate.

use super::beats::BEAT_BYTES;
use super::traffic::DirectionCounters;
use super::wire::Wire;
use super::{Bytes, Ends, PcieModel, PcieParams, Read, Write, to_line_end};
use crate::activity::earliest;
use kernel::{Activity, CounterList, Cycle};
use std::collections::VecDeque;

/// A beat of initiator `from` that reaches host memory, or returns from it, in cycle `due`.
struct Pending<T> {
    due: Cycle,
    what: T,
}

/// When the next beat of a direction may start.
enum BeatPace {
    /// From cycle `free`; each beat takes one cycle plus the gap.
    Beats { free: Cycle, gap: u64 },
    /// At the rate of a line.
    Rate(Wire),
}

/// Ideal host memory, or a data sink with a fixed rate.
///
/// Timing:   a write beat seen in cycle t is in host memory in t + `latency_cycles`, when the response to its burst is
///           visible. The first beat of a read burst seen in t is visible to its initiator in t + `latency_cycles`.
///           Each further beat takes one cycle plus the gap, or the time of its bytes at the fixed rate.
/// Buffers:  up to `buffer_beats` beats that the host has read wait for an initiator that cannot take them.
/// Source:   PsPIN RTL a49fec8, `hw/verilator_model/src/PCIeSlave.hpp`; Di Girolamo et al., ISCA 2021, IV, for the
///           rate: PCIe 5.0, 16 lanes, as a fixed-rate data sink.
/// Differs:  beats carry their own addresses; the RTL's functional model misplaces the later beats of an unaligned
///           burst.
pub struct Sink {
    latency: u64,
    /// Accepted write beats that have not started.
    writes: VecDeque<Write>,
    write_pace: BeatPace,
    writing: VecDeque<Pending<Write>>,
    /// Accepted read bursts, without the beats already started.
    reads: VecDeque<Read>,
    read_pace: BeatPace,
    reading: VecDeque<Pending<Read>>,
    /// Data that are read and not delivered: initiator, bytes, and true if they end the initiator's burst.
    data: VecDeque<(usize, Bytes, bool)>,
    buffer_beats: usize,
    written: DirectionCounters,
    read_back: DirectionCounters,
}

impl BeatPace {
    fn new(clock_hz: u64, params: &PcieParams, gap: u32) -> Self {
        match params.model {
            PcieModel::FixedRate => BeatPace::Rate(params.link.wire(clock_hz)),
            PcieModel::Ideal | PcieModel::Tlp => BeatPace::Beats { free: 0, gap: u64::from(gap) },
        }
    }

    fn free_at(&self) -> Cycle {
        match self {
            BeatPace::Beats { free, .. } => *free,
            BeatPace::Rate(wire) => wire.free_at(),
        }
    }

    fn start(&mut self, now: Cycle, bytes: u32) {
        match self {
            BeatPace::Beats { free, gap } => *free = now + 1 + *gap,
            BeatPace::Rate(wire) => {
                wire.put(now, bytes);
            }
        }
    }
}

impl Sink {
    pub fn new(clock_hz: u64, params: &PcieParams) -> Self {
        assert!(params.latency_cycles > 0, "latency_cycles is at least 1");
        Sink {
            latency: u64::from(params.latency_cycles),
            writes: VecDeque::new(),
            write_pace: BeatPace::new(clock_hz, params, params.write_gap_cycles),
            writing: VecDeque::new(),
            reads: VecDeque::new(),
            read_pace: BeatPace::new(clock_hz, params, params.read_gap_cycles),
            reading: VecDeque::new(),
            data: VecDeque::new(),
            buffer_beats: params.buffer_beats as usize,
            written: DirectionCounters::default(),
            read_back: DirectionCounters::default(),
        }
    }

    #[inline]
    pub fn waiting(&self) -> (usize, usize) {
        (self.writes.len(), self.reads.len())
    }

    #[inline]
    pub fn write(&mut self, write: Write) {
        self.writes.push_back(write);
    }

    /// Returns true if whole beats can start one a cycle from `now` on.
    pub fn takes_run(&self, now: Cycle) -> bool {
        matches!(self.write_pace, BeatPace::Beats { free, gap: 0 } if free <= now) && self.writes.is_empty()
    }

    /// Starts `n` whole beats, one a cycle from `now` on.
    pub fn write_run(&mut self, now: Cycle, n: usize) {
        let last = now + n as Cycle - 1;
        self.write_pace.start(last, BEAT_BYTES);
        self.written.count_run(now, self.latency, n);
    }

    #[inline]
    pub fn read(&mut self, read: Read) {
        self.reads.push_back(read);
    }

    pub fn tick(&mut self, now: Cycle, ends: &mut impl Ends) -> Activity {
        let started = earliest(self.start_write(now), self.start_read(now));
        let finished = earliest(self.finish_write(now, ends), self.finish_read(now, ends));
        earliest(started, finished)
    }

    pub fn counters(&self, counters: &mut CounterList) {
        self.written.counters("write", counters);
        self.read_back.counters("read", counters);
    }

    fn start_write(&mut self, now: Cycle) -> Activity {
        if self.writes.is_empty() {
            return Activity::Idle;
        }
        if now < self.write_pace.free_at() {
            return Activity::Until(self.write_pace.free_at());
        }
        let what = self.writes.pop_front().expect("a beat waits");
        let due = now + self.latency;
        self.write_pace.start(now, what.bytes.len() as u32);
        if !what.refused {
            self.written.count(due, what.bytes.len());
        }
        self.writing.push_back(Pending { due, what });
        Activity::Busy
    }

    /// Completes the oldest write one edge before it is due, so that its response is visible when due.
    fn finish_write(&mut self, now: Cycle, ends: &mut impl Ends) -> Activity {
        let Some(Pending { due, what }) = self.writing.front() else { return Activity::Idle };
        if now + 1 < *due {
            return Activity::Until(due - 1);
        }
        if what.last && !ends.respond(what.from) {
            return Activity::Idle;
        }
        if !what.refused {
            ends.store(now + 1, what.addr, &what.bytes);
        }
        self.writing.pop_front();
        Activity::Busy
    }

    /// Starts the next beat of the oldest read burst.
    fn start_read(&mut self, now: Cycle) -> Activity {
        let Some(read) = self.reads.front_mut() else { return Activity::Idle };
        if now < self.read_pace.free_at() {
            return Activity::Until(self.read_pace.free_at());
        }
        let size = to_line_end(read.addr, read.size);
        let due = now + self.latency;
        let (what, is_rest) = read.split(size);
        if !is_rest {
            self.reads.pop_front();
        }
        self.read_pace.start(now, size);
        if !what.refused {
            self.read_back.count(due, size as usize);
        }
        self.reading.push_back(Pending { due, what });
        Activity::Busy
    }

    /// Reads the oldest beat from host memory when it is due, and gives the oldest one that has been read.
    fn finish_read(&mut self, now: Cycle, ends: &mut impl Ends) -> Activity {
        let loaded = self.load(now, ends);
        earliest(loaded, self.give(ends))
    }

    fn load(&mut self, now: Cycle, ends: &mut impl Ends) -> Activity {
        let Some(Pending { due, what }) = self.reading.front() else { return Activity::Idle };
        if self.data.len() == self.buffer_beats {
            return Activity::Idle;
        }
        if now + 1 < *due {
            return Activity::Until(due - 1);
        }
        let mut bytes = Bytes::zeros(what.size as usize);
        if !what.refused {
            ends.load(now + 1, what.addr, &mut bytes);
        }
        self.data.push_back((what.from, bytes, what.last));
        self.reading.pop_front();
        Activity::Busy
    }

    fn give(&mut self, ends: &mut impl Ends) -> Activity {
        if !self.data.front().is_some_and(|&(from, ..)| ends.takes_data(from)) {
            return Activity::Idle;
        }
        let (from, bytes, last) = self.data.pop_front().expect("just seen");
        ends.give(from, bytes, last);
        Activity::Busy
    }
}
