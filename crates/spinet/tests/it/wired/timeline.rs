//! Actions of `[[at]]` on wired cards.

use super::{FIRMWARE, check, file, finish, told};
use expect_test::expect;
use kernel::Mode;
use spinet::run::{Card, Run, Simulated, Wanted};
use spinet::toml_text::Format;
use spinet::wired::{Firmware, Setup, WiredCard};
use std::path::Path;
use std::time::Duration;

const TRAFFIC: &str = "udp:size=60,payload=numbered,count=40,rate=100kpps";

/// An experiment in both directions, 40 frames each in 400 us, with these actions.
fn with(actions: &str) -> Setup {
    let text = format!(
        "nic = {{ preset = 'tigon2', set = ['host.clear_end=0x8000'] }}\ntraffic = '{TRAFFIC}'\nsend = '{TRAFFIC}'\nlimit = '60 ms'\n\
         profile = false\n{actions}"
    );
    let setup = Setup::read(&text, "cut.toml", Path::new(env!("CARGO_TARGET_TMPDIR")), Format::Toml).unwrap();
    Setup { firmware: Some(Firmware::Image(FIRMWARE.into())), ..setup }
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
        with("[[at]]\ntime = '1 us'\n"),
        expect!["cut.toml: line 6: at[0]: nothing is to be done, must have one or more of `network`, `write`, `read`"],
    );
    check(
        with("[[at]]\ntime = '1 us'\nread = { memory = 'sran', size = 4 }\n"),
        expect!["cut.toml: line 8: at[0].read: there is no memory `sran`, must be one of `sram`; did you mean `sram`?"],
    );
    check(
        with("[[at]]\ntime = '1 us'\nread = { memory = 'sram', offset = 0xffffe, size = 4 }\n"),
        expect!["cut.toml: line 8: at[0].read: 4 bytes from 0xffffe on are named, the memory has 0x100000 bytes"],
    );
    check(
        with("[[at]]\ntime = '1 us'\nwrite = { memory = 'sram', offset = 0xffffffffffffffff, data = 'four.bin' }\n"),
        expect![
            "cut.toml: line 8: at[0].write: 4 bytes from 0xffffffffffffffff on are named, the memory has 0x100000 bytes"
        ],
    );
    check(
        with("[[at]]\ntime = '1 us'\nwrite = { memory = 'sram', data = 'none.bin' }\n"),
        expect!["cut.toml: line 8: at[0].write: none.bin: No such file or directory (os error 2)"],
    );
    let no_network = "name = 'sole'\nconnections = []\n[clocks]\nline = '125 MHz'\n[instances.memory]\nmodule = 'multiported-memory'\n\
        clock = 'line'\nbase = 0\nbytes = 64\nports = 1\nport_bytes = 8\n";
    file("sole.toml", no_network.as_bytes());
    let text = "nic = 'sole.toml'\n[[at]]\ntime = '1 us'\nnetwork = 'down'\n";
    let sole = Setup::read(text, "cut.toml", Path::new(env!("CARGO_TARGET_TMPDIR")), Format::Toml).unwrap();
    check(
        sole,
        expect![
            "cut.toml: line 4: at[0].network: this card has neither a `packet-feeder` nor a `frame-sink`, so it has no network"
        ],
    );
}
