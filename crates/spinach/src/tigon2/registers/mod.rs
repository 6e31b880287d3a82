//! `tigon2-registers`: the registers of the Tigon-2, through which cores, host and assists communicate.
//!
//! Ports:   `cpus[i]` (memory, answer): one access a cycle to a whole register or to bytes of one, by the low ten bits of the
//!          address. `host` (memory, answers): the host's window, see `window.rs`; it reaches memory through `sram` (memory,
//!          asks). For each assist, orders (sends) and progress (receives); for each core, its control (sends) and status
//!          (receives); `interrupt` (sends); all optional.
//! Timing:  a core's access is answered in the cycle in which it is seen. Messages caused by a write leave in the same cycle.
//! Order:   within a cycle: first the assists' reports, then the cores in order, then the host.
//! Errors:  an unknown register stores what is written and is counted as a surprise.
//! Source:  docs/machines/tigon2.md.
//! Differs: the status word of a DMA channel has no running count while the rings work. The cores' private memories are not
//!          accessible through 0x154 and 0x158.

mod block;
mod eeprom;
mod map;
mod outbox;
mod progress;
mod rings;
mod state;
mod window;

use block::{Block, Outboxes};
use blocks::assist::{DmaOrder, DmaProgress, ReceiveOrder, ReceiveProgress, TransmitOrder, TransmitProgress};
use blocks::bus::{Access, BusError, Data, Reference, Reply, Requester, Responder, word};
use blocks::interrupt::InterruptLine;
use blocks::mips::{CpuControl, CpuStatus};
use blocks::netlist::{Built, Memory, Module, OneWay, PortSpec, Site};
use kernel::{Activity, Clock, Component, CounterList, Cycle, Ports, Rx, Tx};
use outbox::Outbox;
use window::HostWindow;

/// The registers of a Tigon-2.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tigon2RegistersParams {
    /// Number of processors; the chip has two. A third and a fourth have registers at 0x300 and 0x380.
    pub cpus: usize,
    /// End of the receive buffers, which is the end of memory for the firmware. The released firmware needs 0x200000.
    pub buffers_end: u32,
    /// The card's MAC address in its EEPROM: `00:60:cf:00:00:01`.
    pub mac_address: String,
}

/// The ports of [`Tigon2Registers`]; each assist has orders and progress.
pub struct Tigon2RegistersPorts {
    /// References of the cores.
    pub cpus: Vec<Responder>,
    /// Orders to each core.
    pub controls: Vec<Option<Tx<CpuControl>>>,
    /// State of each core.
    pub statuses: Vec<Option<Rx<CpuStatus>>>,
    /// The host's window.
    pub host: Responder,
    /// Memory behind the window.
    pub sram: Requester,
    /// To the host.
    pub interrupt: Option<Tx<InterruptLine>>,
    /// Ports of the DMA read assist.
    pub dma_read: (Option<Tx<DmaOrder>>, Option<Rx<DmaProgress>>),
    /// Ports of the DMA write assist.
    pub dma_write: (Option<Tx<DmaOrder>>, Option<Rx<DmaProgress>>),
    /// Ports of the transmitter.
    pub mac_transmit: (Option<Tx<TransmitOrder>>, Option<Rx<TransmitProgress>>),
    /// Ports of the receiver.
    pub mac_receive: (Option<Tx<ReceiveOrder>>, Option<Rx<ReceiveProgress>>),
}

/// Registers that cores access within a cycle.
pub struct Tigon2Registers {
    block: Block,
    window: HostWindow,
    cpus: Vec<Responder>,
    statuses: Vec<Option<Rx<CpuStatus>>>,
    /// Read, write.
    dma: [Option<Rx<DmaProgress>>; 2],
    transmit: Option<Rx<TransmitProgress>>,
    receive: Option<Rx<ReceiveProgress>>,
    reads: u64,
    writes: u64,
    errors: u64,
}

/// Size of the register space; a core's address counts modulo this. Source: docs/machines/tigon2.md.
const REGISTER_BYTES: u32 = 0x400;

/// Parses six hexadecimal bytes separated by colons.
fn mac_address(text: &str) -> Result<[u8; 6], String> {
    let wrong = || format!("mac_address is `{text}`, must be six hexadecimal bytes, for example `00:60:cf:00:00:01`");
    let byte = |part: &str| u8::from_str_radix(part, 16).ok().filter(|_| part.len() == 2);
    let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(wrong)
}

impl Tigon2Registers {
    /// A card after reset; `clock` drives it. The parameters must have passed [`check`](Module::check).
    pub fn new(params: Tigon2RegistersParams, ports: Tigon2RegistersPorts, clock: Clock) -> Tigon2Registers {
        let boxes = Outboxes {
            controls: ports.controls.into_iter().map(Outbox::new).collect(),
            dma_read: Outbox::new(ports.dma_read.0),
            dma_write: Outbox::new(ports.dma_write.0),
            transmit: Outbox::new(ports.mac_transmit.0),
            receive: Outbox::new(ports.mac_receive.0),
            interrupt: Outbox::new(ports.interrupt),
        };
        let mac = mac_address(&params.mac_address).expect("the address must have been checked");
        Tigon2Registers {
            block: Block::new(clock, mac, params.buffers_end, boxes),
            window: HostWindow::new(ports.host, ports.sram),
            cpus: ports.cpus,
            statuses: ports.statuses,
            dma: [ports.dma_read.1, ports.dma_write.1],
            transmit: ports.mac_transmit.1,
            receive: ports.mac_receive.1,
            reads: 0,
            writes: 0,
            errors: 0,
        }
    }

    /// The value of register `offset` in cycle `now`, for debugging; has no side effects.
    pub fn show(&mut self, now: Cycle, offset: u32) -> u32 {
        let surprises = self.block.state.surprises.clone();
        let value = self.block.read(now, offset);
        self.block.state.surprises = surprises;
        value
    }

    /// Unknown registers that were accessed, and how often.
    pub fn surprises(&self) -> impl Iterator<Item = (u32, u64)> {
        self.block.state.surprises.iter().map(|(&offset, &times)| (offset, times))
    }

    fn listen(&mut self) -> bool {
        let mut any = false;
        for (is_read, port) in [true, false].into_iter().zip(&self.dma) {
            while let Some(progress) = port.as_ref().and_then(Rx::take) {
                self.block.record_dma(is_read, progress);
                any = true;
            }
        }
        while let Some(progress) = self.transmit.as_ref().and_then(Rx::take) {
            self.block.record_transmit(progress);
            any = true;
        }
        while let Some(progress) = self.receive.as_ref().and_then(Rx::take) {
            self.block.record_receive(progress);
            any = true;
        }
        for (cpu, port) in self.statuses.iter().enumerate() {
            while let Some(status) = port.as_ref().and_then(Rx::take) {
                self.block.record_cpu(cpu, status);
                any = true;
            }
        }
        any
    }

    fn serve_cpus(&mut self, now: Cycle) -> bool {
        let mut any = false;
        for i in 0..self.cpus.len() {
            let port = &self.cpus[i];
            if !port.references.is_due(now) || !port.replies.has_room() {
                continue;
            }
            let reference = port.references.take().expect("an access must be there");
            let id = reference.id;
            let result = self.serve(now, &reference);
            self.errors += u64::from(result.is_err());
            self.cpus[i].replies.send(Reply::new(id, result));
            any = true;
        }
        any
    }

    /// Executes a core's access to a whole register, or to bytes of one.
    fn serve(&mut self, now: Cycle, reference: &Reference) -> Result<Data, BusError> {
        let (addr, len) = (reference.addr, reference.access.len());
        let at = (addr % 4) as usize;
        if len == 0 || at + len as usize > 4 {
            return Err(BusError::Length(addr, len));
        }
        let offset = addr as u32 % REGISTER_BYTES & !3;
        match &reference.access {
            Access::Read(_) => {
                self.reads += 1;
                let bytes = self.block.read(now, offset).to_be_bytes();
                Ok(Data::from_slice(&bytes[at..at + len as usize]))
            }
            Access::Write(data) => {
                self.writes += 1;
                // Bytes not written keep their present value.
                let mut bytes = if len == 4 { [0; 4] } else { self.block.read(now, offset).to_be_bytes() };
                bytes[at..at + len as usize].copy_from_slice(data);
                self.block.write(now, offset, word(&bytes));
                Ok(Data::new())
            }
            Access::Linked(_) => Err(BusError::NoLink(addr)),
        }
    }
}

impl Component for Tigon2Registers {
    fn tick(&mut self, now: Cycle) -> Activity {
        let mut any = self.listen();
        any |= self.serve_cpus(now);
        any |= self.window.tick(now, &mut self.block);
        self.block.flush();
        if any { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        for (i, port) in self.cpus.iter().enumerate() {
            port.port(&format!("cpus[{i}]"), ports);
        }
        for (i, control) in self.block.controls.iter().enumerate() {
            control.ports(&format!("controls[{i}]"), ports);
        }
        for (i, status) in self.statuses.iter().enumerate() {
            if let Some(status) = status {
                ports.input(&format!("statuses[{i}]"), status);
            }
        }
        self.window.ports(ports);
        self.block.interrupt.ports("interrupt", ports);
        self.block.dma_read.ports("dma_read.orders", ports);
        self.block.dma_write.ports("dma_write.orders", ports);
        self.block.transmit.ports("mac_transmit.orders", ports);
        self.block.receive.ports("mac_receive.orders", ports);
        for (name, port) in ["dma_read.progress", "dma_write.progress"].into_iter().zip(&self.dma) {
            if let Some(port) = port {
                ports.input(name, port);
            }
        }
        if let Some(port) = &self.transmit {
            ports.input("mac_transmit.progress", port);
        }
        if let Some(port) = &self.receive {
            ports.input("mac_receive.progress", port);
        }
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("reads", self.reads);
        counters.add("writes", self.writes);
        counters.add("errors", self.errors);
        for (offset, times) in self.surprises() {
            counters.add(&format!("surprises.0x{offset:03x}"), times);
        }
    }
}

impl Module for Tigon2RegistersParams {
    const NAME: &'static str = "tigon2-registers";
    const ABOUT: &'static str = "The Tigon-2's registers: events, pointers, mailboxes, semaphore, timer, host window.";
    const EXAMPLE: &'static str = r#"cpus = 2
buffers_end = 0x200000
mac_address = "00:60:cf:00:00:01""#;

    fn ports(&self) -> Vec<PortSpec> {
        let cpus = (0..self.cpus).flat_map(|i| {
            [
                PortSpec::to::<Memory>(format!("cpus[{i}]")).about("references of the cores"),
                PortSpec::from::<OneWay<CpuControl>>(format!("controls[{i}]")).about("orders to the cores").optional(),
                PortSpec::to::<OneWay<CpuStatus>>(format!("statuses[{i}]")).about("state of the cores").optional(),
            ]
        });
        cpus.chain([
            PortSpec::to::<Memory>("host").about("the host's window"),
            PortSpec::from::<Memory>("sram").about("memory behind the window"),
            PortSpec::from::<OneWay<InterruptLine>>("interrupt").about("to the host").optional(),
            PortSpec::from::<OneWay<DmaOrder>>("dma_read.orders").optional(),
            PortSpec::to::<OneWay<DmaProgress>>("dma_read.progress").optional(),
            PortSpec::from::<OneWay<DmaOrder>>("dma_write.orders").optional(),
            PortSpec::to::<OneWay<DmaProgress>>("dma_write.progress").optional(),
            PortSpec::from::<OneWay<TransmitOrder>>("mac_transmit.orders").optional(),
            PortSpec::to::<OneWay<TransmitProgress>>("mac_transmit.progress").optional(),
            PortSpec::from::<OneWay<ReceiveOrder>>("mac_receive.orders").optional(),
            PortSpec::to::<OneWay<ReceiveProgress>>("mac_receive.progress").optional(),
        ])
        .collect()
    }

    fn check(&self) -> Result<(), String> {
        if !(1..=4).contains(&self.cpus) {
            return Err(format!("cpus is {}, must be 1 to 4", self.cpus));
        }
        if !self.buffers_end.is_multiple_of(8) {
            return Err(format!("buffers_end is 0x{:x}, must be a multiple of 8", self.buffers_end));
        }
        mac_address(&self.mac_address).map(|_| ())
    }

    fn build(self, site: &mut Site) -> Built {
        let ports = Tigon2RegistersPorts {
            cpus: (0..self.cpus).map(|i| site.to::<Memory>(&format!("cpus[{i}]"))).collect(),
            controls: (0..self.cpus).map(|i| site.try_from::<OneWay<CpuControl>>(&format!("controls[{i}]"))).collect(),
            statuses: (0..self.cpus).map(|i| site.try_to::<OneWay<CpuStatus>>(&format!("statuses[{i}]"))).collect(),
            host: site.to::<Memory>("host"),
            sram: site.from::<Memory>("sram"),
            interrupt: site.try_from::<OneWay<InterruptLine>>("interrupt"),
            dma_read: (
                site.try_from::<OneWay<DmaOrder>>("dma_read.orders"),
                site.try_to::<OneWay<DmaProgress>>("dma_read.progress"),
            ),
            dma_write: (
                site.try_from::<OneWay<DmaOrder>>("dma_write.orders"),
                site.try_to::<OneWay<DmaProgress>>("dma_write.progress"),
            ),
            mac_transmit: (
                site.try_from::<OneWay<TransmitOrder>>("mac_transmit.orders"),
                site.try_to::<OneWay<TransmitProgress>>("mac_transmit.progress"),
            ),
            mac_receive: (
                site.try_from::<OneWay<ReceiveOrder>>("mac_receive.orders"),
                site.try_to::<OneWay<ReceiveProgress>>("mac_receive.progress"),
            ),
        };
        let clock = site.system.edges(site.clock);
        Built::new(Tigon2Registers::new(self, ports, clock))
    }
}

#[cfg(test)]
mod tests;
