//! Runs: one call sends or takes several items, one a cycle.
//!
//! A run changes no times. It is only as long as two facts are certain: which items are sent, and when the receiver frees room. A
//! receiver that takes a run announces with that call when it frees room. So the sender can plan its next run in advance.

use super::{Channel, Entry, Freed, HAS_RUNS, Rx, SENDER_WAITS, Tx};
use crate::time::Cycle;

impl<T> Tx<T> {
    /// Most items of a run that begins at this edge. They may use room that the receiver is certain to free in time. If the number
    /// is 0, the component is woken when there is room.
    #[inline]
    pub fn room_for_run(&self) -> usize {
        if !self.has_room() {
            return 0;
        }
        let channel = &*self.0;
        let room = channel.capacity.saturating_sub(channel.occupied.get());
        match channel.freed.get() {
            _ if !channel.is_within() => 1,
            // From `usable` on, at least one item is freed for each one that is sent.
            Freed { usable, n, .. } if usable <= channel.sender().now() + room as Cycle => room + n as usize,
            _ => room,
        }
    }

    /// Sends a run of `n` items that are equal to `item`, one a cycle from this edge on. There must be room for all of them.
    /// Until the run ends, nothing else may be sent. The receiver may take them as a run or one by one.
    pub fn send_run(&self, n: usize, item: T)
    where
        T: Clone,
    {
        let channel = &*self.0;
        if n == 1 {
            return self.send(item);
        }
        let most = channel.capacity + channel.freed.get().n as usize;
        assert!(
            n > 0 && channel.occupied.get() + n <= most && channel.is_within(),
            "channel {} takes no run of {n} items",
            channel.name
        );
        let (sender, receiver) = (channel.sender(), channel.receiver());
        let now = sender.now();
        let seen = (now + channel.latency).max(channel.last.get());
        channel.last.set(seen.max(now + channel.latency + n as Cycle - 1));
        channel.first.set(channel.first.get().min(seen));
        channel.items.borrow_mut().push(Entry { seen, item, more: n as u32 - 1 });
        channel.announce();
        channel.occupied.set(channel.occupied.get() + n);
        channel.duties.set(channel.duties.get() | HAS_RUNS);
        channel.copy.set(Some(T::clone));
        channel.run_end.set(now + n as Cycle);
        receiver.wake_from_within(seen);
    }
}

impl<T> Rx<T> {
    /// Returns true if the next item begins a run; it need not be visible yet.
    #[inline]
    pub fn has_run(&self) -> bool {
        self.0.duties.get() & HAS_RUNS != 0 && self.0.items.borrow().front().is_some_and(|entry| entry.more > 0)
    }

    /// Takes up to `most` items of a run, one a cycle from `now` on. Returns their number. The first must be visible,
    /// and no other item may have been taken in this cycle.
    ///
    /// Until the last of them is taken, no item is visible. If others wait behind them, the component is woken then.
    pub fn take_run(&self, now: Cycle, most: usize) -> usize {
        let channel = &*self.0;
        assert!(self.is_due(now) && channel.is_within(), "channel {} has no run to take", channel.name);
        let mut items = channel.items.borrow_mut();
        let Some(Entry { seen, more, .. }) = items.front_mut() else { return 0 };
        let n = most.min(*more as usize + 1);
        if n == 0 {
            return 0;
        }
        let end = now + n as Cycle;
        if n == *more as usize + 1 {
            items.pop();
        } else {
            (*seen, *more) = (*seen + n as Cycle, *more - n as u32);
        }
        let next = items.front().map(|entry| entry.seen.max(end));
        drop(items);
        channel.first.set(next.unwrap_or(Cycle::MAX));
        channel.last.set(channel.last.get().max(end));
        if let Some(next) = next {
            channel.receiver().wake_from_within(next);
        }
        let usable = now + 1;
        channel.free(usable);
        channel.freed.set(Freed { usable, n: n as u32, at_once: 1 });
        if channel.duties.get() & SENDER_WAITS != 0 {
            channel.wake_sender(usable);
        }
        n
    }
}

impl<T> Channel<T> {
    /// Wakes the ends that depend on a take of the first item. Takes it if it belongs to a run.
    #[inline(never)]
    pub(super) fn do_duties(&self, usable: Cycle) -> Option<T> {
        if self.duties.get() & SENDER_WAITS != 0 {
            self.wake_sender(usable);
        }
        let copy = self.copy.get()?;
        let mut items = self.items.borrow_mut();
        let behind = items.second().map(|entry| entry.seen);
        let (next, item) = match items.front_mut()? {
            Entry { more: 0, .. } => (behind?, None),
            Entry { seen, item, more } => {
                (*seen, *more) = (*seen + 1, *more - 1);
                self.first.set(*seen);
                (*seen, Some(copy(item)))
            }
        };
        let receiver = self.receiver();
        if next > receiver.now() {
            receiver.wake(next);
        }
        item
    }
}
