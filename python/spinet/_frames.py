# SPDX-License-Identifier: Apache-2.0
"""Ethernet frames with IPv4, for applications that make their own packets. Addresses are bytes in network order."""

from __future__ import annotations

import struct

UDP = 17
_LEAST = 60  # bytes of a frame without FCS; source: IEEE 802.3, 3.2.8


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071).

    >>> hex(checksum(bytes.fromhex("0001f203f4f5f6f7")))
    '0x220d'
    """
    data += b"\0" * (len(data) % 2)
    total = int(sum(struct.unpack(f"!{len(data) // 2}H", data)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def mac(ip: bytes) -> bytes:
    """The MAC address that a network gives to the node with this IPv4 address."""
    return b"\x02\x00" + ip


def ipv4(protocol: int, payload: bytes, *, source: bytes, target: bytes) -> bytes:
    """A frame with an IPv4 packet between two nodes of a network."""
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0, source, target)
    head = head[:10] + checksum(head).to_bytes(2, "big") + head[12:]
    return mac(target) + mac(source) + b"\x08\x00" + head + payload


def udp(data: bytes, *, source: bytes, target: bytes, ports: tuple[int, int]) -> bytes:
    """A frame with a UDP datagram without a checksum, from the first port to the second one."""
    return ipv4(UDP, struct.pack("!HHHH", *ports, 8 + len(data), 0) + data, source=source, target=target)


def padded(frame: bytes) -> bytes:
    """The frame with Ethernet's minimum length."""
    return frame.ljust(_LEAST, b"\0")
