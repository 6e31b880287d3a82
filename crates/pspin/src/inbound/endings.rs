//! Messages that end otherwise than with their last packet: killed, or with that packet dropped.

use super::*;
use crate::protocol::Context;

impl Inbound {
    /// Drops the packet that arrives.
    pub(super) fn refuse(&mut self, now: Cycle, reason: DropReason) {
        let arriving = self.drop_arriving(now, reason);
        let msgid = arriving.msgid;
        if reason == DropReason::MessageKilled {
            self.kill_message(&arriving);
            return;
        }
        if arriving.som == Some(true) {
            self.killed.remove(&msgid);
        }
        if arriving.eom {
            self.end_early(msgid);
        }
    }

    /// Whether dropping this packet may have something to tell the message queues.
    pub(super) fn may_end(&self, arriving: &Arrival, reason: DropReason) -> bool {
        reason == DropReason::MessageKilled || arriving.eom
    }

    /// Whether a packet belongs to what is left of a message that was killed.
    pub(super) fn is_killed(&self, arriving: &Arrival) -> bool {
        self.killed.contains(&arriving.msgid) && arriving.som != Some(true)
    }

    /// The packet that arrives ends its message, or is dropped because its message was ended.
    fn kill_message(&mut self, arriving: &Arrival) {
        let msgid = arriving.msgid;
        if !self.is_killed(arriving) {
            let Context { id, protection, .. } = &*arriving.context;
            let (reason, error_addr) = (DropReason::MessageKilled, protection.error_addr);
            self.end_message(Kill { msgid, reason, context: *id, error_addr });
            self.killed.insert(msgid);
        }
        if arriving.eom {
            self.killed.remove(&msgid);
        }
    }

    /// The last packet of this message was dropped: the one before it is the last to come.
    fn end_early(&mut self, msgid: u16) {
        // If that is here, its request says so; if it has gone, the message queues are told.
        let waiting = self.ring.iter_mut_from(self.n_requested).filter(|stored| stored.killed.is_none());
        match waiting.filter_map(|stored| stored.her.as_mut()).filter(|her| her.msgid == msgid).last() {
            Some(her) => her.eom = true,
            None => self.ending = Some(Request::End(msgid)),
        }
    }

    /// No request is sent any more for packets of this message that are here.
    fn end_message(&mut self, kill: Kill) {
        // Those whose requests are sent are the message queues' business.
        let waiting = self.ring.iter_mut_from(self.n_requested);
        waiting.filter(|stored| stored.her.as_ref().is_some_and(|her| her.msgid == kill.msgid)).for_each(|stored| {
            stored.killed = Some(kill.reason);
        });
        self.ending = Some(Request::Kill(kill));
    }

    /// Ends a message for the host, which lets no packet of it follow.
    pub(super) fn take_kill(&mut self, now: Cycle) -> bool {
        if self.ending.is_some() {
            return false;
        }
        let Some(kill) = self.kills.take() else { return false };
        self.end_message(kill);
        if self.arriving.as_ref().is_some_and(|arriving| arriving.msgid == kill.msgid) {
            self.drop_arriving(now, kill.reason);
        }
        true
    }

    /// Ends the message that leaves its queue to the one of the packet that arrives. False while another end is to be told first.
    pub(super) fn evict(&mut self) -> bool {
        let Some(kill) = self.arriving.as_ref().and_then(|arriving| arriving.evicts) else { return true };
        if self.ending.is_some() {
            return false;
        }
        self.end_message(kill);
        self.arriving.as_mut().expect("just seen").evicts = None;
        true
    }
}
