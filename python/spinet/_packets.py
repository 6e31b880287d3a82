# SPDX-License-Identifier: Apache-2.0
"""Packets that a Python program makes, as traffic: bytes, packets of scapy, or pairs of a time and one of them."""

from __future__ import annotations

import operator
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, SupportsBytes, TypeAlias

from spinet._core import UsageError

PacketLike: TypeAlias = bytes | bytearray | memoryview | SupportsBytes
Entry: TypeAlias = str | Path | Mapping[str, Any]  # a source as text or with its keys
Traffic: TypeAlias = Entry | Iterable[Entry] | Iterable[PacketLike | tuple[int, PacketLike]]

# A capture in the classic format: times in nanoseconds, Ethernet frames.
HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)
_RECORD = struct.Struct("<IIII")
_NS = 10**9


def sources(what: str, given: Traffic | None) -> list[Entry]:
    """The sources of a keyword, which may be packets: these become a capture in the cache.

    Raises
    ------
    UsageError
        If it is neither; the message calls it `what`.
    """
    if given is None:
        return []
    if isinstance(given, str | Path | Mapping):
        return [given]
    if isinstance(given, bytes | bytearray | memoryview):
        raise UsageError(f"{what} is {type(given).__name__}, must be a source or packets", hint=f"{what}=[packet]")
    try:
        items: list[Any] = list(given)
    except TypeError:
        raise UsageError(f"{what} is {given!r}, must be a source, several, or packets") from None
    named = [isinstance(item, str | Path | Mapping) for item in items]
    if all(named):
        return items
    if any(named):
        raise UsageError(f"{what} has both sources and packets, must have only one of them")
    return [capture(what, items)]


def capture(what: str, packets: Iterable[PacketLike | tuple[int, PacketLike]]) -> Path:
    """A capture of these packets, kept in the cache. Packets without a time have the time of the one before."""
    from spinet import _programs  # imported here because it needs many other modules

    parts, now = [HEADER], 0
    if not isinstance(packets, Iterable):
        raise UsageError(f"{what} is {packets!r}, must be packets")
    for at, item in enumerate(packets):
        time, packet = item if isinstance(item, tuple) else (now, item)
        try:
            after, now = now, operator.index(time)
        except TypeError:
            raise UsageError(f"{what}[{at}] has the time {time!r}, must be an integer in ns") from None
        if now < after or now >> 32 >= _NS:
            raise UsageError(f"{what}[{at}] has the time {now} ns, must be {after} to {(_NS << 32) - 1}")
        data = _bytes(packet)
        if data is None:
            raise UsageError(f"{what}[{at}] is {packet!r}, must be bytes, a packet of scapy, or a pair (ns, packet)")
        parts.append(record(now, data))
    return _programs.kept(b"".join(parts), kind="traffic", suffix=".pcap")


def record(time_ns: int, packet: bytes) -> bytes:
    """A packet in a capture, behind `HEADER` and the packets before it."""
    return _RECORD.pack(time_ns // _NS, time_ns % _NS, len(packet), len(packet)) + packet


def _bytes(packet: object) -> bytes | None:
    """The bytes of a packet; None if it has none. An integer has none: `bytes` would make zeros of it."""
    if isinstance(packet, SupportsBytes) and not isinstance(packet, Path):
        return bytes(packet)
    try:
        return bytes(memoryview(packet))  # type: ignore[arg-type]  # any object with a buffer
    except TypeError:
        return None
