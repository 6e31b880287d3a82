# SPDX-License-Identifier: Apache-2.0
"""The cost of messages without handlers: the host packs them, or unpacks what the card wrote to a buffer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spinet.datatypes.types import Datatype

LINE = 64  # bytes of a cache line


@dataclass(frozen=True, kw_only=True)
class Host:
    """A host core that unpacks messages with cold caches.

    The defaults describe an Intel Core i7-4770 at 3.4 GHz. assumed, from memory: the SC 2019 paper used this one.

    Attributes
    ----------
    ghz
        Clock frequency.
    piece_cycles
        Cycles to find a piece and to start its copy.
    copy_bytes_per_cycle
        Bytes that the copy itself moves in a cycle when data are in the cache.
    line_fills, memory_ns
        Number of cache lines that the core fetches in parallel, and time to fetch one. So the core moves at most
        ``line_fills * 64 / memory_ns`` bytes per nanosecond.
    """

    ghz: float = 3.4  # source: Intel, product specification of the Core i7-4770
    piece_cycles: float = 25  # assumed: a step of a segment, a call of memcpy and its branches
    copy_bytes_per_cycle: float = 16  # assumed: one AVX load and store of 32 bytes, half used
    line_fills: float = 10  # source: Intel 64 and IA-32 Optimization Reference Manual, Haswell: 10 L1 fill buffers
    memory_ns: float = 70  # assumed: usual latency of DDR3-1600 behind the caches of a desktop processor

    def unpack_ns(self, datatype: Datatype, count: int = 1) -> float:
        """Time to unpack a message: that of the core's work or of the memory transfers, whichever is longer.

        Examples
        --------
        >>> from spinet import datatypes
        >>> round(Host().unpack_ns(datatypes.vector(1024, 1, 16, datatypes.FLOAT)))
        14784
        """
        pieces = len(datatype.pieces(count)[0])
        size = datatype.size * count
        work = (pieces * self.piece_cycles + size / self.copy_bytes_per_cycle) / self.ghz
        moved = size + 2 * LINE * lines(datatype, count)  # read the message; fetch lines and write them back
        return max(work, moved * self.memory_ns / (self.line_fills * LINE))

    def pack_ns(self, datatype: Datatype, count: int = 1) -> float:
        """Time to pack a message; the same model as `unpack_ns`.

        Examples
        --------
        >>> from spinet import datatypes
        >>> round(Host().pack_ns(datatypes.vector(1024, 1, 16, datatypes.FLOAT)))
        8064
        """
        pieces = len(datatype.pieces(count)[0])
        size = datatype.size * count
        work = (pieces * self.piece_cycles + size / self.copy_bytes_per_cycle) / self.ghz
        moved = LINE * lines(datatype, count) + 2 * size  # read lines; fetch the message's lines and write them back
        return max(work, moved * self.memory_ns / (self.line_fills * LINE))

    def moved_bytes(self, datatype: Datatype, count: int = 1) -> int:
        """Bytes moved to and from memory: by the card's write, and by unpacking as in `unpack_ns`."""
        return 2 * datatype.size * count + 2 * LINE * lines(datatype, count)

    def checkpoints_ns(self, datatype: Datatype, count: int, n_checkpoints: int, nic_bytes: int) -> float:
        """Time to make checkpoints: one walk over the type, a copy of each segment, and the transfer to the card."""
        pieces = len(datatype.pieces(count)[0])
        walk = (pieces + n_checkpoints) * self.piece_cycles / self.ghz
        return walk + nic_bytes / _PCIE_BYTES_PER_NS + _PCIE_NS


_PCIE_BYTES_PER_NS = 63.0  # source: PCIe 5.0, 16 lanes: 504.1 Gbit/s (docs/machines/pspin.md)
_PCIE_NS = 250.0  # source: sPIN talk, OFA 2022: about 250 ns


def lines(datatype: Datatype, count: int = 1) -> int:
    """Number of cache lines that `count` elements touch, if address 0 is the start of a line.

    Examples
    --------
    >>> from spinet import datatypes
    >>> lines(datatypes.vector(8, 1, 8, datatypes.FLOAT)), lines(datatypes.hvector(2, 1, 62, datatypes.INT))
    (4, 2)
    """
    offsets, lengths = datatype.pieces(count)
    if len(offsets) == 0:
        return 0
    first, last = offsets // LINE, (offsets + lengths - 1) // LINE
    spans = last - first + 1
    within = np.arange(int(spans.sum()), dtype=np.int64) - np.repeat(np.cumsum(spans) - spans, spans)
    return len(np.unique(np.repeat(first, spans) + within))
