//! The card's 4 KB PCI window as the host sees it: offsets and bits.
//!
//! Every access is to one word. Its four bytes go over the bus most significant first: the host is a big-endian machine. With
//! both swap bits of the host control register set, it sees the card's bytes in address order, so neither side has to swap
//! bytes in registers, descriptors or frames.
//! Source: the public Tigon-2 driver headers, unless stated otherwise.

/// Misc host control. Before its swap bits are set, the host does not know which end of the word the card reads, so it writes
/// the bits at both ends.
pub const HOST_CONTROL: u32 = 0x040;
/// Misc local control.
pub const LOCAL_CONTROL: u32 = 0x044;
/// Misc configuration.
pub const MISC_CONFIG: u32 = 0x050;
/// PCI state.
pub const PCI_STATE: u32 = 0x05c;
/// Card address that [`WINDOW`] shows.
pub const WINDOW_BASE: u32 = 0x068;
/// State of the DMA assists.
pub const ASSIST_STATE: u32 = 0x11c;
/// State of processor A.
pub const CPU_A_STATE: u32 = 0x140;
/// Program counter of processor A.
pub const CPU_A_PC: u32 = 0x144;
/// State of processor B.
pub const CPU_B_STATE: u32 = 0x240;
/// First word of the command ring.
pub const COMMAND_RING: u32 = 0x700;
/// Card memory from the window base on.
pub const WINDOW: u32 = 0x800;
/// Size of [`WINDOW`].
pub const WINDOW_BYTES: u32 = 0x800;

/// The used word of mailbox `n`.
pub const fn mailbox(n: u32) -> u32 {
    0x504 + 8 * n
}

/// Mailboxes by purpose.
pub mod mailboxes {
    /// Acknowledges the interrupt; a nonzero value masks it.
    pub const INTERRUPT: u32 = 0;
    /// Producer of the command ring.
    pub const COMMAND: u32 = 1;
    /// Producer of the send ring.
    pub const SEND: u32 = 2;
    /// Number of mailboxes.
    pub const COUNT: u32 = 32;
}

/// Bits of [`HOST_CONTROL`].
pub mod host_control {
    /// The card requests the interrupt.
    pub const INTERRUPT: u32 = 1 << 0;
    /// Clears the interrupt.
    pub const CLEAR_INTERRUPT: u32 = 1 << 1;
    /// Resets the card.
    pub const RESET: u32 = 1 << 3;
    /// Swaps bytes within words.
    pub const BYTE_SWAP: u32 = 1 << 4;
    /// Swaps words within pairs.
    pub const WORD_SWAP: u32 = 1 << 5;
    /// Bits of the revision.
    pub const REVISION: u32 = 0xf << 28;
    /// Revision of a Tigon-2.
    pub const TIGON_2: u32 = 6 << 28;
}

/// Bits of [`CPU_A_STATE`] and [`CPU_B_STATE`].
pub mod cpu_state {
    /// Stops after each instruction.
    pub const SINGLE_STEP: u32 = 1 << 1;
    /// Halted.
    pub const HALT: u32 = 1 << 16;
}

/// Synchronous memory, in [`MISC_CONFIG`].
pub const SYNCHRONOUS_SRAM: u32 = 1 << 20;
/// The assists are enabled, in [`ASSIST_STATE`].
pub const ASSISTS_ENABLED: u32 = 1;

/// General communication words.
pub mod words {
    pub const MAC_HIGH: u32 = 0x600;
    pub const MAC_LOW: u32 = 0x604;
    pub const GROUP_HIGH: u32 = 0x610;
    pub const GROUP_LOW: u32 = 0x614;
    pub const INFORMATION_HIGH: u32 = 0x608;
    pub const INFORMATION_LOW: u32 = 0x60c;
    pub const MODE: u32 = 0x618;
    pub const DMA_READ_CONFIG: u32 = 0x61c;
    pub const DMA_WRITE_CONFIG: u32 = 0x620;
    pub const TRANSMIT_RATIO: u32 = 0x624;
    pub const EVENT_CONSUMER: u32 = 0x628;
    pub const COMMAND_CONSUMER: u32 = 0x62c;
    pub const RECEIVE_TICKS: u32 = 0x630;
    pub const SEND_TICKS: u32 = 0x634;
    pub const STATISTICS_TICKS: u32 = 0x638;
    pub const SEND_LIMIT: u32 = 0x63c;
    pub const RECEIVE_LIMIT: u32 = 0x640;
    pub const TRACE: u32 = 0x644;
    pub const LINK: u32 = 0x648;
    pub const FAST_LINK: u32 = 0x64c;
    pub const INTERFACE_INDEX: u32 = 0x65c;
    pub const MTU: u32 = 0x660;
    pub const MASK_INTERRUPTS: u32 = 0x664;
    pub const RETURN_CONSUMER: u32 = 0x680;
}

/// Bits of the mode word.
pub mod mode {
    /// Swap bytes of descriptors: they then arrive in the order of a big-endian host.
    pub const BYTE_SWAP_DESCRIPTORS: u32 = 0x2;
    /// Swap words of descriptors, likewise.
    pub const WORD_SWAP_DESCRIPTORS: u32 = 0x4;
    /// Swap bytes of data: they then arrive in address order.
    pub const BYTE_SWAP_DATA: u32 = 0x10;
    /// Bits that this host needs.
    pub const NEEDED: u32 = BYTE_SWAP_DESCRIPTORS | WORD_SWAP_DESCRIPTORS | BYTE_SWAP_DATA;
}

/// Command codes and subcodes.
pub mod commands {
    /// Sets the state of the host.
    pub const HOST_STATE: u32 = 1;
    /// Host state: its network stack is up.
    pub const STACK_UP: u32 = 1;
    /// Joins the multicast group whose address is in the words [`GROUP_HIGH`](super::words::GROUP_HIGH) and
    /// [`GROUP_LOW`](super::words::GROUP_LOW). Source: BSD's `ti`.
    pub const ADD_GROUP: u32 = 8;
    /// Accept all frames.
    pub const PROMISCUOUS: u32 = 0xa;
    /// Switched on.
    pub const ON: u32 = 1;
}

/// Event codes.
pub mod events {
    /// Firmware runs.
    pub const RUNNING: u32 = 1;
    /// Statistics were written.
    pub const STATISTICS: u32 = 4;
    /// The link went up or down, by the subcode.
    pub const LINK: u32 = 6;
    /// Subcodes: up at 1000 Mb/s, up at less.
    pub const LINK_UP: [u32; 2] = [1, 3];
    /// A group was added or removed.
    pub const GROUP: u32 = 8;
    /// Firmware reports an error.
    pub const ERROR: u32 = 7;
}
