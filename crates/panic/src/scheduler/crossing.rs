//! The FIFO behind a PIFO, which crosses from the PIFO's clock to the NIC's, as in the published Verilog. Credits are requested
//! at its output.

use kernel::Cycle;
use std::collections::VecDeque;

/// The FIFOs behind the PIFOs; `crossing_slots` gives their depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrossingParams {
    /// Synchronizer stages through which each side sees the other side's pointer, 1 to 16.
    pub synchroniser: u32,
    /// If true, the PIFO is popped even while an earlier packet is still on its way into the FIFO. That packet may take the
    /// last slot; then the next packet is lost together with its cell. If false, the PIFO is popped at most at every second
    /// edge.
    pub small_packets: bool,
}

impl CrossingParams {
    /// Checks the ranges. The error begins with the key.
    pub fn check(&self) -> Result<(), String> {
        blocks::checks::within("synchroniser", self.synchroniser, 1, 16)
    }
}

/// A FIFO between two clocks; the PIFO's clock has an edge every `pop_cycles` of the NIC's clock.
///
/// Timing: a packet popped at an edge is in the FIFO at the next edge, if a slot is free as far as the PIFO's side knows. The
///         NIC's side sees it 1 cycle plus the synchronizer later and takes 2 cycles more: one into a read register, one into
///         the output register. The slot is free when the read register has it; the PIFO's side sees that at the following edge
///         plus the synchronizer's edges.
/// Source: RTL, `pifo_warp.v`, and verilog-axis, `axis_async_fifo.v`.
pub(super) struct Crossing<T> {
    params: CrossingParams,
    n_slots: usize,
    pop_cycles: Cycle,
    /// The item popped at the last edge.
    popped: Option<T>,
    /// Occupied slots, and the cycle from which the NIC's side sees each.
    slots: VecDeque<(Cycle, T)>,
    /// Freed slots: the cycle from which the PIFO's side sees each.
    freed: VecDeque<Cycle>,
    /// Cycles for which freed slots were occupied, as the PIFO's side sees it. Includes cycles in the future.
    occupied: u64,
    /// The registers behind the slots.
    read: Option<T>,
    end: Option<T>,
}

impl<T> Crossing<T> {
    /// An empty FIFO.
    pub fn new(params: CrossingParams, n_slots: usize, pop_cycles: u32) -> Crossing<T> {
        let (popped, slots, freed, read, end) = (None, VecDeque::new(), VecDeque::new(), None, None);
        Crossing { params, n_slots, pop_cycles: pop_cycles.into(), popped, slots, freed, occupied: 0, read, end }
    }

    /// Occupied slots as the PIFO's side sees them, summed over all cycles before `end`.
    pub fn occupied_before(&self, end: Cycle) -> u64 {
        let now: u64 = self.slots.iter().map(|&(seen, _)| end.saturating_sub(self.filled_at(seen))).sum();
        let to_come: u64 = self.freed.iter().map(|known| known.saturating_sub(end)).sum();
        self.occupied + now - to_come
    }

    /// The cycle in which a slot was filled, if the NIC's side sees it from cycle `seen` on.
    fn filled_at(&self, seen: Cycle) -> Cycle {
        seen - 1 - Cycle::from(self.params.synchroniser)
    }

    /// Returns true if the FIFO is empty and no item is on its way into it.
    pub fn is_empty(&self) -> bool {
        self.popped.is_none() && self.slots.is_empty() && self.read.is_none() && self.end.is_none()
    }

    /// Runs an edge of the PIFO's clock. Returns the item that found no slot, and whether the PIFO is popped.
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

    /// Stores the item popped at this edge.
    pub fn pop(&mut self, item: T) {
        self.popped = Some(item);
    }

    /// Returns true if an item was popped at the last edge.
    pub fn has_popped(&self) -> bool {
        self.popped.is_some()
    }

    /// The item at the output.
    pub fn end(&self) -> Option<&T> {
        self.end.as_ref()
    }

    /// Takes the item at the output.
    pub fn take(&mut self) -> Option<T> {
        self.end.take()
    }

    /// Runs an edge of the NIC's clock, after [`Crossing::take`].
    pub fn shift(&mut self, now: Cycle) {
        if self.end.is_none() {
            self.end = self.read.take();
        }
        if self.read.is_none() && self.slots.front().is_some_and(|&(known, _)| known <= now) {
            let (seen, item) = self.slots.pop_front().expect("it was just there");
            self.read = Some(item);
            let edge = (now / self.pop_cycles + 1) * self.pop_cycles;
            let known = edge + Cycle::from(self.params.synchroniser) * self.pop_cycles;
            self.freed.push_back(known);
            self.occupied += known - self.filled_at(seen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// The output of a PIFO with many packets, of which one is taken every `period` cycles: cycle, `.` and packet number for a
    /// packet taken, `x` for a packet lost.
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
    fn a_packet_popped_while_another_takes_the_last_slot_is_lost() {
        check(true, 10, expect!["14x6 20.0 30x8 30.1 40x10 40.2 50x12 50.3 60x14 60.4 70x16 70.5"]);
    }

    #[test]
    fn pops_at_every_second_edge_lose_nothing() {
        check(false, 10, expect!["20.0 30.1 40.2 50.3 60.4 70.5"]);
    }

    #[test]
    fn a_slot_is_occupied_until_the_pifos_side_sees_that_it_is_free() {
        let mut crossing = Crossing::new(CrossingParams { synchroniser: 2, small_packets: true }, 4, 2);
        crossing.pop('a');
        let mut sums = Vec::new();
        for now in 0..20 {
            if now > 0 && now % 2 == 0 {
                crossing.edge(now);
            }
            crossing.shift(now);
            sums.push(crossing.occupied_before(now + 1));
        }
        // The packet is in a slot from cycle 2 on and is read in cycle 5. The PIFO's side sees this at the third edge from then
        // on, in cycle 10.
        assert_eq!(sums[..13], [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8]);
    }

    #[test]
    fn the_first_packet_is_at_the_output_after_seven_cycles() {
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
