# SPDX-License-Identifier: Apache-2.0
"""Cards of spinet around a network of ns-3.

spinet simulates a network in several processes, which exchange frames after each window (docs/guides/cluster.md). Here
ns-3 takes the place of the second process, in the same process as the first: it gets the frames that nodes sent, with
their exact times, and answers with the frames that its routers sent. The messages are those of
`crates/net/src/exchange.rs` and `crates/spinet/src/network/gather.rs`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import struct
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any

import spinet
from spinet import _programs, _simulation
from validation.ns3.bridge import Event, Kind, Ns3
from validation.ns3.twin import ADDED_BYTES, Queues, byte_ps, check, join

HUB = "ns3"  # the switch whose place ns-3 takes
_FS = 1000  # fs in a ps
_ETHERNET = 14  # bytes of the header
_IPV4 = b"\x08\x00"
_PREAMBLE, _FCS, _LEAST = 8, 4, 60
_NEVER = 2**64 - 1
_DELIVERY = struct.Struct("<QQQQIIIIHHB")
_ROW = struct.Struct("<QQQQQIIIHBB")
_DROPPED, _MARKED = 4, 5  # kinds of rows
_QUEUE_FULL, _N_REASONS = 5, 8  # reasons of drops
_OF_SHAPE = ("topology", "nodes", "links", "switches", "switch")  # keys of a network
_LINK = ("rate_bps", "rate_back_bps", "delay_ns", "framing")  # columns of links in an overview
_TTL = 8  # its position in the IPv4 header


@dataclass(frozen=True)
class _Known:
    """A frame on its way through ns-3."""

    origin: int
    number: int
    hops: int
    traffic_class: int
    ttl: int
    header: bytes
    length: int


@dataclass
class _Line:
    """The link of a node of spinet."""

    edge: int
    link: int
    byte_fs: int
    delay_fs: int
    sent: int = 0


class Ns3Rank:
    """The second process of a run: the network between the nodes, in ns-3."""

    def __init__(self, ns3: Ns3, lines: Mapping[int, _Line], names: list[str], first: int, window_fs: int) -> None:
        self._ns3 = ns3
        self._lines = lines  # by node
        self._ends: dict[tuple[int, int], int] = {}
        self._names = names  # names of all nodes; this process has those from `first` on
        self._first = first
        self._window_fs = window_fs
        self._has_joined = False
        self._known: list[_Known] = []
        self._inside = 0
        self._moved_ps = 0
        self._ran_ps = -1
        self._rows: deque[tuple[int, bytes]] = deque()
        self._drops: list[int] = []
        self._log = hashlib.blake2b(digest_size=16)
        self.windows = 0

    def leads_to(self, node: int, router: int, port: int) -> None:
        """Note that a port of a router of ns-3 leads to a node of spinet."""
        self._ends[router, port] = node

    def exchange(self, outgoing: list[bytes]) -> list[bytes]:
        """Answer a message of the first process."""
        data = outgoing[1]
        if not self._has_joined:  # it sends the time of its first event, or its error
            self._has_joined = True
            answer = b'{"Ok":null}'
        elif not data:
            answer = self._close()
        elif data[8:9] == b"{":
            answer = self._status(data)
        else:
            answer = self._window(data)
        return [b"", answer]

    def _window(self, data: bytes) -> bytes:
        self.windows += 1
        next_fs, _, text = struct.unpack_from("<QBI", data)
        at = 13 + text
        (count,) = struct.unpack_from("<I", data, at)
        at += 4
        for _ in range(count):
            _, _, tail, number, _, _, origin, length, port, hops, traffic_class = _DELIVERY.unpack_from(data, at)
            at += _DELIVERY.size
            self._take(port, tail, _Known(origin, number, hops, traffic_class, 0, b"", length), data[at : at + length])
            at += length
        own = self._ns3.next()
        begin = min(next_fs, _NEVER if own is None else own * _FS)
        sent: list[Event] = []
        if begin != _NEVER:
            # Nothing that happens at `begin` or later reaches ns-3 within this time.
            until = (begin + self._window_fs - 1) // _FS
            if until > self._ran_ps:
                self._ns3.run(until)
                self._ran_ps = until
            sent = [event for event in self._ns3.events() if self._notes(event)]
        deliveries, heads = b"", []
        for event in sent:
            head, delivery = self._delivery(event)
            heads.append(head)
            deliveries += delivery
        own = self._ns3.next()
        following = min([*heads, _NEVER if own is None else own * _FS])
        return struct.pack("<QBII", following, 0, 0, len(sent)) + deliveries

    def _take(self, port: int, tail_fs: int, known: _Known, frame: bytes) -> None:
        if frame[12:_ETHERNET] != _IPV4:
            raise ValueError(
                f"{self._names[known.origin]}: frame {known.number} is not IPv4; routers of ns-3 take no other"
            )
        header, packet = frame[:_ETHERNET], frame[_ETHERNET:]
        self._known.append(dataclasses.replace(known, header=header, ttl=packet[_TTL]))
        self._inside += 1
        # The hub's ports have the numbers of the nodes.
        self._ns3.put(self._lines[port].edge, -(-tail_fs // _FS), len(self._known) - 1, packet)

    def _notes(self, event: Event) -> bool:
        """Count an event. Returns true if a frame leaves ns-3."""
        known = self._known[event.number]
        self._log.update(repr((event.at_ps, event.kind, event.node, event.port, known)).encode() + event.packet)
        self._moved_ps = max(self._moved_ps, event.at_ps)
        match event.kind:
            case Kind.LEFT:
                self._inside -= 1
                return True
            case Kind.DROPPED:
                self._inside -= 1
                self._drops.append(known.length)
                self._row(event, known, _DROPPED, _QUEUE_FULL)
            case Kind.MARKED:
                self._row(event, known, _MARKED, 0)
            case _:
                raise RuntimeError(f"ns-3 lost frame {known.number} of {self._names[known.origin]}")
        return False

    def _row(self, event: Event, known: _Known, kind: int, word: int) -> None:
        at = event.at_ps * _FS
        hub, origin, hops = len(self._names) - 1, known.origin, known.hops
        row = _ROW.pack(at, known.number, word, 0, 0, hub, origin, known.length, hops, known.traffic_class, kind)
        self._rows.append((at, row))

    def _delivery(self, event: Event) -> tuple[int, bytes]:
        """The time of the first bit of a frame at its node, and the frame in a message."""
        node, known = self._ends[event.node, event.port], self._known[event.number]
        line = self._lines[node]
        frame = known.header + event.packet
        head = event.at_ps * _FS + _PREAMBLE * line.byte_fs + line.delay_fs
        tail = head + (max(len(frame), _LEAST) + _FCS) * line.byte_fs
        hops = known.hops + known.ttl - event.packet[_TTL]  # each router lowers the TTL
        number, line.sent = line.sent, line.sent + 1
        fields = (
            number,
            head,
            tail,
            known.number,
            node,
            line.link,
            known.origin,
            len(frame),
            0,
            hops,
            known.traffic_class,
        )
        return head, _DELIVERY.pack(*fields) + frame

    def _status(self, data: bytes) -> bytes:
        length = int.from_bytes(data[:8], "little")
        theirs = json.loads(data[8 : 8 + length])["status"]["next_fs"]
        own = self._ns3.next()
        # ns-3 may be ahead of the first process; rows go out in order of time.
        rows = []
        while self._rows and (theirs is None or self._rows[0][0] < theirs):
            rows.append(self._rows.popleft()[1])
        nothing = {"inside": 0, "packets_in": 0, "packets_done": 0, "has_more": False, "active_fs": 0}
        status: dict[str, Any] = {
            "next_fs": None if own is None else own * _FS, "failure": None, "sum": nothing, "stuck": [], "waiting": [],
            "moved_fs": self._moved_ps * _FS, "in_flight": self._inside,
        }  # fmt: skip
        return _framed({"status": status, "n_rows": len(rows), "tables": []}) + b"".join(rows)

    def _close(self) -> bytes:
        def tally(frames: int, size: int) -> dict[str, int]:
            return {"frames": frames, "bytes": size}

        none = tally(0, 0)
        dropped = [none] * _N_REASONS
        dropped[_QUEUE_FULL] = tally(len(self._drops), sum(self._drops))
        ledger = {
            "entered": none, "copied": none, "delivered": none, "dropped": dropped, "in_flight": tally(self._inside, 0),
        }  # fmt: skip
        hub = len(self._names) - 1
        reports = [
            {
                "node": node,
                "name": name,
                "digest": self._log.hexdigest() if node == hub else "",
                "counters": [],
                "lines": [],
            }
            for node, name in enumerate(self._names)
            if node >= self._first
        ]
        return _framed({"failure": None, "reports": reports, "ledger": ledger, "nodes": []})


def _framed(head: Mapping[str, Any]) -> bytes:
    text = json.dumps(head).encode()
    return len(text).to_bytes(8, "little") + text


def _around(net: spinet.Network) -> spinet.Network:
    """The nodes of a network around one switch, which is placed in the second process."""
    values = net.values
    names = [node.name for node in net.nodes]
    own = ("count", "thread")
    nodes = []
    for node in net.nodes:
        kept = {key: value for key, value in net._entry_of(node.number).items() if key not in own}
        nodes.append({**kept, "name": node.name, "rank": 0})
    # A switch is placed where most of its neighbours are: these nodes, which send nothing, are the majority.
    others = [f"{HUB}-{i}" for i in range(len(names) + 1)]
    nodes += [{"name": name, "rank": 1} for name in others]
    shared = {key: value for key, value in values.items() if key not in _OF_SHAPE}
    links = [{"from": name, "to": HUB} for name in [*names, *others]]
    around = spinet.Network(
        {**shared, "nodes": nodes, "links": links, "switches": [{"name": HUB}]}, base_dir=net.base_dir
    )
    for node in net.nodes:
        around[node.name].host.program = node.host.program
    return around


def run(net: spinet.Network, queues: Queues) -> spinet.Result:
    """Run a network whose switches, and the links between them, are in ns-3.

    All links have the properties of `net.link`, and each node has a link to one switch. The result has the drops and
    marks of ns-3 at the switch `ns3`.
    """
    check(net)
    shape, around = net._overview(), _around(net)
    inside = [row["name"] for row in shape["nodes"]]
    outer = around._overview()
    names = [row["name"] for row in outer["nodes"]] + list(outer["switches"])
    with Ns3() as ns3:
        routers = {name: ns3.add_router() for name in shape["switches"]}
        lines: dict[int, _Line] = {}
        ends: list[tuple[int, int, int]] = []
        ports: dict[tuple[str, str], int] = {}  # from a switch to a neighbour
        for row in shape["links"]:
            one, other = row["from"], row["to"]
            byte = byte_ps(row["rate_bps"])
            if one in routers:
                ports[one, other], ports[other, one] = join(ns3, routers[one], routers[other], row, (None, None))
                continue
            edge, port = ns3.edge(routers[other], rate_bps=row["rate_bps"], gap_ps=ADDED_BYTES * byte)
            ports[other, one] = port
            node = inside.index(one)
            if any(
                outer["links"][node][key] != row[key] for key in ("rate_bps", "rate_back_bps", "delay_ns", "framing")
            ):
                raise ValueError(f"link {row['name']} differs from `net.link`; links of nodes must not")
            lines[node] = _Line(edge, node, byte * _FS, round(row["delay_ns"] * 1_000_000))
            ends.append((node, routers[other], port))
        for (name, _), port in ports.items():
            ns3.queue(routers[name], port, **queues.ns3)
        for row in shape["nodes"]:
            for name, neighbour in _ways(ports, row["name"]).items():
                ns3.route(routers[name], IPv4Address(row["ip"]), ports[name, neighbour])
        rank = Ns3Rank(ns3, lines, names, len(inside), min(line.delay_fs for line in lines.values()))
        for end in ends:
            rank.leads_to(*end)
        ready = _programs.built(around._prepared(), {"host_programs": around._programs}, cc=None, defines=None)
        return _simulation.collect(dataclasses.replace(ready, peers=(0, 2, rank.exchange)))


def _ways(ports: Mapping[tuple[str, str], int], to: str) -> dict[str, str]:
    """For each switch, its neighbour on the shortest path to a node."""
    found: dict[str, str] = {}
    reached = {to}
    while reached:
        nearer, reached = reached, set()
        for name, neighbour in ports:
            if neighbour not in nearer or (name in found and name not in reached):
                continue
            if name in reached:
                raise ValueError(f"{name} has several shortest paths to {to}; routers of ns-3 have one")
            found[name] = neighbour
            reached.add(name)
    return found
