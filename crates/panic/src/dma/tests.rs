use super::*;
use crate::entry::Nodes;
use crate::nic::{Outside, Panic};
use crate::params::{PanicParams, ServiceSpec};
use crate::policy::{Level, PolicyParams};
use crate::protocol::{Hop, Leg, Message};
use crate::testing::{flits, show};
use crate::unit::{DelayUnitParams, EngineParams, ServiceTime};
use crate::world::{Classifier, Outlet, Side, Verdict};
use blocks::pcie::PcieModel;
use expect_test::{Expect, expect};
use kernel::{Outcome, Time};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use testkit::{Bench, Log, bench};

/// The prototype's DMA engine with rings of four buffers; its clock is the bench's 1 GHz.
fn small() -> DmaParams {
    let preset: PanicParams =
        toml::from_str(include_str!("../../../../presets/panic.toml")).expect("the preset is right");
    DmaParams { ring_slots: 4, prefetched: 4, rx_queues: 2, tx_queues: 3, ..preset.dma }
}

/// The same over 16 lanes of PCIe 5.0, with latencies that are easy to see.
fn packets() -> DmaParams {
    let chip: PanicParams =
        toml::from_str(include_str!("../../../../presets/panic-asic.toml")).expect("the preset is right");
    let mut params = DmaParams { pcie: chip.dma.pcie, ..small() };
    (params.pcie.link.latency_cycles, params.pcie.link.host_read_cycles) = (100, 50);
    params
}

/// Queue 0 is bound to no chain and the network, queue 1 to service 3, queue 2 to nothing.
struct Bound;

impl Classifier for Bound {
    fn classify(&mut self, _now: Cycle, from: Side, _packet: &mut Vec<u8>) -> Verdict {
        let hop = Hop { service: 3, class: 0, priority: 0, metadata: 0, push_to: None };
        let chain = if from == Side::Host(1) { [hop].into_iter().collect() } else { Default::default() };
        let exit = (from != Side::Host(2)).then_some(Side::Network(0));
        Verdict { chain, exit, flow: 0, class: 0, slack_cycles: 0, fields: Default::default() }
    }
}

/// Steps and their cycles.
fn marks(message: &Message) -> String {
    let marks = message.descriptor.trail.marks().iter();
    marks.map(|mark| format!(" {:?} {}", mark.step, mark.at)).collect()
}

fn show_out(flit: &Flit) -> String {
    match flit {
        Flit::Head(message) => format!("{}:{}", show(flit), marks(message)),
        Flit::Body | Flit::Tail => show(flit),
    }
}

struct Tell(Log);

impl Outlet for Tell {
    fn leave(&mut self, now: Cycle, side: Side, message: Message) {
        self.0.note(now, format!("left #{} {side:?}:{}", message.descriptor.id, marks(&message)));
    }

    fn drop(&mut self, now: Cycle, message: Message, reason: &'static str) {
        self.0.note(now, format!("dropped #{} {reason}", message.descriptor.id));
    }
}

/// What left and how, as text.
#[derive(Default)]
struct Lines(String);

impl Outlet for Lines {
    fn leave(&mut self, _now: Cycle, side: Side, message: Message) {
        self.0 += &format!("#{} {side:?}:{}\n", message.descriptor.id, marks(&message));
    }

    fn drop(&mut self, _now: Cycle, message: Message, reason: &'static str) {
        self.0 += &format!("#{} dropped: {reason}\n", message.descriptor.id);
    }
}

/// Packets of a queue: cycle, number, bytes.
struct Listed(std::collections::VecDeque<(Cycle, u64, usize)>);

impl PacketSource for Listed {
    fn next(&mut self, now: Cycle) -> Option<Arrival> {
        let &(at, id, len) = self.0.front()?;
        (at <= now).then(|| {
            self.0.pop_front();
            Arrival { id, bytes: (0..len).map(|i| (i as u64 * 7 + id) as u8).collect() }
        })
    }

    fn next_at(&mut self) -> Option<Cycle> {
        self.0.front().map(|&(at, ..)| at)
    }
}

type Sends<'a> = &'a [(usize, &'a [(Cycle, u64, usize)])];

fn add(bench: &mut Bench, params: &DmaParams, input: Vec<(Cycle, Flit)>, sends: Sends, outlet: SharedOutlet) {
    params.check(1536, 64).expect("parameters are right");
    let bank_notes = bench.input("bank notes", 2, Vec::new());
    let mut sources: Vec<Box<dyn PacketSource>> = Vec::new();
    for queue in 0..params.tx_queues as usize {
        let sent = sends.iter().find(|(which, _)| *which == queue).map_or(&[][..], |(_, sent)| sent);
        sources.push(Box::new(Listed(sent.iter().copied().collect())));
    }
    let wires = DmaWiring {
        node: NodeId(1),
        flit_bytes: 64,
        clock_mhz: 1000,
        input: bench.input("in", 8, input),
        sources,
        classifier: Rc::new(RefCell::new(Bound)),
        outlet,
        entry: Entry::new(Nodes::new(2, 1, [1]), bank_notes),
        sender: Sender::new(NodeId(1), 64, bench.output("out", 8, |_| true, show_out)),
    };
    bench.add("dma", Dma::new(params, wires));
}

fn run(params: &DmaParams, input: &[(Cycle, Flit)], sends: Sends) -> String {
    bench(1_000_000, |bench| {
        let outlet = Rc::new(RefCell::new(Tell(bench.log.clone())));
        add(bench, params, input.to_vec(), sends, outlet);
    })
}

/// What comes out of the interconnect, as in [`flits`], and goes to the queues beside it; what the host sends.
fn check(params: &DmaParams, input: &str, queues: &[u16], sends: Sends, want: Expect) {
    want.assert_eq(&run(params, &to_host(input, queues), sends));
}

fn to_host(input: &str, queues: &[u16]) -> Vec<(Cycle, Flit)> {
    let mut queues = queues.iter();
    let mut flits = flits(input);
    for (_, flit) in &mut flits {
        if let Flit::Head(message) = flit {
            message.descriptor.side = Side::Host(*queues.next().expect("a queue for each packet"));
        }
    }
    flits
}

#[test]
fn host_memory_at_hand_adds_a_cycle() {
    // The tail of the first is there in cycle 13.
    check(
        &small(),
        "10 1 0 192; 14 2 0 64; 16 3 0 65",
        &[0, 1, 0],
        &[],
        expect![[r#"
        14   left #1 Host(0): Leaving 10 Left 14
        16   left #2 Host(1): Leaving 14 Left 16
        19   left #3 Host(0): Leaving 16 Left 19
    "#]],
    );
}

#[test]
fn over_pcie_the_last_byte_is_there_after_the_latency() {
    check(
        &packets(),
        "10 1 0 64; 20 2 0 1536",
        &[0, 0],
        &[],
        expect![[r#"
        113  left #1 Host(0): Leaving 10 Left 113
        151  left #2 Host(0): Leaving 20 Left 151
    "#]],
    );
}

#[test]
fn a_packet_without_bytes_passes_none_and_leaves_with_its_completion() {
    check(
        &packets(),
        "10 1 0 1536; 40 2 0 0",
        &[0, 0],
        &[],
        expect![[r#"
        141  left #1 Host(0): Leaving 10 Left 141
        142  left #2 Host(0): Leaving 40 Left 142
    "#]],
    );
}

#[test]
fn a_queue_without_buffers_drops() {
    // Four buffers, which come back 300 cycles after the completion is in memory.
    let params = DmaParams { host_cycles: 300, ..small() };
    let input = "10 1 0; 20 2 0; 30 3 0; 40 4 0; 50 5 0; 60 6 0; 400 7 0; 410 8 0 3000";
    check(
        &params,
        input,
        &[0, 0, 0, 0, 0, 1, 0, 0],
        &[],
        expect![[r#"
        12   left #1 Host(0): Leaving 10 Left 12
        22   left #2 Host(0): Leaving 20 Left 22
        32   left #3 Host(0): Leaving 30 Left 32
        42   left #4 Host(0): Leaving 40 Left 42
        51   dropped #5 no_host_buffer
        62   left #6 Host(1): Leaving 60 Left 62
        402  left #7 Host(0): Leaving 400 Left 402
        457  dropped #8 long_for_host_buffer
    "#]],
    );
    check(
        &small(),
        "10 1 0",
        &[2],
        &[],
        expect![[r#"
        11   dropped #1 no_host_buffer
    "#]],
    );
}

#[test]
fn what_a_unit_drops_takes_no_buffer() {
    let mut input = to_host("10 1 0 128; 20 2 0", &[0, 0]);
    let Flit::Head(message) = &mut input[0].1 else { panic!("a message begins with its descriptor") };
    message.leg = Leg::Dropped("bad_tag");
    expect![[r#"
        12   dropped #1 bad_tag
        22   left #2 Host(0): Leaving 20 Left 22
    "#]]
    .assert_eq(&run(&small(), &input, &[]));
}

#[test]
fn the_host_sends_through_the_chain_of_the_queue() {
    check(
        &small(),
        "",
        &[],
        &[(0, &[(10, 1, 130), (11, 2, 0)]), (1, &[(10, 3, 64)]), (2, &[(30, 4, 64)])],
        expect![[r#"
            18   out #1 to 2 Exit: Arrived 15 Entered 17
            19   out =
            20   out =
            21   out |
            22   out #3 to 0 Entry: Arrived 18 Entered 21
            23   out |
            24   out #2 to 2 Exit: Arrived 19 Entered 23
            25   out |
            33   dropped #4 no_exit
        "#]],
    );
}

#[test]
fn a_packet_of_the_host_takes_a_doorbell_and_two_reads() {
    // 100 cycles for the doorbell, then twice 100 there, 50 in the host, 100 back.
    check(
        &packets(),
        "",
        &[],
        &[(0, &[(10, 1, 64)])],
        expect![[r#"
            616  out #1 to 2 Exit: Arrived 615 Entered 615
            617  out |
        "#]],
    );
}

#[test]
fn what_fits_into_no_buffer_is_not_sent() {
    check(
        &small(),
        "",
        &[],
        &[(0, &[(10, 1, 2049), (10, 2, 100)])],
        expect![[r#"
            10   dropped #1 long_for_host_buffer
            16   out #2 to 2 Exit: Arrived 14 Entered 15
            17   out =
            18   out |
        "#]],
    );
}

/// The prototype with a delay unit of 20 cycles as its only service, to which transmit queue 1 is bound.
#[test]
fn in_the_whole_nic_what_the_host_sends_goes_through_its_chain_to_the_wire() {
    let preset = include_str!("../../../../presets/panic.toml");
    let mut params: PanicParams = toml::from_str(preset).expect("the preset is right");
    let delay = DelayUnitParams { service: ServiceTime::Fixed { cycles: 20 }, gap_cycles: 2 };
    let of_no_name = || ServiceSpec {
        name: String::new(),
        units: 1,
        credits: 2,
        engine: EngineParams::Delay(delay),
        flow_affinity: false,
        policy: Level::of(PolicyParams::Fifo),
    };
    params.services = (0..4).map(|i| ServiceSpec { name: format!("delay {i}"), ..of_no_name() }).collect();
    let kept = Rc::new(RefCell::new(Lines::default()));
    let network = Listed([(1, 9, 64)].into());
    let mut outside = Outside::new(vec![Box::new(network)], Rc::new(RefCell::new(Bound)), kept.clone());
    outside.transmits = vec![Box::new(Listed([(100, 1, 64)].into())), Box::new(Listed([(100, 2, 128)].into()))];
    let outcome = Panic::new(&params, 1, outside).system.run_until(Time::from_ns(10_000));
    assert_eq!(outcome, Outcome::Quiet, "all is done");
    expect![[r#"
        #9 Network(0): Arrived 1 Entered 2 Leaving 13 Left 14
        #1 Network(0): Arrived 104 Entered 104 Leaving 115 Left 116
        #2 Network(0): Arrived 105 Entered 106 Queued 117 Scheduled 150 Taken 161 Begun 162 Done 183 Leaving 194 Left 196
    "#]].assert_eq(&kept.borrow().0);
}

/// A link of four lanes of 8 GT/s: 3.94 bytes a cycle in each direction.
fn slow() -> DmaParams {
    let mut params = DmaParams { ring_slots: 1024, prefetched: 64, ..packets() };
    (params.pcie.link.lanes, params.pcie.link.lane_mtps) = (4, 8000);
    params
}

/// Cycles of a step of each packet, in order.
fn cycles(log: &str, word: &str) -> Vec<Cycle> {
    let after = |line: &str| line.split_once(word)?.1.split_whitespace().next()?.parse().ok();
    log.lines().filter_map(after).collect()
}

/// Bytes a cycle of packets of `len` in the middle of the run, when all queues on the way are full.
fn rate(cycles: &[Cycle], len: usize) -> f64 {
    let (first, last) = (cycles.len() * 3 / 8, cycles.len() * 5 / 8);
    (len * (last - first)) as f64 / (cycles[last] - cycles[first]) as f64
}

#[test]
fn pcie_is_the_limit_that_its_formula_says() {
    let line = 4.0 * 8.0 * 128.0 / 130.0 / 8.0;
    let n = 400;
    for len in [64_usize, 1000, 1536] {
        let packets: Vec<String> = (0..n).map(|i| format!("10 {i} 0 {len}")).collect();
        let log = run(&slow(), &to_host(&packets.join(";"), &vec![0; n]), &[]);
        // Write packets and a completion, 24 bytes around each; a request for four descriptors.
        let on_line = (len + 24 * len.div_ceil(256) + 40) as f64 + 24.0 / 4.0;
        let (found, want) = (rate(&cycles(&log, " Left "), len), line * len as f64 / on_line);
        assert!((found / want - 1.0).abs() < 0.01, "receive {len}: {found} {want}");
        // The interconnect waits: no more is on the card than it has room for.
        let (leaving, left) = (cycles(&log, " Leaving "), cycles(&log, " Left "));
        let most = left.iter().zip(&leaving).map(|(left, leaving)| left - leaving).max().expect("packets");
        let held = (64.0 + 32.0 + 24.0) * 64.0 * on_line / len as f64 / line;
        assert!((most as f64) < 100.0 + held, "{len}: {most} {held}");

        let sent: Vec<_> = (0..n as u64).map(|i| (10, i, len)).collect();
        let log = run(&slow(), &[], &[(0, &sent)]);
        // Completions of 64 bytes with 20 around each, and one for four descriptors.
        let on_line = (len + 20 * len.div_ceil(64)) as f64 + 84.0 / 4.0;
        let (found, want) = (rate(&cycles(&log, "Entered "), len), line * len as f64 / on_line);
        assert!((found / want - 1.0).abs() < 0.01, "transmit {len}: {found} {want}");
    }
}

#[test]
fn with_memory_at_hand_each_direction_has_the_rate_of_the_interconnect() {
    let params = DmaParams { ring_slots: 1024, prefetched: 64, ..small() };
    let n = 400;
    for len in [64_usize, 1536] {
        let packets: Vec<String> = (0..n).map(|i| format!("10 {i} 0 {len}")).collect();
        let sent: Vec<_> = (0..n as u64).map(|i| (10, i, len)).collect();
        let received = run(&params, &to_host(&packets.join(";"), &vec![0; n]), &[]);
        let sent = run(&params, &[], &[(1, &sent)]);
        let want = len as f64 / (1.0 + len as f64 / 64.0);
        for (log, step) in [(received, " Left "), (sent, "Entered ")] {
            let found = rate(&cycles(&log, step), len);
            assert!((found / want - 1.0).abs() < 0.01, "{step} {len}: {found} {want}");
        }
    }
}

/// Keeps packets by number, and drops.
#[derive(Default)]
struct Kept {
    left: Vec<(u64, Vec<u8>)>,
    dropped: Vec<u64>,
}

impl Outlet for Rc<RefCell<Kept>> {
    fn leave(&mut self, _now: Cycle, _side: Side, message: Message) {
        self.borrow_mut().left.push((message.descriptor.id, message.data));
    }

    fn drop(&mut self, _now: Cycle, message: Message, _reason: &'static str) {
        self.borrow_mut().dropped.push(message.descriptor.id);
    }
}

fn any_params() -> impl Strategy<Value = DmaParams> {
    let sizes = (2_u32..8, 2_u32..6, 2_u32..40, 33_u32..100, 0_u32..300);
    (sizes, 0_usize..3, 1_u32..3).prop_map(|((slots, ahead, rx_flits, tx_flits, host_cycles), model, lanes)| {
        let mut params = DmaParams { host_cycles, rx_flits, tx_flits, ..slow() };
        params.ring_slots = 1 << slots;
        params.prefetched = 1 << ahead.min(slots);
        params.pcie.model = [PcieModel::Ideal, PcieModel::FixedRate, PcieModel::Tlp][model];
        params.pcie.link.lanes = 1 << lanes;
        params
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// In three kernel modes every packet from the interconnect is in host memory once, unchanged, or is counted as dropped; every
    /// packet of the host goes into the interconnect or is dropped; queues keep their order.
    #[test]
    fn nothing_is_lost_and_nothing_comes_twice(
        params in any_params(),
        received in proptest::collection::vec((0_usize..1700, 0_u16..3, 1_u64..40), 0..40),
        sent in proptest::collection::vec((0_usize..2100, 0_usize..3, 1_u64..40), 0..40),
    ) {
        let mut at = 0;
        let texts: Vec<String> = received.iter().enumerate().map(|(i, &(len, _, gap))| {
            at += gap;
            format!("{at} {i} 0 {len}")
        }).collect();
        let queues: Vec<u16> = received.iter().map(|&(_, queue, _)| queue).collect();
        let mut input = to_host(&texts.join(";"), &queues);
        for (_, flit) in &mut input {
            if let Flit::Head(message) = flit {
                let id = message.descriptor.id;
                message.data.iter_mut().enumerate().for_each(|(i, byte)| *byte = (i as u64 * 3 + id) as u8);
            }
        }
        let mut sends: [Vec<(Cycle, u64, usize)>; 3] = Default::default();
        let mut at = 0;
        for (i, &(len, queue, gap)) in sent.iter().enumerate() {
            at += gap;
            sends[queue].push((at, 1000 + i as u64, len));
        }
        let sends: Vec<(usize, &[_])> = sends.iter().enumerate().map(|(i, sends)| (i, &sends[..])).collect();
        let runs: Rc<RefCell<Vec<Rc<RefCell<Kept>>>>> = Rc::default();
        let log = bench(1_000_000, |bench| {
            let kept: Rc<RefCell<Kept>> = Rc::default();
            runs.borrow_mut().push(kept.clone());
            add(bench, &params, input.clone(), &sends, Rc::new(RefCell::new(kept)));
            bench.log_counters();
        });
        let entered: Vec<u64> = log.lines().filter_map(|line| line.split_once("out #")?.1.split(' ').next()?.parse().ok()).collect();
        for kept in runs.borrow().iter() {
            let kept = kept.borrow();
            let mut ids: Vec<u64> = kept.left.iter().map(|&(id, _)| id).chain(kept.dropped.iter().copied()).chain(entered.iter().copied()).collect();
            ids.sort_unstable();
            let all: Vec<u64> = (0..received.len() as u64).chain((0..sent.len() as u64).map(|i| 1000 + i)).collect();
            prop_assert_eq!(ids, all);
            for (id, bytes) in &kept.left {
                let (len, queue, _) = received[*id as usize];
                prop_assert!(queue < 2 && bytes.len() == len);
                prop_assert!(bytes.iter().enumerate().all(|(i, &byte)| byte == (i as u64 * 3 + id) as u8));
            }
            for queue in 0..3 {
                let of_queue = |id: &&u64| sent[(**id - 1000) as usize].1 == queue;
                prop_assert!(entered.iter().filter(of_queue).is_sorted());
            }
            prop_assert!(kept.left.iter().map(|(id, _)| id).is_sorted());
            let counted: u64 = log.lines().filter_map(|line| line.split_once(".drops.")?.1.split_once(' ')?.1.parse::<u64>().ok()).sum();
            prop_assert_eq!(counted, kept.dropped.len() as u64);
        }
    }
}
