# SPDX-License-Identifier: Apache-2.0
"""Packets of the storage example, by the definitions of `sdk/storage/wire.h` and `node.h`."""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from spinet import _c_numbers, _core, _frames
from spinet._core import UsageError

SOURCES = Path(__file__).resolve().parents[1] / "sdk" / "storage"
_PREFIX = "STORAGE_"


@cache
def constants() -> dict[str, int]:
    """Numbers that the C headers define, without the prefix ``STORAGE_``."""
    found = _c_numbers.defined(SOURCES / "wire.h", SOURCES / "node.h")
    return {name.removeprefix(_PREFIX): value for name, value in found.items() if name.startswith(_PREFIX)}


def constant(name: str) -> int:
    """The number in `constants` with this name."""
    return constants()[name]


UNIT = constant("UNIT")
CARD_AT = constant("CARD_AT")
"""First address of a card's own memory."""
MAX_BYTES = UNIT * constant("MAX_UNITS")
MAX_NODES = constant("MAX_NODES")
MAX_PARITY = constant("MAX_PARITY")
FIRST, LAST = constant("FIRST"), constant("LAST")
PORT, CLIENT_PORT = constant("PORT"), constant("CLIENT_PORT")

POLICIES = {
    "plain": constant("PLAIN"),
    "chain": constant("CHAIN"),
    "tree": constant("TREE"),
    "code": constant("CODE_DATA"),
    "code parity": constant("CODE_PARITY"),
    "raid": constant("RAID_DATA"),
    "raid parity": constant("RAID_PARITY"),
}
"""Policies of writes. Data nodes make the parity messages; clients use the names of these only in tests."""

STATUS = {
    constant(name.upper()): name
    for name in ("ok", "malformed", "forged", "expired", "forbidden", "out_of_range", "torn", "busy")
}
"""Names of the status codes in replies."""

_PACKET = struct.Struct("<BBHIIHHI")
_REQUEST = struct.Struct(f"<II32sBBBB{MAX_PARITY}s{4 * MAX_NODES}s")
CAPABILITY_BYTES = 32
_HEADERS = 42  # Ethernet, IPv4, UDP
_UNUSED = bytes(constant("PACKET_AT") - _HEADERS)
assert constant("PACKET_AT") + _PACKET.size == constant("REQUEST_AT") == constant("DATA_AT")
assert constant("REQUEST_AT") + _REQUEST.size == constant("ONLY_DATA_AT")


def address(ip: str) -> bytes:
    """An IPv4 address as it is in packets."""
    return _core.ipv4(ip, what="the address of a node")


@dataclass(frozen=True, kw_only=True)
class Header:
    """The header of each packet: `storage_packet_t`."""

    kind: int
    place: int = FIRST | LAST
    n_bytes: int = 0
    client: str
    request: int
    attempt: int = 0
    stream: int = 0
    offset: int = 0

    def pack(self) -> bytes:
        """The header's 20 bytes."""
        client = int.from_bytes(address(self.client), "little")
        numbers = (self.kind, self.place, self.n_bytes, client, self.request, self.attempt, self.stream, self.offset)
        return _PACKET.pack(*numbers)

    @staticmethod
    def unpack(data: bytes) -> Header:
        """Parse the first bytes of a packet's data."""
        kind, place, n_bytes, client, request, attempt, stream, offset = _PACKET.unpack_from(data)
        ip = str(ipaddress.IPv4Address(client.to_bytes(4, "little")))
        return Header(
            kind=kind,
            place=place,
            n_bytes=n_bytes,
            client=ip,
            request=request,
            attempt=attempt,
            stream=stream,
            offset=offset,
        )


@dataclass(frozen=True, kw_only=True)
class Ask:
    """The description of a request in its first packet: `storage_request_t`.

    Attributes
    ----------
    capability
        The bytes that the metadata service issued.
    policy
        A name of `POLICIES`.
    k, m, rank
        Number of replicas or data blocks, number of parity blocks, and number of this replica or data block.
    coefficients
        Coefficients of this data block, one for each parity block.
    nodes
        Replicas by rank, or parity nodes.
    """

    address: int
    n_bytes: int
    capability: bytes
    policy: str = "plain"
    k: int = 0
    m: int = 0
    rank: int = 0
    coefficients: bytes = b""
    nodes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _core.whole("address", self.address)
        _core.whole("n_bytes", self.n_bytes)
        for name in ("k", "m", "rank"):
            _core.whole(name, getattr(self, name), bits=8)
        if len(_core.buffer("capability", self.capability)) != CAPABILITY_BYTES:
            raise UsageError(f"the capability has {len(self.capability)} bytes, must be {CAPABILITY_BYTES}")

    def pack(self) -> bytes:
        """The description's 80 bytes."""
        return _REQUEST.pack(
            self.address,
            self.n_bytes,
            self.capability,
            POLICIES[self.policy],
            self.k,
            self.m,
            self.rank,
            self.coefficients,
            b"".join(map(address, self.nodes)),
        )


def mac(ip: str) -> bytes:
    """The MAC address of a node, which follows from its IPv4 address."""
    return _frames.mac(address(ip))


def frame(*, source: str, target: str, header: Header, rest: bytes, port: int = PORT) -> bytes:
    """An Ethernet frame, without FCS, that carries a header and `rest`."""
    payload = _UNUSED + header.pack() + rest
    return _frames.udp(payload, source=address(source), target=address(target), ports=(CLIENT_PORT, port))


def checked(data: bytes) -> bytes:
    """The bytes of data, which a message must be able to hold.

    Raises
    ------
    UsageError
        If they are not bytes, are empty, or are more than a message holds.
    """
    content = _core.buffer("data", data)
    if not 0 < len(content) <= MAX_BYTES:
        raise UsageError(f"a write has {len(content)} bytes, must be 1 to {MAX_BYTES}")
    return content


def message(*, source: str, target: str, header: Header, ask: Ask, data: bytes) -> list[bytes]:
    """The frames of a write, in order.

    Raises
    ------
    UsageError
        If the data are empty or more than a message holds.
    """
    data = checked(data)
    frames = []
    if len(data) > UNIT:
        frames.append(frame(source=source, target=target, header=replace(header, place=FIRST), rest=ask.pack()))
    for at in range(0, len(data), UNIT):
        part = data[at : at + UNIT]
        is_only, is_last = len(data) <= UNIT, at + UNIT >= len(data)
        place = (FIRST if is_only else 0) | (LAST if is_last else 0)
        own = replace(header, place=place, n_bytes=len(part), offset=at)
        frames.append(frame(source=source, target=target, header=own, rest=(ask.pack() if is_only else b"") + part))
    return frames


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A packet from a storage node to a client."""

    node: str
    header: Header
    status: str  # a name of `STATUS`; empty if the packet has data of a read
    n_bytes: int
    data: bytes


def target(packet: bytes) -> str:
    """The destination IPv4 address of a frame."""
    return str(ipaddress.IPv4Address(packet[30:34]))


def reply(packet: bytes) -> Reply | None:
    """Parse a frame for a client; None if it is not from a storage node."""
    if len(packet) < constant("REPLY_BYTES") or packet[36:38] != CLIENT_PORT.to_bytes(2, "big"):
        return None
    header = Header.unpack(packet[constant("PACKET_AT") :])
    node = str(ipaddress.IPv4Address(packet[26:30]))
    at = constant("REQUEST_AT")
    if header.kind == constant("DATA"):
        return Reply(node=node, header=header, status="", n_bytes=header.n_bytes, data=packet[at : at + header.n_bytes])
    if header.kind != constant("REPLY"):
        return None
    status = STATUS.get(header.place, f"status {header.place}")
    return Reply(node=node, header=header, status=status, n_bytes=header.offset, data=b"")


def arrived(memory: bytes, client: str) -> list[bytes]:
    """Frames that storage nodes sent to a client, whose card copied them to this host memory; in order of address."""
    start = mac(client) + mac("10.0.0.0")[:5]  # the MAC addresses of the client and of a node in 10.0.0.0/24
    found, at = [], memory.find(start)
    while at >= 0:
        size = 14 + int.from_bytes(memory[at + 16 : at + 18], "big")
        found.append(memory[at : at + size])
        at = memory.find(start, at + size)
    return found
