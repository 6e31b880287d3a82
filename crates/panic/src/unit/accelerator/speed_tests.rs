//! Throughput and latency of engines against Table 1 and section 7.6.

use super::tests::*;
use expect_test::{Expect, expect};

/// Lists `engine, packet bytes: Gbit/s, ns` for each length.
fn check(toml: &str, scene: &Scene, lengths: &[usize], want: Expect) {
    let line = |&len: &usize| {
        let (gbps, ns) = speed(toml, len, scene);
        format!("{len} bytes {gbps:.2} Gbit/s {ns:.1} ns\n")
    };
    want.assert_eq(&lengths.iter().map(line).collect::<String>());
}

/// A NIC so fast that only the engine takes time; the FIFO behind the engine adds one engine cycle.
const WIDE: Scene = Scene { nic_mhz: 10_000, ..SCENE };

/// The same engine behind FIFOs of one cycle.
fn swift(toml: &str) -> String {
    toml.replace("crossing_cycles = 2", "crossing_cycles = 1")
}

/// 7.6: 32 Gbit/s.
#[test]
fn aes_encrypts_128_bits_a_cycle() {
    check(
        AES,
        &SCENE,
        &[64, 100, 1472, 1500],
        expect![[r#"
            64 bytes 32.00 Gbit/s 148.0 ns
            100 bytes 28.57 Gbit/s 160.0 ns
            1472 bytes 32.00 Gbit/s 500.0 ns
            1500 bytes 31.91 Gbit/s 508.0 ns
        "#]],
    );
}

/// Table 1: 38.4 Gbit/s and 407 ns at 300 MHz.
#[test]
fn aes_at_300_mhz_matches_table_1() {
    let toml = AES.replace(r#"{ kind = "nic" }"#, r#"{ kind = "own", khz = 300_000, crossing_cycles = 1 }"#);
    check(
        &toml,
        &WIDE,
        &[64, 1472, 1488],
        expect![[r#"
            64 bytes 38.40 Gbit/s 116.7 ns
            1472 bytes 38.40 Gbit/s 410.0 ns
            1488 bytes 38.40 Gbit/s 413.4 ns
        "#]],
    );
}

/// 7.6: 6 Gbit/s per engine, 24 per unit.
#[test]
fn four_hash_engines_have_four_times_the_rate_of_one() {
    check(
        &SHA.replace("engines = 4", "engines = 1"),
        &SCENE,
        &[64, 1472],
        expect![[r#"
            64 bytes 1.42 Gbit/s 176.0 ns
            1472 bytes 6.01 Gbit/s 1776.0 ns
        "#]],
    );
    check(
        SHA,
        &SCENE,
        &[64, 1472, 1500],
        expect![[r#"
            64 bytes 5.69 Gbit/s 176.0 ns
            1472 bytes 24.03 Gbit/s 1776.0 ns
            1500 bytes 24.49 Gbit/s 1776.0 ns
        "#]],
    );
    check(
        &SHA.replace("gap_cycles = 33", "gap_cycles = 0"),
        &SCENE,
        &[1472],
        expect![[r#"
            1472 bytes 27.07 Gbit/s 1776.0 ns
        "#]],
    );
}

/// Table 1: 3.6 Gbit/s, 0.05 to 3.3 us.
#[test]
fn compression_matches_table_1() {
    check(
        &swift(COMPRESSION),
        &WIDE,
        &[16, 64, 1472],
        expect![[r#"
            16 bytes 2.56 Gbit/s 56.7 ns
            64 bytes 3.27 Gbit/s 163.4 ns
            1472 bytes 3.58 Gbit/s 3293.4 ns
        "#]],
    );
}

/// Table 1: 120 Gbit/s, 66 ns.
#[test]
fn inference_matches_table_1() {
    check(
        &swift(INFERENCE),
        &WIDE,
        &[64, 1500],
        expect![[r#"
            64 bytes 102.40 Gbit/s 75.0 ns
            1500 bytes 120.00 Gbit/s 170.0 ns
        "#]],
    );
}

/// Table 1: SHA1, 113 Gbit/s, 0.47 to 10.8 us.
#[test]
fn a_rate_engine_can_match_the_sha1_of_table_1() {
    check(
        &swift(RATE),
        &WIDE,
        &[64, 1472, 1500],
        expect![[r#"
            64 bytes 112.65 Gbit/s 477.3 ns
            1472 bytes 112.64 Gbit/s 10377.3 ns
            1500 bytes 110.00 Gbit/s 10827.3 ns
        "#]],
    );
}
