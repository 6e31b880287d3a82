//! The DMA engine and the host, with input and output as text.

mod properties;
mod rates;
mod receive;
mod transmit;

use super::*;
use crate::drops::DropReason;
use crate::entry::Nodes;
use crate::nic::{Outside, Panic};
use crate::params::{PanicParams, ServiceSpec};
use crate::policy::{PolicyParams, PolicyTree};
use crate::protocol::{Hop, Leg, Message};
use crate::testing::{flits, show};
use crate::unit::{DelayUnitParams, EngineParams, ServiceTime};
use crate::world::{Classifier, ExternalPort, Outlet, Verdict};
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
        toml::from_str(include_str!("../../../../../presets/panic.toml")).expect("the preset must be valid");
    DmaParams { ring_slots: 4, prefetched: 4, rx_queues: 2, tx_queues: 3, ..preset.dma }
}

/// As `small`, over 16 lanes of PCIe 5.0 with simple latencies.
fn packets() -> DmaParams {
    let chip: PanicParams =
        toml::from_str(include_str!("../../../../../presets/panic-asic.toml")).expect("the preset must be valid");
    let mut params = DmaParams { pcie: chip.dma.pcie, ..small() };
    (params.pcie.link.latency_cycles, params.pcie.link.host_read_cycles) = (100, 50);
    params
}

/// A link of four lanes at 8 GT/s: 3.94 bytes a cycle in each direction.
fn slow() -> DmaParams {
    let mut params = DmaParams { ring_slots: 1024, prefetched: 64, ..packets() };
    (params.pcie.link.lanes, params.pcie.link.lane_mtps) = (4, 8000);
    params
}

/// Queue 0 goes to the network without a chain, queue 1 to service 3; queue 2 is unbound.
struct Bound;

impl Classifier for Bound {
    fn classify(&mut self, _now: Cycle, from: ExternalPort, _packet: &mut Vec<u8>) -> Verdict {
        let chain = (from == ExternalPort::Host(1)).then(|| Hop::new(3, 0));
        let exit = (from != ExternalPort::Host(2)).then_some(ExternalPort::Network(0));
        Verdict::along(chain, exit)
    }
}

/// The steps of a packet and their cycles.
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
    fn leave(&mut self, now: Cycle, side: ExternalPort, message: Message) {
        self.0.note(now, format!("left #{} {side:?}:{}", message.descriptor.id, marks(&message)));
    }

    fn drop(&mut self, now: Cycle, message: Message, reason: DropReason) {
        self.0.note(now, format!("dropped #{} {}", message.descriptor.id, reason.word()));
    }
}

/// Lists how each packet ended.
#[derive(Default)]
struct Lines(String);

impl Outlet for Lines {
    fn leave(&mut self, _now: Cycle, side: ExternalPort, message: Message) {
        self.0 += &format!("#{} {side:?}:{}\n", message.descriptor.id, marks(&message));
    }

    fn drop(&mut self, _now: Cycle, message: Message, reason: DropReason) {
        self.0 += &format!("#{} dropped: {}\n", message.descriptor.id, reason.word());
    }
}

/// Packets of a queue: cycle, number, bytes.
struct Listed(std::collections::VecDeque<(Cycle, u64, usize)>);

impl PortSource for Listed {
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
    params.check(1536, 64).expect("parameters must be valid");
    let bank_notes = bench.input("bank notes", 2, Vec::new());
    let mut sources: Vec<Box<dyn PortSource>> = Vec::new();
    for queue in 0..params.tx_queues as usize {
        let sent = sends.iter().find(|(which, _)| *which == queue).map_or(&[][..], |(_, sent)| sent);
        sources.push(Box::new(Listed(sent.iter().copied().collect())));
    }
    let wires = DmaWiring {
        node: NodeId(1),
        flit_bytes: 64,
        clock_hz: 1_000_000_000,
        input: bench.input("in", 8, input),
        sources,
        classifier: Rc::new(RefCell::new(Bound)),
        outlet,
        entry: Entry::new(Nodes::new(2, 1, [1]), bank_notes),
        sender: Sender::new(NodeId(1), 64, bench.output("out", 8, |_| true, show_out)),
        cells: None,
    };
    bench.add("dma", Dma::new(params, wires));
}

fn run(params: &DmaParams, input: &[(Cycle, Flit)], sends: Sends) -> String {
    bench(1_000_000, |bench| {
        let outlet = Rc::new(RefCell::new(Tell(bench.log.clone())));
        add(bench, params, input.to_vec(), sends, outlet);
    })
}

/// Checks the log of packets from the interconnect, written as in [`flits`], to the given host queues, and of packets from the
/// host.
fn check(params: &DmaParams, input: &str, queues: &[u16], sends: Sends, want: Expect) {
    want.assert_eq(&run(params, &to_host(input, queues), sends));
}

fn to_host(input: &str, queues: &[u16]) -> Vec<(Cycle, Flit)> {
    let mut queues = queues.iter();
    let mut flits = flits(input);
    for (_, flit) in &mut flits {
        if let Flit::Head(message) = flit {
            message.descriptor.side = ExternalPort::Host(*queues.next().expect("each packet needs a queue"));
        }
    }
    flits
}
