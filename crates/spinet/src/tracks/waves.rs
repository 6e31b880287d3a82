//! Writes tracks as waveforms, for viewers such as GTKWave and Surfer: VCD or FST.
//!
//! Both formats name all signals before the first change, but tracks become known during the run. So changes go to a separate file,
//! and are copied at the end.
//!
//! Source: IEEE 1364-2005, 18.2, four-state VCD; variables of type `string` are an extension by GTKWave. `fst-writer` has no such
//! variables, so texts in FST are vectors of ASCII characters with leading zeros, as in Verilog.

use super::drawing::{CounterAbout, Of, Slice, Unit};
use super::{Group, Track, suffix};
use fst_writer::{FstBodyWriter, FstFileType, FstInfo, FstScopeType, FstSignalId, FstSignalType, FstVarDirection};
use fst_writer::{FstHeaderWriter, FstVarType, FstWriteError};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

struct Signal {
    name: String,
    shape: Shape,
    value: Option<u64>,
    /// The value in the file.
    shown: Option<u64>,
}

/// A scope of the hierarchy, with its signals.
#[derive(Default)]
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
    /// The separate file for changes, which is removed at the end.
    changes: PathBuf,
    out: BufWriter<File>,
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
    /// Creates the files. Times begin at `start`, in ps; `texts` are the names of slices.
    pub fn create(file: &Path, start: u64, texts: &[String]) -> io::Result<Waves> {
        // The file is written at the end. Creating it now finds errors early.
        File::create(file)?;
        let mut changes = file.as_os_str().to_owned();
        changes.push(".changes");
        let changes = PathBuf::from(changes);
        Ok(Waves {
            file: file.to_owned(),
            out: BufWriter::new(File::create(&changes)?),
            changes,
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
        for signal in self.touched.drain(..) {
            let Signal { value, shown, .. } = &mut self.signals[signal];
            if value == shown {
                continue;
            }
            *shown = *value;
            write_varint(&mut self.out, at - std::mem::replace(&mut self.at, at))?;
            write_varint(&mut self.out, (signal as u64) << 1 | u64::from(value.is_some()))?;
            value.map_or(Ok(()), |value| write_varint(&mut self.out, value))?;
        }
        Ok(())
    }

    /// Writes the file of a run that ended at `end`.
    pub fn finish(&mut self, end: u64) -> io::Result<()> {
        self.out.flush()?;
        let end = end.max(self.at).max(self.start + 1);
        let mut changes = Changes { bytes: BufReader::new(File::open(&self.changes)?), at: self.start };
        if suffix(&self.file) == "fst" { self.write_fst(&mut changes, end) } else { self.write_vcd(&mut changes, end) }
    }

    fn text(&self, value: Option<u64>) -> &str {
        value.map_or(IDLE, |position| &self.texts[position as usize])
    }

    /// The values of all signals at the start, and the first change after it.
    fn at_start(&self, changes: &mut Changes) -> io::Result<(Vec<Option<u64>>, Option<Change>)> {
        let mut values: Vec<_> = self.signals.iter().map(|signal| signal.shape.at_reset()).collect();
        loop {
            match changes.next()? {
                Some((at, signal, value)) if at == self.start => values[signal] = value,
                later => return Ok((values, later)),
            }
        }
    }

    fn write_vcd(&self, changes: &mut Changes, end: u64) -> io::Result<()> {
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

    fn write_fst(&self, changes: &mut Changes, end: u64) -> io::Result<()> {
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
        // Nothing else uses this file, so it does no harm if it cannot be removed.
        let _ = std::fs::remove_file(&self.changes);
    }
}

fn other(error: FstWriteError) -> io::Error {
    match error {
        FstWriteError::Io(error) => error,
        error => io::Error::other(error),
    }
}

fn write_varint(out: &mut impl Write, mut number: u64) -> io::Result<()> {
    let (mut bytes, mut n) = ([0; 10], 0);
    while number > 0x7f {
        bytes[n] = number as u8 & 0x7f | 0x80;
        number >>= 7;
        n += 1;
    }
    bytes[n] = number as u8;
    out.write_all(&bytes[..=n])
}

/// Time, signal and value of a change.
type Change = (u64, usize, Option<u64>);

/// The changes of signals, read back.
struct Changes {
    bytes: BufReader<File>,
    at: u64,
}

impl Changes {
    /// The next change.
    fn next(&mut self) -> io::Result<Option<Change>> {
        let Some(takes) = self.varint()? else { return Ok(None) };
        self.at += takes;
        let cut = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let signal = self.varint()?.ok_or_else(cut)?;
        let value = if signal & 1 == 1 { Some(self.varint()?.ok_or_else(cut)?) } else { None };
        Ok(Some((self.at, (signal >> 1) as usize, value)))
    }

    /// The next number; `None` at the end.
    fn varint(&mut self) -> io::Result<Option<u64>> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let mut byte = [0];
            if self.bytes.read(&mut byte)? == 0 {
                return Ok(None);
            }
            number |= u64::from(byte[0] & 0x7f) << shift;
            shift += 7;
            if byte[0] & 0x80 == 0 {
                return Ok(Some(number));
            }
        }
    }
}
