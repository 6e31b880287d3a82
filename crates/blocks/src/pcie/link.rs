//! The PCIe link: transaction layer packets in both directions.

use super::traffic::Traffic;
use super::wire::Wire;
use super::{Bytes, Ends, LinkParams, PcieParams, Read, Write, to_line_end};
use crate::activity::sooner;
use kernel::trace::Counter;
use kernel::{Activity, CounterList, Cycle};
use std::collections::VecDeque;

/// A read request that is on its way, or being answered.
struct Request {
    /// When the host has its data; of a refused one, when it is its turn.
    ready: Cycle,
    /// What of it is not answered.
    left: Read,
}

/// A line of read data on its way back.
struct Line {
    due: Cycle,
    from: usize,
    bytes: Bytes,
    /// The last of its initiator's burst.
    last: bool,
    refused: bool,
    /// Its request's tag is free when it is handed over.
    frees_tag: bool,
}

/// A link of serial lanes between card and host.
///
/// Writes are posted: packets of up to `max_payload_bytes` that end at multiples of it, each sent when all its beats are
/// here. Reads are requests of up to `max_read_request_bytes` that end at multiples of that, with `read_tags` under way at
/// most; the host answers each, `host_read_cycles` after it came, with completions that end at multiples of
/// `read_completion_boundary_bytes`. Both directions are lines of their own; write packets and read requests take
/// turns on the one to the host.
///
/// Timing: a packet of n bytes takes (n + headers) bits of the line's exact rate, and `latency_cycles` from its last bit on.
///         A write burst is answered when the last bit of its last packet has left; the last cycle of a packet is counted
///         whole.
/// Source: PCI Express Base Specification 5.0: lane rate and 128b/130b encoding; headers of 4 words for requests with 64-bit
///         addresses and 3 for completions; 4 bytes of framing with sequence number and 4 of LCRC with each packet.
/// Differs: acknowledgements and flow control take no room on the line, nobody runs out of credits, nothing is sent again;
///         completions come in the order of their requests.
pub struct Link {
    params: LinkParams,
    to_host: Wire,
    from_host: Wire,
    /// Beats that are accepted and whose packet has not left.
    writes: VecDeque<Write>,
    /// Beats on their way to host memory, by when they are there.
    posted: VecDeque<(Cycle, Write)>,
    /// Write bursts that have left, by when and whose.
    left: VecDeque<(Cycle, usize)>,
    /// Read bursts that are accepted, without what is asked for.
    reads: VecDeque<Read>,
    requests: VecDeque<Request>,
    lines: VecDeque<Line>,
    tags_used: u32,
    /// A write packet was the last to leave: a read request goes first.
    read_turn: bool,
    written: Traffic,
    read_back: Traffic,
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
            written: Traffic::default(),
            read_back: Traffic::default(),
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
        activity = sooner(activity, self.answer(now, ends));
        activity = sooner(activity, self.tell_left(now, ends));
        activity = sooner(activity, self.store(now, ends));
        sooner(activity, self.give(now, ends))
    }

    pub fn counters(&self, counters: &mut CounterList) {
        self.written.counters("write", counters);
        self.read_back.counters("read", counters);
        counters.add("write_packets", self.n_writes.total());
        counters.add("read_requests", self.n_requests.total());
        counters.add("completions", self.n_completions.total());
        counters.add("line_bytes_to_host", self.to_host.bytes());
        counters.add("line_bytes_from_host", self.from_host.bytes());
    }

    /// How many of the beats that wait are the next packet, if all of it is here.
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
            // It does not leave the card.
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

    /// The host sends the next completion of the oldest request.
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
            self.lines.push_back(Line { due, from, bytes, last, refused, frees_tag: !is_rest });
        }
        if left.size == 0 {
            self.requests.pop_front();
        }
        Activity::Busy
    }

    /// Answers write bursts whose last packet has left.
    fn tell_left(&mut self, now: Cycle, ends: &mut impl Ends) -> Activity {
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

    /// Packets reach host memory.
    fn store(&mut self, now: Cycle, ends: &mut impl Ends) -> Activity {
        let mut activity = Activity::Idle;
        while let Some((due, write)) = self.posted.front() {
            if *due > now {
                return sooner(activity, Activity::Until(*due));
            }
            if !write.refused {
                ends.store(now, write.addr, &write.bytes);
            }
            self.posted.pop_front();
            activity = Activity::Busy;
        }
        activity
    }

    /// Hands a line of read data over.
    fn give(&mut self, now: Cycle, ends: &mut impl Ends) -> Activity {
        let Some(line) = self.lines.front() else { return Activity::Idle };
        if now + 1 < line.due {
            return Activity::Until(line.due - 1);
        }
        if !ends.takes_data(line.from) {
            return Activity::Idle;
        }
        let line = self.lines.pop_front().expect("a line is here");
        self.tags_used -= u32::from(line.frees_tag);
        if !line.refused {
            self.read_back.count(now + 1, line.bytes.len());
        }
        ends.give(line.from, line.bytes, line.last);
        Activity::Busy
    }
}

impl LinkParams {
    /// A direction of the link, for a card whose clock has `clock_hz`.
    pub(super) fn wire(&self, clock_hz: u64) -> Wire {
        // Bits of a byte at the line's code, by the bits of all lanes in a cycle.
        let top = 8 * clock_hz * u64::from(self.code_line_bits);
        let bottom = u64::from(self.lanes) * u64::from(self.lane_mtps) * 1_000_000 * u64::from(self.code_bits);
        Wire::new(top, bottom)
    }
}
