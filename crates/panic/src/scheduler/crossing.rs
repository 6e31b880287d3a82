//! The queue behind a PIFO, from its clock to the NIC's, at whose end credits are asked for: so has it the published Verilog.

use kernel::Cycle;
use std::collections::VecDeque;

/// The queues behind the PIFOs, beside their slots, `crossing_slots`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrossingParams {
    /// Registers of the synchronisers through which each side learns what the other has done, 1 to 16.
    pub synchroniser: u32,
    /// Whether the PIFO is also popped while a packet that was popped is on its way into the queue. That packet may take the last
    /// slot, and the next one is lost, with its cell. If not, the PIFO is popped at every second edge at most.
    pub small_packets: bool,
}

impl CrossingParams {
    /// What is wrong with them; begins with the key.
    pub fn check(&self) -> Result<(), String> {
        blocks::checks::within("synchroniser", self.synchroniser, 1, 16)
    }
}

/// A queue between two clocks, of which that of the PIFO has an edge every `pop_cycles` of the NIC's.
///
/// Timing: what is popped at an edge is there at the next one, if a slot is free as far as is known there. The NIC's side knows of it
///         1 cycle and the synchroniser later, and then it takes 2 cycles more: one into a register, and from there into that at the
///         end. That a slot became free by the first of them is known at the edge behind it, and the synchroniser's edges later.
/// Source: RTL, `pifo_warp.v`, and verilog-axis, `axis_async_fifo.v`.
pub(super) struct Crossing<T> {
    params: CrossingParams,
    n_slots: usize,
    pop_cycles: Cycle,
    /// What the last edge has popped.
    popped: Option<T>,
    /// What is in the slots, and from when on the NIC's side knows of it.
    slots: VecDeque<(Cycle, T)>,
    /// Slots that became free, and from when on the PIFO's side knows it.
    freed: VecDeque<Cycle>,
    /// The registers behind the slots.
    read: Option<T>,
    end: Option<T>,
}

impl<T> Crossing<T> {
    /// A queue that holds nothing.
    pub fn new(params: CrossingParams, n_slots: usize, pop_cycles: u32) -> Crossing<T> {
        let (popped, slots, freed, read, end) = (None, VecDeque::new(), VecDeque::new(), None, None);
        Crossing { params, n_slots, pop_cycles: pop_cycles.into(), popped, slots, freed, read, end }
    }

    /// Whether nothing is in it, and nothing on its way there.
    pub fn is_empty(&self) -> bool {
        self.popped.is_none() && self.slots.is_empty() && self.read.is_none() && self.end.is_none()
    }

    /// Does an edge of the PIFO's clock. Gives back what found no slot, and whether the PIFO is popped.
    pub fn edge(&mut self, now: Cycle) -> (Option<T>, bool) {
        while self.freed.front().is_some_and(|&known| known <= now) {
            self.freed.pop_front();
        }
        let has_room = self.slots.len() + self.freed.len() < self.n_slots;
        let pops = has_room && (self.params.small_packets || self.popped.is_none());
        match self.popped.take() {
            Some(item) if has_room => {
                self.slots.push_back((now + 1 + Cycle::from(self.params.synchroniser), item));
                (None, pops)
            }
            lost => (lost, pops),
        }
    }

    /// The PIFO was popped at this edge.
    pub fn pop(&mut self, item: T) {
        self.popped = Some(item);
    }

    /// Whether something was popped at the last edge.
    pub fn has_popped(&self) -> bool {
        self.popped.is_some()
    }

    /// What is at the end.
    pub fn end(&self) -> Option<&T> {
        self.end.as_ref()
    }

    /// Takes what is at the end.
    pub fn take(&mut self) -> Option<T> {
        self.end.take()
    }

    /// Does an edge of the NIC's clock, behind [`Crossing::take`].
    pub fn shift(&mut self, now: Cycle) {
        if self.end.is_none() {
            self.end = self.read.take();
        }
        if self.read.is_none() && self.slots.front().is_some_and(|&(known, _)| known <= now) {
            self.read = self.slots.pop_front().map(|(_, item)| item);
            let edge = (now / self.pop_cycles + 1) * self.pop_cycles;
            self.freed.push_back(edge + Cycle::from(self.params.synchroniser) * self.pop_cycles);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// What a PIFO of many packets sends, while one is taken from the end every `period` cycles: cycle, `.` for a packet taken and
    /// `x` for one lost.
    fn check(small_packets: bool, period: Cycle, want: Expect) {
        let mut crossing = Crossing::new(CrossingParams { synchroniser: 2, small_packets }, 4, 2);
        let mut log = String::new();
        let mut next = 0;
        for now in 0..80 {
            if now % 2 == 0 {
                let (lost, pops) = crossing.edge(now);
                if let Some(lost) = lost {
                    log += &format!("{now}x{lost} ");
                }
                if pops {
                    crossing.pop(next);
                    next += 1;
                }
            }
            if now >= 20
                && now % period == 0
                && let Some(taken) = crossing.take()
            {
                log += &format!("{now}.{taken} ");
            }
            crossing.shift(now);
        }
        want.assert_eq(log.trim_end());
    }

    #[test]
    fn what_is_popped_while_another_takes_the_last_slot_is_lost() {
        check(true, 10, expect!["14x6 20.0 30x8 30.1 40x10 40.2 50x12 50.3 60x14 60.4 70x16 70.5"]);
    }

    #[test]
    fn nothing_is_lost_that_is_popped_at_every_second_edge() {
        check(false, 10, expect!["20.0 30.1 40.2 50.3 60.4 70.5"]);
    }

    #[test]
    fn the_first_one_is_at_the_end_after_seven_cycles() {
        let mut crossing = Crossing::new(CrossingParams { synchroniser: 2, small_packets: true }, 4, 2);
        crossing.pop('a');
        let there = (0..20).find(|&now| {
            let is_there = crossing.end().is_some();
            if now > 0 && now % 2 == 0 {
                assert_eq!(crossing.edge(now).0, None);
            }
            crossing.shift(now);
            is_there
        });
        assert_eq!(there, Some(7));
    }
}
