//! Protocols of ports: a port connects only to the opposite side of the same protocol. docs/concepts/protocols.md
//! lists them.

use crate::bus::{Requester, Responder};
use crate::ethernet::Frame;
use kernel::{Rx, SystemBuilder, Tx};
use std::marker::PhantomData;

/// The protocol between two connected ports.
pub trait Protocol: 'static {
    /// Name in errors, drawings and docs.
    const NAME: &'static str;
    /// The end that the module left of the arrow holds.
    type From: 'static;
    /// The end that the module right of the arrow holds.
    type To: 'static;

    /// Creates both ends of a connection that holds `room` items in each direction and delivers each after `latency`
    /// cycles.
    fn join(system: &mut SystemBuilder, name: &str, room: usize, latency: u64) -> (Self::From, Self::To);
}

/// Memory references and replies; the requester is on the left.
pub struct Memory;

impl Protocol for Memory {
    const NAME: &'static str = "memory";
    type From = Requester;
    type To = Responder;

    fn join(system: &mut SystemBuilder, name: &str, room: usize, latency: u64) -> (Requester, Responder) {
        let (references, requests) = system.channel(&format!("{name}.references"), room, latency);
        let (answers, replies) = system.channel(&format!("{name}.replies"), room, latency);
        (Requester { references, replies }, Responder { references: requests, replies: answers })
    }
}

/// An item type of a one-way connection.
pub trait Wire: 'static {
    /// Name of the protocol.
    const NAME: &'static str;
}

impl Wire for Frame {
    const NAME: &'static str = "frames";
}

/// Items of one type, sent from left to right.
pub struct OneWay<T>(PhantomData<T>);

impl<T: Wire> Protocol for OneWay<T> {
    const NAME: &'static str = T::NAME;
    type From = Tx<T>;
    type To = Rx<T>;

    fn join(system: &mut SystemBuilder, name: &str, room: usize, latency: u64) -> (Tx<T>, Rx<T>) {
        system.channel(name, room, latency)
    }
}
