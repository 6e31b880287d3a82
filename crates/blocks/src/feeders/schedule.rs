//! The traffic of one direction, with idle time that the run may skip.

use super::traffic::{FrameTraffic, ListedFrame, Pace};
use kernel::{Clock, Inlet, Ports, Rx, Time};

/// Frames and their due times. When the run skips idle time, later frames become due earlier by the same amount.
pub struct Schedule {
    traffic: FrameTraffic,
    /// Idle time skipped so far.
    skipped: Time,
    /// Channel by which the run announces skipped time. Without it, times are fixed.
    skips: Option<(Inlet<Time>, Rx<Time>)>,
}

impl Schedule {
    /// A schedule with the times of `traffic`.
    pub fn new(traffic: FrameTraffic) -> Schedule {
        Schedule { traffic, skipped: Time::ZERO, skips: None }
    }

    /// Lets the run skip time, through an inlet in the component's clock.
    pub fn with_skips(self, skips: (Inlet<Time>, Rx<Time>)) -> Schedule {
        Schedule { skips: Some(skips), ..self }
    }

    /// Due time of frame `id` from the start of the traffic, less skipped time; `None` beyond the last.
    pub fn due(&self, id: u64) -> Option<Time> {
        let due = self.traffic.due(id)?;
        Some(due - self.skipped.min(due))
    }

    /// Idle time skipped so far.
    pub fn skipped(&self) -> Time {
        self.skipped
    }

    /// Frame `id`, or `None` beyond the last.
    pub fn frame(&self, id: u64) -> Option<ListedFrame> {
        self.traffic.frames.frame(id)
    }

    /// Returns true if frames are sent as fast as they are accepted.
    pub fn is_saturating(&self) -> bool {
        matches!(self.traffic.pace, Pace::Saturating)
    }

    /// Skips `span` from the first edge after `now` on, if the schedule has an inlet.
    pub fn skip(&self, clock: Clock, now: Time, span: Time) {
        if let Some((inlet, _)) = &self.skips {
            inlet.send_at(clock.cycle_after(now), span);
        }
    }

    /// Applies newly skipped time; returns true if there was any. Call it at each tick.
    pub fn apply_skips(&mut self) -> bool {
        let Some((_, skips)) = &self.skips else { return false };
        let mut any = false;
        while let Some(span) = skips.take() {
            self.skipped = self.skipped + span;
            any = true;
        }
        any
    }

    /// Registers the port for skipped time.
    pub fn ports(&self, ports: &mut Ports) {
        if let Some((_, skips)) = &self.skips {
            ports.input("skips", skips);
        }
    }
}
