# SPDX-License-Identifier: Apache-2.0
"""Differences of two packets, field by field."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_MOST_BYTES = 16  # bytes of a difference that are shown

# Name, offset in the header and bytes of each field, with the names of match expressions.
_ETH = (("eth.dst", 0, 6), ("eth.src", 6, 6), ("eth.type", 12, 2))
_VLAN = (("tag", 0, 2), ("type", 2, 2))
_ARP = (
    ("arp.operation", 6, 2),
    ("arp.sender_mac", 8, 6),
    ("arp.sender_ip", 14, 4),
    ("arp.target_mac", 18, 6),
    ("arp.target_ip", 24, 4),
)
_IPV4 = (
    ("ipv4.version and header_words", 0, 1),
    ("ipv4.dscp and ecn", 1, 1),
    ("ipv4.len", 2, 2),
    ("ipv4.id", 4, 2),
    ("ipv4.flags and fragment_offset", 6, 2),
    ("ipv4.ttl", 8, 1),
    ("ipv4.protocol", 9, 1),
    ("ipv4.checksum", 10, 2),
    ("ipv4.src", 12, 4),
    ("ipv4.dst", 16, 4),
)
_IPV6 = (
    ("ipv6.version, traffic_class and flow_label", 0, 4),
    ("ipv6.len", 4, 2),
    ("ipv6.next_header", 6, 1),
    ("ipv6.hop_limit", 7, 1),
    ("ipv6.src", 8, 16),
    ("ipv6.dst", 24, 16),
)
_UDP = (("udp.src_port", 0, 2), ("udp.dst_port", 2, 2), ("udp.len", 4, 2), ("udp.checksum", 6, 2))
_TCP = (
    ("tcp.src_port", 0, 2),
    ("tcp.dst_port", 2, 2),
    ("tcp.seq", 4, 4),
    ("tcp.ack", 8, 4),
    ("tcp.header_words", 12, 1),
    ("tcp.flags", 13, 1),
    ("tcp.window", 14, 2),
    ("tcp.checksum", 16, 2),
    ("tcp.urgent", 18, 2),
)
_ICMP = (("type", 0, 1), ("code", 1, 1), ("checksum", 2, 2))
_TYPE_IPV4, _TYPE_ARP, _TYPE_IPV6, _TYPES_VLAN = 0x0800, 0x0806, 0x86DD, (0x8100, 0x88A8)
_OF_IP = {6: ("tcp", _TCP, 20), 17: ("udp", _UDP, 8), 1: ("icmp", _ICMP, 4), 58: ("icmpv6", _ICMP, 4)}


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of a packet."""

    name: str
    start: int
    end: int


def fields(packet: bytes) -> list[Field]:
    """All fields that the headers of a packet have, and what is between and behind them, in order."""
    found = list(_headers(packet))
    whole, at, layer = list[Field](), 0, "bytes"
    for field in found:
        if field.start > at:
            whole.append(Field(name=f"{layer}.options", start=at, end=field.start))
        whole.append(field)
        at, layer = field.end, field.name.partition(".")[0]
    if at < len(packet):
        name = f"{layer}.payload" if found else "bytes"
        whole.append(Field(name=name, start=at, end=len(packet)))
    return whole


def _headers(packet: bytes) -> Iterator[Field]:
    def header(layout: Sequence[tuple[str, int, int]], at: int, prefix: str = "") -> Iterator[Field]:
        for name, offset, size in layout:
            if at + offset + size <= len(packet):
                yield Field(name=prefix + name, start=at + offset, end=at + offset + size)

    def word(at: int) -> int:
        return int(struct.unpack_from("!H", packet, at)[0]) if at + 2 <= len(packet) else -1

    yield from header(_ETH, 0)
    kind, at = word(12), 14
    for name in ("vlan.", "vlan2."):
        if kind in _TYPES_VLAN:
            yield from header(_VLAN, at, name)
            kind, at = word(at + 2), at + 4
    protocol = -1
    if kind == _TYPE_ARP:
        yield from header(_ARP, at)
    elif kind == _TYPE_IPV4 and at + 20 <= len(packet):
        yield from header(_IPV4, at)
        is_first = word(at + 6) & 0x1FFF == 0
        protocol, at = packet[at + 9] if is_first else -1, at + max(packet[at] & 15, 5) * 4
    elif kind == _TYPE_IPV6 and at + 40 <= len(packet):
        yield from header(_IPV6, at)
        protocol, at = packet[at + 6], at + 40
    if protocol in _OF_IP:
        name, layout, _size = _OF_IP[protocol]
        yield from header(layout, at, "" if layout in (_TCP, _UDP) else f"{name}.")


def compare(found: bytes, expected: bytes) -> list[str]:
    """One line for each field that differs, with the offset and both values; empty if the packets are equal.

    >>> compare(bytes(12) + b"\\x08\\x00", bytes(12) + b"\\x08\\x06")
    ['eth.type at byte 12: 0x0800, expected 0x0806']
    """
    lines = []
    if len(found) != len(expected):
        lines.append(f"length: {len(found)} B, expected {len(expected)} B")
    for field in fields(expected if len(expected) <= len(found) else found):
        ours, theirs = found[field.start : field.end], expected[field.start : field.end]
        if ours != theirs:
            lines.append(_difference(field, ours, theirs))
    shorter = min(len(found), len(expected))
    for text, rest in (("more than expected", found[shorter:]), ("missing", expected[shorter:])):
        if rest:
            lines.append(f"{text} from byte {shorter}: {_hex(rest)}")
    return lines


def _difference(field: Field, found: bytes, expected: bytes) -> str:
    if field.end - field.start <= _MOST_BYTES:
        shown = [_value(field.name, data) for data in (found, expected)]
        return f"{field.name} at byte {field.start}: {shown[0]}, expected {shown[1]}"
    differing = [at for at, (ours, theirs) in enumerate(zip(found, expected, strict=True)) if ours != theirs]
    first = differing[0]
    part = slice(first, differing[-1] + 1)
    return (
        f"{field.name} at byte {field.start + first}, {len(differing)} B differ: "
        f"{_hex(found[part])}, expected {_hex(expected[part])}"
    )


def _value(name: str, data: bytes) -> str:
    last = name.rpartition(".")[2]
    if (name.startswith("eth.") and len(data) == 6) or last.endswith("_mac"):
        return data.hex(":")
    if last in ("src", "dst", "sender_ip", "target_ip"):
        return ".".join(map(str, data)) if len(data) == 4 else data.hex(":", 2)
    if last in ("src_port", "dst_port", "len", "ttl", "hop_limit", "protocol", "next_header"):
        return str(int.from_bytes(data, "big"))
    return f"0x{data.hex()}" if len(data) <= 4 else _hex(data)


def _hex(data: bytes) -> str:
    return data[:_MOST_BYTES].hex(" ") + (" ..." if len(data) > _MOST_BYTES else "")
