//! The driver: what is in the rings, what the card was told, what it has said.

use super::TengigHostParams;
use super::rings::{self, descriptor};
use crate::tengig::map;
use blocks::feeders::{Checker, FrameLog, HostMemory, Offered, Passage, Traffic};
use kernel::Time;
use kernel::trace::Counter;

/// How far the driver is with starting the card.
enum Stage {
    /// So many of the set-up registers are written.
    SetUp(usize),
    /// It asks whether the firmware has enabled the receiver.
    Waiting,
    Running,
}

pub(super) struct Driver {
    params: TengigHostParams,
    stage: Stage,
    traffic: Traffic,
    /// When the card was ready.
    start: Option<Time>,
    /// Frames posted and frames reported as sent, since the start.
    posted: u64,
    sent: u64,
    /// Buffers posted and returned.
    buffers: u64,
    returned: u64,
    /// Mailboxes as they were written last.
    told_send: u32,
    told_receive: u32,
    pub has_said_go: bool,
    pub checker: Checker,
    pub log: FrameLog,
    /// Frames that the card reported as damaged.
    pub damaged: Counter,
    /// When frames were posted.
    pub posted_log: FrameLog,
    /// What the card said that makes no sense, and the first few in words.
    pub faults: Counter,
    pub kept_faults: Vec<(Time, String)>,
    /// When the card last reported sent frames, or had none.
    progressed: Time,
    pub diagnosis: Option<String>,
}

/// Faults that are kept in words.
const KEPT_FAULTS: usize = 8;

impl Driver {
    pub fn new(params: TengigHostParams, offered: Offered) -> Driver {
        Driver {
            log: FrameLog::new(params.kept_times),
            posted_log: FrameLog::new(params.kept_times),
            kept_faults: Vec::new(),
            progressed: Time::ZERO,
            diagnosis: None,
            params,
            stage: Stage::SetUp(0),
            traffic: offered.host,
            start: None,
            posted: 0,
            sent: 0,
            buffers: 0,
            returned: 0,
            told_send: 0,
            told_receive: 0,
            has_said_go: false,
            checker: Checker::new(offered.network.frames),
            damaged: Counter::default(),
            faults: Counter::default(),
        }
    }

    pub fn posted(&self) -> u64 {
        self.posted
    }

    pub fn sent(&self) -> u64 {
        self.sent
    }

    pub fn params(&self) -> &TengigHostParams {
        &self.params
    }

    pub fn started(&self) -> Option<Time> {
        self.start
    }

    /// Whether all that is offered has been reported as sent.
    pub fn is_done(&self) -> bool {
        self.sent == self.posted && self.traffic.due(self.posted).is_none()
    }

    /// Rings in words.
    pub fn rings(&self) -> [String; 2] {
        [
            format!("send: {} frames posted, {} reported as sent", self.posted, self.sent),
            format!("receive: {} buffers posted, {} returned", self.buffers, self.returned),
        ]
    }

    fn fault(&mut self, now: Time, text: String) {
        self.faults.add(1);
        if self.kept_faults.len() < KEPT_FAULTS {
            self.kept_faults.push((now, text));
        }
    }

    pub fn is_ready(&self) -> bool {
        matches!(self.stage, Stage::Running)
    }

    /// Registers to write before the card is asked anything, in this order.
    fn set_up(&self) -> [(u32, u32); 12] {
        let TengigHostParams { base, send_coalesce, receive_coalesce, coalesce_us, .. } = self.params;
        let high = |offset: u64| ((base + offset) >> 32) as u32;
        let low = |offset: u64| (base + offset) as u32;
        [
            (map::SEND_COALESCE, send_coalesce),
            (map::RECEIVE_COALESCE, receive_coalesce),
            (map::COALESCE_US, coalesce_us),
            (map::SEND_RING, high(rings::SEND_RING)),
            (map::SEND_RING + 4, low(rings::SEND_RING)),
            (map::RECEIVE_RING, high(rings::RECEIVE_RING)),
            (map::RECEIVE_RING + 4, low(rings::RECEIVE_RING)),
            (map::RETURN_RING, high(rings::RETURN_RING)),
            (map::RETURN_RING + 4, low(rings::RETURN_RING)),
            (map::STATUS, high(rings::STATUS)),
            (map::STATUS + 4, low(rings::STATUS)),
            (map::HOST_READY, 1),
        ]
    }

    /// The next register access: its offset and what is written, if it is not a read.
    pub fn next_access(&mut self) -> Option<(u32, Option<u32>)> {
        match self.stage {
            Stage::SetUp(done) => self.set_up().get(done).map(|&(register, value)| (register, Some(value))),
            Stage::Waiting => Some((map::RECEIVE_AREA_BYTES, None)),
            Stage::Running => {
                let (send, receive) = (2 * self.posted as u32, self.buffers as u32);
                if receive != self.told_receive {
                    self.told_receive = receive;
                    return Some((map::MAILBOX_RECEIVE, Some(receive)));
                }
                if send != self.told_send {
                    self.told_send = send;
                    return Some((map::MAILBOX_SEND, Some(send)));
                }
                None
            }
        }
    }

    /// The access is done; with the word if it was a read.
    pub fn answered(&mut self, word: Option<u32>) {
        self.stage = match self.stage {
            Stage::SetUp(done) if done + 1 < self.set_up().len() => Stage::SetUp(done + 1),
            Stage::SetUp(_) => Stage::Waiting,
            Stage::Waiting if word.is_none_or(|bytes| bytes == 0) => Stage::Waiting,
            Stage::Waiting | Stage::Running => Stage::Running,
        };
    }

    /// Posts buffers and frames as far as the rings have room; gives the time at which there is something to do again.
    pub fn fill(&mut self, memory: &mut HostMemory, now: Time) -> Option<Time> {
        if !self.is_ready() {
            return None;
        }
        let start = *self.start.get_or_insert(now);
        while self.buffers - self.returned < u64::from(self.params.receive_buffers) {
            self.post_buffer(memory);
        }
        if self.sent == self.posted {
            self.progressed = now;
        }
        let mut next = None;
        while self.posted - self.sent < u64::from(self.params.send_frames) {
            next = self.traffic.due(self.posted).and_then(|due| due.checked_add(start));
            if next.is_none_or(|due| due > now) {
                break;
            }
            self.post_frame(memory, now);
        }
        let patience = (self.sent < self.posted).then(|| self.watch(now)).flatten();
        next.filter(|due| *due > now).into_iter().chain(patience).min()
    }

    /// When the card will have sent nothing for too long; if it has, that is said.
    fn watch(&mut self, now: Time) -> Option<Time> {
        let end = self.progressed.checked_add(Time::from_ns(u64::from(self.params.patience_us) * 1000))?;
        if now >= end && self.diagnosis.is_none() {
            let (posted, sent, since) = (2 * self.posted, 2 * self.sent, self.progressed);
            self.diagnosis = Some(format!(
                "send ring: the card has not moved its consumer on from {sent} since {since}; the producer is {posted}"
            ));
        }
        (now < end).then_some(end)
    }

    fn post_buffer(&mut self, memory: &mut HostMemory) {
        let place = self.buffers as u32 % map::RECEIVE_ENTRIES;
        let at = self.params.base + rings::BUFFERS + u64::from(place) * rings::BUFFER_BYTES;
        let words = [(at >> 32) as u32, at as u32, rings::BUFFER_BYTES as u32, place];
        self.put_descriptor(memory, descriptor(rings::RECEIVE_RING, place), words);
        self.buffers += 1;
    }

    fn post_frame(&mut self, memory: &mut HostMemory, now: Time) {
        let frame = self.traffic.frames.frame(self.posted).expect("a frame that is due exists");
        let place = self.posted as u32 % rings::SEND_FRAMES;
        let (header, payload) = frame.bytes.split_at(self.params.header_bytes as usize);
        for (part, area, n) in [(header, rings::HEADERS, 2 * place), (payload, rings::PAYLOADS, 2 * place + 1)] {
            let at = self.params.base + area + u64::from(place) * rings::BUFFER_BYTES;
            memory.put(at, part);
            let words = [(at >> 32) as u32, at as u32, part.len() as u32, 0];
            self.put_descriptor(memory, descriptor(rings::SEND_RING, n), words);
        }
        let bytes = frame.bytes.len() as u32;
        self.posted_log.note(Passage { id: Some(self.posted), at: now, bytes });
        self.posted += 1;
    }

    fn put_descriptor(&self, memory: &mut HostMemory, at: u64, words: [u32; 4]) {
        for (i, word) in (0..).zip(words) {
            memory.put_word(self.params.base + at + 4 * i, word);
        }
    }

    /// Takes what the card has reported.
    pub fn look(&mut self, memory: &HostMemory, now: Time) {
        let status = self.params.base + rings::STATUS;
        let (consumer, producer) = (memory.word(status), memory.word(status + 4));
        let sent = consumer.wrapping_sub(2 * self.sent as u32) / 2;
        if u64::from(sent) > self.posted - self.sent {
            let (last, posted) = (2 * self.sent as u32, 2 * self.posted as u32);
            self.fault(now, format!("send consumer went from {last} to {consumer}, the producer is {posted}"));
        } else if sent > 0 {
            self.sent += u64::from(sent);
            self.progressed = now;
        }
        let returned = producer.wrapping_sub(self.returned as u32);
        if u64::from(returned) > self.buffers - self.returned {
            let (last, buffers) = (self.returned as u32, self.buffers as u32);
            self.fault(
                now,
                format!("return producer went from {last} to {producer}, but {buffers} buffers are posted"),
            );
            return;
        }
        for _ in 0..returned {
            self.take_frame(memory, now);
            self.returned += 1;
        }
    }

    fn take_frame(&mut self, memory: &HostMemory, now: Time) {
        let at = self.params.base + descriptor(rings::RETURN_RING, self.returned as u32);
        let word = |i: u64| memory.word(at + 4 * i);
        let (buffer, bytes, errors, number) = (word(0), word(1), word(2), word(3));
        let expected = self.returned as u32;
        if buffer != expected % map::RECEIVE_ENTRIES || number != expected || u64::from(bytes) > rings::BUFFER_BYTES {
            let text = format!("return descriptor {expected} says frame {number}, {bytes} bytes, buffer {buffer}");
            self.fault(now, text);
            return;
        }
        if errors != 0 {
            self.damaged.add(1);
            return;
        }
        let place = self.params.base + rings::BUFFERS + u64::from(buffer) * rings::BUFFER_BYTES;
        let frame = memory.get(place, bytes as usize).expect("a buffer is in the memory");
        let id = self.checker.check(now, frame).id();
        self.log.note(Passage { id, at: now, bytes });
    }
}
