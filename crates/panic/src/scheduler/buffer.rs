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
    written: usize,
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

    /// Returns true if the next flit of the packet in `cell` can be read.
    pub fn has_flit(&self, cell: usize) -> bool {
        self.cells[cell].read < self.cells[cell].written
    }

    /// Reads the next flit, which must have been written; the last one frees the cell.
    pub fn read(&mut self, position: usize) -> Flit {
        assert!(self.has_flit(position), "a flit must be written before it is read");
        let cell = &mut self.cells[position];
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
