//! The results of a run: the outside of the NIC's ports.

use crate::captured::{CaptureFailed, CaptureFile};
use crate::digest::{Digest, Stream};
use crate::driver::describe;
use crate::handlers::host::Pages;
use crate::handlers::outcomes::{Kept, KeptPacket};
use crate::handlers::packets::{Change, Fate, PacketsUnderWay, Row};
use crate::handlers::stats::Stats;
use crate::handlers::table::Table;
use crate::handlers::to_host::ToHost;
use crate::paths::{Path, PathLog};
use crate::program::STAGES;
use crate::run::HostChange;
use crate::streams::FeedError;
use crate::tracks::{Subject, TracksError};
use kernel::trace::{self, Sink};
use kernel::{Clock, Cycle};
use net::host::CardEvent;
use pspin::delivery::DropReason;
use pspin::events::Event;
use pspin::host_events::HostEvent;
use pspin::protocol::CLUSTER_ACTIVE_CYCLES;
use pspin::world::{Completions, Console, Departure, Egress, HostEvents, HostMemory, PacketDone};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use wire::message::Verdict;

/// A ring in host memory for packets that no context takes. An entry has 16 bytes (length as u32, 0 as u32, arrival in
/// ns as u64, little-endian), the packet, and zeros up to a multiple of 16. An entry that reaches the end of the ring
/// continues at its start. assumed: drivers of plain NICs use such rings, and PsPIN's papers leave the ordinary path to
/// the NIC around it.
pub const ORDINARY_RING: u64 = 0x2000_0000_0000_0000;
/// Size of the ring, in bytes.
pub const ORDINARY_RING_BYTES: u64 = 1 << 20;

/// Name of the captures' interface for sent packets.
pub const SENT_AT: &str = "nic.tx";

/// Maximum number of lines of console output that are kept until the caller takes them.
const MAX_LINES: usize = 1 << 16;

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The traffic.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// The timeline.
    #[error(transparent)]
    Tracks(#[from] TracksError),
    /// The captures of sent and dropped packets.
    #[error(transparent)]
    Capture(#[from] CaptureFailed),
}

impl From<wire::source::SourceError> for RecordError {
    fn from(error: wire::source::SourceError) -> Self {
        RecordError::Feed(error.into())
    }
}

/// A line that a program printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedLine {
    /// Simulated time.
    pub at: Cycle,
    /// Position of the cluster.
    pub cluster: u32,
    /// Position of the core in its cluster.
    pub core: u32,
    /// The line without its end.
    pub text: String,
}

/// The capture of dropped packets.
pub struct Drops {
    /// The file.
    pub capture: CaptureFile,
    /// Bytes of the packets inside.
    pub inside: BTreeMap<u64, Box<[u8]>>,
}

/// All results of a run.
pub struct Record {
    /// The NIC's clock.
    pub clock: Clock,
    /// Packets under way.
    pub window: PacketsUnderWay,
    /// Sums over packets that are finished.
    pub stats: Stats,
    /// Rows of the packet table, if wanted.
    pub table: Option<Table>,
    /// Paths of packets, if wanted.
    pub paths: Option<PathLog>,
    /// The path of the last packet. Kept to reuse its memory.
    path: Path,
    /// The digest so far.
    pub digest: Digest,
    /// Host memory.
    pub host: Pages,
    /// Packets out, if wanted.
    pub out: Vec<CaptureFile>,
    /// Dropped packets, if wanted.
    pub drops: Option<Drops>,
    /// Sent packets that the caller has not taken, if wanted: time and bytes.
    pub sent: Option<Vec<(Cycle, Box<[u8]>)>>,
    /// Packets for the host that the caller has not taken, if wanted.
    pub to_host: Option<ToHost>,
    /// Changes for the host that the caller has not taken yet; `None` if it wants no changes.
    pub for_host: Option<Vec<(Cycle, HostChange)>>,
    /// Finished packets of contexts that the caller has not taken, if wanted.
    pub finished: Option<Vec<Row>>,
    /// Finished packets and host writes that the caller has not taken, if wanted.
    pub kept: Option<Kept>,
    /// Console lines that the caller has not taken.
    pub lines: VecDeque<PrintedLine>,
    /// Number of lines that were lost because there were too many.
    pub lines_lost: u64,
    /// The error that ends the run.
    pub error: Option<RecordError>,
    /// Last cycle in which a packet came in, or a task or packet ended.
    pub progress_at: Cycle,
    /// Number of clusters that are ready, and the cycle in which the last one became ready.
    pub ready: (u32, Cycle),
    ring_at: u64,
}

/// The record, shared by all components that write to it. Only one component calls the NIC's boundary at a time.
pub type SharedRecord = Rc<RefCell<Record>>;

impl Record {
    /// An empty record of a run by this clock.
    pub fn new(clock: Clock, stats: Stats, table: Option<Table>) -> Self {
        Record {
            clock,
            window: PacketsUnderWay::new(),
            stats,
            table,
            paths: None,
            path: Path::from(0),
            digest: Digest::default(),
            host: Pages::default(),
            out: Vec::new(),
            drops: None,
            sent: None,
            to_host: None,
            for_host: None,
            finished: None,
            kept: None,
            lines: VecDeque::new(),
            lines_lost: 0,
            error: None,
            progress_at: 0,
            ready: (0, 0),
            ring_at: 0,
        }
    }

    /// The first cycle in which the inbound engine takes a packet.
    pub fn traffic_starts(&mut self) -> Cycle {
        let start = self.ready.1 + CLUSTER_ACTIVE_CYCLES;
        self.stats.traffic_start = Some(start);
        start
    }

    /// Counts a packet of the traffic.
    pub fn frame_in(&mut self, bytes: usize) {
        self.stats.frames.add(bytes as u64);
    }

    /// Counts a packet that a context takes. Without a queue, it still bypasses the handlers.
    pub fn matched(&mut self, context: usize, bytes: usize, verdict: &Verdict, has_queue: bool) {
        self.stats.without_queue += u64::from(!has_queue);
        let context = &mut self.stats.contexts[context];
        context.frames.add(bytes as u64);
        context.messages += u64::from(verdict.is_first());
        context.messages_ended += u64::from(verdict.is_last);
        context.keyless += u64::from(verdict.is_keyless);
        context.without_queue += u64::from(verdict.is_first() && !has_queue);
    }

    /// A packet bypasses the handlers: writes it to the ring in host memory.
    pub fn ordinary(&mut self, now: Cycle, source: Option<u16>, frame: u64, arrival: Cycle, bytes: &[u8]) {
        self.stats.ordinary.add(bytes.len() as u64);
        self.digest.add(Stream::Ordinary, &[frame, arrival], bytes);
        let mut head = [0; 16];
        head[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        head[8..].copy_from_slice(&self.clock.edge(arrival).ns().to_le_bytes());
        let pad = bytes.len().next_multiple_of(16) - bytes.len();
        for part in [&head[..], bytes, &[0; 16][..pad]] {
            let mut part = part;
            while !part.is_empty() {
                let room = (ORDINARY_RING_BYTES - self.ring_at).min(part.len() as u64) as usize;
                self.host.write(ORDINARY_RING + self.ring_at, &part[..room]);
                self.ring_at = (self.ring_at + room as u64) % ORDINARY_RING_BYTES;
                part = &part[room..];
            }
        }
        if let Some(table) = &mut self.table {
            table.add_ordinary(source, frame, bytes.len() as u32, arrival);
        }
        if let Some(to_host) = &mut self.to_host {
            to_host.ordinary(now, bytes);
        }
        if let Some(kept) = &mut self.kept {
            kept.packets.push(KeptPacket::Ordinary(bytes.into()));
        }
    }

    /// Stops the run with an error. Only the first error is kept.
    pub fn fail(&mut self, error: RecordError) {
        self.error.get_or_insert(error);
    }

    /// Records a packet that is finished, or that is unfinished at the end of the run.
    pub fn finish(&mut self, row: &Row) {
        self.stats.finish(row);
        if row.fate() == Fate::Dropped {
            self.digest.add(Stream::Done, &[row.frame, u64::from(row.dropped.unwrap_or(0))], b"dropped");
        }
        if let Err(error) = self.capture_drop(row) {
            self.fail(error.into());
        }
        if let Some(finished) = &mut self.finished {
            finished.push(row.clone());
        }
        if let Some(kept) = &mut self.kept {
            kept.packets.push(KeptPacket::Matched(Box::new(row.clone())));
        }
        if let Some(table) = &mut self.table {
            table.add(row);
        }
        if let (Some(paths), Some(tracker)) = (&mut self.paths, &mut self.window.tracker) {
            let path = &mut self.path;
            tracker.path(row, path);
            let end = row.done.or(path.steps.last().map(|step| step.to));
            let subject = Subject {
                packet: row.packet,
                group: row.context,
                message: Some(row.message),
                bytes: row.bytes.into(),
                held: row.stored.zip(end),
                left: row.sent_at.map(|at| (at, row.sent_bytes)),
            };
            paths.add(subject, path);
            tracker.left(&self.window.inside);
            // Later packets arrive after all earlier ones.
            let oldest = self.window.inside.iter().next().map(|(packet, row)| (row.arrival, packet));
            let (arrival, packet) = oldest.unwrap_or((row.arrival, self.window.inside.next()));
            if let Err(error) = paths.settle(arrival, packet) {
                self.fail(error.into());
            }
        }
    }

    /// Writes the packet if the card has dropped it, and forgets its bytes.
    fn capture_drop(&mut self, row: &Row) -> Result<(), CaptureFailed> {
        let Some(Drops { capture, inside }) = &mut self.drops else { return Ok(()) };
        let Some(bytes) = inside.remove(&row.packet) else { return Ok(()) };
        let Some(reason) = row.dropped.map(|reason| DropReason::ALL[reason as usize]) else { return Ok(()) };
        let at = row.dropped_at.unwrap_or(row.arrival);
        let ns = (self.clock.edge(at) - self.clock.edge(row.arrival)).ps() as f64 / 1e3;
        let about = DropReason::ABOUT[reason as usize];
        let comment = format!(
            "packet {}, message {}: dropped {ns} ns after arrival: {}: {about}",
            row.packet,
            row.message,
            reason.word()
        );
        capture.write("nic.rx", self.clock.edge(at).ns(), &bytes, Some(&comment))
    }

    fn event(&mut self, event: &trace::Event) {
        let Some(what) = Event::of(event) else { return };
        let at = || event.cycle_of(&self.clock);
        if let Some(to_host) = &mut self.to_host {
            let inside = &self.window.inside;
            to_host.note(at(), &what, |packet| inside.get(packet).map(|row| row.bytes), &self.host);
        }
        match what {
            Event::HostWritten { addr, bytes } => {
                self.stats.host_writes.add(bytes);
                if let Some(changes) = &mut self.for_host {
                    let mut content = vec![0; bytes as usize].into_boxed_slice();
                    self.host.read(addr, &mut content);
                    changes.push((at(), HostChange::Written { addr, bytes: content }));
                }
                // The bytes came with the write, in the same call of the same component.
                self.digest.add(Stream::Host, &[at()], b"");
            }
            Event::HostRead { bytes, .. } => self.stats.host_reads.add(bytes),
            Event::PacketMarked { .. } => self.stats.marked += 1,
            Event::ClusterActive {} => {
                let (n, last) = self.ready;
                self.ready = (n + 1, last.max(at()));
                self.progress_at = self.progress_at.max(at());
            }
            _ => {
                let at = at();
                match self.window.note(at, what) {
                    Change::Nothing => {}
                    Change::Progress => self.progress_at = self.progress_at.max(at),
                    Change::Finished(row) => {
                        self.progress_at = self.progress_at.max(at);
                        self.finish(&row);
                    }
                }
            }
        }
    }

    /// The comment of a packet in the capture: the packet and the handler that sent it, and its time so far.
    fn comment(&self, departure: &Departure) -> String {
        let number = departure.cause.0;
        let Some(row) = self.window.inside.get(number) else { return format!("packet {number}") };
        let ns = |from: Cycle, to: Cycle| (self.clock.edge(to) - self.clock.edge(from)).ps() as f64 / 1e3;
        let stage = row.running();
        let task = &row.tasks[stage];
        let place = format!("{} handler on HPU {}.{}", STAGES[stage].0, task.cluster, task.hpu);
        let mut text = format!("packet {number}, message {}, {place}", row.message);
        text += &format!(", {} ns after arrival", ns(row.arrival, departure.cycle));
        if let (Some(stored), Some(start)) = (row.stored, task.start) {
            text += &format!(", handler began {} ns after room was found", ns(stored, start));
        }
        if let (Some(start), Some(end)) = (task.start, task.end) {
            text += &format!(" and took {} cycles", end - start);
        }
        text
    }

    fn send(&mut self, departure: &Departure) {
        let Departure { cycle, nid, fid, bytes, .. } = departure;
        self.stats.left.add(*cycle, bytes.len() as u64);
        self.digest.add(Stream::Out, &[*cycle, u64::from(*nid), u64::from(*fid)], bytes);
        let time_ns = self.clock.edge(*cycle).ns();
        if let Some(sent) = &mut self.sent {
            sent.push((*cycle, bytes.clone()));
        }
        let comment = if self.out.is_empty() { String::new() } else { self.comment(departure) };
        let write = |out: &mut CaptureFile| out.write(SENT_AT, time_ns, bytes, Some(&comment));
        if let Err(error) = self.out.iter_mut().try_for_each(write) {
            self.fail(error.into());
        }
    }
}

/// One writer of a shared record.
pub struct Scribe(pub SharedRecord);

impl Sink for Scribe {
    fn event(&mut self, event: &trace::Event) {
        self.0.borrow_mut().event(event);
    }
}

impl Egress for Scribe {
    fn send(&mut self, departure: Departure) {
        self.0.borrow_mut().send(&departure);
    }
}

impl HostMemory for Scribe {
    fn read(&mut self, addr: u64, data: &mut [u8]) {
        self.0.borrow().host.read(addr, data);
    }

    fn write(&mut self, addr: u64, data: &[u8]) {
        let record = &mut *self.0.borrow_mut();
        record.host.write(addr, data);
        if let Some(kept) = &mut record.kept {
            kept.host_writes.push((addr, data.into()));
        }
        record.digest.add(Stream::Host, &[addr], data);
    }
}

impl HostEvents for Scribe {
    fn event(&mut self, at: Cycle, context: u32, event: &HostEvent) {
        let record = &mut *self.0.borrow_mut();
        record.stats.events.add(event);
        if let Some(changes) = &mut record.for_host {
            let (name, values) = describe(event);
            // The NIC numbers contexts from 1.
            let context = context.saturating_sub(1);
            changes.push((at, HostChange::Event(CardEvent { context, name, values })));
        }
        // Other streams of the digest cover ends of messages and failed handlers.
        let numbers = match *event {
            HostEvent::MessageDone { .. } | HostEvent::HandlerError(_) => return,
            HostEvent::MessageTimeout { msgid, dropped, .. } => [1, u64::from(msgid), u64::from(dropped)],
            HostEvent::MessageKilled { msgid, dropped } => [2, u64::from(msgid), u64::from(dropped)],
            HostEvent::MessageEvicted { msgid, dropped } => [4, u64::from(msgid), u64::from(dropped)],
            HostEvent::TranslationFault { addr, write, .. } => [3, addr, u64::from(write)],
        };
        record.digest.add(Stream::Event, &[at, u64::from(context), numbers[0], numbers[1], numbers[2]], b"");
    }
}

impl Completions for Scribe {
    fn done(&mut self, done: PacketDone) {
        let numbers = [done.user, done.nic_arrival, done.her, done.feedback];
        self.0.borrow_mut().digest.add(Stream::Done, &numbers, b"");
    }
}

impl Console for Scribe {
    fn line(&mut self, at: Cycle, cluster: u32, core: u32, text: &str) {
        let record = &mut *self.0.borrow_mut();
        if record.lines.len() == MAX_LINES {
            record.lines.pop_front();
            record.lines_lost += 1;
        }
        record.lines.push_back(PrintedLine { at, cluster, core, text: text.into() });
    }
}
