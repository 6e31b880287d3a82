//! Whole runs.

use crate::support;
use expect_test::expect;
use kernel::Mode;
use spinet::experiment::Checked;
use spinet::handlers::HandlerSummary;
use spinet::handlers::{HandlerCard, HandlerError};
use spinet::run::{Card, Run, Wanted};
use spinet::toml_text::Format;
use std::time::Duration;

fn build(test: &str, experiment: &str) -> Run<HandlerCard> {
    let folder = support::folder_with_program(test);
    let checked = Checked::read(experiment, "t.toml", &folder, Format::Toml).unwrap();
    let wanted = Wanted { tables: true, ..Wanted::default() };
    Run::of(HandlerCard::new(checked, &wanted).unwrap())
}

fn finish(run: &mut Run<HandlerCard>, slice: Duration) -> HandlerSummary {
    while !run.advance(slice).unwrap().is_done {}
    run.card.summarize(run.wall())
}

fn summary(test: &str, experiment: &str) -> HandlerSummary {
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
    let modes = [Mode::Normal, Mode::Normal, Mode::Shuffled(1), Mode::Shuffled(2), Mode::TickAll];
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
    assert_eq!(packets.sent, packets.out);
    assert_eq!(packets.sent + packets.to_host, packets.done);
    assert_eq!((summary.contexts[0].name.as_str(), summary.contexts[1].name.as_str()), ("echo", "store"));
    assert_eq!((summary.contexts[1].messages, summary.contexts[1].messages_ended), (3, 3));
    let runs: Vec<_> = summary.handlers.iter().map(|h| (h.symbol.as_str(), h.runs)).collect();
    let stored = summary.contexts[1].packets;
    assert_eq!(runs, [("echo_ph", packets.sent), ("store_hh", 3), ("store_ph", stored), ("store_th", 3)]);
    assert_eq!(summary.ended.open_messages, 0);
}

#[test]
fn several_sources_send_at_their_own_times() {
    let text = "program = 'nic.elf'\n[[traffic]]\nsource = 'udp:size=60,count=3,rate=1Mpps'\n\
        [[traffic]]\nsource = 'tcp:size=600,count=2'\nstart = '40 us'\n[[context]]\nmatch = 'tcp'\nhandler = 'echo'\n";
    let mut run = build("several_sources", text);
    let summary = finish(&mut run, Duration::from_secs(60));
    assert_eq!((summary.packets.packets_in, summary.packets.sent, summary.sources.len()), (5, 2, 2));
    let columns = run.card.take_tables().remove(0).columns;
    let column = |wanted: &str| &columns.iter().find(|(name, _)| *name == wanted).unwrap().1;
    let sources = column("source").chunks(4).map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap()));
    let frames = column("frame").chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
    let mut rows: Vec<(i32, u64)> = sources.zip(frames).collect();
    rows.sort_unstable();
    assert_eq!(rows, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]);
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
    let columns = run.card.take_tables().remove(0).columns;
    let column = |name: &str| &columns.iter().find(|(known, _)| *known == name).unwrap().1;
    let mut frames: Vec<u64> =
        column("frame").chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect();
    frames.sort_unstable();
    assert_eq!(frames, (0..300).collect::<Vec<_>>());
    let n_ordinary = column("fate").iter().filter(|&&fate| fate == 0).count();
    assert_eq!(n_ordinary as u64, run.card.summarize(run.wall()).packets.ordinary);
    assert!(
        run.card.take_tables().iter().all(|rows| rows.columns.iter().all(|(_, data)| data.is_empty())),
        "rows are handed out once"
    );
}

#[test]
fn a_packet_reaches_the_host() {
    let mut run = build(
        "host",
        "program = 'nic.elf'\ntraffic = 'udp:size=100,count=1,payload=counter'\n[[context]]\nhandler = 'store'\n",
    );
    finish(&mut run, Duration::from_secs(60));
    let mut data = [0; 100];
    assert!(run.card.read_host(0x1000_0000_0000_0000, &mut data));
    assert_eq!(data[12..14], [8, 0], "an Ethernet header of an IPv4 packet");
    assert_eq!(data[42..50], [0, 0, 0, 0, 0, 0, 0, 1], "the payload counts");
    assert!(run.card.read_host(0x1000_0000_0000_0000 + 2032, &mut data[..8]));
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
    assert!(run.card.read_host(0x2000_0000_0000_0000 + 2 * 128, &mut head));
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
    let mut run = Run::of(HandlerCard::new(checked, &Wanted::default()).unwrap());
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

/// The number that a counting handler writes to the host, and the summary.
fn tally(test: &str, lines: &str) -> (u32, HandlerSummary) {
    let experiment = format!(
        "program = 'nic.elf'\ntraffic = 'udp:size=64,count=400,rate=100G'\n{lines}\n[[context]]\nmessage = 'all last'\nhandler = 'tally'\n"
    );
    let mut run = build(test, &experiment);
    let summary = finish(&mut run, Duration::from_secs(60));
    let mut count = [0; 4];
    assert!(run.card.read_host(0x1000_0000_0000_0000, &mut count));
    (u32::from_le_bytes(count), summary)
}

#[test]
fn a_handler_that_counts_needs_a_reliable_network() {
    let (count, summary) = tally("tally", "");
    assert_eq!((count, summary.network.reliable, summary.network.in_order), (400, true, true));
    // The handler is not idempotent: it counts duplicates twice, and lost packets never.
    let (count, summary) = tally("tally", "faults = 'loss=0.05,duplicate=0.1,reorder=0.1:8'");
    let network = &summary.network;
    let wire::faults::FaultCounts { lost, duplicated, reordered } = summary.sources[0].network;
    assert!(lost > 0 && duplicated > 0 && reordered > 0, "{network:?}");
    assert_eq!((network.reliable, network.in_order), (false, false));
    assert_eq!(u64::from(count), 400 - lost + duplicated);
    assert_eq!(summary.packets.packets_in, 400 - lost + duplicated);
    // Each fault has its own random stream: the same packets are lost without the other faults.
    let (_, alone) = tally("tally", "[faults]\nloss = 0.05");
    assert_eq!(alone.sources[0].network.lost, lost);
    // Another seed, other packets.
    let (_, other) = tally("tally", "seed = 2\nfaults = 'loss=0.05'");
    assert_ne!(other.digest, alone.digest);
}

#[test]
fn faults_change_no_other_draws_and_no_way_to_run_changes_them() {
    let faulty = MIX.replace(
        "[[context]]\nmatch = \"udp.src_port in",
        "[faults]\nloss = 0.1\nduplicate = 0.1\nreorder = '0.1:5'\n[[context]]\nmatch = \"udp.src_port in",
    );
    assert_ne!(faulty, MIX);
    let digests = [Mode::Normal, Mode::Shuffled(1), Mode::TickAll].map(|mode| {
        let mut run = build("faulty", &faulty);
        run.set_mode(mode);
        finish(&mut run, Duration::from_secs(60)).digest
    });
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
}

#[test]
fn a_message_that_lost_a_packet_is_given_up() {
    let experiment = r#"
program = "nic.elf"
traffic = "udp:size=64,count=50,rate=100G"
faults = "loss=0.1"
[[context]]
message = "all count 50"
handler = "tally"
delivery = { timeout_cycles = 5000 }
"#;
    let mut run = build("given_up", experiment);
    let summary = finish(&mut run, Duration::from_secs(60));
    assert_eq!((summary.ended.reason, summary.ended.unfinished_packets), ("complete", 0));
    // The descriptor: cause, packets that waited, message, no HPU, the first such record.
    let mut words = [0; 32];
    assert!(run.card.read_host(0x0fff_ffff_ffff_0000, &mut words));
    let word = |i: usize| u32::from_le_bytes([0, 1, 2, 3].map(|at| words[4 * i + at]));
    assert_eq!([0, 1, 4, 6, 7].map(word), [25, 0, 0, u32::MAX, 1]);
    assert_eq!((summary.events.message_timeout, summary.events.message_done), (1, 0));
    let tally: Vec<_> = summary.handlers.iter().map(|handler| (handler.stage, handler.runs)).collect();
    assert_eq!(tally, [("payload", summary.packets.done), ("completion", 0)]);
}

/// Replays a capture whose packets are `gap_s` seconds apart. Returns how many messages timed out, how many are done,
/// how many completion handlers ran, and the remarks.
fn silent(test: &str, gap_s: u64, message: &str, more: &str) -> String {
    let file = support::capture_of(&format!("{test}.pcapng"), &[64; 3], Duration::from_secs(gap_s));
    let experiment = format!(
        "program = 'nic.elf'\n{more}\n[traffic]\nsource = '{file}'\n[[context]]\nmessage = '{message}'\nhandler = 'tally'\n"
    );
    let summary = summary(test, &experiment);
    let completions =
        summary.handlers.iter().filter(|handler| handler.stage == "completion").map(|handler| handler.runs);
    let remarks: Vec<_> =
        summary.remarks.iter().map(|remark| format!("\n! {}: {}", remark.kind, remark.text)).collect();
    let events = &summary.events;
    let (given_up, done, ran) = (events.message_timeout, events.message_done, completions.sum::<u64>());
    format!("{given_up} given up, {done} done, {ran} completed{}", remarks.concat())
}

#[test]
fn messages_of_a_capture_outlive_its_silence() {
    // The last packet of a message that ends with `last` arrives, even if it is late.
    expect!["0 given up, 1 done, 1 completed"].assert_eq(&silent("silent_last", 1000, "all last", ""));
    expect!["0 given up, 1 done, 1 completed"].assert_eq(&silent("silent_count", 200, "all count 3", ""));
    expect![[r#"
        2 given up, 0 done, 0 completed
        ! message_timeouts: 2 messages were given up, and their completion handlers did not run: no packet came for longer than delivery.timeout_cycles of the context; 0 waits for ever"#]].assert_eq(&silent("silent_long", 400, "all count 3", ""));
    // A network that loses packets may lose the last.
    expect![[r#"
        2 given up, 0 done, 0 completed
        ! message_timeouts: 2 messages were given up, and their completion handlers did not run: no packet came for longer than delivery.timeout_cycles of the context; 0 waits for ever"#]].assert_eq(&silent("silent_lossy", 400, "all last", "faults = 'loss=0.000001'"));
    // The context's own value has priority.
    let set = "nic = { preset = 'pspin', set = { 'delivery.timeout_cycles' = 3_000_000_000 } }";
    expect![[r#"
        2 given up, 0 done, 0 completed
        ! message_timeouts: 2 messages were given up, and their completion handlers did not run: no packet came for longer than delivery.timeout_cycles of the context; 0 waits for ever"#]].assert_eq(&silent("silent_set", 4, "all last", set));
}

#[test]
fn payloads_that_overtake_their_header_wait_for_it() {
    // The payload counts through each of the 16 flows, from 0 in its first packet.
    let experiment = |delivery: &str| {
        format!(
            "program = 'nic.elf'\ntraffic = 'udp:size=64,count=320,flows=16,payload=counter'\n\
             faults = 'reorder=0.5:100'\n[[context]]\nmessage = 'by udp.src_port from bytes[42:4] == 0 last'\n\
             handler = 'store'\n{delivery}\n"
        )
    };
    let buffered = summary("overtake", &experiment(""));
    assert_eq!((buffered.packets.done, buffered.packets.dropped), (320, 0));
    let runs: Vec<_> = buffered.handlers.iter().map(|handler| (handler.stage, handler.runs)).collect();
    assert_eq!(runs[..2], [("header", 16), ("payload", 320)]);
    let dropped = summary("overtake", &experiment("delivery = { early_payload = 'drop' }"));
    let n = dropped.packets.dropped_by_reason["before_header"];
    assert!(n > 0);
    assert_eq!(dropped.packets.done + n, 320);
}

#[test]
fn host_memory_that_is_not_registered_is_out_of_reach() {
    let experiment = "program = 'nic.elf'\ntraffic = 'udp:size=100,count=3'\n[[context]]\nhandler = 'store'\n";
    let out_of_reach = format!("{experiment}host_memory = {{ size = 0 }}\n");
    let mut run = build("iommu", &out_of_reach);
    let summary = finish(&mut run, Duration::from_secs(60));
    assert_eq!((summary.ended.reason, summary.packets.done), ("complete", 3));
    // The packet and the eight bytes of each message.
    assert_eq!((summary.events.translation_fault, summary.output.host_writes), (6, 0));
    let mut data = [0; 100];
    assert!(run.card.read_host(0x1000_0000_0000_0000, &mut data));
    assert_eq!(data, [0; 100]);
    // The RTL's host takes all data at once.
    let rtl = out_of_reach.replace("traffic", "nic = 'pspin-rtl'\ntraffic");
    let summary = self::summary("iommu", &rtl);
    assert_eq!((summary.events.translation_fault, summary.output.host_write_bytes), (0, 3 * 108));
}

#[test]
fn a_full_packet_memory_drops_where_the_context_asks_for_it() {
    let experiment = r#"
program = "nic.elf"
nic = { set = { "l2.packet_bytes" = 4096 } }
traffic = "udp:size=1000,count=200,rate=400G"
[[context]]
handler = "echo"
delivery = { when_full = "drop" }
"#;
    let packets = summary("full", experiment).packets;
    assert!(packets.dropped > 0);
    assert_eq!(packets.dropped_by_reason["packet_memory_full"], packets.dropped);
    assert_eq!(packets.done + packets.dropped, 200);
}

#[test]
fn sources_must_be_compiled_first() {
    let folder = support::folder("sources");
    std::fs::write(folder.join("a.c"), "").unwrap();
    let experiment = "program = 'a.c'\ntraffic = 'udp:count=2'\n[[context]]\n";
    let checked = Checked::read(experiment, "t.toml", &folder, Format::Toml).unwrap();
    assert!(matches!(HandlerCard::new(checked, &Wanted::default()), Err(HandlerError::NotCompiled)));
}

#[test]
fn a_clock_of_any_ratio_is_exact_and_changes_nothing_but_the_time_of_a_cycle() {
    let of = |clock: &str| {
        // As fast as possible: with arrival times, the cycle would differ.
        let experiment = format!(
            "program = 'nic.elf'\ntraffic = {{ source = 'udp:size=64,count=50', pacing = 'asap' }}\n\
             nic = {{ preset = 'pspin-rtl', set = ['clock_mhz={clock}'] }}\n[[context]]\nhandler = 'echo'\n"
        );
        let time = summary(&format!("clock of {clock}"), &experiment).time;
        (time.clock_mhz.unwrap().to_string(), time.cycles.unwrap(), time.simulated_ns)
    };
    let (whole, cycles, ns) = of("1000");
    assert_eq!((whole.as_str(), ns), ("1000", cycles as f64));
    // 3.2 ns a cycle; a clock of 312 MHz would be 5 cycles late after 3000.
    assert_eq!(of("312.5"), ("312.5".into(), cycles, cycles as f64 * 3.2));
    assert_eq!(of("1000.0"), ("1000".into(), cycles, cycles as f64));
}

#[test]
fn each_packet_of_the_capture_has_a_comment_with_its_handler() {
    let folder = support::folder_with_program("comments");
    let experiment = "program = 'nic.elf'\ntraffic = 'udp:size=64,count=2,rate=1G'\n[[context]]\nhandler = 'echo'\n";
    let checked = Checked::read(experiment, "t.toml", &folder, Format::Toml).unwrap();
    let wanted = Wanted { tables: true, captures: Some(folder.clone()), ..Wanted::default() };
    let mut run = Run::of(HandlerCard::new(checked, &wanted).unwrap());
    assert_eq!(finish(&mut run, Duration::from_secs(60)).packets.sent, 2);
    let capture = std::fs::read(folder.join("out.pcapng")).unwrap();
    let text = String::from_utf8_lossy(&capture);
    // Messages go to the cluster of their number, and there to the first idle HPU.
    for start in
        ["packet 0, message 0, payload handler on HPU 0.0, ", "packet 1, message 1, payload handler on HPU 1.0, "]
    {
        let at = text.find(start).unwrap_or_else(|| panic!("no comment begins with {start}"));
        let comment: String =
            text[at..].chars().take_while(|letter| letter.is_ascii_graphic() || *letter == ' ').collect();
        assert!(comment.contains(" ns after arrival, handler began "), "{comment}");
    }
}
