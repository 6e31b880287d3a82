//! Events for observers. Each has a time; its values are the fields named here, in order.
//!
//! `packet` is a [`crate::protocol::PacketId`]; `stage` is 0 header, 1 payload, 2 completion; `target` is 0 host DMA,
//! 1 NIC outbound, 2 HostDirect; `why` is a [`crate::protocol::CommandFault`].

use kernel::trace::EventKind;

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident = $text:literal [$($field:literal),*];)*) => {
        $($(#[$doc])* pub static $name: EventKind = EventKind { name: $text, fields: &[$($field),*] };)*
        /// All kinds.
        pub static ALL: &[&EventKind] = &[$(&$name),*];
    };
}

events! {
    /// A packet got room in L2 packet memory (the NIC's arrival time).
    PACKET_IN = "packet_in" ["packet", "msgid", "bytes", "addr"];
    /// A packet found no room in L2 packet memory for the first time; the engine retries each cycle.
    PACKET_STALLED = "packet_stalled" ["packet"];
    /// A packet is dropped, on arrival or out of packet memory; `reason` is a [`crate::delivery::DropReason`].
    PACKET_DROPPED = "packet_dropped" ["packet", "reason"];
    /// A packet was marked (ECN); `percent` is the occupancy of packet memory.
    PACKET_MARKED = "packet_marked" ["packet", "occupied"];
    /// Its handler execution request was sent to the message queues.
    HER_SENT = "her_sent" ["packet", "eom"];
    /// The message queue engine sent a task to the dispatcher.
    TASK_SENT = "task_sent" ["packet", "stage"];
    /// The dispatcher chose a cluster.
    TASK_DISPATCHED = "task_dispatched" ["packet", "stage", "cluster"];
    /// The cluster scheduler accepted a task and requested the copy to L1.
    TASK_ACCEPTED = "task_accepted" ["packet", "stage"];
    /// The copy to L1 for a task is complete; tasks that copy nothing have no such event.
    TASK_COPIED = "task_copied" ["packet", "stage"];
    /// An HPU driver accepted a task, whose packet is in L1.
    TASK_ASSIGNED = "task_assigned" ["packet", "stage", "hpu"];
    /// The core read the handler's address: the handler starts.
    HANDLER_START = "handler_start" ["packet", "stage", "hpu", "handler"];
    /// The core rang the doorbell: the handler ends.
    HANDLER_END = "handler_end" ["packet", "stage", "hpu", "instructions"];
    /// A handler ended with an exception of this cause; `pc` is the instruction's address, `value` the accessed
    /// address or the instruction word.
    HANDLER_TRAP = "handler_trap" ["packet", "stage", "hpu", "cause", "pc", "value"];
    /// An HPU driver is ready for its next task (`HPU_TIME` of the RTL).
    HPU_IDLE = "hpu_idle" ["hpu"];
    /// A task's feedback left its HPU driver, after all its transfers and commands.
    TASK_DONE = "task_done" ["packet", "stage", "hpu"];
    /// The NIC freed the packet.
    PACKET_DONE = "packet_done" ["packet"];
    /// A core issued a command; `writes_host` is 1 if it moves bytes to host memory.
    COMMAND_ISSUED = "command_issued" ["packet", "hpu", "target", "writes_host"];
    /// A command's response reached its core.
    COMMAND_DONE = "command_done" ["packet", "hpu", "target"];
    /// A unit refused a command of this many bytes.
    COMMAND_FAULT = "command_fault" ["packet", "target", "addr", "bytes", "why"];
    /// The outbound engine accepted a command of a handler; `flow` above 0 is RDMA.
    SEND_TAKEN = "send_taken" ["packet", "addr", "bytes", "flow"];
    /// A packet left the NIC.
    PACKET_SENT = "packet_sent" ["packet", "bytes"];
    /// An access to host memory that is not registered for its context, or not for writing; follow-up accesses are
    /// not reported again.
    ACCESS_REFUSED = "access_refused" ["packet", "context", "addr", "write"];
    /// Bytes reached host memory.
    HOST_WRITTEN = "host_written" ["addr", "bytes"];
    /// Bytes were read from host memory.
    HOST_READ = "host_read" ["addr", "bytes"];
    /// An access of the host to the NIC's memories has finished; `bytes` is 0 if the address is unmapped.
    HOST_ACCESS_DONE = "host_access_done" ["addr", "bytes"];
    /// All cores of a cluster have reached their driver.
    CLUSTER_ACTIVE = "cluster_active" [];
}
