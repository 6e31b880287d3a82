//! Data buffer between the read side and the write side of a DMA engine.

use crate::protocol::BEAT_BYTES;
use std::ops::Range;

/// Bytes that a lane holds. Source: PsPIN RTL a49fec8, BufferDepth of `pulp_cluster_frontend.sv` and `pspin_soc_dma.sv`.
pub const LANE_BYTES: u32 = 3;

/// Number of bytes in each lane of a beat: a FIFO of three bytes per lane. Bytes are in the lanes of their
/// destination.
///
/// A beat that is read fills the lanes of its bytes if none of them is full. A beat is written when each of its lanes
/// has a byte. Both sides see the state of the previous cycle.
///
/// Source: PsPIN RTL a49fec8, `axi_dma_data_path.sv`, BufferDepth of `pulp_cluster_frontend.sv` and `pspin_soc_dma.sv`.
#[derive(Default)]
pub struct Lanes {
    /// Low and high bit of each lane's number of bytes, 0 to 3.
    low: u64,
    high: u64,
}

impl Lanes {
    /// Returns true if each of these lanes has room.
    #[inline]
    pub fn take(&self, lanes: u64) -> bool {
        self.low & self.high & lanes == 0
    }

    /// Returns true if each of these lanes has a byte.
    #[inline]
    pub fn hold(&self, lanes: u64) -> bool {
        (self.low | self.high) & lanes == lanes
    }

    /// Returns true if no lane has a byte.
    pub fn are_empty(&self) -> bool {
        self.low | self.high == 0
    }

    /// The number of bytes in the fullest lane.
    #[inline]
    pub fn fullest(&self) -> u32 {
        match (self.low, self.high) {
            (low, high) if low & high != 0 => 3,
            (_, high) if high != 0 => 2,
            (low, _) => u32::from(low != 0),
        }
    }

    /// Adds a byte to each of these lanes.
    #[inline]
    pub fn push(&mut self, lanes: u64) {
        let carry = self.low & lanes;
        self.low ^= lanes;
        self.high ^= carry;
    }

    /// Removes a byte from each of these lanes.
    #[inline]
    pub fn pop(&mut self, lanes: u64) {
        let borrow = !self.low & lanes;
        self.low ^= lanes;
        self.high ^= borrow;
    }
}

/// Returns the range of `size` bytes at `addr` that the given beat of their burst carries.
#[inline]
pub fn bytes_of(addr: u32, size: u32, beat: u32) -> Range<u32> {
    let before = addr % BEAT_BYTES;
    let end = (beat + 1) * BEAT_BYTES - before;
    (beat * BEAT_BYTES).saturating_sub(before)..end.min(size)
}

/// The lanes of these bytes for a destination at `addr`.
#[inline]
pub fn lanes_of(addr: u32, bytes: &Range<u32>) -> u64 {
    let ones = u64::MAX >> (BEAT_BYTES - bytes.len() as u32);
    ones.rotate_left((addr + bytes.start) % BEAT_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_bytes_stand_in_a_lane() {
        let mut lanes = Lanes::default();
        for _ in 0..3 {
            assert!(lanes.take(0b0110));
            lanes.push(0b0110);
        }
        assert_eq!(lanes.fullest(), LANE_BYTES);
        assert!(!lanes.take(0b1100) && lanes.take(0b1001));
        assert!(lanes.hold(0b0110) && !lanes.hold(0b1110));
        lanes.pop(0b0010);
        assert!(lanes.take(0b0010) && !lanes.take(0b0100));
        (0..2).for_each(|_| lanes.pop(0b0110));
        assert!(!lanes.hold(0b0010) && lanes.hold(0b0100) && !lanes.are_empty());
        lanes.pop(0b0100);
        assert!(lanes.are_empty());
    }

    #[test]
    fn the_bytes_of_a_burst_lie_in_its_beats_without_gaps() {
        assert_eq!([0, 1, 2].map(|beat| bytes_of(0x103e, 100, beat)), [0..2, 2..66, 66..100]);
        assert_eq!(bytes_of(0x1010, 16, 0), 0..16);
    }

    #[test]
    fn bytes_stand_in_the_lanes_of_their_destination() {
        assert_eq!(lanes_of(0x1000, &(0..64)), u64::MAX);
        assert_eq!(lanes_of(0x1004, &(0..64)), u64::MAX);
        assert_eq!(lanes_of(0x103e, &(0..4)), 0b11 << 62 | 0b11);
        assert_eq!(lanes_of(0x1000, &(66..67)), 1 << 2);
    }
}
