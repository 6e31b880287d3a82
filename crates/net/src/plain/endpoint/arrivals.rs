//! The receiving side of an endpoint: frames become packets, and packets become messages.

use super::{Building, Endpoint, Exit, Purpose, ZEROS};
use crate::NodeId;
use crate::digest::fold;
use crate::frame::{Arrival, Frame};
use crate::host::Event;
use crate::node::NodeFailure;
use crate::plain::dcqcn::Limit;
use crate::plain::packet::{self, Begin, Body, Packet};
use crate::plain::receiver::{Answer, DataPacket};
use kernel::Time;
use std::sync::Arc;

impl Endpoint {
    /// A whole frame has arrived.
    pub(super) fn arrive(&mut self, now: Time, arrival: Arrival, exit: &mut dyn Exit) -> Result<(), NodeFailure> {
        let Arrival { head, ref frame, .. } = arrival;
        self.inside.frames -= 1;
        self.inside.bytes -= frame.len() as u64;
        let packet = if frame.dest == Some(self.node) { packet::parse(&frame.bytes) } else { None };
        let (is_used, is_foreign) = match packet {
            Some(packet) => (self.take(now, head, packet, frame), false),
            None => (self.host.takes_frames, self.host.takes_frames),
        };
        exit.used(now, &arrival, is_used);
        if is_foreign {
            self.hash = fold(fold(self.hash, now.fs()), frame.hash);
            self.tell(now, Event::Frame(Arc::clone(&frame.bytes)))?;
        }
        Ok(())
    }

    /// Uses a packet. Returns false if it is useless, for example a repeated one.
    fn take(&mut self, now: Time, head: Time, packet: Packet, frame: &Frame) -> bool {
        let Packet { from, psn, body } = packet;
        let is_marked = frame.bytes[wire::eth::HEADER_LEN + wire::ipv4::DSCP_ECN] & 3 == 3;
        self.counts.marked += u64::from(is_marked);
        if let (true, Some(dcqcn), Body::Data { .. }) = (is_marked, &self.params.dcqcn, &body) {
            let incoming = self.incoming.entry(from).or_default();
            if incoming.notified.is_none_or(|last| now >= last + dcqcn.notification_interval.time()) {
                incoming.notified = Some(now);
                self.answers.push_back(packet::congestion(self.pair(from), &self.directory));
            }
        }
        match body {
            Body::Data { begin, is_last, asks, headers_len, payload_len } => {
                let incoming = self.incoming.entry(from).or_default();
                let psn = packet::unwrap(psn, incoming.expected);
                let bytes = Arc::clone(&frame.bytes);
                let data = DataPacket { head, begin, is_last, asks, headers_len, payload_len, bytes };
                let (mut ready, mut answers) = std::mem::take(&mut self.ready);
                let is_used = incoming.arrive(psn, data, &self.params, &mut ready, &mut answers);
                ready.drain(..).for_each(|packet| self.assemble(now, from, packet));
                answers.drain(..).for_each(|answer| self.answer(from, answer));
                self.ready = (ready, answers);
                is_used
            }
            Body::Congestion => {
                self.counts.notified += 1;
                let (Some(dcqcn), Some(line)) = (&self.params.dcqcn, self.line.rate().in_bps()) else { return false };
                let peer = self.outgoing.entry(from).or_default();
                peer.limit.get_or_insert_with(|| Limit::new(line)).cut(now, line, dcqcn);
                true
            }
            Body::Ack => self.progress(now, from, psn.wrapping_add(1), None),
            Body::Missing { below } => self.progress(now, from, below, Some(psn)),
        }
    }

    /// A peer acknowledges all packets below `below`, and may report a missing one.
    fn progress(&mut self, now: Time, from: NodeId, below: u32, missing: Option<u32>) -> bool {
        let Some(peer) = self.outgoing.get_mut(&from) else { return false };
        let near = peer.done();
        let Some(below) = packet::unwrap(below & 0xff_ffff, near) else { return false };
        let (finished, has_progress) = peer.acknowledge(below);
        if let Some(missing) = missing.and_then(|missing| packet::unwrap(missing, near)) {
            peer.repeat(missing, self.params.transport);
        }
        if has_progress && self.params.is_reliable() {
            peer.timer = peer.is_waiting().then(|| now + self.params.timeout.time());
        }
        self.arm(from);
        self.enlist(from);
        let at = now + self.params.deliver();
        finished.into_iter().for_each(|id| self.finished(at, id));
        true
    }

    /// Adds the next packet in order to its message.
    fn assemble(&mut self, now: Time, from: NodeId, packet: DataPacket) {
        let DataPacket { head, begin, is_last, headers_len, payload_len, bytes, .. } = packet;
        let Some(incoming) = self.incoming.get_mut(&from) else { return };
        if let Some(begin) = begin {
            let number = self.next_building;
            self.next_building += 1;
            incoming.building = Some(number);
            let (purpose, id, tag, len) = match begin {
                Begin::Write { tag, number, len } => (Purpose::Put, number, tag, len),
                Begin::Read { tag, number, len } => (Purpose::Request, number, tag, len),
                Begin::Response { number } => match self.requests.get(&number) {
                    Some(&(to, id, tag, len)) if to == from => (Purpose::Reply(id), id.0, tag, len),
                    // No request has this number, so the packets are of no use.
                    _ => {
                        incoming.building = None;
                        return;
                    }
                },
            };
            let entry = match purpose {
                Purpose::Reply(id) => {
                    self.requests.remove(&(id.0 & packet::REPLY_BITS));
                    None
                }
                _ => {
                    let entry = self.lists.arrive(from, tag, number);
                    self.counts.unexpected += u64::from(entry.is_none());
                    entry
                }
            };
            let (received, bytes, last) = (0, None, None);
            let building = Building { from, number: id, tag, len, received, first: head, bytes, purpose, entry, last };
            self.building.insert(number, building);
        }
        let Some(number) = incoming.building else { return };
        if is_last {
            incoming.building = None;
        }
        if let Some(building) = self.building.get_mut(&number) {
            let payload = packet::payload(&bytes, headers_len, payload_len);
            if building.bytes.is_none() && payload.chunks(ZEROS.len()).any(|part| part != &ZEROS[..part.len()]) {
                building.bytes = Some(vec![0; building.received as usize]);
            }
            if let Some(bytes) = &mut building.bytes {
                bytes.extend_from_slice(payload);
            }
            building.received += payload_len;
            if is_last {
                building.last = Some(now);
            }
        }
        if is_last {
            self.finish(number, now + self.params.deliver());
        }
    }

    fn answer(&mut self, to: NodeId, answer: Answer) {
        let below = self.incoming.get(&to).map_or(0, |incoming| incoming.expected);
        let missing = match answer {
            Answer::Acknowledge => None,
            Answer::Missing(psn) => Some(psn),
        };
        self.answers.push_back(packet::acknowledge(self.pair(to), &self.directory, below, missing));
    }
}
