//! Hardware assists, which move data between host, memory and network under the control of firmware.
//!
//! An assist processes rings of descriptors in memory. The card's registers tell it where the rings are and how far
//! firmware has filled them ([`DmaOrder`], [`TransmitOrder`], [`ReceiveOrder`]). The assist reports its progress
//! ([`DmaProgress`], [`TransmitProgress`], [`ReceiveProgress`]). Pointers are entry indices, 0 to `ring_entries` - 1.
//! A ring with equal pointers is empty, so a ring holds at most `ring_entries` - 1 entries.

mod byte_queue;
mod card_side;
mod checksum;
mod dma;
mod filter;
mod line_rate;
pub mod moves;
mod pieces;
mod pointer_reader;
mod protocol;
mod receive;
mod ring;
#[cfg(test)]
mod testing;
mod tracked_port;
mod transmit;

pub use card_side::CardPorts;
pub use checksum::OnesComplement;
pub use dma::{Direction, DmaAssist, DmaAssistParams, DmaAssistPorts};
pub use filter::{Filter, group};
pub use pointer_reader::{PointerReader, PointerReaderParams, PointerReaderPorts, Reader};
pub use protocol::{
    Attention, Buffers, DmaOrder, DmaProgress, ReceiveOrder, ReceiveProgress, Transfer, TransmitOrder, TransmitProgress,
};
pub use receive::{MacReceive, MacReceiveParams, MacReceivePorts, ReceiveDrops};
pub use transmit::{MacTransmit, MacTransmitParams, MacTransmitPorts};
