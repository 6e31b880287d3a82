//! Rules that are installed and removed while packets arrive.

use super::{card, echoing};
use crate::support;
use Act::{Install, Remove};
use expect_test::{Expect, expect};
use kernel::{Mode, Time};
use pspin::host_events::HostEvent;
use spinet::driver::{Driver, Remaining, RuleSpec};
use spinet::handlers::packets::Fate;
use std::collections::VecDeque;
use std::fmt::Write;

/// The driver's actions in a scene, with their times.
#[derive(Clone, Copy)]
enum Act {
    /// Tenant 0 or 1 installs a rule: match, message, priority.
    Install(usize, &'static str, &'static str, i32),
    /// It removes its oldest rule.
    Remove(usize, Remaining),
}

/// Forty packets to port 7, one every 50 cycles from cycle 3000 on, from four source ports in turn, and two tenants
/// that send back their packets. Returns for each packet the tenant that got it, `.` for none, or `x` for a drop. The
/// events of both tenants about messages that did not end normally follow.
fn scene(mode: Mode, slice: u64, acts: &[(u64, Act)]) -> String {
    let mut driver = card();
    driver.set_mode(mode);
    driver.keep_packets();
    driver.run_until(2000);
    // The first arrives in cycle 3000.
    let packet = |i: u64| (Time::from_ns(999 + i * 50), support::udp(1000 + i as u16 % 4, 7, 60 + i as usize).into());
    driver.add_packets((0..40).map(packet).collect()).unwrap();
    let both = [("a", 0x1d00_1000), ("b", 0x1d00_2000)].map(|(name, addr)| echoing(&mut driver, name, addr));
    let (tenants, contexts) = (both.map(|(tenant, _)| tenant), both.map(|(_, context)| context));
    let mut rules = [VecDeque::new(), VecDeque::new()];
    let run = |driver: &mut Driver, end: u64| {
        while driver.now() < end {
            driver.run_until((driver.now() + slice).min(end));
        }
    };
    for &(at, act) in acts {
        run(&mut driver, at);
        match act {
            Act::Install(who, matches, message, priority) => {
                let spec =
                    RuleSpec { matches: Some(matches.into()), message: message.into(), priority, rule_set: None };
                rules[who].push_back(driver.install(tenants[who], contexts[who], &spec).unwrap());
            }
            Act::Remove(who, remaining) => {
                driver.remove(tenants[who], rules[who].pop_front().unwrap(), remaining).unwrap();
            }
        }
    }
    run(&mut driver, 10_000);
    let mut fates = ['.'; 40];
    let mut text = String::new();
    for (who, name) in [(0, 'a'), (1, 'b')] {
        for event in driver.take_events(tenants[who]).unwrap() {
            assert_eq!(event.context, contexts[who]);
            match event.what {
                HostEvent::MessageDone { .. } => {}
                other => writeln!(text, "{name} at {}: {other:?}", event.at).unwrap(),
            }
        }
    }
    for (context, row) in driver.take_packets() {
        let name = if context == contexts[0] { 'a' } else { 'b' };
        fates[row.frame as usize] = if row.fate() == Fate::Sent { name } else { 'x' };
    }
    let sent = driver.take_sent().len();
    format!("{}\n{sent} sent back\n{text}", fates.iter().collect::<String>())
}

/// The scene in every mode and in slices of several lengths, which make no difference.
fn check(acts: &[(u64, Act)], want: Expect) {
    let normal = scene(Mode::Normal, 10_000, acts);
    for (mode, slice) in [(Mode::Normal, 1), (Mode::Shuffled(5), 333), (Mode::TickAll, 7)] {
        assert_eq!(scene(mode, slice, acts), normal, "{mode:?} in slices of {slice}");
    }
    want.assert_eq(&normal);
}

#[test]
fn a_rule_holds_from_the_cycle_after_it_is_installed_to_the_one_in_which_it_is_removed() {
    // Packets come in cycles 3000 + 50 i, and are matched in the cycle in which they come.
    let all = "udp.dst_port == 7";
    check(
        &[(3199, Install(0, all, "each", 0)), (3399, Remove(0, Remaining::End))],
        expect![[r#"
        ....aaaa................................
        4 sent back
    "#]],
    );
    check(
        &[(3200, Install(0, all, "each", 0)), (3400, Remove(0, Remaining::Kill))],
        expect![[r#"
        .....aaaa...............................
        4 sent back
    "#]],
    );
}

#[test]
fn rules_of_others_come_and_go_unnoticed() {
    let acts = [
        (2500, Install(0, "udp.src_port == 1000", "each", 0)),
        (3500, Install(1, "udp", "each", 0)),
        (4000, Remove(1, Remaining::End)),
        (4200, Install(1, "udp", "each", 5)),
        (4500, Remove(1, Remaining::Kill)),
    ];
    check(
        &acts,
        expect![[r#"
        a...a...a..babbbabbba...abbbbbb.a...a...
        22 sent back
    "#]],
    );
}

#[test]
fn messages_that_have_begun_end_or_are_killed() {
    let message = "by udp.src_port count 6";
    check(
        &[(2500, Install(0, "udp", message, 0)), (3480, Remove(0, Remaining::End))],
        expect![[r#"
        aaaaaaaaaaaaaaaaaaaaaaaa................
        24 sent back
    "#]],
    );
    check(
        &[(2500, Install(0, "udp", message, 0)), (3480, Remove(0, Remaining::Kill))],
        expect![[r#"
        aaaaaaaaaa..............................
        10 sent back
        a at 3483: MessageKilled { msgid: 0, dropped: 0 }
        a at 3484: MessageKilled { msgid: 1, dropped: 0 }
        a at 3485: MessageKilled { msgid: 2, dropped: 0 }
        a at 3486: MessageKilled { msgid: 3, dropped: 0 }
    "#]],
    );
    let acts = [
        (2500, Install(0, "udp", message, 0)),
        (3480, Remove(0, Remaining::End)),
        (3481, Install(1, "udp", message, 0)),
        (4480, Remove(1, Remaining::Kill)),
    ];
    check(
        &acts,
        expect![[r#"
        aaaaaaaaaaaaaaaaaaaaaaaabbbbbb..........
        30 sent back
        b at 4483: MessageKilled { msgid: 4, dropped: 0 }
        b at 4484: MessageKilled { msgid: 5, dropped: 0 }
        b at 4485: MessageKilled { msgid: 6, dropped: 0 }
        b at 4486: MessageKilled { msgid: 7, dropped: 0 }
    "#]],
    );
}
