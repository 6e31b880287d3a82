use super::*;
use crate::pe::PeOp;
use crate::protocol::{BEAT_BYTES, beats};
use crate::testing::params;
use expect_test::{Expect, expect};
use isa::riscv::Amo;
use proptest::prelude::*;
use testkit::bench;

/// Number of bytes of each answer to reads of a cluster's DMA engine, while another initiator writes.
fn answered(dma: &[(Cycle, u32, u32)], far: &[(Cycle, u32, u32)]) -> Vec<u32> {
    let log = bench(20_000, |bench| {
        let reads = dma.iter().map(|&(at, addr, size)| (at, Burst::Read { tag: 0, addr, size, in_parts: false }));
        let bytes = |size| vec![0; size as usize].into();
        let writes =
            far.iter().map(|&(at, addr, size)| (at, Burst::Write { tag: 0, addr, data: bytes(size), last: true }));
        let show = |reply: &BurstReply| match reply {
            BurstReply::Data { data, .. } => data.len().to_string(),
            BurstReply::Written { .. } => "none".to_owned(),
            BurstReply::Later { .. } => "later".to_owned(),
        };
        let near = (bench.input("reads", 2, reads.collect()), bench.output("answer", 4, |_| true, show));
        let far = (bench.input("writes", 2, writes.collect()), bench.output("written", 4, |_| true, show));
        let ports = MemoryPorts { dma: vec![near], bursts: vec![far], ..Default::default() };
        let params = PspinParams { n_clusters: 1, ..params() };
        bench.add("memories", Memories::new(&params, &[], vec![0; params.l2.program_bytes as usize], ports));
    });
    let answers = log.lines().filter(|line| line.contains("answer") && !line.ends_with("later"));
    answers.map(|line| bytes_of(line).expect("a number is last")).collect()
}

/// Result of core 0's `sc.w` to the first word of handler memory, 50 cycles after its `lr.w`. In between, core 1 performs the
/// operations `core_1`, and the host does the writes `host`.
fn conditional(core_1: &[(u32, PeOp)], host: &[(u32, usize)]) -> u32 {
    let word = |offset| map::L2_HANDLER_BASE + offset;
    let own = |amo| PeRequest { core: 0, addr: word(0), op: PeOp::Amo { amo, operand: 7 } };
    let log = bench(1000, |bench| {
        let others = core_1.iter().map(|&(offset, op)| PeRequest { core: 1, addr: word(offset), op });
        let mut requested: Vec<_> = (20..).step_by(10).zip(others).collect();
        requested.insert(0, (1, own(Amo::LoadReserved)));
        requested.push((51, own(Amo::StoreConditional)));
        let writes = host.iter().map(|&(offset, n)| Burst::Write {
            tag: 0,
            addr: word(offset),
            data: vec![0; n].into(),
            last: true,
        });
        let of_core_0 = |reply: &PeReply| format!("core {} {}", reply.core, reply.value);
        let single = (bench.input("requested", 4, requested), bench.output("answer", 4, |_| true, of_core_0));
        let writes = bench.input("writes", 4, (20..).zip(writes).collect());
        let far = (writes, bench.output("written", 4, |_| true, |_| String::new()));
        let ports = MemoryPorts { pe: vec![single], bursts: vec![far], ..Default::default() };
        let params = PspinParams { n_clusters: 1, ..params() };
        bench.add("memories", Memories::new(&params, &[], vec![0; params.l2.program_bytes as usize], ports));
    });
    log.lines().rfind(|line| line.contains("core 0")).and_then(bytes_of).expect("core 0 is answered")
}

/// Answers of packet memory to four streams: `dma` are reads of the clusters' DMA engines in turn, `loads` are loads of
/// a cluster's cores, `reads` and `writes` are bursts of two initiators at the other port. Each access has its cycle
/// and address, each burst also its size.
fn check(
    dma: &[(Cycle, u32, u32)],
    loads: &[(Cycle, u32)],
    reads: &[(Cycle, u32, u32)],
    writes: &[(Cycle, u32, u32)],
    want: Expect,
) {
    want.assert_eq(&bench(1_000, |bench| {
        let at = |addr| map::L2_PACKET_BASE + addr;
        let read = |&(cycle, addr, size)| (cycle, Burst::Read { tag: 0, addr: at(addr), size, in_parts: false });
        let write = |&(cycle, addr, size): &(Cycle, u32, u32)| {
            (cycle, Burst::Write { tag: 0, addr: at(addr), data: vec![0; size as usize].into(), last: true })
        };
        let load = |(core, &(cycle, addr))| (cycle, PeRequest { core, addr: at(addr), op: PeOp::Load });
        let show = |reply: &BurstReply| match reply {
            BurstReply::Data { last, .. } => format!("last beat in {last}"),
            BurstReply::Written { .. } => String::new(),
            BurstReply::Later { .. } => "a cycle later".to_owned(),
        };
        // The reads of the clusters in turn.
        let dma = (0..4).map(|cluster| {
            let of_cluster = dma.iter().skip(cluster).step_by(4).map(read).collect();
            let name = |what| format!("{what} {cluster}");
            (bench.input(&name("dma"), 8, of_cluster), bench.output(&name("copied to"), 32, |_| true, show))
        });
        let dma = dma.collect();
        let loads = bench.input("loads", 8, (0..).zip(loads).map(load).collect());
        let loads = (loads, bench.output("loaded", 32, |_| true, |reply: &PeReply| reply.core.to_string()));
        let reads = bench.input("reads", 8, reads.iter().map(read).collect());
        let reads = (reads, bench.output("read", 32, |_| true, show));
        let writes = bench.input("writes", 8, writes.iter().map(write).collect());
        let writes = (writes, bench.output("written", 32, |_| true, show));
        let bursts = vec![reads, writes];
        let ports = MemoryPorts { dma, pe: vec![loads], bursts, ..Default::default() };
        let params = params();
        bench.add("memories", Memories::new(&params, &[], vec![0; params.l2.program_bytes as usize], ports));
    }));
}

#[test]
fn a_load_passes_between_the_beats_of_a_copy_and_delays_the_rest() {
    check(
        &[(10, 0, 0x200)],
        &[(12, 0x400), (14, 0x400)],
        &[],
        &[],
        expect![[r#"
            11   copied to 0 last beat in 21
            13   copied to 0 a cycle later
            15   copied to 0 a cycle later
            15   loaded 0
            17   loaded 1
        "#]],
    );
}

/// Cluster 0 may have two reads in flight, and its third waits for the first. It holds its turn meanwhile, and requests
/// of other clusters that come then do not count.
#[test]
fn a_copy_that_waits_keeps_its_turn_and_those_that_come_do_not_count() {
    let copies = [10, 14, 15, 50, 10, 50, 50, 50, 10, 50, 50, 50, 10];
    let copies: Vec<_> = copies.iter().zip(0..).map(|(&at, i)| (at, i * 0x40, 0x40)).collect();
    check(
        &copies,
        &[],
        &[],
        &[],
        expect![[r#"
            11   copied to 0 last beat in 14
            12   copied to 0 last beat in 15
            15   copied to 0 last beat in 18
            16   copied to 0 last beat in 19
            17   copied to 1 last beat in 20
            18   copied to 2 last beat in 21
            51   copied to 2 last beat in 54
            52   copied to 3 last beat in 55
            53   copied to 1 last beat in 56
            54   copied to 2 last beat in 57
            55   copied to 3 last beat in 58
            56   copied to 1 last beat in 59
            57   copied to 3 last beat in 60
        "#]],
    );
}

#[test]
fn a_load_waits_until_fewer_than_three_copies_with_one_half_of_the_identities_are_under_way() {
    let copies: Vec<_> = (0..8).map(|i| (10, i * 0x400, 0x400)).collect();
    check(
        &copies,
        &[(20, 0x8000)],
        &[],
        &[],
        expect![[r#"
            11   copied to 0 last beat in 29
            27   copied to 1 last beat in 45
            43   copied to 2 last beat in 61
            59   copied to 3 last beat in 77
            75   copied to 0 last beat in 93
            76   copied to 0 a cycle later
            78   loaded 0
            92   copied to 1 last beat in 110
            108  copied to 2 last beat in 126
            124  copied to 3 last beat in 142
        "#]],
    );
    check(
        &copies[..4],
        &[(20, 0x8000)],
        &[],
        &[],
        expect![[r#"
            11   copied to 0 last beat in 29
            21   copied to 0 a cycle later
            23   loaded 0
            28   copied to 1 last beat in 46
            44   copied to 2 last beat in 62
            60   copied to 3 last beat in 78
        "#]],
    );
}

#[test]
fn a_write_waits_while_three_reads_of_its_port_are_under_way() {
    check(
        &[],
        &[],
        &[(10, 0, 0x400), (11, 0x400, 0x400)],
        &[(13, 0x800, 0x40)],
        expect![[r#"
        11   read last beat in 28
        14   written
        27   read last beat in 44
    "#]],
    );
    let reads = [(10, 0, 0x400), (11, 0x400, 0x400), (12, 0x800, 0x400), (13, 0xc00, 0x400)];
    check(
        &[],
        &[],
        &reads,
        &[(14, 0x1000, 0x40)],
        expect![[r#"
        11   read last beat in 28
        27   read last beat in 44
        28   written
        43   read last beat in 60
        59   read last beat in 76
    "#]],
    );
}

#[test]
fn who_loses_a_bank_is_late_from_then_on() {
    // In cycle 13 both request the fourth bank. The read gets it, and both writes are a cycle later.
    check(
        &[],
        &[],
        &[(10, 0, 0x400)],
        &[(13, 0xc0, 0x400), (15, 0x1000, 0x400)],
        expect![[r#"
            11   read last beat in 28
            30   written
            46   written
        "#]],
    );
}

#[test]
fn a_reservation_is_lost_when_its_word_changes_and_not_otherwise() {
    let amo = |amo| PeOp::Amo { amo, operand: 3 };
    let byte = PeOp::Store { value: 0, mask: 0xff00 };
    let (kept, lost) = (0, 1);
    assert_eq!(conditional(&[], &[]), kept);
    assert_eq!(conditional(&[(0, PeOp::Load), (4, byte)], &[]), kept, "reads, and the next word");
    assert_eq!(conditional(&[(0, byte)], &[]), lost, "a byte, even of the same value");
    assert_eq!(conditional(&[(0, amo(Amo::Add))], &[]), lost);
    assert_eq!(conditional(&[(0, amo(Amo::StoreConditional))], &[]), kept, "without a reservation nothing is stored");
    assert_eq!(conditional(&[(0, amo(Amo::LoadReserved))], &[]), kept, "two may hold the same word");
    assert_eq!(conditional(&[(0, amo(Amo::LoadReserved)), (0, amo(Amo::StoreConditional))], &[]), lost, "one wins");
    assert_eq!(conditional(&[], &[(4, 64)]), kept, "bursts behind the word");
    assert_eq!(conditional(&[], &[(0, 1)]), lost);
    assert_eq!(conditional(&[], &[(3, 8)]), lost, "its last byte");
}

fn bytes_of(line: &str) -> Option<u32> {
    line.rsplit(' ').next()?.parse().ok()
}

fn bursts(bytes: u32) -> impl Strategy<Value = Vec<(Cycle, u32, u32)>> {
    let burst = (0u64..6, any::<bool>(), 0u32..8, 1..bytes).prop_map(|(wait, packet, bank, size)| {
        let base = if packet { map::L2_PACKET_BASE } else { map::L2_HANDLER_BASE };
        (wait, base + bank * BEAT_BYTES, size)
    });
    prop::collection::vec(burst, 1..80).prop_map(|mut bursts| {
        bursts.iter_mut().fold(0, |at, burst| {
            burst.0 += at;
            burst.0
        });
        bursts
    })
}

proptest! {
    /// A DMA engine's answers come in the order of its reads, whichever memories it reads and whichever requester holds a bank.
    #[test]
    fn a_dma_engine_is_answered_in_its_order(dma in bursts(300), far in bursts(300)) {
        let sizes: Vec<u32> = dma.iter().map(|&(.., size)| size).collect();
        prop_assert_eq!(answered(&dma, &far), sizes);
    }
}

/// Cluster 0 holds two beats from cycle 8 to 10: its read waits, and so does the later read of cluster 1.
#[test]
fn a_cluster_that_takes_no_data_stops_copies_of_others() {
    let run = |held: &[(Cycle, u32)]| {
        bench(1_000, |bench| {
            let read = |at: Cycle, addr| (at, Burst::Read { tag: 0, addr, size: 256, in_parts: false });
            let show = |reply: &BurstReply| match reply {
                BurstReply::Data { last, .. } => format!("last beat in {last}"),
                BurstReply::Written { .. } => String::new(),
                BurstReply::Later { beats } => format!("{beats} a cycle later"),
            };
            let (mut dma, mut dma_back) = (Vec::new(), Vec::new());
            for (name, at, held) in [("0", 1, held), ("1", 2, &[])] {
                let reads = vec![read(at, map::L2_PACKET_BASE + 0x100 * at as u32)];
                let to_engine = bench.output(&format!("{name} answered"), 4, |_| true, show);
                dma.push((bench.input(&format!("{name} reads"), 2, reads), to_engine));
                let late = bench.output(&format!("{name} late"), 8, |_| true, |at: &Cycle| at.to_string());
                dma_back.push((bench.input(&format!("{name} holds"), 2, held.to_vec()), late));
            }
            let params = PspinParams { n_clusters: 2, ..params() };
            let ports = MemoryPorts { dma, dma_back, ..Default::default() };
            bench.add("memories", Memories::new(&params, &[], vec![0; params.l2.program_bytes as usize], ports));
        })
    };
    expect![[r#"
        2    0 answered last beat in 8
        6    1 answered last beat in 12
    "#]]
    .assert_eq(&run(&[]));
    expect![[r#"
        2    0 answered last beat in 8
        6    1 answered last beat in 12
        8    0 late 8
        8    1 answered 2 a cycle later
        8    1 late 10
        9    0 late 9
        9    1 answered 2 a cycle later
        9    1 late 9
        10   0 late 10
        10   1 answered 2 a cycle later
        10   1 late 11
        11   1 late 10
        12   1 late 12
        13   1 late 11
    "#]]
    .assert_eq(&run(&[(7, 2), (10, 0)]));
}

const HANDLER_MEMORY: u32 = map::L2_HANDLER_BASE;
const PACKET_MEMORY: u32 = map::L2_PACKET_BASE;

/// The cycles in which the beats of each read of a DMA engine arrive at the engine, and those in which loads of cores of
/// cluster 0 are answered. Reads are cycle, cluster, address and bytes.
fn arrivals(reads: &[(Cycle, usize, u32, u32)], loads: &[(Cycle, u32)]) -> (Vec<Vec<Cycle>>, Vec<Cycle>) {
    let log = bench(20_000, |bench| {
        let show = |reply: &BurstReply| match reply {
            BurstReply::Data { last, .. } => format!("data {last}"),
            BurstReply::Written { .. } => unreachable!("nobody writes"),
            BurstReply::Later { beats } => format!("later {beats}"),
        };
        let dma = (0..4).map(|cluster| {
            let of_cluster = reads.iter().filter(|read| read.1 == cluster);
            let bursts =
                of_cluster.map(|&(at, _, addr, size)| (at, Burst::Read { tag: 0, addr, size, in_parts: false }));
            let input = bench.input(&format!("reads{cluster}"), 8, bursts.collect());
            (input, bench.output(&cluster.to_string(), 32, |_| true, show))
        });
        let dma = dma.collect();
        let load = |(core, &(at, addr)): (u32, &(Cycle, u32))| (at, PeRequest { core, addr, op: PeOp::Load });
        let requested = bench.input("requested", 8, (0..).zip(loads).map(load).collect());
        let loaded = bench.output("load", 32, |_| true, |_: &PeReply| String::new());
        let ports = MemoryPorts { dma, pe: vec![(requested, loaded)], ..Default::default() };
        let params = params();
        bench.add("memories", Memories::new(&params, &[], vec![0; params.l2.program_bytes as usize], ports));
    });
    let n_beats: Vec<u32> = reads.iter().map(|&(.., addr, size)| beats(addr, size)).collect();
    let mut answered: Vec<Vec<Cycle>> = vec![Vec::new(); reads.len()];
    let mut answered_loads = Vec::new();
    // The reads of each cluster that are not answered, and the last one that is.
    let mut waiting: [VecDeque<usize>; 4] =
        [0, 1, 2, 3].map(|cluster| (0..reads.len()).filter(|&read| reads[read].1 == cluster).collect());
    let mut last = [0; 4];
    for line in log.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<Cycle>().expect("a number");
        if words[1] == "load" {
            answered_loads.push(number(0));
            continue;
        }
        let cluster = number(1) as usize;
        if words[2] == "data" {
            last[cluster] = waiting[cluster].pop_front().expect("a read for each answer");
            let n = Cycle::from(n_beats[last[cluster]]);
            answered[last[cluster]] = (number(3) + 1 - n..=number(3)).collect();
        } else {
            answered[last[cluster]].iter_mut().rev().take(number(3) as usize).for_each(|at| *at += 1);
        }
    }
    (answered, answered_loads)
}

fn check_arrivals(reads: &[(Cycle, usize, u32, u32)], loads: &[(Cycle, u32)], want: Expect) {
    let (answered, answered_loads) = arrivals(reads, loads);
    let line = |(&(_, cluster, ..), at): (&(Cycle, usize, u32, u32), &Vec<Cycle>)| {
        let at: Vec<String> = at.iter().map(Cycle::to_string).collect();
        format!("cluster {cluster}: {}\n", at.join(" "))
    };
    let loads = answered_loads.iter().map(|at| format!("load: {at}\n"));
    want.assert_eq(&reads.iter().zip(&answered).map(line).chain(loads).collect::<String>());
}

/// While both memories have beats, each memory has every second turn. The first beat of the second memory does not wait.
#[test]
fn reads_of_both_memories_share_one_way_back() {
    check_arrivals(
        &[(10, 0, HANDLER_MEMORY, 512)],
        &[],
        expect![[r#"
        cluster 0: 15 16 17 18 19 20 21 22
    "#]],
    );
    check_arrivals(
        &[(10, 0, HANDLER_MEMORY, 512), (13, 1, PACKET_MEMORY, 256)],
        &[],
        expect![[r#"
        cluster 0: 15 16 18 20 22 24 25 26
        cluster 1: 17 19 21 23
    "#]],
    );
    check_arrivals(
        &[(10, 0, PACKET_MEMORY, 384), (13, 1, HANDLER_MEMORY, 192)],
        &[],
        expect![[r#"
        cluster 0: 14 15 16 17 19 21
        cluster 1: 18 20 22
    "#]],
    );
}

/// Four bursts are behind the filter, two of a cluster. A load, and then a fifth burst, wait until one has left it. The
/// fourth burst passes while the first comes back, the load while the second does, and the fifth burst while the third
/// does. Each time a beat waits for a cycle.
#[test]
fn reads_of_handler_memory_are_served_in_the_order_in_which_they_passed_the_filter() {
    let long = |cluster| (10, cluster, HANDLER_MEMORY, 1024);
    let reads = [long(0), long(1), long(0), long(1), (20, 2, HANDLER_MEMORY, 64)];
    check_arrivals(
        &reads,
        &[(22, HANDLER_MEMORY)],
        expect![[r#"
        cluster 0: 15 16 17 19 20 21 22 23 24 25 26 27 28 29 30 31
        cluster 1: 32 33 34 36 37 38 39 40 41 42 43 44 45 46 47 48
        cluster 0: 49 50 51 53 54 55 56 57 58 59 60 61 62 63 64 65
        cluster 1: 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81
        cluster 2: 82
        load: 51
    "#]],
    );
}

proptest! {
    /// At most one beat arrives in a cycle, for all clusters and from both memories. Beats of a cluster arrive in the
    /// order of its reads.
    #[test]
    fn one_beat_a_cycle_goes_to_the_dma_engines(reads in bursts(600), clusters in prop::collection::vec(0usize..4, 80)) {
        let reads: Vec<_> = reads.iter().zip(clusters).map(|(&(at, addr, size), cluster)| (at, cluster, addr, size)).collect();
        let (answered, _) = arrivals(&reads, &[]);
        for cluster in 0..4 {
            let of_cluster = reads.iter().zip(&answered).filter(|(read, _)| read.1 == cluster).flat_map(|(_, at)| at);
            prop_assert!(of_cluster.is_sorted(), "cluster {}: {:?}", cluster, answered);
        }
        let mut all: Vec<Cycle> = answered.concat();
        let n = all.len();
        prop_assert_eq!(n as u32, reads.iter().map(|&(.., addr, size)| beats(addr, size)).sum::<u32>());
        all.sort();
        all.dedup();
        prop_assert_eq!(all.len(), n, "two beats in a cycle: {:?}", answered);
    }
}
