//! Effects of register writes.

use super::eeprom::DATA_IN;
use super::map::{self, CpuRegister};
use super::outbox::Outbox;
use super::state::*;
use blocks::assist::{DmaOrder, ReceiveOrder, Transfer, TransmitOrder};
use blocks::interrupt::InterruptLine;
use blocks::mips::CpuControl;
use kernel::{Clock, Cycle};

/// Period of the timer in femtoseconds: 1 microsecond. Source: docs/machines/tigon2.md.
const TICK_FS: u64 = 1_000_000_000;

/// The registers and their output ports.
pub struct Block {
    pub state: State,
    clock: Clock,
    pub dma_read: Outbox<DmaOrder>,
    pub dma_write: Outbox<DmaOrder>,
    pub transmit: Outbox<TransmitOrder>,
    pub receive: Outbox<ReceiveOrder>,
    pub controls: Vec<Outbox<CpuControl>>,
    pub interrupt: Outbox<InterruptLine>,
    /// Level of the interrupt line sent last.
    line: bool,
    fresh: Fresh,
}

/// Values after a reset of the chip.
struct Fresh {
    mac: [u8; 6],
    receive_end: u32,
}

/// Ports of a [`Block`].
pub struct Outboxes {
    pub dma_read: Outbox<DmaOrder>,
    pub dma_write: Outbox<DmaOrder>,
    pub transmit: Outbox<TransmitOrder>,
    pub receive: Outbox<ReceiveOrder>,
    pub controls: Vec<Outbox<CpuControl>>,
    pub interrupt: Outbox<InterruptLine>,
}

impl Block {
    pub fn new(clock: Clock, mac: [u8; 6], receive_end: u32, boxes: Outboxes) -> Block {
        let Outboxes { dma_read, dma_write, transmit, receive, controls, interrupt } = boxes;
        let state = State::new(controls.len(), mac, receive_end);
        let fresh = Fresh { mac, receive_end };
        Block { state, clock, dma_read, dma_write, transmit, receive, controls, interrupt, line: false, fresh }
    }

    fn timer(&self, now: Cycle) -> u32 {
        let ticks = (self.clock.edge(now).fs() / TICK_FS) as u32;
        ticks.wrapping_add(self.state.timer_offset)
    }

    /// Reads the register at `offset`.
    pub fn read(&mut self, now: Cycle, offset: u32) -> u32 {
        let timer = self.timer(now);
        self.state.get(offset, timer)
    }

    /// Writes `value` to the register at `offset`.
    pub fn write(&mut self, now: Cycle, offset: u32, value: u32) {
        if let Some((cpu, register)) = map::cpu_register(offset)
            && cpu < self.state.cpus.len()
        {
            return self.write_cpu(cpu, register, value);
        }
        match offset {
            map::HOST_CONTROL => self.control_host(value),
            map::LOCAL_CONTROL => self.control_local(value),
            map::TIMER => {
                self.state.timer_offset = 0;
                self.state.timer_offset = value.wrapping_sub(self.timer(now));
            }
            0x080..=0x0bc => self.write_channel(offset, value),
            0x0c0..=0x0d8 => self.write_buffers(offset, value),
            0x0e0..=0x0f8 if offset != map::RECEIVE_THRESHOLD => self.write_mac_ring(offset, value),
            0x100..=0x118 | 0x120..=0x138 => self.write_dma_ring(offset, value),
            map::ASSIST_STATE => {
                self.state.assist_state = value;
                let runs = value & ASSISTS_ENABLED != 0 && value & ASSISTS_PAUSED == 0;
                self.dma_read.push(DmaOrder::Enable(runs));
                self.dma_write.push(DmaOrder::Enable(runs));
            }
            map::MAC_TRANSMIT_STATE => self.write_transmit_state(value),
            map::MAC_RECEIVE_STATE => self.write_receive_state(value),
            _ => {
                self.state.touch(offset);
                self.state.storage[offset as usize / 4 % 256] = value;
                match offset {
                    map::VLAN_TYPE if value >> 16 != 0 => {
                        self.transmit.push(TransmitOrder::VlanType((value >> 16) as u16));
                    }
                    map::ADDRESS_HIGH | map::ADDRESS_LOW | 0x228..=0x234 => self.filter(),
                    map::STATISTICS_BASE => self.receive.push(ReceiveOrder::Statistics(self.state.statistics())),
                    _ => {}
                }
            }
        }
    }

    fn write_cpu(&mut self, cpu: usize, register: CpuRegister, value: u32) {
        let own = &mut self.state.cpus[cpu];
        let control = &mut self.controls[cpu];
        match register {
            CpuRegister::Semaphore => match self.state.semaphore {
                None => self.state.semaphore = Some(cpu),
                Some(holder) if holder == cpu => self.state.semaphore = None,
                Some(_) => {}
            },
            CpuRegister::TimerReference => own.timer_reference = value,
            CpuRegister::MainEvent => own.soft_events = value & !LEVELS,
            CpuRegister::MailboxEvent => own.mailbox_events &= !value,
            CpuRegister::ProgramCounter => {
                own.pc = value;
                control.push(CpuControl::SetPc(value));
            }
            CpuRegister::StackOffset => {
                own.stack_offset = value;
                control.push(CpuControl::StackOffset(value));
            }
            CpuRegister::General(n) => {
                own.general[usize::from(n)] = value;
                control.push(CpuControl::SetRegister(n, value));
            }
            CpuRegister::State => {
                own.state = value & 0xffff & !3;
                let wants_halt = value >> 16 != 0;
                if value & 1 != 0 {
                    own.is_halted = true;
                    control.push(CpuControl::Reset);
                } else if value & 2 != 0 {
                    control.push(CpuControl::Step);
                } else if wants_halt != own.is_halted {
                    own.is_halted = wants_halt;
                    control.push(if wants_halt { CpuControl::Halt } else { CpuControl::Run });
                }
            }
        }
    }

    fn control_host(&mut self, value: u32) {
        if value & HOST_RESET != 0 {
            self.reset();
        }
        if value & HOST_CLEAR != 0 {
            self.state.is_interrupt = false;
        }
        self.state.host_control = value & (HOST_BYTE_SWAP | HOST_WORD_SWAP | HOST_MASK);
        self.drive_interrupt();
    }

    fn control_local(&mut self, value: u32) {
        self.state.local_control = value & !(RAISE_INTERRUPT | DATA_IN);
        self.state.eeprom.drive(value);
        if value & RAISE_INTERRUPT != 0 {
            self.state.is_interrupt = true;
            self.drive_interrupt();
        }
    }

    /// Resets everything except memory to the power-on state.
    fn reset(&mut self) {
        let cpus = self.state.cpus.len();
        let surprises = std::mem::take(&mut self.state.surprises);
        self.state = State { surprises, ..State::new(cpus, self.fresh.mac, self.fresh.receive_end) };
        for control in &mut self.controls {
            control.push(CpuControl::Reset);
        }
        for channel in [&mut self.dma_read, &mut self.dma_write] {
            channel.push(DmaOrder::Enable(false));
            channel.push(DmaOrder::Reset);
        }
        self.transmit.push(TransmitOrder::Enable(false));
        self.transmit.push(TransmitOrder::Reset);
        self.receive.push(ReceiveOrder::Enable(false));
        self.receive.push(ReceiveOrder::Reset);
        self.receive.push(ReceiveOrder::Statistics(self.state.statistics()));
        self.filter();
    }

    /// Drives the interrupt line from the state and the mask.
    fn drive_interrupt(&mut self) {
        let is_raised = self.state.is_interrupt && self.state.host_control & HOST_MASK == 0;
        if is_raised != self.line {
            self.line = is_raised;
            self.interrupt.push(InterruptLine { is_raised });
        }
    }

    /// The host wrote a mailbox; its value is in memory.
    pub fn mail(&mut self, mailbox: u32) {
        for cpu in &mut self.state.cpus {
            cpu.mailbox_events |= 1 << mailbox;
        }
        // Mailbox 0 acknowledges the interrupt: drivers do nothing else for it, and firmware raises no interrupt while it is
        // nonzero.
        if mailbox == 0 {
            self.state.is_interrupt = false;
            self.drive_interrupt();
        }
    }

    fn write_channel(&mut self, offset: u32, value: u32) {
        let is_read = matches!(offset, 0x090..=0x09c | 0x0b0..);
        let (channel, orders) = if is_read {
            (&mut self.state.read, &mut self.dma_read)
        } else {
            (&mut self.state.write, &mut self.dma_write)
        };
        match offset {
            map::READ_HOST_HIGH | map::WRITE_HOST_HIGH => channel.host_high = value,
            map::READ_HOST_LOW | map::WRITE_HOST_LOW => channel.host_low = value,
            map::READ_LOCAL | map::WRITE_LOCAL => channel.local = value,
            map::READ_LENGTH | map::WRITE_LENGTH => channel.length = value & 0xffff,
            map::READ_CHECKSUM | map::WRITE_CHECKSUM => channel.checksum = value,
            map::READ_STATE | map::WRITE_STATE => {
                channel.state = value & !(RESET | DMA_ERRORS);
                if value & RESET != 0 {
                    channel.is_single_active = false;
                    orders.push(DmaOrder::Reset);
                    for ring in [(0, &channel.ring), (1, &channel.high_ring)] {
                        orders.push(DmaOrder::Consumer(ring.0, ring.1.consumer));
                        orders.push(DmaOrder::Producer(ring.0, ring.1.producer));
                    }
                } else if value & DMA_ACTIVE != 0 && !channel.is_single_active {
                    channel.is_single_active = true;
                    orders.push(DmaOrder::Single(Transfer {
                        host: u64::from(channel.host_high) << 32 | u64::from(channel.host_low),
                        local: u64::from(channel.local),
                        bytes: channel.length,
                        // The checksum of a transfer without descriptor stays in its register.
                        state: value & !Transfer::CHECKSUM,
                        checksum_at: 0,
                    }));
                }
            }
            _ => {
                self.state.touch(offset);
                self.state.storage[offset as usize / 4] = value;
            }
        }
    }

    pub(super) fn write_buffers(&mut self, offset: u32, value: u32) {
        let state = &mut self.state;
        let (transmit, receive) = (state.transmit_buffers(), state.receive_buffers());
        let wrap = |buffers: blocks::assist::Buffers| {
            let beyond = u64::from(value) >= buffers.end && buffers.end > buffers.base;
            if beyond { (buffers.base + (u64::from(value) - buffers.end)) as u32 } else { value }
        };
        match offset {
            map::RECEIVE_BASE => {
                state.receive_base = value;
                self.place();
            }
            map::TRANSMIT_BASE => {
                state.transmit_base = value;
                self.place();
            }
            map::RECEIVE_PRODUCER => {
                state.receive_producer = value;
                self.receive.push(ReceiveOrder::BufferProducer(u64::from(value)));
            }
            map::RECEIVE_CONSUMER => {
                state.receive_consumer = wrap(receive);
                self.receive.push(ReceiveOrder::BufferConsumer(u64::from(state.receive_consumer)));
            }
            map::TRANSMIT_PRODUCER => {
                state.transmit_producer = wrap(transmit);
                self.transmit.push(TransmitOrder::BufferProducer(u64::from(state.transmit_producer)));
            }
            map::TRANSMIT_CONSUMER => {
                state.transmit_consumer = wrap(transmit);
                self.transmit.push(TransmitOrder::BufferConsumer(u64::from(state.transmit_consumer)));
            }
            _ => {
                state.touch(offset);
                state.storage[offset as usize / 4] = value;
            }
        }
    }

    /// Sends the addresses of buffers and rings to the assists.
    fn place(&mut self) {
        let state = &self.state;
        let (private, transmit, receive) = (state.private(), state.transmit_buffers(), state.receive_buffers());
        let base = |ring: &super::rings::Ring| u64::from(ring.addr(private, 0));
        self.dma_read.push(DmaOrder::Buffers(transmit));
        self.dma_write.push(DmaOrder::Buffers(receive));
        for (orders, channel) in [(&mut self.dma_read, &state.read), (&mut self.dma_write, &state.write)] {
            orders.push(DmaOrder::Ring(0, base(&channel.ring)));
            orders.push(DmaOrder::Ring(1, base(&channel.high_ring)));
        }
        self.transmit.push(TransmitOrder::Buffers(transmit));
        self.transmit.push(TransmitOrder::Ring(base(&state.transmit)));
        self.receive.push(ReceiveOrder::Buffers(receive));
        self.receive.push(ReceiveOrder::Ring(base(&state.receive)));
        self.point_receive();
    }

    /// Sends the receiver its pointers; a reset of the receiver keeps them.
    fn point_receive(&mut self) {
        let State { receive, receive_producer, receive_consumer, .. } = &self.state;
        self.receive.push(ReceiveOrder::BufferProducer(u64::from(*receive_producer)));
        self.receive.push(ReceiveOrder::BufferConsumer(u64::from(*receive_consumer)));
        self.receive.push(ReceiveOrder::Producer(receive.producer));
        self.receive.push(ReceiveOrder::Consumer(receive.consumer));
    }

    /// Sends the receiver its address filter.
    fn filter(&mut self) {
        self.receive.push(ReceiveOrder::Filter(self.state.filter()));
    }

    fn write_mac_ring(&mut self, offset: u32, value: u32) {
        let State { transmit, receive, .. } = &mut self.state;
        match offset {
            0x0e0 => {
                receive.producer = receive.index(value);
                self.receive.push(ReceiveOrder::Producer(receive.producer));
            }
            0x0e4 => {
                receive.consumer = receive.index(value);
                self.receive.push(ReceiveOrder::Consumer(receive.consumer));
            }
            0x0e8 => receive.reference = receive.index(value),
            0x0f0 => {
                transmit.producer = transmit.index(value);
                self.transmit.push(TransmitOrder::Producer(transmit.producer));
            }
            0x0f4 => {
                transmit.consumer = transmit.index(value);
                self.transmit.push(TransmitOrder::Consumer(transmit.consumer));
            }
            _ => transmit.reference = transmit.index(value),
        }
    }

    fn write_dma_ring(&mut self, offset: u32, value: u32) {
        let is_read = offset < map::ASSIST_STATE;
        let (channel, orders) = if is_read {
            (&mut self.state.read, &mut self.dma_read)
        } else {
            (&mut self.state.write, &mut self.dma_write)
        };
        let number = (offset >> 4 & 1) as u8;
        let ring = if number == 1 { &mut channel.high_ring } else { &mut channel.ring };
        match offset & 0xf {
            0x0 => {
                ring.producer = ring.index(value);
                orders.push(DmaOrder::Producer(number, ring.producer));
            }
            0x4 => {
                ring.consumer = ring.index(value);
                orders.push(DmaOrder::Consumer(number, ring.consumer));
            }
            0x8 => ring.reference = ring.index(value),
            // The next free entry is read-only.
            _ => {}
        }
    }

    fn write_transmit_state(&mut self, value: u32) {
        let attentions = self.state.transmit_state & TRANSMIT_ATTENTIONS & !value;
        self.state.transmit_state = value & !(RESET | TRANSMIT_ATTENTIONS) | attentions;
        if value & RESET != 0 {
            self.transmit.push(TransmitOrder::Reset);
            self.transmit.push(TransmitOrder::BufferConsumer(u64::from(self.state.transmit_consumer)));
            self.transmit.push(TransmitOrder::Consumer(self.state.transmit.consumer));
            self.transmit.push(TransmitOrder::Producer(self.state.transmit.producer));
        }
        self.transmit.push(TransmitOrder::Enable(value & (ENABLE | STOP) == ENABLE));
    }

    fn write_receive_state(&mut self, value: u32) {
        let attentions = self.state.receive_state & RECEIVE_ATTENTIONS & !value;
        let was_promiscuous = self.state.filter().is_promiscuous;
        self.state.receive_state = value & !(RESET | RECEIVE_ATTENTIONS | RECEIVE_STATUS) | attentions;
        if value & RESET != 0 {
            self.receive.push(ReceiveOrder::Reset);
            self.point_receive();
        }
        if self.state.filter().is_promiscuous != was_promiscuous {
            self.filter();
        }
        self.receive.push(ReceiveOrder::Enable(value & (ENABLE | STOP) == ENABLE));
    }

    /// Sends queued messages as far as there is room.
    pub fn flush(&mut self) {
        self.dma_read.flush();
        self.dma_write.flush();
        self.transmit.flush();
        self.receive.flush();
        self.interrupt.flush();
        self.controls.iter_mut().for_each(Outbox::flush);
    }
}
