# SPDX-License-Identifier: Apache-2.0
"""Parameters of PANIC and its baselines, typed; docs/generate.py makes this from the Rust types."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias

from spinet._parameters import NicParams, Params


@dataclasses.dataclass(frozen=True, kw_only=True)
class PanicParams(NicParams):
    """Offload chains under a central scheduler."""

    _PRESETS: ClassVar[tuple[str, ...]] = ("panic", "panic-rtl", "panic-asic")

    model: Literal["panic"] = "panic"
    """The name of this variant."""
    clock_mhz: float = 250
    """The clock of everything except engines with a clock of their own."""
    flit_bytes: int = 64
    """Width of the interconnect, in bytes per cycle."""
    n_classes: int = 8
    """Number of traffic classes, 1 to 256; weights and buckets of policies have one entry for each."""
    network_ports: int = 1
    """Number of network ports, 1 to 8."""
    ingress: IngressParams = dataclasses.field(default_factory=lambda: IngressParams())
    """Input of each network port."""
    interconnect: InterconnectParams = dataclasses.field(default_factory=lambda: InterconnectParams())
    """The interconnect between all nodes."""
    dma: DmaParams = dataclasses.field(default_factory=lambda: DmaParams())
    """The DMA engine, PCIe and the host."""
    scheduler: CentralParams = dataclasses.field(default_factory=lambda: CentralParams())
    """The central scheduler."""
    service: tuple[ServiceSpec, ...] = dataclasses.field(
        default_factory=lambda: (
            ServiceSpec(
                name="sha",
                units=2,
                credits=4,
                engine=EngineParamsSha3512(
                    clock=EngineClockOwn(khz=150000, crossing_cycles=2),
                    engines=4,
                    fifo_flits=25,
                    gap_cycles=33,
                    region=RegionAll(),
                    headers="keep",
                    digest=DigestUseDiscard(),
                ),
            ),
            ServiceSpec(
                name="aes",
                units=2,
                credits=2,
                engine=EngineParamsAes256Ctr(
                    clock=EngineClockNic(),
                    fifo_flits=25,
                    pipeline_cycles=29,
                    region=RegionPayload(),
                    headers="keep",
                    trailer_bytes=0,
                    keys=(
                        AesKey(
                            of=KeyUseAll(),
                            key="776beff2851db06f4c8a0542c8696f6c6a81af1eec96b4d37fc1d689e6c1c104",
                            counter=CounterBlockRfc3686(nonce="00000060"),
                        ),
                    ),
                ),
            ),
        )
    )
    """The services, in the order of the scheduler's PIFOs."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class IngressParams(Params):
    """Fixed properties of an `Ingress`."""

    line_bps: int = 102000000000
    """Rate of the line in each direction, in bits per second."""
    overhead_bytes: int = 0
    """Bytes of line time that each packet takes in addition to its own, in both directions: 24 on Ethernet (FCS,
    preamble, gap).
    """
    descriptor_cycles: int = 1
    """Cycles for which the line stalls at each packet to insert its descriptor."""
    rmt_cycles: int = 1
    """Latency of the RMT pipeline: cycles from a packet's first bytes until its descriptor enters the interconnect."""
    buffer_flits: int = 1024
    """Capacity of the buffer behind the RMT pipeline, in flits."""
    when_full: Literal["stall", "drop"] = "stall"
    """Action when that buffer is full."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class InterconnectParams(Params):
    """The interconnect."""

    input_flits: int = 8
    """Buffer at each input, in flits."""
    input_cycles: int = 5
    """Cycles until a flit reaches that buffer."""
    output_flits: int = 8
    """Buffer at each output, in flits."""
    output_cycles: int = 6
    """Cycles until a flit leaves that buffer."""
    topology: Topology = dataclasses.field(default_factory=lambda: TopologyCrossbar())
    """Topology between inputs and outputs."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TopologyCrossbar(Params):
    """One crossbar joins all nodes."""

    kind: Literal["crossbar"] = "crossbar"
    """The name of this variant."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TopologyFlattenedButterfly(Params):
    """Routers in rows and columns, each joined to all others of its row and of its column."""

    kind: Literal["flattened-butterfly"] = "flattened-butterfly"
    """The name of this variant."""
    concentration: int
    """Nodes at each router. Nodes are assigned in order: the first ones belong to the first router."""
    columns: int
    """Routers in a row."""
    rows: int
    """Rows."""
    link_flits: int
    """Buffer of a channel between two routers, in flits; each link has two channels."""
    link_cycles: int
    """Latency of a link between two routers."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DmaParams(Params):
    """Fixed properties of a `super::Dma`."""

    rx_queues: int = 16
    """Number of receive queues, 1 to 1024."""
    tx_queues: int = 16
    """Number of transmit queues, 1 to 1024."""
    ring_slots: int = 1024
    """Descriptors in each queue's ring, a power of two from 4 to 4096. The host has one buffer for each."""
    buffer_bytes: int = 2048
    """Size of a buffer, a multiple of 64; limits the length of packets from and to the host."""
    prefetched: int = 64
    """Maximum number of descriptors of each ring that are on the card or on their way to it: a power of two, at
    least 4.
    """
    rx_flits: int = 64
    """Buffer for packets that wait for PCIe, in flits."""
    tx_flits: int = 256
    """Buffer for packets that are being read from the host or wait for the interconnect, in flits."""
    host_cycles: int = 0
    """Cycles from a completion in host memory until the host has returned the buffer to its ring."""
    pcie: PcieParams = dataclasses.field(default_factory=lambda: PcieParams())
    """The path to host memory."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PcieParams(Params):
    """PCIe and host memory."""

    model: Literal["ideal", "fixed_rate", "tlp"] = "ideal"
    """The model; it decides which of the parameters below apply."""
    latency_cycles: int = 1
    """Ideal and fixed rate: cycles from accepting a beat until it is in host memory, or until its data return."""
    write_gap_cycles: int = 0
    """Ideal: additional cycles between write beats."""
    read_gap_cycles: int = 0
    """Ideal: additional cycles between read beats."""
    buffer_beats: int = 32
    """Beats that each of the five AXI channels can buffer."""
    link: LinkParams = dataclasses.field(default_factory=lambda: LinkParams())
    """The lanes and their packets."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LinkParams(Params):
    """The serial link to the host; each direction has its own lanes."""

    lanes: int = 16
    """Number of lanes: 1, 2, 4, 8 or 16."""
    lane_mtps: int = 8000
    """Rate of a lane in MT/s; one bit per transfer."""
    code_bits: int = 128
    """Data bits in a block of the line code."""
    code_line_bits: int = 130
    """Line bits of a block of the line code."""
    latency_cycles: int = 38
    """Packets: cycles from the last bit on the line until the packet is available at the other side."""
    host_read_cycles: int = 25
    """Packets: cycles from the arrival of a read request at the host until its data are available."""
    header_bytes: int = 16
    """Packets: header bytes of a write or a read request."""
    completion_header_bytes: int = 12
    """Packets: header bytes of a completion."""
    framing_bytes: int = 8
    """Packets: framing bytes around each packet."""
    max_payload_bytes: int = 256
    """Packets: maximum data bytes of a write."""
    max_read_request_bytes: int = 512
    """Packets: maximum data bytes of a read request."""
    read_completion_boundary_bytes: int = 64
    """Packets: completions end at multiples of this number of bytes."""
    read_tags: int = 256
    """Packets: maximum outstanding read requests."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CentralParams(Params):
    """The central scheduler, without its services."""

    ports: int = 2
    """Ports on the interconnect; each has a bank of the packet buffer."""
    buffer: BufferParams = dataclasses.field(default_factory=lambda: BufferParams())
    """The packet buffer."""
    pifo: PifoParams = dataclasses.field(default_factory=lambda: PifoParams())
    """The PIFO blocks."""
    dropping: DropParams = dataclasses.field(default_factory=lambda: DropParams())
    """Drop thresholds."""
    chain_push: bool = True
    """True if a unit pushes a packet directly to a unit of the next service."""
    detour_raise: int = 1
    """Amount subtracted from a packet's ranks after a unit refused it."""
    note_cycles: int = 1
    """Cycles from a unit's credit note until the scheduler counts it, at least 1."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class BufferParams(Params):
    """The packet buffer: one bank for each port of the scheduler."""

    cells: int = 42
    """Cells of a bank, 1 to 65536."""
    cell_bytes: int = 1536
    """Size of a cell, which limits the packet length."""
    read_cycles: int | None = None
    """Cycles by which a packet's bytes leave the buffer after its descriptor, whose path is shorter. The message
    keeps its path through the interconnect meanwhile.
    """
    allocator: AllocatorParams | None = None
    """If set, a packet holds a cell from before it enters the NIC until it leaves, and waits outside while no cell
    is free (RTL). If not, it holds a cell only while it is in the buffer.
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class AllocatorParams(Params):
    """Delays of the cell allocator, for NICs in which a packet holds its cell from entry to exit."""

    free_cycles: int
    """Cycles from the descriptor's exit until its cell is free, 1 to 1024."""
    drop_cycles: int
    """Cycles from a drop out of a PIFO until the packet's cell is free, 1 to 1024."""
    ready_cycles: int
    """Cycles from a cell's becoming free until it can be allocated again, 0 to 1024."""
    warning_cycles: int
    """Cycles until the PIFOs see that the number of free cells has crossed the warning threshold, 1 to 1024."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PifoParams(Params):
    """The PIFO blocks. The logical PIFO of service i is in block i modulo `blocks`."""

    blocks: int = 1
    """Number of blocks, 1 to 64."""
    push_cycles: int = 2
    """Cycles between two pushes into a block."""
    pop_cycles: int = 2
    """Cycles between two pops from a block."""
    crossing_slots: int = 4
    """Depth of the FIFO in front of a block and of the FIFO from the blocks to each port."""
    enqueue_cycles: int = 25
    """Cycles from a descriptor's arrival at the scheduler until it can be pushed."""
    dequeue_cycles: int = 8
    """Cycles from a pop until the descriptor can leave the scheduler. The prototype's scheduling round trip is 14
    cycles (7.2). Taken as the time from a unit's note to the next descriptor at the unit, it consists of 1 cycle
    for the note, up to `pop_cycles` - 1 until the pop edge, `dequeue_cycles`, and the interconnect's latency.
    """
    crossing: CrossingParams | None = None
    """If set, packets leave the PIFOs, while there is room, into FIFOs at whose output credits are requested (RTL).
    If not, a packet leaves its PIFO when a unit has a credit (4.3.1).
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class CrossingParams(Params):
    """The FIFOs behind the PIFOs; `crossing_slots` gives their depth."""

    synchroniser: int
    """Synchronizer stages through which each side sees the other side's pointer, 1 to 16."""
    small_packets: bool
    """If true, the PIFO is popped even while an earlier packet is still on its way into the FIFO. That packet may
    take the last slot; then the next packet is lost together with its cell. If false, the PIFO is popped at most
    at every second edge.
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class DropParams(Params):
    """Thresholds above which a push drops the packet with the greatest rank of the logical PIFO. Source: 4.3.2,
    numbers RTL.
    """

    used_entries: int = 124
    """Drops if at least this number of packets was queued in the logical PIFO before the push."""
    free_cells: int = 3
    """Also drops if no bank has more free cells than this, and the condition of `spared_entries` holds."""
    spared_entries: int = 8
    """Few free cells cause a drop only if more packets than this were queued in the logical PIFO."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServiceSpec(Params):
    """A service and its units."""

    name: str
    """Name in chains."""
    units: int
    """Number of units, 1 to 250."""
    credits: int
    """Credits of each unit: the maximum number of packets that it may have."""
    engine: EngineParams
    """The engine in each unit."""
    flow_affinity: bool = False
    """True if all packets of a flow go to the same unit."""
    policy: PolicyTree = dataclasses.field(default_factory=lambda: PolicyTree(policy=PolicyParamsFifo()))
    """Scheduling policy; FIFO by default."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EngineParamsDelay(Params):
    """Waits for a service time and forwards the packet unchanged."""

    kind: Literal["delay"] = "delay"
    """The name of this variant."""
    service: ServiceTime
    """Service time of a packet."""
    gap_cycles: int
    """Cycles from a packet's tail until the next descriptor is read, 1 or more. About 2 in the RTL."""
    start_cycles: int | None = None
    """Cycles from reading a descriptor until the service time begins. 1 in the RTL."""
    grant_cycles: int | None = None
    """Cycles from the end of a service time above 0 until the descriptor is sent, while the output is requested. A
    packet without service time requests the output earlier. 1 in the RTL.
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServiceTimeFixed(Params):
    """The same for every packet."""

    kind: Literal["fixed"] = "fixed"
    """The name of this variant."""
    cycles: int
    """Cycles."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServiceTimeUniform(Params):
    """Uniformly distributed."""

    kind: Literal["uniform"] = "uniform"
    """The name of this variant."""
    least_cycles: int
    """Least number of cycles."""
    most_cycles: int
    """Greatest number of cycles."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServiceTimeListed(Params):
    """The metadata of the packet's hop, in cycles, as in the RTL."""

    kind: Literal["listed"] = "listed"
    """The name of this variant."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EngineParamsAes256Ctr(Params):
    """Encrypts and decrypts with AES."""

    kind: Literal["aes-256-ctr"] = "aes-256-ctr"
    """The name of this variant."""
    clock: EngineClock
    """Clock of the pipeline."""
    fifo_flits: int
    """FIFO between the scratchpad and the pipeline, in flits, 2 to 65536."""
    pipeline_cycles: int
    """Stages of the pipeline, 1 to 1024."""
    region: Region
    """The bytes to encrypt or decrypt; in counter mode both are the same operation."""
    trailer_bytes: int
    """Bytes at the end of the region that are excluded, for example a digest. If the region is missing or shorter,
    the packet is left unchanged and counted as `too_short`.
    """
    headers: Literal["keep", "update"]
    """How headers are updated; `update` needs the region `payload`."""
    keys: tuple[AesKey, ...]
    """Keys in order of precedence: the first that applies is used. A packet without a key passes unchanged and is
    counted as `keyless`.
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class EngineClockNic(Params):
    """The NIC's clock."""

    kind: Literal["nic"] = "nic"
    """The name of this variant."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EngineClockOwn(Params):
    """The engine's own clock, behind asynchronous FIFOs."""

    kind: Literal["own"] = "own"
    """The name of this variant."""
    khz: int
    """Frequency in kHz: 150 MHz is 150000."""
    crossing_cycles: int
    """FIFO latency in cycles of its writer, 1 to 16."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RegionAll(Params):
    """The whole packet."""

    kind: Literal["all"] = "all"
    """The name of this variant."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RegionPayload(Params):
    """The bytes after all headers parsed by the RMT pipeline; empty if it parsed none."""

    kind: Literal["payload"] = "payload"
    """The name of this variant."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RegionFrom(Params):
    """The bytes from a fixed offset on."""

    kind: Literal["from"] = "from"
    """The name of this variant."""
    offset: int
    """Offset of the first byte."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class AesKey(Params):
    """A key and its counter mode."""

    of: KeyUse
    """The packets that use it."""
    key: str
    """The key, 64 hexadecimal digits."""
    counter: CounterBlock
    """The first counter block of each packet."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class KeyUseAll(Params):
    """All packets."""

    kind: Literal["all"] = "all"
    """The name of this variant."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class KeyUseClass(Params):
    """Packets of a traffic class, by the packet's hop."""

    kind: Literal["class"] = "class"
    """The name of this variant."""
    class_: int
    """The class."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class KeyUseFlow(Params):
    """Packets of a flow."""

    kind: Literal["flow"] = "flow"
    """The name of this variant."""
    flow: int
    """The flow."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CounterBlockFixed(Params):
    """The same for each packet, as in the prototype. Not secure, because all packets then share one key stream."""

    kind: Literal["fixed"] = "fixed"
    """The name of this variant."""
    block: str
    """The block, 32 hexadecimal digits."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CounterBlockRfc3686(Params):
    """RFC 3686: the nonce, 8 bytes from the packet, and 1. The region begins with these 8 bytes, which stay
    unchanged. If it is shorter, the packet is left unchanged and counted as `too_short`.
    """

    kind: Literal["rfc3686"] = "rfc3686"
    """The name of this variant."""
    nonce: str
    """The nonce, 8 hexadecimal digits."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EngineParamsSha3512(Params):
    """Hashes with SHA-3."""

    kind: Literal["sha-3-512"] = "sha-3-512"
    """The name of this variant."""
    clock: EngineClock
    """Clock of the engines."""
    engines: int
    """Number of engines, 1 to 64."""
    fifo_flits: int
    """FIFO between the scratchpad and each engine, in flits, 2 to 65536. If it holds less than a packet, a busy
    engine blocks the packets behind.
    """
    gap_cycles: int
    """Cycles of an engine from a digest until the next packet, 0 to 4096."""
    region: Region
    """The bytes to hash; `check` excludes the digest at their end."""
    digest: DigestUse
    """Use of the digest."""
    headers: Literal["keep", "update"]
    """How to update the headers of a packet to which a digest was appended."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DigestUseDiscard(Params):
    """Discards it, as in the prototype."""

    kind: Literal["discard"] = "discard"
    """The name of this variant."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DigestUseAppend(Params):
    """Appends it to the packet. If that would exceed the NIC's longest packet, the packet stays unchanged and is
    counted as `too_long`.
    """

    kind: Literal["append"] = "append"
    """The name of this variant."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DigestUseCheck(Params):
    """Compares it with the last 64 bytes of the packet and counts `matches` and `mismatches`. A region shorter than
    64 bytes is a mismatch.
    """

    kind: Literal["check"] = "check"
    """The name of this variant."""
    mismatch: Literal["pass", "mark", "skip", "drop"]
    """Action for a packet whose digest differs."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EngineParamsCompression(Params):
    """Compresses or decompresses."""

    kind: Literal["compression"] = "compression"
    """The name of this variant."""
    clock: EngineClock
    """Clock of the engine."""
    fifo_flits: int
    """FIFO between the scratchpad and the engine, in flits, 2 to 65536."""
    bits_per_cycle: int
    """Rate in bits of uncompressed data per cycle, 1 to 4096."""
    finish_cycles: int
    """Cycles from a packet's last bits to the result, 0 to 65536."""
    direction: Literal["compress", "decompress"]
    """Compress or decompress."""
    region: Region
    """The bytes to compress or decompress."""
    headers: Literal["keep", "update"]
    """How headers are updated; `update` needs the region `payload`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EngineParamsInference(Params):
    """Classifies packets with a neural network."""

    kind: Literal["inference"] = "inference"
    """The name of this variant."""
    clock: EngineClock
    """Clock of the engine."""
    fifo_flits: int
    """FIFO between the scratchpad and the engine, in flits, 2 to 65536."""
    bits_per_cycle: int
    """Input width, in bits per cycle, 1 to 65536."""
    delay_cycles: int
    """Cycles from a packet's last bits to its class, 1 to 4096."""
    region: Region
    """The input bytes; bytes missing in a short packet are 0."""
    n_inputs: int
    """Number of input bytes, 1 to 1024."""
    n_neurons: tuple[int, ...]
    """Neurons of the three layers, 1 to 1024 each; the last has one for each class, at most 256."""
    shift: int
    """Right shift of the hidden neurons' sums, 0 to 31."""
    weights: Weights
    """Weights and biases."""
    class_into: ClassInto
    """Where the class is written."""
    headers: Literal["keep", "update"]
    """How to update the headers of a packet into which the class is written."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class WeightsSeeded(Params):
    """Random: uniformly distributed 8-bit numbers; biases are 0."""

    kind: Literal["seeded"] = "seeded"
    """The name of this variant."""
    seed: int
    """Seed of the random numbers."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class WeightsListed(Params):
    """Given explicitly."""

    kind: Literal["listed"] = "listed"
    """The name of this variant."""
    layers: tuple[LayerParams, ...]
    """The three layers, from the inputs to the outputs."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LayerParams(Params):
    """A layer of a network."""

    weights: tuple[tuple[int, ...], ...]
    """For each neuron, one weight for each of its inputs."""
    biases: tuple[int, ...]
    """For each neuron, the initial value of its sum."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassIntoMetadata(Params):
    """Into the metadata of this and all further hops."""

    kind: Literal["metadata"] = "metadata"
    """The name of this variant."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassIntoByte(Params):
    """Into the packet; one that is too short stays unchanged and is counted as `too_short`."""

    kind: Literal["byte"] = "byte"
    """The name of this variant."""
    offset: int
    """Offset of the byte."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EngineParamsRate(Params):
    """Forwards packets at the rate of a known accelerator."""

    kind: Literal["rate"] = "rate"
    """The name of this variant."""
    clock: EngineClock
    """Clock of the engine."""
    fifo_flits: int
    """FIFO between the scratchpad and the engine, in flits, 2 to 65536."""
    bits_per_cycle: int
    """Input width, in bits per cycle, 1 to 65536."""
    base_cycles: int
    """Cycles for each packet, 0 to 1048576."""
    block_bytes: int
    """Size of a block, 1 to 65536."""
    block_cycles: int
    """Cycles for each block, also for a partial one, 0 to 65536."""
    in_flight: int
    """Maximum number of packets in the engine, 1 to 4096."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EngineParamsRiscv(Params):
    """Runs a program on a RISC-V core."""

    kind: Literal["riscv"] = "riscv"
    """The name of this variant."""
    memory_bytes: int
    """Size of the local memory, a power of two from 4096 to 16 MiB."""
    pinned_bytes: int
    """Size of the packet region at the end of the memory; a multiple of 64, smaller than the memory."""
    buffers: int
    """Maximum number of packets in that region, 1 to 64; fewer if `pinned_bytes` does not hold that number of
    longest packets.
    """
    instruction_cache_bytes: int
    """Size of the instruction cache, a power of two."""
    data_cache_bytes: int
    """Size of the data cache, a power of two."""
    line_bytes: int
    """Line size of both caches, a power of two from 16 to 256. Both caches are direct-mapped."""
    request_cycles: int
    """Cycles from an instruction's execute stage until its access reaches the port of memory or registers, 1 or
    more.
    """
    memory_cycles: int
    """Read latency of the memory."""
    register_cycles: int
    """Read latency of a register."""
    answer_cycles: int
    """Cycles from the port back to the core."""
    refill_cycles: int
    """Cycles to write a line into a cache and retry the access that missed."""
    store_buffer: int
    """Depth of the store buffer, 1 to 64."""
    load_use_cycles: int
    """Stall of an instruction that uses the result of a load directly before it."""
    predicted_cycles: int
    """Cycles lost by a correctly predicted jump or branch that is taken."""
    mispredicted_cycles: int
    """Cycles lost by a mispredicted branch, a jump to a register, or a trap."""
    watchdog_cycles: int
    """Watchdog: cycles after which a program that neither answers a packet nor waits for one is restarted, 1 or
    more.
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyTree(Params):
    """A policy between classes, or between branches that each have a tree of their own. Source: 4.3.2 (hierarchies
    of PIFO blocks).
    """

    policy: PolicyParams
    """The policy at the root."""
    branches: tuple[Branch, ...] | None = None
    """The branches it decides between; if empty, it decides between classes."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyParamsFifo(Params):
    """Order of arrival."""

    kind: Literal["fifo"] = "fifo"
    """The name of this variant."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyParamsStrictPriority(Params):
    """The lowest priority value first."""

    kind: Literal["strict-priority"] = "strict-priority"
    """The name of this variant."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyParamsLeastSlack(Params):
    """The least remaining slack first."""

    kind: Literal["least-slack"] = "least-slack"
    """The name of this variant."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyParamsRoundRobin(Params):
    """Classes take turns, packet by packet."""

    kind: Literal["round-robin"] = "round-robin"
    """The name of this variant."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyParamsWeightedFair(Params):
    """Classes share bytes in proportion to their weights."""

    kind: Literal["weighted-fair"] = "weighted-fair"
    """The name of this variant."""
    weights: tuple[int, ...]
    """One weight, 1 to 65536, for each branch or class of the level, in order."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyParamsLeakyBucket(Params):
    """Limits the rate of each class; allowed at the outermost level only."""

    kind: Literal["leaky-bucket"] = "leaky-bucket"
    """The name of this variant."""
    buckets: tuple[Bucket, ...]
    """One bucket for each class."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bucket(Params):
    """The rate limit of a class."""

    bytes_per_1000_cycles: int
    """Rate in bytes per 1000 cycles of the scheduler."""
    burst_bytes: int
    """Bytes that may leave at once after a pause, ahead of the rate."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Branch(Params):
    """A branch of a hierarchy."""

    classes: tuple[int, ...]
    """Classes of this branch; weights inside it are in this order."""
    level: PolicyTree
    """The tree that decides between those classes."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PipelineParams(NicParams):
    """Offloads in a row behind one queue."""

    _PRESETS: ClassVar[tuple[str, ...]] = ("pipeline",)

    model: Literal["pipeline"] = "pipeline"
    """The name of this variant."""
    card: CardParams = dataclasses.field(default_factory=lambda: CardParams())
    """Clock, ports and host."""
    queue_bytes: int = 65536
    """Size of the queue in front of the first offload, in bytes; at least one longest packet."""
    unneeded: Unneeded = dataclasses.field(default_factory=lambda: UnneededThrough())
    """How packets pass offloads that they do not need."""
    stage: tuple[StageParams, ...] = ()
    """The offloads, in the order of the pipeline."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CardParams(Params):
    """Parameters common to all baseline NICs."""

    clock_mhz: float = 250
    """The clock of everything except engines with a clock of their own."""
    flit_bytes: int = 64
    """Width of all paths, in bytes per cycle."""
    longest_bytes: int = 1536
    """The longest packet, in bytes."""
    n_classes: int = 8
    """Number of traffic classes, 1 to 256; drops are counted by class."""
    network_ports: int = 1
    """Number of network ports, 1 to 8."""
    hop_cycles: int = 1
    """Latency of a flit from one component to the next."""
    ingress: IngressParams = dataclasses.field(default_factory=lambda: IngressParams())
    """Input of each network port."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnneededThrough(Params):
    """They go through the engine in order, take its time, and leave unchanged."""

    kind: Literal["through"] = "through"
    """The name of this variant."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnneededBypass(Params):
    """They bypass the engine and wait in a buffer for their turn at the offload's output."""

    kind: Literal["bypass"] = "bypass"
    """The name of this variant."""
    flits: int
    """Size of that buffer in flits; when it is full, the pipeline stalls."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class StageParams(Params):
    """An offload."""

    name: str
    """Name in chains."""
    engine: EngineParams
    """The engine."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ManycoreParams(NicParams):
    """Cores that carry packets from offload to offload."""

    _PRESETS: ClassVar[tuple[str, ...]] = ("manycore",)

    model: Literal["manycore"] = "manycore"
    """The name of this variant."""
    card: CardParams = dataclasses.field(default_factory=lambda: CardParams())
    """Clock, ports and host."""
    buffer_bytes: int = 65536
    """Buffer in which packets wait for cores, in bytes; at least one longest packet."""
    balance: Literal["flow", "round-robin", "fewest"] = "flow"
    """Load balancing: the core that a packet goes to."""
    interconnect_flits: int = 2
    """Maximum number of flits that the interconnect passes in a cycle; 2 suffice to send every packet to a core and
    from there to its exit.
    """
    cores: CoreParams = dataclasses.field(default_factory=lambda: CoreParams())
    """The cores."""
    service: tuple[PoolParams, ...] = ()
    """The services to which cores send packets."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CoreParams(Params):
    """The cores. They orchestrate; units process the packets."""

    count: int = 16
    """Number of cores, 1 to 200."""
    packets: int = 8
    """Maximum number of packets of a core, including those that it has sent to units."""
    work_cycles: int = 480
    """Cycles that a core is busy with a packet each time it arrives from the network or from a unit."""
    wait_cycles: int = 2020
    """Additional latency of the packet each time, for the core's memory and queues. The core works on other packets
    meanwhile.
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class PoolParams(Params):
    """A service and its units."""

    name: str
    """Name in chains."""
    units: int
    """Number of units, 1 to 200; cores use them in round robin."""
    engine: EngineParams
    """The engine in each unit."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RmtOnlyParams(NicParams):
    """Match-action tables only."""

    _PRESETS: ClassVar[tuple[str, ...]] = ("rmt",)

    model: Literal["rmt-only"] = "rmt-only"
    """The name of this variant."""
    card: CardParams = dataclasses.field(default_factory=lambda: CardParams())
    """Clock, ports and host."""
    host_services: tuple[str, ...] = ()
    """Services that chains may name although no stage provides them. Their packets go to the host unchanged and are
    counted.
    """


Topology: TypeAlias = TopologyCrossbar | TopologyFlattenedButterfly
ServiceTime: TypeAlias = ServiceTimeFixed | ServiceTimeUniform | ServiceTimeListed
EngineClock: TypeAlias = EngineClockNic | EngineClockOwn
Region: TypeAlias = RegionAll | RegionPayload | RegionFrom
KeyUse: TypeAlias = KeyUseAll | KeyUseClass | KeyUseFlow
CounterBlock: TypeAlias = CounterBlockFixed | CounterBlockRfc3686
DigestUse: TypeAlias = DigestUseDiscard | DigestUseAppend | DigestUseCheck
Weights: TypeAlias = WeightsSeeded | WeightsListed
ClassInto: TypeAlias = ClassIntoMetadata | ClassIntoByte
EngineParams: TypeAlias = (
    EngineParamsDelay
    | EngineParamsAes256Ctr
    | EngineParamsSha3512
    | EngineParamsCompression
    | EngineParamsInference
    | EngineParamsRate
    | EngineParamsRiscv
)
PolicyParams: TypeAlias = (
    PolicyParamsFifo
    | PolicyParamsStrictPriority
    | PolicyParamsLeastSlack
    | PolicyParamsRoundRobin
    | PolicyParamsWeightedFair
    | PolicyParamsLeakyBucket
)
Unneeded: TypeAlias = UnneededThrough | UnneededBypass

CARDS: Mapping[str, type[NicParams]] = {
    "panic": PanicParams,
    "pipeline": PipelineParams,
    "manycore": ManycoreParams,
    "rmt-only": RmtOnlyParams,
}
"""Classes by `model`."""
