//! What ports speak: a port connects to the other side of the same protocol only. docs/concepts/protocols.md has them all.

use crate::bus::{Requester, Responder};
use crate::ethernet::Frame;
use kernel::{Rx, SystemBuilder, Tx};
use std::marker::PhantomData;

/// What two connected ports say to each other.
pub trait Protocol: 'static {
    /// Its name in errors, drawings and docs.
    const NAME: &'static str;
    /// What the module holds whose port stands left of the arrow.
    type From: 'static;
    /// What the module holds whose port stands right of it.
    type To: 'static;

    /// Both ends of a new connection with room for `room` items each way, each seen `latency` cycles after it was sent.
    fn join(system: &mut SystemBuilder, name: &str, room: usize, latency: u64) -> (Self::From, Self::To);
}

/// References to memory and their replies; the requester is on the left.
pub struct Memory;

impl Protocol for Memory {
    const NAME: &'static str = "memory";
    type From = Requester;
    type To = Responder;

    fn join(system: &mut SystemBuilder, name: &str, room: usize, latency: u64) -> (Requester, Responder) {
        let (references, asked) = system.channel(&format!("{name}.references"), room, latency);
        let (answers, replies) = system.channel(&format!("{name}.replies"), room, latency);
        (Requester { references, replies }, Responder { references: asked, replies: answers })
    }
}

/// What a one-way connection carries.
pub trait Wire: 'static {
    /// Name of the protocol.
    const NAME: &'static str;
}

impl Wire for Frame {
    const NAME: &'static str = "frames";
}

/// Items of one type, from left to right.
pub struct OneWay<T>(PhantomData<T>);

impl<T: Wire> Protocol for OneWay<T> {
    const NAME: &'static str = T::NAME;
    type From = Tx<T>;
    type To = Rx<T>;

    fn join(system: &mut SystemBuilder, name: &str, room: usize, latency: u64) -> (Tx<T>, Rx<T>) {
        system.channel(name, room, latency)
    }
}
