//! The driver's send side: its ring.

use super::accesses::Accesses;
use super::layout::{Layout, PAYLOAD_OFFSET, SEND_BYTES, card_send_ring, put_address};
use super::params::{SendParams, SendRing};
use super::window::{mailbox, mailboxes};
use blocks::feeders::HostMemory;
use kernel::Cycle;
use std::collections::VecDeque;

/// Flag of a frame's last descriptor.
const END_OF_FRAME: u32 = 0x4;

/// The send ring, as the driver sees it.
pub struct SendRingState {
    params: SendParams,
    layout: Layout,
    /// The driver's producer, in descriptors.
    pub producer: u32,
    /// The card's consumer at the last check.
    pub consumer: u32,
    /// The producer after each frame that waits for the card.
    waiting: VecDeque<u32>,
    /// Posted frames that are not yet announced in the mailbox.
    unannounced: u32,
    /// When the card moved its consumer, or the ring stopped being empty.
    pub moved: Cycle,
}

impl SendRingState {
    pub fn new(params: SendParams, layout: Layout) -> SendRingState {
        SendRingState { params, layout, producer: 0, consumer: 0, waiting: VecDeque::new(), unannounced: 0, moved: 0 }
    }

    /// Number of frames that wait for the card.
    pub fn ahead(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// Returns true if another frame may be posted: there is room, and not too many wait.
    pub fn has_room(&self) -> bool {
        // One descriptor stays free: a full ring would look empty.
        let used = self.distance(self.consumer, self.producer);
        used + 2 < self.params.entries && self.ahead() < self.params.frames_ahead
    }

    /// Posts a frame.
    pub fn post(&mut self, now: Cycle, frame: &[u8], memory: &mut HostMemory, bus: &mut Accesses) {
        if self.waiting.is_empty() {
            self.moved = now;
        }
        let place = self.layout.send_place(self.producer);
        let (header, payload) = frame.split_at(frame.len().min(self.params.header_bytes as usize));
        memory.put(place, header);
        memory.put(place + PAYLOAD_OFFSET, payload);
        let header_flags = if payload.is_empty() { END_OF_FRAME } else { 0 };
        self.describe(place, header.len() as u32, header_flags, memory, bus);
        if !payload.is_empty() {
            let payload_len = payload.len() as u32;
            self.describe(place + PAYLOAD_OFFSET, payload_len, END_OF_FRAME, memory, bus);
        }
        self.waiting.push_back(self.producer);
        self.unannounced += 1;
    }

    /// Host memory that the next frame, of this many bytes, will use: areas of its bytes, and of its descriptors if they are in host
    /// memory.
    pub fn areas(&self, bytes: usize) -> [Vec<(u64, u64)>; 2] {
        let place = self.layout.send_place(self.producer);
        let header = bytes.min(self.params.header_bytes as usize);
        let data = [(place, header as u64), (place + PAYLOAD_OFFSET, (bytes - header) as u64)];
        let data: Vec<_> = data.into_iter().filter(|&(_, bytes)| bytes > 0).collect();
        let entries =
            (self.producer..).take(data.len()).map(|entry| u64::from(entry % self.params.entries * SEND_BYTES));
        let descriptors = match self.params.ring {
            SendRing::Host => entries.map(|offset| (self.layout.send_ring + offset, SEND_BYTES.into())).collect(),
            SendRing::Card => Vec::new(),
        };
        [data, descriptors]
    }

    fn describe(&mut self, address: u64, len: u32, flags: u32, memory: &mut HostMemory, bus: &mut Accesses) {
        match self.params.ring {
            SendRing::Host => {
                let at = self.layout.send_ring + u64::from(self.producer * SEND_BYTES);
                put_address(memory, at, address);
                memory.put_word(at + 8, len << 16 | flags);
                memory.put_word(at + 12, 0);
            }
            SendRing::Card => {
                let at = card_send_ring(self.params.entries) + self.producer * SEND_BYTES;
                bus.write_card(at, [(address >> 32) as u32, address as u32, len << 16 | flags, 0]);
            }
        }
        self.producer = (self.producer + 1) % self.params.entries;
    }

    /// Number of posted frames that are not announced.
    pub fn unannounced(&self) -> u32 {
        self.unannounced
    }

    /// Announces the producer to the card; returns false if the card already had it.
    pub fn announce(&mut self, bus: &mut Accesses) -> bool {
        let is_news = std::mem::take(&mut self.unannounced) > 0;
        if is_news {
            bus.write(mailbox(mailboxes::SEND), self.producer);
        }
        is_news
    }

    /// Processes the card's consumer; an impossible value is an error.
    pub fn advance_consumer(&mut self, now: Cycle, consumer: u32) -> Result<(), String> {
        let most = self.distance(self.consumer, self.producer);
        let entries = self.params.entries;
        if consumer >= entries || self.distance(self.consumer, consumer) > most {
            let (old, producer) = (self.consumer, self.producer);
            return Err(format!("the send consumer went from {old} to {consumer}, beyond the producer {producer}"));
        }
        let moved = self.distance(self.consumer, consumer);
        if moved > 0 {
            self.moved = now;
        }
        let start = self.consumer;
        while self.waiting.front().is_some_and(|&behind| self.distance(start, behind) <= moved) {
            self.waiting.pop_front();
        }
        self.consumer = consumer;
        Ok(())
    }

    fn distance(&self, from: u32, to: u32) -> u32 {
        (to + self.params.entries - from) % self.params.entries
    }
}
