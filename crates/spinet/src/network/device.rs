//! A card as a device of a network: frames of its links go in and out, and its host may send frames beside it.

use super::progress::NodeProgress;
use crate::run::{Card, Ended, InjectError, Port, RunError};
use crate::streams::Stream;
use kernel::Time;
use net::PortId;
use net::device::{Departure, Device};
use net::frame::Arrival;
use net::node::{NodeFailure, Place};
use std::collections::VecDeque;
use std::sync::Arc;
use wire::source::SourceError;

/// A card that ended although its network had not.
#[derive(Debug, thiserror::Error)]
#[error("the card stopped: {0}")]
pub struct CardEnded(String);

/// A link at a port that the card does not have.
#[derive(Debug, thiserror::Error)]
#[error("port {found} has a link, and the card has {has} network port{}", if *has == 1 { "" } else { "s" })]
pub struct NoPort {
    found: u16,
    has: usize,
}

/// A frame with the time at which it leaves the host.
type Timed = (Time, Arc<[u8]>);

/// A source of a host's frames.
struct HostSource {
    stream: Stream,
    /// Begin of the stream's times.
    start: Time,
    next: Option<Timed>,
}

/// Frames of a host that do not pass the card: they wait for the line beside the frames that the card sends.
pub struct HostFrames {
    sources: Vec<HostSource>,
}

impl HostFrames {
    /// The frames of these sources; the times of each begin at its second value.
    pub fn new(sources: Vec<(Stream, Time)>) -> Result<Self, SourceError> {
        let mut all = HostFrames { sources: Vec::new() };
        for (mut stream, start) in sources {
            let next = Self::read(&mut stream, start)?;
            all.sources.push(HostSource { stream, start, next });
        }
        Ok(all)
    }

    fn read(stream: &mut Stream, start: Time) -> Result<Option<Timed>, SourceError> {
        Ok(stream.read()?.map(|coming| (start + Time::from_fs(coming.arrival_fs), coming.bytes.into())))
    }

    /// When the next frame leaves the host; `None` if none is left.
    fn next_at(&self) -> Option<Time> {
        self.sources.iter().filter_map(|source| Some(source.next.as_ref()?.0)).min()
    }

    /// The next frame, if it leaves at `until` at the latest. Of frames of one time, the first source's goes first.
    fn take(&mut self, until: Time) -> Result<Option<Timed>, SourceError> {
        let Some(at) = self.next_at().filter(|&at| at <= until) else { return Ok(None) };
        let is_next = |source: &&mut HostSource| source.next.as_ref().is_some_and(|(time, _)| *time == at);
        let source = self.sources.iter_mut().find(is_next).expect("a source has the earliest frame");
        let frame = source.next.take();
        source.next = Self::read(&mut source.stream, source.start)?;
        Ok(frame)
    }
}

/// A card and its host at the end of links.
pub struct CardDevice {
    card: Box<dyn Card>,
    /// Its network ports have lines with a rate of their own.
    has_lines: bool,
    host: HostFrames,
    /// Frames that left and were not taken, in order of time.
    departures: VecDeque<Departure>,
    /// Frames that the card cannot take, because they are too long for it.
    refused: u64,
    n_injected: u64,
    progress: Arc<NodeProgress>,
}

impl CardDevice {
    /// A card that was started with [`crate::run::Wanted::lines`].
    pub fn new(card: Box<dyn Card>, has_lines: bool, host: HostFrames, progress: Arc<NodeProgress>) -> Self {
        let departures = VecDeque::new();
        let mut device = CardDevice { card, has_lines, host, departures, refused: 0, n_injected: 0, progress };
        device.report(Time::ZERO);
        device
    }

    /// Refuses ports that the card does not have.
    pub fn check_ports(&self, place: &Place) -> Result<(), NoPort> {
        let has = self.card.ports().iter().filter(|port| matches!(port, Port::Network(_))).count();
        let linked = (0..).zip(&place.ports).filter(|(_, port)| port.is_some()).map(|(number, _)| number);
        match linked.max() {
            Some(found) if usize::from(found) >= has => Err(NoPort { found, has }),
            _ => Ok(()),
        }
    }

    /// The card.
    pub fn card(&mut self) -> &mut dyn Card {
        &mut *self.card
    }

    /// Writes all that is left, and completes the rows of packets that are inside.
    pub fn close(&mut self) -> Result<(), RunError> {
        self.card.close()
    }

    /// Frames that the card could not take.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Tells those who watch the run how far this node is.
    fn report(&mut self, at: Time) {
        let progress = self.card.progress();
        let own = progress.packets_total.unwrap_or_else(|| progress.packets_in.saturating_sub(self.n_injected));
        let inside = (self.n_injected + own).saturating_sub(progress.packets_done);
        let is_over = self.host.next_at().is_none();
        self.progress.set(inside, progress.packets_in, progress.packets_done, is_over, at);
    }
}

impl Device for CardDevice {
    fn receive(&mut self, port: PortId, arrival: Arrival) {
        // A card with a line of its own carries the frame from its first bit on, as the link did.
        let at = if self.has_lines { arrival.head } else { arrival.tail };
        match self.card.inject(Port::Network(port.0 as u8), at, arrival.frame.bytes[..].into()) {
            Ok(()) => self.n_injected += 1,
            Err(InjectError::TooLong { .. }) => self.refused += 1,
            Err(error) => unreachable!("links are checked against the card's ports, and frames come in order: {error}"),
        }
        self.report(at);
    }

    fn run_until(&mut self, until: Time) -> Result<(), NodeFailure> {
        self.card.run_until(until)?;
        if let Some(ended) = self.card.ended() {
            let why = match ended {
                Ended::Trouble(text) | Ended::Stalled(Some(text)) => text.clone(),
                other => Ended::reason(Some(other)).replace('_', " "),
            };
            return Err(CardEnded(why).into());
        }
        let before = self.departures.len();
        for departure in self.card.take_departures() {
            let Port::Network(port) = departure.port else { continue };
            let at = departure.at;
            while let Some((sent, bytes)) = self.host.take(at)? {
                self.departures.push_back(Departure { at: sent, port: PortId(0), bytes, class: None });
            }
            let bytes = departure.frame.into();
            self.departures.push_back(Departure { at, port: PortId(port.into()), bytes, class: None });
        }
        while let Some((at, bytes)) = self.host.take(until)? {
            self.departures.push_back(Departure { at, port: PortId(0), bytes, class: None });
        }
        let last = self.departures.iter().skip(before).last().map_or(Time::ZERO, |departure| departure.at);
        self.report(last);
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        [self.card.next_event(), self.host.next_at()].into_iter().flatten().min()
    }

    fn take_departures(&mut self, departures: &mut Vec<Departure>) {
        departures.extend(self.departures.drain(..));
    }

    fn digest(&self) -> String {
        self.card.digest()
    }

    fn counters(&self) -> Vec<(String, u64)> {
        let refused = (self.refused > 0).then(|| ("refused_frames".to_owned(), self.refused));
        self.card.counters().into_iter().chain(refused).collect()
    }
}
