//! Messages whose header is late, that stop arriving, or that are killed.

use super::*;

fn delivery(change: impl FnOnce(&mut Delivery)) -> Scene {
    let mut delivery = RTL;
    change(&mut delivery);
    Scene { delivery, ..USUAL }
}

#[test]
fn payloads_wait_for_the_header_that_comes_later() {
    check(
        USUAL,
        "hp",
        "10:5v 12:5v 30:5^ 31:5v!",
        expect![[r#"
            33   cluster 1: Header 2 of 5
            47   cluster 1: Payload 2 of 5, frees it
            48   cluster 1: Payload 0 of 5, frees it
            49   cluster 1: Payload 1 of 5, frees it
            50   cluster 1: Payload 3 of 5, frees it
            59   released 2
            60   released 0
            61   released 1
            62   released 3
            62   tells MessageDone { msgid: 5 }
            scheduler.hers 4
            scheduler.header_tasks 1
            scheduler.payload_tasks 4
        "#]],
    );
}

#[test]
fn payloads_before_the_header_are_dropped_where_the_context_asks_for_it() {
    let scene = delivery(|delivery| delivery.early_payload = EarlyPayload::Drop);
    check(
        scene,
        "hp",
        "10:5v 30:5^ 31:5v!",
        expect![[r#"
        11   released 0 dropped: before_header
        33   cluster 1: Header 1 of 5
        47   cluster 1: Payload 1 of 5, frees it
        48   cluster 1: Payload 2 of 5, frees it
        59   released 1
        60   released 2
        60   tells MessageDone { msgid: 5 }
        scheduler.hers 2
        scheduler.header_tasks 1
        scheduler.payload_tasks 2
    "#]],
    );
}

#[test]
fn as_many_payloads_wait_as_the_context_allows() {
    let scene = delivery(|delivery| delivery.early_packets = 2);
    check(
        scene,
        "hp",
        "10:5v 11:5v 12:5v 30:5^ 31:5v!",
        expect![[r#"
        13   released 2 dropped: before_header
        33   cluster 1: Header 3 of 5
        47   cluster 1: Payload 3 of 5, frees it
        48   cluster 1: Payload 0 of 5, frees it
        49   cluster 1: Payload 1 of 5, frees it
        50   cluster 1: Payload 4 of 5, frees it
        59   released 3
        60   released 0
        61   released 1
        62   released 4
        62   tells MessageDone { msgid: 5 }
        scheduler.hers 4
        scheduler.header_tasks 1
        scheduler.payload_tasks 4
    "#]],
    );
}

#[test]
fn a_payload_does_not_take_the_last_place_from_its_header() {
    let scene = Scene { shared_cells: 1, ..USUAL };
    check(
        scene,
        "hp",
        "10:5v 11:5v 30:5^ 40:5v!",
        expect![[r#"
        12   released 1 dropped: before_header
        33   cluster 1: Header 2 of 5
        47   cluster 1: Payload 2 of 5, frees it
        48   cluster 1: Payload 0 of 5, frees it
        49   cluster 1: Payload 3 of 5, frees it
        59   released 2
        60   released 0
        61   released 3
        61   tells MessageDone { msgid: 5 }
        scheduler.her_stall_cycles 6
        scheduler.hers 3
        scheduler.header_tasks 1
        scheduler.payload_tasks 3
    "#]],
    );
}

#[test]
fn a_late_packet_of_a_message_that_has_ended_waits_for_a_header() {
    let scene = delivery(|delivery| delivery.timeout_cycles = 50);
    check(
        scene,
        "hp",
        "10:5^ 11:5v! 12:5v",
        expect![[r#"
            13   cluster 1: Header 0 of 5
            27   cluster 1: Payload 0 of 5, frees it
            28   cluster 1: Payload 1 of 5, frees it
            39   released 0
            40   released 1
            40   tells MessageDone { msgid: 5 }
            64   tells MessageTimeout { msgid: 5, dropped: 1, received: 3 }
            65   released 2 dropped: message_timeout
            scheduler.hers 3
            scheduler.header_tasks 1
            scheduler.payload_tasks 2
            scheduler.timeouts 1
        "#]],
    );
}

#[test]
fn without_a_header_handler_or_a_mark_the_first_to_come_is_the_first() {
    check(
        USUAL,
        "p",
        "10:5v 11:5^!",
        expect![[r#"
        13   cluster 1: Payload 0 of 5, frees it
        14   cluster 1: Payload 1 of 5, frees it
        25   released 0
        26   released 1
        26   tells MessageDone { msgid: 5 }
        scheduler.hers 2
        scheduler.payload_tasks 2
    "#]],
    );
    check(
        USUAL,
        "hp",
        "10:5 11:5!",
        expect![[r#"
        13   cluster 1: Header 0 of 5
        27   cluster 1: Payload 0 of 5, frees it
        28   cluster 1: Payload 1 of 5, frees it
        39   released 0
        40   released 1
        40   tells MessageDone { msgid: 5 }
        scheduler.hers 2
        scheduler.header_tasks 1
        scheduler.payload_tasks 2
    "#]],
    );
}

#[test]
fn a_message_that_stops_is_given_up_a_cycle_after_its_threshold() {
    let scene = delivery(|delivery| delivery.timeout_cycles = 60);
    // The second is taken 61 cycles after the first, just in time; no third is taken 61 cycles after it.
    check(
        scene,
        "hpc",
        "10:5 71:5",
        expect![[r#"
            13   cluster 1: Header 0 of 5
            27   cluster 1: Payload 0 of 5, frees it
            39   released 0
            74   cluster 1: Payload 1 of 5, frees it
            86   released 1
            133  tells MessageTimeout { msgid: 5, dropped: 0, received: 2 }
            scheduler.hers 2
            scheduler.header_tasks 1
            scheduler.payload_tasks 2
            scheduler.timeouts 1
        "#]],
    );
    // A cycle later it is too late: what comes is another message.
    check(
        scene,
        "hpc",
        "10:5 72:5!",
        expect![[r#"
            13   cluster 1: Header 0 of 5
            27   cluster 1: Payload 0 of 5, frees it
            39   released 0
            72   tells MessageTimeout { msgid: 5, dropped: 0, received: 1 }
            75   cluster 1: Header 1 of 5
            89   cluster 1: Payload 1 of 5
            103  cluster 1: Completion 1 of 5, frees it
            115  released 1
            115  tells MessageDone { msgid: 5 }
            scheduler.hers 2
            scheduler.header_tasks 2
            scheduler.payload_tasks 2
            scheduler.completion_tasks 1
            scheduler.timeouts 1
        "#]],
    );
}

#[test]
fn a_header_handler_that_runs_may_end_when_its_message_is_given_up() {
    let scene = Scene { delay: 100, ..delivery(|delivery| delivery.timeout_cycles = 20) };
    check(
        scene,
        "hp",
        "10:5 11:5 12:5 60:5!",
        expect![[r#"
            13   cluster 1: Header 0 of 5
            34   tells MessageTimeout { msgid: 5, dropped: 3, received: 3 }
            35   released 1 dropped: message_timeout
            36   released 2 dropped: message_timeout
            116  released 0 dropped: message_timeout
            117  cluster 1: Header 3 of 5
            221  cluster 1: Payload 3 of 5, frees it
            323  released 3
            323  tells MessageDone { msgid: 5 }
            scheduler.hers 4
            scheduler.header_tasks 2
            scheduler.payload_tasks 1
            scheduler.timeouts 1
        "#]],
    );
}

#[test]
fn a_choice_that_waits_for_a_cluster_falls_when_its_message_does() {
    let delivery = Delivery { timeout_cycles: 30, ..RTL };
    let scene = Scene { n_clusters: 1, max_tasks: 1, delay: 100, delivery, ..USUAL };
    check(
        scene,
        "p",
        "10:3! 10:1 11:2 12:4",
        expect![[r#"
            13   cluster 0: Payload 0 of 3, frees it
            43   tells MessageTimeout { msgid: 1, dropped: 0, received: 1 }
            44   tells MessageTimeout { msgid: 2, dropped: 1, received: 1 }
            45   released 2 dropped: message_timeout
            45   tells MessageTimeout { msgid: 4, dropped: 1, received: 1 }
            46   released 3 dropped: message_timeout
            115  released 0
            115  tells MessageDone { msgid: 3 }
            116  cluster 0: Payload 1 of 1, frees it
            218  released 1
            scheduler.hers 4
            scheduler.payload_tasks 2
            scheduler.timeouts 3
        "#]],
    );
}

#[test]
fn a_message_that_has_all_its_packets_does_not_grow_old() {
    let scene = Scene { delay: 500, ..delivery(|delivery| delivery.timeout_cycles = 20) };
    check(
        scene,
        "hpc",
        "10:5 11:5!",
        expect![[r#"
        13   cluster 1: Header 0 of 5
        517  cluster 1: Payload 0 of 5, frees it
        518  cluster 1: Payload 1 of 5
        1019 released 0
        1022 cluster 1: Completion 1 of 5, frees it
        1524 released 1
        1524 tells MessageDone { msgid: 5 }
        scheduler.hers 2
        scheduler.header_tasks 1
        scheduler.payload_tasks 2
        scheduler.completion_tasks 1
    "#]],
    );
}

#[test]
fn the_oldest_goes_first() {
    let scene = delivery(|delivery| delivery.timeout_cycles = 40);
    check(
        scene,
        "p",
        "10:1 12:2 14:3 30:1",
        expect![[r#"
            13   cluster 1: Payload 0 of 1, frees it
            15   cluster 2: Payload 1 of 2, frees it
            17   cluster 3: Payload 2 of 3, frees it
            25   released 0
            27   released 1
            29   released 2
            33   cluster 1: Payload 3 of 1, frees it
            45   released 3
            54   tells MessageTimeout { msgid: 2, dropped: 0, received: 1 }
            56   tells MessageTimeout { msgid: 3, dropped: 0, received: 1 }
            72   tells MessageTimeout { msgid: 1, dropped: 0, received: 2 }
            scheduler.hers 4
            scheduler.payload_tasks 4
            scheduler.timeouts 3
        "#]],
    );
}

#[test]
fn a_killed_message_leaves_and_the_one_behind_it_stays() {
    let scene = Scene { delay: 40, ..USUAL };
    check(
        scene,
        "hp",
        "10:5 11:5 12:5 20:kill5 21:261!",
        expect![[r#"
        13   cluster 1: Header 0 of 5
        21   tells MessageKilled { msgid: 5, dropped: 3 }
        22   released 1 dropped: message_killed
        23   released 2 dropped: message_killed
        56   released 0 dropped: message_killed
        57   cluster 1: Header 4 of 5
        101  cluster 1: Payload 4 of 5, frees it
        143  released 4
        143  tells MessageDone { msgid: 261 }
        scheduler.hers 4
        scheduler.header_tasks 2
        scheduler.payload_tasks 1
        scheduler.kills 1
    "#]],
    );
    // Killed behind another message on the same queue: that one is not touched.
    check(
        scene,
        "hpc",
        "10:5 11:5! 12:261 13:261 20:kill261",
        expect![[r#"
        13   cluster 1: Header 0 of 5
        21   tells MessageKilled { msgid: 261, dropped: 2 }
        22   released 2 dropped: message_killed
        23   released 3 dropped: message_killed
        57   cluster 1: Payload 0 of 5, frees it
        58   cluster 1: Payload 1 of 5
        99   released 0
        102  cluster 1: Completion 1 of 5, frees it
        144  released 1
        144  tells MessageDone { msgid: 5 }
        scheduler.hers 4
        scheduler.header_tasks 1
        scheduler.payload_tasks 2
        scheduler.completion_tasks 1
        scheduler.kills 1
    "#]],
    );
}

#[test]
fn a_message_whose_last_packet_was_dropped_ends_with_the_one_before_it() {
    // Message 261 has the same queue, and its own header handler. Packet 0 is still in use, then packet 1 is the last.
    check(
        USUAL,
        "hpc",
        "10:5 11:5 12:end5 13:261!",
        expect![[r#"
        13   cluster 1: Header 0 of 5
        27   cluster 1: Payload 0 of 5, frees it
        28   cluster 1: Payload 1 of 5
        39   released 0
        42   cluster 1: Completion 1 of 5, frees it
        54   released 1
        54   tells MessageDone { msgid: 5 }
        56   cluster 1: Header 3 of 5
        70   cluster 1: Payload 3 of 5
        84   cluster 1: Completion 3 of 5, frees it
        96   released 3
        96   tells MessageDone { msgid: 261 }
        scheduler.hers 3
        scheduler.header_tasks 2
        scheduler.payload_tasks 3
        scheduler.completion_tasks 2
    "#]],
    );
    // All of it has left the queue: nothing is there for a completion handler, and none is asked for.
    check(
        USUAL,
        "p",
        "10:5 40:end5 41:261!",
        expect![[r#"
        13   cluster 1: Payload 0 of 5, frees it
        25   released 0
        41   tells MessageDone { msgid: 5 }
        44   cluster 1: Payload 2 of 5, frees it
        56   released 2
        56   tells MessageDone { msgid: 261 }
        scheduler.hers 2
        scheduler.payload_tasks 2
    "#]],
    );
    check(
        USUAL,
        "pc",
        "10:5 14:end5 15:261!",
        expect![[r#"
        13   cluster 1: Payload 0 of 5, frees it
        15   tells MessageKilled { msgid: 5, dropped: 0 }
        25   released 0
        27   cluster 1: Payload 2 of 5
        41   cluster 1: Completion 2 of 5, frees it
        53   released 2
        53   tells MessageDone { msgid: 261 }
        scheduler.hers 2
        scheduler.payload_tasks 2
        scheduler.completion_tasks 1
        scheduler.kills 1
    "#]],
    );
    // Nothing of it ever came.
    check(
        USUAL,
        "p",
        "10:5! 11:end261",
        expect![[r#"
        13   cluster 1: Payload 0 of 5, frees it
        25   released 0
        25   tells MessageDone { msgid: 5 }
        scheduler.hers 1
        scheduler.payload_tasks 1
    "#]],
    );
}

#[test]
fn a_message_whose_last_packet_may_not_wait_ends_with_the_one_before_it() {
    let scene = delivery(|delivery| delivery.early_packets = 1);
    check(
        scene,
        "hp",
        "10:5v 11:5v! 30:5^ 50:261^!",
        expect![[r#"
        12   released 1 dropped: before_header
        33   cluster 1: Header 2 of 5
        47   cluster 1: Payload 2 of 5, frees it
        48   cluster 1: Payload 0 of 5, frees it
        59   released 2
        60   released 0
        60   tells MessageDone { msgid: 5 }
        62   cluster 1: Header 3 of 5
        76   cluster 1: Payload 3 of 5, frees it
        88   released 3
        88   tells MessageDone { msgid: 261 }
        scheduler.hers 3
        scheduler.header_tasks 2
        scheduler.payload_tasks 3
    "#]],
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever stops, comes late or is killed: each packet leaves once, done or dropped, and everything drains.
    #[test]
    fn every_packet_leaves_once(
        steps in prop::collection::vec((0u64..30, 0u16..5, prop::sample::select(vec!["", "^", "v", "v", "!", "v!", "kill", "end"])), 1..60),
        handlers in prop::sample::select(vec!["p", "hp", "pc", "hpc", "hc"]),
        n_mpqs in prop::sample::select(vec![1u32, 2, 256]),
        shared_cells in 0u32..5, max_tasks in 1u32..5, delay in 1u64..60,
        early_packets in 1u32..4, drops in any::<bool>(), timeout_cycles in 1u64..60,
    ) {
        let mut cycle = 10;
        let words: Vec<_> = steps.iter().map(|&(wait, msgid, mark)| {
            cycle += wait;
            if mark.len() > 2 { format!("{cycle}:{mark}{msgid}") } else { format!("{cycle}:{msgid}{mark}") }
        }).collect();
        let early_payload = if drops { EarlyPayload::Drop } else { EarlyPayload::Buffer };
        let delivery = Delivery { early_payload, early_packets, timeout_cycles, ..RTL };
        let scene = Scene { n_mpqs, shared_cells, max_tasks, n_clusters: 2, delay, delivery, turns: false };
        let log = bench(100_000, |bench| set(bench, scene, handlers, &words.join(" ")));
        let mut left: Vec<usize> = log.lines()
            .filter_map(|line| line.split_once("released "))
            .map(|(_, packet)| packet.split(' ').next().unwrap().parse().unwrap())
            .collect();
        left.sort_unstable();
        let want: Vec<usize> = (0..words.len()).filter(|&i| !words[i].contains(['k', 'e'])).collect();
        prop_assert_eq!(left, want);
        prop_assert!(!log.contains("packets_held"), "no descriptor is left behind: {}", log);
    }
}
