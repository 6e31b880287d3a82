//! The paper's chaining models (7.2, Figure 7) and its results for them.

use super::bench::{N_PACKETS, PANIC, Scene, Service, Units, mean, percentile};
use expect_test::{Expect, expect};

/// Cycles (4 ns) of a packet at a rate, with a spread in percent, without forwarding and the gap after it.
fn at(gbps: u64, bytes: u64, percent: u64) -> (u64, u64) {
    let whole = (bytes * 8).div_ceil(gbps * 4);
    let rest = whole.saturating_sub(bytes.div_ceil(64) + 2);
    let spread = whole * percent / 100;
    (rest.saturating_sub(spread), rest + spread)
}

/// The quantity measured in a scene.
type Measure = fn(&Scene) -> String;

/// Makes one line for each value of the scene's first parameter and one entry for each of the second.
fn check<A, B>(lines: &[A], entries: &[B], scene: impl Fn(A, B) -> Scene, result: Measure, want: Expect)
where
    A: Copy + std::fmt::Display,
    B: Copy + std::fmt::Display,
{
    let mut table = String::new();
    for &line in lines {
        let results = entries.iter().map(|&entry| format!("{entry}: {}", result(&scene(line, entry))));
        table += &format!("{line} | {}\n", results.collect::<Vec<_>>().join(", "));
    }
    want.assert_eq(&table);
}

fn gbps(scene: &Scene) -> String {
    format!("{:.1}", scene.run().gbps)
}

const SIZES: [usize; 6] = [64, 128, 256, 512, 1024, 1500];

/// Figure 8a: throughput of three pushed units in Gbit/s by credits and packet size. Credits limit the throughput of short
/// packets up to eight credits; with more, the units limit it. Credits never limit long packets.
#[test]
fn short_packets_need_up_to_eight_credits() {
    let chain = vec![Units { n: 1, service: |bytes| at(100, bytes, 0) }; 3];
    let scene = |credits, bytes| Scene {
        chain: chain.clone(),
        credits,
        chain_push: true,
        nic: PANIC,
        n_packets: N_PACKETS,
        bytes,
        rate: 100,
        line: None,
        first: None,
    };
    check(
        &[1, 2, 4, 8, 16],
        &SIZES,
        scene,
        gbps,
        expect![[r#"
            1 | 64: 5.3, 128: 10.6, 256: 19.7, 512: 32.0, 1024: 40.3, 1500: 41.1
            2 | 64: 10.7, 128: 21.4, 256: 39.4, 512: 64.0, 1024: 97.2, 1500: 98.7
            4 | 64: 21.4, 128: 42.7, 256: 78.8, 512: 92.8, 1024: 97.2, 1500: 98.7
            8 | 64: 42.7, 128: 64.0, 256: 85.1, 512: 92.8, 1024: 97.2, 1500: 98.7
            16 | 64: 42.7, 128: 64.0, 256: 85.1, 512: 92.8, 1024: 97.2, 1500: 98.7
        "#]],
    );
}

/// Figure 8b: latency through three units in nanoseconds.
#[test]
fn three_units_take_half_a_microsecond() {
    let chain = vec![Units { n: 1, service: |bytes| at(100, bytes, 0) }; 3];
    let scene = |rate, bytes| Scene {
        chain: chain.clone(),
        credits: 8,
        chain_push: true,
        nic: PANIC,
        n_packets: N_PACKETS,
        bytes,
        rate,
        line: None,
        first: None,
    };
    let result: Measure = |scene| format!("{:.0}", 4.0 * mean(&scene.run().latencies));
    check(
        &[10, 50],
        &SIZES,
        scene,
        result,
        expect![[r#"
            10 | 64: 382, 128: 382, 256: 382, 512: 394, 1024: 418, 1500: 432
            50 | 64: 1083, 128: 382, 256: 382, 512: 394, 1024: 418, 1500: 432
        "#]],
    );
}

/// Figure 9: throughput in Gbit/s of N units of X Gbit/s without push. The scheduler carries N times that, at most 256 with
/// descriptors.
#[test]
fn without_push_the_scheduler_bounds_long_chains() {
    let units: [(u64, Service); 4] = [
        (50, |bytes| at(50, bytes, 0)),
        (70, |bytes| at(70, bytes, 0)),
        (90, |bytes| at(90, bytes, 0)),
        (100, |bytes| at(100, bytes, 0)),
    ];
    let scene = |x: u64, n: usize| {
        let service = units.iter().find(|unit| unit.0 == x).expect("the rate must be in the list").1;
        Scene {
            chain: vec![Units { n: 1, service }; n],
            credits: 8,
            chain_push: false,
            nic: PANIC,
            n_packets: N_PACKETS,
            bytes: 1500,
            rate: x,
            line: Some(128),
            first: None,
        }
    };
    check(
        &[50, 70, 90, 100],
        &[1, 2, 3, 4],
        scene,
        gbps,
        expect![[r#"
            50 | 1: 50.0, 2: 50.0, 3: 50.0, 4: 50.0
            70 | 1: 69.8, 2: 69.8, 3: 69.8, 4: 60.0
            90 | 1: 88.3, 2: 88.2, 3: 80.0, 4: 60.0
            100 | 1: 100.0, 2: 100.0, 3: 80.1, 4: 60.1
        "#]],
    );
}

/// Figure 8c: throughput in Gbit/s of three parallel units of 34 Gbit/s with varying service times.
#[test]
fn variance_does_not_slow_parallel_units() {
    let scene = |percent: u64, bytes| {
        let service: Service = if percent == 20 { |bytes| at(34, bytes, 20) } else { |bytes| at(34, bytes, 40) };
        Scene {
            chain: vec![Units { n: 3, service }],
            credits: 6,
            chain_push: true,
            nic: PANIC,
            n_packets: N_PACKETS,
            bytes,
            rate: 100,
            line: None,
            first: None,
        }
    };
    check(
        &[20, 40],
        &SIZES,
        scene,
        gbps,
        expect![[r#"
            20 | 64: 56.8, 128: 73.0, 256: 85.1, 512: 92.8, 1024: 97.2, 1500: 98.6
            40 | 64: 56.8, 128: 73.0, 256: 85.1, 512: 92.8, 1024: 97.2, 1500: 98.7
        "#]],
    );
}

/// Figure 8d: scheduling latency without service times in nanoseconds over load: mean, and 5th to 99th percentile.
#[test]
fn scheduling_takes_less_than_the_papers_bounds() {
    let chain = vec![Units { n: 3, service: |bytes| at(34, bytes, 40) }];
    let scene = |bytes, rate| Scene {
        chain: chain.clone(),
        credits: 2,
        chain_push: true,
        nic: PANIC,
        n_packets: N_PACKETS,
        bytes,
        rate,
        line: Some(128),
        first: None,
    };
    let result: Measure = |scene| {
        let results = scene.run().scheduling;
        format!("{:.0} ({} to {})", 4.0 * mean(&results), 4 * percentile(&results, 5), 4 * percentile(&results, 99))
    };
    check(
        &[1500],
        &[10, 30, 50, 70, 90, 95, 98],
        scene,
        result,
        expect![[r#"
            1500 | 10: 280 (280 to 280), 30: 280 (280 to 280), 50: 286 (280 to 372), 70: 314 (276 to 604), 90: 427 (280 to 716), 95: 465 (280 to 756), 98: 508 (280 to 892)
        "#]],
    );
}

/// Figure 8e: throughput in Gbit/s through two units of 52 and two of 50 Gbit/s, and the share of packets with a detour.
#[test]
fn detours_cost_no_throughput() {
    let chain =
        vec![Units { n: 2, service: |bytes| at(52, bytes, 30) }, Units { n: 2, service: |bytes| at(50, bytes, 30) }];
    let scene = |credits, bytes| Scene {
        chain: chain.clone(),
        credits,
        chain_push: true,
        nic: PANIC,
        n_packets: N_PACKETS,
        bytes,
        rate: 100,
        line: None,
        first: None,
    };
    let result: Measure = |scene| {
        let results = scene.run();
        format!("{:.1} ({:.2})", results.gbps, results.detoured)
    };
    check(
        &[2, 4],
        &SIZES,
        scene,
        result,
        expect![[r#"
            2 | 64: 21.4 (0.00), 128: 40.2 (0.00), 256: 65.3 (0.00), 512: 78.5 (0.01), 1024: 97.0 (0.05), 1500: 98.1 (0.06)
            4 | 64: 42.7 (0.00), 128: 73.0 (0.00), 256: 85.1 (0.00), 512: 92.8 (0.00), 1024: 97.2 (0.00), 1500: 98.6 (0.01)
        "#]],
    );
}
