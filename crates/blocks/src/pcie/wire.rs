//! Bit-exact timing of one direction of a link.

use kernel::Cycle;

/// A serial line with an exact rate; times are cycles and fractions of a cycle.
pub struct Wire {
    /// A byte takes `top / bottom` cycles.
    top: u64,
    bottom: u64,
    /// When it is free: a cycle, and the elapsed part of that cycle in units of 1/`bottom`.
    free: (Cycle, u64),
    bytes: u64,
}

impl Wire {
    /// A line on which a byte takes `top / bottom` cycles.
    pub fn new(top: u64, bottom: u64) -> Self {
        assert!(bottom > 0, "a line has a rate");
        Wire { top, bottom, free: (0, 0), bytes: 0 }
    }

    /// The first cycle in which the line accepts bytes.
    pub fn free_at(&self) -> Cycle {
        self.free.0
    }

    /// Sends bytes from cycle `now` on, in which the line must be free. Returns the first cycle after their end.
    pub fn put(&mut self, now: Cycle, bytes: u32) -> Cycle {
        assert!(self.free.0 <= now, "the line is free");
        let (cycle, part) = self.free.max((now, 0));
        let parts = part + u64::from(bytes) * self.top;
        self.free = (cycle + parts / self.bottom, parts % self.bottom);
        self.bytes += u64::from(bytes);
        self.free.0 + u64::from(self.free.1 > 0)
    }

    /// Cycles that the bytes sent so far take.
    pub fn busy_cycles(&self) -> u64 {
        (u128::from(self.bytes) * u128::from(self.top) / u128::from(self.bottom)) as u64
    }

    /// Bytes sent so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_does_not_accumulate() {
        // PCIe 5.0, 16 lanes, at 1 GHz: 8 * 130 / (16 * 32 * 128) cycles per byte.
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
