use super::*;
use crate::nhi::NhiMap;
use crate::testing::{TestHost, TestMemory, command, id, params};
use expect_test::{Expect, expect};
use testkit::bench;

const TO_HOST: u32 = 1;
const FROM_HOST: u32 = 0;

/// Commands: cycle, host address, NIC address, length, direction.
fn check(script: &[(Cycle, u64, u32, u32, u32)], want: Expect) {
    let log = bench(20_000, |bench| {
        let commands = script.iter().enumerate().map(|(core, &(cycle, host, nic, size, direction))| {
            let words = [host as u32, (host >> 32) as u32, nic, size, direction];
            (cycle, command(id(core), CommandTarget::HostDma, &words))
        });
        let params = params();
        let l2 = TestMemory::add(bench, "l2", 3);
        let l1s = ["l1[0]", "l1[1]", "l1[2]", "l1[3]"].map(|name| TestMemory::add(bench, name, 1));
        let ports = HostDmaPorts {
            commands: bench.input("commands", 8, commands.collect()),
            responses: bench.output("response", 2, |_| true, |response: &CommandResponse| response.id.core.to_string()),
            nhi: NhiMaster::new(NhiMap::all(&params), l2, l1s.into()),
            host: TestHost::add(bench, params.pcie),
        };
        let trace = bench.tracer("host_dma");
        bench.add("host_dma", HostDma::new(64, ports, trace));
    });
    want.assert_eq(&log);
}

#[test]
fn to_the_host_from_l2_responds_after_17_cycles_from_l1_after_15() {
    check(
        &[(10, 0x1000, 0x1c40_0000, 64, TO_HOST)],
        expect![[r#"
          15 l2: read 64 at 0x1c400000
          24 event host_written addr=0x1000 bytes=0x40
          28 response 0
    "#]],
    );
    check(
        &[(10, 0x1000, 0x1000_4400, 64, TO_HOST)],
        expect![[r#"
          15 l1[0]: read 64 at 0x10004400
          22 event host_written addr=0x1000 bytes=0x40
          26 response 0
    "#]],
    );
    check(
        &[(10, 0x1000, 0x1c40_0000, 192, TO_HOST)],
        expect![[r#"
          15 l2: read 192 at 0x1c400000
          24 event host_written addr=0x1000 bytes=0x40
          25 event host_written addr=0x1040 bytes=0x40
          26 event host_written addr=0x1080 bytes=0x40
          30 response 0
    "#]],
    );
}

#[test]
fn from_the_host_into_l2_responds_after_18_cycles() {
    check(
        &[(10, 0x1000, 0x1c40_0000, 64, FROM_HOST)],
        expect![[r#"
          17 event host_read addr=0x1000 bytes=0x40
          22 l2: write 64 at 0x1c400000
          29 response 0
    "#]],
    );
    check(
        &[(10, 0x1000, 0x1000_4400, 192, FROM_HOST)],
        expect![[r#"
          17 event host_read addr=0x1000 bytes=0x40
          18 event host_read addr=0x1040 bytes=0x40
          19 event host_read addr=0x1080 bytes=0x40
          22 l1[0]: write 64 at 0x10004400
          23 l1[0]: write 64 at 0x10004440
          24 l1[0]: write 64 at 0x10004480
          31 response 0
    "#]],
    );
}

#[test]
fn bytes_move_to_their_place_in_the_line() {
    check(
        &[(10, 0x0fe3, 0x1c40_0fd0, 100, TO_HOST)],
        expect![[r#"
          15 l2: read 48 at 0x1c400fd0
          16 l2: read 52 at 0x1c401000
          24 event host_written addr=0xfe3 bytes=0x1d
          25 event host_written addr=0x1000 bytes=0x40
          26 event host_written addr=0x1040 bytes=0x7
          30 response 0
    "#]],
    );
    check(
        &[(10, 0x0fe3, 0x1c40_0fd0, 100, FROM_HOST)],
        expect![[r#"
          17 event host_read addr=0xfe3 bytes=0x1d
          18 event host_read addr=0x1000 bytes=0x40
          19 event host_read addr=0x1040 bytes=0x7
          23 l2: write 48 at 0x1c400fd0
          24 l2: write 52 at 0x1c401000
          31 response 0
    "#]],
    );
}

#[test]
fn two_write_bursts_are_at_the_host() {
    let copy = |n: u64| (10 + n, 64 * n, 0x1c40_0000, 64, TO_HOST);
    check(
        &[copy(0), copy(1), copy(2), copy(3), copy(4)],
        expect![[r#"
          15 l2: read 64 at 0x1c400000
          16 l2: read 64 at 0x1c400000
          17 l2: read 64 at 0x1c400000
          18 l2: read 64 at 0x1c400000
          19 l2: read 64 at 0x1c400000
          24 event host_written addr=0x0 bytes=0x40
          25 event host_written addr=0x40 bytes=0x40
          27 event host_written addr=0x80 bytes=0x40
          28 event host_written addr=0xc0 bytes=0x40
          28 response 0
          29 response 1
          30 event host_written addr=0x100 bytes=0x40
          31 response 2
          32 response 3
          34 response 4
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
          10 event command_fault packet=0x0 target=0x0 addr=0x1c400000
          11 event command_fault packet=0x1 target=0x0 addr=0x1c800000
          11 response 0
          12 event command_fault packet=0x2 target=0x0 addr=0x40000000
          12 response 1
          13 event command_fault packet=0x3 target=0x0 addr=0xffffffffffffffff
          13 response 2
          14 response 3
    "#]],
    );
}
