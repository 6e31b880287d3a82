//! Cycle counts of the prototype: its published Verilog in simulation against this model.

use super::bench::{N_PACKETS, Nic, PANIC, PANIC_RTL, Scene, Units, mean, percentile};

/// The bench's mean service time: 0.06 cycles a byte, less the cycles of forwarding and two more, rounded down twice.
fn mean_service(bytes: u64) -> u64 {
    (bytes * 6 / 100).saturating_sub(bytes / 64 + 2)
}

/// Least and greatest service time of the bench: the mean minus a quarter of it, and the mean plus a quarter of it
/// minus 1 cycle.
fn service(bytes: u64) -> (u64, u64) {
    let (mean, quarter) = (mean_service(bytes), mean_service(bytes) / 4);
    (mean - quarter, mean + quarter.saturating_sub(1))
}

/// Results of the RTL: bytes, Gbit/s offered, credits, and the service time of the run's first packet relative to the mean;
/// throughput; latency min, mean, p99; percent lost.
///
/// The bench draws a packet's offset before the packet arrives, within a quarter of the mean for the previous packet's length.
/// Before the first packet it is any 6-bit number, so it may be far off. It then shows as the run's minimum latency if it is
/// low (1536 bytes at 5 and 26 Gbit/s), or as the maximum if it is high (64 and 256 bytes at 100).
type Row = (usize, u64, u32, Option<i64>, f64, [f64; 3], f64);

const RTL: [Row; 14] = [
    (64, 5, 0, None, 5.0, [12.5, 12.5, 13.0], 0.0),
    (1536, 5, 0, None, 5.0, [12.5, 12.5, 13.0], 0.0),
    (64, 5, 6, None, 5.0, [69.0, 69.5, 70.0], 0.0),
    (256, 5, 6, None, 5.0, [76.0, 77.8, 80.0], 0.0),
    (1536, 5, 6, Some(-28), 5.0, [107.0, 134.7, 150.0], 0.0),
    (1536, 26, 6, Some(-32), 25.8, [103.0, 134.6, 150.0], 0.0),
    (1536, 75, 6, None, 75.1, [119.0, 141.0, 198.0], 0.0),
    (1536, 100, 6, None, 98.8, [120.0, 189.0, 255.0], 0.0),
    (64, 100, 6, Some(24), 56.3, [69.0, 73.2, 80.0], 0.0),
    (256, 100, 6, Some(29), 83.8, [76.0, 78.7, 83.0], 0.0),
    (1024, 100, 6, None, 95.5, [102.0, 138.4, 181.0], 0.0),
    (64, 100, 2, Some(24), 30.8, [69.0, 92.4, 189.0], 13.7),
    (256, 100, 2, Some(29), 83.8, [76.0, 79.2, 86.0], 0.0),
    (1024, 100, 2, None, 95.6, [103.0, 137.9, 180.0], 0.0),
];

/// Results of a NIC in the rows of the RTL. A `!` marks a difference of more than 10 %.
fn table(nic: Nic, n_packets: u64) -> String {
    let mut table = "bytes offered credits | Gbit/s RTL | min RTL | mean RTL | p99 RTL | max | % lost RTL\n".to_owned();
    for (bytes, rate, credits, first, gbps, latency, lost) in RTL {
        let chain = if credits == 0 { Vec::new() } else { vec![Units { n: 3, service }] };
        let first = first.map(|offset| mean_service(bytes as u64).saturating_add_signed(offset));
        let results =
            Scene { chain, nic, n_packets, credits, chain_push: true, bytes, rate, line: Some(100), first }.run();
        let pair = |ours: f64, rtl: f64| {
            let mark = if (ours - rtl).abs() > 0.1 * rtl { "!" } else { "" };
            format!("{ours:.1} {rtl:.1}{mark}")
        };
        let ours = [results.latencies[0] as f64, mean(&results.latencies), percentile(&results.latencies, 99) as f64];
        let [min, mean, p99] = [0, 1, 2].map(|i| pair(ours[i], latency[i]));
        let (gbps, lost) = (pair(results.gbps, gbps), pair(100.0 * results.lost, lost));
        let max = percentile(&results.latencies, 100);
        table += &format!("{bytes} {rate} {credits} | {gbps} | {min} | {mean} | {p99} | {max} | {lost}\n");
    }
    table
}

/// The table of docs/machines/panic.md. A `!` marks a difference of more than 10 %. The measured run had about 1000 packets,
/// because it lost 13.7 %: the Verilog loses at most about 150 packets, however long the run.
#[test]
fn the_rtl_preset_matches_the_published_verilog() {
    expect_test::expect![[r#"
        bytes offered credits | Gbit/s RTL | min RTL | mean RTL | p99 RTL | max | % lost RTL
        64 5 0 | 5.0 5.0 | 12.0 12.5 | 12.0 12.5 | 12.0 13.0 | 12 | 0.0 0.0
        1536 5 0 | 5.0 5.0 | 12.0 12.5 | 12.0 12.5 | 12.0 13.0 | 12 | 0.0 0.0
        64 5 6 | 5.0 5.0 | 69.0 69.0 | 69.4 69.5 | 70.0 70.0 | 70 | 0.0 0.0
        256 5 6 | 5.0 5.0 | 76.0 76.0 | 77.9 77.8 | 80.0 80.0 | 80 | 0.0 0.0
        1536 5 6 | 5.0 5.0 | 107.0 107.0 | 134.5 134.7 | 150.0 150.0 | 151 | 0.0 0.0
        1536 26 6 | 26.0 25.8 | 103.0 103.0 | 134.6 134.6 | 151.0 150.0 | 151 | 0.0 0.0
        1536 75 6 | 75.1 75.1 | 119.0 119.0 | 142.6 141.0 | 210.0 198.0 | 246 | 0.0 0.0
        1536 100 6 | 96.8 98.8 | 119.0 120.0 | 183.3 189.0 | 250.0 255.0 | 264 | 0.0 0.0
        64 100 6 | 56.2 56.3 | 69.0 69.0 | 71.2 73.2 | 76.0 80.0 | 97 | 0.0 0.0
        256 100 6 | 83.8 83.8 | 76.0 76.0 | 78.4 78.7 | 82.0 83.0 | 110 | 0.0 0.0
        1024 100 6 | 95.2 95.5 | 102.0 102.0 | 139.7 138.4 | 185.0 181.0 | 194 | 0.0 0.0
        64 100 2 | 33.4 30.8 | 69.0 69.0 | 94.7 92.4 | 197.0 189.0 | 211 | 15.3 13.7!
        256 100 2 | 83.8 83.8 | 76.0 76.0 | 78.4 79.2 | 85.0 86.0 | 112 | 0.0 0.0
        1024 100 2 | 95.2 95.6 | 102.0 103.0 | 139.1 137.9 | 183.0 180.0 | 194 | 0.0 0.0
    "#]]
    .assert_eq(&table(PANIC_RTL, 1000));
}

/// The card as described in the paper: no packet is lost behind the PIFO, and a packet follows its descriptor without a gap.
#[test]
fn the_papers_preset_differs_where_the_verilog_is_overloaded() {
    expect_test::expect![[r#"
        bytes offered credits | Gbit/s RTL | min RTL | mean RTL | p99 RTL | max | % lost RTL
        64 5 0 | 5.0 5.0 | 12.0 12.5 | 12.0 12.5 | 12.0 13.0 | 12 | 0.0 0.0
        1536 5 0 | 5.0 5.0 | 12.0 12.5 | 12.0 12.5 | 12.0 13.0 | 12 | 0.0 0.0
        64 5 6 | 5.0 5.0 | 69.0 69.0 | 69.6 69.5 | 70.0 70.0 | 70 | 0.0 0.0
        256 5 6 | 5.0 5.0 | 76.0 76.0 | 78.1 77.8 | 80.0 80.0 | 80 | 0.0 0.0
        1536 5 6 | 5.0 5.0 | 108.0 107.0 | 135.0 134.7 | 151.0 150.0 | 151 | 0.0 0.0
        1536 26 6 | 26.0 25.8 | 104.0 103.0 | 135.0 134.6 | 151.0 150.0 | 151 | 0.0 0.0
        1536 75 6 | 75.0 75.1 | 119.0 119.0 | 142.5 141.0 | 213.0 198.0 | 242 | 0.0 0.0
        1536 100 6 | 96.8 98.8 | 119.0 120.0 | 182.0 189.0 | 248.0 255.0 | 276 | 0.0 0.0
        64 100 6 | 56.2 56.3 | 69.0 69.0 | 70.3 73.2 | 73.0 80.0 | 94 | 0.0 0.0
        256 100 6 | 83.7 83.8 | 76.0 76.0 | 78.3 78.7 | 80.0 83.0 | 109 | 0.0 0.0
        1024 100 6 | 95.4 95.5 | 102.0 102.0 | 137.7 138.4 | 183.0 181.0 | 196 | 0.0 0.0
        64 100 2 | 32.0 30.8 | 69.0 69.0 | 314.6 92.4! | 336.0 189.0! | 343 | 40.7 13.7!
        256 100 2 | 83.7 83.8 | 76.0 76.0 | 78.4 79.2 | 81.0 86.0 | 112 | 0.0 0.0
        1024 100 2 | 95.4 95.6 | 102.0 103.0 | 137.6 137.9 | 182.0 180.0 | 192 | 0.0 0.0
    "#]]
    .assert_eq(&table(PANIC, N_PACKETS));
}
