use super::*;
use crate::host_link::{HostBurst, HostRead, HostWrite, Issuer};
use crate::iommu::PageTables;
use crate::params::PspinParams;
use crate::protocol::PacketId;
use crate::testing::{TestHost, params};
use blocks::pcie::{LinkParams, PcieModel};
use expect_test::{Expect, expect};
use std::cell::RefCell;
use std::rc::Rc;
use testkit::bench;

const ISSUER: Issuer = Issuer { packet: PacketId(9), context: 1 };

/// Write beats of each of two initiators as cycle, address, bytes, last; reads of the first as cycle, address, size. A write
/// burst's address is a cycle ahead of its first beat.
fn check(params: PcieParams, writes: [&[(Cycle, u64, usize, bool)]; 2], reads: &[(Cycle, u64, u32)], want: Expect) {
    check_translated(params, crate::testing::params().iommu, Rc::default(), writes, reads, want);
}

/// The same behind an IOMMU.
fn check_translated(
    params: PcieParams,
    iommu: IommuParams,
    tables: SharedPageTables,
    writes: [&[(Cycle, u64, usize, bool)]; 2],
    reads: &[(Cycle, u64, u32)],
    want: Expect,
) {
    want.assert_eq(&run(params, iommu, tables, writes, reads));
}

fn run(
    params: PcieParams,
    iommu: IommuParams,
    tables: SharedPageTables,
    writes: [&[(Cycle, u64, usize, bool)]; 2],
    reads: &[(Cycle, u64, u32)],
) -> String {
    // A burst begins behind the last beat of the one before.
    let firsts = writes.map(|beats| {
        let is_first = |i: usize| i == 0 || beats[i - 1].3;
        (0..beats.len()).filter(|&i| is_first(i)).map(|i| (beats[i].0 - 1, HostBurst)).collect()
    });
    run_announced(params, iommu, tables, firsts, writes, reads)
}

/// The same with the addresses of write bursts by themselves.
fn run_announced(
    params: PcieParams,
    iommu: IommuParams,
    tables: SharedPageTables,
    bursts: [Vec<(Cycle, HostBurst)>; 2],
    writes: [&[(Cycle, u64, usize, bool)]; 2],
    reads: &[(Cycle, u64, u32)],
) -> String {
    bench(10_000, |bench| {
        let initiators = [0, 1].map(|i| {
            let beat =
                |&(cycle, addr, len, last)| (cycle, HostWrite { addr, bytes: Bytes::zeros(len), last, issuer: ISSUER });
            let reads = reads.iter().filter(|_| i == 0);
            let reads = reads.map(|&(cycle, addr, size)| (cycle, HostRead { addr, size, issuer: ISSUER }));
            let show = |data: &HostData| format!("{:02x?}{}", &data.bytes[..1], if data.last { "!" } else { "" });
            HostTarget {
                bursts: bench.input(&format!("bursts {i}"), 8, bursts[i].clone()),
                writes: bench.input(&format!("writes {i}"), 8, writes[i].iter().map(beat).collect()),
                written: bench.output(&format!("written {i}"), 2, |_| true, |_| String::new()),
                reads: bench.input(&format!("reads {i}"), 8, reads.collect()),
                data: bench.output(&format!("data {i}"), 2, |_| true, show),
            }
        });
        let trace = bench.tracer("pcie");
        let memory = Box::new(TestHost::default());
        let notices = bench.output("tells", 4, |_| true, |notice: &Notice| format!("{:?}", notice.event));
        let ports = PciePorts { initiators: initiators.into(), notices };
        bench.add("pcie", Pcie::new(1000, &params, &iommu, tables.clone(), ports, memory, trace));
        bench.log_events();
        bench.log_counters();
    })
}

#[test]
fn a_beat_a_cycle_and_bursts_stay_together() {
    let bursts: [&[_]; 2] =
        [&[(10, 47, 17, false), (12, 64, 64, true), (13, 0, 8, true)], &[(10, 4096, 64, true), (11, 0, 1, true)]];
    check(
        params().pcie,
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
fn data_pass_in_the_order_of_addresses() {
    // The second's only beat is here long before those of the first, whose address came before; and the third and the fourth
    // of the first wait until one of two before them is answered, and what is behind them waits with them.
    let announced = |at: &[Cycle]| at.iter().map(|&at| (at, HostBurst)).collect();
    let writes: [&[_]; 2] = [
        &[(20, 0, 64, false), (21, 64, 64, true), (22, 128, 64, true), (23, 192, 64, true), (24, 256, 64, true)],
        &[(12, 4096, 8, true), (13, 8192, 8, true)],
    ];
    let slow = PcieParams { latency_cycles: 10, ..params().pcie };
    let iommu = crate::testing::params().iommu;
    let bursts = [announced(&[10, 13, 14, 15]), announced(&[11, 16])];
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
    .assert_eq(&run_announced(slow, iommu, Rc::default(), bursts, writes, &[]));
}

#[test]
fn latency_and_gaps_count_from_beat_to_beat() {
    let slow = PcieParams { latency_cycles: 30, write_gap_cycles: 3, read_gap_cycles: 5, ..params().pcie };
    check(
        slow,
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

/// 16 lanes of PCIe 5.0: 63.015 bytes a cycle. A packet of 64 bytes and its 24 of header and framing takes 1.4 cycles.
fn link(change: impl FnOnce(&mut LinkParams)) -> PcieParams {
    let preset: PspinParams = toml::from_str(include_str!("../../../../presets/pspin.toml")).expect("a preset");
    let mut pcie = preset.pcie;
    pcie.link.latency_cycles = 100;
    pcie.link.host_read_cycles = 50;
    change(&mut pcie.link);
    pcie
}

/// A burst of 64-byte beats, one a cycle.
fn burst(start: Cycle, addr: u64, beats: u64) -> Vec<(Cycle, u64, usize, bool)> {
    (0..beats).map(|i| (start + i, addr + 64 * i, 64, i + 1 == beats)).collect()
}

#[test]
fn a_fixed_rate_takes_its_bits_and_no_more() {
    let paper = PcieParams { model: PcieModel::FixedRate, ..link(|_| ()) };
    let log = run(paper, crate::testing::params().iommu, Rc::default(), [&burst(10, 0, 640), &[]], &[]);
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
    check(
        link(|_| ()),
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
    "#]],
    );
}

#[test]
fn write_packets_end_at_multiples_of_their_largest() {
    // From 0x80 on: packets of 128, 256 and 64 bytes; or one of 384 and one of 64.
    check(
        link(|_| ()),
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
    "#]],
    );
    check(
        link(|link| link.max_payload_bytes = 512),
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
    "#]],
    );
}

#[test]
fn a_read_takes_the_latency_twice_and_the_host_its_time() {
    check(
        link(|_| ()),
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
    check(
        params,
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
    "#]],
    );
}

#[test]
fn reads_under_way_are_as_many_as_tags() {
    let params = link(|link| link.read_tags = 2);
    check(
        params,
        [&[], &[]],
        &[(10, 0, 64), (11, 64, 64), (12, 128, 64)],
        expect![[r#"
        161  event host_read addr=0x0 bytes=0x40
        162  event host_read addr=0x40 bytes=0x40
        263  data 0 [00]!
        264  data 0 [40]!
        414  event host_read addr=0x80 bytes=0x40
        516  data 0 [80]!
        pcie.read_beats 3
        pcie.read_bytes 192
        pcie.first_read_cycle 263
        pcie.last_read_cycle 516
        pcie.read_requests 3
        pcie.completions 3
        pcie.line_bytes_to_host 72
        pcie.line_bytes_from_host 252
    "#]],
    );
}

/// What a direction carries: payload in bits, by the cycles between the first and the last beat.
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
        // Two bursts of one initiator are under way at most, which is too few for such short ones.
        let of = |from: u64| (0..2048 / n).filter(move |i| i % 2 == from);
        let [one, other] = [0, 1].map(|from| of(from).flat_map(|i| burst(10 + i * n, 4096 * i, n)).collect::<Vec<_>>());
        let log = run(params, crate::testing::params().iommu, Rc::default(), [&one, &other], &[]);
        let (found, want) = (gbps(&log, "host_written"), line * f64::from(payload) / f64::from(payload + 24));
        assert!((found / want - 1.0).abs() < 0.01, "{payload}: {found} {want}");
    }
    let reads: Vec<_> = (0..64).map(|i| (10 + i, 4096 * i, 1024)).collect();
    let log = run(link(|_| ()), crate::testing::params().iommu, Rc::default(), [&[], &[]], &reads);
    let (found, want) = (gbps(&log, "host_read"), line * 64.0 / 84.0);
    assert!((found / want - 1.0).abs() < 0.01, "{found} {want}");
}

fn iommu() -> (IommuParams, SharedPageTables) {
    let params = IommuParams { enabled: true, entries: 16, ways: 4, hit_cycles: 2, level_cycles: 10, walks: 2 };
    let mut tables = PageTables::default();
    tables.register(1, 0x1000, 0x7000, 0x1000, true).expect("it is free");
    tables.register(1, 0x3000, 0x9000, 0x1000, true).expect("it is free");
    (params, Rc::new(RefCell::new(tables)))
}

#[test]
fn addresses_are_translated_and_a_miss_of_one_holds_up_no_other() {
    let (iommu, tables) = iommu();
    let ideal = crate::testing::params().pcie;
    let writes: [&[_]; 2] = [
        &[(10, 0x1ffc, 4, true), (60, 0x1000, 64, true), (61, 0x3000, 64, true), (62, 0x1040, 64, true)],
        &[(63, 0x1080, 64, true)],
    ];
    check_translated(
        ideal,
        iommu,
        tables,
        writes,
        &[(70, 0x3010, 16)],
        expect![[r#"
        53   event host_written addr=0x7ffc bytes=0x4
        53   written 0
        63   event host_written addr=0x7000 bytes=0x40
        63   written 0
        66   event host_written addr=0x7080 bytes=0x40
        66   written 1
        104  data 0 [00]!
        104  event host_read addr=0x9010 bytes=0x10
        104  event host_written addr=0x9000 bytes=0x40
        104  written 0
        105  event host_written addr=0x7040 bytes=0x40
        105  written 0
        pcie.write_beats 5
        pcie.write_bytes 260
        pcie.first_write_cycle 53
        pcie.last_write_cycle 105
        pcie.read_beats 1
        pcie.read_bytes 16
        pcie.first_read_cycle 104
        pcie.last_read_cycle 104
        pcie.translation_hits 3
        pcie.translation_misses 3
    "#]],
    );
}

#[test]
fn what_is_not_registered_is_refused_told_once_and_answered() {
    let (iommu, tables) = iommu();
    // A write that reaches past the registered page, a burst to nowhere, and a read from nowhere.
    let writes: [&[_]; 2] = [&[(10, 0x1ffc, 8, true), (20, 0x5000, 64, false), (21, 0x5040, 64, true)], &[]];
    let reads = [(10, 0x6000, 80)];
    let ideal = crate::testing::params().pcie;
    check_translated(
        ideal,
        iommu.clone(),
        tables.clone(),
        writes,
        &reads,
        expect![[r#"
        52   event access_refused packet=0x9 context=0x1 addr=0x6000 write=0x0
        53   data 0 [00]
        53   event host_written addr=0x7ffc bytes=0x4
        53   tells TranslationFault { packet: PacketId(9), addr: 24576, write: false }
        54   data 0 [00]!
        94   event access_refused packet=0x9 context=0x1 addr=0x2000 write=0x1
        95   event access_refused packet=0x9 context=0x1 addr=0x5000 write=0x1
        95   tells TranslationFault { packet: PacketId(9), addr: 8192, write: true }
        95   written 0
        96   tells TranslationFault { packet: PacketId(9), addr: 20480, write: true }
        97   written 0
        pcie.write_beats 1
        pcie.write_bytes 4
        pcie.first_write_cycle 53
        pcie.last_write_cycle 53
        pcie.translation_misses 4
        pcie.refused 3
    "#]],
    );
    check_translated(
        link(|_| ()),
        iommu,
        tables,
        writes,
        &reads,
        expect![[r#"
        52   event access_refused packet=0x9 context=0x1 addr=0x6000 write=0x0
        53   tells TranslationFault { packet: PacketId(9), addr: 24576, write: false }
        55   data 0 [00]
        56   data 0 [00]!
        94   event access_refused packet=0x9 context=0x1 addr=0x2000 write=0x1
        95   event access_refused packet=0x9 context=0x1 addr=0x5000 write=0x1
        95   tells TranslationFault { packet: PacketId(9), addr: 8192, write: true }
        95   written 0
        96   tells TranslationFault { packet: PacketId(9), addr: 20480, write: true }
        97   written 0
        153  event host_written addr=0x7ffc bytes=0x4
        pcie.write_beats 1
        pcie.write_bytes 4
        pcie.first_write_cycle 153
        pcie.last_write_cycle 153
        pcie.write_packets 1
        pcie.line_bytes_to_host 28
        pcie.translation_misses 4
        pcie.refused 3
    "#]],
    );
}
