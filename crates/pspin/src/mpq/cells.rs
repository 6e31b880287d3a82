//! Packet descriptors: one per queue and a shared pool, and descriptors of dropped packets.

use crate::delivery::DropReason;
use crate::protocol::Her;
use std::collections::VecDeque;

/// No cell.
const NONE: u32 = u32::MAX;

/// A packet descriptor and a link to the next one in its queue.
#[derive(Clone)]
struct Cell {
    her: Option<Her>,
    next: u32,
}

/// The packets of a queue, oldest first.
pub struct List {
    head: u32,
    last: u32,
}

impl List {
    pub const EMPTY: List = List { head: NONE, last: NONE };

    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Returns true if there is exactly one packet.
    pub fn is_single(&self) -> bool {
        !self.is_empty() && self.head == self.last
    }
}

/// All descriptors. Source: PsPIN RTL a49fec8, `fifo_engine.sv`.
pub struct Cells {
    n_queues: usize,
    /// One for each queue, followed by the shared ones.
    cells: Vec<Cell>,
    /// Free shared cells.
    free: Vec<u32>,
    /// Cells of dropped packets that have to leave packet memory, one per cycle.
    doomed: VecDeque<(u32, DropReason)>,
    /// A queue's own cell that became free in this cycle.
    just_freed: u32,
    in_use: u64,
}

impl Cells {
    pub fn new(n_queues: u32, shared: u32) -> Self {
        Cells {
            n_queues: n_queues as usize,
            cells: vec![Cell { her: None, next: NONE }; (n_queues + shared) as usize],
            free: (n_queues..n_queues + shared).rev().collect(),
            doomed: VecDeque::new(),
            just_freed: NONE,
            in_use: 0,
        }
    }

    /// Number of cells that queue `q` could take.
    pub fn room(&self, q: usize) -> usize {
        self.free.len() + usize::from(self.cells[q].her.is_none())
    }

    pub fn in_use(&self) -> u64 {
        self.in_use
    }

    /// Number of shared cells, and of those in use.
    pub fn shared(&self) -> [u64; 2] {
        let all = self.cells.len() - self.n_queues;
        [all as u64, (all - self.free.len()) as u64]
    }

    /// The oldest packet of a list.
    pub fn head(&self, list: &List) -> Option<&Her> {
        self.cells.get(list.head as usize)?.her.as_ref()
    }

    /// All packets of a list, oldest first.
    pub fn iter<'a>(&'a self, list: &List) -> impl Iterator<Item = &'a Her> {
        let mut at = list.head;
        std::iter::from_fn(move || {
            let cell = self.cells.get(at as usize)?;
            at = cell.next;
            cell.her.as_ref()
        })
    }

    /// Marks the newest packet of a list, if any, as the last of its message.
    pub fn end(&mut self, list: &List) {
        if let Some(her) = self.cells.get_mut(list.last as usize).and_then(|cell| cell.her.as_mut()) {
            her.eom = true;
        }
    }

    /// Begins a cycle: what became free in the one before may be used.
    pub fn begin_cycle(&mut self) {
        self.just_freed = NONE;
    }

    /// Appends a packet, in the queue's own cell if it was free before this cycle.
    pub fn push(&mut self, q: usize, list: &mut List, her: Her) {
        let was_free = self.cells[q].her.is_none() && self.just_freed != q as u32;
        let shared = if was_free { None } else { self.free.pop() };
        let cell = shared.unwrap_or(q as u32);
        assert!(self.cells[cell as usize].her.is_none(), "a push needs room");
        self.cells[cell as usize] = Cell { her: Some(her), next: NONE };
        self.in_use += 1;
        self.link(list, cell);
    }

    fn link(&mut self, list: &mut List, cell: u32) {
        self.cells[cell as usize].next = NONE;
        match list.head {
            NONE => list.head = cell,
            _ => self.cells[list.last as usize].next = cell,
        }
        list.last = cell;
    }

    /// Removes the first cell of a list.
    fn unlink(&mut self, list: &mut List) -> Option<u32> {
        let cell = list.head;
        list.head = self.cells.get(cell as usize)?.next;
        if list.head == NONE {
            list.last = NONE;
        }
        Some(cell)
    }

    fn release(&mut self, cell: u32) -> Her {
        self.in_use -= 1;
        if cell as usize >= self.n_queues {
            self.free.push(cell);
        } else {
            self.just_freed = cell;
        }
        self.cells[cell as usize].her.take().expect("a cell in use has a packet")
    }

    /// Frees the oldest packet's cell.
    pub fn pop(&mut self, list: &mut List) {
        let cell = self.unlink(list).expect("a list with packets");
        self.release(cell);
    }

    /// Moves the first packet that satisfies `is_first` to the front, if there is one.
    pub fn move_to_front(&mut self, list: &mut List, is_first: impl Fn(&Her) -> bool) -> bool {
        let Some(position) = self.iter(list).position(is_first) else { return false };
        let cells: Vec<u32> = std::iter::from_fn(|| self.unlink(list)).collect();
        let (before, rest) = cells.split_at(position);
        for &cell in rest[..1].iter().chain(before).chain(&rest[1..]) {
            self.link(list, cell);
        }
        true
    }

    /// Drops all packets of a list for which `goes` returns true, given position and packet. Returns their number.
    pub fn doom(&mut self, list: &mut List, reason: DropReason, goes: impl Fn(usize, &Her) -> bool) -> u32 {
        let cells: Vec<u32> = std::iter::from_fn(|| self.unlink(list)).collect();
        let mut n = 0;
        for (position, cell) in cells.into_iter().enumerate() {
            let her = self.cells[cell as usize].her.as_ref().expect("a cell in a list has a packet");
            if goes(position, her) {
                self.doomed.push_back((cell, reason));
                n += 1;
            } else {
                self.link(list, cell);
            }
        }
        n
    }

    pub fn has_doomed(&self) -> bool {
        !self.doomed.is_empty()
    }

    /// Removes the next packet that leaves packet memory unprocessed, and frees its cell.
    pub fn take_doomed(&mut self) -> Option<(Her, DropReason)> {
        let (cell, reason) = self.doomed.pop_front()?;
        Some((self.release(cell), reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, her};

    #[test]
    fn a_queues_own_cell_is_used_again_in_the_next_cycle_at_the_earliest() {
        // Queue 0 has both its own cell and a shared one; the second shared one is free.
        let in_same_cycle = |is_same: bool| {
            let (mut cells, mut queue) = (Cells::new(2, 2), List::EMPTY);
            let her = || her(0, "10:0", &context("p")).1;
            (0..2).for_each(|_| cells.push(0, &mut queue, her()));
            cells.pop(&mut queue);
            if !is_same {
                cells.begin_cycle();
            }
            cells.push(0, &mut queue, her());
            let mut other = List::EMPTY;
            cells.push(1, &mut other, her());
            [0, 1].map(|q| cells.room(q))
        };
        assert_eq!(in_same_cycle(true), [1, 0]);
        assert_eq!(in_same_cycle(false), [1, 1]);
    }
}
