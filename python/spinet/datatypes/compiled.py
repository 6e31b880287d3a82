# SPDX-License-Identifier: Apache-2.0
"""Compiles datatypes to the description that handlers read (sdk/datatypes/spin_ddt.h), with tables and checkpoints."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from spinet import toolchain
from spinet._core import UsageError
from spinet.datatypes import interval as intervals
from spinet.datatypes import loops
from spinet.datatypes.loops import Loop
from spinet.datatypes.types import Array, Datatype, typed, whole

SPECIALISED = ("vector", "blockindexed", "indexed", "struct")
GENERAL = ("hpu_local", "ro_cp", "rw_cp")
STRATEGIES = (*SPECIALISED, *GENERAL)
SENDERS = ("vector", "ro_cp")
"""Strategies that can also send."""

HEADERS = 52  # bytes of a packet before its part of the message: Ethernet to UDP, 2 unused, `spin_ddt_header_t`
LINE_BYTES = 24  # FCS, preamble and gap (IEEE 802.3)
COMPLETION_BYTES = 16

_MAGIC = 0x31544444
_WORDS = 32
_L1_HEAD = 64
_COUNT_BYTES = 8  # of a slot: spin_ddt_count_t
_BUFFER_HEAD = 16
_OWNED_HEAD = 16
N_CORES, N_CLUSTERS = 8, 4
# Source: PsPIN RTL a49fec8, pspin_cfg_pkg.sv: 1 MiB of L1, in which scratchpads begin at 0x14400.
SCRATCHPAD_BYTES = (1 << 20) - 0x14400
_HOST_MEMORY_BYTES = (1 << 32) - (2 << 20)  # a context has below 4 GiB, here in pages of 2 MiB
HANDLER_MEMORY_BYTES = 1 << 20  # the default of a context, docs/reference/experiment.md
_SENT_BYTES = 2048  # largest packet that handlers can send: `max_packet_bytes` of presets/pspin.toml
_WINDOW_BYTES = 2048  # half a page: most windows need one burst, because these end at pages
_BUFFERS = 32  # packets that a cluster can buffer: one for each bit of a word in rw_cp.c

# Cycles of the payload handler of rw_cp, per packet and per piece. All HPUs together write at most one piece per
# _PIECE_CYCLES. Measured with `spinet reproduce spin/ddt_handlers`.
_PACKET_CYCLES, _OWN_PIECE_CYCLES, _PIECE_CYCLES = 608, 28, 3.4


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """A datatype in the form that handlers read.

    Attributes
    ----------
    strategy
        The handlers: ``vector``, ``blockindexed``, ``indexed``, ``struct``, ``hpu_local``, ``ro_cp`` or ``rw_cp``.
    program
        Source of the handlers.
    handler_memory
        The description.
    size
        Bytes of a message.
    slots, slot_bytes
        Number of receives that can be posted at a time, and bytes from one to the next in host memory.
    completions
        Offset of the completions in host memory.
    origin
        Offset of the type's address 0 in a slot, in bytes.
    payload
        Bytes of the message in a packet.
    pieces
        Number of contiguous pieces in a message.
    interval, n_checkpoints, checkpoint_bytes
        Bytes from one checkpoint to the next, number of checkpoints, and bytes of each; all are 0 without checkpoints.
    l2_bytes, l1_bytes
        Memory on the card: bytes of handler memory, and of the scratchpad of each cluster.
    seconds
        Time that this machine needed to compile it.
    """

    strategy: str
    program: Path
    handler_memory: bytes = field(repr=False)
    size: int
    slots: int
    slot_bytes: int
    completions: int
    origin: int
    payload: int
    pieces: int
    interval: int
    n_checkpoints: int
    checkpoint_bytes: int
    l2_bytes: int
    l1_bytes: int
    seconds: float

    @property
    def nic_bytes(self) -> int:
        """Memory on the card in bytes: handler memory, and the scratchpads of all clusters."""
        return self.l2_bytes + N_CLUSTERS * self.l1_bytes

    @property
    def packets(self) -> int:
        """Number of packets of a message."""
        return -(-self.size // self.payload)

    @property
    def host_bytes(self) -> int:
        """Host memory of all slots and their completions."""
        return self.completions + self.slots * COMPLETION_BYTES


def compile(
    datatype: Datatype,
    count: int = 1,
    *,
    strategy: str = "auto",
    payload: int | None = None,
    interval: int | None = None,
    slots: int = 1,
    slot_bytes: int | None = None,
    send: bool = False,
    rate: float = 400e9,
    checkpoint_memory: int = 256 << 10,
) -> Compiled:
    """Compile `count` elements of a type for the handlers of a strategy.

    Parameters
    ----------
    strategy
        ``auto``: the specialised handlers that fit the type. ``general``: read-only checkpoints (``ro_cp``). Or the
        name of a strategy. Specialised strategies are ``vector``, ``blockindexed``, ``indexed`` and ``struct``; general
        ones are ``hpu_local``, ``ro_cp`` and ``rw_cp``.
    payload
        Bytes of the message in each packet but the last. Default: 2048, or 1024 for senders.
    interval
        Bytes from one checkpoint to the next, a multiple of `payload`. Default: for ``rw_cp`` the formula of
        `spinet.datatypes.choose_interval`; for ``ro_cp`` the smallest that fits `checkpoint_memory`.
    slots
        Number of receives that can be posted at a time, or of buffers to send from.
    slot_bytes
        Bytes from one slot to the next in host memory. Default: slots do not overlap.
    send
        Compile for handlers that send the type: ``vector`` or ``ro_cp``; ``auto`` chooses.
    rate
        Line rate for the formula, in bit/s.
    checkpoint_memory
        Bytes for checkpoints.

    Raises
    ------
    UsageError
        If the type has no data, the strategy does not support the type, or the type does not fit the card's memory.

    Examples
    --------
    >>> from spinet import datatypes
    >>> made = compile(datatypes.vector(64, 4, 9, datatypes.DOUBLE), 10)
    >>> made.strategy, made.size, made.pieces, made.packets
    ('vector', 20480, 631, 10)
    """
    began = time.perf_counter()
    typed(datatype, "the type")
    whole("count", count, least=1)
    if payload is None:
        payload = 1024 if send else 2048
    whole("payload", payload, least=1, most=_SENT_BYTES - HEADERS if send else 8192)
    whole("slots", slots, least=1, most=256)
    whole("checkpoint_memory", checkpoint_memory, least=0)
    pieces = len(datatype.pieces(count)[0])  # first, because it refuses types that are too large to be listed
    root = loops.of(datatype, count)
    if root is None:
        raise UsageError(f"{count} of {datatype.name} have no data, so there is nothing to receive")
    if strategy in ("auto", "general"):
        chosen = _specialised(root, datatype, count) if strategy == "auto" else "ro_cp"
    elif strategy in STRATEGIES:
        chosen = strategy
    else:
        known = ", ".join(("auto", "general", *STRATEGIES))
        raise UsageError(f"strategy is {strategy!r}, must be one of {known}")
    if send and strategy == "auto" and chosen not in SENDERS:
        chosen = "ro_cp"
    if send and chosen not in SENDERS:
        raise UsageError(f"strategy is {chosen!r}, must be one of auto, general, {', '.join(SENDERS)} to send")
    low, high = _span(datatype, count)
    origin = -min(low, 0)
    room = _up(high + origin, 64)
    each = room if slot_bytes is None else whole("slot_bytes", slot_bytes, least=1)
    completions = _up((slots - 1) * each + room, 64)
    for what, needed, most in (
        ("a message has", root.size, (1 << 32) - 1),
        ("the slots need", completions + slots * COMPLETION_BYTES, _HOST_MEMORY_BYTES),
    ):
        if needed > most:
            raise UsageError(f"{count} of {datatype.name} in {slots} slots: {what} {needed} bytes, allowed {most}")
    layout = _Layout(
        size=root.size, slots=slots, slot_bytes=each, completions=completions, origin=origin,
        payload=payload, strategy=chosen, send=send, window=_window(datatype, count) if send else 0,
    )  # fmt: skip
    if chosen in SPECIALISED:
        if interval is not None:
            raise UsageError(f"interval is {interval}, but the {chosen} handlers have no checkpoints")
        layout.blocks(_BLOCKS[chosen](root, datatype, count))
    else:
        layout.loops(root, _interval(chosen, root, datatype, count, interval, payload, rate, checkpoint_memory))
    return layout.compiled(pieces=pieces, seconds=time.perf_counter() - began)


def choose_interval(
    datatype: Datatype,
    count: int = 1,
    *,
    payload: int = 2048,
    rate: float = 400e9,
    checkpoint_memory: int = 256 << 10,
    handler_ns: float | None = None,
) -> intervals.Interval:
    """The checkpoint interval of ``rw_cp`` by the formula of the sPIN talk (OFA 2022), for 32 cores at 1 GHz.

    Parameters
    ----------
    handler_ns
        Time of a payload handler. Default: an estimate from the mean number of pieces in a packet.

    Examples
    --------
    >>> from spinet import datatypes
    >>> chosen = choose_interval(datatypes.vector(1 << 18, 4, 8, datatypes.FLOAT), payload=1024)
    >>> chosen.bytes // 1024, chosen.decided_by
    (4, 'buffer')
    """
    root = loops.of(datatype, count)
    if root is None:
        raise UsageError(f"{count} of {datatype.name} have no data")
    whole("payload", payload, least=1, most=8192)
    whole("checkpoint_memory", checkpoint_memory, least=0)
    if not (isinstance(rate, (int, float)) and rate > 0):
        raise UsageError(f"rate is {rate!r}, must be a number of bit/s above 0")
    return intervals.choose(_setting(root, datatype, count, payload, rate, checkpoint_memory, handler_ns))


def _setting(
    root: Loop, datatype: Datatype, count: int, payload: int, rate: float, memory: int, handler_ns: float | None = None
) -> intervals.Setting:
    packets = -(-root.size // payload)
    if handler_ns is None:
        pieces = len(datatype.pieces(count)[0]) / packets
        # A piece that two packets share counts in both.
        handler_ns = max(
            _PACKET_CYCLES + _OWN_PIECE_CYCLES * (pieces + 1), _PIECE_CYCLES * N_CORES * N_CLUSTERS * pieces
        )
    return intervals.Setting(
        size=root.size,
        payload=payload,
        packet_ns=(payload + HEADERS + LINE_BYTES) * 8 / rate * 1e9,
        handler_ns=handler_ns,
        hpus=N_CORES * N_CLUSTERS,
        checkpoint_bytes=_segment_bytes(root),
        memory_bytes=memory,
        buffer_packets=_BUFFERS * N_CLUSTERS,
    )


def _interval(
    strategy: str, root: Loop, datatype: Datatype, count: int, given: int | None, payload: int, rate: float, memory: int
) -> int:
    if strategy == "hpu_local":
        if given is not None:
            raise UsageError(f"interval is {given}, but hpu_local has no checkpoints")
        return 0
    if given is not None:
        if whole("interval", given) < payload or given % payload:
            raise UsageError(f"interval is {given}, must be a multiple of the payload of {payload} bytes")
        return int(given)
    setting = _setting(root, datatype, count, payload, rate, memory)
    chosen = intervals.choose(setting)
    return chosen.bytes if strategy == "rw_cp" else chosen.least_for_memory * payload


def _span(datatype: Datatype, count: int) -> tuple[int, int]:
    """The first byte of `count` elements, and the one behind the last."""
    spread = (count - 1) * datatype.extent
    return datatype.true_lb + min(spread, 0), datatype.true_ub + max(spread, 0)


def _window(datatype: Datatype, count: int) -> int:
    """Bytes of host memory that a sender reads at a time; 0 if this would rarely find two pieces."""
    offsets, _ = datatype.pieces(count)
    steps = np.abs(np.diff(offsets))
    return _WINDOW_BYTES if len(steps) and np.median(steps) <= _WINDOW_BYTES / 2 else 0


def _up(value: int, to: int) -> int:
    return -(-value // to) * to


def _segment_bytes(root: Loop) -> int:
    return loops.SEGMENT_HEAD_BYTES + root.depth * loops.LEVEL_BYTES


@dataclass(frozen=True, kw_only=True)
class _Blocks:
    """Fields of the description for specialised handlers."""

    first: int = 0
    block: int = 0
    stride: int = 0
    blocks: int = 0
    extent: int = 0
    element_bytes: int = 0
    table: bytes = b""


def _repetition(root: Loop) -> tuple[Loop, int, int, int]:
    """The inner loop that a type repeats: loop, first offset, repetitions, stride. If there is none: `root`, once."""
    at = loops.elements(root)
    child = root.children[0]
    if at is None or child is None:
        return root, 0, 1, 0
    steps = np.diff(at)
    if len(steps) and (steps != steps[0]).any():
        return root, 0, 1, 0
    return child, int(at[0]), len(at), int(steps[0]) if len(steps) else 0


def _vector_of(root: Loop) -> tuple[int, int, int, int, int] | None:
    """First offset, block size, stride, blocks per element and extent; None if these do not describe the loop."""
    inner, first, _, extent = _repetition(root)
    if not inner.is_innermost or inner.stride is None:
        return None
    return first + int(inner.offsets[0]), int(inner.counts[0]), inner.stride, len(inner.offsets), extent


def _as_vector(root: Loop, datatype: Datatype, count: int) -> _Blocks:
    found = _vector_of(root)
    if found is None:
        raise _cannot("vector", datatype, count, "must be blocks of one size with one stride, or repetitions of these")
    first, block, stride, blocks, extent = found
    return _Blocks(first=first, block=block, stride=stride, blocks=blocks, extent=extent, element_bytes=block * blocks)


def _listed(root: Loop, datatype: Datatype, count: int) -> tuple[Array, Array, int, int]:
    """Offsets and lengths of the pieces of an element, the first element's offset and the extent."""
    inner, first, number, extent = _repetition(root)
    if inner.is_innermost and number > 1:
        return inner.offsets, inner.counts, first, extent
    if number > 1 and _count_of_pieces(inner) <= 1 << 20:
        offsets, lengths = _pieces_of(inner)
        return offsets, lengths, first, extent
    offsets, lengths = datatype.pieces(count)
    return offsets, lengths, 0, 0


def _count_of_pieces(loop: Loop) -> int:
    if loop.is_innermost:
        return len(loop.offsets)
    return sum(
        int(count) * (1 if child is None else _count_of_pieces(child))
        for count, (child, _, _) in ((c, loop.child(i)) for i, c in enumerate(loop.counts))
        if child is not None
    ) + sum(1 for i in range(len(loop.offsets)) if loop.child(i)[0] is None)


def _pieces_of(loop: Loop) -> tuple[Array, Array]:
    if loop.is_innermost:
        return loop.offsets, loop.counts
    offsets, lengths = [], []
    for block, (place, count) in enumerate(zip(loop.offsets, loop.counts, strict=True)):
        child, extent, _ = loop.child(block)
        if child is None:
            offsets.append(np.array([place]))
            lengths.append(np.array([count]))
        else:
            inner, sizes = _pieces_of(child)
            starts = place + np.arange(count, dtype=np.int64) * extent
            offsets.append((starts[:, None] + inner[None, :]).ravel())
            lengths.append(np.tile(sizes, int(count)))
    return np.concatenate(offsets), np.concatenate(lengths)


def _as_blockindexed(root: Loop, datatype: Datatype, count: int) -> _Blocks:
    offsets, lengths, first, extent = _listed(root, datatype, count)
    if (lengths != lengths[0]).any():
        sizes = f"has blocks of {int(lengths.min())} to {int(lengths.max())} bytes"
        raise _cannot("blockindexed", datatype, count, f"must be blocks of one size, {sizes}")
    block = int(lengths[0])
    return _Blocks(
        first=first, block=block, blocks=len(offsets), extent=extent, element_bytes=block * len(offsets),
        table=offsets.astype("<u4").tobytes(),
    )  # fmt: skip


def _as_indexed(root: Loop, datatype: Datatype, count: int) -> _Blocks:
    offsets, lengths, first, extent = _listed(root, datatype, count)
    begins = np.concatenate([[0], np.cumsum(lengths)])
    table = np.stack([begins, np.append(offsets, 0)], axis=1).astype("<u4").tobytes()
    return _Blocks(first=first, blocks=len(offsets), extent=extent, element_bytes=int(begins[-1]), table=table)


def _member_vector(child: Loop, count: int, extent: int, size: int) -> tuple[int, int, int, int, int] | None:
    """As `_vector_of`, for a block of `count` elements in a struct."""
    if count == 1:
        return _vector_of(child)
    return _vector_of(Loop(np.zeros(1, np.int64), np.array([count]), (child,), (extent,), (size,)))


def _as_struct(root: Loop, datatype: Datatype, count: int) -> _Blocks:
    inner, first, extent = root, 0, 0
    if root.kind != loops.STRUCT:
        inner, first, _, extent = _repetition(root)
    rows = b""
    begins = inner.begins
    for block in range(len(inner.offsets)):
        child, step, size = inner.child(block)
        offset, n = int(inner.offsets[block]), int(inner.counts[block])
        if child is None:
            vector = (0, n, n, 1, 0)
        else:
            found = _member_vector(child, n, step, size)
            if found is None:
                raise _cannot("struct", datatype, count, f"must have a vector as member {block}")
            vector = found
        rows += struct.pack("<I", int(begins[block])) + b"".join(
            struct.pack("<I", value & 0xFFFF_FFFF) for value in (offset + vector[0], *vector[1:])
        )
    rows += struct.pack("<6I", int(begins[-1]), 0, 0, 0, 0, 0)
    return _Blocks(first=first, blocks=len(inner.offsets), extent=extent, element_bytes=inner.size, table=rows)


_BLOCKS = {
    "vector": _as_vector,
    "blockindexed": _as_blockindexed,
    "indexed": _as_indexed,
    "struct": _as_struct,
}


def _specialised(root: Loop, datatype: Datatype, count: int) -> str:
    """The specialised handlers that fit the type and have the shortest tables."""
    if _vector_of(root) is not None:
        return "vector"
    inner = root if root.kind == loops.STRUCT else _repetition(root)[0]
    if inner.kind == loops.STRUCT and all(
        child is None or _member_vector(child, int(n), step, size)
        for n, (child, step, size) in ((inner.counts[at], inner.child(at)) for at in range(len(inner.offsets)))
    ):
        return "struct"
    # The pieces that the table will have: adjacent blocks of one size can make longer pieces.
    _, lengths, _, _ = _listed(root, datatype, count)
    return "blockindexed" if (lengths == lengths[0]).all() else "indexed"


def _cannot(strategy: str, datatype: Datatype, count: int, why: str) -> UsageError:
    return UsageError(
        f"the {strategy} handlers cannot receive {count} of {datatype.name}: the type {why}",
        hint="strategy='auto' chooses specialised handlers that fit the type; 'ro_cp' supports every type",
    )


class _Layout:
    """A description under construction."""

    def __init__(
        self, *, size: int, slots: int, slot_bytes: int, completions: int, origin: int, payload: int, strategy: str,
        send: bool, window: int,
    ) -> None:  # fmt: skip
        self.size, self.slots, self.slot_bytes, self.origin = size, slots, slot_bytes, origin
        self.completions, self.payload, self.strategy, self.send = completions, payload, strategy, send
        self.window = window
        self.tables = b""
        self.fields: list[int] = [0] * 19
        self.interval = self.n_checkpoints = self.segment_bytes = 0
        self.scratchpad = self.owned_bytes = 0

    @property
    def _behind(self) -> int:
        """Scratchpad bytes of the description and the counts of received parts."""
        return _L1_HEAD + _up(4 * _WORDS + len(self.tables), 8) + _COUNT_BYTES * self.slots

    def blocks(self, made: _Blocks) -> None:
        self.tables = made.table
        self.fields[:7] = (
            made.first + self.origin, made.block, made.stride, made.blocks, made.extent, made.element_bytes, 4 * _WORDS,
        )  # fmt: skip
        self.scratchpad = self._behind

    def loops(self, root: Loop, interval: int) -> None:
        root = root.shifted(self.origin)
        image = loops.Image(root, 4 * _WORDS)
        self.tables = image.data.ljust(_up(len(image.data), 8), b"\0")
        self.segment_bytes = _segment_bytes(root)
        self.interval = interval
        self.n_checkpoints = -(-self.size // interval) if interval else 1
        checkpoints = 4 * _WORDS + len(self.tables)
        room = SCRATCHPAD_BYTES - checkpoints
        if self.n_checkpoints * self.segment_bytes > room:
            raise UsageError(
                f"{self.n_checkpoints} checkpoints of {self.segment_bytes} bytes do not fit the {room} bytes that the "
                "description leaves free in a scratchpad",
                hint="a larger interval needs fewer checkpoints",
            )
        self.tables += b"".join(
            image.segment(root, at * (interval or 1), root.depth) for at in range(self.n_checkpoints)
        )
        work = self._behind
        each = self.segment_bytes * (self.slots if self.strategy == "hpu_local" else 1)
        buffers, buffer_bytes, n_buffers, owned = work + N_CORES * each, 0, 0, 0
        if self.strategy == "rw_cp":
            buffers = _up(buffers, 64)
            buffer_bytes, n_buffers = _up(_BUFFER_HEAD + self.payload, 64), _BUFFERS
            self.owned_bytes = _OWNED_HEAD + self.segment_bytes
            owned = _up(4 * _WORDS + len(self.tables), 64)
        self.scratchpad = buffers + n_buffers * buffer_bytes
        self.fields[7:] = (
            image.root, self.segment_bytes, checkpoints, interval, self.n_checkpoints, work, each,
            owned, self.owned_bytes, buffers, buffer_bytes, n_buffers,
        )  # fmt: skip

    def compiled(self, *, pieces: int, seconds: float) -> Compiled:
        frames, frame_bytes, windows = 0, 0, 0
        if self.send:
            frames, frame_bytes = _up(self.scratchpad, 64), _up(HEADERS + self.payload, 64)
            windows = frames + N_CORES * frame_bytes
            self.scratchpad = windows + N_CORES * self.window
        length = _up(4 * _WORDS + len(self.tables), 8)
        owned = self.slots * self.n_checkpoints * self.owned_bytes if self.owned_bytes else 0
        l2 = (_up(length, 64) if owned else length) + owned
        for what, needed, room in (
            ("scratchpad of each cluster", self.scratchpad, SCRATCHPAD_BYTES),
            ("handler memory", l2, HANDLER_MEMORY_BYTES),
        ):
            if needed > room:
                raise UsageError(
                    f"the type needs {needed} bytes in the {what}, which has {room}",
                    hint="use fewer elements or slots, or another strategy: general ones describe nested types briefly",
                )
        head = [_MAGIC, length, self.size, self.slots, self.slot_bytes, self.scratchpad, l2, *self.fields]
        head += [self.completions, self.payload, frames, frame_bytes, windows, self.window]
        words = [word & 0xFFFF_FFFF for word in head] + [0] * (_WORDS - len(head))
        data = struct.pack(f"<{_WORDS}I", *words) + self.tables
        return Compiled(
            strategy=self.strategy,
            program=toolchain.sdk_dir() / "datatypes" / f"{'send_' if self.send else ''}{self.strategy}.c",
            handler_memory=data.ljust(length, b"\0"),
            size=self.size,
            slots=self.slots,
            slot_bytes=self.slot_bytes,
            completions=self.completions,
            origin=self.origin,
            payload=self.payload,
            pieces=pieces,
            interval=self.interval,
            n_checkpoints=self.n_checkpoints if self.interval else 0,
            checkpoint_bytes=self.segment_bytes if self.interval else 0,
            l2_bytes=l2,
            l1_bytes=self.scratchpad,
            seconds=seconds,
        )
