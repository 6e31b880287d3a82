//! `packet-feeder`: the network that sends to a card: the frames of the run, at line rate or at given times.
//!
//! Ports:   `wire` (frames, sends): each frame when its last bit has passed; `go` (go, receives, optional): starts
//!           the traffic; without it, traffic starts at 0.
//! Timing:  a frame begins when it is due and the line is free. It takes the line for its bytes, check sequence,
//!           preamble and gap, and is sent at the first edge at or after the end of its check sequence.
//! Source:  thesis, 3.2.3 (packet feeder); IEEE 802.3 for the line.
//! Differs: a real line does not wait. Here a card that does not take its frames delays later ones; this is counted.

use super::Go;
use super::log::{FrameLog, Passage};
use super::schedule::Schedule;
use super::traffic::{FrameTraffic, Offered};
use crate::checks;
use crate::ethernet::Frame;
use crate::netlist::{Built, Module, OneWay, PortSpec, Site};
use kernel::trace::Counter;
use kernel::{Activity, Clock, Component, CounterList, Cycle, Inlet, Ports, Rx, Time, Tx};

/// The network end of a card's incoming line.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PacketFeederParams {
    /// Bit rate of the line in bit/s; Gigabit Ethernet has 1,000,000,000.
    pub line_bps: u64,
    /// Number of frames whose times are kept for the report, 32 bytes each; later ones are only counted.
    pub kept_times: usize,
}

/// The ports of a [`PacketFeeder`].
pub struct PacketFeederPorts {
    /// The card's incoming line.
    pub wire: Tx<Frame>,
    /// Starts the traffic.
    pub go: Option<Rx<Go>>,
}

/// Sends the frames that a run offers from the network.
pub struct PacketFeeder {
    params: PacketFeederParams,
    clock: Clock,
    traffic: Schedule,
    wire: Tx<Frame>,
    go: Option<Rx<Go>>,
    /// Start time of the traffic.
    start: Option<Time>,
    /// Time at which the line is free again, from the start.
    line_free: LineTime,
    next_id: u64,
    under_way: Option<UnderWay>,
    waits: Counter,
    log: FrameLog,
}

/// The next frame: on the line, or not yet due.
struct UnderWay {
    frame: Frame,
    /// Start of its first bit.
    begins: Time,
    /// First cycle in which it may be sent.
    cycle: Cycle,
    /// `line_free` before this frame.
    line_before: LineTime,
}

/// A time on a line: a base plus a number of bits, so that rounding does not accumulate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LineTime {
    from: Time,
    bits: u64,
}

impl LineTime {
    fn at(self, bps: u64) -> Time {
        let fs = u128::from(self.bits) * 1_000_000_000_000_000 / u128::from(bps);
        self.from + Time::from_fs(u64::try_from(fs).expect("a line is used for less than 2^64 fs"))
    }
}

impl PacketFeeder {
    /// A feeder before its first frame.
    pub fn new(
        params: PacketFeederParams,
        ports: PacketFeederPorts,
        clock: Clock,
        traffic: FrameTraffic,
    ) -> PacketFeeder {
        let PacketFeederPorts { wire, go } = ports;
        let (log, start) = (FrameLog::new(params.kept_times), go.is_none().then_some(Time::ZERO));
        let line_free = LineTime { from: Time::ZERO, bits: 0 };
        PacketFeeder {
            params,
            clock,
            traffic: Schedule::new(traffic),
            wire,
            go,
            start,
            line_free,
            next_id: 0,
            under_way: None,
            waits: Counter::default(),
            log,
        }
    }

    /// Lets the run skip idle time.
    pub fn with_skips(mut self, skips: (Inlet<Time>, Rx<Time>)) -> PacketFeeder {
        self.traffic = self.traffic.with_skips(skips);
        self
    }

    /// Start of the next frame, if the line is idle at `now` and another frame follows.
    pub fn next_begin(&self, now: Time) -> Option<Time> {
        self.under_way.as_ref().map(|next| next.begins).filter(|&begins| begins > now)
    }

    /// Moves frames that have not begun earlier by `span`.
    pub fn skip(&self, now: Time, span: Time) {
        self.traffic.skip(self.clock, now, span);
    }

    /// Times at which the last bits of frames passed.
    pub fn log(&self) -> &FrameLog {
        &self.log
    }

    /// Returns true if every frame has been sent.
    pub fn is_done(&self) -> bool {
        self.under_way.is_none() && self.traffic.due(self.next_id).is_none()
    }

    /// Puts the next frame on the line, if there is one.
    fn begin(&mut self, start: Time) {
        let Some(due) = self.traffic.due(self.next_id) else { return };
        let frame = self.traffic.frame(self.next_id).expect("a frame that is due exists");
        let (bps, line_before) = (self.params.line_bps, self.line_free);
        if due > self.line_free.at(bps) {
            self.line_free = LineTime { from: due, bits: 0 };
        }
        let frame = Frame { id: self.next_id, bytes: frame.bytes, is_intact: frame.is_intact };
        let begins = start + self.line_free.at(bps);
        // Preamble and start delimiter (8 of the overhead bytes) precede the frame; the gap follows it.
        let after = 8 * u64::from(Frame::OVERHEAD_BYTES - 8);
        self.line_free.bits += 8 * frame.line_bytes();
        let end = LineTime { bits: self.line_free.bits - after, ..self.line_free };
        let cycle = self.clock.cycle_at_or_after(start + end.at(bps));
        self.under_way = Some(UnderWay { frame, begins, cycle, line_before });
        self.next_id += 1;
    }
}

impl Component for PacketFeeder {
    fn tick(&mut self, now: Cycle) -> Activity {
        if self.start.is_none() && self.go.as_ref().is_some_and(|go| go.take().is_some()) {
            self.start = Some(self.clock.edge(now));
        }
        if self.traffic.hear() && self.under_way.as_ref().is_some_and(|next| next.begins > self.clock.edge(now)) {
            let next = self.under_way.take().expect("a frame is pending");
            (self.line_free, self.next_id) = (next.line_before, next.frame.id);
        }
        let Some(start) = self.start else { return Activity::Idle };
        loop {
            if self.under_way.is_none() {
                self.begin(start);
            }
            match &self.under_way {
                None => return Activity::Idle,
                Some(next) if next.cycle > now => return Activity::Until(next.cycle),
                Some(_) if !self.wire.has_room() => {
                    return Activity::Idle; // `wire` wakes us when room appears.
                }
                Some(UnderWay { cycle, frame, .. }) => {
                    let bytes = frame.bytes.len() as u32;
                    self.waits.add(u64::from(*cycle < now));
                    self.log.note(Passage { id: Some(frame.id), at: self.clock.edge(now), bytes });
                }
            }
            let next = self.under_way.take().expect("a frame is on the line");
            self.wire.send(next.frame);
        }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.output("wire", &self.wire);
        if let Some(go) = &self.go {
            ports.input("go", go);
        }
        self.traffic.ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("frames", self.log.frames());
        counters.add("bytes", self.log.bytes());
        counters.add("delayed_frames", self.waits.total());
    }
}

impl Module for PacketFeederParams {
    const NAME: &'static str = "packet-feeder";
    const ABOUT: &'static str =
        "The network that sends to a card: the frames of the run, at line rate or at given times.";
    const EXAMPLE: &'static str = r#"line_bps = 1_000_000_000
kept_times = 1000"#;

    fn ports(&self) -> Vec<PortSpec> {
        vec![
            PortSpec::from::<OneWay<Frame>>("wire").about("the card's incoming line"),
            PortSpec::to::<OneWay<Go>>("go").about("starts the traffic").optional(),
        ]
    }

    fn check(&self) -> Result<(), String> {
        checks::within("line_bps", self.line_bps, 1, 1_000_000_000_000)
    }

    fn build(self, site: &mut Site) -> Built {
        let traffic = site.environment.get::<Offered>().map(|offered| offered.network.clone()).unwrap_or_default();
        let clock = site.system.edges(site.clock);
        let ports = PacketFeederPorts { wire: site.from::<OneWay<Frame>>("wire"), go: site.try_to::<OneWay<Go>>("go") };
        let skips = site.skips();
        Built::new(PacketFeeder::new(self, ports, clock, traffic).with_skips(skips))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feeders::{Frames, Pace};
    use expect_test::{Expect, expect};
    use kernel::Freq;
    use std::rc::Rc;

    /// Frames of these sizes on a line of 8 Gbit/s: one byte per cycle at 1 GHz.
    fn check(sizes: &[usize], pace: Pace, go: Option<Cycle>, ready: fn(Cycle) -> bool, want: Expect) {
        let frames = Frames::list(sizes.iter().map(|&size| vec![0; size]));
        let log = testkit::bench(2000, |bench| {
            let show = |frame: &Frame| format!("frame {} of {}", frame.id, frame.bytes.len());
            let wire = bench.output("wire", 1, ready, show);
            let go = go.map(|cycle| bench.input("go", 1, vec![(cycle, Go)]));
            let params = PacketFeederParams { line_bps: 8_000_000_000, kept_times: 0 };
            let traffic = FrameTraffic { frames: frames.clone(), pace: pace.clone() };
            let clock = Clock::new(Freq::mhz(1000).expect("1 GHz is a frequency"));
            bench.add("feeder", PacketFeeder::new(params, PacketFeederPorts { wire, go }, clock, traffic));
            bench.log_counters();
        });
        want.assert_eq(&log);
    }

    #[test]
    fn frames_follow_each_other_at_line_rate() {
        check(
            &[60, 60, 100],
            Pace::Saturating,
            None,
            |_| true,
            expect![[r#"
            73   wire frame 0 of 60
            157  wire frame 1 of 60
            281  wire frame 2 of 100
            feeder.frames 3
            feeder.bytes 220
        "#]],
        );
    }

    #[test]
    fn frames_wait_for_their_times_and_the_line() {
        let times = [100, 110, 500].map(Time::from_ns);
        check(
            &[60, 60, 60],
            Pace::At(Rc::from(times)),
            None,
            |_| true,
            expect![[r#"
            173  wire frame 0 of 60
            257  wire frame 1 of 60
            573  wire frame 2 of 60
            feeder.frames 3
            feeder.bytes 180
        "#]],
        );
        check(
            &[60, 60],
            Pace::Every(Time::from_ns(200)),
            Some(50),
            |_| true,
            expect![[r#"
            123  wire frame 0 of 60
            323  wire frame 1 of 60
            feeder.frames 2
            feeder.bytes 120
        "#]],
        );
    }

    #[test]
    fn a_card_that_takes_no_frames_delays_them() {
        check(
            &[60, 60, 60],
            Pace::Saturating,
            None,
            |now| now > 400,
            expect![[r#"
            401  wire frame 0 of 60
            403  wire frame 1 of 60
            405  wire frame 2 of 60
            feeder.frames 3
            feeder.bytes 180
            feeder.delayed_frames 2
        "#]],
        );
    }
}
