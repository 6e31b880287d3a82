# SPDX-License-Identifier: Apache-2.0
"""The networks that are compared with ns-3."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import spinet
from spinet.host_program import RunningHost
from validation.ns3.twin import Queues

SIZE = 1500  # bytes of a frame without FCS, where queues count: ns-3 counts IP packets, so sizes are equal
QUEUES = Queues(limit=64, mark=20)
MTU = 1024  # bytes of a message in a frame
MESSAGE_HEADERS = 58  # bytes of all frames but the first and the last: Ethernet, IPv4, UDP, RoCE and its CRC
MESSAGE_BYTES = 2_000_000
LONG_QUEUES = Queues(limit=4000, mark=20)  # without drops
LINK = {"rate": "100G", "delay": "500 ns"}


Make = Callable[[], spinet.Network]


@dataclass(frozen=True)
class Scenario:
    """A network, and its queues if it has switches."""

    name: str
    make: Make
    queues: Queues | None = None


def source(to: str, *, rate: str, count: int = 2000, size: str = str(SIZE)) -> dict[str, str]:
    """Packets at times of a Poisson process, which allow marks."""
    return {"source": f"udp:size={size},count={count},rate={rate},arrivals=poisson,ecn=2", "to": to}


def network(**values: Any) -> spinet.Network:
    """A network with the queues of all scenarios."""
    return spinet.Network(link=LINK, switch=QUEUES.spinet(SIZE), seed=1, **values)


def pair() -> spinet.Network:
    """Two hosts that send to each other at nine tenths of the rate, so that packets wait in hosts."""
    net = spinet.Network(topology="pair", link=LINK, seed=1)
    net[0].host.send = source("n1", rate="90G", count=5000, size="64..1500")
    net[1].host.send = source("n0", rate="90G", count=5000, size="64..1500")
    return net


def dumbbell() -> spinet.Network:
    """Four hosts on the left send to four on the right, together with 1.2 times the rate of the link in the middle."""
    left, right = [f"l{i}" for i in range(4)], [f"r{i}" for i in range(4)]
    ends = [{"from": name, "to": "west"} for name in left] + [{"from": name, "to": "east"} for name in right]
    net = network(
        nodes=[{"name": name} for name in left + right],
        switches=[{"name": "west"}, {"name": "east"}],
        links=[*ends, {"from": "west", "to": "east"}],
    )
    for one, other in zip(left, right, strict=True):
        net[one].host.send = source(other, rate="30G")
    return net


def incast() -> spinet.Network:
    """Eight hosts send to one, together with 1.2 times the rate of its link."""
    net = network(topology="star", nodes=9)
    for node in net.nodes[1:]:
        node.host.send = source("n0", rate="15G")
    return net


def fat_tree() -> spinet.Network:
    """Sixteen hosts in a fat tree, each of which sends to one of another leaf; some paths share a link."""
    net = network(topology="fat-tree", levels=2, radix=8, nodes=16)
    for node in net.nodes:
        node.host.send = source(f"n{(node.number + 4) % 16}", rate="60G")
    return net


def burst() -> spinet.Network:
    """Eight hosts send to one, together with 4 times the rate of its link: the buffer decides how much arrives."""
    net = network(topology="star", nodes=9)
    for node in net.nodes[1:]:
        node.host.send = source("n0", rate="50G", count=400)
    return net


def handled_incast() -> spinet.Network:
    """`incast` to a PsPIN, whose handler counts the packets."""
    net = incast()
    net["n0"].update(program="sdk/examples/count.c", context=[{"match": "udp"}])
    return net


def answered_dumbbell() -> spinet.Network:
    """`dumbbell` to PsPINs, whose handlers send each packet back."""
    net = dumbbell()
    for i in range(4):
        net[f"r{i}"].update(program="sdk/examples/ping_pong.c", context=[{"match": "udp"}])
    return net


def _sends(host: RunningHost) -> Generator[Any, Any, None]:
    host.put("n0", bytes(MESSAGE_BYTES), tag=1)
    yield from ()


def _receives(host: RunningHost) -> Generator[Any, Any, None]:
    for _ in range(8):
        yield host.receive(tag=1)


def messages() -> spinet.Network:
    """Eight hosts send a message to one, and lower their rates by the rules of DCQCN when frames are marked."""
    values = {"messages": {"mtu": MTU, "dcqcn": {}}}
    net = spinet.Network(
        values, topology="star", nodes=9, link=LINK, switch=LONG_QUEUES.spinet(MTU + MESSAGE_HEADERS), seed=1
    )
    net["n0"].host.program = _receives
    for node in net.nodes[1:]:
        node.host.program = _sends
    return net


APART = (
    Scenario("pair", pair),
    Scenario("dumbbell", dumbbell, QUEUES),
    Scenario("incast of 8", incast, QUEUES),
    Scenario("incast of 8, burst", burst, QUEUES),
    Scenario("fat tree of 16", fat_tree, QUEUES),
)
"""The whole network is in spinet, and then in ns-3."""

COUPLED = (
    Scenario("incast of 8 to a PsPIN", handled_incast, QUEUES),
    Scenario("dumbbell, PsPINs answer", answered_dumbbell, QUEUES),
    Scenario("incast of 8 messages, DCQCN", messages, LONG_QUEUES),
)
"""Nodes are in spinet; switches and links between them are in spinet, and then in ns-3."""
