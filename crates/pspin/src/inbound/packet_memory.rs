//! Places of packets in L2 packet memory.

use super::ring::Ring;
use super::slots::Slots;
use crate::params::{IngressParams, PacketMemory};

/// Places of packets, as a ring or in slots. [`Ring`] and [`Slots`] describe the operations.
pub enum Places<T> {
    /// Packets lie one behind the other.
    Ring(Ring<T>),
    /// Each packet has a slot.
    Slots(Slots<T>),
}

impl<T> Places<T> {
    pub fn new(bytes: u32, ingress: &IngressParams) -> Self {
        match ingress.packet_memory {
            PacketMemory::Ring => Places::Ring(Ring::new(bytes)),
            PacketMemory::Slots => Places::Slots(Slots::new(
                (ingress.large_slots, ingress.large_slot_bytes),
                (ingress.small_slots, ingress.small_slot_bytes),
            )),
        }
    }

    /// Bytes of the largest packet that fits into an empty memory of `bytes`.
    pub fn most_bytes(&self, bytes: u32) -> u32 {
        match self {
            Places::Ring(_) => bytes,
            Places::Slots(slots) => slots.most_bytes(),
        }
    }

    pub fn find_room(&self, room: u32) -> Option<u32> {
        match self {
            Places::Ring(ring) => ring.find_room(room),
            Places::Slots(slots) => slots.find_room(room),
        }
    }

    pub fn push(&mut self, offset: u32, room: u32, moves_by: u32, what: T) {
        match self {
            Places::Ring(ring) => ring.push(offset, room, moves_by, what),
            Places::Slots(slots) => slots.push(offset, what),
        }
    }

    pub fn get_mut(&mut self, nth: u64) -> &mut T {
        match self {
            Places::Ring(ring) => ring.get_mut(nth),
            Places::Slots(slots) => slots.get_mut(nth),
        }
    }

    pub fn iter_mut_from(&mut self, nth: u64) -> Box<dyn Iterator<Item = &mut T> + '_> {
        match self {
            Places::Ring(ring) => Box::new(ring.iter_mut_from(nth)),
            Places::Slots(slots) => Box::new(slots.iter_mut_from(nth)),
        }
    }

    pub fn occupied(&self) -> u32 {
        match self {
            Places::Ring(ring) => ring.occupied(),
            Places::Slots(slots) => slots.occupied(),
        }
    }

    pub fn free_nth(&mut self, nth: u64) {
        match self {
            Places::Ring(ring) => ring.free_nth(nth),
            Places::Slots(slots) => slots.free_nth(nth),
        }
    }

    pub fn free(&mut self, offset: u32) -> Option<&T> {
        match self {
            Places::Ring(ring) => ring.free(offset),
            Places::Slots(slots) => slots.free(offset),
        }
    }

    pub fn at(&self, offset: u32) -> Option<&T> {
        match self {
            Places::Ring(ring) => ring.at(offset),
            Places::Slots(slots) => slots.at(offset),
        }
    }

    pub fn reclaim(&mut self) {
        match self {
            Places::Ring(ring) => ring.reclaim(),
            Places::Slots(slots) => slots.reclaim(),
        }
    }
}
