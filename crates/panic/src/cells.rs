//! The central allocator of packet-buffer cells, as in the published Verilog: a packet holds one cell from the parser to its
//! exit.

use crate::protocol::{Message, NodeId};
use kernel::Cycle;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Delays of the cell allocator, for NICs in which a packet holds its cell from entry to exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllocatorParams {
    /// Cycles from the descriptor's exit until its cell is free, 1 to 1024.
    pub free_cycles: u32,
    /// Cycles from a drop out of a PIFO until the packet's cell is free, 1 to 1024.
    pub drop_cycles: u32,
    /// Cycles from a cell's becoming free until it can be allocated again, 0 to 1024.
    pub ready_cycles: u32,
    /// Cycles until the PIFOs see that the number of free cells has crossed the warning threshold, 1 to 1024.
    pub warning_cycles: u32,
}

impl AllocatorParams {
    /// Checks the ranges. The error begins with the key.
    pub fn check(&self) -> Result<(), String> {
        blocks::checks::within("free_cycles", self.free_cycles, 1, 1024)?;
        blocks::checks::within("drop_cycles", self.drop_cycles, 1, 1024)?;
        blocks::checks::within("ready_cycles", self.ready_cycles, 0, 1024)?;
        blocks::checks::within("warning_cycles", self.warning_cycles, 1, 1024)
    }
}

/// The allocator of all banks. The RTL answers within the cycle, so this is a shared object and not a component.
///
/// Order:  cells taken or freed in a cycle count from the next cycle on, and a caller says how many others may allocate before
///         it. So the order of the callers does not matter.
/// Source: RTL: banks take turns, but a bank with few free cells is skipped while another has more. A cell that is not
///         returned, for example because its descriptor was lost, is never free again.
#[derive(Clone)]
pub struct Cells(Rc<RefCell<Allocator>>);

struct Allocator {
    params: AllocatorParams,
    /// The scheduler's ports; each has a bank.
    ports: Vec<NodeId>,
    /// A bank is short of cells if at most this number is free.
    few: u32,
    /// The cycle to which the state below belongs.
    now: Cycle,
    /// For each bank: free cells at the start of the cycle, how many of them can be allocated, and cells allocated in this
    /// cycle.
    free: Vec<u32>,
    ready: Vec<u32>,
    taken: Vec<u32>,
    /// By cycle and bank: number of cells that become free, and number of cells that can be allocated again.
    freed: BTreeMap<(Cycle, usize), u32>,
    readied: BTreeMap<(Cycle, usize), u32>,
    /// Cycles in which "all banks are short of cells" changed, with the new value. The first entry is what the PIFOs see, the
    /// last one is the present state.
    warnings: VecDeque<(Cycle, bool)>,
}

impl Cells {
    /// Creates one bank of `cells` free cells for each of these scheduler ports.
    pub fn new(params: AllocatorParams, ports: Vec<NodeId>, cells: u32, few: u32) -> Cells {
        let (free, taken) = (vec![cells; ports.len()], vec![0; ports.len()]);
        let (freed, readied, warnings) = (BTreeMap::new(), BTreeMap::new(), VecDeque::from([(0, cells <= few)]));
        let ready = free.clone();
        let allocator = Allocator { params, ports, few, now: 0, free, ready, taken, freed, readied, warnings };
        Cells(Rc::new(RefCell::new(allocator)))
    }

    /// Allocates a cell of bank `turn`, or of the bank with more free cells, and returns the bank. `ahead` other callers may
    /// allocate one earlier in the same cycle. Returns `None` if no cell can be allocated.
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

    /// The message leaves the NIC; frees its cell if it has one.
    pub fn leaves(&self, now: Cycle, message: &Message) {
        if !message.descriptor.chain.is_empty() {
            let mut cells = self.0.borrow_mut();
            let after = cells.params.free_cycles;
            cells.give(now, message.descriptor.home, after);
        }
    }

    /// The message was dropped out of a PIFO; frees its cell.
    pub fn dropped(&self, now: Cycle, message: &Message) {
        let mut cells = self.0.borrow_mut();
        let after = cells.params.drop_cycles;
        cells.give(now, message.descriptor.home, after);
    }

    /// Returns true if the PIFOs know that all banks are short of cells.
    pub fn are_few(&self, now: Cycle) -> bool {
        let mut cells = self.0.borrow_mut();
        cells.reach(now);
        let Some(noticed) = now.checked_sub(cells.params.warning_cycles.into()) else { return false };
        while cells.warnings.get(1).is_some_and(|&(since, _)| since <= noticed) {
            cells.warnings.pop_front();
        }
        cells.warnings.front().is_some_and(|&(since, few)| since <= noticed && few)
    }
}

impl Allocator {
    fn give(&mut self, now: Cycle, home: NodeId, after: u32) {
        self.reach(now);
        let bank =
            self.ports.iter().position(|&port| port == home).expect("the packet's home must be a scheduler port");
        let free = now + Cycle::from(after);
        *self.freed.entry((free, bank)).or_default() += 1;
        *self.readied.entry((free + Cycle::from(self.params.ready_cycles), bank)).or_default() += 1;
    }

    /// Advances the state to cycle `now`.
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
    fn banks_take_turns_and_a_bank_short_of_cells_is_skipped() {
        let cells = cells();
        let taken: Vec<_> =
            [0, 1, 0, 1, 0, 0, 0].iter().zip(1..).map(|(&turn, now)| cells.take(now, turn, 0)).collect();
        assert_eq!(taken, [Some(0), Some(1), Some(0), Some(1), Some(0), None, None]);
        assert_eq!(cells.take(8, 1, 0), Some(1));
    }

    #[test]
    fn an_allocated_cell_counts_from_the_next_cycle_on() {
        let cells = cells();
        assert_eq!([0, 1, 2].map(|ahead| cells.take(5, 0, ahead)), [Some(0); 3]);
        assert_eq!(cells.take(5, 0, 3), None);
        assert_eq!([cells.take(6, 0, 0), cells.take(6, 0, 2)], [Some(1), Some(1)]);
    }

    #[test]
    fn pifos_see_the_shortage_after_warning_cycles() {
        let cells = cells();
        for now in 0..4 {
            assert!(cells.take(now, now as usize % 2, 0).is_some());
        }
        // Both banks have one free cell from cycle 4 on.
        assert_eq!([12, 13].map(|now| cells.are_few(now)), [false, true]);
    }
}
