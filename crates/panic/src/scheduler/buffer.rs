//! The packet buffer: banks of cells. A cell holds one packet; each bank is written and read once a cycle.

use crate::protocol::{Flit, Message};
use kernel::Cycle;

/// A bank of the packet buffer.
pub(crate) struct Bank {
    cells: Vec<Cell>,
    /// Indices of empty cells.
    free: Vec<usize>,
}

/// A cell holds one packet. It may be read while it is still being written.
#[derive(Default)]
struct Cell {
    /// The packet, until its descriptor is read.
    message: Option<Box<Message>>,
    /// Cycle of arrival.
    since: Cycle,
    /// Number of flits written, including all flits of the last run (`written`), and the cycle after that run
    /// (`run_end`).
    written: usize,
    run_end: Cycle,
    read: usize,
    /// The last flit has been written.
    is_whole: bool,
    is_dropped: bool,
}

impl Bank {
    /// An empty bank.
    pub fn new(n_cells: usize) -> Bank {
        Bank { cells: (0..n_cells).map(|_| Cell::default()).collect(), free: (0..n_cells).rev().collect() }
    }

    /// Number of empty cells.
    pub fn n_free(&self) -> usize {
        self.free.len()
    }

    /// Writes a descriptor into a free cell; there must be one.
    pub fn begin(&mut self, message: Box<Message>, now: Cycle) -> usize {
        let cell = self.free.pop().expect("the bank must have a free cell");
        self.cells[cell] = Cell { message: Some(message), since: now, written: 1, ..Cell::default() };
        cell
    }

    /// Writes the next flit of the packet in `cell`.
    pub fn write(&mut self, position: usize, is_last: bool) {
        let cell = &mut self.cells[position];
        assert!(!cell.is_whole, "no flit may follow a tail");
        cell.written += 1;
        cell.is_whole = is_last;
        if is_last && cell.is_dropped {
            self.free.push(position);
        }
    }

    /// Writes `n` flits of the packet in `cell`, one a cycle from `now` on. None of them is the last.
    pub fn write_run(&mut self, cell: usize, now: Cycle, n: usize) {
        let cell = &mut self.cells[cell];
        cell.written += n;
        cell.run_end = now + n as Cycle;
    }

    /// The packet in `cell`, whose descriptor has not been read, and its cycle of arrival.
    pub fn message(&mut self, cell: usize) -> (&mut Message, Cycle) {
        let Cell { message, since, .. } = &mut self.cells[cell];
        (message.as_mut().expect("the descriptor must be unread"), *since)
    }

    /// The flow of the packet in `cell`, whose descriptor has not been read.
    pub fn flow(&self, cell: usize) -> u32 {
        self.cells[cell].message.as_ref().expect("the descriptor must be unread").descriptor.flow
    }

    /// Number of flits read from the packet in `cell`.
    pub fn n_read(&self, cell: usize) -> u32 {
        u32::try_from(self.cells[cell].read).expect("a packet has few flits")
    }

    /// The first cycle, `now` or later, in which the next flit of the packet in `cell` can be read; `None` if it is not known.
    pub fn next(&self, cell: usize, now: Cycle) -> Option<Cycle> {
        let Cell { written, run_end, read, .. } = self.cells[cell];
        // The last flit of the run is written in the cycle before `run_end`, the others one a cycle before it.
        (read < written).then(|| now.max(run_end.saturating_sub((written - read) as Cycle)))
    }

    /// Reads up to `most` flits that are neither the descriptor nor the last one, one a cycle from now on. Returns their number.
    /// The next flit must have been written; the others are written in time.
    pub fn read_run(&mut self, cell: usize, most: usize) -> usize {
        let cell = &mut self.cells[cell];
        let n = if cell.message.is_some() { 0 } else { cell.written - usize::from(cell.is_whole) - cell.read };
        cell.read += n.min(most);
        n.min(most)
    }

    /// Reads the next flit, which must have been written; the last one frees the cell.
    pub fn read(&mut self, position: usize) -> Flit {
        let cell = &mut self.cells[position];
        assert!(cell.read < cell.written, "a flit must be written before it is read");
        cell.read += 1;
        if let Some(message) = cell.message.take() {
            return Flit::Head(message);
        }
        if cell.is_whole && cell.read == cell.written {
            self.free.push(position);
            return Flit::Tail;
        }
        Flit::Body
    }

    /// Loses the packet in `cell`, which has not been read. The cell stays occupied, because nothing refers to it any more.
    pub fn lose(&mut self, position: usize) -> Box<Message> {
        self.cells[position].message.take().expect("a lost packet must be unread")
    }

    /// Drops the packet in `cell`, which has not been read, and frees the cell.
    pub fn drop(&mut self, position: usize) -> Box<Message> {
        let cell = &mut self.cells[position];
        cell.is_dropped = true;
        if cell.is_whole {
            self.free.push(position);
        }
        cell.message.take().expect("a dropped packet must be unread")
    }
}
