use super::*;
use expect_test::{Expect, expect};
use kernel::members;
use std::collections::BTreeMap;
use std::fmt::Write;

/// `misses` are the misses of cores: cycle, core and line. The result lists when the central controller takes their
/// requests, when each core finds its line, and the cycles from the miss until then. Program memory answers in 5 cycles
/// and delivers one word of 64 bits a cycle.
fn check(misses: &[(Cycle, usize, u32)], want: Expect) {
    let mut refills = Refills::new(8);
    let (mut there, mut free): (Vec<(Cycle, u32)>, Cycle) = (Vec::new(), 0);
    let mut replies: BTreeMap<Cycle, u32> = BTreeMap::new();
    let mut looks: BTreeMap<(Cycle, usize), u32> = misses.iter().map(|&(at, core, line)| ((at, core), line)).collect();
    let began: BTreeMap<usize, Cycle> = misses.iter().map(|&(at, core, _)| (core, at)).collect();
    let mut text = String::new();
    for now in 0..100 {
        if let Some(line) = replies.remove(&now) {
            let cores = refills.arrive(now, line);
            there.push((now + NOTICE_TO_LOOKUP, line));
            looks.extend(members(cores).map(|core| ((now + NOTICE_TO_LOOKUP, core as usize), line)));
        }
        let before = refills.requesting;
        let taken = refills.take(now, || true);
        let who = members(before & !refills.requesting).next().unwrap_or(0) as usize;
        match taken {
            Some(Taken::Requests(line)) => {
                free = free.max(now + 1);
                replies.insert(free + 4, line);
                free += 2;
                writeln!(text, "{now:>2} core {who} asks for {line}").expect("text");
            }
            Some(Taken::Joins) => writeln!(text, "{now:>2} core {who} joins").expect("text"),
            Some(Taken::Retries(core)) => {
                looks.insert((now + 1 + NOTICE_TO_LOOKUP, core), refills.requests[core].0);
                writeln!(text, "{now:>2} core {who} is late").expect("text");
            }
            None => {}
        }
        for core in 0..8 {
            let Some(line) = looks.remove(&(now, core)) else { continue };
            if there.iter().any(|&(from, it)| it == line && from <= now) {
                writeln!(text, "{now:>2} core {core} has {line} after {}", now - began[&core]).expect("text");
            } else {
                refills.request(core, line, 0);
            }
        }
    }
    want.assert_eq(&text);
}

/// According to the RTL's source, the controller takes the request of a core that looks at T in cycle T + 1, and
/// further requests one a cycle. Program memory is read at T + 2 and T + 3. The line is complete at T + 6, and its
/// first instruction leaves decode at T + 8. A core whose request is taken at T + 6 or T + 7 looks again. A later
/// request fetches the line again.
#[test]
fn of_eight_cores_that_miss_a_line_at_once_the_last_fetches_it_again() {
    let all: Vec<_> = (0..8).map(|core| (10, core, 0x40)).collect();
    check(
        &all,
        expect![[r#"
        11 core 0 asks for 64
        12 core 1 joins
        13 core 2 joins
        14 core 3 joins
        15 core 4 joins
        16 core 5 is late
        17 core 6 is late
        18 core 7 asks for 64
        18 core 0 has 64 after 8
        18 core 1 has 64 after 8
        18 core 2 has 64 after 8
        18 core 3 has 64 after 8
        18 core 4 has 64 after 8
        19 core 5 has 64 after 9
        20 core 6 has 64 after 10
        25 core 7 has 64 after 15
    "#]],
    );
}

#[test]
fn cores_that_follow_one_another_by_a_cycle_are_heard_as_they_come() {
    let all: Vec<_> = (0..8).map(|core| (10 + core as Cycle, core, 0x40)).collect();
    check(
        &all,
        expect![[r#"
        11 core 0 asks for 64
        12 core 1 joins
        13 core 2 joins
        14 core 3 joins
        15 core 4 joins
        16 core 5 is late
        17 core 6 is late
        18 core 7 asks for 64
        18 core 0 has 64 after 8
        18 core 1 has 64 after 7
        18 core 2 has 64 after 6
        18 core 3 has 64 after 5
        18 core 4 has 64 after 4
        19 core 5 has 64 after 4
        20 core 6 has 64 after 4
        25 core 7 has 64 after 8
    "#]],
    );
}

#[test]
fn lines_that_differ_are_asked_for_one_a_cycle_and_read_one_in_two() {
    let all: Vec<_> = (0..4).map(|core| (10, core, 0x10 * core as u32)).collect();
    check(
        &all,
        expect![[r#"
        11 core 0 asks for 0
        12 core 1 asks for 16
        13 core 2 asks for 32
        14 core 3 asks for 48
        18 core 0 has 0 after 8
        20 core 1 has 16 after 10
        22 core 2 has 32 after 12
        24 core 3 has 48 after 14
    "#]],
    );
}
