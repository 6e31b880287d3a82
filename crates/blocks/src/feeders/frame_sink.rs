//! `frame-sink`: the network to which a card sends; it counts frames and checks them against those that the host sent.
//!
//! Ports:   `wire` (frames, receives): any number at an edge.
//! Timing:  a frame's time is the edge at which it is seen; the sink is never full.
//! Errors:  damaged, unknown, late and missing frames are counted, and those that are lost while the line is down.
//! Source:  thesis, 3.2.3: the frames that the network has received are those that the card has transmitted.

use super::check::Checker;
use super::log::{FrameLog, Passage};
use super::traffic::{Frames, Offered};
use crate::ethernet::Frame;
use crate::netlist::{Built, Module, OneWay, PortSpec, Site};
use kernel::trace::Counter;
use kernel::{Activity, Clock, Component, CounterList, Cycle, Ports, Rx, Time};
use std::rc::Rc;

/// The network end of a card's outgoing line.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameSinkParams {
    /// Number of frames whose times are kept for the report, 32 bytes each; later ones are only counted.
    pub kept_times: usize,
    /// Number of frames kept with their bytes; later ones are only counted and checked.
    pub kept_frames: usize,
}

/// Receives the frames that a card sends.
pub struct FrameSink {
    params: FrameSinkParams,
    clock: Clock,
    wire: Rx<Frame>,
    checker: Checker,
    replies: Option<Checker>,
    damaged: Counter,
    /// False while frames are lost on the line.
    is_up: bool,
    lost: Counter,
    log: FrameLog,
    kept: Vec<Frame>,
    /// Intact frames for the caller at the other end of the line, if there is one.
    departures: Option<Vec<(Time, Rc<[u8]>)>>,
}

impl FrameSink {
    /// A sink that compares frames with what `checker` expects.
    pub fn new(params: FrameSinkParams, wire: Rx<Frame>, clock: Clock, checker: Checker) -> FrameSink {
        let log = FrameLog::new(params.kept_times);
        let (replies, departures, kept, damaged, lost) = Default::default();
        FrameSink { params, clock, wire, checker, replies, damaged, is_up: true, lost, log, kept, departures }
    }

    /// Also expects these replies.
    pub fn with_replies(self, replies: Option<Checker>) -> FrameSink {
        FrameSink { replies, ..self }
    }

    /// Takes the line up or down: while it is down, frames that the card sends are lost.
    pub fn set_up(&mut self, is_up: bool) {
        self.is_up = is_up;
    }

    /// Number of frames that were lost on the line.
    pub fn lost(&self) -> u64 {
        self.lost.total()
    }

    /// Keeps intact frames from now on, for [`FrameSink::take_departures`].
    pub fn keep_departures(&mut self) {
        self.departures.get_or_insert_default();
    }

    /// Intact frames since the last call, with the times at which their last bits passed.
    pub fn take_departures(&mut self) -> Vec<(Time, Rc<[u8]>)> {
        self.departures.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The arrival times of frames; replies have no numbers.
    pub fn log(&self) -> &FrameLog {
        &self.log
    }

    fn judge(&mut self, at: Time, frame: &Frame) -> Option<u64> {
        if !frame.is_intact {
            self.damaged.add(1);
            return None;
        }
        if let Some(replies) = self.replies.as_mut().filter(|replies| replies.contains(&frame.bytes)) {
            replies.check(at, &frame.bytes);
            return None;
        }
        self.checker.check(at, &frame.bytes).id()
    }

    /// The check of the frames.
    pub fn checker(&self) -> &Checker {
        &self.checker
    }

    /// The check of the replies, if the host sends any.
    pub fn replies(&self) -> Option<&Checker> {
        self.replies.as_ref()
    }

    /// The first frames received.
    pub fn kept(&self) -> &[Frame] {
        &self.kept
    }
}

impl Component for FrameSink {
    fn tick(&mut self, now: Cycle) -> Activity {
        while let Some(frame) = self.wire.take() {
            if !self.is_up {
                self.lost.add(1);
                continue;
            }
            let at = self.clock.edge(now);
            let id = self.judge(at, &frame);
            self.log.note(Passage { id, at, bytes: frame.bytes.len() as u32 });
            if let Some(departures) = self.departures.as_mut().filter(|_| frame.is_intact) {
                departures.push((at, frame.bytes.clone()));
            }
            if self.kept.len() < self.params.kept_frames {
                self.kept.push(frame);
            }
        }
        Activity::Idle
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("wire", &self.wire);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("frames", self.log.frames());
        counters.add("bytes", self.log.bytes());
        counters.add("good_frames", self.checker.good());
        counters.add("lost_frames", self.checker.lost());
        counters.add("late_frames", self.checker.late());
        counters.add("unknown_frames", self.checker.unknown());
        counters.add("damaged_frames", self.damaged.total());
        counters.add("link_down_frames", self.lost.total());
        if let Some(replies) = &self.replies {
            counters.add("good_replies", replies.good());
            counters.add("lost_replies", replies.lost());
            counters.add("late_replies", replies.late());
        }
    }
}

impl Module for FrameSinkParams {
    const NAME: &'static str = "frame-sink";
    const ABOUT: &'static str =
        "The network to which a card sends: counts frames and checks them against those that the host sent.";
    const EXAMPLE: &'static str = r#"kept_times = 1000
kept_frames = 0"#;

    fn ports(&self) -> Vec<PortSpec> {
        vec![PortSpec::to::<OneWay<Frame>>("wire").about("the card's outgoing line")]
    }

    fn build(self, site: &mut Site) -> Built {
        let offered = site.environment.get::<Offered>();
        let offered = offered.map(|offered| Offered::clone(&offered)).unwrap_or_default();
        let (clock, wire) = (site.system.edges(site.clock), site.to::<OneWay<Frame>>("wire"));
        let replies = offered.replies.map(|replies| Checker::new(Frames::Acknowledgements(replies)));
        Built::new(FrameSink::new(self, wire, clock, Checker::new(offered.host.frames)).with_replies(replies))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use kernel::Freq;
    use std::rc::Rc;

    #[test]
    fn frames_are_counted_and_checked() {
        let log = testkit::bench(100, |bench| {
            let frame = |id: u64, byte: u8, is_intact| Frame { id, bytes: Rc::from([byte; 60]), is_intact };
            let frames =
                [frame(0, 0, true), frame(1, 2, true), frame(2, 1, true), frame(3, 3, false), frame(4, 9, true)];
            let wire = bench.input("wire", 2, (10..).step_by(10).zip(frames).collect());
            let clock = Clock::new(Freq::mhz(1000).expect("1 GHz is a frequency"));
            let checker = Checker::new(Frames::list((0..4).map(|byte| vec![byte; 60])));
            bench.add("sink", FrameSink::new(FrameSinkParams { kept_times: 0, kept_frames: 0 }, wire, clock, checker));
            bench.log_counters();
        });
        expect![[r#"
            sink.frames 5
            sink.bytes 300
            sink.good_frames 2
            sink.lost_frames 1
            sink.late_frames 1
            sink.unknown_frames 1
            sink.damaged_frames 1
        "#]]
        .assert_eq(&log);
    }
}
