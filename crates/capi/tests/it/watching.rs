//! Transcripts, waveforms and instruction traces: their contents, and that they change no result.

use super::support::{Bench, Ran};
use expect_test::expect;

#[test]
fn transcript_and_waveforms_show_each_event_at_its_time() {
    let bench = Bench::with_handlers();
    bench.compile("loop");
    let ran = bench.run("loop", &["handlers"], &[("SPINET_TRANSCRIPT", "1"), ("SPINET_WAVES", "waves.vcd")]);
    let without_numbers = |line: &&str| line.replace(|c: char| c.is_ascii_hexdigit(), "");
    let transcript: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with('[')).collect();
    let (first, rest) = transcript.split_at(9);
    expect![[r#"
        [940000][NICInbound.hpp]: NIC inbound engine: allocated 128 bytes; head_ptr: 0; tail_ptr: 128; in_flight_packets: 1
        [946000][NICInbound.hpp]: HER sent (0x1c400000)
        [963000][synt]: INFO HANDLER_START 1 0
        [1007000][NICOutbound.hpp]: NIC outbound got new command: source_addr: 0x1c300000; length: 128; FID: 0 (>0 is RDMA)
        [1009000][synt]: INFO HPU_TIME 1 0
        [1009000][synt]: INFO HANDLER_TIME 1 0 5 1d000290 1c400000 128
        [1012000][NICOutbound.hpp]: packet sent; size: 128
        [1016000][NICInbound.hpp]: INFO FEEDBACK 0x1c400000 76000 128
        [1016000][NICInbound.hpp]: NIC inbound engine: freeing 128 bytes; head_ptr: 128; tail_ptr: 128; in_flight_packets: 0; cut: 0; cut_ptr: 0
    "#]]
    .assert_eq(&(first.join("\n") + "\n"));
    assert_eq!(rest.len(), 27);
    for packet in rest.chunks(9) {
        assert!(packet.iter().map(without_numbers).eq(first.iter().map(without_numbers)), "{packet:#?}");
    }
    let waves = std::fs::read_to_string(bench.path("waves.vcd")).expect("waveforms");
    let changes = waves.split_once("$enddefinitions $end\n").expect("two parts").1;
    // Without the initial values. A packet changes values at eight times.
    let changes: Vec<&str> = changes.split("\n#").skip(1).map(str::trim_end).collect();
    let (first, rest) = changes.split_at(8);
    expect![[r#"
        940000
        b1 !
        946000
        b1 "
        948000
        b1 0
        964000
        b10 1
        1009000
        b0 1
        1012000
        b1 #
        b10000000 $
        1015000
        b0 0
        1016000
        b0 !
    "#]]
    .assert_eq(&(first.join("\n") + "\n"));
    assert_eq!(rest.len(), 24);
    for packet in rest.chunks(8) {
        let signals = |changes: &[&str]| changes.concat().replace(|c: char| c.is_ascii_digit(), "");
        assert_eq!(signals(packet), signals(first), "{packet:#?}");
    }
    // Watching changes no result.
    let unwatched = bench.run("loop", &["handlers"], &[]);
    let statistics = |ran: &Ran| ran.stdout.split_once("###### Statistics").map(|(_, text)| text.to_owned());
    assert_eq!(statistics(&ran), statistics(&unwatched));
    let refused = bench.run("loop", &["handlers"], &[("SPINET_WAVES", "no/such/folder.vcd")]);
    assert!(refused.stderr.contains("no/such/folder.vcd: No such file"), "{}", refused.stderr);
}

#[test]
fn every_core_has_an_instruction_trace() {
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
