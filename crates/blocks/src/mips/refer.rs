//! Outstanding references of a core.

use crate::bus::{self, Access, BusError, Reference, Requester};
use isa::mips::Load;
use kernel::{Clock, Cycle, Time};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Maximum outstanding references at one port. assumed: more than a load plus the stores that a memory with a latency
/// of a few cycles leaves unanswered at one store per cycle.
const MAX_UNDER_WAY: usize = 4;

/// Purpose of an outstanding reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// A load.
    Load { rt: u8, kind: Load },
    /// A conditional store to memory.
    Conditional { rt: u8 },
    /// A store that holds the memory stage.
    Held,
    /// A store that does not hold the memory stage.
    Posted,
    /// None: the core was reset.
    Forgotten,
}

/// An outstanding reference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub purpose: Purpose,
    /// Address computed by the instruction.
    pub addr: u32,
    /// Address of the instruction.
    pub pc: u32,
    /// Cycle in which it was sent.
    pub sent: Cycle,
}

/// Answer to a reference: the word read (0 for a write) and the token of its link, if any; or the error.
pub(super) type Answer = Result<(u32, u32), BusError>;

/// A data port.
pub(super) struct DataPort {
    requester: Requester,
    /// Cycles from a load to its answer without contention.
    pub cycles: u64,
    under_way: VecDeque<Pending>,
    /// Cycle in which the last reference completes without contention.
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

    /// Returns true if a store to one of `bytes` bytes from `first` is outstanding.
    pub fn is_storing(&self, first: u32, bytes: u32) -> bool {
        let is_store = |pending: &Pending| !matches!(pending.purpose, Purpose::Load { .. });
        self.under_way.iter().any(|pending| is_store(pending) && pending.addr.wrapping_sub(first) < bytes)
    }

    /// Returns true if a reference may be sent now. If not, a later change wakes the core.
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

    /// Cycle in which the last reference completes without contention.
    pub fn done(&self) -> Cycle {
        self.done
    }

    /// Returns true if an answer can be taken in cycle `now`.
    #[inline(always)]
    pub fn has_answer(&self, now: Cycle) -> bool {
        self.requester.replies.is_due(now)
    }

    /// The next answer, with the cycles that its reference waited for others, rounded to the nearest.
    #[inline]
    pub fn answer(&mut self, now: Cycle) -> Option<(Pending, Cycle, Answer)> {
        if !self.has_answer(now) {
            return None;
        }
        let reply = self.requester.replies.take()?;
        let pending = self.under_way.pop_front().expect("an answer belongs to a reference");
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

    /// Makes all outstanding answers be ignored.
    pub fn forget(&mut self) {
        self.under_way.iter_mut().for_each(|pending| pending.purpose = Purpose::Forgotten);
    }
}

/// A time in cycles of a clock, rounded to the nearest.
fn nearest(clock: Clock, span: Time) -> Cycle {
    let above = clock.cycle_at_or_after(span);
    let below = above.saturating_sub(1);
    if clock.edge(above) - span > span - clock.edge(below).min(span) { below } else { above }
}

/// A write of `bits` under `mask`, which must select whole consecutive bytes, to the word that contains `addr`. Returns
/// the address of the first written byte, and the write.
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
