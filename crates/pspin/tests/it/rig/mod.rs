//! Runs a program on the published machine and keeps all results.
#![allow(dead_code, reason = "each of the programs that share this file uses a part of it")]

pub mod driver;
pub mod measured;
pub mod rtl;

use blocks::cpu::Retired;
use blocks::profile::CodeProfile;
use kernel::trace::{Event, Sink};
use kernel::{Mode, Outcome};
use object::{Object, ObjectSegment, ObjectSymbol};
use pspin::host_events::HostEvent;
use pspin::iommu::{PageTables, whole_pages};
use pspin::params::InterconnectParams;
use pspin::protocol::{Context, Region};
use pspin::world::{Arrival, Console, Departure, HostMemory, PacketDone};
use pspin::{Boundary, CoreState, Image, Pspin, PspinParams};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The arriving packets, and how the system runs.
#[derive(Clone, Copy)]
pub struct Load {
    /// Name of the ELF file.
    pub program: &'static str,
    pub packets: u64,
    pub bytes: usize,
    /// Cycles from one packet to the next.
    pub gap: u64,
    /// Messages with the same number of packets, one after the other, with identities 0, 2, 4 and so on, as PsPIN's
    /// driver does.
    pub messages: u64,
    /// Where the context's host memory begins.
    pub host: u64,
    /// The path to the host is that of `presets/pspin.toml`: PCIe in packets behind an IOMMU, where the context's first
    /// 16 MiB are registered.
    pub is_paper_host: bool,
    /// The card makes the mistakes of the RTL.
    pub makes_mistakes: bool,
    /// Cycles of every memory and interconnect outside the clusters, in place of the RTL's.
    pub latency: Option<u32>,
    /// Size of the instruction caches, in place of the RTL's.
    pub icache_bytes: Option<u32>,
    pub mode: Mode,
}

impl Load {
    pub fn new(program: &'static str, packets: u64, bytes: usize, gap: u64) -> Self {
        let host = 0x1000_0000_0000_0000;
        Load {
            program,
            packets,
            bytes,
            gap,
            messages: 1,
            host,
            is_paper_host: false,
            makes_mistakes: true,
            latency: None,
            icache_bytes: None,
            mode: Mode::Normal,
        }
    }
}

/// One event: cycle, component, name, values.
pub type TracedEvent = (u64, String, &'static str, Vec<u64>);

/// Everything that a run produced.
pub struct Seen {
    pub outcome: Outcome,
    pub done: Vec<PacketDone>,
    pub sent: Vec<Departure>,
    /// Messages to the host, with their cycles.
    pub host_events: Vec<(u64, HostEvent)>,
    pub host: BTreeMap<u64, u8>,
    pub events: Vec<TracedEvent>,
    pub counters: Vec<(String, u64)>,
    /// States of the cores at the end.
    pub cores: Vec<CoreState>,
    /// The cycles of each core up to [`LIMIT`], if `host_does` asks for them.
    pub profiles: Vec<CodeProfile>,
    /// Cycle in which each instruction of core 0 left decode, and its address.
    pub log: Vec<(u64, u32)>,
    pub image: Image,
}

impl Seen {
    pub fn counter(&self, end: &str) -> u64 {
        self.counters.iter().filter(|(name, _)| name.ends_with(end)).map(|(_, total)| total).sum()
    }

    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a TracedEvent> {
        self.events.iter().filter(move |event| event.2 == name)
    }

    /// The word of the program at an address, or the part of it that exists.
    pub fn word(&self, pc: u32) -> u32 {
        let at = (pc - 0x1d00_0000) as usize;
        u32::from_le_bytes([0, 1, 2, 3].map(|i| self.image.program.get(at + i).copied().unwrap_or(0)))
    }

    /// Everything as text, to compare runs.
    pub fn digest(&self) -> String {
        let (done, sent, host, host_events) = (&self.done, &self.sent, &self.host, &self.host_events);
        format!("{done:?}\n{sent:?}\n{host:?}\n{host_events:?}\n{:?}\n{:?}", self.sorted_events(), self.counters)
    }

    /// Events of one cycle are in the order in which components are ticked, which has no meaning.
    fn sorted_events(&self) -> Vec<TracedEvent> {
        let mut events = self.events.clone();
        events.sort();
        events
    }
}

/// State that the NIC's boundary and the test share.
type Shared<T> = Rc<RefCell<T>>;

struct Keep(Shared<Vec<TracedEvent>>);

impl Sink for Keep {
    fn event(&mut self, event: &Event) {
        let event = (event.at().ns(), event.source.to_owned(), event.kind.name, event.values.to_vec());
        self.0.borrow_mut().push(event);
    }
}

/// Host memory whose bytes are the low byte of their address until they are written.
struct Host(Shared<BTreeMap<u64, u8>>);

impl HostMemory for Host {
    fn read(&mut self, addr: u64, data: &mut [u8]) {
        let written = self.0.borrow();
        for (at, byte) in (addr..).zip(data) {
            *byte = written.get(&at).copied().unwrap_or(at as u8);
        }
    }

    fn write(&mut self, addr: u64, data: &[u8]) {
        self.0.borrow_mut().extend((addr..).zip(data.iter().copied()));
    }
}

struct Silent;

impl Console for Silent {
    fn line(&mut self, _at: u64, _cluster: u32, _core: u32, _text: &str) {}
}

/// A packet as PsPIN's driver makes it: header length and length of the IP header, identities and ports to swap, and a
/// count behind them.
pub fn packet(index: u64, bytes: usize) -> Box<[u8]> {
    let mut packet: Vec<u8> = (0..bytes).map(|at| (at as u64 * 7 + index) as u8).collect();
    packet[0] = 0x54;
    packet[2..4].copy_from_slice(&(bytes as u16).to_le_bytes());
    packet.into()
}

/// The image of an ELF file, and the handlers with these name suffixes: header, payload, completion.
pub fn image(elf: &[u8], suffixes: [&str; 3]) -> (Image, [Region; 3]) {
    let elf = object::File::parse(elf).expect("an ELF file");
    let mut image = Image::default();
    for segment in elf.segments() {
        let (addr, data) = (segment.address() as u32, segment.data().expect("data"));
        match addr >> 24 {
            0x1d => {
                let at = (addr - 0x1d00_0000) as usize;
                image.program.resize(image.program.len().max(at + data.len()), 0);
                image.program[at..at + data.len()].copy_from_slice(data);
            }
            0x1c => image.handler_memory.push((addr, data.to_vec())),
            _ => image.l1.push((addr & 0xf_ffff, data.to_vec())),
        }
    }
    let handlers = suffixes.map(|suffix| {
        let symbol = elf.symbols().find(|symbol| symbol.name().is_ok_and(|name| name.ends_with(suffix)));
        Region { addr: symbol.map_or(0, |symbol| symbol.address() as u32), size: 4096 }
    });
    (image, handlers)
}

/// Runs the load until nothing more can happen, or for a million cycles.
pub fn run(load: Load) -> Seen {
    run_after(load, |_| {})
}

/// Runs the load after `host_does` has acted on the NIC; `host_does` may also simulate the NIC.
pub fn run_after(load: Load, host_does: impl FnOnce(&mut Pspin)) -> Seen {
    let path = format!("{}/tests/elf/{}.elf", env!("CARGO_MANIFEST_DIR"), load.program);
    let elf = std::fs::read(&path).expect("a program that is committed");
    let (image, handlers) = image(&elf, ["_hh", "_ph", "_th"]);
    let context = context(handlers, load.host);
    let each = load.packets / load.messages;
    let source = (0..load.packets).map(move |i| Arrival {
        earliest: 0,
        gap: load.gap,
        bytes: packet(i, load.bytes),
        msgid: (2 * (i / each)) as u16,
        som: None,
        eom: i % each == each - 1,
        xfer_size: load.bytes as u32,
        context: context.clone(),
        evicts: None,
        user: i,
    });
    let mut params = published();
    let mut tables = PageTables::default();
    let paper: PspinParams = toml::from_str(include_str!("../../../../../presets/pspin.toml")).expect("a preset");
    if !load.makes_mistakes {
        params.rtl_mistakes = paper.rtl_mistakes;
    }
    if let Some(cycles) = load.latency {
        set_latencies(&mut params, cycles);
    }
    if let Some(bytes) = load.icache_bytes {
        params.cluster.icache.bytes = bytes;
    }
    if load.is_paper_host {
        (params.pcie, params.iommu) = (paper.pcie, paper.iommu);
        let (addr, bytes) = whole_pages(load.host, 16 << 20);
        tables.register(0, addr, addr, bytes, true).expect("nothing else is registered");
    }
    simulate(Card { params, tables, mode: load.mode }, image, source, host_does)
}

fn set_latencies(params: &mut PspinParams, cycles: u32) {
    let l2 = &mut params.l2;
    (l2.packet_load_cycles, l2.packet_store_cycles, l2.packet_amo_cycles) = (cycles, cycles, cycles);
    (l2.handler_read_cycles, l2.amo_response_cycles, l2.amo_write_cycles) = (cycles, cycles, cycles);
    (l2.handler_load_cycles, l2.handler_store_cycles) = (cycles, cycles);
    params.interconnect = InterconnectParams {
        core_request_cycles: cycles,
        core_reply_cycles: cycles,
        remote_request_cycles: cycles,
        remote_reply_cycles: cycles,
        remote_load_cycles: cycles,
        remote_store_cycles: cycles,
        remote_amo_cycles: cycles,
        dma_request_cycles: cycles,
        dma_reply_cycles: cycles,
        nhi_request_cycles: cycles,
        nhi_reply_cycles: cycles,
        nhi_l1_reply_cycles: cycles,
    };
    (params.scheduler.dispatch_cycles, params.scheduler.feedback_cycles) = (cycles, cycles);
}

/// The machine of the RTL.
pub fn published() -> PspinParams {
    let preset = |own| testkit::preset(include_str!("../../../../../presets/pspin.toml"), own);
    preset(include_str!("../../../../../presets/pspin-rtl.toml"))
}

/// The first context of PsPIN's generic driver.
pub fn context([header, payload, completion]: [Region; 3], host_mem_addr: u64) -> Rc<Context> {
    Rc::new(Context {
        id: 0,
        handler_mem: Region { addr: 0x1c30_0000, size: 0x8_0000 },
        host_mem_addr,
        host_mem_size: 1 << 29,
        header,
        payload,
        completion,
        scratchpads: vec![Region { addr: 0, size: 400 << 10 }; 4],
        ..Context::default()
    })
}

/// The card that receives the packets.
pub struct Card {
    pub params: PspinParams,
    pub tables: PageTables,
    pub mode: Mode,
}

/// The last cycle of a run.
pub const LIMIT: u64 = 1_000_000;

/// Runs packets through a card until nothing more can happen, or up to [`LIMIT`].
pub fn simulate(
    card: Card,
    image: Image,
    source: impl Iterator<Item = Arrival> + 'static,
    host_does: impl FnOnce(&mut Pspin),
) -> Seen {
    let Card { params, tables, mode } = card;
    let (done, sent) = (Shared::<Vec<PacketDone>>::default(), Shared::<Vec<Departure>>::default());
    let (host, events) = (Shared::<BTreeMap<u64, u8>>::default(), Shared::<Vec<TracedEvent>>::default());
    let host_events = Shared::<Vec<(u64, HostEvent)>>::default();
    let (done_here, sent_here, host_events_here) = (done.clone(), sent.clone(), host_events.clone());
    let boundary = Boundary {
        source: Box::new(source),
        completions: Box::new(move |packet: PacketDone| done_here.borrow_mut().push(packet)),
        egress: Box::new(move |departure: Departure| sent_here.borrow_mut().push(departure)),
        host: Box::new(Host(host.clone())),
        page_tables: Rc::new(RefCell::new(tables)),
        events: Box::new(move |at: u64, _context: u32, event: &HostEvent| {
            host_events_here.borrow_mut().push((at, *event))
        }),
        console: Rc::new(RefCell::new(Silent)),
        policies: Default::default(),
    };
    let mut nic = Pspin::new(&params, &image, boundary, 0).expect("a NIC");
    let log: Rc<RefCell<Vec<(u64, u32)>>> = Rc::default();
    let heard = log.clone();
    nic.log_instructions(0, 0, Box::new(move |retired: &Retired| heard.borrow_mut().push((retired.cycle, retired.pc))));
    nic.listen(Box::new(Keep(events.clone())));
    nic.set_mode(mode);
    host_does(&mut nic);
    let outcome = nic.run_until(LIMIT);
    let (counters, cores, profiles) = (nic.counters(), nic.cores(), nic.core_profiles(LIMIT));
    drop(nic);
    let take = "the NIC that shared it is gone";
    Seen {
        outcome,
        done: Rc::into_inner(done).expect(take).into_inner(),
        sent: Rc::into_inner(sent).expect(take).into_inner(),
        host_events: Rc::into_inner(host_events).expect(take).into_inner(),
        host: Rc::into_inner(host).expect(take).into_inner(),
        events: Rc::into_inner(events).expect(take).into_inner(),
        counters,
        cores,
        profiles,
        log: Rc::into_inner(log).expect(take).into_inner(),
        image,
    }
}
