//! Messages to and from a block transfer engine.

use blocks::bus::BusError;
use blocks::netlist::Wire;

/// A request to a [`BlockTransfer`](super::BlockTransfer).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// Chosen by the sender; the completion carries the same value.
    pub id: u32,
    /// Address at port `a`.
    pub a: u64,
    /// Address at port `b`.
    pub b: u64,
    /// Number of bytes.
    pub bytes: u32,
    /// Direction of the copy.
    pub direction: Direction,
}

/// Direction of a [`Transfer`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From port `a` to port `b`.
    AToB,
    /// From port `b` to port `a`.
    BToA,
}

/// The completion of a [`Transfer`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransferDone {
    /// The order's `id`.
    pub id: u32,
    /// Success, or the first error.
    pub result: Result<(), BusError>,
}

impl Wire for Transfer {
    const NAME: &'static str = "transfers";
}

impl Wire for TransferDone {
    const NAME: &'static str = "transfers-done";
}
