//! Writes tracks in Perfetto's format: a trace is a sequence of messages in the encoding of Protocol Buffers.
//!
//! Source of the numbers of fields: Perfetto v59.1, `protos/perfetto/trace`: `trace_packet.proto`, `interned_data/interned_data.proto`,
//! `track_event/track_event.proto`, `track_descriptor.proto`, `counter_descriptor.proto` and `debug_annotation.proto`. A test
//! decodes traces with Perfetto's own library.

use super::drawing::{CounterAbout, Slice, Unit};
use super::{Group, Track, TracksOfNode};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// `Trace.packet`.
const PACKET: u32 = 1;

mod packet {
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED: u32 = 12;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const TRACK_DESCRIPTOR: u32 = 60;
}

/// Values of `TracePacket.sequence_flags`.
const STATE_CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

mod interned {
    pub const CATEGORIES: u32 = 1;
    pub const NAMES: u32 = 2;
    pub const ANNOTATIONS: u32 = 3;
    pub const IID: u32 = 1;
    pub const TEXT: u32 = 2;
}

mod descriptor {
    pub const UUID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const PARENT: u32 = 5;
    pub const COUNTER: u32 = 8;
    pub const ORDERING: u32 = 11;
    pub const RANK: u32 = 12;
    /// `ChildTracksOrdering.EXPLICIT`.
    pub const EXPLICIT: u64 = 3;
    pub const COUNTER_UNIT: u32 = 3;
    pub const COUNTER_UNIT_NAME: u32 = 6;
    /// `CounterDescriptor.Unit`.
    pub const UNIT_COUNT: u64 = 2;
    pub const UNIT_BYTES: u64 = 3;
}

mod event {
    pub const CATEGORY: u32 = 3;
    pub const ANNOTATION: u32 = 4;
    pub const TYPE: u32 = 9;
    pub const NAME: u32 = 10;
    pub const TRACK: u32 = 11;
    pub const COUNTER_VALUE: u32 = 30;
    pub const DOUBLE_COUNTER_VALUE: u32 = 44;
    pub const FLOWS: u32 = 47;
    pub const LAST_FLOWS: u32 = 48;
    /// `TrackEvent.Type`.
    pub const BEGIN: u64 = 1;
    pub const END: u64 = 2;
    pub const COUNTER: u64 = 4;
    pub const ANNOTATION_NAME: u32 = 1;
    pub const ANNOTATION_UINT: u32 = 3;
}

/// Names of annotations, in the order of their numbers.
const ANNOTATIONS: [&str; 4] = ["packet", "message", "waits for packet", "takes ps"];

/// A message in the making.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number > 0x7f {
            self.0.push(number as u8 & 0x7f | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn number(&mut self, field: u32, number: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(number);
    }

    fn fixed(&mut self, field: u32, number: u64) {
        self.varint(u64::from(field) << 3 | 1);
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u32, fill: impl FnOnce(&mut Message)) {
        let mut inner = Message::default();
        fill(&mut inner);
        self.bytes(field, &inner.0);
    }

    /// Writes a message of less than 16 KiB in place. Its length takes two bytes, even if one byte suffices.
    #[inline]
    fn short(&mut self, field: u32, fill: impl FnOnce(&mut Message)) {
        self.varint(u64::from(field) << 3 | 2);
        let at = self.0.len();
        self.0.extend_from_slice(&[0, 0]);
        fill(self);
        let len = self.0.len() - at - 2;
        assert!(len < 1 << 14, "a short message has a length of two bytes");
        self.0[at] = len as u8 | 0x80;
        self.0[at + 1] = (len >> 7) as u8;
    }
}

/// Number of buffered bytes at which they are written to the file.
const WRITE: usize = 1 << 16;

/// A trace in the making.
pub struct Perfetto {
    file: File,
    /// Bytes that are not yet in the file.
    out: Message,
    /// Number of the sequence of packets. Each piece of a trace has its own, because interned names belong to a sequence.
    sequence: u64,
    /// The track that contains all others, in a piece of a trace.
    root: Option<u64>,
    /// The last identity given to a track.
    last_id: u64,
    groups: [Option<u64>; Group::ALL.len() + 1],
    /// By track and lane.
    lanes: Vec<Vec<Option<u64>>>,
    counters: Vec<Option<u64>>,
}

/// Number of identities of tracks and flows that each piece of a trace has for itself.
pub const IDS: u64 = 1 << 40;

/// The first identity of the piece of a node, or of a whole trace.
pub fn first_id(node: Option<&TracksOfNode>) -> u64 {
    node.map_or(0, |node| u64::from(node.number) + 1) * IDS + 1
}

/// Position of the group of counters.
const COUNTERS: usize = Group::ALL.len();

impl Perfetto {
    /// Begins a trace, or the piece of a trace for a node. Its slices have these categories and names.
    pub fn create(
        file: &Path,
        categories: &[&str],
        names: &[String],
        node: Option<&TracksOfNode>,
    ) -> io::Result<Perfetto> {
        let mut trace = Perfetto {
            file: File::create(file)?,
            out: Message::default(),
            sequence: first_id(node) / IDS + 1,
            root: None,
            last_id: first_id(node) - 1,
            groups: Default::default(),
            lanes: Vec::new(),
            counters: Vec::new(),
        };
        let mut packet = Message::default();
        packet.number(packet::SEQUENCE, trace.sequence);
        packet.number(packet::SEQUENCE_FLAGS, STATE_CLEARED);
        packet.message(packet::INTERNED, |data| {
            let mut all = |field: u32, texts: &mut dyn Iterator<Item = &str>| {
                for (iid, text) in (1..).zip(texts) {
                    data.message(field, |entry| {
                        entry.number(interned::IID, iid);
                        entry.bytes(interned::TEXT, text.as_bytes());
                    });
                }
            };
            all(interned::CATEGORIES, &mut categories.iter().copied());
            all(interned::NAMES, &mut names.iter().map(String::as_str));
            all(interned::ANNOTATIONS, &mut ANNOTATIONS.into_iter());
        });
        trace.out.bytes(PACKET, &packet.0);
        if let Some(TracksOfNode { name, number }) = node {
            trace.root = Some(trace.describe(name, None, u64::from(*number), explicit_order)?);
        }
        Ok(trace)
    }

    /// A slice begins.
    pub fn begin(&mut self, at_ps: u64, track: &Track, slice: &Slice) -> io::Result<()> {
        let id = self.lane(track, slice)?;
        self.event(at_ps, |event| {
            event.number(event::TYPE, event::BEGIN);
            event.number(event::TRACK, id);
            event.number(event::NAME, u64::from(slice.name) + 1);
            event.number(event::CATEGORY, u64::from(slice.stage) + 1);
            let mut annotate = |iid: u64, value: Option<u64>| {
                if let Some(value) = value {
                    event.short(event::ANNOTATION, |annotation| {
                        annotation.number(event::ANNOTATION_NAME, iid);
                        annotation.number(event::ANNOTATION_UINT, value);
                    });
                }
            };
            if !slice.is_inner {
                annotate(1, Some(slice.packet));
                annotate(2, slice.message);
            }
            annotate(3, slice.blocker);
            annotate(4, Some(slice.takes_ps));
            if !slice.is_inner {
                event.fixed(if slice.is_last { event::LAST_FLOWS } else { event::FLOWS }, slice.flow);
            }
        })
    }

    /// The slice that began last on this lane ends.
    pub fn end(&mut self, at_ps: u64, track: &Track, slice: &Slice) -> io::Result<()> {
        let id = self.lane(track, slice)?;
        self.event(at_ps, |event| {
            event.number(event::TYPE, event::END);
            event.number(event::TRACK, id);
        })
    }

    /// A counter has a new value.
    pub fn count(&mut self, at_ps: u64, number: usize, about: &CounterAbout, value: f64) -> io::Result<()> {
        if self.counters.len() <= number {
            self.counters.resize(number + 1, None);
        }
        let id = match self.counters[number] {
            Some(id) => id,
            None => {
                let parent = self.group(COUNTERS, "counters")?;
                let id = self.describe(&about.name, Some(parent), number as u64, |descriptor| {
                    descriptor.message(descriptor::COUNTER, |counter| match about.unit {
                        Unit::Packets => counter.number(descriptor::COUNTER_UNIT, descriptor::UNIT_COUNT),
                        Unit::Bytes => counter.number(descriptor::COUNTER_UNIT, descriptor::UNIT_BYTES),
                        Unit::Named(name) => counter.bytes(descriptor::COUNTER_UNIT_NAME, name.as_bytes()),
                    });
                })?;
                *self.counters[number].insert(id)
            }
        };
        self.event(at_ps, |event| {
            event.number(event::TYPE, event::COUNTER);
            event.number(event::TRACK, id);
            match about.unit {
                Unit::Packets | Unit::Bytes => event.number(event::COUNTER_VALUE, value as u64),
                Unit::Named(_) => event.fixed(event::DOUBLE_COUNTER_VALUE, value.to_bits()),
            }
        })
    }

    /// Writes all buffered bytes.
    pub fn finish(&mut self) -> io::Result<()> {
        self.file.write_all(&self.out.0)?;
        self.out.0.clear();
        Ok(())
    }

    /// The identity of a lane, which is described when it is used first.
    fn lane(&mut self, track: &Track, slice: &Slice) -> io::Result<u64> {
        let (number, lane) = (slice.track as usize, slice.lane as usize);
        if self.lanes.len() <= number {
            self.lanes.resize_with(number + 1, Vec::new);
        }
        if self.lanes[number].len() <= lane {
            self.lanes[number].resize(lane + 1, None);
        }
        if let Some(id) = self.lanes[number][lane] {
            return Ok(id);
        }
        let parent = self.group(track.group as usize, track.group.word())?;
        let id = self.describe(&track.name, Some(parent), u64::from(track.rank), |_| {})?;
        self.lanes[number][lane] = Some(id);
        Ok(id)
    }

    fn group(&mut self, number: usize, name: &str) -> io::Result<u64> {
        if let Some(id) = self.groups[number] {
            return Ok(id);
        }
        let id = self.describe(name, self.root, number as u64, explicit_order)?;
        self.groups[number] = Some(id);
        Ok(id)
    }

    fn describe(
        &mut self,
        name: &str,
        parent: Option<u64>,
        rank: u64,
        more: impl FnOnce(&mut Message),
    ) -> io::Result<u64> {
        self.last_id += 1;
        let (id, mut packet) = (self.last_id, Message::default());
        packet.number(packet::SEQUENCE, self.sequence);
        packet.message(packet::TRACK_DESCRIPTOR, |descriptor| {
            descriptor.number(descriptor::UUID, id);
            descriptor.bytes(descriptor::NAME, name.as_bytes());
            if let Some(parent) = parent {
                descriptor.number(descriptor::PARENT, parent);
            }
            descriptor.number(descriptor::RANK, rank);
            more(descriptor);
        });
        self.out.bytes(PACKET, &packet.0);
        Ok(id)
    }

    #[inline]
    fn event(&mut self, at_ps: u64, fill: impl FnOnce(&mut Message)) -> io::Result<()> {
        let sequence = self.sequence;
        self.out.short(PACKET, |packet| {
            packet.number(packet::TIMESTAMP, at_ps / 1000);
            packet.number(packet::SEQUENCE, sequence);
            packet.number(packet::SEQUENCE_FLAGS, NEEDS_STATE);
            packet.short(packet::TRACK_EVENT, fill);
        });
        if self.out.0.len() >= WRITE { self.finish() } else { Ok(()) }
    }
}

/// The tracks below a descriptor are shown by rank.
fn explicit_order(descriptor: &mut Message) {
    descriptor.number(descriptor::ORDERING, descriptor::EXPLICIT);
}
