//! Transcripts, waveforms and instruction traces: what they tell, and that they change nothing.

use super::support::{Bench, Ran};
use expect_test::expect;

#[test]
fn the_transcript_and_waveforms_tell_what_happened_when() {
    let bench = Bench::with_handlers();
    bench.compile("loop");
    let ran = bench.run("loop", &["handlers"], &[("SPINET_TRANSCRIPT", "1"), ("SPINET_WAVES", "waves.vcd")]);
    expect![[r#"
        trace on!
        written for the start
        [940000][NICInbound.hpp]: NIC inbound engine: allocated 128 bytes; head_ptr: 0; tail_ptr: 128; in_flight_packets: 1
        [946000][NICInbound.hpp]: HER sent (0x1c400000)
        [963000][synt]: INFO HANDLER_START 1 0
        out: 128 bytes, 04030201..., sum 423a1be0
        [1007000][NICOutbound.hpp]: NIC outbound got new command: source_addr: 0x1c300000; length: 128; FID: 0 (>0 is RDMA)
        packet 0 done
        [1009000][synt]: INFO HPU_TIME 1 0
        [1009000][synt]: INFO HANDLER_TIME 1 0 5 1d000290 1c400000 128
        [1012000][NICOutbound.hpp]: packet sent; size: 128
        [1016000][NICInbound.hpp]: INFO FEEDBACK 0x1c400000 76000 128
        [1016000][NICInbound.hpp]: NIC inbound engine: freeing 128 bytes; head_ptr: 128; tail_ptr: 128; in_flight_packets: 0; cut: 0; cut_ptr: 0
        [1017000][NICInbound.hpp]: NIC inbound engine: allocated 128 bytes; head_ptr: 128; tail_ptr: 256; in_flight_packets: 1
        [1023000][NICInbound.hpp]: HER sent (0x1c400080)
        [1040000][synt]: INFO HANDLER_START 1 0
        out: 128 bytes, 04030201..., sum 423a1be0
        [1060000][NICOutbound.hpp]: NIC outbound got new command: source_addr: 0x1c300000; length: 128; FID: 0 (>0 is RDMA)
        packet 1 done, in L2 1000 ps after the one before was done
        [1062000][synt]: INFO HPU_TIME 1 0
        [1062000][synt]: INFO HANDLER_TIME 1 0 5 1d000290 1c400080 128
        [1065000][NICOutbound.hpp]: packet sent; size: 128
        [1069000][NICInbound.hpp]: INFO FEEDBACK 0x1c400080 52000 128
        [1069000][NICInbound.hpp]: NIC inbound engine: freeing 128 bytes; head_ptr: 256; tail_ptr: 256; in_flight_packets: 0; cut: 0; cut_ptr: 0
        [1070000][NICInbound.hpp]: NIC inbound engine: allocated 128 bytes; head_ptr: 256; tail_ptr: 384; in_flight_packets: 1
        [1076000][NICInbound.hpp]: HER sent (0x1c400100)
        [1093000][synt]: INFO HANDLER_START 1 0
        out: 128 bytes, 04030201..., sum 423a1be0
        [1113000][NICOutbound.hpp]: NIC outbound got new command: source_addr: 0x1c300000; length: 128; FID: 0 (>0 is RDMA)
        packet 2 done, in L2 1000 ps after the one before was done
        [1115000][synt]: INFO HPU_TIME 1 0
        [1115000][synt]: INFO HANDLER_TIME 1 0 5 1d000290 1c400100 128
        [1118000][NICOutbound.hpp]: packet sent; size: 128
        [1122000][NICInbound.hpp]: INFO FEEDBACK 0x1c400100 52000 128
        [1122000][NICInbound.hpp]: NIC inbound engine: freeing 128 bytes; head_ptr: 384; tail_ptr: 384; in_flight_packets: 0; cut: 0; cut_ptr: 0
        [1123000][NICInbound.hpp]: NIC inbound engine: allocated 128 bytes; head_ptr: 384; tail_ptr: 512; in_flight_packets: 1
        [1129000][NICInbound.hpp]: HER sent (0x1c400180)
        [1146000][synt]: INFO HANDLER_START 1 0
        out: 128 bytes, 04030201..., sum 423a1be0
        [1166000][NICOutbound.hpp]: NIC outbound got new command: source_addr: 0x1c300000; length: 128; FID: 0 (>0 is RDMA)
        packet 3 done, in L2 1000 ps after the one before was done
        [1168000][synt]: INFO HPU_TIME 1 0
        [1168000][synt]: INFO HANDLER_TIME 1 0 5 1d000290 1c400180 128
        [1171000][NICOutbound.hpp]: packet sent; size: 128
        read for the end: the same
        [1175000][NICInbound.hpp]: INFO FEEDBACK 0x1c400180 52000 128
        [1175000][NICInbound.hpp]: NIC inbound engine: freeing 128 bytes; head_ptr: 512; tail_ptr: 512; in_flight_packets: 0; cut: 0; cut_ptr: 0
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
        #964000
        b10 1
        #1009000
        b0 1
        #1012000
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
        #1041000
        b10 1
        #1062000
        b0 1
        #1065000
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
        #1094000
        b10 1
        #1115000
        b0 1
        #1118000
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
        #1147000
        b10 1
        #1168000
        b0 1
        #1171000
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
    let statistics = |ran: &Ran| ran.stdout.split_once("###### Statistics").map(|(_, text)| text.to_owned());
    assert_eq!(statistics(&ran), statistics(&unwatched));
    let refused = bench.run("loop", &["handlers"], &[("SPINET_WAVES", "no/such/folder.vcd")]);
    assert!(refused.stderr.contains("no/such/folder.vcd: No such file"), "{}", refused.stderr);
}

#[test]
fn every_core_leaves_a_trace_of_what_it_executed() {
    let bench = Bench::with_handlers();
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
        |               978000             978 1d000292 00052583 lw               x11, 0(x10)         x11=1c300000 x10:1b205008  PA:1b205008
        |               979000             979 1d000294 00c52503 lw               x10, 12(x10)        x10=00000080 x10:1b205008  PA:1b205014
        |               982000             982 1d00029c 08062823 sw               x0, 144(x12)        x12:1b205000  PA:1b205090
        |              1047000            1047 1d000292 00052583 lw               x11, 0(x10)         x11=1c300000 x10:1b205008  PA:1b205008
    "#]]
    .assert_eq(&lines.map(|line| format!("|{line}\n")).collect::<String>());
    bench.write("file", "");
    let refused = bench.run("loop", &["handlers"], &[("SPINET_INSTRUCTIONS", "file/folder")]);
    assert!(refused.stderr.contains("file/folder: Not a directory"), "{}", refused.stderr);
}
