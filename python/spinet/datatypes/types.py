# SPDX-License-Identifier: Apache-2.0
"""MPI's derived datatypes as values: size, bounds, and the pieces of memory that they name (MPI 4.0, chapter 5)."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

import numpy as np

from spinet._core import UsageError

Array = np.ndarray[Any, np.dtype[np.int64]]
Numbers: TypeAlias = Sequence[int] | np.ndarray[Any, Any]
_LIMIT = 1 << 31  # offsets and lengths have 32 bits on the card
_MOST_PIECES = 1 << 27  # that this module lists


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """The content of a derived datatype: blocks of elements, in the order of the message.

    Attributes
    ----------
    displacements
        Offset of each block in bytes.
    lengths
        Number of elements in each block.
    children
        Type of each block's elements; a single one if it is the same for all.
    """

    displacements: Array
    lengths: Array
    children: tuple[Datatype, ...]

    def child(self, block: int) -> Datatype:
        """Type of a block's elements."""
        return self.children[block if len(self.children) > 1 else 0]


@dataclass(frozen=True, eq=False)
class Datatype:
    """An MPI datatype, made by a function of this module. All lengths are in bytes.

    Attributes
    ----------
    name
        The call that made it, such as ``vector(3, 2, 4, DOUBLE)``.
    size
        Bytes of one element in a message.
    lb, ub
        Lower and upper bound; `extent` is their difference.
    true_lb, true_ub
        The first byte of data, and the byte behind the last.
    alignment
        Largest alignment of the basic types of its data; 1 if it has none.
    """

    name: str
    size: int
    lb: int
    ub: int
    true_lb: int
    true_ub: int
    alignment: int
    blocks: Blocks | None = field(default=None, repr=False)  # None: a basic type, or bytes without gaps
    _marks: tuple[bool, bool] = field(default=(False, False), repr=False)  # lb, ub were set by `resized`

    @property
    def extent(self) -> int:
        """Bytes from one element to the next."""
        return self.ub - self.lb

    @property
    def true_extent(self) -> int:
        """Bytes from the first byte of data to the last one, inclusive."""
        return self.true_ub - self.true_lb

    def __repr__(self) -> str:
        return f"<{self.name}: {self.size} B in {self.extent} B>"

    def pieces(self, count: int = 1) -> tuple[Array, Array]:
        """Offset and length of each contiguous piece of `count` elements, in the order of the message.

        Pieces that are adjacent both in the message and in memory are merged.

        Examples
        --------
        >>> vector(2, 2, 3, INT).pieces()
        (array([ 0, 12]), array([8, 8]))
        """
        _listable("elements", _count("count", count))
        offsets, lengths = _pieces(self)
        if count != 1:
            offsets, lengths = _repeated(offsets, lengths, np.arange(count, dtype=np.int64) * self.extent)
        return offsets, lengths


def _basic(name: str, size: int) -> Datatype:
    return Datatype(name, size, 0, size, 0, size, size)


BYTE = _basic("BYTE", 1)
CHAR = _basic("CHAR", 1)
SHORT = _basic("SHORT", 2)
INT = _basic("INT", 4)
LONG = _basic("LONG", 8)
FLOAT = _basic("FLOAT", 4)
DOUBLE = _basic("DOUBLE", 8)
DOUBLE_COMPLEX = Datatype("DOUBLE_COMPLEX", 16, 0, 16, 0, 16, 8)


def basic(name: str, size: int, *, alignment: int | None = None) -> Datatype:
    """Another basic type of `size` bytes.

    Examples
    --------
    >>> basic("LONG_DOUBLE", 16).extent
    16
    """
    if _count("size", size) == 0:
        raise UsageError("size is 0, must be at least 1")
    return Datatype(name, size, 0, size, 0, size, size if alignment is None else alignment)


def contiguous(count: int, child: Datatype) -> Datatype:
    """`count` elements, each behind the extent of the one before (MPI_Type_contiguous).

    Examples
    --------
    >>> contiguous(3, INT)
    <contiguous(3, INT): 12 B in 12 B>
    """
    _count("count", count)
    return _made(f"contiguous({count}, {typed(child).name})", [0], [count], (child,))


def vector(count: int, blocklength: int, stride: int, child: Datatype) -> Datatype:
    """`count` blocks of `blocklength` elements, `stride` elements from one block to the next (MPI_Type_vector)."""
    name = f"vector({count}, {blocklength}, {stride}, {typed(child).name})"
    return _strided(name, count, blocklength, _integer("stride", stride) * child.extent, child)


def hvector(count: int, blocklength: int, stride: int, child: Datatype) -> Datatype:
    """As `vector`, with a stride in bytes (MPI_Type_create_hvector)."""
    name = f"hvector({count}, {blocklength}, {stride}, {typed(child).name})"
    return _strided(name, count, blocklength, _integer("stride", stride), child)


def indexed(lengths: Numbers, displacements: Numbers, child: Datatype) -> Datatype:
    """Blocks of any lengths at any displacements, both in elements (MPI_Type_indexed).

    Examples
    --------
    >>> indexed([1, 2], [3, 0], INT).pieces()
    (array([12,  0]), array([4, 8]))
    """
    places = _numbers("displacements", displacements) * typed(child).extent
    return _made(f"indexed({len(places)} blocks, {child.name})", places, _lengths(lengths, len(places)), (child,))


def hindexed(lengths: Numbers, displacements: Numbers, child: Datatype) -> Datatype:
    """As `indexed`, with displacements in bytes (MPI_Type_create_hindexed)."""
    places = _numbers("displacements", displacements)
    return _made(
        f"hindexed({len(places)} blocks, {typed(child).name})", places, _lengths(lengths, len(places)), (child,)
    )


def indexed_block(blocklength: int, displacements: Numbers, child: Datatype) -> Datatype:
    """Blocks of one length at any displacements, both in elements (MPI_Type_create_indexed_block)."""
    places = _numbers("displacements", displacements) * typed(child).extent
    return _blockindexed("indexed_block", blocklength, places, child)


def hindexed_block(blocklength: int, displacements: Numbers, child: Datatype) -> Datatype:
    """As `indexed_block`, with displacements in bytes (MPI_Type_create_hindexed_block)."""
    return _blockindexed("hindexed_block", blocklength, _numbers("displacements", displacements), typed(child))


def struct(lengths: Numbers, displacements: Numbers, children: Sequence[Datatype]) -> Datatype:
    """Blocks of different types, with displacements in bytes (MPI_Type_create_struct).

    The extent is rounded up to the alignment of the most aligned basic type, unless `resized` set the upper bound.

    Examples
    --------
    >>> struct([1, 1], [0, 8], [DOUBLE, CHAR])
    <struct(DOUBLE, CHAR): 9 B in 16 B>
    """
    places = _numbers("displacements", displacements)
    if len(children) != len(places):
        raise UsageError(f"children has {len(children)} types, displacements {len(places)} numbers; must be equal")
    names = [typed(child).name for child in children]
    name = f"struct({', '.join(names) if len(names) <= 4 else f'{len(names)} members'})"
    return _made(name, places, _lengths(lengths, len(places)), tuple(children) or (BYTE,), pads=True)


def resized(child: Datatype, lb: int, extent: int) -> Datatype:
    """The same data with another lower bound and extent (MPI_Type_create_resized).

    Examples
    --------
    >>> contiguous(2, resized(INT, 0, 16)).pieces()
    (array([ 0, 16]), array([4, 4]))
    """
    lb, extent = _integer("lb", lb), _integer("extent", extent)
    blocks = Blocks(displacements=np.zeros(1, np.int64), lengths=np.ones(1, np.int64), children=(typed(child),))
    return limited(Datatype(
        f"resized({child.name}, {lb}, {extent})",
        child.size, lb, lb + extent, child.true_lb, child.true_ub, child.alignment, blocks, (True, True),
    ))  # fmt: skip


def subarray(sizes: Numbers, subsizes: Numbers, starts: Numbers, child: Datatype, *, order: str = "C") -> Datatype:
    """A box of an array; its extent is that of the whole array (MPI_Type_create_subarray).

    Parameters
    ----------
    order
        ``C``: the last dimension is contiguous; ``F``: the first.

    Examples
    --------
    >>> subarray([4, 4], [2, 2], [1, 2], INT).pieces()
    (array([24, 40]), array([8, 8]))
    """
    whole, box, first = (_numbers(n, v) for n, v in (("sizes", sizes), ("subsizes", subsizes), ("starts", starts)))
    if not len(whole) == len(box) == len(first) or len(whole) == 0:
        raise UsageError(f"sizes, subsizes and starts have {len(whole)}, {len(box)} and {len(first)} numbers")
    for axis, (n, m, at) in enumerate(zip(whole, box, first, strict=True)):
        if not 1 <= m <= n or not 0 <= at <= n - m:
            raise UsageError(f"dimension {axis}: {m} from {at} of {n}; the box must be within the array")
    if order not in ("C", "F"):
        raise UsageError(f"order is {order!r}, must be 'C' or 'F'")
    if order == "C":
        whole, box, first = whole[::-1], box[::-1], first[::-1]
    made, step, at = typed(child), child.extent, 0
    for axis, (n, m, start) in enumerate(zip(whole.tolist(), box.tolist(), first.tolist(), strict=True)):
        made = contiguous(m, made) if axis == 0 else hvector(m, 1, step, made)
        at += start * step
        step *= n
    name = f"subarray({'x'.join(map(str, subsizes))} of {'x'.join(map(str, sizes))}, {child.name})"
    moved = _made(name, [at], [1], (made,))
    return limited(Datatype(
        name, moved.size, 0, step, moved.true_lb, moved.true_ub, moved.alignment,
        moved.blocks, (True, True),
    ))  # fmt: skip


_TOKEN = re.compile(r"\s*(?:(?P<word>[a-z]+)|(?P<number>-?\d+)|(?P<mark>[][(),]))")
_MOST_DEPTH = 100  # of types in a text
_LEAVES = {"byte": BYTE, "char": CHAR, "int": INT, "float": FLOAT, "double": DOUBLE}


def parse(text: str) -> Datatype:
    """A type from a text, in the grammar of FPsPIN's type compiler.

    ``ctg(n)[t]``; ``vec(count blocklength stride)[t]``; ``hvec(...)[t]`` with the stride in bytes;
    ``hidx(displacement,length displacement,length ...)[t]`` with displacements in bytes. Basic types are ``byte``,
    ``char``, ``int``, ``float`` and ``double``.

    Examples
    --------
    >>> parse("vec(32 6 8)[ctg(18)[float]]")
    <vector(32, 6, 8, contiguous(18, FLOAT)): 13824 B in 18288 B>
    """
    if not isinstance(text, str):
        raise UsageError(f"the type is {text!r}, must be a text such as 'ctg(4)[int]'")
    found = _Text(text)
    made = found.type()
    if found.kind is not None:
        found.fail("expected the end")
    return made


class _Text:
    """A text in the grammar of `parse`, token by token."""

    def __init__(self, text: str) -> None:
        self.text, self.end, self.start = text, 0, 0
        self.kind: str | None = None
        self.word = ""
        self.next()

    def next(self) -> None:
        found = _TOKEN.match(self.text, self.end)
        if found is None:
            self.start, self.kind, self.word = self.end, None, ""
            if self.text[self.end :].strip():
                self.fail("unknown character")
            return
        self.kind = found.lastgroup
        self.word = found[self.kind or 0]
        self.start, self.end = found.start(self.kind or 0), found.end()

    def fail(self, problem: str) -> NoReturn:
        found = repr(self.text[self.start : self.start + 12].strip()) if self.start < len(self.text) else "the end"
        raise UsageError(f"{self.text!r}, position {self.start}: {problem} (found {found})")

    def take(self, mark: str) -> None:
        if self.word != mark:
            self.fail(f"expected `{mark}`")
        self.next()

    def numbers(self) -> list[int]:
        found = []
        while self.kind == "number" or self.word == ",":
            if self.kind == "number":
                found.append(int(self.word))
            self.next()
        return found

    def type(self, depth: int = 1) -> Datatype:
        word = self.word
        if depth > _MOST_DEPTH:
            self.fail(f"types are nested deeper than {_MOST_DEPTH}")
        if self.kind != "word" or word not in (*_LEAVES, "ctg", "vec", "hvec", "hidx"):
            self.fail(f"expected ctg, vec, hvec, hidx or one of {', '.join(_LEAVES)}")
        self.next()
        if word in _LEAVES:
            return _LEAVES[word]
        self.take("(")
        at, numbers = self.start, self.numbers()
        self.take(")")
        wanted = {"ctg": 1, "vec": 3, "hvec": 3}.get(word)
        if (len(numbers) % 2 or not numbers) if wanted is None else len(numbers) != wanted:
            self.start = at
            self.fail(
                f"{word} needs {'pairs of numbers' if wanted is None else f'{wanted} numbers'}, has {len(numbers)}"
            )
        self.take("[")
        child = self.type(depth + 1)
        self.take("]")
        if word == "ctg":
            return contiguous(numbers[0], child)
        if word == "hidx":
            return hindexed(numbers[1::2], numbers[::2], child)
        return (vector if word == "vec" else hvector)(numbers[0], numbers[1], numbers[2], child)


def _strided(name: str, count: int, blocklength: int, stride: int, child: Datatype) -> Datatype:
    _listable("blocks", _count("count", count))
    _reachable(name, [(count - 1) * stride])
    places = np.arange(count, dtype=np.int64) * stride
    return _made(name, places, np.full(count, _count("blocklength", blocklength)), (child,))


def _blockindexed(name: str, blocklength: int, places: Array, child: Datatype) -> Datatype:
    lengths = np.full(len(places), _count("blocklength", blocklength))
    return _made(f"{name}({blocklength}, {len(places)} blocks, {child.name})", places, lengths, (child,))


def _made(
    name: str, displacements: Any, lengths: Any, children: tuple[Datatype, ...], *, pads: bool = False
) -> Datatype:
    """A type of blocks.

    Blocks without data add nothing to the type map (MPI 4.0, 5.1), so they change neither bounds nor alignment. Bounds
    that `resized` set count even if the elements have no data.
    """
    places, counts = np.asarray(displacements, np.int64), np.asarray(lengths, np.int64)
    used = np.flatnonzero((counts > 0) & np.array([child.size > 0 or any(child._marks) for child in children], bool))
    if len(used) == 0:
        none = Blocks(displacements=np.zeros(0, np.int64), lengths=np.zeros(0, np.int64), children=children[:1])
        return Datatype(name, 0, 0, 0, 0, 0, 1, none)
    kept = children if len(children) == 1 else tuple(children[at] for at in used)

    def column(attribute: str) -> Array:
        return np.resize(np.array([getattr(child, attribute) for child in kept], np.int64), len(used))

    at, n = places[used], counts[used]
    spread = (n - 1) * column("extent")
    sizes = column("size")
    _reachable(name, at)
    _reachable(name, spread)
    _reachable(name, n * sizes)
    low, high = at + np.minimum(spread, 0), at + np.maximum(spread, 0)
    marked = [[child._marks[side] for child in kept] for side in (0, 1)]
    lbs, ubs = low + column("lb"), high + column("ub")
    # A bound that `resized` set hides those that follow from data (MPI 4.0, 5.1.6). MPICH 5 differs from this.
    keep_lb, keep_ub = (np.resize(mark, len(used)) if any(mark) else np.full(len(used), True) for mark in marked)
    lb, ub = int(lbs[keep_lb].min()), int(ubs[keep_ub].max())
    marks = (any(marked[0]), any(marked[1]))
    alignment = max(child.alignment for child in kept)
    if pads and not marks[1]:
        ub += -(ub - lb) % alignment
    data = sizes > 0
    true_lb = int((low + column("true_lb"))[data].min()) if data.any() else 0
    true_ub = int((high + column("true_ub"))[data].max()) if data.any() else 0
    size = int((n * sizes).sum())
    blocks = Blocks(displacements=at, lengths=n, children=kept)
    return limited(Datatype(name, size, lb, ub, true_lb, true_ub, alignment, blocks, marks))


def _reachable(name: str, numbers: Array | Sequence[int]) -> None:
    """Refuse offsets and lengths that no type within 32 bits can have, before sums of them exceed 64 bits."""
    most = max(map(abs, (int(np.max(numbers)), int(np.min(numbers)))))
    if most >= 4 * _LIMIT:
        raise UsageError(f"{name} reaches {most} bytes far; offsets and sizes must be {-_LIMIT} to {_LIMIT - 1}")


def _listable(what: str, number: int) -> None:
    if number > _MOST_PIECES:
        raise UsageError(f"the type has {number} {what}, at most {_MOST_PIECES} can be listed")


def limited(made: Datatype) -> Datatype:
    """Return `made`, if the card can hold its size and bounds.

    Raises
    ------
    UsageError
        If one of them needs more than 32 bits.
    """
    for what in ("lb", "ub", "true_lb", "true_ub", "size"):
        value = getattr(made, what)
        if not -_LIMIT <= value < _LIMIT:
            raise UsageError(f"{made.name}: {what} is {value}, must be {-_LIMIT} to {_LIMIT - 1}")
    return made


def in_order(datatype: Datatype) -> list[Datatype]:
    """All types in this type, each once, children first. Without recursion, because types nest to any depth."""
    order: list[Datatype] = []
    placed: set[int] = set()
    left = [datatype]
    while left:
        one = left[-1]
        children = one.blocks.children if one.blocks is not None else ()
        missing = [child for child in children if id(child) not in placed]
        if missing:
            left += missing
            continue
        left.pop()
        if id(one) not in placed:
            placed.add(id(one))
            order.append(one)
    return order


def _pieces(datatype: Datatype) -> tuple[Array, Array]:
    """Offsets and lengths of one element, merged."""
    known: dict[int, tuple[Array, Array]] = {}
    for one in in_order(datatype):
        known[id(one)] = _own_pieces(one, known)
    return known[id(datatype)]


def _own_pieces(datatype: Datatype, known: dict[int, tuple[Array, Array]]) -> tuple[Array, Array]:
    if datatype.blocks is None:
        return np.array([0], np.int64), np.array([datatype.size], np.int64)
    blocks = datatype.blocks
    if len(blocks.children) == 1:
        child = blocks.children[0]
        if child.size == 0 or len(blocks.lengths) == 0:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return _repeated(*known[id(child)], _elements(blocks.displacements, blocks.lengths, child.extent))
    parts = [
        _repeated(*known[id(child)], _elements(np.array([place]), np.array([length]), child.extent))
        for place, length, child in zip(blocks.displacements, blocks.lengths, blocks.children, strict=True)
        if child.size > 0
    ]
    if not parts:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return _merged(np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]))


def _elements(places: Array, lengths: Array, extent: int) -> Array:
    """Offset of each element of the blocks."""
    total = int(lengths.sum())
    _listable("elements", total)
    within = np.arange(total, dtype=np.int64) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(places, lengths) + within * extent


def _repeated(offsets: Array, lengths: Array, starts: Array) -> tuple[Array, Array]:
    if len(offsets) == 0 or len(starts) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    _listable("pieces", len(offsets) * len(starts))
    return _merged((starts[:, None] + offsets[None, :]).ravel(), np.tile(lengths, len(starts)))


def _merged(offsets: Array, lengths: Array) -> tuple[Array, Array]:
    """Merge pieces that are adjacent both in the message and in memory."""
    begins = np.concatenate([[True], offsets[1:] != offsets[:-1] + lengths[:-1]])
    if begins.all():
        return offsets, lengths
    at = np.flatnonzero(begins)
    return offsets[at], np.add.reduceat(lengths, at)


def typed(given: object, what: str = "the element type") -> Datatype:
    """`given`, which must be a datatype.

    Raises
    ------
    UsageError
        If it is not; the text calls it `what`.
    """
    if not isinstance(given, Datatype):
        raise UsageError(
            f"{what} is {given!r}, must be a datatype",
            hint="use for example spinet.datatypes.INT, or `from_mpi4py` for a type of mpi4py",
        )
    return given


def whole(what: str, given: Any, *, least: int = -_LIMIT, most: int = _LIMIT - 1) -> int:
    """An integer within bounds.

    Raises
    ------
    UsageError
        If `given` is not such an integer; the text calls it `what`.
    """
    try:
        number = operator.index(given)
    except TypeError:
        number = least - 1
    if not least <= number <= most or isinstance(given, bool):
        raise UsageError(f"{what} is {given!r}, must be an integer from {least} to {most}")
    return number


def _integer(what: str, given: Any) -> int:
    return whole(what, given)


def _count(what: str, given: Any) -> int:
    return whole(what, given, least=0)


def _numbers(what: str, given: Numbers) -> Array:
    try:
        found = np.asarray(given)
    except ValueError:  # lists of different lengths
        raise UsageError(f"{what} is {given!r}, must be a list of integers") from None
    if found.ndim != 1 or (found.size and not np.issubdtype(found.dtype, np.integer)):
        raise UsageError(f"{what} must be a list of integers, has {found.dtype} in {found.ndim} dimensions")
    beyond = np.flatnonzero((found < -_LIMIT) | (found >= _LIMIT))
    if len(beyond):
        at = int(beyond[0])
        raise UsageError(f"{what}[{at}] is {found[at]}, must be {-_LIMIT} to {_LIMIT - 1}")
    return found.astype(np.int64)


def _lengths(given: Numbers, wanted: int) -> Array:
    found = _numbers("lengths", given)
    if len(found) != wanted:
        raise UsageError(f"lengths has {len(found)} numbers, displacements {wanted}; must be equal")
    if (found < 0).any():
        raise UsageError(f"lengths[{int(np.argmax(found < 0))}] is {int(found.min())}, must be at least 0")
    return found
