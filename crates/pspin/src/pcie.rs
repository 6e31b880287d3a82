//! The way to host memory: the mux in front of the PCIe link, and the link.

use crate::activity::{after, sooner};
use crate::arbiter::requests;
use crate::events::{HOST_READ, HOST_WRITTEN};
use crate::host_link::{Bytes, HostData, HostRead, HostTarget, HostWrite, HostWritten, to_line_end};
use crate::params::PcieParams;
use crate::world::HostMemory;
use blocks::arbiter::RoundRobinTree;
use kernel::trace::{Counter, Tracer};
use kernel::{Activity, Component, CounterList, Cycle, Ports};
use std::collections::VecDeque;

/// Something of initiator `from` that is at the host, or whose answer is back, in cycle `due`.
struct Pending<T> {
    due: Cycle,
    from: usize,
    what: T,
}

/// One direction of the link.
#[derive(Default)]
struct Lane {
    arbiter: RoundRobinTree,
    /// From when the next beat may start.
    free: Cycle,
    beats: Counter,
    bytes: Counter,
    first: Option<Cycle>,
    last: Cycle,
}

/// Reads and writes host memory for several initiators.
///
/// Ports:    for each initiator `writes[i]` and `reads[i]` in, `written[i]` and `data[i]` out; 1 beat a cycle each way.
/// Timing:   a write beat seen in cycle t is in host memory in t + `latency_cycles`, when the response to its burst is
///           seen; the first beat of a read burst seen in t is seen by its initiator in t + `latency_cycles`. Each
///           further beat takes one cycle and the gap.
/// Fairness: initiators take turns, a burst each.
/// Source:   PsPIN RTL a49fec8, `host_mst_mux.sv`, `hw/verilator_model/src/PCIeSlave.hpp`.
/// Differs:  beats carry their own addresses; the functional model places the later beats of an unaligned burst wrongly.
///           The mux decides when a burst's first data are here, not its address, so a short write of one initiator may
///           pass a burst of another whose data are on their way.
pub struct Pcie {
    params: PcieParams,
    initiators: Vec<HostTarget>,
    memory: Box<dyn HostMemory>,
    trace: Tracer,

    write_lane: Lane,
    /// The initiator in the middle of a write burst.
    writer: Option<usize>,
    /// Write beats that are accepted and have not started.
    writes: VecDeque<(usize, HostWrite)>,
    writing: VecDeque<Pending<HostWrite>>,

    read_lane: Lane,
    /// Read bursts that are accepted, without the beats that have started.
    reads: VecDeque<(usize, HostRead)>,
    reading: VecDeque<Pending<(u64, u32, bool)>>,
}

impl Pcie {
    /// A link to `memory`, shared by `initiators`.
    pub fn new(params: PcieParams, initiators: Vec<HostTarget>, memory: Box<dyn HostMemory>, trace: Tracer) -> Self {
        assert!(params.latency_cycles > 0, "an answer takes a cycle");
        Pcie {
            params,
            initiators,
            memory,
            trace,
            write_lane: Lane::default(),
            writer: None,
            writes: VecDeque::new(),
            writing: VecDeque::new(),
            read_lane: Lane::default(),
            reads: VecDeque::new(),
            reading: VecDeque::new(),
        }
    }

    /// Accepts a write beat; the beats of a burst stay together.
    fn accept_write(&mut self) -> bool {
        if self.writes.len() == self.params.buffer_beats as usize {
            return false;
        }
        let n = self.initiators.len();
        let asks = |i: usize| self.initiators[i].writes.has_item();
        let chosen = match self.writer {
            Some(writer) => asks(writer).then_some(writer),
            None => self.write_lane.arbiter.take(requests(n, asks)).map(|i| i as usize),
        };
        let Some(i) = chosen else { return false };
        let write = self.initiators[i].writes.take().expect("a chosen initiator has a beat");
        self.writer = (!write.last).then_some(i);
        self.writes.push_back((i, write));
        true
    }

    fn start_write(&mut self, now: Cycle) -> Activity {
        if self.writes.is_empty() {
            return Activity::Idle;
        }
        if now < self.write_lane.free {
            return Activity::Until(self.write_lane.free);
        }
        let (from, what) = self.writes.pop_front().expect("a beat waits");
        let due = now + u64::from(self.params.latency_cycles);
        self.write_lane.start(now, u64::from(self.params.write_gap_cycles), due, what.bytes.len());
        self.writing.push_back(Pending { due, from, what });
        Activity::Busy
    }

    /// Completes the oldest write at the edge before it is due, so that its response is seen when it is.
    fn finish_write(&mut self, now: Cycle) -> Activity {
        let Some(Pending { due, from, what }) = self.writing.front() else { return Activity::Idle };
        if now + 1 < *due {
            return Activity::Until(due - 1);
        }
        if what.last {
            if !self.initiators[*from].written.has_room() {
                return Activity::Idle;
            }
            self.initiators[*from].written.send(HostWritten);
        }
        self.memory.write(what.addr, &what.bytes);
        self.trace.emit(&HOST_WRITTEN, now + 1, &[what.addr, what.bytes.len() as u64]);
        self.writing.pop_front();
        Activity::Busy
    }

    fn accept_read(&mut self) -> bool {
        if self.reads.len() == self.params.buffer_beats as usize {
            return false;
        }
        let n = self.initiators.len();
        let asking = requests(n, |i| self.initiators[i].reads.has_item());
        let Some(i) = self.read_lane.arbiter.take(asking) else { return false };
        let i = i as usize;
        self.reads.extend(self.initiators[i].reads.take().map(|read| (i, read)));
        true
    }

    /// Starts the next beat of the oldest read burst.
    fn start_read(&mut self, now: Cycle) -> Activity {
        let Some((from, read)) = self.reads.front_mut() else { return Activity::Idle };
        if now < self.read_lane.free {
            return Activity::Until(self.read_lane.free);
        }
        let size = to_line_end(read.addr, read.size);
        let what = (read.addr, size, size == read.size);
        let (from, due) = (*from, now + u64::from(self.params.latency_cycles));
        read.addr = read.addr.wrapping_add(u64::from(size));
        read.size -= size;
        if read.size == 0 {
            self.reads.pop_front();
        }
        self.read_lane.start(now, u64::from(self.params.read_gap_cycles), due, size as usize);
        self.reading.push_back(Pending { due, from, what });
        Activity::Busy
    }

    fn finish_read(&mut self, now: Cycle) -> Activity {
        let Some(&Pending { due, from, what: (addr, size, last) }) = self.reading.front() else {
            return Activity::Idle;
        };
        if now + 1 < due {
            return Activity::Until(due - 1);
        }
        if !self.initiators[from].data.has_room() {
            return Activity::Idle;
        }
        let mut bytes = Bytes::zeros(size as usize);
        self.memory.read(addr, &mut bytes);
        self.trace.emit(&HOST_READ, now + 1, &[addr, u64::from(size)]);
        self.initiators[from].data.send(HostData { bytes, last });
        self.reading.pop_front();
        Activity::Busy
    }
}

impl Lane {
    fn start(&mut self, now: Cycle, gap: u64, due: Cycle, bytes: usize) {
        self.free = now + 1 + gap;
        self.beats.add(1);
        self.bytes.add(bytes as u64);
        self.first.get_or_insert(due);
        self.last = due;
    }

    fn counters(&self, name: &str, counters: &mut CounterList) {
        counters.add(&format!("{name}_beats"), self.beats.total());
        counters.add(&format!("{name}_bytes"), self.bytes.total());
        counters.add(&format!("first_{name}_cycle"), self.first.unwrap_or(0));
        counters.add(&format!("last_{name}_cycle"), self.last);
    }
}

impl Component for Pcie {
    fn tick(&mut self, now: Cycle) -> Activity {
        let accepted = self.accept_write() | self.accept_read();
        let started = sooner(self.start_write(now), self.start_read(now));
        let finished = sooner(self.finish_write(now), self.finish_read(now));
        sooner(after(accepted), sooner(started, finished))
    }

    fn ports(&self, ports: &mut Ports) {
        for (i, initiator) in self.initiators.iter().enumerate() {
            ports.input(&format!("writes[{i}]"), &initiator.writes);
            ports.output(&format!("written[{i}]"), &initiator.written);
            ports.input(&format!("reads[{i}]"), &initiator.reads);
            ports.output(&format!("data[{i}]"), &initiator.data);
        }
    }

    fn counters(&self, counters: &mut CounterList) {
        self.write_lane.counters("write", counters);
        self.read_lane.counters("read", counters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestHost, params};
    use expect_test::{Expect, expect};
    use testkit::bench;

    /// Write beats of each of two initiators as cycle, address, bytes, last; reads of the first as cycle, address, size.
    fn check(params: PcieParams, writes: [&[(Cycle, u64, usize, bool)]; 2], reads: &[(Cycle, u64, u32)], want: Expect) {
        let log = bench(1_000, |bench| {
            let initiators = [0, 1].map(|i| {
                let beat = |&(cycle, addr, len, last)| (cycle, HostWrite { addr, bytes: Bytes::zeros(len), last });
                let reads = reads.iter().filter(|_| i == 0);
                let reads = reads.map(|&(cycle, addr, size)| (cycle, HostRead { addr, size }));
                let show = |data: &HostData| format!("{:02x?}{}", &data.bytes[..1], if data.last { "!" } else { "" });
                HostTarget {
                    writes: bench.input(&format!("writes {i}"), 8, writes[i].iter().map(beat).collect()),
                    written: bench.output(&format!("written {i}"), 2, |_| true, |_| String::new()),
                    reads: bench.input(&format!("reads {i}"), 8, reads.collect()),
                    data: bench.output(&format!("data {i}"), 2, |_| true, show),
                }
            });
            let trace = bench.tracer("pcie");
            let memory = Box::new(TestHost::default());
            bench.add("pcie", Pcie::new(params.clone(), initiators.into(), memory, trace));
            bench.log_events();
            bench.log_counters();
        });
        want.assert_eq(&log);
    }

    #[test]
    fn a_beat_a_cycle_and_bursts_stay_together() {
        let bursts: [&[_]; 2] =
            [&[(10, 47, 17, false), (12, 64, 64, true), (13, 0, 8, true)], &[(10, 4096, 64, true), (11, 0, 1, true)]];
        check(
            params().pcie,
            bursts,
            &[(10, 100, 64), (11, 0, 1)],
            expect![[r#"
                11   data 0 [64]
                11   event host_read addr=0x64 bytes=0x1c
                11   event host_written addr=0x2f bytes=0x11
                12   data 0 [80]!
                12   event host_read addr=0x80 bytes=0x24
                13   data 0 [00]!
                13   event host_read addr=0x0 bytes=0x1
                13   event host_written addr=0x40 bytes=0x40
                13   written 0
                14   event host_written addr=0x1000 bytes=0x40
                14   written 1
                15   event host_written addr=0x0 bytes=0x8
                15   written 0
                16   event host_written addr=0x0 bytes=0x1
                16   written 1
                pcie.write_beats 5
                pcie.write_bytes 154
                pcie.first_write_cycle 11
                pcie.last_write_cycle 16
                pcie.read_beats 3
                pcie.read_bytes 65
                pcie.first_read_cycle 11
                pcie.last_read_cycle 13
            "#]],
        );
    }

    #[test]
    fn latency_and_gaps_count_from_beat_to_beat() {
        let slow = PcieParams { latency_cycles: 30, write_gap_cycles: 3, read_gap_cycles: 5, ..params().pcie };
        check(
            slow,
            [&[(10, 0, 64, false), (11, 64, 64, true)], &[]],
            &[(10, 0, 128)],
            expect![[r#"
                40   data 0 [00]
                40   event host_read addr=0x0 bytes=0x40
                40   event host_written addr=0x0 bytes=0x40
                44   event host_written addr=0x40 bytes=0x40
                44   written 0
                46   data 0 [00]!
                46   event host_read addr=0x40 bytes=0x40
                pcie.write_beats 2
                pcie.write_bytes 128
                pcie.first_write_cycle 40
                pcie.last_write_cycle 44
                pcie.read_beats 2
                pcie.read_bytes 128
                pcie.first_read_cycle 40
                pcie.last_read_cycle 46
            "#]],
        );
    }
}
