//! What components may expect of their ports: items late as they were sent, mail when something has changed, and a word on what
//! they did wrong.

#![allow(clippy::unwrap_used, reason = "a test may")]

use expect_test::expect;
use kernel::{Activity, Component, Cycle, Freq, Mode, Outcome, Ports, Rx, SystemBuilder, Time, Tx};
use std::cell::RefCell;
use std::rc::Rc;

/// Sends at these edges, each item by so many cycles late.
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

/// Takes all that comes, from an edge on, and writes down what and when.
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

/// What arrives of these items, each with its edge and by how many cycles it is late, through a channel of latency 2.
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
fn what_is_sent_late_is_late_and_so_is_what_follows_it() {
    for mode in [Mode::Normal, Mode::Shuffled(1), Mode::TickAll] {
        assert_eq!(arrived(&[(0, 0, 0), (1, 1, 0), (2, 2, 0)], 8, mode), "0@2 1@3 2@4 ");
        let late = [(0, 0, 0), (1, 1, 5), (2, 2, 0), (3, 3, 0), (4, 4, 100), (5, 5, 1)];
        assert_eq!(arrived(&late, 8, mode), "0@2 1@8 2@8 3@8 4@106 5@106 ");
    }
}

/// What a component that looks at its ports only when it has mail is told at each of its edges.
struct Mailbox {
    first: Rx<u64>,
    second: Rx<u64>,
    output: Tx<u64>,
    told: Rc<RefCell<String>>,
}

impl Component for Mailbox {
    fn tick(&mut self, now: Cycle) -> Activity {
        let (has_mail, again) = (self.first.take_mail(), self.second.take_mail());
        assert!(!again, "mail is of all ports, and asked for once");
        let items: Vec<_> = [&self.first, &self.second].into_iter().filter_map(Rx::take).collect();
        let stalls = now >= 6 && !self.output.has_room();
        if now == 5 {
            self.output.send(0);
        }
        *self.told.borrow_mut() +=
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
fn there_is_mail_when_a_port_has_changed_and_not_otherwise() {
    let mut b = SystemBuilder::new(0);
    let clock = b.clock(Freq::mhz(1000).unwrap());
    let (send_first, first) = b.channel("first", 4, 1);
    let (send_second, second) = b.channel("second", 4, 1);
    let (output, input) = b.channel("output", 1, 1);
    let told: Rc<RefCell<String>> = Rc::default();
    b.add("early", clock, Script { items: vec![(3, 8, 0), (1, 7, 0)], output: send_first });
    b.add("late", clock, Script { items: vec![(3, 9, 0)], output: send_second });
    b.add("mailbox", clock, Mailbox { first, second, output, told: told.clone() });
    b.add("drain", clock, Drain { input, from: 9, log: Rc::default() });
    assert_eq!(b.build().unwrap().run_until(Time::from_ns(100)), Outcome::Quiet);
    // At first all are woken; at 10 there is room.
    expect![
        "0:mail[] 1:[] 2:mail[7] 3:[] 4:mail[8, 9] 5:[] 6:[]full 7:[]full 8:[]full 9:[]full 10:mail[] 11:[] 12:[] "
    ]
    .assert_eq(&told.borrow());
}

/// Our own mistakes end a run with a word on what they are.
fn mistake(make: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let caught = std::panic::catch_unwind(make).expect_err("it is a mistake");
    caught.downcast_ref::<String>().expect("a word on it").clone()
}

#[test]
fn mistakes_of_components_are_told() {
    let full = mistake(|| drop(arrived(&[(0, 0, 0), (0, 1, 0)], 1, Mode::Normal)));
    expect!["channel late is full"].assert_eq(&full);
    let past = mistake(|| drop(arrived(&[(5, 0, 0), (3, 1, 0)], 1, Mode::Normal)));
    expect!["script waits for the past"].assert_eq(&past);
    expect!["inlet packets: cycle 7 is over"].assert_eq(&mistake(|| {
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
