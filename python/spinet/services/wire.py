# SPDX-License-Identifier: Apache-2.0
"""Requests and replies of services, by the definitions of `sdk/services/service.h`."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spinet import _c_numbers, _core, _frames, toolchain
from spinet._core import UsageError

SOURCES = Path(__file__).resolve().parents[1] / "sdk" / "services"
_NUMBERS = _c_numbers.defined(SOURCES / "service.h")
CLIENT_PORT = _NUMBERS["SERVICE_CLIENT_PORT"]
DATA_AT = _NUMBERS["SERVICE_DATA_AT"]
FRAME_BYTES = _NUMBERS["SERVICE_FRAME_BYTES"]
MAX_DATA = _NUMBERS["SERVICE_MAX_DATA"]
WINDOW = _NUMBERS["SERVICE_WINDOW"]
"""Most requests of a client in flight."""
DENIED = {_NUMBERS["SERVICE_DENIED"]: "denied"}
"""Status of requests without the access key of the service, for the table of each service."""

_HEAD = struct.Struct("<IHBBHBB")
_UNUSED = struct.Struct("<H")
_HEAD_AT = _NUMBERS["SERVICE_HEAD_AT"]
assert _HEAD_AT + _HEAD.size == DATA_AT


def numbers(source: str) -> dict[str, int]:
    """Numbers that a file of `sdk/services` defines."""
    return _c_numbers.defined(SOURCES / source)


def program(source: str, defines: Mapping[str, str | int]) -> str:
    """Path of the compiled program of a file of `sdk/services`."""
    return str(toolchain.build([SOURCES / source], defines=defines).elf)


def with_access_key(defines: Mapping[str, str | int], access_key: int) -> dict[str, str | int]:
    """Macros of a service, and that of its access key, if it has one."""
    return {**defines, **({"SERVICE_ACCESS_KEY": f"{access_key:#x}u"} if access_key else {})}


def has_access_key(access_key: int) -> str:
    """The end of a match expression for requests with this key; empty for 0."""
    if access_key == 0:
        return ""
    low, high = access_key.to_bytes(4, "little")[:2], access_key.to_bytes(4, "little")[2:]
    places = ((_HEAD_AT - len(low), low), (DATA_AT - len(high), high))
    return "".join(f" && bytes[{at}:2] == {int.from_bytes(half, 'big'):#06x}" for at, half in places)


def check_access_key(access_key: int) -> None:
    """Refuse numbers that a header cannot hold."""
    _core.whole("access_key", access_key)


def key_of_client(given: int | None, service: int) -> int:
    """The key that a client sends: by default that of the service."""
    if given is None:
        return service
    check_access_key(given)
    if service == 0 and given != 0:
        raise UsageError(f"access_key is {given}, but the service has none")
    return given


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
    access_key
        In a request: the key of the service. It takes the place of `part` and `more`.
    """

    request: int
    client: int
    kind: int
    status: int = 0
    part: int = 0
    more: bool = False
    data: bytes = b""
    access_key: int = 0

    def pack(self) -> bytes:
        """The header and the data."""
        for name, bits in (("request", 32), ("client", 16), ("kind", 8), ("status", 8)):
            _core.whole(name, getattr(self, name), bits=bits)
        data = _core.buffer("data", self.data)
        if len(data) > MAX_DATA:
            raise UsageError(f"a packet has {len(data)} bytes of data, must have at most {MAX_DATA}")
        *_, low, high = self.access_key.to_bytes(4, "little")
        last = (low, high) if self.access_key else (self.part, self.more)
        head = _HEAD.pack(self.request, self.client, self.kind, self.status, len(data), *last)
        return head + data

    @staticmethod
    def unpack(content: bytes) -> Packet:
        """Parse a header and the data behind it."""
        request, client, kind, status, n_bytes, part, more = _HEAD.unpack_from(content)
        data = content[_HEAD.size : _HEAD.size + n_bytes]
        return Packet(request=request, client=client, kind=kind, status=status, part=part, more=bool(more), data=data)

    def frame(self, *, source: int, target: int, port: int) -> bytes:
        """The Ethernet frame, without FCS, from a client's node to a node's port."""
        addresses = {"source": address(source), "target": address(target)}
        content = _UNUSED.pack(self.access_key & 0xFFFF) + self.pack()
        return _frames.udp(content, **addresses, ports=(CLIENT_PORT, port))

    @staticmethod
    def of_frame(frame: bytes) -> Packet:
        """Parse a frame."""
        return Packet.unpack(frame[DATA_AT - _HEAD.size :])
