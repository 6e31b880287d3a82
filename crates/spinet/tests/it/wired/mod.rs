//! Runs of a Tigon-2 with firmware. `elf/tigon2.bin` is the firmware `tigon2` that comes with spinet, as an image with the
//! header that drivers read; it is committed since `cargo test` has no compiler for MIPS.

mod errors;
mod timeline;

use crate::support;
use expect_test::{Expect, expect};
use kernel::Mode;
use proptest::prelude::*;
use spinet::experiment::{Common, FromText, NicSpec, OneOrMany, Settings, SourceSpec, Span};
use spinet::instructions::Choice;
use spinet::nics;
use spinet::run::{Run, Wanted};
use spinet::wired::{Firmware, FirmwareExperiment, Setup, WiredCard};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wire::capture::CaptureReader;

const FIRMWARE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/elf/tigon2.bin");
/// Without clearing memory that the firmware does not use, a host starts in a tenth of the time.
const QUICK: &str = "host.clear_end=0x8000";

fn setup(traffic: &str, send: &str, limit: &str) -> Setup {
    let source = |text: &str| match text {
        "" => OneOrMany::default(),
        text => OneOrMany::of(SourceSpec::from_text(text).unwrap()),
    };
    let common = Common {
        nic: NicSpec { preset: "tigon2".into(), set: Settings(vec![nics::parse_setting(QUICK).unwrap()]) },
        traffic: source(traffic),
        send: source(send),
        limit: Some(limit).filter(|text| !text.is_empty()).map(|text| Span::parse(text).unwrap()),
        stall_limit: Span::parse("50 ms").unwrap(),
        ..Common::default()
    };
    let experiment = FirmwareExperiment { common, firmware: None, profile: false, at: Vec::new() };
    Setup { experiment, base_dir: PathBuf::new(), firmware: Some(Firmware::Image(FIRMWARE.into())), text: None }
}

/// The same for another card.
fn on(nic: &str, mut setup: Setup) -> Setup {
    setup.experiment.common.nic = NicSpec::from_text(nic).unwrap();
    setup
}

/// Runs to the end, in slices of `slice_ms` milliseconds.
fn finish(setup: Setup, mode: Mode, slice_ms: u64) -> Run<WiredCard> {
    let mut run = Run::of(WiredCard::new(setup, &Wanted::default()).unwrap());
    run.set_mode(mode);
    while !run.advance(Duration::from_millis(slice_ms)).unwrap().is_done {}
    run
}

/// All results of a run, without its host time.
fn told(run: &Run<WiredCard>) -> String {
    let mut summary = serde_json::to_value(run.card.summarize(Duration::ZERO)).unwrap();
    summary["wall"] = 0.into();
    format!("{summary:#}\n{:?}", run.card.frame_table())
}

#[test]
fn no_way_to_run_changes_what_comes_of_it() {
    let both = || {
        setup(
            "udp:size=list:60:742,payload=numbered,count=8",
            "udp:size=list:103:1514,payload=numbered,count=8",
            "60 ms",
        )
    };
    let normal = finish(both(), Mode::Normal, 60_000);
    let summary = normal.card.summarize(Duration::ZERO);
    assert_eq!((summary.ended.reason, summary.sent.good, summary.received.good), ("complete", 8, 8));
    let want = told(&normal);
    for (mode, slice) in [(Mode::Normal, 1), (Mode::Shuffled(7), 60_000), (Mode::TickAll, 60_000)] {
        assert!(told(&finish(both(), mode, slice)) == want, "{mode:?} in slices of {slice} ms differs");
    }
}

#[test]
fn captures_hold_what_came_out() {
    let run = finish(setup("udp:size=60,payload=numbered,count=3", "tcp-ack:every=1", "60 ms"), Mode::Normal, 60_000);
    let summary = run.card.summarize(Duration::ZERO);
    assert_eq!((summary.ended.reason, summary.received.good, summary.sent.good), ("complete", 3, 3));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("card_captures");
    std::fs::create_dir_all(&folder).unwrap();
    run.card.write_captures(Some(&folder)).unwrap();
    let frames = |name: &str| {
        let mut reader = CaptureReader::open(folder.join(name)).unwrap();
        let mut bytes = Vec::new();
        while let Some(packet) = reader.next().unwrap() {
            bytes.push(packet.bytes.len());
        }
        bytes
    };
    assert_eq!(frames("received.pcapng"), [60, 60, 60]);
    assert_eq!(frames("sent.pcapng"), [60, 60, 60]);
}

/// Lines of a core's instruction trace.
fn trace(test: &str, cores: &str, time: Option<&str>) -> (Run<WiredCard>, Vec<String>) {
    let folder = support::folder(test);
    let choice = Choice::parse(Some(cores), time).unwrap();
    let wanted = Wanted { instructions: Some((folder.clone(), choice)), ..Wanted::default() };
    let traffic = setup("udp:size=60,payload=numbered,count=2", "", "60 ms");
    let mut run = Run::of(WiredCard::new(traffic, &wanted).unwrap());
    while !run.advance(Duration::from_secs(60)).unwrap().is_done {}
    let text = std::fs::read_to_string(folder.join("trace_core_00_0.log")).unwrap();
    (run, text.lines().skip(1).map(str::to_owned).collect())
}

#[test]
fn a_trace_has_a_line_for_each_instruction_and_changes_nothing() {
    let (run, lines) = trace("wired_trace", "0:0", None);
    let summary = run.card.summarize(Duration::ZERO);
    assert_eq!(lines.len() as u64, summary.cores[0].instructions);
    let silent = finish(setup("udp:size=60,payload=numbered,count=2", "", "60 ms"), Mode::Normal, 60_000);
    assert_eq!(told(&run), told(&silent));
    let fields = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let cycles: Vec<u64> = lines.iter().map(|line| fields(line)[1].parse().unwrap()).collect();
    assert!(cycles.is_sorted());
    // The words are those of the program, so each line disassembles to its own text.
    for line in &lines {
        let fields = fields(line);
        let [pc, word] = [&fields[2], &fields[3]].map(|text| u32::from_str_radix(text, 16).unwrap());
        assert!(line.contains(&isa::mips::disassemble(isa::mips::decode(word), pc)), "{line}");
    }
    assert!(lines.iter().any(|line| line.contains("x29=")) && lines.iter().any(|line| line.contains("PA:")));
}

#[test]
fn a_trace_has_only_the_chosen_time_and_cores() {
    let (_, all) = trace("wired_trace_all", "0:*", None);
    let ps = |line: &str| line.split_whitespace().next().unwrap().parse::<u64>().unwrap();
    let from_ns = ps(&all[100]) / 1000;
    let (_, some) = trace("wired_trace_some", "0:0", Some(&format!("{from_ns} ns..{} ns", from_ns + 10_000)));
    let window = from_ns * 1000..(from_ns + 10_000) * 1000;
    let want: Vec<_> = all.iter().filter(|line| window.contains(&ps(line))).collect();
    assert!(!want.is_empty() && want.len() < all.len() && some.iter().eq(want));
    let absent = Some((support::folder("wired_trace_absent"), Choice::parse(Some("1:0"), None).unwrap()));
    let wanted = Wanted { instructions: absent, ..Wanted::default() };
    let error = WiredCard::new(setup("", "", "1 ms"), &wanted).map(drop).unwrap_err().to_string();
    expect!["traced cores: 1:0 does not exist, must be within 1 clusters of 2 cores"].assert_eq(&error);
}

/// Runs with further settings, and shows frames sent and received, and these counters.
fn check_host(settings: &[&str], traffic: &str, counters: &[&str], want: Expect) {
    let mut with = setup(traffic, "udp:size=60,payload=numbered,count=3", "60 ms");
    with.experiment.common.nic.set.0.extend(settings.iter().map(|text| nics::parse_setting(text).unwrap()));
    let summary = finish(with, Mode::Normal, 60_000).card.summarize(Duration::ZERO);
    let mut text = format!("{}: {} sent, {} received", summary.ended.reason, summary.sent.good, summary.received.good);
    counters.iter().for_each(|name| text += &format!(", {name} {}", summary.counters[*name]));
    want.assert_eq(&text);
}

#[test]
fn the_host_may_take_its_address_from_the_cards_eeprom() {
    let address = "registers.mac_address='00:60:cf:12:34:56'";
    let dropped = ["mac_receive.dropped.filtered"];
    let settings = ["host.mac='eeprom'", address];
    check_host(
        &settings,
        "udp:size=60,payload=numbered,count=3",
        &dropped,
        expect!["complete: 3 sent, 3 received, mac_receive.dropped.filtered 0"],
    );
    let for_another = "udp:size=64,count=3,dst_mac=00:60:cf:00:00:01";
    check_host(
        &settings,
        for_another,
        &dropped,
        expect!["complete: 3 sent, 0 received, mac_receive.dropped.filtered 3"],
    );
}

#[test]
fn the_card_takes_frames_for_groups_that_the_host_is_in() {
    let traffic = "udp:size=64,count=3,dst_mac=01:00:5e:00:00:fb";
    let counters = ["host.group_events", "mac_receive.dropped.filtered"];
    check_host(
        &[],
        traffic,
        &counters,
        expect!["complete: 3 sent, 0 received, host.group_events 0, mac_receive.dropped.filtered 3"],
    );
    check_host(
        &["host.groups=['01:00:5e:00:00:fb']"],
        traffic,
        &counters,
        expect!["complete: 3 sent, 3 received, host.group_events 1, mac_receive.dropped.filtered 0"],
    );
}

#[test]
fn firmware_refreshes_the_statistics_that_the_host_reads() {
    let (slow, counters) = ("udp:size=60,payload=numbered,count=5,rate=500pps", ["host.statistics_events"]);
    check_host(&[], slow, &counters, expect!["complete: 3 sent, 5 received, host.statistics_events 0"]);
    let often = ["host.coalescing.statistics_us=500"];
    check_host(&often, slow, &counters, expect!["complete: 3 sent, 5 received, host.statistics_events 13"]);
}

/// A capture in the repository.
fn capture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(name).display().to_string()
}

/// The report of a run about its frames.
fn accounts(setup: Setup) -> String {
    let summary = finish(setup, Mode::Normal, 60_000).card.summarize(Duration::ZERO);
    let mut text = format!("{}: {}\n", summary.ended.reason, summary.ended.text);
    for (name, way) in [("sent", &summary.sent), ("received", &summary.received)] {
        let fates = serde_json::to_value(way.fates).unwrap();
        let some = fates.as_object().unwrap().iter().filter(|(_, count)| count.as_u64() > Some(0));
        let some: Vec<String> = some.map(|(fate, count)| format!("{fate} {count}")).collect();
        if !some.is_empty() {
            text += &format!("{name}: {}\n", some.join(", "));
        }
    }
    summary.remarks.iter().for_each(|remark| text += &format!("! {}: {}\n", remark.kind, remark.text));
    text
}

#[test]
fn a_capture_runs_whole_and_every_frame_is_accounted_for() {
    let promiscuous = |mut setup: Setup| {
        setup.experiment.common.nic.set.0.push(nics::parse_setting("host.promiscuous=true").unwrap());
        setup
    };
    let mut text = String::new();
    for name in ["dns.pcap", "http.pcap", "iperf3-tcp.pcap", "iperf3-udp.pcap", "memcached.pcap", "ping.pcap"] {
        let both = promiscuous(setup(&capture(name), &capture(name), ""));
        text += &format!("{name}\n{}", accounts(both));
    }
    expect![[r#"
        dns.pcap
        complete: all frames are through
        sent: through 18
        received: through 18
        http.pcap
        complete: all frames are through
        sent: through 34
        received: through 34
        iperf3-tcp.pcap
        complete: all frames are through
        sent: through 88
        received: through 88
        iperf3-udp.pcap
        complete: all frames are through
        sent: through 42
        received: through 42
        memcached.pcap
        complete: all frames are through
        sent: through 28
        received: through 28
        ping.pcap
        complete: all frames are through
        sent: through 34
        received: through 34
    "#]]
    .assert_eq(&text);
    expect![[r#"
        complete: all frames are accounted for
        received: filtered 18
        ! frames_filtered: traffic: all 18 frames are for another address, and the card dropped them; to receive all frames: --set host.promiscuous=true
    "#]].assert_eq(&accounts(setup(&capture("dns.pcap"), "", "")));
}

#[test]
fn idle_time_is_skipped_and_told() {
    let quiet = support::capture_of("quiet.pcapng", &[64; 4], Duration::from_secs(1800));
    let normal = finish(setup(&quiet, &quiet, ""), Mode::Normal, 60_000);
    let summary = normal.card.summarize(Duration::ZERO);
    assert_eq!((summary.ended.reason, summary.sent.good, summary.received.good), ("complete", 4, 4));
    assert!(summary.time.simulated_ns > 5400e9 && summary.time.skipped_ns > 5399e9, "{:?}", summary.time);
    assert!(summary.received.latency_ns.as_ref().unwrap().max < 1e6, "{:?}", summary.received.latency_ns);
    // Frames keep their distance, and results do not depend on the way of running.
    let times: Vec<u64> = normal
        .card
        .frame_table()
        .iter()
        .find(|(name, _)| *name == "given_ps")
        .unwrap()
        .1
        .chunks(8)
        .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    let near = |a: u64, b: u64| a.abs_diff(b) < 1_000_000_000;
    assert!(
        times.windows(2).filter(|pair| near(pair[1] - pair[0].min(pair[1]), 1_800_000_000_000_000)).count() >= 6,
        "{times:?}"
    );
    let want = told(&normal);
    for (mode, slice) in [(Mode::Normal, 1), (Mode::Shuffled(7), 60_000)] {
        assert!(
            told(&finish(setup(&quiet, &quiet, ""), mode, slice)) == want,
            "{mode:?} in slices of {slice} ms differs"
        );
    }
    // A limit counts skipped time too.
    let summary = finish(setup(&quiet, "", "2000 s"), Mode::Normal, 60_000).card.summarize(Duration::ZERO);
    assert_eq!((summary.ended.reason, summary.received.good, summary.received.fates.not_given), ("limit", 2, 2));
    assert_eq!(summary.time.simulated_ns, 2000e9);
}

#[test]
fn frames_too_long_for_the_card_do_not_refuse_a_capture() {
    let mixed = support::capture_of("mixed.pcapng", &[64, 9000, 1514, 1515, 100], Duration::from_millis(1));
    expect![[r#"
        complete: all frames are accounted for
        sent: through 3, too_long 2
        received: through 3, too_long 2
        ! frames_too_long: host's traffic: 2 of 5 frames are longer than the card takes and were not given to it; the longest has 9,000 bytes, the card takes 1,514
        ! frames_too_long: traffic: 2 of 5 frames are longer than the card takes and were not given to it; the longest has 9,000 bytes, the card takes 1,514
    "#]].assert_eq(&accounts(setup(&mixed, &mixed, "")));
    let run = finish(setup(&mixed, "", ""), Mode::Normal, 60_000);
    let numbers = run.card.frame_table().into_iter().find(|(name, _)| *name == "frame").unwrap().1;
    let numbers: Vec<i64> = numbers.chunks(8).map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap())).collect();
    assert_eq!(numbers, [0, 2, 4], "frames keep their numbers in the capture");
}

#[test]
fn damage_to_a_capture_is_reported() {
    let whole = std::fs::read(capture("dns.pcap")).unwrap();
    let cut = file("cut.pcap", &whole[..whole.len() - 10]).display().to_string();
    expect![[r#"
        complete: all frames are accounted for
        received: filtered 17
        ! capture_damaged: traffic: the capture ends early: the capture is truncated: the record at offset 2132 has 112 of 122 bytes
        ! frames_filtered: traffic: all 17 frames are for another address, and the card dropped them; to receive all frames: --set host.promiscuous=true
    "#]].assert_eq(&accounts(setup(&cut, "", "")).replace(env!("CARGO_TARGET_TMPDIR"), "T"));
}

#[test]
fn pace_count_and_faults_are_for_all_captures_and_generators() {
    let with = |text: &str, change: fn(&mut Common)| {
        let mut setup = setup(text, "", "");
        change(&mut setup.experiment.common);
        setup
    };
    let dns = capture("dns.pcap");
    let asap = |common: &mut Common| {
        common.traffic.iter_mut().for_each(|spec| (spec.pacing, spec.count) = ("asap".into(), Some(5)));
    };
    let summary = finish(with(&dns, asap), Mode::Normal, 60_000).card.summarize(Duration::ZERO);
    assert_eq!((summary.ended.reason, summary.received.offered), ("complete", 5));
    assert!(summary.time.skipped_ns == 0.0, "{:?}", summary.time);
    let lossy = |common: &mut Common| common.faults.0 = "loss=0.5".parse().unwrap();
    let summary =
        finish(with("udp:size=64,count=40,rate=100M", lossy), Mode::Normal, 60_000).card.summarize(Duration::ZERO);
    assert!((10..30).contains(&summary.received.offered), "{}", summary.received.offered);
    let late = |common: &mut Common| {
        let spec = common.traffic.iter_mut().next().unwrap();
        (spec.pacing, spec.start) = ("line:67200k".into(), Some(Span::parse("30 ms").unwrap()));
    };
    // 60 bytes take 84 on the line, with check sequence, preamble and gap: 10 us.
    let run = finish(with("udp:size=60,payload=numbered,count=3,rate=max", late), Mode::Normal, 60_000);
    let (_, given) = run.card.frame_table().into_iter().find(|(name, _)| *name == "given_ps").unwrap();
    let given: Vec<u64> = given.chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect();
    let started = run.card.summarize(Duration::ZERO).time.started_ns.unwrap() as u64;
    let us: Vec<u64> = given.iter().map(|ps| (ps / 1000 - started) / 1000).collect();
    assert_eq!(us, [30_000, 30_010, 30_020]);
    // A size means the same for all descriptions: bytes of the packet without check sequence.
    for text in ["udp:size=64,count=2", "udp:size=64,payload=numbered,count=2"] {
        let summary = finish(setup(text, "", ""), Mode::Normal, 60_000).card.summarize(Duration::ZERO);
        assert_eq!((summary.received.good, summary.received.bytes), (2, 128), "{text}");
    }
    let few = |common: &mut Common| common.traffic.iter_mut().for_each(|spec| spec.count = Some(3));
    assert_eq!(
        finish(with("udp:payload=numbered", few), Mode::Normal, 60_000).card.summarize(Duration::ZERO).received.good,
        3
    );
}

#[test]
fn numbered_datagrams_take_faults_and_a_factor_of_times() {
    let with = |text: &str, change: fn(&mut Common)| {
        let mut setup = setup(text, "", "60 ms");
        change(&mut setup.experiment.common);
        setup
    };
    let faulty = |common: &mut Common| {
        common.faults.0 = "loss=0.2,duplicate=0.1,reorder=0.1:4".parse().unwrap();
    };
    let numbered = "udp:size=64,payload=numbered,count=200,rate=100M";
    let summary = finish(with(numbered, faulty), Mode::Normal, 60_000).card.summarize(Duration::ZERO);
    let [source] = &summary.sources[..] else { panic!("{:?}", summary.sources) };
    let faults = source.network;
    assert!(faults.lost > 20 && faults.duplicated > 5 && faults.reordered > 5, "{faults:?}");
    assert_eq!(summary.received.offered, 200 - faults.lost + faults.duplicated);
    let received = &summary.received;
    assert_eq!((received.frames, received.good, received.unknown), (received.offered, received.offered, 0));
    let twice = |common: &mut Common| common.traffic.iter_mut().for_each(|spec| spec.pacing = "times:2".into());
    let span = |setup| {
        let run = finish(setup, Mode::Normal, 60_000);
        let (_, given) = run.card.frame_table().into_iter().find(|(name, _)| *name == "given_ps").unwrap();
        let given: Vec<u64> = given.chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect();
        (given[9] - given[0]) / 1000
    };
    let plain = "udp:size=60,payload=numbered,count=10,rate=100kpps";
    assert_eq!((span(setup(plain, "", "")), span(with(plain, twice))), (90_000, 180_000));
    check(
        with("udp:payload=numbered,count=3", twice),
        expect![
            "traffic.pacing: pacing is `times:2/1`, but `payload=numbered` has no times without a rate; add one such as `rate=1G`"
        ],
    );
    check(
        with("udp:payload=numbered", faulty),
        expect!["faults: with them, `payload=numbered` must have a `count`, 1 to 1000000"],
    );
    check(
        with("udp:size=45,payload=numbered,count=3", faulty),
        expect!["traffic: the size of datagrams is 45, must be 60 to 1514 bytes, without check sequence"],
    );
}

#[test]
fn endless_traffic_ends_some_time_after_the_start() {
    let summary =
        finish(setup("udp:payload=numbered,rate=1000pps", "", ""), Mode::Normal, 60_000).card.summarize(Duration::ZERO);
    assert_eq!((summary.ended.reason, summary.ended.is_unfinished), ("limit", false));
    let served = summary.time.simulated_ns - summary.time.started_ns.unwrap();
    assert!((40e6..40.002e6).contains(&served), "{served}");
}

/// The error of a setup, without the test's folder.
fn check(setup: Setup, want: Expect) {
    let error = match WiredCard::new(setup, &Wanted::default()) {
        Ok(_) => "no error".to_owned(),
        Err(error) => error.to_string(),
    };
    want.assert_eq(
        &error.replace(concat!(env!("CARGO_MANIFEST_DIR"), "/"), "").replace(env!("CARGO_TARGET_TMPDIR"), "T"),
    );
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn sources_of_a_direction_come_in_order_of_time() {
    let mut several = setup("udp:size=60,count=3,rate=100kpps", "", "60 ms");
    several.experiment.common.traffic.0.extend(OneOrMany::of(SourceSpec::from_text("udp:size=600,count=2").unwrap()).0);
    several.experiment.common.traffic.0[1].0.start = Some(Span::parse("15 us").unwrap());
    let run = finish(several.clone(), Mode::Normal, 20);
    let summary = serde_json::to_value(run.card.summarize(Duration::ZERO)).unwrap();
    let (_, bytes) = run.card.frame_table().into_iter().find(|(name, _)| *name == "bytes").unwrap();
    let bytes: Vec<u32> = bytes.chunks(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect();
    assert_eq!((bytes, &summary["received"]["good"]), (vec![60, 60, 600, 600, 60], &5.into()));
    assert_eq!(summary["sources"][1]["source"], "udp:size=600,count=2");
    several.experiment.common.traffic.0[0].0.source = "udp:payload=numbered".into();
    let error = WiredCard::new(several, &Wanted::default()).err().unwrap().to_string();
    assert_eq!(error, "traffic: `payload=numbered` and `tcp-ack` must be the only source of their direction");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    /// Frames of drawn lengths and rates in both directions.
    #[test]
    fn drawn_traffic_gives_the_same_results_in_all_modes(
        sizes in prop::collection::vec(60u32..1515, 4),
        rates in prop::array::uniform2(1u32..200),
        seed in 1u64..1000,
    ) {
        let source = |sizes: &[u32], rate: u32| {
            format!("udp:size=list:{}:{},payload=numbered,count=20,rate={rate}kpps", sizes[0], sizes[1])
        };
        let both = || setup(&source(&sizes[..2], rates[0]), &source(&sizes[2..], rates[1]), "30 ms");
        let normal = told(&finish(both(), Mode::Normal, 60_000));
        prop_assert!(normal == told(&finish(both(), Mode::TickAll, 60_000)), "components that sleep too long");
        prop_assert!(normal == told(&finish(both(), Mode::Shuffled(seed), 1)), "the order of ticks, or slices");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any firmware, the simulator does not fail, and reports how the run ended.
    #[test]
    fn any_firmware_runs(words in prop::collection::vec(any::<u32>(), 1..64), entry in 0..64u32) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let entry = 0x4000 + 4 * (entry % words.len() as u32);
        let firmware = Some(Firmware::Raw(file("any.bin", &bytes), 0x4000, entry));
        let run = finish(Setup { firmware, ..setup("udp:payload=numbered", "udp:payload=numbered", "300 us") }, Mode::Normal, 60_000);
        prop_assert!(["trouble", "limit", "stalled"].contains(&run.card.summarize(Duration::ZERO).ended.reason));
    }

    /// The same holds for firmware with a mistake at any place.
    #[test]
    fn damaged_firmware_runs(at in 12usize..11_000, byte in any::<u8>()) {
        let mut bytes = std::fs::read(FIRMWARE).unwrap();
        bytes[at] = byte;
        let firmware = Some(Firmware::Image(file("damaged.bin", &bytes)));
        let run = finish(Setup { firmware, ..setup("udp:payload=numbered", "udp:payload=numbered", "5 ms") }, Mode::Normal, 60_000);
        prop_assert!(["trouble", "limit", "stalled"].contains(&run.card.summarize(Duration::ZERO).ended.reason));
    }
}
