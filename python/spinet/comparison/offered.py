# SPDX-License-Identifier: Apache-2.0
"""The packets of a comparison: read once, and given to every NIC in the same file."""

from __future__ import annotations

import dataclasses
import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from spinet import _offered
from spinet._core import InputError, UsageError

LEAST_BYTES = 60  # IEEE 802.3, 3.2.7: without FCS; captures can have shorter frames, recorded before the padding
LINE_BYTES = 24  # IEEE 802.3: FCS 4, preamble and start delimiter 8, gap 12

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_ETHERNET = 1
_RESOLUTION_OPTION, _PICOSECONDS = 9, 12


@dataclass(frozen=True, kw_only=True)
class Offered:
    """The packets offered to every NIC.

    Attributes
    ----------
    traffic
        The traffic, as the caller's text.
    packets
        The packets, with the times of their first bits on the line, from 0.
    padded
        Number of packets that were padded with zeros to Ethernet's minimum length.
    cut_gaps
        Number of gaps that were cut to `longest_gap_ps`.
    """

    traffic: str
    packets: tuple[_offered.OfferedPacket, ...]
    padded: int
    cut_gaps: int
    longest_gap_ps: int

    @cached_property
    def time_ps(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """When each packet's first bit is due; shape ``(n_packets,)``."""
        return np.array([packet.time_ps for packet in self.packets], dtype=np.int64)

    @cached_property
    def matched(self) -> tuple[_offered.OfferedPacket, ...]:
        """Packets for the handlers."""
        return tuple(packet for packet in self.packets if packet.context is not None)

    @cached_property
    def sizes(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Bytes of each packet, without FCS; shape ``(n_packets,)``."""
        return np.array([len(packet.data) for packet in self.packets], dtype=np.int64)

    @cached_property
    def span_ps(self) -> int:
        """Time from the first packet to the last."""
        return int(self.time_ps[-1] - self.time_ps[0])

    @cached_property
    def line_gbps(self) -> float | None:
        """Line rate at which no packet is late: with FCS, preamble and gap, without the last packet."""
        bits = 8 * int((self.sizes[:-1] + LINE_BYTES).sum())
        return bits * 1000 / self.span_ps if self.span_ps else None

    def write(self, path: Path) -> None:
        """Write them as pcapng, with times in picoseconds."""
        out = bytearray(_block(_SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        option = struct.pack("<HHB3xHH", _RESOLUTION_OPTION, 1, _PICOSECONDS, 0, 0)
        out += _block(_INTERFACE, struct.pack("<HHI", _ETHERNET, 0, 0) + option)
        for packet in self.packets:
            size = len(packet.data)
            head = struct.pack("<IIIII", 0, packet.time_ps >> 32, packet.time_ps & 0xFFFF_FFFF, size, size)
            out += _block(_PACKET, head + packet.data.ljust(-(-size // 4) * 4, b"\0"))
        path.write_bytes(out)


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def read(
    traffic: str | Path,
    *,
    match: str | None,
    message: str | None,
    rate: str | None,
    count: int | None,
    seed: int | None,
    longest_gap_ps: int,
) -> Offered:
    """Read a capture, or generate.

    Raises
    ------
    InputError
        If there is no such traffic, or nothing in it.
    """
    try:
        found = _offered.offered(
            traffic,
            match=match,
            message=message,
            seed=seed,
            pacing=None if rate is None else f"line:{rate}",
            count=count,
        )
    except InputError as error:
        if not str(error).startswith("traffic.pacing: "):
            raise
        raise UsageError(f"rate is `{rate}`, must be a rate with its unit, such as `10G`") from None
    if not found:
        raise UsageError(f"{traffic}: there is no packet in it")
    gaps = np.diff([found[0].time_ps, *(packet.time_ps for packet in found)])
    times = np.cumsum(np.minimum(gaps, longest_gap_ps))
    packets = tuple(
        dataclasses.replace(packet, time_ps=int(time_ps), data=packet.data.ljust(LEAST_BYTES, b"\0"))
        for packet, time_ps in zip(found, times, strict=True)
    )
    return Offered(
        traffic=str(traffic),
        packets=packets,
        padded=sum(len(packet.data) < LEAST_BYTES for packet in found),
        cut_gaps=int((gaps > longest_gap_ps).sum()),
        longest_gap_ps=longest_gap_ps,
    )
