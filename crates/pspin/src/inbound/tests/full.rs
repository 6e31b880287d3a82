//! What becomes of a packet that finds packet memory full: four packets of 64 bytes fill it.

use super::*;
use crate::delivery::WhenFull;

fn asks(when_full: WhenFull) -> Delivery {
    // So that it is not what the RTL does: the test logs events then.
    Delivery { when_full, ecn_threshold_percent: 50, timeout_cycles: 1, ..Delivery::default() }
}

#[test]
fn it_waits() {
    check_with(
        asks(WhenFull::Stall),
        256,
        "64 64 64 64 64!",
        "40:0",
        expect![[r#"
            5    event packet_in packet=0x0 msgid=0x3 bytes=0x40 addr=0x1c400000
            6    address
            6    event packet_in packet=0x1 msgid=0x3 bytes=0x40 addr=0x1c400040
            6    l2: write 64 at 0x1c400000
            7    address
            7    event packet_in packet=0x2 msgid=0x3 bytes=0x40 addr=0x1c400080
            7    l2: write 64 at 0x1c400040
            8    address
            8    event packet_in packet=0x3 msgid=0x3 bytes=0x40 addr=0x1c4000c0
            8    l2: write 64 at 0x1c400080
            9    address
            9    event packet_stalled packet=0x4
            9    l2: write 64 at 0x1c4000c0
            10   event her_sent packet=0x0 eom=0x0
            10   her 0 at 0x1c400000 of 64
            11   event her_sent packet=0x1 eom=0x0
            11   her 1 at 0x1c400040 of 64
            12   event her_sent packet=0x2 eom=0x0
            12   her 2 at 0x1c400080 of 64
            13   event her_sent packet=0x3 eom=0x0
            13   her 3 at 0x1c4000c0 of 64
            39   event packet_done packet=0x0
            39   packet 0 done, stored from 5, her 10
            40   event packet_in packet=0x4 msgid=0x3 bytes=0x40 addr=0x1c400000
            41   address
            41   l2: write 64 at 0x1c400000
            45   event her_sent packet=0x4 eom=0x1
            45   her 4 at 0x1c400000 of 64!
            inbound.packets 5
            inbound.bytes 320
            inbound.stall_cycles 31
            inbound.done 1
            inbound.latency_cycles 34
            inbound.latency_min 34
            inbound.latency_max 34
            inbound.first_done_cycle 39
            inbound.last_done_cycle 39
        "#]],
    );
}

#[test]
fn it_is_dropped_until_there_is_room() {
    check_with(
        asks(WhenFull::Drop),
        256,
        "64 64 64 64 64@39 64@40!",
        "40:0",
        expect![[r#"
            5    event packet_in packet=0x0 msgid=0x3 bytes=0x40 addr=0x1c400000
            6    address
            6    event packet_in packet=0x1 msgid=0x3 bytes=0x40 addr=0x1c400040
            6    l2: write 64 at 0x1c400000
            7    address
            7    event packet_in packet=0x2 msgid=0x3 bytes=0x40 addr=0x1c400080
            7    l2: write 64 at 0x1c400040
            8    address
            8    event packet_in packet=0x3 msgid=0x3 bytes=0x40 addr=0x1c4000c0
            8    l2: write 64 at 0x1c400080
            9    address
            9    l2: write 64 at 0x1c4000c0
            10   event her_sent packet=0x0 eom=0x0
            10   her 0 at 0x1c400000 of 64
            11   event her_sent packet=0x1 eom=0x0
            11   her 1 at 0x1c400040 of 64
            12   event her_sent packet=0x2 eom=0x0
            12   her 2 at 0x1c400080 of 64
            13   event her_sent packet=0x3 eom=0x0
            13   her 3 at 0x1c4000c0 of 64
            39   event packet_done packet=0x0
            39   event packet_dropped packet=0x4 reason=0x3
            39   packet 0 done, stored from 5, her 10
            40   event packet_in packet=0x5 msgid=0x3 bytes=0x40 addr=0x1c400000
            41   address
            41   l2: write 64 at 0x1c400000
            45   event her_sent packet=0x5 eom=0x1
            45   her 5 at 0x1c400000 of 64!
            inbound.packets 5
            inbound.bytes 320
            inbound.dropped_packet_memory_full 1
            inbound.done 1
            inbound.latency_cycles 34
            inbound.latency_min 34
            inbound.latency_max 34
            inbound.first_done_cycle 39
            inbound.last_done_cycle 39
        "#]],
    );
}

#[test]
fn it_is_marked_beyond_the_threshold_and_waits_or_is_dropped() {
    check_with(
        asks(WhenFull::MarkEcn),
        256,
        "3e:64 3:64 3e:64 3e:64 3:64 3e:64!",
        "40:0",
        expect![[r#"
            5    event packet_in packet=0x0 msgid=0x3 bytes=0x40 addr=0x1c400000
            6    address
            6    event packet_in packet=0x1 msgid=0x3 bytes=0x40 addr=0x1c400040
            6    l2: write 64 at 0x1c400000
            7    address
            7    event packet_in packet=0x2 msgid=0x3 bytes=0x40 addr=0x1c400080
            7    l2: write 64 at 0x1c400040
            8    address
            8    event packet_in packet=0x3 msgid=0x3 bytes=0x40 addr=0x1c4000c0
            8    event packet_marked packet=0x3 occupied=0xc0
            8    l2: write 64 at 0x1c400080
            9    address
            9    event packet_dropped packet=0x4 reason=0x3
            9    l2: write 64 at 0x1c4000c0
            10   event her_sent packet=0x0 eom=0x0
            10   event packet_stalled packet=0x5
            10   her 0 at 0x1c400000 of 64
            11   event her_sent packet=0x1 eom=0x0
            11   her 1 at 0x1c400040 of 64
            12   event her_sent packet=0x2 eom=0x0
            12   her 2 at 0x1c400080 of 64
            13   event her_sent packet=0x3 eom=0x0
            13   her 3 at 0x1c4000c0 of 64
            39   event packet_done packet=0x0
            39   packet 0 done, stored from 5, her 10
            40   event packet_in packet=0x5 msgid=0x3 bytes=0x40 addr=0x1c400000
            40   event packet_marked packet=0x5 occupied=0xc0
            41   address
            41   l2: write 64 at 0x1c400000
            45   event her_sent packet=0x5 eom=0x1
            45   her 5 at 0x1c400000 of 64!
            inbound.packets 5
            inbound.bytes 320
            inbound.dropped_packet_memory_full 1
            inbound.marked 2
            inbound.stall_cycles 30
            inbound.done 1
            inbound.latency_cycles 34
            inbound.latency_min 34
            inbound.latency_max 34
            inbound.first_done_cycle 39
            inbound.last_done_cycle 39
        "#]],
    );
}

#[test]
fn its_message_is_killed_and_another_is_not() {
    check_with(
        asks(WhenFull::KillMessage),
        256,
        "4:64 3:64 3:64 3:64 3:64 3:64 3:64! 3:64@60!",
        "40:0",
        expect![[r#"
            5    event packet_in packet=0x0 msgid=0x4 bytes=0x40 addr=0x1c400000
            6    address
            6    event packet_in packet=0x1 msgid=0x3 bytes=0x40 addr=0x1c400040
            6    l2: write 64 at 0x1c400000
            7    address
            7    event packet_in packet=0x2 msgid=0x3 bytes=0x40 addr=0x1c400080
            7    l2: write 64 at 0x1c400040
            8    address
            8    event packet_in packet=0x3 msgid=0x3 bytes=0x40 addr=0x1c4000c0
            8    l2: write 64 at 0x1c400080
            9    address
            9    event packet_dropped packet=0x4 reason=0x4
            9    l2: write 64 at 0x1c4000c0
            10   event packet_dropped packet=0x5 reason=0x4
            10   her kills 3
            11   event her_sent packet=0x0 eom=0x0
            11   event packet_dropped packet=0x1 reason=0x4
            11   event packet_dropped packet=0x6 reason=0x4
            11   her 0 at 0x1c400000 of 64
            12   event packet_dropped packet=0x2 reason=0x4
            13   event packet_dropped packet=0x3 reason=0x4
            39   event packet_done packet=0x0
            39   packet 0 done, stored from 5, her 11
            60   event packet_in packet=0x7 msgid=0x3 bytes=0x40 addr=0x1c400000
            61   address
            61   l2: write 64 at 0x1c400000
            65   event her_sent packet=0x7 eom=0x1
            65   her 7 at 0x1c400000 of 64!
            inbound.packets 5
            inbound.bytes 320
            inbound.dropped_message_killed 6
            inbound.done 1
            inbound.latency_cycles 34
            inbound.latency_min 34
            inbound.latency_max 34
            inbound.first_done_cycle 39
            inbound.last_done_cycle 39
        "#]],
    );
}

#[test]
fn a_killed_message_whose_last_packet_is_lost_ends_with_the_next_header() {
    check_with(
        asks(WhenFull::KillMessage),
        128,
        "4:64 3:64 3:64 3:64@50 3^:64@50 3:64@55!",
        "40:0",
        expect![[r#"
            5    event packet_in packet=0x0 msgid=0x4 bytes=0x40 addr=0x1c400000
            6    address
            6    event packet_in packet=0x1 msgid=0x3 bytes=0x40 addr=0x1c400040
            6    l2: write 64 at 0x1c400000
            7    address
            7    event packet_dropped packet=0x2 reason=0x4
            7    l2: write 64 at 0x1c400040
            8    her kills 3
            10   event her_sent packet=0x0 eom=0x0
            10   event packet_dropped packet=0x1 reason=0x4
            10   her 0 at 0x1c400000 of 64
            39   event packet_done packet=0x0
            39   packet 0 done, stored from 5, her 10
            50   event packet_dropped packet=0x3 reason=0x4
            51   event packet_in packet=0x4 msgid=0x3 bytes=0x40 addr=0x1c400000
            52   address
            52   l2: write 64 at 0x1c400000
            55   event packet_in packet=0x5 msgid=0x3 bytes=0x40 addr=0x1c400040
            56   address
            56   event her_sent packet=0x4 eom=0x0
            56   her 4 at 0x1c400000 of 64
            56   l2: write 64 at 0x1c400040
            60   event her_sent packet=0x5 eom=0x1
            60   her 5 at 0x1c400040 of 64!
            inbound.packets 4
            inbound.bytes 256
            inbound.dropped_message_killed 3
            inbound.done 1
            inbound.latency_cycles 34
            inbound.latency_min 34
            inbound.latency_max 34
            inbound.first_done_cycle 39
            inbound.last_done_cycle 39
        "#]],
    );
}

#[test]
fn a_killed_message_is_over_with_its_last_packet_even_if_that_would_never_fit() {
    check_with(
        asks(WhenFull::KillMessage),
        128,
        "4:64 3:64 3:64 3:999! 3:64@50!",
        "40:0",
        expect![[r#"
            5    event packet_in packet=0x0 msgid=0x4 bytes=0x40 addr=0x1c400000
            6    address
            6    event packet_in packet=0x1 msgid=0x3 bytes=0x40 addr=0x1c400040
            6    l2: write 64 at 0x1c400000
            7    address
            7    event packet_dropped packet=0x2 reason=0x4
            7    l2: write 64 at 0x1c400040
            8    event packet_dropped packet=0x3 reason=0x4
            8    her kills 3
            10   event her_sent packet=0x0 eom=0x0
            10   event packet_dropped packet=0x1 reason=0x4
            10   her 0 at 0x1c400000 of 64
            39   event packet_done packet=0x0
            39   packet 0 done, stored from 5, her 10
            50   event packet_in packet=0x4 msgid=0x3 bytes=0x40 addr=0x1c400000
            51   address
            51   l2: write 64 at 0x1c400000
            55   event her_sent packet=0x4 eom=0x1
            55   her 4 at 0x1c400000 of 64!
            inbound.packets 3
            inbound.bytes 192
            inbound.dropped_message_killed 3
            inbound.done 1
            inbound.latency_cycles 34
            inbound.latency_min 34
            inbound.latency_max 34
            inbound.first_done_cycle 39
            inbound.last_done_cycle 39
        "#]],
    );
    // The next message begins with a packet that is dropped: what follows is not the killed one's.
    check_with(
        asks(WhenFull::KillMessage),
        128,
        "4:64 3:64 3:64 3^:999@50 3:64@55!",
        "40:0",
        expect![[r#"
            5    event packet_in packet=0x0 msgid=0x4 bytes=0x40 addr=0x1c400000
            6    address
            6    event packet_in packet=0x1 msgid=0x3 bytes=0x40 addr=0x1c400040
            6    l2: write 64 at 0x1c400000
            7    address
            7    event packet_dropped packet=0x2 reason=0x4
            7    l2: write 64 at 0x1c400040
            8    her kills 3
            10   event her_sent packet=0x0 eom=0x0
            10   event packet_dropped packet=0x1 reason=0x4
            10   her 0 at 0x1c400000 of 64
            39   event packet_done packet=0x0
            39   packet 0 done, stored from 5, her 10
            50   event packet_dropped packet=0x3 reason=0x1
            55   event packet_in packet=0x4 msgid=0x3 bytes=0x40 addr=0x1c400000
            56   address
            56   l2: write 64 at 0x1c400000
            60   event her_sent packet=0x4 eom=0x1
            60   her 4 at 0x1c400000 of 64!
            inbound.packets 3
            inbound.bytes 192
            inbound.dropped_too_large 1
            inbound.dropped_message_killed 2
            inbound.done 1
            inbound.latency_cycles 34
            inbound.latency_min 34
            inbound.latency_max 34
            inbound.first_done_cycle 39
            inbound.last_done_cycle 39
        "#]],
    );
}

#[test]
fn a_tenant_beside_another_has_no_more_than_its_share_whatever_it_asks_for() {
    // Half of four packets each: the third of one is dropped, though it would wait, and those of the other find room.
    check_with(
        asks(WhenFull::Stall),
        256,
        "1:64 1:64 1:64! 101:64 101:64! 1:64@50!",
        "40:0 41:64",
        expect![[r#"
            5    event packet_in packet=0x0 msgid=0x1 bytes=0x40 addr=0x1c400000
            6    address
            6    event packet_in packet=0x1 msgid=0x1 bytes=0x40 addr=0x1c400040
            6    l2: write 64 at 0x1c400000
            7    address
            7    event packet_dropped packet=0x2 reason=0x8
            7    l2: write 64 at 0x1c400040
            8    event packet_in packet=0x3 msgid=0x65 bytes=0x40 addr=0x1c400080
            9    address
            9    event packet_in packet=0x4 msgid=0x65 bytes=0x40 addr=0x1c4000c0
            9    l2: write 64 at 0x1c400080
            10   address
            10   event her_sent packet=0x0 eom=0x0
            10   her 0 at 0x1c400000 of 64
            10   l2: write 64 at 0x1c4000c0
            11   event her_sent packet=0x1 eom=0x1
            11   her 1 at 0x1c400040 of 64!
            13   event her_sent packet=0x3 eom=0x0
            13   her 3 at 0x1c400080 of 64
            14   event her_sent packet=0x4 eom=0x1
            14   her 4 at 0x1c4000c0 of 64!
            39   event packet_done packet=0x0
            39   packet 0 done, stored from 5, her 10
            40   event packet_done packet=0x1
            40   packet 1 done, stored from 6, her 11
            50   event packet_in packet=0x5 msgid=0x1 bytes=0x40 addr=0x1c400000
            51   address
            51   l2: write 64 at 0x1c400000
            55   event her_sent packet=0x5 eom=0x1
            55   her 5 at 0x1c400000 of 64!
            inbound.packets 5
            inbound.bytes 320
            inbound.dropped_packet_memory_share 1
            inbound.done 2
            inbound.latency_cycles 68
            inbound.latency_min 34
            inbound.latency_max 34
            inbound.first_done_cycle 39
            inbound.last_done_cycle 40
        "#]],
    );
}
