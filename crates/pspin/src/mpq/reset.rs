//! Messages that are killed: after a timeout, or because packet memory is full.

use super::*;

impl MpqEngine {
    /// Returns the queue that can time out next, and the first cycle in which it has timed out.
    fn oldest(&self) -> Option<(usize, Cycle)> {
        let q = self.lru.candidate()?;
        let queue = &self.queues[q];
        let context = queue.context.as_ref().expect("a message that is received has a context");
        Some((q, queue.last_push.saturating_add(context.delivery.timeout_cycles).saturating_add(1)))
    }

    /// Returns the cycle in which a message times out unless a packet arrives.
    pub fn next_timeout(&self) -> Option<Cycle> {
        self.oldest().map(|(_, cycle)| cycle)
    }

    /// Kills the candidate if it has timed out. Returns the notice for the host, if any.
    pub fn give_up_stale(&mut self, now: Cycle) -> Option<Notice> {
        let (q, _) = self.oldest().filter(|&(_, cycle)| cycle <= now)?;
        let queue = &self.queues[q];
        let (msgid, received, context) = (queue.msgid, queue.received, queue.context.clone()?);
        self.timeouts.add(1);
        let dropped = self.reset(q, DropReason::MessageTimeout);
        Some(context.notice(HostEvent::MessageTimeout { msgid, dropped, received }))
    }

    /// Kills a message because packet memory is full. Returns the notice for the host, if any.
    pub fn kill(&mut self, kill: Kill) -> Notice {
        let Kill { msgid, reason, context, error_addr } = kill;
        let q = self.queue_of(msgid);
        let is_evicted = reason == DropReason::MessageEvicted;
        if is_evicted {
            self.evictions.add(1)
        } else {
            self.kills.add(1)
        }
        let queue = &mut self.queues[q];
        // With `keeps_packets`, packets of other messages belong to the message that holds the queue.
        let dropped = if self.keeps_packets || queue.is_receiving && queue.msgid == msgid {
            self.reset(q, reason)
        } else {
            // Another message holds the queue; the packets of the killed one are behind it.
            let first = own_packets(queue, &self.cells);
            let goes = |position: usize, her: &Her| position >= first && her.msgid == msgid;
            self.cells.doom(&mut queue.packets, reason, goes)
        };
        self.update(q);
        let event = match is_evicted {
            true => HostEvent::MessageEvicted { msgid, dropped },
            false => HostEvent::MessageKilled { msgid, dropped },
        };
        Notice { context, error_addr, event }
    }

    /// The last packet of a message was dropped before it came here, so the message ends with the packets that have
    /// arrived. If none is left, there is no packet for the completion handler, and the message is killed. Returns
    /// the notice for the host, if any.
    pub fn end(&mut self, msgid: u16) -> Option<Notice> {
        let q = self.queue_of(msgid);
        let queue = &mut self.queues[q];
        if !queue.packets.is_empty() {
            self.cells.end(&queue.packets);
            queue.has_last |= queue.state != State::Free;
            // While the first packet is missing, the message is not complete.
            queue.is_receiving &= queue.state == State::AwaitHeader;
            self.update(q);
            return None;
        }
        let context = queue.context.clone().filter(|_| queue.is_receiving)?;
        let msgid = queue.msgid;
        if queue.has_completion() {
            self.kills.add(1);
            let dropped = self.reset(q, DropReason::MessageKilled);
            return Some(context.notice(HostEvent::MessageKilled { msgid, dropped }));
        }
        queue.is_receiving = false;
        queue.state = State::PayloadDraining;
        let is_done = queue.in_flight == 0;
        if is_done {
            self.end_message(q);
        }
        self.update(q);
        is_done.then(|| context.notice(HostEvent::MessageDone { msgid }))
    }

    /// Drops the packets of the message being received on queue `q`; running tasks end by themselves. Returns the
    /// number of dropped packets.
    fn reset(&mut self, q: usize, reason: DropReason) -> u32 {
        let queue = &mut self.queues[q];
        let head_in_use = queue.state == State::HeaderRunning;
        let first = usize::from(head_in_use);
        let dropped = self.cells.doom(&mut queue.packets, reason, |position, _| position >= first);
        queue.is_receiving = false;
        queue.reset_reason = reason;
        queue.state = State::Resetting { head_in_use };
        if queue.in_flight == 0 {
            self.reset_ended(q, false);
        }
        self.turns.unlock(q);
        self.update(q);
        dropped + first as u32
    }

    /// The last task of a killed message has ended.
    pub(super) fn reset_ended(&mut self, q: usize, head_in_use: bool) {
        let queue = &mut self.queues[q];
        if head_in_use {
            self.cells.doom(&mut queue.packets, queue.reset_reason, |position, _| position == 0);
        }
        self.end_message(q);
        self.update(q);
    }

    /// Drops packets above the limit, among those that wait for the first packet of their message.
    pub(super) fn drop_what_may_not_wait(&mut self, q: usize) {
        let queue = &mut self.queues[q];
        let delivery = queue.context.as_ref().expect("a message that waits has a context").delivery;
        let mut most = match delivery.early_payload {
            EarlyPayload::Buffer => delivery.early_packets as usize,
            EarlyPayload::Drop => 0,
        };
        if self.cells.room(q) == 0 && !self.cells.has_doomed() {
            // One packet must go, so that the first packet can be queued.
            most = most.min(self.cells.iter(&queue.packets).count() - 1);
        }
        let loses_end = self.cells.iter(&queue.packets).skip(most).any(|her| her.eom);
        self.cells.doom(&mut queue.packets, DropReason::BeforeHeader, |position, _| position >= most);
        if loses_end {
            self.cells.end(&queue.packets);
        }
        if queue.packets.is_empty() {
            queue.state = State::Free;
            queue.context = None;
            queue.is_receiving = false;
        }
    }

    /// Returns true if dropped packets wait to leave packet memory.
    pub fn has_doomed(&self) -> bool {
        self.cells.has_doomed()
    }

    /// Removes the next packet that leaves packet memory unprocessed.
    pub fn take_doomed(&mut self) -> Option<(Her, DropReason)> {
        self.cells.take_doomed()
    }
}

/// Number of packets in a queue that belong to the message that holds it; those behind belong to the next messages.
fn own_packets(queue: &Queue, cells: &Cells) -> usize {
    match queue.state {
        State::Free | State::CompletionRunning => 0,
        State::PayloadDraining if !queue.has_completion() => 0,
        State::Resetting { head_in_use } => usize::from(head_in_use),
        _ => cells.iter(&queue.packets).take_while(|her| !her.eom).count() + 1,
    }
}
