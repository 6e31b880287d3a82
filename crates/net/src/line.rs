//! Serialisation: when the bits of frames are on a line, exactly.

use kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::eth;

const FS_PER_SECOND: u64 = 1_000_000_000_000_000;

/// The bits that a line adds to each frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// Ethernet: preamble and start delimiter (8 bytes), padding to 60 bytes, FCS (4), interframe gap (12).
    #[default]
    Ethernet,
    /// The FCS (4 bytes) only.
    Fcs,
    /// Nothing.
    None,
}

impl Framing {
    /// Bits before the frame's first bit.
    pub fn lead_bits(self) -> u64 {
        if self == Framing::Ethernet { 8 * 8 } else { 0 }
    }

    /// Bits of a frame of `len` bytes, with padding and FCS.
    pub fn body_bits(self, len: usize) -> u64 {
        8 * match self {
            Framing::Ethernet => len.max(eth::MIN_PACKET_LEN) as u64 + eth::FCS_LEN,
            Framing::Fcs => len as u64 + eth::FCS_LEN,
            Framing::None => len as u64,
        }
    }

    /// Bit times after the frame's last bit, until the next frame may begin.
    pub fn gap_bits(self) -> u64 {
        if self == Framing::Ethernet { 12 * 8 } else { 0 }
    }

    /// All bit times of a frame.
    pub fn line_bits(self, len: usize) -> u64 {
        self.lead_bits() + self.body_bits(len) + self.gap_bits()
    }
}

/// A rate in bit/s, or none: then bits take no time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    bps: Option<u64>,
    /// A bit takes exactly `fs / bits` femtoseconds, in lowest terms.
    fs: u64,
    bits: u64,
}

impl Rate {
    /// Bits take no time.
    pub const INFINITE: Rate = Rate { bps: None, fs: 0, bits: 1 };

    /// `bps` bit/s. Panics if it is 0.
    pub fn bps(bps: u64) -> Rate {
        assert!(bps > 0, "a rate of 0 bit/s");
        let common = gcd(FS_PER_SECOND, bps);
        Rate { bps: Some(bps), fs: FS_PER_SECOND / common, bits: bps / common }
    }

    /// In bit/s; `None` if bits take no time.
    pub fn in_bps(self) -> Option<u64> {
        self.bps
    }

    /// The time that `bits` take, rounded down to a femtosecond.
    pub fn time(self, bits: u64) -> Time {
        if let (1, Some(fs)) = (self.bits, bits.checked_mul(self.fs)) {
            return Time::from_fs(fs);
        }
        let fs = u128::from(bits) * u128::from(self.fs) / u128::from(self.bits);
        Time::from_fs(u64::try_from(fs).unwrap_or(u64::MAX))
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Times of a frame on a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// The line begins: with the preamble, if it has one.
    pub start: Time,
    /// The frame's first bit leaves.
    pub head: Time,
    /// The frame's last bit has left.
    pub tail: Time,
}

/// A line that carries one frame at a time. Times within a busy period are computed from its begin, so rounding errors do not
/// accumulate.
#[derive(Clone, Debug)]
pub struct Line {
    rate: Rate,
    framing: Framing,
    /// Begin of the busy period.
    since: Time,
    /// Bit times used since then.
    bits: u64,
}

impl Line {
    /// An idle line.
    pub fn new(rate: Rate, framing: Framing) -> Self {
        Line { rate, framing, since: Time::ZERO, bits: 0 }
    }

    /// Rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Bits added to frames.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// When the next frame may begin.
    pub fn free_at(&self) -> Time {
        self.since + self.rate.time(self.bits)
    }

    /// Time from the start of a frame of `len` bytes to its last bit.
    pub fn start_to_tail(&self, len: usize) -> Time {
        self.rate.time(self.framing.lead_bits() + self.framing.body_bits(len))
    }

    /// Sends a frame of `len` bytes, at `at` or when the line is free.
    pub fn send(&mut self, at: Time, len: usize) -> Slot {
        if at > self.free_at() {
            (self.since, self.bits) = (at, 0);
        }
        let after = |bits| self.since + self.rate.time(bits);
        let head = self.bits + self.framing.lead_bits();
        let tail = head + self.framing.body_bits(len);
        let slot = Slot { start: after(self.bits), head: after(head), tail: after(tail) };
        self.bits = tail + self.framing.gap_bits();
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_of_64_bytes_at_100_gbit_takes_84_byte_times() {
        let mut line = Line::new(Rate::bps(100_000_000_000), Framing::Ethernet);
        let at = Time::from_ns(5);
        let slot = line.send(at, 46);
        assert_eq!((slot.start, slot.head, slot.tail), (at, at + Time::from_ps(640), at + Time::from_ps(640 + 5120)));
        assert_eq!(line.free_at(), at + Time::from_ps(84 * 80));
    }

    #[test]
    fn a_rate_without_whole_femtoseconds_does_not_drift() {
        // A bit at 333 Gbit/s takes 3003.003... fs.
        let mut line = Line::new(Rate::bps(333_000_000_000), Framing::None);
        let n = 999_999;
        let slots: Vec<Slot> = (0..n).map(|_| line.send(Time::ZERO, 1)).collect();
        let exact = |bits: u64| u128::from(bits) * u128::from(FS_PER_SECOND) / 333_000_000_000;
        for (i, slot) in slots.iter().enumerate() {
            let bits = 8 * i as u64;
            assert_eq!((u128::from(slot.start.fs()), u128::from(slot.tail.fs())), (exact(bits), exact(bits + 8)));
        }
    }

    #[test]
    fn a_frame_that_comes_as_the_line_gets_free_continues_the_busy_period() {
        let rate = Rate::bps(3);
        let mut line = Line::new(rate, Framing::None);
        line.send(Time::ZERO, 1);
        let free = line.free_at();
        let slot = line.send(free, 1);
        assert_eq!((slot.start, slot.tail), (free, rate.time(16)));
        let late = line.free_at() + Time::from_fs(1);
        assert_eq!(line.send(late, 1).tail, late + rate.time(8));
    }

    #[test]
    fn infinite_rates_take_no_time() {
        let mut line = Line::new(Rate::INFINITE, Framing::Ethernet);
        let at = Time::from_ns(7);
        assert_eq!(line.send(at, 1500), Slot { start: at, head: at, tail: at });
        assert_eq!(line.free_at(), at);
    }
}
