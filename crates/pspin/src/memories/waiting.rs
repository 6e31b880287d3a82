//! The ports at which something waits. In most cycles these are a few of many, and the memories look only at these.

use kernel::{Cycle, Rx, members};
use std::cell::Cell;
use std::rc::Rc;

/// The ports of a list at which an item waits or will arrive.
pub(super) struct Waiting(Rc<Cell<u64>>);

impl Waiting {
    /// The set for a list of ports.
    pub(super) fn at<'a, T: 'a>(ports: impl Iterator<Item = &'a Rx<T>>) -> Self {
        let set = Rc::default();
        (0..).zip(ports).for_each(|(position, port)| port.announce(&set, 1 << position));
        Waiting(set)
    }

    /// Their positions.
    pub(super) fn positions(&self) -> impl Iterator<Item = usize> + use<> {
        members(self.0.get()).map(|position| position as usize)
    }

    /// An item was taken from the port at this position.
    pub(super) fn taken<T>(&self, position: usize, port: &Rx<T>) {
        if port.due() == Cycle::MAX {
            self.0.set(self.0.get() & !(1 << position));
        }
    }
}
