//! Runs of items give the same times as items that are sent and taken one by one.

#![allow(clippy::unwrap_used, reason = "a test may")]

use kernel::{Activity, Component, Cycle, Freq, Mode, Outcome, Ports, RandomStream, Rx, SystemBuilder, Time, Tx};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

/// A marked item is followed by plain ones, which may move as a run.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Item {
    Marked(usize),
    Plain,
}

/// Handles one item a cycle, and pauses before marked ones.
struct Pace {
    pauses: RandomStream,
    longest_pause: u64,
    /// A marked item is handled from this cycle on; `None` until it is first.
    from: Option<Cycle>,
    /// The cycle after the last run or item.
    free: Cycle,
}

impl Pace {
    fn new(b: &SystemBuilder, name: &str, longest_pause: u64) -> Pace {
        Pace { pauses: b.stream(name), longest_pause, from: None, free: 0 }
    }

    /// Returns the cycle from which this item may be handled.
    fn earliest(&mut self, now: Cycle, item: Item) -> Cycle {
        if item == Item::Plain || now < self.free {
            return self.free;
        }
        let (pauses, longest) = (&mut self.pauses, self.longest_pause);
        *self.from.get_or_insert_with(|| now + pauses.below(longest))
    }

    /// `n` items are handled.
    fn handled(&mut self, now: Cycle, n: usize) -> Activity {
        (self.from, self.free) = (None, now + n as Cycle);
        Activity::Until(self.free)
    }
}

/// For each length, sends a marked item and then that number of plain items.
struct Source {
    lengths: Vec<usize>,
    next: (usize, usize),
    longest_run: usize,
    pace: Pace,
    output: Tx<Item>,
}

impl Component for Source {
    fn tick(&mut self, now: Cycle) -> Activity {
        let (mark, at) = self.next;
        let Some(&length) = self.lengths.get(mark) else { return Activity::Idle };
        let item = if at == 0 { Item::Marked(mark) } else { Item::Plain };
        let earliest = self.pace.earliest(now, item);
        if earliest > now {
            return Activity::Until(earliest);
        }
        let room = self.output.room_for_run();
        if room == 0 {
            return Activity::Idle;
        }
        let n = if at == 0 { 1 } else { (length + 1 - at).min(room).min(self.longest_run) };
        self.output.send_run(n, item);
        self.next = if at + n > length { (mark + 1, 0) } else { (mark, at + n) };
        self.pace.handled(now, n)
    }

    fn ports(&self, ports: &mut Ports) {
        ports.output("output", &self.output);
    }
}

/// Forwards items, or logs each with its cycle.
struct Stage {
    input: Rx<Item>,
    longest_run: usize,
    pace: Pace,
    output: Option<Tx<Item>>,
    log: Rc<RefCell<Vec<(Cycle, Item)>>>,
}

impl Component for Stage {
    fn tick(&mut self, now: Cycle) -> Activity {
        let Some(item) = self.input.peek().map(|item| *item) else { return Activity::Idle };
        let earliest = self.pace.earliest(now, item);
        if earliest > now {
            return Activity::Until(earliest);
        }
        let room = self.output.as_ref().map_or(usize::MAX, Tx::room_for_run);
        if room == 0 {
            return Activity::Idle;
        }
        let n = match self.input.has_run() {
            true if self.longest_run > 1 => self.input.take_run(now, room.min(self.longest_run)),
            _ => self.input.take_due(now).map_or(0, |_| 1),
        };
        match &self.output {
            Some(output) => output.send_run(n, item),
            None => self.log.borrow_mut().extend((0..n as Cycle).map(|i| (now + i, item))),
        }
        self.pace.handled(now, n)
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("input", &self.input);
        self.output.iter().for_each(|output| ports.output("output", output));
    }
}

/// The cycles in which items arrive behind a source and two stages.
fn arrivals(
    lengths: &[usize],
    channels: [(usize, u64); 3],
    pauses: [u64; 4],
    runs: [usize; 4],
    mode: Mode,
) -> Vec<(Cycle, Item)> {
    let mut b = SystemBuilder::new(1);
    let clock = b.clock(Freq::mhz(1000).unwrap());
    let log: Rc<RefCell<Vec<(Cycle, Item)>>> = Rc::default();
    let (tx, rx) = b.channel("source", channels[0].0, channels[0].1);
    let mut input = Some(rx);
    let pace = Pace::new(&b, "source", pauses[0]);
    let lengths = lengths.to_vec();
    b.add("source", clock, Source { lengths, next: (0, 0), longest_run: runs[0], pace, output: tx });
    for i in 1..4 {
        let (name, pace) = (format!("stage {i}"), Pace::new(&b, &format!("stage {i}"), pauses[i]));
        let next = channels.get(i).map(|&(capacity, latency)| b.channel(&name, capacity, latency));
        let (output, next) = next.unzip();
        let input = std::mem::replace(&mut input, next).unwrap();
        b.add(&name, clock, Stage { input, longest_run: runs[i], pace, output, log: log.clone() });
    }
    let mut system = b.build().unwrap();
    system.set_mode(mode);
    assert_eq!(system.run_until(Time::from_ns(1_000_000)), Outcome::Quiet);
    drop(system);
    Rc::into_inner(log).unwrap().into_inner()
}

#[test]
fn a_run_passes_a_channel_at_full_rate() {
    let plain = |from: Cycle, n: u64| (from..from + n).map(|cycle| (cycle, Item::Plain));
    // Each channel has a latency of 3 and room for what is in flight.
    let got = arrivals(&[8, 0], [(4, 3); 3], [1; 4], [usize::MAX; 4], Mode::Normal);
    let want: Vec<_> = [(9, Item::Marked(0))].into_iter().chain(plain(10, 8)).chain([(18, Item::Marked(1))]).collect();
    assert_eq!(got, want);
}

proptest! {
    /// The lengths of runs at any part change no time.
    #[test]
    fn runs_change_no_time(
        lengths in prop::collection::vec(0usize..40, 1..8),
        channels in prop::array::uniform3((1usize..12, 1u64..8)),
        pauses in prop::array::uniform4(1u64..40),
        runs in prop::array::uniform4(prop::sample::select(vec![1, 2, 5, usize::MAX])),
        order: u64,
    ) {
        let single = arrivals(&lengths, channels, pauses, [1; 4], Mode::Normal);
        prop_assert_eq!(single.len(), lengths.iter().map(|n| n + 1).sum::<usize>());
        for mode in [Mode::Normal, Mode::Shuffled(order), Mode::TickAll] {
            prop_assert_eq!(&single, &arrivals(&lengths, channels, pauses, runs, mode));
        }
    }
}
