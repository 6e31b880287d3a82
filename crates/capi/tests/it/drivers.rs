//! C drivers, as users of PsPIN write them, on handlers that the SDK built.

use super::support::{Bench, Ran};
use expect_test::{Expect, expect};

/// Compiles and runs `driver` where `program` is one of the programs of `crates/pspin`, or this crate's handlers.
fn ran(driver: &str, program: &str, arguments: &[&str]) -> Ran {
    let bench = Bench::with_handlers();
    if program != "handlers" {
        bench.program(&format!("{program}.elf"), program);
    }
    bench.compile(driver);
    bench.run(driver, arguments, &[])
}

fn check(driver: &str, program: &str, arguments: &[&str], want: Expect) {
    want.assert_eq(&ran(driver, program, arguments).told());
}

fn check_all(driver: &str, program: &str, arguments: &[&str], want: Expect) {
    want.assert_eq(&ran(driver, program, arguments).text());
}

#[test]
fn ping_pong_sends_packets_back() {
    check_all(
        "direct",
        "ping_pong",
        &["ping_pong", "-", "ping_pong_ph", "-", "4", "256"],
        expect![[r#"
            trace off!
            out: 256 bytes, 50010001..., sum 147605f0
            1059000 ps: packet 100 done, in L2 for 119000, scheduled after 8000
            out: 256 bytes, 51020001..., sum a95704d0
            1110000 ps: packet 101 done, in L2 for 70000, scheduled after 8000
            out: 256 bytes, 52030001..., sum 3e37e5b0
            1259000 ps: packet 102 done, in L2 for 119000, scheduled after 8000
            out: 256 bytes, 53040001..., sum d3152490
            1310000 ps: packet 103 done, in L2 for 70000, scheduled after 8000

            ###### Statistics ######
            NIC inbound engine:
            	Packets: 4; Bytes: 1024
            	Avg packet length: 256.000 B
            	Feedback throughput: 24.478 Gbit/s (feedback arrival time: 83.667 ns)
            	Packet latency: avg: 94.500 ns; min: 70 ns; max: 119 ns
            	HER stalls: 0
            ----------------------------------
            NIC outbound engine:
            	Commands: 4; Packets: 4; Bytes: 1024
            	Avg packet length: 256.000 B
            	Packet throughput: 24.094 Gbit/s (pkt departure time: 85.000 ns)
            ----------------------------------
            PCIe Slave:
            	Writes: beats: 0; bytes: 0; avg throughput: -nan Gbit/s
            	Reads: beats: 0; bytes: 0; avg throughput: -nan Gbit/s
            ----------------------------------
            PCIe Master:
            	Bytes written: 0; Bytes read: 0
            ----------------------------------
            exit code 0
        "#]],
    );
}

#[test]
fn copy_to_host_writes_beats_in_order() {
    check_all(
        "direct",
        "copy_to_host",
        &["copy_to_host", "-", "copy_to_host_ph", "-", "2", "200"],
        expect![[r#"
            trace off!
            host 1000000000000000 written: 64 bytes, 5001c800..., sum 77e26947
            host 1000000000000040 written: 64 bytes, 40414243..., sum 6ac8c020
            host 1000000000000080 written: 64 bytes, 80818283..., sum 54e9c020
            host 10000000000000c0 written: 8 bytes, c0c1c2c3..., sum 20987804
            1041000 ps: packet 100 done, in L2 for 101000, scheduled after 8000
            host 1000000000000000 written: 64 bytes, 5102c800..., sum 3cd6dd27
            host 1000000000000040 written: 64 bytes, 41424344..., sum 7e714420
            host 1000000000000080 written: 64 bytes, 81828384..., sum 68924420
            host 10000000000000c0 written: 8 bytes, c1c2c3c4..., sum bf234884
            1110000 ps: packet 101 done, in L2 for 70000, scheduled after 8000

            ###### Statistics ######
            NIC inbound engine:
            	Packets: 2; Bytes: 400
            	Avg packet length: 200.000 B
            	Feedback throughput: 23.188 Gbit/s (feedback arrival time: 69.000 ns)
            	Packet latency: avg: 85.500 ns; min: 70 ns; max: 101 ns
            	HER stalls: 0
            ----------------------------------
            NIC outbound engine:
            	Commands: 0; Packets: 0; Bytes: 0
            	Avg packet length: -nan B
            	Packet throughput: -nan Gbit/s (pkt departure time: 0.000 ns)
            ----------------------------------
            PCIe Slave:
            	Writes: beats: 8; bytes: 400; avg throughput: 44.444 Gbit/s
            	Reads: beats: 0; bytes: 0; avg throughput: -nan Gbit/s
            ----------------------------------
            PCIe Master:
            	Bytes written: 0; Bytes read: 0
            ----------------------------------
            exit code 0
        "#]],
    );
}

#[test]
fn host_direct_tells_which_handlers_ran() {
    check(
        "direct",
        "handlers",
        &["handlers", "note_hh", "note_ph", "note_th", "4", "64"],
        expect![[r#"
            trace off!
            host 1000000000000280 written: 8 bytes, 50000000..., sum 765e7a0f
            host 1000000000000280 written: 8 bytes, 50000000..., sum 765eee6e
            host 1000000000000288 written: 8 bytes, 51000000..., sum de401b4d
            1133000 ps: packet 100 done, in L2 for 193000, scheduled after 5000
            host 1000000000000288 written: 8 bytes, 51000000..., sum de408fac
            host 1000000000000290 written: 8 bytes, 52010000..., sum 7b070f0e
            host 1000000000000290 written: 8 bytes, 52010000..., sum 7b07836d
            host 1000000000000298 written: 8 bytes, 53010000..., sum e2e8b04c
            1333000 ps: packet 102 done, in L2 for 193000, scheduled after 5000
            host 1000000000000298 written: 8 bytes, 53010000..., sum e2e924ab
            [0,0] message 0 of 64 bytes is done
            4195000 ps: packet 101 done, in L2 for 3155000, scheduled after 5000
            [1,0] message 1 of 64 bytes is done
            4425000 ps: packet 103 done, in L2 for 3185000, scheduled after 5000
            exit code 0
        "#]],
    );
}

#[test]
fn a_handler_that_faults_is_told_of_and_its_packet_done() {
    check(
        "direct",
        "trap",
        &["trap", "-", "trap_ph", "-", "2", "64"],
        expect![[r#"
            trace off!
            [989000][synt]: HPU (0 0) HANDLER ERROR: 5
            1003000 ps: packet 100 done, in L2 for 63000, scheduled after 5000
            [1084000][synt]: HPU (0 0) HANDLER ERROR: 5
            1090000 ps: packet 101 done, in L2 for 50000, scheduled after 5000
            exit code 0
        "#]],
    );
}

/// Packets from files, whose handlers' addresses the driver finds; twice in one process.
#[test]
fn packets_come_from_files_and_a_second_simulation_is_like_the_first() {
    let ran = ran("files", "ping_pong", &["ping_pong"]);
    let (first, second) = ran.stdout.split_at(ran.stdout.len() / 2);
    assert_eq!(first, second);
    assert_eq!(ran.code, Some(0));
    expect![[r#"
        trace off!
        out: 96 bytes, 50016000..., sum 421964bf
        out: 96 bytes, 51026000..., sum 27de9a9f
        out: 96 bytes, 52036000..., sum 0da3d07f
    "#]]
    .assert_eq(first.split("\n###").next().expect("a first part"));
}

#[test]
fn cycle_by_cycle_is_the_same_as_at_once() {
    for (program, stages) in [
        ("ping_pong", ["-", "ping_pong_ph", "-"]),
        ("copy_to_host", ["-", "copy_to_host_ph", "-"]),
        ("handlers", ["note_hh", "note_ph", "note_th"]),
    ] {
        let [hh, ph, th] = stages;
        let at_once = [program, hh, ph, th, "6", "500"];
        let by_cycle = [program, hh, ph, th, "6", "500", "tick"];
        assert_eq!(ran("direct", program, &at_once).text(), ran("direct", program, &by_cycle).text());
    }
}

#[test]
fn callbacks_may_call_back() {
    check(
        "loop",
        "handlers",
        &["handlers"],
        expect![[r#"
            trace off!
            written for the start
            out: 128 bytes, 04030201..., sum 423a1be0
            packet 0 done
            out: 128 bytes, 04030201..., sum 423a1be0
            packet 1 done, in L2 1000 ps after the one before was done
            out: 128 bytes, 04030201..., sum 423a1be0
            packet 2 done, in L2 1000 ps after the one before was done
            out: 128 bytes, 04030201..., sum 423a1be0
            packet 3 done, in L2 1000 ps after the one before was done
            read for the end: the same
            stderr: error: pspinsim_run: the simulation is running, must not come from a callback
            error: pspinsim_run_tick: the simulation is running, must not come from a callback
            error: pspinsim_fini: the simulation is running, must not come from a callback
            exit code 0
        "#]],
    );
}

#[test]
fn callbacks_come_in_the_call_of_their_cycle() {
    check(
        "ticks",
        "handlers",
        &["handlers"],
        expect![[r#"
            trace off!
            50 added, 50 sent, 50 done, 0 of them heard in another cycle
            exit code 0
        "#]],
    );
}

#[test]
fn the_program_is_the_hosts_memory() {
    check(
        "host",
        "handlers",
        &["handlers"],
        expect![[r#"
            trace off!
            host 1000000000000000 read, 64 bytes
            host 1000000000000040 read, 64 bytes
            out: 100 bytes, 00010203..., sum 03832432
            1562000 ps: packet 1 done, in L2 for 622000, scheduled after 6000
            host 1000000000000000 read, 64 bytes
            host 1000000000000040 read, 64 bytes
            out: 100 bytes, 14151617..., sum 3ee00132
            2563000 ps: packet 2 done, in L2 for 623000, scheduled after 6000
            host 1000000000000000 read, 64 bytes
            host 1000000000000040 read, 64 bytes
            out: 100 bytes, 00010203..., sum 03832432
            3522000 ps: packet 3 done, in L2 for 582000, scheduled after 6000
            exit code 0
        "#]],
    );
}
