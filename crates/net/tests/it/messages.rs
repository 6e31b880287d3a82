//! Times of messages, and where they were spent.

use crate::plain::{Messages as Posts, nic, outcome};
use crate::rig::{RATE, direction, link, plan};
use kernel::Time;
use net::messages::{Message, Messages, Part};
use net::network::{Network, Options};
use net::observe::Row;
use net::plain::params::{PlainParams, Transport};
use net::span::Span;
use std::sync::{Arc, Mutex};

/// Payload lengths of messages that are posted at time 0.
fn run(params: &PlainParams, lens: &[u32], faults: &str) -> (Vec<Message>, u64) {
    let posts = Posts::to(1, lens.iter().map(|&len| net::host::Payload::Zeros(len)));
    let nodes = vec![nic("a", params.clone(), || posts), nic("b", params.clone(), Posts::receiver)];
    let plan = plan(nodes, vec![link("ab", (0, 0), (1, 0), direction(RATE, 500, faults))]);
    let rows: Arc<Mutex<Vec<Row>>> = Arc::default();
    let kept = rows.clone();
    let observer = Box::new(move |rows: &[Row]| {
        kept.lock().unwrap().extend_from_slice(rows);
        Ok(())
    });
    let mut network = Network::build(plan, Options { observer: Some(observer), ..Options::default() }).unwrap();
    assert_eq!(network.run_until(Time::from_ns(50_000_000)).unwrap().next, None);
    let mut messages = Messages::default();
    messages.add(&rows.lock().unwrap());
    (messages.take(), outcome(&mut network, 0).2.repeated)
}

/// Segments lead from `posted` to `done` without gaps.
fn check(message: &Message) {
    let (posted, done) = (message.posted.unwrap(), message.done.unwrap());
    let mut now = posted;
    for segment in &message.segments {
        assert_eq!(segment.start, now, "{message:?}");
        assert!(segment.end > segment.start, "{message:?}");
        now = segment.end;
    }
    assert_eq!(now, done, "{message:?}");
    let total = Part::ALL.map(|part| message.time_in(part)).into_iter().fold(Time::ZERO, |sum, time| sum + time);
    assert_eq!(total, done - posted);
    let (first, sent) = (message.first_arrived.unwrap(), message.first_sent.unwrap());
    assert!(posted <= sent && sent < first && first < message.last_arrived.unwrap(), "{message:?}");
}

#[test]
fn two_messages_share_a_line() {
    // 1,000 bytes are one frame: 14 + 20 + 8 + 12 + 16 + 1000 + 4 bytes, 8 of preamble, 4 of FCS, and a gap of 12. A byte takes 80 ps.
    let line = (8 + 14 + 20 + 8 + 12 + 16 + 1000 + 4 + 4) * 80;
    let (messages, _) = run(&PlainParams::default(), &[1000, 1000], "");
    let times = |message: &Message| {
        check(message);
        let parts = Part::ALL.map(|part| message.time_in(part).ps());
        (message.key.number, message.tag, message.len, message.frames, parts)
    };
    let delay = 500_000;
    let found: Vec<_> = messages.iter().map(times).collect();
    assert_eq!(
        found,
        [(0, 0, 1000, 1, [0, line + delay, 0, 0]), (1, 1, 1000, 1, [line + 12 * 80, line + delay, 0, 0])]
    );
}

#[test]
fn repeated_frames_count_and_times_add_up() {
    let lens: Vec<u32> = (0..40).map(|i| i * 97).collect();
    for transport in [Transport::GoBackN, Transport::Selective] {
        for faults in ["loss=0.05", "duplicate=0.1", "loss=0.1,duplicate=0.05,reorder=0.1:9"] {
            let timeout = Span::parse("20 us").unwrap();
            let params =
                PlainParams { mtu: 256, transport, window: 32, ack_every: 4, timeout, ..PlainParams::default() };
            let (messages, repeated) = run(&params, &lens, faults);
            messages.iter().for_each(check);
            let numbers: Vec<u32> = messages.iter().map(|message| message.key.number).collect();
            assert_eq!(numbers, (0..40).collect::<Vec<u32>>(), "a connection keeps the order");
            let needed: u64 = lens.iter().map(|len| u64::from(len.div_ceil(256).max(1))).sum();
            let sent: u64 = messages.iter().map(|message| message.frames).sum();
            let dropped: u64 = messages.iter().map(|message| message.dropped).sum();
            // Frames that are repeated after their message was done are not counted.
            assert!(
                (needed..=needed + repeated).contains(&sent),
                "{transport:?} {faults}: {sent}, {needed} + {repeated}"
            );
            assert!(dropped > 0 || !faults.contains("loss"));
        }
    }
}
