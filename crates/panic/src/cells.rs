//! The allocator of the packet buffer's cells, as the published Verilog has it: a packet has its cell from the parser to its exit.

use crate::protocol::{Message, NodeId};
use kernel::Cycle;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// When cells of the packet buffer are free again, where packets have theirs from entry to exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllocatorParams {
    /// Cycles from the descriptor's exit until its cell counts as free, 1 to 1024.
    pub free_cycles: u32,
    /// Cycles from a packet's being dropped out of a PIFO until then, 1 to 1024.
    pub drop_cycles: u32,
    /// Cycles from then until it can be given out, 0 to 1024.
    pub ready_cycles: u32,
    /// Cycles until PIFOs hear that cells have become few, or are no longer, 1 to 1024.
    pub warning_cycles: u32,
}

impl AllocatorParams {
    /// What is wrong with them; begins with the key.
    pub fn check(&self) -> Result<(), String> {
        blocks::checks::within("free_cycles", self.free_cycles, 1, 1024)?;
        blocks::checks::within("drop_cycles", self.drop_cycles, 1, 1024)?;
        blocks::checks::within("ready_cycles", self.ready_cycles, 0, 1024)?;
        blocks::checks::within("warning_cycles", self.warning_cycles, 1, 1024)
    }
}

/// Which cells are free. In the RTL it answers within the cycle, so it is no part of its own: those who take and give ask it.
///
/// Order:  what is taken in a cycle, and what is given, counts from the next one on, and who takes says how many others may take
///         before it; so it does not matter who asks first.
/// Source: RTL: banks take turns, but one that has few is passed over while another has more; a cell that is not given back, as
///         that of a descriptor that was lost, is never free again.
#[derive(Clone)]
pub struct Cells(Rc<RefCell<Allocator>>);

struct Allocator {
    params: AllocatorParams,
    /// The scheduler's ports, a bank each.
    ports: Vec<NodeId>,
    /// A bank has few if it has no more than these.
    few: u32,
    /// The cycle of which is told.
    now: Cycle,
    /// By bank: free as the cycle began, how many of them can be given out, and taken in it.
    free: Vec<u32>,
    ready: Vec<u32>,
    taken: Vec<u32>,
    /// By cycle and bank: cells that become free, and that can be given out from then on.
    freed: BTreeMap<(Cycle, usize), u32>,
    readied: BTreeMap<(Cycle, usize), u32>,
    /// From when on all banks have few, or not; the last is what is known now.
    warnings: VecDeque<(Cycle, bool)>,
}

impl Cells {
    /// Banks of `cells` free cells, one for each of these ports of the scheduler.
    pub fn new(params: AllocatorParams, ports: Vec<NodeId>, cells: u32, few: u32) -> Cells {
        let (free, taken) = (vec![cells; ports.len()], vec![0; ports.len()]);
        let (freed, readied, warnings) = (BTreeMap::new(), BTreeMap::new(), VecDeque::from([(0, cells <= few)]));
        let ready = free.clone();
        let allocator = Allocator { params, ports, few, now: 0, free, ready, taken, freed, readied, warnings };
        Cells(Rc::new(RefCell::new(allocator)))
    }

    /// Takes a cell of the bank whose turn it is, or of the one that has more; `ahead` others may take one in this cycle too.
    /// Gives back which bank it is, if it had one.
    pub fn take(&self, now: Cycle, turn: usize, ahead: u32) -> Option<usize> {
        let mut cells = self.0.borrow_mut();
        cells.reach(now);
        let n = cells.free.len();
        let in_turn = (0..n).map(|i| (turn + i) % n);
        let bank = { in_turn }.find(|&bank| cells.free[bank] > cells.few).unwrap_or(turn);
        (cells.ready[bank] > ahead).then(|| {
            cells.taken[bank] += 1;
            bank
        })
    }

    /// A message leaves the NIC, and its cell becomes free, if it has one.
    pub fn leaves(&self, now: Cycle, message: &Message) {
        if !message.descriptor.chain.is_empty() {
            let mut cells = self.0.borrow_mut();
            let after = cells.params.free_cycles;
            cells.give(now, message.descriptor.home, after);
        }
    }

    /// A message is dropped out of a PIFO.
    pub fn dropped(&self, now: Cycle, message: &Message) {
        let mut cells = self.0.borrow_mut();
        let after = cells.params.drop_cycles;
        cells.give(now, message.descriptor.home, after);
    }

    /// Whether PIFOs have heard that all banks have few.
    pub fn are_few(&self, now: Cycle) -> bool {
        let mut cells = self.0.borrow_mut();
        cells.reach(now);
        let Some(heard) = now.checked_sub(cells.params.warning_cycles.into()) else { return false };
        while cells.warnings.get(1).is_some_and(|&(since, _)| since <= heard) {
            cells.warnings.pop_front();
        }
        cells.warnings.front().is_some_and(|&(since, few)| since <= heard && few)
    }
}

impl Allocator {
    fn give(&mut self, now: Cycle, home: NodeId, after: u32) {
        self.reach(now);
        let bank =
            self.ports.iter().position(|&port| port == home).expect("a packet's home is a port of the scheduler");
        let free = now + Cycle::from(after);
        *self.freed.entry((free, bank)).or_default() += 1;
        *self.readied.entry((free + Cycle::from(self.params.ready_cycles), bank)).or_default() += 1;
    }

    /// Goes on to a cycle.
    fn reach(&mut self, now: Cycle) {
        if now == self.now {
            return;
        }
        let next = self.now + 1;
        for (bank, taken) in self.taken.iter_mut().enumerate() {
            let taken = std::mem::take(taken);
            self.free[bank] -= taken;
            self.ready[bank] -= taken;
        }
        self.warn(next);
        while let Some(entry) = self.readied.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((_, bank), n) = entry.remove_entry();
            self.ready[bank] += n;
        }
        while let Some(entry) = self.freed.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((at, bank), n) = entry.remove_entry();
            self.free[bank] += n;
            self.warn(at);
        }
        self.now = now;
    }

    fn warn(&mut self, since: Cycle) {
        let few = self.free.iter().all(|&free| free <= self.few);
        if self.warnings.back().is_some_and(|&(_, last)| last != few) {
            self.warnings.push_back((since, few));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells() -> Cells {
        let params = AllocatorParams { free_cycles: 7, drop_cycles: 20, ready_cycles: 2, warning_cycles: 9 };
        Cells::new(params, vec![NodeId(0), NodeId(3)], 3, 1)
    }

    #[test]
    fn banks_take_turns_and_one_that_has_few_is_passed_over() {
        let cells = cells();
        let taken: Vec<_> =
            [0, 1, 0, 1, 0, 0, 0].iter().zip(1..).map(|(&turn, now)| cells.take(now, turn, 0)).collect();
        assert_eq!(taken, [Some(0), Some(1), Some(0), Some(1), Some(0), None, None]);
        assert_eq!(cells.take(8, 1, 0), Some(1));
    }

    #[test]
    fn what_is_taken_counts_from_the_next_cycle_on() {
        let cells = cells();
        assert_eq!([0, 1, 2].map(|ahead| cells.take(5, 0, ahead)), [Some(0); 3]);
        assert_eq!(cells.take(5, 0, 3), None);
        assert_eq!([cells.take(6, 0, 0), cells.take(6, 0, 2)], [Some(1), Some(1)]);
    }

    #[test]
    fn pifos_hear_late_that_all_banks_have_few() {
        let cells = cells();
        for now in 0..4 {
            assert!(cells.take(now, now as usize % 2, 0).is_some());
        }
        // Both have one from cycle 4 on.
        assert_eq!([12, 13].map(|now| cells.are_few(now)), [false, true]);
    }
}
