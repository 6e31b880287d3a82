use super::*;
use crate::policy::{Bucket, PolicyParams, PolicyTree};
use crate::testing::{flits, show};
use expect_test::{Expect, expect};
use testkit::Bench;

/// Two services: the first has nodes 4 and 5, the second node 6; two credits each, classes 0 to 3, strict priority.
fn params() -> SchedulerParams {
    let unit = |node| UnitParams { node: NodeId(node), credits: 2 };
    let service = |nodes: &[u8]| ServiceParams {
        units: nodes.iter().copied().map(unit).collect(),
        flow_affinity: false,
        policy: PolicyTree::of(PolicyParams::StrictPriority),
    };
    SchedulerParams {
        services: vec![service(&[4, 5]), service(&[6])],
        n_classes: 4,
        buffer: BufferParams { cells: 42, cell_bytes: 1536, read_cycles: 0, allocator: None },
        pifo: PifoParams {
            blocks: 1,
            push_cycles: 2,
            pop_cycles: 2,
            crossing_slots: 4,
            enqueue_cycles: 3,
            dequeue_cycles: 5,
            crossing: None,
        },
        dropping: DropParams { used_entries: 124, free_cells: 3, spared_entries: 8 },
        chain_push: true,
        detour_raise: 1,
    }
}

/// Packets at two ports, and credit notes `cycle +node` and `cycle -node`.
fn scene(bench: &mut Bench, params: SchedulerParams, inputs: [&str; 2], notes: &str) {
    let port = |bench: &mut Bench, i: usize| SchedulerPort {
        node: NodeId([0, 3][i]),
        input: bench.input(&format!("in{i}"), 2, flits(inputs[i])),
        output: bench.output(&format!("out{i}"), 2, |_| true, show),
    };
    let ports = vec![port(bench, 0), port(bench, 1)];
    let note = |word: &str| if word.starts_with('+') { CreditNote::Return } else { CreditNote::Cancel };
    let notes_of = |node: u8| {
        let notes = notes.split(';').filter_map(|line| line.trim().split_once(' '));
        notes
            .filter(|(_, word)| word[1..] == node.to_string())
            .map(|(at, word)| (at.parse().unwrap(), note(word)))
            .collect()
    };
    let notes = [4, 5, 6].map(|node| bench.input(&format!("notes {node}"), 4, notes_of(node))).into();
    let tracer = bench.tracer("it");
    bench.add("it", Scheduler::new(params, ports, notes, tracer));
}

fn check(params: SchedulerParams, inputs: [&str; 2], notes: &str, want: Expect) {
    want.assert_eq(&testkit::bench(2000, |bench| scene(bench, params.clone(), inputs, notes)));
}

/// As `check`, without flits but with queue, schedule and drop events and with counters.
fn check_events(params: SchedulerParams, inputs: [&str; 2], notes: &str, want: Expect) {
    let log = testkit::bench(20_000, |bench| {
        bench.log_events();
        bench.log_counters();
        scene(bench, params.clone(), inputs, notes);
    });
    let lines: Vec<&str> = log.lines().filter(|line| !line.contains(" out") && !line.contains(" credits ")).collect();
    want.assert_eq(&lines.join("\n"));
}

#[test]
fn a_packet_leaves_while_it_arrives() {
    check(
        params(),
        ["1 1 0 200", ""],
        "",
        expect![[r#"
        10   out0 #1 to 4
        11   out0 =
        12   out0 =
        13   out0 =
        14   out0 |
    "#]],
    );
}

#[test]
fn pushes_and_pops_happen_at_the_blocks_edges() {
    check(
        params(),
        ["2 1 0", ""],
        "",
        expect![[r#"
        12   out0 #1 to 4
        13   out0 |
    "#]],
    );
}

#[test]
fn packets_spread_over_units_and_wait_for_credits() {
    check(
        params(),
        ["1 1 0; 1 2 0; 1 3 0; 1 4 0; 1 5 0; 1 6 0", ""],
        "100 +5; 200 +4",
        expect![[r#"
        10   out0 #1 to 4
        11   out0 |
        12   out0 #2 to 5
        13   out0 |
        14   out0 #3 to 4
        15   out0 |
        16   out0 #4 to 5
        17   out0 |
        106  out0 #5 to 5
        107  out0 |
        206  out0 #6 to 4
        207  out0 |
    "#]],
    );
}

#[test]
fn a_cancel_removes_a_credit() {
    check(
        params(),
        ["9 1 1; 9 2 1", ""],
        "1 -6; 100 +6; 120 +6",
        expect![[r#"
        18   out0 #1 to 6
        19   out0 |
        106  out0 #2 to 6
        107  out0 |
    "#]],
    );
}

#[test]
fn the_next_units_are_chosen_ahead_while_they_have_credit() {
    // Packets are popped in cycles 4 and 6; a note seen in cycle 6 counts in cycle 6.
    check(
        params(),
        ["1 1 0>1; 1 2 0>1", ""],
        "1 -6; 6 -6",
        expect![[r#"
        10   out0 #1 to 4 then 6
        11   out0 |
        12   out0 #2 to 5
        13   out0 |
    "#]],
    );
    check(
        params(),
        ["1 1 0>1; 1 2 0>1", ""],
        "1 -6; 7 -6",
        expect![[r#"
        10   out0 #1 to 4 then 6
        11   out0 |
        12   out0 #2 to 5 then 6
        13   out0 |
    "#]],
    );
    check(
        SchedulerParams { chain_push: false, ..params() },
        ["1 1 0>1", ""],
        "",
        expect![[r#"
        10   out0 #1 to 4
        11   out0 |
    "#]],
    );
}

#[test]
fn the_most_urgent_goes_first_and_detours_are_more_urgent() {
    check_events(
        params(),
        ["1 1 1; 1 2 1; 1 3 1 p5; 1 4 1 p4; 1 5 1 p5 detour", ""],
        "100 +6; 110 +6; 120 +6",
        expect![[r#"
            4    event packet_queued id=0x1 service=0x1 rank=0x5
            4    event packet_scheduled id=0x1 node=0x6 waited=0x3
            6    event packet_queued id=0x2 service=0x1 rank=0x5
            6    event packet_scheduled id=0x2 node=0x6 waited=0x3
            8    event packet_queued id=0x3 service=0x1 rank=0x5
            10   event packet_queued id=0x4 service=0x1 rank=0x4
            12   event packet_queued id=0x5 service=0x1 rank=0x4
            100  event packet_scheduled id=0x4 node=0x6 waited=0x5d
            110  event packet_scheduled id=0x5 node=0x6 waited=0x65
            120  event packet_scheduled id=0x3 node=0x6 waited=0x73
            it.entered 5
            it.detours 1
            it.scheduled 5
            it.waited_cycles 315
            it.buffered_packet_cycles 345
            it.leaving_packet_cycles[0] 35
            it.pifo_cycles[0] 10
            it.credits[0] 2
            it.credits[1] 2"#]],
    );
}

#[test]
fn the_last_service_goes_first() {
    check_events(
        params(),
        ["", "1 1 1; 1 2 1; 1 3 0; 1 4 0; 1 5 0; 1 6 0; 9 7 0; 9 8 1"],
        "100 +4; 100 +6",
        expect![[r#"
            4    event packet_queued id=0x1 service=0x1 rank=0x5
            4    event packet_scheduled id=0x1 node=0x6 waited=0x3
            6    event packet_queued id=0x2 service=0x1 rank=0x5
            6    event packet_scheduled id=0x2 node=0x6 waited=0x3
            8    event packet_queued id=0x3 service=0x0 rank=0x5
            8    event packet_scheduled id=0x3 node=0x4 waited=0x3
            10   event packet_queued id=0x4 service=0x0 rank=0x5
            10   event packet_scheduled id=0x4 node=0x5 waited=0x3
            12   event packet_queued id=0x5 service=0x0 rank=0x5
            12   event packet_scheduled id=0x5 node=0x4 waited=0x3
            14   event packet_queued id=0x6 service=0x0 rank=0x5
            14   event packet_scheduled id=0x6 node=0x5 waited=0x3
            16   event packet_queued id=0x7 service=0x0 rank=0x5
            18   event packet_queued id=0x8 service=0x1 rank=0x5
            100  event packet_scheduled id=0x8 node=0x6 waited=0x55
            102  event packet_scheduled id=0x7 node=0x4 waited=0x59
            it.entered 8
            it.scheduled 8
            it.waited_cycles 192
            it.buffered_packet_cycles 240
            it.leaving_packet_cycles[1] 56
            it.pifo_cycles[0] 16"#]],
    );
}

#[test]
fn at_the_threshold_the_least_urgent_is_dropped() {
    let dropping = DropParams { used_entries: 3, free_cells: 0, spared_entries: 8 };
    let packets = "1 1 1; 1 2 1; 1 3 1 p3; 1 4 1 p9; 1 5 1 p2; 1 6 1 p1; 1 7 1 p8 c2";
    check_events(
        SchedulerParams { dropping, ..params() },
        [packets, ""],
        "100 +6; 110 +6; 120 +6",
        expect![[r#"
            4    event packet_queued id=0x1 service=0x1 rank=0x5
            4    event packet_scheduled id=0x1 node=0x6 waited=0x3
            6    event packet_queued id=0x2 service=0x1 rank=0x5
            6    event packet_scheduled id=0x2 node=0x6 waited=0x3
            8    event packet_queued id=0x3 service=0x1 rank=0x3
            10   event packet_queued id=0x4 service=0x1 rank=0x9
            12   event packet_queued id=0x5 service=0x1 rank=0x2
            14   event packet_dropped id=0x4 class=0x0 reason=0x2
            14   event packet_queued id=0x6 service=0x1 rank=0x1
            16   event packet_dropped id=0x7 class=0x2 reason=0x2
            16   event packet_queued id=0x7 service=0x1 rank=0x8
            100  event packet_scheduled id=0x6 node=0x6 waited=0x59
            110  event packet_scheduled id=0x5 node=0x6 waited=0x65
            120  event packet_scheduled id=0x3 node=0x6 waited=0x73
            it.entered 7
            it.scheduled 5
            it.waited_cycles 311
            it.buffered_packet_cycles 351
            it.leaving_packet_cycles[0] 35
            it.pifo_cycles[0] 14
            it.credits[0] 2
            it.credits[1] 2
            it.drops.entries[0] 1
            it.drops.entries[2] 1"#]],
    );
}

#[test]
fn a_shortage_of_cells_in_both_banks_drops_too() {
    let dropping = DropParams { used_entries: 124, free_cells: 1, spared_entries: 1 };
    let params = SchedulerParams {
        dropping,
        buffer: BufferParams { cells: 3, cell_bytes: 1536, read_cycles: 0, allocator: None },
        ..params()
    };
    let packets = ["1 1 1; 1 2 1; 50 3 1; 51 4 1; 60 5 1", "70 6 1; 80 7 1 p1; 90 8 1 p9"];
    check_events(
        params,
        packets,
        "100 +6; 110 +6; 120 +6; 130 +6",
        expect![[r#"
            4    event packet_queued id=0x1 service=0x1 rank=0x5
            4    event packet_scheduled id=0x1 node=0x6 waited=0x3
            6    event packet_queued id=0x2 service=0x1 rank=0x5
            6    event packet_scheduled id=0x2 node=0x6 waited=0x3
            54   event packet_queued id=0x3 service=0x1 rank=0x5
            56   event packet_queued id=0x4 service=0x1 rank=0x5
            64   event packet_queued id=0x5 service=0x1 rank=0x5
            74   event packet_queued id=0x6 service=0x1 rank=0x5
            84   event packet_dropped id=0x6 class=0x0 reason=0x3
            84   event packet_queued id=0x7 service=0x1 rank=0x1
            94   event packet_dropped id=0x8 class=0x0 reason=0x3
            94   event packet_queued id=0x8 service=0x1 rank=0x9
            100  event packet_scheduled id=0x7 node=0x6 waited=0x14
            110  event packet_scheduled id=0x3 node=0x6 waited=0x3c
            120  event packet_scheduled id=0x4 node=0x6 waited=0x44
            130  event packet_scheduled id=0x5 node=0x6 waited=0x46
            it.entered 8
            it.scheduled 6
            it.waited_cycles 224
            it.buffered_packet_cycles 278
            it.leaving_packet_cycles[0] 35
            it.leaving_packet_cycles[1] 7
            it.pifo_cycles[0] 16
            it.credits[0] 2
            it.credits[1] 2
            it.drops.cells[0] 2"#]],
    );
}

#[test]
fn a_full_bank_drops_packets_for_an_arriving_one() {
    let params = SchedulerParams {
        buffer: BufferParams { cells: 2, cell_bytes: 1536, read_cycles: 0, allocator: None },
        ..params()
    };
    check_events(
        params,
        ["1 1 1; 1 2 1; 50 3 1 p7; 60 4 1 p9; 70 5 0 200", ""],
        "100 +6; 110 +6",
        expect![[r#"
            4    event packet_queued id=0x1 service=0x1 rank=0x5
            4    event packet_scheduled id=0x1 node=0x6 waited=0x3
            6    event packet_queued id=0x2 service=0x1 rank=0x5
            6    event packet_scheduled id=0x2 node=0x6 waited=0x3
            54   event packet_queued id=0x3 service=0x1 rank=0x7
            64   event packet_queued id=0x4 service=0x1 rank=0x9
            70   event packet_dropped id=0x4 class=0x0 reason=0x3
            74   event packet_queued id=0x5 service=0x0 rank=0x5
            74   event packet_scheduled id=0x5 node=0x4 waited=0x3
            100  event packet_scheduled id=0x3 node=0x6 waited=0x32
            it.entered 5
            it.scheduled 4
            it.waited_cycles 59
            it.buffered_packet_cycles 96
            it.leaving_packet_cycles[0] 31
            it.pifo_cycles[0] 10
            it.credits[0] 1
            it.credits[1] 2
            it.credits[2] 1
            it.drops.cells[0] 1"#]],
    );
}

#[test]
fn a_full_bank_drops_only_its_own_packets() {
    // Packets 3 and 4 fill the first bank. Packet 7 of the second is the least urgent of all, but dropping it would free no
    // cell in the first.
    let dropping = DropParams { used_entries: 124, free_cells: 0, spared_entries: 8 };
    let params = SchedulerParams {
        dropping,
        buffer: BufferParams { cells: 2, cell_bytes: 1536, read_cycles: 0, allocator: None },
        ..params()
    };
    check_events(
        params,
        ["1 1 1; 1 2 1; 50 3 1 p7; 60 4 1 p8; 90 5 1 p1", "70 7 1 p9"],
        "120 +6; 130 +6; 140 +6",
        expect![[r#"
            4    event packet_queued id=0x1 service=0x1 rank=0x5
            4    event packet_scheduled id=0x1 node=0x6 waited=0x3
            6    event packet_queued id=0x2 service=0x1 rank=0x5
            6    event packet_scheduled id=0x2 node=0x6 waited=0x3
            54   event packet_queued id=0x3 service=0x1 rank=0x7
            64   event packet_queued id=0x4 service=0x1 rank=0x8
            74   event packet_queued id=0x7 service=0x1 rank=0x9
            90   event packet_dropped id=0x4 class=0x0 reason=0x3
            94   event packet_queued id=0x5 service=0x1 rank=0x1
            120  event packet_scheduled id=0x5 node=0x6 waited=0x1d
            130  event packet_scheduled id=0x3 node=0x6 waited=0x50
            140  event packet_scheduled id=0x7 node=0x6 waited=0x46
            it.entered 6
            it.scheduled 5
            it.waited_cycles 185
            it.buffered_packet_cycles 245
            it.leaving_packet_cycles[0] 28
            it.leaving_packet_cycles[1] 7
            it.pifo_cycles[0] 12
            it.credits[0] 2
            it.credits[1] 2
            it.drops.cells[0] 1"#]],
    );
}

#[test]
fn packets_that_cannot_be_scheduled_are_counted() {
    check_events(
        params(),
        ["1 1 7; 5 2 0 c9; 9 3 0 1537; 50 4 0 1536", ""],
        "",
        expect![[r#"
            1    event packet_dropped id=0x1 class=0x0 reason=0x5
            5    event packet_dropped id=0x2 class=0x9 reason=0x5
            9    event packet_dropped id=0x3 class=0x0 reason=0x4
            54   event packet_queued id=0x4 service=0x0 rank=0x5
            54   event packet_scheduled id=0x4 node=0x4 waited=0x4
            it.entered 1
            it.scheduled 1
            it.waited_cycles 4
            it.buffered_packet_cycles 33
            it.leaving_packet_cycles[0] 30
            it.pifo_cycles[0] 2
            it.credits[0] 1
            it.credits[1] 2
            it.credits[2] 2
            it.drops.too_long[0] 1
            it.drops.bad_descriptor[0] 1
            it.drops.bad_descriptor[3] 1"#]],
    );
}

#[test]
fn a_flow_with_affinity_stays_on_its_unit() {
    let mut params = params();
    params.services[0].flow_affinity = true;
    check_events(
        params,
        ["1 1 0 f1; 1 2 0 f1; 1 3 0 f1; 1 4 0 f2", ""],
        "100 +5",
        expect![[r#"
            4    event packet_queued id=0x1 service=0x0 rank=0x5
            4    event packet_scheduled id=0x1 node=0x5 waited=0x3
            6    event packet_queued id=0x2 service=0x0 rank=0x5
            6    event packet_scheduled id=0x2 node=0x5 waited=0x3
            8    event packet_queued id=0x3 service=0x0 rank=0x5
            10   event packet_queued id=0x4 service=0x0 rank=0x5
            100  event packet_scheduled id=0x3 node=0x5 waited=0x5f
            102  event packet_scheduled id=0x4 node=0x4 waited=0x5f
            it.entered 4
            it.scheduled 4
            it.waited_cycles 196
            it.buffered_packet_cycles 220
            it.leaving_packet_cycles[0] 28
            it.pifo_cycles[0] 8
            it.credits[0] 1
            it.credits[2] 2"#]],
    );
}

#[test]
fn a_leaky_bucket_delays_packets_even_if_units_have_credit() {
    let mut params = params();
    let bucket = Bucket { bytes_per_1000_cycles: 1000, burst_bytes: 0 };
    params.services[0].policy = PolicyTree::of(PolicyParams::LeakyBucket { buckets: vec![bucket; 4] });
    check_events(
        params,
        ["1 1 0 100; 1 2 0 100; 1 3 0 c1", ""],
        "",
        expect![[r#"
            4    event packet_queued id=0x1 service=0x0 rank=0x4
            4    event packet_scheduled id=0x1 node=0x4 waited=0x3
            8    event packet_queued id=0x2 service=0x0 rank=0x68
            10   event packet_queued id=0x3 service=0x0 rank=0xa
            10   event packet_scheduled id=0x3 node=0x5 waited=0x3
            104  event packet_scheduled id=0x2 node=0x4 waited=0x64
            it.entered 3
            it.scheduled 3
            it.waited_cycles 106
            it.buffered_packet_cycles 126
            it.leaving_packet_cycles[0] 23
            it.pifo_cycles[0] 6
            it.credits[1] 1
            it.credits[2] 2"#]],
    );
}

/// The second packet finds the only cell taken by the first packet, which no PIFO holds yet. The first packet can be dropped from
/// its push at cycle 4 on. So it is dropped at the next edge, and the second packet enters at the edge after that.
#[test]
fn a_packet_without_a_cell_tries_again_after_a_push() {
    let one_cell = SchedulerParams { buffer: BufferParams { cells: 1, ..params().buffer }, ..params() };
    check_events(
        one_cell,
        ["1 1 1; 3 2 1", ""],
        "1 -6; 1 -6",
        expect![[r#"
            4    event packet_queued id=0x1 service=0x1 rank=0x5
            5    event packet_dropped id=0x1 class=0x0 reason=0x3
            10   event packet_queued id=0x2 service=0x1 rank=0x5
            it.entered 2
            it.buffered_packet_cycles 19999
            it.pifo_cycles[0] 4
            it.credits[0] 2
            it.credits[1] 2
            it.drops.cells[0] 1"#]],
    );
}
