//! C drivers, as users of PsPIN write them, on handlers that the SDK built.

mod support;

use expect_test::{Expect, expect};
use std::path::Path;
use support::{Bench, Ran};

/// Handlers of this crate's tests.
const HANDLERS: &[u8] = include_bytes!("elf/host.elf");

/// Compiles and runs `driver` where `program` is one of the programs of `crates/pspin`, or this crate's handlers.
fn ran(driver: &str, program: &str, arguments: &[&str]) -> Ran {
    let bench = Bench::new();
    match program {
        "handlers" => bench.write("handlers", HANDLERS),
        other => bench.program(&format!("{other}.elf"), other),
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
            1060000 ps: packet 100 done, in L2 for 120000, scheduled after 8000
            out: 256 bytes, 51020001..., sum a95704d0
            1110000 ps: packet 101 done, in L2 for 70000, scheduled after 8000
            out: 256 bytes, 52030001..., sum 3e37e5b0
            1260000 ps: packet 102 done, in L2 for 120000, scheduled after 8000
            out: 256 bytes, 53040001..., sum d3152490
            1310000 ps: packet 103 done, in L2 for 70000, scheduled after 8000

            ###### Statistics ######
            NIC inbound engine:
            	Packets: 4; Bytes: 1024
            	Avg packet length: 256.000 B
            	Feedback throughput: 24.576 Gbit/s (feedback arrival time: 83.333 ns)
            	Packet latency: avg: 95.000 ns; min: 70 ns; max: 120 ns
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
            4220000 ps: packet 101 done, in L2 for 3180000, scheduled after 5000
            [1,0] message 1 of 64 bytes is done
            4439000 ps: packet 103 done, in L2 for 3199000, scheduled after 5000
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
            [990000][synt]: HPU (0 0) HANDLER ERROR: 5
            1004000 ps: packet 100 done, in L2 for 64000, scheduled after 5000
            [1085000][synt]: HPU (0 0) HANDLER ERROR: 5
            1091000 ps: packet 101 done, in L2 for 51000, scheduled after 5000
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
fn the_transcript_and_waveforms_tell_what_happened_when() {
    let bench = Bench::new();
    bench.write("handlers", HANDLERS);
    bench.compile("loop");
    let ran = bench.run("loop", &["handlers"], &[("SPINET_TRANSCRIPT", "1"), ("SPINET_WAVES", "waves.vcd")]);
    expect![[r#"
        trace on!
        written for the start
        [940000][NICInbound.hpp]: NIC inbound engine: allocated 128 bytes at 0x1c400000; in_flight_packets: 1
        [946000][NICInbound.hpp]: HER sent (0x1c400000)
        [965000][synt]: INFO HANDLER_START 1 0
        out: 128 bytes, 04030201..., sum 423a1be0
        packet 0 done
        [1010000][synt]: INFO HANDLER_TIME 1 0 5 1d000290 1c400000 128
        [1013000][NICOutbound.hpp]: packet sent; size: 128
        [1016000][NICInbound.hpp]: INFO FEEDBACK 0x1c400000 76000 128
        [1017000][NICInbound.hpp]: NIC inbound engine: allocated 128 bytes at 0x1c400080; in_flight_packets: 1
        [1023000][NICInbound.hpp]: HER sent (0x1c400080)
        [1042000][synt]: INFO HANDLER_START 1 0
        out: 128 bytes, 04030201..., sum 423a1be0
        packet 1 done, in L2 1000 ps after the one before was done
        [1063000][synt]: INFO HANDLER_TIME 1 0 5 1d000290 1c400080 128
        [1066000][NICOutbound.hpp]: packet sent; size: 128
        [1069000][NICInbound.hpp]: INFO FEEDBACK 0x1c400080 52000 128
        [1070000][NICInbound.hpp]: NIC inbound engine: allocated 128 bytes at 0x1c400100; in_flight_packets: 1
        [1076000][NICInbound.hpp]: HER sent (0x1c400100)
        [1095000][synt]: INFO HANDLER_START 1 0
        out: 128 bytes, 04030201..., sum 423a1be0
        packet 2 done, in L2 1000 ps after the one before was done
        [1116000][synt]: INFO HANDLER_TIME 1 0 5 1d000290 1c400100 128
        [1119000][NICOutbound.hpp]: packet sent; size: 128
        [1122000][NICInbound.hpp]: INFO FEEDBACK 0x1c400100 52000 128
        [1123000][NICInbound.hpp]: NIC inbound engine: allocated 128 bytes at 0x1c400180; in_flight_packets: 1
        [1129000][NICInbound.hpp]: HER sent (0x1c400180)
        [1148000][synt]: INFO HANDLER_START 1 0
        out: 128 bytes, 04030201..., sum 423a1be0
        packet 3 done, in L2 1000 ps after the one before was done
        [1169000][synt]: INFO HANDLER_TIME 1 0 5 1d000290 1c400180 128
        [1172000][NICOutbound.hpp]: packet sent; size: 128
        read for the end: the same
        [1175000][NICInbound.hpp]: INFO FEEDBACK 0x1c400180 52000 128
        stderr: error: pspinsim_run: the simulation is running, must not come from a callback
        error: pspinsim_run_tick: the simulation is running, must not come from a callback
        error: pspinsim_fini: the simulation is running, must not come from a callback
        exit code 0
    "#]]
    .assert_eq(&ran.told());
    let waves = std::fs::read_to_string(bench.path("waves.vcd")).expect("waveforms");
    let changes = waves.split_once("$enddefinitions $end\n").expect("two parts").1;
    // Without what holds at the start.
    let later: Vec<&str> = changes.split("\n#").skip(1).collect();
    expect![[r#"
        940000
        b1 !
        #946000
        b1 "
        #948000
        b1 0
        #965000
        b10 1
        #1010000
        b0 1
        #1013000
        b1 #
        b10000000 $
        #1015000
        b0 0
        #1016000
        b0 !
        #1017000
        b1 !
        #1023000
        b10 "
        #1025000
        b1 0
        #1042000
        b10 1
        #1063000
        b0 1
        #1066000
        b10 #
        b100000000 $
        #1068000
        b0 0
        #1069000
        b0 !
        #1070000
        b1 !
        #1076000
        b11 "
        #1078000
        b1 0
        #1095000
        b10 1
        #1116000
        b0 1
        #1119000
        b11 #
        b110000000 $
        #1121000
        b0 0
        #1122000
        b0 !
        #1123000
        b1 !
        #1129000
        b100 "
        #1131000
        b1 0
        #1148000
        b10 1
        #1169000
        b0 1
        #1172000
        b100 #
        b1000000000 $
        #1174000
        b0 0
        #1175000
        b0 !
    "#]]
    .assert_eq(&later.join("\n#"));
    // Watching changes nothing.
    let unwatched = bench.run("loop", &["handlers"], &[]);
    let statistics = |ran: &support::Ran| ran.stdout.split_once("###### Statistics").map(|(_, text)| text.to_owned());
    assert_eq!(statistics(&ran), statistics(&unwatched));
    let refused = bench.run("loop", &["handlers"], &[("SPINET_WAVES", "no/such/folder.vcd")]);
    assert!(refused.stderr.contains("no/such/folder.vcd: No such file"), "{}", refused.stderr);
}

#[test]
fn every_core_leaves_a_trace_of_what_it_executed() {
    let bench = Bench::new();
    bench.write("handlers", HANDLERS);
    bench.compile("loop");
    let traced = bench.run("loop", &["handlers"], &[("SPINET_INSTRUCTIONS", "traces/of cores")]);
    assert_eq!(traced.stdout, bench.run("loop", &["handlers"], &[]).stdout, "tracing changes nothing");
    let files = std::fs::read_dir(bench.path("traces/of cores")).expect("a folder").count();
    assert_eq!(files, 32);
    let text = std::fs::read_to_string(bench.path("traces/of cores/trace_core_01_0.log")).expect("a trace");
    // The header, and the first device accesses of handlers.
    let of_the_handler = |line: &&str| line.contains(" 1d00029") && line.contains("PA:1b2050");
    let lines = text.lines().take(1).chain(text.lines().filter(of_the_handler).take(4));
    expect![[r#"
        |                Time           Cycles PC       Instr    Mnemonic
        |               979000             979 1d000292 00052583 lw               x11, 0(x10)         x11=1c300000 x10:1b205008  PA:1b205008
        |               980000             980 1d000294 00c52503 lw               x10, 12(x10)        x10=00000080 x10:1b205008  PA:1b205014
        |               983000             983 1d00029c 08062823 sw               x0, 144(x12)        x12:1b205000  PA:1b205090
        |              1048000            1048 1d000292 00052583 lw               x11, 0(x10)         x11=1c300000 x10:1b205008  PA:1b205008
    "#]]
    .assert_eq(&lines.map(|line| format!("|{line}\n")).collect::<String>());
    bench.write("file", "");
    let refused = bench.run("loop", &["handlers"], &[("SPINET_INSTRUCTIONS", "file/folder")]);
    assert!(refused.stderr.contains("file/folder: Not a directory"), "{}", refused.stderr);
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
            host 1000000000000014 read, 44 bytes
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

#[test]
fn what_is_wrong_is_said() {
    let bench = Bench::new();
    bench.write("handlers", HANDLERS);
    bench.write("empty/file", "");
    bench.compile("wrong");
    let ran = bench.run("wrong", &["handlers"], &[]);
    expect![[r#"
        pspinsim_run(): 1
        pspinsim_run_tick(&done): 1
        pspinsim_packet_eos(): 1
        pspinsim_fini(): 1
        pspinsim_cb_set_pkt_out(NULL): 1
        pspinsim_default_conf(NULL): 1
        pspinsim_init(argc, argv, NULL): 1
        pspinsim_init(argc, argv, &conf): 1
        pspinsim_init(argc, argv, &conf): 1
        pspinsim_init(argc, argv, &conf): 1
        trace off!
        pspinsim_init(argc, argv, &conf): 0
        pspinsim_init(argc, argv, &conf): 1
        pspinsim_packet_add(NULL, 0, &byte, 1, 1, 1, 0, 0): 1
        pspinsim_packet_add(&ec, 0, NULL, 1, 1, 1, 0, 0): 1
        pspinsim_packet_add(&ec, 0, &byte, 0, 0, 1, 0, 0): 1
        pspinsim_packet_add(&ec, 0, &byte, 1, 16385, 1, 0, 0): 1
        pspinsim_packet_add(&ec, 0, &byte, SIZE_MAX, 1, 1, 0, 0): 1
        pspinsim_packet_add(&ec, 0, &byte, 1, SIZE_MAX, 1, 0, 0): 1
        spin_nicmem_write(0x1c000000, &byte, SIZE_MAX, NULL): 1
        spin_nicmem_read(0x1c000000, &byte, SIZE_MAX, NULL): 1
        pspinsim_packet_trace_read("nowhere", "nowhere"): 1
        spin_nicmem_write(0x1c400000, &byte, 1, NULL): 1
        spin_nicmem_write(0x1c000000, &byte, 0, NULL): 1
        spin_nicmem_read(0x1d007fff, &byte, 2, NULL): 1
        spin_nicmem_read(0x1d007fff, NULL, 1, NULL): 1
        spin_find_handler_by_name("nowhere", "x_ph", &addr, &size): 1
        spin_find_handler_by_name(argv[1], NULL, &addr, &size): 1
        spin_find_handler_by_name(argv[1], "no_such_ph", &addr, &size): 0
        untouched: 1 2 0
        pspinsim_run(): 1
        pspinsim_run(): 1
        pspinsim_run(): 1
        pspinsim_run_tick(&done): 0
        done: 0
    "#]]
    .assert_eq(ran.stdout.split("\n###### Statistics").next().expect("a first part"));
    expect![[r#"
        error: pspinsim_run: there is no simulation, must come after pspinsim_init and before pspinsim_fini
        error: pspinsim_run_tick: there is no simulation, must come after pspinsim_init and before pspinsim_fini
        error: pspinsim_packet_eos: there is no simulation, must come after pspinsim_init and before pspinsim_fini
        error: pspinsim_fini: there is no simulation, must come after pspinsim_init and before pspinsim_fini
        error: pspinsim_cb_set_pkt_out: there is no simulation, must come after pspinsim_init and before pspinsim_fini
        error: pspinsim_default_conf: conf is NULL, must point to room for the result
        error: pspinsim_init: conf->slm_files_path is NULL and PSPIN_HW is not set; one must say where the memory images or the ELF file are
        error: pspinsim_init: nowhere: No such file or directory (os error 2)
        error: pspinsim_init: empty: there is no prog_mem_stim.slm in it, must be a folder with memory images, or an ELF file; spinet build makes both
        error: pspinsim_init: conf: no_conf.network_G is -1, must be 0 to 15625 ns a byte
        error: pspinsim_init: there is a simulation already, must come after pspinsim_fini
        error: pspinsim_packet_add: ec is NULL, must point to an execution context
        error: pspinsim_packet_add: pkt_data is NULL, must point to the bytes
        error: pspinsim_packet_add: pkt_len is 0, must be 1 to 4194304, the bytes of L2 packet memory
        error: pspinsim_packet_add: pkt_l1_len is 16385, must be 0 to 16384, the bytes of a ring of the L1 packet buffer
        error: pspinsim_packet_add: pkt_len is 18446744073709551615, must be 1 to 4194304, the bytes of L2 packet memory
        error: pspinsim_packet_add: pkt_l1_len is 18446744073709551615, must be 0 to 16384, the bytes of a ring of the L1 packet buffer
        error: spin_nicmem_write: 18446744073709551615 bytes at 0x1c000000 are asked for, must be some of handler memory (0x1c000000 to 0x1c3fffff) or program memory (0x1d000000 to 0x1d007fff)
        error: spin_nicmem_read: 18446744073709551615 bytes at 0x1c000000 are asked for, must be some of handler memory (0x1c000000 to 0x1c3fffff) or program memory (0x1d000000 to 0x1d007fff)
        error: pspinsim_packet_trace_read: nowhere: No such file or directory (os error 2)
        error: spin_nicmem_write: 1 bytes at 0x1c400000 are asked for, must be some of handler memory (0x1c000000 to 0x1c3fffff) or program memory (0x1d000000 to 0x1d007fff)
        error: spin_nicmem_write: 0 bytes at 0x1c000000 are asked for, must be some of handler memory (0x1c000000 to 0x1c3fffff) or program memory (0x1d000000 to 0x1d007fff)
        error: spin_nicmem_read: 2 bytes at 0x1d007fff are asked for, must be some of handler memory (0x1c000000 to 0x1c3fffff) or program memory (0x1d000000 to 0x1d007fff)
        error: spin_nicmem_read: data is NULL, must point to room for the bytes
        error: spin_find_handler_by_name: nowhere: No such file or directory (os error 2)
        error: spin_find_handler_by_name: handler_name is NULL, must point to a name
        error: pspinsim_run: all packets are done, but pspinsim_packet_eos was not called
        error: pspinsim_run: all packets are done, but messages wait for their last packet (eom): 77
        error: pspinsim_run: 1 packets are not done, and nothing can happen any more
          HPU 2.0 waits for an inter-core FIFO at 0x1d0002c4
    "#]].assert_eq(&ran.stderr);
    assert_eq!(ran.code, Some(0));
}

#[test]
fn images_and_the_machine_come_from_where_the_variables_say() {
    let bench = Bench::new();
    bench.program("ping_pong.elf", "hw/sim_files/slm_files");
    bench.program("ping_pong.elf", "ping_pong");
    bench.compile("variables");
    let hw = bench.path("hw").display().to_string();
    expect![[r#"
        trace off!
        images in FOLDER/hw/sim_files/slm_files
        1054000 ps: packet 0 done, in L2 for 114000, scheduled after 5000
        exit code 0
    "#]]
    .assert_eq(&bench.run("variables", &[], &[("PSPIN_HW", &hw)]).text());
    let preset = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../presets/pspin-rtl.toml");
    let text = std::fs::read_to_string(preset).expect("a preset").replace("n_clusters = 4", "n_clusters = 1");
    bench.write("one.toml", text);
    let variables = [("PSPIN_HW", &hw[..]), ("SPINET_NIC", "one.toml")];
    expect![[r#"
        trace off!
        images in FOLDER/hw/sim_files/slm_files
        618000 ps: packet 0 done, in L2 for 114000, scheduled after 5000
        exit code 0
    "#]]
    .assert_eq(&bench.run("variables", &[], &variables).text());
    let variables = [("PSPIN_HW", &hw[..]), ("SPINET_NIC", "pspn")];
    expect![[r#"
        line 7: pspinsim_init(argc, argv, NULL) failed
        stderr: error: pspinsim_init: SPINET_NIC: nic is `pspn`, must be `pspin`, `pspin-paper`, `pspin-rtl`, `panic`, `panic-rtl`, `panic-asic`, `pipeline`, `manycore`, `rmt`, `tengig`, `tengig-events`, `tigon2` or the path of a preset (*.toml); did you mean `pspin`?
        exit code 1
    "#]].assert_eq(&bench.run("variables", &[], &variables).text());
}
