//! The driver's accesses to the card, in order.

use super::window::{WINDOW, WINDOW_BASE, WINDOW_BYTES};
use blocks::bus::{Access, BusError, Data, Reference, Requester, word};
use std::collections::VecDeque;

const WRITE: u32 = 0;
const READ: u32 = 1;

/// Single-word accesses. Writes are posted: the driver continues when they are on the bus. It waits for reads.
pub struct Accesses {
    port: Requester,
    queue: VecDeque<(u32, Option<u32>)>,
    /// True while a read is queued or in flight.
    reading: bool,
    answer: Option<u32>,
    /// Card address of the memory window, once it was set.
    window: Option<u32>,
    reads: u64,
    writes: u64,
}

impl Accesses {
    pub fn new(port: Requester) -> Accesses {
        Accesses { port, queue: VecDeque::new(), reading: false, answer: None, window: None, reads: 0, writes: 0 }
    }

    pub fn port(&self) -> &Requester {
        &self.port
    }

    /// Number of words read and written.
    pub fn totals(&self) -> (u64, u64) {
        (self.reads, self.writes)
    }

    pub fn write(&mut self, offset: u32, value: u32) {
        self.writes += 1;
        self.queue.push_back((offset, Some(value)));
    }

    /// Writes `words` into card memory from `at` on, up to the end of the window; returns their number.
    pub fn write_card(&mut self, at: u32, words: impl IntoIterator<Item = u32>) -> u32 {
        let base = at & !(WINDOW_BYTES - 1);
        if self.window.replace(base) != Some(base) {
            self.write(WINDOW_BASE, base);
        }
        let mut written = 0;
        for (offset, word) in (WINDOW + (at - base)..WINDOW + WINDOW_BYTES).step_by(4).zip(words) {
            self.write(offset, word);
            written += 1;
        }
        written
    }

    /// Starts a read; [`Accesses::take_answer`] returns its result when the driver is free again.
    pub fn read(&mut self, offset: u32) {
        assert!(!self.reading, "a read must finish before the next");
        self.reads += 1;
        self.reading = true;
        self.answer = None;
        self.queue.push_back((offset, None));
    }

    /// Returns true if the driver must wait for the bus.
    pub fn is_busy(&self) -> bool {
        self.reading || !self.queue.is_empty()
    }

    /// The result of the last read. An unanswered read gives all ones, as on PCI.
    pub fn take_answer(&mut self) -> Option<u32> {
        self.answer.take()
    }

    /// Collects replies and passes errors to `on_error`.
    pub fn collect(&mut self, mut on_error: impl FnMut(BusError)) {
        while let Some(reply) = self.port.replies.take() {
            if let Err(error) = &reply.result {
                on_error(*error);
            }
            if reply.id == READ {
                self.reading = false;
                self.answer = Some(reply.result.map_or(u32::MAX, |data| word(&data)));
            }
        }
    }

    /// Puts the next access on the bus. Returns true if another can follow at the next edge.
    pub fn send(&mut self) -> bool {
        if self.queue.is_empty() || !self.port.references.has_room() {
            return false; // The channel wakes this component when room appears.
        }
        let (offset, value) = self.queue.pop_front().expect("the queue must not be empty");
        let (id, access) = match value {
            Some(value) => (WRITE, Access::Write(Data::from_slice(&value.to_be_bytes()))),
            None => (READ, Access::Read(4)),
        };
        self.port.references.send(Reference { id, addr: offset.into(), access });
        true
    }
}
