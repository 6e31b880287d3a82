//! The path of each packet through PsPIN, from the NIC's events: what it waits for, and which packet holds that up.

use crate::handlers::packets::{N_STAGES, Row, TaskRow};
use crate::milestones::Inside;
use crate::paths::{self, At, Cause, Path, Step};
use crate::tracks::{Group, Scenery, Track};
use kernel::Cycle;
use pspin::events::{Event, Hold};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::LazyLock;

/// Stages of a path: the packet itself, then its tasks.
pub const STAGES: [&str; 1 + N_STAGES] = ["packet", "header", "payload", "completion"];

kernel::words! {
    /// Kinds of places of a path.
    enum Place {
        /// The inbound engine.
        Inbound = "inbound",
        /// L2 packet memory.
        PacketMemory = "packet_memory",
        /// The message queues.
        MessageQueues = "message_queues",
        /// The dispatcher of tasks.
        Dispatcher = "dispatcher",
        /// A cluster.
        Cluster = "cluster",
        /// An HPU of a cluster.
        Hpu = "hpu",
    }
}

/// Names of the places.
pub const PLACES: [&str; Place::NAMES.len()] = Place::NAMES;

kernel::words! {
    /// Causes of time outside handlers.
    enum Why {
        /// The inbound engine takes one packet after the other.
        Inbound = "inbound",
        /// Packet memory has no room for the packet.
        PacketMemoryFull = "packet_memory_full",
        /// The packet is written to packet memory, and its request goes to the message queues.
        Write = "write",
        /// The message queues have no room for its request.
        QueuesFull = "queues_full",
        /// The header handler of its message, which gets another packet, is not done.
        HeaderHandler = "header_handler",
        /// Tasks of other packets go first: the message queues send one task per cycle.
        Turn = "turn",
        /// Every cluster that can be chosen has the maximum number of tasks.
        ClustersFull = "clusters_full",
        /// The channel to the chosen cluster is full.
        Channel = "channel",
        /// The copy for the previous task waits for the cluster's DMA engine.
        CopyBefore = "copy_before",
        /// The cluster has the maximum number of accepted tasks.
        TaskFifo = "task_fifo",
        /// The packet finds no room in L1.
        L1Room = "l1_room",
        /// The cluster's DMA engine does other transfers.
        DmaBusy = "dma_busy",
        /// The packet is copied to L1.
        Copy = "copy",
        /// All HPUs of the cluster run other tasks.
        HpusBusy = "hpus_busy",
        /// The HPU's runtime reads the task.
        Start = "start",
        /// Instructions of the handler.
        Executed = "executed",
        /// The handler has ended, and its last command to the off-cluster DMA has not.
        HostDma = "host_dma_command",
        /// The handler has ended, and its last command to the outbound engine has not.
        Send = "send_command",
        /// The handler has ended, and its last command to HostDirect has not.
        HostDirect = "host_direct_command",
        /// The handler has ended, and its last transfer of the cluster's DMA has not.
        Transfer = "transfer",
        /// The feedback of the task leaves the cluster, which sends one feedback per cycle, in turn.
        Feedback = "feedback",
        /// Handlers of other packets of the message are not done, and the completion handler waits for them.
        OtherPackets = "other_packets",
        /// The NIC frees the packet.
        Release = "release",
        /// Time that each task needs to pass the part, without waiting.
        Latency = "latency",
    }
}

impl Why {
    /// The resource that is full, as the summary names it.
    fn resource(self) -> &'static str {
        match self {
            Why::PacketMemoryFull => "nic.inbound.occupied_byte_cycles",
            Why::Write => "nic.memories.packet_nic_writes",
            Why::ClustersFull => "nic.cluster[*].hpus",
            Why::TaskFifo | Why::L1Room | Why::HpusBusy => "nic.cluster[{0}].hpus",
            Why::CopyBefore | Why::DmaBusy | Why::Transfer => "nic.cluster[{0}].dma_beats",
            Why::Copy => "nic.memories.packet_cluster_reads",
            Why::HostDma => "nic.commands.host_dma_commands",
            Why::Send => "nic.commands.nic_send_commands",
            Why::HostDirect => "nic.commands.host_direct_commands",
            _ => "",
        }
    }

    /// The cause of time for a last command that this target has not finished.
    fn command(target: u8) -> Why {
        [Why::HostDma, Why::Send, Why::HostDirect][target as usize]
    }
}

/// The resource that lost cycles of a handler wait for.
fn resource_of_lost(cause: &str) -> &'static str {
    match cause {
        "l1_bank" => "nic.cluster[{0}].l1_busiest_bank_cycles",
        "l2_packet" => "nic.memories.packet_cluster_reads",
        "l2_handler" => "nic.memories.handler_cluster_reads",
        "amo" => "nic.memories.handler_amo_cycles",
        "dma" => "nic.cluster[{0}].dma_beats",
        _ => "",
    }
}

/// All causes: those outside handlers, then those of lost cycles.
pub static CAUSES: LazyLock<Vec<Cause>> = LazyLock::new(|| {
    let own = Why::ALL.map(|why| Cause { name: why.word(), about: Why::ABOUT[why as usize], resource: why.resource() });
    let lost = pspin::CAUSES.iter().zip(&pspin::CAUSES_ABOUT);
    let lost = lost.map(|(&name, &about)| Cause { name, about, resource: resource_of_lost(name) });
    own.into_iter().chain(lost).collect()
});

/// Words for the numbers of a column.
pub fn words(column: &str) -> Vec<&'static str> {
    paths::words(column, &STAGES, &PLACES, &CAUSES)
}

/// How paths become slices. `runs` has the names of handlers by context, for the stages after the stage of the packet
/// itself.
pub fn scenery(runs: impl Iterator<Item = [Option<String>; N_STAGES]>) -> Scenery {
    let named = |names: [Option<String>; N_STAGES]| {
        let stages = STAGES[1..].iter().zip(names).map(|(stage, name)| name.unwrap_or_else(|| (*stage).to_owned()));
        std::iter::once(STAGES[0].to_owned()).chain(stages).collect()
    };
    Scenery {
        stages: &STAGES,
        causes: &CAUSES,
        track: Box::new(track),
        runs: runs.map(named).collect(),
        has_messages: true,
        memory: "packet memory in use",
    }
}

/// The track of a step.
fn track(step: &Step) -> Track {
    let number = |which: usize| step.at.numbers[which].unwrap_or(0);
    let is = |why: Why| step.cause == why as u8;
    let (group, rank, name) = match Place::ALL[step.at.place as usize] {
        Place::Inbound if is(Why::Release) => (Group::Queues, 5, "release".to_owned()),
        Place::Inbound => (Group::Links, 0, "inbound engine".to_owned()),
        Place::PacketMemory if is(Why::Write) => (Group::Links, 1, "into packet memory".to_owned()),
        Place::PacketMemory => (Group::Queues, 0, "room in packet memory".to_owned()),
        Place::MessageQueues => (Group::Queues, 1, "message queues".to_owned()),
        Place::Dispatcher => (Group::Queues, 2, "dispatcher".to_owned()),
        Place::Cluster if is(Why::Copy) => (Group::Dmas, number(0), format!("DMA of cluster {}", number(0))),
        Place::Cluster => (Group::Queues, 10 + number(0), format!("tasks of cluster {}", number(0))),
        // The HPU runs other handlers meanwhile.
        Place::Hpu if is(Why::HostDma) => (Group::Queues, 6, "commands to the off-cluster DMA".to_owned()),
        Place::Hpu if is(Why::Send) => (Group::Queues, 7, "commands to the outbound engine".to_owned()),
        Place::Hpu if is(Why::HostDirect) => (Group::Queues, 8, "commands to HostDirect".to_owned()),
        Place::Hpu if is(Why::Transfer) => {
            (Group::Dmas, 1 << 8 | number(0), format!("transfers of cluster {}", number(0)))
        }
        Place::Hpu => (Group::Cores, (number(0) << 8) + number(1), format!("HPU {}.{}", number(0), number(1))),
    };
    Track { group, rank, name }
}

/// Milestones of a packet that only its path needs.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// Cycle in which it found packet memory full.
    memory_full: Option<Cycle>,
    stages: [StageNotes; N_STAGES],
}

#[derive(Clone, Debug, Default)]
struct StageNotes {
    /// Cycle in which the DMA engine took its copy.
    copying: Option<Cycle>,
    /// The packet whose task the HPU ran before.
    before: Option<u64>,
    /// Lost cycles of the handler: cause and number, the largest number first.
    lost: SmallVec<[(u8, Cycle); 6]>,
    /// The end of the last command so far, and its target.
    command: Option<(Cycle, u8)>,
    /// The end of the last transfer after the handler.
    transfer: Option<Cycle>,
}

/// A span of cycles in which the next task at a place was held.
#[derive(Clone)]
struct Span {
    from: Cycle,
    to: Cycle,
    /// Cycles of all earlier holds with the same cause.
    before: Cycle,
}

impl Span {
    /// Cycles of all holds with the same cause up to the end of this one.
    fn sum(&self) -> Cycle {
        self.before + self.to - self.from
    }
}

/// When the next task at a place could not go on, and why.
#[derive(Clone, Default)]
struct Holds {
    now: Option<(Cycle, Why)>,
    /// Past holds in order of time, for each cause. Causes are in order of first appearance.
    over: Vec<(Why, VecDeque<Span>)>,
}

impl Holds {
    fn begin(&mut self, at: Cycle, why: Why) {
        self.end(at);
        self.now = Some((at, why));
    }

    fn end(&mut self, at: Cycle) {
        let Some((from, why)) = self.now.take().filter(|(from, _)| *from < at) else { return };
        let known = self.over.iter().position(|(known, _)| *known == why);
        let known = known.unwrap_or_else(|| {
            self.over.push((why, VecDeque::new()));
            self.over.len() - 1
        });
        let spans = &mut self.over[known].1;
        let before = spans.back().map_or(0, Span::sum);
        spans.push_back(Span { from, to: at, before });
    }

    fn forget_until(&mut self, oldest: Cycle) {
        for (_, spans) in &mut self.over {
            let n = spans.partition_point(|span| span.to <= oldest);
            spans.drain(..n);
        }
    }

    /// Cycles from `from` to `to` in which something was held, by cause in order of first appearance.
    fn between(&self, from: Cycle, to: Cycle) -> SmallVec<[(Why, Cycle); 4]> {
        let mut sums: SmallVec<[(Cycle, Why, Cycle); 4]> = SmallVec::new();
        if from < to {
            for (why, spans) in &self.over {
                let first = partition_from_end(spans, |span| span.to <= from);
                let end = partition_from_end(spans, |span| span.from < to);
                if first < end {
                    let (first, last) = (&spans[first], &spans[end - 1]);
                    let outside = from.saturating_sub(first.from) + last.to.saturating_sub(to);
                    sums.push((first.from, *why, last.sum() - first.before - outside));
                }
            }
            if let Some((begin, why)) = self.now.filter(|(begin, _)| *begin < to) {
                let cycles = to - begin.max(from);
                match sums.iter_mut().find(|(_, known, _)| *known == why) {
                    Some((.., sum)) => *sum += cycles,
                    None => sums.push((begin, why, cycles)),
                }
            }
        }
        sums.sort_by_key(|(first, ..)| *first);
        sums.into_iter().map(|(_, why, cycles)| (why, cycles)).collect()
    }
}

/// `partition_point`, quick if the answer is near the end: most of the kept holds are long over.
fn partition_from_end(spans: &VecDeque<Span>, is_before: impl Fn(&Span) -> bool) -> usize {
    let (mut end, mut step) = (spans.len(), 1);
    let mut first = loop {
        match end.checked_sub(step) {
            Some(at) if is_before(&spans[at]) => break at + 1,
            Some(at) => end = at,
            None => break 0,
        }
        step *= 2;
    };
    while first < end {
        let middle = first.midpoint(end);
        match is_before(&spans[middle]) {
            true => first = middle + 1,
            false => end = middle,
        }
    }
    first
}

/// After this number of departed packets, holds that no packet needs are forgotten.
const FORGET_AFTER: u32 = 1 << 10;

/// Packets of the same message that others wait for.
#[derive(Clone, Default)]
struct Message {
    /// Context and number of the message.
    message: (usize, u64),
    /// The packet with the header handler, and when that was done.
    header: Option<(u64, Cycle)>,
    /// The last packet whose payload handler was done, and when.
    payload: Option<(u64, Cycle)>,
}

/// Collects from the NIC's events which packets wait for others.
#[derive(Default)]
pub struct Tracker {
    /// Holds of requests at the message queues.
    requests: Holds,
    /// Holds of tasks at the dispatcher, then at each cluster.
    holds: Vec<Holds>,
    /// The last message of each identity.
    messages: Vec<Message>,
    /// The packet whose task each HPU ran last, by cluster.
    on_hpu: Vec<Vec<Option<u64>>>,
    /// Packets that have left since holds were forgotten.
    n_left: u32,
}

impl Tracker {
    fn holds(&mut self, place: usize) -> &mut Holds {
        at_position(&mut self.holds, place)
    }

    /// Takes an event. Call it before the rows of packets take the event.
    pub fn note(&mut self, at: Cycle, event: Event, inside: &mut Inside<Box<Row>>) {
        match event {
            Event::TaskHeld { packet, stage, hold } => {
                let why = match Hold::ALL[hold as usize] {
                    Hold::ClustersFull => Why::ClustersFull,
                    Hold::Channel => Why::Channel,
                    Hold::CopyEngine => Why::CopyBefore,
                    Hold::TaskFifo => Why::TaskFifo,
                    Hold::L1Room => Why::L1Room,
                };
                let is_at_dispatcher = matches!(why, Why::ClustersFull | Why::Channel);
                let cluster = inside.get(packet).map_or(0, |row| row.tasks[stage as usize].cluster);
                self.holds(if is_at_dispatcher { 0 } else { 1 + cluster as usize }).begin(at, why);
            }
            Event::TaskDispatched { .. } => self.holds(0).end(at),
            Event::TaskAccepted { packet, stage } => {
                if let Some(row) = inside.get(packet) {
                    self.holds(1 + row.tasks[stage as usize].cluster as usize).end(at);
                }
            }
            Event::TaskAssigned { packet, stage, hpu } => {
                if let Some(row) = inside.get(packet) {
                    let cluster = row.tasks[stage as usize].cluster;
                    let of_cluster = at_position(&mut self.on_hpu, cluster as usize);
                    let before = at_position(of_cluster, hpu as usize).replace(packet);
                    edit(inside, packet, |notes, _| notes.stages[stage as usize].before = before);
                }
            }
            Event::TaskDone { packet, stage, .. } => {
                let Some(row) = inside.get(packet) else { return };
                let message = at_position(&mut self.messages, row.msgid.into());
                if message.message != (row.context, row.message) {
                    *message = Message { message: (row.context, row.message), ..Message::default() };
                }
                match stage {
                    0 => message.header = Some((packet, at)),
                    1 => message.payload = Some((packet, at)),
                    _ => {}
                }
            }
            Event::PacketStalled { packet } => edit(inside, packet, |notes, _| notes.memory_full = Some(at)),
            Event::RequestHeld { .. } => self.requests.begin(at, Why::QueuesFull),
            Event::HerSent { packet, .. } => {
                self.requests.end(at);
                // A hold of the next request also holds the requests after it.
                if let Some(row) = inside.get_mut(packet) {
                    let stored = row.stored.map_or(at, |stored| stored.max(row.arrival));
                    row.queues_full = self.requests.between(stored, at).iter().map(|(_, cycles)| cycles).sum();
                }
            }
            Event::TaskCopying { packet, stage } => {
                edit(inside, packet, |notes, _| notes.stages[stage as usize].copying = Some(at));
            }
            Event::HandlerLost { packet, stage, cause, cycles } => {
                edit(inside, packet, |notes, _| {
                    let lost = &mut notes.stages[stage as usize].lost;
                    let place = lost.iter().take_while(|(_, more)| *more >= cycles).count();
                    lost.insert(place, (cause as u8, cycles));
                });
            }
            Event::CommandDone { packet, target, .. } => {
                edit(inside, packet, |notes, stage| notes.stages[stage].command = Some((at, target as u8)));
            }
            Event::TransferDone { packet } => {
                edit(inside, packet, |notes, stage| notes.stages[stage].transfer = Some(at));
            }
            _ => {}
        }
    }

    /// A packet has left. Forgets data that no other packet needs.
    pub fn left(&mut self, inside: &Inside<Box<Row>>) {
        self.n_left += 1;
        if self.n_left == FORGET_AFTER {
            self.n_left = 0;
            let oldest = inside.iter().next().map_or(Cycle::MAX, |(_, row)| row.arrival);
            self.holds.iter_mut().chain([&mut self.requests]).for_each(|holds| holds.forget_until(oldest));
        }
    }

    /// Writes the path of a packet, as far as the packet got, to `path`.
    pub fn path(&self, row: &Row, path: &mut Path) {
        let none = Notes::default();
        let notes = row.notes.as_deref().unwrap_or(&none);
        path.restart(row.arrival);
        let last = row.done.or(row.dropped_at);
        let packet = |path: &mut Path, to: Option<Cycle>, place: Place, why: Why| {
            path.until(to.or(last).unwrap_or(0), 0, At::only(place as u8), why as u8, None);
        };
        if let Some(full) = notes.memory_full {
            packet(path, Some(full), Place::Inbound, Why::Inbound);
            packet(path, row.stored, Place::PacketMemory, Why::PacketMemoryFull);
        }
        packet(path, row.stored, Place::Inbound, Why::Inbound);
        if let Some(her) = row.her {
            packet(path, Some(her - row.queues_full), Place::PacketMemory, Why::Write);
            packet(path, Some(her), Place::MessageQueues, Why::QueuesFull);
        } else {
            packet(path, None, Place::PacketMemory, Why::Write);
        }
        let message =
            self.messages.get(usize::from(row.msgid)).filter(|known| known.message == (row.context, row.message));
        let others = |one: Option<(u64, Cycle)>| one.filter(|(packet, _)| *packet != row.packet);
        for (stage, task) in row.tasks.iter().enumerate() {
            let Some(sent) = task.sent else { continue };
            let (held_by, why) = match stage {
                1 => (message.and_then(|message| others(message.header)), Why::HeaderHandler),
                2 => (message.and_then(|message| others(message.payload)), Why::OtherPackets),
                _ => (None, Why::Turn),
            };
            if let Some((blocker, done)) = held_by {
                let at = At::only(Place::MessageQueues as u8);
                path.until(done.min(sent), 1 + stage as u8, at, why as u8, Some(blocker));
            }
            self.task(path, task, &notes.stages[stage], 1 + stage as u8);
        }
        packet(path, last, Place::Inbound, Why::Release);
    }

    /// The way of a task from the message queues to its feedback.
    fn task(&self, path: &mut Path, task: &TaskRow, notes: &StageNotes, stage: u8) {
        let mut until = |to: Option<Cycle>, at: At, cause: u8, blocker: Option<u64>| {
            path.until(to.unwrap_or(0), stage, at, cause, blocker);
            path.now()
        };
        let queues = At::only(Place::MessageQueues as u8);
        let dispatcher = At::only(Place::Dispatcher as u8);
        let cluster = At::one(Place::Cluster as u8, task.cluster);
        let hpu = At { place: Place::Hpu as u8, numbers: [Some(task.cluster), Some(task.hpu)] };
        let latency = Why::Latency as u8;
        // A hold of the next task at the dispatcher or at a cluster also holds the tasks after it.
        let ways = [
            (task.sent, 0, queues, Why::Turn as u8),
            (task.dispatched, 0, dispatcher, latency),
            (task.accepted, 1 + task.cluster as usize, cluster, latency),
        ];
        for (to, holder, at, cause) in ways {
            let Some(to) = to else { continue };
            let mut now = until(None, at, cause, None);
            if at == queues {
                now = until(Some(to.min(now + QUEUE_CYCLES)), at, latency, None);
            }
            for (why, cycles) in self.holds.get(holder).map(|holds| holds.between(now, to)).unwrap_or_default() {
                now = until(Some(now + cycles), if holder == 0 { dispatcher } else { cluster }, why as u8, None);
            }
            until(Some(to), at, cause, None);
        }
        until(notes.copying, cluster, Why::DmaBusy as u8, None);
        until(task.copied, cluster, Why::Copy as u8, None);
        until(task.assigned.map(|at| at - ASSIGN_CYCLES), cluster, Why::HpusBusy as u8, notes.before);
        until(task.assigned, cluster, latency, None);
        let mut now = until(task.start, hpu, Why::Start as u8, None);
        if let Some(end) = task.end {
            let lost: u64 = notes.lost.iter().map(|(_, cycles)| cycles).sum();
            now = until(Some(end.saturating_sub(lost)), hpu, Why::Executed as u8, None).max(now);
            for &(cause, cycles) in &notes.lost {
                now = until(Some((now + cycles).min(end)), hpu, Why::ALL.len() as u8 + cause, None);
            }
        }
        let within = |at: Cycle| task.done.map_or(at, |done| at.min(done));
        if let Some((at, target)) = notes.command {
            until(Some(within(at)), hpu, Why::command(target) as u8, None);
        }
        until(notes.transfer.map(within), hpu, Why::Transfer as u8, None);
        until(task.done, cluster, Why::Feedback as u8, None);
    }
}

/// Cycles from a request, or from the previous feedback, to the task at the dispatcher. Source:
/// `pspin::mpq::MpqEngine`.
const QUEUE_CYCLES: Cycle = 2;
/// Cycles from the packet in L1 to the assignment of the task. Source: `pspin::cluster`, its scheduler.
const ASSIGN_CYCLES: Cycle = 1;

/// The entry at a position of a list. Extends the list if necessary.
fn at_position<T: Clone + Default>(list: &mut Vec<T>, position: usize) -> &mut T {
    if list.len() <= position {
        list.resize(position + 1, T::default());
    }
    &mut list[position]
}

/// Changes the notes of a packet that is inside. `change` also gets the position of the packet's latest task.
fn edit(inside: &mut Inside<Box<Row>>, packet: u64, change: impl FnOnce(&mut Notes, usize)) {
    if let Some(row) = inside.get_mut(packet) {
        let stage = row.running();
        change(row.notes.get_or_insert_default(), stage);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_are_summed_by_cause_within_a_time() {
        let mut holds = Holds::default();
        let (turn, room) = (Why::Channel, Why::L1Room);
        for (from, to, why) in [(10, 14, turn), (14, 20, room), (25, 30, turn), (30, 31, turn)] {
            holds.begin(from, why);
            holds.end(to);
        }
        holds.begin(40, room);
        let between = |from, to| holds.between(from, to).into_vec();
        assert_eq!(between(0, 50), [(turn, 10), (room, 16)]);
        assert_eq!(between(12, 28), [(turn, 5), (room, 6)]);
        assert_eq!(between(16, 31), [(room, 4), (turn, 6)]);
        assert_eq!(between(32, 45), [(room, 5)]);
        assert_eq!([between(20, 25), between(31, 40), between(12, 12)], [vec![], vec![], vec![]]);
        holds.forget_until(26);
        assert_eq!(holds.between(16, 50).into_vec(), [(turn, 6), (room, 10)]);
    }

    #[test]
    fn a_search_from_the_end_finds_what_one_from_the_middle_finds() {
        for n in 0..20 {
            let spans: VecDeque<Span> = (0..n).map(|from| Span { from, to: from + 1, before: 0 }).collect();
            for first in 0..=n {
                let is_before = |span: &Span| span.from < first;
                assert_eq!(partition_from_end(&spans, is_before), spans.partition_point(is_before));
            }
        }
    }
}
