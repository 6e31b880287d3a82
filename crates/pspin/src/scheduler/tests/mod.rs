//! A scheduler between scripted requests and clusters that take a fixed time for each task.

use super::*;
use crate::delivery::{Delivery, EarlyPayload, WhenFull};
use crate::params::{Schedule, SchedulerParams, SharingParams};
use crate::protocol::{Context, Kill, Weight};
use crate::testing::{context, her, params};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use std::rc::Rc;
use testkit::{Bench, Log, bench};

mod early;
mod kills;
mod order;
mod tenants;
mod timeouts;

/// A cluster that ends each task `delay` cycles after it saw it, and tasks of tenant 1 after `slowdown` times this
/// number.
struct Cluster {
    position: usize,
    delay: u64,
    slowdown: u64,
    tasks: Rx<Task>,
    feedbacks: Tx<Feedback>,
    running: std::collections::VecDeque<(Cycle, Feedback)>,
    log: Log,
}

impl Component for Cluster {
    fn tick(&mut self, now: Cycle) -> Activity {
        if let Some(task) = self.tasks.take() {
            let Task { packet, taken, stage, msgid, pkt_addr, pkt_size, trigger_feedback, .. } = task;
            let frees = if trigger_feedback { ", frees it" } else { "" };
            self.log.note(now, format!("cluster {}: {stage:?} {} of {msgid}{frees}", self.position, packet.0));
            let feedback = Feedback { packet, taken, msgid, pkt_addr, pkt_size, trigger_feedback };
            let end = now + self.delay * if msgid / 100 == 1 { self.slowdown } else { 1 };
            let place = self.running.partition_point(|(other, _)| *other <= end);
            self.running.insert(place, (end, feedback));
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
    slowdown: u64,
    delivery: Delivery,
    turns: bool,
    schedule: Schedule,
    /// Weights of tenants 0, 1, 2.
    weights: [u32; 3],
    requests_get_lost: bool,
    keeps_packets: bool,
}

const RTL: Delivery = Delivery {
    when_full: WhenFull::Stall,
    ecn_threshold_percent: 100,
    early_payload: EarlyPayload::Buffer,
    early_packets: 16,
    timeout_cycles: 0,
};

const USUAL: Scene = Scene {
    n_mpqs: 256,
    shared_cells: 128,
    max_tasks: 20,
    n_clusters: 4,
    delay: 10,
    slowdown: 1,
    delivery: RTL,
    turns: false,
    schedule: Schedule::RoundRobin,
    weights: [1; 3],
    requests_get_lost: false,
    keeps_packets: false,
};

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
            let weight = Weight(scene.weights.get(tenant as usize).copied().unwrap_or(1));
            her.context = Rc::new(Context { tenant, weight, ..Context::clone(&context) });
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
        let (delay, slowdown, log) = (scene.delay, scene.slowdown, bench.log.clone());
        let running = std::collections::VecDeque::new();
        let cluster = Cluster { position, delay, slowdown, tasks, feedbacks, running, log };
        bench.add(&format!("cluster[{position}]"), cluster);
    }
    let Scene { n_mpqs, shared_cells, max_tasks, .. } = scene;
    let mut params = params();
    params.scheduler = SchedulerParams { n_mpqs, shared_cells, max_tasks_per_cluster: max_tasks, ..params.scheduler };
    let Scene { turns, schedule, .. } = scene;
    params.sharing =
        SharingParams { reserved_queues: 0, turns, schedule, packet_memory_percent: 100, ..params.sharing };
    params.rtl_mistakes.requests_get_lost = scene.requests_get_lost;
    params.rtl_mistakes.reused_queues_keep_packets = scene.keeps_packets;
    let trace = bench.tracer("scheduler");
    bench.add("scheduler", PacketScheduler::new(&params, None, ports, trace));
    bench.log_counters();
}

/// The usual scene with other delivery options.
fn delivery(change: impl FnOnce(&mut Delivery)) -> Scene {
    let mut delivery = RTL;
    change(&mut delivery);
    Scene { delivery, ..USUAL }
}

/// Requests are `cycle:msgid`, with `!` behind the last of a message; `handlers` has h, p and c for the handlers that
/// exist.
fn check(scene: Scene, handlers: &str, hers: &str, want: Expect) {
    want.assert_eq(&bench(2_000, |bench| set(bench, scene, handlers, hers)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any traffic in any queues, each packet runs once and leaves once, in the order of its queue, between
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
        let scene = Scene { n_mpqs, shared_cells, max_tasks, n_clusters, delay, delivery: RTL, turns, ..USUAL };
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

    /// Packets may stop, come late or be killed: each leaves once, done or dropped, and all queues drain.
    #[test]
    fn every_packet_leaves_once(
        steps in prop::collection::vec((0u64..30, 0u16..5, prop::sample::select(vec!["", "^", "v", "v", "!", "v!", "kill", "end"])), 1..60),
        handlers in prop::sample::select(vec!["p", "hp", "pc", "hpc", "hc"]),
        n_mpqs in prop::sample::select(vec![1u32, 2, 256]),
        shared_cells in 0u32..5, max_tasks in 1u32..5, delay in 1u64..60,
        early_packets in 1u32..4, drops in any::<bool>(), timeout_cycles in 1u64..60,
    ) {
        let mut cycle = 10;
        let words: Vec<_> = steps.iter().map(|&(wait, msgid, mark)| {
            cycle += wait;
            if mark.len() > 2 { format!("{cycle}:{mark}{msgid}") } else { format!("{cycle}:{msgid}{mark}") }
        }).collect();
        let early_payload = if drops { EarlyPayload::Drop } else { EarlyPayload::Buffer };
        let delivery = Delivery { early_payload, early_packets, timeout_cycles, ..RTL };
        let scene = Scene { n_mpqs, shared_cells, max_tasks, n_clusters: 2, delay, delivery, turns: false, ..USUAL };
        let log = bench(100_000, |bench| set(bench, scene, handlers, &words.join(" ")));
        let mut left: Vec<usize> = log.lines()
            .filter_map(|line| line.split_once("released "))
            .map(|(_, packet)| packet.split(' ').next().unwrap().parse().unwrap())
            .collect();
        left.sort_unstable();
        let want: Vec<usize> = (0..words.len()).filter(|&i| !words[i].contains(['k', 'e'])).collect();
        prop_assert_eq!(left, want);
        prop_assert!(!log.contains("packets_held"), "no descriptor is left behind: {}", log);
    }
}
