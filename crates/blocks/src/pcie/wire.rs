//! One direction of a link, to the bit: when the bytes that are put on it are over.

use kernel::Cycle;

/// A serial line of an exact rate; times are cycles and fractions of a cycle.
pub struct Wire {
    /// A byte takes `top / bottom` cycles.
    top: u64,
    bottom: u64,
    /// From when it is free: a cycle, and how many `bottom`ths of it have passed.
    free: (Cycle, u64),
    bytes: u64,
}

impl Wire {
    /// A line on which a byte takes `top / bottom` cycles.
    pub fn new(top: u64, bottom: u64) -> Self {
        assert!(bottom > 0, "a line has a rate");
        Wire { top, bottom, free: (0, 0), bytes: 0 }
    }

    /// From which cycle on something may be put on it.
    pub fn free_at(&self) -> Cycle {
        self.free.0
    }

    /// Puts bytes on the line in cycle `now`, in which it is free. Returns the first cycle in which they are all over.
    pub fn put(&mut self, now: Cycle, bytes: u32) -> Cycle {
        assert!(self.free.0 <= now, "the line is free");
        let (cycle, part) = self.free.max((now, 0));
        let parts = part + u64::from(bytes) * self.top;
        self.free = (cycle + parts / self.bottom, parts % self.bottom);
        self.bytes += u64::from(bytes);
        self.free.0 + u64::from(self.free.1 > 0)
    }

    /// All bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_to_rounding() {
        // PCIe 5.0, 16 lanes, at 1 GHz: 8 * 130 / (16 * 32 * 128) cycles a byte.
        let mut wire = Wire::new(8 * 130 * 1000, 16 * 32_000 * 128);
        let mut now = 0;
        let ends: Vec<Cycle> = (0..64)
            .map(|_| {
                now = now.max(wire.free_at());
                wire.put(now, 64)
            })
            .collect();
        assert_eq!(ends[..4], [2, 3, 4, 5]);
        // 64 beats take 65 cycles, not 128.
        assert_eq!(ends[63], 65);
        assert_eq!(wire.put(100, 64), 102);
    }
}
