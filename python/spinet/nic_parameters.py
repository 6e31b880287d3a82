# SPDX-License-Identifier: Apache-2.0
"""Parameters of a PsPIN, typed; docs/generate.py makes this from the Rust types."""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Literal

from spinet._parameters import NicParams, Params


@dataclasses.dataclass(frozen=True, kw_only=True)
class PspinParams(NicParams):
    """All parameters of a PsPIN NIC."""

    _PRESETS: ClassVar[tuple[str, ...]] = ("pspin", "pspin-rtl", "pspin-paper", "fpspin")

    clock_mhz: float = 1000
    """Clock of the whole NIC, in MHz. Allowed: 1 to 100000."""
    n_clusters: int = 4
    """Number of clusters. The RTL's command identity has room for 4. Allowed: 1 to 16."""
    cluster: ClusterParams = dataclasses.field(default_factory=lambda: ClusterParams())
    """The clusters; all have the same parameters."""
    isolation: IsolationParams = dataclasses.field(default_factory=lambda: IsolationParams())
    """Isolation of handlers."""
    l2: L2Params = dataclasses.field(default_factory=lambda: L2Params())
    """Memories outside the clusters."""
    interconnect: InterconnectParams = dataclasses.field(default_factory=lambda: InterconnectParams())
    """Interconnects between clusters, L2 and engines."""
    ingress: IngressParams = dataclasses.field(default_factory=lambda: IngressParams())
    """Matching of packets, and their places in packet memory."""
    scheduler: SchedulerParams = dataclasses.field(default_factory=lambda: SchedulerParams())
    """Message queues and dispatcher."""
    sharing: SharingParams = dataclasses.field(default_factory=lambda: SharingParams())
    """Guarantees for tenants that share the card."""
    commands: CommandParams = dataclasses.field(default_factory=lambda: CommandParams())
    """Commands in flight and the units that execute them."""
    outbound: OutboundParams = dataclasses.field(default_factory=lambda: OutboundParams())
    """NIC outbound engine."""
    pcie: PcieParams = dataclasses.field(default_factory=lambda: PcieParams())
    """Host memory behind PCIe."""
    iommu: IommuParams = dataclasses.field(default_factory=lambda: IommuParams())
    """Translation of host addresses."""
    delivery: Delivery = dataclasses.field(default_factory=lambda: Delivery())
    """Defaults for contexts without these settings."""
    network: NetworkParams = dataclasses.field(default_factory=lambda: NetworkParams())
    """Guarantees of the network."""
    rtl_mistakes: RtlMistakes = dataclasses.field(default_factory=lambda: RtlMistakes())
    """Mistakes of the published RTL that the model makes."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterParams(Params):
    """One cluster."""

    n_cores: int = 8
    """Cores (HPUs) per cluster. The RTL's command identity has room for 8. Allowed: 1 to 16."""
    l1_bytes: int = 1048576
    """Bytes of L1 memory (TCDM). Allowed: a power of two from 32768 to 1048576."""
    l1_banks: int = 64
    """Word-interleaved 32-bit banks: 16, 32 or 64. A superbank of 16 banks serves a 64-byte beat. Allowed: one of
    [16, 32, 64].
    """
    packet_buffer_offset: int = 17408
    """First byte of the packet buffer within L1. Allowed: a multiple of 64."""
    packet_buffer_bytes: int = 65536
    """Bytes of the packet buffer. Allowed: 4 times a multiple of 64."""
    packet_buffer_rings: int = 4
    """Number of rings in the packet buffer. Allowed: 1 to 16."""
    scratchpad_offset: int = 82944
    """First byte of the scratchpads within L1. Allowed: 82944 to 1048576, behind the packet buffer, within
    cluster.l1_bytes.
    """
    task_fifo: int = 20
    """FIFO depth of the cluster scheduler, in tasks. Allowed: 1 to 1024."""
    dma_fifo: int = 12
    """FIFO depth of the cluster DMA, in transfers. Allowed: 1 to 1024."""
    dma_bursts: int = 2
    """Bursts of the cluster DMA in flight towards L2, for reads and for writes each. Allowed: 1 to 64."""
    core_commands: int = 4
    """Commands of one core in flight, 1 to 4: the command identity has 2 bits for them. Allowed: 1 to 4."""
    inter_core_fifo: int = 32
    """Words that a FIFO between two cores holds. Allowed: 1 to 1024."""
    clock_gating: bool = True
    """If true, a core without a task is clock gated. It wakes in the cycle in which its driver presents a task."""
    cycle_register: bool = True
    """If true, handlers can read the register `cycle`, as `spin_now()` does. An extension of spinet."""
    icache: IcacheParams = dataclasses.field(default_factory=lambda: IcacheParams())
    """The shared instruction cache."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class IcacheParams(Params):
    """The instruction cache that the cores of a cluster share. Lines have 16 bytes."""

    bytes: int = 4096
    """Capacity in bytes. Allowed: a power of two from 64 to 1048576, at least 16 for each of cluster.icache.ways."""
    ways: int = 4
    """Associativity. Allowed: 1 to 16."""
    miss_cycles: int = 8
    """Cycles that a miss adds if no other refill is in progress. Allowed: 5 to 60."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class IsolationParams(Params):
    """Isolation of handlers, and reports of failed handlers to the host."""

    regions: Literal["coarse", "exact"] = "exact"
    """Memory regions that a handler can access."""
    check_transfers: bool = True
    """If true, cluster DMA, off-cluster DMA and commands check the handler's regions and its host memory."""
    misaligned_amo_traps: bool = True
    """If true, an AMO to an address that is not a multiple of 4 traps. If false, the lower address bits are ignored."""
    report_errors: bool = True
    """If true, the HPU driver writes handler errors to the context's record in host memory."""
    watchdog_cycles: int = 1000000
    """Default watchdog limit of a handler in cycles, and the maximum for tenants; 0 disables the watchdog."""
    host_clears_scratchpads: bool = True
    """If true, the host's port on the NIC-host interconnect also reaches every L1, so that the driver can clear
    scratchpads.
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class L2Params(Params):
    """Memories outside the clusters."""

    handler_bytes: int = 4194304
    """Bytes of L2 handler memory, from 0x1C00_0000. Allowed: a power of two from 65536 to 4194304."""
    packet_bytes: int = 4194304
    """Bytes of L2 packet memory, from 0x1C40_0000. Allowed: a power of two from 4096 to 4194304."""
    program_bytes: int = 32768
    """Bytes of program memory, from 0x1D00_0000. Allowed: a power of two from 4096 to 1048576."""
    atomics_depth: int = 4
    """Maximum reads and maximum writes in flight at the atomics unit of handler memory. Allowed: 1 to 64."""
    packet_load_cycles: int = 2
    """SRAM cycles of a core's load from packet memory. Allowed: 0 to 1000."""
    packet_store_cycles: int = 3
    """SRAM cycles of a core's store to packet memory, until its response. Allowed: 0 to 1000."""
    packet_amo_cycles: int = 9
    """SRAM cycles of a core's atomic operation on packet memory. Allowed: 0 to 1000."""
    handler_read_cycles: int = 3
    """Cycles from the atomics unit to the SRAM of handler memory and back. Allowed: 1 to 1000."""
    handler_load_cycles: int = 0
    """Cycles that a load of handler memory needs in addition, from the atomics unit on. Allowed: 0 to 1000."""
    handler_store_cycles: int = 3
    """Cycles of a core's store to handler memory, until its response. Allowed: 0 to 1000."""
    amo_response_cycles: int = 6
    """Cycles from the data of an atomic operation to its response. Allowed: 0 to 1000."""
    amo_write_cycles: int = 7
    """Cycles from the data of an atomic operation until the unit accepts the next one. Allowed: 1 to 1000."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class InterconnectParams(Params):
    """Latencies of the interconnects, in cycles."""

    core_request_cycles: int = 8
    """From a cluster to an L2 memory, for single accesses of cores. Accesses to other clusters take this path too.
    Allowed: 1 to 1000.
    """
    core_reply_cycles: int = 7
    """From an L2 memory back to the cluster. Allowed: 1 to 1000."""
    remote_request_cycles: int = 3
    """From the end of that path to another cluster's L1. Allowed: 1 to 1000."""
    remote_reply_cycles: int = 1
    """Back from there. Allowed: 1 to 1000."""
    remote_load_cycles: int = 0
    """Additional cycles of a load from another cluster's L1. Allowed: 0 to 1000."""
    remote_store_cycles: int = 1
    """Additional cycles of a store to another cluster's L1. Allowed: 0 to 1000."""
    remote_amo_cycles: int = 2
    """Additional cycles of an atomic operation on another cluster's L1. Allowed: 0 to 1000."""
    dma_request_cycles: int = 1
    """From a cluster's DMA engine to an L2 memory. Allowed: 1 to 1000."""
    dma_reply_cycles: int = 4
    """From an L2 memory back to the DMA engine. Allowed: 1 to 1000."""
    nhi_request_cycles: int = 1
    """From an initiator on the NIC-host interconnect to its target. Allowed: 1 to 1000."""
    nhi_reply_cycles: int = 3
    """From an L2 memory back to that initiator. Allowed: 1 to 1000."""
    nhi_l1_reply_cycles: int = 1
    """From an L1 back to that initiator. Allowed: 1 to 1000."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class IngressParams(Params):
    """Ingress of packets: matching, and places in packet memory."""

    matching: Literal["expressions", "rule_sets"] = "expressions"
    """Matching of packets and messages."""
    rule_sets: int = 4
    """Rule sets: maximum number of contexts with a rule set. The first set that matches takes a packet. Allowed: 1
    to 64.
    """
    rules: int = 3
    """Rule sets: maximum number of rules of a set, besides the one for the end of a message. Allowed: 1 to 64."""
    match_bytes: int = 66
    """Rule sets: number of bytes at the start of a packet that the engine sees. Allowed: 4 to 2048."""
    message_at: int = 44
    """Rule sets: offset of the message number in a packet, in bytes. Packets for the same queue are one message.
    Allowed: 0 to 2046.
    """
    match_cycles: int = 4
    """Rule sets: cycles from the arrival of a packet to its place in memory, without the cycle for each 64 bytes.
    The engine takes the next packet a cycle later. Allowed: 0 to 1000.
    """
    packet_memory: Literal["ring", "slots"] = "ring"
    """Places in L2 packet memory."""
    large_slots: int = 256
    """Slots: number of large slots. Allowed: 1 to 65536."""
    large_slot_bytes: int = 1536
    """Slots: bytes of a large slot, a multiple of 64. Allowed: 128 to 65536, at least ingress.small_slot_bytes."""
    small_slots: int = 1024
    """Slots: number of small slots. Allowed: 1 to 65536."""
    small_slot_bytes: int = 128
    """Slots: bytes of a small slot, a multiple of 64. Allowed: 64 to 65536."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SchedulerParams(Params):
    """Message queues and dispatcher."""

    n_mpqs: int = 256
    """Number of message processing queues, a power of two. A message uses queue `msgid % n_mpqs`. Allowed: a power
    of two from 1 to 1024.
    """
    shared_cells: int = 128
    """Packet descriptors shared by all queues, in addition to one per queue. Allowed: 0 to 65536."""
    max_tasks_per_cluster: int = 20
    """Maximum tasks in one cluster. Allowed: 1 to 20, as many as cluster.task_fifo holds."""
    dispatch_cycles: int = 1
    """Cycles of a task from the scheduler to the cluster. Allowed: 1 to 1000."""
    feedback_cycles: int = 1
    """Cycles of a feedback from the cluster to the scheduler. Allowed: 1 to 1000."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SharingParams(Params):
    """Guarantees for tenants that share the card. They do not change results of a card with one tenant."""

    reserved_queues: int = 16
    """Queues reserved for each tenant with a rule, at most an equal share of all; 0 reserves none. Allowed: 0 to
    1024.
    """
    turns: bool = True
    """If true, tenants take turns for queues and tasks. A tenant without free descriptors does not block the others,
    and many messages do not get more tasks than one.
    """
    schedule: Literal["round_robin", "weighted_round_robin", "bvt", "wlbvt"] = "round_robin"
    """The tenant that sends the next task to the clusters; rules with weights need `turns`."""
    fragment_bytes: int = 4096
    """Largest part of a transfer, in bytes, before other cores have their turn. Parts end at multiples of this
    number: in NIC memory for transfers with the host, in the source for transfers of a cluster's DMA. Needs
    `isolation.check_transfers` if it is not 4096. Allowed: a power of two from 64 to 4096.
    """
    io_schedule: Literal["in_order", "round_robin", "weighted_fair"] = "in_order"
    """The order in which commands reach the units that execute them: off-cluster DMA, NIC outbound engine,
    HostDirect. Tenants with `io` need a rule other than `in_order`.
    """
    cluster_dma_schedule: Literal["in_order", "round_robin", "weighted_fair"] = "in_order"
    """The order in which a cluster's DMA takes the transfers of its cores. With `in_order`, cores take turns. If
    `io_schedule` is not `in_order`, cores of tenants at their limits wait, and the tenants with the highest
    priority go first.
    """
    egress_fragment_bytes: int = 4096
    """Largest read that the NIC outbound engine makes for a packet before other packets have their turn. A read also
    ends at each multiple of this in NIC memory. With 4096, packets are read one after the other. Allowed: a power
    of two from 64 to 4096.
    """
    packet_memory_percent: int = 50
    """Maximum share of L2 packet memory for one tenant while several have rules, in percent. Packets beyond it are
    dropped, whatever the context requests for a full memory. Allowed: 1 to 100.
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class CommandParams(Params):
    """Commands."""

    in_flight_per_unit: int = 7
    """Maximum commands in flight at one executing unit, from all cores. Allowed: 1 to 1024."""
    host_dma_fifo: int = 64
    """FIFO depth of each of the two engines of the off-cluster DMA, in requests. Allowed: 1 to 1024."""
    host_direct_fifo: int = 16
    """FIFO depth of the HostDirect unit, in requests. Allowed: 1 to 1024."""
    one_host_burst: bool = False
    """If true, each direction has at most one burst at the host: a write burst leaves when all its beats are there,
    and the next one waits for its response. Reads of host memory must then begin at multiples of 64 bytes.
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutboundParams(Params):
    """NIC outbound engine."""

    command_slots: int = 16
    """Maximum commands waiting or in progress. Allowed: 1 to 1024."""
    max_packet_bytes: int = 2048
    """Largest packet in bytes. Allowed: 96 to 65536, at least 64 more than outbound.rdma_header_bytes."""
    queue_packets: int = 32
    """Packets that can wait for the wire. Allowed: 1 to 65536."""
    rdma_header_bytes: int = 32
    """Bytes of the header that an RDMA put adds to each packet. Allowed: 0 to 4096."""
    cycles_per_beat: int = 0
    """Cycles per 64 bytes of a packet before the next can leave; 0 and 1 mean back to back. Allowed: 0 to 1000000."""
    start_cycles: int = 0
    """Cycles that the engine adds before the first read of a command. Allowed: 0 to 1000."""
    response_cycles: int = 0
    """Cycles from the last byte of a command to its response. Allowed: 0 to 1000."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PcieParams(Params):
    """PCIe and host memory."""

    model: Literal["ideal", "fixed_rate", "tlp"] = "tlp"
    """The model; it decides which of the parameters below apply."""
    latency_cycles: int = 1
    """Ideal and fixed rate: cycles from accepting a beat until it is in host memory, or until its data return.
    Allowed: 1 to 1000000.
    """
    write_gap_cycles: int = 0
    """Ideal: additional cycles between write beats. Allowed: 0 to 1000000."""
    read_gap_cycles: int = 0
    """Ideal: additional cycles between read beats. Allowed: 0 to 1000000."""
    buffer_beats: int = 32
    """Beats that each of the five AXI channels can buffer. Allowed: 5 to 65536, more than link.max_payload_bytes /
    64.
    """
    link: LinkParams = dataclasses.field(default_factory=lambda: LinkParams())
    """The lanes and their packets."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LinkParams(Params):
    """The serial link to the host; each direction has its own lanes."""

    lanes: int = 16
    """Number of lanes: 1, 2, 4, 8 or 16. Allowed: one of [1, 2, 4, 8, 16]."""
    lane_mtps: int = 32000
    """Rate of a lane in MT/s; one bit per transfer. Allowed: 1 to 1000000."""
    code_bits: int = 128
    """Data bits in a block of the line code. Allowed: 1 to 1024."""
    code_line_bits: int = 130
    """Line bits of a block of the line code. Allowed: 128 to 2048."""
    latency_cycles: int = 150
    """Packets: cycles from the last bit on the line until the packet is available at the other side. Allowed: 0 to
    1000000.
    """
    host_read_cycles: int = 100
    """Packets: cycles from the arrival of a read request at the host until its data are available. Allowed: 0 to
    1000000.
    """
    header_bytes: int = 16
    """Packets: header bytes of a write or a read request. Allowed: 0 to 64."""
    completion_header_bytes: int = 12
    """Packets: header bytes of a completion. Allowed: 0 to 64."""
    framing_bytes: int = 8
    """Packets: framing bytes around each packet. Allowed: 0 to 64."""
    max_payload_bytes: int = 256
    """Packets: maximum data bytes of a write. Allowed: a power of two from 64 to 4096."""
    max_read_request_bytes: int = 512
    """Packets: maximum data bytes of a read request. Allowed: a power of two from 64 to 4096."""
    read_completion_boundary_bytes: int = 64
    """Packets: completions end at multiples of this number of bytes. Allowed: a power of two from 64 to 256."""
    read_tags: int = 256
    """Packets: maximum outstanding read requests. Allowed: 1 to 65536."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class IommuParams(Params):
    """Translation of host addresses in commands."""

    enabled: bool = True
    """If true, commands carry virtual addresses of registered memory. If false, addresses are physical and
    unrestricted.
    """
    entries: int = 64
    """Entries of the translation cache, in pages. Allowed: 4 to 1048576, a multiple of iommu.ways."""
    ways: int = 4
    """Associativity of the translation cache. Allowed: 1 to 1024."""
    hit_cycles: int = 2
    """Latency of a hit in cycles; one translation per cycle. Allowed: 0 to 1000."""
    level_cycles: int = 80
    """Cycles of a miss for each table level: four levels for a page of 4 KiB, three for one of 2 MiB. Allowed: 0 to
    1000000.
    """
    walks: int = 4
    """Maximum misses in flight. Allowed: 1 to 1024."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Delivery(Params):
    """The choices of a context. The default is the RTL's behaviour."""

    when_full: Literal["stall", "drop", "mark_ecn", "kill_message"] = "stall"
    """Handling of a packet when L2 packet memory is full."""
    ecn_threshold_percent: int = 50
    """With `mark_ecn`: occupancy of packet memory, in percent, from which packets are marked. Allowed: 0 to 100."""
    early_payload: Literal["buffer", "drop"] = "buffer"
    """Handling of a packet that arrives before the first of its message, for contexts with a header handler."""
    early_packets: int = 16
    """With `buffer`: maximum packets of a message that wait for its first one. Further ones are dropped. Allowed: 1
    to 65536.
    """
    timeout_cycles: int = 3000000000
    """A message ends and its queue is reset when no packet of it arrives for more than this number of cycles; 0
    waits forever. Allowed: 0 to 18000000000000.
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class NetworkParams(Params):
    """Guarantees of the network to handlers, which the application requests from its driver."""

    reliable: bool = True
    """Every packet of a message arrives exactly once, so handlers need not be idempotent."""
    in_order: bool = True
    """Packets of a message arrive in the order of sending."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RtlMistakes(Params):
    """Mistakes of the published RTL that programs can see in timing or data. The model makes those that are set."""

    stale_handles: bool = False
    """An issue that waits returns the lowest handle that is free when the wait begins (the highest if none is free),
    instead of the handle of its command.
    """
    atomics_return_one: bool = False
    """AMOs on another cluster's L1 and on L2 handler memory return 1 instead of the old value. The update of memory
    is correct.
    """
    rdma_headers_behind: bool = False
    """The header of an RDMA packet is zeros behind the data, instead of destination and flow in front of it."""
    unaligned_sends: bool = False
    """A packet sent from an address that is not a multiple of 64 has the bytes from the next lower multiple on."""
    unaligned_host_writes: bool = False
    """In a DMA write to an unaligned host address, beats after the first land too low, by the address modulo 64. The
    write to the following 4 KiB page is correct.
    """
    tests_handle_0: bool = False
    """`CMD_TEST` tests handle 0, whatever handle was written."""
    transfer_count_wraps: bool = False
    """A core's transfers in flight are counted modulo 16. With 16 transfers the feedback does not wait for them."""
    requests_get_lost: bool = False
    """A request for a full queue is lost, with its packet, if the queue of the previous request is not full. While
    the queue of the previous request is full, requests for other queues wait too.
    """
    l1_gaps_misbooked: bool = False
    """A packet that exactly fills the gap before the oldest packet of an L1 ring lands elsewhere and is not booked.
    A full ring accepts no packet until it is empty.
    """
    l2_freed_by_copied_bytes: bool = False
    """L2 packet memory is freed by the number of bytes copied to L1. A larger packet blocks its ring forever."""
    stray_fetches_hang: bool = False
    """A core that fetches outside program memory, or where its context may not, waits for the instruction forever."""
    refused_accesses_happen: bool = False
    """A load or store that protection refuses happens nevertheless, in machine mode, and its trap handler waits for
    it.
    """
    peripherals_of_cluster_0_are_own: bool = False
    """The absolute addresses of cluster 0's peripherals lead to the own peripherals in every cluster."""
    reused_queues_keep_packets: bool = False
    """Packets behind the last one of a message extend that message while its queue is in use. Packets that come
    after its last payload handler has started stay in the queue until another message takes it, and then belong
    to that message.
    """
    empty_commands_hang: bool = False
    """A packet of 0 bytes never ends. A transfer of 0 bytes with the host causes no response: it takes the response
    of the next transfer in its direction.
    """
    unmapped_commands_succeed: bool = False
    """Commands for unmapped NIC memory end as if they had succeeded. Their reads return a pattern, and their writes
    vanish.
    """
    unmapped_host_writes_vanish: bool = False
    """Writes of the host to unmapped NIC memory vanish without an error."""
