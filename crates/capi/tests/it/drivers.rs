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

/// A packet's line: `1055000 ps: packet 100 done, in L2 for 115000, scheduled after 8000`. Times are in ps.
struct Done {
    at: u64,
    in_l2: u64,
    scheduled_after: u64,
}

fn done(text: &str) -> Vec<Done> {
    let number = |text: &str| text.parse().expect("a number of ps");
    let done = |line: &str| {
        let (at, rest) = line.split_once(" ps: packet ")?;
        let (in_l2, scheduled_after) = rest.split_once(", in L2 for ")?.1.split_once(", scheduled after ")?;
        Some(Done { at: number(at), in_l2: number(in_l2), scheduled_after: number(scheduled_after) })
    };
    text.lines().filter_map(done).collect()
}

/// The lines that PsPIN's statistics must have for these packets of `bytes` each.
fn inbound_statistics(done: &[Done], bytes: u64) -> String {
    let n = done.len() as u64;
    let ns = |ps: u64| ps as f64 / 1000.0;
    let between = ns(done[done.len() - 1].at - done[0].at) / (n - 1) as f64;
    let in_l2 = || done.iter().map(|done| done.in_l2);
    format!(
        "\tPackets: {n}; Bytes: {}\n\tAvg packet length: {bytes}.000 B\n\
         \tFeedback throughput: {:.3} Gbit/s (feedback arrival time: {between:.3} ns)\n\
         \tPacket latency: avg: {:.3} ns; min: {} ns; max: {} ns\n\tHER stalls: 0\n",
        n * bytes,
        (8 * bytes) as f64 / between,
        ns(in_l2().sum()) / n as f64,
        in_l2().min().expect("packets") / 1000,
        in_l2().max().expect("packets") / 1000,
    )
}

/// Checks times and statistics. Messages have two packets, and each message starts on a cluster with cold instruction caches.
fn check_times(ran: &Ran, bytes: u64) {
    let done = done(&ran.stdout);
    for message in done.chunks(2) {
        assert!(message[1].in_l2 < message[0].in_l2, "the second packet finds warm caches");
        assert!(message[0].in_l2.abs_diff(done[0].in_l2) < 20_000, "all first packets find cold caches");
        // One cycle of arrival per beat of 64 bytes, then four until the request leaves.
        assert!(message.iter().all(|done| done.scheduled_after == 1000 * (bytes.div_ceil(64) + 4)));
    }
    let statistics = inbound_statistics(&done, bytes);
    assert!(ran.stdout.contains(&statistics), "{statistics}\n{}", ran.stdout);
}

/// The handler swaps source and destination of IPv4 (4 bytes each, at 12 and 16) and of UDP (2 bytes each, at 20 and 22).
#[test]
fn ping_pong_sends_packets_back() {
    let ran = ran("direct", "ping_pong", &["ping_pong", "-", "ping_pong_ph", "-", "4", "256"]);
    expect![[r#"
        trace off!
        out: 256 bytes: 50 01 00 01 04+8 10+4 0c+4 16 17 14 15 18+232
        packet 100 done
        out: 256 bytes: 51 02 00 01 05+8 11+4 0d+4 17 18 15 16 19+232
        packet 101 done
        out: 256 bytes: 52 03 00 01 06+8 12+4 0e+4 18 19 16 17 1a+232
        packet 102 done
        out: 256 bytes: 53 04 00 01 07+8 13+4 0f+4 19 1a 17 18 1b+232
        packet 103 done
        exit code 0
    "#]]
    .assert_eq(&ran.without_times());
    check_times(&ran, 256);
    assert!(ran.stdout.contains("\tCommands: 4; Packets: 4; Bytes: 1024\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\tWrites: beats: 0; bytes: 0;"), "{}", ran.stdout);
}

/// 200 bytes are three beats of 64 bytes and one of 8.
#[test]
fn copy_to_host_writes_beats_in_order() {
    let ran = ran("direct", "copy_to_host", &["copy_to_host", "-", "copy_to_host_ph", "-", "2", "200"]);
    expect![[r#"
        trace off!
        host 1000000000000000 written: 64 bytes: 50 01 c8 00 04+60
        host 1000000000000040 written: 64 bytes: 40+64
        host 1000000000000080 written: 64 bytes: 80+64
        host 10000000000000c0 written: 8 bytes: c0+8
        packet 100 done
        host 1000000000000000 written: 64 bytes: 51 02 c8 00 05+60
        host 1000000000000040 written: 64 bytes: 41+64
        host 1000000000000080 written: 64 bytes: 81+64
        host 10000000000000c0 written: 8 bytes: c1+8
        packet 101 done
        exit code 0
    "#]]
    .assert_eq(&ran.without_times());
    check_times(&ran, 200);
    assert!(ran.stdout.contains("\tCommands: 0; Packets: 0; Bytes: 0\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\tWrites: beats: 8; bytes: 400;"), "{}", ran.stdout);
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
