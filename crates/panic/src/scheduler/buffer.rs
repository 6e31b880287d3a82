//! The packet buffer: banks of cells, a packet a cell, each bank written and read once a cycle.

use crate::protocol::{Flit, Message};
use kernel::Cycle;

/// A bank of the packet buffer.
pub(crate) struct Bank {
    cells: Vec<Cell>,
    /// Positions of cells that hold nothing.
    free: Vec<usize>,
}

/// A place for one packet. It is read while it is still being written, if its turn comes so soon.
#[derive(Default)]
struct Cell {
    /// The packet, until its descriptor is read.
    message: Option<Box<Message>>,
    /// When it came.
    since: Cycle,
    written: usize,
    read: usize,
    /// The last flit is written.
    is_whole: bool,
    is_dropped: bool,
}

impl Bank {
    /// An empty bank.
    pub fn new(n_cells: usize) -> Bank {
        Bank { cells: (0..n_cells).map(|_| Cell::default()).collect(), free: (0..n_cells).rev().collect() }
    }

    /// How many cells hold nothing.
    pub fn n_free(&self) -> usize {
        self.free.len()
    }

    /// Writes a descriptor into a free cell, of which there is one.
    pub fn begin(&mut self, message: Box<Message>, now: Cycle) -> usize {
        let cell = self.free.pop().expect("a free cell");
        self.cells[cell] = Cell { message: Some(message), since: now, written: 1, ..Cell::default() };
        cell
    }

    /// Writes the next flit of the packet in `cell`.
    pub fn write(&mut self, position: usize, is_last: bool) {
        let cell = &mut self.cells[position];
        assert!(!cell.is_whole, "a packet ends with its tail");
        cell.written += 1;
        cell.is_whole = is_last;
        if is_last && cell.is_dropped {
            self.free.push(position);
        }
    }

    /// The packet in `cell`, whose descriptor was not read yet, and since when it is there.
    pub fn message(&mut self, cell: usize) -> (&mut Message, Cycle) {
        let Cell { message, since, .. } = &mut self.cells[cell];
        (message.as_mut().expect("the descriptor was not read"), *since)
    }

    /// The flow of the packet in `cell`, whose descriptor was not read yet.
    pub fn flow(&self, cell: usize) -> u32 {
        self.cells[cell].message.as_ref().expect("the descriptor was not read").descriptor.flow
    }

    /// How many flits of the packet in `cell` were read.
    pub fn n_read(&self, cell: usize) -> u32 {
        u32::try_from(self.cells[cell].read).expect("a packet has few flits")
    }

    /// Whether the next flit of the packet in `cell` is there to be read.
    pub fn has_flit(&self, cell: usize) -> bool {
        self.cells[cell].read < self.cells[cell].written
    }

    /// Reads the next flit, which is there; the last one frees the cell.
    pub fn read(&mut self, position: usize) -> Flit {
        assert!(self.has_flit(position), "what is read was written");
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

    /// Loses the packet in `cell`, which was not read yet: nobody knows of the cell any more, and it stays taken.
    pub fn lose(&mut self, position: usize) -> Box<Message> {
        self.cells[position].message.take().expect("what is lost was not read")
    }

    /// Gives up the packet in `cell`, which was not read yet.
    pub fn drop(&mut self, position: usize) -> Box<Message> {
        let cell = &mut self.cells[position];
        cell.is_dropped = true;
        if cell.is_whole {
            self.free.push(position);
        }
        cell.message.take().expect("what is dropped was not read")
    }
}
