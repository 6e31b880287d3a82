//! Outstanding references of a core.

use crate::bus::{self, BusError, MOST_WORDS, Reference, Requester, WordAccess, WordLane, WordOp};
use isa::mips::Load;
use kernel::{Clock, Cycle, Time};
use std::rc::Rc;

/// Maximum outstanding references at one port. assumed: more than a load plus the stores that a memory with a latency
/// of a few cycles leaves unanswered at one store per cycle.
const MAX_UNDER_WAY: usize = MOST_WORDS;

/// Purpose of an outstanding reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
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
    #[default]
    Forgotten,
}

/// A reference of an instruction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    pub purpose: Purpose,
    /// Address computed by the instruction.
    pub addr: u32,
    /// Address of the instruction.
    pub pc: u32,
}

/// An outstanding reference.
#[derive(Clone, Copy, Debug, Default)]
struct UnderWay {
    pending: Pending,
    /// Cycle in which it was sent.
    sent: Cycle,
    /// True if the memory may refuse it.
    is_doubtful: bool,
}

/// An answer to a reference.
pub(super) struct Answered {
    pub pending: Pending,
    /// Cycle in which the answer was due without contention.
    pub due: Cycle,
    /// Cycles for which the reference waited for others, rounded to the nearest.
    pub waited: Cycle,
    pub answer: Answer,
}

/// Answer to a reference: the word read (0 for a write) and the token of its link, if any; or the error.
pub(super) type Answer = Result<(u32, u32), BusError>;

/// The outstanding references in order.
#[derive(Default)]
struct Few {
    slots: [UnderWay; MAX_UNDER_WAY],
    first: usize,
    n: usize,
}

impl Few {
    fn push(&mut self, one: UnderWay) {
        self.slots[(self.first + self.n) % MAX_UNDER_WAY] = one;
        self.n += 1;
    }

    fn pop(&mut self) -> UnderWay {
        assert!(self.n > 0, "an answer belongs to a reference");
        let one = self.slots[self.first % MAX_UNDER_WAY];
        (self.first, self.n) = ((self.first + 1) % MAX_UNDER_WAY, self.n - 1);
        one
    }

    fn iter(&self) -> impl Iterator<Item = &UnderWay> {
        (0..self.n).map(|i| &self.slots[(self.first + i) % MAX_UNDER_WAY])
    }
}

/// A data port.
pub(super) struct DataPort {
    requester: Requester,
    /// Cycles from a load to its answer without contention.
    pub cycles: u64,
    under_way: Few,
    /// Number of outstanding references that the memory may refuse.
    n_doubtful: usize,
    /// The memory's lane, if it has one. The channels are not used then.
    lane: Option<Rc<WordLane>>,
    /// Cycle in which the last reference was sent.
    sent: Cycle,
    /// Cycle in which the last reference completes without contention.
    done: Cycle,
    id: u32,
}

impl DataPort {
    pub fn new(requester: Requester, cycles: u64) -> DataPort {
        DataPort { requester, cycles, under_way: Few::default(), n_doubtful: 0, lane: None, sent: 0, done: 0, id: 0 }
    }

    pub fn requester(&self) -> &Requester {
        &self.requester
    }

    pub fn is_quiet(&self) -> bool {
        self.under_way.n == 0
    }

    /// Returns true if a store to one of `bytes` bytes from `first` is outstanding.
    pub fn is_storing(&self, first: u32, bytes: u32) -> bool {
        let is_store = |pending: &Pending| !matches!(pending.purpose, Purpose::Load { .. });
        self.under_way
            .iter()
            .any(|UnderWay { pending, .. }| is_store(pending) && pending.addr.wrapping_sub(first) < bytes)
    }

    /// Opens the memory's lane if it offers one, and if the channels have the lane's times: one cycle of latency, and always room.
    pub fn open_lane(&mut self) {
        let Requester { references, replies } = &self.requester;
        let is_usual = |(capacity, latency)| capacity >= MAX_UNDER_WAY && latency == 1;
        if self.is_quiet() && is_usual(references.size()) && is_usual(replies.size()) {
            self.lane = references.offered();
            self.lane.iter().for_each(|lane| lane.open());
        }
    }

    /// Returns true if a reference may be sent now. If not, a later change wakes the core.
    pub fn has_room(&self) -> bool {
        self.under_way.n < MAX_UNDER_WAY && (self.lane.is_some() || self.requester.references.has_room())
    }

    /// Returns true if the memory will not refuse any of the outstanding references.
    pub fn is_certain(&self) -> bool {
        self.n_doubtful == 0
    }

    /// Selects whether answers to posted stores leave the core asleep, if the memory can do that.
    pub fn set_quiet(&self, is_quiet: bool) {
        self.lane.iter().for_each(|lane| lane.set_quiet(is_quiet));
    }

    /// The last cycle of the system's present run.
    pub fn last_cycle(&self) -> Cycle {
        self.requester.references.last_cycle()
    }

    /// The cycle from which the next answer is visible; `Cycle::MAX` if there is none.
    pub fn answer_due(&self) -> Cycle {
        self.lane.as_ref().map_or_else(|| self.requester.replies.due(), |lane| lane.answer_due())
    }

    /// Sends a reference to bus address `addr` in cycle `sent`, which is `late` cycles after the present one.
    pub fn send(&mut self, addr: u32, op: WordOp, pending: Pending, sent: Cycle, late: Cycle) {
        let (addr, at, references) = (u64::from(addr), sent + 1, &self.requester.references);
        let is_doubtful = !self.lane.as_ref().is_some_and(|lane| lane.accepts(addr, op));
        self.n_doubtful += usize::from(is_doubtful);
        if let Some(lane) = &self.lane {
            lane.send(WordAccess { at, addr, op });
            references.wake_receiver(at);
        } else {
            references.send_late(Reference { id: self.id, addr, access: op.access() }, late);
            self.id = self.id.wrapping_add(1);
        }
        self.under_way.push(UnderWay { pending, sent, is_doubtful });
        (self.sent, self.done) = (sent, sent + self.cycles - 1);
    }

    /// Cycle in which the last reference completes without contention.
    pub fn done(&self) -> Cycle {
        self.done
    }

    /// The first cycle in which the answer to the last reference can be visible: channels take a cycle each way.
    pub fn earliest_answer(&self) -> Cycle {
        self.sent + 2
    }

    /// Returns true if an answer can be taken in cycle `now`.
    #[inline(always)]
    pub fn has_answer(&self, now: Cycle) -> bool {
        self.answer_due() <= now
    }

    /// The next answer, if it is visible in cycle `now`.
    #[inline]
    pub fn answer(&mut self, now: Cycle) -> Option<Answered> {
        if !self.has_answer(now) {
            return None;
        }
        let (waited, answer) = match &self.lane {
            Some(lane) => lane.take_answer(now).map(|answer| (answer.waited, answer.result))?,
            None => {
                let reply = self.requester.replies.take()?;
                (reply.waited, reply.result.map(|data| bus::word_and_token(&data)))
            }
        };
        let UnderWay { pending, sent, is_doubtful } = self.under_way.pop();
        self.n_doubtful -= usize::from(is_doubtful);
        let waited = match waited {
            Time::ZERO => 0,
            waited => nearest(self.requester.replies.clock(), waited),
        };
        Some(Answered { pending, due: sent + self.cycles, waited, answer })
    }

    /// Makes all outstanding answers be ignored.
    pub fn forget(&mut self) {
        self.under_way.slots.iter_mut().for_each(|one| one.pending.purpose = Purpose::Forgotten);
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
pub(super) fn write(addr: u32, bits: u32, mask: u32) -> (u32, WordOp) {
    let first = mask.leading_zeros() / 8;
    let end = 4 - mask.trailing_zeros() / 8;
    let data = (bits << (8 * first)).to_be_bytes();
    ((addr & !3) + first, WordOp::Write { data, n: (end - first) as u8 })
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
