# SPDX-License-Identifier: Apache-2.0
"""Loops: the normal form of a datatype that handlers walk over (sdk/datatypes/spin_ddt_segment.h)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from spinet.datatypes.types import Array, Datatype, in_order

CONTIG, VECTOR, BLOCKINDEXED, INDEXED, STRUCT = range(5)
KINDS = ("contig", "vector", "blockindexed", "indexed", "struct")

LOOP_BYTES, BLOCK_BYTES, LEVEL_BYTES, SEGMENT_HEAD_BYTES = 36, 20, 16, 16


@dataclass(frozen=True, eq=False)
class Bytes:
    """The data of an element, in one contiguous piece."""

    offset: int
    size: int


@dataclass(frozen=True, eq=False)
class Loop:
    """A sequence of blocks of elements.

    Attributes
    ----------
    offsets, counts
        Offset of each block, and its number of elements. If the child is None: its number of bytes.
    children
        The loop of each block's elements, or None if these are bytes. A single child is for all blocks.
    extents, sizes
        For each child: bytes from one element to the next, and bytes of data in an element.
    """

    offsets: Array
    counts: Array
    children: tuple[Loop | None, ...]
    extents: tuple[int, ...] = (1,)
    sizes: tuple[int, ...] = (1,)

    @property
    def is_innermost(self) -> bool:
        """True if the blocks are bytes."""
        return self.children == (None,)

    def child(self, block: int) -> tuple[Loop | None, int, int]:
        """Loop, extent and size of a block's elements."""
        at = block if len(self.children) > 1 else 0
        return self.children[at], self.extents[at], self.sizes[at]

    @cached_property
    def begins(self) -> Array:
        """Bytes of data before each block, and in all blocks."""
        sizes = np.asarray(self.sizes, np.int64)
        return np.concatenate([[0], np.cumsum(self.counts * sizes)])

    @property
    def size(self) -> int:
        """Bytes of data in all blocks."""
        return int(self.begins[-1])

    @cached_property
    def stride(self) -> int | None:
        """Bytes from one block to the next; None if this differs, or blocks have different lengths or children."""
        if len(self.children) > 1 or (self.counts != self.counts[0]).any():
            return None
        steps = np.diff(self.offsets)
        if len(steps) == 0:
            return 0
        return int(steps[0]) if (steps == steps[0]).all() else None

    @cached_property
    def kind(self) -> int:
        """The simplest kind that describes the loop."""
        if len(self.children) > 1:
            return STRUCT
        if len(self.offsets) == 1:
            return CONTIG
        if self.stride is not None:
            return VECTOR
        return BLOCKINDEXED if (self.counts == self.counts[0]).all() else INDEXED

    @cached_property
    def depth(self) -> int:
        """Levels from here to the innermost loops."""
        return 1 + max((child.depth for child in self.children if child is not None), default=0)

    def shifted(self, by: int) -> Loop:
        """The same loop at another place."""
        return replace(self, offsets=self.offsets + by) if by else self


def of(datatype: Datatype, count: int) -> Loop | None:
    """The loop of `count` elements; None if these have no data."""
    made = _row(np.zeros(1, np.int64), np.array([count], np.int64), _of(datatype), datatype)
    if isinstance(made, Bytes):
        return _innermost(np.array([made.offset]), np.array([made.size]))
    return made


def _of(datatype: Datatype) -> Loop | Bytes | None:
    known: dict[int, Loop | Bytes | None] = {}
    for one in in_order(datatype):
        known[id(one)] = _own(one, known)
    return known[id(datatype)]


def _own(datatype: Datatype, known: dict[int, Loop | Bytes | None]) -> Loop | Bytes | None:
    if datatype.size == 0:
        return None
    blocks = datatype.blocks
    if blocks is None:
        return Bytes(0, datatype.size)
    if len(blocks.children) == 1:
        child = blocks.children[0]
        return _row(blocks.displacements, blocks.lengths, known[id(child)], child)
    members = [
        _row(np.array([place]), np.array([length]), known[id(child)], child)
        for place, length, child in zip(blocks.displacements, blocks.lengths, blocks.children, strict=True)
    ]
    return _members([member for member in members if member is not None])


def _row(places: Array, lengths: Array, element: Loop | Bytes | None, datatype: Datatype) -> Loop | Bytes | None:
    """Blocks of `lengths` elements at `places`."""
    used = lengths > 0
    if element is None or not used.any():
        return None
    places, lengths, extent = places[used], lengths[used], datatype.extent
    if isinstance(element, Bytes):
        if element.size == extent or (lengths == 1).all():
            return _simple(_innermost(places + element.offset, lengths * element.size))
        inner = _strided(int(lengths[0]), extent, element)
        if (lengths == lengths[0]).all():
            if len(places) == 1:
                return inner.shifted(int(places[0]))
            return _outer(places, np.ones_like(lengths), inner, extent)
        return _outer(places, lengths, _innermost(np.array([element.offset]), np.array([element.size])), extent)
    if len(places) == 1 and lengths[0] == 1:
        return element.shifted(int(places[0]))
    return _outer(places, lengths, element, extent)


def _strided(count: int, stride: int, piece: Bytes) -> Loop:
    return _innermost(np.arange(count, dtype=np.int64) * stride + piece.offset, np.full(count, piece.size))


def _outer(places: Array, lengths: Array, child: Loop, extent: int) -> Loop:
    """A loop over loops. Adjacent blocks are merged."""
    begins = np.concatenate([[True], places[1:] != places[:-1] + lengths[:-1] * extent])
    at = np.flatnonzero(begins)
    return Loop(places[at], np.add.reduceat(lengths, at), (child,), (extent,), (child.size,))


def _innermost(offsets: Array, sizes: Array) -> Loop:
    """A loop over bytes. Adjacent blocks are merged."""
    offsets, sizes = np.asarray(offsets, np.int64), np.asarray(sizes, np.int64)
    begins = np.concatenate([[True], offsets[1:] != offsets[:-1] + sizes[:-1]])
    at = np.flatnonzero(begins)
    return Loop(offsets[at], np.add.reduceat(sizes, at), (None,))


def _simple(loop: Loop) -> Loop | Bytes:
    if len(loop.offsets) == 1:
        return Bytes(int(loop.offsets[0]), int(loop.counts[0]))
    return loop


def _members(members: list[Loop | Bytes]) -> Loop | Bytes | None:
    """A struct. Each member that consists of bytes becomes a separate block."""
    if not members:
        return None
    if all(isinstance(member, Bytes) or member.is_innermost for member in members):
        few = sum(1 if isinstance(member, Bytes) else len(member.offsets) for member in members) <= 4 * len(members)
        if few:  # a short list of pieces, which needs no further level
            offsets = [np.array([m.offset]) if isinstance(m, Bytes) else m.offsets for m in members]
            sizes = [np.array([m.size]) if isinstance(m, Bytes) else m.counts for m in members]
            return _simple(_innermost(np.concatenate(offsets), np.concatenate(sizes)))
    if len(members) == 1:
        return members[0]
    rows = [
        (member.offset, member.size, None, 1, 1) if isinstance(member, Bytes) else (0, 1, member, 0, member.size)
        for member in members
    ]
    return Loop(
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int64),
        tuple(row[2] for row in rows),
        tuple(row[3] for row in rows),
        tuple(row[4] for row in rows),
    )


def elements(loop: Loop) -> Array | None:
    """Offset of each element of a loop over loops; None if the loop is innermost or has different children."""
    if len(loop.children) > 1 or loop.is_innermost:
        return None
    within = np.arange(int(loop.counts.sum()), dtype=np.int64) - np.repeat(
        np.cumsum(loop.counts) - loop.counts, loop.counts
    )
    return np.repeat(loop.offsets, loop.counts) + within * loop.extents[0]


class Image:
    """Loops in the form that handlers read: each loop once, behind its children and its table.

    Attributes
    ----------
    root
        Offset of the outermost loop.
    """

    def __init__(self, root: Loop, at: int) -> None:
        self._data = bytearray()
        self._at = at
        self._places: dict[int, int] = {}
        self._kept: list[Loop] = []
        self.root = self._place(root)

    @property
    def data(self) -> bytes:
        """The bytes, which must be placed at offset `at`."""
        return bytes(self._data)

    def place(self, loop: Loop) -> int:
        """Offset of a loop."""
        return self._places[id(loop)]

    def _place(self, root: Loop) -> int:
        """Place a loop behind its children, without recursion, because types can nest to any depth."""
        open_loops = [root]
        while open_loops:
            loop = open_loops[-1]
            missing = [child for child in loop.children if child is not None and id(child) not in self._places]
            if missing:
                open_loops += missing
                continue
            open_loops.pop()
            if id(loop) not in self._places:
                table = self._append(self._table(loop))
                stride = (loop.stride or 0) if loop.kind == VECTOR else 0
                head = struct.pack("<4I", loop.kind, len(loop.offsets), stride & 0xFFFF_FFFF, table)
                self._places[id(loop)] = self._append(head + self._block(loop, 0))
                self._kept.append(loop)  # so that no other object gets its `id`
        return self._places[id(root)]

    def _append(self, data: bytes) -> int:
        at = self._at + len(self._data)
        self._data += data
        return at

    def _block(self, loop: Loop, block: int) -> bytes:
        child, extent, size = loop.child(block)
        place = 0 if child is None else self._places[id(child)]
        offset, count = int(loop.offsets[block]) & 0xFFFF_FFFF, int(loop.counts[block])
        return struct.pack("<5I", offset, count, place, extent & 0xFFFF_FFFF, size)

    def _table(self, loop: Loop) -> bytes:
        if loop.kind == BLOCKINDEXED:
            return loop.offsets.astype("<u4").tobytes()
        if loop.kind == INDEXED:
            return np.stack([loop.offsets, loop.counts], axis=1).astype("<u4").tobytes()
        if loop.kind == STRUCT:
            return b"".join(self._block(loop, block) for block in range(len(loop.offsets)))
        return b""

    def segment(self, root: Loop, at: int, depth: int) -> bytes:
        """The segment at a position of the message, computed without a walk over the type."""
        levels = []
        loop, base, rest = root, 0, at
        while True:
            block = int(np.searchsorted(loop.begins, rest, side="right")) - 1
            rest -= int(loop.begins[block])
            child, extent, size = loop.child(block)
            element = rest // size if child is not None else 0
            levels.append(struct.pack("<4I", self._places[id(loop)], block, element, base & 0xFFFF_FFFF))
            if child is None:
                break
            base += int(loop.offsets[block]) + element * extent
            rest -= element * size
            loop = child
        head = struct.pack("<4I", at, len(levels) - 1, rest, 1)
        return head + b"".join(levels).ljust(depth * LEVEL_BYTES, b"\0")
