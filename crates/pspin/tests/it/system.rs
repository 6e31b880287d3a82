//! The whole NIC: nothing is lost, bytes are where they belong, and the way of running changes nothing.

use crate::rig::{LIMIT, Load, Seen, packet, run, run_after};
use kernel::{Mode, Outcome};
use proptest::prelude::*;
use pspin::host_events::HostEvent;
use std::collections::BTreeMap;

const PROGRAMS: [&str; 12] = [
    "empty",
    "chain",
    "ping_pong",
    "copy_to_host",
    "amo_one_word",
    "load_one_word",
    "move",
    "trap",
    "null_store",
    "divisions",
    "core",
    "public_dma",
];

#[test]
fn no_way_of_running_changes_a_result() {
    for program in PROGRAMS {
        let load = Load { messages: 3, ..Load::new(program, 24, 192, 3) };
        let normal = run(load).digest();
        for mode in [Mode::Shuffled(1), Mode::Shuffled(2), Mode::TickAll] {
            assert!(run(Load { mode, ..load }).digest() == normal, "{program} differs in {mode:?}");
        }
    }
}

/// Cores run ahead of one another, in loops made for that; a watched core runs in a loop that checks everything.
#[test]
fn running_ahead_changes_no_result() {
    for program in PROGRAMS {
        let load = Load { messages: 3, ..Load::new(program, 24, 192, 3) };
        let normal = run(load);
        for bound in [1, 2, 5] {
            let slow = run_after(load, |nic| nic.bound_run_ahead(bound));
            assert!(slow.digest() == normal.digest(), "{program} differs if cores are ahead by at most {bound}");
            assert_eq!(slow.log, normal.log, "{program}: the instructions of core 0");
        }
        let watched = run_after(load, |nic| {
            for (cluster, core) in (0..4).flat_map(|cluster| (0..8).map(move |core| (cluster, core))) {
                nic.log_instructions(cluster, core, Box::new(|_| {}));
            }
        });
        assert!(watched.digest() == normal.digest(), "{program} differs if cores are watched");
    }
}

/// Core 0 runs in the loop that checks everything, because its instructions are logged; all others run ahead.
#[test]
fn a_profile_has_every_cycle_of_every_core_and_changes_no_result() {
    // Programs fit into the usual caches, but not into those of 64 bytes.
    for (program, icache_bytes) in PROGRAMS.into_iter().flat_map(|program| [(program, None), (program, Some(64))]) {
        let load = Load { messages: 3, icache_bytes, ..Load::new(program, 24, 192, 3) };
        let seen = run_after(load, |nic| nic.profile_cores());
        assert!(seen.digest() == run(load).digest(), "{program} differs with a profile");
        assert_eq!(seen.profiles.len(), 32);
        let mut executed = 0;
        for (core, profile) in seen.profiles.iter().enumerate() {
            assert_eq!(profile.cycles(), LIMIT, "{program}: core {core}");
            executed += profile.rows().map(|(_, counts)| counts.executed).sum::<u64>();
        }
        assert_eq!(executed, seen.counter(".instructions"), "{program}");
    }
}

#[test]
fn any_latency_of_l2_and_the_interconnects_works() {
    for program in PROGRAMS {
        let mut last_end = 0;
        for latency in [1, 7, 60] {
            let load = Load { messages: 3, latency: Some(latency), ..Load::new(program, 24, 192, 3) };
            let normal = run(load);
            check_conservation(&normal, load);
            for mode in [Mode::Shuffled(1), Mode::TickAll] {
                assert!(
                    run(Load { mode, ..load }).digest() == normal.digest(),
                    "{program}, {latency}: {mode:?} differs"
                );
            }
            let bound = run_after(load, |nic| nic.bound_run_ahead(1));
            assert!(bound.digest() == normal.digest(), "{program}, {latency}: cores that run ahead differ");
            let end = normal.done.iter().map(|packet| packet.feedback).max().expect("packets");
            assert!(
                end > last_end,
                "{program} takes {end} cycles with latency {latency}, and {last_end} with a lower one"
            );
            last_end = end;
        }
    }
}

/// Each packet that came is done once, and each task that was sent ended.
fn check_conservation(seen: &Seen, load: Load) {
    assert_eq!(seen.outcome, Outcome::Quiet, "{} ends", load.program);
    let mut users: Vec<u64> = seen.done.iter().map(|packet| packet.user).collect();
    users.sort_unstable();
    assert_eq!(users, (0..load.packets).collect::<Vec<_>>(), "each packet is done once");
    for name in ["task_sent", "task_dispatched", "task_accepted", "task_assigned", "task_done"] {
        assert_eq!(seen.named(name).count(), seen.named("task_sent").count(), "the same number of {name} as of tasks");
    }
    assert_eq!(seen.named("command_issued").count(), seen.named("command_done").count());
}

#[test]
fn a_message_runs_one_header_and_one_completion_handler() {
    let load = Load { messages: 16, ..Load::new("chain", 96, 64, 0) };
    let seen = run(load);
    check_conservation(&seen, load);
    let stages = [0, 1, 2].map(|stage| seen.named("handler_start").filter(|(.., values)| values[1] == stage).count());
    assert_eq!(stages, [16, 96, 16]);
    // Header before payload before completion, message by message.
    let each = load.packets / load.messages;
    let mut bounds: BTreeMap<u64, [(u64, u64); 3]> = BTreeMap::new();
    for (name, is_end) in [("handler_start", false), ("handler_end", true)] {
        for (cycle, _, _, values) in seen.named(name) {
            let of = &mut bounds.entry(values[0] / each).or_insert([(u64::MAX, 0); 3])[values[1] as usize];
            if is_end { of.1 = of.1.max(*cycle) } else { of.0 = of.0.min(*cycle) }
        }
    }
    for (message, [header, payload, completion]) in bounds {
        assert!(header.1 < payload.0 && payload.1 < completion.0, "message {message}");
    }
}

#[test]
fn a_packet_comes_back_with_identities_and_ports_exchanged() {
    for bytes in [64, 100, 1024, 1500] {
        let load = Load::new("ping_pong", 8, bytes, 10);
        let seen = run(load);
        check_conservation(&seen, load);
        assert_eq!(seen.sent.len(), 8);
        for departure in &seen.sent {
            let mut want = packet(departure.cause.0, bytes);
            (12..16).for_each(|at| want.swap(at, at + 4));
            (20..22).for_each(|at| want.swap(at, at + 2));
            assert_eq!(departure.bytes, want, "packet {} of {bytes} bytes", departure.cause.0);
        }
    }
}

#[test]
fn a_packet_reaches_the_host_byte_by_byte_wherever_it_goes() {
    for (bytes, host) in [(64, 0x1000), (64, 0x1fc1), (1024, 0xdead_beef_dead_beef), (1500, 0x1fff)] {
        let load = Load { host, makes_mistakes: false, ..Load::new("copy_to_host", 1, bytes, 0) };
        let seen = run(load);
        check_conservation(&seen, load);
        let want: BTreeMap<u64, u8> = (host..).zip(packet(0, bytes)).collect();
        assert!(seen.host == want, "{bytes} bytes at {host:#x}");
    }
}

#[test]
fn bytes_are_there_when_a_wait_returns() {
    let load = Load::new("move", 1, 64, 0);
    let seen = run(load);
    check_conservation(&seen, load);
    // To the host: the packet, by way of handler memory and from L1.
    let sent = packet(0, 64);
    let want: BTreeMap<u64, u8> = [0, 0x1000].into_iter().flat_map(|at| (load.host + at..).zip(sent.clone())).collect();
    assert!(seen.host == want);
    // To the network: the packet from L2, then the data from the host, whose bytes are their addresses.
    let from_host: Vec<u8> = (0..64).collect();
    assert_eq!([&seen.sent[0].bytes[..], &seen.sent[1].bytes[..]], [&sent[..], &from_host[..]]);
}

/// Transfers by public DMA registers of a core's own cluster and of another one, mixed with transfers of cores and of
/// the scheduler.
#[test]
fn transfers_launched_by_public_registers_take_their_turn() {
    let load = Load { messages: 4, ..Load::new("public_dma", 64, 192, 1) };
    let seen = run(load);
    check_conservation(&seen, load);
    assert_eq!(seen.sent.len(), 64);
    for departure in &seen.sent {
        assert_eq!(departure.bytes, packet(departure.cause.0, 192), "packet {}", departure.cause.0);
    }
}

#[test]
fn a_trap_is_counted_and_its_packet_is_done() {
    let load = Load { messages: 2, ..Load::new("trap", 20, 64, 5) };
    let seen = run(load);
    check_conservation(&seen, load);
    assert_eq!((seen.named("handler_trap").count(), seen.counter(".traps")), (20, 20));
    // A load fault, at the address that was read.
    assert!(seen.named("handler_trap").all(|(.., values)| values[3] == 5 && values[5] == 0x1d00_0000));
}

#[test]
fn the_host_hears_of_messages_and_errors_in_the_order_of_time() {
    let seen = run(Load { messages: 2, ..Load::new("trap", 20, 64, 5) });
    assert!(seen.host_events.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{:?}", seen.host_events);
    let errors = seen
        .host_events
        .iter()
        .filter(|(_, event)| matches!(event, HostEvent::HandlerError(error) if error.cause == 5));
    assert_eq!((errors.count(), seen.host_events.len()), (20, 22));
    let ends: Vec<u64> = seen.named("task_done").map(|event| event.0).collect();
    let done: Vec<&(u64, HostEvent)> =
        seen.host_events.iter().filter(|(_, event)| matches!(event, HostEvent::MessageDone { .. })).collect();
    // The queue knows of the last feedback a cycle after it left the cluster, and the host a cycle after that.
    assert_eq!(done.last().expect("messages").0, ends.iter().max().expect("tasks") + 2);
    let identities: Vec<&HostEvent> = done.iter().map(|(_, event)| event).collect();
    assert_eq!(identities, [&HostEvent::MessageDone { msgid: 0 }, &HostEvent::MessageDone { msgid: 2 }]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn whatever_arrives_is_done_once(
        program in prop::sample::select(&["empty", "chain", "ping_pong", "copy_to_host", "trap"][..]),
        each in 1u64..40,
        messages in 1u64..20,
        bytes in 28usize..2000,
        gap in 0u64..40,
        shuffle in any::<u64>(),
    ) {
        // The RTL loses packets of many messages.
        let load = Load { messages, mode: Mode::Shuffled(shuffle), makes_mistakes: false, ..Load::new(program, each * messages, bytes, gap) };
        check_conservation(&run(load), load);
    }
}

/// The stages of one packet follow each other in the order of the RTL. Its three tasks take the same time up to the start of their handlers.
#[test]
fn the_three_handlers_of_a_packet_run_one_after_the_other_with_the_same_steps() {
    let seen = run(Load::new("chain", 1, 64, 0));
    let steps: Vec<(u64, &str)> = seen.events.iter().map(|(cycle, _, name, _)| (*cycle, *name)).collect();
    let steps: Vec<(u64, &str)> = steps.into_iter().filter(|(cycle, _)| *cycle >= seen.done[0].nic_arrival).collect();
    let task = [
        "task_sent",
        "task_dispatched",
        "task_accepted",
        "task_copied",
        "task_assigned",
        "handler_start",
        "hpu_idle",
        "handler_end",
        "task_done",
    ];
    let names: Vec<&str> = steps.iter().map(|(_, name)| *name).collect();
    assert_eq!(names, [&["packet_in", "her_sent"][..], &task, &task, &task, &["packet_done"]].concat());
    let tasks: Vec<&[(u64, &str)]> = steps[2..29].chunks(9).collect();
    for task in &tasks {
        let since_sent: Vec<u64> = task.iter().map(|(cycle, _)| cycle - task[0].0).collect();
        let start: Vec<u64> = tasks[0].iter().map(|(cycle, _)| cycle - tasks[0][0].0).collect();
        assert_eq!(since_sent[..6], start[..6], "the steps before a handler starts");
        assert_eq!((task[6].0, task[8].0), (task[7].0, task[7].0 + 1), "the feedback follows the handler by a cycle");
    }
    // A packet of 64 bytes is one beat, which is written in the next cycle; the request follows four cycles after that.
    assert_eq!(steps[1].0, steps[0].0 + 5);
    // A task is sent three cycles after the feedback of the task before: the queue, the arbiter and the scheduler each take one.
    assert_eq!([tasks[1][0].0, tasks[2][0].0], [tasks[0][8].0 + 3, tasks[1][8].0 + 3]);
    assert_eq!(steps[29].0, tasks[2][8].0 + 1);
    // Each handler has six instructions.
    let ends: Vec<_> = seen.named("handler_end").map(|(.., values)| (values[1], values[3])).collect();
    assert_eq!(ends, [(0, 6), (1, 6), (2, 6)]);
}
