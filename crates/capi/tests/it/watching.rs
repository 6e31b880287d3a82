//! Transcripts, waveforms and instruction traces: their contents, and that they change no result.

use super::support::{Bench, Ran};
use expect_test::expect;

/// The time in `[940000][NICInbound.hpp]: ...`, in ps, and the rest.
fn timed(line: &str) -> (u64, &str) {
    let (time, rest) = line.strip_prefix('[').and_then(|line| line.split_once(']')).expect("a time");
    (time.parse().expect("a number of ps"), rest)
}

#[test]
fn transcript_and_waveforms_show_each_event_at_its_time() {
    let bench = Bench::with_handlers();
    bench.compile("loop");
    let ran = bench.run("loop", &["handlers"], &[("SPINET_TRANSCRIPT", "1"), ("SPINET_WAVES", "waves.vcd")]);
    let without_numbers = |line: &&str| line.replace(|c: char| c.is_ascii_hexdigit(), "");
    let transcript: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with('[')).collect();
    let (first, rest) = transcript.split_at(9);
    let (times, texts): (Vec<u64>, Vec<&str>) = first.iter().map(|line| timed(line)).unzip();
    let [arrived, requested, started, sent, idle, ended, left, fed_back, freed] = times[..] else {
        panic!("{first:#?}")
    };
    let (in_l2, requested_after) = (fed_back - arrived, requested - arrived);
    expect![[r#"
        [NICInbound.hpp]: NIC inbound engine: allocated 128 bytes; head_ptr: 0; tail_ptr: 128; in_flight_packets: 1
        [NICInbound.hpp]: HER sent (0x1c400000)
        [synt]: INFO HANDLER_START 1 0
        [NICOutbound.hpp]: NIC outbound got new command: source_addr: 0x1c300000; length: 128; FID: 0 (>0 is RDMA)
        [synt]: INFO HPU_TIME 1 0
        [synt]: INFO HANDLER_TIME 1 0 5 1d000290 1c400000 128
        [NICOutbound.hpp]: packet sent; size: 128
        [NICInbound.hpp]: INFO FEEDBACK 0x1c400000 IN_L2 128
        [NICInbound.hpp]: NIC inbound engine: freeing 128 bytes; head_ptr: 128; tail_ptr: 128; in_flight_packets: 0; cut: 0; cut_ptr: 0
    "#]]
    .assert_eq(&(texts.join("\n").replace(&format!(" {in_l2} "), " IN_L2 ") + "\n"));
    assert!(times.is_sorted() && (started..ended).contains(&sent) && idle == ended && freed == fed_back, "{times:?}");
    // 128 bytes are two beats; the request leaves four cycles after the last one.
    assert_eq!(requested_after, 6000);
    assert_eq!(rest.len(), 27);
    for packet in rest.chunks(9) {
        assert!(packet.iter().map(without_numbers).eq(first.iter().map(without_numbers)), "{packet:#?}");
    }
    let waves = std::fs::read_to_string(bench.path("waves.vcd")).expect("waveforms");
    let (variables, changes) = waves.split_once("$enddefinitions $end\n").expect("two parts");
    // Without the initial values. A packet changes values at eight times.
    let changes: Vec<&str> = changes.split("\n#").skip(1).map(str::trim_end).collect();
    let (first, rest) = changes.split_at(8);
    // Signal names in place of their codes: `$var wire 16 ! packets_in_l2 $end`.
    let signal = |code: &str| {
        let fields = variables.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let mut found = fields.filter(|fields| fields.first() == Some(&"$var") && fields[3] == code);
        found.next().map_or(code.to_owned(), |fields| fields[4].to_owned())
    };
    let mut shown = Vec::new();
    for change in first {
        let mut lines = change.lines();
        let time: u64 = lines.next().and_then(|time| time.parse().ok()).expect("a time in ps");
        for (value, code) in lines.filter_map(|line| line.split_once(' ')) {
            shown.push((time, format!("{} {value}", signal(code))));
        }
    }
    let (times, values): (Vec<u64>, Vec<&str>) = shown.iter().map(|(time, text)| (*time, text.as_str())).unzip();
    let want = [
        "packets_in_memory b1",
        "hers_sent b1",
        "tasks b1",
        "hpu_0_handler b10", // 2: a payload handler.
        "hpu_0_handler b0",
        "packets_sent b1",
        "bytes_sent b10000000", // 128.
        "tasks b0",
        "packets_in_memory b0",
    ];
    assert_eq!(values, want);
    // Events of the transcript have the same times. The core is seen running from the first cycle of its handler on.
    let [stored, her, task, running, stopped, packet, bytes, no_task, empty] = times[..] else { panic!("{shown:?}") };
    assert_eq!([stored, her, stopped, packet, bytes, empty], [arrived, requested, ended, left, left, freed]);
    assert!((her..started).contains(&task) && (ended..fed_back).contains(&no_task), "{shown:?}");
    assert_eq!(running, started + 1000);
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
    let lines: Vec<&str> = lines.collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["Time", "Cycles", "PC", "Instr", "Mnemonic"]);
    let (times, texts): (Vec<u64>, Vec<String>) = lines[1..]
        .iter()
        .map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let number = |field: usize| fields[field].parse::<u64>().expect("a number");
            assert_eq!(number(0), 1000 * number(1), "a cycle is 1000 ps: {line}");
            (number(1), fields[2..].join(" "))
        })
        .unzip();
    // The address and the length of a packet's copy in the handler memory, then the command that sends it.
    expect![[r#"
        1d000292 00052583 lw x11, 0(x10) x11=1c300000 x10:1b205008 PA:1b205008
        1d000294 00c52503 lw x10, 12(x10) x10=00000080 x10:1b205008 PA:1b205014
        1d00029c 08062823 sw x0, 144(x12) x12:1b205000 PA:1b205090
        1d000292 00052583 lw x11, 0(x10) x11=1c300000 x10:1b205008 PA:1b205008
    "#]]
    .assert_eq(&texts.iter().map(|text| format!("{text}\n")).collect::<String>());
    assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
    bench.write("file", "");
    let refused = bench.run("loop", &["handlers"], &[("SPINET_INSTRUCTIONS", "file/folder")]);
    assert!(refused.stderr.contains("file/folder: Not a directory"), "{}", refused.stderr);
}
