//! Clocks of a running system: their edges are exact however far away, and none is lived through that is not to be.

#![allow(clippy::unwrap_used, reason = "a test may")]

use expect_test::expect;
use kernel::trace::{Event, EventKind, Sink, Tracer};
use kernel::{Activity, Component, Cycle, Freq, Mode, Outcome, Ports, System, SystemBuilder, Time};
use std::cell::RefCell;
use std::rc::Rc;

static TICK: EventKind = EventKind { name: "tick", fields: &["cycle"] };

/// Tells the edges at which it is woken, which are those it asked for.
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
        self.0.borrow_mut().push(format!("{} {}: {} fs", event.source, event.values[0], event.at.fs()));
    }
}

/// A system of one sleeper for each frequency, all of which want these edges.
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
    for mode in [Mode::Normal, Mode::Shuffled(1), Mode::Sleepless] {
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
fn an_edge_is_lived_through_up_to_the_limit_and_not_beyond() {
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
fn an_edge_beyond_the_last_femtosecond_never_comes() {
    // 2^64 fs are 18,446 s and some.
    let freqs = [("a", Freq::hz(1).unwrap()), ("b", Freq::hz(1).unwrap())];
    for freqs in [&freqs[..1], &freqs] {
        let (mut system, log) = sleepers(freqs, &[18_446, 18_447]);
        assert_eq!(system.run_until(Time::MAX), Outcome::Limit);
        assert_eq!(log.0.borrow().len(), freqs.len());
    }
}
