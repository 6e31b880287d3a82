# SPDX-License-Identifier: Apache-2.0
"""Allreduce of sparse vectors by switches that compute: `sdk/collectives/sparse_switch.c` and `sparse_host.c`."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from spinet import _core
from spinet._core import UsageError
from spinet.collectives.flare import _CORES, TYPES, Flare, _node, room
from spinet.collectives.peers import constants

_WIRE = constants("flare.h") | constants("sparse.h")
_SWITCH, _HOST = constants("sparse_switch.c"), constants("sparse_host.c")
SLOT_BYTES = _WIRE["SPARSE_SLOT_BYTES"]
SLACK = {1: 64, 2: 32, 4: 16}
"""Elements of a packet that stay free on average, by value size in bytes."""
_SLOTS = {1: 1024, 2: 512, 4: 256}
_HEADER = struct.Struct("<I4sHBB")


@dataclass(frozen=True, kw_only=True)
class SparseFlare(Flare):
    """An allreduce of vectors in which most elements are zero.

    `buffers` has no effect: a block is locked while a handler works on it.

    Attributes
    ----------
    ratio
        On average, one of `ratio` elements is not zero. This number determines the length of a block, whose nonzero
        elements then nearly fill a packet.
    storage
        ``"array"``: switches store all elements of a block. ``"hash"``: switches store elements in a hash table, and
        forward those that do not fit.
    packets, results
        Largest number of packets per block that a host sends, and that it receives.

    Examples
    --------
    >>> sparse = SparseFlare(hosts=4, elements=10_000, ratio=8)
    >>> sparse.block_elements, sparse.blocks
    (1184, 9)
    """

    ratio: int = 2
    storage: str = "array"
    packets: int = 4
    results: int = 16

    def __post_init__(self) -> None:
        """Refuse values that the handlers do not support."""
        if self.storage not in ("array", "hash"):
            raise UsageError(f"storage is {self.storage!r}, must be 'array' or 'hash'")
        if self.custom is not None or self.dtype not in TYPES:
            raise UsageError(f"dtype is {self.dtype!r}, must be one of {', '.join(TYPES)}")
        self._check_tree()
        for name in ("elements", "ratio", "packets", "results"):
            _core.whole(name, getattr(self, name))
        if self.ratio < 1 or self.block_elements > 65536:
            most = 65536 // (self.packet_elements - SLACK[self.item_bytes])
            raise UsageError(f"ratio is {self.ratio}, must be 1 to {most}: positions in a block have 16 bits")
        if self._table_bytes > 32 << 10:  # assumed: a copy for each of 8 cores in L1
            needs = f"a block of {self.block_elements} elements needs {self._table_bytes} bytes in L1"
            raise UsageError(f"{needs}, must be 32768 or less", hint="storage='hash'")
        if self.op != "sum":
            raise UsageError(f"op is {self.op!r}, must be 'sum': absent elements count as zero")
        if not 1 <= self.packets <= 255 or not 1 <= self.results <= 255:
            raise UsageError("packets and results must be 1 to 255")
        super().__post_init__()

    @property
    def packet_elements(self) -> int:
        """Largest number of elements in a packet."""
        return _WIRE["SPARSE_DATA_BYTES"] // (2 + self.item_bytes)

    @property
    def block_elements(self) -> int:
        """Elements of a block, zeros included."""
        return (self.packet_elements - SLACK[self.item_bytes]) * self.ratio

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-self.elements // self.block_elements)

    @property
    def result_at(self) -> int:
        """Offset of the result packets in host memory."""
        return self.blocks * self.packets * SLOT_BYTES

    @property
    def programs(self) -> tuple[str, str]:
        """Programs of the hosts' cards and of the switches' cards."""
        return "sparse_host.c", "sparse_switch.c"

    @property
    def _host_defines(self) -> dict[str, str | int]:
        return {"TYPE": f"SPIN_{self.dtype.upper()}", "RANGE": self.block_elements}

    @property
    def defines(self) -> dict[str, str | int]:
        """Macros for the switch's handler."""
        made = self._host_defines | {"OP": f"SPIN_{self.op.upper()}", "FLARE_MAX_CHILDREN": room(self._children)}
        return made | ({"HASH": 1} if self.storage == "hash" else {})

    @property
    def _zeros(self) -> str:
        return f"u{self.item_bytes}"

    @property
    def _table_bytes(self) -> int:
        """Size of block_t in `sparse_switch.c`."""
        size, state = self.item_bytes, 16 + 4 * room(self._children)
        if self.storage == "array":
            table = (self.block_elements * size + 3) // 4 * 4
        else:
            stash = (_WIRE["SPARSE_DATA_BYTES"] + 7) // 4 * 4 + 2 * self.packet_elements
            table = _SLOTS[size] * (size + 2) + stash
        return -(-(state + table) // 64) * 64

    @property
    def _switch_scratchpad(self) -> int:
        return self._configuration_bytes + _CORES * (self._table_bytes + _WIRE["SPARSE_FRAME_BYTES"])

    @property
    def _switch_bytes(self) -> int:
        return self._configuration_bytes + self.window * (_SWITCH["LOCK_BYTES"] + self._table_bytes)

    def host(self, rank: int) -> dict[str, Any]:
        """Keys of the node of a host."""
        in_flight, below = min(self.window, self.blocks), self.hosts // self.leaves
        content = struct.pack(
            "<7I12s12s2i",
            self.blocks,
            self.packets,
            self.results,
            self.result_at,
            self.window,
            rank * self.stagger % in_flight,
            rank % below,
            self.peers[rank].packed,
            self.root.packed,
            0,
            0,
        )
        content = content.ljust(_HOST["BLOCKS_AT"], b"\0") + bytes(4 * self.blocks)
        ports = f"{_WIRE['FLARE_DOWN']}, {_WIRE['FLARE_GO']}"
        scratchpad = _HOST["FRAMES_AT"] + _CORES * _WIRE["SPARSE_FRAME_BYTES"]
        return _node(self.programs[0], ports, content, scratchpad, self._host_defines)

    def host_memory(self, vector: NDArray[Any]) -> bytes:
        """Initial contents of a host's memory: the vector's packets, without zeros."""
        vector = np.ascontiguousarray(vector)
        if vector.shape != (self.elements,) or vector.itemsize != self.item_bytes:
            found = f"{vector.size} elements of {vector.itemsize} bytes"
            raise UsageError(f"the vector has {found}, must have {self.elements} of {self.item_bytes}")
        made = bytearray(self.result_at + self.blocks * self.results * SLOT_BYTES + 8)
        kept = vector.view(f"<u{self.item_bytes}")
        for block in range(self.blocks):
            part = kept[block * self.block_elements : (block + 1) * self.block_elements]
            places = np.flatnonzero(part)
            pieces = [places[i : i + self.packet_elements] for i in range(0, len(places), self.packet_elements)]
            pieces = pieces or [places]
            if len(pieces) > self.packets:
                raise UsageError(f"block {block} needs {len(pieces)} packets", hint=f"packets={len(pieces)}")
            for i, piece in enumerate(pieces):
                split = len(pieces) if i == len(pieces) - 1 else 0
                data = piece.astype("<u2").tobytes()
                data += bytes(-len(data) % 4) + part[piece].tobytes()
                header = _HEADER.pack(block, self.root.packed[8:], len(piece), split, 0)
                at = (block * self.packets + i) * SLOT_BYTES
                made[at : at + len(header) + len(data)] = header + data
        return bytes(made)

    def result(self, memory: bytes, dtype: DTypeLike) -> NDArray[Any] | None:
        """The result in a host's memory; None if the host has not finished.

        Parameters
        ----------
        dtype
            Type of the elements. For ``bfloat16``, which NumPy does not have: ``"<u2"``, their bits.

        Raises
        ------
        UsageError
            If a block has more packets than `results`.
        """
        end = self.result_at + self.blocks * self.results * SLOT_BYTES
        if memory[end : end + 8] != (1).to_bytes(8, "little"):
            return None
        found = np.zeros(self.blocks * self.block_elements, dtype)
        add = _add_bfloat16 if self.dtype == "bfloat16" and found.dtype.kind in "ui" else _add
        for block in range(self.blocks):
            left, split, i = 1, 0, 0
            while i < (split or left):
                if i == self.results:
                    raise UsageError(f"the result of block {block} has more packets than {self.results}")
                at = self.result_at + (block * self.results + i) * SLOT_BYTES
                number, _, n, last, _ = _HEADER.unpack_from(memory, at)
                assert number == block, (number, block)
                split = last or split
                places = np.frombuffer(memory, "<u2", n, at + 12)
                values = np.frombuffer(memory, dtype, n, at + 12 + (2 * n + 3) // 4 * 4)
                add(found, block * self.block_elements + places, values)
                left, i = left + 1, i + 1
        return found[: self.elements]


def _add(sums: NDArray[Any], places: NDArray[Any], values: NDArray[Any]) -> None:
    """Add values at places, which may occur several times. All NaNs get the same bits, as in `spin_float.h`."""
    with np.errstate(over="ignore", invalid="ignore"):
        np.add.at(sums, places, values)
    if sums.dtype.kind == "f":
        sums[places[np.isnan(sums[places])]] = np.nan


def _add_bfloat16(sums: NDArray[Any], places: NDArray[Any], values: NDArray[Any]) -> None:
    """As `_add`, for the bits of bfloat16. Each sum is rounded to the nearest value, ties to even.

    A sum in float32 has more than twice the digits, so it can be rounded again.
    """
    while len(places):
        _, first = np.unique(places, return_index=True)
        at = places[first]
        with np.errstate(over="ignore", invalid="ignore"):
            exact = _float32(sums[at]) + _float32(values[first])
        bits = exact.view(np.uint32).astype(np.uint64)
        sums[at] = np.where(
            np.isnan(exact), 0x7FC0, (bits + 0x7FFF + (bits >> np.uint64(16) & np.uint64(1))) >> np.uint64(16)
        )
        places, values = np.delete(places, first), np.delete(values, first)


def _float32(bits: NDArray[Any]) -> NDArray[np.float32]:
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
