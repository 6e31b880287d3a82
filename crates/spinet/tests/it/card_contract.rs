//! What every kind of card promises to `Run`.

use crate::support;
use kernel::{Mode, Time};
use spinet::kinds::{self, Text};
use spinet::run::{Run, Wanted};
use spinet::toml_text::Format;
use std::path::Path;
use std::time::Duration;

const HANDLERS: &str = "program = 'nic.elf'\ntraffic = 'udp:size=64..1500,count=40,rate=100G,payload=random'\n\
    [[context]]\nhandler = 'echo'\n";
const CHAINS: &str = "service = ['work: delay, cycles=20, units=2']\nchain = ['all: work']\npreset_services = false\n\
    traffic = 'udp:size=512,count=40,rate=40G'\n";
const MODULES: &str = "firmware = 'tigon2.bin'\nnic = { set = { 'host.clear_end' = 0x8000 } }\n\
    traffic = 'udp:size=list:60:742,payload=numbered,count=4'\nsend = 'udp:size=103,payload=numbered,count=4'\nlimit = '60 ms'\n";

/// An experiment for each kind of card, in a folder with the programs that they name.
fn each(test: &str, check: impl Fn(&str, &dyn Fn() -> Run)) {
    let folder = support::folder_with_program(test);
    let firmware = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/elf/tigon2.bin");
    std::fs::copy(firmware, folder.join("tigon2.bin")).unwrap();
    for (name, text) in [("handlers", HANDLERS), ("chains", CHAINS), ("modules", MODULES)] {
        check(name, &|| start(text, &folder, name));
    }
    assert_eq!(kinds::ALL.len(), 3, "a new kind of card belongs into this test");
}

fn start(text: &str, base_dir: &Path, name: &str) -> Run {
    let kind = kinds::of_experiment(text, base_dir, Format::Toml);
    assert_eq!(kind.name, name);
    let wanted = Wanted { tables: true, ..Wanted::default() };
    let text = Text { text, file: "t.toml", base_dir, format: Format::Toml };
    (kind.start)(&text, &wanted, Vec::new()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Everything that a run leaves behind but the host time that it took, and its rows.
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
