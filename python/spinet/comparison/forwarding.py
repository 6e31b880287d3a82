# SPDX-License-Identifier: Apache-2.0
"""Plain forwarding by handlers: sdk/examples/copy_to_host.c, and the packets that it wrote to host memory."""

from __future__ import annotations

from collections.abc import Sequence

from spinet import toolchain

HOST, RING_BYTES = 0x1000_0000_0000_0000, 4 << 20  # the handler writes packets at their offsets in L2 packet memory
_COMPARED_BYTES = 3 << 20  # bytes of that ring that are certainly not overwritten


def program() -> list[str]:
    """The handler that gives every packet to the host."""
    return [str(toolchain.sdk_dir() / "examples" / "copy_to_host.c")]


def in_ring(memory: bytes, packets: Sequence[bytes]) -> list[bytes]:
    """The packets that are in the ring, in order. If there were more than the ring holds, only the last ones can be
    found.
    """
    last, total = len(packets), 0
    while last and total + len(packets[last - 1]) <= _COMPARED_BYTES:
        last -= 1
        total += len(packets[last])
    found, at = [], 0
    for data in packets[last:]:
        place = memory.find(data, at)
        place = memory.find(data) if place < 0 else place
        if place >= 0:
            found.append(data)
            at = place + len(data)
    return found
