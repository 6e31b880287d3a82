//! What the NIC tells the host about its contexts: messages that end, handlers that fail, queues that are reset.

use crate::activity::after;
use crate::protocol::{PacketId, Stage};
use crate::world::HostEvents;
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx};

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
    },
    /// A packet found packet memory full, and its context asks to end the message then: its queue was reset.
    MessageKilled {
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
    /// The event.
    pub event: HostEvent,
}

/// Notices that may be on their way from a part that has `per_cycle` of them a cycle at most.
pub const fn notice_room(per_cycle: usize) -> usize {
    // What is taken at an edge frees its room a cycle later.
    2 * per_cycle
}

/// Hands the notices of all parts to the host, in the order of time, those of one cycle in the order of `inputs`.
///
/// Ports:  `notices[i]` in; all that is there is taken in every cycle, so that no part ever waits.
/// Timing: a notice seen in cycle t is with the host in t.
pub struct HostEventUnit {
    inputs: Vec<Rx<Notice>>,
    host: Box<dyn HostEvents>,
    n_events: Counter,
}

impl HostEventUnit {
    /// A unit that tells `host` what comes from `inputs`.
    pub fn new(inputs: Vec<Rx<Notice>>, host: Box<dyn HostEvents>) -> Self {
        HostEventUnit { inputs, host, n_events: Counter::default() }
    }
}

impl Component for HostEventUnit {
    fn tick(&mut self, now: Cycle) -> Activity {
        let mut changed = false;
        for input in &self.inputs {
            while let Some(Notice { context, event }) = input.take() {
                self.host.event(now, context, &event);
                self.n_events.add(1);
                changed = true;
            }
        }
        after(changed)
    }

    fn ports(&self, ports: &mut Ports) {
        ports.inputs("notices", &self.inputs);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("told", self.n_events.total());
    }
}
