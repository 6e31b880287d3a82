//! Isolation of tenants from each other.

use super::*;

/// The log of a scene.
fn run(scene: Scene, handlers: &str, hers: &str) -> String {
    bench(2_000, |bench| set(bench, scene, handlers, hers))
}

/// Cycles of the lines with this text.
fn cycles(log: &str, text: &str) -> Vec<Cycle> {
    let lines = log.lines().filter(|line| line.contains(text));
    lines.map(|line| line.split(' ').next().expect("a cycle").parse().expect("a number")).collect()
}

/// The cycle of the only line with this text.
fn cycle(log: &str, text: &str) -> Cycle {
    let cycles = cycles(log, text);
    assert_eq!(cycles.len(), 1, "`{text}` in\n{log}");
    cycles[0]
}

fn counter(log: &str, name: &str) -> u64 {
    let value = log.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.map_or(0, |value| value.parse().expect("a number"))
}

/// Packets in the order in which their payload tasks start.
fn payloads(log: &str) -> Vec<u64> {
    let packet = |line: &str| Some(line.split_once("Payload ")?.1.split(' ').next()?.parse().expect("a packet"));
    log.lines().filter_map(packet).collect()
}

/// Cycles from when the scheduler can see a request until a cluster sees its task, if neither has to wait.
const REQUEST_TO_TASK: Cycle = 3;

/// The header handler of message 5 of tenant 0 runs for 40 cycles while four more packets arrive; the packets of tenant 1 follow.
const FLOOD: &str = "10:5 11:5 12:5 13:5 14:5! 20:105! 21:106!";

#[test]
fn a_tenant_without_descriptors_delays_others_unless_tenants_take_turns() {
    let alone = Scene { shared_cells: 1, delay: 40, ..USUAL };
    let [queued, turns] = [false, true].map(|turns| run(Scene { turns, ..alone }, "h", FLOOD));
    for log in [&queued, &turns] {
        // Each packet runs and leaves once, and the packets of message 5 stay in order.
        let order: Vec<u64> = payloads(log).into_iter().filter(|packet| *packet < 5).collect();
        assert_eq!(order, [0, 1, 2, 3, 4]);
        assert_eq!((counter(log, "scheduler.hers"), cycles(log, " released ").len()), (7, 7));
        for message in [5, 105, 106] {
            cycle(log, &format!("MessageDone {{ msgid: {message} }}"));
        }
        assert!(cycles(log, "Payload 0 of 5")[0] > cycle(log, "Header 0 of 5") + 40);
    }
    // Message 5 has two descriptors: that of its queue and the shared one. Its third packet blocks the port until a packet leaves the queue.
    let [header_of_5, payload_of_5] = ["Header 0 of 5", "Payload 0 of 5"].map(|text| cycle(&queued, text));
    for text in ["Header 5 of 105", "Header 6 of 106"] {
        assert!(cycle(&queued, text) > payload_of_5, "{text}");
    }
    assert_eq!(counter(&queued, "scheduler.hers_deferred"), 0);
    // With turns, three packets of message 5 are deferred, and tenant 1 does not wait.
    assert_eq!(cycle(&turns, "Header 0 of 5"), header_of_5);
    assert_eq!(cycle(&turns, "Header 5 of 105"), 20 + REQUEST_TO_TASK);
    assert_eq!(cycle(&turns, "Header 6 of 106"), 21 + REQUEST_TO_TASK);
    assert_eq!(counter(&turns, "scheduler.hers_deferred"), 3);
}

#[test]
fn a_kill_drops_deferred_requests_and_leaves_other_tenants_alone() {
    let scene = Scene { shared_cells: 1, delay: 40, turns: true, ..USUAL };
    let log = run(scene, "hp", "10:5 11:5 12:5 13:5 20:105! 22:kill5 23:5!");
    // All four packets of the message leave as dropped: two from the queue, two that were deferred. Packet 0 leaves last, after its header.
    for packet in 0..4 {
        cycle(&log, &format!("released {packet} dropped: message_killed"));
    }
    cycle(&log, "MessageKilled { msgid: 5, dropped: 4 }");
    assert!(cycle(&log, "released 0") > cycle(&log, "Header 0 of 5") + 40);
    assert!(["released 1", "released 2", "released 3"].iter().all(|text| cycle(&log, text) < 22 + 5));
    // The next packet begins a new message in the same queue, after the header of the killed one.
    assert!(cycle(&log, "Header 6 of 5") > cycle(&log, "released 0"));
    assert!(cycle(&log, "released 6") > cycle(&log, "Payload 6 of 5") + 40);
    assert_eq!(payloads(&log), [4, 6]);
    // Tenant 1 has the times that it has alone.
    let alone = run(scene, "hp", "20:105!");
    for (text, alone_text) in
        [("Header 4 of 105", "Header 0 of 105"), ("Payload 4 of 105", "Payload 0 of 105"), ("released 4", "released 0")]
    {
        assert_eq!(cycle(&log, text), cycle(&alone, alone_text), "{text}");
    }
    assert_eq!(["scheduler.kills", "scheduler.hers"].map(|name| counter(&log, name)), [1, 4]);
}

#[test]
fn the_end_of_a_message_reaches_its_last_deferred_request() {
    let scene = Scene { shared_cells: 1, delay: 40, turns: true, ..USUAL };
    let log = run(scene, "hpc", "10:5 11:5 12:5 13:5 20:end5 30:105!");
    // Packets 2 and 3 are deferred, and the end makes packet 3 the last.
    assert_eq!(counter(&log, "scheduler.hers_deferred"), 2);
    assert_eq!(payloads(&log).into_iter().filter(|packet| *packet < 4).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let completion = cycle(&log, "Completion 3 of 5, frees it");
    assert!(completion > cycle(&log, "Payload 3 of 5") + 40);
    assert!(cycle(&log, "released 3") > completion + 40);
    assert!((0..3).all(|packet| cycle(&log, &format!("released {packet}")) < completion));
    assert_eq!(cycle(&log, "MessageDone { msgid: 5 }"), cycle(&log, "released 3"));
    assert_eq!(cycle(&log, "Header 5 of 105"), 30 + REQUEST_TO_TASK);
}

#[test]
fn many_messages_of_a_tenant_get_no_more_tasks_than_one_of_another() {
    let scene = Scene { n_clusters: 1, max_tasks: 1, delay: 20, ..USUAL };
    let order = |turns| payloads(&run(Scene { turns, ..scene }, "p", "10:1! 11:2! 12:3! 13:4! 14:5! 15:6! 20:100!"));
    // Without turns the queues are served in a circle, and queue 100 follows the six queues of tenant 0.
    let queued = order(false);
    assert_eq!(queued.last(), Some(&6), "{queued:?}");
    // With turns, only tasks that were chosen before cycle 20 precede it: one runs, and two wait behind it.
    let turns = order(true);
    assert_eq!(turns[..4], [0, 1, 2, 6], "{turns:?}");
    for mut packets in [queued, turns] {
        packets.sort();
        assert_eq!(packets, [0, 1, 2, 3, 4, 5, 6]);
    }
}

/// The log of two messages, 5 of tenant 0 and 105 of tenant 1, with `packets` packets. One packet arrives in each cycle, of the
/// two messages in turn. There are 4 clusters with up to 9 tasks each.
fn backlogged(scene: Scene, packets: [u64; 2]) -> String {
    let scene = Scene { shared_cells: 512, max_tasks: 9, turns: true, delay: 60, ..scene };
    let words = (0..packets[0].max(packets[1])).flat_map(|i| {
        let of = |tenant: u64| {
            (i < packets[tenant as usize]).then(|| format!("{}:{}", 10 + 2 * i + tenant, 100 * tenant + 5))
        };
        [of(0), of(1)]
    });
    let words = words.flatten().collect::<Vec<_>>().join(" ");
    bench(6_000, |bench| set(bench, scene, "p", &words))
}

/// Tenants of the payload tasks in the order in which clusters see them.
fn tenants(log: &str) -> Vec<usize> {
    let lines = log.lines().filter_map(|line| line.split_once("Payload "));
    lines.map(|(_, task)| usize::from(task.contains(" of 105"))).collect()
}

fn jain(log: &str) -> f64 {
    counter(log, "scheduler.jain_millionths") as f64 / counter(log, "scheduler.contended_cycles") as f64 / 1e6
}

const SCHEDULES: [Schedule; 4] = [Schedule::RoundRobin, Schedule::WeightedRoundRobin, Schedule::Bvt, Schedule::Wlbvt];

#[test]
fn backlogged_tenants_get_tasks_by_weight() {
    for weights in [[1, 1, 1], [1, 2, 1], [3, 1, 1]] {
        let [_, weighted, bvt, limited] = SCHEDULES.map(|schedule| {
            tenants(&backlogged(Scene { schedule, weights, ..USUAL }, [120, 120]))
                .into_iter()
                .take(120)
                .collect::<Vec<_>>()
        });
        let part = f64::from(weights[1]) / f64::from(weights[0] + weights[1]);
        // The lighter tenant still waits after 120 tasks; the first 36 fill the clusters before both are backlogged.
        for order in [weighted, limited] {
            let ones = order[36..].iter().sum::<usize>() as f64;
            assert!((ones - part * 84.0).abs() <= 6.0, "{weights:?}: {ones} of 84");
        }
        // BVT compensates for the first 36, so the tenant may be ahead or behind by the capacity of the clusters, but
        // not by more.
        let ones = bvt.iter().sum::<usize>() as f64;
        assert!((ones - part * 120.0).abs() <= 36.0, "{weights:?}: {ones} of 120");
    }
}

#[test]
fn tasks_of_double_length_get_double_time_in_turns_and_half_of_it_with_a_limit() {
    // OSMOSIS's victim and congestor have tasks of cost 1 and 2. If both run equal numbers of tasks, they use HPUs in the
    // ratio 1 to 2: Jain's index is (1 + 2)^2 / (2 * (1 + 4)) = 0.9. If each has 18 of the 36 places, the index is 1.
    let scene = |schedule| Scene { schedule, slowdown: 2, ..USUAL };
    let [turns, weighted, _, limited] = SCHEDULES.map(|schedule| jain(&backlogged(scene(schedule), [200, 200])));
    for found in [turns, weighted] {
        assert!((found - 0.9).abs() < 0.02, "{found}");
    }
    assert!(limited > 0.97, "{limited}");
}

#[test]
fn no_schedule_leaves_clusters_idle_while_a_tenant_waits() {
    for schedule in SCHEDULES {
        // Tenant 1 ends early. Then tenant 0 has all 36 places: its last tasks take the time of a tenant alone.
        let log = backlogged(Scene { schedule, weights: [1, 9, 1], ..USUAL }, [200, 20]);
        let [first, last] = [0, 219].map(|i| cycles(&log, "Payload")[i]);
        // 220 tasks of 60 cycles in 36 places are seven rounds, in each of which tasks start within 36 cycles.
        assert!(last - first <= 6 * 61 + 36 + 20, "{schedule:?}: {}", last - first);
        assert_eq!(tenants(&log).len(), 220);
    }
}

#[test]
fn the_limit_holds_a_tenant_that_came_first() {
    // Tenant 0 fills all places before tenant 1 comes. From then on each finished task gives its place to tenant 1,
    // until tenant 1 has half of the places.
    let packets: Vec<_> =
        (0..150).map(|i| format!("{}:5", 10 + i)).chain((0..60).map(|i| format!("{}:105", 300 + i))).collect();
    let scene = Scene { shared_cells: 512, max_tasks: 9, turns: true, delay: 400, schedule: Schedule::Wlbvt, ..USUAL };
    let log = bench(6_000, |bench| set(bench, scene, "p", &packets.join(" ")));
    let order = tenants(&log);
    // A task that was at the output before is still tenant 0's.
    assert_eq!(order[..36], [0; 36]);
    assert_eq!(order[38..54].iter().sum::<usize>(), 16, "{:?}", &order[30..70]);
}
