//! The promises of every kind of card to `Run`.

use crate::support;
use kernel::{Mode, Time};
use serde_json::json;
use spinet::columns::Kind;
use spinet::kinds::{self, OwnPolicies, Text};
use spinet::paths::PATHS;
use spinet::run::{Departure, InjectError, Port, Run, RunError, Wanted};
use spinet::toml_text::Format;
use spinet::trial::{self, TrialError};
use std::path::Path;
use std::time::Duration;

const HANDLERS: &str = "program = 'nic.elf'\ntraffic = 'udp:size=64..1500,count=40,rate=100G,payload=random'\n\
    [[context]]\nhandler = 'echo'\n";
const CHAINS: &str = "service = ['work: delay, cycles=20, units=2']\nchain = ['all: work']\npreset_services = false\n\
    traffic = 'udp:size=512,count=40,rate=40G'\n";
const MODULES: &str = "firmware = 'tigon2.bin'\nnic = { set = { 'host.clear_end' = 0x8000 } }\n\
    traffic = 'udp:size=list:60:742,payload=numbered,count=4'\nsend = 'udp:size=103,payload=numbered,count=4'\nlimit = '60 ms'\n";
/// Two nodes, of which one has a card with handlers.
const NETWORK: &str = "links = [{ from = 'a', to = 'b' }]\n\
    [[nodes]]\nname = 'a'\nprogram = 'nic.elf'\ncontext = [{ handler = 'tally' }]\n\
    [[nodes]]\nname = 'b'\nsend = { source = 'udp:size=64..1500,count=40,rate=90G,payload=random', to = 'a' }\n";

const FIRMWARE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/elf/tigon2.bin");

/// The same experiment without frames from the network.
fn without_traffic(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("traffic")).map(|line| format!("{line}\n")).collect()
}

/// An experiment for each kind of card, in a folder with the programs that they name.
fn each(test: &str, check: impl Fn(&str, &dyn Fn() -> Run)) {
    let folder = support::folder_with_program(test);
    std::fs::copy(FIRMWARE, folder.join("tigon2.bin")).unwrap();
    for (name, text) in [("handlers", HANDLERS), ("chains", CHAINS), ("modules", MODULES), ("network", NETWORK)] {
        check(name, &|| start(text, &folder, name));
    }
    assert_eq!(kinds::ALL.len(), 4, "add a new kind of card to this test");
}

fn start(text: &str, base_dir: &Path, name: &str) -> Run {
    start_with(text, base_dir, name, &Wanted { tables: true, ..Wanted::default() })
}

fn start_with(text: &str, base_dir: &Path, name: &str, wanted: &Wanted) -> Run {
    try_start(text, base_dir, name, wanted).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn try_start(text: &str, base_dir: &Path, name: &str, wanted: &Wanted) -> Result<Run, RunError> {
    let kind = kinds::of_experiment(text, base_dir, Format::Toml);
    assert_eq!(kind.name, name);
    let text = Text { text, file: "t.toml", base_dir, format: Format::Toml };
    (kind.start)(&text, wanted, OwnPolicies::default())
}

/// All results of a run except its host time, and its rows.
fn results(run: &mut Run) -> String {
    let mut summary = run.summary();
    summary.as_object_mut().unwrap().remove("wall");
    format!("{summary} {:?} {:?}", run.card.ended(), run.card.progress())
}

#[test]
fn slices_and_modes_change_no_result() {
    each("contract_slices", |name, start| {
        let mut whole = start();
        while !whole.advance(Duration::from_secs(60)).unwrap().is_done {}
        let want = results(&mut whole);
        for (mode, step) in [(Mode::Normal, 700), (Mode::Shuffled(3), 50_000)] {
            let mut run = start();
            run.set_mode(mode);
            while run.card.ended().is_none() {
                let (now, next) = (run.card.now(), run.card.next_event());
                assert!(next.is_none_or(|next| next >= now), "{name}: {next:?} at {now}");
                run.card.run_until(now + Time::from_ns(step)).unwrap();
                assert!(run.card.now() > now || run.card.ended().is_some(), "{name}: time stands still");
            }
            run.card.close().unwrap();
            assert!(results(&mut run) == want, "{name}: {mode:?}, steps of {step} ns");
        }
    });
}

#[test]
fn a_profile_changes_no_result_and_its_rows_add_up() {
    let folder = support::folder_with_program("contract_profile");
    std::fs::copy(FIRMWARE, folder.join("tigon2.bin")).unwrap();
    // The chains of this test have no core. Functions of an image are unknown, so all its cycles are elsewhere.
    for (name, text, cores) in [("handlers", HANDLERS, 32), ("chains", CHAINS, 0), ("modules", MODULES, 2)] {
        let [without, with] = [false, true].map(|profile| {
            let wanted = Wanted { tables: true, profile, ..Wanted::default() };
            let mut run = start_with(text, &folder, name, &wanted);
            while !run.advance(Duration::from_secs(60)).unwrap().is_done {}
            (results(&mut run), run.card.profile())
        });
        assert!(without.0 == with.0, "{name}");
        assert_eq!(with.1.as_ref().map_or(0, |profile| profile.cores), cores, "{name}");
        let Some(profile) = with.1 else { continue };
        let of_rows: u64 = profile.instructions.iter().map(|row| row.cycles).sum();
        assert_eq!(of_rows + profile.elsewhere, profile.cycles, "{name}");
        for row in profile.instructions {
            assert_eq!(row.executed + row.lost.values().sum::<u64>(), row.cycles, "{name}: {}", row.text);
        }
    }
}

/// The numbers of a column, whatever their width.
fn numbers(rows: &spinet::run::Rows, column: &str) -> Vec<i64> {
    let columns = kinds::ALL.iter().flat_map(|kind| kind.tables).filter(|table| table.name == rows.table);
    let width = match columns.flat_map(|table| table.columns).find(|known| known.name == column).unwrap().kind {
        Kind::U8 => 1,
        Kind::U32 | Kind::I32 => 4,
        Kind::U64 | Kind::I64 => 8,
    };
    let (_, data) = rows.columns.iter().find(|(name, _)| *name == column).unwrap();
    let number = |bytes: &[u8]| {
        let fill = if width == 4 && bytes[3] & 0x80 != 0 { 0xff } else { 0 };
        let mut all = [fill; 8];
        all[..width].copy_from_slice(bytes);
        i64::from_le_bytes(all)
    };
    data.chunks_exact(width).map(number).collect()
}

#[test]
fn paths_change_no_result_and_their_steps_add_up_to_the_time_of_each_packet() {
    let folder = support::folder_with_program("contract_paths");
    // The second run of each kind is overloaded: packets wait for each other.
    let crowd = HANDLERS.replace("100G", "400G").replace("count=40", "count=400");
    let chains = CHAINS.replace("40G", "100G").replace("cycles=20", "cycles=90");
    std::fs::copy(FIRMWARE, folder.join("tigon2.bin")).unwrap();
    let modules = MODULES.replace("count=4", "count=300").replace("size=103", "size=list:60:1400");
    let all = [
        ("handlers", HANDLERS),
        ("handlers", &crowd),
        ("chains", CHAINS),
        ("chains", &chains),
        ("modules", MODULES),
        ("modules", &modules),
    ];
    for (name, text) in all {
        let [without, with] = [false, true].map(|paths| {
            let mut run = start_with(text, &folder, name, &Wanted { tables: true, paths, ..Wanted::default() });
            while !run.advance(Duration::from_secs(60)).unwrap().is_done {}
            (results(&mut run), run.card.take_tables())
        });
        assert!(without.0 == with.0, "{name}");
        assert!(without.1.iter().all(|rows| rows.table != PATHS), "{name}");
        let table = |name: &str| with.1.iter().find(|rows| rows.table == name).unwrap();
        let (rows, start, end) = match name {
            "handlers" => ("packets", "arrival_ps", "done_ps"),
            "chains" => ("packets", "arrival_ps", "left_ps"),
            _ => ("frames", "given_ps", "out_ps"),
        };
        let (packets, paths) = (table(rows), table(PATHS));
        let mut want: Vec<_> = numbers(packets, "packet")
            .into_iter()
            .zip(numbers(packets, start))
            .zip(numbers(packets, end))
            .map(|((packet, from), to)| (packet, from, to))
            .collect();
        assert!(want.iter().all(|(.., to)| *to > 0), "{name}: a packet did not leave");
        want.sort_unstable();
        let steps = numbers(paths, "packet").into_iter().zip(numbers(paths, "from_ps"));
        let mut found: Vec<(i64, i64, i64)> = Vec::new();
        for ((packet, from), takes) in steps.zip(numbers(paths, "takes_ps")) {
            assert!(takes > 0, "{name}: a step of packet {packet} takes {takes} ps");
            match found.last_mut() {
                Some((last, _, to)) if *last == packet => {
                    assert_eq!(*to, from, "{name}: packet {packet} has a gap");
                    *to += takes;
                }
                _ => found.push((packet, from, from + takes)),
            }
        }
        found.sort_unstable();
        assert_eq!(found, want, "{name}");
        if name == "handlers" {
            let causes = (kinds::HANDLERS.causes)();
            let executed = causes.iter().position(|cause| cause.name == "executed").unwrap() as i64;
            let cycles: i64 = numbers(paths, "cause")
                .into_iter()
                .zip(numbers(paths, "takes_ps"))
                .filter_map(|(cause, takes)| (cause == executed).then_some(takes / 1000))
                .sum();
            assert_eq!(cycles, numbers(packets, "instructions").iter().sum::<i64>(), "one cycle each");
        }
    }
}

#[test]
fn a_run_that_is_closed_early_has_a_row_for_every_packet_and_closes_once() {
    each("contract_close", |name, start| {
        let mut run = start();
        while run.card.progress().packets_in < 3 {
            let until = run.card.now() + Time::from_ns(2_000);
            run.card.run_until(until).unwrap();
        }
        let packets = run.card.progress().packets_in;
        run.card.close().unwrap();
        run.card.close().unwrap();
        let tables = run.card.take_tables();
        let (_, first) = &tables[0].columns[0];
        assert!(!first.is_empty(), "{name}: {packets} packets and no row");
        assert!(
            run.card.take_tables().iter().all(|rows| rows.columns.iter().all(|(_, data)| data.is_empty())),
            "{name}"
        );
    });
}

/// A line from the first card to the second, simulated in windows that its delay allows, up to a time. Returns what left each card.
fn two_cards(first: &mut Run, second: &mut Run, line: Time, window: Time, end: Time) -> [Vec<Departure>; 2] {
    let mut left = [Vec::new(), Vec::new()];
    let mut until = Time::ZERO;
    while until < end {
        until = (until + window).min(end);
        first.card.run_until(until).unwrap();
        second.card.run_until(until).unwrap();
        for frame in first.card.take_departures() {
            second.card.inject(Port::Network(0), frame.at + line, frame.frame.clone()).unwrap();
            left[0].push(frame);
        }
        left[1].extend(second.card.take_departures());
    }
    left
}

#[test]
fn cards_joined_by_a_line_give_the_same_frames_in_windows_of_any_size() {
    let folder = support::folder_with_program("contract_lines");
    let wanted = Wanted { lines: true, ..Wanted::default() };
    for (source, sink, text) in [("chains", "handlers", HANDLERS), ("handlers", "chains", CHAINS)] {
        let from = if source == "chains" { CHAINS } else { HANDLERS };
        let run = |window_ns, seed| {
            let mut first = start_with(from, &folder, source, &wanted);
            let mut second = start_with(&without_traffic(text), &folder, sink, &wanted);
            second.set_mode(Mode::Shuffled(seed));
            let [line, window, end] = [1_000, window_ns, 60_000].map(Time::from_ns);
            let left = two_cards(&mut first, &mut second, line, window, end);
            assert!(second.card.ended().is_none(), "{sink}: more frames may come");
            second.card.close().unwrap();
            (left, second.digest(), second.card.progress().packets_in)
        };
        let (left, digest, packets_in) = run(1_000, 1);
        assert_eq!((left[0].len(), left[1].len(), packets_in), (40, 40, 40), "{source} to {sink}");
        assert!(left.iter().all(|frames| frames.is_sorted_by_key(|frame| frame.at)));
        assert!(run(170, 2) == (left, digest, packets_in), "{source} to {sink}: the windows changed a result");
    }
}

/// A wired card first starts up, which takes milliseconds.
#[test]
fn wired_cards_take_frames_from_a_line_and_their_hosts_check_them() {
    let folder = support::folder_with_program("contract_wired_lines");
    std::fs::copy(FIRMWARE, folder.join("tigon2.bin")).unwrap();
    let wanted = Wanted { lines: true, ..Wanted::default() };
    let wired = without_traffic(MODULES);
    let late = without_traffic(CHAINS)
        + "traffic = { source = 'udp:size=512,count=40,rate=900M,dst_mac=00:60:cf:00:00:01', start = '2 ms' }\n";
    let pairs = [("chains", "modules", &*late, &*wired, [40, 4, 44]), ("modules", "chains", &wired, CHAINS, [4, 5, 5])];
    for (source, sink, from, to, want) in pairs {
        let run = |window_ns, seed| {
            let mut first = start_with(from, &folder, source, &wanted);
            // A card may also have its own traffic.
            let mut second = start_with(&to.replace("count=40", "count=1"), &folder, sink, &wanted);
            second.set_mode(Mode::Shuffled(seed));
            let [line, window, end] = [50_000, window_ns, 4_000_000].map(Time::from_ns);
            let left = two_cards(&mut first, &mut second, line, window, end);
            second.card.close().unwrap();
            let summary = second.summary();
            (left, second.digest(), summary["packets"]["in"].clone(), summary["received"]["good"].clone())
        };
        let (left, digest, packets_in, good) = run(50_000, 1);
        assert_eq!(
            [json!(left[0].len()), json!(left[1].len()), packets_in.clone()],
            want.map(|n| json!(n)),
            "{source}"
        );
        assert!(sink != "modules" || good == 40, "each frame came as it was sent, and in order: {good}");
        assert!(run(7_000, 2) == (left, digest, packets_in, good), "{source} to {sink}: the windows changed a result");
    }
}

/// A frame that arrives within a cycle is taken at the next edge, wherever the previous window ended.
#[test]
fn cards_between_lines_stop_at_or_before_the_end_of_a_window() {
    let folder = support::folder_with_program("contract_stop");
    let wanted = Wanted { lines: true, ..Wanted::default() };
    std::fs::copy(FIRMWARE, folder.join("tigon2.bin")).unwrap();
    let (handlers, chains, modules) = (without_traffic(HANDLERS), without_traffic(CHAINS), without_traffic(MODULES));
    for (name, text) in [("handlers", handlers), ("chains", chains), ("modules", modules)] {
        let run = |end: u64| {
            let mut run = start_with(&text, &folder, name, &wanted);
            for until in [end / 3, end].map(Time::from_fs) {
                run.card.run_until(until).unwrap();
                assert!(run.card.now() <= until, "{name}: {} is beyond {until}", run.card.now());
            }
            run.card.inject(Port::Network(0), Time::from_fs(12_000_000_400), vec![0; 60].into()).unwrap();
            run.card.run_until(Time::from_ns(30_000)).unwrap();
            run.digest()
        };
        assert!(run(12_000_000_300) == run(11_000_000_000), "{name}");
    }
}

#[test]
fn frames_that_a_card_cannot_take_are_errors() {
    let folder = support::folder_with_program("contract_refused");
    let wanted = Wanted { lines: true, ..Wanted::default() };
    std::fs::copy(FIRMWARE, folder.join("tigon2.bin")).unwrap();
    for (name, text) in [("handlers", HANDLERS), ("chains", CHAINS), ("modules", &without_traffic(MODULES))] {
        let mut run = start_with(text, &folder, name, &wanted);
        run.card.run_until(Time::from_ns(100)).unwrap();
        let mut inject = |port, ns, n| run.card.inject(port, Time::from_ns(ns), vec![0; n].into());
        assert!(matches!(inject(Port::Network(9), 200, 60), Err(InjectError::NoPort { .. })), "{name}");
        assert!(matches!(inject(Port::Network(0), 100, 60), Err(InjectError::Past { .. })), "{name}");
        assert!(matches!(inject(Port::Network(0), 200, 0), Err(InjectError::Empty { .. })), "{name}");
        assert!(inject(Port::Network(0), 200, 60).is_ok(), "{name}");
        let is_too_long = matches!(inject(Port::Network(0), 200, 1515), Err(InjectError::TooLong { most: 1514, .. }));
        assert_eq!(is_too_long, name == "modules");
    }
    let error = try_start(MODULES, &folder, "modules", &wanted).err().expect("frames come from the line only");
    let want =
        "traffic: `udp:size=list:60:742,payload=numbered,count=4`: frames come from other cards here, so tigon2 must";
    assert!(error.to_string().starts_with(want), "{error}");
    each("contract_no_lines", |name, start| {
        let error = start().card.inject(Port::Network(0), Time::from_ns(200), vec![0; 60].into()).unwrap_err();
        assert!(matches!(error, InjectError::NoLines { .. }), "{name}: {error}");
    });
}

/// Outcomes of some packets, given one at a time: verdict, cycles, faults, packets out with their times.
fn trials(run: &mut Run, packets: &[Vec<u8>]) -> Vec<String> {
    assert!(trial::boot(&mut *run.card, Time::from_ns(10_000_000)).unwrap());
    let packets: Vec<Box<[u8]>> = packets.iter().map(|packet| packet.clone().into()).collect();
    run.card.expect(&packets);
    let offer = |packet| {
        let trial = trial::offer(&mut *run.card, Port::Network(0), packet, Time::from_ns(1_000_000)).unwrap();
        format!("{:?} {:?} {:?}", trial.outcome, trial.left, trial.host_writes)
    };
    packets.into_iter().map(offer).collect()
}

#[test]
fn packets_that_come_one_at_a_time_have_the_same_outcome_in_any_tick_order() {
    let folder = support::folder_with_program("contract_trials");
    let wanted = Wanted { lines: true, outcomes: true, ..Wanted::default() };
    let packets: Vec<Vec<u8>> = (0..8).map(|i| vec![i as u8; 64 + 200 * i]).collect();
    for (name, text, verdict) in [("handlers", HANDLERS, "\"sent\""), ("chains", CHAINS, "\"host\"")] {
        let run = |mode| {
            let mut run = start_with(&without_traffic(text), &folder, name, &wanted);
            run.set_mode(mode);
            let found = trials(&mut run, &packets);
            (found, run.digest())
        };
        let (found, digest) = run(Mode::Normal);
        assert_eq!(found.len(), 8);
        assert!(found.iter().all(|outcome| outcome.contains(verdict)), "{name}: {found:#?}");
        assert!(run(Mode::Shuffled(5)) == (found, digest), "{name}");
    }
}

#[test]
fn a_packet_that_the_card_does_not_finish_keeps_the_next_one_out() {
    let folder = support::folder_with_program("contract_unfinished");
    let wanted = Wanted { lines: true, outcomes: true, ..Wanted::default() };
    let mut run = start_with(&without_traffic(CHAINS), &folder, "chains", &wanted);
    let mut offer = |ns| trial::offer(&mut *run.card, Port::Network(0), vec![1; 64].into(), Time::from_ns(ns));
    // At 40 Gbit/s, 64 bytes and the preamble take 17 ns on the line.
    let first = offer(10).unwrap();
    assert_eq!((first.outcome.verdict, first.left.len()), ("unfinished", 0));
    assert!(matches!(offer(1_000_000), Err(TrialError::Busy { .. })));
}
