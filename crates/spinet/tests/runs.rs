//! Whole runs.

#![allow(clippy::unwrap_used, reason = "these are tests")]

mod support;

use kernel::Mode;
use spinet::experiment::Checked;
use spinet::run::{Run, RunError, Wanted};
use spinet::summary::Summary;
use spinet::toml_text::Format;
use std::time::Duration;

fn build(test: &str, experiment: &str) -> Run {
    let folder = support::folder_with_program(test);
    let checked = Checked::read(experiment, "t.toml", &folder, Format::Toml).unwrap();
    let wanted = Wanted { packets: true, ..Wanted::default() };
    Run::new(checked, None, &wanted).unwrap()
}

fn finish(run: &mut Run, slice: Duration) -> Summary {
    while !run.advance(slice).unwrap().is_done {}
    run.summary()
}

fn summary(test: &str, experiment: &str) -> Summary {
    finish(&mut build(test, experiment), Duration::from_secs(60))
}

const MIX: &str = r#"
program = "nic.elf"
traffic = "udp:size=64..1500,count=300,flows=8,messages=3,rate=200G,arrivals=poisson,payload=random"
[[context]]
match = "udp.src_port in 10000..10002"
handler = "echo"
[[context]]
match = "udp.src_port < 10006"
message = "by 5-tuple last"
handler = "store"
"#;

#[test]
fn no_way_to_run_changes_the_digest() {
    let mut digests = Vec::new();
    let modes = [Mode::Normal, Mode::Normal, Mode::Shuffled(1), Mode::Shuffled(2), Mode::Sleepless];
    for (mode, slice) in modes.into_iter().zip([60_000, 1, 60_000, 60_000, 60_000]) {
        let mut run = build("modes", MIX);
        run.set_mode(mode);
        let summary = finish(&mut run, Duration::from_millis(slice));
        assert_eq!(summary.ended.reason, "complete");
        digests.push(summary.digest);
    }
    digests.dedup();
    assert_eq!(digests.len(), 1, "{digests:?}");
}

#[test]
fn every_packet_is_accounted_for() {
    let summary = summary("account", MIX);
    let packets = &summary.packets;
    assert_eq!(packets.packets_in, 300);
    assert_eq!(packets.packets_in, packets.matched + packets.ordinary);
    assert_eq!((packets.matched, packets.done), (226, 226));
    assert_eq!(packets.sent, summary.output.packets);
    assert_eq!(packets.sent + packets.to_host, packets.done);
    assert_eq!((summary.contexts[0].name.as_str(), summary.contexts[1].name.as_str()), ("echo", "store"));
    assert_eq!((summary.contexts[1].messages, summary.contexts[1].messages_ended), (3, 3));
    let runs: Vec<_> = summary.handlers.iter().map(|h| (h.symbol.as_str(), h.runs)).collect();
    let stored = summary.contexts[1].packets;
    assert_eq!(runs, [("echo_ph", packets.sent), ("store_hh", 3), ("store_ph", stored), ("store_th", 3)]);
    assert_eq!(summary.ended.open_messages, 0);
}

#[test]
fn the_parts_of_a_latency_add_up() {
    let latency = summary("latency", MIX).latency_ns.unwrap();
    let parts: f64 = latency.split.0.iter().map(|(_, part)| part.mean).sum();
    assert!((parts - latency.mean).abs() < 1e-6, "{parts} is not {}", latency.mean);
    assert!(latency.min <= latency.median && latency.median <= latency.p99 && latency.p99 <= latency.max);
}

#[test]
fn the_table_has_a_row_for_every_packet() {
    let mut run = build("table", MIX);
    finish(&mut run, Duration::from_secs(60));
    let columns = run.take_packets();
    let column = |name: &str| &columns.iter().find(|(known, _)| *known == name).unwrap().1;
    let mut frames: Vec<u64> =
        column("frame").chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect();
    frames.sort_unstable();
    assert_eq!(frames, (0..300).collect::<Vec<_>>());
    let n_ordinary = column("fate").iter().filter(|&&fate| fate == 0).count();
    assert_eq!(n_ordinary as u64, run.summary().packets.ordinary);
    assert!(run.take_packets().iter().all(|(_, data)| data.is_empty()), "rows are handed out once");
}

#[test]
fn a_packet_reaches_the_host() {
    let mut run = build(
        "host",
        "program = 'nic.elf'\ntraffic = 'udp:size=100,count=1,payload=counter'\n[[context]]\nhandler = 'store'\n",
    );
    finish(&mut run, Duration::from_secs(60));
    let mut data = [0; 100];
    run.host_memory(0x1000_0000_0000_0000, &mut data);
    assert_eq!(data[12..14], [8, 0], "an Ethernet header of an IPv4 packet");
    assert_eq!(data[42..50], [0, 0, 0, 0, 0, 0, 0, 1], "the payload counts");
    run.host_memory(0x1000_0000_0000_0000 + 2032, &mut data[..8]);
    assert_eq!(data[..8], [0x11, 0, 0, 0, 0x11, 0, 0, 0], "what the completion handler wrote");
}

#[test]
fn packets_without_a_context_reach_the_ring() {
    let experiment =
        "program = 'nic.elf'\ntraffic = 'udp:size=100,count=3'\n[[context]]\nmatch = 'tcp'\nhandler = 'echo'\n";
    let mut run = build("ring", experiment);
    let summary = finish(&mut run, Duration::from_secs(60));
    assert_eq!((summary.packets.ordinary, summary.packets.matched), (3, 0));
    let mut head = [0; 16];
    run.host_memory(0x2000_0000_0000_0000 + 2 * 128, &mut head);
    assert_eq!(head[..8], [100, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_handler_that_never_ends_is_named() {
    let experiment =
        "program = 'nic.elf'\nstall_limit = '20 us'\ntraffic = 'udp:count=2'\n[[context]]\nhandler = 'loop'\n";
    let summary = summary("loop", experiment);
    assert_eq!((summary.ended.reason, summary.ended.unfinished_packets), ("stalled", 2));
    let cores: Vec<_> =
        summary.ended.cores.iter().map(|core| (core.cluster, core.place.as_str(), core.frame)).collect();
    assert_eq!(cores, [(0, "loop_ph", Some(0)), (1, "loop_ph", Some(1))]);
    assert!((6.2..6.25).contains(&summary.hpus.busy_percent), "2 of 32: {}", summary.hpus.busy_percent);
}

#[test]
fn the_limit_ends_a_run_and_cuts_its_traffic() {
    let experiment = "program = 'nic.elf'\nlimit = '10 us'\ntraffic = 'udp:size=64,count=1000,rate=1Mpps'\n[[context]]\nhandler = 'echo'\n";
    let summary = summary("limit", experiment);
    assert_eq!(summary.ended.reason, "limit");
    assert_eq!((summary.packets.packets_in, summary.packets.done), (10, 10));
}

#[test]
fn a_program_that_never_gets_ready_is_reported() {
    let folder = support::folder("not_ready");
    let program = support::elf(
        0x1d00_0080,
        &[(0x1d00_0080, &[support::asm("jal", 0, 0, 0, 0); 2])],
        &[("_start", 0x1d00_0080), ("a_ph", 0x1d00_0084)],
    );
    std::fs::write(folder.join("nic.elf"), program).unwrap();
    let experiment = "program = 'nic.elf'\nstall_limit = '20 us'\ntraffic = 'udp:count=2'\n[[context]]\n";
    let checked = Checked::read(experiment, "t.toml", &folder, Format::Toml).unwrap();
    let mut run = Run::new(checked, None, &Wanted::default()).unwrap();
    let summary = finish(&mut run, Duration::from_secs(60));
    assert_eq!((summary.ended.reason, summary.packets.packets_in), ("not_ready", 0));
    assert_eq!(summary.ended.cores[0].place, "_start");
}

#[test]
fn messages_without_a_free_queue_go_the_ordinary_way() {
    let experiment = r#"
program = "nic.elf"
nic = { set = { "scheduler.n_mpqs" = 2 } }
traffic = "udp:size=64,count=40,flows=4"
[[context]]
message = "by 5-tuple last"
handler = "echo"
"#;
    let summary = summary("queues", experiment);
    assert_eq!((summary.packets.done, summary.packets.ordinary), (20, 20));
    assert_eq!(summary.contexts[0].messages_without_queue, 2);
}

#[test]
fn sources_must_be_compiled_first() {
    let folder = support::folder("sources");
    std::fs::write(folder.join("a.c"), "").unwrap();
    let experiment = "program = 'a.c'\ntraffic = 'udp:count=2'\n[[context]]\n";
    let checked = Checked::read(experiment, "t.toml", &folder, Format::Toml).unwrap();
    assert!(matches!(Run::new(checked, None, &Wanted::default()), Err(RunError::NotCompiled)));
}
