//! `tigon2-host`: a host that drives a Tigon-2 as Linux's `acenic` driver does, and checks every frame.
//!
//! The driver is one thread on one processor: it acts sequentially, waits for reads of the card, and spends `frame_ns` on every
//! frame. Independently, its memory answers the card's DMA at any time.
//!
//! Ports:   `memory` (memory, answers): one access an edge, of any length; `bus` (memory, asks): one word an edge; `interrupt`
//!          (interrupt, receives); `go` (go, sends, optional): signals once that the network may start sending.
//! Timing:  memory answers at the edge of the access. Writes to the card are posted; the driver continues when its last write
//!          is on the bus. An interrupt takes `interrupt_latency_ns` until the driver's first access, a frame takes `frame_ns`.
//! Errors:  protocol violations of the card are counted, and the first ones are reported with their time.
//! Source:  the public Tigon-2 driver headers; order of accesses as in Linux's `acenic`; thesis, 2.1.1 and 3.2.3.
//! Differs: buffers are fixed and frames are not copied; the driver has one thread where Linux has several contexts.

mod accesses;
mod boot;
mod diagnosis;
mod drive;
mod eeprom;
mod layout;
mod params;
mod receive;
mod seen;
mod send;
mod window;

pub use diagnosis::{Diagnosis, Fault, Faults, RingState};
pub use params::{Coalescing, Interrupts, ReceiveParams, SendParams, SendRing, Tigon2HostParams};

use super::FirmwareImage;
use accesses::Accesses;
use blocks::bus::{Requester, Responder};
use blocks::feeders::{Acknowledgements, Checker, FrameLog, Go, HostMemory, HostPlace, Offered, Schedule};
use blocks::interrupt::InterruptLine;
use blocks::netlist::{Built, Memory, Module, OneWay, PortSpec, Site};
use boot::BootStep;
use drive::Handler;
use kernel::{Activity, Clock, Component, CounterList, Cycle, Inlet, Ports, Rx, Time, Tx};
use layout::Layout;
use receive::Receiver;
use send::SendRingState;
use std::collections::VecDeque;
use std::rc::Rc;
use wire::eth::Mac;

/// The ports of a [`Tigon2Host`].
pub struct Tigon2HostPorts {
    /// The card's accesses to host memory.
    pub memory: Responder,
    /// The host's accesses to the card's 4 KB window, one word each; addresses are offsets in it.
    pub bus: Requester,
    /// The card's interrupt.
    pub interrupt: Rx<InterruptLine>,
    /// Signals that the network may start sending.
    pub go: Option<Tx<Go>>,
}

/// A host with memory, driver and traffic.
pub struct Tigon2Host {
    params: Tigon2HostParams,
    clock: Clock,
    image: Rc<FirmwareImage>,
    layout: Layout,
    memory: HostMemory,
    memory_port: Responder,
    bus: Accesses,
    interrupt: Rx<InterruptLine>,
    go: Option<Tx<Go>>,
    stage: Stage,
    /// True while a start-up step or the handler waits for a read of the card.
    is_reading: bool,
    /// When the present step started to wait.
    waits_since: Option<Cycle>,
    /// The driver is busy until this cycle.
    free_at: Cycle,
    is_raised: bool,
    /// When the interrupt handler is to start.
    handler_due: Option<Cycle>,
    handler: Option<Handler>,
    is_running: bool,
    is_link_up: bool,
    /// The card's MAC address in the low six bytes.
    mac: u64,
    event_consumer: u32,
    command_producer: u32,
    send: SendRingState,
    receiver: Receiver,
    /// When the card last returned a buffer.
    returned: Cycle,
    traffic: Schedule,
    next_id: u64,
    replies: Option<Acknowledgements>,
    next_reply: u64,
    started: Option<Cycle>,
    checker: Checker,
    posted: FrameLog,
    received: FrameLog,
    /// Places of posted and of received frames, if they are kept.
    places: Option<[Vec<HostPlace>; 2]>,
    receive_errors: [u64; receive::ERRORS.len()],
    /// Frames that the card returned with an error.
    damaged: u64,
    link_events: u64,
    statistics_events: u64,
    group_events: u64,
    interrupts: u64,
    spurious_interrupts: u64,
    faults: Faults,
    diagnosis: Option<Diagnosis>,
}

/// Activity of the driver.
enum Stage {
    /// Remaining start-up steps.
    Boot(VecDeque<BootStep>),
    Serve,
    /// The driver has given up.
    Stopped,
}

impl Tigon2Host {
    /// A host before its first access. It sends `offered.host` and expects `offered.network`.
    pub fn new(
        params: Tigon2HostParams,
        ports: Tigon2HostPorts,
        clock: Clock,
        image: Rc<FirmwareImage>,
        offered: &Offered,
    ) -> Tigon2Host {
        let layout = Layout::new(&params);
        let steps = boot::steps(&params, &image, layout.information);
        let poll = matches!(params.interrupts, Interrupts::Poll { .. });
        Tigon2Host {
            clock,
            image,
            memory: layout.memory(&params),
            memory_port: ports.memory,
            bus: Accesses::new(ports.bus),
            interrupt: ports.interrupt,
            go: ports.go,
            stage: Stage::Boot(steps.into()),
            is_reading: false,
            waits_since: None,
            free_at: 0,
            is_raised: false,
            handler_due: poll.then_some(0),
            handler: None,
            is_running: false,
            is_link_up: false,
            mac: params.mac().map_or(0, |mac| mac.0.iter().fold(0, |mac, &byte| mac << 8 | u64::from(byte))),
            event_consumer: 0,
            command_producer: 0,
            send: SendRingState::new(params.send.clone(), layout.clone()),
            receiver: Receiver::new(&layout, params.receive.batch_buffers, params.receive.return_entries),
            returned: 0,
            traffic: Schedule::new(offered.host.clone()),
            next_id: 0,
            replies: offered.replies,
            next_reply: 0,
            started: None,
            checker: Checker::new(offered.network.frames.clone()),
            posted: FrameLog::new(params.kept_times),
            received: FrameLog::new(params.kept_times),
            places: None,
            receive_errors: [0; receive::ERRORS.len()],
            damaged: 0,
            link_events: 0,
            statistics_events: 0,
            group_events: 0,
            interrupts: 0,
            spurious_interrupts: 0,
            faults: Faults::default(),
            diagnosis: None,
            layout,
            params,
        }
    }

    /// Allows idle time to be skipped.
    pub fn with_skips(mut self, skips: (Inlet<Time>, Rx<Time>)) -> Tigon2Host {
        self.traffic = self.traffic.with_skips(skips);
        self
    }

    /// Its parameters.
    pub fn params(&self) -> &Tigon2HostParams {
        &self.params
    }

    /// Returns true if firmware has reported that it runs.
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// The card's MAC address, once the driver knows it.
    pub fn mac(&self) -> Mac {
        let bytes = self.mac.to_be_bytes();
        Mac(std::array::from_fn(|position| bytes[position + 2]))
    }

    /// Protocol violations of the card.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// State of the rings, as the host sees them.
    fn ring_states(&self) -> Vec<RingState> {
        let state =
            |ring, producer, consumer, since| RingState { ring, producer, consumer, since: self.clock.edge(since) };
        let (send, returned) = (&self.send, self.returned);
        let mut rings = vec![state("send", send.producer, send.consumer, send.moved)];
        rings.extend(self.receiver.rings().map(|(name, producer, next)| state(name, producer, next, returned)));
        rings
    }

    /// The 256 words of statistics that firmware wrote last.
    pub fn statistics(&self) -> Vec<u32> {
        (0..256).map(|word| self.memory.word(self.layout.information + 4 * word)).collect()
    }

    /// Host memory, as the card sees it.
    pub fn memory(&self) -> &HostMemory {
        &self.memory
    }

    fn answer_card(&mut self, now: Cycle) {
        if !self.memory_port.replies.has_room() {
            return; // `replies` wakes this component when room appears.
        }
        let Some(reference) = self.memory_port.references.take() else { return };
        let (addr, len) = (reference.addr, reference.access.len());
        let reply = self.memory.answer(reference);
        if reply.result.is_err() {
            let text = || format!("{len} bytes at 0x{addr:x}");
            self.faults.note(self.clock.edge(now), Fault::StrayDma, text);
        }
        self.memory_port.replies.send(reply);
    }

    fn take_interrupts(&mut self, now: Cycle) {
        while let Some(line) = self.interrupt.take() {
            self.is_raised = line.is_raised;
            if line.is_raised && !matches!(self.params.interrupts, Interrupts::Poll { .. }) {
                let due = now + self.cycles(self.params.interrupt_latency_ns);
                self.handler_due.get_or_insert(due);
            }
        }
    }

    /// Converts a time to cycles, rounded up.
    fn cycles(&self, ns: u64) -> Cycle {
        self.clock.cycle_at_or_after(Time::from_ns(ns))
    }
}

impl Component for Tigon2Host {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.traffic.apply_skips();
        self.answer_card(now);
        self.take_interrupts(now);
        let (faults, at) = (&mut self.faults, self.clock.edge(now));
        self.bus.collect(|error| faults.note(at, Fault::Bus, || error.to_string()));
        let wait = self.drive(now);
        if self.bus.send() || self.memory_port.references.has_item() && self.memory_port.replies.has_room() {
            return Activity::Busy;
        }
        wait.filter(|_| !self.bus.is_busy()).map_or(Activity::Idle, Activity::Until)
    }

    fn ports(&self, ports: &mut Ports) {
        self.memory_port.port("memory", ports);
        self.bus.port().port("bus", ports);
        ports.input("interrupt", &self.interrupt);
        if let Some(go) = &self.go {
            ports.output("go", go);
        }
        self.traffic.ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        let (reads, writes) = self.bus.totals();
        for (name, total) in [
            ("posted_frames", self.posted.frames()),
            ("posted_replies", self.next_reply),
            ("received_frames", self.received.frames()),
            ("good_frames", self.checker.good()),
            ("lost_frames", self.checker.lost()),
            ("late_frames", self.checker.late()),
            ("unknown_frames", self.checker.unknown()),
            ("interrupts", self.interrupts),
            ("spurious_interrupts", self.spurious_interrupts),
            ("bus_reads", reads),
            ("bus_writes", writes),
            ("link_events", self.link_events),
            ("statistics_events", self.statistics_events),
            ("group_events", self.group_events),
        ] {
            counters.add(name, total);
        }
        for (name, total) in receive::ERRORS.iter().zip(self.receive_errors) {
            counters.add(&format!("receive_errors.{name}"), total);
        }
        for (name, total) in Faults::NAMES.iter().zip(self.faults.counts()) {
            counters.add(&format!("faults.{name}"), total);
        }
    }
}

impl Module for Tigon2HostParams {
    const NAME: &'static str = "tigon2-host";
    const ABOUT: &'static str =
        "A host that drives a Tigon-2 as Linux does: start-up, rings, interrupts, frames both ways.";
    const EXAMPLE: &'static str = r#"memory_base = 0x123456000
mac = "02:00:00:00:00:01"
mtu = 1518
mode = 0x56
local_control = 0x200
pci_state = 0x76020000
link = 0x400C0000
dma_config = 0x100
transmit_ratio_64ths = 21
clear_end = 0x6000
boot_timeout_us = 10_000
watchdog_us = 1000
promiscuous = false
groups = []
send = { ring = "host", entries = 128, header_bytes = 42, batch_frames = 2, frames_ahead = 32 }
receive = { standard_buffers = 256, mini_buffers = 0, jumbo_buffers = 0, batch_buffers = 8, return_entries = 1024, tells_consumer = false }
coalescing = { receive_us = 30, send_us = 400, statistics_us = 0, receive_descriptors = 25, send_descriptors = 60 }
interrupts = "acknowledge"
interrupt_latency_ns = 1000
frame_ns = 0
kept_times = 1000"#;

    fn ports(&self) -> Vec<PortSpec> {
        vec![
            PortSpec::to::<Memory>("memory").about("the card's references to host memory"),
            PortSpec::from::<Memory>("bus").about("the card's window"),
            PortSpec::to::<OneWay<InterruptLine>>("interrupt").about("from the card"),
            PortSpec::from::<OneWay<Go>>("go").about("the network may send").optional(),
        ]
    }

    fn check(&self) -> Result<(), String> {
        self.validate()
    }

    /// # Panics
    /// If the run provides no [`FirmwareImage`].
    fn build(self, site: &mut Site) -> Built {
        let image = site.environment.get::<FirmwareImage>().expect("a run of a Tigon-2 must provide firmware");
        let offered = site.environment.get::<Offered>().unwrap_or_default();
        let ports = Tigon2HostPorts {
            memory: site.to::<Memory>("memory"),
            bus: site.from::<Memory>("bus"),
            interrupt: site.to::<OneWay<InterruptLine>>("interrupt"),
            go: site.try_from::<OneWay<Go>>("go"),
        };
        let (clock, skips) = (site.system.edges(site.clock), site.skips());
        Built::new(Tigon2Host::new(self, ports, clock, image, &offered).with_skips(skips))
    }
}

#[cfg(test)]
mod scripted_card;
#[cfg(test)]
mod tests;
