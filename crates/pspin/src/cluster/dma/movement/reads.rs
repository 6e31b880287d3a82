//! The reading side of the cluster's DMA engine: requests, and beats on their way to the engine.

use super::super::chunk::{Chunk, Place};
use super::{Movement, REGISTER, TO_CROSSBAR};
use crate::cluster::l1::L1;
use crate::lanes::bytes_of;
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
        if !self.has_chunk(number) {
            return;
        }
        let Chunk { from: (place, addr), size, reads, emitted, .. } = *self.chunk(number);
        let from = from.max(emitted + TO_CROSSBAR);
        if let Place::L1(_) = place {
            if now >= from && self.open_reads.admits(place, self.open_reads.n) {
                self.open_reads.add(place);
                self.at_l1.push_back(number);
                self.next_read = (number + 1, now + 1);
            }
            return;
        }
        let ends = self.will_enter(now) && self.enters.beat + 1 == self.chunk(self.enters.chunk).reads;
        let n = self.open_reads.n - u32::from(ends);
        let admitted = if place == Place::L2 { self.open_reads.admits(place, n) } else { n == 0 };
        if now + 1 < from || !admitted || !self.requests.has_room() {
            return;
        }
        self.open_reads.add(place);
        self.next_read = (number + 1, now + 2);
        if place == Place::L2 {
            self.requests.send(Burst::Read { tag: 0, addr, size, in_parts: false });
            self.at_l2.push_back(number);
        } else {
            self.faults.add(1);
            self.chunk_mut(number).data = vec![0; size as usize];
            let first = now + NOWHERE_TO_ENGINE;
            self.coming.extend(first..first + u64::from(reads));
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
        let beat = self.l1_beat;
        let chunk = self.chunk_mut(self.at_l1[0]);
        if !chunk.is_known {
            let Place::L1(offset) = chunk.from.0 else { unreachable!("the chunk is in L1") };
            let bytes = bytes_of(chunk.from.1, chunk.size, beat);
            l1.read(offset + bytes.start, bytes.len() as u32, &mut chunk.data);
        }
        let n_beats = chunk.reads;
        self.coming.push_back(now + L1_TO_ENGINE);
        self.requests_read = false;
        self.l1_beat += 1;
        if self.l1_beat == n_beats {
            self.at_l1.pop_front();
            self.l1_beat = 0;
        }
    }

    /// Takes the beat that arrived at the crossbar's register in the cycle before.
    pub(super) fn enter(&mut self, now: Cycle) {
        if self.had_room && self.coming.front().is_some_and(|&at| at <= now) {
            self.coming.pop_front();
            self.arrived += 1;
            let chunk = self.chunk(self.enters.chunk);
            let (n_beats, from) = (chunk.reads, chunk.from.0);
            self.read_ahead -= u32::from(matches!(from, Place::L1(_)));
            self.open_reads.n -= u32::from(self.enters.advance(n_beats));
        }
        self.had_room = self.arrived < REGISTER;
    }

    /// Returns true if a beat arrives at the crossbar's register in this cycle, as far as is known.
    pub(super) fn will_enter(&self, now: Cycle) -> bool {
        self.had_room && self.coming.front().is_some_and(|&at| at <= now + 1)
    }
}
