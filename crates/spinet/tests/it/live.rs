//! Frames that a caller exchanges with a running card.

use crate::support;
use kernel::Time;
use spinet::kinds::{self, OwnPolicies, Text};
use spinet::live::{Coming, exchange};
use spinet::run::{Departure, Port, Run, Wanted};
use spinet::toml_text::Format;
use std::path::Path;
use std::time::Duration;

const BUDGET: Duration = Duration::from_secs(60);

fn start(text: &str, base_dir: &Path) -> Run {
    let kind = kinds::of_experiment(text, base_dir, Format::Toml);
    let wanted = Wanted { lines: true, ..Wanted::default() };
    (kind.start)(&Text { text, file: "t.toml", base_dir, format: Format::Toml }, &wanted, OwnPolicies::default())
        .unwrap()
}

fn coming(ns: u64, frame: &[u8]) -> Coming {
    Coming { port: Port::Network(0), at: Time::from_ns(ns), frame: frame.into() }
}

#[test]
fn ports_are_read_as_they_are_written() {
    for port in [Port::Network(0), Port::Network(255), Port::Host(0), Port::Host(65535)] {
        assert_eq!(port.to_string().parse::<Port>().unwrap(), port);
    }
    for text in ["", "network", "network:", "network:256", "host:65536", "host:-1", "line:0"] {
        let error = text.parse::<Port>().unwrap_err().to_string();
        assert_eq!(error, format!("`{text}` is not a port, must be `network:N` or `host:N`"));
    }
}

/// Two packets that a handler copies to the host, one that no context takes, one that a handler sends back.
#[test]
fn packets_for_the_host_leave_there_in_windows_of_any_size() {
    let folder = support::folder_with_program("live_host");
    let text = "program = 'nic.elf'\n[[context]]\nhandler = 'store'\nmatch = 'udp.dst_port == 7'\n\
        [[context]]\nhandler = 'echo'\nmatch = 'udp.dst_port == 9'\n";
    let frames = [(7, 100), (8, 60), (9, 200), (7, 1500)].map(|(port, bytes)| support::udp(1, port, bytes));
    let run = |window_ns: u64| {
        let mut run = start(text, &folder);
        let mut left: Vec<Departure> = Vec::new();
        let mut frames = (2000..).step_by(100).zip(&frames).peekable();
        for until in (0..).step_by(window_ns as usize).map(|ns| ns + window_ns).take_while(|&ns| ns <= 20_000) {
            let now: Vec<_> = std::iter::from_fn(|| frames.next_if(|(ns, _)| *ns <= until)).collect();
            let now = now.into_iter().map(|(ns, frame)| coming(ns, frame)).collect();
            let done = exchange(&mut run, now, Time::from_ns(until), BUDGET).unwrap();
            assert!(done.now == Time::from_ns(until) && !done.progress.is_done && done.refused == 0);
            left.extend(done.left);
        }
        (left, run.digest())
    };
    let (left, digest) = run(100);
    assert!(left.is_sorted_by_key(|departure| departure.at));
    let mut found: Vec<_> = left.iter().map(|one| (one.port, one.frame.to_vec())).collect();
    found.sort();
    let [first, unmatched, returned, last] = frames.clone();
    let mut want =
        vec![(Port::Host(0), first), (Port::Host(0), unmatched), (Port::Network(0), returned), (Port::Host(0), last)];
    want.sort();
    assert!(found == want, "{found:?}");
    assert!(run(5_000) == (left, digest), "the windows changed a result");
}

#[test]
fn a_late_frame_arrives_as_soon_as_possible_and_one_that_is_too_long_is_refused() {
    let folder = support::folder_with_program("live_late");
    let mut run = start("program = 'nic.elf'\n[[context]]\nhandler = 'echo'\n", &folder);
    exchange(&mut run, Vec::new(), Time::from_ns(5_000), BUDGET).unwrap();
    let frames = vec![coming(10, &support::udp(1, 2, 60)), coming(6_000, &[])];
    let done = exchange(&mut run, frames, Time::from_ns(9_000), BUDGET).unwrap();
    assert_eq!((done.left.len(), done.refused), (1, 1), "an empty frame is not one");
    assert!(done.left[0].at > Time::from_ns(5_000) && done.left[0].at < Time::from_ns(6_000));
    let nowhere = Coming { port: Port::Host(0), ..coming(10_000, &[1; 60]) };
    let error = exchange(&mut run, vec![nowhere], Time::from_ns(11_000), BUDGET).err().unwrap();
    assert_eq!(error.to_string(), "host:0: no such port (allowed: network:0)");
}

/// Frames as short as ARP's, in both directions at once.
#[test]
fn a_card_with_chains_takes_frames_of_the_network_and_of_the_host() {
    let folder = support::folder("live_chains");
    let text = "service = ['work: delay, cycles=40, units=2']\npreset_services = false\n\
        chain = ['in: work => host', 'out queues=0: work => network:0']\n";
    let mut run = start(text, &folder);
    let (first, second) = ([0xff; 42], support::udp(1, 7, 98));
    let frames =
        vec![coming(1_000, &first), Coming { port: Port::Host(0), ..coming(1_000, &second) }, coming(2_000, &second)];
    let done = exchange(&mut run, frames, Time::from_ns(50_000), BUDGET).unwrap();
    let mut found: Vec<_> = done.left.iter().map(|one| (one.port, one.frame.to_vec())).collect();
    found.sort();
    let mut want = vec![(Port::Network(0), second.clone()), (Port::Host(0), second), (Port::Host(0), first.to_vec())];
    want.sort();
    assert!(found == want && done.refused == 0 && !done.progress.is_done, "{found:?}");
}
