//! A stream has the same times as channels: for the memory, planned references are like references that are sent one by one.

use blocks::bus::{Access, Planned, Reference, Requester, Responder, Stream};
use blocks::memory::{MemoryController, MemoryControllerParams};
use blocks::policy::{FixedPriority, Policy};
use kernel::{Activity, Component, Cycle, Freq, Mode, Ports, SystemBuilder, Time};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

/// Most references outstanding at a port; more than a connection has room for.
const MOST: usize = 4;
const ROOM: usize = 2;

/// A word to read or write, not before a cycle.
#[derive(Clone, Copy, Debug)]
struct Word {
    from: Cycle,
    at: u64,
    is_write: bool,
}

impl Word {
    fn access(&self) -> Access {
        if self.is_write { Access::Write(self.from.to_be_bytes()[..].into()) } else { Access::Read(8) }
    }
}

/// Words in order, and urgent ones, which go before all words that are not sent yet.
#[derive(Clone, Debug)]
struct Script {
    words: Vec<Word>,
    urgent: Vec<Word>,
}

/// The cycle in which each reply is visible, with its bytes.
type Log = Rc<RefCell<Vec<(Cycle, Vec<u8>)>>>;

/// Sends each reference itself.
struct Sender {
    script: Script,
    port: Requester,
    n_words: usize,
    n_urgent: usize,
    n_replies: usize,
    log: Log,
}

impl Component for Sender {
    fn tick(&mut self, now: Cycle) -> Activity {
        while let Some(reply) = self.port.replies.take() {
            self.n_replies += 1;
            self.log.borrow_mut().push((now, reply.result.expect("every word exists").to_vec()));
        }
        let is_due = |word: &&Word| word.from <= now;
        let urgent = self.script.urgent.get(self.n_urgent).filter(is_due);
        let next = urgent.or_else(|| self.script.words.get(self.n_words).filter(is_due));
        let n_under_way = self.n_words + self.n_urgent - self.n_replies;
        if let Some(word) = next.filter(|_| n_under_way < MOST && self.port.references.has_room()) {
            self.port.references.send(Reference { id: 0, addr: word.at, access: word.access() });
            *(if urgent.is_some() { &mut self.n_urgent } else { &mut self.n_words }) += 1;
        }
        let is_done = self.n_words == self.script.words.len() && self.n_urgent == self.script.urgent.len();
        if is_done { Activity::Idle } else { Activity::Busy }
    }

    fn ports(&self, ports: &mut Ports) {
        self.port.port("port", ports);
    }
}

/// Plans references ahead.
struct Planner {
    script: Script,
    port: Requester,
    stream: Option<Rc<Stream>>,
    /// The words that were planned, and which of them are urgent, in order.
    is_urgent: Vec<bool>,
    n_words: usize,
    n_urgent: usize,
    ahead: usize,
    log: Log,
}

impl Planner {
    fn plan(&mut self, stream: &Stream, now: Cycle, word: Word, is_urgent: bool) {
        let is_quiet = !self.is_urgent.len().is_multiple_of(3);
        self.is_urgent.push(is_urgent);
        *(if is_urgent { &mut self.n_urgent } else { &mut self.n_words }) += 1;
        let planned = Planned::new(word.from.max(now), word.at, word.access()).quiet(is_quiet);
        if let Some(cycle) = stream.plan(planned) {
            self.port.references.wake_receiver(cycle);
        }
    }
}

impl Component for Planner {
    fn tick(&mut self, now: Cycle) -> Activity {
        let stream = self.stream.get_or_insert_with(|| {
            let stream = self.port.references.offered::<Stream>().expect("the memory offers one");
            stream.open(ROOM);
            stream
        });
        let stream = stream.clone();
        while let Some(reply) = stream.reply(now) {
            self.log.borrow_mut().push((reply.at, reply.result.expect("every word exists").to_vec()));
        }
        let is_due = |word: &&Word| word.from <= now;
        if self.script.urgent.get(self.n_urgent).is_some_and(|word| is_due(&word)) {
            for _ in 0..stream.take_back(now) {
                let is_urgent = self.is_urgent.pop().expect("it was planned");
                *(if is_urgent { &mut self.n_urgent } else { &mut self.n_words }) -= 1;
            }
            let urgent: Vec<Word> = self.script.urgent[self.n_urgent..].iter().take_while(is_due).copied().collect();
            urgent.into_iter().for_each(|word| self.plan(&stream, now, word, true));
        }
        while stream.n_planned(now) < self.ahead
            && let Some(&word) = self.script.words.get(self.n_words)
        {
            self.plan(&stream, now, word, false);
        }
        if let Some(cycle) = stream.wake_when_sent(self.ahead / 2) {
            self.port.references.wake_sender(cycle.max(now + 1));
        }
        match self.script.urgent.get(self.n_urgent) {
            Some(word) => Activity::Until(word.from.max(now + 1)),
            None if self.n_words < self.script.words.len() || stream.n_planned(0) > 0 => Activity::Busy,
            None => stream.reply_due().map_or(Activity::Until(now + 40), |due| Activity::Until(due.max(now + 1))),
        }
    }

    fn ports(&self, ports: &mut Ports) {
        self.port.port("port", ports);
    }
}

/// Both logs and the counters of a run.
type Seen = (Vec<Vec<(Cycle, Vec<u8>)>>, Vec<(String, u64)>);

/// Runs both scripts against one memory, the first one as a stream if `ahead` says how many references to plan.
fn run(scripts: &[Script; 2], ahead: Option<usize>, mode: Mode) -> Seen {
    let mut system = SystemBuilder::new(1);
    let clock = system.clock(Freq::mhz(100).expect("a frequency"));
    let (mut ports, logs) = (Vec::new(), [Log::default(), Log::default()]);
    for (i, (script, log)) in scripts.iter().cloned().zip(logs.clone()).enumerate() {
        let (references, requests) = system.channel(&format!("references{i}"), ROOM, 1);
        let (answers, replies) = system.channel(&format!("replies{i}"), ROOM, 1);
        ports.push(Some(Responder { references: requests, replies: answers }));
        let (port, n_words, n_urgent) = (Requester { references, replies }, 0, 0);
        match ahead.filter(|_| i == 0) {
            Some(ahead) => {
                let (stream, is_urgent) = (None, Vec::new());
                let planner = Planner { script, port, stream, is_urgent, n_words, n_urgent, ahead, log };
                system.add("requester0", clock, planner);
            }
            None => {
                let sender = Sender { script, port, n_words, n_urgent, n_replies: 0, log };
                system.add(&format!("requester{i}"), clock, sender);
            }
        }
    }
    let groups = vec![vec![0], vec![1]];
    let params = MemoryControllerParams {
        bytes: 256,
        word_bytes: 8,
        first_word_cycles: 2,
        burst_words: 4,
        requesters: 2,
        max_bytes: 8,
        rows: None,
        policy: Policy::FixedPriority(FixedPriority { groups, keeps_bursts: true, timeout_cycles: 9 }),
    };
    system.add("memory", clock, MemoryController::new(params, ports));
    let mut system = system.build().expect("it is wired");
    system.set_mode(mode);
    system.run_until(Time::from_ns(20_000));
    (logs.iter().map(|log| log.borrow().clone()).collect(), system.counters())
}

fn words(n: usize) -> impl Strategy<Value = Vec<Word>> {
    let word = (prop_oneof![8 => Just(0u64), 2 => 0..30u64], 0..8u64, any::<bool>(), 0..4usize);
    prop::collection::vec(word, 0..n).prop_map(|words| {
        let mut from = 0;
        let mut all = Vec::new();
        for (gap, jump, is_write, run) in words {
            from += gap;
            let mut at = jump * 32;
            for _ in 0..=run {
                all.push(Word { from, at: at % 256, is_write });
                at += 8;
            }
        }
        all
    })
}

proptest! {
    #[test]
    fn a_stream_has_the_times_of_a_channel(
        planned in words(20), urgent in words(4), others in words(12), ahead in 1..12usize, seed in any::<u64>(),
    ) {
        let scripts = [Script { words: planned, urgent }, Script { words: others, urgent: Vec::new() }];
        let expected = run(&scripts, None, Mode::Normal);
        prop_assert_eq!(&run(&scripts, Some(ahead), Mode::Normal), &expected);
        prop_assert_eq!(&run(&scripts, Some(ahead), Mode::Shuffled(seed)), &expected);
        prop_assert_eq!(&run(&scripts, Some(ahead), Mode::TickAll), &expected);
    }
}
