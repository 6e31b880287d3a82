//! Throughput of the DMA engine.

use super::*;

/// The cycle of a step for each packet, in order.
fn cycles(log: &str, word: &str) -> Vec<Cycle> {
    let after = |line: &str| line.split_once(word)?.1.split_whitespace().next()?.parse().ok();
    log.lines().filter_map(after).collect()
}

/// Bytes per cycle in the middle of the run, when all queues are full.
fn rate(cycles: &[Cycle], len: usize) -> f64 {
    let (first, last) = (cycles.len() * 3 / 8, cycles.len() * 5 / 8);
    (len * (last - first)) as f64 / (cycles[last] - cycles[first]) as f64
}

#[test]
fn pcie_throughput_matches_its_formula() {
    let line = 4.0 * 8.0 * 128.0 / 130.0 / 8.0;
    let n = 400;
    for len in [64_usize, 1000, 1536] {
        let packets: Vec<String> = (0..n).map(|i| format!("10 {i} 0 {len}")).collect();
        let log = run(&slow(), &to_host(&packets.join(";"), &vec![0; n]), &[]);
        // Write packets and a completion with 24 bytes of overhead each; a request for four descriptors.
        let on_line = (len + 24 * len.div_ceil(256) + 40) as f64 + 24.0 / 4.0;
        let (found, want) = (rate(&cycles(&log, " Left "), len), line * len as f64 / on_line);
        assert!((found / want - 1.0).abs() < 0.01, "receive {len}: {found} {want}");
        // The interconnect stalls: the card never holds more than its buffer.
        let (leaving, left) = (cycles(&log, " Leaving "), cycles(&log, " Left "));
        let most = left.iter().zip(&leaving).map(|(left, leaving)| left - leaving).max().expect("packets");
        let held = (64.0 + 32.0 + 24.0) * 64.0 * on_line / len as f64 / line;
        assert!((most as f64) < 100.0 + held, "{len}: {most} {held}");

        let sent: Vec<_> = (0..n as u64).map(|i| (10, i, len)).collect();
        let log = run(&slow(), &[], &[(0, &sent)]);
        // Completions of 64 bytes with 20 bytes of overhead, and one for four descriptors.
        let on_line = (len + 20 * len.div_ceil(64)) as f64 + 84.0 / 4.0;
        let (found, want) = (rate(&cycles(&log, "Entered "), len), line * len as f64 / on_line);
        assert!((found / want - 1.0).abs() < 0.01, "transmit {len}: {found} {want}");
    }
}

#[test]
fn with_ideal_pcie_each_direction_has_the_rate_of_the_interconnect() {
    let params = DmaParams { ring_slots: 1024, prefetched: 64, ..small() };
    let n = 400;
    for len in [64_usize, 1536] {
        let packets: Vec<String> = (0..n).map(|i| format!("10 {i} 0 {len}")).collect();
        let sent: Vec<_> = (0..n as u64).map(|i| (10, i, len)).collect();
        let received = run(&params, &to_host(&packets.join(";"), &vec![0; n]), &[]);
        let sent = run(&params, &[], &[(1, &sent)]);
        let want = len as f64 / (1.0 + len as f64 / 64.0);
        for (log, step) in [(received, " Left "), (sent, "Entered ")] {
            let found = rate(&cycles(&log, step), len);
            assert!((found / want - 1.0).abs() < 0.01, "{step} {len}: {found} {want}");
        }
    }
}
