//! Prepares packets for the NIC: chooses the context, the message and the message's identity.
//!
//! A packet is matched when it arrives, so that a rule holds from the cycle in which it is installed.

use crate::experiment::{Checked, CheckedContext, CheckedSource, Common};
use crate::handlers::message_ids::{Message, MessageIds};
use crate::handlers::packets::Row;
use crate::handlers::record::SharedRecord;
use crate::handlers::rules::Rules;
use crate::streams::{Coming, FeedError, FeedReport, Stream};
use kernel::{Clock, Cycle};
use pspin::PspinParams;
use pspin::delivery::DropReason;
use pspin::protocol::Kill;
use pspin::world::{Arrival, PacketSource};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use wire::layers::Layers;
use wire::message::{Classifier, FlowIndex};
use wire::source::SourceError;

/// The progress of a feed.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeedStatus {
    /// When the next packet arrives.
    pub waiting: Option<Cycle>,
    /// True if no more packets come, unless a stream is added.
    pub is_over: bool,
    /// True if packets would have come after the limit.
    pub is_cut: bool,
    /// Messages whose last packet has not arrived.
    pub open_messages: usize,
}

/// The NIC's source of packets. Packets without a rule bypass the handlers, and the record counts them.
pub struct Feed {
    /// The sources of the experiment come first; they are kept for their reports.
    streams: Vec<Stream>,
    n_sources: usize,
    /// The rules that assign packets to contexts.
    pub rules: Rules,
    /// Identities of messages.
    pub ids: MessageIds,
    clock: Clock,
    /// Least number of cycles from one packet to the next that the NIC takes.
    gap: u64,
    /// No packet arrives after this cycle.
    limit: Cycle,
    /// When traffic starts: the first cycle in which the NIC can take a packet.
    start: Option<Cycle>,
    /// No packet arrives before this cycle, unless a stream is added. The NIC asks in most cycles. Until this cycle,
    /// the answer needs no search.
    quiet_until: Cycle,
    status: FeedStatus,
    record: SharedRecord,
    n_queues: u32,
    /// Messages that timed out in the NIC: the cycle in which the host was notified, the identity, and the number of requests that the queue had received.
    timed_out: VecDeque<(Cycle, u16, u64)>,
}

/// The NIC takes packets from it; between two runs the driver may read and change it.
pub type SharedFeed = Rc<RefCell<Feed>>;

impl Feed {
    /// A feed without traffic and rules, for a NIC with these message queues.
    pub fn new(nic: &PspinParams, gap: u64, limit: Cycle, record: SharedRecord) -> Self {
        let (n_queues, reserved) = (nic.scheduler.n_mpqs, nic.sharing.reserved_queues);
        let (clock, ids) = (record.borrow().clock, MessageIds::new(n_queues, reserved));
        let (streams, n_sources, rules, quiet_until, status, timed_out) = Default::default();
        let start = None;
        Feed {
            streams,
            n_sources,
            rules,
            ids,
            clock,
            gap,
            limit,
            start,
            quiet_until,
            status,
            record,
            n_queues,
            timed_out,
        }
    }

    /// Adds packets; those of one cycle come in the order in which their streams were added.
    pub fn add(&mut self, stream: Stream) {
        self.status.is_over = false;
        self.quiet_until = 0;
        self.streams.push(stream);
    }

    /// Adds a source of the experiment, before all other packets.
    pub fn add_source(&mut self, stream: Stream) {
        self.n_sources += 1;
        self.add(stream);
    }

    /// Records that the NIC has reported a timeout of a message.
    pub fn gave_up(&mut self, at: Cycle, msgid: u16, received: u64) {
        self.timed_out.push_back((at, msgid, received));
    }

    /// Ends messages that timed out before this cycle: their identities are free, and further packets of their flows
    /// begin new messages. If a packet was on its way when its message timed out, it begins the message again in the
    /// NIC.
    pub fn end_given_up(&mut self, now: Cycle) {
        while let Some(&(_, msgid, received)) = self.timed_out.front().filter(|&&(at, ..)| at < now) {
            self.timed_out.pop_front();
            let queue = u32::from(msgid) % self.n_queues;
            if self.record.borrow().window.n_unreceived(queue, self.n_queues, received) > 0 {
                continue;
            }
            if let Some((rule, message)) = self.ids.give_up(msgid) {
                self.rules.give_up(rule, message);
            }
        }
    }

    /// Its progress.
    pub fn status(&self) -> FeedStatus {
        FeedStatus { open_messages: self.ids.n_open(), ..self.status }
    }

    /// Returns true if all added packets have been taken.
    pub fn is_over(&self) -> bool {
        self.streams.iter().all(Stream::is_over)
    }

    /// Bytes read of the captures, and their length.
    pub fn file_progress(&self) -> Option<(u64, u64)> {
        let files = self.streams[..self.n_sources].iter().filter_map(Stream::file_progress);
        files.reduce(|sum, file| (sum.0 + file.0, sum.1 + file.1))
    }

    /// The stream with the earliest next packet, and the time of that packet.
    fn next_stream(&mut self) -> Result<Option<(usize, Cycle)>, SourceError> {
        self.forget_what_is_over();
        let record = &self.record;
        let ready = *self.start.get_or_insert_with(|| record.borrow_mut().traffic_starts());
        let mut next = None;
        for (i, stream) in self.streams.iter_mut().enumerate() {
            if let Some(arrival) = stream.arrival(self.clock, ready)? {
                if arrival > self.limit {
                    stream.cut();
                    self.status.is_cut = true;
                } else if next.is_none_or(|(_, first)| arrival < first) {
                    next = Some((i, arrival));
                }
            }
        }
        self.status.waiting = next.map(|(_, arrival)| arrival);
        self.status.is_over = next.is_none();
        Ok(next)
    }

    /// Removes finished streams, except the sources of the experiment, whose reports are still needed.
    fn forget_what_is_over(&mut self) {
        let (n_sources, mut n) = (self.n_sources, 0);
        self.streams.retain(|stream| {
            n += 1;
            n <= n_sources || !stream.is_over()
        });
    }

    /// The next arrived packet for a context. Earlier packets without a context bypass the handlers.
    fn next_matched(&mut self, now: Cycle) -> Result<Option<Arrival>, SourceError> {
        while let Some((stream, arrival)) = self.next_stream()? {
            if arrival > now {
                self.quiet_until = arrival;
                break;
            }
            let coming = self.streams[stream].take().expect("its arrival is known");
            let source = (stream < self.n_sources).then_some(stream as u16);
            if let Some(arrival) = self.matched(now, source, coming, arrival) {
                return Ok(Some(arrival));
            }
        }
        Ok(None)
    }

    /// The packet as the NIC sees it, if a context takes it.
    fn matched(&mut self, now: Cycle, source: Option<u16>, coming: Coming, arrival: Cycle) -> Option<Arrival> {
        let Coming { index, bytes, .. } = coming;
        let mut record = self.record.borrow_mut();
        record.frame_in(bytes.len());
        let layers = Layers::parse(&bytes);
        let Some(rule) = self.rules.find(&bytes, &layers) else {
            record.ordinary(now, source, index, arrival, &bytes);
            return None;
        };
        let verdict = rule.classifier.classify(&bytes, &layers);
        let message = Message { tenant: rule.tenant, rule: rule.id, number: verdict.message };
        let (context_idx, context, copy_bytes) = (rule.context_idx, rule.context.clone(), rule.copy_bytes);
        record.window.finished_since().for_each(|msgid| self.ids.finished(msgid));
        let evicts = self.ids.to_evict(message, self.rules.tenants()).map(|(rule, number, msgid)| {
            self.ids.give_up(msgid);
            let (context_idx, context) = self.rules.context(rule).expect("a rule stays while a message of it is open");
            record.stats.contexts[context_idx].evicted += 1;
            self.rules.give_up(rule, number);
            let error_addr = context.protection.error_addr;
            Kill { msgid, reason: DropReason::MessageEvicted, context: context.id, error_addr }
        });
        let id = self.ids.of(message, verdict.is_last, self.rules.tenants());
        record.matched(context_idx, bytes.len(), &verdict, id.is_some());
        self.rules.drop_ended();
        let Some(msgid) = id else {
            record.ordinary(now, source, index, arrival, &bytes);
            return None;
        };
        let size = bytes.len() as u32;
        let packet = record.window.inside.next();
        if let Some(paths) = &mut record.paths {
            paths.enter(packet, &bytes);
        }
        if let Some(drops) = &mut record.drops {
            drops.inside.insert(packet, bytes.clone());
        }
        let user = record.window.inside.enter(Box::new(Row {
            packet,
            source,
            frame: index,
            bytes: size,
            context: context_idx,
            message: verdict.message,
            msgid,
            is_last: verdict.is_last,
            arrival,
            ..Row::default()
        }));
        let xfer_size = copy_bytes.unwrap_or(size).min(size);
        let (gap, eom) = (self.gap, verdict.is_last);
        let som = verdict.is_header;
        Some(Arrival { earliest: arrival, gap, bytes, msgid, som, eom, xfer_size, context, evicts, user })
    }

    /// The reports of the experiment's sources.
    pub fn reports(&self) -> Vec<FeedReport> {
        self.streams[..self.n_sources].iter().map(Stream::report).collect()
    }
}

/// A feed as the NIC sees it.
pub struct Source(pub SharedFeed);

impl PacketSource for Source {
    fn next(&mut self, now: Cycle) -> Option<Arrival> {
        let mut feed = self.0.borrow_mut();
        feed.end_given_up(now);
        if now < feed.quiet_until {
            return None;
        }
        feed.next_matched(now).unwrap_or_else(|error| {
            feed.streams.clear();
            feed.record.borrow_mut().fail(error.into());
            None
        })
    }

    fn next_at(&mut self) -> Option<Cycle> {
        self.0.borrow().status.waiting
    }
}

/// The classifier of each context of an experiment. Messages that end with the last packet of a flow need a first pass
/// over the traffic.
pub fn classifiers(checked: &Checked) -> Result<Vec<Classifier>, FeedError> {
    let contexts = &checked.contexts;
    let mut indices: Vec<FlowIndex> = contexts.iter().map(|context| FlowIndex::new(context.message.clone())).collect();
    if contexts.iter().any(|context| context.message.needs_index()) {
        for mut stream in traffic(checked)? {
            while let Some(Coming { bytes, .. }) = stream.read()? {
                let layers = Layers::parse(&bytes);
                if let Some(index) = first_context(contexts, &bytes, &layers) {
                    indices[index].add(&bytes, &layers);
                }
            }
        }
    }
    Ok(indices.into_iter().map(FlowIndex::into_classifier).collect())
}

/// The first context of an experiment that takes a packet.
pub fn first_context(contexts: &[CheckedContext], packet: &[u8], layers: &Layers) -> Option<usize> {
    contexts.iter().position(|context| match &context.matcher {
        Some(matcher) => matcher.matches_layers(packet, layers),
        None => true,
    })
}

/// The sources of an experiment, from when the NIC is ready.
pub fn traffic(checked: &Checked) -> Result<Vec<Stream>, FeedError> {
    let Common { faults, seed, .. } = &checked.experiment.common;
    let clock = Clock::new(checked.nic.clock_mhz.freq().expect("the card is checked"));
    let open = |(i, source): (u64, &CheckedSource)| {
        let start = source.start.map(|start| clock.cycle_at_or_after(start));
        let network = (faults.0, seed.wrapping_add(i));
        Stream::open(&source.traffic, source.pacing, source.count, network, start)
    };
    (0..).zip(&checked.sources).map(open).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handlers::record::Record;
    use crate::handlers::stats::Stats;
    use kernel::{Freq, Time};
    use wire::faults::Faults;

    #[test]
    fn streams_that_are_over_are_forgotten() {
        let clock = Clock::new(Freq::mhz(1000).expect("a clock"));
        let record = Rc::new(RefCell::new(Record::new(clock, Stats::new(1), None)));
        let nic = crate::nics::load("pspin", &[], std::path::Path::new(".")).expect("a preset");
        let mut source = Source(Rc::new(RefCell::new(Feed::new(&nic, 0, Cycle::MAX, record.clone()))));
        for cycle in (1..1000).step_by(10) {
            let packet = (Time::ZERO, vec![0; 60].into());
            source.0.borrow_mut().add(Stream::made(vec![packet], (Faults::NONE, 0), cycle));
            assert!(!source.0.borrow().is_over());
            // No rule takes it: it bypasses the handlers, and the NIC gets no packet.
            assert!(source.next(cycle + 5).is_none());
            let feed = source.0.borrow();
            assert!(feed.is_over() && feed.streams.len() <= 2, "{} streams", feed.streams.len());
        }
        assert_eq!(record.borrow().stats.ordinary.packets, 100);
    }
}
