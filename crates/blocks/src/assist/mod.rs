//! Hardware assists: what moves data between host, memory and network while firmware decides.
//!
//! An assist serves rings of descriptors in memory. A card's registers tell it where the rings are and how far firmware has
//! filled them ([`DmaOrder`], [`TransmitOrder`], [`ReceiveOrder`]), and it tells them how far it has come
//! ([`DmaProgress`], [`TransmitProgress`], [`ReceiveProgress`]). Pointers are numbers of entries, 0 to `ring_entries` - 1; a
//! ring whose pointers are equal is empty, so it holds one entry less than it has.

mod asked;
mod card_side;
mod checksum;
mod dma;
mod filter;
mod line;
mod pieces;
mod pointer_reader;
mod protocol;
mod receive;
mod ring;
#[cfg(test)]
mod testing;
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
