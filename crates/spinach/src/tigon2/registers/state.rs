//! Contents of the registers, and reads.

use super::eeprom::{DATA_IN, Eeprom};
use super::map::{self, CpuRegister};
use super::rings::Ring;
use blocks::assist::{Buffers, Filter};
use std::collections::BTreeMap;

/// Bits of the main event register that follow other registers. Source: docs/machines/tigon2.md.
pub const RECEIVE_COMPLETE: u32 = 1 << 6;
pub const DMA_WRITE_DONE: u32 = 1 << 14;
pub const DMA_READ_DONE: u32 = 1 << 15;
pub const DMA_WRITE_ATTENTION: u32 = 1 << 19;
pub const DMA_READ_ATTENTION: u32 = 1 << 20;
pub const MAILBOX: u32 = 1 << 22;
pub const RECEIVE_ATTENTION: u32 = 1 << 25;
pub const TRANSMIT_ATTENTION: u32 = 1 << 26;
pub const TIMER: u32 = 1 << 28;
/// All of these bits; the others belong to firmware.
pub const LEVELS: u32 = RECEIVE_COMPLETE
    | DMA_WRITE_DONE
    | DMA_READ_DONE
    | DMA_WRITE_ATTENTION
    | DMA_READ_ATTENTION
    | MAILBOX
    | RECEIVE_ATTENTION
    | TRANSMIT_ATTENTION
    | TIMER;

/// Bits of the misc host control register. Source: docs/machines/tigon2.md.
pub const HOST_CLEAR: u32 = 1 << 1;
pub const HOST_RESET: u32 = 1 << 3;
pub const HOST_BYTE_SWAP: u32 = 1 << 4;
pub const HOST_WORD_SWAP: u32 = 1 << 5;
pub const HOST_MASK: u32 = 1 << 6;
/// Chip revision: 6 is the Tigon-2.
const REVISION: u32 = 6 << 28;
/// Local control: raise the host's interrupt.
pub const RAISE_INTERRUPT: u32 = 1 << 2;
/// State of a MAC or of a DMA channel.
pub const RESET: u32 = 1 << 0;
pub const ENABLE: u32 = 1 << 1;
pub const STOP: u32 = 1 << 2;
pub const DMA_ACTIVE: u32 = 1 << 2;
/// Errors of a DMA channel.
pub const DMA_ERRORS: u32 = 0xef00_0000;
/// assumed: the bit that a bus error sets; firmware tests the whole mask.
pub const DMA_BUS_ERROR: u32 = 1 << 31;
/// Receiver state: accept all frames. Firmware sets it on the host's command.
pub const PROMISCUOUS: u32 = 1 << 3;
/// Attentions of the receiving MAC. Firmware clears an attention by writing 1 to it and 0 to the others.
pub const RECEIVE_ATTENTIONS: u32 = 0xf700_0000;
/// Attention: the receive buffers or descriptors are full. Firmware's handler then repairs the buffer pointers.
pub const RECEIVE_FULL: u32 = 1 << 30;
/// Attentions of the transmitting MAC.
pub const TRANSMIT_ATTENTIONS: u32 = 0x3f00_0000;
/// assumed: the attention for a transmitter underrun.
pub const TRANSMIT_UNDERRUN: u32 = 1 << 24;
/// Receiver state, read-only: code groups are synchronized. Firmware's loopback test waits for it and tries the other bit order
/// (bit 15) until it is set.
const IN_STEP: u32 = 1 << 18;
/// Receiver state, read-only: configuration words arrive instead of idles. Firmware's negotiation proceeds only while it is
/// set, and considers the link up if it is clear at the end. Without negotiation firmware waits until it is clear.
const CONFIGURATION_ARRIVES: u32 = 1 << 19;
/// Bits that firmware writes back as it read them.
pub const RECEIVE_STATUS: u32 = IN_STEP | CONFIGURATION_ARRIVES;
/// Attention: the line carries a signal, valid while the receiver is disabled. Firmware clears the attentions, disables the
/// receiver, and considers the link dead unless this bit (or its neighbor, bit 25) is set again. While the receiver is enabled
/// it means that the link was lost, which does not happen here.
const SIGNAL: u32 = 1 << 24;
/// Receive port: the upper half selects the first interface. Firmware clears this bit for loopback, in its interface probe and
/// for the host's loopback command, and sets it otherwise.
const FIRST_INTERFACE: u32 = 0xffff_0000;
const FIRST_NORMAL: u32 = 1 << 3;
/// Local control: lines of the second interface, set by firmware for its loopback.
/// assumed: firmware's probe finds both interfaces, as on a board that has both; otherwise it retries for more than a second.
const SECOND_LOOPBACK: u32 = 0x5000;
/// Configuration word with the MAC's swapped bytes: full duplex, acknowledge. Source: IEEE 802.3, 37.2.1.
const FULL_DUPLEX: u32 = 0x2000;
const ACKNOWLEDGE: u32 = 0x0040;
/// CPU state: halted.
pub const CPU_HALTED: u32 = 1 << 16;
/// DMA assists: a bit of 0x11C.
pub const ASSISTS_ENABLED: u32 = 1 << 0;
pub const ASSISTS_PAUSED: u32 = 1 << 1;
/// Bit of a read descriptor's state word: last piece of a frame, after which firmware may advance the transmit buffer pointer.
pub const LAST_PIECE: u32 = 1 << 17;
/// Bit of a write descriptor's state word: bytes of a frame, whose buffer is free when they are written. Firmware advances the
/// receive buffers' consumer itself only for dropped frames and when it works without assists.
pub const FRAME_BYTES: u32 = 1 << 19;

/// Offset of the transmit buffers from the private area's base. Source: docs/machines/tigon2.md.
const PRIVATE_BYTES: u32 = 0x5000;

/// Per-CPU state.
#[derive(Clone, Debug)]
pub struct CpuState {
    pub state: u32,
    pub is_halted: bool,
    pub pc: u32,
    pub stack_offset: u32,
    pub general: [u32; 32],
    /// Bits of the main event register that belong to firmware.
    pub soft_events: u32,
    pub mailbox_events: u32,
    pub timer_reference: u32,
}

/// A DMA channel's registers.
#[derive(Clone, Debug)]
pub struct Channel {
    pub host_high: u32,
    pub host_low: u32,
    pub local: u32,
    pub length: u32,
    pub checksum: u32,
    /// State word without the active bit.
    pub state: u32,
    /// True while a transfer started through the state register is in progress.
    pub is_single_active: bool,
    pub ring: Ring,
    pub high_ring: Ring,
}

/// All registers.
pub struct State {
    /// Registers that only store their value, by offset / 4.
    pub storage: Vec<u32>,
    pub cpus: Vec<CpuState>,
    pub semaphore: Option<usize>,
    /// Offset from time to the timer's value.
    pub timer_offset: u32,
    pub host_control: u32,
    pub local_control: u32,
    pub is_interrupt: bool,
    pub assist_state: u32,
    pub read: Channel,
    pub write: Channel,
    pub transmit: Ring,
    pub receive: Ring,
    pub transmit_state: u32,
    pub receive_state: u32,
    pub receive_base: u32,
    pub receive_producer: u32,
    pub receive_consumer: u32,
    pub transmit_base: u32,
    pub transmit_producer: u32,
    pub transmit_consumer: u32,
    pub receive_end: u32,
    pub eeprom: Eeprom,
    /// Unmodeled registers, and how often they were accessed.
    pub surprises: BTreeMap<u32, u64>,
}

impl Channel {
    fn new(ring: Ring, high_ring: Ring) -> Channel {
        let (host_high, host_low, local, length, checksum, state) = (0, 0, 0, 0, 0, 0);
        Channel { host_high, host_low, local, length, checksum, state, is_single_active: false, ring, high_ring }
    }

    /// The state word as read.
    fn word(&self, assists: u32) -> u32 {
        let ring_works = assists & ASSISTS_ENABLED != 0
            && [&self.ring, &self.high_ring].iter().any(|ring| ring.producer != ring.consumer);
        self.state & !DMA_ACTIVE | if self.is_single_active || ring_works { DMA_ACTIVE } else { 0 }
    }
}

impl State {
    pub fn new(cpus: usize, mac: [u8; 6], receive_end: u32) -> State {
        let cpu = CpuState {
            state: 0,
            is_halted: true,
            pc: 0,
            stack_offset: 0,
            general: [0; 32],
            soft_events: 0,
            mailbox_events: 0,
            timer_reference: 0,
        };
        // assumed: the high-priority rings have 32 entries each, in the otherwise unused 2 KB below the transmit ring.
        let read = Channel::new(Ring::new(0x4000, 64, 32), Ring::new(0x2000, 32, 32));
        let write = Channel::new(Ring::new(0x4800, 64, 32), Ring::new(0x2400, 32, 32));
        State {
            storage: vec![0; 256],
            cpus: vec![cpu; cpus],
            semaphore: None,
            timer_offset: 0,
            host_control: 0,
            local_control: 0,
            is_interrupt: false,
            assist_state: 0,
            read,
            write,
            transmit: Ring::new(0x2800, 256, 8),
            receive: Ring::new(0x3000, 512, 8),
            transmit_state: 0,
            receive_state: 0,
            receive_base: 0,
            receive_producer: 0,
            receive_consumer: 0,
            transmit_base: 0,
            transmit_producer: 0,
            transmit_consumer: 0,
            receive_end,
            eeprom: Eeprom::new(mac),
            surprises: BTreeMap::new(),
        }
    }

    /// Base of the private area.
    pub fn private(&self) -> u32 {
        self.transmit_base.wrapping_sub(PRIVATE_BYTES)
    }

    pub fn transmit_buffers(&self) -> Buffers {
        Buffers { base: u64::from(self.transmit_base), end: u64::from(self.receive_base) }
    }

    pub fn receive_buffers(&self) -> Buffers {
        Buffers { base: u64::from(self.receive_base), end: u64::from(self.receive_end) }
    }

    /// The receive address filter. The address is stored in the order of the host's words: 16 bits, then 32.
    pub fn filter(&self) -> Filter {
        let word = |offset: u32| self.storage[offset as usize / 4];
        let own = u64::from(word(map::ADDRESS_HIGH)) << 32 | u64::from(word(map::ADDRESS_LOW));
        let address = std::array::from_fn(|position| own.to_be_bytes()[position + 2]);
        let groups = (0..4).fold(0, |bits, n| bits << 32 | u128::from(word(map::GROUPS + 4 * n)));
        Filter { address, groups, is_promiscuous: self.receive_state & PROMISCUOUS != 0 }
    }

    /// Address of the MAC's counters in memory. Source: docs/machines/tigon2.md: 0 means 0x80.
    pub fn statistics(&self) -> u64 {
        match self.storage[map::STATISTICS_BASE as usize / 4] {
            0 => 0x80,
            base => base.into(),
        }
    }

    /// The main event register of a CPU at timer value `timer`.
    pub fn events(&self, cpu: usize, timer: u32) -> u32 {
        let own = &self.cpus[cpu];
        let bit_if = |bit: u32, is_on: bool| if is_on { bit } else { 0 };
        let has_passed = timer.wrapping_sub(own.timer_reference) as i32 >= 0;
        own.soft_events
            | bit_if(RECEIVE_COMPLETE, self.receive.producer != self.receive.reference)
            | bit_if(DMA_WRITE_DONE, self.write.ring.has_passed())
            | bit_if(DMA_READ_DONE, self.read.ring.has_passed())
            | bit_if(DMA_WRITE_ATTENTION, self.write.state & DMA_ERRORS != 0)
            | bit_if(DMA_READ_ATTENTION, self.read.state & DMA_ERRORS != 0)
            | bit_if(MAILBOX, own.mailbox_events != 0)
            | bit_if(RECEIVE_ATTENTION, self.receive_state & RECEIVE_ATTENTIONS != 0)
            | bit_if(TRANSMIT_ATTENTION, self.transmit_state & TRANSMIT_ATTENTIONS != 0)
            | bit_if(TIMER, has_passed)
    }

    /// Reads the register at `offset` at timer value `timer`.
    pub fn get(&mut self, offset: u32, timer: u32) -> u32 {
        if let Some((cpu, register)) = map::cpu_register(offset)
            && cpu < self.cpus.len()
        {
            return self.get_cpu(cpu, register, timer);
        }
        let private = self.private();
        let State { read, write, transmit, receive, .. } = self;
        match offset {
            map::HOST_CONTROL => REVISION | self.host_control | u32::from(self.is_interrupt),
            map::LOCAL_CONTROL => {
                let data_in = if self.eeprom.data_in() { DATA_IN } else { 0 };
                self.local_control & !DATA_IN | data_in
            }
            map::TIMER => timer,
            map::WRITE_HOST_HIGH => write.host_high,
            map::WRITE_HOST_LOW => write.host_low,
            map::WRITE_STATE => write.word(self.assist_state),
            map::WRITE_LOCAL => write.local,
            map::WRITE_CHECKSUM => write.checksum,
            map::WRITE_LENGTH => write.length,
            map::READ_HOST_HIGH => read.host_high,
            map::READ_HOST_LOW => read.host_low,
            map::READ_STATE => read.word(self.assist_state),
            map::READ_LOCAL => read.local,
            map::READ_CHECKSUM => read.checksum,
            map::READ_LENGTH => read.length,
            map::RECEIVE_BASE => self.receive_base,
            map::RECEIVE_PRODUCER => self.receive_producer,
            map::RECEIVE_CONSUMER => self.receive_consumer,
            map::TRANSMIT_BASE => self.transmit_base,
            map::TRANSMIT_PRODUCER => self.transmit_producer,
            map::TRANSMIT_CONSUMER => self.transmit_consumer,
            0x0e0 => receive.addr(private, receive.producer),
            0x0e4 => receive.addr(private, receive.consumer),
            0x0e8 => receive.addr(private, receive.reference),
            0x0f0 => transmit.addr(private, transmit.producer),
            0x0f4 => transmit.addr(private, transmit.consumer),
            0x0f8 => transmit.addr(private, transmit.reference),
            0x0fc => transmit.next_free(private),
            0x100 => read.ring.addr(private, read.ring.producer),
            0x104 => read.ring.addr(private, read.ring.consumer),
            0x108 => read.ring.addr(private, read.ring.reference),
            0x10c => read.ring.next_free(private),
            0x110 => read.high_ring.addr(private, read.high_ring.producer),
            0x114 => read.high_ring.addr(private, read.high_ring.consumer),
            0x118 => read.high_ring.addr(private, read.high_ring.reference),
            map::ASSIST_STATE => self.assist_state,
            0x120 => write.ring.addr(private, write.ring.producer),
            0x124 => write.ring.addr(private, write.ring.consumer),
            0x128 => write.ring.addr(private, write.ring.reference),
            0x12c => write.ring.next_free(private),
            0x130 => write.high_ring.addr(private, write.high_ring.producer),
            0x134 => write.high_ring.addr(private, write.high_ring.consumer),
            0x138 => write.high_ring.addr(private, write.high_ring.reference),
            map::MAC_TRANSMIT_STATE => self.transmit_state,
            map::MAC_RECEIVE_STATE => self.receive_state | self.line_status(),
            map::RECEIVED_CONFIGURATION => self.received_configuration(),
            _ => {
                self.touch(offset);
                self.storage[offset as usize / 4 % 256]
            }
        }
    }

    fn get_cpu(&self, cpu: usize, register: CpuRegister, timer: u32) -> u32 {
        let own = &self.cpus[cpu];
        match register {
            CpuRegister::Semaphore => u32::from(self.semaphore == Some(cpu)),
            CpuRegister::TimerReference => own.timer_reference,
            CpuRegister::MainEvent => self.events(cpu, timer),
            CpuRegister::MailboxEvent => own.mailbox_events,
            CpuRegister::State => own.state | if own.is_halted { CPU_HALTED } else { 0 },
            CpuRegister::ProgramCounter => own.pc,
            CpuRegister::StackOffset => own.stack_offset,
            CpuRegister::General(n) => own.general[usize::from(n)],
        }
    }

    /// Counts an access to an unknown register.
    pub fn touch(&mut self, offset: u32) {
        if !map::is_storage(offset) {
            *self.surprises.entry(offset).or_default() += 1;
        }
    }

    fn is_looped(&self) -> bool {
        match self.storage[map::RECEIVE_PORT as usize / 4] {
            port if port & FIRST_INTERFACE != 0 => port & FIRST_NORMAL == 0,
            _ => self.local_control & SECOND_LOOPBACK == SECOND_LOOPBACK,
        }
    }

    /// The line carries a synchronized signal. The link partner sends configuration words until the card sends frames.
    /// assumed: a partner that negotiates by IEEE 802.3, clause 37, when the card does, and is never slower than the card.
    fn line_status(&self) -> u32 {
        let signal = if self.receive_state & ENABLE == 0 { SIGNAL } else { 0 };
        let configuration = if self.transmit_state & ENABLE == 0 { CONFIGURATION_ARRIVES } else { 0 };
        IN_STEP | signal | configuration
    }

    /// The received configuration word: the card's own in loopback. Otherwise the partner's, which supports full duplex without
    /// pause, and acknowledges the card's word.
    fn received_configuration(&self) -> u32 {
        let sent = self.storage[map::TRANSMIT_CONFIGURATION as usize / 4];
        match sent {
            _ if self.is_looped() => sent & 0xffff,
            0 => FULL_DUPLEX,
            _ => FULL_DUPLEX | ACKNOWLEDGE,
        }
    }
}
