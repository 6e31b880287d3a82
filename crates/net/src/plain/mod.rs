//! A plain NIC: it moves messages of its host's program, and nothing else.
//!
//! Messages are cut into packets of RoCE version 2. A packet leaves when the line is free; connections to several peers take turns, a packet
//! each. A receiver matches a message when it has the first packet, and tells the host when it has all of them. [`endpoint::Endpoint`]
//! does all of this; other cards with hosts use it, too.

pub mod dcqcn;
pub mod endpoint;
mod events;
pub mod matching;
mod packet;
pub mod params;
mod receiver;
mod sender;

pub use endpoint::{PlainCounts, PlainError};

use crate::PortId;
use crate::frame::Arrival;
use crate::host::Program;
use crate::line::Slot;
use crate::node::{Node, NodeFailure, Origin, Output, Place};
use crate::observe::{DropReason, MessageKey, Tally};
use endpoint::{Endpoint, Exit};
use kernel::Time;
use params::PlainParams;
use std::any::Any;
use std::sync::Arc;

/// A plain NIC with its host.
pub struct PlainNic {
    endpoint: Endpoint,
    origin: Origin,
}

impl PlainNic {
    /// A NIC at its place, whose host runs `program` from time 0 on.
    pub fn new(params: PlainParams, place: &Place, program: Box<dyn Program>) -> Result<Self, NodeFailure> {
        let n_links = place.ports.iter().flatten().count();
        let Some(Some(port)) = place.ports.first().filter(|_| n_links == 1) else {
            return Err(Box::new(PlainError::Links { found: n_links }));
        };
        let endpoint = Endpoint::new(params, place, port, program, None)?;
        Ok(PlainNic { endpoint, origin: place.origin() })
    }

    /// Its host.
    pub fn endpoint(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// Its counters.
    pub fn counts(&self) -> PlainCounts {
        self.endpoint.counts()
    }

    /// The host's program, if it has this type.
    pub fn program_as<P: Program>(&mut self) -> Option<&mut P> {
        self.endpoint.program_as()
    }
}

/// The end of the NIC's line.
struct LineEnd<'a> {
    origin: &'a mut Origin,
    out: &'a mut Output,
}

impl Exit for LineEnd<'_> {
    fn leave(&mut self, slot: Slot, bytes: Arc<[u8]>, class: Option<u8>, message: Option<MessageKey>) -> u64 {
        let frame = self.origin.frame(bytes, class);
        let hash = frame.hash;
        self.out.entered(slot.start, &frame);
        message.iter().for_each(|&message| self.out.carries(slot.start, &frame, message));
        self.out.transmit(PortId(0), slot, frame);
        hash
    }

    fn used(&mut self, now: Time, arrival: &Arrival, is_used: bool) {
        match is_used {
            true => self.out.delivered(now, arrival.tail, &arrival.frame),
            false => self.out.dropped(now, &arrival.frame, DropReason::Unwanted),
        }
    }
}

impl Node for PlainNic {
    fn receive(&mut self, _port: PortId, arrival: Arrival, _out: &mut Output) {
        self.endpoint.receive(arrival);
    }

    fn run_until(&mut self, until: Time, out: &mut Output) -> Result<(), NodeFailure> {
        self.endpoint.run_until(until, &mut LineEnd { origin: &mut self.origin, out })?;
        out.messages(self.endpoint.take_messages());
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        self.endpoint.next_event()
    }

    fn inside(&self) -> Tally {
        self.endpoint.inside()
    }

    fn digest(&self) -> String {
        format!("{:016x}", self.endpoint.hash())
    }

    fn counters(&self) -> Vec<(String, u64)> {
        self.endpoint.counters()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
