//! The writing side of the cluster's DMA engine: beats that leave it, their addresses, and responses.

use super::super::part::{At, Place, Side};
use super::{Movement, RESPONSE, TO_CROSSBAR};
use crate::cluster::l1::L1;
use crate::lanes::bytes_of;
use crate::protocol::Burst;
use kernel::Cycle;

/// Minimum number of cycles from a write beat on the crossbar to L2's response: L2's register, memory, and the way
/// back.
const L2_RESPONSE: u64 = 3;

impl Movement {
    /// The oldest beat in the register from the engine passes the crossbar, if permitted.
    pub(super) fn pass_write(&mut self, now: Cycle) {
        let part = self.write(self.passes.part);
        let Side { place, size, beats, .. } = part.side;
        let waits = match place {
            Place::L1(_) => self.requests_write,
            Place::L2 => !part.is_sent,
            Place::Nowhere => false,
        };
        if waits || part.passes_from > now {
            return;
        }
        self.leaving -= 1;
        if let Place::L1(_) = place {
            self.requests_write = true;
            if self.passes.beat == 0 {
                self.address_passed(now);
            }
            return;
        }
        let number = self.passes.part;
        if self.passes.advance(beats) {
            if place == Place::Nowhere {
                self.bytes.remove(size);
            }
            self.write_mut(number).has(now + if place == Place::L2 { L2_RESPONSE } else { RESPONSE });
            self.end_writes();
        }
    }

    /// The next write address passes the crossbar, if permitted. L1 takes an address with the first beat of its data.
    pub(super) fn open_write(&mut self, now: Cycle) {
        let (number, from) = self.next_write;
        if !self.has_write(number) {
            return;
        }
        let Side { emitted, place, .. } = self.write(number).side;
        if !self.is_decided {
            let n = self.open_writes.n;
            if now < from.max(emitted + TO_CROSSBAR) || !self.open_writes.admits(place, n) {
                return;
            }
            self.open_writes.add(place);
            self.is_decided = true;
            self.write_mut(number).passes_from = now + 1;
        }
        match place {
            Place::L1(_) => return,
            Place::L2 if self.l2_writes == self.max_bursts => return,
            Place::L2 => self.l2_writes += 1,
            Place::Nowhere => self.faults.add(1),
        }
        self.write_mut(number).passes_from = now + 1;
        self.address_passed(now);
    }

    fn address_passed(&mut self, now: Cycle) {
        self.next_write = (self.next_write.0 + 1, now + 1);
        self.is_decided = false;
    }

    /// Sends a write to L2 whose first beat passes the crossbar in the next cycle.
    pub(super) fn send_write(&mut self, now: Cycle, l1: &L1) {
        if self.leaving == 0 {
            return;
        }
        let number = self.passes.part;
        let part = self.write(number);
        let Side { place, addr, size, .. } = part.side;
        let is_next = place == Place::L2 && !part.is_sent && part.passes_from <= now + 1;
        // While a part waits for the interconnect, its address is still the next one to pass.
        if !is_next || number == self.next_write.0 || !self.ports.requests.has_room() {
            return;
        }
        let missing = size.saturating_sub(self.bytes.len());
        if missing > 0 && !self.read_ahead_of_time(missing, l1) {
            return;
        }
        let data = self.bytes.get(0..size).into();
        self.bytes.remove(size);
        self.write_mut(number).is_sent = true;
        self.ports.requests.send(Burst::Write { tag: 0, addr, data, last: true });
        self.sent.push_back(number);
    }

    /// L1 serves the write beat that was requested.
    pub fn write_granted(&mut self, now: Cycle, l1: &mut L1) {
        let At { part: number, beat } = self.passes;
        let part = self.write(number);
        let Side { place, addr, size, beats, .. } = part.side;
        let Place::L1(offset) = place else { unreachable!("the part is in L1") };
        let bytes = bytes_of(addr, size, beat);
        l1.write(offset + bytes.start, self.bytes.get(bytes));
        if beat + 1 == beats {
            if part.fills_word {
                l1.clear(offset + size, size.next_multiple_of(4) - size);
            }
            self.bytes.remove(size);
            self.write_mut(number).has(now + RESPONSE);
            self.end_writes();
        }
        self.requests_write = false;
        self.passes.advance(beats);
    }

    /// Takes the responses at the crossbar. Bursts that wait for them may continue in the next cycle.
    pub(super) fn take_responses(&mut self, now: Cycle) {
        while let Some(&(at, is_l2)) = self.responses.front()
            && at <= now
        {
            self.responses.pop_front();
            self.open_writes.n -= 1;
            self.l2_writes -= u32::from(is_l2);
        }
    }
}
