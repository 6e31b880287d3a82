//! The allocated parts of a memory.

use std::collections::BTreeMap;

/// A range of addresses that is handed out in parts.
///
/// A part is allocated at the lowest address at which it fits (first fit), so equal calls return equal addresses.
#[derive(Clone, Debug)]
pub struct Heap {
    first: u64,
    /// Address after the last byte.
    end: u64,
    align: u64,
    /// Allocated parts by address: their bytes, rounded up.
    taken: BTreeMap<u64, u64>,
}

/// The reason why a part cannot be allocated at the given address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// A part of the range is outside of the memory.
    Outside,
    /// The byte at this address is allocated.
    Taken(u64),
}

impl Heap {
    /// A heap of `bytes` from `first` on, all free. Parts begin and end at multiples of `align`.
    pub fn new(first: u64, bytes: u64, align: u64) -> Self {
        Heap { first, end: first.saturating_add(bytes), align, taken: BTreeMap::new() }
    }

    /// Allocates bytes anywhere, and returns their address.
    pub fn take(&mut self, bytes: u64) -> Option<u64> {
        let bytes = bytes.max(1).checked_next_multiple_of(self.align)?;
        let (addr, _) = self.gaps().find(|&(_, room)| room >= bytes)?;
        self.taken.insert(addr, bytes);
        Some(addr)
    }

    /// Allocates the bytes from `addr` on, rounded outwards.
    pub fn claim(&mut self, addr: u64, bytes: u64) -> Result<(), Refused> {
        let first = addr / self.align * self.align;
        let end = addr.checked_add(bytes.max(1)).ok_or(Refused::Outside)?;
        let end = end.checked_next_multiple_of(self.align).ok_or(Refused::Outside)?;
        if first < self.first || end > self.end {
            return Err(Refused::Outside);
        }
        if let Some((&other, &size)) = self.taken.range(..end).next_back()
            && other + size > first
        {
            return Err(Refused::Taken(other.max(addr)));
        }
        self.taken.insert(first, end - first);
        Ok(())
    }

    /// Frees the part that contains `addr`.
    ///
    /// # Panics
    /// If no part contains it: that is a bug in the driver.
    pub fn give_back(&mut self, addr: u64) {
        let part = addr / self.align * self.align;
        assert!(self.taken.remove(&part).is_some(), "{addr:#x} is freed but was not allocated");
    }

    /// First byte.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Returns true if the memory contains the bytes from `first` up to `end`.
    pub fn spans(&self, first: u64, end: u64) -> bool {
        first >= self.first && end <= self.end
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.end - self.first
    }

    /// Bytes that are free.
    pub fn free(&self) -> u64 {
        self.gaps().map(|(_, room)| room).sum()
    }

    /// Address and size in bytes of the largest free part; if several are largest, the first of them.
    pub fn largest(&self) -> (u64, u64) {
        self.gaps().fold((self.first, 0), |best, gap| if gap.1 > best.1 { gap } else { best })
    }

    /// Address and bytes of each free part, in order.
    fn gaps(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let starts = std::iter::once(self.first).chain(self.taken.iter().map(|(addr, bytes)| addr + bytes));
        let ends = self.taken.keys().copied().chain([self.end]);
        starts.zip(ends).map(|(start, end)| (start, end.saturating_sub(start)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_go_to_the_lowest_room_and_come_back() {
        let mut heap = Heap::new(0x1000, 0x400, 64);
        assert_eq!([heap.take(1), heap.take(65), heap.take(64)], [Some(0x1000), Some(0x1040), Some(0x10c0)]);
        heap.give_back(0x1040);
        assert_eq!((heap.free(), heap.largest()), (0x380, (0x1100, 0x300)));
        assert_eq!([heap.take(129), heap.take(128), heap.take(0x280)], [Some(0x1100), Some(0x1040), None]);
    }

    #[test]
    fn a_claim_is_rounded_outwards_and_meets_others() {
        let mut heap = Heap::new(0x1000, 0x400, 64);
        assert_eq!(heap.claim(0x1050, 8), Ok(()));
        assert_eq!(heap.claim(0x1010, 8), Ok(()));
        assert_eq!(heap.claim(0x1020, 0x40), Err(Refused::Taken(0x1040)));
        assert_eq!(heap.claim(0x1078, 0x10), Err(Refused::Taken(0x1078)));
        assert_eq!(heap.claim(0x13ff, 2), Err(Refused::Outside));
        assert_eq!(heap.claim(u64::MAX, 2), Err(Refused::Outside));
        assert_eq!(heap.take(1), Some(0x1080));
    }

    proptest! {
        #[test]
        fn parts_never_meet_and_nothing_is_lost(calls in prop::collection::vec((any::<bool>(), 0u64..300), 1..60)) {
            let mut heap = Heap::new(64, 1024, 64);
            let mut held: Vec<(u64, u64)> = Vec::new();
            for (takes, n) in calls {
                if takes {
                    if let Some(addr) = heap.take(n) {
                        let end = addr + n.max(1);
                        prop_assert!(addr >= 64 && end <= 1088 && addr % 64 == 0);
                        prop_assert!(held.iter().all(|&(other, last)| end <= other || addr >= last));
                        held.push((addr, end));
                    } else {
                        prop_assert!(heap.largest().1 < n.max(1).next_multiple_of(64));
                    }
                } else if !held.is_empty() {
                    let (addr, _) = held.swap_remove(n as usize % held.len());
                    heap.give_back(addr);
                }
            }
            held.iter().for_each(|&(addr, _)| heap.give_back(addr));
            prop_assert_eq!((heap.free(), heap.largest()), (1024, (64, 1024)));
        }
    }
}
