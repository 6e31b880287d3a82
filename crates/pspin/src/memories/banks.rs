//! The banks of an L2 memory: which beats pass in a cycle.

use crate::protocol::BEAT_BYTES;
use blocks::policy::RoundRobinTree;
use kernel::Cycle;

/// Sides of a memory: each of two ports reads and writes.
pub(super) const SIDES: usize = 4;

/// The beats of a burst that have not passed, or are not known to have passed.
#[derive(Clone, Copy)]
struct Beats {
    /// The bank of the next beat, and the cycle in which it passes; the other beats follow, one a cycle.
    bank: usize,
    from: Cycle,
    /// The cycle after the last beat.
    end: Cycle,
    /// Since this cycle, a beat has passed in every cycle.
    since: Cycle,
}

/// A requester of a bank in a cycle: a beat of a burst, or a single access.
#[derive(Clone, Copy)]
struct Request {
    side: usize,
    bank: usize,
    is_single: bool,
}

/// Requesters of the banks of a memory.
///
/// Timing:  a beat takes its bank for a cycle; beats that follow each other take the banks in turn. So if two bursts
///          meet, one waits for a cycle, and then they do not meet again.
/// Order:   each bank has its own arbiter between the sides.
/// Source:  PsPIN RTL a49fec8, `l2_mem.sv`, `axi_to_mem_banked_mp.sv`, `axi_to_mem.sv`; `tcdm_interconnect.sv` of the PULP
///          platform. A beat on handler memory takes eight banks of 64 bits, which are requested together: here they are one.
pub(super) struct Banks {
    /// For each bank, the side whose turn it is, and the first cycle whose access may change that.
    turns: Vec<(Cycle, RoundRobinTree)>,
    bursts: [Option<Beats>; SIDES],
    /// For each side, the cycle of the last beat of its previous burst.
    before: [Option<Cycle>; SIDES],
    /// The banks of the single accesses in this cycle.
    singles: [Option<usize>; SIDES],
    /// Beats and single accesses of each side so far.
    pub(super) served: [u64; SIDES],
}

impl Banks {
    /// `n` banks of a beat's width.
    pub(super) fn new(n: u32) -> Self {
        Banks {
            turns: vec![Default::default(); n as usize],
            bursts: [None; SIDES],
            before: [None; SIDES],
            singles: [None; SIDES],
            served: [0; SIDES],
        }
    }

    fn bank(&self, addr: u32) -> usize {
        (addr / BEAT_BYTES) as usize % self.turns.len()
    }

    /// A burst begins on a side whose previous burst has ended. [`Banks::decide`] decides if its first beat passes in
    /// this cycle.
    pub(super) fn begin(&mut self, side: usize, addr: u32, n_beats: u64, now: Cycle) {
        self.settle(side, now);
        self.served[side] += n_beats;
        self.before[side] = self.bursts[side].map(|beats| beats.end - 1);
        self.bursts[side] = Some(Beats { bank: self.bank(addr), from: now, end: now + n_beats, since: now });
    }

    /// The next beat of the burst on a side requests nothing in this cycle.
    pub(super) fn hold(&mut self, side: usize, now: Cycle) {
        self.settle(side, now);
        let beats = self.bursts[side].as_mut().expect("a burst that has begun");
        (beats.from, beats.end, beats.since) = (now + 1, beats.end + 1, now + 1);
    }

    /// Returns true if a beat of a side requests its bank in cycle `at`, provided that no bank refuses an earlier beat.
    pub(super) fn has_beat(&self, side: usize, at: Cycle) -> bool {
        self.next_bank(side, at).is_some()
    }

    /// Returns true if a beat of a side passed its bank in the previous cycle.
    pub(super) fn passed(&self, side: usize, now: Cycle) -> bool {
        let is_under_way = |beats: Beats| (beats.since + 1..=beats.end).contains(&now);
        self.bursts[side].is_some_and(is_under_way) || self.before[side].is_some_and(|last| last + 1 == now)
    }

    /// A single access requests a bank in this cycle.
    pub(super) fn request(&mut self, side: usize, addr: u32) {
        self.singles[side] = Some(self.bank(addr));
    }

    /// Stops a side in this cycle, as if banks refused its requests. Returns two bit sets of sides: the first has this
    /// side if a beat would have requested a bank, the second if a single access would have.
    pub(super) fn stop(&mut self, side: usize, now: Cycle) -> (u64, u64) {
        let single = self.singles[side].take().is_some();
        let beat = self.next_bank(side, now).is_some();
        if beat {
            self.hold(side, now);
        }
        (u64::from(beat) << side, u64::from(single) << side)
    }

    /// The cycle behind the last beat of the burst on a side, as far as is known.
    pub(super) fn end(&self, side: usize) -> Cycle {
        self.bursts[side].map_or(0, |beats| beats.end)
    }

    /// Decides which requests pass in this cycle. Returns two bit sets of sides: those whose beat does not pass, and those whose
    /// single access does not. Such a beat, and all beats behind it, pass a cycle later. A side requests one bank: a single
    /// access goes before a beat.
    pub(super) fn decide(&mut self, now: Cycle) -> (u64, u64) {
        let mut requests = [Request { side: 0, bank: 0, is_single: false }; SIDES];
        let (mut beats, mut singles) = (0, 0);
        let mut n = 0;
        for side in 0..SIDES {
            let single = self.singles[side].take().map(|bank| Request { side, bank, is_single: true });
            let beat = self.next_bank(side, now).map(|bank| Request { side, bank, is_single: false });
            self.served[side] += u64::from(single.is_some());
            if single.is_some() && beat.is_some() {
                beats |= 1 << side;
            }
            if let Some(one) = single.or(beat) {
                requests[n] = one;
                n += 1;
            }
        }
        let requests = &requests[..n];
        for (i, &Request { side, bank, is_single }) in requests.iter().enumerate() {
            let by = requests.iter().filter(|other| other.bank == bank).fold(0, |by, other| by | 1u64 << other.side);
            if by == 1 << side {
                if is_single {
                    self.note(bank, side, now);
                }
            } else if requests[..i].iter().all(|before| before.bank != bank) {
                let winner = self.winner(bank, by, now);
                for loser in requests.iter().filter(|other| other.bank == bank && other.side != winner) {
                    *(if loser.is_single { &mut singles } else { &mut beats }) |= 1 << loser.side;
                }
            }
        }
        kernel::members(beats).for_each(|side| self.hold(side as usize, now));
        kernel::members(singles).for_each(|side| self.served[side as usize] -= 1);
        (beats, singles)
    }

    /// Returns true if two beats of the current burst of a side passed their banks in the two previous cycles.
    pub(super) fn passed_two(&self, side: usize, now: Cycle) -> bool {
        self.bursts[side].is_some_and(|beats| (beats.since + 2..=beats.end).contains(&now))
    }

    /// The bank that the burst on a side requests.
    fn next_bank(&self, side: usize, now: Cycle) -> Option<usize> {
        let beats = self.bursts[side].filter(|beats| (beats.from..beats.end).contains(&now))?;
        Some((beats.bank + (now - beats.from) as usize) % self.turns.len())
    }

    /// Arbitrates a bank between the sides. Beats before this cycle count; later ones do not.
    fn winner(&mut self, bank: usize, by: u64, now: Cycle) -> usize {
        (0..SIDES).for_each(|side| self.settle(side, now));
        let (at, turn) = &mut self.turns[bank];
        // Later, `settle` notes the winner's beat as if only the winner had requested the bank.
        *at = now + 1;
        turn.take(by).expect("a requester") as usize
    }

    /// The beats of a side before this cycle have passed, and only this side requested their banks.
    fn settle(&mut self, side: usize, now: Cycle) {
        let Some(Beats { bank, from, end, since }) = self.bursts[side] else { return };
        let n = self.turns.len();
        let until = now.min(end).max(from);
        let bank_at = |at: Cycle| (bank + (at - from) as usize) % n;
        // If several took the same bank, the last one counts.
        (from.max(until.saturating_sub(n as u64))..until).for_each(|at| self.note(bank_at(at), side, at));
        self.bursts[side] = Some(Beats { bank: bank_at(until), from: until, end, since });
    }

    /// A side took a bank that only it requested.
    fn note(&mut self, bank: usize, side: usize, now: Cycle) {
        let (at, turn) = &mut self.turns[bank];
        if *at <= now {
            *at = now;
            turn.grant_alone(side as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    const N_BANKS: u32 = 4;
    const NAMES: [&str; SIDES] = ["near reads", "near writes", "far reads", "far writes"];

    /// A burst: its cycle, its side, its first bank and its number of beats. A side takes its bursts one after another.
    type Burst = (Cycle, usize, u32, u64);

    /// For each side and cycle, the bank of the beat that passes, or `-` if the bank refuses it.
    fn timeline(bursts: &[Burst], cycles: Cycle) -> [String; SIDES] {
        let mut banks = Banks::new(N_BANKS);
        let mut lines: [String; SIDES] = Default::default();
        let mut waiting = bursts.to_vec();
        for now in 0..cycles {
            for side in 0..SIDES {
                let next = waiting.iter().position(|&(at, of, ..)| of == side && at <= now);
                if let Some(next) = next.filter(|_| banks.end(side) <= now) {
                    let (_, _, bank, n_beats) = waiting.remove(next);
                    banks.begin(side, bank * BEAT_BYTES, n_beats, now);
                }
            }
            let requested = [0, 1, 2, 3].map(|side| banks.next_bank(side, now));
            let (refused, _) = banks.decide(now);
            for side in 0..SIDES {
                let passes = refused >> side & 1 == 0;
                lines[side].push(match requested[side] {
                    Some(bank) if passes => char::from(b'0' + bank as u8),
                    Some(_) => '-',
                    None => '.',
                });
            }
        }
        lines
    }

    fn check(bursts: &[Burst], want: Expect) {
        let lines = timeline(bursts, 14);
        let line = |(name, line): (&&str, &String)| format!("{name:11} {line}\n");
        want.assert_eq(&NAMES.iter().zip(&lines).map(line).collect::<String>());
    }

    #[test]
    fn bursts_in_different_banks_do_not_meet() {
        check(
            &[(0, 0, 0, 6), (1, 1, 0, 6), (2, 2, 0, 6), (3, 3, 0, 6)],
            expect![[r#"
                near reads  012301........
                near writes .012301.......
                far reads   ..012301......
                far writes  ...012301.....
            "#]],
        );
    }

    #[test]
    fn two_bursts_meet_once_and_take_turns_at_that() {
        check(
            &[(1, 1, 0, 4), (1, 3, 0, 4), (8, 1, 0, 4), (8, 3, 0, 4)],
            expect![[r#"
                near reads  ..............
                near writes .0123...-0123.
                far reads   ..............
                far writes  .-0123..0123..
            "#]],
        );
    }

    #[test]
    fn a_burst_under_way_may_be_passed() {
        check(
            &[(0, 3, 0, 8), (3, 0, 3, 2)],
            expect![[r#"
                near reads  ...30.........
                near writes ..............
                far reads   ..............
                far writes  012-30123.....
            "#]],
        );
        check(
            &[(0, 2, 0, 8), (3, 1, 3, 2)],
            expect![[r#"
                near reads  ..............
                near writes ...30.........
                far reads   012-30123.....
                far writes  ..............
            "#]],
        );
    }

    #[test]
    fn who_is_refused_may_meet_a_third() {
        check(
            &[(0, 1, 0, 4), (0, 2, 0, 4), (0, 3, 0, 4)],
            expect![[r#"
            near reads  ..............
            near writes 0123..........
            far reads   --0123........
            far writes  -0123.........
        "#]],
        );
    }

    /// Near reads win bank 0 in cycle 0, and the turn passes to far reads, which have requested it too. In cycle 1 these go before near
    /// writes.
    #[test]
    fn the_turn_passes_to_the_next_one_who_requested() {
        check(
            &[(0, 0, 0, 1), (0, 2, 0, 1), (1, 1, 0, 1)],
            expect![[r#"
                near reads  0.............
                near writes .-0...........
                far reads   -0............
                far writes  ..............
            "#]],
        );
    }

    proptest! {
        /// All beats pass, in order. No bank is taken twice in a cycle. A cycle with requests serves at least one.
        #[test]
        fn a_bank_serves_one_of_those_who_request(
            bursts in prop::collection::vec((0u64..40, 0usize..SIDES, 0u32..N_BANKS, 1u64..12), 1..12),
        ) {
            let lines = timeline(&bursts, 300);
            let beats = |side| bursts.iter().filter(|burst| burst.1 == side).map(|burst| burst.3).sum::<u64>();
            for (side, line) in lines.iter().enumerate() {
                let passed = line.bytes().filter(u8::is_ascii_digit).count() as u64;
                prop_assert_eq!(passed, beats(side), "beats of side {}", side);
            }
            for now in 0..300 {
                let column: Vec<u8> = lines.iter().map(|line| line.as_bytes()[now]).collect();
                let taken: Vec<u8> = column.iter().copied().filter(u8::is_ascii_digit).collect();
                let is_twice = taken.iter().enumerate().any(|(i, bank)| taken[..i].contains(bank));
                prop_assert!(!is_twice, "cycle {now}: {:?}", String::from_utf8_lossy(&column));
                prop_assert!(!column.contains(&b'-') || !taken.is_empty());
            }
        }
    }
}
