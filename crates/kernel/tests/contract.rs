//! The kernel's contract, shown on a pipeline of a source, two relays and a drain, each with its own clock.

#![allow(clippy::unwrap_used, reason = "a test may")]

use expect_test::{Expect, expect};
use kernel::trace::{Event, EventKind, Sink, Tracer};
use kernel::{
    Activity, Component, CounterList, Cycle, Freq, Mode, Outcome, Ports, RandomStream, Rx, SystemBuilder, Time, Tx,
    WiringError,
};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

/// Sends the numbers from 0 to `count - 1`, one per edge while the output has room.
struct Source {
    next: u64,
    count: u64,
    output: Tx<u64>,
}

impl Component for Source {
    fn tick(&mut self, _now: Cycle) -> Activity {
        if self.next == self.count || !self.output.has_room() {
            return Activity::Idle;
        }
        self.output.send(self.next);
        self.next += 1;
        Activity::Busy
    }

    fn ports(&self, ports: &mut Ports) {
        ports.output("output", &self.output);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("sent", self.next);
    }
}

/// Forwards each item, then pauses for a random number of cycles.
struct Relay {
    input: Rx<u64>,
    output: Tx<u64>,
    pause: u64,
    ready: Cycle,
    draws: RandomStream,
}

impl Component for Relay {
    fn tick(&mut self, now: Cycle) -> Activity {
        if now < self.ready {
            return Activity::Until(self.ready);
        }
        if !self.input.has_item() || !self.output.has_room() {
            return Activity::Idle;
        }
        self.output.send(self.input.take().expect("the input has an item"));
        self.ready = now + 1 + self.draws.below(self.pause);
        Activity::Until(self.ready)
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("input", &self.input);
        ports.output("output", &self.output);
    }
}

static ARRIVED: EventKind = EventKind { name: "arrived", fields: &["item"], number: 0 };

/// Takes all items and logs each with its cycle.
struct Drain {
    input: Rx<u64>,
    log: Rc<RefCell<Vec<(Cycle, u64)>>>,
    trace: Tracer,
}

impl Component for Drain {
    fn tick(&mut self, now: Cycle) -> Activity {
        while let Some(item) = self.input.take() {
            self.trace.emit(&ARRIVED, now, &[item]);
            self.log.borrow_mut().push((now, item));
        }
        Activity::Idle
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("input", &self.input);
    }
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    mhz: [u64; 4],
    capacity: usize,
    latency: u64,
    pause: u64,
}

fn run(shape: Shape, mode: Mode, sink: Option<Box<dyn Sink>>) -> Vec<(Cycle, u64)> {
    let mut b = SystemBuilder::new(1);
    let mut clocks = Vec::new();
    for (i, &mhz) in shape.mhz.iter().enumerate() {
        // Equal frequencies share a domain, so the test covers one domain and several.
        let same = shape.mhz.iter().position(|&other| other == mhz).filter(|&first| first < i);
        let clock = same.map_or_else(|| b.clock(Freq::mhz(mhz).unwrap()), |first| clocks[first]);
        clocks.push(clock);
    }
    let (tx0, rx0) = b.channel("first", shape.capacity, shape.latency);
    let (tx1, rx1) = b.channel("second", shape.capacity, shape.latency);
    let (tx2, rx2) = b.channel("third", shape.capacity, shape.latency);
    let log = Rc::new(RefCell::new(Vec::new()));
    let relay = |input, output, draws| Relay { input, output, pause: shape.pause, ready: 0, draws };
    b.add("source", clocks[0], Source { next: 0, count: 50, output: tx0 });
    let (one, two) = (b.stream("relay[0]"), b.stream("relay[1]"));
    b.add("relay[0]", clocks[1], relay(rx0, tx1, one));
    b.add("relay[1]", clocks[2], relay(rx1, tx2, two));
    let trace = b.tracer("drain", clocks[3]);
    b.add("drain", clocks[3], Drain { input: rx2, log: log.clone(), trace });
    let mut system = b.build().unwrap();
    system.set_mode(mode);
    sink.into_iter().for_each(|sink| system.listen(sink));
    assert_eq!(system.run_until(Time::from_ns(1_000_000)), Outcome::Quiet);
    assert_eq!(system.counters(), [("source.sent".to_owned(), 50)]);
    log.take()
}

proptest! {
    /// No item is lost, duplicated or reordered. Neither the order of ticks nor additional ticks change a time.
    #[test]
    fn tick_order_and_additional_ticks_cannot_change_a_result(
        mhz in prop::array::uniform4(prop::sample::select(vec![88u64, 250, 1000, 3000])),
        capacity in 1usize..5, latency in 1u64..5, pause in 1u64..20, order: u64,
    ) {
        let shape = Shape { mhz, capacity, latency, pause };
        let normal = run(shape, Mode::Normal, None);
        prop_assert_eq!(normal.iter().map(|&(_, item)| item).collect::<Vec<_>>(), (0..50).collect::<Vec<_>>());
        prop_assert_eq!(&normal, &run(shape, Mode::Shuffled(order), None));
        prop_assert_eq!(&normal, &run(shape, Mode::TickAll, None));
    }
}

/// The first arrivals at the drain, behind two relays, with all components in one domain.
fn arrivals(capacity: usize, latency: u64, want: Expect) {
    let shape = Shape { mhz: [1000; 4], capacity, latency, pause: 1 };
    let log = run(shape, Mode::Normal, None);
    let text: Vec<_> = log.iter().take(5).map(|(cycle, item)| format!("{item}@{cycle}")).collect();
    want.assert_eq(&text.join(" "));
}

#[test]
fn full_rate_needs_capacity_for_items_in_flight() {
    arrivals(2, 1, expect!["0@3 1@4 2@5 3@6 4@7"]);
    arrivals(1, 1, expect!["0@3 1@5 2@7 3@9 4@11"]);
    arrivals(4, 3, expect!["0@9 1@10 2@11 3@12 4@13"]);
    arrivals(3, 3, expect!["0@9 1@10 2@11 3@13 4@14"]);
}

#[test]
fn every_item_taken_at_one_edge_frees_room() {
    // The drain's period is 34 times that of the others, so it finds the channel full each time.
    let shape = Shape { mhz: [3000, 3000, 3000, 88], capacity: 4, latency: 1, pause: 1 };
    let log = run(shape, Mode::Normal, None);
    let at_an_edge: Vec<_> = log.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).collect();
    assert_eq!(at_an_edge, [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2]);
}

#[test]
fn a_sink_receives_events_and_changes_no_result() {
    struct Recorder(Rc<RefCell<Vec<String>>>);
    impl Sink for Recorder {
        fn event(&mut self, event: &Event) {
            let item = event.get("item").expect("the event has the field");
            self.0.borrow_mut().push(format!("{} {} {} {item}", event.at(), event.source, event.kind.name));
        }
    }
    let shape = Shape { mhz: [1000, 250, 1000, 88], capacity: 2, latency: 1, pause: 3 };
    let recorded = Rc::new(RefCell::new(Vec::new()));
    let observed = run(shape, Mode::Normal, Some(Box::new(Recorder(recorded.clone()))));
    assert_eq!(observed, run(shape, Mode::Normal, None));
    expect!["11.363636 ns drain arrived 0"].assert_eq(&recorded.borrow()[0]);
}

fn wiring(make: impl FnOnce(&mut SystemBuilder), want: Expect) {
    let mut b = SystemBuilder::new(0);
    make(&mut b);
    let error: WiringError = b.build().err().expect("the wiring is wrong");
    want.assert_eq(&error.to_string());
}

#[test]
fn wiring_errors_name_the_port() {
    let freq = Freq::mhz(100).unwrap();
    let source = |output| Source { next: 0, count: 1, output };
    wiring(
        |b| {
            let clock = b.clock(freq);
            let (tx, _) = b.channel("hers", 1, 1);
            b.add("nic.inbound", clock, source(tx));
        },
        expect!["channel `hers`: `nic.inbound.output` writes to it, but nothing reads from it"],
    );
    wiring(
        |b| {
            let clock = b.clock(freq);
            let (_, rx) = b.channel("hers", 1, 1);
            let trace = b.tracer("drain", clock);
            b.add("nic.mpq", clock, Drain { input: rx, log: Rc::default(), trace });
        },
        expect!["channel `hers`: `nic.mpq.input` reads from it, but nothing writes to it"],
    );
    wiring(|b| drop(b.channel::<u8>("spare", 1, 1)), expect!["channel `spare` is not attached to any component"]);
    wiring(
        |b| {
            let clock = b.clock(freq);
            drop(b.inlet::<u8>("packets", clock));
        },
        expect!["channel `packets`: `outside` writes to it, but nothing reads from it"],
    );
    for (capacity, latency, want) in [
        (0, 1, expect!["channel `hers` has capacity 0 and latency 1; both must be at least 1"]),
        (1, 0, expect!["channel `hers` has capacity 1 and latency 0; both must be at least 1"]),
    ] {
        wiring(
            |b| {
                let clock = b.clock(freq);
                let (tx, rx) = b.channel("hers", capacity, latency);
                let trace = b.tracer("drain", clock);
                b.add("source", clock, source(tx));
                b.add("drain", clock, Drain { input: rx, log: Rc::default(), trace });
            },
            want,
        );
    }
    /// Declares its output as two ports.
    struct TwoPorts(Source);
    impl Component for TwoPorts {
        fn tick(&mut self, now: Cycle) -> Activity {
            self.0.tick(now)
        }
        fn ports(&self, ports: &mut Ports) {
            ports.output("output", &self.0.output);
            ports.output("hers", &self.0.output);
        }
    }
    wiring(
        |b| {
            let clock = b.clock(freq);
            let (tx, rx) = b.channel("hers", 1, 1);
            let trace = b.tracer("drain", clock);
            b.add("nic.inbound", clock, TwoPorts(source(tx)));
            b.add("drain", clock, Drain { input: rx, log: Rc::default(), trace });
        },
        expect!["channel `hers`: `nic.inbound.hers` and `nic.inbound.output` are attached to the same end"],
    );
    wiring(
        |b| {
            let clock = b.clock(freq);
            for i in 0..2 {
                let (tx, rx) = b.channel("hers", 1, 1);
                let trace = b.tracer("drain", clock);
                b.add("source", clock, source(tx));
                b.add(&format!("drain[{i}]"), clock, Drain { input: rx, log: Rc::default(), trace });
            }
        },
        expect!["two components have the path `source`"],
    );
}

#[test]
fn items_from_an_inlet_arrive_at_their_cycle_and_in_order() {
    let arrived = |mode, slices: &[u64]| {
        let mut b = SystemBuilder::new(0);
        let clock = b.clock(Freq::mhz(1000).unwrap());
        let (inlet, input) = b.inlet("inlet", clock);
        let log: Rc<RefCell<Vec<(Cycle, u64)>>> = Rc::default();
        let trace = b.tracer("drain", clock);
        b.add("drain", clock, Drain { input, log: log.clone(), trace });
        let mut system = b.build().unwrap();
        system.set_mode(mode);
        inlet.send_at(5, 1);
        inlet.send_at(3, 2); // Arrives with the item before it.
        inlet.send_at(90, 3);
        for &slice in slices {
            assert_eq!(system.run_until(Time::from_ns(slice)), Outcome::Limit);
        }
        assert_eq!(system.run_until(Time::from_ns(100)), Outcome::Quiet);
        inlet.send_at(91, 4); // The last edge so far is 90.
        assert_eq!(system.run_until(Time::from_ns(100)), Outcome::Quiet);
        drop(system);
        Rc::into_inner(log).unwrap().into_inner()
    };
    for mode in [Mode::Normal, Mode::Shuffled(1), Mode::TickAll] {
        assert_eq!(arrived(mode, &[]), [(5, 1), (5, 2), (90, 3), (91, 4)]);
        assert_eq!(arrived(mode, &[4, 5, 89]), [(5, 1), (5, 2), (90, 3), (91, 4)]);
    }
}
