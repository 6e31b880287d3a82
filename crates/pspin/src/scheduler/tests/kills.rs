//! Messages that are killed, or whose last packet was dropped.

use super::*;

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
            scheduler.shared_descriptor_cycles 98
            scheduler.kills 1
            scheduler.given_task_cycles 126
        "#]],
    );
    // The killed message is behind another one in the same queue, which is not affected.
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
            scheduler.shared_descriptor_cycles 107
            scheduler.kills 1
            scheduler.given_task_cycles 168
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
            scheduler.shared_descriptor_cycles 98
            scheduler.given_task_cycles 84
        "#]],
    );
    // All packets of the message have left the queue: no packet is left for a completion handler, and none is
    // requested.
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
            scheduler.given_task_cycles 24
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
            scheduler.given_task_cycles 36
        "#]],
    );
    // No packet of it ever arrived.
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
            scheduler.given_task_cycles 12
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
            scheduler.shared_descriptor_cycles 15
            scheduler.given_task_cycles 60
        "#]],
    );
}
