# SPDX-License-Identifier: Apache-2.0
"""ns-3 in this process, driven one window of simulated time after the other. All times are in ps."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv4Address
from pathlib import Path
from types import TracebackType
from typing import Self

SOURCE = Path(__file__).with_name("bridge.cc")
BUILD = Path(__file__).parents[2] / "build" / "ns3"
MODULES = ("ns3-internet", "ns3-point-to-point", "ns3-traffic-control", "ns3-network", "ns3-core")
PACKAGES = "g++ pkg-config libns3-dev libgsl-dev libxml2-dev libsqlite3-dev"
FLAGS = ("-std=c++17", "-O2", "-shared", "-fPIC", "-Wall", "-Wextra")
VERSION = "3.37"  # the only one that was tried
NO_TIME = 2**64 - 1
_MOST_BYTES = 9018


class MissingNs3(Exception):
    """ns-3, or a tool to build against it, is not installed."""


class Kind(IntEnum):
    """Kinds of events, as in `bridge.cc`."""

    LEFT = 0  # through an edge: its first bit is on the line
    DELIVERED = 1  # to the program of a host
    DROPPED = 2  # by the queue of a port
    MARKED = 3  # by the queue of a port
    LOST = 4  # elsewhere


class _Event(ctypes.Structure):
    _fields_ = (
        ("at_ps", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("kind", ctypes.c_uint32),
        ("node", ctypes.c_uint32),
        ("port", ctypes.c_uint32),
        ("bytes", ctypes.c_uint32),
    )


@dataclass(frozen=True)
class Event:
    """An event in ns-3."""

    at_ps: int
    number: int  # the caller's number of the packet
    kind: Kind
    node: int
    port: int
    packet: bytes  # the IP packet, for `Kind.LEFT`


@functools.cache
def version() -> str:
    """The version of the installed ns-3.

    Raises
    ------
    MissingNs3
        If it is not installed, or is another one.
    """
    missing = [tool for tool in ("g++", "pkg-config") if shutil.which(tool) is None]
    if missing:
        raise MissingNs3(f"{' and '.join(missing)} not found\nhint: apt-get install {PACKAGES}")
    done = subprocess.run(["pkg-config", "--modversion", MODULES[0]], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MissingNs3(f"ns-3 not found: {done.stderr.strip()}\nhint: apt-get install {PACKAGES}")
    found = done.stdout.strip()
    if found != VERSION:
        raise MissingNs3(f"ns-3 {found} found, must be {VERSION}, as in Debian 12 (libns3-dev)")
    return found


@functools.cache
def library() -> ctypes.CDLL:
    """The bridge, built if it has changed.

    Raises
    ------
    MissingNs3
        If ns-3 is not installed, or the bridge cannot be built against it.
    """
    digest = hashlib.sha256(SOURCE.read_bytes() + " ".join((version(), *FLAGS)).encode()).hexdigest()[:16]
    built = BUILD / f"libbridge-{digest}.so"
    if not built.is_file():
        BUILD.mkdir(parents=True, exist_ok=True)
        asked = ["pkg-config", "--libs", *MODULES]
        flags = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
        part = built.with_suffix(".part")
        command = ["g++", *FLAGS, "-o", str(part), str(SOURCE), *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            text = f"cannot build {SOURCE.name} against ns-3\nhint: apt-get install {PACKAGES}\n{done.stderr}"
            raise MissingNs3(text)
        part.rename(built)
    lib = ctypes.CDLL(str(built))
    u32, u64, data = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_char_p
    for name, arguments in {
        "open": (),
        "node": (),
        "link": (u32, u32, u32, u32, u32, u32, u64, u64, u64),
        "edge": (u32, u32, u32, u64, u64),
        "queue": (u32, u32, u32, u32),
        "route": (u32, u32, u32),
        "receiver": (u32,),
        "send": (u32, u64, u64, u32, u32, ctypes.c_uint8),
        "put": (u32, u64, u64, data, u32),
        "run": (u64,),
        "take": (ctypes.POINTER(_Event), data, u32),
    }.items():
        function = getattr(lib, f"ns3net_{name}")
        function.argtypes, function.restype = arguments, ctypes.c_int
    lib.ns3net_close.restype = None
    lib.ns3net_error.restype = data
    lib.ns3net_next.restype = u64
    return lib


class Ns3:
    """A network in ns-3. There is one at a time; `close` ends it.

    Nodes, ports and edges have numbers from 0, in the order in which they were added.
    """

    def __init__(self) -> None:
        self._lib = library()
        self._call("open")
        self._ports: list[int] = []
        self._room = ctypes.create_string_buffer(_MOST_BYTES)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the network."""
        self._lib.ns3net_close()

    def _call(self, name: str, *arguments: object) -> int:
        found: int = getattr(self._lib, f"ns3net_{name}")(*arguments)
        if found < 0:
            raise RuntimeError(f"ns-3: {self._lib.ns3net_error().decode()}")
        return found

    def _port(self, node: int) -> int:
        self._ports[node] += 1
        return self._ports[node] - 1

    def _own_ip(self, node: int) -> int:
        """An address for a port of a router, which no packet uses."""
        return int(IPv4Address("172.16.0.0")) + (node << 8) + self._ports[node] + 1

    def add_router(self) -> int:
        """A router."""
        self._ports.append(0)
        return self._call("node")

    def add_host(self) -> int:
        """A host, with a program that receives all packets."""
        number = self.add_router()
        self._call("receiver", number)
        return number

    def link(
        self,
        a: int,
        b: int,
        *,
        rate_bps: int,
        delay_ps: int,
        gap_ps: int,
        ips: tuple[IPv4Address | None, IPv4Address | None],
    ) -> tuple[int, int]:
        """Join two nodes. Hosts have their addresses in `ips`, and a queue without a limit. Returns the new ports."""
        ends = []
        for node, ip in zip((a, b), ips, strict=True):
            ends += [node, self._own_ip(node) if ip is None else int(ip), 1 if ip is None else 0]
        self._call("link", *ends, rate_bps, delay_ps, gap_ps)
        return self._port(a), self._port(b)

    def edge(self, node: int, *, rate_bps: int, gap_ps: int) -> tuple[int, int]:
        """A port of a router that leads out of ns-3. Returns the numbers of the edge and of the port."""
        edge = self._call("edge", node, self._own_ip(node), 1, rate_bps, gap_ps)
        return edge, self._port(node)

    def queue(self, node: int, port: int, *, limit: int, mark: int) -> None:
        """Give a port a queue for `limit` packets. A packet that finds `mark` in it is marked; 0 marks none."""
        self._call("queue", node, port, limit, mark)

    def route(self, node: int, ip: IPv4Address, port: int) -> None:
        """Send packets for `ip` through a port."""
        self._call("route", node, int(ip), port)

    def send(self, host: int, at_ps: int, number: int, ip: IPv4Address, *, payload_bytes: int, tos: int) -> None:
        """Let a host send a UDP packet."""
        self._call("send", host, at_ps, number, int(ip), payload_bytes, tos)

    def put(self, edge: int, at_ps: int, number: int, packet: bytes) -> None:
        """Inject an IP packet at an edge; its last bit arrives at `at_ps`."""
        self._call("put", edge, at_ps, number, packet, len(packet))

    def next(self) -> int | None:
        """The time of the next event."""
        found: int = self._lib.ns3net_next()
        return None if found == NO_TIME else found

    def run(self, until_ps: int) -> None:
        """Simulate up to a time, which is included."""
        self._call("run", until_ps)

    def events(self) -> Iterator[Event]:
        """Take the events since the last call."""
        found = _Event()
        while self._call("take", ctypes.byref(found), self._room, len(self._room)):
            kind = Kind(found.kind)
            packet = self._room.raw[: found.bytes] if kind is Kind.LEFT else b""
            yield Event(found.at_ps, found.number, kind, found.node, found.port, packet)
