//! Every frame of a run: when it was given to the card and when it came out, as a table and as captures.

use super::card::{WiredCard, WiredError};
use super::paths::{Recorded, Traced};
use crate::captured::CaptureFile;
use crate::columns::{Column, Columns, Kind};
use crate::digest::{Digest, Stream};
use blocks::feeders::{Passage, Verdict};
use kernel::Time;
use std::collections::BTreeMap;
use std::path::Path;

/// Capture of what came out at the network, in the output folder.
pub const SENT: &str = "sent.pcapng";
/// Capture of what came out at the host.
pub const RECEIVED: &str = "received.pcapng";

/// Columns of the table.
pub const FRAME_COLUMNS: &[Column] = &[
    Column {
        name: "packet",
        kind: Kind::U64,
        about: "its number in the table; the tables of other kinds of cards have it, too",
    },
    Column { name: "way", kind: Kind::U8, about: "from host to network, or from network to host" },
    Column { name: "frame", kind: Kind::I64, about: "its number in the traffic; none if it was never offered" },
    Column { name: "bytes", kind: Kind::U32, about: "its length without check sequence" },
    Column { name: "given_ps", kind: Kind::I64, about: "when it was given to the card, in picoseconds" },
    Column { name: "out_ps", kind: Kind::I64, about: "when it came out of the card" },
    Column { name: "latency_ps", kind: Kind::I64, about: "between the two" },
];

/// The directions.
pub(super) const WAYS: [&str; 2] = ["sent", "received"];

/// Words for the numbers of a column.
pub fn words(column: &str) -> Vec<&'static str> {
    if column == "way" { WAYS.to_vec() } else { Vec::new() }
}

/// When frames of a direction passed: into the card and out of it.
#[derive(Default)]
pub(super) struct Passages {
    pub given: Vec<Passage>,
    pub out: Vec<Passage>,
    /// Frames that came out, including those whose passage was not stored because the log was full.
    pub frames: u64,
}

impl WiredCard {
    /// Frames from the host to the network, and in the other direction, in simulated time.
    pub(super) fn passages(&self) -> [Passages; 2] {
        let mut ways = self.passages_on_card();
        for passages in ways.iter_mut().flat_map(|way| [&mut way.given, &mut way.out]) {
            passages.iter_mut().for_each(|passage| passage.at = self.simulated(passage.at));
        }
        ways
    }

    /// The same by the card's clock, without skipped idle time.
    fn passages_on_card(&self) -> [Passages; 2] {
        let (mut sent, mut received) = (Passages::default(), Passages::default());
        for sink in &self.sinks {
            let sink = sink.borrow();
            sent.out.extend_from_slice(sink.log().kept());
            sent.frames += sink.log().frames();
        }
        for host in &self.hosts {
            let host = host.borrow();
            received.out.extend_from_slice(host.received().kept());
            received.frames += host.received().frames();
            sent.given.extend_from_slice(host.posted().kept());
        }
        for feeder in &self.feeders {
            received.given.extend_from_slice(feeder.borrow().log().kept());
        }
        // With several sides, each log is in order, but they overlap in time.
        for passages in [&mut sent.given, &mut sent.out, &mut received.given, &mut received.out] {
            passages.sort_by_key(|passage| passage.at);
        }
        [sent, received]
    }

    /// The table of frames: a row for each frame that was given to the card, and one for each further frame that came
    /// out, which is a second copy or an unknown frame. Milestones that a frame did not reach are -1.
    pub fn frame_table(&self) -> Vec<(&'static str, Vec<u8>)> {
        self.frames_given().0
    }

    /// The table of frames, and all frames that were given to the card.
    pub(super) fn frames_given(&self) -> (Vec<(&'static str, Vec<u8>)>, Vec<Traced>) {
        let (mut columns, mut traced, mut row) = (Columns::new(FRAME_COLUMNS), Vec::new(), 0);
        let ps = |time: Option<Time>| time.map_or(-1, |time| self.simulated(time).ps() as i64);
        let sides = [&self.sides.host, &self.sides.network];
        for ((way, passages), side) in (0..).zip(self.passages_on_card()).zip(sides) {
            let number = |id: Option<u64>| id.map_or(-1, |id| side.number(id) as i64);
            let (mut out, mut others) = (BTreeMap::new(), Vec::new());
            for passage in &passages.out {
                match passage.id {
                    Some(id) if !out.contains_key(&id) => drop(out.insert(id, passage.at)),
                    _ => others.push(passage),
                }
            }
            for given in &passages.given {
                let end = given.id.and_then(|id| out.remove(&id));
                let latency = end.filter(|&end| end >= given.at).map_or(-1, |end| ps(Some(end)) - ps(Some(given.at)));
                columns.push(&[row, way, number(given.id), given.bytes.into(), ps(Some(given.at)), ps(end), latency]);
                let is_received = way == 1;
                traced.extend(given.id.map(|id| Traced {
                    row: row as u64,
                    is_received,
                    id,
                    bytes: given.bytes,
                    given: given.at,
                    out: end,
                }));
                row += 1;
            }
            for other in others {
                columns.push(&[row, way, number(other.id), other.bytes.into(), -1, ps(Some(other.at)), -1]);
                row += 1;
            }
        }
        (columns.take(), traced)
    }

    /// The digest of the frames that came out of the card: direction, number, length and time of each logged frame, and
    /// the count of all.
    pub(super) fn frames_digest(&self) -> String {
        let mut digest = Digest::default();
        for (passages, stream) in self.passages().iter().zip([Stream::Out, Stream::Host]) {
            digest.add(stream, &[passages.frames], &[]);
            for passage in &passages.out {
                digest.add(stream, &[passage.id.unwrap_or(u64::MAX), passage.bytes.into(), passage.at.fs()], &[]);
            }
        }
        digest.to_hex()
    }

    /// Writes the frames that came out of the card into `folder`, if there is one: at the network, and at the host.
    /// Frames at the network are also written to the caller's file.
    ///
    /// Unmodified frames keep their original bytes. Of unknown frames, the checkers keep the first few with their
    /// bytes; the rest are left out, and so are acknowledgements if some were lost.
    pub fn write_captures(&self, folder: Option<&Path>) -> Result<(), WiredError> {
        let [sent, received] = self.passages();
        let mut at_network = BTreeMap::new();
        let mut at_host = BTreeMap::new();
        let note = |strange: &mut BTreeMap<(Time, u32), Vec<u8>>, checker: &blocks::feeders::Checker| {
            for mismatch in checker.mismatches().iter().filter(|mismatch| mismatch.verdict == Verdict::Unknown) {
                strange.insert((self.simulated(mismatch.at), mismatch.bytes.len() as u32), mismatch.bytes.clone());
            }
        };
        self.sinks.iter().for_each(|sink| note(&mut at_network, sink.borrow().checker()));
        self.hosts.iter().for_each(|host| note(&mut at_host, host.borrow().checker()));
        // Acknowledgements have no numbers in the log. As long as frames arrive in order, each is the expected one.
        let in_order = |checker: &blocks::feeders::Checker| checker.lost() == 0 && checker.late() == 0;
        let mut replies = self
            .offered
            .replies
            .filter(|_| self.sinks.iter().all(|sink| sink.borrow().replies().is_none_or(in_order)))
            .map(|row| (0..).map(move |id| row.frame(id)));
        for passage in sent.out.iter().filter(|passage| passage.id.is_none()) {
            if let Some(replies) = &mut replies {
                at_network.entry((passage.at, passage.bytes)).or_insert_with(|| replies.next().unwrap_or_default());
            }
        }
        let given = [&sent.given, &received.given].map(|passages| {
            let given = |passage: &Passage| Some((passage.id?, passage.at));
            passages.iter().filter_map(given).collect::<BTreeMap<u64, Time>>()
        });
        for path in folder.iter().map(|folder| folder.join(SENT)).chain(self.wanted.sent.clone()) {
            self.write(&path, "network", &sent.out, &given[0], &at_network)?;
        }
        for path in folder.iter().map(|folder| folder.join(RECEIVED)) {
            self.write(&path, "host", &received.out, &given[1], &at_host)?;
        }
        Ok(())
    }

    /// Writes the frames from the network that receivers dropped, each with the reason.
    pub(super) fn write_drops(&self, folder: &Path, recorded: &Recorded) -> Result<(), WiredError> {
        let (mut capture, about) = (CaptureFile::of_drops(folder)?, super::drops());
        for (at, id, reason) in recorded.drops() {
            let Some(frame) = self.offered.network.frames.frame(id) else { continue };
            let about = about.iter().find(|(name, _)| *name == reason).map_or("", |(_, about)| about.as_str());
            let number = self.sides.network.number(id);
            let comment = format!("frame {number} from the network: dropped: {reason}: {about}");
            capture.write("network", self.simulated(at).ns(), &frame.bytes, Some(&comment))?;
        }
        Ok(capture.flush()?)
    }

    /// Writes frames that came out at a place, with their times in the card. `given` has the times at which the card
    /// got them.
    fn write(
        &self,
        path: &Path,
        place: &str,
        passages: &[Passage],
        given: &BTreeMap<u64, Time>,
        strange: &BTreeMap<(Time, u32), Vec<u8>>,
    ) -> Result<(), WiredError> {
        let mut capture = CaptureFile::create(path, &format!("frames at the {place}, in simulated time since reset"))?;
        capture.add_interface(place)?;
        let (side, from) = match place {
            "network" => ((&self.offered.host, &self.sides.host), "host"),
            _ => ((&self.offered.network, &self.sides.network), "network"),
        };
        for passage in passages {
            let known = passage.id.and_then(|id| side.0.frames.frame(id)).map(|frame| frame.bytes);
            let comment = match passage.id.filter(|_| known.is_some()) {
                None => "not of the traffic that was offered".to_owned(),
                Some(id) => {
                    let number = side.1.number(id);
                    let times = given.get(&id).filter(|&&given| given <= passage.at).map_or(String::new(), |&given| {
                        format!(", {} ns in the card", (passage.at - given).ps() as f64 / 1e3)
                    });
                    format!("frame {number} from the {from}{times}, came out at the {place}")
                }
            };
            let bytes =
                known.or_else(|| strange.get(&(passage.at, passage.bytes)).map(|bytes| bytes.as_slice().into()));
            if let Some(bytes) = bytes {
                capture.write(place, passage.at.ns(), &bytes, Some(&comment))?;
            }
        }
        Ok(capture.flush()?)
    }
}
