//! `packet-feeder`: the network that sends the frames of the run to a card, at line rate or at given times.
//!
//! Ports:   `wire` (frames, sends): each frame when its last bit has passed; `go` (go, receives, optional): starts
//!           the traffic; without it, traffic starts at 0.
//! Timing:  a frame begins when it is due and the line is free. It takes the line for its bytes, check sequence,
//!           preamble and gap, and is sent at the first edge at or after the end of its check sequence. With
//!           [`PacketFeeder::with_gap`], it begins at least that many cycles after the one before. A frame of another
//!           card ([`PacketFeeder::inject`]) ends at its given time, or later if the line is taken; `go` does not delay it.
//! Source:  thesis, 3.2.3 (packet feeder); IEEE 802.3 for the line.
//! Faults:  while the line is down ([`PacketFeeder::set_up`]), frames are lost at the end of their check sequence and counted.
//! Differs: a real line does not wait. Here a card that does not take its frames delays later ones; this is counted.

use super::Go;
use super::log::{FrameLog, Passage};
use super::schedule::Schedule;
use super::traffic::{FrameTraffic, Frames, LineFrames, Offered};
use crate::checks;
use crate::ethernet::Frame;
use crate::netlist::{Built, Module, OneWay, PortSpec, Site};
use kernel::trace::Counter;
use kernel::{Activity, Clock, Component, CounterList, Cycle, Inlet, Ports, Rx, Time, Tx};
use std::collections::BTreeMap;
use std::rc::Rc;

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
    /// Minimum time from the beginning of a frame to that of the next.
    gap: Time,
    /// Earliest beginning of the next frame by its gap, from the start, with skipped time.
    after_gap: Time,
    next_id: u64,
    under_way: Option<UnderWay>,
    waits: Counter,
    /// Time for which frames occupied the line, in bit times.
    line_bits: u64,
    /// False while frames are lost on the line.
    is_up: bool,
    lost: Counter,
    log: FrameLog,
    /// The line to another card, if frames come from there.
    line: Option<Line>,
}

/// A line to another card.
struct Line {
    /// Frames that have passed.
    passed: LineFrames,
    /// Frames to come, by the time at which they end and the order of calls.
    coming: BTreeMap<(Time, u64), Rc<[u8]>>,
    calls: u64,
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
    /// `after_gap` before this frame.
    gap_before: Time,
}

/// Line time after a frame: the gap. Preamble and start delimiter (8 of the overhead bytes) precede it.
const AFTER_BITS: u64 = 8 * (Frame::OVERHEAD_BYTES as u64 - 8);

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
        let line = match &traffic.frames {
            Frames::Line(passed) => Some(Line { passed: passed.clone(), coming: BTreeMap::new(), calls: 0 }),
            _ => None,
        };
        PacketFeeder {
            params,
            clock,
            traffic: Schedule::new(traffic),
            wire,
            go,
            start,
            line_free,
            gap: Time::ZERO,
            after_gap: Time::ZERO,
            next_id: 0,
            under_way: None,
            waits: Counter::default(),
            line_bits: 0,
            is_up: true,
            lost: Counter::default(),
            log,
            line,
        }
    }

    /// Lets a frame of another card end at `at`; everything up to `now` is simulated.
    ///
    /// # Panics
    ///
    /// If the traffic is not [`Frames::Line`], or the feeder cannot be woken because it has no skips.
    pub fn inject(&mut self, now: Time, at: Time, bytes: Rc<[u8]>) {
        let line = self.line.as_mut().expect("the traffic comes from a line");
        line.coming.insert((at, line.calls), bytes);
        line.calls += 1;
        self.traffic.skip(self.clock, now, Time::ZERO);
    }

    /// Takes the line up or down: while it is down, frames whose last bit passes are lost.
    pub fn set_up(&mut self, is_up: bool) {
        self.is_up = is_up;
    }

    /// Number of frames that were lost on the line.
    pub fn lost(&self) -> u64 {
        self.lost.total()
    }

    /// Lets the run skip idle time.
    pub fn with_skips(mut self, skips: (Inlet<Time>, Rx<Time>)) -> PacketFeeder {
        self.traffic = self.traffic.with_skips(skips);
        self
    }

    /// Sets the minimum number of cycles from the beginning of a frame to that of the next. Frames of other cards have none.
    pub fn with_gap(self, cycles: u64) -> PacketFeeder {
        PacketFeeder { gap: self.clock.edge(cycles), ..self }
    }

    /// Start of the next frame, if the line is idle at `now` and another frame follows.
    pub fn next_begin(&self, now: Time) -> Option<Time> {
        self.under_way.as_ref().map(|next| next.begins).filter(|&begins| begins > now)
    }

    /// Skips `span`: frames that have not begun yet become due earlier by it.
    pub fn skip(&self, now: Time, span: Time) {
        self.traffic.skip(self.clock, now, span);
    }

    /// Times at which the last bits of frames passed.
    pub fn log(&self) -> &FrameLog {
        &self.log
    }

    /// Returns true if every frame has been sent.
    pub fn is_done(&self) -> bool {
        match &self.line {
            Some(line) => line.coming.is_empty(),
            None => self.under_way.is_none() && self.traffic.due(self.next_id).is_none(),
        }
    }

    /// The line time of a frame that may begin at `due`: its begin, its end, and when the line is free again, from the start.
    fn on_line(&self, due: Time, frame: &Frame) -> (Time, Time, LineTime) {
        let (bps, mut free) = (self.params.line_bps, self.line_free);
        if due > free.at(bps) {
            free = LineTime { from: due, bits: 0 };
        }
        let begins = free.at(bps);
        free.bits += 8 * frame.line_bytes();
        let end = LineTime { bits: free.bits - AFTER_BITS, ..free };
        (begins, end.at(bps), free)
    }

    /// Sends the frames of another card that have ended.
    fn pass(&mut self, now: Cycle) -> Activity {
        loop {
            let Some(line) = &self.line else { return Activity::Idle };
            let Some((&(at, call), bytes)) = line.coming.first_key_value() else { return Activity::Idle };
            let mut frame = Frame { id: 0, bytes: bytes.clone(), is_intact: true };
            let length = LineTime { from: Time::ZERO, bits: 8 * frame.line_bytes() - AFTER_BITS };
            let (_, end, free) = self.on_line(at - length.at(self.params.line_bps).min(at), &frame);
            let cycle = self.clock.cycle_at_or_after(end);
            if cycle > now {
                return Activity::Until(cycle);
            }
            if self.is_up && !self.wire.has_room() {
                return Activity::Idle; // `wire` wakes us when room appears.
            }
            let line = self.line.as_mut().expect("it is there");
            line.coming.remove(&(at, call));
            frame.id = line.passed.push(frame.bytes.clone());
            self.line_free = free;
            self.send(now, cycle, frame);
        }
    }

    /// Sends a frame that could be sent from `cycle` on, or loses it.
    fn send(&mut self, now: Cycle, cycle: Cycle, frame: Frame) {
        self.waits.add(u64::from(cycle < now));
        self.line_bits += 8 * frame.line_bytes();
        let bytes = frame.bytes.len() as u32;
        self.log.note(Passage { id: Some(frame.id), at: self.clock.edge(now), bytes });
        match self.is_up {
            true => self.wire.send(frame),
            false => self.lost.add(1),
        }
    }

    /// Puts the next frame on the line, if there is one.
    fn begin(&mut self, start: Time) {
        let Some(due) = self.traffic.due(self.next_id) else { return };
        let skipped = self.traffic.skipped();
        let due = due.max(self.after_gap - skipped.min(self.after_gap));
        let frame = self.traffic.frame(self.next_id).expect("a frame that is due exists");
        let frame = Frame { id: self.next_id, bytes: frame.bytes, is_intact: frame.is_intact };
        let (begins, end, free) = self.on_line(due, &frame);
        let cycle = self.clock.cycle_at_or_after(start + end);
        let line_before = std::mem::replace(&mut self.line_free, free);
        let gap_before = std::mem::replace(&mut self.after_gap, begins + skipped + self.gap);
        self.under_way = Some(UnderWay { frame, begins: start + begins, cycle, line_before, gap_before });
        self.next_id += 1;
    }
}

impl Component for PacketFeeder {
    fn tick(&mut self, now: Cycle) -> Activity {
        if self.start.is_none() && self.go.as_ref().is_some_and(|go| go.take().is_some()) {
            self.start = Some(self.clock.edge(now));
        }
        if self.traffic.apply_skips() && self.under_way.as_ref().is_some_and(|next| next.begins > self.clock.edge(now))
        {
            let next = self.under_way.take().expect("a frame is pending");
            (self.line_free, self.after_gap, self.next_id) = (next.line_before, next.gap_before, next.frame.id);
        }
        if self.line.is_some() {
            return self.pass(now);
        }
        let Some(start) = self.start else { return Activity::Idle };
        loop {
            if self.under_way.is_none() {
                self.begin(start);
            }
            match &self.under_way {
                None => return Activity::Idle,
                Some(next) if next.cycle > now => return Activity::Until(next.cycle),
                Some(_) if self.is_up && !self.wire.has_room() => {
                    return Activity::Idle; // `wire` wakes us when room appears.
                }
                Some(_) => {}
            }
            let next = self.under_way.take().expect("a frame is on the line");
            self.send(now, next.cycle, next.frame);
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
        let (bps, bits) = (self.params.line_bps, self.line_bits);
        let line_cycles = self.clock.cycle_at_or_after(LineTime { from: Time::ZERO, bits }.at(bps));
        counters.busy("line_cycles", line_cycles, 1, &format!("the line in: {} Gbit/s", bps as f64 / 1e9));
        counters.add("link_down_frames", self.lost.total());
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
        let offered = site.environment.get::<Offered>();
        let gap = offered.as_ref().map_or(0, |offered| offered.gap_cycles);
        let traffic = offered.map(|offered| offered.network.clone()).unwrap_or_default();
        let clock = site.system.edges(site.clock);
        let ports = PacketFeederPorts { wire: site.from::<OneWay<Frame>>("wire"), go: site.try_to::<OneWay<Go>>("go") };
        let skips = site.skips();
        Built::new(PacketFeeder::new(self, ports, clock, traffic).with_gap(gap).with_skips(skips))
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
        check_with_gap(0, sizes, pace, go, ready, want);
    }

    /// The same with a minimum number of cycles between frames.
    fn check_with_gap(
        gap: u64,
        sizes: &[usize],
        pace: Pace,
        go: Option<Cycle>,
        ready: fn(Cycle) -> bool,
        want: Expect,
    ) {
        let frames = Frames::list(sizes.iter().map(|&size| vec![0; size]));
        let log = testkit::bench(2000, |bench| {
            let show = |frame: &Frame| format!("frame {} of {}", frame.id, frame.bytes.len());
            let wire = bench.output("wire", 1, ready, show);
            let go = go.map(|cycle| bench.input("go", 1, vec![(cycle, Go)]));
            let params = PacketFeederParams { line_bps: 8_000_000_000, kept_times: 0 };
            let traffic = FrameTraffic { frames: frames.clone(), pace: pace.clone(), start: Time::ZERO };
            let clock = Clock::new(Freq::mhz(1000).expect("1 GHz is a frequency"));
            let feeder = PacketFeeder::new(params, PacketFeederPorts { wire, go }, clock, traffic);
            bench.add("feeder", feeder.with_gap(gap));
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
                feeder.line_cycles 292
            "#]],
        );
    }

    #[test]
    fn a_gap_counts_from_the_beginning_of_a_frame_to_that_of_the_next() {
        check_with_gap(
            200,
            &[60, 400, 60],
            Pace::Saturating,
            Some(50),
            |_| true,
            expect![[r#"
                123  wire frame 0 of 60
                663  wire frame 1 of 400
                747  wire frame 2 of 60
                feeder.frames 3
                feeder.bytes 520
                feeder.line_cycles 592
            "#]],
        );
        let times = [100, 110, 500].map(Time::from_ns);
        check_with_gap(
            200,
            &[60, 60, 60],
            Pace::At(Rc::from(times)),
            None,
            |_| true,
            expect![[r#"
                173  wire frame 0 of 60
                373  wire frame 1 of 60
                573  wire frame 2 of 60
                feeder.frames 3
                feeder.bytes 180
                feeder.line_cycles 252
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
                feeder.line_cycles 252
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
                feeder.line_cycles 168
            "#]],
        );
    }

    #[test]
    fn frames_of_another_card_end_at_their_times_in_order_and_not_faster_than_the_line() {
        let log = testkit::bench(2000, |bench| {
            let show = |frame: &Frame| format!("frame {} of {}", frame.id, frame.bytes.len());
            let wire = bench.output("wire", 1, |_| true, show);
            let params = PacketFeederParams { line_bps: 8_000_000_000, kept_times: 0 };
            let traffic = FrameTraffic { frames: Frames::Line(LineFrames::default()), ..FrameTraffic::default() };
            let clock = Clock::new(Freq::mhz(1000).expect("1 GHz is a frequency"));
            let mut feeder = PacketFeeder::new(params, PacketFeederPorts { wire, go: None }, clock, traffic);
            // The third ends too soon after the second, which takes the line for 8 + 60 + 4 + 12 bytes.
            for (ns, bytes) in [(500, 60), (200, 61), (550, 62), (1000, 63)] {
                feeder.inject(Time::ZERO, Time::from_ns(ns), vec![0; bytes].into());
            }
            bench.add("feeder", feeder);
            bench.log_counters();
        });
        expect![[r#"
            201  wire frame 0 of 61
            501  wire frame 1 of 60
            587  wire frame 2 of 62
            1001 wire frame 3 of 63
            feeder.frames 4
            feeder.bytes 246
            feeder.line_cycles 342
        "#]]
        .assert_eq(&log);
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
                feeder.line_cycles 252
            "#]],
        );
    }
}
