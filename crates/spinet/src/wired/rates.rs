//! The time over which rates are measured, and a remark if it is short.

use super::frames::{Passages, WAYS};
use blocks::feeders::FrameLog;
use spinach::measure::{Flow, MeasureError, Throughput};

/// Frames of a direction until a steady state is reached. Rates leave out this number of frames, and should cover at
/// least as many again. Source: Willmann 2004, 3.4.
const STEADY_FRAMES: u64 = 100;

/// A remark about rates over a window of few frames.
pub(super) fn short_window(flows: &[Flow; 2], span_fs: u64) -> Option<String> {
    let least = flows.iter().map(|flow| flow.frames).filter(|&frames| frames > 0).min()?;
    (least < STEADY_FRAMES).then(|| {
        let us = span_fs as f64 / 1e9;
        format!(
            "the rates are of {us:.0} us, in which a direction had {least} frames; let {STEADY_FRAMES} or more pass"
        )
    })
}

/// The throughput while all directions with frames were active. In short runs, the first quarter of the frames is
/// warm-up.
pub(super) fn throughput(passages: &[Passages; 2]) -> Result<Throughput, MeasureError> {
    for (direction, way) in WAYS.into_iter().zip(passages) {
        if way.frames != way.out.len() as u64 {
            return Err(MeasureError::Forgotten { direction, kept: way.out.len(), frames: way.frames });
        }
    }
    let log = |way: &Passages| {
        let mut log = FrameLog::new(way.out.len());
        way.out.iter().for_each(|&passage| log.note(passage));
        log
    };
    let shortest = passages.iter().map(|way| way.out.len()).filter(|&n| n > 0).min().unwrap_or(0);
    let warm_up = (STEADY_FRAMES as usize).min(shortest / 4);
    Throughput::of(&log(&passages[0]), &log(&passages[1]), &passages[1].given, warm_up)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Frames sent and received in 500 us.
    fn check(sent: u64, received: u64, want: Expect) {
        let flow = |frames| Flow { frames, bytes: 60 * frames };
        want.assert_eq(&short_window(&[flow(sent), flow(received)], 500_000_000_000).unwrap_or_else(|| "-".into()));
    }

    #[test]
    fn rates_of_few_frames_say_so() {
        check(100, 100, expect!["-"]);
        check(99, 100, expect!["the rates are of 500 us, in which a direction had 99 frames; let 100 or more pass"]);
        check(100, 99, expect!["the rates are of 500 us, in which a direction had 99 frames; let 100 or more pass"]);
        check(1, 0, expect!["the rates are of 500 us, in which a direction had 1 frames; let 100 or more pass"]);
        check(0, 100, expect!["-"]);
        check(0, 0, expect!["-"]);
    }
}
