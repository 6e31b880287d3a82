use super::*;
use crate::nhi::NhiMap;
use crate::testing::{Store, TestHost, TestMemory, byte, command, id, params, remap};
use blocks::pcie::PcieParams;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use testkit::{Bench, bench};

const TO_HOST: u32 = 1;
const FROM_HOST: u32 = 0;

/// Cycle, host address, NIC address, length, direction.
type Copy = (Cycle, u64, u32, u32, u32);

/// Adds the unit with L2, four L1s and a host. All NIC memory shares one store.
fn set(bench: &mut Bench, pcie: PcieParams, script: &[Copy], nic_store: &Store, host_store: &Store) {
    set_with(bench, RtlMistakes::default(), pcie, script, &[], nic_store, host_store);
}

fn set_with(
    bench: &mut Bench,
    mistakes: RtlMistakes,
    pcie: PcieParams,
    script: &[Copy],
    reads: &[(Cycle, bool)],
    nic_store: &Store,
    host_store: &Store,
) {
    let commands = script.iter().enumerate().map(|(core, &(cycle, host, nic, size, direction))| {
        let words = [host as u32, (host >> 32) as u32, nic, size, direction];
        (cycle, command(id(core), CommandTarget::HostDma, &words))
    });
    let mut memory = |name, latency| TestMemory::with_store(bench, name, latency, nic_store.clone());
    let l2 = memory("l2", 3);
    // One more register in each direction than from the outbound engine.
    let l1 = memory("l1", 3);
    let into_l2 = memory("into l2", 3);
    let into_l1s = ["into l1[0]", "into l1[1]", "into l1[2]", "into l1[3]"].map(|name| memory(name, 1));
    let remap = remap(bench, reads);
    let ports = HostDmaPorts {
        remap,
        commands: bench.input("commands", 8, commands.collect()),
        responses: bench.output("response", 2, |_| true, |response: &CommandResponse| response.id.core.to_string()),
        sources: NhiMaster::through(NhiMap::all(&params()), l2, l1)
            .beat_by_beat()
            .with_silent_errors(mistakes.unmapped_commands_succeed),
        targets: NhiMaster::new(NhiMap::all(&params()), into_l2, into_l1s.into())
            .with_silent_errors(mistakes.unmapped_commands_succeed),
        host: TestHost::add(bench, pcie, host_store.clone()),
    };
    let trace = bench.tracer("host_dma");
    bench.add("host_dma", HostDma::new(64, false, mistakes, ports, trace));
}

fn check(script: &[Copy], want: Expect) {
    let log = bench(20_000, |bench| {
        set(bench, params().pcie, script, &Store::default(), &Store::default());
        bench.log_events();
    });
    want.assert_eq(&log);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// All copies end and all bytes arrive, wherever they come from, wherever they go and however slow the host is.
    #[test]
    fn every_byte_arrives(
        copies in prop::collection::vec((0u64..40, 0u32..10_000, 0u32..10_000, 1u32..10_000, 0u32..2, any::<bool>()), 1..6),
        latency_cycles in 1u32..20, write_gap_cycles in 0u32..4, read_gap_cycles in 0u32..4, buffer_beats in 1u32..8,
    ) {
        let pcie = PcieParams { latency_cycles, write_gap_cycles, read_gap_cycles, buffer_beats, ..params().pcie };
        // Each copy has 32 KiB of its own at either end.
        let copy = |(i, (wait, host, nic, size, direction, l1)): (u64, (u64, u32, u32, u32, u32, bool))| {
            let nic_base = if l1 { 0x1000_0000 } else { 0x1c40_0000 };
            (10 + 40 * i + wait, (i << 15) + u64::from(host), nic_base + ((i as u32) << 15) + nic, size, direction)
        };
        let script: Vec<Copy> = (0..).zip(copies).map(copy).collect();
        let (nic_store, host_store) = (Store::default(), Store::default());
        let log = bench(100_000, |bench| set(bench, pcie.clone(), &script, &nic_store, &host_store));
        prop_assert_eq!(log.matches("response").count(), script.len());
        for &(_, host, nic, size, direction) in &script {
            let (nic, store) = (u64::from(nic), if direction == TO_HOST { &host_store } else { &nic_store });
            let (from, to) = if direction == TO_HOST { (nic, host) } else { (host, nic) };
            let wrong = (0..u64::from(size)).find(|offset| byte(store, to + offset) != (from + offset) as u8);
            prop_assert_eq!(wrong, None, "byte of a copy of {} from {:#x} to {:#x}", size, from, to);
        }
    }
}

#[test]
fn a_kilobyte_to_an_unaligned_address_takes_seventeen_beats() {
    // As measured on the RTL: 544 beats for 32 such copies.
    let log = bench(1_000, |bench| {
        let script = [(10, 0xdead_beef_dead_beef, 0x1000_4400, 1024, TO_HOST)];
        set(bench, params().pcie, &script, &Store::default(), &Store::default());
        bench.log_counters();
    });
    assert!(log.contains("pcie.write_beats 17\npcie.write_bytes 1024\n"), "{log}");
}

#[test]
fn a_transfer_waits_for_all_bursts_of_the_one_before() {
    // At the host each copy crosses a page, so it has two bursts there and one at L2. The second copy arrives one cycle
    // after the first and reads two cycles after it.
    let reads = |host| {
        let log = bench(20_000, |bench| {
            let copies = [(10, host, 0x1c40_0000, 256, TO_HOST), (11, host, 0x1c40_1000, 256, TO_HOST)];
            set(bench, params().pcie, &copies, &Store::default(), &Store::default());
        });
        let of = |line: &str| line.split_once("l2: read").map(|(cycle, _)| cycle.trim().to_owned());
        log.lines().filter_map(of).collect::<Vec<_>>()
    };
    assert_eq!(reads(0x1f80), ["15", "17"]);
    assert_eq!(reads(0x1000), ["15", "16"]);
}

#[test]
fn to_the_host_from_l2_responds_after_17_cycles_from_l1_after_15() {
    check(
        &[(10, 0x1000, 0x1c40_0000, 64, TO_HOST)],
        expect![[r#"
            15   l2: read 64 at 0x1c400000
            24   event host_written addr=0x1000 bytes=0x40
            28   response 0
        "#]],
    );
    check(
        &[(10, 0x1000, 0x1000_4400, 64, TO_HOST)],
        expect![[r#"
            14   l1: read 64 at 0x10004400
            22   event host_written addr=0x1000 bytes=0x40
            26   response 0
        "#]],
    );
    check(
        &[(10, 0x1000, 0x1c40_0000, 192, TO_HOST)],
        expect![[r#"
            15   l2: read 192 at 0x1c400000
            24   event host_written addr=0x1000 bytes=0x40
            25   event host_written addr=0x1040 bytes=0x40
            26   event host_written addr=0x1080 bytes=0x40
            30   response 0
        "#]],
    );
}

#[test]
fn from_the_host_into_l2_responds_after_18_cycles() {
    check(
        &[(10, 0x1000, 0x1c40_0000, 64, FROM_HOST)],
        expect![[r#"
            17   event host_read addr=0x1000 bytes=0x40
            22   into l2: write 64 at 0x1c400000
            29   response 0
        "#]],
    );
    check(
        &[(10, 0x1000, 0x1000_4400, 192, FROM_HOST)],
        expect![[r#"
            15   address waits
            17   event host_read addr=0x1000 bytes=0x40
            18   event host_read addr=0x1040 bytes=0x40
            19   event host_read addr=0x1080 bytes=0x40
            22   address taken
            22   into l1[0]: write 64 at 0x10004400
            23   into l1[0]: write 64 at 0x10004440
            24   into l1[0]: write 64 at 0x10004480
            31   response 0
        "#]],
    );
}

#[test]
fn writes_of_64_bytes_to_l1_take_two_cycles_each() {
    let copy = |n: u32| (10, 64 * u64::from(n), 0x1000_4400 + 64 * n, 64, FROM_HOST);
    check(
        &[copy(0), copy(1), copy(2), copy(3)],
        expect![[r#"
        15   address waits
        17   event host_read addr=0x0 bytes=0x40
        18   event host_read addr=0x40 bytes=0x40
        19   event host_read addr=0x80 bytes=0x40
        20   event host_read addr=0xc0 bytes=0x40
        22   address taken
        22   into l1[0]: write 64 at 0x10004400
        23   address waits
        24   address taken
        24   into l1[0]: write 64 at 0x10004440
        25   address waits
        26   address taken
        26   into l1[0]: write 64 at 0x10004480
        27   address waits
        28   address taken
        28   into l1[0]: write 64 at 0x100044c0
        29   response 0
        31   response 1
        33   response 2
        35   response 3
    "#]],
    );
}

#[test]
fn the_address_of_a_write_to_l1_waits_for_a_read_at_the_remapper() {
    let log = bench(1_000, |bench| {
        let script = [(10, 0x1000, 0x1000_4400, 64, FROM_HOST)];
        let reads = [(8, true), (30, false)];
        set_with(bench, RtlMistakes::default(), params().pcie, &script, &reads, &Store::default(), &Store::default());
    });
    expect![[r#"
        31   address waits
        31   into l1[0]: write 64 at 0x10004400
        32   address taken
        38   response 0
    "#]]
    .assert_eq(&log);
}

#[test]
fn a_write_into_another_cluster_leaves_in_the_cycle_of_the_answer_that_it_waits_for() {
    // The memories answer 3 cycles after a write, and the second one is at its cluster one cycle later.
    check(
        &[(10, 0, 0x1000_4400, 64, FROM_HOST), (11, 64, 0x1040_4400, 64, FROM_HOST)],
        expect![[r#"
            15   address waits
            17   event host_read addr=0x0 bytes=0x40
            18   event host_read addr=0x40 bytes=0x40
            22   address taken
            22   into l1[0]: write 64 at 0x10004400
            23   address waits
            26   address taken
            26   into l1[1]: write 64 at 0x10404400
            29   response 0
            33   response 1
        "#]],
    );
}

#[test]
fn beats_of_an_unaligned_write_land_too_low_where_the_rtl_mistakes_them() {
    // The second burst begins at a page, and is correct.
    let mistakes = RtlMistakes { unaligned_host_writes: true, ..RtlMistakes::default() };
    let log = bench(1_000, |bench| {
        let script = [(10, 0x0f50, 0x1c40_0000, 250, TO_HOST)];
        set_with(bench, mistakes, params().pcie, &script, &[], &Store::default(), &Store::default());
        bench.log_events();
    });
    expect![[r#"
        15   l2: read 250 at 0x1c400000
        24   event host_written addr=0xf50 bytes=0x30
        25   event host_written addr=0xf70 bytes=0x40
        26   event host_written addr=0xfb0 bytes=0x40
        27   event host_written addr=0x1000 bytes=0x40
        28   event host_written addr=0x1040 bytes=0xa
        32   response 0
    "#]]
    .assert_eq(&log);
}

#[test]
fn bytes_move_to_their_place_in_the_line() {
    check(
        &[(10, 0x0fe3, 0x1c40_0fd0, 100, TO_HOST)],
        expect![[r#"
            15   l2: read 48 at 0x1c400fd0
            16   l2: read 52 at 0x1c401000
            24   event host_written addr=0xfe3 bytes=0x1d
            25   event host_written addr=0x1000 bytes=0x40
            26   event host_written addr=0x1040 bytes=0x7
            30   response 0
        "#]],
    );
    check(
        &[(10, 0x0fe3, 0x1c40_0fd0, 100, FROM_HOST)],
        expect![[r#"
            17   event host_read addr=0xfe3 bytes=0x1d
            18   event host_read addr=0x1000 bytes=0x40
            19   event host_read addr=0x1040 bytes=0x7
            23   into l2: write 48 at 0x1c400fd0
            24   into l2: write 52 at 0x1c401000
            31   response 0
        "#]],
    );
}

#[test]
fn two_write_bursts_are_at_the_host() {
    let copy = |n: u64| (10 + n, 64 * n, 0x1c40_0000, 64, TO_HOST);
    check(
        &[copy(0), copy(1), copy(2), copy(3), copy(4)],
        expect![[r#"
            15   l2: read 64 at 0x1c400000
            16   l2: read 64 at 0x1c400000
            17   l2: read 64 at 0x1c400000
            18   l2: read 64 at 0x1c400000
            19   l2: read 64 at 0x1c400000
            24   event host_written addr=0x0 bytes=0x40
            25   event host_written addr=0x40 bytes=0x40
            26   event host_written addr=0x80 bytes=0x40
            27   event host_written addr=0xc0 bytes=0x40
            28   event host_written addr=0x100 bytes=0x40
            28   response 0
            29   response 1
            30   response 2
            31   response 3
            32   response 4
        "#]],
    );
}

#[test]
fn what_cannot_be_done_ends_at_once() {
    let script = [
        (10, 0, 0x1c40_0000, 0, TO_HOST),
        (11, 0, 0x1c7f_ffff, 2, TO_HOST),
        (12, 0, 0x4000_0000, 2, FROM_HOST),
        (13, u64::MAX, 0x1c40_0000, 2, FROM_HOST),
    ];
    check(
        &script,
        expect![[r#"
            10   event command_fault packet=0x0 target=0x0 addr=0x1c400000 bytes=0x0 why=0x1
            11   event command_fault packet=0x1 target=0x0 addr=0x1c800000 bytes=0x2 why=0x0
            11   response 0
            12   event command_fault packet=0x2 target=0x0 addr=0x40000000 bytes=0x2 why=0x0
            12   response 1
            13   event command_fault packet=0x3 target=0x0 addr=0xffffffffffffffff bytes=0x2 why=0x0
            13   response 2
            14   response 3
        "#]],
    );
}

#[test]
fn the_engines_take_turns_for_the_response() {
    let pair = |at| [(at, 0, 0x1c40_0000, 64, FROM_HOST), (at + 1, 0, 0x1c40_8000, 64, TO_HOST)];
    let log = bench(20_000, |bench| {
        let script = [pair(10), pair(110)].concat();
        set(bench, params().pcie, &script, &Store::default(), &Store::default());
    });
    let responses: String =
        log.lines().filter(|line| line.contains("response")).map(|line| format!("{line}\n")).collect();
    expect![[r#"
        29   response 1
        30   response 0
        129  response 2
        130  response 3
    "#]]
    .assert_eq(&responses);
}

#[test]
fn an_empty_transfer_takes_the_next_response_where_the_rtl_mistakes_it() {
    let script =
        [(10, 0, 0x1c40_0000, 0, TO_HOST), (11, 0, 0x1c40_0000, 64, FROM_HOST), (12, 0, 0x1c40_0000, 64, TO_HOST)];
    let responses = |mistakes| {
        let log = bench(1_000, |bench| {
            set_with(bench, mistakes, params().pcie, &script, &[], &Store::default(), &Store::default());
        });
        log.lines().filter(|line| line.contains("response")).map(str::to_owned).collect::<Vec<_>>()
    };
    let mistakes = RtlMistakes { empty_commands_hang: true, ..RtlMistakes::default() };
    expect!["30   response 0, 31   response 1"].assert_eq(&responses(mistakes).join(", "));
    expect!["11   response 0, 30   response 2, 31   response 1"]
        .assert_eq(&responses(RtlMistakes::default()).join(", "));
}

#[test]
fn transfers_with_unmapped_memory_end_where_the_rtl_mistakes_them() {
    // The second transfer is in packet memory except for its last beat.
    let script = [
        (10, 0x1000, 0x4000_0000, 128, TO_HOST),
        (60, 0x2000, 0x1c7f_ffc0, 128, TO_HOST),
        (110, 0x3000, 0x4000_0000, 128, FROM_HOST),
    ];
    let mistakes = RtlMistakes { unmapped_commands_succeed: true, ..RtlMistakes::default() };
    let host_store = Store::default();
    let log = bench(1_000, |bench| {
        set_with(bench, mistakes, params().pcie, &script, &[], &Store::default(), &host_store);
        bench.log_events();
    });
    expect![[r#"
        23   event host_written addr=0x1000 bytes=0x40
        24   event host_written addr=0x1040 bytes=0x40
        28   response 0
        65   l2: read 64 at 0x1c7fffc0
        74   event host_written addr=0x2000 bytes=0x40
        77   event host_written addr=0x2040 bytes=0x40
        81   response 1
        117  event host_read addr=0x3000 bytes=0x40
        118  event host_read addr=0x3040 bytes=0x40
        128  response 2
    "#]]
    .assert_eq(&log);
    let word = |at: u64| u64::from_le_bytes(std::array::from_fn(|i| byte(&host_store, at + i as u64)));
    assert_eq!([0x1000, 0x1008, 0x1040, 0x2040].map(word), [NO_DATA, 0, NO_DATA, NO_DATA]);
    assert_eq!(byte(&host_store, 0x2001), 0xc1);
}

/// The first bytes of a beat from unmapped memory; the others are 0.
const NO_DATA: u64 = 0xca11_ab1e_badc_ab1e;
