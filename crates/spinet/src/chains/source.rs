//! Packets from the networks: streams of packets, each at its port.

use super::check::SideSource;
use super::record::SharedRecord;
use crate::experiment::CheckedSource;
use crate::streams::Stream;
use crate::streams::{FeedError, FeedReport};
use kernel::{Clock, Cycle, Time};
use panic::world::{Arrival, ExternalPort, PortSource};
use std::cell::RefCell;
use std::rc::Rc;
use wire::faults::Faults;

/// The streams of a network port or a transmit queue; packets of one cycle come in the order of the streams.
pub struct Port {
    side: ExternalPort,
    streams: Vec<Stream>,
    clock: Clock,
    /// No packet arrives after this cycle.
    limit: Cycle,
    waiting: Option<Cycle>,
    is_over: bool,
    is_cut: bool,
    /// If the caller is the network: the cycle up to which it injects no more packets.
    quiet_until: Option<Cycle>,
    record: SharedRecord,
}

/// A port that the NIC and the card share: the NIC takes packets from it, and the card reads it between two slices.
#[derive(Clone)]
pub struct SharedPort(Rc<RefCell<Port>>);

impl SharedPort {
    /// A port with the sources that belong to it. `limit` is the last cycle in which a packet may arrive.
    pub fn open(
        side: ExternalPort,
        sources: &[SideSource],
        (faults, seed): (Faults, u64),
        clock: Clock,
        limit: Cycle,
        record: &SharedRecord,
    ) -> Result<SharedPort, FeedError> {
        let mut streams = Vec::new();
        for (i, SideSource { source, .. }) in sources.iter().enumerate().filter(|(_, source)| source.side == side) {
            let CheckedSource { traffic, pacing, count, start } = source;
            let start = Some(clock.cycle_at_or_after(start.unwrap_or(Time::ZERO)));
            // Faults of the network affect packets from the network, not those of the host.
            let faults = if matches!(side, ExternalPort::Host(_)) { Faults::NONE } else { faults };
            let faults = (faults, seed.wrapping_add(i as u64));
            streams.push(Stream::open(traffic, *pacing, *count, faults, start)?);
        }
        let (record, is_over) = (record.clone(), streams.is_empty());
        let port =
            Port { side, streams, clock, limit, waiting: None, is_over, is_cut: false, quiet_until: None, record };
        Ok(SharedPort(Rc::new(RefCell::new(port))))
    }

    /// The caller injects no packet up to this cycle, but may do so for later ones.
    pub fn set_quiet_until(&self, cycle: Cycle) {
        let mut port = self.0.borrow_mut();
        (port.quiet_until, port.is_over) = (Some(cycle), false);
    }

    /// Lets a packet arrive in a cycle that is not simulated yet.
    pub fn inject(&self, at: Cycle, bytes: Box<[u8]>) {
        let mut port = self.0.borrow_mut();
        port.streams.retain(|stream| !stream.is_injected() || !stream.is_over());
        port.streams.push(Stream::single(0, bytes, at));
    }

    /// The port of the NIC.
    pub fn side(&self) -> ExternalPort {
        self.0.borrow().side
    }

    /// Returns true if no more packets come.
    pub fn is_over(&self) -> bool {
        self.0.borrow().is_over
    }

    /// Returns true if packets would have come after the limit.
    pub fn is_cut(&self) -> bool {
        self.0.borrow().is_cut
    }

    /// The arrival of the next packet, if it has been looked up.
    pub fn waiting(&self) -> Option<Cycle> {
        self.0.borrow().waiting
    }

    /// Number of bytes read from its files, and total length of the files.
    pub fn file_progress(&self) -> (u64, u64) {
        let port = self.0.borrow();
        let files = port.streams.iter().filter_map(Stream::file_progress);
        files.fold((0, 0), |(read, len), file| (read + file.0, len + file.1))
    }

    /// The reports of its streams, in their order.
    pub fn reports(&self) -> Vec<FeedReport> {
        self.0.borrow().streams.iter().filter(|stream| !stream.is_injected()).map(Stream::report).collect()
    }
}

impl Port {
    /// The stream with the earliest next packet, and the time of that packet.
    fn first(&mut self) -> Result<Option<(usize, Cycle)>, FeedError> {
        let mut next: Option<(usize, Cycle)> = None;
        for (i, stream) in self.streams.iter_mut().enumerate() {
            let Some(arrival) = stream.arrival(self.clock, 0)? else { continue };
            if arrival > self.limit {
                stream.cut();
                self.is_cut = true;
            } else if next.is_none_or(|(_, first)| arrival < first) {
                next = Some((i, arrival));
            }
        }
        self.waiting = next.map(|(_, arrival)| arrival);
        self.is_over = next.is_none() && self.quiet_until.is_none();
        Ok(next)
    }

    fn take(&mut self, now: Cycle) -> Result<Option<Arrival>, FeedError> {
        let Some((stream, due)) = self.first()?.filter(|&(_, due)| due <= now) else { return Ok(None) };
        let bytes = self.streams[stream].take().expect("its arrival is known").bytes.into_vec();
        let id = self.record.borrow_mut().came(now, due, self.side, &bytes);
        // Look up the next packet now, so that the end is known as early as possible.
        self.first()?;
        Ok(Some(Arrival { id, bytes }))
    }
}

impl PortSource for SharedPort {
    fn next(&mut self, now: Cycle) -> Option<Arrival> {
        let mut port = self.0.borrow_mut();
        port.take(now).unwrap_or_else(|error| {
            (port.streams, port.waiting, port.is_over) = (Vec::new(), None, true);
            port.record.borrow_mut().fail(error.into());
            None
        })
    }

    fn next_at(&mut self) -> Option<Cycle> {
        let port = self.0.borrow();
        port.waiting.into_iter().chain(port.quiet_until.map(|cycle| cycle + 1)).min()
    }
}
