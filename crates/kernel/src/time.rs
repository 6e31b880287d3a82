//! Time in femtoseconds, and clocks whose edges are exact.

use std::fmt;
use std::ops::{Add, Sub};

/// Index of a clock edge; edge 0 is at time zero. The context determines the clock.
pub type Cycle = u64;

const FS_PER_SECOND: u64 = 1_000_000_000_000_000;

/// A point in simulated time, or a duration, in femtoseconds. The range is a little over five hours.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Time(u64);

impl Time {
    /// The start of the simulation.
    pub const ZERO: Time = Time(0);
    /// The last representable point.
    pub const MAX: Time = Time(u64::MAX);

    /// `fs` femtoseconds.
    pub const fn from_fs(fs: u64) -> Self {
        Time(fs)
    }

    /// `ps` picoseconds. Panics beyond [`Time::MAX`].
    pub const fn from_ps(ps: u64) -> Self {
        Time(ps.checked_mul(1_000).expect("a time fits 2^64 fs"))
    }

    /// `ns` nanoseconds. Panics beyond [`Time::MAX`].
    pub const fn from_ns(ns: u64) -> Self {
        Time(ns.checked_mul(1_000_000).expect("a time fits 2^64 fs"))
    }

    /// In femtoseconds.
    pub const fn fs(self) -> u64 {
        self.0
    }

    /// In whole picoseconds, rounded down.
    pub const fn ps(self) -> u64 {
        self.0 / 1_000
    }

    /// In whole nanoseconds, rounded down.
    pub const fn ns(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The sum, or `None` beyond [`Time::MAX`].
    pub fn checked_add(self, span: Time) -> Option<Time> {
        self.0.checked_add(span.0).map(Time)
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, span: Time) -> Time {
        self.checked_add(span).expect("a time fits 2^64 fs")
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, earlier: Time) -> Time {
        Time(self.0.checked_sub(earlier.0).expect("a span of time is not negative"))
    }
}

/// Prints nanoseconds without trailing zeros.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (ns, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let decimals = format!("{rest:06}");
        match decimals.trim_end_matches('0') {
            "" => write!(f, "{ns} ns"),
            some => write!(f, "{ns}.{some} ns"),
        }
    }
}

/// An exact frequency: `hz / parts` hertz.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Freq {
    hz: u64,
    parts: u64,
}

/// A frequency that no clock can have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FreqError {
    /// Zero hertz, or a zero divisor.
    #[error("invalid frequency (found {hz}/{parts} Hz; both numbers must be above 0)")]
    Zero {
        /// Numerator.
        hz: u64,
        /// Divisor.
        parts: u64,
    },
    /// Two edges would fall on one femtosecond.
    #[error("invalid frequency (found {hz}/{parts} Hz; the maximum is 10^15 Hz, one edge per femtosecond)")]
    TooFast {
        /// Numerator.
        hz: u64,
        /// Divisor.
        parts: u64,
    },
}

impl Freq {
    /// `hz / parts` hertz.
    pub const fn ratio(hz: u64, parts: u64) -> Result<Freq, FreqError> {
        if hz == 0 || parts == 0 {
            return Err(FreqError::Zero { hz, parts });
        }
        if hz as u128 > FS_PER_SECOND as u128 * parts as u128 {
            return Err(FreqError::TooFast { hz, parts });
        }
        Ok(Freq { hz, parts })
    }

    /// `hz` hertz.
    pub const fn hz(hz: u64) -> Result<Freq, FreqError> {
        Freq::ratio(hz, 1)
    }

    /// `khz` kilohertz: 312.5 MHz is `Freq::khz(312_500)`.
    pub const fn khz(khz: u64) -> Result<Freq, FreqError> {
        Freq::hz(khz.saturating_mul(1_000))
    }

    /// `mhz` megahertz.
    pub const fn mhz(mhz: u64) -> Result<Freq, FreqError> {
        Freq::hz(mhz.saturating_mul(1_000_000))
    }
}

/// A clock without drift: edge `k` is at `k / frequency`, rounded down to a femtosecond, for every `k`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    freq: Freq,
    /// A period is exactly `fs / cycles` femtoseconds, in lowest terms.
    fs: u128,
    cycles: u128,
}

impl Clock {
    /// The clock of this frequency, with edge 0 at time zero.
    pub const fn new(freq: Freq) -> Clock {
        let (fs, hz) = (FS_PER_SECOND as u128 * freq.parts as u128, freq.hz as u128);
        let common = gcd(fs, hz);
        Clock { freq, fs: fs / common, cycles: hz / common }
    }

    /// The period, if it is a whole number of picoseconds.
    pub fn whole_period_ps(&self) -> Option<u64> {
        let fs_per_ps = 1_000;
        let divisor = self.cycles.checked_mul(fs_per_ps)?;
        if self.fs.is_multiple_of(divisor) { u64::try_from(self.fs / divisor).ok() } else { None }
    }

    /// Time of edge `cycle`. Panics beyond [`Time::MAX`].
    pub fn edge(&self, cycle: Cycle) -> Time {
        self.edge_within(cycle).expect("the time of an edge fits 2^64 fs")
    }

    /// Time of edge `cycle`, or `None` beyond [`Time::MAX`].
    fn edge_within(&self, cycle: Cycle) -> Option<Time> {
        if self.cycles == 1 {
            return cycle.checked_mul(u64::try_from(self.fs).ok()?).map(Time);
        }
        // A product beyond 128 bits is beyond 64 bits after the division, because `cycles` has at most 64.
        let wide = || u64::try_from(u128::from(cycle).checked_mul(self.fs)? / self.cycles).ok();
        scaled(cycle, self.fs, self.cycles, |fs, cycles| fs / cycles).or_else(wide).map(Time)
    }

    /// The first edge at `time` or later.
    pub fn cycle_at_or_after(&self, time: Time) -> Cycle {
        // edge(k) >= t holds when k * fs >= t * cycles, since t is whole.
        let wide = || u64::try_from((u128::from(time.0) * self.cycles).div_ceil(self.fs)).ok();
        scaled(time.0, self.cycles, self.fs, u64::div_ceil).or_else(wide).expect("a cycle fits 64 bits")
    }

    /// The first edge later than `time`, or [`Cycle::MAX`] if that is not representable.
    pub fn cycle_after(&self, time: Time) -> Cycle {
        match time.checked_add(Time::from_fs(1)) {
            Some(later) => self.cycle_at_or_after(later),
            None => u64::try_from(((1 << 64) * self.cycles).div_ceil(self.fs)).unwrap_or(Cycle::MAX),
        }
    }

    /// Returns true if the edges of both clocks are at the same times.
    pub(crate) fn coincides(&self, other: &Clock) -> bool {
        (self.fs, self.cycles) == (other.fs, other.cycles)
    }

    /// The frequency.
    pub fn freq(&self) -> Freq {
        self.freq
    }
}

/// Cycles that an [`Edge`] advances without a division by the clock's frequency.
const STEPS: Cycle = 256;

/// A clock edge that advances. It computes a later edge from the last one with exact remainders.
pub(crate) struct Edge {
    clock: Clock,
    cycle: Cycle,
    at: Time,
    /// The exact edge is this many parts of a femtosecond later.
    rest: u64,
    step: Period,
}

/// A period: whole femtoseconds, and a fraction with the denominator `of`.
struct Period {
    fs: u64,
    parts: u64,
    of: u64,
}

impl Edge {
    /// Edge 0 of `clock`.
    pub fn new(clock: Clock) -> Edge {
        // A clock whose period does not fit uses a division at every edge.
        let narrow = |wide: u128| u64::try_from(wide).unwrap_or(0);
        let step = match u64::try_from(clock.cycles) {
            Ok(of) if of < u64::MAX / STEPS => {
                Period { fs: narrow(clock.fs / clock.cycles), parts: narrow(clock.fs % clock.cycles), of }
            }
            _ => Period { fs: 0, parts: 0, of: 0 },
        };
        Edge { clock, cycle: 0, at: Time::ZERO, rest: 0, step }
    }

    /// Time of edge `cycle`, or `None` beyond [`Time::MAX`], which no run reaches.
    #[inline(always)]
    pub fn at(&mut self, cycle: Cycle) -> Option<Time> {
        if cycle == self.cycle {
            return Some(self.at);
        }
        let rest = self.rest + self.step.parts;
        if cycle.wrapping_sub(self.cycle) == 1 && rest < self.step.of && self.step.fs > 0 {
            // The next edge, as in most cases.
            self.at = self.at.checked_add(Time(self.step.fs))?;
            (self.cycle, self.rest) = (cycle, rest);
            return Some(self.at);
        }
        self.at_any(cycle)
    }

    #[inline(never)]
    fn at_any(&mut self, cycle: Cycle) -> Option<Time> {
        let steps = cycle.wrapping_sub(self.cycle);
        if steps < STEPS && self.step.fs > 0 {
            let rest = self.rest + steps * self.step.parts;
            let carry = if rest < self.step.of { 0 } else { rest / self.step.of };
            self.at = Time(self.at.0.checked_add(self.step.fs.checked_mul(steps)?.checked_add(carry)?)?);
            self.rest = rest - carry * self.step.of;
        } else {
            self.at = self.clock.edge_within(cycle)?;
            let past = u128::from(cycle) * self.clock.fs - u128::from(self.at.0) * self.clock.cycles;
            self.rest = u64::try_from(past).unwrap_or(0);
        }
        self.cycle = cycle;
        Some(self.at)
    }
}

/// `value * factor / divisor`, or `None` if the product needs more than 64 bits. Avoids a slow 128-bit division.
#[inline]
fn scaled(value: u64, factor: u128, divisor: u128, divide: fn(u64, u64) -> u64) -> Option<u64> {
    let product = value.checked_mul(u64::try_from(factor).ok()?)?;
    Some(divide(product, u64::try_from(divisor).ok()?))
}

const fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[test]
    fn stepping_to_an_edge_equals_computing_it() {
        for freq in [Freq::mhz(88), Freq::mhz(150), Freq::khz(312_500), Freq::mhz(3000), Freq::ratio(1_000_003, 7)] {
            let freq = freq.unwrap();
            let clock = Clock::new(freq);
            let mut edge = Edge::new(clock);
            let cycles = (0..5000).chain([77_777, 77_778, 77_779]).chain(999_999_000..1_000_001_000).chain([5, 6]);
            for cycle in cycles {
                assert_eq!(edge.at(cycle), Some(clock.edge(cycle)), "edge {cycle} of {freq:?}");
            }
            assert_eq!((edge.at(u64::MAX), edge.at(7)), (None, Some(clock.edge(7))), "{freq:?}");
        }
    }

    #[test]
    fn the_slowest_and_fastest_clocks_have_exact_edges() {
        let edges = |freq: Result<Freq, FreqError>| {
            let clock = Clock::new(freq.unwrap());
            let mut stepped = Edge::new(clock);
            [1, 2, 18_446, 18_447, u64::MAX].map(|cycle| {
                assert_eq!(stepped.at(cycle), clock.edge_within(cycle), "edge {cycle} of {clock:?}");
                clock.edge_within(cycle).map_or("beyond".into(), |time| time.fs().to_string())
            })
        };
        let shown = [
            edges(Freq::hz(FS_PER_SECOND)),
            edges(Freq::hz(1)),
            edges(Freq::ratio(u64::MAX, u64::MAX - 1)),
            edges(Freq::ratio(1, u64::MAX)),
        ];
        expect![[r#"
            1 2 18446 18447 18446744073709551615
            1000000000000000 2000000000000000 18446000000000000000 beyond beyond
            999999999999999 1999999999999999 18445999999999999999 beyond beyond
            beyond beyond beyond beyond beyond
        "#]]
        .assert_eq(&shown.map(|edges| edges.join(" ") + "\n").concat());
    }

    fn check(freq: Result<Freq, FreqError>, want: Expect) {
        let clock = Clock::new(freq.unwrap());
        let edges: Vec<_> = [1, 3, 1_000_000_000].iter().map(|&k| clock.edge(k).fs().to_string()).collect();
        want.assert_eq(&edges.join(" "));
    }

    #[test]
    fn edges_do_not_drift() {
        check(Freq::mhz(88), expect!["11363636 34090909 11363636363636363"]);
        check(Freq::mhz(250), expect!["4000000 12000000 4000000000000000"]);
        check(Freq::khz(312_500), expect!["3200000 9600000 3200000000000000"]);
        check(Freq::mhz(3000), expect!["333333 1000000 333333333333333"]);
    }

    #[test]
    fn edge_and_cycle_are_inverse() {
        for freq in [Freq::mhz(88), Freq::mhz(1000), Freq::khz(312_500), Freq::mhz(3000), Freq::ratio(10_000_000, 7)] {
            let clock = Clock::new(freq.unwrap());
            for k in [0, 1, 2, 87, 88, 89, 999_999, 1_000_000_000] {
                let at = clock.edge(k);
                assert_eq!(clock.cycle_at_or_after(at), k, "{clock:?}");
                assert_eq!(clock.cycle_at_or_after(at + Time::from_fs(1)), k + 1, "{clock:?}");
                assert_eq!(clock.cycle_after(at), k + 1, "{clock:?}");
            }
            let beyond = clock.cycle_after(Time::MAX);
            assert_eq!((clock.edge_within(beyond), clock.edge_within(beyond - 1).is_some()), (None, true), "{clock:?}");
        }
        let every_fs = Clock::new(Freq::hz(FS_PER_SECOND).unwrap());
        assert_eq!((every_fs.cycle_after(Time::from_fs(7)), every_fs.cycle_after(Time::MAX)), (8, Cycle::MAX));
    }

    #[test]
    fn impossible_frequencies_are_refused() {
        expect!["invalid frequency (found 0/1 Hz; both numbers must be above 0)"]
            .assert_eq(&Freq::mhz(0).unwrap_err().to_string());
        expect!["invalid frequency (found 2000000000000000/1 Hz; the maximum is 10^15 Hz, one edge per femtosecond)"]
            .assert_eq(&Freq::hz(2 * FS_PER_SECOND).unwrap_err().to_string());
    }

    #[test]
    fn times_print_as_nanoseconds() {
        expect!["1.5 ns, 0 ns, 0.000001 ns"].assert_eq(&format!(
            "{}, {}, {}",
            Time::from_ps(1500),
            Time::ZERO,
            Time::from_fs(1)
        ));
    }
}
