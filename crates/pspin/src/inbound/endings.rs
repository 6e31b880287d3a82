//! Messages that end early: killed, or with their last packet dropped.

use super::*;
use crate::protocol::Context;

impl Inbound {
    /// Drops the arriving packet.
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

    /// Returns true if the message queues may have to know that this packet was dropped.
    pub(super) fn may_end(&self, arriving: &Arrival, reason: DropReason) -> bool {
        reason == DropReason::MessageKilled || arriving.eom
    }

    /// Returns true if the packet belongs to a message that was killed.
    pub(super) fn is_killed(&self, arriving: &Arrival) -> bool {
        self.killed.contains(&arriving.msgid) && arriving.som != Some(true)
    }

    /// Handles an arriving packet that ends its message, or that is dropped because its message has ended.
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

    /// The last packet of this message was dropped, so the previous packet becomes the last.
    fn end_early(&mut self, msgid: u16) {
        // If that packet is still here, its request says so; otherwise the message queues get a notice.
        let waiting = self.ring.iter_mut_from(self.n_requested).filter(|stored| stored.killed.is_none());
        match waiting.filter_map(|stored| stored.her.as_mut()).filter(|her| her.msgid == msgid).last() {
            Some(her) => her.eom = true,
            None => self.ending = Some(Request::End(msgid)),
        }
    }

    /// Cancels the unsent requests of this message.
    fn end_message(&mut self, kill: Kill) {
        // The message queues handle those that are already sent.
        let waiting = self.ring.iter_mut_from(self.n_requested);
        waiting.filter(|stored| stored.her.as_ref().is_some_and(|her| her.msgid == kill.msgid)).for_each(|stored| {
            stored.killed = Some(kill.reason);
        });
        self.ending = Some(Request::Kill(kill));
    }

    /// Ends a message for the host; no packet of it follows.
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

    /// Ends the message whose queue goes to the arriving packet's message. Returns false while another end has to be
    /// sent first.
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
