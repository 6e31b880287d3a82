//! The generic driver, used like the drivers of PsPIN's examples.

use super::support::{Bench, HANDLERS};
use expect_test::{Expect, expect};

/// A bench with the generic driver, and handlers where it looks for them.
fn generic() -> Bench {
    let bench = Bench::new();
    bench.write("build/handlers", HANDLERS);
    bench.compile("generic");
    bench
}

/// The lines of the driver about its two contexts: half of 1 MiB of handler memory each, and 512 MiB of host memory each.
const CONTEXTS: &str = "\
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
";

/// Runs the driver. Lines of contexts are compared and left out; lines of handlers, whose order depends on times, are sorted at the end.
///
/// The first byte of a packet is `0x50 | packet`. The handlers of context 1 write 8 bytes at 8 times this byte: the
/// byte, the message, and the stage (1 for header, 2 for payload, 3 for completion). Context 2 replaces a packet by the
/// host's text and sends it.
fn run(bench: &Bench, arguments: &[&str]) -> String {
    let text = bench.run("generic", arguments, &[]).without_statistics();
    let rest = text.strip_prefix(CONTEXTS).unwrap_or_else(|| panic!("{text}"));
    let by_handler = |line: &&str| ["host ", "out: ", "[0,", "[1,", "[2,"].iter().any(|start| line.starts_with(start));
    let (mut handlers, others): (Vec<&str>, Vec<&str>) = rest.lines().partition(by_handler);
    handlers.sort();
    others.into_iter().chain(handlers).map(|line| format!("{line}\n")).collect()
}

/// PsPIN's interface has no call to register memory, so the library registers it.
#[test]
fn a_card_that_translates_addresses_gets_the_contexts_memory_registered() {
    let bench = generic();
    let of = |nic: &str| {
        let text =
            bench.run("generic", &["-p", "2", "--packet-size=64", "-m2"], &[("SPINET_NIC", nic)]).without_statistics();
        let mut bytes: Vec<String> = text
            .lines()
            .filter(|line| line.starts_with("host ") || line.starts_with("out: "))
            .map(Into::into)
            .collect();
        bytes.sort();
        bytes
    };
    let without = of("pspin-paper");
    assert_eq!(without.len(), 12, "{without:#?}");
    assert_eq!(of("pspin"), without);
}

#[test]
fn the_generic_driver_generates_packets() {
    expect![[r#"
        [GDRIVER]: Using default packet generator
        fill message 0, packet 0, 64 bytes
        fill message 0, packet 2, 64 bytes
        fill message 2, packet 2, 64 bytes
        fill message 2, packet 4, 64 bytes
        Write to NIC memory completed (user_ptr: (nil))
        exit code 0
        [0,1] message 0 of 64 bytes is done
        [2,0] message 2 of 64 bytes is done
        host deadbeefdeadc16f written: 8 bytes: 50 00*3 01 00*3
        host deadbeefdeadc16f written: 8 bytes: 50 00*3 02 00*3
        host deadbeefdeadc17f written: 8 bytes: 52 00*3 02 00*3
        host deadbeefdeadc17f written: 8 bytes: 52 00*3 03 00*3
        host deadbeefdeadc17f written: 8 bytes: 52 02 00 00 01 00*3
        host deadbeefdeadc17f written: 8 bytes: 52 02 00 00 02 00*3
        host deadbeefdeadc18f written: 8 bytes: 54 02 00 00 02 00*3
        host deadbeefdeadc18f written: 8 bytes: 54 02 00 00 02 00*3
        host deadbeefdeadc18f written: 8 bytes: 54 02 00 00 02 00*3
        host deadbeefdeadc18f written: 8 bytes: 54 02 00 00 03 00*3
        out: 64 bytes: "what the host puts there, as much as a packet of this test has" 00 00
        out: 64 bytes: "what the host puts there, as much as a packet of this test has" 00 00
    "#]]
    .assert_eq(&run(&generic(), &["-p", "2", "--packet-size=64", "-m2"]));
}

#[test]
fn the_generic_driver_replays_traces() {
    let bench = generic();
    bench.write(
        "a.trace",
        "2 5 96\n10.0.0.1 x 64 0 1 0\n10.0.0.1 x 0 900 1 0\n10.0.0.1 x 96 0 1 1\n10.0.0.2 x 64 0 2 0\n10.0.0.2 x 64 0 2 1\n",
    );
    expect![[r#"
        [GDRIVER]: Packet trace path: a.trace
        10.0.0.1 x 64 0 1 0
        fill message 1, packet 0, 64 bytes
        10.0.0.1 x 0 900 1 0
        10.0.0.1 x 96 0 1 1
        fill message 1, packet 0, 96 bytes
        10.0.0.2 x 64 0 2 0
        10.0.0.2 x 64 0 2 1
        Write to NIC memory completed (user_ptr: (nil))
        exit code 0
        [1,0] message 1 of 96 bytes is done
        host deadbeefdeadc16f written: 8 bytes: 50 01 00 00 01 00*3
        host deadbeefdeadc16f written: 8 bytes: 50 01 00 00 02 00*3
        host deadbeefdeadc16f written: 8 bytes: 50 01 00 00 02 00*3
        host deadbeefdeadc16f written: 8 bytes: 50 01 00 00 03 00*3
        out: 64 bytes: "what the host puts there, as much as a packet of this test has" 00 00
        out: 64 bytes: "what the host puts there, as much as a packet of this test has" 00 00
    "#]]
    .assert_eq(&run(&bench, &["-t", "a.trace"]));
    bench.write("b.trace", "2 1 96\n10.0.0.3 x 64 0 1 0\n");
    expect![[r#"
        [GDRIVER]: Packet trace path: b.trace
        10.0.0.3 x 64 0 1 0
        gdriver_run failed
        stderr: error: gdriver_run: b.trace: no context takes packets from 10.0.0.3
        exit code 1
    "#]]
    .assert_eq(&run(&bench, &["-t", "b.trace"]));
}

#[test]
fn the_generic_drivers_command_line_is_that_of_gengetopt() {
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
        stderr: error: gdriver_init: unknown option --packets; --help lists the options
        exit code 1
    "#]]
    .assert_eq(&bench.run("generic", &["--packets", "3"], &[]).text());
}

/// PsPIN's drivers ignore the result of `gdriver_init`, and return 0 even if `gdriver_fini` fails.
#[test]
fn wrong_options_or_a_wrong_card_end_a_driver_that_ignores_errors() {
    let bench = generic();
    bench.compile("careless");
    let check = |arguments: &[&str], nic: &str, want: Expect| {
        want.assert_eq(&bench.run("careless", arguments, &[("SPINET_NIC", nic)]).text());
    };
    check(
        &["-x"],
        "pspin-rtl",
        expect![[r#"
            stderr: error: gdriver_init: unknown option -x; --help lists the options
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

/// Drivers before October 2022 pass handler names to `gdriver_init`; slightly later ones have plain contexts.
#[test]
fn drivers_for_the_older_generic_driver_compile_and_run() {
    let bench = generic();
    bench.compile("older");
    let run = |arguments: &[&str]| {
        let text = bench.run("older", arguments, &[]).without_statistics();
        text.lines()
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
        out: 32 bytes: a0+32
        out: 33 bytes: a0+33
        out: 32 bytes: a0+32
        out: 33 bytes: a0+33
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
        host deadbeefdeadc16f written: 8 bytes: 50 00*3 01 00*3
        host deadbeefdeadc277 written: 8 bytes: 71 02 00 00 01 00*3
        host deadbeeffeadc177 written: 8 bytes: 51 04 00 00 02 00*3
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
        stderr: error: gdriver_run: the size that the fill callback returned is 65, must be at most 64, the size of the packet
        error: gdriver_run: all packets are done, but pspinsim_packet_eos was not called
        exit code 1
    "#]].assert_eq(&run(&["too much", "-s", "64"]));
    expect![[r#"
        stderr: error: gdriver_init: unknown option --packets; --help lists the options
        exit code 1
    "#]]
    .assert_eq(&run(&["one", "--packets", "2"]));
}

/// If a user rebuilds handlers but not the images, the old handlers would run at the new addresses.
#[test]
fn a_program_that_differs_from_the_running_one_causes_a_warning() {
    let bench = generic();
    bench.write("build/slm_files/prog_mem_stim.slm", "@00000010 0000006f 0000006f\n");
    // These handlers loop forever, so there is no run.
    let ran = bench.run("generic", &["-s", "0"], &[]);
    expect![[r#"
        warning: gdriver_add_ectx: build/handlers is not the running program, so its handlers may have other addresses: memory images in build/slm_files have priority, then the first program
        warning: gdriver_add_ectx: build/handlers is not the running program, so its handlers may have other addresses: memory images in build/slm_files have priority, then the first program
        error: gdriver_run: pkt_len is 0, must be 1 to 4194304, the bytes of L2 packet memory
    "#]].assert_eq(&ran.stderr);
}
