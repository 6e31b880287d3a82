//! Ports: delayed items, the mail flag that reports changes, and panics on misuse.

#![allow(clippy::unwrap_used, reason = "a test may")]

use expect_test::expect;
use kernel::{Activity, Component, Cycle, Freq, Mode, Outcome, Ports, Rx, SystemBuilder, Time, Tx};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Sends an item at each listed edge, delayed by the given number of cycles.
struct Script {
    items: Vec<(Cycle, u64, u64)>,
    output: Tx<u64>,
}

impl Component for Script {
    fn tick(&mut self, now: Cycle) -> Activity {
        while let Some((_, item, late)) = self.items.pop_if(|(at, ..)| *at == now) {
            self.output.send_late(item, late);
        }
        self.items.last().map_or(Activity::Idle, |&(at, ..)| Activity::Until(at))
    }

    fn ports(&self, ports: &mut Ports) {
        ports.output("output", &self.output);
    }
}

/// Takes all items from edge `from` on and logs each with its cycle.
struct Drain {
    input: Rx<u64>,
    from: Cycle,
    log: Rc<RefCell<String>>,
}

impl Component for Drain {
    fn tick(&mut self, now: Cycle) -> Activity {
        if now < self.from {
            return Activity::Until(self.from);
        }
        while let Some(item) = self.input.take() {
            *self.log.borrow_mut() += &format!("{item}@{now} ");
        }
        Activity::Idle
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("input", &self.input);
    }
}

/// Items and arrival cycles for a list of (edge, item, delay), through a channel of latency 2.
fn arrived(items: &[(Cycle, u64, u64)], capacity: usize, mode: Mode) -> String {
    let mut b = SystemBuilder::new(0);
    let clock = b.clock(Freq::mhz(1000).unwrap());
    let (output, input) = b.channel("late", capacity, 2);
    let log: Rc<RefCell<String>> = Rc::default();
    b.add("script", clock, Script { items: items.iter().rev().copied().collect(), output });
    b.add("drain", clock, Drain { input, from: 0, log: log.clone() });
    let mut system = b.build().unwrap();
    system.set_mode(mode);
    assert_eq!(system.run_until(Time::from_ns(1000)), Outcome::Quiet);
    log.take()
}

#[test]
fn a_delayed_item_delays_the_items_behind_it() {
    for mode in [Mode::Normal, Mode::Shuffled(1), Mode::TickAll] {
        assert_eq!(arrived(&[(0, 0, 0), (1, 1, 0), (2, 2, 0)], 8, mode), "0@2 1@3 2@4 ");
        let late = [(0, 0, 0), (1, 1, 5), (2, 2, 0), (3, 3, 0), (4, 4, 100), (5, 5, 1)];
        assert_eq!(arrived(&late, 8, mode), "0@2 1@8 2@8 3@8 4@106 5@106 ");
    }
}

/// Logs at each edge whether it has mail, the items it took, and whether its output is full.
struct Mailbox {
    first: Rx<u64>,
    second: Rx<u64>,
    output: Tx<u64>,
    log: Rc<RefCell<String>>,
}

impl Component for Mailbox {
    fn tick(&mut self, now: Cycle) -> Activity {
        let (has_mail, again) = (self.first.take_mail(), self.second.take_mail());
        assert!(!again, "one call clears the flag of all ports");
        let items: Vec<_> = [&self.first, &self.second].into_iter().filter_map(Rx::take).collect();
        let stalls = now >= 6 && !self.output.has_room();
        if now == 5 {
            self.output.send(0);
        }
        *self.log.borrow_mut() +=
            &format!("{now}:{}{items:?}{} ", if has_mail { "mail" } else { "" }, if stalls { "full" } else { "" });
        if now < 12 { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("first", &self.first);
        ports.input("second", &self.second);
        ports.output("output", &self.output);
    }
}

#[test]
fn mail_is_set_only_by_a_change_at_a_port() {
    let mut b = SystemBuilder::new(0);
    let clock = b.clock(Freq::mhz(1000).unwrap());
    let (send_first, first) = b.channel("first", 4, 1);
    let (send_second, second) = b.channel("second", 4, 1);
    let (output, input) = b.channel("output", 1, 1);
    let log: Rc<RefCell<String>> = Rc::default();
    b.add("early", clock, Script { items: vec![(3, 8, 0), (1, 7, 0)], output: send_first });
    b.add("late", clock, Script { items: vec![(3, 9, 0)], output: send_second });
    b.add("mailbox", clock, Mailbox { first, second, output, log: log.clone() });
    b.add("drain", clock, Drain { input, from: 9, log: Rc::default() });
    assert_eq!(b.build().unwrap().run_until(Time::from_ns(100)), Outcome::Quiet);
    // At edge 0 all components tick; at 10 the output has room.
    expect![
        "0:mail[] 1:[] 2:mail[7] 3:[] 4:mail[8, 9] 5:[] 6:[]full 7:[]full 8:[]full 9:[]full 10:mail[] 11:[] 12:[] "
    ]
    .assert_eq(&log.borrow());
}

#[test]
fn every_way_to_send_announces_the_item() {
    let mut b = SystemBuilder::new(0);
    let (fast, slow) = (b.clock(Freq::mhz(1000).unwrap()), b.clock(Freq::mhz(300).unwrap()));
    let (send_within, within) = b.channel("within", 4, 1);
    let (send_across, across) = b.channel("across", 4, 1);
    let (send_run, run) = b.channel("run", 4, 1);
    let (inlet, outside) = b.inlet("outside", fast);
    let set: Rc<Cell<u64>> = Rc::default();
    for (input, member) in [(&within, 1), (&across, 2), (&run, 4), (&outside, 8)] {
        input.announce(&set, member);
    }
    b.add("within", fast, Script { items: vec![(3, 7, 0)], output: send_within });
    b.add("across", slow, Script { items: vec![(3, 7, 0)], output: send_across }); // 10 ns
    b.add("run", fast, Runner { at: 20, output: send_run });
    for (name, input) in [("a", within), ("b", across), ("c", run), ("d", outside)] {
        b.add(name, fast, Drain { input, from: 0, log: Rc::default() });
    }
    let mut system = b.build().unwrap();
    let mut sets = String::new();
    for ns in [2, 3, 9, 10, 19, 20, 30] {
        system.run_until(Time::from_ns(ns));
        sets += &format!("{ns}:{} ", set.get());
    }
    inlet.send_at(40, 7);
    expect!["2:0 3:1 9:1 10:3 19:3 20:7 30:7 "].assert_eq(&sets);
    assert_eq!(set.get(), 15);
}

/// Sends a run of two items at one edge.
struct Runner {
    at: Cycle,
    output: Tx<u64>,
}

impl Component for Runner {
    fn tick(&mut self, now: Cycle) -> Activity {
        if now == self.at {
            self.output.send_run(2, 7);
        }
        if now < self.at { Activity::Until(self.at) } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.output("output", &self.output);
    }
}

/// Runs code that must panic and returns the message.
fn panic_message(make: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let caught = std::panic::catch_unwind(make).expect_err("the call panics");
    caught.downcast_ref::<String>().expect("a panic carries its message").clone()
}

#[test]
fn misuse_of_a_port_panics_with_its_reason() {
    let full = panic_message(|| drop(arrived(&[(0, 0, 0), (0, 1, 0)], 1, Mode::Normal)));
    expect!["channel late is full"].assert_eq(&full);
    let past = panic_message(|| drop(arrived(&[(5, 0, 0), (3, 1, 0)], 1, Mode::Normal)));
    expect!["script: asked for a tick at cycle 3, but it is cycle 5"].assert_eq(&past);
    expect!["inlet packets: cannot send at cycle 7, it is already simulated"].assert_eq(&panic_message(|| {
        let mut b = SystemBuilder::new(0);
        let clock = b.clock(Freq::mhz(1000).unwrap());
        let (inlet, input) = b.inlet("packets", clock);
        b.add("drain", clock, Drain { input, from: 0, log: Rc::default() });
        let mut system = b.build().unwrap();
        inlet.send_at(7, 1);
        system.run_until(Time::from_ns(1000));
        inlet.send_at(7, 2);
    }));
}
