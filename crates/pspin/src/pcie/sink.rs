//! Host memory without packets between: a beat after the other, at once, with gaps, or at a fixed rate.

use super::wire::Wire;
use super::{Ends, Model, Read, Write};
use crate::activity::sooner;
use crate::host_link::{HostData, to_line_end};
use crate::params::{PcieModel, PcieParams};
use kernel::{Activity, CounterList, Cycle};
use std::collections::VecDeque;

/// Something of initiator `from` that is at the host, or whose answer is back, in cycle `due`.
struct Pending<T> {
    due: Cycle,
    what: T,
}

/// When the next beat of a direction may start.
enum Lane {
    /// From this cycle on; each beat takes a cycle and the gap.
    Beats { free: Cycle, gap: u64 },
    /// As the bits of each beat need on the line.
    Rate(Wire),
}

/// Ideal host memory, or a data sink of a fixed rate.
///
/// Timing: a write beat seen in cycle t is in host memory in t + `latency_cycles`, when the response to its burst is seen;
///         the first beat of a read burst seen in t is seen by its initiator in t + `latency_cycles`. Each further beat
///         takes one cycle and the gap, or as long as its bytes need at the fixed rate.
/// Source: PsPIN RTL a49fec8, `hw/verilator_model/src/PCIeSlave.hpp`; Di Girolamo et al., ISCA 2021, IV, for the rate: PCIe
///         5.0, 16 lanes, as a fixed-rate data sink.
/// Differs: beats carry their own addresses; the functional model places the later beats of an unaligned burst wrongly.
pub struct Sink {
    latency: u64,
    /// Write beats that are accepted and have not started.
    writes: VecDeque<Write>,
    write_lane: Lane,
    writing: VecDeque<Pending<Write>>,
    /// Read bursts that are accepted, without the beats that have started.
    reads: VecDeque<Read>,
    read_lane: Lane,
    reading: VecDeque<Pending<Read>>,
}

impl Lane {
    fn new(clock_mhz: u64, params: &PcieParams, gap: u32) -> Self {
        match params.model {
            PcieModel::FixedRate => Lane::Rate(params.link.wire(clock_mhz)),
            PcieModel::Ideal | PcieModel::Tlp => Lane::Beats { free: 0, gap: u64::from(gap) },
        }
    }

    fn free_at(&self) -> Cycle {
        match self {
            Lane::Beats { free, .. } => *free,
            Lane::Rate(wire) => wire.free_at(),
        }
    }

    fn start(&mut self, now: Cycle, bytes: u32) {
        match self {
            Lane::Beats { free, gap } => *free = now + 1 + *gap,
            Lane::Rate(wire) => {
                wire.put(now, bytes);
            }
        }
    }
}

impl Model for Sink {
    fn waiting(&self) -> (usize, usize) {
        (self.writes.len(), self.reads.len())
    }

    fn write(&mut self, write: Write) {
        self.writes.push_back(write);
    }

    fn read(&mut self, read: Read) {
        self.reads.push_back(read);
    }

    fn tick(&mut self, now: Cycle, ends: &mut Ends) -> Activity {
        let started = sooner(self.start_write(now, ends), self.start_read(now, ends));
        let finished = sooner(self.finish_write(now, ends), self.finish_read(now, ends));
        sooner(started, finished)
    }

    fn counters(&self, _counters: &mut CounterList) {}
}

impl Sink {
    pub fn new(clock_mhz: u64, params: &PcieParams) -> Self {
        assert!(params.latency_cycles > 0, "an answer takes a cycle");
        Sink {
            latency: u64::from(params.latency_cycles),
            writes: VecDeque::new(),
            write_lane: Lane::new(clock_mhz, params, params.write_gap_cycles),
            writing: VecDeque::new(),
            reads: VecDeque::new(),
            read_lane: Lane::new(clock_mhz, params, params.read_gap_cycles),
            reading: VecDeque::new(),
        }
    }

    fn start_write(&mut self, now: Cycle, ends: &mut Ends) -> Activity {
        if self.writes.is_empty() {
            return Activity::Idle;
        }
        if now < self.write_lane.free_at() {
            return Activity::Until(self.write_lane.free_at());
        }
        let what = self.writes.pop_front().expect("a beat waits");
        let due = now + self.latency;
        self.write_lane.start(now, what.beat.bytes.len() as u32);
        if !what.refused {
            ends.writes.count(due, what.beat.bytes.len());
        }
        self.writing.push_back(Pending { due, what });
        Activity::Busy
    }

    /// Completes the oldest write at the edge before it is due, so that its response is seen when it is.
    fn finish_write(&mut self, now: Cycle, ends: &mut Ends) -> Activity {
        let Some(Pending { due, what }) = self.writing.front() else { return Activity::Idle };
        if now + 1 < *due {
            return Activity::Until(due - 1);
        }
        if what.beat.last && !ends.respond(what.from) {
            return Activity::Idle;
        }
        ends.store(now + 1, what);
        self.writing.pop_front();
        Activity::Busy
    }

    /// Starts the next beat of the oldest read burst.
    fn start_read(&mut self, now: Cycle, ends: &mut Ends) -> Activity {
        let Some(read) = self.reads.front_mut() else { return Activity::Idle };
        if now < self.read_lane.free_at() {
            return Activity::Until(self.read_lane.free_at());
        }
        let burst = &mut read.burst;
        let size = to_line_end(burst.addr, burst.size);
        let (due, last) = (now + self.latency, read.last && size == burst.size);
        let beat = crate::host_link::HostRead { size, ..*burst };
        let what = Read { from: read.from, burst: beat, last, refused: read.refused };
        burst.addr = burst.addr.wrapping_add(u64::from(size));
        burst.size -= size;
        if burst.size == 0 {
            self.reads.pop_front();
        }
        self.read_lane.start(now, size);
        if !what.refused {
            ends.reads.count(due, size as usize);
        }
        self.reading.push_back(Pending { due, what });
        Activity::Busy
    }

    fn finish_read(&mut self, now: Cycle, ends: &mut Ends) -> Activity {
        let Some(Pending { due, what: Read { from, burst, last, refused } }) = self.reading.front() else {
            return Activity::Idle;
        };
        if now + 1 < *due {
            return Activity::Until(due - 1);
        }
        if !ends.takes_data(*from) {
            return Activity::Idle;
        }
        let bytes = ends.load(now + 1, burst.addr, burst.size, *refused);
        ends.give(*from, HostData { bytes, last: *last });
        self.reading.pop_front();
        Activity::Busy
    }
}
