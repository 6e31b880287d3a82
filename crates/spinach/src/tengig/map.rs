//! The 10 Gigabit NIC as firmware and host see it: addresses, registers, layouts.
//!
//! The definitions are those of `firmware/tengig/regs.h`, which explains each of them. A test compares both files.

/// Names and values as in the C header; a test compares each.
macro_rules! header {
    ($($(#[$doc:meta])* $name:ident = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: u32 = $value;)*

        /// All definitions.
        #[cfg(test)]
        const ALL: &[(&str, u32)] = &[$((stringify!($name), $value)),*];
    };
}

header! {
    /// First address of the control memory.
    CONTROL_MEMORY = 0;
    /// Its size.
    CONTROL_BYTES = 0x4_0000;
    /// First address of the instruction memory.
    INSTRUCTION_MEMORY = 0x40_0000;
    /// Its size.
    INSTRUCTION_BYTES = 0x1_0000;
    /// First address of the frame memory.
    FRAME_MEMORY = 0x1000_0000;
    /// First address of the registers.
    REGISTERS = 0xC000_0000;
    /// Number of the reading processor.
    CPU_ID = 0x000;
    /// Number of processors.
    CPUS = 0x004;
    /// Microseconds since reset.
    TIMER = 0x008;
    /// Nonzero after the host has written the other set-up registers.
    HOST_READY = 0x010;
    /// Sent frames per report to the host.
    SEND_COALESCE = 0x014;
    /// Received frames per report to the host.
    RECEIVE_COALESCE = 0x018;
    /// Microseconds after which there is a report in any case.
    COALESCE_US = 0x01C;
    /// Host address of the send ring, high word, then low.
    SEND_RING = 0x020;
    /// Host address of the ring of empty buffers.
    RECEIVE_RING = 0x028;
    /// Host address of the return ring.
    RETURN_RING = 0x030;
    /// Host address of the send consumer and the return producer.
    STATUS = 0x038;
    /// Producer of the send ring.
    MAILBOX_SEND = 0x040;
    /// Producer of the receive ring.
    MAILBOX_RECEIVE = 0x044;
    /// Firmware writes 1 to interrupt the host; the host writes 0 to acknowledge.
    INTERRUPT = 0x048;
    /// Descriptor format and rings that the firmware supports.
    RINGS = 0x04C;
    /// [`RINGS`]: one ring of empty buffers.
    RINGS_ONE = 0;
    /// [`RINGS`]: mini, standard and jumbo buffers, statistics.
    RINGS_THREE = 1;
    /// Host address of the ring of mini buffers, high word, then low.
    MINI_RING = 0x050;
    /// Host address of the ring of jumbo buffers.
    JUMBO_RING = 0x058;
    /// Host address of the statistics.
    STATISTICS = 0x060;
    /// Producer of the mini ring.
    MAILBOX_MINI = 0x068;
    /// Producer of the jumbo ring.
    MAILBOX_JUMBO = 0x06C;
    /// Longest frame for a mini buffer.
    MINI_BYTES = 0x070;
    /// Longest frame for a standard buffer.
    STANDARD_BYTES = 0x074;
    /// Longest frame for a jumbo buffer.
    JUMBO_BYTES = 0x078;
    /// Update interval of the statistics in microseconds.
    STATISTICS_US = 0x07C;
    /// Nonzero if return descriptors shall hold the frame's sum.
    RECEIVE_SUMS = 0x0CC;
    /// Address of the MAC's drop counters.
    MAC_STATISTICS = 0x0D0;
    /// Base address of the DMA read assist's ring.
    DMA_READ_BASE = 0x080;
    /// Producer: transfers to do.
    DMA_READ_PRODUCER = 0x084;
    /// Consumer: transfers done.
    DMA_READ_CONSUMER = 0x088;
    /// Base address of the DMA write assist's ring.
    DMA_WRITE_BASE = 0x090;
    /// Producer: transfers to do.
    DMA_WRITE_PRODUCER = 0x094;
    /// Consumer: transfers done.
    DMA_WRITE_CONSUMER = 0x098;
    /// Base address of the transmitter's ring.
    MAC_TRANSMIT_BASE = 0x0A0;
    /// Producer: frames to send.
    MAC_TRANSMIT_PRODUCER = 0x0A4;
    /// Consumer: frames read from frame memory.
    MAC_TRANSMIT_CONSUMER = 0x0A8;
    /// Base address of the receiver's ring.
    MAC_RECEIVE_BASE = 0x0B0;
    /// Producer: frames stored in frame memory.
    MAC_RECEIVE_PRODUCER = 0x0B4;
    /// Consumer: frames whose descriptors firmware has processed.
    MAC_RECEIVE_CONSUMER = 0x0B8;
    /// Address of the receive area.
    RECEIVE_AREA = 0x0C0;
    /// Its size; a write enables the receiver.
    RECEIVE_AREA_BYTES = 0x0C4;
    /// Address after the last frame that firmware has processed.
    RECEIVE_AREA_CONSUMER = 0x0C8;
    /// The first lock.
    LOCK_WORDS = 0x100;
    /// Number of locks.
    LOCKS = 32;
    /// With an event queue: type of the next event plus 1, or 0. A read takes the event.
    EVENT = 0x200;
    /// First element of the event.
    EVENT_START = 0x204;
    /// Element after the last of the event.
    EVENT_END = 0x208;
    /// First element of an event to queue.
    PUSH_START = 0x20C;
    /// Element after the last of an event to queue.
    PUSH_END = 0x210;
    /// Type of an event to queue; a write queues it.
    PUSH = 0x214;
    /// Number of a filled slot of the DMA read ring.
    READ_READY = 0x218;
    /// Number of a filled slot of the DMA write ring.
    WRITE_READY = 0x21C;
    /// Eight words: maximum number of elements per event, by type.
    EVENT_MOST = 0x220;
    /// Number of frames with a host buffer; no events are made for frames beyond it.
    BUFFERS_THERE = 0x240;
    /// Entries of each DMA ring.
    DMA_ENTRIES = 256;
    /// Entries of the transmitter's ring.
    MAC_TRANSMIT_ENTRIES = 256;
    /// Entries of the receiver's ring.
    MAC_RECEIVE_ENTRIES = 512;
    /// Descriptors of the host's send ring, two per frame.
    SEND_ENTRIES = 512;
    /// Descriptors of the host's receive ring.
    RECEIVE_ENTRIES = 512;
    /// Descriptors of the host's mini ring.
    MINI_ENTRIES = 1024;
    /// Descriptors of the host's jumbo ring.
    JUMBO_ENTRIES = 256;
    /// Descriptors of the host's return ring, with one ring of buffers.
    RETURN_ENTRIES = 512;
    /// Descriptors of the host's return ring, with three rings of buffers.
    LONG_RETURN_ENTRIES = 2048;
    /// Descriptor flag: the card inserts a checksum, or reports a sum.
    FLAG_SUM = 0x1;
    /// Descriptor flag: last descriptor of a frame.
    FLAG_END = 0x4;
    /// Return descriptor flag: jumbo buffer.
    FLAG_JUMBO = 0x10;
    /// Send descriptor flag: the card inserts a VLAN tag.
    FLAG_VLAN = 0x200;
    /// Send descriptor flag: the card reports the frame at once.
    FLAG_NOW = 0x800;
    /// Return descriptor flag: mini buffer.
    FLAG_MINI = 0x1000;
}

/// Size of the register window.
pub const WINDOW_BYTES: u32 = 0x400;
/// Size of a send descriptor, and of all descriptors with one ring of buffers: four big-endian words.
pub const DESCRIPTOR_BYTES: u32 = 16;
/// Size of the other descriptors with three rings of buffers.
pub const LONG_DESCRIPTOR_BYTES: u32 = 32;
/// Size of the statistics.
pub const STATISTICS_BYTES: u32 = 112;

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a `#define` without parameters, if it is a number.
    fn defined(header: &str, name: &str) -> Option<u32> {
        let value = header.lines().find_map(|line| {
            let mut words = line.strip_prefix("#define ")?.split(' ');
            (words.next()? == name).then(|| words.next())?
        })?;
        let value = value.trim_end_matches('u');
        let hex = value.strip_prefix("0x").map(|digits| u32::from_str_radix(digits, 16));
        hex.unwrap_or_else(|| value.parse()).ok()
    }

    /// Offsets are written with three digits.
    fn is_offset(word: &str) -> bool {
        word.strip_prefix("0x").is_some_and(|digits| digits.len() == 3)
    }

    #[test]
    fn firmware_and_model_agree() {
        let header = include_str!("../../../../firmware/tengig/regs.h");
        let differing: Vec<_> = ALL.iter().filter(|(name, value)| defined(header, name) != Some(*value)).collect();
        assert_eq!(differing, Vec::<&(&str, u32)>::new());
        let is_register = |line: &&str| line.starts_with("#define ") && line.split(' ').any(is_offset);
        let missing: Vec<_> = header
            .lines()
            .filter(is_register)
            .filter(|line| !ALL.iter().any(|(name, _)| line.split(' ').nth(1) == Some(name)))
            .collect();
        assert_eq!(missing, Vec::<&str>::new());
    }
}
