//! Writes tracks as waveforms, for viewers such as GTKWave and Surfer: VCD or FST.
//!
//! Both formats name all signals before the first change, but tracks become known during the run. So changes go to a separate file,
//! and are copied at the end.
//!
//! Source: IEEE 1364-2005, 18.2, four-state VCD; variables of type `string` are an extension by GTKWave. `fst-writer` has no such
//! variables, so texts in FST are vectors of ASCII characters with leading zeros, as in Verilog.

use super::changes::{Change, Changes, Merged, write_varint};
use super::drawing::{CounterAbout, Of, Slice, Unit};
use super::{Group, Track, TracksOfNode, suffix};
use fst_writer::{FstBodyWriter, FstFileType, FstInfo, FstScopeType, FstSignalId, FstSignalType, FstVarDirection};
use fst_writer::{FstHeaderWriter, FstVarType, FstWriteError};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use vcd::{IdCode, SimulationCommand, TimescaleUnit, Value, VarType};

/// Widths in bits of packet numbers and of counters.
const PACKET_BITS: u32 = 64;
const COUNT_BITS: u32 = 32;
/// Bytes of changes in memory above which FST files are flushed.
const MOST_BYTES: usize = 16 << 20;
/// The text of a signal without a value.
const IDLE: &str = "idle";

/// Values of a signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Shape {
    /// A number with this number of bits; high impedance if there is no value.
    Bits(u32),
    /// The bits of a `f64`.
    Real,
    /// The position of a text in `Waves::texts`; [`IDLE`] if there is no value.
    Text,
}

impl Shape {
    /// The value before the first change.
    fn at_reset(self) -> Option<u64> {
        match self {
            Shape::Bits(PACKET_BITS) | Shape::Text => None,
            Shape::Bits(_) | Shape::Real => Some(0),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Signal {
    name: String,
    shape: Shape,
    value: Option<u64>,
    /// The value in the file.
    shown: Option<u64>,
}

/// A scope of the hierarchy, with its signals.
#[derive(Default, Serialize, Deserialize)]
struct Scope {
    name: String,
    signals: Vec<usize>,
    scopes: Vec<(u32, Scope)>,
}

impl Scope {
    /// The inner scope with this name. A new one is inserted in the order of ranks.
    fn scope(&mut self, rank: u32, name: &str) -> &mut Scope {
        let name = word(name);
        let at = self.scopes.iter().position(|(_, scope)| scope.name == name).unwrap_or_else(|| {
            let at = self.scopes.partition_point(|(other, _)| *other <= rank);
            self.scopes.insert(at, (rank, Scope { name, ..Scope::default() }));
            at
        });
        &mut self.scopes[at].1
    }

    /// The same scope with the signals from this one on.
    fn renumbered(self, first: usize) -> Scope {
        let scopes = self.scopes.into_iter().map(|(rank, scope)| (rank, scope.renumbered(first))).collect();
        Scope { name: self.name, signals: self.signals.into_iter().map(|signal| signal + first).collect(), scopes }
    }
}

/// Waveforms of a node or of a network's links, apart from their changes, which are in a file of their own.
#[derive(Serialize, Deserialize)]
struct Piece {
    name: String,
    texts: Vec<String>,
    signals: Vec<Signal>,
    root: Scope,
    end: u64,
}

/// The file with the changes of a piece or of a whole file.
fn changes_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".changes");
    name.into()
}

/// Removes the files of a piece, if it has any.
pub(super) fn remove_piece(piece: &Path) {
    for file in [piece, &changes_of(piece)] {
        // Nodes without tracks have no such file, and nothing else uses it.
        let _ = fs::remove_file(file);
    }
}

/// Joins the pieces of nodes to a file of waveforms from the time `start` on, with a scope for each of them.
pub(super) fn join(file: &Path, start: u64, pieces: impl Iterator<Item = PathBuf>) -> io::Result<()> {
    let mut whole = Waves::empty(file, start, &[])?;
    let (mut changes, mut end) = (Vec::new(), start);
    for (rank, piece) in (0..).zip(pieces) {
        let text = match fs::read(&piece) {
            Ok(text) => text,
            // A node without tracks: a plain NIC, a switch, or a card that slept.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let Piece { name, texts, signals, root, end: of_piece } = serde_json::from_slice(&text)?;
        let (first_signal, first_text) = (whole.signals.len(), whole.texts.len() as u64);
        changes.push(Changes::new(changes_of(&piece), start, first_signal, first_text));
        whole.signals.extend(signals);
        whole.texts.extend(texts);
        let scope = Scope { name: word(&name), ..root.renumbered(first_signal) };
        whole.root.scopes.push((rank, scope));
        end = end.max(of_piece);
    }
    let mut merged = Merged::new(changes, whole.are_texts())?;
    whole.write(&mut merged, end)
}

/// A name that both formats accept. Dots are replaced, too, because viewers split names at dots.
fn word(name: &str) -> String {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "_[]".contains(c);
    name.chars().map(|c| if is_good(c) { c } else { '_' }).collect()
}

/// Signals of a track.
struct OfTrack {
    group: Group,
    /// Name of its group's scope, its rank in the group, and name of its own scope.
    scopes: (&'static str, u32, String),
    busy: usize,
    fill: Option<usize>,
    /// Signals of each lane: `packet`, `state`, and for a core `runs`.
    lanes: Vec<[Option<usize>; 3]>,
}

/// A file of waveforms while it is written.
pub(super) struct Waves {
    file: PathBuf,
    /// Name of the node, if this is the piece of a node.
    node: Option<String>,
    /// The separate file for changes, which is removed at the end unless this is a piece.
    changes: PathBuf,
    /// Writes that file; `None` for waveforms that are joined.
    out: Option<BufWriter<File>>,
    texts: Vec<String>,
    signals: Vec<Signal>,
    root: Scope,
    of_track: Vec<OfTrack>,
    of_counter: Vec<Option<usize>>,
    touched: Vec<usize>,
    start: u64,
    /// Time of the last change in the file.
    at: u64,
}

impl Waves {
    /// Creates the files. Times begin at `start`, in ps; `texts` are the names of slices. For a node, they are a piece of the network's.
    pub fn create(file: &Path, start: u64, texts: &[String], node: Option<&TracksOfNode>) -> io::Result<Waves> {
        let mut waves = Waves::empty(file, start, texts)?;
        waves.out = Some(BufWriter::new(File::create(&waves.changes)?));
        waves.node = node.map(|node| node.name.clone());
        Ok(waves)
    }

    /// Waveforms without signals.
    fn empty(file: &Path, start: u64, texts: &[String]) -> io::Result<Waves> {
        // The file is written at the end. Creating it now finds errors early.
        File::create(file)?;
        Ok(Waves {
            file: file.to_owned(),
            node: None,
            changes: changes_of(file),
            out: None,
            texts: texts.to_vec(),
            signals: Vec::new(),
            root: Scope::default(),
            of_track: Vec::new(),
            of_counter: Vec::new(),
            touched: Vec::new(),
            start,
            at: start,
        })
    }

    /// A new signal; the caller puts it into a scope.
    fn signal(&mut self, name: &str, shape: Shape) -> usize {
        let value = shape.at_reset();
        self.signals.push(Signal { name: word(name), shape, value, shown: value });
        self.signals.len() - 1
    }

    /// Adds the next track.
    pub fn add_track(&mut self, track: &Track) {
        let group = track.group;
        let busy = self.signal("busy", Shape::Bits(1));
        let fill = (group != Group::Cores).then(|| self.signal("fill", Shape::Bits(COUNT_BITS)));
        let scope = self.root.scope(group as u32, group.word()).scope(track.rank, &track.name);
        scope.signals.extend([busy].into_iter().chain(fill));
        let scopes = (group.word(), track.rank, track.name.clone());
        self.of_track.push(OfTrack { group, scopes, busy, fill, lanes: Vec::new() });
    }

    /// Adds a counter with this number.
    pub fn add_counter(&mut self, number: usize, about: &CounterAbout) {
        let signal = match about.of {
            Of::Track(_) => None,
            Of::Card => {
                let (unit, shape) = match about.unit {
                    Unit::Packets => ("", Shape::Bits(COUNT_BITS)),
                    Unit::Bytes => (" bytes", Shape::Bits(COUNT_BITS)),
                    Unit::Named(unit) => (unit, Shape::Real),
                };
                let signal = self.signal(format!("{} {unit}", about.name).trim(), shape);
                self.root.scope(Group::ALL.len() as u32, "counters").signals.push(signal);
                Some(signal)
            }
            Of::Resource => {
                let path = about.name.rsplit(' ').next().unwrap_or_default();
                let (parents, name) = path.rsplit_once('.').unwrap_or(("", path));
                let signal = self.signal(&format!("{name} percent"), Shape::Real);
                let mut scope = self.root.scope(Group::ALL.len() as u32 + 1, "resources");
                for parent in parents.split('.').filter(|parent| !parent.is_empty()) {
                    scope = scope.scope(0, parent);
                }
                scope.signals.push(signal);
                Some(signal)
            }
        };
        self.of_counter.resize(number + 1, None);
        self.of_counter[number] = signal;
    }

    /// Sets the value of a counter.
    pub fn count(&mut self, number: usize, about: &CounterAbout, value: f64) {
        if let Of::Track(track) = about.of {
            let track = &self.of_track[track as usize];
            let (busy, fill) = (track.busy, track.fill);
            self.set(busy, Some((value > 0.0).into()));
            if let Some(fill) = fill {
                self.set(fill, Some(value as u64));
            }
        } else if let Some(signal) = self.of_counter[number] {
            let is_real = self.signals[signal].shape == Shape::Real;
            self.set(signal, Some(if is_real { value.to_bits() } else { value as u64 }));
        }
    }

    /// Sets the signals of a slice that begins or ends.
    pub fn slice(&mut self, slice: &Slice, is_begin: bool) {
        let track = &self.of_track[slice.track as usize];
        if track.group == Group::Queues {
            return;
        }
        let is_core = track.group == Group::Cores;
        let [packet, state, runs] = self.lane(slice.track as usize, slice.lane as usize);
        let (number, name) = (is_begin.then_some(slice.packet), is_begin.then_some(slice.name.into()));
        let pairs = match (slice.is_inner, is_core) {
            (true, _) => [(state, name), (None, None), (None, None)],
            (false, true) => [(packet, number), (runs, name), (None, None)],
            (false, false) => [(packet, number), (state, name), (None, None)],
        };
        for (signal, value) in pairs {
            if let Some(signal) = signal {
                self.set(signal, value);
            }
        }
    }

    /// The signals of a lane. The first lane is the track itself.
    fn lane(&mut self, track: usize, lane: usize) -> [Option<usize>; 3] {
        while self.of_track[track].lanes.len() <= lane {
            let number = self.of_track[track].lanes.len();
            let packet = self.signal("packet", Shape::Bits(PACKET_BITS));
            let state = self.signal("state", Shape::Text);
            let is_core = self.of_track[track].group == Group::Cores;
            let runs = is_core.then(|| self.signal("runs", Shape::Text));
            let of_track = &mut self.of_track[track];
            let (group, rank, name) = &of_track.scopes;
            let mut scope = self.root.scope(of_track.group as u32, group).scope(*rank, name);
            if number > 0 {
                scope = scope.scope(number as u32, &format!("lane {number}"));
            }
            scope.signals.extend([packet, state].into_iter().chain(runs));
            of_track.lanes.push([Some(packet), Some(state), runs]);
        }
        self.of_track[track].lanes[lane]
    }

    fn set(&mut self, signal: usize, value: Option<u64>) {
        self.signals[signal].value = value;
        self.touched.push(signal);
    }

    /// Writes the values that were set for this time.
    pub fn pass(&mut self, at: u64) -> io::Result<()> {
        // A sample holds for the time before it, which can be before the window.
        let at = at.max(self.at);
        let Some(out) = &mut self.out else { return Ok(()) };
        for signal in self.touched.drain(..) {
            let Signal { value, shown, .. } = &mut self.signals[signal];
            if value == shown {
                continue;
            }
            *shown = *value;
            write_varint(out, at - std::mem::replace(&mut self.at, at))?;
            write_varint(out, (signal as u64) << 1 | u64::from(value.is_some()))?;
            value.map_or(Ok(()), |value| write_varint(out, value))?;
        }
        Ok(())
    }

    /// Writes the file of a run that ended at `end`.
    pub fn finish(&mut self, end: u64) -> io::Result<()> {
        if let Some(out) = &mut self.out {
            out.flush()?;
        }
        let end = end.max(self.at).max(self.start + 1);
        if let Some(name) = self.node.clone() {
            let (texts, signals) = (std::mem::take(&mut self.texts), std::mem::take(&mut self.signals));
            let piece = Piece { name, texts, signals, root: std::mem::take(&mut self.root), end };
            return fs::write(&self.file, serde_json::to_vec(&piece)?);
        }
        let changes = Changes::new(self.changes.clone(), self.start, 0, 0);
        self.write(&mut Merged::new(vec![changes], self.are_texts())?, end)
    }

    /// For each signal, whether its values are texts.
    fn are_texts(&self) -> Vec<bool> {
        self.signals.iter().map(|signal| signal.shape == Shape::Text).collect()
    }

    fn write(&self, changes: &mut Merged, end: u64) -> io::Result<()> {
        if suffix(&self.file) == "fst" { self.write_fst(changes, end) } else { self.write_vcd(changes, end) }
    }

    fn text(&self, value: Option<u64>) -> &str {
        value.map_or(IDLE, |position| &self.texts[position as usize])
    }

    /// The values of all signals at the start, and the first change after it.
    fn at_start(&self, changes: &mut Merged) -> io::Result<(Vec<Option<u64>>, Option<Change>)> {
        let mut values: Vec<_> = self.signals.iter().map(|signal| signal.shape.at_reset()).collect();
        loop {
            match changes.next()? {
                Some((at, signal, value)) if at == self.start => values[signal] = value,
                later => return Ok((values, later)),
            }
        }
    }

    fn write_vcd(&self, changes: &mut Merged, end: u64) -> io::Result<()> {
        let mut vcd = vcd::Writer::new(BufWriter::new(File::create(&self.file)?));
        vcd.version(concat!("spinet ", env!("CARGO_PKG_VERSION")))?;
        vcd.timescale(1, TimescaleUnit::PS)?;
        let mut ids = vec![IdCode::FIRST; self.signals.len()];
        for (_, scope) in &self.root.scopes {
            self.vcd_scope(scope, &mut vcd, &mut ids)?;
        }
        vcd.enddefinitions()?;
        vcd.timestamp(self.start)?;
        vcd.begin(SimulationCommand::Dumpvars)?;
        let (values, mut next) = self.at_start(changes)?;
        for ((signal, id), value) in self.signals.iter().zip(&ids).zip(values) {
            self.vcd_value(&mut vcd, *id, signal.shape, value)?;
        }
        vcd.end()?;
        let mut last = self.start;
        while let Some((at, signal, value)) = next {
            if std::mem::replace(&mut last, at) != at {
                vcd.timestamp(at)?;
            }
            self.vcd_value(&mut vcd, ids[signal], self.signals[signal].shape, value)?;
            next = changes.next()?;
        }
        if end > last {
            vcd.timestamp(end)?;
        }
        vcd.flush()
    }

    fn vcd_scope(&self, scope: &Scope, vcd: &mut vcd::Writer<impl Write>, ids: &mut [IdCode]) -> io::Result<()> {
        vcd.add_module(&scope.name)?;
        for &number in &scope.signals {
            let Signal { name, shape, .. } = &self.signals[number];
            ids[number] = match shape {
                Shape::Bits(bits) => vcd.add_wire(*bits, name)?,
                Shape::Real => vcd.add_var(VarType::Real, 64, name, None)?,
                Shape::Text => vcd.add_var(VarType::String, 1, name, None)?,
            };
        }
        scope.scopes.iter().try_for_each(|(_, inner)| self.vcd_scope(inner, vcd, ids))?;
        vcd.upscope()
    }

    fn vcd_value(
        &self,
        vcd: &mut vcd::Writer<impl Write>,
        id: IdCode,
        shape: Shape,
        value: Option<u64>,
    ) -> io::Result<()> {
        match (shape, value) {
            (Shape::Real, value) => vcd.change_real(id, f64::from_bits(value.unwrap_or(0))),
            // A space would end the value.
            (Shape::Text, value) => vcd.change_string(id, &self.text(value).replace(char::is_whitespace, "_")),
            (Shape::Bits(1), value) => vcd.change_scalar(id, value == Some(1)),
            (Shape::Bits(_), None) => vcd.change_vector(id, [Value::Z]),
            (Shape::Bits(_), Some(value)) => {
                // Leading zeros may be left out.
                let n = (u64::BITS - value.leading_zeros()).max(1);
                vcd.change_vector(id, (0..n).rev().map(|bit| Value::from(value >> bit & 1 != 0)))
            }
        }
    }

    fn write_fst(&self, changes: &mut Merged, end: u64) -> io::Result<()> {
        let info = FstInfo {
            start_time: self.start,
            timescale_exponent: -12,
            version: concat!("spinet ", env!("CARGO_PKG_VERSION")).to_owned(),
            date: String::new(),
            file_type: FstFileType::Verilog,
        };
        let longest = self.texts.iter().map(String::len).max().unwrap_or(0).max(IDLE.len());
        let mut fst = fst_writer::open_fst(&self.file, &info).map_err(other)?;
        let mut ids = vec![None; self.signals.len()];
        for (_, scope) in &self.root.scopes {
            self.fst_scope(scope, &mut fst, longest, &mut ids).map_err(other)?;
        }
        let mut fst = fst.finish().map_err(other)?;
        fst.time_change(self.start).map_err(other)?;
        let (values, mut next) = self.at_start(changes)?;
        for ((signal, id), value) in self.signals.iter().zip(&ids).zip(values) {
            self.fst_value(&mut fst, *id, signal.shape, value, longest).map_err(other)?;
        }
        let mut last = self.start;
        while let Some((at, signal, value)) = next {
            if std::mem::replace(&mut last, at) != at {
                if fst.size() > MOST_BYTES {
                    fst.flush().map_err(other)?;
                }
                fst.time_change(at).map_err(other)?;
            }
            self.fst_value(&mut fst, ids[signal], self.signals[signal].shape, value, longest).map_err(other)?;
            next = changes.next()?;
        }
        fst.time_change(end).map_err(other)?;
        fst.finish().map_err(other)?.flush()
    }

    fn fst_scope(
        &self,
        scope: &Scope,
        fst: &mut FstHeaderWriter<BufWriter<File>>,
        longest: usize,
        ids: &mut [Option<FstSignalId>],
    ) -> Result<(), FstWriteError> {
        fst.scope(&scope.name, "", FstScopeType::Module)?;
        for &number in &scope.signals {
            let Signal { name, shape, .. } = &self.signals[number];
            let (signal, var) = match shape {
                Shape::Bits(bits) => (FstSignalType::bit_vec(*bits), FstVarType::Wire),
                Shape::Real => (FstSignalType::real(), FstVarType::Real),
                Shape::Text => (FstSignalType::bit_vec(8 * longest as u32), FstVarType::Reg),
            };
            ids[number] = Some(fst.var(name, signal, var, FstVarDirection::Implicit, None)?);
        }
        scope.scopes.iter().try_for_each(|(_, inner)| self.fst_scope(inner, fst, longest, ids))?;
        fst.up_scope()
    }

    fn fst_value(
        &self,
        fst: &mut FstBodyWriter<BufWriter<File>>,
        id: Option<FstSignalId>,
        shape: Shape,
        value: Option<u64>,
        longest: usize,
    ) -> Result<(), FstWriteError> {
        let id = id.expect("each signal is in a scope");
        let bits = |value: u64, n: u32| (0..n).rev().map(move |bit| b'0' + (value >> bit & 1) as u8);
        match (shape, value) {
            (Shape::Real, value) => fst.signal_change(id, &value.unwrap_or(0).to_le_bytes()),
            (Shape::Bits(n), None) => fst.signal_change(id, &vec![b'z'; n as usize]),
            (Shape::Bits(n), Some(value)) => fst.signal_change(id, &bits(value, n).collect::<Vec<u8>>()),
            (Shape::Text, value) => {
                let text = self.text(value).as_bytes();
                let zeros = std::iter::repeat_n(b'0', 8 * (longest - text.len()));
                let text = text.iter().flat_map(|&byte| bits(byte.into(), 8));
                fst.signal_change(id, &zeros.chain(text).collect::<Vec<u8>>())
            }
        }
    }
}

impl Drop for Waves {
    fn drop(&mut self) {
        if self.node.is_none() && self.out.is_some() {
            // Nothing else uses this file, so it does no harm if it cannot be removed.
            let _ = fs::remove_file(&self.changes);
        }
    }
}

fn other(error: FstWriteError) -> io::Error {
    match error {
        FstWriteError::Io(error) => error,
        error => io::Error::other(error),
    }
}
