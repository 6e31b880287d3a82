//! The prototype's own cycles: what its published Verilog does in simulation, and what this model does.

use super::bench::{Scene, Units, mean, percentile};

/// The bench's service time: 0.06 cycles a byte without forwarding and two cycles more, give or take a quarter. The most is one
/// less than above the mean: alone, packets of 256 and 1536 bytes take 76 to 80 and 119 to 151 cycles there, and the
/// scheduler's edge makes one of these.
fn service(bytes: u64) -> (u64, u64) {
    let mean = (bytes * 6 / 100).saturating_sub(bytes.div_ceil(64) + 2);
    let least = mean - mean / 4;
    (least, (mean + mean / 4).max(least + 1) - 1)
}

/// What the RTL did: bytes, Gbit/s offered, credits, chain; delivered; latency min, mean, p99.
type Row = (usize, u64, u32, &'static str, f64, [f64; 3]);

const RTL: [Row; 14] = [
    (64, 5, 6, "empty", 5.0, [12.5, 12.5, 13.0]),
    (1536, 5, 6, "empty", 5.0, [12.5, 12.5, 13.0]),
    (64, 5, 6, "delay", 5.0, [69.0, 69.5, 70.0]),
    (256, 5, 6, "delay", 5.0, [76.0, 77.8, 80.0]),
    (1536, 5, 6, "delay", 5.0, [107.0, 134.7, 150.0]),
    (1536, 26, 6, "delay", 25.8, [103.0, 134.6, 150.0]),
    (1536, 75, 6, "delay", 75.1, [119.0, 141.0, 198.0]),
    (1536, 100, 6, "delay", 98.8, [120.0, 189.0, 255.0]),
    (64, 100, 6, "delay", 56.3, [69.0, 73.2, 80.0]),
    (256, 100, 6, "delay", 83.8, [76.0, 78.7, 83.0]),
    (1024, 100, 6, "delay", 95.5, [102.0, 138.4, 181.0]),
    (64, 100, 2, "delay", 30.8, [69.0, 92.4, 189.0]),
    (256, 100, 2, "delay", 83.8, [76.0, 79.2, 86.0]),
    (1024, 100, 2, "delay", 95.6, [103.0, 137.9, 180.0]),
];

/// The table of docs/machines/panic.md. A `!` marks what is more than 10 % away; each is explained there.
#[test]
fn latencies_and_rates_are_the_prototypes() {
    let mut table = "bytes offered credits chain | Gbit/s RTL | min RTL | mean RTL | p99 RTL | lost\n".to_owned();
    for (bytes, rate, credits, chain, gbps, latency) in RTL {
        let chain_of = if chain == "empty" { Vec::new() } else { vec![Units { n: 3, service }] };
        let told = Scene { chain: chain_of, credits, chain_push: true, bytes, rate, line: None }.run();
        let pair = |ours: f64, rtl: f64| {
            let mark = if (ours / rtl - 1.0).abs() > 0.1 { "!" } else { "" };
            format!("{ours:.1} {rtl:.1}{mark}")
        };
        let ours = [told.latencies[0] as f64, mean(&told.latencies), percentile(&told.latencies, 99) as f64];
        let [min, mean, p99] = [0, 1, 2].map(|i| pair(ours[i], latency[i]));
        let gbps = pair(told.gbps, gbps);
        table += &format!("{bytes} {rate} {credits} {chain} | {gbps} | {min} | {mean} | {p99} | {:.3}\n", told.lost);
    }
    expect_test::expect![[r#"
        bytes offered credits chain | Gbit/s RTL | min RTL | mean RTL | p99 RTL | lost
        64 5 6 empty | 5.0 5.0 | 12.0 12.5 | 12.0 12.5 | 12.0 13.0 | 0.000
        1536 5 6 empty | 5.0 5.0 | 12.0 12.5 | 12.0 12.5 | 12.0 13.0 | 0.000
        64 5 6 delay | 5.0 5.0 | 69.0 69.0 | 69.6 69.5 | 70.0 70.0 | 0.000
        256 5 6 delay | 5.0 5.0 | 76.0 76.0 | 78.1 77.8 | 80.0 80.0 | 0.000
        1536 5 6 delay | 5.0 5.0 | 119.0 107.0! | 135.0 134.7 | 151.0 150.0 | 0.000
        1536 26 6 delay | 26.0 25.8 | 119.0 103.0! | 135.0 134.6 | 151.0 150.0 | 0.000
        1536 75 6 delay | 75.0 75.1 | 119.0 119.0 | 139.6 141.0 | 206.0 198.0 | 0.000
        1536 100 6 delay | 98.7 98.8 | 119.0 120.0 | 186.6 189.0 | 258.0 255.0 | 0.000
        64 100 6 delay | 56.8 56.3 | 69.0 69.0 | 69.8 73.2 | 71.0 80.0! | 0.000
        256 100 6 delay | 85.1 83.8 | 76.0 76.0 | 78.8 78.7 | 88.0 83.0 | 0.000
        1024 100 6 delay | 97.2 95.5 | 102.0 102.0 | 140.1 138.4 | 184.0 181.0 | 0.000
        64 100 2 delay | 35.0 30.8! | 69.0 69.0 | 287.7 92.4! | 314.0 189.0! | 0.362
        256 100 2 delay | 85.1 83.8 | 76.0 76.0 | 78.8 79.2 | 83.0 86.0 | 0.000
        1024 100 2 delay | 97.2 95.6 | 102.0 103.0 | 139.8 137.9 | 184.0 180.0 | 0.000
    "#]]
    .assert_eq(&table);
}
