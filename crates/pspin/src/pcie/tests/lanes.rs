//! A link of lanes: packets, their headers, and the host behind it.

use super::*;
use blocks::pcie::PcieModel;

/// A burst of 64-byte beats, one a cycle.
fn burst(start: Cycle, addr: u64, beats: u64) -> Vec<Beat> {
    (0..beats).map(|i| (start + i, addr + 64 * i, 64, i + 1 == beats)).collect()
}

#[test]
fn a_fixed_rate_takes_its_bits_and_no_more() {
    let paper = PcieParams { model: PcieModel::FixedRate, ..link(|_| ()) };
    let log = Way::over(paper).run([&burst(10, 0, 640), &[]], &[]);
    // 640 beats of 64 bytes need 650 cycles at 504 Gbit/s, the last of them beginning in the 649th.
    let at: Vec<&str> = log.lines().filter(|line| line.contains("host_written")).collect();
    expect![[r#"
        11   event host_written addr=0x0 bytes=0x40
        12   event host_written addr=0x40 bytes=0x40
        76   event host_written addr=0x1000 bytes=0x40
        659  event host_written addr=0x9fc0 bytes=0x40"#]]
    .assert_eq(&[at[0], at[1], at[64], at[639]].join("\n"));
}

#[test]
fn a_write_is_answered_when_it_has_left_and_is_there_after_the_latency() {
    Way::over(link(|_| ())).check(
        [&[(10, 0x1000, 64, true)], &[(10, 0x20fc, 8, true)]],
        &[],
        expect![[r#"
            12   written 0
            13   written 1
            112  event host_written addr=0x1000 bytes=0x40
            112  event host_written addr=0x20fc bytes=0x8
            pcie.write_beats 2
            pcie.write_bytes 72
            pcie.first_write_cycle 112
            pcie.last_write_cycle 112
            pcie.write_packets 2
            pcie.line_bytes_to_host 120
            pcie.to_host_cycles 1
        "#]],
    );
}

#[test]
fn write_packets_end_at_multiples_of_their_largest() {
    // From 0x80 on: packets of 128, 256 and 64 bytes; or one of 384 and one of 64.
    Way::over(link(|_| ())).check(
        [&burst(10, 0x80, 7), &[]],
        &[],
        expect![[r#"
            21   written 0
            114  event host_written addr=0x80 bytes=0x40
            114  event host_written addr=0xc0 bytes=0x40
            120  event host_written addr=0x100 bytes=0x40
            120  event host_written addr=0x140 bytes=0x40
            120  event host_written addr=0x180 bytes=0x40
            120  event host_written addr=0x1c0 bytes=0x40
            121  event host_written addr=0x200 bytes=0x40
            pcie.write_beats 7
            pcie.write_bytes 448
            pcie.first_write_cycle 114
            pcie.last_write_cycle 121
            pcie.write_packets 3
            pcie.line_bytes_to_host 520
            pcie.to_host_cycles 8
        "#]],
    );
    Way::over(link(|link| link.max_payload_bytes = 512)).check(
        [&burst(10, 0x80, 7), &[]],
        &[],
        expect![[r#"
            23   written 0
            122  event host_written addr=0x100 bytes=0x40
            122  event host_written addr=0x140 bytes=0x40
            122  event host_written addr=0x180 bytes=0x40
            122  event host_written addr=0x1c0 bytes=0x40
            122  event host_written addr=0x80 bytes=0x40
            122  event host_written addr=0xc0 bytes=0x40
            123  event host_written addr=0x200 bytes=0x40
            pcie.write_beats 7
            pcie.write_bytes 448
            pcie.first_write_cycle 122
            pcie.last_write_cycle 123
            pcie.write_packets 2
            pcie.line_bytes_to_host 496
            pcie.to_host_cycles 7
        "#]],
    );
}

#[test]
fn a_read_takes_the_latency_twice_and_the_host_its_time() {
    Way::over(link(|_| ())).check(
        [&[], &[]],
        &[(10, 0x1000, 64)],
        expect![[r#"
            161  event host_read addr=0x1000 bytes=0x40
            263  data 0 [00]!
            pcie.read_beats 1
            pcie.read_bytes 64
            pcie.first_read_cycle 263
            pcie.last_read_cycle 263
            pcie.read_requests 1
            pcie.completions 1
            pcie.line_bytes_to_host 24
            pcie.line_bytes_from_host 84
            pcie.from_host_cycles 1
        "#]],
    );
}

#[test]
fn requests_and_completions_end_at_their_boundaries() {
    let params = link(|link| {
        link.max_read_request_bytes = 128;
        link.read_completion_boundary_bytes = 64;
    });
    // 0x60 to 0x160: requests of 32, 128 and 96 bytes; completions of 32, 64, 64, 64 and 32.
    Way::over(params).check(
        [&[], &[]],
        &[(10, 0x60, 256)],
        expect![[r#"
            161  event host_read addr=0x60 bytes=0x20
            162  event host_read addr=0x80 bytes=0x40
            163  event host_read addr=0xc0 bytes=0x40
            164  event host_read addr=0x100 bytes=0x40
            165  event host_read addr=0x140 bytes=0x20
            262  data 0 [60]
            264  data 0 [80]
            265  data 0 [c0]
            266  data 0 [00]
            267  data 0 [40]!
            pcie.read_beats 5
            pcie.read_bytes 256
            pcie.first_read_cycle 262
            pcie.last_read_cycle 267
            pcie.read_requests 3
            pcie.completions 5
            pcie.line_bytes_to_host 72
            pcie.line_bytes_from_host 356
            pcie.to_host_cycles 1
            pcie.from_host_cycles 5
        "#]],
    );
}

#[test]
fn reads_under_way_are_as_many_as_tags() {
    let params = link(|link| link.read_tags = 2);
    Way::over(params).check(
        [&[], &[]],
        &[(10, 0, 64), (11, 64, 64), (12, 128, 64)],
        expect![[r#"
            161  event host_read addr=0x0 bytes=0x40
            162  event host_read addr=0x40 bytes=0x40
            263  data 0 [00]!
            264  data 0 [40]!
            415  event host_read addr=0x80 bytes=0x40
            517  data 0 [80]!
            pcie.read_beats 3
            pcie.read_bytes 192
            pcie.first_read_cycle 263
            pcie.last_read_cycle 517
            pcie.read_requests 3
            pcie.completions 3
            pcie.line_bytes_to_host 72
            pcie.line_bytes_from_host 252
            pcie.to_host_cycles 1
            pcie.from_host_cycles 3
        "#]],
    );
}

/// Throughput of a direction: payload in bits, divided by the cycles between the first and the last beat.
fn gbps(log: &str, event: &str) -> f64 {
    let beat = |line: &str| {
        let bytes = line.split("bytes=0x").nth(1).expect("bytes");
        let cycle: f64 = line.split(' ').next().expect("a cycle").parse().expect("a cycle");
        (cycle, u64::from_str_radix(bytes, 16).expect("a number"))
    };
    let at: Vec<(f64, u64)> = log.lines().filter(|line| line.contains(event)).map(beat).collect();
    let bytes: u64 = at.iter().skip(1).map(|(_, bytes)| bytes).sum();
    bytes as f64 * 8.0 / (at[at.len() - 1].0 - at[0].0)
}

#[test]
fn peak_rates_are_those_of_the_formula() {
    let line = 16.0 * 32.0 * 128.0 / 130.0;
    for payload in [64u32, 256, 512] {
        let params = link(|link| link.max_payload_bytes = payload);
        let n = u64::from(payload / 64);
        // At most two bursts of an initiator are in flight, which is too few for such short bursts.
        let of = |from: u64| (0..2048 / n).filter(move |i| i % 2 == from);
        let [one, other] = [0, 1].map(|from| of(from).flat_map(|i| burst(10 + i * n, 4096 * i, n)).collect::<Vec<_>>());
        let log = Way::over(params).run([&one, &other], &[]);
        let (found, want) = (gbps(&log, "host_written"), line * f64::from(payload) / f64::from(payload + 24));
        assert!((found / want - 1.0).abs() < 0.01, "{payload}: {found} {want}");
    }
    // At most two of them are in flight, which is too few for a long path.
    let near = |link: &mut LinkParams| (link.latency_cycles, link.host_read_cycles) = (10, 10);
    let reads: Vec<_> = (0..64).map(|i| (10 + i, 4096 * i, 4096)).collect();
    let log = Way::over(link(near)).run([&[], &[]], &reads);
    let (found, want) = (gbps(&log, "host_read"), line * 64.0 / 84.0);
    assert!((found / want - 1.0).abs() < 0.01, "{found} {want}");
}
