//! Traffic of one side of a run, whose idle time the run may skip.

use super::traffic::{Given, Pace, Traffic};
use kernel::{Clock, Inlet, Ports, Rx, Time};

/// Frames and the times at which they are due. The run may skip idle time: later frames are then due earlier by that much.
pub struct Schedule {
    traffic: Traffic,
    /// Idle time that was skipped so far.
    skipped: Time,
    /// Where the run says how much more is skipped. A schedule without it keeps its times.
    skips: Option<(Inlet<Time>, Rx<Time>)>,
}

impl Schedule {
    /// A schedule that keeps the times of `traffic`.
    pub fn new(traffic: Traffic) -> Schedule {
        Schedule { traffic, skipped: Time::ZERO, skips: None }
    }

    /// The same, which hears of skipped time through an inlet of its component's clock.
    pub fn with_skips(self, skips: (Inlet<Time>, Rx<Time>)) -> Schedule {
        Schedule { skips: Some(skips), ..self }
    }

    /// When frame `id` is due, from the start of the traffic and without skipped time; `None` beyond the last.
    pub fn due(&self, id: u64) -> Option<Time> {
        let due = self.traffic.due(id)?;
        Some(due - self.skipped.min(due))
    }

    /// Frame `id`, or `None` beyond the last.
    pub fn frame(&self, id: u64) -> Option<Given> {
        self.traffic.frames.frame(id)
    }

    /// Whether frames are sent as fast as they are taken.
    pub fn is_saturating(&self) -> bool {
        matches!(self.traffic.pace, Pace::Saturating)
    }

    /// Skips `span` from the first edge after `now` on; a schedule without an inlet keeps its times.
    pub fn skip(&self, clock: Clock, now: Time, span: Time) {
        if let Some((inlet, _)) = &self.skips {
            inlet.send_at(clock.cycle_after(now), span);
        }
    }

    /// Takes what the run has skipped; returns true if it is news. To be called at each tick.
    pub fn hear(&mut self) -> bool {
        let Some((_, skips)) = &self.skips else { return false };
        let mut any = false;
        while let Some(span) = skips.take() {
            self.skipped = self.skipped + span;
            any = true;
        }
        any
    }

    /// Names the port through which it hears of skipped time.
    pub fn ports(&self, ports: &mut Ports) {
        if let Some((_, skips)) = &self.skips {
            ports.input("skips", skips);
        }
    }
}
