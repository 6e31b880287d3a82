# SPDX-License-Identifier: Apache-2.0
"""Parameters of a card, typed; docs/generate.py makes this from the Rust types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class ClusterParams:
    """One cluster."""

    n_cores: int
    """Cores (HPUs); the RTL's field of a command's identity has room for 8. Allowed: 1 to 16."""
    l1_bytes: int
    """Bytes of L1 memory (TCDM). Allowed: a power of two from 32768 to 1048576."""
    l1_banks: int
    """Its word-interleaved 32-bit banks: 16, 32 or 64, superbanks of 16 serving a 64-byte beat. Allowed: one of [16,
    32, 64].
    """
    packet_buffer_offset: int
    """First byte of the packet buffer within L1. Allowed: a multiple of 64."""
    packet_buffer_bytes: int
    """Bytes of the packet buffer. Allowed: 4 times a multiple of 64."""
    packet_buffer_rings: int
    """Rings into which the packet buffer is split. Allowed: 1 to 16."""
    scratchpad_offset: int
    """First byte of the scratchpads within L1. Allowed: 82944 to 1048576, behind the packet buffer, within
    cluster.l1_bytes.
    """
    task_fifo: int
    """Tasks that wait in the cluster scheduler. Allowed: 1 to 1024."""
    dma_fifo: int
    """Transfers that wait in the cluster DMA. Allowed: 1 to 1024."""
    dma_bursts: int
    """Bursts of the cluster DMA under way towards L2, each for reads and writes. Allowed: 1 to 64."""
    core_commands: int
    """Commands of one core in flight: 1 to 4, the local field of a command's identity having 2 bits. Allowed: 1 to
    4.
    """
    inter_core_fifo: int
    """Words of an inter-core FIFO. Allowed: 1 to 1024."""
    clock_gating: bool
    """A core that waits for a task is clock gated; it wakes in the cycle in which its driver shows the task."""
    icache: IcacheParams
    """The shared instruction cache."""


@dataclass(frozen=True, kw_only=True)
class IcacheParams:
    """The instruction cache that the cores of a cluster share; lines of 16 bytes."""

    bytes: int
    """Bytes in all. Allowed: a power of two from 64 to 1048576, at least 16 for each of cluster.icache.ways."""
    ways: int
    """Lines a set holds. Allowed: 1 to 16."""
    miss_cycles: int
    """Cycles that a miss adds when nobody else refills. Allowed: 5 to 60."""


@dataclass(frozen=True, kw_only=True)
class IsolationParams:
    """What keeps handlers from each other, and tells the host of those that fail."""

    regions: Literal["coarse", "exact"]
    """What a handler may touch and run."""
    check_transfers: bool
    """Cluster DMA, off-cluster DMA and commands move only what the handler may touch, and only its host memory."""
    misaligned_amo_traps: bool
    """An AMO whose address is no multiple of 4 is an exception; else the lower bits are ignored."""
    report_errors: bool
    """The HPU driver writes errors of handlers to their context's record in host memory."""
    watchdog_cycles: int
    """Cycles that a handler may run where its context says nothing, and a tenant's at most; 0 means for ever."""
    host_clears_scratchpads: bool
    """The host's port on the NIC-host interconnect reaches every L1 too, so that its driver can clear scratchpads."""


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
    """Atomic operations on handler memory: reads and writes that may be under way. Allowed: 1 to 64."""
    packet_load_cycles: int
    """Cycles of the SRAM of packet memory for a load of a core. Allowed: 0 to 1000."""
    store_cycles: int
    """Cycles of either SRAM for a store of a core, until its response. Allowed: 0 to 1000."""
    packet_amo_cycles: int
    """Cycles of an atomic operation of a core on packet memory. Allowed: 0 to 1000."""
    handler_read_cycles: int
    """Cycles from the unit for atomic operations to the SRAM of handler memory and back. Allowed: 1 to 1000."""
    amo_response_cycles: int
    """Cycles from the data of an atomic operation to its response. Allowed: 0 to 1000."""
    amo_write_cycles: int
    """Cycles from the data of an atomic operation until the unit takes the next one. Allowed: 1 to 1000."""


@dataclass(frozen=True, kw_only=True)
class InterconnectParams:
    """Latencies of the interconnects, in cycles."""

    core_request_cycles: int
    """From a cluster to an L2 memory, for single accesses of cores. Accesses to other clusters go this way too.
    Allowed: 1 to 1000.
    """
    core_reply_cycles: int
    """From an L2 memory back to the cluster. Allowed: 1 to 1000."""
    remote_request_cycles: int
    """From there on to another cluster's L1. Allowed: 1 to 1000."""
    remote_reply_cycles: int
    """Back from there. Allowed: 1 to 1000."""
    remote_load_cycles: int
    """Further cycles of a load from another cluster's L1. Allowed: 0 to 1000."""
    remote_store_cycles: int
    """The same for a store. Allowed: 0 to 1000."""
    remote_amo_cycles: int
    """The same for an atomic operation. Allowed: 0 to 1000."""
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
    """Message processing queues; a message uses queue `msgid % n_mpqs`. A power of two. Allowed: a power of two from
    1 to 1024.
    """
    shared_cells: int
    """Packet descriptors that all queues share, besides the one that each queue owns. Allowed: 0 to 65536."""
    max_tasks_per_cluster: int
    """Tasks that may be in one cluster. Allowed: 1 to 20, as many as cluster.task_fifo holds."""
    dispatch_cycles: int
    """Cycles of a task on its way to the cluster. Allowed: 1 to 1000."""
    feedback_cycles: int
    """Cycles of a feedback on its way back. Allowed: 1 to 1000."""


@dataclass(frozen=True, kw_only=True)
class SharingParams:
    """What tenants cannot take from each other. Of a card with one tenant nothing here changes a result."""

    reserved_queues: int
    """Message queues that each tenant with a rule is sure of, or an equal part of all if that is less; 0 leaves all
    queues to whoever comes first. Allowed: 0 to 1024.
    """
    turns: bool
    """Their requests for queues, and their tasks, take turns: one whose descriptors are all taken holds up nobody
    else, and many messages get no more tasks than one.
    """
    packet_memory_percent: int
    """So much of L2 packet memory a tenant may have while several have rules; packets beyond it are dropped,
    whatever their context asks for when it is full. 100 is all. Allowed: 1 to 100.
    """


@dataclass(frozen=True, kw_only=True)
class CommandParams:
    """Commands."""

    in_flight_per_unit: int
    """Commands in flight at one executing unit, from all cores. Allowed: 1 to 1024."""
    host_dma_fifo: int
    """Requests that wait at each of the two engines of the off-cluster DMA. Allowed: 1 to 1024."""
    host_direct_fifo: int
    """Requests that wait at the HostDirect unit. Allowed: 1 to 1024."""


@dataclass(frozen=True, kw_only=True)
class OutboundParams:
    """NIC outbound engine."""

    command_slots: int
    """Commands that wait or are under way. Allowed: 1 to 1024."""
    max_packet_bytes: int
    """Largest packet in bytes. Allowed: 96 to 65536, at least 64 more than outbound.rdma_header_bytes."""
    queue_packets: int
    """Packets that wait for the wire. Allowed: 1 to 65536."""
    rdma_header_bytes: int
    """Bytes of the header that an RDMA put adds to each packet. Allowed: 0 to 4096."""
    cycles_per_beat: int
    """Cycles for each whole 64 bytes of a packet before the next may leave; 0 and 1 are back to back. Allowed: 0 to
    1000000.
    """


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
    """Translation of the host addresses in commands."""

    enabled: bool
    """Commands carry virtual addresses of registered memory; else physical ones, and all memory is theirs."""
    entries: int
    """Pages in the translation cache. Allowed: 4 to 1048576, a multiple of iommu.ways."""
    ways: int
    """Pages of a set of it. Allowed: 1 to 1024."""
    hit_cycles: int
    """Cycles until a cached translation is known; one translation a cycle. Allowed: 0 to 1000."""
    level_cycles: int
    """Cycles that a miss takes for each table on the way: four to a page of 4 KiB, three to one of 2 MiB. Allowed: 0
    to 1000000.
    """
    walks: int
    """Misses under way at once. Allowed: 1 to 1024."""


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """What a context asks for. The default is what the RTL does."""

    when_full: Literal["stall", "drop", "mark_ecn", "kill_message"]
    """A packet finds no room in L2 packet memory."""
    ecn_threshold_percent: int
    """With `mark_ecn`: marks from this occupancy of packet memory on, in percent. Allowed: 0 to 100."""
    early_payload: Literal["buffer", "drop"]
    """A packet that is known not to be its message's first comes before that, and the context has a header handler."""
    early_packets: int
    """With `buffer`: so many packets of a message wait for its first; further ones are dropped. Allowed: 1 to 65536."""
    timeout_cycles: int
    """A message is given up, and its queue reset, when no packet of it has come for more than so many cycles; 0
    waits for ever. Allowed: 0 to 18000000000000.
    """


@dataclass(frozen=True, kw_only=True)
class NetworkParams:
    """What the network promises to handlers; the application asks its driver for it."""

    reliable: bool
    """All packets of a message arrive, and none twice: handlers need not be idempotent."""
    in_order: bool
    """Packets of a message arrive in the order in which they were sent."""


@dataclass(frozen=True, kw_only=True)
class RtlMistakes:
    """Mistakes of the published RTL that programs can see in timing or bytes. The model makes those that are true."""

    stale_handles: bool
    """An issue that has to wait returns the lowest handle that is free when the wait begins (the highest if none
    is), not the handle of its command.
    """
    atomics_return_one: bool
    """AMOs on another cluster's L1 and on L2 handler memory return 1, not the old value. Memory is updated
    correctly.
    """
    rdma_headers_behind: bool
    """The header of an RDMA packet is zeros behind its data, not destination and flow in front of them."""
    unaligned_sends: bool
    """A packet sent from an address that is no multiple of 64 has the bytes from the multiple below on."""
    unaligned_host_writes: bool
    """Beats behind the first of a DMA's write to an unaligned host address land too low, by the address modulo 64.
    The write that follows in the next 4 KiB is right.
    """
    tests_handle_0: bool
    """`CMD_TEST` tests handle 0, whatever was written to it."""
    transfer_count_wraps: bool
    """Transfers of a core under way are counted modulo 16: with 16 of them its feedback does not wait."""
    requests_get_lost: bool
    """A request that comes while its queue is full, and the queue of the request before is not, is lost with its
    packet. While the queue of the request before is full, requests for other queues wait, too.
    """
    l1_gaps_misbooked: bool
    """A packet that fills the gap before the oldest packet of an L1 ring exactly lands elsewhere and is not booked.
    A full ring takes no packet until it is empty.
    """
    l2_freed_by_copied_bytes: bool
    """L2 packet memory is freed by the bytes that were copied to L1. Where a packet has more, its ring is blocked
    for ever.
    """


@dataclass(frozen=True, kw_only=True)
class PspinParams:
    """Everything that can be chosen about a PsPIN NIC."""

    clock_mhz: float
    """Clock of the whole NIC, in MHz. Allowed: 1 to 100000."""
    n_clusters: int
    """Number of clusters; the RTL's field of a command's identity has room for 4. Allowed: 1 to 16."""
    cluster: ClusterParams
    """The clusters, all alike."""
    isolation: IsolationParams
    """What keeps handlers from each other."""
    l2: L2Params
    """Memories outside the clusters."""
    interconnect: InterconnectParams
    """Ways between clusters, L2 and engines."""
    scheduler: SchedulerParams
    """Message queues and dispatcher."""
    sharing: SharingParams
    """What tenants cannot take from each other."""
    commands: CommandParams
    """Commands in flight and the units that execute them."""
    outbound: OutboundParams
    """NIC outbound engine."""
    pcie: PcieParams
    """Host memory behind PCIe."""
    iommu: IommuParams
    """Translation of host addresses."""
    delivery: Delivery
    """What contexts ask for that do not say otherwise."""
    network: NetworkParams
    """What the network promises."""
    rtl_mistakes: RtlMistakes
    """Mistakes of the published RTL."""
