//! Messages that wait for room at their port.

use kernel::{Ports, Tx};
use std::collections::VecDeque;

/// Messages of a register, in order. An unconnected port discards them.
pub struct Outbox<T> {
    port: Option<Tx<T>>,
    waiting: VecDeque<T>,
}

impl<T> Outbox<T> {
    pub fn new(port: Option<Tx<T>>) -> Outbox<T> {
        Outbox { port, waiting: VecDeque::new() }
    }

    pub fn push(&mut self, item: T) {
        if self.port.is_some() {
            self.waiting.push_back(item);
        }
    }

    /// Sends as far as there is room; the port wakes the component when there is more.
    pub fn flush(&mut self) {
        let Some(port) = &self.port else { return };
        while !self.waiting.is_empty() && port.has_room() {
            port.send(self.waiting.pop_front().expect("a message must be waiting"));
        }
    }

    pub fn ports(&self, name: &str, ports: &mut Ports) {
        if let Some(port) = &self.port {
            ports.output(name, port);
        }
    }
}
