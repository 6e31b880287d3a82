//! Events for observers. Each has a time; its values are the fields named here, in order.
//!
//! `packet` is a [`crate::protocol::PacketId`]; `stage` is 0 header, 1 payload, 2 completion; `target` is 0 host DMA,
//! 1 NIC outbound, 2 HostDirect; `why` is a [`crate::protocol::CommandFault`]; `hold` is a [`Hold`].

use kernel::trace::{self, EventKind};

kernel::words! {
    /// The reason why a task cannot go on.
    pub enum Hold {
        /// Every cluster that can be chosen has its maximum number of tasks.
        ClustersFull = "clusters_full",
        /// The dispatcher chose a cluster whose channel is full.
        Channel = "channel",
        /// The cluster's DMA engine does not take the copy of the task before.
        CopyEngine = "copy_engine",
        /// The task FIFO of the cluster is full.
        TaskFifo = "task_fifo",
        /// The packet finds no room in L1.
        L1Room = "l1_room",
    }
}

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident $variant:ident = $text:literal [$($field:ident),*];)*) => {
        enum Number { $($variant),* }

        /// Numbers of the kinds, as constants that a pattern can name.
        mod number {
            use super::Number;
            $(pub const $name: usize = Number::$variant as usize;)*
        }

        $($(#[$doc])* pub static $name: EventKind =
            EventKind { name: $text, fields: &[$(stringify!($field)),*], number: number::$name };)*

        /// All kinds.
        pub static ALL: &[&EventKind] = &[$(&$name),*];

        /// An event with its values. The module describes the fields.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[expect(missing_docs, reason = "the module describes the fields")]
        pub enum Event { $($(#[$doc])* $variant { $($field: u64),* },)* }

        impl Event {
            /// The event with names for its values; `None` if it is not of this crate.
            #[inline(always)]
            pub fn of(event: &trace::Event) -> Option<Event> {
                let number = event.kind.number;
                if !ALL.get(number).is_some_and(|known| std::ptr::eq(*known, event.kind)) {
                    return None;
                }
                match (number, event.values) {
                    $((number::$name, &[$($field),*]) => Some(Event::$variant { $($field),* }),)*
                    _ => None,
                }
            }
        }
    };
}

events! {
    /// A packet got room in L2 packet memory (the NIC's arrival time).
    PACKET_IN PacketIn = "packet_in" [packet, msgid, bytes, addr];
    /// A packet found no room in L2 packet memory for the first time; the engine retries each cycle.
    PACKET_STALLED PacketStalled = "packet_stalled" [packet];
    /// A packet is dropped, on arrival or out of packet memory; `reason` is a [`crate::delivery::DropReason`].
    PACKET_DROPPED PacketDropped = "packet_dropped" [packet, reason];
    /// A packet was marked (ECN); `percent` is the occupancy of packet memory.
    PACKET_MARKED PacketMarked = "packet_marked" [packet, occupied];
    /// The message queues took the handler execution request of a packet.
    HER_SENT HerSent = "her_sent" [packet, eom];
    /// No queue has room for its handler execution request.
    REQUEST_HELD RequestHeld = "request_held" [packet];
    /// A task is the next one at the dispatcher or at a cluster and cannot go on, from now until its next event.
    TASK_HELD TaskHeld = "task_held" [packet, stage, hold];
    /// The message queue engine sent a task to the dispatcher.
    TASK_SENT TaskSent = "task_sent" [packet, stage];
    /// The dispatcher chose a cluster.
    TASK_DISPATCHED TaskDispatched = "task_dispatched" [packet, stage, cluster];
    /// The cluster scheduler accepted a task and requested the copy to L1.
    TASK_ACCEPTED TaskAccepted = "task_accepted" [packet, stage];
    /// The cluster's DMA engine took the copy to L1 for a task, later than in the cycle in which the task was accepted.
    TASK_COPYING TaskCopying = "task_copying" [packet, stage];
    /// The copy to L1 for a task is complete; tasks that copy nothing have no such event.
    TASK_COPIED TaskCopied = "task_copied" [packet, stage];
    /// An HPU driver accepted a task, whose packet is in L1.
    TASK_ASSIGNED TaskAssigned = "task_assigned" [packet, stage, hpu];
    /// The core read the handler's address: the handler starts.
    HANDLER_START HandlerStart = "handler_start" [packet, stage, hpu, handler];
    /// The core rang the doorbell: the handler ends.
    HANDLER_END HandlerEnd = "handler_end" [packet, stage, hpu, instructions];
    /// A handler ended with an exception of this cause; `pc` is the instruction's address, `value` the accessed
    /// address or the instruction word. The packet has `bytes` at address `l1`.
    HANDLER_TRAP HandlerTrap = "handler_trap" [packet, stage, hpu, cause, pc, value, l1, bytes];
    /// Cycles that the handler that just ended lost to a cause of [`crate::CAUSES`]. Only with profiles by handler.
    HANDLER_LOST HandlerLost = "handler_lost" [packet, stage, cause, cycles];
    /// A transfer ended after the handler that started it.
    TRANSFER_DONE TransferDone = "transfer_done" [packet];
    /// An HPU driver is ready for its next task (`HPU_TIME` of the RTL).
    HPU_IDLE HpuIdle = "hpu_idle" [hpu];
    /// A task's feedback left its HPU driver, after all its transfers and commands.
    TASK_DONE TaskDone = "task_done" [packet, stage, hpu];
    /// The NIC freed the packet.
    PACKET_DONE PacketDone = "packet_done" [packet];
    /// A core issued a command; `writes_host` is 1 if it moves bytes to host memory.
    COMMAND_ISSUED CommandIssued = "command_issued" [packet, hpu, target, writes_host];
    /// The core's command copies bytes to host memory, from this address on.
    HOST_COPY_ISSUED HostCopyIssued = "host_copy_issued" [packet, addr, bytes];
    /// A command's response reached its core.
    COMMAND_DONE CommandDone = "command_done" [packet, hpu, target];
    /// A unit refused a command of this many bytes.
    COMMAND_FAULT CommandFault = "command_fault" [packet, target, addr, bytes, why];
    /// The outbound engine accepted a command of a handler; `flow` above 0 is RDMA.
    SEND_TAKEN SendTaken = "send_taken" [packet, addr, bytes, flow];
    /// A packet left the NIC.
    PACKET_SENT PacketSent = "packet_sent" [packet, bytes];
    /// An access to host memory that is not registered for its context, or not for writing; follow-up accesses are
    /// not reported again.
    ACCESS_REFUSED AccessRefused = "access_refused" [packet, context, addr, write];
    /// Bytes reached host memory.
    HOST_WRITTEN HostWritten = "host_written" [addr, bytes];
    /// Bytes were read from host memory.
    HOST_READ HostRead = "host_read" [addr, bytes];
    /// An access of the host to the NIC's memories has finished; `bytes` is 0 if the address is unmapped.
    HOST_ACCESS_DONE HostAccessDone = "host_access_done" [addr, bytes];
    /// All cores of a cluster have reached their driver.
    CLUSTER_ACTIVE ClusterActive = "cluster_active" [];
}
