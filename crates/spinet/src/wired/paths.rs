//! The path of each frame through a wired card, from the transfers of its assists.
//!
//! Assists record which bytes they moved, and hosts record where frames are. A frame is followed by these addresses: a transfer belongs
//! to the frames whose bytes or descriptors it moves. The time between two transfers of a frame is firmware's.

use super::card::WiredCard;
use crate::paths::{self, At, Cause, Path, PathLog, Step};
use crate::tracks::{Group, Scenery, Subject, Track, TracksError};
use blocks::assist::moves::{Area, Move, MoveLog, PORTS, Route, Wait};
use blocks::assist::{DmaAssist, MacReceive, MacTransmit};
use blocks::feeders::HostPlace;
use blocks::netlist::{Card, Design};
use kernel::{Clock, Freq, Time};
use schemars::JsonSchema;
use serde::Serialize;
use spinach::hosts::{HOSTS, SharedHost};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

kernel::words! {
    /// Stages of a path: what happens to the frame.
    enum Stage {
        /// From the network to the card's memory.
        Receive = "receive",
        /// From the card's memory to host memory.
        ToHost = "to_host",
        /// The host learns of the frame and takes it.
        Return = "return",
        /// The card learns of the frame.
        Announce = "announce",
        /// From host memory to the card's memory.
        FromHost = "from_host",
        /// From the card's memory to the network.
        Send = "send",
    }
}

/// Names of the stages.
pub const STAGES: [&str; Stage::NAMES.len()] = Stage::NAMES;

kernel::words! {
    /// Kinds of places of a path.
    enum Place {
        /// The channel between card and network.
        Network = "network",
        /// The cores, and the registers on the way to the assists.
        Firmware = "firmware",
        /// The host's driver.
        Driver = "driver",
        /// Any part of the card.
        Card = "card",
        /// An assist, or a port of it; `index` is its position in the summary's `places`.
        Assist = "assist",
    }
}

/// Names of the places.
pub const PLACES: [&str; Place::NAMES.len()] = Place::NAMES;

kernel::words! {
    /// Causes of time outside transfers.
    enum Why {
        /// The frame passes the channel between line and card, and waits until it is taken there.
        Wire = "wire",
        /// Firmware, or the driver before it, works on other frames. The named frame is the last one whose transfer was
        /// ordered.
        FirmwareBusy = "firmware_busy",
        /// Firmware learns of the frame, works on it, and orders its next transfer.
        Firmware = "firmware",
        /// Firmware describes the frame to the host, and delays the report for further frames or until a timer ends.
        Coalescing = "coalescing",
        /// The card raises its interrupt, and the driver takes the earlier frames and then this one.
        Driver = "driver",
        /// The frame is in parts of the card that record no transfers.
        Unrecorded = "unrecorded",
    }
}

/// All causes: those outside transfers, then those of transfers.
pub static CAUSES: LazyLock<Vec<Cause>> = LazyLock::new(|| {
    let own = Why::ALL.map(|why| Cause { name: why.word(), about: Why::ABOUT[why as usize], resource: "" });
    let of_moves =
        Wait::ALL.map(|wait| Cause { name: wait.word(), about: Wait::ABOUT[wait as usize], resource: "{place}" });
    own.into_iter().chain(of_moves).collect()
});

/// Words for the numbers of a column.
pub fn words(column: &str) -> Vec<&'static str> {
    paths::words(column, &STAGES, &PLACES, &CAUSES)
}

/// How paths become slices, on a card with these places.
pub(super) fn scenery(places: Vec<PlaceSummary>) -> Scenery {
    Scenery {
        stages: &STAGES,
        causes: &CAUSES,
        track: Box::new(move |step| track(step, &places)),
        runs: Vec::new(),
        has_messages: false,
        memory: "bytes inside",
    }
}

/// The track of a step.
fn track(step: &Step, places: &[PlaceSummary]) -> Track {
    let number = step.at.numbers[0].unwrap_or(0);
    let (group, rank, name) = match Place::ALL[step.at.place as usize] {
        Place::Network => (Group::Links, 0, "network".to_owned()),
        Place::Firmware => (Group::Software, 0, "firmware".to_owned()),
        Place::Driver => (Group::Software, 1, "driver".to_owned()),
        Place::Card => (Group::Links, 1, "card".to_owned()),
        Place::Assist => (Group::Dmas, number, places[number as usize].place.clone()),
    };
    Track { group, rank, name }
}

/// A place of paths.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct PlaceSummary {
    /// Path of the assist, or of a port of it.
    pub place: String,
    /// Names of the resources that the assist uses there: its own, or those of the memories and buses behind the port.
    pub resources: Vec<String>,
}

/// The transfers of a card's assists, while they are recorded.
pub(super) struct Recorded {
    /// Transfers of each assist.
    moves: Vec<MoveLog>,
    hosts: Vec<SharedHost>,
}

impl Recorded {
    /// Frames from the network that assists dropped: when, their numbers and why, in order of time.
    pub fn drops(&self) -> Vec<(Time, u64, &'static str)> {
        let drop = |one: &Move| match one.route {
            Route::Drop(id, reason) => Some((one.ordered, id, reason)),
            _ => None,
        };
        let mut drops: Vec<_> =
            self.moves.iter().flat_map(|log| log.borrow().iter().filter_map(drop).collect::<Vec<_>>()).collect();
        drops.sort_unstable();
        drops
    }
}

/// Paths of the assists of a card, kind by kind.
fn assists(card: &Card) -> [Vec<String>; 3] {
    fn paths<A: 'static>(card: &Card) -> Vec<String> {
        card.parts::<A>().into_iter().map(|(path, _)| path.to_owned()).collect()
    }
    [paths::<DmaAssist>(card), paths::<MacReceive>(card), paths::<MacTransmit>(card)]
}

impl Recorded {
    /// Records all transfers of a card from now on.
    pub fn start(design: &Design, card: &Card, hosts: &[SharedHost]) -> Recorded {
        let clock = |path: &str| {
            Clock::new(design.clocks[&design.part(path).expect("the part belongs to its card").clock].freq())
        };
        let assists = assists(card);
        let moves: Vec<MoveLog> = assists.iter().flatten().map(|_| MoveLog::default()).collect();
        for (path, log) in assists.iter().flatten().zip(&moves) {
            if let Some(dma) = card.part::<DmaAssist>(path) {
                dma.borrow_mut().record(clock(path), log.clone());
            } else if let Some(receive) = card.part::<MacReceive>(path) {
                receive.borrow_mut().record(log.clone());
            } else if let Some(transmit) = card.part::<MacTransmit>(path) {
                transmit.borrow_mut().record(log.clone());
            }
        }
        hosts.iter().for_each(|host| host.borrow_mut().keep_places());
        Recorded { moves, hosts: hosts.to_vec() }
    }
}

/// The places of paths, by number: each assist, then its ports.
pub(super) fn places(design: &Design, card: &Card) -> Vec<PlaceSummary> {
    let resources: Vec<String> = card.system.resources().into_iter().map(|(_, one)| one.path).collect();
    let of_assist = |path: &String| {
        let own = PlaceSummary { place: path.clone(), resources: of_part(path, &resources).collect() };
        let ports = PORTS.map(|port| PlaceSummary {
            place: format!("{path}.{port}"),
            resources: behind(design, &format!("{path}.{port}"), &resources),
        });
        [vec![own], ports.to_vec()].concat()
    };
    assists(card).iter().flatten().flat_map(of_assist).collect()
}

/// Names of the resources of a part.
fn of_part(part: &str, resources: &[String]) -> impl Iterator<Item = String> {
    let prefix = format!("{part}.");
    resources.iter().filter(move |name| name.starts_with(&prefix)).cloned()
}

/// Resources of the parts behind a port: those of the nearest parts that have resources. Crossbars and similar parts
/// are skipped.
fn behind(design: &Design, port: &str, resources: &[String]) -> Vec<String> {
    let part_of = |port: &str| port.rsplit_once('.').map_or(String::new(), |(part, _)| part.to_owned());
    let is_host =
        |part: &str| design.part(part).is_some_and(|part| HOSTS.iter().any(|host| host.module == part.module));
    let mut found: Vec<String> = Vec::new();
    let mut seen = BTreeSet::from([part_of(port)]);
    let mut ports = vec![port.to_owned()];
    while let Some(port) = ports.pop() {
        for connection in design.connections.iter().filter(|connection| connection.from == port) {
            let part = part_of(&connection.to);
            if !seen.insert(part.clone()) || is_host(&part) {
                continue;
            }
            let before = found.len();
            found.extend(of_part(&part, resources));
            if found.len() == before {
                let from_part = design.connections.iter().filter(|onward| part_of(&onward.from) == part);
                ports.extend(
                    from_part.filter(|onward| onward.protocol == connection.protocol).map(|one| one.from.clone()),
                );
            }
        }
    }
    // A port of descriptors that is not connected: they are in the memory of the data.
    if found.is_empty() && port.ends_with(".descriptors") {
        return behind(design, &format!("{}.memory", part_of(port)), resources);
    }
    found.sort();
    found
}

/// Owners of the bytes of a memory.
struct Held<T> {
    /// By the first byte of an area: the byte after its last one, and the owner.
    areas: BTreeMap<u64, (u64, T)>,
}

impl<T: Clone + PartialEq> Held<T> {
    fn new() -> Held<T> {
        Held { areas: BTreeMap::new() }
    }

    /// The bytes of an area get a new owner.
    fn give(&mut self, (from, bytes): Area, owner: T) {
        let to = from.saturating_add(bytes);
        if from == to {
            return;
        }
        let before = self.areas.range(..from).next_back().map(|(&start, (end, owner))| (start, *end, owner.clone()));
        if let Some((start, end, old)) = before.filter(|&(_, end, _)| end > from) {
            self.areas.insert(start, (from, old.clone()));
            self.areas.insert(from, (end, old));
        }
        let within: Vec<u64> = self.areas.range(from..to).map(|(&start, _)| start).collect();
        for start in within {
            let (end, old) = self.areas.remove(&start).expect("it was found");
            if end > to {
                self.areas.insert(to, (end, old));
            }
        }
        self.areas.insert(from, (to, owner));
    }

    /// The owners of bytes of an area.
    fn owners(&self, (from, bytes): Area) -> Vec<T> {
        let to = from.saturating_add(bytes);
        let before = self.areas.range(..from).next_back().filter(|(_, (end, _))| *end > from);
        let mut owners: Vec<T> = Vec::new();
        for (_, (_, owner)) in before.into_iter().chain(self.areas.range(from..to)) {
            if !owners.contains(owner) {
                owners.push(owner.clone());
            }
        }
        owners
    }
}

/// A frame whose path is wanted: its row in the table of frames, and its times on the card's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traced {
    /// Its position in the table.
    pub row: u64,
    /// True if it came from the network.
    pub is_received: bool,
    /// Its number in its direction.
    pub id: u64,
    /// Its length without check sequence.
    pub bytes: u32,
    pub given: Time,
    pub out: Option<Time>,
}

/// A transfer of a frame.
#[derive(Clone, Copy)]
struct FrameTransfer {
    assist: usize,
    number: usize,
    stage: Stage,
}

/// An event of the bytes of frames; events of the same time are in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    /// Host, position in its list.
    Posted(usize, usize),
    /// Assist, position in its list.
    Done(usize, usize),
    /// Host, position in its list.
    Taken(usize, usize),
    /// Assist, position in its list.
    Begun(usize, usize),
}

/// Joins transfers and frames.
pub(super) struct Tracker<'a> {
    frames: &'a [Traced],
    moves: Vec<Vec<Move>>,
    /// By assist: when the transfers of frames were ordered, and the position of a frame.
    orders: Vec<Vec<(Time, usize)>>,
    /// By assist and transfer: the positions of its frames.
    of_move: Vec<Vec<Vec<usize>>>,
    /// By frame.
    parts: Vec<Vec<FrameTransfer>>,
}

impl<'a> Tracker<'a> {
    /// Follows these frames through the transfers of assists and the places of hosts.
    pub fn new(frames: &'a [Traced], moves: Vec<Vec<Move>>, hosts: &[[Vec<HostPlace>; 2]]) -> Tracker<'a> {
        let of_move = moves.iter().map(|moves| vec![Vec::new(); moves.len()]).collect();
        let (orders, parts) = (vec![Vec::new(); moves.len()], vec![Vec::new(); frames.len()]);
        let mut tracker = Tracker { frames, moves, orders, of_move, parts };
        tracker.follow(hosts);
        tracker
    }

    fn follow(&mut self, hosts: &[[Vec<HostPlace>; 2]]) {
        let position: BTreeMap<(bool, u64), usize> =
            self.frames.iter().enumerate().map(|(i, frame)| ((frame.is_received, frame.id), i)).collect();
        let mut happens = Vec::new();
        for (host, places) in hosts.iter().enumerate() {
            happens.extend(places[0].iter().enumerate().map(|(i, place)| (place.at, Happens::Posted(host, i))));
            happens.extend(places[1].iter().enumerate().map(|(i, place)| (place.at, Happens::Taken(host, i))));
        }
        for (assist, moves) in self.moves.iter().enumerate() {
            happens.extend(moves.iter().enumerate().map(|(i, one)| (one.begun, Happens::Begun(assist, i))));
            happens.extend(moves.iter().enumerate().map(|(i, one)| (one.done(), Happens::Done(assist, i))));
        }
        happens.sort_unstable();
        let (mut in_card, mut posted, mut announced, mut written) =
            (Held::new(), Held::new(), Held::new(), Held::new());
        for (at, what) in happens {
            match what {
                Happens::Posted(host, i) => {
                    let place = &hosts[host][0][i];
                    let Some(&frame) = position.get(&(false, place.frame)) else { continue };
                    place.data.iter().for_each(|&area| posted.give(area, frame));
                    place.descriptors.iter().for_each(|&area| announced.give(area, frame));
                }
                Happens::Begun(assist, i) => {
                    let Move { route, card, host, .. } = &self.moves[assist][i];
                    let (host, card) = (*host, card.clone());
                    let in_card = || card.iter().flat_map(|&area| in_card.owners(area)).collect::<BTreeSet<usize>>();
                    match route {
                        Route::FromHost => {
                            posted.owners(host).into_iter().for_each(|one| self.add(one, assist, i, Stage::FromHost));
                            announced
                                .owners(host)
                                .into_iter()
                                .for_each(|one| self.add(one, assist, i, Stage::Announce));
                        }
                        Route::ToHost => in_card().into_iter().for_each(|one| self.add(one, assist, i, Stage::ToHost)),
                        Route::Send => in_card().into_iter().for_each(|one| self.add(one, assist, i, Stage::Send)),
                        Route::Receive(_) | Route::Drop(..) => {}
                    }
                }
                Happens::Done(assist, i) => {
                    let one = self.moves[assist][i].clone();
                    match one.route {
                        Route::Receive(id) | Route::Drop(id, _) => {
                            let Some(&frame) = position.get(&(true, id)) else { continue };
                            one.card.iter().for_each(|&area| in_card.give(area, frame));
                            self.add(frame, assist, i, Stage::Receive);
                        }
                        Route::FromHost => {
                            for frame in posted.owners(one.host) {
                                one.card.iter().for_each(|&area| in_card.give(area, frame));
                            }
                        }
                        Route::ToHost => written.give(one.host, (assist, i)),
                        Route::Send => {}
                    }
                }
                Happens::Taken(host, i) => {
                    let place = &hosts[host][1][i];
                    let frame = position.get(&(true, place.frame)).copied();
                    let Some(frame) = frame.filter(|&frame| self.frames[frame].out == Some(at)) else { continue };
                    for (areas, stage) in [(&place.data, Stage::ToHost), (&place.descriptors, Stage::Return)] {
                        let moves: Vec<(usize, usize)> = areas.iter().flat_map(|&area| written.owners(area)).collect();
                        moves.into_iter().for_each(|(assist, i)| self.add(frame, assist, i, stage));
                    }
                }
            }
        }
        self.orders.iter_mut().for_each(|orders| orders.sort_unstable());
    }

    /// Assigns a transfer to a frame, if it began after the frame was given to the card and ended before it came out.
    fn add(&mut self, frame: usize, assist: usize, number: usize, stage: Stage) {
        let (known, traced) = (&mut self.of_move[assist][number], &self.frames[frame]);
        let one = &self.moves[assist][number];
        let is_of_frame = one.begun >= traced.given && traced.out.is_none_or(|out| one.done() <= out);
        if is_of_frame && !known.contains(&frame) {
            known.push(frame);
            self.orders[assist].push((one.ordered, frame));
            self.parts[frame].push(FrameTransfer { assist, number, stage });
        }
    }

    /// The path of a frame, with times as `at` converts them to the table's.
    pub fn path(&self, frame: usize, at: impl Fn(Time) -> u64) -> Path {
        let (traced, mut parts) = (&self.frames[frame], self.parts[frame].clone());
        parts.sort_by_key(|part| {
            let one = &self.moves[part.assist][part.number];
            (one.begun, one.done())
        });
        let only = |place: Place| At::only(place as u8);
        let mut path = Path::from(at(traced.given));
        for &FrameTransfer { assist, number, stage } in &parts {
            let one = &self.moves[assist][number];
            let step = |path: &mut Path, to: Time, place: Place, why: Why, blocker: Option<usize>| {
                path.until(at(to), stage as u8, only(place), why as u8, blocker.map(|one| self.frames[one].row));
            };
            if stage == Stage::Receive {
                step(&mut path, one.ordered, Place::Network, Why::Wire, None);
            } else {
                let is_return = stage == Stage::Return;
                let before = self.order_before(assist, one.ordered, frame).filter(|_| !is_return);
                if let Some((ordered, before)) = before {
                    step(&mut path, ordered, Place::Firmware, Why::FirmwareBusy, Some(before));
                }
                let why = if is_return { Why::Coalescing } else { Why::Firmware };
                step(&mut path, one.ordered, Place::Firmware, why, None);
            }
            for &(wait, end) in &one.steps {
                let is_behind = matches!(wait, Wait::Before | Wait::LineBusy);
                let before = number.checked_sub(1).filter(|_| is_behind).map(|before| &self.of_move[assist][before]);
                let before = before.filter(|frames| !frames.contains(&frame)).and_then(|frames| frames.last().copied());
                let blocker = before.map(|other| self.frames[other].row);
                path.until(
                    at(end),
                    stage as u8,
                    self.place(assist, wait),
                    (Why::ALL.len() + wait as usize) as u8,
                    blocker,
                );
            }
        }
        if let Some(out) = traced.out {
            let (stage, place, why) = match traced.is_received {
                _ if parts.is_empty() => (Stage::Receive, Place::Card, Why::Unrecorded),
                true => (Stage::Return, Place::Driver, Why::Driver),
                false => (Stage::Send, Place::Network, Why::Wire),
            };
            path.until(at(out), stage as u8, only(place), why as u8, None);
        }
        path
    }

    /// The last order for an assist before `at`, and a frame that it was for.
    fn order_before(&self, assist: usize, at: Time, frame: usize) -> Option<(Time, usize)> {
        let orders = &self.orders[assist];
        let before = orders.partition_point(|&(ordered, _)| ordered < at);
        orders[..before].last().copied().filter(|&(_, other)| other != frame)
    }

    fn place(&self, assist: usize, wait: Wait) -> At {
        let port = wait.port().and_then(|port| PORTS.iter().position(|&known| known == port));
        let number = assist * (1 + PORTS.len()) + port.map_or(0, |port| 1 + port);
        At::one(Place::Assist as u8, number as u32)
    }
}

/// A clock whose cycles are picoseconds.
pub(crate) fn picoseconds() -> Clock {
    Clock::new(Freq::mhz(1_000_000).expect("1 THz is a frequency"))
}

impl WiredCard {
    /// Logs the paths of these frames.
    pub(super) fn log_paths(
        &self,
        recorded: &Recorded,
        frames: &[Traced],
        log: &mut PathLog,
    ) -> Result<(), TracksError> {
        let moves = recorded.moves.iter().map(|log| log.take()).collect();
        let places = recorded.hosts.iter().map(|host| host.borrow().places().map(<[HostPlace]>::to_vec));
        let places: Vec<_> = places.collect();
        let tracker = Tracker::new(frames, moves, &places);
        for (position, frame) in frames.iter().enumerate() {
            let ps = |at: Time| self.simulated(at).ps();
            let side = if frame.is_received { &self.offered.network } else { &self.offered.host };
            if log.needs_bytes() {
                let content = side.frames.frame(frame.id).map(|frame| frame.bytes);
                log.enter(frame.row, content.as_deref().unwrap_or_default());
            }
            let bytes = frame.bytes.into();
            let subject = Subject {
                packet: frame.row,
                group: 0,
                message: None,
                bytes,
                held: None,
                left: frame.out.map(|out| (ps(out), bytes)),
            };
            log.add(subject, &tracker.path(position, ps));
            // Rows are in order of time in each direction, and frames of both directions are inside at once.
            log.settle(0, frame.row)?;
        }
        log.finish()
    }
}

#[cfg(test)]
mod tests;
