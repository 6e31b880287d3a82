//! Devices: cards and the like, which take whole frames and hand whole frames over. The network gives each port a transmitter.

use crate::PortId;
use crate::frame::{Arrival, Frame, N_CLASSES};
use crate::line::Line;
use crate::node::{Node, NodeFailure, Origin, Output, Place};
use crate::observe::{MessageEvent, MessageKey, Tally, What};
use crate::pause::{Pause, Pauses};
use kernel::Time;
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

/// A frame that a device hands over to the transmitter of a port.
#[derive(Clone, Debug)]
pub struct Departure {
    /// When its last byte was handed over.
    pub at: Time,
    /// The port.
    pub port: PortId,
    /// Its bytes, without FCS.
    pub bytes: Arc<[u8]>,
    /// Its class, if it is not the one that its headers state.
    pub class: Option<u8>,
    /// The message between hosts of which it carries a part.
    pub message: Option<MessageKey>,
}

/// A NIC with its host. It lives on one thread, and the rules of [`Node`] hold for it.
///
/// It stores and forwards: it may use a frame when the frame's last bit has arrived (`arrival.tail`). A frame that it hands over
/// begins on the line at [`Departure::at`] or later. A device that serialises its frames itself has a link without a rate in its
/// direction.
pub trait Device: Any {
    /// A frame arrives. `arrival.tail` may be later than the next `run_until`. Arrivals of different ports are in order of their heads.
    fn receive(&mut self, port: PortId, arrival: Arrival);

    /// A pause frame has arrived at a port. The port's transmitter obeys it; a device that holds back frames itself can obey it here, too.
    fn pause(&mut self, _port: PortId, _tail: Time, _pause: &Pause) {}

    /// Simulates all that happens up to `until`, `until` included.
    fn run_until(&mut self, until: Time) -> Result<(), NodeFailure>;

    /// The next time at which it acts by itself, with what it has received; `None` if it waits for frames.
    fn next_event(&self) -> Option<Time>;

    /// Adds the frames that left since the last call, in order of time.
    fn take_departures(&mut self, departures: &mut Vec<Departure>);

    /// Adds the events of its host's messages since the last call, in order of time.
    fn take_messages(&mut self, _events: &mut Vec<MessageEvent>) {}

    /// The digest of everything that it did so far.
    fn digest(&self) -> String;

    /// Counters by name.
    fn counters(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}

/// A device with a transmitter at each port: queues by class without limits, strict priority, and priority flow control.
pub struct Attached<D> {
    device: D,
    origin: Origin,
    ports: Vec<Option<Transmitter>>,
    departures: Vec<Departure>,
    messages: Vec<MessageEvent>,
}

impl<D: Device> Attached<D> {
    /// Attaches `device` to its place.
    pub fn new(device: D, place: &Place) -> Self {
        let ports = place.ports.iter().map(|port| {
            let port = port.as_ref()?;
            Some(Transmitter::new(port.line(), port.pause_reaction))
        });
        Attached {
            device,
            origin: place.origin(),
            ports: ports.collect(),
            departures: Vec::new(),
            messages: Vec::new(),
        }
    }

    /// The device.
    pub fn device(&mut self) -> &mut D {
        &mut self.device
    }
}

/// A device handed a frame to a port that has no link.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the device sent a frame through port {port}, which has no link (the node has {n_ports} ports)")]
pub struct NoLink {
    port: u16,
    n_ports: usize,
}

impl<D: Device> Node for Attached<D> {
    fn receive(&mut self, port: PortId, arrival: Arrival, out: &mut Output) {
        if arrival.frame.is_control {
            if let (Some(Some(transmitter)), Some(pause)) =
                (self.ports.get_mut(usize::from(port.0)), Pause::parse(&arrival.frame.bytes))
            {
                self.device.pause(port, arrival.tail, &pause);
                transmitter.orders.push_back((arrival.tail + transmitter.reaction, pause));
            }
            return;
        }
        out.delivered(arrival.head, arrival.tail, &arrival.frame);
        self.device.receive(port, arrival);
    }

    fn run_until(&mut self, until: Time, out: &mut Output) -> Result<(), NodeFailure> {
        self.device.run_until(until)?;
        self.device.take_departures(&mut self.departures);
        let n_ports = self.ports.len();
        for departure in self.departures.drain(..) {
            let port = departure.port;
            let missing = NoLink { port: port.0, n_ports };
            let transmitter = self.ports.get_mut(usize::from(port.0)).and_then(Option::as_mut).ok_or(missing)?;
            let frame = self.origin.frame(departure.bytes, departure.class);
            out.entered(departure.at, &frame);
            departure.message.iter().for_each(|&message| out.carries(departure.at, &frame, message));
            transmitter.hand_over(departure.at, frame);
        }
        self.device.take_messages(&mut self.messages);
        out.messages(self.messages.drain(..));
        for (number, port) in self.ports.iter_mut().enumerate() {
            if let Some(transmitter) = port {
                transmitter.run_until(until, PortId(number as u16), out);
            }
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        let lines = self.ports.iter().flatten().filter_map(Transmitter::next_event);
        self.device.next_event().into_iter().chain(lines).min()
    }

    fn inside(&self) -> Tally {
        let mut sum = Tally::default();
        self.ports.iter().flatten().for_each(|transmitter| sum.merge(transmitter.waiting));
        sum
    }

    fn digest(&self) -> String {
        self.device.digest()
    }

    fn counters(&self) -> Vec<(String, u64)> {
        let mut counters = self.device.counters();
        for (number, port) in self.ports.iter().enumerate() {
            counters.extend(port.as_ref().map(|port| (format!("port[{number}].peak_queue_bytes"), port.peak)));
        }
        counters
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// Queues by class in front of a line.
struct Transmitter {
    line: Line,
    reaction: Time,
    pauses: Pauses,
    /// Pause frames with the time from which they hold.
    orders: VecDeque<(Time, Pause)>,
    /// Frames that are handed over later than the transmitter is simulated.
    coming: VecDeque<(Time, Frame)>,
    queues: [VecDeque<Frame>; N_CLASSES],
    waiting: Tally,
    /// Bytes in each queue.
    depth: [u64; N_CLASSES],
    /// Maximum bytes in one queue so far.
    peak: u64,
    now: Time,
}

impl Transmitter {
    fn new(line: Line, reaction: Time) -> Self {
        Transmitter {
            line,
            reaction,
            pauses: Pauses::default(),
            orders: VecDeque::new(),
            coming: VecDeque::new(),
            queues: Default::default(),
            waiting: Tally::default(),
            depth: [0; N_CLASSES],
            peak: 0,
            now: Time::ZERO,
        }
    }

    fn hand_over(&mut self, at: Time, frame: Frame) {
        self.waiting.add(&frame);
        self.coming.push_back((at, frame));
    }

    /// The class that sends next, and the time. It is the class that may send first; of several, the highest.
    fn next_class(&self) -> Option<(Time, usize)> {
        let free = self.line.free_at().max(self.now);
        let ready = |class: usize| self.pauses.until(class as u8).max(free);
        let waiting = (0..N_CLASSES).rev().filter(|&class| !self.queues[class].is_empty());
        waiting.map(|class| (ready(class), class)).min_by_key(|&(at, _)| at)
    }

    fn next_event(&self) -> Option<Time> {
        let next = self.next_class().map(|(at, _)| at).filter(|&at| at < Time::MAX);
        // A pause order has no visible effect unless frames wait.
        let order = self.orders.front().filter(|_| self.waiting.frames > 0).map(|&(at, _)| at);
        [next, order, self.coming.front().map(|&(at, _)| at)].into_iter().flatten().min()
    }

    fn enqueue(&mut self, at: Time, frame: Frame, port: PortId, out: &mut Output) {
        let class = usize::from(frame.class);
        self.depth[class] += frame.len() as u64;
        self.peak = self.peak.max(self.depth[class]);
        out.row(at, &frame, What::Depth { port, class: frame.class, bytes: self.depth[class] });
        self.queues[class].push_back(frame);
    }

    fn run_until(&mut self, until: Time, port: PortId, out: &mut Output) {
        loop {
            let order = self.orders.front().map_or(Time::MAX, |&(at, _)| at);
            let coming = self.coming.front().map_or(Time::MAX, |&(at, _)| at);
            let (start, class) = self.next_class().unwrap_or((Time::MAX, 0));
            let next = order.min(coming).min(start);
            if next > until || next == Time::MAX {
                self.now = self.now.max(until);
                return;
            }
            self.now = self.now.max(next);
            if order == next {
                let pause = self.orders.pop_front();
                pause.iter().for_each(|(at, pause)| self.pauses.apply(*at, pause, self.line.rate()));
            } else if coming == next {
                let frame = self.coming.pop_front();
                frame.into_iter().for_each(|(at, frame)| self.enqueue(at, frame, port, out));
            } else if let Some(frame) = self.queues[class].pop_front() {
                self.waiting.frames -= 1;
                self.waiting.bytes -= frame.len() as u64;
                let depth = &mut self.depth[class];
                *depth -= frame.len() as u64;
                out.row(start, &frame, What::Depth { port, class: class as u8, bytes: *depth });
                let slot = self.line.send(start, frame.len());
                out.transmit(port, slot, frame);
            }
        }
    }
}
