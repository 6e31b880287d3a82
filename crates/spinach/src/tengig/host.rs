//! `tengig-host`: the host of the 10 Gigabit NIC: its memory, and a driver that keeps the card's rings full.
//!
//! Ports:   `memory[0]` and `memory[1]` (memory, answer): the card's DMA reads and writes; `bus` (memory, asks): the card's
//!          registers; `interrupt` (interrupt, receives); `go` (go, sends, optional): the network may start sending.
//! Timing:  no latency and no bandwidth limit: all accesses present at an edge are answered at it, and the driver acts as soon
//!          as it has lowered the interrupt line. Register accesses are sequential.
//! Source:  thesis, 4.4: "this study does not model host interconnect latency or bandwidth"; feeders play as fast as possible
//!          (3.2.3).

mod buffers;
mod driver;
mod outgoing;
mod rings;

use super::map;
use crate::FirmwareMemory;
use crate::hosts::Host;
use blocks::bus::{Access, Data, Reference, Requester, Responder};
use blocks::checks;
use blocks::ethernet::Frame;
use blocks::feeders::{Checker, FrameLog, Go, HostMemory, HostPlace, Offered, TrafficError};
use blocks::interrupt::InterruptLine;
use blocks::netlist::{Built, Memory, Module, OneWay, PortSpec, Site};
use driver::{Driver, STANDARD_BYTES};
use kernel::trace::Counter;
use kernel::{Activity, Clock, Component, CounterList, Cycle, Inlet, Ports, Rx, Time, Tx};

/// Parameters of [`TengigHost`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TengigHostParams {
    /// First host memory address visible to the card.
    pub base: u64,
    /// Maximum number of frames posted to the card and not yet sent, 1 to 256.
    pub send_frames: u32,
    /// Maximum number of empty standard buffers posted to the card, 1 to 512.
    pub receive_buffers: u32,
    /// Longest frame in bytes without check sequence, 1514 to 9014. Above 1514 the driver also posts jumbo buffers, which needs
    /// firmware with three rings.
    pub longest_frame: u32,
    /// Longest frame for a mini buffer in bytes, 0 to 256; 0 disables mini buffers. This and the next three parameters need
    /// firmware with three rings.
    pub mini_bytes: u32,
    /// True if the card shall report the sum of each received frame, which the driver checks.
    pub receive_sums: bool,
    /// True if the card shall insert the checksums of the host's UDP datagrams.
    pub send_sums: bool,
    /// Interval in microseconds at which the card updates its statistics in host memory, up to 1,000,000; 0 for never.
    pub statistics_us: u32,
    /// Bytes of a frame in its first descriptor. Source: thesis, 4.2.3 (42: Ethernet, IPv4 and UDP headers).
    pub header_bytes: u32,
    /// Sent frames per report of the card.
    pub send_coalesce: u32,
    /// Received frames per report of the card.
    pub receive_coalesce: u32,
    /// Microseconds after which the card reports any number of frames.
    pub coalesce_us: u32,
    /// Number of frame times kept in each direction, 32 bytes each; later frames are only counted.
    pub kept_times: usize,
    /// Microseconds without a report of posted frames after which the card is diagnosed as not serving the host.
    pub patience_us: u32,
    /// Memories of the card to load with firmware before it runs.
    pub firmware: Vec<FirmwareMemory>,
}

/// The ports of a [`TengigHost`].
pub struct TengigHostPorts {
    /// The card's DMA: reads, writes.
    pub memory: [Responder; 2],
    /// The card's registers.
    pub bus: Requester,
    /// The card's interrupt.
    pub interrupt: Rx<InterruptLine>,
    /// Signals that the network may start sending.
    pub go: Option<Tx<Go>>,
}

/// Sends the run's frames and receives arriving ones.
pub struct TengigHost {
    clock: Clock,
    ports: TengigHostPorts,
    memory: HostMemory,
    driver: Driver,
    /// Bytes read and written by the card.
    dma_bytes: [Counter; 2],
    interrupts: Counter,
    /// The line is up and the driver has not acknowledged it.
    is_raised: bool,
    /// Register of the access in flight.
    in_flight: Option<u32>,
}

impl TengigHost {
    /// A host before its first access; `offered` is the traffic that it sends and expects.
    pub fn new(params: TengigHostParams, ports: TengigHostPorts, clock: Clock, offered: Offered) -> TengigHost {
        TengigHost {
            clock,
            ports,
            memory: HostMemory::new(params.base, rings::BYTES as usize),
            driver: Driver::new(params, offered),
            dma_bytes: Default::default(),
            interrupts: Counter::default(),
            is_raised: false,
            in_flight: None,
        }
    }

    /// Allows idle time to be skipped.
    pub fn with_skips(mut self, skips: (Inlet<Time>, Rx<Time>)) -> TengigHost {
        self.driver.skip_by(skips);
        self
    }

    /// Its parameters.
    pub fn params(&self) -> &TengigHostParams {
        self.driver.params()
    }

    fn serve_card(&mut self) {
        for (port, bytes) in self.ports.memory.iter().zip(&mut self.dma_bytes) {
            while port.replies.has_room()
                && let Some(reference) = port.references.take()
            {
                bytes.add(u64::from(reference.access.len()));
                port.replies.send(self.memory.answer(reference));
            }
        }
    }

    /// Processes the answer to the register access in flight.
    fn take_answer(&mut self, now: Time) {
        let Some(reply) = self.ports.bus.replies.take() else { return };
        let word = reply.result.ok().map(|data| blocks::bus::word(&data));
        match self.in_flight.take() {
            Some(map::INTERRUPT) => self.driver.look(&self.memory, now),
            _ => self.driver.answered(now, word),
        }
    }

    /// Starts the next register access; one at a time.
    fn use_bus(&mut self) {
        if self.in_flight.is_some() || !self.ports.bus.references.has_room() {
            return;
        }
        // The driver lowers the line before it checks: a report after the check raises the line again.
        let next = if self.is_raised { Some((map::INTERRUPT, Some(0))) } else { self.driver.next_access() };
        let Some((addr, value)) = next else { return };
        self.is_raised = false;
        let access = value.map_or(Access::Read(4), |value| Access::Write(Data::from_slice(&value.to_be_bytes())));
        self.ports.bus.references.send(Reference { id: 0, addr: u64::from(addr), access });
        self.in_flight = Some(addr);
    }
}

impl Component for TengigHost {
    fn tick(&mut self, now: Cycle) -> Activity {
        let time = self.clock.edge(now);
        self.driver.traffic.apply_skips();
        self.serve_card();
        self.take_answer(time);
        while let Some(line) = self.ports.interrupt.take() {
            self.is_raised = line.is_raised;
            self.interrupts.add(u64::from(line.is_raised));
        }
        let due = self.driver.fill(&mut self.memory, time);
        self.use_bus();
        if let Some(go) = &self.ports.go
            && self.driver.is_ready()
            && !self.driver.has_sent_go
        {
            go.send(Go);
            self.driver.has_sent_go = true;
        }
        match due {
            Some(due) => Activity::Until(self.clock.cycle_at_or_after(due).max(now + 1)),
            None => Activity::Idle,
        }
    }

    fn ports(&self, ports: &mut Ports) {
        for (i, port) in self.ports.memory.iter().enumerate() {
            port.port(&format!("memory[{i}]"), ports);
        }
        self.ports.bus.port("bus", ports);
        ports.input("interrupt", &self.ports.interrupt);
        if let Some(go) = &self.ports.go {
            ports.output("go", go);
        }
        self.driver.traffic.ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        let checker = &self.driver.checker;
        counters.add("posted_frames", self.driver.posted());
        counters.add("sent_frames", self.driver.sent());
        counters.add("received_frames", self.driver.log.frames());
        counters.add("good_frames", checker.good());
        counters.add("lost_frames", checker.lost());
        counters.add("late_frames", checker.late());
        counters.add("unknown_frames", checker.unknown());
        counters.add("damaged_frames", self.driver.damaged.total());
        counters.add("faults", self.driver.faults.total());
        counters.add("interrupts", self.interrupts.total());
        let counted = self.driver.statistics(&self.memory);
        counters.add("card.in_frames", counted.in_frames);
        counters.add("card.in_octets", counted.in_octets);
        counters.add("card.in_errors", counted.in_errors);
        counters.add("card.in_too_long", counted.in_too_long);
        counters.add("card.in_dropped", counted.in_dropped);
        counters.add("card.out_frames", counted.out_frames);
        counters.add("card.out_octets", counted.out_octets);
        counters.add("dma_read_bytes", self.dma_bytes[0].total());
        counters.add("dma_write_bytes", self.dma_bytes[1].total());
    }
}

impl Host for TengigHost {
    fn check(&self, offered: &Offered) -> Result<(), String> {
        self.params().check_traffic(offered).map_err(|error| error.to_string())
    }

    fn started(&self) -> Option<Time> {
        self.driver.started()
    }

    fn is_done(&self) -> bool {
        self.driver.is_done()
    }

    /// When they reached the driver.
    fn received(&self) -> &FrameLog {
        &self.driver.log
    }

    fn posted(&self) -> &FrameLog {
        &self.driver.posted_log
    }

    fn keep_places(&mut self) {
        self.driver.places.get_or_insert_default();
    }

    fn places(&self) -> [&[HostPlace]; 2] {
        self.driver.places.as_ref().map_or_else(Default::default, |places| places.each_ref().map(Vec::as_slice))
    }

    fn checker(&self) -> &Checker {
        &self.driver.checker
    }

    fn damaged(&self) -> u64 {
        self.driver.damaged.total()
    }

    fn next_send(&self) -> Option<Time> {
        self.driver.next_send()
    }

    fn skip(&self, now: Time, span: Time) {
        self.driver.traffic.skip(self.clock, now, span);
    }

    fn diagnosis(&self) -> Option<String> {
        self.driver.diagnosis.clone()
    }

    fn rings(&self) -> Vec<String> {
        self.driver.rings()
    }

    fn faults(&self) -> Vec<String> {
        self.driver.kept_faults.iter().map(|(at, text)| format!("{at}: {text}")).collect()
    }
}

impl TengigHostParams {
    /// Checks the traffic for it.
    pub fn check_traffic(&self, offered: &Offered) -> Result<(), TrafficError> {
        let (least, most) = (self.header_bytes as usize + 1, self.longest_frame as usize);
        offered.host.check(least.max(Frame::LEAST_BYTES), most)?;
        offered.network.check(1, most)
    }
}

impl Module for TengigHostParams {
    const NAME: &'static str = "tengig-host";
    const ABOUT: &'static str = "The host of the 10 Gigabit NIC: its memory, and a driver that keeps the rings full.";
    const EXAMPLE: &'static str = r#"
base = 0x1_0000_0000
send_frames = 256
receive_buffers = 512
longest_frame = 1514
mini_bytes = 128
receive_sums = true
send_sums = false
statistics_us = 1000
header_bytes = 42
send_coalesce = 16
receive_coalesce = 16
coalesce_us = 50
kept_times = 1000
patience_us = 20_000
firmware = [{ memory = "instruction_memory", base = 0x40_0000, bytes = 0x1_0000 }]
"#;

    fn ports(&self) -> Vec<PortSpec> {
        vec![
            PortSpec::to::<Memory>("memory[0]").about("the card's reads"),
            PortSpec::to::<Memory>("memory[1]").about("the card's writes"),
            PortSpec::from::<Memory>("bus").about("the card's registers"),
            PortSpec::to::<OneWay<InterruptLine>>("interrupt").about("from the card"),
            PortSpec::from::<OneWay<Go>>("go").about("the network may send").optional(),
        ]
    }

    fn check(&self) -> Result<(), String> {
        checks::within("send_frames", self.send_frames, 1, rings::SEND_FRAMES)?;
        checks::within("receive_buffers", self.receive_buffers, 1, map::RECEIVE_ENTRIES)?;
        checks::within("longest_frame", self.longest_frame, STANDARD_BYTES, 9014)?;
        checks::within("mini_bytes", self.mini_bytes, 0, rings::MINI_BUFFER_BYTES as u32)?;
        checks::within("statistics_us", self.statistics_us, 0, 1_000_000)?;
        checks::within("header_bytes", self.header_bytes, 1, 59)?;
        checks::within("send_coalesce", self.send_coalesce, 1, self.send_frames)?;
        checks::within("receive_coalesce", self.receive_coalesce, 1, self.receive_buffers)?;
        checks::within("coalesce_us", self.coalesce_us, 1, 1_000_000)?;
        checks::within("patience_us", self.patience_us, 1, 10_000_000)?;
        if self.base.checked_add(rings::BYTES).is_none() || !self.base.is_multiple_of(rings::ALIGNMENT) {
            return Err(format!(
                "base is 0x{:x}, must be a multiple of {} with {} bytes after it",
                self.base,
                rings::ALIGNMENT,
                rings::BYTES
            ));
        }
        Ok(())
    }

    fn build(self, site: &mut Site) -> Built {
        let offered = site.environment.get::<Offered>().map(|offered| (*offered).clone()).unwrap_or_default();
        let ports = TengigHostPorts {
            memory: [site.to::<Memory>("memory[0]"), site.to::<Memory>("memory[1]")],
            bus: site.from::<Memory>("bus"),
            interrupt: site.to::<OneWay<InterruptLine>>("interrupt"),
            go: site.try_from::<OneWay<Go>>("go"),
        };
        let (clock, skips) = (site.system.edges(site.clock), site.skips());
        Built::new(TengigHost::new(self, ports, clock, offered).with_skips(skips))
    }
}
