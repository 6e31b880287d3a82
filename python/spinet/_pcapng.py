# SPDX-License-Identifier: Apache-2.0
"""Reading back the packets that the simulated card sent.

This reads only the files that the simulator writes: pcapng in this machine's byte order, enhanced packet blocks, times
in nanoseconds. The simulator's own reader reads all other captures.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_INTERFACE = 1
_ENHANCED_PACKET = 6


def packets(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Time in ns and bytes of every packet, in file order."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == _ENHANCED_PACKET:
            _interface, high, low, captured = struct.unpack_from("<IIII", data, at + 8)
            start = at + 28
            yield (high << 32 | low), data[start : start + captured]
        at += length
