//! The sending side of a connection: packets of messages in order, repeats, and the window.

use super::dcqcn::Limit;
use super::packet::{Begin, Stream};
use super::params::{PlainParams, Transport};
use crate::host::{MessageId, Payload};
use kernel::Time;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

struct Message {
    id: MessageId,
    begin: Begin,
    payload: Payload,
    /// Sequence number of its first packet.
    first: u64,
    n_packets: u64,
}

/// A packet to send now.
pub(super) struct Part {
    pub psn: u64,
    pub stream: Stream,
    pub begin: Option<Begin>,
    /// The start of its message.
    pub message: Begin,
    pub is_last: bool,
    /// It is repeated alone, with [`Transport::Selective`].
    pub is_repeat: bool,
    pub range: Range<usize>,
    pub payload: Payload,
    /// The message that is finished when this packet has left, without acknowledgments.
    pub finishes: Option<MessageId>,
}

/// The sending side of a connection.
#[derive(Default)]
pub(super) struct Outgoing {
    messages: VecDeque<Message>,
    /// Sequence number after the last packet that was posted.
    posted: u64,
    /// The next new packet.
    next: u64,
    /// All packets below this sequence number were acknowledged, or have left if there are no acknowledgments.
    done: u64,
    /// Packets to repeat, in the order of their reports, and the same as a set.
    repeats: VecDeque<u64>,
    repeating: BTreeSet<u64>,
    /// When packets are repeated if nothing is acknowledged.
    pub timer: Option<Time>,
    /// Rate limit, from the first congestion notification on.
    pub limit: Option<Limit>,
    /// An event for the rate limit is under way.
    pub has_pace: bool,
    /// True if the peer is in the list of turns.
    pub has_turn: bool,
    /// An event for the timer is under way.
    pub has_event: bool,
    /// Timeouts since the last progress.
    timeouts: u32,
    /// With [`Transport::Selective`]: packets below this sequence number were sent before the last timeout. If an acknowledgment ends
    /// below it, the next packet is missing, too.
    recovers_to: u64,
    /// There were more timeouts than retries are allowed, so nothing is sent any more.
    pub has_given_up: bool,
    /// Packets sent again.
    pub repeated: u64,
    /// All packets below this sequence number were sent at least once.
    sent: u64,
}

impl Outgoing {
    pub fn post(&mut self, id: MessageId, begin: Begin, payload: Payload, mtu: u32) {
        let n_packets = u64::from(payload.len().div_ceil(mtu).max(1));
        self.messages.push_back(Message { id, begin, payload, first: self.posted, n_packets });
        self.posted += n_packets;
    }

    /// Returns true if a packet may leave.
    pub fn is_ready(&self, params: &PlainParams) -> bool {
        let has_window = !params.acknowledges() || self.next < self.done + u64::from(params.window);
        !self.has_given_up && (!self.repeats.is_empty() || self.next < self.posted && has_window)
    }

    /// Sequence number below which all packets were acknowledged, or have left if there are no acknowledgments.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Returns true if packets wait for acknowledgments.
    pub fn is_waiting(&self) -> bool {
        self.done < self.next
    }

    /// Takes the next packet.
    pub fn take(&mut self, params: &PlainParams) -> Option<Part> {
        let (psn, is_repeat) = match self.repeats.pop_front() {
            Some(psn) => {
                self.repeating.remove(&psn);
                (psn, true)
            }
            None => {
                self.next += 1;
                (self.next - 1, false)
            }
        };
        self.repeated += u64::from(psn < self.sent);
        self.sent = self.sent.max(psn + 1);
        let at = self.messages.partition_point(|message| message.first <= psn).checked_sub(1)?;
        let message = &self.messages[at];
        let number = psn - message.first;
        let is_last = number + 1 == message.n_packets;
        let start = number as usize * params.mtu as usize;
        let len = message.payload.len();
        let range = start..(start + params.mtu as usize).min(len as usize);
        let begin = (number == 0).then_some(message.begin);
        let stream = if matches!(message.begin, Begin::Response { .. }) { Stream::Response } else { Stream::Write };
        let (payload, message_begin) = (message.payload.clone(), message.begin);
        let mut finishes = None;
        if !params.acknowledges() {
            self.done = self.next;
            if is_last {
                finishes = self.messages.pop_front().map(|message| message.id);
            }
        }
        Some(Part { psn, stream, begin, message: message_begin, is_last, is_repeat, range, payload, finishes })
    }

    /// All packets below `below` have arrived. Returns the messages that are finished, and true if there was progress.
    pub fn acknowledge(&mut self, below: u64) -> (Vec<MessageId>, bool) {
        // Packets that were not sent cannot have arrived.
        if below <= self.done || below > self.sent {
            return (Vec::new(), false);
        }
        self.done = below;
        self.next = self.next.max(below);
        self.timeouts = 0;
        if self.repeating.first().is_some_and(|&psn| psn < below) {
            self.repeats.retain(|&psn| psn >= below);
            self.repeating = self.repeating.split_off(&below);
        }
        if below < self.recovers_to {
            self.repeat(below, Transport::Selective);
        }
        let mut finished = Vec::new();
        while self.messages.front().is_some_and(|message| message.first + message.n_packets <= below) {
            finished.extend(self.messages.pop_front().map(|message| message.id));
        }
        (finished, true)
    }

    /// The receiver misses a packet.
    pub fn repeat(&mut self, psn: u64, transport: Transport) {
        if !(self.done..self.next).contains(&psn) {
            return;
        }
        match transport {
            Transport::Lossless | Transport::Credits => {}
            Transport::GoBackN => self.next = psn,
            Transport::Selective if self.repeating.insert(psn) => self.repeats.push_back(psn),
            Transport::Selective => {}
        }
    }

    /// No packet was acknowledged during the timeout.
    pub fn time_out(&mut self, params: &PlainParams) {
        self.timeouts += 1;
        self.has_given_up = self.timeouts > params.retries;
        if params.transport == Transport::Selective {
            self.recovers_to = self.next;
        }
        self.repeat(self.done, params.transport);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of ten packets, the last four were lost. Nothing behind them shows that, so the timeout repeats the first one. Each
    /// acknowledgment of a repeated packet then repeats the next one, without a further timeout.
    #[test]
    fn after_a_timeout_acknowledgments_repeat_the_other_lost_packets() {
        let params = PlainParams { transport: Transport::Selective, mtu: 1024, ..PlainParams::default() };
        let mut peer = Outgoing::default();
        let begin = Begin::Write { tag: 0, number: 0, len: 10 * 1024 };
        peer.post(MessageId(0), begin, Payload::Zeros(10 * 1024), params.mtu);
        let sent = |peer: &mut Outgoing| {
            let mut sent = Vec::new();
            while peer.is_ready(&params) {
                sent.extend(peer.take(&params).map(|part| (part.psn, part.is_repeat)));
            }
            sent
        };
        assert_eq!(sent(&mut peer), (0..10).map(|psn| (psn, false)).collect::<Vec<_>>());
        assert!(peer.acknowledge(6).1);
        assert_eq!(sent(&mut peer), []);
        peer.time_out(&params);
        assert_eq!(sent(&mut peer), [(6, true)]);
        for psn in 7..10 {
            assert!(peer.acknowledge(psn).1);
            assert_eq!(sent(&mut peer), [(psn, true)]);
        }
        assert_eq!(peer.acknowledge(10).0.len(), 1);
        assert_eq!((sent(&mut peer), peer.repeated), (vec![], 4));
    }
}
