//! Packets leave their PIFOs in one of two ways: as soon as a unit has a credit (4.3.1), or through a FIFO at whose
//! output credits are requested (RTL).

use super::{BufferCell, PACKET_SCHEDULED, Scheduler};
use crate::drops::DropReason;
use crate::protocol::Leg;
use kernel::Cycle;

impl Scheduler {
    /// Finds the service of a block whose first packet leaves next, and its unit. If there is none, returns the cycle of the
    /// next attempt, or `None` if a port must change first.
    fn choose(&self, now: Cycle, block: usize) -> Result<(usize, usize), Option<Cycle>> {
        let mut later: Option<Cycle> = None;
        for &service in &self.blocks[block].services {
            let Some((eligible, &place)) = self.queues[service].first() else { continue };
            let Some(unit) = self.unit_for(service, place) else { continue };
            if eligible <= now {
                return Ok((service, unit));
            }
            later = Some(later.map_or(eligible, |other| other.min(eligible)));
        }
        Err(later)
    }

    /// The unit that can accept the packet, if one has a credit and the port has room.
    fn unit_for(&self, service: usize, BufferCell { port, cell }: BufferCell) -> Option<usize> {
        let has_room = self.ports[port].leaving.len() < self.params.pifo.leaving_slots();
        has_room.then(|| self.credits.unit_for(service, self.ports[port].bank.flow(cell))).flatten()
    }

    /// Pops a packet from a block. Returns the cycle of the next attempt, or `None` if a port must change first.
    pub(super) fn pop(&mut self, now: Cycle, block: usize) -> Option<Cycle> {
        let (service, unit) = match self.choose(now, block) {
            Ok(chosen) => chosen,
            Err(later) => return later,
        };
        if !now.is_multiple_of(self.params.pifo.pop_cycles.into()) {
            return Some(now + 1);
        }
        let place = self.queues[service].pop().expect("the chosen packet must be there");
        self.release(now, place, unit);
        Some(now + 1)
    }

    /// Runs an edge of PIFOs with FIFOs behind them. A packet that finds its FIFO full is lost together with its cell.
    pub(super) fn pop_into_crossings(&mut self, now: Cycle) {
        if self.crossings.is_empty() || !now.is_multiple_of(self.params.pifo.pop_cycles.into()) {
            return;
        }
        for service in 0..self.crossings.len() {
            let (lost, pops) = self.crossings[service].edge(now);
            if let Some(BufferCell { port, cell }) = lost {
                let message = self.ports[port].bank.lose(cell);
                self.note_drop(now, message, DropReason::Crossing);
            }
            if pops && self.queues[service].first().is_some_and(|(eligible, _)| eligible <= now) {
                let place = self.queues[service].pop().expect("the first packet must be there");
                self.crossings[service].pop(place);
            }
        }
    }

    /// Assigns a packet at a FIFO's output to a unit. Returns the cycle of the next attempt, or `None` if a port must change
    /// first.
    pub(super) fn take_from_crossings(&mut self, now: Cycle, block: usize) -> Option<Cycle> {
        let n_blocks = self.params.pifo.blocks as usize;
        let n_services = self.crossings.len();
        let services = || (block..n_services).step_by(n_blocks);
        let chosen = services().rev().find_map(|service| {
            let place = *self.crossings[service].end()?;
            self.unit_for(service, place).map(|unit| (service, place, unit))
        });
        if let Some((service, place, unit)) = chosen {
            self.crossings[service].take();
            self.release(now, place, unit);
        }
        services().for_each(|service| self.crossings[service].shift(now));
        let is_busy = services().any(|service| !self.queues[service].is_empty() || !self.crossings[service].is_empty());
        is_busy.then_some(now + 1)
    }

    /// Spends a unit's credit on a packet, which leaves for the unit.
    fn release(&mut self, now: Cycle, BufferCell { port, cell }: BufferCell, unit: usize) {
        self.credits.spend(unit);
        self.credits.trace_held(unit, now, &self.tracer);
        let (message, since) = self.ports[port].bank.message(cell);
        message.to = self.credits.node(unit);
        message.leg = Leg::Paid;
        let descriptor = &mut message.descriptor;
        descriptor.waited_cycles += now - since;
        self.waited_cycles.add(now - since);
        self.scheduled.add(1);
        if self.params.chain_push {
            let flow = descriptor.flow;
            for hop in &mut descriptor.chain[descriptor.next + 1..] {
                hop.push_to = None;
                if usize::from(hop.service) < self.queues.len() {
                    hop.push_to = self.credits.push_destination(hop.service.into(), flow);
                }
                self.pushes_planned.add(u64::from(hop.push_to.is_some()));
            }
        }
        let node = u64::from(message.to.0);
        self.tracer.emit(&PACKET_SCHEDULED, now, &[descriptor.id, node, now - since]);
        let port = &mut self.ports[port];
        port.leaving.push_back((now + Cycle::from(self.params.pifo.dequeue_cycles), cell));
        port.n_leaving.set(now, port.leaving.len() as u64);
    }
}
