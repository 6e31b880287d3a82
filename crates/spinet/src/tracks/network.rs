//! The timeline of a network: the tracks of each node's card, the frames on its links, and the queues of its switches.

use super::drawing::{CounterAbout, Of, Slice, Unit};
use super::perfetto::{IDS, Perfetto};
use super::{Group, Track, TracksError, TracksOfNode, TracksSpec};
use net::design::Design;
use net::observe::{Row, What};
use net::{LinkId, NodeId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The timeline of a network, while it is written. Each card writes its piece into a file of its own. At the end, these files
/// are appended to that of the network: a trace in Perfetto's format is a sequence of messages.
pub struct NetworkTracks {
    file: PathBuf,
    /// The drawn time in ps: its beginning, and the first time behind it.
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
    perfetto: Perfetto,
    /// The first error. It is reported when the timeline is finished.
    failure: Option<io::Error>,
}

impl NetworkTracks {
    /// Creates the file of a network's timeline; `None` without one.
    pub fn create(spec: &TracksSpec, design: &Design) -> Result<Option<NetworkTracks>, TracksError> {
        let Some(file) = spec.timeline.clone() else { return Ok(None) };
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
        let perfetto = Perfetto::create(&file, &["frames"], &frames, Some(&network));
        let perfetto = perfetto.map_err(|source| TracksError::Write { file: file.display().to_string(), source })?;
        let (from, to) = spec.only.time.times();
        Ok(Some(NetworkTracks {
            file,
            window: (from.ps(), to.ps()),
            n_nodes: names.len() as u64,
            names,
            links,
            ends: BinaryHeap::new(),
            counters: BTreeMap::new(),
            dropped: 0,
            marked: 0,
            perfetto,
            failure: None,
        }))
    }

    /// The tracks that the card of a node writes.
    pub fn of_node(spec: &TracksSpec, name: &str, number: u32) -> TracksSpec {
        let timeline = spec.timeline.as_deref().map(|file| piece(file, number));
        let node = Some(TracksOfNode { name: name.to_owned(), number });
        TracksSpec { timeline, waves: None, only: spec.only.clone(), node }
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
            What::Crossed { link, head, tail } => {
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
                self.perfetto.begin(at, track, &slice)
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
            self.perfetto.end(at, &self.links[&(link, sender)].1, &slice)?;
        }
        Ok(())
    }

    fn count(&mut self, at: u64, name: String, unit: Unit, value: u64) -> io::Result<()> {
        let next = self.counters.len();
        let about = |name| (next, CounterAbout { name, unit, of: Of::Card, is_in_slices: false });
        let (number, about) = self.counters.entry(name.clone()).or_insert_with(|| about(name));
        self.perfetto.count(at, *number, about, value as f64)
    }

    /// The run is over, and all cards have written their pieces. Writes everything.
    pub fn finish(mut self) -> Result<(), TracksError> {
        let result = match self.failure.take() {
            Some(failure) => Err(failure),
            None => self.end_before(u64::MAX).and_then(|()| self.perfetto.finish()).and_then(|()| self.join()),
        };
        result.map_err(|source| TracksError::Write { file: self.file.display().to_string(), source })
    }

    fn join(&self) -> io::Result<()> {
        let mut whole = OpenOptions::new().append(true).open(&self.file)?;
        for piece in self.pieces() {
            match File::open(&piece) {
                Ok(mut piece) => drop(io::copy(&mut piece, &mut whole)?),
                // A node without tracks: a plain NIC, a switch, or a card that slept.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn pieces(&self) -> impl Iterator<Item = PathBuf> {
        (0..self.n_nodes as u32).map(|number| piece(&self.file, number))
    }
}

impl Drop for NetworkTracks {
    fn drop(&mut self) {
        for piece in self.pieces() {
            // Nodes without tracks have no such file.
            let _ = fs::remove_file(piece);
        }
    }
}

/// The file for the piece of a node.
fn piece(file: &Path, number: u32) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".node{number}"));
    name.into()
}
