//! Register map: offsets from 0xC0000000 and in the host's window.
//!
//! Source: docs/machines/tigon2.md. The registers of a third and a fourth CPU are assumed: the chip has two.

/// A register that each CPU has separately.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CpuRegister {
    Semaphore,
    TimerReference,
    MainEvent,
    MailboxEvent,
    State,
    ProgramCounter,
    StackOffset,
    General(u8),
}

pub const HOST_CONTROL: u32 = 0x040;
pub const LOCAL_CONTROL: u32 = 0x044;
pub const MISC_CONFIGURATION: u32 = 0x050;
pub const TIMER: u32 = 0x054;
pub const PCI_STATE: u32 = 0x05c;
pub const WINDOW_BASE: u32 = 0x068;
pub const WINDOW_DATA: u32 = 0x06c;
pub const SERIAL: u32 = 0x07c;
pub const WRITE_HOST_HIGH: u32 = 0x080;
pub const WRITE_HOST_LOW: u32 = 0x084;
pub const READ_HOST_HIGH: u32 = 0x090;
pub const READ_HOST_LOW: u32 = 0x094;
pub const READ_LENGTH: u32 = 0x09c;
pub const WRITE_STATE: u32 = 0x0a0;
pub const WRITE_LOCAL: u32 = 0x0a4;
pub const WRITE_CHECKSUM: u32 = 0x0a8;
pub const WRITE_LENGTH: u32 = 0x0ac;
pub const READ_STATE: u32 = 0x0b0;
pub const READ_LOCAL: u32 = 0x0b4;
pub const READ_CHECKSUM: u32 = 0x0b8;
pub const RECEIVE_BASE: u32 = 0x0c0;
pub const RECEIVE_PRODUCER: u32 = 0x0c4;
pub const RECEIVE_CONSUMER: u32 = 0x0c8;
pub const TRANSMIT_BASE: u32 = 0x0d0;
pub const TRANSMIT_PRODUCER: u32 = 0x0d4;
pub const TRANSMIT_CONSUMER: u32 = 0x0d8;
pub const RECEIVE_THRESHOLD: u32 = 0x0ec;
pub const ASSIST_STATE: u32 = 0x11c;
pub const MAC_TRANSMIT_STATE: u32 = 0x200;
pub const TRANSMIT_CONFIGURATION: u32 = 0x204;
pub const ADDRESS_HIGH: u32 = 0x208;
pub const ADDRESS_LOW: u32 = 0x20c;
pub const VLAN_TYPE: u32 = 0x214;
pub const MAC_RECEIVE_STATE: u32 = 0x220;
pub const RECEIVED_CONFIGURATION: u32 = 0x224;
/// Four words, the most significant first.
pub const GROUPS: u32 = 0x228;
pub const RECEIVE_PORT: u32 = 0x238;
pub const STATISTICS_BASE: u32 = 0x23c;

/// The per-CPU register at this offset, and its CPU.
pub fn cpu_register(offset: u32) -> Option<(usize, CpuRegister)> {
    use CpuRegister::*;
    let found = match offset {
        0x048 | 0x04c => (usize::from(offset == 0x04c), Semaphore),
        0x058 | 0x078 => (usize::from(offset == 0x078), TimerReference),
        0x060 | 0x070 => (usize::from(offset == 0x070), MainEvent),
        0x064 | 0x074 => (usize::from(offset == 0x074), MailboxEvent),
        0x140..=0x1ff | 0x240..=0x2ff => {
            let register = match offset & 0xff {
                0x40 => State,
                0x44 => ProgramCounter,
                0x50 => StackOffset,
                at @ 0x80.. => General((at - 0x80) as u8 / 4),
                _ => return None,
            };
            (usize::from(offset >= 0x240), register)
        }
        // assumed: the chip has nothing here; a third and a fourth CPU get their registers in two blocks of 0x80 bytes.
        0x300..=0x3ff => {
            let register = match offset & 0x7f {
                0x00 => State,
                0x04 => ProgramCounter,
                0x10 => StackOffset,
                0x20 => MainEvent,
                0x24 => MailboxEvent,
                0x28 => TimerReference,
                0x2c => Semaphore,
                _ => return None,
            };
            (2 + usize::from(offset >= 0x380), register)
        }
        _ => return None,
    };
    Some(found)
}

/// Returns true if a register only stores its value, as far as is known.
pub fn is_storage(offset: u32) -> bool {
    let mac = [
        ADDRESS_HIGH,
        ADDRESS_LOW,
        0x210,
        VLAN_TYPE,
        0x21c,
        TRANSMIT_CONFIGURATION,
        RECEIVED_CONFIGURATION,
        RECEIVE_PORT,
        STATISTICS_BASE,
    ];
    let multicast = 0x228..=0x234;
    let others = [MISC_CONFIGURATION, PCI_STATE, WINDOW_BASE, SERIAL, RECEIVE_THRESHOLD];
    offset < 0x40 || mac.contains(&offset) || multicast.contains(&offset) || others.contains(&offset)
}
