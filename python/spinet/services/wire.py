# SPDX-License-Identifier: Apache-2.0
"""Requests and replies of services, by the definitions of `sdk/services/service.h`."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spinet import _c_numbers, _frames, toolchain
from spinet._core import UsageError

SOURCES = Path(__file__).resolve().parents[1] / "sdk" / "services"
_NUMBERS = _c_numbers.defined(SOURCES / "service.h")
CLIENT_PORT = _NUMBERS["SERVICE_CLIENT_PORT"]
DATA_AT = _NUMBERS["SERVICE_DATA_AT"]
FRAME_BYTES = _NUMBERS["SERVICE_FRAME_BYTES"]
MAX_DATA = _NUMBERS["SERVICE_MAX_DATA"]
WINDOW = _NUMBERS["SERVICE_WINDOW"]
"""Most requests of a client in flight."""

_HEAD = struct.Struct("<IHBBHBB")
_UNUSED = bytes(2)
assert _NUMBERS["SERVICE_HEAD_AT"] + _HEAD.size == DATA_AT


def numbers(source: str) -> dict[str, int]:
    """Numbers that a file of `sdk/services` defines."""
    return _c_numbers.defined(SOURCES / source)


def program(source: str, defines: Mapping[str, str | int]) -> str:
    """Path of the compiled program of a file of `sdk/services`."""
    return str(toolchain.build([SOURCES / source], defines=defines).elf)


def address(node: int) -> bytes:
    """The IPv4 address of a network's node, by its number."""
    return (ipaddress.IPv4Address("10.0.0.1") + node).packed


@dataclass(frozen=True, kw_only=True)
class Packet:
    """A request, or a packet of a reply: the header of `service_head_t`, and the data.

    Attributes
    ----------
    request
        Number of the request.
    client
        Number of the client.
    kind, status
        Operation of the request, and status of the reply: numbers of the service.
    part
        Number of the packet among those of the reply.
    more
        True if the reply has further packets behind this one.
    """

    request: int
    client: int
    kind: int
    status: int = 0
    part: int = 0
    more: bool = False
    data: bytes = b""

    def pack(self) -> bytes:
        """The header and the data."""
        if len(self.data) > MAX_DATA:
            raise UsageError(f"a packet has {len(self.data)} bytes of data, must have at most {MAX_DATA}")
        head = _HEAD.pack(self.request, self.client, self.kind, self.status, len(self.data), self.part, self.more)
        return head + self.data

    @staticmethod
    def unpack(content: bytes) -> Packet:
        """Parse a header and the data behind it."""
        request, client, kind, status, n_bytes, part, more = _HEAD.unpack_from(content)
        data = content[_HEAD.size : _HEAD.size + n_bytes]
        return Packet(request=request, client=client, kind=kind, status=status, part=part, more=bool(more), data=data)

    def frame(self, *, source: int, target: int, port: int) -> bytes:
        """The Ethernet frame, without FCS, from a client's node to a node's port."""
        addresses = {"source": address(source), "target": address(target)}
        return _frames.udp(_UNUSED + self.pack(), **addresses, ports=(CLIENT_PORT, port))

    @staticmethod
    def of_frame(frame: bytes) -> Packet:
        """Parse a frame."""
        return Packet.unpack(frame[DATA_AT - _HEAD.size :])
