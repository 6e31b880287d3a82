//! A card for tests of the host, with the window, mailboxes and DMA of a Tigon-2 and with firmware of a few lines of Rust.

use super::window::{self, mailbox};
use blocks::bus::{Access, Data, Reference, Reply, Requester, Responder, word};
use blocks::ethernet::Frame;
use blocks::interrupt::InterruptLine;
use kernel::{Activity, Component, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;
use testkit::Log;

/// A fault of the card.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CardFault {
    None,
    /// A different chip revision.
    Revision,
    /// Firmware never reports that it runs.
    Silent,
    /// Commands are ignored.
    IgnoresCommands,
    /// The link does not come up.
    LinkDown,
    /// Sending stops after this number of frames.
    StopsAfter(u64),
    /// The first byte of this received frame is corrupted.
    Corrupts(u64),
    /// This received frame is dropped.
    Drops(u64),
    /// The send consumer runs past the producer.
    Overruns,
    /// Return descriptors name a wrong buffer.
    WrongBuffer,
    /// Received frames are written outside host memory.
    Stray,
    /// Received frames are marked as damaged.
    Errors,
}

/// Condition for which the firmware waits.
#[derive(Clone, Debug)]
enum Then {
    Information,
    Nothing,
    Raise,
    SendDescriptor,
    Body { is_last: bool },
    Buffer { ring: usize, frame: Frame },
}

pub struct ScriptedCard {
    pub bus: Responder,
    pub memory: Requester,
    pub interrupt: Tx<InterruptLine>,
    pub wire_out: Tx<Frame>,
    pub wire_in: Rx<Frame>,
    pub fault: CardFault,
    pub log: Log,
    state: State,
}

#[derive(Default)]
struct State {
    sram: Vec<u8>,
    registers: Vec<u32>,
    runs: bool,
    is_up: bool,
    is_raised: bool,
    is_masked: bool,
    information: Vec<u8>,
    jobs: VecDeque<(u64, Access, Then)>,
    under_way: VecDeque<Then>,
    send_consumer: u32,
    send_fetched: u32,
    sending: Vec<u8>,
    sent: u64,
    received: u64,
    buffer_consumers: [u32; 3],
    return_producer: u32,
    /// Accesses of the host to card memory that are logged as a group: first address and count.
    copied: Option<(u32, u32)>,
}

impl ScriptedCard {
    pub fn new(
        (bus, memory, interrupt): (Responder, Requester, Tx<InterruptLine>),
        (wire_out, wire_in): (Tx<Frame>, Rx<Frame>),
        fault: CardFault,
        log: Log,
    ) -> ScriptedCard {
        let state = State { sram: vec![0xee; 0x10_0000], registers: vec![0; 0x100], ..State::default() };
        ScriptedCard { bus, memory, interrupt, wire_out, wire_in, fault, log, state }
    }

    fn word(&self, host_offset: u32) -> u32 {
        let at = (host_offset - 0x400) as usize;
        word(&self.state.sram[at..at + 4])
    }

    fn information(&self, at: usize) -> u32 {
        word(&self.state.information[at..at + 4])
    }

    fn address(&self, at: usize) -> u64 {
        u64::from(self.information(at)) << 32 | u64::from(self.information(at + 4))
    }

    fn job(&mut self, addr: u64, access: Access, then: Then) {
        self.state.jobs.push_back((addr, access, then));
    }

    fn write(&mut self, addr: u64, words: &[u32], then: Then) {
        let data = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        self.job(addr, Access::Write(data), then);
    }

    /// Executes an access of the host.
    fn access(&mut self, now: Cycle, offset: u32, written: Option<u32>) -> u32 {
        let state = &mut self.state;
        let memory = match offset {
            0x400..0x800 => Some(offset - 0x400),
            0x800..0x1000 => Some(state.registers[(window::WINDOW_BASE / 4) as usize] + offset - 0x800),
            _ => None,
        };
        let name = if written.is_some() { "write" } else { "read" };
        match memory {
            Some(at) if offset >= 0x800 => {
                let copied = state.copied.get_or_insert((at, 0));
                copied.1 += 1;
            }
            _ if offset == window::WINDOW_BASE && state.copied.is_some() => {}
            _ => {
                if let Some((at, count)) = state.copied.take() {
                    self.log.note(now, format!("  {count} words from 0x{at:x}"));
                }
                let value = written.map_or(String::new(), |value| format!(" {value:08x}"));
                self.log.note(now, format!(" {name} {offset:03x}{value}"));
            }
        }
        let state = &mut self.state;
        match (memory, written) {
            (Some(at), Some(value)) => {
                state.sram[at as usize..at as usize + 4].copy_from_slice(&value.to_be_bytes());
                if offset == mailbox(0) {
                    (state.is_raised, state.is_masked) = (false, value != 0);
                    self.interrupt.send(InterruptLine { is_raised: false });
                }
                0
            }
            (Some(at), None) => word(&state.sram[at as usize..at as usize + 4]),
            (None, Some(value)) => {
                state.registers[(offset / 4) as usize] = value;
                state.runs |= offset == window::CPU_A_STATE && value == 0;
                0
            }
            (None, None) if offset == window::HOST_CONTROL => {
                let revision = if self.fault == CardFault::Revision { 4 } else { 6 };
                revision << 28 | u32::from(state.is_raised)
            }
            (None, None) => state.registers[(offset / 4) as usize],
        }
    }

    /// Continues the firmware after an answer.
    fn continue_with(&mut self, then: Then, data: &[u8]) {
        match then {
            Then::Nothing => {}
            Then::Information => {
                self.state.information = data.to_vec();
                if self.fault != CardFault::Silent {
                    self.write(self.address(0x400), &[1 << 24, 0], Then::Nothing);
                    self.write(self.address(0x470), &[1, 0xdead_beef], Then::Raise);
                }
            }
            Then::Raise if !self.state.is_masked => {
                self.state.is_raised = true;
                self.interrupt.send(InterruptLine { is_raised: true });
            }
            Then::Raise => {}
            Then::SendDescriptor => {
                let word = |n: usize| u64::from(word(&data[4 * n..4 * n + 4]));
                let is_last = word(2) & 4 != 0;
                self.job(word(0) << 32 | word(1), Access::Read(word(2) as u32 >> 16), Then::Body { is_last });
            }
            Then::Body { is_last } => {
                self.state.sending.extend_from_slice(data);
                self.state.send_consumer = self.state.send_fetched;
                if is_last {
                    let bytes = std::mem::take(&mut self.state.sending).into();
                    self.wire_out.send(Frame { id: self.state.sent, bytes, is_intact: true });
                    self.state.sent += 1;
                    let past = if self.fault == CardFault::Overruns { 64 } else { 0 };
                    self.write(self.address(0x480), &[self.state.send_consumer + past, 0xdead_beef], Then::Raise);
                }
            }
            Then::Buffer { ring, frame } => {
                let words: Vec<u32> = data.chunks(4).map(word).collect();
                let mut bytes = Data::from_slice(&frame.bytes);
                if self.fault == CardFault::Corrupts(self.state.received - 1) {
                    bytes[0] ^= 1;
                }
                let stray = if self.fault == CardFault::Stray { 1 << 40 } else { 0 };
                self.job(
                    (u64::from(words[0]) << 32 | u64::from(words[1])) + stray,
                    Access::Write(bytes),
                    Then::Nothing,
                );
                let other = if self.fault == CardFault::WrongBuffer { 1 << 16 } else { 0 };
                let (flags, errors) = if self.fault == CardFault::Errors { (0x400, 0x81 << 16) } else { (0, 0) };
                let index = (words[2] & 0xffff_0000) + other | frame.bytes.len() as u32;
                let ring_flag = [0, 0x10, 0x1000][ring];
                let entry = [words[0], words[1], index, flags | 4 | ring_flag, 0, errors, 0, words[7]];
                let entries = self.information(0x460 + 8) >> 16;
                self.write(self.address(0x460) + u64::from(32 * self.state.return_producer), &entry, Then::Nothing);
                self.state.return_producer = (self.state.return_producer + 1) % entries;
                self.write(self.address(0x478), &[self.state.return_producer, 0xdead_beef], Then::Raise);
            }
        }
    }

    /// The firmware's dispatch loop.
    fn dispatch(&mut self, now: Cycle) {
        if self.state.information.is_empty() {
            if self.state.runs {
                let address = u64::from(self.word(0x608)) << 32 | u64::from(self.word(0x60c));
                self.job(address, Access::Read(0x490), Then::Information);
                self.log.note(now, "firmware starts");
            }
            return;
        }
        let (taken, given) = (self.word(0x62c), self.word(mailbox(1)));
        if taken != given && self.fault != CardFault::IgnoresCommands {
            let command = self.word(0x700 + 4 * taken);
            self.log.note(now, format!("command {command:08x}"));
            let at = 0x22c;
            self.state.sram[at..at + 4].copy_from_slice(&((taken + 1) % 64).to_be_bytes());
            if command == 0x0100_1000 {
                self.state.is_up = true;
                if self.fault != CardFault::LinkDown {
                    self.write(self.address(0x400) + 8, &[0x0600_1000, 0], Then::Nothing);
                    self.write(self.address(0x470), &[2, 0xdead_beef], Then::Raise);
                }
            }
        }
        let stops = matches!(self.fault, CardFault::StopsAfter(frames) if self.state.sent >= frames);
        if self.state.send_fetched != self.word(mailbox(2)) && !stops && self.wire_out.has_room() {
            let at = u64::from(16 * self.state.send_fetched);
            let (entries, flags) = (self.information(0x428) >> 16, self.information(0x428) & 0xffff);
            self.state.send_fetched = (self.state.send_fetched + 1) % entries;
            if flags & 0x40 != 0 {
                self.job(self.address(0x420) + at, Access::Read(16), Then::SendDescriptor);
            } else {
                let at = (self.address(0x420) + at) as usize;
                let descriptor = self.state.sram[at..at + 16].to_vec();
                self.continue_with(Then::SendDescriptor, &descriptor);
            }
        } else if self.state.is_up
            && let Some(frame) = self.wire_in.take()
        {
            self.state.received += 1;
            if self.fault == CardFault::Drops(self.state.received - 1) {
                return;
            }
            let (has_mini, has_jumbo) = (self.information(0x458) & 0x200 == 0, self.information(0x448) & 0x200 == 0);
            let ring = match frame.bytes.len() {
                ..=100 if has_mini => 2,
                1515.. if has_jumbo => 1,
                _ => 0,
            };
            let base = [0x430, 0x440, 0x450][ring];
            let at = self.address(base) + u64::from(32 * self.state.buffer_consumers[ring]);
            let entries = [512, 256, 1024][ring];
            if self.state.buffer_consumers[ring] == self.word(mailbox(3 + ring as u32)) {
                return; // No buffer: drop the frame.
            }
            self.state.buffer_consumers[ring] = (self.state.buffer_consumers[ring] + 1) % entries;
            self.job(at, Access::Read(32), Then::Buffer { ring, frame });
        }
    }
}

impl Component for ScriptedCard {
    fn tick(&mut self, now: Cycle) -> Activity {
        if self.bus.replies.has_room()
            && let Some(Reference { id, addr, access }) = self.bus.references.take()
        {
            assert_eq!((access.len(), addr % 4), (4, 0), "the host must access words");
            let (written, is_write) = match &access {
                Access::Write(data) => (Some(word(data)), true),
                Access::Read(_) | Access::Linked(_) => (None, false),
            };
            let value = self.access(now, addr as u32, written);
            let data = if is_write { Data::new() } else { Data::from_slice(&value.to_be_bytes()) };
            self.bus.replies.send(Reply::new(id, Ok(data)));
        }
        if let Some(reply) = self.memory.replies.take() {
            let then = self.state.under_way.pop_front().expect("an access must be in flight");
            self.continue_with(then, &reply.result.unwrap_or_default());
        }
        if self.state.under_way.is_empty() {
            if self.state.jobs.is_empty() {
                self.dispatch(now);
            }
            if let Some((addr, access, then)) = self.state.jobs.pop_front() {
                self.state.under_way.push_back(then);
                self.memory.references.send(Reference { id: 0, addr, access });
            }
        }
        let waits = !self.state.jobs.is_empty() && self.state.under_way.is_empty();
        let may_send = !self.state.information.is_empty() && self.state.send_fetched != self.word(mailbox(2));
        let may_send = may_send && !matches!(self.fault, CardFault::StopsAfter(n) if self.state.sent >= n);
        let starts = self.state.runs && self.state.information.is_empty() && self.state.under_way.is_empty();
        let is_free = self.state.under_way.is_empty();
        if waits
            || is_free && may_send
            || starts
            || self.bus.references.has_item()
            || is_free && self.wire_in.has_item() && self.state.is_up
        {
            return Activity::Busy;
        }
        Activity::Idle
    }

    fn ports(&self, ports: &mut Ports) {
        self.bus.port("bus", ports);
        self.memory.port("memory", ports);
        ports.output("interrupt", &self.interrupt);
        ports.output("wire_out", &self.wire_out);
        ports.input("wire_in", &self.wire_in);
    }
}
