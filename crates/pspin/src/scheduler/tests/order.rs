//! The order in which handlers run, and their clusters.

use super::*;

#[test]
fn a_message_runs_header_payloads_completion() {
    check(
        USUAL,
        "hpc",
        "10:5 11:5 12:5!",
        expect![[r#"
            13   cluster 1: Header 0 of 5
            27   cluster 1: Payload 0 of 5, frees it
            28   cluster 1: Payload 1 of 5, frees it
            29   cluster 1: Payload 2 of 5
            39   released 0
            40   released 1
            43   cluster 1: Completion 2 of 5, frees it
            55   released 2
            55   tells MessageDone { msgid: 5 }
            scheduler.hers 3
            scheduler.header_tasks 1
            scheduler.payload_tasks 3
            scheduler.completion_tasks 1
            scheduler.shared_descriptor_cycles 44
            scheduler.given_task_cycles 60
        "#]],
    );
}

#[test]
fn a_single_packet_runs_all_three() {
    check(
        USUAL,
        "hpc",
        "10:6!",
        expect![[r#"
            13   cluster 2: Header 0 of 6
            27   cluster 2: Payload 0 of 6
            41   cluster 2: Completion 0 of 6, frees it
            53   released 0
            53   tells MessageDone { msgid: 6 }
            scheduler.hers 1
            scheduler.header_tasks 1
            scheduler.payload_tasks 1
            scheduler.completion_tasks 1
            scheduler.given_task_cycles 36
        "#]],
    );
}

#[test]
fn a_reused_queue_starts_the_next_message_when_the_one_before_has_ended() {
    check(
        USUAL,
        "hpc",
        "10:1! 11:257!",
        expect![[r#"
            13   cluster 1: Header 0 of 1
            27   cluster 1: Payload 0 of 1
            41   cluster 1: Completion 0 of 1, frees it
            53   released 0
            53   tells MessageDone { msgid: 1 }
            55   cluster 1: Header 1 of 1
            69   cluster 1: Payload 1 of 1
            83   cluster 1: Completion 1 of 1, frees it
            95   released 1
            95   tells MessageDone { msgid: 257 }
            scheduler.hers 2
            scheduler.header_tasks 2
            scheduler.payload_tasks 2
            scheduler.completion_tasks 2
            scheduler.shared_descriptor_cycles 70
            scheduler.given_task_cycles 72
        "#]],
    );
    check(
        USUAL,
        "p",
        "10:1 11:1! 12:1!",
        expect![[r#"
            13   cluster 1: Payload 0 of 1, frees it
            14   cluster 1: Payload 1 of 1, frees it
            25   released 0
            26   released 1
            26   tells MessageDone { msgid: 1 }
            28   cluster 1: Payload 2 of 1, frees it
            40   released 2
            40   tells MessageDone { msgid: 1 }
            scheduler.hers 3
            scheduler.payload_tasks 3
            scheduler.shared_descriptor_cycles 1
            scheduler.given_task_cycles 36
        "#]],
    );
}

#[test]
fn queues_take_turns() {
    let scene = Scene { n_clusters: 1, max_tasks: 1, delay: 3, ..USUAL };
    check(
        scene,
        "p",
        "10:3 10:9 11:3 11:2 12:9 12:3 30:9! 30:3! 31:2!",
        expect![[r#"
            13   cluster 0: Payload 0 of 3, frees it
            18   released 0
            19   cluster 0: Payload 1 of 9, frees it
            24   released 1
            25   cluster 0: Payload 2 of 3, frees it
            30   released 2
            31   cluster 0: Payload 5 of 3, frees it
            36   released 5
            37   cluster 0: Payload 4 of 9, frees it
            42   released 4
            43   cluster 0: Payload 3 of 2, frees it
            48   released 3
            49   cluster 0: Payload 6 of 9, frees it
            54   released 6
            54   tells MessageDone { msgid: 9 }
            55   cluster 0: Payload 8 of 2, frees it
            60   released 8
            60   tells MessageDone { msgid: 2 }
            61   cluster 0: Payload 7 of 3, frees it
            66   released 7
            66   tells MessageDone { msgid: 3 }
            scheduler.hers 9
            scheduler.payload_tasks 9
            scheduler.shared_descriptor_cycles 37
            scheduler.given_task_cycles 45
        "#]],
    );
}

#[test]
fn a_full_home_cluster_spills_to_the_emptiest() {
    let scene = Scene { max_tasks: 2, delay: 40, ..USUAL };
    check(
        scene,
        "p",
        "10:1 11:1 12:1 13:1 14:1 15:1 16:1 17:1 18:1 19:1!",
        expect![[r#"
            13   cluster 1: Payload 0 of 1, frees it
            14   cluster 1: Payload 1 of 1, frees it
            15   cluster 0: Payload 2 of 1, frees it
            16   cluster 2: Payload 3 of 1, frees it
            17   cluster 3: Payload 4 of 1, frees it
            18   cluster 0: Payload 5 of 1, frees it
            19   cluster 2: Payload 6 of 1, frees it
            20   cluster 3: Payload 7 of 1, frees it
            55   released 0
            56   cluster 1: Payload 8 of 1, frees it
            56   released 1
            57   cluster 1: Payload 9 of 1, frees it
            57   released 2
            58   released 3
            59   released 4
            60   released 5
            61   released 6
            62   released 7
            98   released 8
            99   released 9
            99   tells MessageDone { msgid: 1 }
            scheduler.hers 10
            scheduler.payload_tasks 10
            scheduler.shared_descriptor_cycles 40
            scheduler.tasks_away_from_home 6
            scheduler.given_task_cycles 420
        "#]],
    );
}

#[test]
fn a_full_queue_holds_back_all_requests() {
    let scene = Scene { shared_cells: 1, max_tasks: 1, n_clusters: 1, delay: 20, ..USUAL };
    check(
        scene,
        "p",
        "10:1 11:1 12:1 13:1 14:1! 15:2!",
        expect![[r#"
            13   cluster 0: Payload 0 of 1, frees it
            35   released 0
            36   cluster 0: Payload 1 of 1, frees it
            58   released 1
            59   cluster 0: Payload 2 of 1, frees it
            81   released 2
            82   cluster 0: Payload 3 of 1, frees it
            104  released 3
            105  cluster 0: Payload 4 of 1, frees it
            127  released 4
            127  tells MessageDone { msgid: 1 }
            128  cluster 0: Payload 5 of 2, frees it
            150  released 5
            150  tells MessageDone { msgid: 2 }
            scheduler.her_stall_cycles 22
            scheduler.hers 6
            scheduler.payload_tasks 6
            scheduler.shared_descriptor_cycles 46
            scheduler.given_task_cycles 132
        "#]],
    );
}

#[test]
fn a_request_whose_queue_is_full_gets_lost_behind_one_whose_queue_is_not() {
    let scene = Scene { shared_cells: 1, max_tasks: 1, n_clusters: 1, delay: 20, requests_get_lost: true, ..USUAL };
    // Message 2 fills its queue with the last shared descriptor, and thereby queue 3, too. When a packet of message 2 leaves, its queue
    // has room, and the request for queue 3 behind it is lost.
    check(
        scene,
        "p",
        "10:1 11:1! 12:2 13:3 14:2 15:3! 16:2!",
        expect![[r#"
            13   cluster 0: Payload 0 of 1, frees it
            35   released 0
            36   cluster 0: Payload 1 of 1, frees it
            58   released 1
            58   tells MessageDone { msgid: 1 }
            59   cluster 0: Payload 2 of 2, frees it
            81   released 2
            82   cluster 0: Payload 4 of 2, frees it
            104  released 4
            105  cluster 0: Payload 3 of 3, frees it
            127  released 3
            128  cluster 0: Payload 6 of 2, frees it
            150  released 6
            150  tells MessageDone { msgid: 2 }
            scheduler.her_stall_cycles 43
            scheduler.hers_lost 1
            scheduler.hers 6
            scheduler.payload_tasks 6
            scheduler.shared_descriptor_cycles 45
            scheduler.given_task_cycles 132
        "#]],
    );
}

/// With `keeps_packets`: packets 1 and 2 come while message 1 still takes packets, and extend it. Packet 3 comes in the cycle in which the
/// message ends, and stays until packet 4 starts the next message. In the second scene, packets 1 and 2 come after the last payload handler
/// has started, and stay.
#[test]
fn a_reused_queue_keeps_packets_where_the_rtl_mistakes_it() {
    let scene = Scene { keeps_packets: true, ..USUAL };
    check(
        scene,
        "hp",
        "10:1! 11:257! 12:1 40:513! 49:1! 100:769 101:257!",
        expect![[r#"
            13   cluster 1: Header 0 of 1
            27   cluster 1: Payload 0 of 1, frees it
            28   cluster 1: Payload 1 of 1, frees it
            29   cluster 1: Payload 2 of 1, frees it
            39   released 0
            40   released 1
            41   released 2
            41   tells MessageDone { msgid: 1 }
            52   cluster 1: Header 3 of 1
            66   cluster 1: Payload 3 of 1, frees it
            67   cluster 1: Payload 4 of 1, frees it
            78   released 3
            79   released 4
            79   tells MessageDone { msgid: 1 }
            103  cluster 1: Header 5 of 1
            117  cluster 1: Payload 5 of 1, frees it
            118  cluster 1: Payload 6 of 1, frees it
            129  released 5
            130  released 6
            130  tells MessageDone { msgid: 769 }
            scheduler.hers 7
            scheduler.header_tasks 3
            scheduler.payload_tasks 7
            scheduler.shared_descriptor_cycles 61
            scheduler.given_task_cycles 120
        "#]],
    );
    check(
        scene,
        "pc",
        "10:1! 11:257! 14:513!",
        expect![[r#"
            13   cluster 1: Payload 0 of 1
            27   cluster 1: Completion 0 of 1, frees it
            39   released 0
            39   tells MessageDone { msgid: 1 }
            scheduler.hers 3
            scheduler.payload_tasks 1
            scheduler.completion_tasks 1
            scheduler.packets_held 2
            scheduler.shared_descriptor_cycles 3977
            scheduler.given_task_cycles 24
        "#]],
    );
}
