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
    pub const BEGIN: u8 = 1;
    pub const END: u8 = 2;
    pub const COUNTER: u8 = 4;
    pub const ANNOTATION_NAME: u32 = 1;
    pub const ANNOTATION_UINT: u32 = 3;
}

/// Names of annotations, in the order of their numbers.
const ANNOTATIONS: [&str; 4] = ["packet", "message", "waits for packet", "takes ps"];

/// A message that is being written.
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
}

/// Number of buffered bytes from which on the buffer is written to the file.
const WRITE: usize = 1 << 16;
/// Maximum size of an event, in bytes.
const MOST_EVENT: usize = 256;
/// Room for an event and for unused bytes after it, in bytes.
const ROOM: usize = MOST_EVENT + 32;

/// The first byte of a field with a number, with 8 bytes, or with a length. Larger numbers of fields take two bytes.
const fn tag(field: u32, wire: u32) -> u8 {
    assert!(field < 16, "the field has a number of 4 bits");
    (field << 3 | wire) as u8
}

/// The same in two bytes.
const fn long_tag(field: u32, wire: u32) -> [u8; 2] {
    assert!(field >= 16 && field < 1 << 11, "the field has a number of 5 to 11 bits");
    [(field << 3 & 0x7f | wire | 0x80) as u8, (field >> 4) as u8]
}

/// Position of the type in [`Prefix::of_track`].
const TYPE_AT: u8 = 1;
const VARINT: u32 = 0;
const FIXED: u32 = 1;
const LENGTH: u32 = 2;

/// Bytes that several events share. They are copied as a whole, because copies of fixed length are fast.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix<const N: usize = 16> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Default for Prefix<N> {
    fn default() -> Self {
        Prefix { bytes: [0; N], len: 0 }
    }
}

impl Prefix {
    /// A prefix of numbers, each with its field.
    fn of<const N: usize>(numbers: [(u32, u64); N]) -> Prefix {
        let mut prefix = Prefix::default();
        for (field, number) in numbers {
            prefix.varint(u64::from(field) << 3);
            prefix.varint(number);
        }
        prefix
    }

    /// The type of an event, to be filled in, and its track.
    fn of_track(id: u64) -> Prefix {
        Prefix::of([(event::TYPE, 0), (event::TRACK, id)])
    }
}

impl<const N: usize> Prefix<N> {
    fn byte(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    fn varint(&mut self, mut number: u64) {
        while number > 0x7f {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }
}

/// The annotations that all slices of a packet have: its number, and its message if there is one.
pub(super) type About = Prefix<32>;

/// The annotations of a packet.
pub(super) fn about(packet: u64, message: Option<u64>) -> About {
    let mut about = About::default();
    for (iid, value) in [(1, Some(packet)), (2, message)] {
        let Some(value) = value else { continue };
        let start = about.len;
        let [all, name, number] = ANNOTATION_TAGS;
        [all, 0, name, iid, number].into_iter().for_each(|byte| about.byte(byte));
        about.varint(value);
        about.bytes[start + 1] = (about.len - start - 2) as u8;
    }
    about
}

/// First bytes of an annotation, of its name and of its value.
const ANNOTATION_TAGS: [u8; 3] =
    [tag(event::ANNOTATION, LENGTH), tag(event::ANNOTATION_NAME, VARINT), tag(event::ANNOTATION_UINT, VARINT)];

/// An event that is written in place. Several bytes are written at once, and the last ones may be unused. The length
/// has a small type, so that the compiler knows that everything fits and omits checks.
struct Event<'a> {
    bytes: &'a mut [u8; ROOM],
    len: u8,
}

impl Event<'_> {
    /// Writes bytes. Only the first `n` of them are used.
    #[inline(always)]
    fn put<const N: usize>(&mut self, bytes: [u8; N], n: usize) {
        const { assert!(N <= ROOM - MOST_EVENT, "there is room behind the longest event") };
        let at = usize::from(self.len);
        self.bytes[at..at + N].copy_from_slice(&bytes);
        self.len += n as u8;
    }

    #[inline(always)]
    fn prefix<const N: usize>(&mut self, prefix: &Prefix<N>) {
        self.put(prefix.bytes, prefix.len);
    }

    #[inline]
    fn varint(&mut self, number: u64) {
        if number >= 1 << 28 {
            return self.long_varint(number);
        }
        // Seven bits for each byte. All bytes but the last have the highest bit.
        let number = number as u32;
        let spread = number & 0x7f | (number & 0x3f80) << 1 | (number & 0x1f_c000) << 2 | (number & 0xfe0_0000) << 3;
        let n_more = u32::from(number >= 1 << 7) + u32::from(number >= 1 << 14) + u32::from(number >= 1 << 21);
        let more = 0x80_8080 & ((1 << (8 * n_more)) - 1);
        self.put((spread | more).to_le_bytes(), n_more as usize + 1);
    }

    fn long_varint(&mut self, mut number: u64) {
        while number > 0x7f {
            self.put([number as u8 | 0x80], 1);
            number >>= 7;
        }
        self.put([number as u8], 1);
    }

    /// Begins a message. Its length takes two bytes, even if one byte suffices. Returns its position.
    #[inline(always)]
    fn begin(&mut self, tag: u8) -> u8 {
        let at = self.len;
        self.put([tag, 0, 0, 0], 3);
        at
    }

    /// Ends the message at this position.
    #[inline(always)]
    fn end(&mut self, at: u8) {
        let len = self.len - at - 3;
        let at = usize::from(at);
        self.bytes[at + 1..at + 3].copy_from_slice(&[len | 0x80, len >> 7]);
    }

    #[inline(always)]
    fn annotation(&mut self, iid: u8, value: u64) {
        let [all, name, number] = ANNOTATION_TAGS;
        let at = self.len;
        self.put([all, 0, name, iid, number, 0, 0, 0], 5);
        self.varint(value);
        // At most 13 bytes, so the length takes one.
        self.bytes[usize::from(at) + 1] = self.len - at - 2;
    }
}

/// Bytes that are not yet in the file.
struct Buffer {
    bytes: Box<[u8]>,
    len: usize,
}

/// A trace that is being written.
pub struct Perfetto {
    file: File,
    out: Buffer,
    /// The time of the last event in ns, and the first bytes of events at this time.
    moment: (u64, Prefix),
    /// Number of the sequence of packets. Each piece of a trace has its own, because interned names belong to a sequence.
    sequence: u64,
    /// The track that contains all others, in a piece of a trace.
    root: Option<u64>,
    /// The last identity given to a track.
    last_id: u64,
    groups: [Option<u64>; Group::ALL.len() + 1],
    /// The first bytes of events, by track and lane, and by counter. They are empty for those that were not used yet.
    lanes: Vec<Vec<Prefix>>,
    counters: Vec<Prefix>,
    /// A packet that is being written, and a descriptor in it. Kept to reuse their memory.
    scratch: [Message; 2],
}

/// Number of identities of tracks and flows that are reserved for each piece of a trace.
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
            out: Buffer { bytes: vec![0; WRITE + ROOM].into(), len: 0 },
            moment: (u64::MAX, Prefix::default()),
            sequence: first_id(node) / IDS + 1,
            root: None,
            last_id: first_id(node) - 1,
            groups: Default::default(),
            lanes: Vec::new(),
            counters: Vec::new(),
            scratch: Default::default(),
        };
        assert!(categories.len() < 0x7f, "the number of a category takes one byte");
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
        trace.packet(&packet)?;
        if let Some(TracksOfNode { name, number }) = node {
            trace.root = Some(trace.describe(name, None, u64::from(*number), explicit_order)?);
        }
        Ok(trace)
    }

    /// A slice begins.
    #[inline]
    pub fn begin(&mut self, at_ps: u64, track: &Track, slice: &Slice, about: &About) -> io::Result<()> {
        let head = self.lane(track, slice.track, slice.lane)?;
        self.event(at_ps, event::BEGIN, head, |event| {
            event.put([tag(event::CATEGORY, VARINT), slice.stage + 1, tag(event::NAME, VARINT), 0], 3);
            event.varint(u64::from(slice.name) + 1);
            if !slice.is_inner {
                event.prefix(about);
            }
            if let Some(blocker) = slice.blocker {
                event.annotation(3, blocker);
            }
            event.annotation(4, slice.takes_ps);
            if !slice.is_inner {
                let field = if slice.is_last { event::LAST_FLOWS } else { event::FLOWS };
                event.put(long_tag(field, FIXED), 2);
                event.put(slice.flow.to_le_bytes(), 8);
            }
        })
    }

    /// The slice that began last on this lane ends.
    #[inline]
    pub fn end(&mut self, at_ps: u64, track: &Track, number: u32, lane: u32) -> io::Result<()> {
        let head = self.lane(track, number, lane)?;
        self.event(at_ps, event::END, head, |_| {})
    }

    /// A counter has a new value.
    pub fn count(&mut self, at_ps: u64, number: usize, about: &CounterAbout, value: f64) -> io::Result<()> {
        let head = match self.counters.get(number) {
            Some(&head) if head.len > 0 => head,
            _ => self.describe_counter(number, about)?,
        };
        self.event(at_ps, event::COUNTER, head, |event| match about.unit {
            Unit::Packets | Unit::Bytes => {
                event.put(long_tag(event::COUNTER_VALUE, VARINT), 2);
                event.varint(value as u64);
            }
            Unit::Named(_) => {
                event.put(long_tag(event::DOUBLE_COUNTER_VALUE, FIXED), 2);
                event.put(value.to_bits().to_le_bytes(), 8);
            }
        })
    }

    /// Describes a counter that is used for the first time. Returns the first bytes of its events.
    #[cold]
    fn describe_counter(&mut self, number: usize, about: &CounterAbout) -> io::Result<Prefix> {
        let parent = self.group(COUNTERS, "counters")?;
        let id = self.describe(&about.name, Some(parent), number as u64, |descriptor| {
            descriptor.message(descriptor::COUNTER, |counter| match about.unit {
                Unit::Packets => counter.number(descriptor::COUNTER_UNIT, descriptor::UNIT_COUNT),
                Unit::Bytes => counter.number(descriptor::COUNTER_UNIT, descriptor::UNIT_BYTES),
                Unit::Named(name) => counter.bytes(descriptor::COUNTER_UNIT_NAME, name.as_bytes()),
            });
        })?;
        if self.counters.len() <= number {
            self.counters.resize(number + 1, Prefix::default());
        }
        let head = Prefix::of_track(id);
        self.counters[number] = head;
        Ok(head)
    }

    /// Writes all buffered bytes.
    pub fn finish(&mut self) -> io::Result<()> {
        self.file.write_all(&self.out.bytes[..self.out.len])?;
        self.out.len = 0;
        Ok(())
    }

    /// The first bytes of a lane's events. The lane is described when it is used first.
    #[inline]
    fn lane(&mut self, track: &Track, number: u32, lane: u32) -> io::Result<Prefix> {
        let (number, lane) = (number as usize, lane as usize);
        match self.lanes.get(number).and_then(|lanes| lanes.get(lane)) {
            Some(&head) if head.len > 0 => Ok(head),
            _ => self.describe_lane(track, number, lane),
        }
    }

    #[cold]
    fn describe_lane(&mut self, track: &Track, number: usize, lane: usize) -> io::Result<Prefix> {
        if self.lanes.len() <= number {
            self.lanes.resize_with(number + 1, Vec::new);
        }
        if self.lanes[number].len() <= lane {
            self.lanes[number].resize(lane + 1, Prefix::default());
        }
        let parent = self.group(track.group as usize, track.group.word())?;
        let id = self.describe(&track.name, Some(parent), u64::from(track.rank), |_| {})?;
        let head = Prefix::of_track(id);
        self.lanes[number][lane] = head;
        Ok(head)
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
        let (id, [mut packet, mut descriptor]) = (self.last_id, std::mem::take(&mut self.scratch));
        descriptor.number(descriptor::UUID, id);
        descriptor.bytes(descriptor::NAME, name.as_bytes());
        if let Some(parent) = parent {
            descriptor.number(descriptor::PARENT, parent);
        }
        descriptor.number(descriptor::RANK, rank);
        more(&mut descriptor);
        packet.number(packet::SEQUENCE, self.sequence);
        packet.bytes(packet::TRACK_DESCRIPTOR, &descriptor.0);
        let written = self.packet(&packet);
        packet.0.clear();
        descriptor.0.clear();
        self.scratch = [packet, descriptor];
        written.map(|()| id)
    }

    /// Writes a packet of any length.
    fn packet(&mut self, packet: &Message) -> io::Result<()> {
        let mut head = Prefix::<16>::default();
        head.byte(tag(PACKET, LENGTH));
        head.varint(packet.0.len() as u64);
        for part in std::iter::once(&head.bytes[..head.len]).chain(packet.0.chunks(MOST_EVENT)) {
            self.write_full()?;
            self.out.bytes[self.out.len..self.out.len + part.len()].copy_from_slice(part);
            self.out.len += part.len();
        }
        self.write_full()
    }

    /// Writes the buffer to the file, if the next event might have no room.
    #[inline]
    fn write_full(&mut self) -> io::Result<()> {
        if self.out.len >= WRITE { self.finish() } else { Ok(()) }
    }

    #[inline]
    fn event(&mut self, at_ps: u64, kind: u8, head: Prefix, fill: impl FnOnce(&mut Event)) -> io::Result<()> {
        let ns = at_ps / 1000;
        if self.moment.0 != ns {
            let (flags, sequence) = ((packet::SEQUENCE_FLAGS, NEEDS_STATE), (packet::SEQUENCE, self.sequence));
            self.moment = (ns, Prefix::of([(packet::TIMESTAMP, ns), sequence, flags]));
        }
        let Buffer { bytes, len } = &mut self.out;
        let bytes = bytes[*len..].first_chunk_mut().expect("a full buffer is written at once");
        let mut out = Event { bytes, len: 0 };
        let packet = out.begin(tag(PACKET, LENGTH));
        out.prefix(&self.moment.1);
        let event = out.begin(tag(packet::TRACK_EVENT, LENGTH));
        let kind_at = usize::from(out.len + TYPE_AT);
        out.prefix(&head);
        out.bytes[kind_at] = kind;
        fill(&mut out);
        out.end(event);
        out.end(packet);
        *len += usize::from(out.len);
        self.write_full()
    }
}

/// The tracks below a descriptor are shown by rank.
fn explicit_order(descriptor: &mut Message) {
    descriptor.number(descriptor::ORDERING, descriptor::EXPLICIT);
}
