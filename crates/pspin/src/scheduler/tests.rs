use super::*;
use crate::delivery::{Delivery, EarlyPayload, WhenFull};
use crate::protocol::{Context, Kill};
use crate::testing::{context, her};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use std::rc::Rc;
use testkit::{Bench, Log, bench};

#[path = "giving_up.rs"]
mod giving_up;

/// A cluster that ends each task `delay` cycles after it saw it, one after the other started at once.
struct Cluster {
    position: usize,
    delay: u64,
    tasks: Rx<Task>,
    feedbacks: Tx<Feedback>,
    running: std::collections::VecDeque<(Cycle, Feedback)>,
    log: Log,
}

impl Component for Cluster {
    fn tick(&mut self, now: Cycle) -> Activity {
        if let Some(task) = self.tasks.take() {
            let Task { packet, stage, msgid, pkt_addr, pkt_size, trigger_feedback, .. } = task;
            let frees = if trigger_feedback { ", frees it" } else { "" };
            self.log.note(now, format!("cluster {}: {stage:?} {} of {msgid}{frees}", self.position, packet.0));
            let feedback = Feedback { packet, msgid, pkt_addr, pkt_size, trigger_feedback };
            self.running.push_back((now + self.delay, feedback));
        }
        match self.running.front() {
            None => Activity::Idle,
            Some((end, _)) if *end > now => Activity::Until(*end),
            Some(_) if !self.feedbacks.has_room() => Activity::Idle,
            Some(_) => {
                self.feedbacks.send(self.running.pop_front().expect("a task runs").1);
                Activity::Busy
            }
        }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("tasks", &self.tasks);
        ports.output("feedbacks", &self.feedbacks);
    }
}

#[derive(Clone, Copy)]
struct Scene {
    n_mpqs: u32,
    shared_cells: u32,
    max_tasks: u32,
    n_clusters: usize,
    delay: u64,
    delivery: Delivery,
    turns: bool,
}

const RTL: Delivery = Delivery {
    when_full: WhenFull::Stall,
    ecn_threshold_percent: 100,
    early_payload: EarlyPayload::Buffer,
    early_packets: 16,
    timeout_cycles: 0,
};

const USUAL: Scene =
    Scene { n_mpqs: 256, shared_cells: 128, max_tasks: 20, n_clusters: 4, delay: 10, delivery: RTL, turns: false };

fn show_release(release: &Release) -> String {
    match release.dropped {
        None => release.packet.0.to_string(),
        Some(reason) => format!("{} dropped: {}", release.packet.0, reason.word()),
    }
}

fn set(bench: &mut Bench, scene: Scene, handlers: &str, hers: &str) {
    let mut context = Context::clone(&context(handlers));
    context.delivery = scene.delivery;
    let context = Rc::new(context);
    let number = |msgid: &str| msgid.parse::<u16>().expect("a message is a number");
    let request = |(packet, word): (usize, &str)| {
        let (cycle, what) = word.split_once(':').expect("a colon");
        let at = cycle.parse().expect("a cycle");
        if let Some(msgid) = what.strip_prefix("kill") {
            (
                at,
                Request::Kill(Kill {
                    msgid: number(msgid),
                    reason: DropReason::MessageKilled,
                    context: 0,
                    error_addr: None,
                }),
            )
        } else if let Some(msgid) = what.strip_prefix("end") {
            (at, Request::End(number(msgid)))
        } else {
            let (cycle, mut her) = her(packet, word, &context);
            let tenant = u32::from(her.msgid / 100);
            her.context = Rc::new(Context { tenant, ..Context::clone(&context) });
            (cycle, Request::Her(her))
        }
    };
    let script = hers.split_whitespace().enumerate().map(request).collect();
    let mut ports = SchedulerPorts {
        requests: bench.input("requests", 2, script),
        tenants: bench.input("tenants", 2, vec![(1, TenantsServed(2))]),
        tasks: Vec::new(),
        feedbacks: Vec::new(),
        notices: bench.output("tells", 4, |_| true, |notice: &Notice| format!("{:?}", notice.event)),
        released: bench.output("released", 2, |_| true, show_release),
    };
    for position in 0..scene.n_clusters {
        let (to, tasks) = bench.channel("tasks", 2, 1);
        let (feedbacks, from) = bench.channel("feedbacks", 2, 1);
        ports.tasks.push(to);
        ports.feedbacks.push(from);
        let (delay, log) = (scene.delay, bench.log.clone());
        let running = std::collections::VecDeque::new();
        let cluster = Cluster { position, delay, tasks, feedbacks, running, log };
        bench.add(&format!("cluster[{position}]"), cluster);
    }
    let Scene { n_mpqs, shared_cells, max_tasks, .. } = scene;
    let params = SchedulerParams { n_mpqs, shared_cells, max_tasks_per_cluster: max_tasks };
    let sharing = SharingParams { reserved_queues: 0, turns: scene.turns, packet_memory_percent: 100 };
    let trace = bench.tracer("scheduler");
    bench.add("scheduler", PacketScheduler::new(&params, sharing, ports, trace));
    bench.log_counters();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever meets in whatever queue: each packet runs once and leaves once, in the order of its queue, between
    /// header and completion of its message.
    #[test]
    fn every_packet_runs_once_and_in_order(
        hers in prop::collection::vec((0u64..4, 0u16..6, prop::bool::weighted(0.3)), 1..60),
        handlers in prop::sample::select(vec!["p", "hp", "pc", "hpc", "hc", ""]),
        n_mpqs in prop::sample::select(vec![1u32, 2, 4, 256]),
        shared_cells in 0u32..5, max_tasks in 1u32..5, n_clusters in 1usize..5, delay in 1u64..30, turns in any::<bool>(),
    ) {
        let mut cycle = 10;
        let words: Vec<_> = hers.iter().map(|&(wait, msgid, eom)| {
            cycle += wait;
            format!("{cycle}:{msgid}{}", if eom { "!" } else { "" })
        }).collect();
        let scene = Scene { n_mpqs, shared_cells, max_tasks, n_clusters, delay, delivery: RTL, turns };
        let log = bench(100_000, |bench| set(bench, scene, handlers, &words.join(" ")));
        let mut queues: Vec<_> = (0..n_mpqs).map(|_| (Vec::new(), false)).collect();
        for (packet, &(_, msgid, eom)) in hers.iter().enumerate() {
            let (want, open) = &mut queues[usize::from(msgid) % n_mpqs as usize];
            if !std::mem::replace(open, !eom) && handlers.contains('h') {
                want.push(format!("Header {packet}"));
            }
            let stays = eom && handlers.contains('c');
            want.push(format!("Payload {packet}{}", if stays { "" } else { ", frees it" }));
            if stays {
                want.push(format!("Completion {packet}, frees it"));
            }
        }
        for (q, (want, _)) in queues.iter().enumerate() {
            let of = format!(" of {q}");
            let tasks = log.lines().filter_map(|line| line.split_once(": "));
            let tasks = tasks.filter(|(_, task)| task.split(',').next().is_some_and(|task| task.ends_with(&of)));
            let mut ran: Vec<_> = tasks.map(|(_, task)| task.replacen(&of, "", 1)).collect();
            // Payloads of one message that are at different clusters may be seen in one cycle.
            let mut want = want.clone();
            if n_clusters > 1 {
                ran.sort();
                want.sort();
            }
            prop_assert_eq!(ran, want, "queue {}", q);
        }
    }
}

/// Requests are `cycle:msgid`, with `!` behind the last of a message; `handlers` has h, p, c for those there are.
fn check(scene: Scene, handlers: &str, hers: &str, want: Expect) {
    want.assert_eq(&bench(2_000, |bench| set(bench, scene, handlers, hers)));
}

#[test]
fn a_message_runs_header_payloads_completion() {
    check(
        USUAL,
        "hpc",
        "10:5 11:5 12:5!",
        expect![[r#"
            13   cluster 1: Header 0 of 5
            27   cluster 1: Payload 0 of 5, frees it
            28   cluster 1: Payload 1 of 5, frees it
            29   cluster 1: Payload 2 of 5
            39   released 0
            40   released 1
            43   cluster 1: Completion 2 of 5, frees it
            55   released 2
            55   tells MessageDone { msgid: 5 }
            scheduler.hers 3
            scheduler.header_tasks 1
            scheduler.payload_tasks 3
            scheduler.completion_tasks 1
        "#]],
    );
}

#[test]
fn a_single_packet_runs_all_three() {
    check(
        USUAL,
        "hpc",
        "10:6!",
        expect![[r#"
            13   cluster 2: Header 0 of 6
            27   cluster 2: Payload 0 of 6
            41   cluster 2: Completion 0 of 6, frees it
            53   released 0
            53   tells MessageDone { msgid: 6 }
            scheduler.hers 1
            scheduler.header_tasks 1
            scheduler.payload_tasks 1
            scheduler.completion_tasks 1
        "#]],
    );
}

#[test]
fn a_reused_queue_starts_the_next_message_when_the_one_before_has_ended() {
    check(
        USUAL,
        "hpc",
        "10:1! 11:257!",
        expect![[r#"
            13   cluster 1: Header 0 of 1
            27   cluster 1: Payload 0 of 1
            41   cluster 1: Completion 0 of 1, frees it
            53   released 0
            53   tells MessageDone { msgid: 1 }
            55   cluster 1: Header 1 of 1
            69   cluster 1: Payload 1 of 1
            83   cluster 1: Completion 1 of 1, frees it
            95   released 1
            95   tells MessageDone { msgid: 257 }
            scheduler.hers 2
            scheduler.header_tasks 2
            scheduler.payload_tasks 2
            scheduler.completion_tasks 2
        "#]],
    );
    check(
        USUAL,
        "p",
        "10:1 11:1! 12:1!",
        expect![[r#"
            13   cluster 1: Payload 0 of 1, frees it
            14   cluster 1: Payload 1 of 1, frees it
            25   released 0
            26   released 1
            26   tells MessageDone { msgid: 1 }
            28   cluster 1: Payload 2 of 1, frees it
            40   released 2
            40   tells MessageDone { msgid: 1 }
            scheduler.hers 3
            scheduler.payload_tasks 3
        "#]],
    );
}

#[test]
fn queues_take_turns() {
    let scene = Scene { n_clusters: 1, max_tasks: 1, delay: 3, ..USUAL };
    check(
        scene,
        "p",
        "10:3 10:9 11:3 11:2 12:9 12:3 30:9! 30:3! 31:2!",
        expect![[r#"
            13   cluster 0: Payload 0 of 3, frees it
            18   released 0
            19   cluster 0: Payload 1 of 9, frees it
            24   released 1
            25   cluster 0: Payload 2 of 3, frees it
            30   released 2
            31   cluster 0: Payload 5 of 3, frees it
            36   released 5
            37   cluster 0: Payload 4 of 9, frees it
            42   released 4
            43   cluster 0: Payload 3 of 2, frees it
            48   released 3
            49   cluster 0: Payload 6 of 9, frees it
            54   released 6
            54   tells MessageDone { msgid: 9 }
            55   cluster 0: Payload 8 of 2, frees it
            60   released 8
            60   tells MessageDone { msgid: 2 }
            61   cluster 0: Payload 7 of 3, frees it
            66   released 7
            66   tells MessageDone { msgid: 3 }
            scheduler.hers 9
            scheduler.payload_tasks 9
        "#]],
    );
}

#[test]
fn a_full_home_cluster_spills_to_the_emptiest() {
    let scene = Scene { max_tasks: 2, delay: 40, ..USUAL };
    check(
        scene,
        "p",
        "10:1 11:1 12:1 13:1 14:1 15:1 16:1 17:1 18:1 19:1!",
        expect![[r#"
            13   cluster 1: Payload 0 of 1, frees it
            14   cluster 1: Payload 1 of 1, frees it
            15   cluster 0: Payload 2 of 1, frees it
            16   cluster 2: Payload 3 of 1, frees it
            17   cluster 3: Payload 4 of 1, frees it
            18   cluster 0: Payload 5 of 1, frees it
            19   cluster 2: Payload 6 of 1, frees it
            20   cluster 3: Payload 7 of 1, frees it
            55   released 0
            56   cluster 1: Payload 8 of 1, frees it
            56   released 1
            57   cluster 1: Payload 9 of 1, frees it
            57   released 2
            58   released 3
            59   released 4
            60   released 5
            61   released 6
            62   released 7
            98   released 8
            99   released 9
            99   tells MessageDone { msgid: 1 }
            scheduler.hers 10
            scheduler.payload_tasks 10
            scheduler.tasks_away_from_home 6
        "#]],
    );
}

#[test]
fn a_full_queue_holds_back_all_requests() {
    let scene = Scene { shared_cells: 1, max_tasks: 1, n_clusters: 1, delay: 20, ..USUAL };
    check(
        scene,
        "p",
        "10:1 11:1 12:1 13:1 14:1! 15:2!",
        expect![[r#"
            13   cluster 0: Payload 0 of 1, frees it
            35   released 0
            36   cluster 0: Payload 1 of 1, frees it
            58   released 1
            59   cluster 0: Payload 2 of 1, frees it
            81   released 2
            82   cluster 0: Payload 3 of 1, frees it
            104  released 3
            105  cluster 0: Payload 4 of 1, frees it
            127  released 4
            127  tells MessageDone { msgid: 1 }
            128  cluster 0: Payload 5 of 2, frees it
            150  released 5
            150  tells MessageDone { msgid: 2 }
            scheduler.her_stall_cycles 22
            scheduler.hers 6
            scheduler.payload_tasks 6
        "#]],
    );
}

/// A header handler of tenant 0 runs for long while its packets come; those of tenant 1 come behind them.
const FLOOD: &str = "10:5 11:5 12:5 13:5 14:5! 20:105! 21:106!";

#[test]
fn a_tenant_without_descriptors_holds_up_others_unless_tenants_take_turns() {
    let scene = Scene { shared_cells: 1, delay: 40, ..USUAL };
    check(
        scene,
        "h",
        FLOOD,
        expect![[r#"
        13   cluster 1: Header 0 of 5
        57   cluster 1: Payload 0 of 5, frees it
        58   cluster 1: Payload 1 of 5, frees it
        59   cluster 1: Payload 2 of 5, frees it
        60   cluster 1: Payload 3 of 5, frees it
        61   cluster 1: Payload 4 of 5, frees it
        62   cluster 1: Header 5 of 105
        63   cluster 2: Header 6 of 106
        99   released 0
        100  released 1
        101  released 2
        102  released 3
        103  released 4
        103  tells MessageDone { msgid: 5 }
        106  cluster 1: Payload 5 of 105, frees it
        107  cluster 2: Payload 6 of 106, frees it
        148  released 5
        148  tells MessageDone { msgid: 105 }
        149  released 6
        149  tells MessageDone { msgid: 106 }
        scheduler.her_stall_cycles 44
        scheduler.hers 7
        scheduler.header_tasks 3
        scheduler.payload_tasks 7
    "#]],
    );
    check(
        Scene { turns: true, ..scene },
        "h",
        FLOOD,
        expect![[r#"
        13   cluster 1: Header 0 of 5
        23   cluster 1: Header 5 of 105
        24   cluster 2: Header 6 of 106
        57   cluster 1: Payload 0 of 5, frees it
        58   cluster 1: Payload 1 of 5, frees it
        59   cluster 1: Payload 2 of 5, frees it
        60   cluster 1: Payload 3 of 5, frees it
        61   cluster 1: Payload 4 of 5, frees it
        67   cluster 1: Payload 5 of 105, frees it
        68   cluster 2: Payload 6 of 106, frees it
        99   released 0
        100  released 1
        101  released 2
        102  released 3
        103  released 4
        103  tells MessageDone { msgid: 5 }
        109  released 5
        109  tells MessageDone { msgid: 105 }
        110  released 6
        110  tells MessageDone { msgid: 106 }
        scheduler.her_stall_cycles 132
        scheduler.hers_set_aside 3
        scheduler.hers 7
        scheduler.header_tasks 3
        scheduler.payload_tasks 7
    "#]],
    );
}

#[test]
fn requests_set_aside_end_and_die_with_their_message() {
    let scene = Scene { shared_cells: 1, delay: 40, turns: true, ..USUAL };
    check(
        scene,
        "hp",
        "10:5 11:5 12:5 13:5 20:105! 22:kill5 23:5!",
        expect![[r#"
        13   cluster 1: Header 0 of 5
        23   cluster 1: Header 4 of 105
        23   tells MessageKilled { msgid: 5, dropped: 4 }
        24   released 1 dropped: message_killed
        25   released 2 dropped: message_killed
        26   released 3 dropped: message_killed
        56   released 0 dropped: message_killed
        57   cluster 1: Header 6 of 5
        67   cluster 1: Payload 4 of 105, frees it
        101  cluster 1: Payload 6 of 5, frees it
        109  released 4
        109  tells MessageDone { msgid: 105 }
        143  released 6
        143  tells MessageDone { msgid: 5 }
        scheduler.her_stall_cycles 1
        scheduler.hers_set_aside 3
        scheduler.hers 4
        scheduler.header_tasks 3
        scheduler.payload_tasks 2
        scheduler.kills 1
    "#]],
    );
    check(
        scene,
        "hpc",
        "10:5 11:5 12:5 13:5 20:end5 30:105!",
        expect![[r#"
        13   cluster 1: Header 0 of 5
        33   cluster 1: Header 5 of 105
        57   cluster 1: Payload 0 of 5, frees it
        58   cluster 1: Payload 1 of 5, frees it
        59   cluster 1: Payload 2 of 5, frees it
        60   cluster 1: Payload 3 of 5
        77   cluster 1: Payload 5 of 105
        99   released 0
        100  released 1
        101  released 2
        104  cluster 1: Completion 3 of 5, frees it
        121  cluster 1: Completion 5 of 105, frees it
        146  released 3
        146  tells MessageDone { msgid: 5 }
        163  released 5
        163  tells MessageDone { msgid: 105 }
        scheduler.her_stall_cycles 88
        scheduler.hers_set_aside 2
        scheduler.hers 5
        scheduler.header_tasks 2
        scheduler.payload_tasks 5
        scheduler.completion_tasks 2
    "#]],
    );
}

#[test]
fn many_messages_of_a_tenant_get_no_more_tasks_than_one_of_another() {
    let scene = Scene { n_clusters: 1, max_tasks: 1, delay: 20, ..USUAL };
    let flood = "10:1! 11:2! 12:3! 13:4! 14:5! 15:6! 20:100!";
    check(
        scene,
        "p",
        flood,
        expect![[r#"
        13   cluster 0: Payload 0 of 1, frees it
        35   released 0
        35   tells MessageDone { msgid: 1 }
        36   cluster 0: Payload 1 of 2, frees it
        58   released 1
        58   tells MessageDone { msgid: 2 }
        59   cluster 0: Payload 2 of 3, frees it
        81   released 2
        81   tells MessageDone { msgid: 3 }
        82   cluster 0: Payload 5 of 6, frees it
        104  released 5
        104  tells MessageDone { msgid: 6 }
        105  cluster 0: Payload 3 of 4, frees it
        127  released 3
        127  tells MessageDone { msgid: 4 }
        128  cluster 0: Payload 4 of 5, frees it
        150  released 4
        150  tells MessageDone { msgid: 5 }
        151  cluster 0: Payload 6 of 100, frees it
        173  released 6
        173  tells MessageDone { msgid: 100 }
        scheduler.hers 7
        scheduler.payload_tasks 7
    "#]],
    );
    check(
        Scene { turns: true, ..scene },
        "p",
        flood,
        expect![[r#"
        13   cluster 0: Payload 0 of 1, frees it
        35   released 0
        35   tells MessageDone { msgid: 1 }
        36   cluster 0: Payload 1 of 2, frees it
        58   released 1
        58   tells MessageDone { msgid: 2 }
        59   cluster 0: Payload 2 of 3, frees it
        81   released 2
        81   tells MessageDone { msgid: 3 }
        82   cluster 0: Payload 6 of 100, frees it
        104  released 6
        104  tells MessageDone { msgid: 100 }
        105  cluster 0: Payload 5 of 6, frees it
        127  released 5
        127  tells MessageDone { msgid: 6 }
        128  cluster 0: Payload 3 of 4, frees it
        150  released 3
        150  tells MessageDone { msgid: 4 }
        151  cluster 0: Payload 4 of 5, frees it
        173  released 4
        173  tells MessageDone { msgid: 5 }
        scheduler.hers 7
        scheduler.payload_tasks 7
    "#]],
    );
}
