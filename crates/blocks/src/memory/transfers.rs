//! What a block transfer engine is told and tells.

use crate::bus::BusError;
use crate::netlist::Wire;

/// An order to a [`BlockTransfer`](super::BlockTransfer).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// The orderer's own name for it.
    pub id: u32,
    /// Address at port `a`.
    pub a: u64,
    /// Address at port `b`.
    pub b: u64,
    /// How many bytes.
    pub bytes: u32,
    /// Which way.
    pub direction: Direction,
}

/// Which way a [`Transfer`] goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From port `a` to port `b`.
    AToB,
    /// From port `b` to port `a`.
    BToA,
}

/// The end of a [`Transfer`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransferDone {
    /// The order's `id`.
    pub id: u32,
    /// Whether all bytes are there, or the first error.
    pub result: Result<(), BusError>,
}

impl Wire for Transfer {
    const NAME: &'static str = "transfers";
}

impl Wire for TransferDone {
    const NAME: &'static str = "transfers-done";
}
