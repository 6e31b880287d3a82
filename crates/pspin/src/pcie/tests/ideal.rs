//! The ideal host of the RTL's simulation: a beat a cycle, and a latency.

use super::*;
use crate::testing::params;

#[test]
fn a_beat_a_cycle_and_bursts_stay_together() {
    let bursts: [&[_]; 2] =
        [&[(10, 47, 17, false), (12, 64, 64, true), (13, 0, 8, true)], &[(10, 4096, 64, true), (11, 0, 1, true)]];
    Way::over(params().pcie).check(
        bursts,
        &[(10, 100, 64), (11, 0, 1)],
        expect![[r#"
            11   data 0 [64]
            11   event host_read addr=0x64 bytes=0x1c
            11   event host_written addr=0x2f bytes=0x11
            12   data 0 [80]!
            12   event host_read addr=0x80 bytes=0x24
            13   data 0 [00]!
            13   event host_read addr=0x0 bytes=0x1
            13   event host_written addr=0x40 bytes=0x40
            13   written 0
            14   event host_written addr=0x1000 bytes=0x40
            14   written 1
            15   event host_written addr=0x0 bytes=0x1
            15   written 1
            16   event host_written addr=0x0 bytes=0x8
            16   written 0
            pcie.write_beats 5
            pcie.write_bytes 154
            pcie.first_write_cycle 11
            pcie.last_write_cycle 16
            pcie.read_beats 3
            pcie.read_bytes 65
            pcie.first_read_cycle 11
            pcie.last_read_cycle 13
        "#]],
    );
}

#[test]
fn one_burst_at_a_time_leaves_whole_and_waits_for_its_response() {
    // All beats of the first burst have arrived in cycle 20. The other initiator's beat arrived in cycle 12 and leaves
    // after the response.
    let writes: [&[_]; 2] = [&[(11, 0, 64, false), (20, 64, 64, true)], &[(12, 4096, 8, true)]];
    let slow = PcieParams { latency_cycles: 10, ..params().pcie };
    let way = Way { one_burst: true, ..Way::over(slow) };
    way.check(
        writes,
        &[(10, 0, 128), (11, 256, 64)],
        expect![[r#"
        20   data 0 [00]
        20   event host_read addr=0x0 bytes=0x40
        21   data 0 [40]!
        21   event host_read addr=0x40 bytes=0x40
        30   event host_written addr=0x0 bytes=0x40
        31   data 0 [00]!
        31   event host_read addr=0x100 bytes=0x40
        31   event host_written addr=0x40 bytes=0x40
        31   written 0
        41   event host_written addr=0x1000 bytes=0x8
        41   written 1
        pcie.write_beats 3
        pcie.write_bytes 136
        pcie.first_write_cycle 30
        pcie.last_write_cycle 41
        pcie.read_beats 3
        pcie.read_bytes 192
        pcie.first_read_cycle 20
        pcie.last_read_cycle 31
    "#]],
    );
}

#[test]
fn data_pass_in_the_order_of_addresses() {
    // The only beat of the second initiator arrives long before the beats of the first, whose address came earlier. The
    // third and fourth burst of the first wait until one of the two before them is answered, and later bursts wait with
    // them.
    let writes: [&[_]; 2] = [
        &[(20, 0, 64, false), (21, 64, 64, true), (22, 128, 64, true), (23, 192, 64, true), (24, 256, 64, true)],
        &[(12, 4096, 8, true), (13, 8192, 8, true)],
    ];
    let slow = PcieParams { latency_cycles: 10, ..params().pcie };
    let bursts = [vec![10, 13, 14, 15], vec![11, 16]];
    expect![[r#"
        30   event host_written addr=0x0 bytes=0x40
        31   event host_written addr=0x40 bytes=0x40
        31   written 0
        32   event host_written addr=0x1000 bytes=0x8
        32   written 1
        33   event host_written addr=0x80 bytes=0x40
        33   written 0
        42   event host_written addr=0xc0 bytes=0x40
        42   written 0
        44   event host_written addr=0x100 bytes=0x40
        44   written 0
        45   event host_written addr=0x2000 bytes=0x8
        45   written 1
        pcie.write_beats 7
        pcie.write_bytes 336
        pcie.first_write_cycle 30
        pcie.last_write_cycle 45
    "#]]
    .assert_eq(&Way::over(slow).run_announced(bursts, writes, &[]));
}

#[test]
fn latency_and_gaps_count_from_beat_to_beat() {
    let slow = PcieParams { latency_cycles: 30, write_gap_cycles: 3, read_gap_cycles: 5, ..params().pcie };
    Way::over(slow).check(
        [&[(10, 0, 64, false), (11, 64, 64, true)], &[]],
        &[(10, 0, 128)],
        expect![[r#"
            40   data 0 [00]
            40   event host_read addr=0x0 bytes=0x40
            40   event host_written addr=0x0 bytes=0x40
            44   event host_written addr=0x40 bytes=0x40
            44   written 0
            46   data 0 [00]!
            46   event host_read addr=0x40 bytes=0x40
            pcie.write_beats 2
            pcie.write_bytes 128
            pcie.first_write_cycle 40
            pcie.last_write_cycle 44
            pcie.read_beats 2
            pcie.read_bytes 128
            pcie.first_read_cycle 40
            pcie.last_read_cycle 46
        "#]],
    );
}

#[test]
fn the_host_reads_ahead_as_far_as_its_buffer_has_room() {
    let pcie = PcieParams { buffer_beats: 3, ..params().pcie };
    let way = Way { takes: |cycle| cycle >= 40, ..Way::over(pcie) };
    way.check(
        [&[], &[]],
        &[(10, 0, 448)],
        expect![[r#"
        11   event host_read addr=0x0 bytes=0x40
        12   event host_read addr=0x40 bytes=0x40
        13   event host_read addr=0x80 bytes=0x40
        14   event host_read addr=0xc0 bytes=0x40
        15   event host_read addr=0x100 bytes=0x40
        40   data 0 [00]
        41   data 0 [40]
        42   data 0 [80]
        43   data 0 [c0]
        43   event host_read addr=0x140 bytes=0x40
        44   data 0 [00]
        44   event host_read addr=0x180 bytes=0x40
        45   data 0 [40]
        46   data 0 [80]!
        pcie.read_beats 7
        pcie.read_bytes 448
        pcie.first_read_cycle 11
        pcie.last_read_cycle 17
    "#]],
    );
}
