//! The doorbells: packets in the pinned region, which of them the program has, and which are answered.

use super::bus::Register;
use super::params::{MEMORY_BASE, RiscvParams};
use super::trouble::Cause;
use crate::drops::DropReason;
use crate::protocol::{Descriptor, Hop, Leg, Message, PacketStep};
use kernel::Cycle;
use std::collections::VecDeque;

/// A packet in the pinned region.
pub(super) struct Packet {
    /// Index of its slot in the region.
    pub slot: usize,
    pub message: Box<Message>,
}

/// An answered packet, with address and length of the bytes to send.
pub(super) struct Answer {
    pub packet: Packet,
    pub at: usize,
    pub len: usize,
}

/// Result of a write to a register.
pub(super) enum Written {
    /// No visible effect.
    Kept,
    /// The current packet was answered.
    Answered,
    /// The write was wrong; drops the current packet, if there is one, for this cause.
    Wrong(Cause),
}

pub(super) struct Doorbells {
    longest: usize,
    slot_bytes: u32,
    pinned: u32,
    memory_bytes: u32,
    n_services: usize,
    /// For each slot of the region, true if it holds a packet.
    is_taken: Vec<bool>,
    /// Complete packets, in order.
    pub packets: VecDeque<Packet>,
    /// True if the program has read the first packet's length.
    pub is_at_hand: bool,
    /// Answered packets, in order; the first may be leaving.
    pub answers: VecDeque<Answer>,
    out_address: u32,
    out_chain: Option<u32>,
}

impl Doorbells {
    pub fn new(params: &RiscvParams, longest: usize, n_services: usize) -> Doorbells {
        Doorbells {
            longest,
            slot_bytes: RiscvParams::slot_bytes(longest),
            pinned: params.pinned(),
            memory_bytes: params.memory_bytes,
            n_services,
            is_taken: vec![false; params.slots(longest) as usize],
            packets: VecDeque::new(),
            is_at_hand: false,
            answers: VecDeque::new(),
            out_address: 0,
            out_chain: None,
        }
    }

    /// Reserves a slot for a packet, if one is free.
    pub fn take_slot(&mut self) -> Option<usize> {
        let slot = self.is_taken.iter().position(|&taken| !taken)?;
        self.is_taken[slot] = true;
        Some(slot)
    }

    pub fn has_slot(&self) -> bool {
        self.is_taken.contains(&false)
    }

    pub fn free_slot(&mut self, slot: usize) {
        self.is_taken[slot] = false;
    }

    /// Address of the slot in memory.
    pub fn place(&self, slot: usize) -> usize {
        self.pinned as usize + slot * self.slot_bytes as usize
    }

    /// Gives the first packet to the program in cycle `now`.
    pub fn take_packet(&mut self, now: Cycle) {
        let packet = self.packets.front_mut().expect("a packet must be there");
        if !std::mem::replace(&mut self.is_at_hand, true) {
            packet.message.descriptor.trail.mark(now, PacketStep::Begun, packet.message.to);
        }
    }

    /// Value of a register. Without a packet, `None` for the length register and 0 for the others.
    pub fn read(&self, register: Register) -> Option<u32> {
        if register == Register::OutCount {
            return Some(self.answers.len() as u32);
        }
        let Some(packet) = self.packets.front() else {
            return (register != Register::InLength).then_some(0);
        };
        let Descriptor { fields, flow, .. } = packet.message.descriptor;
        let hop = packet.message.descriptor.hop();
        let metadata = hop.map_or(0, |hop| hop.metadata);
        Some(match register {
            Register::InLength => packet.message.data.len() as u32,
            Register::InAddress => MEMORY_BASE + self.place(packet.slot) as u32,
            Register::InHash => fields.hash,
            Register::InHeaders => u32::from(fields.network) | u32::from(fields.transport) << 16,
            Register::InPayload => fields.payload.into(),
            Register::InFlow => flow,
            Register::InMetadataLow => metadata as u32,
            Register::InMetadataHigh => (metadata >> 32) as u32,
            Register::InService => hop.map_or(0, |hop| u32::from(hop.service) | u32::from(hop.class) << 8),
            _ => unreachable!("{register:?} cannot be read"),
        })
    }

    pub fn write(&mut self, now: Cycle, register: Register, value: u32) -> Written {
        match register {
            Register::OutAddress => self.out_address = value,
            Register::OutChain if !self.is_at_hand => return Written::Wrong(Cause::NoPacket),
            Register::OutChain => {
                if value.to_le_bytes().into_iter().any(|service| usize::from(service) > self.n_services) {
                    return Written::Wrong(Cause::Chain { value });
                }
                self.out_chain = Some(value);
            }
            Register::OutDrop => return self.answer(now, None),
            Register::OutLength => return self.answer(now, Some(value)),
            _ => unreachable!("{register:?} cannot be written"),
        }
        Written::Kept
    }

    fn answer(&mut self, now: Cycle, len: Option<u32>) -> Written {
        if !self.is_at_hand {
            return Written::Wrong(Cause::NoPacket);
        }
        let Some(len) = len else {
            self.drop_packet(now, DropReason::Program);
            return Written::Answered;
        };
        let addr = self.out_address;
        let at = addr.wrapping_sub(MEMORY_BASE);
        let fits = at <= self.memory_bytes && len <= self.memory_bytes - at;
        if !fits || len == 0 || len as usize > self.longest {
            return Written::Wrong(Cause::Doorbell { addr, len });
        }
        let mut packet = self.packets.pop_front().expect("there must be a current packet");
        self.is_at_hand = false;
        if let Some(chain) = self.out_chain.take() {
            rechain(&mut packet.message.descriptor, chain);
        }
        packet.message.descriptor.trail.mark(now, PacketStep::Finished, packet.message.to);
        self.answers.push_back(Answer { packet, at: at as usize, len: len as usize });
        Written::Answered
    }

    /// Drops the first packet, if there is one; returns its number.
    pub fn drop_packet(&mut self, now: Cycle, reason: DropReason) -> Option<u64> {
        (self.out_chain, self.is_at_hand) = (None, false);
        let mut packet = self.packets.pop_front()?;
        packet.message.leg = Leg::Dropped(reason);
        packet.message.descriptor.trail.mark(now, PacketStep::Finished, packet.message.to);
        let id = packet.message.descriptor.id;
        self.answers.push_back(Answer { packet, at: 0, len: 0 });
        Some(id)
    }
}

/// Replaces the services after the present one. They inherit its class and priority.
fn rechain(descriptor: &mut Descriptor, chain: u32) {
    let Some(hop) = descriptor.hop().cloned() else { return };
    descriptor.chain.truncate(descriptor.next + 1);
    let services = chain.to_le_bytes().into_iter().take_while(|&service| service != 0);
    descriptor.chain.extend(services.map(|service| Hop {
        service: service - 1,
        metadata: 0,
        push_to: None,
        ..hop.clone()
    }));
}
