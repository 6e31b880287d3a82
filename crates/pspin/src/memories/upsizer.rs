//! Reads of cores in the converter from 64 to 512 bits.

use crate::arbiter::LockingTree;
use crate::pe::PeRequest;
use kernel::Cycle;
use std::collections::VecDeque;

/// Reads that the converter has under way. Source: PsPIN RTL a49fec8, `pe_noc.sv`, AxiMaxReads.
const READS: usize = 8;
/// Addresses that the register behind the converter's arbiter holds. Source: the same, `spill_register.sv`.
const REGISTER: usize = 2;
/// Cycles from an answer until its place is taken again: the address of a read is seen here three cycles after it came
/// to the converter (its place, the register, the register in front of the memory), and the place is free in the cycle
/// after the answer.
const ANSWER_TO_FREE: Cycle = 4;

/// All places, by bit.
const ALL: u64 = (1 << READS) - 1;

/// The places of reads, and the addresses behind them.
///
/// Timing:  an address passes places and register without an extra cycle while both have room.
/// Order:   a read takes the lowest free place and keeps it until it is answered. Places take turns by number, so that a read may
///          overtake one that came before. After that the order is kept.
/// Source:  PsPIN RTL a49fec8, `axi_dw_upsizer.sv`, i_idle_lzc, i_mst_ar_arb, i_axi_demux.
/// Differs: an atomic operation, whose old value is a read too, takes no place.
#[derive(Default)]
pub(super) struct Upsizer {
    /// Taken places, by bit, and the places whose release is known, in order of release.
    taken: u64,
    ending: VecDeque<(Cycle, u32)>,
    /// The core that reads in each place, in the form of [`reader`].
    readers: [u32; READS],
    /// Places whose address waits for the arbiter, by bit, and those addresses.
    waiting: u64,
    addresses: [Option<(usize, PeRequest)>; READS],
    turn: LockingTree,
    register: VecDeque<(usize, PeRequest)>,
    /// The last cycle in which an address left the register; its room can be used two cycles later.
    left_at: Option<Cycle>,
}

/// A core of a cluster.
fn reader(cluster: usize, core: u32) -> u32 {
    1 << 31 | (cluster as u32) << 16 | core
}

impl Upsizer {
    /// Returns true if a read may enter the converter in this cycle.
    pub(super) fn has_room(&mut self, now: Cycle) -> bool {
        while let Some(&(_, place)) = self.ending.front().filter(|(at, _)| *at <= now) {
            self.ending.pop_front();
            self.taken &= !(1 << place);
        }
        self.taken != ALL
    }

    /// A read enters, in a cycle in which there is room.
    pub(super) fn push(&mut self, now: Cycle, cluster: usize, request: PeRequest) {
        let place = (!self.taken).trailing_zeros();
        self.readers[place as usize] = reader(cluster, request.core);
        self.taken |= 1 << place;
        if self.waiting == 0 && self.register_has_room(now) {
            self.turn.take(1 << place, true);
            self.register.push_back((cluster, request));
        } else {
            self.addresses[place as usize] = Some((cluster, request));
            self.waiting |= 1 << place;
        }
    }

    fn register_has_room(&self, now: Cycle) -> bool {
        let leaving = self.left_at.is_some_and(|at| at + 1 == now);
        self.register.len() + usize::from(leaving) < REGISTER
    }

    /// The arbiter passes an address that waits on to the register.
    #[inline]
    pub(super) fn forward(&mut self, now: Cycle) {
        if self.waiting != 0 {
            self.arbitrate(now);
        }
    }

    fn arbitrate(&mut self, now: Cycle) {
        if let Some(place) = self.turn.take(self.waiting, self.register_has_room(now)) {
            self.waiting &= !(1 << place);
            self.register.push_back(self.addresses[place as usize].take().expect("it waits"));
        }
    }

    /// The oldest address in the register.
    pub(super) fn next(&self) -> Option<&PeRequest> {
        self.register.front().map(|(_, request)| request)
    }

    /// Cluster and core of the oldest address in the register.
    pub(super) fn next_reader(&self) -> Option<(usize, u32)> {
        self.register.front().map(|(cluster, request)| (*cluster, request.core))
    }

    /// Removes the oldest address from the register. Returns it with its cluster.
    pub(super) fn take(&mut self, now: Cycle) -> (usize, PeRequest) {
        self.left_at = Some(now);
        self.register.pop_front().expect("an address that was seen")
    }

    /// A read of this core is answered.
    pub(super) fn answer(&mut self, at: Cycle, cluster: usize, core: u32) {
        let place = self.readers.iter().position(|&other| other == reader(cluster, core)).expect("a read under way");
        self.readers[place] = 0;
        let free = at + ANSWER_TO_FREE;
        // Answers of handler memory may leave before earlier ones of packet memory.
        self.ending.push_back((free, place as u32));
        let mut i = self.ending.len() - 1;
        while i > 0 && self.ending[i - 1].0 > free {
            self.ending.swap(i - 1, i);
            i -= 1;
        }
    }

    /// Returns true if an address waits here.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting != 0 || !self.register.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pe::PeOp;

    fn read(core: u32) -> PeRequest {
        PeRequest { core, addr: 0, op: PeOp::Load }
    }

    #[test]
    fn places_take_turns_so_that_a_later_read_may_overtake() {
        let mut upsizer = Upsizer::default();
        // One comes in each cycle and none leaves. Cores 0 and 1 fill the register; 2, 3, 4 and 5 wait in the places of their numbers.
        for core in 0..6 {
            assert!(upsizer.has_room(core.into()));
            upsizer.push(core.into(), 0, read(core));
            upsizer.forward(core.into());
        }
        // Core 0 is answered, so its place is free again, and core 6 comes there.
        assert_eq!(upsizer.take(6).1.core, 0);
        upsizer.answer(8, 0, 0);
        assert!(upsizer.has_room(12));
        upsizer.push(12, 0, read(6));
        // The choice fell on place 2 when the register was first full, and stays. Place 3 is next. Then both halves of the arbiter's
        // tree request, and its pointer is still at 3, in the lower half: core 6 passes those that wait in places 4 and 5.
        let left: Vec<u32> = (12..18)
            .map(|now| {
                upsizer.forward(now);
                upsizer.take(now).1.core
            })
            .collect();
        assert_eq!(left, [1, 2, 3, 6, 4, 5]);
    }

    #[test]
    fn a_read_keeps_its_place_until_it_is_answered() {
        let mut upsizer = Upsizer::default();
        for core in 0..8 {
            assert!(upsizer.has_room(core.into()));
            upsizer.push(core.into(), 0, read(core));
            upsizer.forward(core.into());
            upsizer.take(core.into());
        }
        assert!(!upsizer.has_room(8));
        // Core 5's answer leaves in cycle 9. Its place is taken again by an address that is seen here in cycle 13.
        upsizer.answer(9, 0, 5);
        assert!(!upsizer.has_room(12));
        assert!(upsizer.has_room(13));
        upsizer.push(13, 1, read(5));
        assert_eq!(upsizer.readers[5], reader(1, 5));
    }
}
