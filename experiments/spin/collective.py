# SPDX-License-Identifier: Apache-2.0
"""Code that the experiments with collectives share: one network for cards and hosts, and what counts as time.

A time runs from the post of the operation until the last byte is in the last host's memory. The post takes the
processor and PCIe as long for cards as for hosts; for cards, a start packet is the doorbell. Writes of cards to host
memory are posted: they land one latency of the PCIe link after the card is done.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import spinet
from experiments.spin.storage import HOP_NS, LINK_GBPS, PCIE_NS, SWITCH_NS, UNIT, WIRE_NS
from spinet import storage
from spinet.collectives import Group, headers
from spinet.collectives.group import GO
from spinet.collectives.peers import Peer

# assumed: eRPC (NSDI 2019) handles up to 10 million small requests a second on a core: 100 ns for each send or receive
O_NS = 100
POST_NS = O_NS + PCIE_NS
HOST_CHUNKS = (0, 4 << 10, 16 << 10)  # a host's messages in a broadcast: the vector, or parts that it forwards
LANDING_NS = spinet.parameters_of("pspin").pcie.link.latency_cycles  # at 1 GHz
WARM_NS = 50_000  # the cards have booted
START_NS = 250_000
LINK = {"rate": f"{LINK_GBPS}G", "delay": f"{round(1000 * WIRE_NS)} ps"}
SWITCH = {"forwarding": "cut_through", "latency": f"{SWITCH_NS} ns", "buffer_bytes": 64 << 20}
HEADERS = 56  # bytes of a frame in front of its data
MEASURED = (
    f"spinet: preset pspin, links of {LINK_GBPS} Gbit/s with {WIRE_NS} ns, a switch with {SWITCH_NS} ns, packets with "
    f"{UNIT} B of data; hosts by stated costs."
)


def rounds(n: int) -> int:
    """Rounds of a binomial tree or a dissemination among n ranks."""
    return math.ceil(math.log2(n))


def hops_ns(n: int) -> float:
    """Time of these rounds on links and in the switch, without the time of the bits."""
    return rounds(n) * HOP_NS


def leaves(way: str, n: int) -> int | None:
    """Switches that compute for n ranks: one, or the leaves of a tree of two levels."""
    return {"switch": 1, "two levels": 1 << rounds(n) // 2}.get(way)


def on_cards(
    group: Group,
    starts: Sequence[tuple[float, int]],
    *,
    vectors: Sequence[bytes] | None = None,
    nic: Mapping[str, Any] | str = "pspin",
    faults: str = "",
    seed: int = 1,
) -> spinet.Result:
    """Run a group whose ranks get start packets: pairs of a time in ns and a rank, in the order of time."""
    network = group.network(vectors, link={**LINK, **({"faults": faults} if faults else {})}, nic=nic)
    return run(network, _go(starts, group.size), group.size, is_lossy=bool(faults), seed=seed)


def in_switches(
    group: Group, n_leaves: int, starts: Sequence[tuple[float, int]], *, vectors: Sequence[bytes] | None = None
) -> spinet.Result:
    """The same with cards in one switch, or in leaf switches and a root switch."""
    network = group.in_switch(vectors, leaves=n_leaves, link=LINK)
    for rank in range(group.size):
        network["nodes"][rank]["name"] = f"n{rank}"
        network["links"][rank]["from"] = f"n{rank}"
    node = starter(group.size, n_leaves)
    return run(network, _go(starts, node), node)


def starter(size: int, n_leaves: int | None) -> int:
    """Number of the node that starts the ranks. Cards of switches, if they have any, come before it."""
    return size if n_leaves is None else size + n_leaves + (n_leaves > 1)


def _go(starts: Sequence[tuple[float, int]], node: int) -> list[tuple[float, bytes]]:
    """Start packets from the node with this number."""
    return [(ns, headers(Peer(number=node), Peer(number=rank), GO, bytes(12))) for ns, rank in starts]


def run(
    network: dict[str, Any], frames: Sequence[tuple[float, bytes]], node: int, *, is_lossy: bool = False, seed: int = 1
) -> spinet.Result:
    """Run a network in which a node sends these frames."""
    first = frames[0][0]
    capture = storage.capture((round(ns - first), frame) for ns, frame in frames)
    network["nodes"][node]["send"] = {"source": capture, "start": f"{round(first)} ns"}
    result = spinet.run({**network, "switch": SWITCH}, seed=seed)
    dropped = result.summary["packets"]["dropped"]
    assert result.complete and (is_lossy or not dropped), result.summary["ended"]["text"]
    return result


def memory(result: spinet.Result, rank: int) -> bytes:
    """Host memory of a rank."""
    node = result.nodes[f"n{rank}"]
    found = node.summary["contexts"][0]["host_memory"]
    return node.host_memory(int(found["addr"], 0) if isinstance(found["addr"], str) else found["addr"], found["size"])


def started_ns(result: spinet.Result, starter: int, *, since_ns: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Arrival times of start packets, from `since_ns` on. The node with the number `starter` sends them."""
    frames = result.table("frames")
    is_start = (np.array(frames["event"].to_pylist()) == "delivered") & (frames["frame_node"].to_numpy() == starter)
    arrived: np.ndarray[Any, np.dtype[np.float64]] = frames["tail_ps"].fill_null(-1).to_numpy()[is_start] / 1000
    return arrived[arrived >= since_ns]


def elapsed_ns(result: spinet.Result, size: int, *, begin_ns: float, n_leaves: int | None = None) -> float:
    """Time from the post of the first rank, at `begin_ns` or later, until the last card is done."""
    first = float(started_ns(result, starter(size, n_leaves), since_ns=begin_ns).min())
    return done_ns(result, size) - first + POST_NS


def done_ns(result: spinet.Result, size: int) -> float:
    """When the last write of a handler is in host memory."""
    tables = [result.nodes[f"n{rank}"].packets for rank in range(size)]
    done = [table["done_ps"].to_numpy()[~np.isnan(table["context"].to_numpy())] for table in tables]
    return max(float(times.max()) for times in done if len(times)) / 1000 + LANDING_NS


def data_frames(result: spinet.Result, size: int) -> int:
    """Number of frames that the ranks sent."""
    frames = result.table("frames")
    entered = np.array(frames["event"].to_pylist()) == "entered"
    return int((entered & (frames["frame_node"].to_numpy() < size)).sum())


def on_hosts_ns(group: Group, *, o_ns: int = O_NS, chunk_bytes: int = 0, combine_ns: int = 0) -> float:
    """Time of the same operation by hosts with plain NICs; with ``o_ns=0``, by NICs that need no processor."""
    network = group.on_hosts(link=LINK, o_ns=o_ns, pcie=f"{PCIE_NS} ns", chunk_bytes=chunk_bytes, combine_ns=combine_ns)
    result = spinet.run({**network, "switch": SWITCH})
    assert result.complete and not result.summary["packets"]["dropped"], result.summary["ended"]["text"]
    posted_by_host = 0 if o_ns else O_NS  # the first post is a host's in any case
    return float(result.summary["schedule"]["finish_ns"]) + posted_by_host
