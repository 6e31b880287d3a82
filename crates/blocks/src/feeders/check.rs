//! Compares received frames with those sent.

use super::traffic::Frames;
use kernel::Time;

/// Distance from the expected frame within which a list is searched.
const REACH: u64 = 4096;
/// Number of mismatches kept in full.
const KEPT: usize = 4;

/// Result for a received frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Frame of this number, in order; earlier ones may be lost.
    Good(u64),
    /// Frame of this number, out of order or a second time.
    Late(u64),
    /// A frame that was never sent.
    Unknown,
}

impl Verdict {
    /// The frame number, if the frame was sent.
    pub fn id(self) -> Option<u64> {
        match self {
            Verdict::Good(id) | Verdict::Late(id) => Some(id),
            Verdict::Unknown => None,
        }
    }
}

/// A received frame that is not the expected one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// When it was received.
    pub at: Time,
    /// The expected frame number.
    pub expected: u64,
    /// The result of the check.
    pub verdict: Verdict,
    /// The received bytes.
    pub bytes: Vec<u8>,
}

/// Compares received frames with those sent.
///
/// Frames with a wrong check sequence are not expected to arrive.
pub struct Checker {
    frames: Frames,
    /// The lowest frame number that may still arrive in order.
    next: u64,
    good: u64,
    good_bytes: u64,
    lost: u64,
    late: u64,
    unknown: u64,
    kept: Vec<Mismatch>,
}

impl Checker {
    /// A checker for these frames, before the first arrival.
    pub fn new(frames: Frames) -> Checker {
        Checker { frames, next: 0, good: 0, good_bytes: 0, lost: 0, late: 0, unknown: 0, kept: Vec::new() }
    }

    /// Checks the frame that arrived at `at`.
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

    /// Returns true if it is one of the frames.
    pub fn contains(&self, bytes: &[u8]) -> bool {
        self.judge(bytes) != Verdict::Unknown
    }

    /// Number of frames received unmodified and in order.
    pub fn good(&self) -> u64 {
        self.good
    }

    /// Their bytes, without check sequences.
    pub fn good_bytes(&self) -> u64 {
        self.good_bytes
    }

    /// Number of frames that did not arrive although a later one did.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Number of frames received out of order or twice.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Number of frames received that were never sent.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// The first late or unknown frames.
    pub fn mismatches(&self) -> &[Mismatch] {
        &self.kept
    }

    fn judge(&self, bytes: &[u8]) -> Verdict {
        let is = |id: u64| self.frames.frame(id).is_some_and(|frame| frame.is_intact && *frame.bytes == *bytes);
        let verdict = |id: u64| if id < self.next { Verdict::Late(id) } else { Verdict::Good(id) };
        match &self.frames {
            Frames::Acknowledgements(row) => {
                row.read_id(bytes, self.next).filter(|&id| is(id)).map_or(Verdict::Unknown, verdict)
            }
            Frames::Datagrams(row) => row.read_id(bytes).filter(|&id| is(id)).map_or(Verdict::Unknown, verdict),
            Frames::List(_) | Frames::Line(_) => {
                let ahead = self.next..self.next.saturating_add(REACH);
                let behind = (self.next.saturating_sub(REACH)..self.next).rev();
                ahead.chain(behind).find(|&id| is(id)).map_or(Verdict::Unknown, verdict)
            }
        }
    }

    /// Number of frames from `first` to before `end` that should arrive.
    fn intact_between(&self, first: u64, end: u64) -> u64 {
        match &self.frames {
            Frames::Datagrams(_) | Frames::Acknowledgements(_) | Frames::Line(_) => end - first,
            Frames::List(_) => {
                (first..end).filter(|&id| self.frames.frame(id).is_some_and(|frame| frame.is_intact)).count() as u64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feeders::ListedFrame;
    use expect_test::{Expect, expect};

    /// `arriving` lists frame numbers; `x` is a frame that was never sent.
    fn check(arriving: &str, want: Expect) {
        let list = (0..6u8).map(|id| ListedFrame { bytes: vec![id; 60].into(), is_intact: id != 4 }).collect();
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
