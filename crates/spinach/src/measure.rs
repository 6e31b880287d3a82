//! Frame throughput as measured in the thesis.
//!
//! Sent frames are counted where they leave the card for the line, received frames where the host gets them. Only the time in
//! which both directions are active counts, not the start or end of a single direction. While frames still arrive on the line,
//! the received count is limited to the frames that arrive: others were buffered in the card when the interval began, and a
//! card that empties its buffers would appear faster than the line.
//! Source: Willmann 2004, 3.4, whose receive rate is that of the feeder on the line.

use blocks::feeders::{FrameLog, Passage};
use kernel::Time;

/// Frames that passed in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Flow {
    /// Number of frames.
    pub frames: u64,
    /// Number of bytes, without check sequences.
    pub bytes: u64,
}

/// Frames that passed in both directions in an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Throughput {
    /// Start of the interval: the time of the last frame that is not counted.
    pub from: Time,
    /// End of the interval: the time of the last frame that is counted.
    pub to: Time,
    /// From host to line.
    pub sent: Flow,
    /// From line to host.
    pub received: Flow,
}

/// A run that cannot be measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts explain the fields")]
pub enum MeasureError {
    #[error("the times of {kept} {direction} frames were kept, must be those of all {frames}; raise kept_times")]
    Forgotten { direction: &'static str, kept: usize, frames: u64 },
    #[error("no two frames passed while all directions were active")]
    Nothing,
}

impl Throughput {
    /// Measures a run. In each active direction, the first `warm_up` frames are skipped. The interval begins with the next frame, at
    /// the later one of the directions; that frame does not count. It ends with the last frame of the direction that ends first. `brought` lists the frames that arrived on the line, in order of time.
    pub fn of(
        sent: &FrameLog,
        received: &FrameLog,
        brought: &[Passage],
        warm_up: usize,
    ) -> Result<Throughput, MeasureError> {
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
        let flow = |passages: &[Passage]| {
            let counts = passages.iter().filter(|passage| first < passage.at && passage.at <= last);
            counts.fold(Flow::default(), |flow, passage| Flow {
                frames: flow.frames + 1,
                bytes: flow.bytes + u64::from(passage.bytes),
            })
        };
        let keeps_coming = brought.last().is_some_and(|passage| passage.at > last);
        let out = flow(received.kept());
        let came = if keeps_coming { flow(brought) } else { out };
        let received = if came.frames < out.frames { came } else { out };
        Ok(Throughput { from: first, to: last, sent: flow(sent.kept()), received })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Frames of 100 bytes at these times in nanoseconds.
    fn passages(times: &[u64]) -> Vec<Passage> {
        (0..).zip(times).map(|(id, &ns)| Passage { id: Some(id), at: Time::from_ns(ns), bytes: 100 }).collect()
    }

    fn log(times: &[u64], room: usize) -> FrameLog {
        let mut log = FrameLog::new(room);
        passages(times).into_iter().for_each(|passage| log.note(passage));
        log
    }

    fn check(sent: &[u64], received: &[u64], warm_up: usize, room: usize, want: Expect) {
        check_brought(sent, received, &[], warm_up, room, want);
    }

    fn check_brought(sent: &[u64], received: &[u64], brought: &[u64], warm_up: usize, room: usize, want: Expect) {
        let brought = passages(brought);
        want.assert_eq(&match Throughput::of(&log(sent, room), &log(received, room), &brought, warm_up) {
            Ok(found) => {
                let Throughput { from, to, sent, received } = found;
                format!("{from} to {to}: {} sent, {} received", sent.frames, received.frames)
            }
            Err(error) => error.to_string(),
        });
    }

    #[test]
    fn only_the_time_with_both_directions_active_counts() {
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
    fn frames_buffered_in_the_card_do_not_count_while_more_arrive() {
        // Four frames are buffered at 200 ns; until 600 ns two arrive and six leave.
        let (received, brought) = ([200, 250, 300, 350, 400, 500, 600], [50, 100, 150, 190, 195, 400, 590, 700, 800]);
        check_brought(&[], &received, &brought, 0, 9, expect!["200 ns to 600 ns: 0 sent, 2 received"]);
        // No more frames arrive: the card's own rate is measured.
        check_brought(&[], &received, &brought[..7], 0, 9, expect!["200 ns to 600 ns: 0 sent, 6 received"]);
        // The card loses frames: it is slower than the line.
        check_brought(
            &[],
            &[200, 400, 600],
            &[100, 200, 300, 400, 500, 600, 700],
            0,
            9,
            expect!["200 ns to 600 ns: 0 sent, 2 received"],
        );
    }

    #[test]
    fn runs_that_cannot_be_measured_are_errors() {
        check(&[100, 200], &[250, 300], 0, 9, expect!["no two frames passed while all directions were active"]);
        check(&[100, 200], &[150, 300], 2, 9, expect!["no two frames passed while all directions were active"]);
        check(&[], &[], 0, 9, expect!["no two frames passed while all directions were active"]);
        check(
            &[100, 200, 300],
            &[100],
            0,
            2,
            expect!["the times of 2 sent frames were kept, must be those of all 3; raise kept_times"],
        );
    }
}
