//! Actions of `[[at]]` on wired cards.

use super::{FIRMWARE, file, finish, told};
use blocks::memory::{memories, sizes};
use expect_test::{Expect, expect};
use kernel::Mode;
use spinet::experiment::ExperimentError;
use spinet::run::{Card, Run, Simulated, Wanted};
use spinet::toml_text::Format;
use spinet::wired::{Firmware, Setup, WiredCard};
use std::path::Path;
use std::time::Duration;

const TRAFFIC: &str = "udp:size=60,payload=numbered,count=40,rate=100kpps";

/// An experiment in both directions, 40 frames each in 400 us, with these actions.
fn text_with(actions: &str) -> String {
    format!(
        "nic = {{ preset = 'tigon2', set = ['host.clear_end=0x8000'] }}\ntraffic = '{TRAFFIC}'\nsend = '{TRAFFIC}'\nlimit = '60 ms'\n\
         profile = false\n{actions}"
    )
}

fn read(text: &str) -> Result<Setup, ExperimentError> {
    Setup::read(text, "cut.toml", Path::new(env!("CARGO_TARGET_TMPDIR")), Format::Toml)
}

fn with(actions: &str) -> Setup {
    Setup { firmware: Some(Firmware::Image(FIRMWARE.into())), ..read(&text_with(actions)).unwrap() }
}

/// Compares the error of a text when it is read, without the test's folder.
fn check(text: &str, want: Expect) {
    let error = read(text).map_or_else(|error| error.to_string(), |_| "no error".to_owned());
    want.assert_eq(&error.replace(env!("CARGO_TARGET_TMPDIR"), "T"));
}

/// The network is down for 100 us, some time after the host has started.
fn outage() -> Setup {
    let started = finish(with(""), Mode::Normal, 60_000).card.summarize(Duration::ZERO).time.started_ns.unwrap();
    let [down, up] = [100, 200].map(|us| started as u64 / 1000 + us);
    with(&format!("[[at]]\ntime = '{down} us'\nnetwork = 'down'\n[[at]]\ntime = '{up} us'\nnetwork = 'up'\n"))
}

#[test]
fn frames_are_lost_and_counted_while_the_network_is_down() {
    let run = finish(outage(), Mode::Normal, 60_000);
    let summary = run.card.summarize(Duration::ZERO);
    assert_eq!(summary.ended.reason, "complete");
    for way in [&summary.sent, &summary.received] {
        let fates = way.fates;
        assert!((8..=12).contains(&fates.link_down), "{fates:?}");
        assert_eq!((fates.through + fates.link_down, way.lost, fates.not_out), (40, fates.link_down, 0), "{fates:?}");
    }
    let what: Vec<&str> = summary.timeline.iter().map(|action| action.what.as_str()).collect();
    assert_eq!(what, ["network down", "network up"]);
    let lost = summary.sent.fates.link_down + summary.received.fates.link_down;
    let dropped: u64 = summary.packets.dropped_by_reason.values().sum();
    assert_eq!((summary.packets.dropped, dropped), (lost, lost));
}

#[test]
fn actions_happen_at_their_times_whatever_the_slices_and_the_order_of_ticks() {
    let want = told(&finish(outage(), Mode::Normal, 60_000));
    for (mode, slice) in [(Mode::Normal, 1), (Mode::Shuffled(7), 60_000), (Mode::TickAll, 60_000)] {
        assert!(told(&finish(outage(), mode, slice)) == want, "{mode:?} in slices of {slice} ms differs");
    }
    let mut run = Run::of(WiredCard::new(outage(), &Wanted::default()).unwrap());
    while run.card.ended().is_none() {
        run.card.run_until(run.card.now() + kernel::Time::from_ns(7_777)).unwrap();
    }
    run.card.close().unwrap();
    assert!(told(&run) == want, "windows of 7.777 us differ");
}

#[test]
fn an_outage_changes_the_digest_and_reading_changes_nothing() {
    let digest = |setup| finish(setup, Mode::Normal, 60_000).card.digest();
    let plain = digest(with(""));
    assert_eq!(digest(with("[[at]]\ntime = '100 us'\nread = { memory = 'sram', size = 64 }\n")), plain);
    assert_ne!(digest(outage()), plain);
}

#[test]
fn memory_is_read_and_written_even_after_the_last_frame() {
    file("four.bin", &[0xde, 0xad, 0xbe, 0xef]);
    let run = finish(
        with(
            "[[at]]\ntime = '40 ms'\nread = { memory = 'sram', offset = '0xffffa', size = 6 }\n\
             [[at]]\ntime = '30 ms'\nwrite = { memory = 'sram', offset = 0xffffc, data = 'four.bin' }\n\
             read = { memory = 'sram', offset = 0xffffe, size = 2 }\n",
        ),
        Mode::Normal,
        60_000,
    );
    let summary = run.card.summarize(Duration::ZERO);
    let timeline: Vec<String> = summary
        .timeline
        .iter()
        .map(|action| format!("{:.0} {} {:?}\n", action.begun_ns, action.what, action.data))
        .collect();
    expect![[r#"
        30000000 write sram None
        30000000 read sram Some("beef")
        40000000 read sram Some("0000deadbeef")
    "#]]
    .assert_eq(&timeline.concat());
    // The idle time before the actions is skipped.
    assert_eq!((summary.ended.reason, summary.time.skipped_ns > 2e7), ("complete", true));
}

#[test]
fn actions_that_cannot_be_say_where_and_why() {
    file("four.bin", &[0; 4]);
    check(
        &text_with("[[at]]\ntime = '1 us'\n"),
        expect!["cut.toml: line 6: at[0]: nothing is to be done, must have one or more of `network`, `write`, `read`"],
    );
    check(
        &text_with("[[at]]\ntime = '1 us'\nread = { memory = 'sran', size = 4 }\n"),
        expect!["cut.toml: line 8: at[0].read: there is no memory `sran`, must be one of `sram`; did you mean `sram`?"],
    );
    check(
        &text_with("[[at]]\ntime = '1 us'\nread = { memory = 'sram', offset = 0xffffe, size = 4 }\n"),
        expect!["cut.toml: line 8: at[0].read: 4 bytes from 0xffffe on are named, the memory has 0x100000 bytes"],
    );
    check(
        &text_with(
            "[[at]]\ntime = '1 us'\nwrite = { memory = 'sram', offset = 0xffffffffffffffff, data = 'four.bin' }\n",
        ),
        expect![
            "cut.toml: line 8: at[0].write: 4 bytes from 0xffffffffffffffff on are named, the memory has 0x100000 bytes"
        ],
    );
    check(
        &text_with("[[at]]\ntime = '1 us'\nwrite = { memory = 'sram', data = 'none.bin' }\n"),
        expect!["cut.toml: line 8: at[0].write: none.bin: No such file or directory (os error 2)"],
    );
    let no_network = "name = 'sole'\nconnections = []\n[clocks]\nline = '125 MHz'\n[instances.memory]\nmodule = 'multiported-memory'\n\
        clock = 'line'\nbase = 0\nbytes = 64\nports = 1\nport_bytes = 8\n";
    file("sole.toml", no_network.as_bytes());
    let text = "nic = 'sole.toml'\n[[at]]\ntime = '1 us'\nnetwork = 'down'\n";
    check(
        text,
        expect![
            "cut.toml: line 4: at[0].network: this card has neither a `packet-feeder` nor a `frame-sink`, so it has no network"
        ],
    );
}

#[test]
fn the_card_is_checked_when_the_experiment_is_read() {
    let nic = |set: &str| format!("# first\nnic = {{ preset = 'tigon2', set = [{set}] }}\n");
    check(
        &nic("'cpu_a.core.memory_cycle=3'"),
        expect![[r#"
            cut.toml: line 2: nic.set: set: line 1: `core` (mips-core): there is no parameter `memory_cycle`; its parameters: `pipeline`, `reset_pc`, `runs_at_start`, `scratchpad`, `instruction_cache`, `registers`, `locks`, `stack_window`, `memory_cycles`, `register_cycles`, `stores`, `multiply_cycles` and 1 more; did you mean `memory_cycles`?
              cpu_a.core.memory_cycle = 3
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        &nic("'sram.word_bytes=3'"),
        expect![[r#"
            cut.toml: line 2: nic.set: set: line 1: `sram` (memory-controller): bytes is 1048576 and word_bytes is 3, must be powers of two
              sram.word_bytes = 3
              ^^^^^^^^^^^^^^^^^^^
            presets/tigon2.toml: line 56: no part has the clock `memory`
              memory = "100 MHz" # source: T 2.1.2
              ^^^^^^"#]],
    );
    check(
        &nic("'clocks.memory=0 MHz'"),
        expect![[r#"
        cut.toml: line 2: nic.set: set: line 1: clocks.memory: `0 MHz` is not a frequency from 1 kHz to 100 GHz; write a number with Hz, kHz, MHz or GHz, for example `312.5 MHz`
          clocks.memory = "0 MHz"
          ^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        "nic = 'tigon3'\nprofile = false\n",
        expect![
            "cut.toml: line 1: nic: nic is `tigon3`, must be `tengig`, `tengig-events`, `tigon2`, `tigon2-cached`, or the path of a card (*.toml); did you mean `tigon2`?"
        ],
    );
    check(
        "profile = false\n[[tenant]]\nname = 'a'\n",
        expect![[r#"
        cut.toml: line 2: `tenant` is for a card that runs handlers (such as pspin) or for a card that runs chains of offloads (such as panic), this card is wired from modules and runs firmware; one firmware gets all frames, and the card cannot tell whose they are
          [[tenant]]
            ^^^^^^"#]],
    );
    check(
        "profile = false\nprogram = 'a.c'\n",
        expect![[r#"
        cut.toml: line 2: `program` is for a card that runs handlers (such as pspin), this card is wired from modules and runs firmware; its cores run the program in `firmware`
          program = 'a.c'
          ^^^^^^^"#]],
    );
    check(
        "profile = false\ntraffic = { source = 'udp:', gap_cycles = 1_000_000_001 }\n",
        expect!["cut.toml: line 2: traffic.gap_cycles: gap_cycles is 1000000001, must be 0 to 1000000000"],
    );
    check(
        "profile = false\nsend = { source = 'udp:', gap_cycles = 1 }\n",
        expect![
            "cut.toml: line 2: send.gap_cycles: `gap_cycles` is a key of `traffic`; the host sends as fast as the card accepts its packets"
        ],
    );
    check(
        "profile = false\nsend = { source = 'udp:', queue = 1 }\n",
        expect!["cut.toml: line 2: send.queue: queue is 1, must be 0, the only queue"],
    );
    check(
        "profile = false\ntraffic = { source = 'udp:', port = 1 }\n",
        expect!["cut.toml: line 2: traffic.port: port is 1, must be 0, the only port"],
    );
}

#[test]
fn frames_keep_the_gap_of_the_traffic() {
    let text = "nic = { preset = 'tigon2', set = ['host.clear_end=0x8000'] }\nprofile = false\nlimit = '60 ms'\n\
        traffic = [{ source = 'udp:size=60,count=3,rate=10kpps', start = '12 ms', gap_cycles = 2500 }, 'udp:size=60,count=2']\n";
    let setup = Setup { firmware: Some(Firmware::Image(FIRMWARE.into())), ..read(text).unwrap() };
    let run = finish(setup, Mode::Normal, 60_000);
    let (_, given) = run.card.frame_table().into_iter().find(|(name, _)| *name == "given_ps").unwrap();
    let given: Vec<u64> = given.chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect();
    let us: Vec<u64> = given.iter().map(|ps| (ps - given[0]) / 1_000_000).collect();
    // 2500 cycles of 125 MHz are 20 us; the idle time before 12 ms is skipped, and counts as a gap.
    assert_eq!(us, [0, 20, 12_000, 12_100, 12_200]);
    assert!(run.card.summarize(Duration::ZERO).time.skipped_ns > 1e7);
}

#[test]
fn memories_are_known_before_the_card_is_built() {
    let frames = "name = 'frames'\nconnections = []\n[clocks]\nline = '125 MHz'\n[instances.frames]\nmodule = 'frame-memory'\n\
        clock = 'line'\nrequesters = 1\nbase = 0\nbytes = 65536\nbus_bytes = 16\nword_bytes = 8\ntransfer_bytes = 1518\n\
        rows = { row_bytes = 2048, banks = 8, activation_cycles = 12, conflict_cycles = 27 }\n\
        policy = { kind = 'round-robin' }\n";
    let frames = file("frames.toml", frames.as_bytes()).display().to_string();
    for (nic, n) in [("tigon2", 1), ("tigon2-cached", 2), (&frames, 1)] {
        let setup = read(&format!("nic = '{nic}'\nprofile = false\n")).unwrap();
        let firmware = (nic != frames).then(|| Firmware::Image(FIRMWARE.into()));
        let card = WiredCard::new(Setup { firmware, ..setup }, &Wanted::default()).unwrap();
        let built: Vec<_> =
            memories(card.card()).into_iter().map(|(path, memory)| (path, memory.borrow().size())).collect();
        assert_eq!(built.len(), n, "{nic}");
        assert_eq!(sizes(&spinet::wired::design(nic, &[], Path::new("")).unwrap()), built, "{nic}");
    }
}
