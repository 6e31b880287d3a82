//! The way back from both memories to the clusters' DMA engines: one beat a cycle.

use super::memory::{Memory, NEAR, Reading, position};
use super::{HANDLER, Memories, PACKET, READ};
use crate::protocol::BurstReply;
use kernel::Cycle;

/// The multiplexer behind both memories. The memories take turns, one beat each. In front of it is a register for each
/// memory. A beat that waits there stops the beats behind it, and these stop their banks.
///
/// Timing:  a cycle here is the one in which a beat of packet memory passes its bank. A beat of handler memory passes
///          its bank in the cycle before, because its data also pass the filter's register.
/// Source:  PsPIN RTL a49fec8, `l2_xbar.sv`, i_mux_dma; `axi_demux.sv`, i_r_mux.
/// Differs: a bank stops with the beat that waits; in the RTL it continues until the registers are full. A beat of
///          packet memory that meets the last beat of a burst of handler memory waits for it.
#[derive(Default)]
pub(super) struct ReplyTurns {
    /// Handler memory has the turn in this cycle.
    is_handlers: bool,
    /// The cycle in which a stopped beat of handler memory has its turn.
    handler: Cycle,
    /// The last cycle in which a beat of packet memory waited.
    packet: Cycle,
}

impl Memories {
    /// Returns true if both memories may have beats for DMA engines in this cycle.
    pub(super) fn share_turns(&self, now: Cycle) -> bool {
        self.reply_turns.handler >= now
            || self.memories.iter().all(|memory| memory.banks.end(position(NEAR, READ)) >= now)
    }

    /// Begins a cycle, before either memory is served.
    pub(super) fn begin_turn(&mut self, now: Cycle) {
        let passed = self.memories[HANDLER].banks.passed(position(NEAR, READ), now);
        self.reply_turns.is_handlers = passed || self.reply_turns.handler == now;
    }

    /// Returns true if the next beat of a memory waits, because the other memory has the turn. A waiting beat does not
    /// request its bank in this cycle. In each cycle, handler memory calls this before packet memory does.
    pub(super) fn waits_for_turn(&mut self, memory: usize, now: Cycle) -> bool {
        let at = position(NEAR, READ);
        let [handler, packet] = [&self.memories[HANDLER].banks, &self.memories[PACKET].banks];
        if !self.reply_turns.is_handlers {
            return false;
        }
        if memory == HANDLER {
            // The next cycle belongs to a beat of packet memory that waits, or follows.
            return handler.has_beat(at, now) && (packet.has_beat(at, now) || packet.has_beat(at, now + 1));
        }
        let waits = packet.has_beat(at, now) && (self.reply_turns.packet + 1 == now || !self.stop_handler_beat(now));
        if waits {
            self.reply_turns.packet = now;
        }
        waits
    }

    /// If a beat of a burst had the previous turn, stops the burst's next beat, which passed its bank in the previous cycle,
    /// and all beats behind it. Returns true if it stopped them.
    fn stop_handler_beat(&mut self, now: Cycle) -> bool {
        let at = position(NEAR, READ);
        let Memory { banks, sides, .. } = &mut self.memories[HANDLER];
        let Some(Reading { initiator, .. }) = sides[at].reading.filter(|_| banks.passed_two(at, now)) else {
            return false;
        };
        let beats = (banks.end(at) + 1 - now) as u32;
        if banks.end(at) > now {
            banks.hold(at, now);
        }
        self.reply_turns.handler = now + 1;
        self.singles.filter.burst_is_late();
        self.place_is_late(initiator);
        self.ports.replies(at, initiator).send(BurstReply::Later { beats });
        true
    }

    /// The read of a DMA engine that began last keeps its place for one more cycle.
    pub(super) fn place_is_late(&mut self, cluster: usize) {
        let place = self.dma_reads[cluster].iter_mut().rfind(|(free, _)| *free != Cycle::MAX);
        place.expect("its place").0 += 1;
    }
}
