//! The cores that are due in each of the next cycles, and the banks of L1 that they request then.

use kernel::Cycle;

/// Cycles ahead for which a core can be due: a run ahead (`MOST_RUN_AHEAD` in tick_plan.rs) and the longest instruction
/// after it, a division.
const AHEAD: u64 = 64;

/// Requests for banks of the own L1 in a cycle.
#[derive(Clone, Copy, Default)]
pub(super) struct Requests {
    /// Bit set of the requesting ports: cores, and the port for other clusters.
    pub ports: u32,
    /// Bit sets of the requested banks, and of those with more than one request.
    pub banks: u64,
    pub contested: u64,
}

/// The actions that are due in a cycle.
#[derive(Clone, Copy, Default)]
struct Due {
    requests: Requests,
    /// Bit set of the cores that do something else.
    others: u32,
}

/// A calendar of the cores.
pub(super) struct Ready {
    due: [Due; AHEAD as usize],
}

impl Ready {
    /// Most cycles ahead for which a core can be due.
    pub const FARTHEST: Cycle = AHEAD - 1;

    /// All cores are due in cycle 0.
    pub fn new(n_cores: u32) -> Self {
        let mut ready = Ready { due: [Due::default(); AHEAD as usize] };
        (0..n_cores).for_each(|core| ready.add(core as usize, 0, 0));
        ready
    }

    /// A port requests a bank of the own L1 in cycle `at`.
    #[inline(always)]
    pub fn request(&mut self, port: u32, bank: u8, now: Cycle, at: Cycle) {
        debug_assert!(at - now < AHEAD, "a core requests too far ahead");
        let Requests { ports, banks, contested } = &mut self.due[(at % AHEAD) as usize].requests;
        *ports |= 1 << port;
        *contested |= *banks & 1 << bank;
        *banks |= 1 << bank;
    }

    /// These ports, if any, request the same bank of the own L1 in cycle `at`.
    pub fn request_again(&mut self, all: u32, bank: u8, at: Cycle) {
        let Requests { ports, banks, contested } = &mut self.due[(at % AHEAD) as usize].requests;
        *ports |= all;
        *contested |= if all.count_ones() > 1 { 1 << bank } else { *banks & u64::from(all.count_ones()) << bank };
        *banks |= u64::from(all != 0) << bank;
    }

    /// A core does something else in cycle `at`.
    #[inline]
    pub fn add(&mut self, core: usize, now: Cycle, at: Cycle) {
        assert!(at - now < AHEAD, "a core is due too far ahead");
        self.due[(at % AHEAD) as usize].others |= 1 << core;
    }

    /// Takes the bank requests of this cycle out of the calendar.
    #[inline(always)]
    pub fn take_requests(&mut self, now: Cycle) -> Requests {
        std::mem::take(&mut self.due[(now % AHEAD) as usize].requests)
    }

    /// Returns true if cores do something else in this cycle.
    #[inline(always)]
    pub fn has_others(&self, now: Cycle) -> bool {
        self.due[(now % AHEAD) as usize].others != 0
    }

    /// Takes the cores that do something else in this cycle out of the calendar.
    #[inline]
    pub fn take_others(&mut self, now: Cycle) -> u32 {
        std::mem::take(&mut self.due[(now % AHEAD) as usize].others)
    }

    /// Returns true if something is due in this cycle.
    #[inline]
    pub fn is_due(&self, at: Cycle) -> bool {
        let Due { requests, others } = &self.due[(at % AHEAD) as usize];
        requests.ports | others != 0
    }

    /// The next cycle in which something is due, or `limit` if that comes first.
    #[inline]
    pub fn next_or(&self, now: Cycle, limit: Cycle) -> Cycle {
        (now + 1..limit.min(now + AHEAD + 1)).find(|&at| self.is_due(at)).unwrap_or(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bank_is_contested_once_a_second_core_requests_it_in_the_same_cycle() {
        let mut ready = Ready::new(4);
        assert_eq!(ready.take_others(0), 0b1111);
        ready.request(0, 7, 0, 5);
        ready.request(1, 9, 0, 5);
        ready.request(2, 7, 0, 6);
        assert_eq!((ready.next_or(0, 9), ready.next_or(0, 4)), (5, 4));
        assert_eq!((ready.is_due(4), ready.is_due(5)), (false, true));
        assert_eq!(ready.take_requests(5).contested, 0, "banks 7 and 9");
        ready.request_again(0, 7, 6);
        ready.request_again(0b1000, 7, 6);
        let Requests { ports, banks, contested } = ready.take_requests(6);
        assert_eq!((ports, banks, contested), (0b1100, 1 << 7, 1 << 7));
        ready.request_again(0b11, 3, 7);
        assert_eq!(ready.take_requests(7).contested, 1 << 3, "two that request again");
        assert_eq!(ready.next_or(6, Cycle::MAX), Cycle::MAX, "what was taken is due no more");
    }
}
