//! Single accesses of cores outside their cluster: the 64-bit PE interconnect.

use isa::riscv::Amo;
use std::rc::Rc;

/// Operation on a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeOp {
    /// Read it.
    Load,
    /// Replace the bits of `mask` by those of `value`.
    Store {
        /// The value, shifted to its position in the word.
        value: u32,
        /// Bits that are written.
        mask: u32,
    },
    /// Read and write as one access.
    Amo {
        /// The operation.
        amo: Amo,
        /// Its operand.
        operand: u32,
    },
}

/// An access, sent when it leaves its cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeRequest {
    /// Issuing core of the cluster.
    pub core: u32,
    /// Word-aligned address.
    pub addr: u32,
    /// The operation.
    pub op: PeOp,
}

/// The answer to a [`PeRequest`], seen when it is back at the core's demultiplexer; the core continues a cycle later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeReply {
    /// Issuing core of the cluster.
    pub core: u32,
    /// The word read; without meaning for a store.
    pub value: u32,
}

/// An access to a cluster's L1 or peripherals from another cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemoteRequest {
    /// Issuing cluster.
    pub from: u32,
    /// The access.
    pub request: PeRequest,
}

/// The answer to a [`RemoteRequest`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemoteReply {
    /// Issuing cluster.
    pub to: u32,
    /// The answer.
    pub reply: PeReply,
    /// The operation, which determines the latency of the path back.
    pub op: PeOp,
}

/// A line that an instruction cache misses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineRequest {
    /// First byte.
    pub addr: u32,
}

/// The line arrived. It carries no bytes, because the cluster has the decoded program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineReply {
    /// First byte.
    pub addr: u32,
}

/// The host wrote to program memory; sent to each cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeWrite {
    /// First byte.
    pub addr: u32,
    /// The bytes.
    pub data: Rc<[u8]>,
}
