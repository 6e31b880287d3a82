# SPDX-License-Identifier: Apache-2.0
"""Storage nodes: the program of `sdk/storage`, with its context and memory."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from spinet import _core, _packets, _programs
from spinet._core import UsageError
from spinet.storage import gf256, wire
from spinet.storage.metadata import Metadata

PROGRAM = wire.SOURCES / "storage.c"
MATCH = f"ipv4.header_words == 5 && udp.dst_port == {wire.PORT}"
# The first 6 bytes: unused, kind, place, n_bytes. A message is identified by the next fields: client, request, attempt
# and stream.
MESSAGE = (
    "by udp.payload[6:12] "
    f"from udp.payload[3:1] in {{{wire.FIRST}, {wire.FIRST | wire.LAST}}} "
    f"until udp.payload[3:1] in {{{wire.LAST}, {wire.FIRST | wire.LAST}}}"
)
TIMEOUT_CYCLES = 200_000  # assumed: longer than any gap in a message of a live client, shorter than its retry timeout
MAX_CARD_BYTES = (1 << 20) - wire.constant(
    "NODE_BYTES"
)  # source: docs/reference/experiment.md: a quarter of L2 handler memory
EVENTS = ("duplicates", "strays", "refused", "torn_ends", "pool_empty", "stripes_lost")


def memory(metadata: Metadata, *, buffers: int = wire.constant("BUFFERS")) -> bytes:
    """Initial contents of a node's handler memory.

    Parameters
    ----------
    buffers
        Free accumulators for erasure-coded writes.

    Raises
    ------
    UsageError
        If `buffers` is out of range.
    """
    if not 1 <= buffers <= wire.constant("BUFFERS"):
        raise UsageError(f"{buffers} accumulators, must be 1 to {wire.constant('BUFFERS')}")
    content = bytearray(wire.constant("NODE_BYTES"))
    struct.pack_into("<8s", content, wire.constant("KEY_AT"), metadata.key)
    struct.pack_into("<iII", content, wire.constant("FREE_AT"), buffers, 0, buffers)  # free, taken, returned
    struct.pack_into(f"<{buffers}I", content, wire.constant("RING_AT"), *range(1, buffers + 1))
    table = gf256.products().tobytes()
    at = wire.constant("PRODUCTS_AT")
    content[at : at + len(table)] = table
    return bytes(content)


def events(handler_memory: bytes) -> dict[str, int]:
    """Counters of a node, by the names of `EVENTS`, from its handler memory."""
    values = struct.unpack_from(f"<{len(EVENTS)}I", handler_memory, wire.constant("EVENTS_AT"))
    return dict(zip(EVENTS, values, strict=True))


def node(
    metadata: Metadata | None = None, *, buffers: int = wire.constant("BUFFERS"), card_bytes: int = 0
) -> dict[str, Any]:
    """The keys of an experiment, or of a node of a network, that make its card a storage node.

    Parameters
    ----------
    buffers
        Free accumulators for erasure-coded writes.
    card_bytes
        Bytes of the card's own memory for objects, from the address `CARD_AT` on.

    Examples
    --------
    >>> sorted(node())
    ['context', 'program']
    """
    if not 0 <= _core.whole("card_bytes", card_bytes, bits=64) <= MAX_CARD_BYTES:
        raise UsageError(f"card_bytes is {card_bytes}, must be 0 to {MAX_CARD_BYTES}")
    content = memory(Metadata() if metadata is None else metadata, buffers=buffers)
    context = {
        "name": "storage",
        "match": MATCH,
        "message": MESSAGE,
        "handler_memory": {"size": len(content) + card_bytes, "data": str(_programs.kept(content))},
        "delivery": {"timeout_cycles": TIMEOUT_CYCLES},
    }
    return {"program": str(PROGRAM), "context": [context]}


def capture(frames: Iterable[bytes | tuple[int, bytes]]) -> str:
    """Path of a capture with these frames, as a source for a host of a network.

    Parameters
    ----------
    frames
        Frames, or pairs of a time in ns and a frame. A host sends the first one at its `start`.
    """
    return str(_packets.capture("frames", frames))
