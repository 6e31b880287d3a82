# SPDX-License-Identifier: Apache-2.0
"""Handler memory for the handlers of `sdk/examples`: rules, layouts.

Requests and data come in packets; docs/reference/traffic.md says which payloads there are. All numbers here have 32
bits and little-endian byte order, except those in packet headers.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Mapping

from spinet._core import UsageError

RULE_ENTRIES = 65_536
_MOST_SEEN = 64  # entries that filtering.c looks at


def rules(ports: Mapping[str, int], *, receiver: str = "10.0.0.2") -> bytes:
    """The hash table of `filtering.c`: packets of these senders pass, with another destination port.

    Parameters
    ----------
    ports
        Destination port by the sender's IPv4 address.
    receiver
        Destination address of the packets, which the hash covers too.

    Returns
    -------
    bytes
        65,536 entries of 8 bytes.

    Raises
    ------
    UsageError
        If an address or a port is impossible, or the entries that a sender may have are all taken.

    Examples
    --------
    >>> table = rules({"10.0.0.1": 53})
    >>> len(table), sum(table[at : at + 8] != bytes(8) for at in range(0, len(table), 8))
    (524288, 1)
    """
    table = bytearray(8 * RULE_ENTRIES)
    destination = _address(receiver)
    for sender, port in ports.items():
        source = _address(sender)
        if source == bytes(4):
            raise UsageError("0.0.0.0 is nobody's address", hint="leave it out")
        if not 0 <= port < 1 << 16:
            raise UsageError(f"the port of {sender} is {port}, must be 0 to 65535")
        first = _one_at_a_time(source + destination)
        for place in range(first, first + _MOST_SEEN):
            at = 8 * (place % RULE_ENTRIES)
            if table[at : at + 4] in (bytes(4), source):
                table[at : at + 8] = source + struct.pack("!HH", port, 0)
                break
        else:
            raise UsageError(f"no room for {sender}: {_MOST_SEEN} entries from its place on are taken")
    return bytes(table)


def senders(first: str, count: int, *, step: int = 1) -> list[str]:
    """Addresses from `first` upwards, as the traffic generator gives them to its `senders`.

    Examples
    --------
    >>> senders("10.0.0.255", 2)
    ['10.0.0.255', '10.0.1.0']
    """
    base = int(ipaddress.IPv4Address(first))
    return [str(ipaddress.IPv4Address(base + step * number)) for number in range(count)]


def _address(text: str) -> bytes:
    try:
        return ipaddress.IPv4Address(text).packed
    except ipaddress.AddressValueError as error:
        raise UsageError(f"{text!r} is not an IPv4 address: {error}") from error


def _one_at_a_time(data: bytes) -> int:
    """Bob Jenkins' hash, as filtering.c has it."""
    value = 0
    for byte in data:
        value = (value + byte) * 1025 & 0xFFFF_FFFF
        value ^= value >> 6
    value = value * 9 & 0xFFFF_FFFF
    value ^= value >> 11
    return value * 32769 & 0xFFFF_FFFF


def layout(block: int, stride: int, *, blocks: int = 0, plane: int = 0) -> bytes:
    """The layout that `strided_ddt.c` follows: blocks with gaps between them, and planes of such blocks.

    Parameters
    ----------
    block
        Bytes of a block; 0 for no gaps at all.
    stride
        Bytes from the beginning of a block to that of the next.
    blocks
        Blocks in a plane; 0 if all are in one.
    plane
        Bytes from the beginning of a plane to that of the next.

    Examples
    --------
    >>> layout(256, 512).hex(" ", 4)
    '00010000 00020000 00000000 00000000'
    """
    numbers = {"block": block, "stride": stride, "blocks": blocks, "plane": plane}
    for name, number in numbers.items():
        if not 0 <= number < 1 << 32:
            raise UsageError(f"{name} is {number}, must be 0 to {(1 << 32) - 1}")
    return struct.pack("<IIII", *numbers.values())


def ddtbench(pattern: str, size: str) -> tuple[bytes, int]:
    """Layout and bytes of data of a pattern of DDTBench (Schneider et al., 2012), where it is blocks with a stride.

    Parameters
    ----------
    pattern
        ``"NAS_LU_x"``, ``"NAS_LU_y"``, ``"NAS_MG_x"``, ``"NAS_MG_y"``, ``"NAS_MG_z"``, ``"MILC_su3_zd"``,
        ``"SPECFEM3D_mt"`` or ``"FFT2D"``. The others need lists of blocks.
    size
        Its parameters, such as ``"33"``, ``"130x66x66"``, ``"8x16x16x16"`` or ``"6400"``; for a transform of N x N
        points over P nodes ``"NxP"``.

    Returns
    -------
    tuple
        The result of `layout`, and the number of bytes of the message.

    Raises
    ------
    UsageError
        If there is no such pattern or its parameters are not numbers.

    Examples
    --------
    >>> _, data = ddtbench("NAS_MG_x", "34x18x18")
    >>> data
    2048
    """
    if pattern not in _DIMENSIONS:
        raise UsageError(f"no pattern {pattern!r} of blocks with a stride", hint=f"one of {', '.join(_DIMENSIONS)}")
    parts = size.split("x")
    if len(parts) != _DIMENSIONS[pattern] or not all(part.isdecimal() and 0 < int(part) < 1 << 16 for part in parts):
        wanted = "x".join("N" * _DIMENSIONS[pattern])
        raise UsageError(f"{pattern} of {size!r}: must be {wanted}, numbers from 1 to 65535")
    block, stride, blocks, plane, planes = _pattern(pattern, [int(part) for part in parts])
    return layout(block, stride, blocks=blocks if planes > 1 else 0, plane=plane), block * blocks * planes


# Number of parameters of each.
_DIMENSIONS = {
    "NAS_LU_x": 1,
    "NAS_LU_y": 1,
    "NAS_MG_x": 3,
    "NAS_MG_y": 3,
    "NAS_MG_z": 3,
    "MILC_su3_zd": 4,
    "SPECFEM3D_mt": 1,
    "FFT2D": 2,
}


def _pattern(pattern: str, n: list[int]) -> tuple[int, int, int, int, int]:
    """Block, stride, blocks in a plane, distance of planes, planes. Source: DDTBench 1.2, its documentation."""
    if pattern == "NAS_LU_x":  # a face of 5 doubles a point, in one piece
        return 40 * n[0], 40 * n[0], 1, 0, 1
    if pattern == "NAS_LU_y":  # the same face across rows, which have two more points
        return 40, 40 * (n[0] + 2), n[0], 0, 1
    if pattern == "SPECFEM3D_mt":  # three floats of every six
        return 12, 24, n[0], 0, 1
    if pattern == "MILC_su3_zd":  # 48 bytes (an su3 vector) a point of half the x-y plane; even and odd sites apart
        x, y, z, t = n
        face = 24 * x * y // 2
        return face, face * z, t, face * z * t, 2
    if pattern == "FFT2D":  # complex doubles; a node's part of each of its columns
        part = n[0] // n[1]
        return 16, 16 * n[0], part, 16, part
    # Doubles in a box with a border of one point, which is not sent.
    x, y, z = n
    row, box = 8 * x, 8 * x * y
    if pattern == "NAS_MG_x":
        return 8, row, y - 2, box, z - 2
    if pattern == "NAS_MG_y":
        return 8 * (x - 2), box, z - 2, 0, 1
    return 8 * (x - 2), row, y - 2, 0, 1
