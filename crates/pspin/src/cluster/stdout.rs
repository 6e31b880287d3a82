//! Text that the cores of a cluster print.

use crate::world::Console;
use kernel::Cycle;
use std::cell::RefCell;
use std::rc::Rc;

/// Longest line of text in bytes; a longer one is printed in parts.
const MAX_TEXT: usize = 4096;

/// The cores' standard output. Each line is printed when it is complete.
pub(super) struct Stdout {
    cluster: u32,
    console: Rc<RefCell<dyn Console>>,
    /// For each core, the line that it has written so far.
    lines: Vec<Vec<u8>>,
}

impl Stdout {
    pub fn new(cluster: u32, n_cores: u32, console: Rc<RefCell<dyn Console>>) -> Self {
        Stdout { cluster, console, lines: vec![Vec::new(); n_cores as usize] }
    }

    /// A core writes a character.
    pub fn put(&mut self, core: usize, character: u8, now: Cycle) {
        if character == b'\n' {
            return self.print(core, now);
        }
        if self.lines[core].len() == MAX_TEXT {
            self.print(core, now);
        }
        self.lines[core].push(character);
    }

    /// Prints the text that a core has written without the end of its line.
    pub fn flush(&mut self, core: usize, now: Cycle) {
        if !self.lines[core].is_empty() {
            self.print(core, now);
        }
    }

    fn print(&mut self, core: usize, now: Cycle) {
        let line = std::mem::take(&mut self.lines[core]);
        self.console.borrow_mut().line(now, self.cluster, core as u32, &String::from_utf8_lossy(&line));
    }
}
