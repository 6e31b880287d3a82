//! The rules of ATLAHS for messages that arrive.

use super::events::Event;
use super::hosts::{Run, Slot};
use super::matching::Entry;
use super::record::{Cause, Part};
use crate::goal::Op;

impl Run<'_> {
    pub(super) fn recv_atlahs(&mut self, event: Event, op: Op) -> Option<()> {
        let (host, time) = (event.rank(), event.time);
        self.note(event.op, |times| times.posted = time);
        self.mark_started(host, event);
        let Some(found) = self.unexpected.take(host, op.peer, op.tag) else {
            self.posted.push(host, Entry { op: event.op, source: op.peer, tag: op.tag, at: time });
            return Some(());
        };
        // ATLAHS considers the card's next send here, but not the processor.
        let turn = Slot { free: time, cause: Cause::new(event.op, Part::Turn) };
        let came = Slot { free: found.at, cause: Cause::new(found.op, Part::MessageTurn) };
        let begin = turn.or_later(self.sending[self.nic(host, op.nic)]).or_later(came);
        if begin.cause != came.cause {
            self.note(found.op, |times| times.message_cause = begin.cause);
        }
        let (cpu, nic) = (self.cpu(host, op.cpu), self.nic(host, op.nic));
        let bytes = self.schedule.ops()[found.op as usize].size.max(1);
        let places = (found.source, op.cpu, op.nic);
        // Released operations of the sender's host have their turn first: ATLAHS visits the two hosts in the order of a
        // hash table.
        self.receive(found.op, event.op, begin.free, op.size.max(1), bytes, (cpu, nic), places, (1, 0))
    }

    pub(super) fn message_atlahs(&mut self, event: Event, op: Op) -> Option<()> {
        let (source, host, time) = (event.rank(), op.peer, event.time);
        let Some(found) = self.posted.take(host, source, op.tag) else {
            self.unexpected.push(host, Entry { op: event.op, source, tag: op.tag, at: time });
            self.note(event.op, |times| times.handled = time);
            return Some(());
        };
        let (cpu, nic) = (self.cpu(host, self.schedule.ops()[found.op as usize].cpu), self.nic(host, op.nic));
        let busy = self.cpus[cpu].or_later(self.receiving[nic]);
        if busy.free > time {
            // The receive goes to the end of the queue, as in ATLAHS.
            self.posted.push(host, found);
            self.note(event.op, |times| times.message_cause = busy.cause);
            self.events.push(Event::new(busy.free, event.number, event.op, source, true));
            return Some(());
        }
        let bytes = op.size.max(1);
        self.receive(event.op, found.op, time, bytes, bytes, (cpu, nic), (source, op.cpu, op.nic), (0, 1))
    }

    /// A message meets its receive, in the model atlahs: the card takes g, then the processor o + (s-1) O.
    #[expect(clippy::too_many_arguments, reason = "both callers have them at hand")]
    fn receive(
        &mut self,
        send: u32,
        recv: u32,
        begin: u64,
        bytes: u64,
        sent_bytes: u64,
        (cpu, nic): (usize, usize),
        (source, source_cpu, source_nic): (u32, u8, u8),
        (host_order, source_order): (u32, u32),
    ) -> Option<()> {
        let host = self.schedule.ops()[send as usize].peer;
        let gap_end = begin.checked_add(self.params.g.fs())?;
        let end = self.end(gap_end, self.params.o, self.params.O, bytes)?;
        let (cause, gap_cause) = (Cause::new(send, Part::MessageCpu), Cause::new(send, Part::MessageGap));
        self.cpus[cpu] = Slot { free: end, cause };
        self.receiving[nic] = Slot { free: gap_end, cause: gap_cause };
        let is_rendezvous = sent_bytes > self.params.S;
        let (host_order, source_order) = if host == source { (0, 0) } else { (host_order, source_order) };
        if is_rendezvous {
            let (cpu, nic) = (self.cpu(source, source_cpu), self.nic(source, source_nic));
            self.cpus[cpu].raise(end, cause);
            self.sending[nic].raise(gap_end, gap_cause);
            self.mark_done(source_order, source, send, end, cause);
        }
        self.note_pair(send, recv, begin, end, is_rendezvous.then_some(end));
        self.mark_done(host_order, host, recv, end, cause);
        Some(())
    }
}
