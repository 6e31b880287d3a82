//! L1 memory of a cluster (TCDM): word-interleaved banks that cores and wide ports share.

use crate::pe::PeOp;
use crate::protocol::BEAT_BYTES;
use blocks::policy::RoundRobinTree;
use isa::riscv::Amo;
use kernel::Cycle;
use kernel::trace::Counter;

/// Position of the first of the two ports for accesses from outside the cluster among a bank's requesters; cores come before them.
/// The first port is for banks with an even number, the second for the others.
pub const OUTSIDE_PORT: u32 = crate::params::MAX_CORES as u32;
/// Bit set of those ports.
pub const OUTSIDE_PORTS: u32 = 0b11 << OUTSIDE_PORT;

/// Maximum number of banks: a set of them fits into one word.
const MOST_BANKS: usize = 64;

/// Banks of one superbank, which serves a 64-byte beat.
const SUPERBANK: u32 = BEAT_BYTES / 4;

/// The memory and its arbitration.
///
/// Timing:  a granted access is answered in the next cycle. A bank serves one narrow access a cycle. After an AMO the
///          bank writes back in the first later cycle without a beat for it, and serves no narrow access in that cycle.
/// Order:   wide beats, which [`super::wide`] arbitrates, go before narrow accesses. A [`RoundRobinTree`] for each bank
///          arbitrates narrow accesses.
/// Source:  PsPIN RTL a49fec8, `tcdm_interconnect`, `amo_shim.sv`.
pub struct L1 {
    /// Bytes in the order of their addresses, so that bursts are copies.
    words: Vec<[u8; 4]>,
    n_banks: u32,
    /// The bits of a bank's number.
    bank_mask: u32,
    arbiters: [RoundRobinTree; MOST_BANKS],
    /// Counts: narrow accesses of each bank, write-backs of each bank, and beats of each superbank.
    served: [u64; MOST_BANKS],
    write_backs: [u64; MOST_BANKS],
    wide_beats: [u64; MOST_BANKS / SUPERBANK as usize],
    /// Cycles in which a narrow access found its bank taken, summed over all such accesses.
    pub conflicts: Counter,
    /// From this cycle on no beat is served and no write-back is pending, as far as is known.
    free_from: Cycle,
    /// Banks that write back an AMO, from the given cycle on. Each does so in the first cycle without a beat for it.
    write_back: (Cycle, u64),
    /// The last cycle in which beats were served, and the banks that they used.
    beats: (Cycle, u64),
}

impl L1 {
    pub fn new(bytes: u32, n_banks: u32) -> Self {
        L1 {
            words: vec![[0; 4]; bytes as usize / 4],
            n_banks,
            bank_mask: n_banks - 1,
            arbiters: [RoundRobinTree::default(); MOST_BANKS],
            served: [0; MOST_BANKS],
            write_backs: [0; MOST_BANKS],
            wide_beats: [0; MOST_BANKS / SUPERBANK as usize],
            conflicts: Counter::default(),
            free_from: 0,
            write_back: (0, 0),
            beats: (0, 0),
        }
    }

    /// Banks that no narrow access can use in this cycle.
    #[inline]
    pub fn blocked(&mut self, now: Cycle) -> u64 {
        if now >= self.free_from {
            return 0;
        }
        self.write_back_before(now);
        let (from, banks) = self.write_back;
        self.wide(now) | if from <= now { banks } else { 0 }
    }

    /// Banks that beats use in a cycle. The cycle is not before the last one with beats.
    fn wide(&self, cycle: Cycle) -> u64 {
        let (served, banks) = self.beats;
        if cycle == served { banks } else { 0 }
    }

    /// The superbank of a byte offset.
    #[inline]
    pub fn superbank(&self, offset: u32) -> u32 {
        offset / BEAT_BYTES & (self.n_banks / SUPERBANK - 1)
    }

    /// Beats use these superbanks in this cycle, given as a bit set.
    pub fn serve_beats(&mut self, now: Cycle, superbanks: u64) {
        self.write_back_before(now);
        let mut banks = 0;
        for superbank in kernel::members(superbanks) {
            banks |= 0xffff << (superbank * SUPERBANK);
            self.wide_beats[superbank as usize % (MOST_BANKS / SUPERBANK as usize)] += 1;
        }
        self.beats = (now, banks);
        // A write-back may follow the beats.
        self.free_from = self.free_from.max(now + 2);
    }

    /// Counts beats of successive lines that were served, and does nothing else.
    pub fn count_beats(&mut self, offset: u32, n: u32) {
        for beat in 0..n {
            let superbank = self.superbank(offset.wrapping_add(beat * BEAT_BYTES));
            self.wide_beats[superbank as usize % (MOST_BANKS / SUPERBANK as usize)] += 1;
        }
    }

    /// Beats served so far by each superbank.
    #[cfg(test)]
    pub fn beats_by_superbank(&self) -> &[u64] {
        &self.wide_beats
    }

    /// Returns true if an AMO may have to be written back.
    pub fn writes_back(&self) -> bool {
        self.write_back.1 != 0
    }

    /// Completes the write-backs of cycles before `now`, except those that beats delay.
    fn write_back_before(&mut self, now: Cycle) {
        let (mut cycle, mut banks) = self.write_back;
        while cycle < now && banks != 0 {
            banks &= self.wide(cycle);
            cycle += 1;
        }
        self.write_back = (now.max(cycle), banks);
    }

    /// The bank of a byte offset.
    #[inline]
    pub fn bank(&self, offset: u32) -> u32 {
        offset / 4 & self.bank_mask
    }

    /// Grants a bank to its only requester.
    #[inline]
    pub fn grant_alone(&mut self, bank: u32, port: u32) {
        let bank = bank as usize % MOST_BANKS;
        self.served[bank] += 1;
        self.arbiters[bank].grant_alone(port);
    }

    /// Grants the bank to one of the ports in the set.
    pub fn arbitrate(&mut self, bank: u32, ports: u64) -> u32 {
        self.served[bank as usize] += 1;
        self.arbiters[bank as usize].take(ports).expect("a port requests the bank")
    }

    /// Narrow accesses granted.
    pub fn accesses(&self) -> u64 {
        self.served.iter().sum()
    }

    /// Busy cycles of the bank that was busiest.
    pub fn busiest_bank(&self) -> u64 {
        let busy =
            |bank: usize| self.served[bank] + self.write_backs[bank] + self.wide_beats[bank / SUPERBANK as usize];
        (0..self.n_banks as usize).map(busy).max().unwrap_or(0)
    }

    /// The bytes of the word at a byte offset.
    #[inline(always)]
    pub fn word(&mut self, offset: u32) -> &mut [u8; 4] {
        let index = offset as usize / 4 & (self.words.len() - 1);
        &mut self.words[index]
    }

    /// The word at a byte offset.
    #[inline]
    pub fn load(&self, offset: u32) -> u32 {
        u32::from_le_bytes(self.words[offset as usize / 4 & (self.words.len() - 1)])
    }

    /// Replaces the bits of `mask` in the word at a byte offset.
    #[inline]
    pub fn store(&mut self, offset: u32, value: u32, mask: u32) {
        let word = self.word(offset);
        *word = (u32::from_le_bytes(*word) & !mask | value & mask).to_le_bytes();
    }

    /// An operation on the word at a byte offset. Returns the old word.
    pub fn access(&mut self, offset: u32, op: PeOp, now: Cycle) -> u32 {
        let old = self.load(offset);
        match op {
            PeOp::Load => old,
            PeOp::Store { value, mask } => {
                self.store(offset, value, mask);
                old
            }
            PeOp::Amo { amo, operand } => self.amo(now, offset, amo, operand),
        }
    }

    /// An atomic operation on the word at a byte offset. Returns the old word, or 0 for SC.
    ///
    /// LR and SC have no reservation here: they act as a load and as a store that succeeds.
    pub fn amo(&mut self, now: Cycle, offset: u32, amo: Amo, operand: u32) -> u32 {
        let old = self.load(offset);
        self.store(offset, amo.apply(old, operand), u32::MAX);
        self.commit(now, self.bank(offset));
        if amo == Amo::StoreConditional { 0 } else { old }
    }

    /// A bank is granted to an AMO in this cycle. Later it is occupied by the write-back, even if no byte is enabled.
    pub fn commit(&mut self, now: Cycle, bank: u32) {
        self.write_back_before(now + 1);
        self.write_back.1 |= 1 << bank;
        self.write_backs[bank as usize] += 1;
        self.free_from = self.free_from.max(now + 2);
    }

    /// Copies bytes out, to the end of `to`; offsets wrap at the end of the memory.
    pub fn read(&self, offset: u32, size: u32, to: &mut Vec<u8>) {
        let bytes = self.words.as_flattened();
        let (mut at, mut left) = (offset as usize % bytes.len(), size as usize);
        while left > 0 {
            let n = left.min(bytes.len() - at);
            to.extend_from_slice(&bytes[at..at + n]);
            (at, left) = (0, left - n);
        }
    }

    /// The bytes of a range, or `None` if the range is not entirely within L1.
    pub fn range(&self, offset: u32, size: usize) -> Option<&[u8]> {
        self.words.as_flattened().get(offset as usize..)?.get(..size)
    }

    /// Sets a range to zero. `offset` wraps at the end of the memory; the range must not cross the end.
    pub fn clear(&mut self, offset: u32, size: u32) {
        let bytes = self.words.as_flattened_mut();
        let at = offset as usize % bytes.len();
        bytes[at..at + size as usize].fill(0);
    }

    /// Copies bytes in; offsets wrap at the end of the memory.
    pub fn write(&mut self, offset: u32, data: &[u8]) {
        let bytes = self.words.as_flattened_mut();
        let (mut at, mut rest) = (offset as usize % bytes.len(), data);
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(bytes.len() - at));
            bytes[at..at + now.len()].copy_from_slice(now);
            (at, rest) = (0, later);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_words_are_one_memory() {
        let mut l1 = L1::new(0x8000, 64);
        l1.write(0x101, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(l1.load(0x106), 0x0706_0504);
        l1.store(0x103, 0xaa00_0000, 0xff00_0000);
        let read = |l1: &L1, offset, size| {
            let mut bytes = Vec::new();
            l1.read(offset, size, &mut bytes);
            bytes
        };
        assert_eq!(read(&l1, 0x100, 6), [0, 1, 2, 0xaa, 4, 5]);
        l1.write(0x7ffe, &[1, 2, 3, 4]); // Offsets wrap at the end.
        assert_eq!((l1.load(0x7ffc), l1.load(0)), (0x0201_0000, 0x0403));
        assert_eq!(read(&l1, 0xffff, 2), [2, 3]);
    }

    #[test]
    fn an_amo_keeps_its_bank_for_a_second_cycle() {
        let mut l1 = L1::new(0x8000, 64);
        assert_eq!(l1.amo(5, 8, Amo::Add, 3), 0);
        assert_eq!((l1.blocked(5), l1.blocked(6), l1.blocked(7)), (0, 1 << 2, 0));
        assert_eq!(l1.load(8), 3);
    }

    #[test]
    fn the_busiest_bank_counts_accesses_write_backs_and_beats() {
        let mut l1 = L1::new(0x8000, 64);
        (0..3).for_each(|_| l1.grant_alone(2, 0));
        l1.arbitrate(2, 0b11);
        l1.amo(5, 8, Amo::Add, 3); // Bank 2 writes back.
        l1.serve_beats(8, 0b1); // Banks 0 to 15.
        l1.serve_beats(9, 0b10); // Banks 16 to 31.
        assert_eq!((l1.accesses(), l1.busiest_bank()), (4, 4 + 1 + 1));
    }

    /// According to the RTL's source, the shim lets beats pass and writes back in the first cycle without one. It
    /// grants nothing in that cycle.
    #[test]
    fn an_amo_writes_back_behind_the_beats_that_want_its_bank() {
        let mut l1 = L1::new(0x8000, 64);
        l1.amo(5, 8, Amo::Add, 3);
        l1.amo(5, 68, Amo::Add, 3); // In another superbank.
        let blocked = (5..10).map(|cycle| {
            if cycle == 6 || cycle == 7 {
                l1.serve_beats(cycle, 1);
            }
            l1.blocked(cycle)
        });
        assert_eq!(blocked.collect::<Vec<u64>>(), [0, 0xffff | 1 << 17, 0xffff, 1 << 2, 0]);
    }

    #[test]
    fn a_bank_beside_that_of_an_amo_is_occupied_for_as_long() {
        let mut l1 = L1::new(0x8000, 64);
        l1.amo(5, 8, Amo::Add, 3);
        l1.commit(5, 3);
        assert_eq!([5, 6, 7].map(|cycle| l1.blocked(cycle)), [0, 0b11 << 2, 0]);
    }
}
