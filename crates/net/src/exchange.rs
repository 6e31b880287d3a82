//! The exchange of frames between processes that each simulate a part of a network.

use crate::address::Directory;
use crate::frame::{Arrival, Frame, FrameId};
use crate::link::Delivery;
use crate::{LinkId, NodeId, PortId};
use kernel::Time;
use std::error::Error;

/// Moves bytes between processes (ranks). All ranks call it the same number of times, in the same order.
pub trait Exchange: Send + Sync {
    /// Number of this process.
    fn rank(&self) -> u32;

    /// Number of processes.
    fn n_ranks(&self) -> u32;

    /// Gives `outgoing[r]` to rank `r` and returns the bytes that each rank sent to this one. This rank's own place is empty in both.
    fn exchange(&self, outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Box<dyn Error + Send + Sync>>;
}

/// The window's message from one rank to another.
pub(crate) struct Message {
    /// The next time at which something happens on the sending rank, frames in this window's messages included.
    pub next: Option<Time>,
    /// Why the rank cannot go on.
    pub failure: Option<String>,
    /// Frames for the receiving rank.
    pub deliveries: Vec<Delivery>,
}

/// A message of another rank that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message of rank {rank} is cut off or is not one of spinet ({len} bytes)")]
pub struct BadMessage {
    rank: usize,
    len: usize,
}

impl Message {
    pub fn emit(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.next.map_or(u64::MAX, Time::fs).to_le_bytes());
        let failure = self.failure.as_deref().unwrap_or_default();
        bytes.push(u8::from(self.failure.is_some()));
        bytes.extend((failure.len() as u32).to_le_bytes());
        bytes.extend(failure.as_bytes());
        bytes.extend((self.deliveries.len() as u32).to_le_bytes());
        for Delivery { node, port, link, number, arrival: Arrival { head, tail, frame } } in &self.deliveries {
            for word in [*number, head.fs(), tail.fs(), frame.id.number] {
                bytes.extend(word.to_le_bytes());
            }
            for word in [node.0, link.0, frame.id.node.0, frame.len() as u32] {
                bytes.extend(word.to_le_bytes());
            }
            bytes.extend(port.0.to_le_bytes());
            bytes.extend(frame.hops.to_le_bytes());
            bytes.push(frame.class);
            bytes.extend(&frame.bytes[..]);
        }
        bytes
    }

    /// Reads the message of `rank`.
    pub fn parse(rank: usize, bytes: &[u8], directory: &Directory) -> Result<Self, BadMessage> {
        let refuse = || BadMessage { rank, len: bytes.len() };
        let mut rest = Rest(bytes);
        let message = rest.message(directory).ok_or_else(refuse)?;
        if rest.0.is_empty() { Ok(message) } else { Err(refuse()) }
    }
}

/// The unread part of a message.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn bytes(&mut self, len: usize) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn word<const N: usize>(&mut self) -> Option<u64> {
        let mut word = [0; 8];
        word[..N].copy_from_slice(self.bytes(N)?);
        Some(u64::from_le_bytes(word))
    }

    fn message(&mut self, directory: &Directory) -> Option<Message> {
        let next = Some(self.word::<8>()?).filter(|&fs| fs != u64::MAX).map(Time::from_fs);
        let has_failed = self.word::<1>()? != 0;
        let len = self.word::<4>()? as usize;
        let text = String::from_utf8_lossy(self.bytes(len)?).into_owned();
        let n = self.word::<4>()?;
        let deliveries: Option<Vec<_>> = (0..n).map(|_| self.delivery(directory)).collect();
        Some(Message { next, failure: has_failed.then_some(text), deliveries: deliveries? })
    }

    fn delivery(&mut self, directory: &Directory) -> Option<Delivery> {
        let [number, head, tail, frame_number] =
            [self.word::<8>()?, self.word::<8>()?, self.word::<8>()?, self.word::<8>()?];
        let [node, link, origin, len] = [self.word::<4>()?, self.word::<4>()?, self.word::<4>()?, self.word::<4>()?];
        let port = PortId(self.word::<2>()? as u16);
        let hops = self.word::<2>()? as u16;
        let class = self.word::<1>()? as u8;
        let id = FrameId { node: NodeId(origin as u32), number: frame_number };
        let mut frame = Frame::new(self.bytes(len as usize)?, id, Some(class), directory);
        frame.hops = hops;
        let arrival = Arrival { head: Time::from_fs(head), tail: Time::from_fs(tail), frame };
        Some(Delivery { node: NodeId(node as u32), port, link: LinkId(link as u32), number, arrival })
    }
}
