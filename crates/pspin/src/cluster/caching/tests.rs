use super::*;
use expect_test::{Expect, expect};
use std::fmt::Write;

/// A cache of 64 sets. `lookups` are the cycles in which lines are requested. `writes` are the first cycle and the
/// value of each register write: `on`, `off` or `flush`. A write is repeated in each cycle until it is answered. A line
/// arrives 6 cycles after its request. The result lists all events with their cycles.
fn check(lookups: &[Cycle], writes: &[(Cycle, &str)], want: Expect) {
    let mut caching = Caching::new(&IcacheParams { bytes: 4096, ways: 4, miss_cycles: 8 });
    let (mut text, mut n_requests, mut coming) = (String::new(), 0, Vec::new());
    let mut waiting: Vec<&str> = Vec::new();
    for now in 0..300 {
        coming.retain(|&at| at != now);
        if caching.changes(now, !coming.is_empty()) {
            writeln!(text, "{now:>3} all lines are forgotten, {}", if caching.is_on() { "on" } else { "off" })
                .expect("text");
        }
        n_requests += lookups.iter().filter(|&&at| at == now).count();
        if n_requests > 0 && caching.serves(now) {
            writeln!(text, "{now:>3} a line is requested").expect("text");
            n_requests -= 1;
            coming.push(now + 6);
        }
        waiting.extend(writes.iter().filter(|&&(at, _)| at == now).map(|&(_, what)| what));
        waiting.retain(|&what| {
            let is_done = match what {
                "flush" => caching.flush(now),
                _ => caching.turn(what == "on", now),
            };
            if is_done {
                writeln!(text, "{now:>3} {what} is answered").expect("text");
            }
            !is_done
        });
    }
    want.assert_eq(&text);
}

/// According to the RTL's source, the central controller invalidates its 64 sets after reset and is then bypassed. It
/// stops three cycles after the register was written, or two cycles if the cache is on. When no line is in flight, it
/// invalidates the sets again.
#[test]
fn it_is_turned_on_when_nothing_is_under_way_and_serves_when_all_is_forgotten() {
    check(
        &[0, 10, 101, 110],
        &[(100, "on")],
        expect![[r#"
             69 a line is requested
             70 a line is requested
            101 a line is requested
            107 all lines are forgotten, on
            107 on is answered
            172 a line is requested
        "#]],
    );
}

#[test]
fn a_flush_is_answered_when_all_is_forgotten_and_at_once_while_it_is_off() {
    check(
        &[],
        &[(90, "flush"), (100, "on"), (110, "flush"), (200, "flush")],
        expect![[r#"
             90 flush is answered
            103 all lines are forgotten, on
            103 on is answered
            166 flush is answered
            202 all lines are forgotten, on
            266 flush is answered
        "#]],
    );
}

#[test]
fn it_is_turned_off_and_what_is_on_or_off_is_answered_at_once() {
    check(
        &[103],
        &[(70, "off"), (80, "on"), (150, "on"), (160, "off")],
        expect![[r#"
             70 off is answered
             83 all lines are forgotten, on
             83 on is answered
            148 a line is requested
            150 on is answered
            162 all lines are forgotten, off
            162 off is answered
        "#]],
    );
}
