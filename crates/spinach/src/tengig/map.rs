//! The 10 Gigabit NIC as firmware and host see it: addresses, registers, layouts.
//!
//! The same as `firmware/tengig/regs.h`, where each is explained; a test compares the two.

/// Names and values as in the C header, which the test compares one by one.
macro_rules! header {
    ($($(#[$doc:meta])* $name:ident = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: u32 = $value;)*

        /// All of them.
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
    /// Number of the processor that reads.
    CPU_ID = 0x000;
    /// How many processors there are.
    CPUS = 0x004;
    /// Microseconds since reset.
    TIMER = 0x008;
    /// Not 0 when the host has written the others.
    HOST_READY = 0x010;
    /// Sent frames for one report to the host.
    SEND_COALESCE = 0x014;
    /// Received frames for one report to the host.
    RECEIVE_COALESCE = 0x018;
    /// Microseconds after which there is a report anyway.
    COALESCE_US = 0x01C;
    /// Host address of the send ring, high word, then low.
    SEND_RING = 0x020;
    /// Host address of the ring of empty buffers.
    RECEIVE_RING = 0x028;
    /// Host address of the return ring.
    RETURN_RING = 0x030;
    /// Host address of send consumer and return producer.
    STATUS = 0x038;
    /// Producer of the send ring.
    MAILBOX_SEND = 0x040;
    /// Producer of the receive ring.
    MAILBOX_RECEIVE = 0x044;
    /// Firmware writes 1 to call the host, the host 0 when it has heard.
    INTERRUPT = 0x048;
    /// Which rings and descriptors the firmware speaks.
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
    /// Microseconds from one refresh of the statistics to the next.
    STATISTICS_US = 0x07C;
    /// Not 0 if return descriptors are to hold the sum of their frame.
    RECEIVE_SUMS = 0x0CC;
    /// Address of the words in which the MAC counts drops.
    MAC_STATISTICS = 0x0D0;
    /// Address of the DMA read assist's ring.
    DMA_READ_BASE = 0x080;
    /// Transfers that it is to do.
    DMA_READ_PRODUCER = 0x084;
    /// Transfers that it has done.
    DMA_READ_CONSUMER = 0x088;
    /// Address of the DMA write assist's ring.
    DMA_WRITE_BASE = 0x090;
    /// Transfers that it is to do.
    DMA_WRITE_PRODUCER = 0x094;
    /// Transfers that it has done.
    DMA_WRITE_CONSUMER = 0x098;
    /// Address of the transmitter's ring.
    MAC_TRANSMIT_BASE = 0x0A0;
    /// Frames that it is to send.
    MAC_TRANSMIT_PRODUCER = 0x0A4;
    /// Frames that it has read from frame memory.
    MAC_TRANSMIT_CONSUMER = 0x0A8;
    /// Address of the receiver's ring.
    MAC_RECEIVE_BASE = 0x0B0;
    /// Frames that it has put into frame memory.
    MAC_RECEIVE_PRODUCER = 0x0B4;
    /// Frames whose descriptors firmware is done with.
    MAC_RECEIVE_CONSUMER = 0x0B8;
    /// Address of the area for received frames.
    RECEIVE_AREA = 0x0C0;
    /// Its size; writing it enables the receiver.
    RECEIVE_AREA_BYTES = 0x0C4;
    /// Address behind the last frame that firmware is done with.
    RECEIVE_AREA_CONSUMER = 0x0C8;
    /// The first lock.
    LOCK_WORDS = 0x100;
    /// How many there are.
    LOCKS = 32;
    /// With an event queue: type of the next event and 1, or 0; reading it takes the event.
    EVENT = 0x200;
    /// Its first element.
    EVENT_START = 0x204;
    /// The element behind its last.
    EVENT_END = 0x208;
    /// First element of an event to queue.
    PUSH_START = 0x20C;
    /// The element behind its last.
    PUSH_END = 0x210;
    /// Its type; writing it queues the event.
    PUSH = 0x214;
    /// Number of a slot of the DMA read ring that is filled.
    READ_READY = 0x218;
    /// Number of a slot of the DMA write ring that is filled.
    WRITE_READY = 0x21C;
    /// Eight words: largest number of elements of an event, by type.
    EVENT_MOST = 0x220;
    /// Frames that have a buffer of the host: no events are made of those beyond.
    BUFFERS_THERE = 0x240;
    /// Entries of each DMA ring.
    DMA_ENTRIES = 256;
    /// Entries of the transmitter's ring.
    MAC_TRANSMIT_ENTRIES = 256;
    /// Entries of the receiver's ring.
    MAC_RECEIVE_ENTRIES = 512;
    /// Descriptors of the host's send ring, two a frame.
    SEND_ENTRIES = 512;
    /// Descriptors of the host's receive ring.
    RECEIVE_ENTRIES = 512;
    /// Descriptors of the host's mini ring.
    MINI_ENTRIES = 1024;
    /// Descriptors of the host's jumbo ring.
    JUMBO_ENTRIES = 256;
    /// Descriptors of the host's return ring, with one ring of buffers.
    RETURN_ENTRIES = 512;
    /// Descriptors of the host's return ring, with three.
    LONG_RETURN_ENTRIES = 2048;
    /// Flag of a descriptor: the card inserts a checksum, or gives a sum.
    FLAG_SUM = 0x1;
    /// Flag of a descriptor: the last one of a frame.
    FLAG_END = 0x4;
    /// Flag of a return descriptor: a jumbo buffer.
    FLAG_JUMBO = 0x10;
    /// Flag of a send descriptor: the card inserts a VLAN tag.
    FLAG_VLAN = 0x200;
    /// Flag of a send descriptor: the card is to report the frame at once.
    FLAG_NOW = 0x800;
    /// Flag of a return descriptor: a mini buffer.
    FLAG_MINI = 0x1000;
}

/// Bytes of the window of registers.
pub const WINDOW_BYTES: u32 = 0x400;
/// Bytes of a descriptor of the send ring, and of the others with one ring of buffers: four big-endian words.
pub const DESCRIPTOR_BYTES: u32 = 16;
/// Bytes of a descriptor of the other rings, with three rings of buffers.
pub const LONG_DESCRIPTOR_BYTES: u32 = 32;
/// Bytes of the statistics.
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
