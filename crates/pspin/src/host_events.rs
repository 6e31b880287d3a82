//! Events of contexts for the host: messages that end, handlers that fail, queues that are reset.

use crate::protocol::{
    Context, EVICTED_CAUSE, ErrorRecord, HostRecord, KILLED_CAUSE, NO_HPU, PacketId, Stage, TIMEOUT_CAUSE,
};
use crate::world::HostEvents;
use blocks::activity::busy_if;
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};

/// An event for the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostEvent {
    /// All handlers of a message have ended, and its queue is free.
    MessageDone {
        /// Identity of the message, from its first packet.
        msgid: u16,
    },
    /// An exception or the watchdog ended a handler.
    HandlerError(HandlerError),
    /// A message timed out, and its queue was reset.
    MessageTimeout {
        /// Identity of the message, from its first packet.
        msgid: u16,
        /// Packets in its queue.
        dropped: u32,
        /// Requests to its queue until then, of all messages. A host that knows how many were sent can tell whether a
        /// packet was in flight; such a packet starts the message again.
        received: u64,
    },
    /// A message was killed, and its queue reset: packet memory was full and its context requests this, or its last
    /// packet was dropped and none was left for the completion handler.
    MessageKilled {
        /// Identity of the message.
        msgid: u16,
        /// Packets in its queue.
        dropped: u32,
    },
    /// Another tenant reclaimed the message's queue. Further packets of the message start a new one.
    MessageEvicted {
        /// Identity of the message.
        msgid: u16,
        /// Packets in its queue.
        dropped: u32,
    },
    /// A command used host memory that is not registered; it moved nothing there.
    TranslationFault {
        /// Packet whose handler issued the command.
        packet: PacketId,
        /// First host address without a translation.
        addr: u64,
        /// True if the command writes host memory.
        write: bool,
    },
}

impl HostEvent {
    /// Adds packets that were dropped with this message.
    pub fn add_dropped(&mut self, more: u32) {
        if let HostEvent::MessageKilled { dropped, .. } | HostEvent::MessageEvicted { dropped, .. } = self {
            *dropped += more;
        }
    }
}

/// Failure of a handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandlerError {
    /// The packet that it processed.
    pub packet: PacketId,
    /// Identity of the message in its task.
    pub msgid: u16,
    /// Handler type.
    pub stage: Stage,
    /// Address of the handler's code.
    pub handler: u32,
    /// Exception code as in `mcause` of the RISC-V privileged architecture.
    pub cause: u32,
    /// Address of the instruction.
    pub pc: u32,
    /// Address of the access or instruction word, as in `mtval`.
    pub addr: u32,
    /// Index of the cluster.
    pub cluster: u8,
    /// Index of the core in its cluster.
    pub core: u8,
}

/// An event in transit, with its context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Notice {
    /// [`crate::protocol::Context::id`] of the context.
    pub context: u32,
    /// Host address of the context's descriptor, if the event is written there.
    pub error_addr: Option<u64>,
    /// The event.
    pub event: HostEvent,
}

impl Context {
    /// Creates an event of this context.
    pub fn notice(&self, event: HostEvent) -> Notice {
        Notice { context: self.id, error_addr: self.protection.error_addr, event }
    }
}

/// Channel capacity for notices of a part that sends at most `per_cycle` per cycle.
pub const fn notice_room(per_cycle: usize) -> usize {
    // A place freed at an edge is usable one cycle later.
    2 * per_cycle
}

/// Delivers the notices of all parts to the host in order of time; those of one cycle in the order of `inputs`.
///
/// A killed message also shows in its context's descriptor in host memory, through the HostDirect unit: as an
/// [`ErrorRecord`] with the cause, the message, and the number of dropped packets in place of the address. If the
/// path is busy with earlier records, the record is lost and counted: the descriptor holds one.
///
/// Ports:  `notices[i]` in; all notices are accepted every cycle, so no part ever waits. `records` out.
/// Timing: the host has a notice in the cycle in which it is seen; its record then takes the path of a HostDirect
///         command.
/// Source: Di Girolamo et al., ISCA 2021, III-B3: the event is signaled through the execution context descriptor.
pub struct HostEventUnit {
    inputs: Vec<Rx<Notice>>,
    records: Tx<HostRecord>,
    host: Box<dyn HostEvents>,
    n_events: Counter,
    n_records: u32,
    n_lost: Counter,
}

impl HostEventUnit {
    /// Creates a unit that reports the notices of `inputs` to `host`.
    pub fn new(inputs: Vec<Rx<Notice>>, records: Tx<HostRecord>, host: Box<dyn HostEvents>) -> Self {
        let (n_events, n_lost) = (Counter::default(), Counter::default());
        HostEventUnit { inputs, records, host, n_events, n_records: 0, n_lost }
    }

    fn write_record(&mut self, notice: &Notice) {
        let (cause, msgid, dropped) = match notice.event {
            HostEvent::MessageTimeout { msgid, dropped, .. } => (TIMEOUT_CAUSE, msgid, dropped),
            HostEvent::MessageKilled { msgid, dropped } => (KILLED_CAUSE, msgid, dropped),
            HostEvent::MessageEvicted { msgid, dropped } => (EVICTED_CAUSE, msgid, dropped),
            _ => return,
        };
        let Some(addr) = notice.error_addr else { return };
        if !self.records.has_room() {
            return self.n_lost.add(1);
        }
        self.n_records = self.n_records.wrapping_add(1).max(1);
        let (msgid, count) = (u32::from(msgid), self.n_records);
        let record = ErrorRecord { cause, address: dropped, msgid, hpu: NO_HPU, count, ..ErrorRecord::default() };
        self.records.send(HostRecord { addr, record });
    }
}

impl Component for HostEventUnit {
    fn tick(&mut self, now: Cycle) -> Activity {
        let mut changed = false;
        for i in 0..self.inputs.len() {
            while let Some(notice) = self.inputs[i].take() {
                self.host.event(now, notice.context, &notice.event);
                self.n_events.add(1);
                self.write_record(&notice);
                changed = true;
            }
        }
        busy_if(changed)
    }

    fn ports(&self, ports: &mut Ports) {
        ports.inputs("notices", &self.inputs);
        ports.output("records", &self.records);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("reported", self.n_events.total());
        counters.add("records", self.n_records.into());
        counters.add("lost_records", self.n_lost.total());
    }
}
