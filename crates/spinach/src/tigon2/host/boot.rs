//! The driver's start-up sequence, from power-on until the card moves frames.

use super::eeprom;
use super::params::{Interrupts, Tigon2HostParams};
use super::window::*;
use crate::tigon2::FirmwareImage;
use wire::eth::Mac;

/// A step of the start-up sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BootStep {
    /// Writes a word.
    Write(u32, u32),
    /// Reads a word and writes it back with `set` bits set and `clear` bits cleared.
    Change { offset: u32, set: u32, clear: u32 },
    /// Reads a word and checks that the masked bits have this value.
    Expect { offset: u32, mask: u32, value: u32, what: &'static str },
    /// Samples the EEPROM's data wire: the next bit of the card's address.
    Sample,
    /// Writes the card's address.
    WriteMac,
    /// Waits, in nanoseconds.
    Pause(u64),
    /// Writes zeros into card memory.
    Clear { from: u32, to: u32 },
    /// Copies firmware into card memory, from this byte of it on.
    Load { from: u32 },
    /// Waits for firmware's event "running".
    AwaitRunning,
    /// Posts receive buffers.
    PostBuffers,
    /// Gives a command.
    Command { code: u32, subcode: u32 },
    /// Waits until firmware has processed all commands.
    AwaitCommands,
    /// Waits for firmware's event "link up".
    AwaitLink,
    /// Starts the network's and the host's traffic.
    Go,
}

/// Pause after reset. Source: the Linux driver, 5 microseconds.
const RESET_NS: u64 = 5_000;

/// All steps.
pub fn steps(params: &Tigon2HostParams, image: &FirmwareImage, information: u64) -> Vec<BootStep> {
    use BootStep::*;
    let swap = host_control::BYTE_SWAP | host_control::WORD_SWAP | host_control::CLEAR_INTERRUPT;
    let mut steps = vec![
        Write(HOST_CONTROL, at_both_ends(host_control::RESET)),
        Pause(RESET_NS),
        Write(HOST_CONTROL, at_both_ends(swap)),
        Expect {
            offset: HOST_CONTROL,
            mask: host_control::REVISION,
            value: host_control::TIGON_2,
            what: "the revision of a Tigon-2 (0x6 in bits 31:28 of 0x040)",
        },
        Change { offset: CPU_A_STATE, set: cpu_state::HALT, clear: 0 },
        Change { offset: CPU_B_STATE, set: cpu_state::HALT, clear: 0 },
        Write(mailbox(mailboxes::INTERRUPT), 0),
        Write(LOCAL_CONTROL, params.local_control),
        Write(MISC_CONFIG, SYNCHRONOUS_SRAM),
        Write(words::MODE, params.mode),
    ];
    if params.mac().is_none() {
        steps.extend(eeprom::steps(params.local_control));
    }
    steps.extend([
        WriteMac,
        Write(PCI_STATE, params.pci_state),
        Expect { offset: CPU_A_STATE, mask: cpu_state::HALT, value: cpu_state::HALT, what: "processor A to be halted" },
        Clear { from: 0x2000, to: params.clear_end },
        Load { from: 0 },
    ]);
    steps.extend(communication(params, information).map(|(offset, value)| Write(offset, value)));
    steps.extend((0..64).map(|entry| Write(COMMAND_RING + 4 * entry, 0)));
    steps.extend((1..mailboxes::COUNT).map(|n| Write(mailbox(n), 0)));
    let masked = matches!(params.interrupts, Interrupts::Poll { .. });
    steps.extend([
        Write(mailbox(mailboxes::INTERRUPT), masked.into()),
        Write(CPU_A_PC, image.entry()),
        Write(ASSIST_STATE, ASSISTS_ENABLED),
        Change { offset: CPU_A_STATE, set: 0, clear: cpu_state::HALT | cpu_state::SINGLE_STEP },
        AwaitRunning,
        PostBuffers,
    ]);
    if params.promiscuous {
        steps.push(Command { code: commands::PROMISCUOUS, subcode: commands::ON });
    }
    steps.extend([Command { code: commands::HOST_STATE, subcode: commands::STACK_UP }, AwaitCommands]);
    for group in params.groups() {
        let [high, low] = address_words(group);
        let add = Command { code: commands::ADD_GROUP, subcode: 0 };
        steps.extend([Write(words::GROUP_HIGH, high), Write(words::GROUP_LOW, low), add, AwaitCommands]);
    }
    steps.extend([AwaitLink, Go]);
    steps
}

/// The general communication words that the host writes.
fn communication(params: &Tigon2HostParams, information: u64) -> impl Iterator<Item = (u32, u32)> {
    let coalescing = &params.coalescing;
    [
        (words::INFORMATION_HIGH, (information >> 32) as u32),
        (words::INFORMATION_LOW, information as u32),
        (words::DMA_READ_CONFIG, params.dma_config),
        (words::DMA_WRITE_CONFIG, params.dma_config),
        (words::TRANSMIT_RATIO, params.transmit_ratio_64ths),
        (words::EVENT_CONSUMER, 0),
        (words::COMMAND_CONSUMER, 0),
        (words::RECEIVE_TICKS, coalescing.receive_us),
        (words::SEND_TICKS, coalescing.send_us),
        (words::STATISTICS_TICKS, coalescing.statistics_us),
        (words::SEND_LIMIT, coalescing.send_descriptors),
        (words::RECEIVE_LIMIT, coalescing.receive_descriptors),
        (words::TRACE, 0),
        (words::LINK, params.link),
        (words::FAST_LINK, params.link),
        (words::INTERFACE_INDEX, 1),
        (words::MTU, params.mtu),
        (words::MASK_INTERRUPTS, 0),
        (words::RETURN_CONSUMER, 0),
    ]
    .into_iter()
}

/// An Ethernet address as two words: its first two bytes, and the other four.
fn address_words(Mac([a, b, rest @ ..]): Mac) -> [u32; 2] {
    [u32::from_be_bytes([0, 0, a, b]), u32::from_be_bytes(rest)]
}

/// Repeats the bits at the other end of the word.
fn at_both_ends(bits: u32) -> u32 {
    bits | bits.swap_bytes()
}
