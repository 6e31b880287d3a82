//! Packets that arrive while packet memory is full. Packets have 64 bytes, so a memory of 256 bytes holds four.

use super::*;
use crate::delivery::WhenFull;
use crate::params::{Matching, PacketMemory};
use std::collections::BTreeMap;

/// Delivery options that differ from those of the RTL, so the log contains the events of packets.
fn delivery(when_full: WhenFull) -> Delivery {
    Delivery { when_full, ecn_threshold_percent: 50, timeout_cycles: 1, ..Delivery::default() }
}

/// Compares what happens to each packet with `want`, one line for each packet, for example
/// `4: stalled 9, stored 40 at 0x0, requested 45!`: the cycle of each step, the offset in packet memory, `!` for the last of a message.
fn check_fates(when_full: WhenFull, ring_bytes: u32, script: &str, feedback: &str, want: Expect) {
    let log = run(delivery(when_full), ring_bytes, script, feedback);
    let fates = fates(&log);
    check_rules(&log, &fates);
    let lines = fates.iter().map(|(packet, steps)| format!("{packet}: {}\n", steps.join(", ")));
    let kills = log.lines().filter_map(|line| line.split_once(" her kills "));
    let kills = kills.map(|(cycle, message)| format!("message {message}: killed {}\n", cycle.trim()));
    want.assert_eq(&lines.chain(kills).collect::<String>());
}

/// The steps of each packet, from the events in the log.
fn fates(log: &str) -> BTreeMap<u64, Vec<String>> {
    let mut fates: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for line in log.lines() {
        // A request that leaves; other lines lack one of the two numbers.
        if let Some((cycle, her)) = line.split_once(" her ")
            && let (Ok(cycle), Ok(packet)) =
                (cycle.trim().parse::<u64>(), her.split(' ').next().unwrap_or_default().parse())
            && her.contains(" of ")
        {
            let step = format!("requested {cycle}{}", mark(her.ends_with('!')));
            fates.entry(packet).or_default().push(step);
        }
        let Some((cycle, event)) = line.split_once(" event ") else { continue };
        let (name, values) = event.split_once(' ').expect("a name and values");
        let value = |key: &str| {
            let text = values.split(' ').find_map(|value| value.strip_prefix(key)?.strip_prefix("=0x"));
            u64::from_str_radix(text.expect("a value of this name"), 16).expect("a number")
        };
        let step = match name {
            "packet_in" => format!("stored C at {:#x}", value("addr") - u64::from(L2_PACKET_BASE)),
            "packet_stalled" => "stalled C".to_owned(),
            "packet_marked" => format!("marked C with {} occupied", value("occupied")),
            "packet_dropped" => format!("dropped C: {}", DropReason::NAMES[value("reason") as usize]),
            "packet_done" => "done C".to_owned(),
            _ => panic!("{event}"),
        };
        fates.entry(value("packet")).or_default().push(step.replace('C', cycle.trim()));
    }
    fates
}

/// Rules for all scripts: each packet is requested or dropped, exactly once; counters agree with events; a packet of
/// one beat is written to L2 one cycle after it was stored, and a request follows four cycles later, or five after the
/// request that kills a message.
fn check_rules(log: &str, fates: &BTreeMap<u64, Vec<String>>) {
    let counter = |name: &str| {
        let lines = log.lines().filter_map(|line| line.strip_prefix("inbound.")?.strip_prefix(name)?.rsplit_once(' '));
        lines.map(|(_, value)| value.parse::<u64>().expect("a number")).sum::<u64>()
    };
    let of = |steps: &[String], word: &str| {
        let step = steps.iter().find_map(|step| step.strip_prefix(word)?.strip_prefix(' '));
        step.map(|step| step.split([' ', '!', ':']).next().expect("a cycle").parse::<u64>().expect("a number"))
    };
    let count = |word: &str| fates.values().filter(|steps| of(steps, word).is_some()).count() as u64;
    for (packet, steps) in fates {
        assert_ne!(of(steps, "requested").is_some(), of(steps, "dropped").is_some(), "{packet}: {steps:?}");
        if let Some(stored) = of(steps, "stored") {
            let write = format!("{:<4} l2: write 64", stored + 1);
            assert!(log.lines().any(|line| line.starts_with(&write)), "{packet}: {steps:?}\n{log}");
        }
        if let (Some(stored), Some(requested)) = (of(steps, "stored"), of(steps, "requested")) {
            let kills = format!("{:<4} her kills", stored + 5);
            assert_eq!(requested, stored + 5 + u64::from(log.contains(&kills)), "{packet}: {steps:?}");
        }
    }
    assert_eq!(counter("packets"), count("stored"));
    assert_eq!(counter("bytes"), 64 * count("stored"));
    assert_eq!(counter("dropped_"), count("dropped"));
    assert_eq!((counter("marked"), counter("done")), (count("marked"), count("done")));
    let waits = fates.values().filter_map(|steps| Some(of(steps, "stored")? - of(steps, "stalled")?));
    assert_eq!(counter("stall_cycles"), waits.sum::<u64>());
}

#[test]
fn it_waits() {
    // Packet 0 is released in cycle 39, one after the release was sent; its place is free in the next cycle.
    check_fates(
        WhenFull::Stall,
        256,
        "64 64 64 64 64!",
        "40:0",
        expect![[r#"
        0: stored 5 at 0x0, requested 10, done 39
        1: stored 6 at 0x40, requested 11
        2: stored 7 at 0x80, requested 12
        3: stored 8 at 0xc0, requested 13
        4: stalled 9, stored 40 at 0x0, requested 45!
    "#]],
    );
}

#[test]
fn it_is_dropped_until_there_is_room() {
    // The place becomes free in cycle 40: a packet of cycle 39 is dropped, one of cycle 40 is stored.
    check_fates(
        WhenFull::Drop,
        256,
        "64 64 64 64 64@39 64@40!",
        "40:0",
        expect![[r#"
        0: stored 5 at 0x0, requested 10, done 39
        1: stored 6 at 0x40, requested 11
        2: stored 7 at 0x80, requested 12
        3: stored 8 at 0xc0, requested 13
        4: dropped 39: packet_memory_full
        5: stored 40 at 0x0, requested 45!
    "#]],
    );
}

#[test]
fn it_is_marked_above_the_threshold_and_waits_or_is_dropped() {
    // The threshold is half of 256 bytes. Packet 2 finds 128 bytes occupied and is not marked; packets 3 and 5 find 192. Packet 4 cannot
    // be marked, so it does not wait.
    check_fates(
        WhenFull::MarkEcn,
        256,
        "3e:64 3:64 3e:64 3e:64 3:64 3e:64!",
        "40:0",
        expect![[r#"
        0: stored 5 at 0x0, requested 10, done 39
        1: stored 6 at 0x40, requested 11
        2: stored 7 at 0x80, requested 12
        3: stored 8 at 0xc0, marked 8 with 192 occupied, requested 13
        4: dropped 9: packet_memory_full
        5: stalled 10, stored 40 at 0x0, marked 40 with 192 occupied, requested 45!
    "#]],
    );
}

#[test]
fn its_message_is_killed_and_another_is_not() {
    // Packet 4 finds no place: packets 1 to 6 of message 3 are dropped. Packet 7 begins the next message.
    let script = "4:64 3:64 3:64 3:64 3:64 3:64 3:64! 3:64@60!";
    check_fates(
        WhenFull::KillMessage,
        256,
        script,
        "40:0",
        expect![[r#"
        0: stored 5 at 0x0, requested 11, done 39
        1: stored 6 at 0x40, dropped 11: message_killed
        2: stored 7 at 0x80, dropped 12: message_killed
        3: stored 8 at 0xc0, dropped 13: message_killed
        4: dropped 9: message_killed
        5: dropped 10: message_killed
        6: dropped 11: message_killed
        7: stored 60 at 0x0, requested 65!
        message 3: killed 10
    "#]],
    );
}

#[test]
fn a_killed_message_whose_last_packet_is_lost_ends_with_the_next_header() {
    // Packet 3 still belongs to the killed message. Packet 4 is marked as the first of a message.
    let script = "4:64 3:64 3:64 3:64@50 3^:64@50 3:64@55!";
    check_fates(
        WhenFull::KillMessage,
        128,
        script,
        "40:0",
        expect![[r#"
        0: stored 5 at 0x0, requested 10, done 39
        1: stored 6 at 0x40, dropped 10: message_killed
        2: dropped 7: message_killed
        3: dropped 50: message_killed
        4: stored 51 at 0x0, requested 56
        5: stored 55 at 0x40, requested 60!
        message 3: killed 8
    "#]],
    );
}

#[test]
fn a_killed_message_ends_with_its_last_packet_even_if_that_never_fits() {
    // Packet 3 ends the killed message, so packet 4 begins a new one.
    let script = "4:64 3:64 3:64 3:999! 3:64@50!";
    check_fates(
        WhenFull::KillMessage,
        128,
        script,
        "40:0",
        expect![[r#"
        0: stored 5 at 0x0, requested 10, done 39
        1: stored 6 at 0x40, dropped 10: message_killed
        2: dropped 7: message_killed
        3: dropped 8: message_killed
        4: stored 50 at 0x0, requested 55!
        message 3: killed 8
    "#]],
    );
    // Packet 3 begins a message, and is dropped because it is too large. Packet 4 belongs to that message, not to the killed one.
    let script = "4:64 3:64 3:64 3^:999@50 3:64@55!";
    check_fates(
        WhenFull::KillMessage,
        128,
        script,
        "40:0",
        expect![[r#"
        0: stored 5 at 0x0, requested 10, done 39
        1: stored 6 at 0x40, dropped 10: message_killed
        2: dropped 7: message_killed
        3: dropped 50: too_large
        4: stored 55 at 0x0, requested 60!
        message 3: killed 8
    "#]],
    );
}

#[test]
fn a_tenant_beside_another_is_limited_to_its_share() {
    // Half of four packets each: the third packet of tenant 0 is dropped, although its context waits, and both packets of tenant 1 fit.
    let script = "1:64 1:64 1:64! 101:64 101:64! 1:64@50!";
    check_fates(
        WhenFull::Stall,
        256,
        script,
        "40:0 41:64",
        expect![[r#"
        0: stored 5 at 0x0, requested 10, done 39
        1: stored 6 at 0x40, requested 11!, done 40
        2: dropped 7: packet_memory_share
        3: stored 8 at 0x80, requested 13
        4: stored 9 at 0xc0, requested 14!
        5: stored 50 at 0x0, requested 55!
    "#]],
    );
}

/// Two large slots and one small one, behind an engine that takes 5 cycles for a packet and one more for each 64 bytes.
fn slots() -> IngressParams {
    IngressParams {
        matching: Matching::RuleSets,
        match_cycles: 5,
        packet_memory: PacketMemory::Slots,
        large_slots: 2,
        large_slot_bytes: 1536,
        small_slots: 1,
        small_slot_bytes: 128,
        ..params().ingress
    }
}

#[test]
fn packets_without_a_slot_are_dropped_and_counted() {
    // Both large slots are taken when the third large packet comes. The last packet gets the slot that was freed. 1537 bytes fit nowhere.
    let drops = delivery(WhenFull::Drop);
    let script = "200 64 200 200@30 1537@40 200@80";
    let log = run_through(slots(), drops, 4096, script, "70:0");
    let lines = log.lines().filter(|line| line.contains("l2:") || line.contains("dropped"));
    expect![[r#"
        15   l2: write 200 at 0x1c400000
        22   l2: write 64 at 0x1c400c00
        32   l2: write 200 at 0x1c400600
        41   event packet_dropped packet=0x3 reason=0x3
        72   event packet_dropped packet=0x4 reason=0x1
        90   l2: write 200 at 0x1c400000
        inbound.dropped_too_large 1
        inbound.dropped_packet_memory_full 1
    "#]]
    .assert_eq(&lines.map(|line| format!("{line}\n")).collect::<String>());
}

#[test]
fn the_match_engine_works_on_one_packet_at_a_time() {
    // 64 bytes take 6 cycles and 1024 bytes 21: room is found in cycles 5 + 6, 11 + 1 + 21 and
    // 33 + 1 + 13. The third write begins after the 16 beats of the second.
    let log = run_through(slots(), Delivery::default(), 4096, "64 1024 500", "");
    let lines = log.lines().filter(|line| line.contains("l2:"));
    expect![[r#"
        12   l2: write 64 at 0x1c400c00
        34   l2: write 1024 at 0x1c400000
        50   l2: write 500 at 0x1c400600
    "#]]
    .assert_eq(&lines.map(|line| format!("{line}\n")).collect::<String>());
}
