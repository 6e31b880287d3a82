# SPDX-License-Identifier: Apache-2.0
"""Parameters of a card, typed; docs/generate.py makes this from the Rust types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class ClusterParams:
    """One cluster."""

    n_cores: int
    """Cores (HPUs) per cluster. The RTL's command identity has room for 8. Allowed: 1 to 16."""
    l1_bytes: int
    """Bytes of L1 memory (TCDM). Allowed: a power of two from 32768 to 1048576."""
    l1_banks: int
    """Word-interleaved 32-bit banks: 16, 32 or 64. A superbank of 16 banks serves a 64-byte beat. Allowed: one of
    [16, 32, 64].
    """
    packet_buffer_offset: int
    """First byte of the packet buffer within L1. Allowed: a multiple of 64."""
    packet_buffer_bytes: int
    """Bytes of the packet buffer. Allowed: 4 times a multiple of 64."""
    packet_buffer_rings: int
    """Number of rings in the packet buffer. Allowed: 1 to 16."""
    scratchpad_offset: int
    """First byte of the scratchpads within L1. Allowed: 82944 to 1048576, behind the packet buffer, within
    cluster.l1_bytes.
    """
    task_fifo: int
    """FIFO depth of the cluster scheduler, in tasks. Allowed: 1 to 1024."""
    dma_fifo: int
    """FIFO depth of the cluster DMA, in transfers. Allowed: 1 to 1024."""
    dma_bursts: int
    """Bursts of the cluster DMA in flight towards L2, for reads and for writes each. Allowed: 1 to 64."""
    core_commands: int
    """Commands of one core in flight, 1 to 4: the command identity has 2 bits for them. Allowed: 1 to 4."""
    inter_core_fifo: int
    """Words that a FIFO between two cores holds. Allowed: 1 to 1024."""
    clock_gating: bool
    """If true, a core without a task is clock gated. It wakes in the cycle in which its driver presents a task."""
    cycle_register: bool
    """If true, handlers can read the register `cycle`, as `spin_now()` does. An extension of spinet."""
    icache: IcacheParams
    """The shared instruction cache."""


@dataclass(frozen=True, kw_only=True)
class IcacheParams:
    """The instruction cache that the cores of a cluster share. Lines have 16 bytes."""

    bytes: int
    """Capacity in bytes. Allowed: a power of two from 64 to 1048576, at least 16 for each of cluster.icache.ways."""
    ways: int
    """Associativity. Allowed: 1 to 16."""
    miss_cycles: int
    """Cycles that a miss adds if no other refill is in progress. Allowed: 5 to 60."""


@dataclass(frozen=True, kw_only=True)
class IsolationParams:
    """Isolation of handlers, and reports of failed handlers to the host."""

    regions: Literal["coarse", "exact"]
    """Memory regions that a handler can access."""
    check_transfers: bool
    """If true, cluster DMA, off-cluster DMA and commands check the handler's regions and its host memory."""
    misaligned_amo_traps: bool
    """If true, an AMO to an address that is not a multiple of 4 traps. If false, the lower address bits are ignored."""
    report_errors: bool
    """If true, the HPU driver writes handler errors to the context's record in host memory."""
    watchdog_cycles: int
    """Default watchdog limit of a handler in cycles, and the maximum for tenants; 0 disables the watchdog."""
    host_clears_scratchpads: bool
    """If true, the host's port on the NIC-host interconnect also reaches every L1, so that the driver can clear
    scratchpads.
    """


@dataclass(frozen=True, kw_only=True)
class L2Params:
    """Memories outside the clusters."""

    handler_bytes: int
    """Bytes of L2 handler memory, from 0x1C00_0000. Allowed: a power of two from 65536 to 4194304."""
    packet_bytes: int
    """Bytes of L2 packet memory, from 0x1C40_0000. Allowed: a power of two from 4096 to 4194304."""
    program_bytes: int
    """Bytes of program memory, from 0x1D00_0000. Allowed: a power of two from 4096 to 1048576."""
    atomics_depth: int
    """Maximum reads and maximum writes in flight at the atomics unit of handler memory. Allowed: 1 to 64."""
    packet_load_cycles: int
    """SRAM cycles of a core's load from packet memory. Allowed: 0 to 1000."""
    store_cycles: int
    """SRAM cycles of a core's store to L2, until its response. Allowed: 0 to 1000."""
    packet_amo_cycles: int
    """SRAM cycles of a core's atomic operation on packet memory. Allowed: 0 to 1000."""
    handler_read_cycles: int
    """Cycles from the atomics unit to the SRAM of handler memory and back. Allowed: 1 to 1000."""
    amo_response_cycles: int
    """Cycles from the data of an atomic operation to its response. Allowed: 0 to 1000."""
    amo_write_cycles: int
    """Cycles from the data of an atomic operation until the unit accepts the next one. Allowed: 1 to 1000."""


@dataclass(frozen=True, kw_only=True)
class InterconnectParams:
    """Latencies of the interconnects, in cycles."""

    core_request_cycles: int
    """From a cluster to an L2 memory, for single accesses of cores. Accesses to other clusters take this path too.
    Allowed: 1 to 1000.
    """
    core_reply_cycles: int
    """From an L2 memory back to the cluster. Allowed: 1 to 1000."""
    remote_request_cycles: int
    """From the end of that path to another cluster's L1. Allowed: 1 to 1000."""
    remote_reply_cycles: int
    """Back from there. Allowed: 1 to 1000."""
    remote_load_cycles: int
    """Additional cycles of a load from another cluster's L1. Allowed: 0 to 1000."""
    remote_store_cycles: int
    """Additional cycles of a store to another cluster's L1. Allowed: 0 to 1000."""
    remote_amo_cycles: int
    """Additional cycles of an atomic operation on another cluster's L1. Allowed: 0 to 1000."""
    dma_request_cycles: int
    """From a cluster's DMA engine to an L2 memory. Allowed: 1 to 1000."""
    dma_reply_cycles: int
    """From an L2 memory back to the DMA engine. Allowed: 1 to 1000."""
    nhi_request_cycles: int
    """From an initiator on the NIC-host interconnect to its target. Allowed: 1 to 1000."""
    nhi_reply_cycles: int
    """From an L2 memory back to that initiator. Allowed: 1 to 1000."""
    nhi_l1_reply_cycles: int
    """From an L1 back to that initiator. Allowed: 1 to 1000."""


@dataclass(frozen=True, kw_only=True)
class SchedulerParams:
    """Message queues and dispatcher."""

    n_mpqs: int
    """Number of message processing queues, a power of two. A message uses queue `msgid % n_mpqs`. Allowed: a power
    of two from 1 to 1024.
    """
    shared_cells: int
    """Packet descriptors shared by all queues, in addition to one per queue. Allowed: 0 to 65536."""
    max_tasks_per_cluster: int
    """Maximum tasks in one cluster. Allowed: 1 to 20, as many as cluster.task_fifo holds."""
    dispatch_cycles: int
    """Cycles of a task from the scheduler to the cluster. Allowed: 1 to 1000."""
    feedback_cycles: int
    """Cycles of a feedback from the cluster to the scheduler. Allowed: 1 to 1000."""


@dataclass(frozen=True, kw_only=True)
class SharingParams:
    """Guarantees for tenants that share the card. They do not change results of a card with one tenant."""

    reserved_queues: int
    """Queues reserved for each tenant with a rule, at most an equal share of all; 0 reserves none. Allowed: 0 to
    1024.
    """
    turns: bool
    """If true, tenants take turns for queues and tasks. A tenant without free descriptors does not block the others,
    and many messages do not get more tasks than one.
    """
    packet_memory_percent: int
    """Maximum share of L2 packet memory for one tenant while several have rules, in percent. Packets beyond it are
    dropped, whatever the context requests for a full memory. Allowed: 1 to 100.
    """


@dataclass(frozen=True, kw_only=True)
class CommandParams:
    """Commands."""

    in_flight_per_unit: int
    """Maximum commands in flight at one executing unit, from all cores. Allowed: 1 to 1024."""
    host_dma_fifo: int
    """FIFO depth of each of the two engines of the off-cluster DMA, in requests. Allowed: 1 to 1024."""
    host_direct_fifo: int
    """FIFO depth of the HostDirect unit, in requests. Allowed: 1 to 1024."""


@dataclass(frozen=True, kw_only=True)
class OutboundParams:
    """NIC outbound engine."""

    command_slots: int
    """Maximum commands waiting or in progress. Allowed: 1 to 1024."""
    max_packet_bytes: int
    """Largest packet in bytes. Allowed: 96 to 65536, at least 64 more than outbound.rdma_header_bytes."""
    queue_packets: int
    """Packets that can wait for the wire. Allowed: 1 to 65536."""
    rdma_header_bytes: int
    """Bytes of the header that an RDMA put adds to each packet. Allowed: 0 to 4096."""
    cycles_per_beat: int
    """Cycles per 64 bytes of a packet before the next can leave; 0 and 1 mean back to back. Allowed: 0 to 1000000."""


@dataclass(frozen=True, kw_only=True)
class PcieParams:
    """PCIe and host memory."""

    model: Literal["ideal", "fixed_rate", "tlp"]
    """The model; it decides which of the parameters below apply."""
    latency_cycles: int
    """Ideal and fixed rate: cycles from accepting a beat until it is in host memory, or until its data return.
    Allowed: 1 to 1000000.
    """
    write_gap_cycles: int
    """Ideal: additional cycles between write beats. Allowed: 0 to 1000000."""
    read_gap_cycles: int
    """Ideal: additional cycles between read beats. Allowed: 0 to 1000000."""
    buffer_beats: int
    """Beats that each of the five AXI channels can buffer. Allowed: 5 to 65536, more than link.max_payload_bytes /
    64.
    """
    link: LinkParams
    """The lanes and their packets."""


@dataclass(frozen=True, kw_only=True)
class LinkParams:
    """The serial link to the host; each direction has its own lanes."""

    lanes: int
    """Number of lanes: 1, 2, 4, 8 or 16. Allowed: one of [1, 2, 4, 8, 16]."""
    lane_mtps: int
    """Rate of a lane in MT/s; one bit per transfer. Allowed: 1 to 1000000."""
    code_bits: int
    """Data bits in a block of the line code. Allowed: 1 to 1024."""
    code_line_bits: int
    """Line bits of a block of the line code. Allowed: 128 to 2048."""
    latency_cycles: int
    """Packets: cycles from the last bit on the line until the packet is available at the other side. Allowed: 0 to
    1000000.
    """
    host_read_cycles: int
    """Packets: cycles from the arrival of a read request at the host until its data are available. Allowed: 0 to
    1000000.
    """
    header_bytes: int
    """Packets: header bytes of a write or a read request. Allowed: 0 to 64."""
    completion_header_bytes: int
    """Packets: header bytes of a completion. Allowed: 0 to 64."""
    framing_bytes: int
    """Packets: framing bytes around each packet. Allowed: 0 to 64."""
    max_payload_bytes: int
    """Packets: maximum data bytes of a write. Allowed: a power of two from 64 to 4096."""
    max_read_request_bytes: int
    """Packets: maximum data bytes of a read request. Allowed: a power of two from 64 to 4096."""
    read_completion_boundary_bytes: int
    """Packets: completions end at multiples of this number of bytes. Allowed: a power of two from 64 to 256."""
    read_tags: int
    """Packets: maximum outstanding read requests. Allowed: 1 to 65536."""


@dataclass(frozen=True, kw_only=True)
class IommuParams:
    """Translation of host addresses in commands."""

    enabled: bool
    """If true, commands carry virtual addresses of registered memory. If false, addresses are physical and
    unrestricted.
    """
    entries: int
    """Entries of the translation cache, in pages. Allowed: 4 to 1048576, a multiple of iommu.ways."""
    ways: int
    """Associativity of the translation cache. Allowed: 1 to 1024."""
    hit_cycles: int
    """Latency of a hit in cycles; one translation per cycle. Allowed: 0 to 1000."""
    level_cycles: int
    """Cycles of a miss for each table level: four levels for a page of 4 KiB, three for one of 2 MiB. Allowed: 0 to
    1000000.
    """
    walks: int
    """Maximum misses in flight. Allowed: 1 to 1024."""


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """The choices of a context. The default is the RTL's behaviour."""

    when_full: Literal["stall", "drop", "mark_ecn", "kill_message"]
    """Handling of a packet when L2 packet memory is full."""
    ecn_threshold_percent: int
    """With `mark_ecn`: occupancy of packet memory, in percent, from which packets are marked. Allowed: 0 to 100."""
    early_payload: Literal["buffer", "drop"]
    """Handling of a packet that arrives before the first of its message, for contexts with a header handler."""
    early_packets: int
    """With `buffer`: maximum packets of a message that wait for its first one. Further ones are dropped. Allowed: 1
    to 65536.
    """
    timeout_cycles: int
    """A message ends and its queue is reset when no packet of it arrives for more than this number of cycles; 0
    waits forever. Allowed: 0 to 18000000000000.
    """


@dataclass(frozen=True, kw_only=True)
class NetworkParams:
    """Guarantees of the network to handlers, which the application requests from its driver."""

    reliable: bool
    """Every packet of a message arrives exactly once, so handlers need not be idempotent."""
    in_order: bool
    """Packets of a message arrive in the order of sending."""


@dataclass(frozen=True, kw_only=True)
class RtlMistakes:
    """Mistakes of the published RTL that programs can see in timing or data. The model makes those that are set."""

    stale_handles: bool
    """An issue that waits returns the lowest handle that is free when the wait begins (the highest if none is free),
    instead of the handle of its command.
    """
    atomics_return_one: bool
    """AMOs on another cluster's L1 and on L2 handler memory return 1 instead of the old value. The update of memory
    is correct.
    """
    rdma_headers_behind: bool
    """The header of an RDMA packet is zeros behind the data, instead of destination and flow in front of it."""
    unaligned_sends: bool
    """A packet sent from an address that is not a multiple of 64 has the bytes from the multiple below."""
    unaligned_host_writes: bool
    """In a DMA write to an unaligned host address, beats after the first land too low, by the address modulo 64. The
    write to the following 4 KiB page is correct.
    """
    tests_handle_0: bool
    """`CMD_TEST` tests handle 0, whatever handle was written."""
    transfer_count_wraps: bool
    """The transfers of a core in flight are counted modulo 16. With 16 transfers the feedback does not wait for
    them.
    """
    requests_get_lost: bool
    """A request for a full queue is lost, with its packet, if the queue of the previous request is not full. While
    the queue of the previous request is full, requests for other queues wait too.
    """
    l1_gaps_misbooked: bool
    """A packet that exactly fills the gap before the oldest packet of an L1 ring lands elsewhere and is not booked.
    A full ring accepts no packet until it is empty.
    """
    l2_freed_by_copied_bytes: bool
    """L2 packet memory is freed by the number of bytes copied to L1. A larger packet blocks its ring forever."""
    stray_fetches_hang: bool
    """A core that fetches outside program memory, or where its context may not, waits for the instruction forever."""
    peripherals_of_cluster_0_are_own: bool
    """The absolute addresses of cluster 0's peripherals lead to the own peripherals in every cluster."""


@dataclass(frozen=True, kw_only=True)
class PspinParams:
    """All parameters of a PsPIN NIC."""

    clock_mhz: float
    """Clock of the whole NIC, in MHz. Allowed: 1 to 100000."""
    n_clusters: int
    """Number of clusters. The RTL's command identity has room for 4. Allowed: 1 to 16."""
    cluster: ClusterParams
    """The clusters; all have the same parameters."""
    isolation: IsolationParams
    """Isolation of handlers."""
    l2: L2Params
    """Memories outside the clusters."""
    interconnect: InterconnectParams
    """Interconnects between clusters, L2 and engines."""
    scheduler: SchedulerParams
    """Message queues and dispatcher."""
    sharing: SharingParams
    """Guarantees for tenants that share the card."""
    commands: CommandParams
    """Commands in flight and the units that execute them."""
    outbound: OutboundParams
    """NIC outbound engine."""
    pcie: PcieParams
    """Host memory behind PCIe."""
    iommu: IommuParams
    """Translation of host addresses."""
    delivery: Delivery
    """Defaults for contexts that do not set these."""
    network: NetworkParams
    """Guarantees of the network."""
    rtl_mistakes: RtlMistakes
    """Mistakes of the published RTL that the model makes."""
