# SPDX-License-Identifier: Apache-2.0
"""Addresses of nodes, numbers that the C headers define, headers of own operators, and frames."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from spinet import _c_numbers, _frames
from spinet._core import UsageError

SOURCES = Path(__file__).resolve().parents[1] / "sdk" / "collectives"


def constants(header: str) -> dict[str, int]:
    """Numbers that a header of `sdk/collectives` defines."""
    return _c_numbers.defined(SOURCES / header)


def operator(path: str | Path) -> str:
    """The absolute path of the header of an own operator.

    A relative path is relative to the current folder, or, if it has no such file, to `sdk/collectives`.

    Raises
    ------
    UsageError
        If neither folder has the file.
    """
    places = [Path.cwd() / path, SOURCES / path]
    for place in places:
        if place.is_file():
            return str(place.resolve())
    looked = " or ".join(dict.fromkeys(map(str, places)))
    raise UsageError(f"custom is {str(path)!r}, but there is no file {looked}", hint="the header of an operator")


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
        return _frames.mac(ipaddress.IPv4Address(self.ip).packed)

    @property
    def packed(self) -> bytes:
        """The addresses as a C struct: MAC address in 8 bytes, IPv4 address in network byte order."""
        return self.mac + bytes(2) + self.mac[2:]


def headers(sender: Peer, receiver: Peer, port: int, data: bytes) -> bytes:
    """A frame that carries `data` in UDP, behind the two unused bytes of `spin_data.h`."""
    addresses = {"source": sender.packed[8:], "target": receiver.packed[8:]}
    return _frames.udp(bytes(2) + data, **addresses, ports=(port, port))
