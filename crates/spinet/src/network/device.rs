//! A card as a device of a network: it receives and sends frames on its links, and its host may send frames that bypass it.

use super::gather::CardCounts;
use super::plain::PlainCard;
use super::progress::NodeProgress;
use crate::run::{self, Card, Ended, HostChange, InjectError, Port, RunError};
use crate::streams::Stream;
use kernel::{Mode, Time};
use net::address::Directory;
use net::device::{Departure, Device};
use net::digest::fold_bytes;
use net::frame::{Arrival, Frame, FrameId};
use net::host::Program;
use net::line::Slot;
use net::node::{NodeFailure, Place};
use net::observe::{MessageEvent, MessageKey};
use net::pause::Pause;
use net::plain::endpoint::{Endpoint, Exit};
use net::plain::params::PlainParams;
use net::{NodeId, PortId};
use std::collections::VecDeque;
use std::sync::Arc;
use wire::source::SourceError;

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
    /// Time at which the stream begins.
    start: Time,
    next: Option<Timed>,
}

/// Frames of a host that bypass the card: they wait for the line in the same queues as the card's frames.
pub struct HostFrames {
    sources: Vec<HostSource>,
}

impl HostFrames {
    /// The frames of these sources, each with the time at which its stream begins.
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

    /// Time at which the next frame leaves the host; `None` if there are no more.
    fn next_at(&self) -> Option<Time> {
        self.sources.iter().filter_map(|source| Some(source.next.as_ref()?.0)).min()
    }

    /// The next frame, if it leaves at or before `until`. If several frames leave at the same time, that of the first source is first.
    fn take(&mut self, until: Time) -> Result<Option<Timed>, SourceError> {
        let Some(at) = self.next_at().filter(|&at| at <= until) else { return Ok(None) };
        let is_next = |source: &&mut HostSource| source.next.as_ref().is_some_and(|(time, _)| *time == at);
        let source = self.sources.iter_mut().find(is_next).expect("a source has the earliest frame");
        let frame = source.next.take();
        source.next = Self::read(&mut source.stream, source.start)?;
        Ok(frame)
    }
}

/// Latency of a host's write to its card. Source: `pcie.link.latency_cycles` of `presets/pspin.toml` at 1 GHz.
pub const TO_CARD: Time = Time::from_ns(150);

/// Collects a host's packets for the transmitter.
#[derive(Default)]
struct ToTransmitter(Vec<Departure>);

impl Exit for ToTransmitter {
    fn leave(&mut self, slot: Slot, bytes: Arc<[u8]>, class: Option<u8>, message: Option<MessageKey>) -> u64 {
        let hash = fold_bytes(&bytes);
        self.0.push(Departure { at: slot.start, port: PortId(0), bytes, class, message });
        hash
    }

    // `Attached` has counted the frame as delivered.
    fn used(&mut self, _: Time, _: &Arrival, _: bool) {}
}

/// The host of a node and its program, without the card.
pub struct HostSide {
    endpoint: Endpoint,
    exit: ToTransmitter,
    directory: Arc<Directory>,
    node: NodeId,
    /// Number of frames that came from the card.
    n_frames: u64,
    /// Writes of the host that have not reached the card: time of arrival, address and bytes.
    to_card: VecDeque<(Time, u64, Box<[u8]>)>,
    written: Vec<(Time, u64, Box<[u8]>)>,
}

impl HostSide {
    /// Starts the program of a host. `card` is its card, if it has a programmable one.
    pub fn new(
        params: PlainParams,
        place: &Place,
        program: Box<dyn Program>,
        card: Option<&dyn Card>,
    ) -> Result<HostSide, NodeFailure> {
        let port = place.ports.first().and_then(Option::as_ref).ok_or(NoLink)?;
        let endpoint = Endpoint::new(params, place, port, program, card.map(Card::host_memory))?;
        Ok(HostSide {
            endpoint,
            exit: ToTransmitter::default(),
            directory: place.directory.clone(),
            node: place.node,
            n_frames: 0,
            to_card: VecDeque::new(),
            written: Vec::new(),
        })
    }

    /// The host and its program.
    pub fn endpoint(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// Receives a frame from the card.
    fn frame(&mut self, at: Time, bytes: Box<[u8]>) {
        let id = FrameId { node: self.node, number: self.n_frames };
        self.n_frames += 1;
        let frame = Frame::new(bytes, id, None, &self.directory);
        self.endpoint.receive(Arrival { head: at, tail: at, frame });
    }

    fn change(&mut self, at: Time, change: HostChange) {
        match change {
            HostChange::Written { addr, bytes } => self.endpoint.card_wrote(at, addr, bytes),
            HostChange::Event(event) => self.endpoint.card_event(at, event),
        }
    }

    fn run_until(&mut self, until: Time) -> Result<(), NodeFailure> {
        self.endpoint.run_until(until, &mut self.exit)?;
        self.endpoint.take_written(&mut self.written);
        let later = |(at, addr, bytes): (Time, u64, _)| (at.checked_add(TO_CARD).unwrap_or(Time::MAX), addr, bytes);
        self.to_card.extend(self.written.drain(..).map(later));
        Ok(())
    }

    /// Gives the card the host's writes that reach it up to `until`.
    fn reach_card(&mut self, until: Time, card: &mut dyn Card) {
        while self.to_card.front().is_some_and(|&(at, ..)| at <= until) {
            let (_, addr, bytes) = self.to_card.pop_front().expect("there is one");
            card.host_writes(addr, &bytes);
        }
    }
}

/// The node has no link at port 0, through which its host sends.
#[derive(Debug, thiserror::Error)]
#[error("its host has a program, but port 0, through which the host sends, has no link")]
struct NoLink;

/// Builds a card when the first packet reaches it.
pub type BuildCard = Box<dyn FnOnce() -> Result<Box<dyn Card>, RunError>>;

/// A card and its host at the end of links.
pub struct CardDevice {
    /// The card. While `unbuilt` waits for the first packet, a plain card, which has the same digest.
    card: Box<dyn Card>,
    unbuilt: Option<BuildCard>,
    /// The error, if the card could not be built.
    failure: Option<RunError>,
    mode: Option<Mode>,
    /// True if the card passes everything to the host.
    is_plain: bool,
    /// The host's program, if it has one.
    side: Option<HostSide>,
    now: Option<Time>,
    /// True if the card's network ports simulate their lines.
    has_lines: bool,
    host: HostFrames,
    /// Frames that left and were not taken, in order of time.
    departures: VecDeque<Departure>,
    /// Number of frames that the card refused, because they are too long for it.
    refused: u64,
    n_injected: u64,
    progress: Arc<NodeProgress>,
}

impl CardDevice {
    /// A card that was started with [`crate::run::Wanted::lines`].
    pub fn new(card: Box<dyn Card>, has_lines: bool, host: HostFrames, progress: Arc<NodeProgress>) -> Self {
        let mut device = CardDevice {
            card,
            unbuilt: None,
            failure: None,
            mode: None,
            is_plain: false,
            side: None,
            now: None,
            has_lines,
            host,
            departures: VecDeque::new(),
            refused: 0,
            n_injected: 0,
            progress,
        };
        device.report(Time::ZERO);
        device
    }

    /// A card that is built when the first packet reaches it, and costs nothing until then. Results are as if it was built at the start.
    pub fn sleeping(build: BuildCard, host: HostFrames, progress: Arc<NodeProgress>) -> Self {
        let card = Box::<PlainCard>::default();
        CardDevice { unbuilt: Some(build), ..CardDevice::new(card, false, host, progress) }
    }

    /// Returns true if the card is not built yet, because no packet has reached it.
    pub fn is_asleep(&self) -> bool {
        self.unbuilt.is_some()
    }

    /// Builds the card if it does not exist yet.
    fn wake(&mut self) {
        let Some(build) = self.unbuilt.take() else { return };
        match build() {
            Ok(card) => self.card = card,
            Err(error) => self.failure = Some(error),
        }
        if let Some(mode) = self.mode {
            self.card.set_mode(mode);
        }
    }

    /// Sets the order in which components tick.
    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = Some(mode);
        self.card.set_mode(mode);
    }

    /// Gives its host a program. `is_plain` says that the card passes everything to the host.
    pub fn with_program(mut self, side: HostSide, is_plain: bool) -> Self {
        (self.side, self.is_plain) = (Some(side), is_plain);
        self.report(Time::ZERO);
        self
    }

    /// The program of its host, if it has one.
    pub fn side(&mut self) -> Option<&mut HostSide> {
        self.side.as_mut()
    }

    /// Refuses links at ports that the card does not have.
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

    /// Writes all buffered output, and completes the rows of packets that are inside.
    ///
    /// How far a card has run depends on the other nodes of its thread. So it first runs to `end`, the end of the run. Nothing more
    /// happens to it until then, but its summary contains the time that it has reached.
    pub fn close(&mut self, end: Time) -> Result<(), RunError> {
        if self.unbuilt.is_none() && !self.is_plain && self.card.ended().is_none() {
            self.card.run_until(end)?;
        }
        self.card.close()
    }

    /// The reason why the card ended before its network, if it did. It takes and sends no more packets.
    pub fn stopped(&self) -> Option<String> {
        let why = match self.card.ended()? {
            Ended::Trouble(text) | Ended::Stalled(Some(text)) => text.clone(),
            other => Ended::reason(Some(other)).replace('_', " "),
        };
        Some(format!("the card stopped: {why}"))
    }

    /// Counts of the card.
    pub fn counts(&self) -> CardCounts {
        let progress = self.card.progress();
        CardCounts {
            packets_in: progress.packets_in,
            done: progress.packets_done,
            refused: self.refused,
            silent_peers: self.side.iter().flat_map(|side| side.endpoint.silent_peers()).map(|peer| peer.0).collect(),
            dropped_by_reason: self
                .card
                .dropped()
                .into_iter()
                .filter(|&(_, n)| n > 0)
                .map(|(reason, n)| (reason.to_owned(), n))
                .collect(),
        }
    }

    /// Publishes the progress of this node.
    fn report(&mut self, at: Time) {
        self.side.iter().for_each(|side| self.progress.told(side.endpoint.told_at()));
        if self.card.ended().is_some() {
            self.progress.stop();
        }
        let is_over = self.host.next_at().is_none() && self.side.as_ref().is_none_or(|side| !side.endpoint.is_busy());
        if self.is_plain {
            self.progress.set(0, self.n_injected, self.n_injected, is_over, at);
            return;
        }
        let progress = self.card.progress();
        let own = progress.packets_total.unwrap_or_else(|| progress.packets_in.saturating_sub(self.n_injected));
        let inside = (self.n_injected + own).saturating_sub(progress.packets_done);
        self.progress.set(inside, progress.packets_in, progress.packets_done, is_over, at);
    }
}

/// Takes the packets that left a card: adds those for the network to `departures`, and gives those for the host to its program.
fn take_departures(card: &mut dyn Card, mut side: Option<&mut HostSide>, departures: &mut Vec<Departure>) {
    for run::Departure { at, port, frame } in card.take_departures() {
        match port {
            Port::Network(port) => {
                departures.push(Departure {
                    at,
                    port: PortId(port.into()),
                    bytes: frame.into(),
                    class: None,
                    message: None,
                });
            }
            Port::Host(_) => {
                if let Some(side) = &mut side {
                    side.frame(at, frame);
                }
            }
        }
    }
}

impl CardDevice {
    /// Simulates the card, and the program of its host.
    fn advance(&mut self, until: Time, departures: &mut Vec<Departure>) -> Result<(), NodeFailure> {
        let CardDevice { card, side, is_plain, now, .. } = self;
        let Some(side) = side else {
            card.run_until(until)?;
            take_departures(&mut **card, None, departures);
            return Ok(());
        };
        if *is_plain {
            side.run_until(until)?;
            departures.append(&mut side.exit.0);
            return Ok(());
        }
        // A write of the host reaches the card `TO_CARD` later. So the card may be ahead of the host by this time.
        while now.is_none_or(|now| now < until) {
            let reach = now.unwrap_or(Time::ZERO).checked_add(TO_CARD).unwrap_or(Time::MAX);
            let write = side.to_card.front().map_or(Time::MAX, |&(at, ..)| at);
            let step = until.min(reach).min(write);
            card.run_until(step)?;
            side.reach_card(step, &mut **card);
            take_departures(&mut **card, Some(side), departures);
            card.take_host_changes().into_iter().for_each(|(at, change)| side.change(at, change));
            side.run_until(step)?;
            departures.append(&mut side.exit.0);
            *now = Some(step);
        }
        Ok(())
    }
}

impl Device for CardDevice {
    fn receive(&mut self, port: PortId, arrival: Arrival) {
        self.wake();
        // A card that simulates its lines gets the frame with the first bit, because its line adds the time of the other bits.
        let at = if self.has_lines { arrival.head } else { arrival.tail };
        match &mut self.side {
            Some(side) if self.is_plain => {
                self.n_injected += 1;
                side.endpoint.receive(arrival);
            }
            _ => match self.card.inject(Port::Network(port.0 as u8), at, arrival.frame.bytes[..].into()) {
                Ok(()) => self.n_injected += 1,
                Err(InjectError::TooLong { .. }) => self.refused += 1,
                Err(error) => {
                    unreachable!("links are checked against the card's ports, and frames come in order: {error}")
                }
            },
        }
        self.report(at);
    }

    fn pause(&mut self, port: PortId, tail: Time, pause: &Pause) {
        if let (Some(side), PortId(0)) = (&mut self.side, port) {
            side.endpoint.pause(tail, *pause);
        }
    }

    fn run_until(&mut self, until: Time) -> Result<(), NodeFailure> {
        if let Some(failure) = self.failure.take() {
            return Err(Box::new(failure));
        }
        let mut departures = Vec::new();
        while let Some((at, bytes)) = self.host.take(until)? {
            departures.push(Departure { at, port: PortId(0), bytes, class: None, message: None });
        }
        self.advance(until, &mut departures)?;
        // The sort is stable: of frames with the same time, those that bypass the card go first.
        departures.sort_by_key(|departure| departure.at);
        let last = departures.last().map_or(Time::ZERO, |departure| departure.at);
        self.departures.extend(departures);
        self.report(last);
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        let card = if self.is_plain || self.card.ended().is_some() { None } else { self.card.next_event() };
        let side = self.side.as_ref();
        let host = side.and_then(|side| side.endpoint.next_event());
        let write = side.and_then(|side| side.to_card.front().map(|&(at, ..)| at));
        [card, self.host.next_at(), host, write].into_iter().flatten().min()
    }

    fn take_departures(&mut self, departures: &mut Vec<Departure>) {
        departures.extend(self.departures.drain(..));
    }

    fn take_messages(&mut self, events: &mut Vec<MessageEvent>) {
        if let Some(side) = &mut self.side {
            events.extend(side.endpoint.take_messages());
        }
    }

    fn digest(&self) -> String {
        let card = self.card.digest();
        match &self.side {
            None => card,
            Some(side) => blake3::hash(format!("{card} {:016x}", side.endpoint.hash()).as_bytes()).to_hex().to_string(),
        }
    }

    fn counters(&self) -> Vec<(String, u64)> {
        let refused = (self.refused > 0).then(|| ("refused_frames".to_owned(), self.refused));
        let messages = self.side.iter().flat_map(|side| side.endpoint.counters());
        let messages = messages.map(|(name, count)| (format!("host.messages.{name}"), count));
        // A card that no packet reached was not built, so it has no counters.
        let card = if self.unbuilt.is_some() { Default::default() } else { self.card.counters() };
        card.into_iter().chain(refused).chain(messages).collect()
    }
}
