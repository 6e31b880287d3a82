//! Packets to the host.

use super::*;

#[test]
fn ideal_host_memory_adds_a_cycle() {
    // The tail of the first packet arrives in cycle 13.
    check(
        &small(),
        "10 1 0 192; 14 2 0 64; 16 3 0 65",
        &[0, 1, 0],
        &[],
        expect![[r#"
        14   left #1 Host(0): Leaving 10 Left 14
        16   left #2 Host(1): Leaving 14 Left 16
        19   left #3 Host(0): Leaving 16 Left 19
    "#]],
    );
}

#[test]
fn over_pcie_the_last_byte_arrives_after_the_latency() {
    check(
        &packets(),
        "10 1 0 64; 20 2 0 1536",
        &[0, 0],
        &[],
        expect![[r#"
        113  left #1 Host(0): Leaving 10 Left 113
        151  left #2 Host(0): Leaving 20 Left 151
    "#]],
    );
}

#[test]
fn an_empty_packet_stays_in_order_and_leaves_with_its_completion() {
    check(
        &packets(),
        "10 1 0 1536; 40 2 0 0",
        &[0, 0],
        &[],
        expect![[r#"
        141  left #1 Host(0): Leaving 10 Left 141
        142  left #2 Host(0): Leaving 40 Left 142
    "#]],
    );
}

#[test]
fn a_queue_without_buffers_drops() {
    // Four buffers, each reposted 300 cycles after its completion is in memory.
    let params = DmaParams { host_cycles: 300, ..small() };
    let input = "10 1 0; 20 2 0; 30 3 0; 40 4 0; 50 5 0; 60 6 0; 400 7 0; 410 8 0 3000";
    check(
        &params,
        input,
        &[0, 0, 0, 0, 0, 1, 0, 0],
        &[],
        expect![[r#"
        12   left #1 Host(0): Leaving 10 Left 12
        22   left #2 Host(0): Leaving 20 Left 22
        32   left #3 Host(0): Leaving 30 Left 32
        42   left #4 Host(0): Leaving 40 Left 42
        51   dropped #5 no_host_buffer
        62   left #6 Host(1): Leaving 60 Left 62
        402  left #7 Host(0): Leaving 400 Left 402
        457  dropped #8 long_for_host_buffer
    "#]],
    );
    check(
        &small(),
        "10 1 0",
        &[2],
        &[],
        expect![[r#"
        11   dropped #1 no_host_buffer
    "#]],
    );
}

#[test]
fn a_packet_dropped_by_a_unit_takes_no_buffer() {
    let mut input = to_host("10 1 0 128; 20 2 0", &[0, 0]);
    let Flit::Head(message) = &mut input[0].1 else { panic!("a message must begin with its descriptor") };
    message.leg = Leg::Dropped(DropReason::BadDigest);
    expect![[r#"
        12   dropped #1 bad-digest
        22   left #2 Host(0): Leaving 20 Left 22
    "#]]
    .assert_eq(&run(&small(), &input, &[]));
}
