//! Messages that stop arriving.

use super::*;

#[test]
fn a_message_that_stops_is_given_up_a_cycle_after_its_threshold() {
    let scene = delivery(|delivery| delivery.timeout_cycles = 60);
    // The second packet is taken 61 cycles after the first, just in time; no third packet is taken within 61 cycles
    // after it.
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
            scheduler.given_task_cycles 36
        "#]],
    );
    // A cycle later is too late: the packet begins another message.
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
            scheduler.given_task_cycles 60
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
            scheduler.shared_descriptor_cycles 205
            scheduler.timeouts 1
            scheduler.given_task_cycles 306
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
            scheduler.given_task_cycles 204
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
            scheduler.shared_descriptor_cycles 1009
            scheduler.given_task_cycles 2008
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
            scheduler.given_task_cycles 48
        "#]],
    );
}
