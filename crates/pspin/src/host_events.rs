//! What the NIC tells the host about its contexts: messages that end, handlers that fail, queues that are reset.

use crate::protocol::{
    Context, EVICTED_CAUSE, ErrorRecord, HostRecord, KILLED_CAUSE, NO_HPU, PacketId, Stage, TIMEOUT_CAUSE,
};
use crate::world::HostEvents;
use blocks::activity::busy_if;
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};

/// Something that the host wants to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostEvent {
    /// All handlers of a message have ended, and its queue is free.
    MessageDone {
        /// Identity of the message, from its first packet.
        msgid: u16,
    },
    /// A handler was ended by an exception or the watchdog.
    HandlerError(HandlerError),
    /// A message stopped arriving: its queue was reset.
    MessageTimeout {
        /// Identity of the message, from its first packet.
        msgid: u16,
        /// Packets that were in its queue.
        dropped: u32,
        /// Requests that its queue has had until then, of all messages: who knows how many were sent knows whether a packet
        /// was on its way, which begins the message anew.
        received: u64,
    },
    /// A packet found packet memory full, and its context asks to end the message then; or the message's last packet was
    /// dropped, and none was left for the completion handler: its queue was reset.
    MessageKilled {
        /// Identity of the message.
        msgid: u16,
        /// Packets that were in its queue.
        dropped: u32,
    },
    /// A message had to leave its queue to another tenant that is sure of it; what comes of it begins another message.
    MessageEvicted {
        /// Identity of the message.
        msgid: u16,
        /// Packets that were in its queue.
        dropped: u32,
    },
    /// A command named host memory that is not registered; it moved nothing there.
    TranslationFault {
        /// Packet whose handler issued the command.
        packet: PacketId,
        /// First host address that has no translation.
        addr: u64,
        /// The command would have written host memory.
        write: bool,
    },
}

impl HostEvent {
    /// More packets were dropped with this message.
    pub fn add_dropped(&mut self, more: u32) {
        if let HostEvent::MessageKilled { dropped, .. } | HostEvent::MessageEvicted { dropped, .. } = self {
            *dropped += more;
        }
    }
}

/// How a handler failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandlerError {
    /// The packet that it ran on.
    pub packet: PacketId,
    /// Identity of the message, as its task has it.
    pub msgid: u16,
    /// Which handler.
    pub stage: Stage,
    /// Address of the handler's code.
    pub handler: u32,
    /// Cause, as in the RISC-V privileged architecture's `mcause`.
    pub cause: u32,
    /// Address of the instruction.
    pub pc: u32,
    /// Address that was accessed, or the instruction, as in `mtval`.
    pub addr: u32,
    /// Position of the cluster.
    pub cluster: u8,
    /// Position of the core in its cluster.
    pub core: u8,
}

/// An event on its way, with the context that it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Notice {
    /// Its [`crate::protocol::Context::id`].
    pub context: u32,
    /// Where its descriptor takes the event, if it does.
    pub error_addr: Option<u64>,
    /// The event.
    pub event: HostEvent,
}

impl Context {
    /// An event of this context.
    pub fn notice(&self, event: HostEvent) -> Notice {
        Notice { context: self.id, error_addr: self.protection.error_addr, event }
    }
}

/// Notices that may be on their way from a part that has `per_cycle` of them a cycle at most.
pub const fn notice_room(per_cycle: usize) -> usize {
    // What is taken at an edge frees its room a cycle later.
    2 * per_cycle
}

/// Hands the notices of all parts to the host, in the order of time, those of one cycle in the order of `inputs`.
///
/// A message that is given up also shows in its context's descriptor in host memory, by way of the HostDirect unit: as an
/// [`ErrorRecord`] with the cause, the message, and in place of the address how many packets were dropped. A record whose
/// way is taken by the ones before is lost and counted: the descriptor holds one.
///
/// Ports:  `notices[i]` in; all that is there is taken in every cycle, so that no part ever waits. `records` out.
/// Timing: a notice seen in cycle t is with the host in t; its record goes the way of a HostDirect command from then on.
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
    /// A unit that tells `host` what comes from `inputs`.
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
        counters.add("told", self.n_events.total());
        counters.add("records", self.n_records.into());
        counters.add("lost_records", self.n_lost.total());
    }
}
