# SPDX-License-Identifier: Apache-2.0
"""Addresses of nodes, numbers that the C headers define, and frames."""

from __future__ import annotations

import ipaddress
import re
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "sdk" / "collectives"
_DEFINE = re.compile(r"^#define (\w+) (0x[0-9a-fA-F]+|\d+)u?\b", re.MULTILINE)


@cache
def constants(header: str) -> dict[str, int]:
    """Numbers that a header of `sdk/collectives` defines."""
    return {name: int(value, 0) for name, value in _DEFINE.findall((SOURCES / header).read_text())}


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A node of a network, with the addresses that `spinet run` gives it.

    Examples
    --------
    >>> peer = Peer(number=2)
    >>> peer.ip, peer.mac.hex()
    ('10.0.0.3', '02000a000003')
    """

    number: int  # among all nodes

    @property
    def ip(self) -> str:
        """Its IPv4 address."""
        return str(ipaddress.IPv4Address("10.0.0.1") + self.number)

    @property
    def mac(self) -> bytes:
        """Its MAC address."""
        return b"\x02\x00" + (0x0A000001 + self.number).to_bytes(4, "big")

    @property
    def packed(self) -> bytes:
        """As a struct of C: the MAC address in 8 bytes, and the IPv4 address in network byte order."""
        return self.mac + bytes(2) + self.mac[2:]


def headers(sender: Peer, receiver: Peer, port: int, data: bytes) -> bytes:
    """A frame with UDP data behind the two unused bytes of `spin_data.h`."""
    udp = 8 + 2 + len(data)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + udp, 0, 0, 64, 17, 0) + sender.packed[8:] + receiver.packed[8:]
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = ~(total + (total >> 16)) & 0xFFFF
    ip = ip[:10] + checksum.to_bytes(2, "big") + ip[12:]
    frame: bytes = (
        receiver.mac + sender.mac + b"\x08\x00" + ip + struct.pack(">HHHH", port, port, udp, 0) + bytes(2) + data
    )
    return frame
