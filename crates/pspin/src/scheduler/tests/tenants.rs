//! Isolation of tenants from each other.

use super::*;

/// A header handler of tenant 0 runs for long while its packets come; those of tenant 1 come behind them.
const FLOOD: &str = "10:5 11:5 12:5 13:5 14:5! 20:105! 21:106!";

#[test]
fn a_tenant_without_descriptors_holds_up_others_unless_tenants_take_turns() {
    let scene = Scene { shared_cells: 1, delay: 40, ..USUAL };
    check(
        scene,
        "h",
        FLOOD,
        expect![[r#"
        13   cluster 1: Header 0 of 5
        57   cluster 1: Payload 0 of 5, frees it
        58   cluster 1: Payload 1 of 5, frees it
        59   cluster 1: Payload 2 of 5, frees it
        60   cluster 1: Payload 3 of 5, frees it
        61   cluster 1: Payload 4 of 5, frees it
        62   cluster 1: Header 5 of 105
        63   cluster 2: Header 6 of 106
        99   released 0
        100  released 1
        101  released 2
        102  released 3
        103  released 4
        103  tells MessageDone { msgid: 5 }
        106  cluster 1: Payload 5 of 105, frees it
        107  cluster 2: Payload 6 of 106, frees it
        148  released 5
        148  tells MessageDone { msgid: 105 }
        149  released 6
        149  tells MessageDone { msgid: 106 }
        scheduler.her_stall_cycles 44
        scheduler.hers 7
        scheduler.header_tasks 3
        scheduler.payload_tasks 7
    "#]],
    );
    check(
        Scene { turns: true, ..scene },
        "h",
        FLOOD,
        expect![[r#"
        13   cluster 1: Header 0 of 5
        23   cluster 1: Header 5 of 105
        24   cluster 2: Header 6 of 106
        57   cluster 1: Payload 0 of 5, frees it
        58   cluster 1: Payload 1 of 5, frees it
        59   cluster 1: Payload 2 of 5, frees it
        60   cluster 1: Payload 3 of 5, frees it
        61   cluster 1: Payload 4 of 5, frees it
        67   cluster 1: Payload 5 of 105, frees it
        68   cluster 2: Payload 6 of 106, frees it
        99   released 0
        100  released 1
        101  released 2
        102  released 3
        103  released 4
        103  tells MessageDone { msgid: 5 }
        109  released 5
        109  tells MessageDone { msgid: 105 }
        110  released 6
        110  tells MessageDone { msgid: 106 }
        scheduler.her_stall_cycles 132
        scheduler.hers_set_aside 3
        scheduler.hers 7
        scheduler.header_tasks 3
        scheduler.payload_tasks 7
    "#]],
    );
}

#[test]
fn requests_set_aside_end_and_die_with_their_message() {
    let scene = Scene { shared_cells: 1, delay: 40, turns: true, ..USUAL };
    check(
        scene,
        "hp",
        "10:5 11:5 12:5 13:5 20:105! 22:kill5 23:5!",
        expect![[r#"
        13   cluster 1: Header 0 of 5
        23   cluster 1: Header 4 of 105
        23   tells MessageKilled { msgid: 5, dropped: 4 }
        24   released 1 dropped: message_killed
        25   released 2 dropped: message_killed
        26   released 3 dropped: message_killed
        56   released 0 dropped: message_killed
        57   cluster 1: Header 6 of 5
        67   cluster 1: Payload 4 of 105, frees it
        101  cluster 1: Payload 6 of 5, frees it
        109  released 4
        109  tells MessageDone { msgid: 105 }
        143  released 6
        143  tells MessageDone { msgid: 5 }
        scheduler.her_stall_cycles 1
        scheduler.hers_set_aside 3
        scheduler.hers 4
        scheduler.header_tasks 3
        scheduler.payload_tasks 2
        scheduler.kills 1
    "#]],
    );
    check(
        scene,
        "hpc",
        "10:5 11:5 12:5 13:5 20:end5 30:105!",
        expect![[r#"
        13   cluster 1: Header 0 of 5
        33   cluster 1: Header 5 of 105
        57   cluster 1: Payload 0 of 5, frees it
        58   cluster 1: Payload 1 of 5, frees it
        59   cluster 1: Payload 2 of 5, frees it
        60   cluster 1: Payload 3 of 5
        77   cluster 1: Payload 5 of 105
        99   released 0
        100  released 1
        101  released 2
        104  cluster 1: Completion 3 of 5, frees it
        121  cluster 1: Completion 5 of 105, frees it
        146  released 3
        146  tells MessageDone { msgid: 5 }
        163  released 5
        163  tells MessageDone { msgid: 105 }
        scheduler.her_stall_cycles 88
        scheduler.hers_set_aside 2
        scheduler.hers 5
        scheduler.header_tasks 2
        scheduler.payload_tasks 5
        scheduler.completion_tasks 2
    "#]],
    );
}

#[test]
fn many_messages_of_a_tenant_get_no_more_tasks_than_one_of_another() {
    let scene = Scene { n_clusters: 1, max_tasks: 1, delay: 20, ..USUAL };
    let flood = "10:1! 11:2! 12:3! 13:4! 14:5! 15:6! 20:100!";
    check(
        scene,
        "p",
        flood,
        expect![[r#"
        13   cluster 0: Payload 0 of 1, frees it
        35   released 0
        35   tells MessageDone { msgid: 1 }
        36   cluster 0: Payload 1 of 2, frees it
        58   released 1
        58   tells MessageDone { msgid: 2 }
        59   cluster 0: Payload 2 of 3, frees it
        81   released 2
        81   tells MessageDone { msgid: 3 }
        82   cluster 0: Payload 5 of 6, frees it
        104  released 5
        104  tells MessageDone { msgid: 6 }
        105  cluster 0: Payload 3 of 4, frees it
        127  released 3
        127  tells MessageDone { msgid: 4 }
        128  cluster 0: Payload 4 of 5, frees it
        150  released 4
        150  tells MessageDone { msgid: 5 }
        151  cluster 0: Payload 6 of 100, frees it
        173  released 6
        173  tells MessageDone { msgid: 100 }
        scheduler.hers 7
        scheduler.payload_tasks 7
    "#]],
    );
    check(
        Scene { turns: true, ..scene },
        "p",
        flood,
        expect![[r#"
        13   cluster 0: Payload 0 of 1, frees it
        35   released 0
        35   tells MessageDone { msgid: 1 }
        36   cluster 0: Payload 1 of 2, frees it
        58   released 1
        58   tells MessageDone { msgid: 2 }
        59   cluster 0: Payload 2 of 3, frees it
        81   released 2
        81   tells MessageDone { msgid: 3 }
        82   cluster 0: Payload 6 of 100, frees it
        104  released 6
        104  tells MessageDone { msgid: 100 }
        105  cluster 0: Payload 5 of 6, frees it
        127  released 5
        127  tells MessageDone { msgid: 6 }
        128  cluster 0: Payload 3 of 4, frees it
        150  released 3
        150  tells MessageDone { msgid: 4 }
        151  cluster 0: Payload 4 of 5, frees it
        173  released 4
        173  tells MessageDone { msgid: 5 }
        scheduler.hers 7
        scheduler.payload_tasks 7
    "#]],
    );
}
