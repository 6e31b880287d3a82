//! Messages that wait for room at their port.

use kernel::{Ports, Tx};
use std::collections::VecDeque;

/// What a register tells somebody, in order. An unconnected port hears nothing.
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

    /// Sends what there is room for; the port wakes the component when there is more.
    pub fn flush(&mut self) {
        let Some(port) = &self.port else { return };
        while !self.waiting.is_empty() && port.has_room() {
            port.send(self.waiting.pop_front().expect("it is not empty"));
        }
    }

    pub fn ports(&self, name: &str, ports: &mut Ports) {
        if let Some(port) = &self.port {
            ports.output(name, port);
        }
    }
}
