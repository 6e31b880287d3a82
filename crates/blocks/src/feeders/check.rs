//! Whether what arrives is what was sent.

use super::traffic::Frames;
use kernel::Time;

/// How far from the expected frame another one is looked for in a list.
const REACH: u64 = 4096;
/// Mismatches that are kept in full.
const KEPT: usize = 4;

/// What a frame that arrived is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The frame of this number, after all before it that arrived at all.
    Good(u64),
    /// The frame of this number, which should have come before one that has come already, or a second time.
    Late(u64),
    /// None that was sent.
    Unknown,
}

impl Verdict {
    /// Which frame it is, if it was sent at all.
    pub fn id(self) -> Option<u64> {
        match self {
            Verdict::Good(id) | Verdict::Late(id) => Some(id),
            Verdict::Unknown => None,
        }
    }
}

/// A frame that is not what should have come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// When it was seen.
    pub at: Time,
    /// The number that was expected.
    pub expected: u64,
    /// What it is.
    pub verdict: Verdict,
    /// What came.
    pub bytes: Vec<u8>,
}

/// Holds frames that arrive against those that were sent.
///
/// Frames with a wrong check sequence are not expected to arrive.
pub struct Checker {
    frames: Frames,
    /// The lowest number that may still come in order.
    next: u64,
    good: u64,
    good_bytes: u64,
    lost: u64,
    late: u64,
    unknown: u64,
    kept: Vec<Mismatch>,
}

impl Checker {
    /// A check against these frames, of which none has arrived.
    pub fn new(frames: Frames) -> Checker {
        Checker { frames, next: 0, good: 0, good_bytes: 0, lost: 0, late: 0, unknown: 0, kept: Vec::new() }
    }

    /// What the frame is that arrived at `at`.
    pub fn check(&mut self, at: Time, bytes: &[u8]) -> Verdict {
        let verdict = self.judge(bytes);
        match verdict {
            Verdict::Good(id) => {
                self.lost += self.intact_between(self.next, id);
                self.next = id + 1;
                self.good += 1;
                self.good_bytes += bytes.len() as u64;
                return verdict;
            }
            Verdict::Late(_) => self.late += 1,
            Verdict::Unknown => self.unknown += 1,
        }
        if self.kept.len() < KEPT {
            self.kept.push(Mismatch { at, expected: self.next, verdict, bytes: bytes.to_vec() });
        }
        verdict
    }

    /// Whether it is one of the frames at all.
    pub fn knows(&self, bytes: &[u8]) -> bool {
        self.judge(bytes) != Verdict::Unknown
    }

    /// Frames that arrived as they were sent, in order.
    pub fn good(&self) -> u64 {
        self.good
    }

    /// Their bytes, without check sequences.
    pub fn good_bytes(&self) -> u64 {
        self.good_bytes
    }

    /// Frames that did not arrive though a later one did.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Frames that arrived after a later one, or twice.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Frames that arrived and were never sent.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// The first few that were late or unknown.
    pub fn mismatches(&self) -> &[Mismatch] {
        &self.kept
    }

    fn judge(&self, bytes: &[u8]) -> Verdict {
        let is = |id: u64| self.frames.frame(id).is_some_and(|frame| frame.is_intact && *frame.bytes == *bytes);
        let verdict = |id: u64| if id < self.next { Verdict::Late(id) } else { Verdict::Good(id) };
        match &self.frames {
            Frames::Acknowledgements(row) => {
                row.claimed(bytes, self.next).filter(|&id| is(id)).map_or(Verdict::Unknown, verdict)
            }
            Frames::Datagrams(row) => row.claimed(bytes).filter(|&id| is(id)).map_or(Verdict::Unknown, verdict),
            Frames::List(_) => {
                let ahead = self.next..self.next.saturating_add(REACH);
                let behind = (self.next.saturating_sub(REACH)..self.next).rev();
                ahead.chain(behind).find(|&id| is(id)).map_or(Verdict::Unknown, verdict)
            }
        }
    }

    /// How many frames from `first` up to `end` should have arrived.
    fn intact_between(&self, first: u64, end: u64) -> u64 {
        match &self.frames {
            Frames::Datagrams(_) | Frames::Acknowledgements(_) => end - first,
            Frames::List(_) => {
                (first..end).filter(|&id| self.frames.frame(id).is_some_and(|frame| frame.is_intact)).count() as u64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feeders::Given;
    use expect_test::{Expect, expect};

    /// `arriving` are numbers of frames; `x` is one that was never sent.
    fn check(arriving: &str, want: Expect) {
        let list = (0..6u8).map(|id| Given { bytes: vec![id; 60].into(), is_intact: id != 4 }).collect();
        let mut checker = Checker::new(Frames::List(list));
        let verdicts: Vec<_> = arriving
            .split(' ')
            .map(|id| checker.check(Time::ZERO, &[id.parse().unwrap_or(99); 60]))
            .map(|verdict| format!("{verdict:?}"))
            .collect();
        let Checker { good, lost, late, unknown, .. } = checker;
        let kept = checker.kept.len();
        want.assert_eq(&format!(
            "{}; good {good}, lost {lost}, late {late}, unknown {unknown}, kept {kept}",
            verdicts.join(" ")
        ));
    }

    #[test]
    fn frames_are_expected_in_order() {
        check(
            "0 1 2 3 5",
            expect!["Good(0) Good(1) Good(2) Good(3) Good(5); good 5, lost 0, late 0, unknown 0, kept 0"],
        );
        check("0 2 3", expect!["Good(0) Good(2) Good(3); good 3, lost 1, late 0, unknown 0, kept 0"]);
        check("1 0 1 5", expect!["Good(1) Late(0) Late(1) Good(5); good 2, lost 3, late 2, unknown 0, kept 2"]);
        check("0 x 1", expect!["Good(0) Unknown Good(1); good 2, lost 0, late 0, unknown 1, kept 1"]);
    }
}
