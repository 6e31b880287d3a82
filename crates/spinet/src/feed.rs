//! From traffic to the NIC: which context a packet goes to, which message it belongs to, which identity that has.

use crate::experiment::{Checked, CheckedContext, PlacedContext, Traffic};
use crate::packets::Row;
use crate::record::SharedRecord;
use kernel::{Clock, Cycle, Time};
use pspin::protocol::Context;
use pspin::world::{Arrival, PacketSource};
use std::cell::Cell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::rc::Rc;
use wire::capture::{CaptureCounts, CaptureLimits, CaptureReader};
use wire::layers::Layers;
use wire::message::{Classifier, FlowIndex};
use wire::pacing::PacingCounts;
use wire::source::{CaptureSource, Frame, Source, SourceError};
use wire::traffic::{Generator, TrafficError};

/// Traffic that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The capture or the pace.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The generator.
    #[error(transparent)]
    Generator(#[from] TrafficError),
}

/// Identities of messages: 10 bits. Source: PsPIN RTL a49fec8, pspin_cfg_pkg.sv, C_MSGID_WIDTH.
const N_IDS: u32 = 1024;

/// Gives messages their identities in the NIC.
///
/// Identities are given in turn, so that messages spread over queues and home clusters. One whose queue belongs to a
/// message that still waits for its last packet is passed over, since a queue holds one message at a time and knows
/// packets by their queue alone. When every queue is so taken the message gets none.
pub struct MessageIds {
    next: u32,
    /// For each queue, whether it belongs to a message whose last packet has not come.
    taken: Vec<bool>,
    /// Messages whose last packet has not come, by context and number.
    open: HashMap<(usize, u64), Option<u16>>,
}

impl MessageIds {
    /// Identities for a NIC of so many queues.
    pub fn new(n_queues: u32) -> Self {
        MessageIds { next: 0, taken: vec![false; n_queues as usize], open: HashMap::new() }
    }

    /// The identity of a message for one of its packets; `None` if no queue was free when it began.
    pub fn of(&mut self, context: usize, message: u64, is_last: bool) -> Option<u16> {
        let key = (context, message);
        let id = match self.open.get(&key) {
            Some(id) => *id,
            None => self.take(),
        };
        let queue = id.map(|id| usize::from(id) % self.taken.len());
        if is_last {
            self.open.remove(&key);
        } else {
            self.open.insert(key, id);
        }
        if let Some(queue) = queue {
            self.taken[queue] = !is_last;
        }
        id
    }

    fn take(&mut self) -> Option<u16> {
        let n = self.taken.len() as u32;
        let free = (0..n).map(|k| (self.next + k) % N_IDS).find(|id| !self.taken[(id % n) as usize])?;
        self.next = (free + 1) % N_IDS;
        Some(free as u16)
    }

    /// Messages whose last packet has not come.
    pub fn n_open(&self) -> usize {
        self.open.len()
    }
}

/// A file that tells how far it was read.
pub struct Counted {
    file: File,
    read: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.read.set(self.read.get() + n as u64);
        Ok(n)
    }
}

/// Either kind of traffic.
pub(crate) enum Packets {
    Capture(Box<CaptureSource<Counted>>),
    Generator(Box<Generator>),
}

impl Packets {
    pub(crate) fn open(checked: &Checked, read: Rc<Cell<u64>>) -> Result<(Self, u64), FeedError> {
        match &checked.traffic {
            Traffic::Capture(path, snapped) => {
                let name = path.display().to_string();
                let open = |source| wire::capture::CaptureError::Open { file: name.clone(), source };
                let file = File::open(path).map_err(|e| SourceError::from(open(e)))?;
                let len = file.metadata().map_or(0, |metadata| metadata.len());
                let reader = CaptureReader::new(Counted { file, read }, name.clone(), CaptureLimits::default());
                let source = CaptureSource::new(reader.map_err(SourceError::from)?, checked.pacing, *snapped);
                Ok((Packets::Capture(Box::new(source)), len))
            }
            Traffic::Generator(spec) => {
                Ok((Packets::Generator(Box::new(Generator::new((**spec).clone(), checked.pacing)?)), 0))
            }
        }
    }

    pub(crate) fn next(&mut self) -> Result<Option<Frame<'_>>, SourceError> {
        match self {
            Packets::Capture(source) => source.next(),
            Packets::Generator(source) => source.next(),
        }
    }
}

struct FeedContext {
    checked: CheckedContext,
    classifier: Classifier,
    context: Rc<Context>,
}

/// The NIC's source of packets. What no context takes goes the ordinary way, which is the record's business.
pub struct Feed {
    packets: Packets,
    contexts: Vec<FeedContext>,
    ids: MessageIds,
    clock: Clock,
    gap: u64,
    /// Packets that may still come.
    left: u64,
    /// Nothing arrives after this cycle.
    limit: Cycle,
    /// When traffic starts: the first cycle in which the NIC can take a packet.
    start: Option<Cycle>,
    status: Rc<Cell<FeedStatus>>,
    record: SharedRecord,
}

/// How far a feed is.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeedStatus {
    /// When the packet that waits at the NIC arrives.
    pub waiting: Option<Cycle>,
    /// No packet comes any more.
    pub is_over: bool,
    /// Packets would have come after the limit.
    pub is_cut: bool,
    /// Messages whose last packet has not come.
    pub open_messages: usize,
}

/// What a feed leaves for the report.
pub struct FeedReport {
    /// What was in the capture, and why reading it stopped early.
    pub capture: Option<(CaptureCounts, Option<String>)>,
    /// What was done to times.
    pub pacing: PacingCounts,
}

impl Feed {
    /// The traffic of an experiment.
    pub fn new(
        checked: &Checked,
        placed: &[PlacedContext],
        limit: Cycle,
        record: SharedRecord,
        progress: &FeedProgress,
    ) -> Result<Self, FeedError> {
        let count = checked.experiment.traffic.count.unwrap_or(u64::MAX);
        let classifiers = classifiers(checked)?;
        let contexts = checked.contexts.iter().zip(classifiers).zip(placed);
        let contexts = contexts.map(|((checked, classifier), placed)| FeedContext {
            checked: checked.clone(),
            classifier,
            context: placed.context.clone(),
        });
        let contexts = contexts.collect();
        let (packets, file_len) = Packets::open(checked, progress.read.clone())?;
        let clock = record.borrow().clock;
        progress.file_len.set(file_len);
        Ok(Feed {
            packets,
            contexts,
            ids: MessageIds::new(checked.nic.scheduler.n_mpqs),
            clock,
            gap: checked.experiment.traffic.gap_cycles,
            left: count,
            limit,
            start: None,
            status: progress.status.clone(),
            record,
        })
    }

    fn update(&self, change: impl FnOnce(&mut FeedStatus)) {
        let mut status = self.status.get();
        change(&mut status);
        self.status.set(status);
    }

    /// The next packet for a context, having sent those before it that are for none the ordinary way.
    fn next_matched(&mut self) -> Result<Option<Arrival>, SourceError> {
        let mut record = self.record.borrow_mut();
        let start = *self.start.get_or_insert_with(|| record.traffic_starts());
        while self.left > 0 {
            let Some(frame) = self.packets.next()? else { break };
            let arrival = self.clock.cycle_at_or_after(Time::from_fs(frame.arrival_fs)).saturating_add(start);
            if arrival > self.limit {
                self.update_cut();
                break;
            }
            self.left -= 1;
            record.frame_in(frame.bytes.len());
            let layers = Layers::parse(frame.bytes);
            let Some(index) = find(&self.contexts, |c| &c.checked, frame.bytes, &layers) else {
                record.ordinary(frame.index, arrival, frame.bytes);
                continue;
            };
            let target = &mut self.contexts[index];
            let verdict = target.classifier.classify(frame.bytes, &layers);
            let id = self.ids.of(index, verdict.message, verdict.is_last);
            record.matched(index, frame.bytes.len(), &verdict, id.is_some());
            let Some(msgid) = id else {
                record.ordinary(frame.index, arrival, frame.bytes);
                continue;
            };
            let bytes: Box<[u8]> = frame.bytes.into();
            let size = bytes.len() as u32;
            let user = record.window.push(Box::new(Row {
                frame: frame.index,
                bytes: size,
                context: index,
                message: verdict.message,
                msgid,
                is_last: verdict.is_last,
                arrival,
                ..Row::default()
            }));
            return Ok(Some(Arrival {
                earliest: arrival,
                gap: self.gap,
                bytes,
                msgid,
                som: None,
                eom: verdict.is_last,
                xfer_size: target.checked.spec.copy_bytes.unwrap_or(size).min(size),
                context: target.context.clone(),
                user,
            }));
        }
        Ok(None)
    }

    fn update_cut(&self) {
        self.update(|status| status.is_cut = true);
    }

    fn report(&self) -> FeedReport {
        match &self.packets {
            Packets::Capture(source) => FeedReport {
                capture: Some((*source.counts(), source.stop().map(|stop| stop.to_string()))),
                pacing: *source.pacing_counts(),
            },
            Packets::Generator(source) => FeedReport { capture: None, pacing: *source.pacing_counts() },
        }
    }
}

/// What tells the messages of each context apart; messages that end with the last packet of a flow need a pass over all of
/// the traffic.
pub(crate) fn classifiers(checked: &Checked) -> Result<Vec<Classifier>, FeedError> {
    let mut left = checked.experiment.traffic.count.unwrap_or(u64::MAX);
    let mut indices: Vec<FlowIndex> =
        checked.contexts.iter().map(|context| FlowIndex::new(context.message.clone())).collect();
    if checked.contexts.iter().any(|context| context.message.needs_index()) {
        let (mut packets, _) = Packets::open(checked, Rc::default())?;
        while let (1.., Some(frame)) = (left, packets.next()?) {
            left -= 1;
            let layers = Layers::parse(frame.bytes);
            if let Some(index) = find(&checked.contexts, |c| c, frame.bytes, &layers) {
                indices[index].add(frame.bytes, &layers);
            }
        }
    }
    Ok(indices.into_iter().map(FlowIndex::into_classifier).collect())
}

/// The first context that takes a packet.
pub(crate) fn find<C>(
    contexts: &[C],
    of: impl Fn(&C) -> &CheckedContext,
    packet: &[u8],
    layers: &Layers,
) -> Option<usize> {
    contexts.iter().position(|context| match &of(context).matcher {
        Some(matcher) => matcher.matches_layers(packet, layers),
        None => true,
    })
}

impl PacketSource for Feed {
    fn next(&mut self, _now: Cycle) -> Option<Arrival> {
        let next = self.next_matched();
        let next = next.unwrap_or_else(|error| {
            self.record.borrow_mut().fail(error.into());
            None
        });
        self.update(|status| {
            status.waiting = next.as_ref().map(|arrival| arrival.earliest);
            status.is_over = next.is_none();
            status.open_messages = self.ids.n_open();
        });
        // The report grows with every packet; it is taken when it can change no more.
        let report = self.report();
        self.record.borrow_mut().feed = Some(report);
        next
    }
}

/// What a run sees of its feed, which the NIC owns.
#[derive(Clone, Default)]
pub struct FeedProgress {
    /// How far it is.
    pub status: Rc<Cell<FeedStatus>>,
    /// Bytes read of the capture.
    pub read: Rc<Cell<u64>>,
    /// Its length; 0 if it is none.
    pub file_len: Rc<Cell<u64>>,
}
