# SPDX-License-Identifier: Apache-2.0
"""Consensus on cards and on hosts: time from a client's request to its reply, and requests a second.

Three and five replicas and a client around a switch. *Cards*: `sdk/services/consensus.c`; the leader's card puts a
request into the log, a majority of the cards accept it, and the leader's card answers. *Hosts*: the same messages as
programs of hosts with plain NICs, with stated costs: PCIe takes 250 ns each way, and the host's core works 200 ns on
each message that it receives (`experiments/spin/storage.py`). Both run on the same network. The latency goes from the
first bit of the request to the last bit of the reply, for one request at a time. The rate is that of replies while the
client sends requests at the rate of its line.

The host's bound is arithmetic: the leader's core handles a request and the answers of all other replicas.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import spinet
from experiments.spin.storage import HOST_NS, LINK_GBPS, PCIE_NS, SWITCH_NS, WIRE_NS
from spinet import plots, storage
from spinet.reproduce import Claim, Point, Results
from spinet.services import consensus

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Consensus on cards and on hosts"
SOURCE = "named in Di Girolamo, De Sensi, Hoefler et al., sPIN, OFA Virtual Workshop 2022; no numbers are published"

SIZES = (3, 5)
KINDS = ("cards", "hosts")
_LEAD_NS = 50_000  # the cards have booted
_START_NS = 100_000
_GAP_NS = 20_000  # between single requests: longer than a request takes
_SINGLE = 40  # requests one at a time; the first half fills the cards' instruction caches
_MANY = 400


def points() -> list[Point]:
    """Numbers of replicas, on cards and on hosts."""
    return [
        Point(name=f"{size} replicas on {kind}", settings={"size": size, "kind": kind}, quick=size == 3)
        for size in SIZES
        for kind in KINDS
    ]


def measure(*, size: int, kind: str) -> dict[str, float]:
    """Median latency in ns and rate in million requests a second."""
    on = _on_cards if kind == "cards" else _on_hosts
    sent, answered = on(size, [_START_NS + _GAP_NS * number for number in range(_SINGLE)])
    latency = float(np.median((answered - sent)[_SINGLE // 2 :]))
    _, answered = on(size, [_START_NS] * _MANY)
    return {"latency": latency, "rate": 1000 * _MANY / (float(answered.max()) - _START_NS)}


Times = np.ndarray[Any, np.dtype[np.float64]]


def _network(nodes: list[dict[str, Any]], size: int) -> dict[str, Any]:
    return {
        "topology": {"name": "star", "nodes": size + 1},
        "link": {"rate": f"{LINK_GBPS}G", "delay": f"{round(1000 * WIRE_NS)} ps"},
        "switch": {"forwarding": "cut_through", "latency": f"{SWITCH_NS} ns"},
        "nodes": nodes,
    }


def _on_cards(size: int, starts: list[int]) -> tuple[Times, Times]:
    """Times in ns at which the first bit of each request leaves and the last bit of its reply arrives."""
    group = consensus.Consensus(size=size)
    own, client = group.replicas[0], consensus.address(size)
    lead = consensus.Message(kind="lead").frame(source=own, target=own)
    requests = [consensus.request(number, b"value", client=client, replica=own) for number in range(1, len(starts) + 1)]
    nodes = [{"name": f"n{rank}", **group.replica(rank)} for rank in range(size)]
    nodes[0]["send"] = {"source": storage.capture([lead]), "start": f"{_LEAD_NS} ns"}
    capture = storage.capture((at - starts[0], frame) for at, frame in zip(starts, requests, strict=True))
    nodes.append({"name": f"n{size}", "send": {"source": capture, "start": f"{starts[0]} ns"}})
    result = spinet.run(_network(nodes, size))
    assert result.complete and not result.summary["packets"]["dropped"], result.summary["ended"]["text"]
    table = result.table("frames")
    node = table["node"].to_numpy()
    event, tail = np.array(table["event"].to_pylist()), table["tail_ps"].to_numpy() / 1000
    answered = np.sort(tail[(event == "delivered") & (node == size)])
    assert len(answered) == len(starts), (len(answered), len(starts))
    return np.array(starts, float), answered


def _on_hosts(size: int, starts: list[int]) -> tuple[Times, Times]:
    """The same for replicas on hosts with plain NICs."""
    request_tag, accept_tag, accepted_tag, commit_tag, reply_tag = range(5)
    bodies = bytes(consensus.NUMBERS["FRAME_BYTES"] - 42 - 28)  # with RoCE's headers, as long as the cards' frames
    sent: list[float] = []
    answered: list[float] = []

    def leader(host: Any) -> Any:
        votes: dict[int, int] = {}
        chosen = 0
        while chosen < len(starts):
            message = yield host.receive()
            yield host.compute(f"{HOST_NS} ns")
            slot = struct.unpack_from("<I", message.data)[0]
            if message.tag == request_tag:
                votes[slot] = 1
                for rank in range(1, size):
                    host.put(rank, message.data, tag=accept_tag)
            else:
                votes[slot] += 1
                if votes[slot] == size // 2 + 1:
                    chosen += 1
                    for rank in range(1, size):
                        host.put(rank, message.data, tag=commit_tag)
                    host.put(size, message.data, tag=reply_tag)

    def follower(host: Any) -> Any:
        for _ in range(2 * len(starts)):
            message = yield host.receive()
            yield host.compute(f"{HOST_NS} ns")
            if message.tag == accept_tag:
                host.put(0, message.data, tag=accepted_tag)

    def client(host: Any) -> Any:
        replies = [host.receive(tag=reply_tag) for _ in starts]
        for number, at in enumerate(starts):
            if at * 1000 > host.now_ps:
                yield host.sleep(f"{at * 1000 - host.now_ps} ps")
            sent.append(host.now_ps / 1000)
            host.put(0, struct.pack("<I", number) + bodies[4:], tag=request_tag)
        answered.extend(message.last_ps / 1000 for message in (yield replies))

    slow = {"post_latency": f"{PCIE_NS} ns", "deliver_latency": f"{PCIE_NS} ns"}
    nodes: list[dict[str, Any]] = [{"name": f"n{rank}", "messages": slow} for rank in range(size)]
    net = spinet.Network(**_network(nodes, size))
    for rank, program in enumerate([leader] + [follower] * (size - 1) + [client]):
        net[rank].host.program = program
    result = net.run()
    assert result.complete, result.summary["ended"]["text"]
    return np.array(sent), np.sort(answered)


def claims(results: Results) -> Iterator[Claim]:
    """Claims about which one is faster."""
    for quantity, text in (
        ("latency", "take less time than on hosts"),
        ("rate", "come at a higher rate than on hosts"),
    ):
        factors = []
        for size in SIZES:
            cards, hosts = (results.value(f"{size} replicas on {kind}", quantity) for kind in KINDS)
            factors.append(hosts / cards if quantity == "latency" else cards / hosts)
        yield Claim(
            text=f"Replies of cards {text} (ordering)",
            holds=all(factor > 1 for factor in factors),
            found=", ".join(f"{factor:.1f}" for factor in factors) + " times",
        )


def plot(results: Results) -> Figure:
    """Draws bars for latency and rate."""
    panels = [
        plots.BarPanel(
            title=title,
            y_label=label,
            groups=[
                plots.Group(
                    label=f"{size} replicas",
                    values={kind: results.value(f"{size} replicas on {kind}", quantity) for kind in KINDS},
                )
                for size in SIZES
            ],
        )
        for quantity, title, label in (
            ("latency", "latency of a request", "latency (ns)"),
            ("rate", "requests", "million a second"),
        )
    ]
    caption = (
        f"spinet: preset pspin, links of {LINK_GBPS} Gbit/s with {WIRE_NS} ns, a switch with {SWITCH_NS} ns; warm "
        "caches. Hosts by stated costs."
    )
    return plots.bars(panels, title=TITLE, caption=caption, panel_inches=(4.2, 3.4))
