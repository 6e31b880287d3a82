//! A PCIe link: transaction layer packets in both directions.

use super::traffic::DirectionCounters;
use super::wire::Wire;
use super::{Bytes, Ends, LinkParams, PcieParams, Read, Write, to_line_end};
use crate::activity::earliest;
use kernel::trace::Counter;
use kernel::{Activity, CounterList, Cycle};
use std::collections::VecDeque;

/// A read request in transit, or being answered.
struct Request {
    /// Cycle in which the host has its data, or in which a refused request is answered.
    ready: Cycle,
    /// The part not yet answered.
    left: Read,
}

/// A line of read data in transit to the card.
struct ReadLine {
    due: Cycle,
    from: usize,
    bytes: Bytes,
    /// True for the last line of the initiator's burst.
    last: bool,
    refused: bool,
    /// True if its delivery frees the request's tag.
    frees_tag: bool,
}

/// A PCIe link between card and host.
///
/// Writes are posted: packets of up to `max_payload_bytes`, aligned to that size, each sent when all its beats have
/// arrived. Reads are requests of up to `max_read_request_bytes`, aligned to that size, with at most `read_tags`
/// outstanding. The host answers each after `host_read_cycles`, with completions that end at multiples of
/// `read_completion_boundary_bytes`. Each direction has its own lanes; write packets and read requests alternate on
/// those to the host.
///
/// Timing:  a packet of n bytes takes (n + headers) bytes at the exact line rate, plus `latency_cycles` after its
///           last bit. A write burst is answered when the last bit of its last packet has left, rounded up to a whole
///           cycle.
/// Source:  PCI Express Base Specification 5.0: lane rate and 128b/130b encoding; headers of 4 words for requests
///           with 64-bit addresses and 3 for completions; for each packet 4 bytes of framing with sequence number and
///           4 of LCRC.
/// Differs: acknowledgements and flow control take no line time, credits never run out, nothing is retransmitted;
///           completions come in the order of their requests.
pub struct Link {
    params: LinkParams,
    to_host: Wire,
    from_host: Wire,
    /// Accepted beats whose packet has not left.
    writes: VecDeque<Write>,
    /// Beats in transit to host memory, with their arrival cycles.
    posted: VecDeque<(Cycle, Write)>,
    /// Write bursts that have left: cycle and initiator.
    left: VecDeque<(Cycle, usize)>,
    /// Accepted read bursts, without the parts already requested.
    reads: VecDeque<Read>,
    requests: VecDeque<Request>,
    lines: VecDeque<ReadLine>,
    tags_used: u32,
    /// True if a write packet left last, so that a read request has priority.
    read_turn: bool,
    written: DirectionCounters,
    read_back: DirectionCounters,
    n_writes: Counter,
    n_requests: Counter,
    n_completions: Counter,
}

impl Link {
    pub fn new(clock_hz: u64, params: &PcieParams) -> Self {
        let link = &params.link;
        Link {
            params: link.clone(),
            to_host: link.wire(clock_hz),
            from_host: link.wire(clock_hz),
            writes: VecDeque::new(),
            posted: VecDeque::new(),
            left: VecDeque::new(),
            reads: VecDeque::new(),
            requests: VecDeque::new(),
            lines: VecDeque::new(),
            tags_used: 0,
            read_turn: false,
            written: DirectionCounters::default(),
            read_back: DirectionCounters::default(),
            n_writes: Counter::default(),
            n_requests: Counter::default(),
            n_completions: Counter::default(),
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

    #[inline]
    pub fn read(&mut self, read: Read) {
        self.reads.push_back(read);
    }

    pub fn tick(&mut self, now: Cycle, ends: &mut impl Ends) -> Activity {
        let mut activity = self.send_to_host(now);
        activity = earliest(activity, self.answer(now, ends));
        activity = earliest(activity, self.respond_to_left(now, ends));
        activity = earliest(activity, self.store(now, ends));
        earliest(activity, self.give(now, ends))
    }

    pub fn counters(&self, counters: &mut CounterList) {
        self.written.counters("write", counters);
        self.read_back.counters("read", counters);
        counters.add("write_packets", self.n_writes.total());
        counters.add("read_requests", self.n_requests.total());
        counters.add("completions", self.n_completions.total());
        counters.add("line_bytes_to_host", self.to_host.bytes());
        counters.add("line_bytes_from_host", self.from_host.bytes());
        for (name, line) in [("to_host", &self.to_host), ("from_host", &self.from_host)] {
            let limit = format!("PCIe {}: the rate of its lanes", name.replace('_', " "));
            counters.busy(&format!("{name}_cycles"), line.busy_cycles(), 1, &limit);
        }
    }

    /// Number of waiting beats that form the next packet, if it is complete.
    fn next_packet(&self) -> Option<usize> {
        let most = u64::from(self.params.max_payload_bytes);
        let ends = |write: &Write| {
            let end = write.addr.wrapping_add(write.bytes.len() as u64);
            write.last || write.refused || end.is_multiple_of(most)
        };
        self.writes.iter().position(ends).map(|position| position + 1)
    }

    fn send_to_host(&mut self, now: Cycle) -> Activity {
        let packet = self.next_packet();
        let asks = !self.reads.is_empty() && self.tags_used < self.params.read_tags;
        if packet.is_none() && !asks {
            return Activity::Idle;
        }
        if now < self.to_host.free_at() {
            return Activity::Until(self.to_host.free_at());
        }
        match packet {
            Some(n_beats) if !(asks && self.read_turn) => self.send_write(now, n_beats),
            _ => self.send_request(now),
        }
        Activity::Busy
    }

    fn send_write(&mut self, now: Cycle, n_beats: usize) {
        self.read_turn = true;
        let packet: Vec<Write> = self.writes.drain(..n_beats).collect();
        let payload: u32 = packet.iter().map(|write| write.bytes.len() as u32).sum();
        let is_refused = packet.iter().all(|write| write.refused);
        let gone = match is_refused {
            // A refused burst does not leave the card.
            true => now + 1,
            false => {
                self.n_writes.add(1);
                self.to_host.put(now, self.params.header_bytes + self.params.framing_bytes + payload)
            }
        };
        let due = gone + u64::from(self.params.latency_cycles);
        for write in packet {
            if write.last {
                self.left.push_back((gone.max(now + 1), write.from));
            }
            if !write.refused {
                self.written.count(due, write.bytes.len());
                self.posted.push_back((due, write));
            }
        }
    }

    fn send_request(&mut self, now: Cycle) {
        self.read_turn = false;
        self.tags_used += 1;
        let read = self.reads.front_mut().expect("a read burst waits");
        let most = u64::from(self.params.max_read_request_bytes);
        let size = u64::from(read.size).min(most - read.addr % most) as u32;
        let (left, is_rest) = read.split(size);
        if !is_rest {
            self.reads.pop_front();
        }
        let ready = match left.refused {
            true => now + 1,
            false => {
                self.n_requests.add(1);
                let gone = self.to_host.put(now, self.params.header_bytes + self.params.framing_bytes);
                gone + u64::from(self.params.latency_cycles) + u64::from(self.params.host_read_cycles)
            }
        };
        self.requests.push_back(Request { ready, left });
    }

    /// Sends the next completion of the oldest request.
    fn answer(&mut self, now: Cycle, ends: &mut impl Ends) -> Activity {
        let Some(Request { ready, left }) = self.requests.front_mut() else { return Activity::Idle };
        let start = if left.refused { *ready } else { (*ready).max(self.from_host.free_at()) };
        if now < start {
            return Activity::Until(start);
        }
        let boundary = u64::from(self.params.read_completion_boundary_bytes);
        let payload = u64::from(left.size).min(boundary - left.addr % boundary) as u32;
        let due = match left.refused {
            true => now + 1,
            false => {
                self.n_completions.add(1);
                let bytes = self.params.completion_header_bytes + self.params.framing_bytes + payload;
                self.from_host.put(now, bytes) + u64::from(self.params.latency_cycles)
            }
        };
        let mut part = payload;
        while part > 0 {
            let (line, is_rest) = left.split(to_line_end(left.addr, part));
            part -= line.size;
            let mut bytes = Bytes::zeros(line.size as usize);
            if !line.refused {
                ends.load(now, line.addr, &mut bytes);
            }
            let Read { from, last, refused, .. } = line;
            self.lines.push_back(ReadLine { due, from, bytes, last, refused, frees_tag: !is_rest });
        }
        if left.size == 0 {
            self.requests.pop_front();
        }
        Activity::Busy
    }

    /// Answers write bursts whose last packet has left.
    fn respond_to_left(&mut self, now: Cycle, ends: &mut impl Ends) -> Activity {
        let Some(&(at, from)) = self.left.front() else { return Activity::Idle };
        if now + 1 < at {
            return Activity::Until(at - 1);
        }
        if !ends.respond(from) {
            return Activity::Idle;
        }
        self.left.pop_front();
        Activity::Busy
    }

    /// Writes arrived packets to host memory.
    fn store(&mut self, now: Cycle, ends: &mut impl Ends) -> Activity {
        let mut activity = Activity::Idle;
        while let Some((due, write)) = self.posted.front() {
            if *due > now {
                return earliest(activity, Activity::Until(*due));
            }
            if !write.refused {
                ends.store(now, write.addr, &write.bytes);
            }
            self.posted.pop_front();
            activity = Activity::Busy;
        }
        activity
    }

    /// Delivers a line of read data.
    fn give(&mut self, now: Cycle, ends: &mut impl Ends) -> Activity {
        let Some(line) = self.lines.front() else { return Activity::Idle };
        if now + 1 < line.due {
            return Activity::Until(line.due - 1);
        }
        if !ends.takes_data(line.from) {
            return Activity::Idle;
        }
        let line = self.lines.pop_front().expect("a line has arrived");
        self.tags_used -= u32::from(line.frees_tag);
        if !line.refused {
            self.read_back.count(now + 1, line.bytes.len());
        }
        ends.give(line.from, line.bytes, line.last);
        Activity::Busy
    }
}

impl LinkParams {
    /// One direction of the link, in cycles of a card clock of `clock_hz`.
    pub(super) fn wire(&self, clock_hz: u64) -> Wire {
        // Line bits of a byte, divided by the bits that all lanes move in a cycle.
        let top = 8 * clock_hz * u64::from(self.code_line_bits);
        let bottom = u64::from(self.lanes) * u64::from(self.lane_mtps) * 1_000_000 * u64::from(self.code_bits);
        Wire::new(top, bottom)
    }
}
