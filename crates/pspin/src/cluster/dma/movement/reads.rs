//! The reading side of the cluster's DMA engine: requests, and beats on their way to the engine.

use super::super::part::{Place, Side};
use super::{Movement, REGISTER, TO_CROSSBAR};
use crate::cluster::l1::L1;
use crate::lanes::{LANE_BYTES, bytes_of};
use crate::protocol::Burst;
use kernel::Cycle;

/// Maximum number of reads that L1's converter has requested and not passed on. Source: `dmac_wrap.sv`, BufDepth.
const READ_BUFFER: u32 = 4;
/// Cycles from a beat's grant by L1 to its arrival at the engine: memory, and the crossbar's register.
const L1_TO_ENGINE: u64 = 2;
/// Cycles from a request for an unmapped address to the arrival of its first zeros at the engine.
const NOWHERE_TO_ENGINE: u64 = 3;

impl Movement {
    /// The next read address passes the crossbar: to L1 in this cycle, or to L2 in the next.
    pub(super) fn open_read(&mut self, now: Cycle) {
        let (number, from) = self.next_read;
        if !self.has_read(number) {
            return;
        }
        let Side { emitted, place, addr, size, beats } = self.read(number).side;
        let from = from.max(emitted + TO_CROSSBAR);
        if let Place::L1(_) = place {
            if now >= from && self.open_reads.admits(place, self.open_reads.n) {
                self.open_reads.add(place);
                self.at_l1.push_back(number);
                self.next_read = (number + 1, now + 1);
            }
            return;
        }
        let ends = self.will_enter(now) && self.enters.beat + 1 == self.read(self.enters.part).side.beats;
        let n = self.open_reads.n - u32::from(ends);
        let admitted = if place == Place::L2 { self.open_reads.admits(place, n) } else { n == 0 };
        if now + 1 < from || !admitted || !self.ports.requests.has_room() {
            return;
        }
        self.open_reads.add(place);
        self.next_read = (number + 1, now + 2);
        if place == Place::L2 {
            self.ports.requests.send(Burst::Read { tag: 0, addr, size, in_parts: false });
            self.at_l2.push_back(number);
        } else {
            self.faults.add(1);
            let taken = self.n_ahead.min(size);
            self.n_ahead -= taken;
            self.bytes.end().extend(std::iter::repeat_n(0, (size - taken) as usize));
            let first = now + NOWHERE_TO_ENGINE;
            self.coming.extend(first..first + u64::from(beats));
        }
    }

    /// L1's converter requests the next beat, if its buffer has room for it.
    pub(super) fn ask_read(&mut self, now: Cycle) {
        if self.requests_read || self.at_l1.is_empty() || self.read_ahead == READ_BUFFER && !self.will_enter(now) {
            return;
        }
        self.requests_read = true;
        self.read_ahead += 1;
    }

    /// L1 serves the read beat that was requested.
    pub fn read_granted(&mut self, now: Cycle, l1: &L1) {
        let Side { place, addr, size, beats, .. } = self.read(self.at_l1[0]).side;
        let Place::L1(offset) = place else { unreachable!("the part is in L1") };
        let bytes = bytes_of(addr, size, self.l1_beat);
        let taken = self.n_ahead.min(bytes.len() as u32);
        self.n_ahead -= taken;
        l1.read(offset + bytes.start + taken, bytes.len() as u32 - taken, self.bytes.end());
        self.coming.push_back(now + L1_TO_ENGINE);
        self.requests_read = false;
        self.l1_beat += 1;
        if self.l1_beat == beats {
            self.at_l1.pop_front();
            self.l1_beat = 0;
        }
    }

    /// Adds the next `n` bytes, which are not read yet, with the values that they have now. Returns false, and adds nothing, if
    /// some of them come from L2, or are not in a read yet.
    pub(super) fn read_ahead_of_time(&mut self, mut n: u32, l1: &L1) -> bool {
        if !self.at_l2.is_empty() {
            return false;
        }
        let (mut number, beat) = self.at_l1.front().map_or((self.next_read.0, 0), |&number| (number, self.l1_beat));
        let mut known = Vec::new();
        let mut skipped = self.n_ahead;
        let mut begin = if self.has_read(number) { self.first_byte(number, beat) } else { 0 };
        while n > 0 {
            if !self.has_read(number) {
                return false;
            }
            let Side { place, size, .. } = self.read(number).side;
            let skips = skipped.min(size - begin);
            skipped -= skips;
            begin += skips;
            let adds = n.min(size - begin);
            match place {
                Place::L1(offset) => l1.read(offset + begin, adds, &mut known),
                Place::Nowhere => known.extend(std::iter::repeat_n(0, adds as usize)),
                Place::L2 => return false,
            }
            n -= adds;
            (number, begin) = (number + 1, 0);
        }
        self.n_ahead += known.len() as u32;
        self.bytes.end().extend(known);
        true
    }

    /// Position of a beat's first byte within its read.
    fn first_byte(&self, number: u64, beat: u32) -> u32 {
        let Side { addr, size, .. } = self.read(number).side;
        bytes_of(addr, size, beat).start
    }

    /// Takes the beat that arrived at the crossbar's register in the cycle before.
    pub(super) fn enter(&mut self, now: Cycle) {
        if self.had_room && self.coming.front().is_some_and(|&at| at <= now) {
            self.coming.pop_front();
            self.arrived += 1;
            let Side { place, beats, .. } = self.read(self.enters.part).side;
            self.read_ahead -= u32::from(matches!(place, Place::L1(_)));
            self.open_reads.n -= u32::from(self.enters.advance(beats));
        }
        self.had_room = self.arrived < REGISTER;
    }

    /// Returns true if a beat arrives at the crossbar's register in this cycle, as far as is known.
    pub(super) fn will_enter(&self, now: Cycle) -> bool {
        self.had_room && self.coming.front().is_some_and(|&at| at <= now + 1)
    }

    /// Delays beats of L2 that arrive later than their replies say, because a beat in front of them was held.
    #[inline]
    pub(super) fn take_late(&mut self, now: Cycle) {
        while self.ports.late.is_due(now)
            && let Some(at) = self.ports.late.take()
        {
            self.beat_is_late(at);
        }
    }

    /// The beat that was to arrive in a cycle arrives one cycle later.
    pub(super) fn beat_is_late(&mut self, at: Cycle) {
        match self.coming.iter_mut().find(|coming| **coming == at) {
            Some(coming) => *coming += 1,
            None => self.late.push(at),
        }
    }

    /// Tells the memories how many beats stay in the register in front of the engine, because a lane is full. The register
    /// takes a beat in the next cycle only if these beats and the entering beat leave room for it. Otherwise the port of
    /// packet memory stops, which all clusters share.
    ///
    /// Source: PsPIN RTL a49fec8, `axi_dma_data_path.sv` line 176 (r_ready_o), `axi_demux.sv` i_r_spill_reg of
    /// i_wide_dma_axi_xbar in `dmac_wrap.sv`; `dma_noc.sv` line 81 (SpillR is 0).
    #[inline]
    pub(super) fn tell_held(&mut self) {
        if self.arrived | self.reported == 0 {
            return;
        }
        // With writes to L2 nothing is reported. In the RTL the address of a write is ahead of its data, so it must not wait for
        // these reads. Here it waits for its data.
        let is_telling = self.n_to_l2 == 0 && self.open_reads.n > 0 && self.open_reads.is_to(Place::L2);
        let held = if is_telling { self.arrived } else { 0 };
        if held != self.reported {
            self.reported = held;
            self.ports.held.send(held);
        }
    }

    /// The first cycle after `now` in which the engine may begin or cease to hold a beat of L2, if no reply arrives. `is_alone`:
    /// no other beat of L1 can be requested before; `is_clearing`: stacks are cleared at this port.
    #[inline]
    pub fn holds_at(&self, now: Cycle, is_alone: bool, is_clearing: bool) -> Cycle {
        if self.reported != 0 || self.arrived != 0 {
            return now + 1;
        }
        let fullest = self.lanes.fullest();
        if is_alone && self.n_uneven == 0 && fullest < 2 && self.leaving < REGISTER {
            return Cycle::MAX;
        }
        // Even if no beat leaves, the lanes take one more beat for each free place.
        let room = LANE_BYTES - fullest;
        let soonest = self.coming.get(room as usize).map_or(Cycle::MAX, |&at| at.max(now + 1));
        if !is_clearing && self.n_uneven == 0 && self.at_l1.is_empty() && !self.requests_read {
            // L1 grants the only request of its port in the second cycle at the latest, so one of the beats behind the
            // lanes' input leaves in two cycles. A lane is full only while the places behind the lanes are full, too.
            let n = fullest + self.leaving + u32::from(self.requests_write);
            return soonest.max(now + Cycle::from(2 * (LANE_BYTES + REGISTER).saturating_sub(n)).saturating_sub(1));
        }
        soonest
    }
}
