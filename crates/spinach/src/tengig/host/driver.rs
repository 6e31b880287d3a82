//! The driver: state of the rings, values sent to the card, and the card's reports.

use super::TengigHostParams;
use super::buffers::{self, BufferRing, put, take_long, take_short};
use super::outgoing::prepare;
use super::rings;
use crate::tengig::map;
use blocks::feeders::{Checker, FrameLog, HostMemory, HostPlace, Offered, Passage, Schedule};
use kernel::trace::Counter;
use kernel::{Inlet, Rx, Time};

/// Start-up state of the driver.
enum Stage {
    /// Number of set-up registers written.
    SetUp(usize),
    /// Polls until the firmware has enabled the receiver.
    Waiting,
    /// Reads which rings the firmware supports.
    Asking,
    Running,
}

pub(super) struct Driver {
    params: TengigHostParams,
    stage: Stage,
    pub traffic: Schedule,
    /// When the card was ready.
    start: Option<Time>,
    /// Frames posted and frames reported as sent, since the start.
    posted: u64,
    sent: u64,
    /// Rings of empty buffers: one, or standard, mini and jumbo; empty until the firmware's rings are known.
    rings: Vec<BufferRing>,
    /// True if the firmware has three rings and statistics.
    has_three: bool,
    returned: u64,
    /// Latest value written to the send mailbox.
    send_mailbox: u32,
    /// Bytes of the posted frames.
    posted_octets: u64,
    /// The card's statistics at the last check.
    counted: Statistics,
    pub has_sent_go: bool,
    pub checker: Checker,
    pub log: FrameLog,
    /// Frames that the card reported as damaged.
    pub damaged: Counter,
    /// Log of posted frames.
    pub posted_log: FrameLog,
    /// Places of posted and of received frames, if they are kept.
    pub places: Option<[Vec<HostPlace>; 2]>,
    /// Invalid reports of the card: their number, and the first few as text.
    pub faults: Counter,
    pub kept_faults: Vec<(Time, String)>,
    /// When the card last reported sent frames, or had none.
    progressed: Time,
    pub diagnosis: Option<String>,
}

/// The card's counters that the driver checks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Statistics {
    pub in_octets: u64,
    pub out_octets: u64,
    pub in_frames: u64,
    pub out_frames: u64,
    pub in_errors: u64,
    pub in_too_long: u64,
    pub in_dropped: u64,
}

/// Number of faults kept as text.
const KEPT_FAULTS: usize = 8;
/// Longest frame for a standard buffer, without check sequence. Source: IEEE 802.3, 3.2.7; thesis, 4.1.1 (1518 with it).
pub(super) const STANDARD_BYTES: u32 = 1514;

impl Driver {
    pub fn new(params: TengigHostParams, offered: Offered) -> Driver {
        Driver {
            log: FrameLog::new(params.kept_times),
            posted_log: FrameLog::new(params.kept_times),
            places: None,
            kept_faults: Vec::new(),
            progressed: Time::ZERO,
            diagnosis: None,
            params,
            stage: Stage::SetUp(0),
            traffic: Schedule::new(offered.host),
            start: None,
            posted: 0,
            sent: 0,
            rings: Vec::new(),
            has_three: false,
            returned: 0,
            send_mailbox: 0,
            posted_octets: 0,
            counted: Statistics::default(),
            has_sent_go: false,
            checker: Checker::new(offered.network.frames),
            damaged: Counter::default(),
            faults: Counter::default(),
        }
    }

    /// Allows the run to skip idle time.
    pub fn skip_by(&mut self, skips: (Inlet<Time>, Rx<Time>)) {
        let traffic = std::mem::replace(&mut self.traffic, Schedule::new(Default::default()));
        self.traffic = traffic.with_skips(skips);
    }

    /// When frame `id` is due, once the card runs.
    fn due(&self, id: u64) -> Option<Time> {
        self.traffic.due(id)?.checked_add(self.start?)
    }

    /// When the next frame is due, once the card runs.
    pub fn next_send(&self) -> Option<Time> {
        self.due(self.posted)
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

    /// Returns true if all offered frames have been reported as sent.
    pub fn is_done(&self) -> bool {
        self.sent == self.posted && self.traffic.due(self.posted).is_none()
    }

    /// State of the rings as text.
    pub fn rings(&self) -> Vec<String> {
        let send = format!("send: {} frames posted, {} reported as sent", self.posted, self.sent);
        let receive = |ring: &BufferRing| {
            format!("receive, {}: {} buffers posted, {} returned", ring.name, ring.posted, ring.returned)
        };
        std::iter::once(send).chain(self.rings.iter().map(receive)).collect()
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

    /// Registers to write first, in this order.
    fn set_up(&self) -> Vec<(u32, u32)> {
        let params = &self.params;
        let numbers = [
            (map::SEND_COALESCE, params.send_coalesce),
            (map::RECEIVE_COALESCE, params.receive_coalesce),
            (map::COALESCE_US, params.coalesce_us),
            (map::MINI_BYTES, params.mini_bytes),
            (map::STANDARD_BYTES, STANDARD_BYTES),
            (map::JUMBO_BYTES, params.longest_frame),
            (map::STATISTICS_US, params.statistics_us),
            (map::RECEIVE_SUMS, params.receive_sums.into()),
        ];
        let places = [
            (map::SEND_RING, rings::SEND_RING),
            (map::RECEIVE_RING, rings::RECEIVE_RING),
            (map::MINI_RING, rings::MINI_RING),
            (map::JUMBO_RING, rings::JUMBO_RING),
            (map::RETURN_RING, rings::RETURN_RING),
            (map::STATUS, rings::STATUS),
            (map::STATISTICS, rings::STATISTICS),
        ];
        let words = places.into_iter().flat_map(|(register, offset)| {
            let at = params.base + offset;
            [(register, (at >> 32) as u32), (register + 4, at as u32)]
        });
        numbers.into_iter().chain(words).chain([(map::HOST_READY, 1)]).collect()
    }

    /// Learns the firmware's rings.
    fn meet(&mut self, now: Time, rings: Option<u32>) {
        let TengigHostParams { receive_buffers, mini_bytes, longest_frame, .. } = self.params;
        self.has_three = rings == Some(map::RINGS_THREE);
        self.rings.push(BufferRing::standard(STANDARD_BYTES, receive_buffers));
        if self.has_three {
            self.rings.push(BufferRing::mini(mini_bytes));
            self.rings.push(BufferRing::jumbo(longest_frame, longest_frame > STANDARD_BYTES));
        } else if longest_frame > STANDARD_BYTES {
            self.fault(
                now,
                format!(
                    "the firmware has one ring of buffers, for frames of up to {STANDARD_BYTES} bytes, and longest_frame is \
                     {longest_frame}: firmware built with -D THESIS takes longer ones"
                ),
            );
            self.diagnosis = self.kept_faults.last().map(|(_, text)| text.clone());
        }
    }

    /// The next register access: its offset, and the value for a write.
    pub fn next_access(&mut self) -> Option<(u32, Option<u32>)> {
        match self.stage {
            Stage::SetUp(done) => self.set_up().get(done).map(|&(register, value)| (register, Some(value))),
            Stage::Waiting => Some((map::RECEIVE_AREA_BYTES, None)),
            Stage::Asking => Some((map::RINGS, None)),
            Stage::Running => {
                let send = 2 * self.posted as u32;
                if let Some(ring) = self.rings.iter_mut().find(|ring| ring.mailbox_value != ring.posted as u32) {
                    ring.mailbox_value = ring.posted as u32;
                    return Some((ring.mailbox, Some(ring.mailbox_value)));
                }
                if send != self.send_mailbox {
                    self.send_mailbox = send;
                    return Some((map::MAILBOX_SEND, Some(send)));
                }
                None
            }
        }
    }

    /// The access is done; `word` is the value of a read.
    pub fn answered(&mut self, now: Time, word: Option<u32>) {
        if matches!(self.stage, Stage::Asking) {
            self.meet(now, word);
        }
        self.stage = match self.stage {
            Stage::SetUp(done) if done + 1 < self.set_up().len() => Stage::SetUp(done + 1),
            Stage::SetUp(_) => Stage::Waiting,
            Stage::Waiting if word.is_none_or(|bytes| bytes == 0) => Stage::Waiting,
            Stage::Waiting => Stage::Asking,
            Stage::Asking | Stage::Running => Stage::Running,
        };
    }

    /// Posts buffers and frames while the rings have room; returns the time of the next action.
    pub fn fill(&mut self, memory: &mut HostMemory, now: Time) -> Option<Time> {
        if !self.is_ready() {
            return None;
        }
        self.start.get_or_insert(now);
        for ring in &mut self.rings {
            while ring.has_room() {
                ring.post(memory, self.params.base, self.has_three);
            }
        }
        if self.sent == self.posted {
            self.progressed = now;
        }
        let mut next = None;
        while self.posted - self.sent < u64::from(self.params.send_frames) {
            next = self.next_send();
            if next.is_none_or(|due| due > now) {
                break;
            }
            let is_last = self.due(self.posted + 1).is_none_or(|due| due > now);
            self.post_frame(memory, now, is_last);
        }
        let patience = (self.sent < self.posted).then(|| self.watch(now)).flatten();
        next.filter(|due| *due > now).into_iter().chain(patience).min()
    }

    /// The time at which the card will be diagnosed for not sending; reports the fault if that time has passed.
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

    /// Posts the next frame; `is_last` asks the card to report the last frame due at once.
    fn post_frame(&mut self, memory: &mut HostMemory, now: Time, is_last: bool) {
        let frame = self.traffic.frame(self.posted).expect("a due frame must exist");
        let TengigHostParams { base, header_bytes, send_sums, .. } = self.params;
        let header_bytes = header_bytes as usize;
        let (bytes, flags, third) = if self.has_three {
            let left = prepare(&frame.bytes, header_bytes, send_sums);
            let now = if is_last { map::FLAG_NOW } else { 0 };
            (left.bytes, left.flags | now, u32::from(left.sum_at) << 16 | u32::from(left.vlan))
        } else {
            (frame.bytes.to_vec(), 0, 0)
        };
        let place = self.posted as u32 % rings::SEND_FRAMES;
        let (header, payload) = bytes.split_at(header_bytes);
        let stand = |area: u64, stride: u64| base + area + u64::from(place) * stride;
        let parts = [
            (header, stand(rings::HEADERS, rings::BUFFER_BYTES), flags),
            (payload, stand(rings::PAYLOADS, rings::JUMBO_BUFFER_BYTES), flags | map::FLAG_END),
        ];
        for (n, (part, at, flags)) in (2 * place..).zip(parts) {
            memory.put(at, part);
            let words = [(at >> 32) as u32, at as u32, (part.len() as u32) << 16 | flags, third];
            put(memory, base + rings::SEND_RING + u64::from(n * map::DESCRIPTOR_BYTES), &words);
        }
        if let Some([posted, _]) = &mut self.places {
            let data = parts.map(|(part, at, _)| (at, part.len() as u64)).to_vec();
            let first = base + rings::SEND_RING + u64::from(2 * place * map::DESCRIPTOR_BYTES);
            let descriptors = vec![(first, u64::from(2 * map::DESCRIPTOR_BYTES))];
            posted.push(HostPlace { frame: self.posted, at: now, data, descriptors });
        }
        self.posted_octets += bytes.len() as u64;
        self.posted_log.note(Passage { id: Some(self.posted), at: now, bytes: frame.bytes.len() as u32 });
        self.posted += 1;
    }

    /// Processes the card's reports.
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
        let there: u64 = self.rings.iter().map(|ring| ring.posted - ring.returned).sum();
        if u64::from(returned) > there {
            let last = self.returned as u32;
            self.fault(
                now,
                format!("return producer went from {last} to {producer}, but the card has {there} buffers"),
            );
            return;
        }
        for _ in 0..returned {
            self.take_frame(memory, now);
            self.returned += 1;
        }
        if self.has_three {
            self.check_statistics(memory, now);
        }
    }

    fn take_frame(&mut self, memory: &HostMemory, now: Time) {
        let TengigHostParams { base, receive_sums, .. } = self.params;
        let number = self.returned as u32;
        let (entries, entry_bytes) = match self.has_three {
            true => (map::LONG_RETURN_ENTRIES, map::LONG_DESCRIPTOR_BYTES),
            false => (map::RETURN_ENTRIES, map::DESCRIPTOR_BYTES),
        };
        let returned = (base + rings::RETURN_RING + u64::from(number % entries * entry_bytes), entry_bytes.into());
        let taken = if self.has_three {
            take_long(memory, base, &mut self.rings, number, receive_sums)
        } else {
            take_short(memory, base, &mut self.rings, number)
        };
        match taken {
            Err(text) => self.fault(now, text),
            Ok(returned) if returned.is_damaged => self.damaged.add(1),
            Ok(buffers::Returned { at, bytes, .. }) => {
                let frame = memory.get(at, bytes as usize).expect("a buffer must be in host memory");
                let id = self.checker.check(now, frame).id();
                self.log.note(Passage { id, at: now, bytes });
                if let (Some([_, received]), Some(frame)) = (&mut self.places, id) {
                    let descriptors = vec![returned, (base + rings::STATUS + 4, 4)];
                    received.push(HostPlace { frame, at: now, data: vec![(at, bytes.into())], descriptors });
                }
            }
        }
    }

    /// The card's statistics; all zero without three rings.
    pub fn statistics(&self, memory: &HostMemory) -> Statistics {
        let word = |i: u64| memory.word(self.params.base + rings::STATISTICS + 4 * i);
        let long = |i: u64| u64::from(word(i)) << 32 | u64::from(word(i + 1));
        let short = |i: u64| u64::from(word(i));
        Statistics {
            in_octets: long(0),
            out_octets: long(2),
            in_frames: short(4),
            out_frames: short(5),
            in_errors: short(6),
            in_too_long: short(7),
            in_dropped: short(8),
        }
    }

    /// Checks that counters never decrease and never exceed the posted frames.
    fn check_statistics(&mut self, memory: &HostMemory, now: Time) {
        let new = self.statistics(memory);
        if new == self.counted {
            return;
        }
        let last = std::mem::replace(&mut self.counted, new);
        let falls = new.in_octets < last.in_octets || new.out_octets < last.out_octets;
        if falls || new.out_frames as u32 > self.posted as u32 || new.out_octets > self.posted_octets {
            let (posted, octets) = (self.posted, self.posted_octets);
            self.fault(
                now,
                format!("statistics went from {last:?} to {new:?}; posted are {posted} frames, {octets} octets"),
            );
        }
    }
}
