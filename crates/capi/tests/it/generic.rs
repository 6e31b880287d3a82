//! The generic driver, as the drivers of PsPIN's examples use it.

use super::support::{Bench, HANDLERS};
use expect_test::{Expect, expect};

/// A bench with the generic driver and handlers where it looks for them.
fn generic() -> Bench {
    let bench = Bench::new();
    bench.write("build/handlers", HANDLERS);
    bench.compile("generic");
    bench
}

/// PsPIN's interface cannot register memory, so the library does.
#[test]
fn host_memory_of_contexts_is_registered_where_the_card_translates_addresses() {
    let bench = generic();
    let of = |nic: &str| {
        let told = bench.run("generic", &["-p", "2", "--packet-size=64", "-m2"], &[("SPINET_NIC", nic)]).told();
        let mut bytes: Vec<String> = told
            .lines()
            .filter(|line| line.starts_with("host ") || line.starts_with("out: "))
            .map(Into::into)
            .collect();
        bytes.sort();
        bytes
    };
    let without = of("pspin-rtl");
    assert_eq!(without.len(), 12, "{without:#?}");
    assert_eq!(of("pspin"), without);
}

#[test]
fn the_generic_driver_makes_packets() {
    let ran = generic().run("generic", &["-p", "2", "--packet-size=64", "-m2"], &[]);
    expect![[r#"
        trace off!
        [GDRIVER] hh_addr=1d000130; hh_size=4096;
        [GDRIVER] ph_addr=1d000180; ph_size=4096;
        [GDRIVER] th_addr=1d0001d0; th_size=4096;
        [GDRIVER] handler_mem_addr=1c300000; handler_mem_size=524288
        [GDRIVER] host_mem_addr=deadbeefdeadbeef; host_mem_size=536870912
        [GDRIVER] matching context=10.0.0.1
        [GDRIVER] hh_addr=0; hh_size=0;
        [GDRIVER] ph_addr=1d000290; ph_size=4096;
        [GDRIVER] th_addr=0; th_size=0;
        [GDRIVER] handler_mem_addr=1c380000; handler_mem_size=524288
        [GDRIVER] host_mem_addr=deadbeeffeadbeef; host_mem_size=536870912
        [GDRIVER] matching context=10.0.0.2
        [GDRIVER]: Using default packet generator
        fill message 0, packet 0, 64 bytes
        fill message 0, packet 2, 64 bytes
        fill message 2, packet 2, 64 bytes
        fill message 2, packet 4, 64 bytes
        Write to NIC memory completed (user_ptr: (nil))
        host deadbeefdeadc16f written: 8 bytes, 50000000..., sum 765e7a0f
        host deadbeefdeadc17f written: 8 bytes, 52020000..., sum afed4a4f
        host deadbeefdeadc16f written: 8 bytes, 50000000..., sum 765eee6e
        host deadbeefdeadc17f written: 8 bytes, 52000000..., sum 4621482c
        out: 64 bytes, 77686174..., sum 367eec1e
        out: 64 bytes, 77686174..., sum 367eec1e
        host deadbeefdeadc17f written: 8 bytes, 52020000..., sum afedbeae
        host deadbeefdeadc18f written: 8 bytes, 54020000..., sum 7fb0186c
        host deadbeefdeadc17f written: 8 bytes, 52000000..., sum 4621bc8b
        host deadbeefdeadc18f written: 8 bytes, 54020000..., sum 7fb08ccb
        [0,1] message 0 of 64 bytes is done
        [2,0] message 2 of 64 bytes is done
        out: 64 bytes, 77686174..., sum 367eec1e
        out: 64 bytes, 77686174..., sum 367eec1e
        exit code 0
    "#]]
    .assert_eq(&ran.told());
}

#[test]
fn the_generic_driver_replays_traces() {
    let bench = generic();
    bench.write(
        "a.trace",
        "2 5 96\n10.0.0.1 x 64 0 1 0\n10.0.0.1 x 0 900 1 0\n10.0.0.1 x 96 0 1 1\n10.0.0.2 x 64 0 2 0\n10.0.0.2 x 64 0 2 1\n",
    );
    expect![[r#"
        trace off!
        [GDRIVER] hh_addr=1d000130; hh_size=4096;
        [GDRIVER] ph_addr=1d000180; ph_size=4096;
        [GDRIVER] th_addr=1d0001d0; th_size=4096;
        [GDRIVER] handler_mem_addr=1c300000; handler_mem_size=524288
        [GDRIVER] host_mem_addr=deadbeefdeadbeef; host_mem_size=536870912
        [GDRIVER] matching context=10.0.0.1
        [GDRIVER] hh_addr=0; hh_size=0;
        [GDRIVER] ph_addr=1d000290; ph_size=4096;
        [GDRIVER] th_addr=0; th_size=0;
        [GDRIVER] handler_mem_addr=1c380000; handler_mem_size=524288
        [GDRIVER] host_mem_addr=deadbeeffeadbeef; host_mem_size=536870912
        [GDRIVER] matching context=10.0.0.2
        [GDRIVER]: Packet trace path: a.trace
        10.0.0.1 x 64 0 1 0
        fill message 1, packet 0, 64 bytes
        10.0.0.1 x 0 900 1 0
        10.0.0.1 x 96 0 1 1
        fill message 1, packet 0, 96 bytes
        10.0.0.2 x 64 0 2 0
        10.0.0.2 x 64 0 2 1
        Write to NIC memory completed (user_ptr: (nil))
        host deadbeefdeadc16f written: 8 bytes, 50010000..., sum ab44b550
        host deadbeefdeadc16f written: 8 bytes, 50010000..., sum ab4529af
        host deadbeefdeadc16f written: 8 bytes, 50010000..., sum ab4529af
        host deadbeefdeadc16f written: 8 bytes, 50010000..., sum ab459e0e
        out: 64 bytes, 77686174..., sum 367eec1e
        out: 64 bytes, 77686174..., sum 367eec1e
        [1,0] message 1 of 96 bytes is done
        exit code 0
    "#]]
    .assert_eq(&bench.run("generic", &["-t", "a.trace"], &[]).told());
    bench.write("b.trace", "2 1 96\n10.0.0.3 x 64 0 1 0\n");
    expect![[r#"
        trace off!
        [GDRIVER] hh_addr=1d000130; hh_size=4096;
        [GDRIVER] ph_addr=1d000180; ph_size=4096;
        [GDRIVER] th_addr=1d0001d0; th_size=4096;
        [GDRIVER] handler_mem_addr=1c300000; handler_mem_size=524288
        [GDRIVER] host_mem_addr=deadbeefdeadbeef; host_mem_size=536870912
        [GDRIVER] matching context=10.0.0.1
        [GDRIVER] hh_addr=0; hh_size=0;
        [GDRIVER] ph_addr=1d000290; ph_size=4096;
        [GDRIVER] th_addr=0; th_size=0;
        [GDRIVER] handler_mem_addr=1c380000; handler_mem_size=524288
        [GDRIVER] host_mem_addr=deadbeeffeadbeef; host_mem_size=536870912
        [GDRIVER] matching context=10.0.0.2
        [GDRIVER]: Packet trace path: b.trace
        10.0.0.3 x 64 0 1 0
        gdriver_run failed
        stderr: error: gdriver_run: b.trace: no context takes packets from 10.0.0.3
        exit code 1
    "#]]
    .assert_eq(&bench.run("generic", &["-t", "b.trace"], &[]).told());
}

#[test]
fn the_generic_drivers_command_line_is_gengetopts() {
    let bench = generic();
    expect![[r#"
        Generic simulation driver 1.0

        Usage: [OPTION]...

          -h, --help               Print help and exit
          -V, --version            Print version and exit
          -m, --num-messages=INT   Messages of each execution context  (default=`1')
          -p, --num-packets=INT    Packets of each message  (default=`32')
          -s, --packet-size=INT    Bytes of a packet  (default=`1024')
          -d, --packet-delay=INT   Cycles (ns) from a packet to the next  (default=`20')
          -l, --message-delay=INT  Cycles (ns) from a message to the next  (default=`40')
          -t, --trace-file=STRING  Packets come from this trace  (default=`NULL': none)
        exit code 0
    "#]]
    .assert_eq(&bench.run("generic", &["--help"], &[]).text());
    expect![[r#"
        stderr: error: gdriver_init: there is no option --packets; --help lists them
        exit code 1
    "#]]
    .assert_eq(&bench.run("generic", &["--packets", "3"], &[]).text());
}

/// PsPIN's drivers ignore what `gdriver_init` returns, and return 0 where `gdriver_fini` fails.
#[test]
fn a_driver_that_ignores_errors_ends_with_an_error_code_if_options_or_the_card_are_wrong() {
    let bench = generic();
    bench.compile("careless");
    let check = |arguments: &[&str], nic: &str, want: Expect| {
        want.assert_eq(&bench.run("careless", arguments, &[("SPINET_NIC", nic)]).text());
    };
    check(
        &["-x"],
        "pspin-rtl",
        expect![[r#"
            stderr: error: gdriver_init: there is no option -x; --help lists them
            exit code 1
        "#]],
    );
    check(
        &["-m", "many"],
        "pspin-rtl",
        expect![[r#"
            stderr: error: gdriver_init: --num-messages is `many`, must be a number from 0 to 2147483647
            exit code 1
        "#]],
    );
    check(
        &[],
        "no.toml",
        expect![[r#"
            stderr: error: gdriver_init: SPINET_NIC: no.toml: No such file or directory (os error 2)
            exit code 1
        "#]],
    );
}

/// Drivers of before October 2022 name their handlers in `gdriver_init`, those of some weeks behind it have plain contexts.
#[test]
fn drivers_for_the_older_generic_driver_compile_and_run() {
    let bench = generic();
    bench.compile("older");
    let run = |arguments: &[&str]| {
        let told = bench.run("older", arguments, &[]).told();
        told.lines()
            .map(|line| line.split_once(" (src: ").map_or(line, |(line, _)| line))
            .fold(String::new(), |all, line| all + line + "\n")
    };
    expect![[r#"
        trace off!
        hh_addr: 0; hh_size: 0;
        ph_addr: 1d000290; ph_size: 4096;
        th_addr: 0; th_size: 0;
        Copying 64 bytes to 1c300000
        Write to NIC memory completed (user_ptr: (nil))
        fill message 0, packet 0, 64 bytes, 64 of them to L1
        fill message 0, packet 1, 64 bytes, 64 of them to L1
        fill message 1, packet 0, 64 bytes, 64 of them to L1
        fill message 1, packet 1, 64 bytes, 64 of them to L1
        out: 32 bytes, a0a1a2a3..., sum a6fb2010
        out: 33 bytes, a0a1a2a3..., sum 3868e2b0
        out: 32 bytes, a0a1a2a3..., sum a6fb2010
        out: 33 bytes, a0a1a2a3..., sum 3868e2b0
        gdriver_run returns 0
        exit code 0
    "#]]
    .assert_eq(&run(&["one", "-m", "2", "-p", "2", "-s", "64"]));
    expect![[r#"
        trace off!
        [GDRIVER] hh_addr=1d000130; hh_size=4096;
        [GDRIVER] ph_addr=0; ph_size=0;
        [GDRIVER] th_addr=0; th_size=0;
        [GDRIVER] handler_mem_addr=1c300000; handler_mem_size=524288
        [GDRIVER] host_mem_addr=deadbeefdeadbeef; host_mem_size=536870912
        [GDRIVER] matching context=
        [GDRIVER] hh_addr=0; hh_size=0;
        [GDRIVER] ph_addr=1d000180; ph_size=4096;
        [GDRIVER] th_addr=0; th_size=0;
        [GDRIVER] handler_mem_addr=1c380000; handler_mem_size=524288
        [GDRIVER] host_mem_addr=deadbeeffeadbeef; host_mem_size=536870912
        [GDRIVER] matching context=
        fill message 0, packet 0, 64 bytes, 64 of them to L1
        fill message 2, packet 1, 64 bytes, 64 of them to L1
        Write to NIC memory completed (user_ptr: (nil))
        host deadbeefdeadc16f written: 8 bytes, 50000000..., sum 765e7a0f
        host deadbeefdeadc277 written: 8 bytes, 71020000..., sum 4431b950
        host deadbeeffeadc177 written: 8 bytes, 51040000..., sum b1d90851
        host deadbeeffeadc177 written: 8 bytes, 51020000..., sum 480c91cf
        exit code 0
    "#]]
    .assert_eq(&run(&["plain", "-m", "2", "-p", "1", "-s", "64"]));
    expect![[r#"
        trace off!
        hh_addr: 0; hh_size: 0;
        ph_addr: 1d000290; ph_size: 4096;
        th_addr: 0; th_size: 0;
        Copying 64 bytes to 1c300000
        Write to NIC memory completed (user_ptr: (nil))
        gdriver_run returns 1
        stderr: error: gdriver_run: the size that the fill callback returned is 65, must be at most the 64 that it was told
        error: gdriver_run: all packets are done, but pspinsim_packet_eos was not called
        exit code 1
    "#]].assert_eq(&run(&["too much", "-s", "64"]));
    expect![[r#"
        stderr: error: gdriver_init: there is no option --packets; --help lists them
        exit code 1
    "#]]
    .assert_eq(&run(&["one", "--packets", "2"]));
}

/// Whoever builds handlers anew and not their images would run the old ones at the addresses of the new.
#[test]
fn a_program_that_is_not_the_one_that_runs_is_told() {
    let bench = generic();
    bench.write("build/slm_files/prog_mem_stim.slm", "@00000010 0000006f 0000006f\n");
    // These loop for ever, so there is no run.
    let ran = bench.run("generic", &["-s", "0"], &[]);
    expect![[r#"
        warning: gdriver_add_ectx: build/handlers is not the program that runs, in which its handlers may lie elsewhere: memory images in build/slm_files come first, then the first program named
        warning: gdriver_add_ectx: build/handlers is not the program that runs, in which its handlers may lie elsewhere: memory images in build/slm_files come first, then the first program named
        error: gdriver_run: pkt_len is 0, must be 1 to 4194304, the bytes of L2 packet memory
    "#]].assert_eq(&ran.stderr);
}
