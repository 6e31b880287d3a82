//! C drivers in the style of PsPIN's users, with handlers that the SDK built.

use super::support::{Bench, Ran};
use expect_test::{Expect, expect};

/// Compiles and runs `driver`. `program` is a program of `crates/pspin`, or this crate's handlers.
fn ran(driver: &str, program: &str, arguments: &[&str]) -> Ran {
    let bench = Bench::with_handlers();
    if program != "handlers" {
        bench.program(&format!("{program}.elf"), program);
    }
    bench.compile(driver);
    bench.run(driver, arguments, &[])
}

fn check(driver: &str, program: &str, arguments: &[&str], want: Expect) {
    want.assert_eq(&ran(driver, program, arguments).without_times());
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
            out: 256 bytes: 50 01 00 01 04+8 10+4 0c+4 16 17 14 15 18+232
            1055000 ps: packet 100 done, in L2 for 115000, scheduled after 8000
            out: 256 bytes: 51 02 00 01 05+8 11+4 0d+4 17 18 15 16 19+232
            1110000 ps: packet 101 done, in L2 for 70000, scheduled after 8000
            out: 256 bytes: 52 03 00 01 06+8 12+4 0e+4 18 19 16 17 1a+232
            1255000 ps: packet 102 done, in L2 for 115000, scheduled after 8000
            out: 256 bytes: 53 04 00 01 07+8 13+4 0f+4 19 1a 17 18 1b+232
            1310000 ps: packet 103 done, in L2 for 70000, scheduled after 8000

            ###### Statistics ######
            NIC inbound engine:
            	Packets: 4; Bytes: 1024
            	Avg packet length: 256.000 B
            	Feedback throughput: 24.094 Gbit/s (feedback arrival time: 85.000 ns)
            	Packet latency: avg: 92.500 ns; min: 70 ns; max: 115 ns
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
            host 1000000000000000 written: 64 bytes: 50 01 c8 00 04+60
            host 1000000000000040 written: 64 bytes: 40+64
            host 1000000000000080 written: 64 bytes: 80+64
            host 10000000000000c0 written: 8 bytes: c0+8
            1041000 ps: packet 100 done, in L2 for 101000, scheduled after 8000
            host 1000000000000000 written: 64 bytes: 51 02 c8 00 05+60
            host 1000000000000040 written: 64 bytes: 41+64
            host 1000000000000080 written: 64 bytes: 81+64
            host 10000000000000c0 written: 8 bytes: c1+8
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
fn direct_host_writes_show_which_handlers_ran() {
    check(
        "direct",
        "handlers",
        &["handlers", "note_hh", "note_ph", "note_th", "4", "64"],
        expect![[r#"
            trace off!
            host 1000000000000280 written: 8 bytes: 50 00*3 01 00*3
            host 1000000000000280 written: 8 bytes: 50 00*3 02 00*3
            host 1000000000000288 written: 8 bytes: 51 00*3 02 00*3
            packet 100 done
            host 1000000000000288 written: 8 bytes: 51 00*3 03 00*3
            host 1000000000000290 written: 8 bytes: 52 01 00 00 01 00*3
            host 1000000000000290 written: 8 bytes: 52 01 00 00 02 00*3
            host 1000000000000298 written: 8 bytes: 53 01 00 00 02 00*3
            packet 102 done
            host 1000000000000298 written: 8 bytes: 53 01 00 00 03 00*3
            [0,0] message 0 of 64 bytes is done
            packet 101 done
            [1,0] message 1 of 64 bytes is done
            packet 103 done
            exit code 0
        "#]],
    );
}

#[test]
fn a_trapping_handler_is_reported_and_its_packet_is_done() {
    check(
        "direct",
        "trap",
        &["trap", "-", "trap_ph", "-", "2", "64"],
        expect![[r#"
            trace off!
            [synt]: HPU (0 0) HANDLER ERROR: 5
            packet 100 done
            [synt]: HPU (0 0) HANDLER ERROR: 5
            packet 101 done
            exit code 0
        "#]],
    );
}

/// Packets from files, with handlers that the driver finds by name; twice in one process.
#[test]
fn a_second_simulation_with_packets_from_files_equals_the_first() {
    let ran = ran("files", "ping_pong", &["ping_pong"]);
    let (first, second) = ran.stdout.split_at(ran.stdout.len() / 2);
    assert_eq!(first, second);
    assert_eq!(ran.code, Some(0));
    expect![[r#"
        trace off!
        out: 96 bytes: 50 01 60 00 04+8 10+4 0c+4 16 17 14 15 18+72
        out: 96 bytes: 51 02 60 00 05+8 11+4 0d+4 17 18 15 16 19+72
        out: 96 bytes: 52 03 60 00 06+8 12+4 0e+4 18 19 16 17 1a+72
    "#]]
    .assert_eq(first.split("\n###").next().expect("text before the statistics"));
}

#[test]
fn running_cycle_by_cycle_equals_running_at_once() {
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
fn callbacks_may_call_the_library() {
    check(
        "loop",
        "handlers",
        &["handlers"],
        expect![[r#"
            trace off!
            written for the start
            out: 128 bytes: 00+128
            packet 0 done
            out: 128 bytes: 00+128
            packet 1 done, in L2 1000 ps after the previous one was done
            out: 128 bytes: 00+128
            packet 2 done, in L2 1000 ps after the previous one was done
            out: 128 bytes: 00+128
            packet 3 done, in L2 1000 ps after the previous one was done
            read for the end: the same
            stderr: error: pspinsim_run: the simulation is running; do not call this function from a callback
            error: pspinsim_run_tick: the simulation is running; do not call this function from a callback
            error: pspinsim_fini: the simulation is running; do not call this function from a callback
            exit code 0
        "#]],
    );
}

#[test]
fn callbacks_come_during_the_call_that_runs_their_cycle() {
    check(
        "ticks",
        "handlers",
        &["handlers"],
        expect![[r#"
            trace off!
            50 added, 50 sent, 50 done, 0 of them reported in another cycle
            exit code 0
        "#]],
    );
}

/// Each packet waits for two reads of 500 ns, which overlap.
#[test]
fn host_reads_get_the_programs_memory() {
    let ran = ran("host", "handlers", &["handlers"]);
    expect![[r#"
        trace off!
        host 1000000000000000 read, 64 bytes
        host 1000000000000040 read, 64 bytes
        out: 100 bytes: 00+100
        packet 1 done
        host 1000000000000000 read, 64 bytes
        host 1000000000000040 read, 64 bytes
        out: 100 bytes: 14+100
        packet 2 done
        host 1000000000000000 read, 64 bytes
        host 1000000000000040 read, 64 bytes
        out: 100 bytes: 00+100
        packet 3 done
        exit code 0
    "#]]
    .assert_eq(&ran.without_times());
    let l2_times = ran.stdout.lines().filter_map(|line| line.split_once(", in L2 for ")?.1.split_once(','));
    for (time, _) in l2_times {
        let ps: u32 = time.parse().expect("a time");
        assert!((500_000..1_000_000).contains(&ps), "the reads overlap: {ps} ps");
    }
}
