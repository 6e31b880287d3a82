//! Messages that are given up: those that stop arriving, and those that packet memory has no room for.

use super::*;

impl MpqEngine {
    /// The queue that is looked at for having stopped, and the first cycle in which it has.
    fn oldest(&self) -> Option<(usize, Cycle)> {
        let q = self.lru.candidate()?;
        let queue = &self.queues[q];
        let context = queue.context.as_ref().expect("a message that is received has a context");
        Some((q, queue.last_push.saturating_add(context.delivery.timeout_cycles).saturating_add(1)))
    }

    /// When a message is given up unless something comes.
    pub fn next_timeout(&self) -> Option<Cycle> {
        self.oldest().map(|(_, cycle)| cycle)
    }

    /// Gives up the candidate if it has stopped arriving. Returns what the host is to be told.
    pub fn give_up_stale(&mut self, now: Cycle) -> Option<Notice> {
        let (q, _) = self.oldest().filter(|&(_, cycle)| cycle <= now)?;
        let queue = &self.queues[q];
        let (msgid, received, context) = (queue.msgid, queue.received, queue.context.clone()?);
        self.timeouts.add(1);
        let dropped = self.reset(q, DropReason::MessageTimeout);
        Some(context.notice(HostEvent::MessageTimeout { msgid, dropped, received }))
    }

    /// Ends a message that packet memory has no room for. Returns what the host is to be told.
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
        let dropped = if queue.is_receiving && queue.msgid == msgid {
            self.reset(q, reason)
        } else {
            // Another message holds the queue: the killed one's packets are behind it.
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

    /// The last packet of a message was dropped on its way here: the message ends with those that came. One of which none is
    /// left has nothing that a completion handler could run on: it is given up. Returns what the host is to be told.
    pub fn end(&mut self, msgid: u16) -> Option<Notice> {
        let q = self.queue_of(msgid);
        let queue = &mut self.queues[q];
        if !queue.packets.is_empty() {
            self.cells.end(&queue.packets);
            // While the first packet is missing the message is not complete, whatever was the last.
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
            self.start_message(q);
        }
        self.update(q);
        is_done.then(|| context.notice(HostEvent::MessageDone { msgid }))
    }

    /// Drops the packets of the message that is being received on queue `q`; tasks under way end by themselves. Returns
    /// how many are dropped.
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

    /// The last task of a message that was given up has ended.
    pub(super) fn reset_ended(&mut self, q: usize, head_in_use: bool) {
        let queue = &mut self.queues[q];
        if head_in_use {
            self.cells.doom(&mut queue.packets, queue.reset_reason, |position, _| position == 0);
        }
        self.start_message(q);
        self.update(q);
    }

    /// Of packets that wait for the first of their message, those that may not.
    pub(super) fn drop_what_may_not_wait(&mut self, q: usize) {
        let queue = &mut self.queues[q];
        let delivery = queue.context.as_ref().expect("a message that waits has a context").delivery;
        let mut most = match delivery.early_payload {
            EarlyPayload::Buffer => delivery.early_packets as usize,
            EarlyPayload::Drop => 0,
        };
        if self.cells.room(q) == 0 && !self.cells.has_doomed() {
            // One has to go, or the packet that all wait for could never come in.
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

    /// Whether packets wait to leave packet memory.
    pub fn has_doomed(&self) -> bool {
        self.cells.has_doomed()
    }

    /// The next packet that leaves packet memory unprocessed.
    pub fn take_doomed(&mut self) -> Option<(Her, DropReason)> {
        self.cells.take_doomed()
    }
}

/// Packets of the message that holds a queue which are in it; the ones behind are the next messages'.
fn own_packets(queue: &Queue, cells: &Cells) -> usize {
    match queue.state {
        State::Free | State::CompletionRunning => 0,
        State::PayloadDraining if !queue.has_completion() => 0,
        State::Resetting { head_in_use } => usize::from(head_in_use),
        _ => cells.iter(&queue.packets).take_while(|her| !her.eom).count() + 1,
    }
}
