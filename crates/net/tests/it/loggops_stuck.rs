//! Schedules that cannot end: which rank waits for which.

use crate::drawn::read;
use expect_test::{Expect, expect};
use net::loggops::{Model, Params, RunError, run};

/// The operations of each rank, one a line.
fn check(ranks: &[&str], params: &str, want: Expect) {
    let body = |(rank, ops): (usize, &&str)| format!("rank {rank} {{\n{ops}\n}}\n");
    let text = format!("num_ranks {}\n{}", ranks.len(), ranks.iter().enumerate().map(body).collect::<String>());
    let schedule = read(&text);
    let params = Params::parse(params).unwrap();
    let errors = [Model::Loggopsim2010, Model::Atlahs].map(|model| match run(&schedule, &params, model, false) {
        Err(RunError::Stuck(stuck)) => stuck.to_string(),
        other => panic!("{:?}", other.map(|outcome| outcome.finish)),
    });
    assert_eq!(errors[0], errors[1]);
    want.assert_eq(&errors[0]);
}

#[test]
fn cycles_of_waits_are_named() {
    let wait_then_send = |peer| format!("a: recv 8b from {peer}\nb: send 8b to {peer}\nb requires a");
    check(
        &[&wait_then_send(1), &wait_then_send(0)],
        "",
        expect![
            "the schedule cannot end: rank 0 waits in recv (line 3) for rank 1, which waits in recv (line 8) for rank 0 (left: 2 receives without a message, 0 messages without a receive, 4 operations without an end)"
        ],
    );
    let ring = |from, to| format!("a: recv 8b from {from}\nb: send 8b to {to}\nb requires a");
    check(
        &["calc 5", &ring(3, 2), &ring(1, 3), &ring(2, 1)],
        "",
        expect![
            "the schedule cannot end: rank 1 waits in recv (line 6) for rank 3, which waits in recv (line 16) for rank 2, which waits in recv (line 11) for rank 1 (left: 3 receives without a message, 0 messages without a receive, 6 operations without an end)"
        ],
    );
    // Both send above the eager limit before they receive.
    let send_then_wait = |peer| format!("a: send 8b to {peer}\nb: recv 8b from {peer}\nb requires a");
    check(
        &[&send_then_wait(1), &send_then_wait(0)],
        "S=0",
        expect![
            "the schedule cannot end: rank 0 waits in send (line 3) for rank 1, which waits in send (line 8) for rank 0 (left: 0 receives without a message, 2 messages without a receive, 4 operations without an end)"
        ],
    );
    check(
        &["recv 8b from 0"],
        "",
        expect![
            "the schedule cannot end: rank 0 waits in recv (line 3) for rank 0 (left: 1 receive without a message, 0 messages without a receive, 1 operation without an end)"
        ],
    );
}

#[test]
fn waits_without_a_cycle_are_listed() {
    check(
        &["recv 8b from 1", "calc 1"],
        "",
        expect![
            "the schedule cannot end: rank 0 waits in recv (line 3) for rank 1, which has ended (left: 1 receive without a message, 0 messages without a receive, 1 operation without an end)"
        ],
    );
    check(
        &["recv 8b from -1", "calc 1"],
        "",
        expect![
            "the schedule cannot end: rank 0 waits in recv (line 3) for any rank (left: 1 receive without a message, 0 messages without a receive, 1 operation without an end)"
        ],
    );
    check(
        &["recv 8b from 1", "a: recv 8b from 2\nb: send 8b to 0\nb requires a", ""],
        "",
        expect![
            "the schedule cannot end: rank 0 waits in recv (line 3) for rank 1, which waits too; rank 1 waits in recv (line 6) for rank 2, which has ended (left: 2 receives without a message, 0 messages without a receive, 3 operations without an end)"
        ],
    );
    check(
        &["send 8b to 1", "calc 1"],
        "",
        expect![
            "the schedule cannot end: no receive of rank 1 takes the message of send (line 3) of rank 0 (left: 0 receives without a message, 1 message without a receive, 0 operations without an end)"
        ],
    );
    check(
        &["send 8b to 1 tag 3", "recv 8b from 0 tag 4"],
        "",
        expect![
            "the schedule cannot end: rank 1 waits in recv (line 6) for rank 0, which has ended; no receive of rank 1 takes the message of send (line 3) of rank 0 (left: 1 receive without a message, 1 message without a receive, 1 operation without an end)"
        ],
    );
    check(
        &[&"send 8b to 1\n".repeat(20), "calc 1"],
        "",
        expect![
            "the schedule cannot end: no receive of rank 1 takes the message of send (line 3) of rank 0; no receive of rank 1 takes the message of send (line 4) of rank 0; no receive of rank 1 takes the message of send (line 5) of rank 0; no receive of rank 1 takes the message of send (line 6) of rank 0 (left: 0 receives without a message, 20 messages without a receive, 0 operations without an end)"
        ],
    );
}
