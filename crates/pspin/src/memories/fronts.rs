//! The next burst of each initiator of a port, sorted by where it goes.

use super::memory::Memory;
use super::{BurstPort, READ, WRITE};
use crate::protocol::Burst;
use kernel::Cycle;

/// Position of addresses that neither memory has.
const ELSEWHERE: usize = 2;

/// Bit sets of the initiators whose next burst has come, by memory and direction of the burst.
#[derive(Default)]
pub(super) struct Fronts([[u64; 2]; 3]);

impl Fronts {
    /// Looks at these initiators; nothing has come from the others.
    pub(super) fn look(
        &mut self,
        initiators: impl Iterator<Item = usize>,
        ports: &[BurstPort],
        memories: &[Memory],
        now: Cycle,
    ) {
        self.0 = Default::default();
        initiators.for_each(|initiator| self.add(initiator, ports, memories, now));
    }

    /// Takes the next burst of an initiator.
    pub(super) fn take(&mut self, initiator: usize, ports: &[BurstPort], memories: &[Memory], now: Cycle) -> Burst {
        let burst = ports[initiator].0.take().expect("just seen");
        self.0.as_flattened_mut().iter_mut().for_each(|set| *set &= !(1 << initiator));
        self.add(initiator, ports, memories, now);
        burst
    }

    fn add(&mut self, initiator: usize, ports: &[BurstPort], memories: &[Memory], now: Cycle) {
        let (requests, _) = &ports[initiator];
        if requests.is_due(now)
            && let Some(burst) = requests.peek()
        {
            let memory = memories.iter().position(|memory| memory.contains(burst.addr())).unwrap_or(ELSEWHERE);
            self.0[memory][if matches!(*burst, Burst::Write { .. }) { WRITE } else { READ }] |= 1 << initiator;
        }
    }

    /// The initiators whose next burst goes to this side of this memory.
    pub(super) fn to(&self, memory: usize, side: usize) -> u64 {
        self.0[memory][side]
    }

    /// The memories to which bursts go, by bit; [`super::ELSEWHERE`] if one goes to neither.
    pub(super) fn requested(&self) -> u32 {
        (0..)
            .zip(&self.0)
            .fold(0, |requested, (memory, [reads, writes])| requested | u32::from(reads | writes != 0) << memory)
    }
}
