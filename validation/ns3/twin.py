# SPDX-License-Identifier: Apache-2.0
"""The same network in spinet and in ns-3, with the same packets, and the results of both.

The packets enter at the times at which they entered in spinet. These rules make the parameters the same:

- A link of ns-3 adds 2 bytes to an IP packet, Ethernet adds 38. The other 36 follow the packet as ns-3's interframe
  gap. 24 of them come before the packet's last bit on Ethernet, so their time is a part of ns-3's delay.
- Queues of spinet contain the frame on the line. ns-3's do not, nor the packet that waits in the device. So a limit or
  a threshold of N frames is N - 2 in ns-3.
- Routers of ns-3 forward in no time. The least latency of spinet's switches is 1 ps.
- If there are several shortest paths, ns-3 gets the ones that spinet's hash has chosen.

A difference remains: spinet gives a frame its place in the queue when its first bit comes in, ns-3 when it has all of
it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any

import spinet
from validation.ns3.bridge import Kind, Ns3

HEADERS = 14 + 20 + 8  # Ethernet, IPv4, UDP
ADDED_BYTES = 36  # by Ethernet, beyond ns-3's link header
EARLY_BYTES = 24  # of these, before the last bit of the packet
OUT_OF_QUEUE = 2  # frames that ns-3's queue does not contain: on the line, and in the device
ECT = 2  # TOS of packets that allow marks
_ENDLESS_PS = 1_000_000_000_000

Frame = tuple[int, int]  # number of the node at which it entered, and its number there


@dataclass(frozen=True)
class Queues:
    """Queues of all switches, in frames."""

    limit: int
    mark: int

    def spinet(self, frame_bytes: int) -> dict[str, Any]:
        """As parameters of a switch of spinet, for frames of one length."""
        least = self.mark * frame_bytes
        step = {"k_min_bytes": least, "k_max_bytes": least + 1}
        return {"latency": "1 ps", "queue_bytes": self.limit * frame_bytes, "ecn": step}

    @property
    def ns3(self) -> dict[str, int]:
        """As parameters of `Ns3.queue`."""
        # spinet marks a frame that finds more than `mark` frames.
        return {"limit": self.limit - OUT_OF_QUEUE, "mark": self.mark + 1 - OUT_OF_QUEUE}


@dataclass
class Outcome:
    """Results of a network."""

    delivered_ps: dict[Frame, int] = field(default_factory=dict)  # the last bit of each frame
    drops: Counter[int] = field(default_factory=Counter)  # by sender
    marks: Counter[int] = field(default_factory=Counter)  # by sender

    messages_ps: dict[int, int] = field(default_factory=dict)  # by sender: when its last message was there

    def completion_ps(self) -> dict[int, int]:
        """By sender, the time at which its last message arrived, or its last frame if no host has messages."""
        if self.messages_ps:
            return self.messages_ps
        found: dict[int, int] = {}
        for (sender, _), at in self.delivered_ps.items():
            found[sender] = max(found.get(sender, 0), at)
        return found


def byte_ps(rate_bps: int) -> int:
    """Time of a byte on the line. ns-3 counts in whole numbers, so it must be one, too."""
    ps, rest = divmod(8 * 10**12, rate_bps)
    if rest:
        raise ValueError(f"a byte at {rate_bps} bit/s takes no whole number of ps")
    return ps


def frames_of(result: spinet.Result) -> Mapping[str, Any]:
    """Columns of the table of frames as lists."""
    table: Mapping[str, Any] = result.table("frames").to_pydict()
    return table


def outcome(result: spinet.Result) -> Outcome:
    """The outcome of a run of spinet."""
    found, rows = Outcome(), frames_of(result)
    columns = ("event", "frame_node", "frame", "tail_ps")
    for event, sender, number, tail in zip(*(rows[name] for name in columns), strict=True):
        if event == "delivered":
            found.delivered_ps[sender, number] = tail
        elif event == "dropped":
            found.drops[sender] += 1
        elif event == "marked":
            found.marks[sender] += 1
    sent = result.table("messages").to_pydict()
    for sender, done in zip(sent["from"], sent["done_ps"], strict=True):
        found.messages_ps[sender] = max(found.messages_ps.get(sender, 0), done)
    return found


def join(
    ns3: Ns3, a: int, b: int, link: Mapping[str, Any], ips: tuple[IPv4Address | None, IPv4Address | None]
) -> tuple[int, int]:
    """Join two nodes of ns-3 as a link of spinet does. Returns their new ports."""
    if link["rate_bps"] != link["rate_back_bps"] or link["framing"] != "ethernet":
        raise ValueError(f"link {link['name']}: ns-3 has one rate for both directions, and stands for Ethernet")
    byte = byte_ps(link["rate_bps"])
    delay = round(link["delay_ns"] * 1000)
    timing = {"rate_bps": link["rate_bps"], "delay_ps": delay + EARLY_BYTES * byte, "gap_ps": ADDED_BYTES * byte}
    return ns3.link(a, b, ips=ips, **timing)


_LINK_KEYS = {"rate", "rate_back", "delay", "length_m", "framing"}
_SWITCH_KEYS = {"latency", "queue_bytes", "ecn"}


def check(net: spinet.Network) -> None:
    """Look for properties that ns-3 would ignore.

    Raises
    ------
    ValueError
        If there is one.
    """
    values = net.values
    found = {f"link.{key}" for key in net.link.keys() - _LINK_KEYS}
    for at, link in enumerate(values.get("links", ())):
        found |= {f"links[{at}].with.{key}" for key in link.get("with", {}).keys() - _LINK_KEYS}
    found |= {f"switch.{key}" for key in net.switch.keys() - _SWITCH_KEYS}
    for at, switch in enumerate(values.get("switches", ())):
        found |= {f"switches[{at}].{key}" for key in switch.keys() - {"name"}}
    if found:
        raise ValueError(f"ns-3 would ignore {', '.join(sorted(found))}")


def in_ns3(net: spinet.Network, result: spinet.Result, queues: Queues | None) -> Outcome:
    """Repeat a run of spinet in ns-3. Each node sends to one node at most."""
    check(net)
    shape = net._overview()
    names = [row["name"] for row in shape["nodes"]] + list(shape["switches"])
    addresses = [IPv4Address(row["ip"]) for row in shape["nodes"]]
    to = {number: names.index(node.get("send")["to"]) for number, node in enumerate(net.nodes) if "send" in node}
    found, rows = Outcome(), frames_of(result)
    with Ns3() as ns3:
        for name in names:
            assert names.index(name) == (ns3.add_host() if names.index(name) < len(addresses) else ns3.add_router())
        ports: dict[tuple[int, int], int] = {}  # port of each node at each link
        for number, link in enumerate(shape["links"]):
            a, b = names.index(link["from"]), names.index(link["to"])
            one, other = (addresses[end] if end < len(addresses) else None for end in (a, b))
            ports[a, number], ports[b, number] = join(ns3, a, b, link, (one, other))
        for (node, _), port in ports.items():
            if node >= len(addresses) and queues is not None:
                ns3.queue(node, port, **queues.ns3)
        for sender, receiver in to.items():
            ns3.route(sender, addresses[receiver], 0)
        routes: dict[tuple[int, int], int] = {}
        events = zip(
            *(rows[name] for name in ("at_ps", "event", "node", "frame_node", "frame", "bytes", "link")), strict=True
        )
        numbers: list[Frame] = []
        for at, event, node, sender, frame, size, link in events:
            if event == "entered":
                ns3.send(sender, at, len(numbers), addresses[to[sender]], payload_bytes=size - HEADERS, tos=ECT)
                numbers.append((sender, frame))
            elif event == "crossed" and node >= len(addresses):
                key = node, to[sender]
                if routes.setdefault(key, link) != link:
                    raise ValueError(f"{names[node]}: several paths to {names[to[sender]]}; routers of ns-3 have one")
        for (node, receiver), link in routes.items():
            ns3.route(node, addresses[receiver], ports[node, link])
        ns3.run(_ENDLESS_PS)
        for event in ns3.events():
            sender, frame = numbers[event.number]
            match event.kind:
                case Kind.DELIVERED:
                    found.delivered_ps[sender, frame] = event.at_ps
                case Kind.DROPPED:
                    found.drops[sender] += 1
                case Kind.MARKED:
                    found.marks[sender] += 1
                case _:
                    raise RuntimeError(f"ns-3 lost a packet of {names[sender]} at {names[event.node]}")
    return found
