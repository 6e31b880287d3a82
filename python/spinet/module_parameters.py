# SPDX-License-Identifier: Apache-2.0
"""Parameters of the modules of wired cards, typed; docs/generate.py makes this from the Rust types."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias

from spinet._parameters import ModuleParams, Params
from spinet._wired_parameters import WiredParams as WiredParams


@dataclasses.dataclass(frozen=True, kw_only=True)
class AluParams(ModuleParams):
    """`alu`: Computes the arithmetic and logic operations of MIPS."""

    MODULE: ClassVar[str] = "alu"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArbiterParams(ModuleParams):
    """`arbiter`: Connects several requesters to one memory, one at a time."""

    MODULE: ClassVar[str] = "arbiter"

    requesters: int
    """Number of requesters, 1 to 64."""
    outstanding: int
    """Maximum references in flight."""
    burst_references: int
    """Maximum references of a burst, which have consecutive addresses."""
    policy: Policy
    """Arbitration policy."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyFixedPriority(Params):
    """The first group with a waiting requester wins; requesters within a group take turns."""

    kind: Literal["fixed-priority"] = "fixed-priority"
    """The name of this variant."""
    groups: tuple[tuple[int, ...], ...]
    """Requester indices, highest priority first. Requesters that no group names form an additional last group."""
    keeps_bursts: bool
    """If true, a burst is not interrupted."""
    timeout_cycles: int
    """Cycles of waiting after which a requester goes first."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyRoundRobin(Params):
    """All requesters take turns, one reference each. Source: thesis, 3.3.1 (the base prioritisation of Spinach's
    arbiter).
    """

    kind: Literal["round-robin"] = "round-robin"
    """The name of this variant."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyRoundRobinTree(Params):
    """All requesters take turns as in PsPIN's interconnects; the tree may pass over the next in turn."""

    kind: Literal["round-robin-tree"] = "round-robin-tree"
    """The name of this variant."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class BlockTransferParams(ModuleParams):
    """`block-transfer`: Copies bytes from one memory to another on request."""

    MODULE: ClassVar[str] = "block-transfer"

    reference_bytes: int
    """Bytes of a reference, a power of two; reads are aligned to it."""
    outstanding: int
    """Maximum number of outstanding reads, including pieces read but not yet written."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class BootLoaderParams(ModuleParams):
    """`boot-loader`: Loads a run's firmware into memories and starts the cores of a card whose host has no driver."""

    MODULE: ClassVar[str] = "boot-loader"

    firmware: tuple[FirmwareMemory, ...]
    """Memories to load with firmware."""
    cores: int
    """Number of cores to start at the firmware's entry. Cores that start by themselves are not counted."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FirmwareMemory(Params):
    """A memory of the card for firmware."""

    memory: str
    """Path of the memory: a `memory-controller` or a `scratchpad-banks`."""
    base: int
    """Address of its first byte in the firmware's link map."""
    bytes: int
    """Size in bytes."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CacheControllerParams(ModuleParams):
    """`cache-controller`: Tags and timing of a write-through cache whose data is in a separate memory."""

    MODULE: ClassVar[str] = "cache-controller"

    line_bytes: int
    """Bytes of a line, a power of two."""
    sets: int
    """Number of sets, a power of two."""
    ways: int
    """Ways of a set, 1 to 64."""
    replacement: Literal["lru", "round-robin", "random"]
    """Replacement policy."""
    allocates_on_read: bool
    """If true, a read that misses fetches its line. Source: thesis, 3.2.2, says no read allocate, but its next
    sentence has a miss load its line; so both are possible here.
    """
    allocates_on_write: bool
    """If true, a write that misses fetches its line."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CrossbarParams(ModuleParams):
    """`crossbar`: Connects several requesters to several memories, by address."""

    MODULE: ClassVar[str] = "crossbar"

    requesters: int
    """Number of requesters, 1 to 64."""
    windows: tuple[AddressWindow, ...]
    """Address windows; `outputs[i]` gets the references to window i."""
    outstanding: int
    """Maximum references in flight at each output."""
    burst_references: int
    """Maximum references of a burst, which have consecutive addresses."""
    policy: Policy
    """Arbitration policy of each output."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class AddressWindow(Params):
    """A range of addresses."""

    base: int
    """Address of the first byte."""
    bytes: int
    """Size in bytes."""
    becomes: int
    """Address of the first byte as the output sees it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DemuxParams(ModuleParams):
    """`demux`: Connects one requester to several memories, by address or by selection."""

    MODULE: ClassVar[str] = "demux"

    by: DemuxBy
    """How the output is chosen."""
    outstanding: int
    """Maximum references in flight at each output."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DemuxByWindows(Params):
    """By address; one window for each output."""

    windows: tuple[AddressWindow, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class DemuxBySelect(Params):
    """By the word at `select`; the value is the number of outputs."""

    select: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class DmaAssistParams(ModuleParams):
    """`dma-assist`: Moves data between host and card memory, in one direction, as a ring of descriptors says."""

    MODULE: ClassVar[str] = "dma-assist"

    direction: Literal["read", "write"]
    """`read` moves data from host memory to the card, `write` from the card to host memory."""
    ring_entries: int
    """Descriptors in the ring."""
    high_ring_entries: int
    """Descriptors in the high-priority ring; 0 if there is none."""
    descriptor_bytes: int
    """Bytes of a descriptor: host address (8), local address (4), length (4), and from byte 24 state (4) and
    checksum address (4); firmware uses the rest. The assist reads all of it.
    """
    descriptors_ahead: int
    """Descriptors read in advance while another transfer is in progress."""
    buffer_bytes: int
    """Bytes of the buffer between source and sink; it includes bytes requested from the source and not yet sent to
    the sink.
    """
    memory_burst_bytes: int
    """Maximum bytes of a reference to card memory; references end at multiples of it."""
    memory_references: int
    """Maximum outstanding references to card memory."""
    host_burst_bytes: int
    """Maximum bytes of a reference to host memory; references end at multiples of it."""
    host_references: int
    """Maximum outstanding references to host memory."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EventQueueParams(ModuleParams):
    """`event-queue`: A hardware-managed event queue between the processors and the registers of a card."""

    MODULE: ClassVar[str] = "event-queue"

    cpus: int
    """Number of processors, 1 to 32."""
    events: int
    """Capacity for events queued by processors; further ones are lost and counted."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FetchUnitParams(ModuleParams):
    """`fetch-unit`: Fetches the instruction at each program counter."""

    MODULE: ClassVar[str] = "fetch-unit"

    outstanding: int
    """Maximum outstanding fetches."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FrameMemoryParams(ModuleParams):
    """`frame-memory`: Double data rate memory for frames: one whole transfer at a time, blocked while a row opens."""

    MODULE: ClassVar[str] = "frame-memory"

    requesters: int
    """Number of requesters, 1 to 64; their ports may stay unconnected."""
    base: int
    """Address of the first byte."""
    bytes: int
    """Size in bytes."""
    bus_bytes: int
    """Bytes that the bus moves per cycle."""
    word_bytes: int
    """Bytes of a memory word; a transfer moves whole words."""
    transfer_bytes: int
    """Maximum bytes of a transfer."""
    rows: RowsParams
    """DRAM rows."""
    policy: Policy
    """Arbitration policy."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RowsParams(Params):
    """Geometry and latencies of DRAM rows. Consecutive rows are in consecutive banks."""

    row_bytes: int
    """Bytes of a row in one bank, a power of two. Source: thesis, 3.2.2 (row length of the memory controller)."""
    banks: int
    """Number of banks, a power of two; each keeps one row open."""
    activation_cycles: int
    """Cycles to open a row in a bank without an open row. Source: thesis, 3.2.2 (row activation latency)."""
    conflict_cycles: int
    """Cycles to open a row in a bank with another open row."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FrameSinkParams(ModuleParams):
    """`frame-sink`: The network to which a card sends: counts frames and checks them against those that the host
    sent.
    """

    MODULE: ClassVar[str] = "frame-sink"

    kept_times: int
    """Number of frames whose times are kept for the report, 32 bytes each; later ones are only counted."""
    kept_frames: int
    """Number of frames kept with their bytes; later ones are only counted and checked."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FunctionParams(ModuleParams):
    """`function`: Computes a word from one word of each input."""

    MODULE: ClassVar[str] = "function"

    inputs: int
    """Number of inputs, 1 to 64."""
    compute: Compute
    """The operation."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComputeBits(Params):
    """Bits `first` to `first + count - 1` of the first input, shifted right by `first`."""

    bits: ComputeBitsBits


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComputeBitsBits(Params):
    """Parameters."""

    first: int
    """The lowest bit."""
    count: int
    """Number of bits."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComputeTable(Params):
    """The entry of this table at the index that the first input gives. An index beyond the end selects the last."""

    table: tuple[int, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class MacReceiveParams(ModuleParams):
    """`mac-receive`: Stores arriving frames in a ring of buffers, with a ring of descriptors."""

    MODULE: ClassVar[str] = "mac-receive"

    link_bps: int
    """Bit rate of the line in bit/s."""
    ring_entries: int
    """Descriptors in the ring, 8 bytes each."""
    buffer_bytes: int
    """Bytes of the buffer between line and memory."""
    is_paced: bool
    """If true, bytes go to memory no faster than they arrived, as if written during reception; if false, a whole
    frame is written as fast as memory accepts it.
    """
    memory_burst_bytes: int
    """Maximum bytes of a reference to memory; references end at multiples of it."""
    memory_references: int
    """Maximum outstanding references to memory."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MacTransmitParams(ModuleParams):
    """`mac-transmit`: Sends the frames of a ring of descriptors at the rate of the line."""

    MODULE: ClassVar[str] = "mac-transmit"

    link_bps: int
    """Bit rate of the line in bit/s."""
    ring_entries: int
    """Descriptors in the ring, 8 bytes each."""
    descriptors_ahead: int
    """Descriptors read in advance while another frame's bytes are read."""
    buffer_bytes: int
    """Bytes of the buffer between memory and line; it includes bytes requested and not yet sent."""
    start_bytes: int
    """A frame starts when this many of its bytes have been read, or all of them."""
    memory_burst_bytes: int
    """Maximum bytes of a reference to memory; references end at multiples of it."""
    memory_references: int
    """Maximum outstanding references to memory."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MemoryControllerParams(ModuleParams):
    """`memory-controller`: A synchronous memory and its controller: bursts of words on one bus, shared by several
    requesters.
    """

    MODULE: ClassVar[str] = "memory-controller"

    bytes: int
    """Size of the memory in bytes, a power of two. Higher addresses alias."""
    word_bytes: int
    """Width of the bus in bytes, transferred per cycle."""
    first_word_cycles: int
    """Cycles of the first word of a burst."""
    burst_words: int
    """Maximum words of a burst; then a new burst starts."""
    requesters: int
    """Number of requesters."""
    max_bytes: int
    """Maximum bytes of a reference."""
    rows: RowsParams | None = None
    """The rows of a DRAM; without it, the memory is an SRAM. A word in a closed row takes additional cycles."""
    policy: Policy
    """Arbitration policy."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MipsCoreParams(ModuleParams):
    """`mips-core`: A MIPS core with its scratchpad, address filter and instruction cache."""

    MODULE: ClassVar[str] = "mips-core"

    pipeline: Literal["five-stage", "functional"]
    """Timing model of instructions."""
    reset_pc: int
    """Address of the first instruction, at the start and after a reset."""
    runs_at_start: bool
    """If true, the core runs from the start; otherwise it waits for an order."""
    scratchpad: AddressRange | None = None
    """Scratchpad for data and instructions, with one port that accesses one word per cycle. Its addresses never
    reach port `memory`.
    """
    instruction_cache: InstructionCacheParams | None = None
    """Cache of the instructions from port `fetch`; without it, the core runs only from the scratchpad."""
    registers: AddressRange | None = None
    """Addresses that go to port `registers`, as offsets in the window."""
    locks: Locks | None = None
    """Locks whose time a profile reports. Words used by `ll` and `sc` always count as locks."""
    stack_window: AddressRange | None = None
    """Addresses that go to port `memory` after subtracting the stack offset, which an order sets."""
    memory_cycles: int
    """Minimum cycles from a load at port `memory` to its answer, at least 2. The next reference can start one cycle
    earlier.
    """
    register_cycles: int
    """The same for port `registers`."""
    stores: Literal["posted", "held"]
    """Selects if stores stall the core."""
    multiply_cycles: int
    """Cycles of a multiplication."""
    divide_cycles: int
    """Cycles of a division."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class AddressRange(Params):
    """A range of addresses."""

    base: int
    """First address."""
    bytes: int
    """Size in bytes."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class InstructionCacheParams(Params):
    """An instruction cache. A line is filled by one reference; the least recently used line of a set is replaced."""

    bytes: int
    """Total size in bytes, a power of two."""
    line_bytes: int
    """Bytes of a line, a power of two, at least 4."""
    ways: int
    """Ways of a set, a power of two."""
    drops_stored_lines: bool
    """If true, a store of this core to a line drops the line. If false, changed code takes effect only after its
    line is replaced.
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class Locks(Params):
    """The addresses that are locks, and the way they are taken."""

    window: AddressRange
    """Address range of the locks."""
    kind: Literal["load-takes", "store-asks"]
    """How a lock is taken."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MipsDecoderParams(ModuleParams):
    """`mips-decoder`: Decodes MIPS instructions into control signals."""

    MODULE: ClassVar[str] = "mips-decoder"


@dataclasses.dataclass(frozen=True, kw_only=True)
class MultiportedMemoryParams(ModuleParams):
    """`multiported-memory`: A memory with several ports and no latency of its own."""

    MODULE: ClassVar[str] = "multiported-memory"

    ports: int
    """Number of ports, 1 to 64; they may stay unconnected."""
    base: int
    """Address of the first byte."""
    bytes: int
    """Size in bytes."""
    port_bytes: int
    """Width of a port in bytes: the longest reference."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MuxParams(ModuleParams):
    """`mux`: Connects the selected one of several requesters to one memory."""

    MODULE: ClassVar[str] = "mux"

    requesters: int
    """Number of requesters, 1 to 64."""
    outstanding: int
    """Maximum references in flight."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NicFeederParams(ModuleParams):
    """`nic-feeder`: A host without a driver: plays traces of mailbox writes and serves the card's DMA."""

    MODULE: ClassVar[str] = "nic-feeder"

    memory_base: int
    """Address of the host memory that the card sees."""
    memory_bytes: int
    """Size of that memory in bytes."""
    contents: tuple[Contents, ...]
    """Initial contents; zeros elsewhere."""
    overhead_cycles: int
    """Bus overhead of each reference of the card, in cycles."""
    bytes_per_cycle: int
    """Data bytes of the card's references per cycle."""
    script: tuple[Write, ...]
    """Words written to the card first, one after the other."""
    mailboxes: tuple[Mailbox, ...]
    """Mailboxes written after the script."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Contents(Params):
    """Big-endian words in memory."""

    at: int
    """Address of the first word."""
    words: tuple[int, ...]
    """The words."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Write(Params):
    """A write to the card."""

    after: After
    """Condition for the write."""
    at: int
    """Card address."""
    value: int
    """The value to write."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class AfterCycle(Params):
    """A cycle is reached."""

    cycle: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class AfterWord(Params):
    """Some bits of a word in host memory have a value, because the card wrote it."""

    word: AfterWordWord


@dataclasses.dataclass(frozen=True, kw_only=True)
class AfterWordWord(Params):
    """Parameters."""

    at: int
    """Host address of the word."""
    mask: int
    """Mask of the bits."""
    value: int
    """Value of the masked bits."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mailbox(Params):
    """A mailbox by which the host announces events to the card: frames to send, or buffers to receive into."""

    at: int
    """Card address of the mailbox."""
    consumer: int
    """Host address of the word in which the card counts completed work, in the mailbox's unit."""
    step: int
    """Increment of the mailbox for each event: 2 if a frame has two descriptors."""
    modulus: int
    """The mailbox wraps to 0 at this value, a multiple of `step`."""
    events: int
    """Number of events."""
    share: int
    """Events of this mailbox in each round over all mailboxes; this keeps traces in balance."""
    ahead: int
    """Maximum number of events that the card has not completed."""
    batch: int
    """Number of events for one mailbox write: the coalescing factor."""
    every_cycles: int
    """Minimum cycles between events: the rate."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PacketFeederParams(ModuleParams):
    """`packet-feeder`: The network that sends to a card: the frames of the run, at line rate or at given times."""

    MODULE: ClassVar[str] = "packet-feeder"

    line_bps: int
    """Bit rate of the line in bit/s; Gigabit Ethernet has 1,000,000,000."""
    kept_times: int
    """Number of frames whose times are kept for the report, 32 bytes each; later ones are only counted."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PciBusParams(ModuleParams):
    """`pci-bus`: A PCI bus, shared by the card's references to host memory and the host's references to the card."""

    MODULE: ClassVar[str] = "pci-bus"

    width: Literal["32", "64"]
    """Width of the bus."""
    masters: int
    """Number of masters on the card."""
    overhead_cycles: int
    """Overhead cycles of a transaction: arbitration, address, turnaround."""
    read_cycles: int
    """Minimum additional cycles until the first data of a read; the responder may take longer."""
    references: int
    """Maximum outstanding references of a port: while the last one waits for its answer, the next one may use the
    bus.
    """
    burst_bytes: int
    """Maximum bytes of a transaction; a longer reference is split, and other transactions may come between its
    parts.
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class PipeParams(ModuleParams):
    """`pipe`: Delays items by a number of cycles."""

    MODULE: ClassVar[str] = "pipe"

    carries: Literal["words", "frames"]
    """Type of the items."""
    cycles: int
    """Number of stages, at least 1: cycles of its own clock from seeing an item to sending it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PointerReaderParams(ModuleParams):
    """`pointer-reader`: Makes an assist learn its ring's pointer only by polling memory."""

    MODULE: ClassVar[str] = "pointer-reader"

    assist: Literal["dma", "mac-transmit", "mac-receive"]
    """The assist that polls."""
    pointer_at: int
    """Address of the pointer, a 32-bit word."""
    rest_cycles: int
    """Cycles from an answer to the next read; 0 reads again at once."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScratchpadBanksParams(ModuleParams):
    """`scratchpad-banks`: Word-interleaved memory banks behind a crossbar, with an onward port for other addresses."""

    MODULE: ClassVar[str] = "scratchpad-banks"

    requesters: int
    """Number of requesters, 1 to 64."""
    banks: int
    """Number of banks, a power of two."""
    word_bytes: int
    """Bytes of a word, a power of two up to 16. Consecutive words are in consecutive banks; a transaction moves at
    most one.
    """
    base: int
    """Address of the first byte."""
    bytes: int
    """Size of all banks together in bytes."""
    reference_bytes: int
    """Maximum bytes of a reference; a longer one is answered with an error."""
    outstanding: int
    """Maximum outstanding references at the onward port."""
    policy: Policy
    """Arbitration policy of each bank and of the onward port."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScratchpadFilterParams(ModuleParams):
    """`scratchpad-filter`: Routes a core's references to its registers, its scratchpad, or onward, by address."""

    MODULE: ClassVar[str] = "scratchpad-filter"

    registers: AddressWindow
    """Address window of the registers."""
    scratchpad: AddressWindow
    """Address window of the scratchpad."""
    outstanding: int
    """Maximum outstanding references at each output."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TapParams(ModuleParams):
    """`tap`: A memory connection that reports answered references to listeners."""

    MODULE: ClassVar[str] = "tap"

    listeners: int
    """Number of listeners, 1 to 64."""
    outstanding: int
    """Maximum references in flight."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TeeParams(ModuleParams):
    """`tee`: Copies each item to all of its outputs."""

    MODULE: ClassVar[str] = "tee"

    carries: Literal["words", "frames"]
    """Type of the items."""
    outputs: int
    """Number of outputs, 1 to 64."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TengigHostParams(ModuleParams):
    """`tengig-host`: The host of the 10 Gigabit NIC: its memory, and a driver that keeps the rings full."""

    MODULE: ClassVar[str] = "tengig-host"

    base: int
    """First host memory address visible to the card."""
    send_frames: int
    """Maximum number of frames posted to the card and not yet sent, 1 to 256."""
    receive_buffers: int
    """Maximum number of empty standard buffers posted to the card, 1 to 512."""
    longest_frame: int
    """Longest frame in bytes without check sequence, 1514 to 9014. Above 1514 the driver also posts jumbo buffers,
    which needs firmware with three rings.
    """
    mini_bytes: int
    """Longest frame for a mini buffer in bytes, 0 to 256; 0 disables mini buffers. This and the next three
    parameters need firmware with three rings.
    """
    receive_sums: bool
    """True if the card shall report the sum of each received frame, which the driver checks."""
    send_sums: bool
    """True if the card shall insert the checksums of the host's UDP datagrams."""
    statistics_us: int
    """Interval in microseconds at which the card updates its statistics in host memory, up to 1,000,000; 0 for
    never.
    """
    header_bytes: int
    """Bytes of a frame in its first descriptor. Source: thesis, 4.2.3 (42: Ethernet, IPv4 and UDP headers)."""
    send_coalesce: int
    """Sent frames per report of the card."""
    receive_coalesce: int
    """Received frames per report of the card."""
    coalesce_us: int
    """Microseconds after which the card reports any number of frames."""
    kept_times: int
    """Number of frame times kept in each direction, 32 bytes each; later frames are only counted."""
    patience_us: int
    """Microseconds without a report of posted frames after which the card is diagnosed as not serving the host."""
    firmware: tuple[FirmwareMemory, ...]
    """Memories of the card to load with firmware before it runs."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TengigRegistersParams(ModuleParams):
    """`tengig-registers`: The registers of the 10 Gigabit NIC: pointers, mailboxes, timer, locks."""

    MODULE: ClassVar[str] = "tengig-registers"

    cpus: int
    """Number of processors, 1 to 32. Source: thesis, 4.5 (six and eight are evaluated)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tigon2HostParams(ModuleParams):
    """`tigon2-host`: A host that drives a Tigon-2 as Linux does: start-up, rings, interrupts, frames both ways."""

    MODULE: ClassVar[str] = "tigon2-host"

    memory_base: int
    """Start of the host memory visible to the card; a multiple of 4096, anywhere in 64 bits."""
    mac: str
    """MAC address that the host assigns to the card, for example `02:00:00:00:00:01`; `eeprom` keeps the card's own."""
    mtu: int
    """Longest frame in bytes, with header and check sequence."""
    mode: int
    """Mode word (host offset 0x618). The swap bits 0x16 must be set: the host is big-endian."""
    local_control: int
    """Memory bank bits of the local control register (host offset 0x44)."""
    pci_state: int
    """PCI state register (host offset 0x5C): commands, burst limits."""
    link: int
    """Link words (host offsets 0x648 and 0x64C)."""
    dma_config: int
    """DMA read and write configuration words (host offsets 0x61C and 0x620): thresholds."""
    transmit_ratio_64ths: int
    """Share of the buffer memory for sending, in 64ths; 0 leaves it to the firmware."""
    clear_end: int
    """End of the range of card memory to clear, which begins at 0x2000; 0 clears nothing."""
    boot_timeout_us: int
    """Timeout for firmware to report that it runs, and later that the link is up, in microseconds."""
    watchdog_us: int
    """Time without activity on a nonempty ring after which the card is diagnosed, in microseconds."""
    promiscuous: bool
    """True if the card shall forward frames for other stations."""
    groups: tuple[str, ...]
    """Multicast addresses to receive, at most 64, for example `01:00:5e:00:00:fb`."""
    send: SendParams
    """The sending side."""
    receive: ReceiveParams
    """The receiving side."""
    coalescing: Coalescing
    """When the card notifies the host."""
    interrupts: Interrupts
    """How the host is notified."""
    interrupt_latency_ns: int
    """Time from an interrupt to the driver's first access, in nanoseconds."""
    frame_ns: int
    """Time that the host's processor spends on each sent or received frame, in nanoseconds."""
    kept_times: int
    """Number of frame times kept for the report in each direction, 32 bytes each; later frames are only counted."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SendParams(Params):
    """The sending side of the driver."""

    ring: Literal["host", "card"]
    """Location of the ring."""
    entries: int
    """Descriptors of the ring: 128, 256 or 512."""
    header_bytes: int
    """Size of the first of a frame's two descriptors, for its headers; a shorter frame has one descriptor."""
    batch_frames: int
    """Number of frames announced together, if available."""
    frames_ahead: int
    """Maximum number of frames that wait for the card."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReceiveParams(Params):
    """The receiving side of the driver."""

    standard_buffers: int
    """Posted buffers of 1518 bytes, 1 to 511."""
    mini_buffers: int
    """Posted buffers for short frames, 0 to 1023; 0 disables their ring."""
    jumbo_buffers: int
    """Posted buffers for frames up to the MTU, 0 to 255; 0 disables their ring."""
    batch_buffers: int
    """Number of buffers reposted together."""
    return_entries: int
    """Entries of the return ring: 1024 or 2048."""
    tells_consumer: bool
    """True if the host reports its position in the return ring (host offset 0x680)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Coalescing(Params):
    """Times and limits after which the card notifies the host, as in the communication words."""

    receive_us: int
    """Receive coalescing time in microseconds."""
    send_us: int
    """Send coalescing time in microseconds."""
    statistics_us: int
    """Interval of statistics updates in microseconds; 0 for none."""
    receive_descriptors: int
    """Received descriptors after which the host is notified."""
    send_descriptors: int
    """Sent descriptors after which the host is notified."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class InterruptsPoll(Params):
    """By polling with masked interrupts."""

    poll: InterruptsPollPoll


@dataclasses.dataclass(frozen=True, kw_only=True)
class InterruptsPollPoll(Params):
    """Parameters."""

    every_ns: int
    """Polling interval in nanoseconds."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tigon2RegistersParams(ModuleParams):
    """`tigon2-registers`: The Tigon-2's registers: events, pointers, mailboxes, semaphore, timer, host window."""

    MODULE: ClassVar[str] = "tigon2-registers"

    cpus: int
    """Number of processors; the chip has two. A third and a fourth have registers at 0x300 and 0x380."""
    buffers_end: int
    """End of the receive buffers, which is the end of memory for the firmware. The released firmware needs 0x200000."""
    mac_address: str
    """The card's MAC address in its EEPROM: `00:60:cf:00:00:01`."""


Policy: TypeAlias = PolicyFixedPriority | PolicyRoundRobin | PolicyRoundRobinTree
DemuxBy: TypeAlias = DemuxByWindows | DemuxBySelect
Compute: TypeAlias = (
    Literal["and", "or", "xor", "sum", "difference", "equal", "ascending", "least", "greatest", "select", "highest-bit"]
    | ComputeBits
    | ComputeTable
)
After: TypeAlias = AfterCycle | AfterWord
Interrupts: TypeAlias = Literal["acknowledge", "mask"] | InterruptsPoll

MODULES: Mapping[str, type[ModuleParams]] = {
    "alu": AluParams,
    "arbiter": ArbiterParams,
    "block-transfer": BlockTransferParams,
    "boot-loader": BootLoaderParams,
    "cache-controller": CacheControllerParams,
    "crossbar": CrossbarParams,
    "demux": DemuxParams,
    "dma-assist": DmaAssistParams,
    "event-queue": EventQueueParams,
    "fetch-unit": FetchUnitParams,
    "frame-memory": FrameMemoryParams,
    "frame-sink": FrameSinkParams,
    "function": FunctionParams,
    "mac-receive": MacReceiveParams,
    "mac-transmit": MacTransmitParams,
    "memory-controller": MemoryControllerParams,
    "mips-core": MipsCoreParams,
    "mips-decoder": MipsDecoderParams,
    "multiported-memory": MultiportedMemoryParams,
    "mux": MuxParams,
    "nic-feeder": NicFeederParams,
    "packet-feeder": PacketFeederParams,
    "pci-bus": PciBusParams,
    "pipe": PipeParams,
    "pointer-reader": PointerReaderParams,
    "scratchpad-banks": ScratchpadBanksParams,
    "scratchpad-filter": ScratchpadFilterParams,
    "tap": TapParams,
    "tee": TeeParams,
    "tengig-host": TengigHostParams,
    "tengig-registers": TengigRegistersParams,
    "tigon2-host": Tigon2HostParams,
    "tigon2-registers": Tigon2RegistersParams,
}
"""Classes by module."""
