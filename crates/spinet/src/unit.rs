//! A core-based unit of a PANIC NIC alone: a program, packets, and the results.
//!
//! Packets are offered as fast as the unit's credits allow, so the output rate is the unit's own.

use crate::elf::{Elf, ElfError};
use kernel::{Activity, Component, Cycle, Freq, Outcome, Ports, Rx, SystemBuilder, Tx};
use panic::protocol::{CreditNote, Descriptor, Fields, Flit, Hop, Leg, Message, NodeId, PacketStep, n_flits};
use panic::unit::riscv::{Image, Program, RiscvParams, RiscvUnit, Segment, Sizes, Symbol};
use panic::unit::{EngineParams, TrafficManager, TrafficManagerParams, TrafficManagerWiring};
use panic::world::ExternalPort;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// The unit of the paper's prototype, with the parameters of `presets/units/riscv.toml`.
pub const PRESET: &str = include_str!("../../../presets/units/riscv.toml");

/// An invalid request.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum UnitError {
    #[error(transparent)]
    Elf(#[from] ElfError),
    #[error("{file}: {problem}")]
    Program { file: String, problem: String },
    #[error("the unit: {0}")]
    Params(String),
    #[error("{name} is {found}, must be {allowed}")]
    Number { name: &'static str, found: u64, allowed: &'static str },
    #[error("packet {packet} has {bytes} bytes, must have 1 to {longest}")]
    Packet { packet: usize, bytes: usize, longest: usize },
}

/// A packet for a unit, with the fields that the RMT pipeline sets.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// The packet.
    pub bytes: Vec<u8>,
    /// Its flow.
    pub flow: u32,
    /// The pipeline's hash.
    pub hash: u32,
    /// Metadata of the unit's hop.
    pub metadata: u64,
    /// Offsets of the network and the transport header; 0 for a missing one.
    pub headers: [u16; 2],
}

/// Settings of a unit.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its parameters.
    pub params: RiscvParams,
    /// Its clock.
    pub clock_mhz: u32,
    /// Maximum number of packets in the unit.
    pub credits: u32,
    /// Cycles after which the run ends, if the unit is still not done.
    pub most_cycles: u64,
}

/// The result for a packet.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Its position among the offers.
    pub packet: u64,
    /// The bytes of its output; empty if it was dropped.
    #[serde(skip)]
    pub bytes: Vec<u8>,
    /// Why it was dropped.
    pub dropped: Option<&'static str>,
    /// Cycle in which the program took it, if it did.
    pub begun: Option<Cycle>,
    /// Cycle in which its last flit left.
    pub left: Cycle,
}

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Output rate in Gbit/s of packets, over the middle half of the packets, without start and end; `None` for fewer
    /// than 8 packets.
    pub gbps: Option<f64>,
    /// Cycles of the whole run.
    pub cycles: u64,
    /// True if all packets came out.
    pub is_done: bool,
    /// The result for each packet, in order.
    pub answers: Vec<Answer>,
    /// The unit's counters, by name.
    pub counters: Vec<(String, u64)>,
    /// Faults of the program, as text; the first ones only.
    pub troubles: Vec<String>,
}

/// The program in an ELF file, in the form that units take.
pub fn image(elf: &Elf) -> Image {
    let segment = |part: &crate::elf::LoadedBytes| Segment {
        place: part.place.clone(),
        addr: part.addr,
        bytes: part.bytes.clone(),
        size: part.size,
    };
    let symbol =
        |symbol: &crate::elf::Symbol| Symbol { name: symbol.name.clone(), addr: symbol.addr, size: symbol.size };
    Image {
        segments: elf.segments.iter().map(segment).collect(),
        entry: elf.entry,
        symbols: elf.symbols.iter().filter(|symbol| symbol.is_code).map(symbol).collect(),
    }
}

/// The unit that a text in TOML describes, as the `engine` of a service does.
pub fn params(text: &str) -> Result<RiscvParams, UnitError> {
    match toml::from_str(text) {
        Ok(EngineParams::Riscv(params)) => Ok(params),
        Ok(_) => Err(UnitError::Params("kind must be \"riscv\"".into())),
        Err(error) => Err(UnitError::Params(error.to_string())),
    }
}

const FLIT_BYTES: usize = 64;
/// Maximum size of a packet, in bytes: that of a cell of the packet buffer. Source: RTL.
const LONGEST: usize = 1536;

/// Runs a program on packets.
pub fn run(elf: &Elf, setting: &Setting, offers: Vec<Offer>) -> Result<Report, UnitError> {
    let params = &setting.params;
    params.check().and_then(|()| params.check_longest(LONGEST)).map_err(UnitError::Params)?;
    let number = |name, found, is_legal, allowed| {
        if is_legal { Ok(()) } else { Err(UnitError::Number { name, found, allowed }) }
    };
    number("clock_mhz", setting.clock_mhz.into(), (1..=100_000).contains(&setting.clock_mhz), "1 to 100000")?;
    number("credits", setting.credits.into(), (1..=1024).contains(&setting.credits), "1 to 1024")?;
    number("most_cycles", setting.most_cycles, (1..=1 << 40).contains(&setting.most_cycles), "1 to 2^40")?;
    for (packet, offer) in offers.iter().enumerate() {
        let bytes = offer.bytes.len();
        if bytes == 0 || bytes > LONGEST {
            return Err(UnitError::Packet { packet, bytes, longest: LONGEST });
        }
    }
    let image = Rc::new(image(elf));
    image.check(params).map_err(|problem| UnitError::Program { file: elf.file.clone(), problem })?;
    let program = Program::new(image);

    let n_packets = offers.len();
    let mut builder = SystemBuilder::new(1);
    let freq = Freq::mhz(setting.clock_mhz.into()).expect("a clock in its range");
    let clock = builder.clock(freq);
    let room = n_flits(LONGEST, FLIT_BYTES);
    let (offered, input) = builder.channel("in", 8, 1);
    let (output, left) = builder.channel("out", 8, 1);
    let (detours, back) = builder.channel("back", 8, 1);
    let (to_engine, engine_in) = builder.channel("to engine", room * setting.credits as usize, 1);
    let (engine_out, from_engine) = builder.channel("from engine", room, 1);
    let (notes, notes_rx) = builder.channel("notes", 3, 1);
    let wires = TrafficManagerWiring { input, output, detours, to_engine, from_engine, notes };
    let manager =
        TrafficManagerParams { credits: setting.credits, flit_bytes: FLIT_BYTES as u32, detour_flits: room as u32 };
    let answers = Rc::new(RefCell::new(Vec::new()));
    let around = Around {
        offers: offers.into_iter().enumerate().collect(),
        flits: VecDeque::new(),
        credits: setting.credits,
        offered,
        left,
        notes_rx,
        leaving: None,
        answers: answers.clone(),
    };
    let sizes = Sizes { flit_bytes: FLIT_BYTES, longest: LONGEST, n_services: 1 };
    builder.add("around", clock, around);
    builder.add("sink", clock, Nobody { back });
    builder.add("manager", clock, TrafficManager::new(manager, wires));
    builder.add("unit", clock, RiscvUnit::new(params.clone(), program.clone(), sizes, engine_in, engine_out));
    let mut system = builder.build().unwrap_or_else(|error| panic!("the unit is wired: {error}"));
    let outcome = system.run_until(kernel::Clock::new(freq).edge(setting.most_cycles));
    let counters =
        system.counters().into_iter().filter_map(|(name, count)| Some((name.strip_prefix("unit.")?.to_owned(), count)));
    let counters = counters.collect();
    drop(system);
    let answers = Rc::try_unwrap(answers).expect("the system is gone").into_inner();
    let troubles = program.troubles.borrow().iter().map(ToString::to_string).collect();
    let cycles = answers.last().map_or(0, |answer: &Answer| answer.left);
    let is_done = outcome == Outcome::Quiet && answers.len() == n_packets;
    Ok(Report { gbps: rate(&answers, setting.clock_mhz), cycles, is_done, answers, counters, troubles })
}

/// Rate of the middle half of the packets in bits per nanosecond. Its time begins when the packet before them leaves.
fn rate(answers: &[Answer], clock_mhz: u32) -> Option<f64> {
    if answers.len() < 8 {
        return None;
    }
    let (from, to) = (answers.len() / 4, answers.len() / 4 * 3);
    let cycles = answers[to - 1].left - answers[from - 1].left;
    let bits: usize = answers[from..to].iter().map(|answer| 8 * answer.bytes.len()).sum();
    Some(bits as f64 * f64::from(clock_mhz) / 1000.0 / cycles as f64)
}

/// The neighbours of a traffic manager: a scheduler with credits, and the interconnect.
struct Around {
    offers: VecDeque<(usize, Offer)>,
    flits: VecDeque<Flit>,
    credits: u32,
    offered: Tx<Flit>,
    left: Rx<Flit>,
    notes_rx: Rx<CreditNote>,
    leaving: Option<Box<Message>>,
    answers: Rc<RefCell<Vec<Answer>>>,
}

impl Around {
    fn message(id: usize, offer: Offer) -> Message {
        let (unit, exit) = (NodeId(4), NodeId(1));
        let Offer { bytes, flow, hash, metadata, headers: [network, transport] } = offer;
        let hop = Hop { service: 0, class: 0, priority: 0, metadata, push_to: None };
        let descriptor = Descriptor {
            id: id as u64,
            flow,
            class: 0,
            chain: [hop].into_iter().collect(),
            next: 0,
            exit,
            side: ExternalPort::Host(0),
            home: NodeId(0),
            ranks: Default::default(),
            detours: 0,
            slack_cycles: 0,
            waited_cycles: 0,
            fields: Fields { hash, network, transport, ..Fields::default() },
            trail: Default::default(),
        };
        Message { to: unit, leg: Leg::Paid, descriptor, data: bytes }
    }
}

impl Component for Around {
    fn tick(&mut self, now: Cycle) -> Activity {
        let mut is_busy = false;
        while let Some(note) = self.notes_rx.take() {
            self.credits += u32::from(note == CreditNote::Return);
            is_busy = true;
        }
        match self.left.take() {
            Some(Flit::Head(message)) => self.leaving = Some(message),
            Some(Flit::Tail) => {
                let message = self.leaving.take().expect("a message begins with its descriptor");
                let dropped = if let Leg::Dropped(reason) = message.leg { Some(reason.word()) } else { None };
                let begun = message.descriptor.trail.marks().iter().find(|mark| mark.step == PacketStep::Begun);
                let begun = begun.map(|mark| mark.at);
                let packet = message.descriptor.id;
                self.answers.borrow_mut().push(Answer { packet, bytes: message.data, dropped, begun, left: now });
                is_busy = true;
            }
            Some(Flit::Body) => is_busy = true,
            None => {}
        }
        if self.flits.is_empty()
            && self.credits > 0
            && let Some((id, offer)) = self.offers.pop_front()
        {
            self.credits -= 1;
            let n = n_flits(offer.bytes.len(), FLIT_BYTES);
            self.flits.push_back(Flit::Head(Box::new(Self::message(id, offer))));
            self.flits.extend((2..n).map(|_| Flit::Body));
            self.flits.push_back(Flit::Tail);
        }
        if !self.flits.is_empty() && self.offered.has_room() {
            self.offered.send(self.flits.pop_front().expect("a flit is there"));
            is_busy = true;
        }
        if is_busy { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.output("offered", &self.offered);
        ports.input("left", &self.left);
        ports.input("notes_rx", &self.notes_rx);
    }
}

/// Takes packets that a unit sends back. There are none as long as credits are respected.
struct Nobody {
    back: Rx<Flit>,
}

impl Component for Nobody {
    fn tick(&mut self, _now: Cycle) -> Activity {
        assert!(self.back.take().is_none(), "a unit has room for what it has credits for");
        Activity::Idle
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("back", &self.back);
    }
}
