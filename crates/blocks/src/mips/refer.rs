//! A core's references to memory beyond its own: what it has sent and not been answered.

use crate::bus::{self, Access, BusError, Reference, Requester};
use isa::mips::Load;
use kernel::{Clock, Cycle, Time};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// References under way at one port, at most. Assumed: more than a load and the stores that a memory of a few cycles leaves
/// unanswered when one is sent a cycle.
const MAX_UNDER_WAY: usize = 4;

/// What a reference that was sent is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// A load.
    Load { rt: u8, kind: Load },
    /// A conditional store to memory.
    Conditional { rt: u8 },
    /// A store that holds the memory stage.
    Held,
    /// A store that does not.
    Posted,
    /// Nothing any more: the core was reset.
    Forgotten,
}

/// A reference that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub purpose: Purpose,
    /// Address that the instruction gave.
    pub addr: u32,
    /// Its own.
    pub pc: u32,
    /// Cycle in which it was sent.
    pub sent: Cycle,
}

/// What came of a reference: the word that was read (0 for a write) and the token of its link if it has one, or why not.
pub(super) type Came = Result<(u32, u32), BusError>;

/// A port for data.
pub(super) struct DataPort {
    requester: Requester,
    /// Cycles from a load to its answer when nobody is in the way.
    pub cycles: u64,
    under_way: VecDeque<Pending>,
    /// Cycle in which the last reference is done if nobody is in its way.
    done: Cycle,
    id: u32,
}

impl DataPort {
    pub fn new(requester: Requester, cycles: u64) -> DataPort {
        DataPort { requester, cycles, under_way: VecDeque::with_capacity(MAX_UNDER_WAY), done: 0, id: 0 }
    }

    pub fn requester(&self) -> &Requester {
        &self.requester
    }

    pub fn is_quiet(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Whether a store to one of `bytes` bytes from `first` on is under way.
    pub fn is_storing(&self, first: u32, bytes: u32) -> bool {
        let is_store = |pending: &Pending| !matches!(pending.purpose, Purpose::Load { .. });
        self.under_way.iter().any(|pending| is_store(pending) && pending.addr.wrapping_sub(first) < bytes)
    }

    /// Whether a reference may be sent now. If not, the core is woken when that changes.
    pub fn has_room(&self) -> bool {
        self.under_way.len() < MAX_UNDER_WAY && self.requester.references.has_room()
    }

    /// Sends a reference to bus address `addr`.
    pub fn send(&mut self, addr: u32, access: Access, pending: Pending) {
        self.requester.references.send(Reference { id: self.id, addr: addr.into(), access });
        self.id = self.id.wrapping_add(1);
        self.under_way.push_back(pending);
        self.done = pending.sent + self.cycles - 1;
    }

    /// Cycle in which the last reference is done if nobody is in its way.
    pub fn done(&self) -> Cycle {
        self.done
    }

    /// The next answer that has come, and the cycles for which others were in its way, to the nearest.
    pub fn answer(&mut self) -> Option<(Pending, Cycle, Came)> {
        let reply = self.requester.replies.take()?;
        let pending = self.under_way.pop_front().expect("an answer is to a reference");
        let words = |data: bus::Data| {
            let (word, token) = data.split_at(data.len().min(4));
            (bus::word(word), bus::word(token))
        };
        let waited = match reply.waited {
            Time::ZERO => 0,
            waited => nearest(self.requester.replies.clock(), waited),
        };
        Some((pending, waited, reply.result.map(words)))
    }

    /// Whatever comes is not wanted any more.
    pub fn forget(&mut self) {
        self.under_way.iter_mut().for_each(|pending| pending.purpose = Purpose::Forgotten);
    }
}

/// The cycles of a clock that come nearest to a span of time.
fn nearest(clock: Clock, span: Time) -> Cycle {
    let above = clock.cycle_at_or_after(span);
    let below = above.saturating_sub(1);
    if clock.edge(above) - span > span - clock.edge(below).min(span) { below } else { above }
}

/// The write of the bits of `mask` to the word around `addr`, those being whole bytes: its first address and its bytes.
pub(super) fn write(addr: u32, bits: u32, mask: u32) -> (u32, Access) {
    let first = mask.leading_zeros() as usize / 8;
    let end = 4 - mask.trailing_zeros() as usize / 8;
    let data = SmallVec::from_slice(&bits.to_be_bytes()[first..end]);
    ((addr & !3) + first as u32, Access::Write(data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Freq;

    #[test]
    fn a_wait_in_another_clock_is_rounded_to_the_nearest_cycle() {
        let clock = Clock::new(Freq::mhz(88).expect("a frequency"));
        // Cycles of 100 MHz, and of 88 MHz, which are 11.36 ns.
        let found = [0, 10, 20, 30, 40, 80, 90, 1000].map(|ns| nearest(clock, Time::from_ns(ns)));
        assert_eq!(found, [0, 1, 2, 3, 4, 7, 8, 88]);
        assert_eq!(nearest(clock, Time::from_ps(5_681)), 0);
        assert_eq!(nearest(clock, Time::from_ps(5_682)), 1);
    }
}
