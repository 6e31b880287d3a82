//! Clocks of a running system: edges are exact at any distance, the run stops at its limit, and a component is ticked
//! at the edges that it asked for.

#![allow(clippy::unwrap_used, reason = "a test may")]

use expect_test::expect;
use kernel::trace::{Event, EventKind, Sink, Tracer};
use kernel::{Activity, Component, Cycle, Freq, Mode, Outcome, Ports, Rx, System, SystemBuilder, Time, Tx};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

static TICK: EventKind = EventKind { name: "tick", fields: &["cycle"], number: 0 };

/// Records the edges at which it is ticked; it requests the edges in `wakes`.
struct Sleeper {
    wakes: Vec<Cycle>,
    trace: Tracer,
}

impl Component for Sleeper {
    fn tick(&mut self, now: Cycle) -> Activity {
        if self.wakes.first() == Some(&now) {
            self.trace.emit(&TICK, now, &[now]);
            self.wakes.remove(0);
        }
        self.wakes.first().map_or(Activity::Idle, |&next| Activity::Until(next))
    }

    fn ports(&self, _ports: &mut Ports) {}
}

#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<String>>>);

impl Sink for Log {
    fn event(&mut self, event: &Event) {
        self.0.borrow_mut().push(format!("{} {}: {} fs", event.source, event.values[0], event.at().fs()));
    }
}

/// A system with one sleeper per frequency. All sleepers request the edges in `wakes`.
fn sleepers(freqs: &[(&str, Freq)], wakes: &[Cycle]) -> (System, Log) {
    let mut b = SystemBuilder::new(0);
    for &(name, freq) in freqs {
        let clock = b.clock(freq);
        let trace = b.tracer(name, clock);
        b.add(name, clock, Sleeper { wakes: wakes.to_vec(), trace });
    }
    let mut system = b.build().unwrap();
    let log = Log::default();
    system.listen(Box::new(log.clone()));
    (system, log)
}

#[test]
fn edges_of_many_clocks_come_in_order_and_are_exact_after_a_billion_cycles() {
    let freqs = [
        ("88 MHz", Freq::mhz(88).unwrap()),
        ("250 MHz", Freq::mhz(250).unwrap()),
        ("312.5 MHz", Freq::khz(312_500).unwrap()),
        ("3000 MHz", Freq::mhz(3000).unwrap()),
    ];
    let wakes = [1, 1_000_000_000, 1_000_000_001];
    for mode in [Mode::Normal, Mode::Shuffled(1), Mode::TickAll] {
        let (mut system, log) = sleepers(&freqs, &wakes);
        system.set_mode(mode);
        assert_eq!(system.run_until(Time::MAX), Outcome::Quiet);
        // 10^9 cycles of 88 MHz are 125/11 s: 11.363636... s, rounded down to a femtosecond.
        expect![[r#"
            3000 MHz 1: 333333 fs
            312.5 MHz 1: 3200000 fs
            250 MHz 1: 4000000 fs
            88 MHz 1: 11363636 fs
            3000 MHz 1000000000: 333333333333333 fs
            3000 MHz 1000000001: 333333333666666 fs
            312.5 MHz 1000000000: 3200000000000000 fs
            312.5 MHz 1000000001: 3200000003200000 fs
            250 MHz 1000000000: 4000000000000000 fs
            250 MHz 1000000001: 4000000004000000 fs
            88 MHz 1000000000: 11363636363636363 fs
            88 MHz 1000000001: 11363636375000000 fs"#]]
        .assert_eq(&log.0.borrow().join("\n"));
    }
}

#[test]
fn a_run_includes_the_edge_at_its_limit_and_no_later_edge() {
    // Edge 3 of 3000 MHz is at 1 ns.
    let freqs = [("a", Freq::mhz(3000).unwrap()), ("b", Freq::mhz(3000).unwrap())];
    for freqs in [&freqs[..1], &freqs] {
        let (mut system, log) = sleepers(freqs, &[3]);
        assert_eq!(system.run_until(Time::from_fs(999_999)), Outcome::Limit);
        assert!(log.0.borrow().is_empty());
        assert_eq!(system.run_until(Time::from_fs(1_000_000)), Outcome::Quiet);
        assert_eq!(log.0.borrow().len(), freqs.len());
    }
}

#[test]
fn an_edge_beyond_the_last_femtosecond_is_never_simulated() {
    // 2^64 fs is about 18,446.7 s.
    let freqs = [("a", Freq::hz(1).unwrap()), ("b", Freq::hz(1).unwrap())];
    for freqs in [&freqs[..1], &freqs] {
        let (mut system, log) = sleepers(freqs, &[18_446, 18_447]);
        assert_eq!(system.run_until(Time::MAX), Outcome::Limit);
        assert_eq!(log.0.borrow().len(), freqs.len());
    }
}

/// Rings `delay` edges after the last poke. A delay of 0 cancels the alarm.
struct Alarm {
    pokes: Rx<u64>,
    at: Option<Cycle>,
    rang: Rc<RefCell<Vec<Cycle>>>,
    /// Edges at which it was ticked.
    ticked: Rc<RefCell<Vec<Cycle>>>,
}

impl Component for Alarm {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.ticked.borrow_mut().push(now);
        if self.at.take_if(|at| *at == now).is_some() {
            self.rang.borrow_mut().push(now);
        }
        if let Some(delay) = self.pokes.take() {
            self.at = (delay > 0).then_some(now + delay);
        }
        self.at.map_or(Activity::Idle, Activity::Until)
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("pokes", &self.pokes);
    }
}

/// Sends each delay at its edge.
struct Poker {
    pokes: Vec<(Cycle, u64)>,
    output: Tx<u64>,
}

impl Component for Poker {
    fn tick(&mut self, now: Cycle) -> Activity {
        if let Some(&(at, delay)) = self.pokes.first().filter(|(at, _)| *at == now) {
            debug_assert_eq!(at, now);
            self.output.send(delay);
            self.pokes.remove(0);
        }
        self.pokes.first().map_or(Activity::Idle, |&(at, _)| Activity::Until(at))
    }

    fn ports(&self, ports: &mut Ports) {
        ports.output("output", &self.output);
    }
}

proptest! {
    /// An alarm rings only at the edge that was asked for last, whether near or far. A cancelled timer causes no tick:
    /// the alarm is ticked at edge 0, at each poke and when it rings.
    #[test]
    fn a_postponed_timer_rings_once(pokes in prop::collection::vec((1u64..400, 0u64..2000), 1..40)) {
        let mut at = 0;
        let pokes: Vec<(Cycle, u64)> = pokes.into_iter().map(|(gap, delay)| { at += gap; (at, delay) }).collect();
        let mut want = Vec::new();
        for (i, &(at, delay)) in pokes.iter().enumerate() {
            // The poke arrives one edge after it was sent. The next poke replaces the alarm unless the alarm rings
            // first.
            let rings = at + 1 + delay;
            let next = pokes.get(i + 1).map_or(Cycle::MAX, |(at, _)| at + 1);
            if delay > 0 && rings <= next {
                want.push(rings);
            }
        }
        let mut b = SystemBuilder::new(1);
        let clock = b.clock(Freq::mhz(1000).unwrap());
        let (tx, rx) = b.channel("pokes", 2, 1);
        let (rang, ticked) = (Rc::new(RefCell::new(Vec::new())), Rc::new(RefCell::new(Vec::new())));
        let mut busy: Vec<_> = pokes.iter().map(|(at, _)| at + 1).chain(want.iter().copied()).chain([0]).collect();
        busy.sort_unstable();
        busy.dedup();
        let last = pokes.last().map_or(0, |&(at, _)| at + 1).max(want.last().copied().unwrap_or(0));
        b.add("poker", clock, Poker { pokes, output: tx });
        b.add("alarm", clock, Alarm { pokes: rx, at: None, rang: rang.clone(), ticked: ticked.clone() });
        let mut system = b.build().unwrap();
        prop_assert_eq!(system.run_until(Time::MAX), Outcome::Quiet);
        prop_assert_eq!(&*rang.borrow(), &want);
        prop_assert_eq!(&*ticked.borrow(), &busy);
        prop_assert_eq!(system.now(clock), last);
    }
}
