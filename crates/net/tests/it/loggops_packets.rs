//! Schedules whose messages travel as packets, checked by arithmetic.

use kernel::Time;
use net::NodeId;
use net::goal::{Schedule, text};
use net::loggops::{Model, Outcome, Params, Paths, Rank, RankResult, StepKind, Stuck, gather};
use net::messages::Messages;
use net::network::{Network, Options};
use net::node::{BuildNode, Node};
use net::observe::Row;
use net::plain::PlainNic;
use net::plain::params::PlainParams;
use net::spec::{LinkParams, NetworkSpec};
use net::switch::params::SwitchParams;
use net::topology::Topology;
use std::sync::{Arc, Mutex};

/// Byte time at 100 Gbit/s, and the delay of a link, in ns.
const BYTE: f64 = 0.08;
const DELAY: f64 = 500.0;
/// Bytes on the line besides the payload, from the preamble to the last bit: of a write or a read request, and of an answer.
const WRITE: u64 = 8 + 14 + 20 + 8 + 12 + 16 + 4 + 4;
const ANSWER: u64 = WRITE - 12;

fn run(text: &str, params: &str, model: Model, threads: usize) -> (Result<Outcome, Stuck>, Arc<Schedule>, String) {
    let schedule = Arc::new(text::read(text.as_bytes(), "t.goal").unwrap());
    let params = Params::parse(params).unwrap();
    let ranks = schedule.n_ranks();
    let topology = if ranks == 2 { Topology::Pair {} } else { Topology::Star { nodes: ranks } };
    let spec = NetworkSpec { topology: Some(topology), link: LinkParams::default(), ..NetworkSpec::default() };
    let plan = spec.design(&["plain"], |_| false).unwrap().plan(|id, _, _| {
        let schedule = schedule.clone();
        let build: BuildNode = Box::new(move |place| {
            let rank = Rank::new(schedule, params, model, id.0)?;
            Ok(Box::new(PlainNic::new(PlainParams::default(), place, Box::new(rank))?) as Box<dyn Node>)
        });
        Ok::<_, std::convert::Infallible>(build)
    });
    let rows: Arc<Mutex<Vec<Row>>> = Arc::default();
    let kept = rows.clone();
    let observer = Box::new(move |rows: &[Row]| {
        kept.lock().unwrap().extend_from_slice(rows);
        Ok(())
    });
    let options = Options { threads, observer: Some(observer), ..Options::default() };
    let mut network = Network::build(plan.unwrap(), options).unwrap();
    assert_eq!(network.run_until(Time::from_ns(1_000_000_000)).unwrap().next, None);
    let take =
        |node: &mut dyn Node| node.as_any().downcast_mut::<PlainNic>().unwrap().program_as::<Rank>().unwrap().take();
    let digest = network.digest().unwrap();
    let results: Vec<RankResult> = (0..ranks).map(|rank| network.with_node(NodeId(rank), take).unwrap()).collect();
    let mut messages = Messages::default();
    messages.add(&rows.lock().unwrap());
    let paths: Paths = messages.take().into_iter().map(|message| (message.key, message.segments)).collect();
    (gather(&schedule, params, model, &results, &paths), schedule, digest)
}

/// Nanoseconds as whole picoseconds.
fn ps(ns: f64) -> u64 {
    (ns * 1000.0).round() as u64
}

/// The ends of the hosts in ps. Checks that the critical path has no gaps.
fn ends(text: &str, params: &str, model: Model) -> Vec<u64> {
    let (outcome, schedule, _) = run(text, params, model, 1);
    let outcome = outcome.unwrap_or_else(|stuck| panic!("{stuck}"));
    let path = outcome.record.as_ref().unwrap().critical_path(&schedule);
    let mut now = Time::ZERO;
    for step in &path {
        assert_eq!(step.start, now, "{path:?}");
        now = step.end;
    }
    assert_eq!(now, outcome.finish, "{path:?}");
    outcome.hosts.iter().map(|end| end.ps()).collect()
}

const PAIR: &str = "num_ranks 2\nrank 0 {\na: calc 1000\nb: send 100b to 1 tag 7\nb requires a\n}\n\
    rank 1 {\na: recv 100b from 0 tag 7\nb: calc 10\nb requires a\n}\n";

#[test]
fn a_message_takes_overheads_serialisation_and_delay() {
    let line = (WRITE + 100) as f64 * BYTE + DELAY;
    for (model, params) in [(Model::Loggopsim2010, "o=1500,g=0"), (Model::Atlahs, "o=1500,g=0")] {
        assert_eq!(ends(PAIR, params, model), [2500.0, 2500.0 + line + 1500.0 + 10.0].map(ps), "{model:?}");
    }
    // O adds 2 ns for each of 99 bytes. The message leaves after o (2010), or when the processor is done (atlahs).
    assert_eq!(ends(PAIR, "o=1500,O=2,g=0", Model::Loggopsim2010), [2698.0, 2500.0 + line + 1698.0 + 10.0].map(ps));
    assert_eq!(ends(PAIR, "o=1500,O=2,g=0", Model::Atlahs), [2698.0, 2698.0 + line + 1698.0 + 10.0].map(ps));
}

/// The kinds of the critical path's steps, and their lengths in ps.
fn steps(text: &str, params: &str) -> Vec<(&'static str, u64)> {
    let (outcome, schedule, _) = run(text, params, Model::Loggopsim2010, 1);
    let path = outcome.unwrap_or_else(|stuck| panic!("{stuck}")).record.unwrap().critical_path(&schedule);
    path.iter().map(|step| (step.kind.name(), (step.end - step.start).ps())).collect()
}

#[test]
fn the_critical_path_divides_the_way_of_a_message() {
    let line = (WRITE + 100) as f64 * BYTE;
    let pair = [("calc", 1000.0), ("send", 1500.0), ("link", line + DELAY), ("receive", 1500.0), ("calc", 10.0)];
    assert_eq!(steps(PAIR, "o=1500,g=0"), pair.map(|(kind, ns)| (kind, ps(ns))));
    // Two senders share the line from the switch to rank 0. The second message waits for the first one there.
    let text = "num_ranks 3\nrank 0 {\na: recv 1000b from 1\nb: recv 1000b from 2\n}\n\
        rank 1 {\nsend 1000b to 0\n}\nrank 2 {\nsend 1000b to 0\n}\n";
    let line = (WRITE + 1000) as f64 * BYTE;
    let found = steps(text, "o=0,g=0");
    let latency = SwitchParams::default().latency.time().fs() as f64 / 1e6;
    let gap = (12 + 8) as f64 * BYTE - 8.0 * BYTE; // between the last bit of a frame and the preamble of the next one
    let way = [("link", line + DELAY), ("queue", latency + line + gap), ("link", line + DELAY)];
    assert_eq!(found, way.map(|(kind, ns)| (kind, ps(ns))));
    // Two messages of one sender: the second one waits in the NIC.
    let text = "num_ranks 2\nrank 0 {\nsend 1000b to 1\nsend 1000b to 1\n}\nrank 1 {\nrecv 1000b from 0\nrecv 1000b from 0\n}\n";
    assert_eq!(steps(text, "o=0,g=0"), [("nic", line + gap), ("link", line + DELAY)].map(|(kind, ns)| (kind, ps(ns))));
}

#[test]
fn the_critical_path_has_the_announcement_and_the_read_of_a_large_message() {
    let text = "num_ranks 2\nrank 0 {\nsend 1000b to 1\n}\nrank 1 {\nrecv 1000b from 0\n}\n";
    let announced = (WRITE + 8) as f64 * BYTE + DELAY;
    let answer = (ANSWER + 1000) as f64 * BYTE + DELAY;
    // Announcement, request and answer cross the link one after the other.
    let links = [
        ("send", 100.0),
        ("link", announced),
        ("link", WRITE as f64 * BYTE + DELAY),
        ("link", answer),
        ("receive", 100.0),
    ];
    assert_eq!(steps(text, "o=100,g=0,S=999"), links.map(|(kind, ns)| (kind, ps(ns))));
}

#[test]
fn sends_keep_the_gap() {
    let text = "num_ranks 2\nrank 0 {\nsend 1b to 1\nsend 1b to 1\nsend 1b to 1\n}\n\
        rank 1 {\nrecv 1b from 0\nrecv 1b from 0\nrecv 1b from 0\n}\n";
    // Sends begin at 0, 900 and 1800 ns, and receives at the same intervals.
    let line = (WRITE + 4) as f64 * BYTE + DELAY;
    assert_eq!(ends(text, "o=100,g=900", Model::Loggopsim2010), [1900.0, 1800.0 + 100.0 + line + 100.0].map(ps));
}

#[test]
fn a_large_message_waits_for_its_receive() {
    let text =
        "num_ranks 2\nrank 0 {\nsend 1000b to 1\n}\nrank 1 {\na: calc 5000\nb: recv 1000b from 0\nb requires a\n}\n";
    let answer = (ANSWER + 1000) as f64 * BYTE;
    let got = ends(text, "o=100,g=0,S=999", Model::Loggopsim2010);
    // The receiver asks at 5000 ns; the sender ends when its bytes have left.
    let requested = 5000.0 + WRITE as f64 * BYTE + DELAY;
    assert_eq!(got, [requested + answer, requested + answer + DELAY + 100.0].map(ps));
    // If the receive is posted before, the request follows the announcement, which has 8 bytes.
    let early = text.replace("calc 5000", "calc 0");
    let announced = 100.0 + (WRITE + 8) as f64 * BYTE + DELAY;
    let requested = announced + WRITE as f64 * BYTE + DELAY;
    assert_eq!(ends(&early, "o=100,g=0,S=999", Model::Loggopsim2010)[0], ps(requested + answer));
}

#[test]
fn wildcards_own_messages_and_starts_of_operations() {
    let text = "num_ranks 2\nrank 0 {\na: calc 1000\nb: send 8b to 0 tag 3\nb irequires a\nc: recv 8b from -1 tag -1\n}\n\
        rank 1 {\ncalc 5\n}\n";
    // `b` may begin when `a` begins, but waits for the processor: 1000 ns, then 10 ns to send and 10 ns to receive.
    assert_eq!(ends(text, "o=10,g=0", Model::Loggopsim2010), [1020.0, 5.0].map(ps));
    let other = text.replace("b irequires a", "b irequires a\nd: calc 7 cpu 1\nd requires b");
    assert_eq!(ends(&other, "o=10,g=0", Model::Loggopsim2010)[0], ps(1020.0));
}

#[test]
fn messages_that_come_first_wait_for_their_receive() {
    let text = "num_ranks 2\nrank 0 {\nsend 4b to 1\n}\nrank 1 {\na: calc 9000\nb: recv 4b from 0\nb requires a\n}\n";
    // 2010: the processor handles the message after the computation; at that time the receive is posted, too. atlahs: it handles
    // the message after the receive, with the same o.
    for model in [Model::Loggopsim2010, Model::Atlahs] {
        assert_eq!(ends(text, "o=100,g=0", model), [100.0, 9100.0].map(ps), "{model:?}");
    }
}

#[test]
fn threads_change_no_time() {
    let mut text = "num_ranks 6\n".to_owned();
    for rank in 0..6 {
        let others = (0..6).filter(|&peer| peer != rank);
        let lines = others.map(|peer| format!("send {}b to {peer}\nrecv {}b from {peer}\n", 9000 + rank, 9000 + peer));
        text += &format!("rank {rank} {{\n{}}}\n", lines.collect::<String>());
    }
    let result = |threads| {
        let (outcome, _, digest) = run(&text, "o=100,g=50,O=0", Model::Loggopsim2010, threads);
        (outcome.unwrap().hosts, digest)
    };
    let want = result(1);
    assert!(result(2) == want && result(3) == want);
    // Five messages of three packets arrive at each rank, one after the other.
    let bytes = 5 * (3 * (WRITE + 12 - 16) + 16 + 9000);
    let least = bytes as f64 * BYTE;
    let last = want.0.iter().max().unwrap().fs() as f64 / 1e6;
    assert!(last > least && last < 2.0 * least + 2500.0, "{last} ns, at least {least}");
}

#[test]
fn schedules_that_wait_for_ever_name_the_circle() {
    let text = "num_ranks 2\nrank 0 {\na: recv 1b from 1\nb: send 1b to 1\nb requires a\n}\n\
        rank 1 {\na: recv 1b from 0\nb: send 1b to 0\nb requires a\n}\n";
    let (outcome, _, _) = run(text, "", Model::Loggopsim2010, 1);
    assert_eq!(
        outcome.err().unwrap().to_string(),
        "the schedule cannot end: rank 0 waits in recv (line 3) for rank 1, which waits in recv (line 8) for rank 0 (left: 2 receives \
         without a message, 0 messages without a receive, 4 operations without an end)"
    );
    let left = "num_ranks 2\nrank 0 {\nsend 1b to 1 tag 5\n}\nrank 1 {\ncalc 1\n}\n";
    let text = run(left, "", Model::Loggopsim2010, 1).0.err().unwrap().to_string();
    assert!(text.contains("no receive of rank 1 takes the message of send (line 3) of rank 0"), "{text}");
}

#[test]
fn the_path_has_the_steps_of_the_message() {
    let (outcome, schedule, _) = run(PAIR, "o=1500,g=0", Model::Loggopsim2010, 1);
    let path = outcome.unwrap().record.unwrap().critical_path(&schedule);
    let kinds: Vec<StepKind> = path.iter().map(|step| step.kind).collect();
    use StepKind::{Calc, Link, Receive, Send};
    assert_eq!(kinds, [Calc, Send, Link, Receive, Calc]);
}
