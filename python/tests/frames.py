# SPDX-License-Identifier: Apache-2.0
"""Packets according to the standards, in plain Python: the reference for the handlers' packets. Nothing of spinet is
used.

RFC 791 (IPv4), RFC 8200 (IPv6), RFC 768 (UDP), RFC 9293 (TCP), RFC 792 and RFC 4443 (ICMP), RFC 1071 (checksums).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ICMP, TCP, UDP, ICMPV6 = 1, 6, 17, 58
_PORTS = (UDP, TCP)
_CHECKSUM_AT = {ICMP: 2, TCP: 16, UDP: 6, ICMPV6: 2}


def of(capture: str | Path) -> list[bytes]:
    """Packets of a little-endian pcap file."""
    data = Path(capture).read_bytes()
    assert data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"), "not such a file"
    return list(_records(data, 24))


def _records(data: bytes, at: int) -> Iterator[bytes]:
    while at < len(data):
        captured = struct.unpack_from("<I", data, at + 8)[0]
        yield data[at + 16 : at + 16 + captured]
        at += 16 + captured


def write(path: Path, frames: Iterable[bytes], *, gap_ns: int = 1000) -> Path:
    """A pcap file with these packets, one every `gap_ns`."""
    data = struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
    for number, frame in enumerate(frames):
        seconds, rest = divmod(number * gap_ns, 10**9)
        data += struct.pack("<IIII", seconds, rest, len(frame), len(frame)) + frame
    path.write_bytes(data)
    return path


def ones_sum(data: bytes) -> int:
    """The sum of RFC 1071: 0xFFFF over data that holds its own valid checksum."""
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@dataclass(frozen=True)
class Frame:
    """Offsets in a frame: `ip` is 4, 6 or 0, `l4` the offset of what IP carries, `end` where it ends."""

    data: bytes
    ip: int
    protocol: int
    l4: int
    end: int

    @property
    def source(self) -> bytes:
        return self.data[26:30] if self.ip == 4 else self.data[22:38]

    @property
    def destination(self) -> bytes:
        return self.data[30:34] if self.ip == 4 else self.data[38:54]

    @property
    def ports(self) -> tuple[int, int]:
        assert self.protocol in _PORTS
        return struct.unpack_from("!HH", self.data, self.l4)

    @property
    def flow(self) -> tuple[bytes, bytes, int, int, int]:
        """The 5-tuple."""
        return (self.source, self.destination, self.protocol, *self.ports)

    @property
    def tcp_flags(self) -> int:
        assert self.protocol == TCP
        return self.data[self.l4 + 13]


def parse(data: bytes) -> Frame:
    kind = data[12:14]
    if kind == b"\x08\x00":
        total, protocol = struct.unpack_from("!H", data, 16)[0], data[23]
        return Frame(data, 4, protocol, 14 + (data[14] & 15) * 4, 14 + total)
    if kind == b"\x86\xdd":
        return Frame(data, 6, data[20], 54, 54 + struct.unpack_from("!H", data, 18)[0])
    return Frame(data, 0, -1, len(data), len(data))


def is_valid(data: bytes) -> bool:
    """True if every checksum in the frame is correct. UDP over IPv4 may have none (0)."""
    frame = parse(data)
    if frame.ip == 0:
        return True
    if frame.ip == 4 and ones_sum(data[14 : frame.l4]) != 0xFFFF:
        return False
    if frame.protocol not in _CHECKSUM_AT:
        return True
    carried = data[frame.l4 : frame.end]
    if frame.ip == 4 and frame.protocol == UDP and carried[6:8] == b"\0\0":
        return True
    return ones_sum(_pseudo_header(frame, len(carried)) + carried) == 0xFFFF


def _pseudo_header(frame: Frame, length: int) -> bytes:
    if frame.protocol == ICMP:
        return b""
    tail = struct.pack("!HH", frame.protocol, length) if frame.ip == 4 else struct.pack("!II", length, frame.protocol)
    return frame.source + frame.destination + tail


def with_checksums(data: bytes) -> bytes:
    """The frame with all its checksums computed again."""
    frame, out = parse(data), bytearray(data)
    if frame.ip == 4:
        out[24:26] = b"\0\0"
        out[24:26] = struct.pack("!H", 0xFFFF - ones_sum(bytes(out[14 : frame.l4])))
    if frame.protocol in _CHECKSUM_AT:
        at = frame.l4 + _CHECKSUM_AT[frame.protocol]
        out[at : at + 2] = b"\0\0"
        carried = bytes(out[frame.l4 : frame.end])
        checksum = 0xFFFF - ones_sum(_pseudo_header(frame, len(carried)) + carried)
        out[at : at + 2] = struct.pack("!H", checksum or (0xFFFF if frame.protocol == UDP else 0))
    return bytes(out)


def returned(data: bytes) -> bytes:
    """The frame with source and destination swapped in each header; checksums are computed again."""
    frame = parse(data)
    out = bytearray(data)
    out[0:6], out[6:12] = data[6:12], data[0:6]
    if frame.ip:
        first, size = (26, 4) if frame.ip == 4 else (22, 16)
        out[first : first + 2 * size] = frame.destination + frame.source
    if frame.protocol in _PORTS:
        out[frame.l4 : frame.l4 + 4] = data[frame.l4 + 2 : frame.l4 + 4] + data[frame.l4 : frame.l4 + 2]
    return with_checksums(bytes(out))


def build(*, ip: int, protocol: int, ports: tuple[int, int], payload: bytes, flags: int = 0x18) -> bytes:
    """A UDP or TCP frame from host 1 to host 2."""
    if protocol == UDP:
        carried = struct.pack("!HHHH", *ports, 8 + len(payload), 0) + payload
    else:
        carried = struct.pack("!HHIIBBHHH", *ports, 1, 2, 5 << 4, flags, 1024, 0, 0) + payload
    ethernet = bytes.fromhex("020000000002 020000000001")
    if ip == 4:
        addresses = bytes([10, 0, 0, 1, 10, 0, 0, 2])
        header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(carried), 7, 0x4000, 64, protocol, 0) + addresses
        return with_checksums(ethernet + b"\x08\x00" + header + carried)
    addresses = bytes.fromhex("fd00" + "0" * 27 + "1" + "fd00" + "0" * 27 + "2")
    header = struct.pack("!IHBB", 6 << 28, len(carried), protocol, 64) + addresses
    return with_checksums(ethernet + b"\x86\xdd" + header + carried)
