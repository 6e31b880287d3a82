//! Packets that come before the header of their message.

use super::*;

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
            scheduler.shared_descriptor_cycles 67
            scheduler.given_task_cycles 60
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
            scheduler.shared_descriptor_cycles 15
            scheduler.given_task_cycles 36
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
            scheduler.shared_descriptor_cycles 68
            scheduler.given_task_cycles 60
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
            scheduler.shared_descriptor_cycles 16
            scheduler.given_task_cycles 48
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
            scheduler.shared_descriptor_cycles 1
            scheduler.given_task_cycles 24
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
            scheduler.shared_descriptor_cycles 15
            scheduler.given_task_cycles 36
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
            scheduler.shared_descriptor_cycles 67
            scheduler.timeouts 1
            scheduler.given_task_cycles 36
        "#]],
    );
}
