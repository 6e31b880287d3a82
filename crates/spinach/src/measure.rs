//! Frame throughput as the thesis measures it.
//!
//! Sending is measured where frames leave the card for the line, receiving where the host gets them, and only while both
//! directions are active: what one of them does alone at the beginning or the end does not count.
//! Source: Willmann 2004, 3.4.

use blocks::feeders::FrameLog;
use kernel::Time;

/// What passed in a direction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Flow {
    /// Frames.
    pub frames: u64,
    /// Their bytes, without check sequences.
    pub bytes: u64,
}

/// What passed both ways in a span of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Throughput {
    /// Behind the last frame that does not count.
    pub from: Time,
    /// With the last frame that counts.
    pub to: Time,
    /// From host to line.
    pub sent: Flow,
    /// From line to host.
    pub received: Flow,
}

/// A run that cannot be measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum MeasureError {
    #[error("the times of {kept} of {frames} {direction} frames were kept; raise kept_times")]
    Forgotten { direction: &'static str, kept: usize, frames: u64 },
    #[error("no two frames passed while all directions were active")]
    Nothing,
}

impl Throughput {
    /// Measures a run. Of each direction that is active, the first `warm_up` frames do not count. A run in one direction
    /// counts from the first of its frames that does to the last.
    pub fn of(sent: &FrameLog, received: &FrameLog, warm_up: usize) -> Result<Throughput, MeasureError> {
        let (mut first, mut last) = (Time::ZERO, Time::MAX);
        for (direction, log) in [("sent", sent), ("received", received)] {
            let kept = log.kept();
            if !log.is_complete() {
                return Err(MeasureError::Forgotten { direction, kept: kept.len(), frames: log.frames() });
            }
            if let Some(end) = kept.last() {
                first = first.max(kept.get(warm_up).ok_or(MeasureError::Nothing)?.at);
                last = last.min(end.at);
            }
        }
        if first >= last || last == Time::MAX {
            return Err(MeasureError::Nothing);
        }
        let flow = |log: &FrameLog| {
            let counts = log.kept().iter().filter(|passage| first < passage.at && passage.at <= last);
            counts.fold(Flow::default(), |flow, passage| Flow {
                frames: flow.frames + 1,
                bytes: flow.bytes + u64::from(passage.bytes),
            })
        };
        Ok(Throughput { from: first, to: last, sent: flow(sent), received: flow(received) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blocks::feeders::Passage;
    use expect_test::{Expect, expect};

    /// A log of frames of 100 bytes at these times in nanoseconds.
    fn log(times: &[u64], room: usize) -> FrameLog {
        let mut log = FrameLog::new(room);
        for (id, &ns) in (0..).zip(times) {
            log.note(Passage { id: Some(id), at: Time::from_ns(ns), bytes: 100 });
        }
        log
    }

    fn check(sent: &[u64], received: &[u64], warm_up: usize, room: usize, want: Expect) {
        want.assert_eq(&match Throughput::of(&log(sent, room), &log(received, room), warm_up) {
            Ok(found) => {
                let Throughput { from, to, sent, received } = found;
                format!("{from} to {to}: {} sent, {} received", sent.frames, received.frames)
            }
            Err(error) => error.to_string(),
        });
    }

    #[test]
    fn only_the_time_with_both_directions_counts() {
        check(
            &[100, 200, 300, 400, 500],
            &[250, 350, 450, 550, 650],
            0,
            9,
            expect!["250 ns to 500 ns: 3 sent, 2 received"],
        );
        check(
            &[100, 200, 300, 400, 500],
            &[250, 350, 450, 550, 650],
            1,
            9,
            expect!["350 ns to 500 ns: 2 sent, 1 received"],
        );
        check(&[100, 200, 300], &[], 0, 9, expect!["100 ns to 300 ns: 2 sent, 0 received"]);
    }

    #[test]
    fn runs_that_cannot_be_measured_say_so() {
        check(&[100, 200], &[250, 300], 0, 9, expect!["no two frames passed while all directions were active"]);
        check(&[100, 200], &[150, 300], 2, 9, expect!["no two frames passed while all directions were active"]);
        check(&[], &[], 0, 9, expect!["no two frames passed while all directions were active"]);
        check(&[100, 200, 300], &[100], 0, 2, expect!["the times of 2 of 3 sent frames were kept; raise kept_times"]);
    }
}
