//! A cluster's timer: two counters of cycles, which programs start, stop, reset, set and read.
//!
//! Some functions are missing and have no effect: comparison, prescaler, reference clock, counting in 64 bits,
//! interrupts. Their registers and bits keep the written values. A counter that uses the prescaler or the reference
//! clock does not count.
//!
//! Source: `timer_unit.sv` of pulp-platform/timer_unit e9d3cf1, the timer of PULP's clusters. Its register writes and
//! reads both take effect at the next edge. So a read returns the number of cycles between the grant of the start and
//! its own grant.

use kernel::Cycle;

// Registers of the low counter. Those of the high counter are one word after them.
const CONFIG: u32 = 0x00;
const VALUE: u32 = 0x08;
const COMPARE: u32 = 0x10;
const START: u32 = 0x18;
const RESET: u32 = 0x20;

// Bits of a configuration.
const ENABLE: u32 = 1;
const RESET_BIT: u32 = 1 << 1;
const OTHER_CLOCK: u32 = 1 << 6 | 1 << 7;

/// A counter, stored as its value at a cycle. It needs no tick.
#[derive(Clone, Copy, Default)]
struct Counter {
    config: u32,
    compare: u32,
    value: u32,
    since: Cycle,
}

impl Counter {
    fn value(&self, now: Cycle) -> u32 {
        let counts = self.config & (ENABLE | OTHER_CLOCK) == ENABLE;
        let cycles = if counts { now.saturating_sub(self.since) } else { 0 };
        self.value.wrapping_add(cycles as u32) // the 32 bits wrap
    }

    fn configure(&mut self, config: u32, now: Cycle) {
        (self.value, self.since) = (self.value(now), now);
        if config & RESET_BIT != 0 {
            // A reset by the configuration register takes one cycle more than a write to RESET. The reset bit clears
            // itself.
            (self.value, self.since) = (0, now + 1);
        }
        self.config = config & !RESET_BIT;
    }
}

/// The timer of one cluster.
#[derive(Clone, Copy, Default)]
pub struct Timer {
    counters: [Counter; 2],
}

impl Timer {
    /// A core reads (`write` is `None`) or writes the register at `offset`.
    pub fn access(&mut self, offset: u32, write: Option<u32>, now: Cycle) -> u32 {
        let counter = &mut self.counters[(offset >> 2 & 1) as usize];
        let register = offset & 0x3f & !4;
        let Some(word) = write else {
            return match register {
                CONFIG => counter.config,
                VALUE => counter.value(now),
                COMPARE => counter.compare,
                _ => 0,
            };
        };
        match register {
            CONFIG => counter.configure(word, now),
            VALUE => (counter.value, counter.since) = (word, now),
            COMPARE => counter.compare = word,
            START => counter.configure(counter.config | ENABLE, now),
            RESET => (counter.value, counter.since) = (0, now),
            _ => {}
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Accesses have the form `cycle: offset` or `cycle: offset = word`. The result lists the values read.
    fn check(accesses: &str, want: Expect) {
        let mut timer = Timer::default();
        let number = |text: &str| u32::from_str_radix(text.trim(), 16).expect("hexadecimal");
        let mut seen = String::new();
        for access in accesses.split(',') {
            let (at, rest) = access.split_once(':').expect("a cycle");
            let at: Cycle = at.trim().parse().expect("a cycle");
            match rest.split_once('=') {
                Some((offset, word)) => assert_eq!(timer.access(number(offset), Some(number(word)), at), 0),
                None => seen += &format!("{:x} ", timer.access(number(rest), None, at)),
            }
        }
        want.assert_eq(seen.trim_end());
    }

    #[test]
    fn it_counts_cycles_from_its_start_to_its_stop() {
        check("5: 8, 10: 18 = 1, 11: 8, 20: 8, 20: 0, 26: 0 = 0, 40: 8", expect!["0 1 a 1 10"]);
        // The counter continues from its old value.
        check("10: 18 = 1, 20: 0 = 0, 30: 18 = 1, 31: 8", expect!["b"]);
    }

    #[test]
    fn it_is_reset_and_set_while_it_runs() {
        check("0: 18 = 1, 100: 20 = 1, 101: 8, 110: 8 = 40, 112: 8", expect!["1 42"]);
        // A reset by the configuration takes one cycle more, and its bit is cleared.
        check("0: 18 = 1, 100: 0 = 3, 101: 8, 102: 8, 102: 0", expect!["0 1 1"]);
    }

    #[test]
    fn the_two_counters_are_two_and_turn_over() {
        check("0: c = ffffffff, 0: 1c = 1, 3: c, 3: 8, 3: 4, 3: 0", expect!["2 0 1 0"]);
    }

    #[test]
    fn what_is_not_there_is_kept_and_does_nothing() {
        check("0: 10 = 7, 0: 0 = 80000031, 9: 8, 9: 0, 9: 10", expect!["9 80000031 7"]);
        check("0: 0 = 41, 9: 8", expect!["0"]);
    }
}
