//! The driver's main loop.

use super::boot::BootStep;
use super::eeprom;
use super::layout::{COMMAND_ENTRIES, EVENT_BYTES, EVENT_ENTRIES, RECEIVE_BYTES};
use super::window::{self, events, host_control, mailbox, mailboxes, words};
use super::{Diagnosis, Fault, Interrupts, RingState, Stage, Tigon2Host};
use blocks::bus::word;
use blocks::feeders::{Go, HostPlace, Passage};
use kernel::{Cycle, Time};

/// Polling interval for the command ring's consumer.
/// assumed: the Linux driver does not poll; a microsecond is short compared with the firmware's time.
const COMMAND_POLL_NS: u64 = 1_000;

/// State of the interrupt handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handler {
    /// Read whether the interrupt is the card's.
    Ask,
    /// The read is in flight.
    AwaitAnswer,
    /// The interrupt is acknowledged or masked, and a read of the mailbox ensures that the write has arrived.
    Acknowledged,
    /// Process what the card has written.
    Look,
    /// Finish.
    End,
}

impl Tigon2Host {
    /// Acts as far as possible at this edge; returns the cycle of the next action if nothing happens before.
    pub(super) fn drive(&mut self, now: Cycle) -> Option<Cycle> {
        loop {
            if self.bus.is_busy() {
                return None;
            }
            if now < self.free_at {
                return Some(self.free_at);
            }
            let went_on = match (self.handler, &self.stage) {
                (_, Stage::Stopped) => return None,
                (Some(handler), _) => {
                    self.handle(now, handler);
                    true
                }
                (None, _) if self.handler_due.is_some_and(|due| due <= now) => {
                    self.begin_handler(now);
                    true
                }
                (None, Stage::Boot(_)) => self.boot(now),
                (None, Stage::Serve) => self.post_frames(now),
            };
            if !went_on {
                self.watch(now);
                return self.next_deadline(now);
            }
        }
    }

    fn begin_handler(&mut self, now: Cycle) {
        (self.handler_due, self.handler) = match self.params.interrupts {
            Interrupts::Poll { every_ns } => (Some(now + self.cycles(every_ns).max(1)), Some(Handler::Look)),
            Interrupts::Acknowledge | Interrupts::Mask => (None, Some(Handler::Ask)),
        };
    }

    fn handle(&mut self, now: Cycle, handler: Handler) {
        let masks = self.params.interrupts == Interrupts::Mask;
        self.handler = match handler {
            Handler::Ask => {
                self.bus.read(window::HOST_CONTROL);
                Some(Handler::AwaitAnswer)
            }
            Handler::AwaitAnswer if self.bus.take_answer().is_some_and(|word| word & host_control::INTERRUPT == 0) => {
                self.spurious_interrupts += 1;
                None
            }
            Handler::AwaitAnswer => {
                self.interrupts += 1;
                self.bus.write(mailbox(mailboxes::INTERRUPT), masks.into());
                self.bus.read(mailbox(mailboxes::INTERRUPT));
                Some(Handler::Acknowledged)
            }
            Handler::Acknowledged => Some(Handler::Look),
            Handler::Look if self.look(now) => Some(Handler::Look),
            Handler::Look => Some(Handler::End),
            Handler::End => {
                if masks {
                    self.bus.write(mailbox(mailboxes::INTERRUPT), 0);
                }
                if self.is_raised && self.handler_due.is_none() {
                    self.handler_due = Some(now + self.cycles(self.params.interrupt_latency_ns).max(1));
                }
                None
            }
        };
    }

    /// Processes one item that the card has written; returns true if there was one.
    fn look(&mut self, now: Cycle) -> bool {
        if self.memory.word(self.layout.event_producer) != self.event_consumer && self.take_events(now) {
            return true;
        }
        let produced = self.memory.word(self.layout.return_producer);
        if produced != self.receiver.consumer {
            return self.take_frame(now, produced);
        }
        let consumer = self.memory.word(self.layout.send_consumer);
        if consumer != self.send.consumer {
            let result = self.send.advance_consumer(now, consumer);
            if let Err(text) = result {
                self.bad_ring(now, text);
                self.memory.put_word(self.layout.send_consumer, self.send.consumer);
            }
            return true;
        }
        false
    }

    fn bad_ring(&mut self, now: Cycle, text: String) {
        self.faults.note(self.clock.edge(now), Fault::BadRing, || text);
    }

    /// Processes all events and updates the card's consumer.
    fn take_events(&mut self, now: Cycle) -> bool {
        let producer = self.memory.word(self.layout.event_producer);
        if producer >= EVENT_ENTRIES {
            self.bad_ring(now, format!("the event producer is {producer}, must be below {EVENT_ENTRIES}"));
            self.memory.put_word(self.layout.event_producer, self.event_consumer);
            return false;
        }
        while self.event_consumer != producer {
            let event = self.memory.word(self.layout.events + u64::from(self.event_consumer * EVENT_BYTES));
            self.event_consumer = (self.event_consumer + 1) % EVENT_ENTRIES;
            match event >> 24 {
                events::RUNNING => self.is_running = true,
                events::STATISTICS => self.statistics_events += 1,
                events::GROUP => self.group_events += 1,
                events::LINK => {
                    self.link_events += 1;
                    self.is_link_up = events::LINK_UP.contains(&(event >> 12 & 0xfff));
                }
                events::ERROR => {
                    let text = || format!("event 0x{event:08x}");
                    self.faults.note(self.clock.edge(now), Fault::ErrorEvent, text);
                }
                _ => {}
            }
        }
        self.bus.write(words::EVENT_CONSUMER, producer);
        true
    }

    /// Takes a frame from the return ring.
    fn take_frame(&mut self, now: Cycle, produced: u32) -> bool {
        if produced >= self.params.receive.return_entries {
            let most = self.params.receive.return_entries;
            self.bad_ring(now, format!("the return producer is {produced}, must be below {most}"));
            self.memory.put_word(self.layout.return_producer, self.receiver.consumer);
            return true;
        }
        self.returned = now;
        match self.receiver.take(&self.memory) {
            Err(text) => self.bad_ring(now, text),
            Ok(returned) => {
                if returned.errors != 0 {
                    self.damaged += 1;
                } else {
                    let bytes = self
                        .memory
                        .get(returned.address, returned.len as usize)
                        .expect("a posted buffer must be in host memory");
                    let at = self.clock.edge(now);
                    let id = self.checker.check(at, bytes).id();
                    self.received.note(Passage { id, at, bytes: returned.len });
                    if let (Some([_, received]), Some(frame)) = (&mut self.places, id) {
                        let data = vec![(returned.address, returned.len.into())];
                        let descriptors =
                            vec![(returned.entry, RECEIVE_BYTES.into()), (self.layout.return_producer, 4)];
                        received.push(HostPlace { frame, at, data, descriptors });
                    }
                }
                for (bit, total) in self.receive_errors.iter_mut().enumerate() {
                    *total += u64::from(returned.errors >> bit & 1);
                }
                self.receiver.free(&returned);
                self.receiver.post_batch(&mut self.memory, &mut self.bus);
            }
        }
        if self.params.receive.tells_consumer && self.receiver.consumer == produced {
            self.bus.write(words::RETURN_CONSUMER, produced);
        }
        self.free_at = now + self.cycles(self.params.frame_ns);
        true
    }

    /// Executes the next start-up step or a part of it; returns true if it could.
    fn boot(&mut self, now: Cycle) -> bool {
        let Stage::Boot(steps) = &mut self.stage else { return false };
        let Some(step) = steps.front().cloned() else {
            self.stage = Stage::Serve;
            return true;
        };
        let since = *self.waits_since.get_or_insert(now);
        let done = match step {
            BootStep::Write(offset, value) => {
                self.bus.write(offset, value);
                true
            }
            BootStep::Change { offset, set, clear } => self.ask(offset).is_some_and(|value| {
                self.bus.write(offset, value & !clear | set);
                true
            }),
            BootStep::Expect { offset, mask, value, what } => self.ask(offset).is_some_and(|found| {
                if found & mask != value {
                    self.give_up(now, format!("expected {what}; the word at 0x{offset:03x} is 0x{found:08x}"), None);
                }
                true
            }),
            BootStep::Sample => self.ask(window::LOCAL_CONTROL).is_some_and(|value| {
                self.mac = self.mac << 1 | u64::from(value & eeprom::DATA_IN != 0);
                true
            }),
            BootStep::WriteMac => {
                self.bus.write(words::MAC_HIGH, (self.mac >> 32) as u32);
                self.bus.write(words::MAC_LOW, self.mac as u32);
                true
            }
            BootStep::Pause(ns) => {
                self.free_at = now + self.cycles(ns);
                true
            }
            BootStep::Clear { from, to } => {
                let words = (to.saturating_sub(from)).div_ceil(4) as usize;
                let written = if words == 0 { 0 } else { self.bus.write_card(from, std::iter::repeat_n(0, words)) };
                self.replace_step(BootStep::Clear { from: from + 4 * written, to });
                from + 4 * written >= to
            }
            BootStep::Load { from } => {
                let words = self.image.bytes()[from as usize..].chunks(4).map(word);
                let next = from + 4 * self.bus.write_card(self.image.load_address() + from, words);
                self.replace_step(BootStep::Load { from: next });
                next as usize == self.image.bytes().len()
            }
            BootStep::AwaitRunning => self.has_reported(self.is_running, now, since, "that it runs", "its start"),
            BootStep::AwaitLink => {
                self.has_reported(self.is_link_up, now, since, "that the link is up", "it took the commands")
            }
            BootStep::PostBuffers => {
                self.receiver.post(1, &mut self.memory, &mut self.bus);
                true
            }
            BootStep::Command { code, subcode } => {
                self.bus.write(window::COMMAND_RING + 4 * self.command_producer, code << 24 | subcode << 12);
                self.command_producer = (self.command_producer + 1) % COMMAND_ENTRIES;
                self.bus.write(mailbox(mailboxes::COMMAND), self.command_producer);
                true
            }
            BootStep::AwaitCommands => self.ask(words::COMMAND_CONSUMER).is_some_and(|consumer| {
                if consumer != self.command_producer {
                    self.free_at = now + self.cycles(COMMAND_POLL_NS);
                    if now >= since + self.cycles(self.params.watchdog_us * 1000) {
                        let (producer, since) = (self.command_producer, self.clock.edge(since));
                        let ring = RingState { ring: "command", producer, consumer, since };
                        self.give_up(now, "firmware does not take commands".to_owned(), Some(ring));
                    }
                }
                consumer == self.command_producer
            }),
            BootStep::Go => {
                self.started = Some(now);
                if let Some(go) = &self.go {
                    go.send(Go);
                }
                true
            }
        };
        match &mut self.stage {
            Stage::Boot(steps) if done => {
                steps.pop_front();
                self.waits_since = None;
                true
            }
            Stage::Boot(_) => self.bus.is_busy() || self.free_at > now,
            Stage::Serve | Stage::Stopped => true,
        }
    }

    /// Returns true if firmware has reported the event; gives up after the timeout.
    fn has_reported(&mut self, is_reported: bool, now: Cycle, since: Cycle, what: &str, from: &str) -> bool {
        let timeout = self.params.boot_timeout_us;
        if !is_reported && now >= since + self.cycles(timeout * 1000) {
            self.give_up(now, format!("firmware did not report {what} within {timeout} us after {from}"), None);
        }
        is_reported
    }

    /// The word at `offset`, once the card has answered.
    fn ask(&mut self, offset: u32) -> Option<u32> {
        if !std::mem::replace(&mut self.is_reading, true) {
            self.bus.read(offset);
            return None;
        }
        self.is_reading = false;
        self.bus.take_answer()
    }

    fn replace_step(&mut self, step: BootStep) {
        if let Stage::Boot(steps) = &mut self.stage
            && let Some(front) = steps.front_mut()
        {
            *front = step;
        }
    }

    fn give_up(&mut self, now: Cycle, text: String, ring: Option<RingState>) {
        self.diagnosis = Some(Diagnosis { at: self.clock.edge(now), text, ring });
        self.stage = Stage::Stopped;
    }

    /// Posts a frame that is due, or announces posted frames; returns true if there was something to do.
    fn post_frames(&mut self, now: Cycle) -> bool {
        if self.send.has_room() && self.owes_reply() {
            let bytes = self.replies.expect("a reply must be due").frame(self.next_reply);
            self.next_reply += 1;
            self.post(now, &bytes);
            return true;
        }
        if self.waits_for_batch() {
            return false;
        }
        let elapsed = self.started.map(|start| self.clock.edge(now) - self.clock.edge(start));
        let due = self.traffic.due(self.next_id);
        if !self.send.has_room() || due.is_none() || due > elapsed {
            return self.send.announce(&mut self.bus);
        }
        let frame = self.traffic.frame(self.next_id).expect("a due frame must exist");
        let (id, bytes) = (Some(self.next_id), frame.bytes.len() as u32);
        self.posted.note(Passage { id, at: self.clock.edge(now), bytes });
        if let Some([posted, _]) = &mut self.places {
            let [data, descriptors] = self.send.areas(frame.bytes.len());
            posted.push(HostPlace { frame: self.next_id, at: self.clock.edge(now), data, descriptors });
        }
        self.next_id += 1;
        self.post(now, &frame.bytes);
        true
    }

    fn post(&mut self, now: Cycle, frame: &[u8]) {
        self.send.post(now, frame, &mut self.memory, &mut self.bus);
        if self.send.unannounced() >= self.params.send.batch_frames {
            self.send.announce(&mut self.bus);
        }
        self.free_at = now + self.cycles(self.params.frame_ns);
    }

    /// Returns true if a host that sends at full speed must wait until a whole batch fits.
    fn waits_for_batch(&self) -> bool {
        let room = self.params.send.frames_ahead - self.send.ahead();
        self.traffic.is_saturating()
            && room < self.params.send.batch_frames
            && self.send.ahead() > 0
            && self.send.unannounced() == 0
    }

    /// Returns true if a received frame still needs its acknowledgment.
    pub(super) fn owes_reply(&self) -> bool {
        self.replies.is_some_and(|replies| replies.due(self.checker.good()) > self.next_reply)
    }

    /// Reports a fault if the card has not used the send ring for too long.
    fn watch(&mut self, now: Cycle) {
        if self.send_deadline().is_some_and(|deadline| now >= deadline) {
            let ring = self.ring_states().swap_remove(0);
            let text = format!("the card has not sent for {} us though frames wait", self.params.watchdog_us);
            self.diagnosis = Some(Diagnosis { at: self.clock.edge(now), text, ring: Some(ring) });
        }
    }

    fn send_deadline(&self) -> Option<Cycle> {
        let waits = self.send.ahead() > 0 && self.diagnosis.is_none();
        waits.then(|| self.send.moved + self.cycles(self.params.watchdog_us * 1000))
    }

    /// When the next frame is due, once the card runs.
    pub(super) fn next_send(&self) -> Option<Time> {
        Some(self.clock.edge(self.started?) + self.traffic.due(self.next_id)?)
    }

    /// The next cycle with work if nothing happens before.
    fn next_deadline(&self, now: Cycle) -> Option<Cycle> {
        let boot = matches!(self.stage, Stage::Boot(_)).then_some(self.waits_since).flatten();
        let boot = boot.map(|since| since + self.cycles(self.params.boot_timeout_us * 1000));
        let due = self.next_send().map(|due| self.clock.cycle_at_or_after(due));
        let due = due.filter(|&cycle| cycle > now && self.send.has_room());
        [boot, due, self.handler_due, self.send_deadline()].into_iter().flatten().min().map(|cycle| cycle.max(now + 1))
    }
}
