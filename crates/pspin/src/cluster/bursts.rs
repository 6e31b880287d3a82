//! Bursts from outside to the cluster's L1, and the cycle of its wide ports.

use super::Cluster;
use super::dma::bytes_of;
use super::l1::L1;
use super::wide::{Asked, Side};
use crate::map;
use crate::memories::BurstPort;
use crate::protocol::{BEAT_BYTES, Burst, BurstReply, beats};
use kernel::Cycle;
use std::collections::VecDeque;

/// A burst of which beats are to come.
struct UnderWay {
    /// Position of its initiator among the ports.
    initiator: usize,
    tag: u32,
    offset: u32,
    size: u32,
    /// What is written; nothing of a read.
    data: Box<[u8]>,
    /// When its next beat is there.
    at: Cycle,
    /// Which of its beats that is.
    beat: u32,
}

impl UnderWay {
    /// The line of its next beat, if L1 may be asked for that.
    fn asks(&self, now: Cycle, ports: &[BurstPort]) -> Option<u32> {
        let may = self.at <= now && ports[self.initiator].1.has_room();
        may.then(|| (self.offset & !(BEAT_BYTES - 1)) + self.beat * BEAT_BYTES)
    }
}

/// Reads and writes of L1 by the NIC-host interconnect, each in the order in which they came; their initiators have few
/// under way.
///
/// Timing:  a beat asks L1 when it is there: of a read at once, of a write one in a cycle. Data and responses leave as
///          L1 serves the beats.
/// Source:  PsPIN RTL a49fec8, `nhi_port_wrap.sv`, `axi_to_mem_interleaved.sv`.
/// Differs: initiators take what is read whenever it comes; what stalls a write here does not keep its initiator from
///          writing elsewhere.
#[derive(Default)]
pub(super) struct Outside {
    reads: VecDeque<UnderWay>,
    writes: VecDeque<UnderWay>,
}

impl Outside {
    /// Whether no beats are to come.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }

    fn take(&mut self, now: Cycle, initiator: usize, burst: Burst, base: u32) {
        let offset = burst.addr() - base;
        let (queue, tag, size, data) = match burst {
            Burst::Read { tag, size, .. } => (&mut self.reads, tag, size, Box::default()),
            Burst::Write { tag, data, .. } => (&mut self.writes, tag, data.len() as u32, data),
        };
        queue.push_back(UnderWay { initiator, tag, offset, size, data, at: now, beat: 0 });
    }

    fn asks(&self, now: Cycle, ports: &[BurstPort]) -> Asked {
        let next = |queue: &VecDeque<UnderWay>| queue.front().and_then(|burst| burst.asks(now, ports));
        Asked { write: next(&self.writes), read: next(&self.reads) }
    }

    /// L1 serves the beat that this side asks for.
    fn granted(&mut self, now: Cycle, side: Side, l1: &mut L1, ports: &[BurstPort]) {
        let queue = if side == Side::Read { &mut self.reads } else { &mut self.writes };
        let burst = queue.front_mut().expect("a burst that asks");
        let bytes = bytes_of(burst.offset, burst.size, burst.beat);
        let tag = burst.tag;
        burst.beat += 1;
        burst.at += 1;
        let last = burst.beat == beats(burst.offset, burst.size);
        let replies = &ports[burst.initiator].1;
        if side == Side::Read {
            let mut data = Vec::with_capacity(bytes.len());
            l1.read(burst.offset + bytes.start, bytes.len() as u32, &mut data);
            replies.send(BurstReply::Data { tag, data: data.into(), last: now + 1 });
        } else {
            l1.write(burst.offset + bytes.start, &burst.data[bytes.start as usize..bytes.end as usize]);
            if last {
                replies.send(BurstReply::Written { tag, decoded: true });
            }
        }
        if last {
            queue.pop_front();
        }
    }
}

impl Cluster {
    /// Bursts come from outside.
    pub(super) fn take_bursts(&mut self, now: Cycle) {
        let base = map::L1_BASE + self.id * map::L1_STRIDE;
        for (initiator, (requests, _)) in self.ports.bursts.iter().enumerate() {
            while requests.is_due(now)
                && let Some(burst) = requests.take()
            {
                self.outside.take(now, initiator, burst, base);
            }
        }
    }

    /// Whether nothing uses the wide ports.
    #[inline]
    pub(super) fn wide_is_quiet(&self) -> bool {
        !self.dma.is_busy() && self.outside.is_quiet() && !self.wide.is_clearing()
    }

    /// DMA engine and wide ports live through the cycle.
    pub(super) fn run_wide(&mut self, now: Cycle) {
        if self.wide_is_quiet() {
            return;
        }
        let mut of_dma = Asked::default();
        if self.dma.is_busy() {
            let (finished, asked) = self.dma.tick(now, &self.l1);
            of_dma = asked;
            if let Some(finished) = finished {
                self.transfer_done(finished.owner, now);
            }
        }
        let of_nhi = self.outside.asks(now, &self.ports.bursts);
        let granted = self.wide.grant(now, &mut self.l1, of_nhi, of_dma);
        if let Some(side) = granted.nhi {
            self.outside.granted(now, side, &mut self.l1, &self.ports.bursts);
        }
        if let Some(side) = granted.dma {
            self.dma.granted(now, side, &mut self.l1);
        }
    }

    /// The next cycle in which DMA engine and wide ports have something to do.
    pub(super) fn next_wide(&self, now: Cycle) -> Cycle {
        if !self.outside.is_quiet() || self.wide.is_clearing() {
            return now + 1;
        }
        if self.dma.is_busy() { self.dma.next_event(now).unwrap_or(Cycle::MAX) } else { Cycle::MAX }
    }
}
