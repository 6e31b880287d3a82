//! The rules of the model, checked by arithmetic, and the critical path.

use crate::drawn::{self, read};
use expect_test::{Expect, expect};
use kernel::{RandomStream, Time};
use net::loggops::{Model, Params, StepKind, run};
use std::collections::BTreeMap;

fn hosts(text: &str, params: &str, model: Model) -> Vec<u64> {
    let outcome = run(&read(text), &Params::parse(params).unwrap(), model, false).unwrap();
    outcome.hosts.iter().map(|time| time.ns()).collect()
}

const TWO: &str = "num_ranks 2\nrank 0 {\na: calc 1000\nb: send 100b to 1\nb requires a\n}\n\
                   rank 1 {\na: recv 100b from 0\nb: calc 10\nb requires a\n}\n";

#[test]
fn a_message_by_hand() {
    // 1000 calc + 1500 o; then + 2500 L + 1500 o + 99 * 6 G + 10 calc.
    assert_eq!(hosts(TWO, "", Model::Loggopsim2010), [2500, 2500 + 2500 + 1500 + 594 + 10]);
    // 1000 + 200 o + 99 * 2 O; then + 3700 L + 99 * 0.04 G, cut to 3 + 5 g + 200 o + 198 O + 10.
    let params = "L=3700,o=200,g=5,G=0.04,O=2,S=1000";
    assert_eq!(hosts(TWO, params, Model::Atlahs), [1398, 1398 + 3700 + 3 + 5 + 200 + 198 + 10]);
}

#[test]
fn a_message_above_the_limit_waits_for_its_receive() {
    let text = "num_ranks 2\nrank 0 {\na: send 100000b to 1\nb: calc 1\nb requires a\n}\n\
                rank 1 {\na: calc 900000\nb: recv 100000b from 0\nb requires a\n}\n";
    // The message comes at 4000 and waits for the processor, which is free at 900,000: then 1500 + 99,999 * 6. The
    // receive is already posted then, because it became free at the start of the computation.
    assert_eq!(hosts(text, "", Model::Loggopsim2010), [900_001, 900_000 + 1500 + 599_994]);
    assert_eq!(hosts(text, "S=100000", Model::Loggopsim2010), [1501, 900_000 + 1500 + 599_994]);
}

#[test]
fn a_processor_of_its_own_does_not_wait() {
    let text = |cpu: u8| format!("num_ranks 1\nrank 0 {{\na: calc 100\nb: calc 50 cpu {cpu}\nb requires a\n}}\n");
    assert_eq!(hosts(&text(0), "", Model::Loggopsim2010), [150]);
    // In the model 2010, `b` begins when its own processor is free, at 0. In atlahs, it begins at the end of `a`.
    assert_eq!(hosts(&text(1), "", Model::Loggopsim2010), [100]);
    assert_eq!(hosts(&text(1), "", Model::Atlahs), [150]);
}

#[test]
fn wildcards_and_tags_match_in_order() {
    let text = "num_ranks 3\nrank 0 {\nsend 1b to 2 tag 1\n}\nrank 1 {\na: calc 10\nb: send 1b to 2 tag 2\nb requires a\n}\n\
                rank 2 {\na: recv 1b from -1 tag -1\nb: recv 1b from 0 tag 1\nc: recv 1b from 1 tag 2\n}\n";
    // `a` takes the message of rank 0, so `b` is left, and the message of rank 1 fits `c`.
    let error = run(&read(text), &Params::default(), Model::Loggopsim2010, false).map(|_| ()).unwrap_err();
    expect!["the schedule cannot end: rank 2 waits in recv (line 12) for rank 0, which has ended (left: 1 receive without a message, 0 messages without a receive, 1 operation without an end)"].assert_eq(&error.to_string());
}

fn check_error(text: &str, params: &str, want: Expect) {
    let error = run(&read(text), &Params::parse(params).unwrap(), Model::Loggopsim2010, false);
    want.assert_eq(&error.map(|_| ()).unwrap_err().to_string());
}

#[test]
fn times_out_of_range_are_errors() {
    check_error(
        "num_ranks 1\nrank 0 {\ncalc 18446744073709551615\n}\n",
        "",
        expect!["the schedule takes more than five hours: calc (line 3) ends after the last time that spinet can hold"],
    );
    check_error(
        "num_ranks 1\nrank 0 {\nsend 18446744073709551615b to 0\nrecv 1b from 0\n}\n",
        "",
        expect!["the schedule takes more than five hours: send (line 3) ends after the last time that spinet can hold"],
    );
    check_error(
        "num_ranks 2\nrank 0 {\nsend 0b to 1\n}\nrank 1 {\nrecv 0b from 0\n}\n",
        "g=0",
        expect![
            "send (line 3) of rank 0 is empty, and the model 2010 charges one gap per byte less for it: G and O must be at most o and g"
        ],
    );
}

#[test]
fn the_critical_path_adds_up() {
    let mut kinds = BTreeMap::new();
    let mut n = 0;
    for seed in 0..2000 {
        let mut random = RandomStream::new(seed, "parameters");
        let [l, o, g, gap, over, eager] = [3000, 2000, 2000, 7, 3, 2500].map(|most| random.below(most));
        let (o, g) = (o + 7, g + 7); // More than G and O, for empty messages.
        let params = Params::parse(&format!("L={l},o={o},g={g},G={gap},O={over},S={eager}")).unwrap();
        let schedule = drawn::schedule(seed, if seed % 2 == 0 { drawn::WILD } else { drawn::UNIQUE });
        for model in [Model::Loggopsim2010, Model::Atlahs] {
            let Ok(outcome) = run(&schedule, &params, model, true) else { continue };
            let Some(record) = outcome.record else { continue };
            let mut now = Time::ZERO;
            for step in record.critical_path(&schedule) {
                assert_eq!(step.start, now, "seed {seed}, {model:?}: {step:?}");
                assert!(step.end > step.start, "seed {seed}, {model:?}: {step:?}");
                now = step.end;
                *kinds.entry(step.kind).or_insert(0) += 1;
            }
            assert_eq!(now, outcome.finish, "seed {seed}, {model:?}");
            let times = (0..schedule.ops().len()).map(|op| record.timing(&schedule, op));
            for timing in times {
                // In atlahs, an unexpected message may set a processor's time back.
                assert!(timing.done <= outcome.finish || model == Model::Atlahs, "seed {seed}, {model:?}: {timing:?}");
                let is_in_order = timing.way.is_none_or(|(left, arrived)| timing.started <= left && left <= arrived);
                assert!(is_in_order, "seed {seed}, {model:?}: {timing:?}");
            }
            n += 1;
        }
    }
    let of_networks = [StepKind::Nic, StepKind::Link, StepKind::Queue];
    let wanted = StepKind::ALL.iter().filter(|kind| !of_networks.contains(kind));
    assert!(kinds.keys().eq(wanted) && n > 1000 && kinds.values().all(|&n| n > 50), "{n}: {kinds:?}");
}
