//! The timeline and the waveforms of a network: the tracks of each node's card, the frames on its links, and the queues of its switches.

use super::drawing::{CounterAbout, Of, Slice, Unit};
use super::perfetto::{self, IDS, Perfetto};
use super::waves::{self, Waves};
use super::{Group, Track, TracksError, TracksOfNode, TracksSpec};
use net::design::Design;
use net::observe::{Row, What};
use net::{LinkId, NodeId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The timeline of a network, while it is written. Each card writes its piece into a file of its own. At the end, these files
/// are appended to that of the network: a trace in Perfetto's format is a sequence of messages. Waveforms are joined in order of time, with
/// a scope for each node.
pub struct NetworkTracks {
    /// The files of the timeline and of the waveforms.
    timeline: Option<PathBuf>,
    waves: Option<PathBuf>,
    /// The drawn time in ps: its beginning, and the first time after it.
    window: (u64, u64),
    n_nodes: u64,
    names: Vec<String>,
    /// Tracks of links, by link and sender.
    links: BTreeMap<(LinkId, NodeId), (u32, Track)>,
    /// Ends of frames that are on a link: the time, the number of the track, and its key.
    ends: BinaryHeap<Reverse<(u64, u32, LinkId, NodeId)>>,
    counters: BTreeMap<String, (usize, CounterAbout)>,
    dropped: u64,
    marked: u64,
    perfetto: Option<Perfetto>,
    /// The piece of the links and queues, the time of its last change, and the frames on each track.
    signals: Option<Waves>,
    now: u64,
    fill: Vec<u64>,
    /// The first error. It is reported when the timeline is finished.
    failure: Option<io::Error>,
}

impl NetworkTracks {
    /// Creates the files of a network's timeline and waveforms.
    pub fn create(spec: &TracksSpec, design: &Design) -> Result<NetworkTracks, TracksError> {
        let names: Vec<String> = design.nodes.iter().map(|node| node.name.clone()).collect();
        let mut links = BTreeMap::new();
        for (number, link) in design.links.iter().enumerate() {
            for [(from, port), (to, _)] in [link.ends, [link.ends[1], link.ends[0]]] {
                let rank = links.len() as u32;
                let name = format!("{}:{} > {}", names[from.0 as usize], port.0, names[to.0 as usize]);
                links.insert((LinkId(number as u32), from), (rank, Track { group: Group::Links, rank, name }));
            }
        }
        let frames: Vec<String> = names.iter().map(|name| format!("frame of {name}")).collect();
        let network = TracksOfNode { name: "network".into(), number: names.len() as u32 };
        let fail = |file: &PathBuf| {
            let file = file.display().to_string();
            move |source| TracksError::Write { file, source }
        };
        let (from, to) = spec.only.time.times();
        let timeline =
            |file: &PathBuf| Perfetto::create(file, &["frames"], &frames, Some(&network)).map_err(fail(file));
        let waves = |file: &PathBuf| -> Result<Waves, TracksError> {
            // Finds errors in the name of the file early.
            File::create(file).map_err(fail(file))?;
            let file = piece(file, network.number);
            let mut waves = Waves::create(&file, from.ps(), &frames, Some(&network)).map_err(fail(&file))?;
            let mut tracks: Vec<&(u32, Track)> = links.values().collect();
            tracks.sort();
            tracks.iter().for_each(|(_, track)| waves.add_track(track));
            Ok(waves)
        };
        let perfetto = spec.timeline.as_ref().map(timeline).transpose()?;
        let signals = spec.waves.as_ref().map(waves).transpose()?;
        Ok(NetworkTracks {
            timeline: spec.timeline.clone(),
            waves: spec.waves.clone(),
            window: (from.ps(), to.ps()),
            n_nodes: names.len() as u64,
            names,
            fill: vec![0; links.len()],
            links,
            ends: BinaryHeap::new(),
            counters: BTreeMap::new(),
            dropped: 0,
            marked: 0,
            perfetto,
            signals,
            now: 0,
            failure: None,
        })
    }

    /// The tracks that the card of a node writes.
    pub fn of_node(spec: &TracksSpec, name: &str, number: u32) -> TracksSpec {
        let [timeline, waves] = [&spec.timeline, &spec.waves].map(|file| Some(piece(file.as_deref()?, number)));
        let node = Some(TracksOfNode { name: name.to_owned(), number });
        TracksSpec { timeline, waves, only: spec.only.clone(), node }
    }

    /// Draws events of frames.
    pub fn add(&mut self, rows: &[Row]) {
        if self.failure.is_none() {
            self.failure = rows.iter().try_for_each(|row| self.draw(row)).err();
        }
    }

    fn draw(&mut self, row: &Row) -> io::Result<()> {
        let at = row.at.ps();
        if !(self.window.0..self.window.1).contains(&at) {
            return Ok(());
        }
        self.end_before(at)?;
        match row.what {
            What::Crossed { link, head, tail, .. } => {
                let (number, track) = &self.links[&(link, row.node)];
                let takes_ps = tail.ps() - head.ps();
                let slice = Slice {
                    name: row.frame.node.0,
                    packet: row.frame.number,
                    // These identities follow those of all pieces.
                    flow: (self.n_nodes + 2 + u64::from(row.frame.node.0)) * IDS + row.frame.number + 1,
                    takes_ps,
                    track: *number,
                    ..Slice::default()
                };
                self.ends.push(Reverse((at + takes_ps, *number, link, row.node)));
                if let Some(perfetto) = &mut self.perfetto {
                    perfetto.begin(at, track, &slice, &perfetto::about(slice.packet, None))?;
                }
                self.change(at, &slice, true)
            }
            What::Depth { port, class, bytes } => {
                let name = format!("queue: {}:{} class {class}", self.names[row.node.0 as usize], port.0);
                self.count(at, name, Unit::Bytes, bytes)
            }
            What::Dropped { .. } => {
                self.dropped += 1;
                self.count(at, "dropped frames".into(), Unit::Packets, self.dropped)
            }
            What::Marked => {
                self.marked += 1;
                self.count(at, "marked frames".into(), Unit::Packets, self.marked)
            }
            _ => Ok(()),
        }
    }

    /// Ends the slices of frames that leave their links up to this time.
    fn end_before(&mut self, now: u64) -> io::Result<()> {
        while let Some(&Reverse((at, number, link, sender))) = self.ends.peek().filter(|Reverse(end)| end.0 <= now) {
            self.ends.pop();
            let slice = Slice { track: number, ..Slice::default() };
            if let Some(perfetto) = &mut self.perfetto {
                perfetto.end(at, &self.links[&(link, sender)].1, slice.track, slice.lane)?;
            }
            self.change(at, &slice, false)?;
        }
        Ok(())
    }

    /// A frame enters or leaves a link, for the waveforms.
    fn change(&mut self, at: u64, slice: &Slice, is_begin: bool) -> io::Result<()> {
        let Some(signals) = &mut self.signals else { return Ok(()) };
        if at != self.now {
            signals.pass(self.now)?;
            self.now = at;
        }
        let fill = &mut self.fill[slice.track as usize];
        *fill = if is_begin { *fill + 1 } else { fill.saturating_sub(1) };
        let about =
            CounterAbout { name: String::new(), unit: Unit::Packets, of: Of::Track(slice.track), is_in_slices: true };
        signals.count(0, &about, *fill as f64);
        signals.slice(slice, is_begin);
        Ok(())
    }

    fn count(&mut self, at: u64, name: String, unit: Unit, value: u64) -> io::Result<()> {
        let next = self.counters.len();
        let about = CounterAbout { name: name.clone(), unit, of: Of::Card, is_in_slices: false };
        let is_new = !self.counters.contains_key(&name);
        let (number, about) = self.counters.entry(name).or_insert((next, about));
        if let Some(perfetto) = &mut self.perfetto {
            perfetto.count(at, *number, about, value as f64)?;
        }
        if let Some(signals) = &mut self.signals {
            if is_new {
                signals.add_counter(*number, about);
            }
            if at != self.now {
                signals.pass(self.now)?;
                self.now = at;
            }
            signals.count(*number, about, value as f64);
        }
        Ok(())
    }

    /// The run is over, and all cards have written their pieces. Writes everything.
    pub fn finish(mut self) -> Result<(), TracksError> {
        let file = self.timeline.iter().chain(&self.waves).next().map(|file| file.display().to_string());
        let result = self.failure.take().map_or(Ok(()), Err).and_then(|()| self.write());
        result.map_err(|source| TracksError::Write { file: file.unwrap_or_default(), source })
    }

    fn write(&mut self) -> io::Result<()> {
        self.end_before(u64::MAX)?;
        if let (Some(perfetto), Some(file)) = (&mut self.perfetto, &self.timeline) {
            perfetto.finish()?;
            let mut whole = OpenOptions::new().append(true).open(file)?;
            for piece in self.pieces(file) {
                match File::open(&piece) {
                    Ok(mut piece) => drop(io::copy(&mut piece, &mut whole)?),
                    // A node without tracks: a plain NIC, a switch, or a card that slept.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
        }
        if let (Some(signals), Some(file)) = (&mut self.signals, &self.waves) {
            signals.pass(self.now)?;
            signals.finish(self.now)?;
            waves::join(file, self.window.0, self.pieces(file))?;
        }
        Ok(())
    }

    /// The files of the pieces of a file; the last one is that of the links.
    fn pieces(&self, file: &Path) -> impl Iterator<Item = PathBuf> {
        let file = file.to_owned();
        (0..=self.n_nodes as u32).map(move |number| piece(&file, number))
    }
}

impl Drop for NetworkTracks {
    fn drop(&mut self) {
        for file in self.timeline.iter().chain(&self.waves) {
            self.pieces(file).for_each(|piece| waves::remove_piece(&piece));
        }
    }
}

/// The file for the piece of a node.
fn piece(file: &Path, number: u32) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".node{number}"));
    name.into()
}
