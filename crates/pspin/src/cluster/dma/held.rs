//! How many transfers the cluster's DMA engine holds, from the FIFO that takes them to the last beat that leaves.

use kernel::Cycle;
use std::collections::VecDeque;

/// Parts of transfers past the burst reshaper whose last beat has not left for its destination: the emitters' FIFOs.
/// Source: `dmac_wrap.sv`, AxiAxReqDepth.
pub const EMITTERS: usize = 12;
/// The transfer in the burst reshaper.
const RESHAPER: usize = 1;
/// From the beat that makes room in the emitters until the FIFO before the reshaper shows room.
const LEFT_TO_ROOM: u64 = 2;

/// Parts of transfers that the engine holds descriptors of, in order.
#[derive(Default)]
pub struct Held {
    /// Whether each is the last of its transfer.
    parts: VecDeque<bool>,
    /// Those that are, among the ones behind the emitters: cores that wait for room ask in every cycle.
    beyond: usize,
    /// From when on the first ones are gone.
    gone: VecDeque<Cycle>,
}

impl Held {
    /// A part of a transfer comes in.
    pub fn push(&mut self, last: bool) {
        self.beyond += usize::from(last && self.parts.len() >= EMITTERS);
        self.parts.push_back(last);
    }

    /// The last beat of the first part that has not left leaves in cycle `at`.
    pub fn leaves(&mut self, at: Cycle) {
        self.gone.push_back(at + LEFT_TO_ROOM);
    }

    /// Transfers that have not come to the burst reshaper.
    pub fn before_reshaper(&mut self, now: Cycle) -> usize {
        while self.gone.front().is_some_and(|&at| at <= now) {
            self.gone.pop_front();
            self.parts.pop_front();
            // What was the first behind the emitters is in them now.
            self.beyond -= usize::from(self.parts.get(EMITTERS - 1).is_some_and(|&last| last));
        }
        self.beyond.saturating_sub(RESHAPER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fifo_fills_once_emitters_and_reshaper_are_full_and_shows_room_two_cycles_after_a_beat_has_left() {
        let mut held = Held::default();
        for n in 0..25 {
            assert_eq!(held.before_reshaper(n), (n as usize).saturating_sub(13));
            held.push(true);
        }
        held.leaves(100);
        assert_eq!((held.before_reshaper(101), held.before_reshaper(102)), (12, 11));
    }

    #[test]
    fn a_transfer_across_pages_takes_one_place_in_the_fifo() {
        let mut held = Held::default();
        (0..12).for_each(|_| held.push(true));
        for last in [true, false, false, true] {
            held.push(last);
        }
        assert_eq!(held.before_reshaper(0), 1);
    }
}
