# SPDX-License-Identifier: Apache-2.0
"""Code that the experiments with storage nodes share: the network, requests, and hosts that replicate by themselves."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import spinet
from spinet import storage
from spinet.host_program import RunningHost
from spinet.storage import gf256, wire

__all__ = ["replace", "wire"]  # with what is defined here

EXAMPLES = Path(__file__).resolve().parents[2] / "sdk" / "examples"
PAPER = "Di Girolamo et al., SC 2022, as presented in the sPIN talk, OFA Workshop 2022"

LINK_GBPS = 400  # source: talk, caption of Fig. 13: 400 and 200 Gbit/s
WIRE_NS = 33.4  # source: sPIN, SC 2017: 10 m of cable; from memory, not read again
SWITCH_NS = 50  # source: the same
UNIT = wire.UNIT  # source: talk, caption of Fig. 13: packets of 1 KiB
NS_PER_BYTE = 8 / LINK_GBPS
HOP_NS = 2 * WIRE_NS + SWITCH_NS  # from one node to another, without the time of the bits

PCIE_NS = 250  # source: talk: PCIe takes about 250 ns, one way
# source: presets/pspin.toml, pcie.link: a read of host memory by a card takes about 400 ns on servers
HOST_READ_NS = 400
# assumed: a host polls, looks up the request, checks it and posts the next transfer, without a system call. eRPC (NSDI
# 2019) reports up to 10 million small requests a second on a core, hence 100 ns, and the check costs as much again.
HOST_NS = 200
# assumed: one core copies 12.5 GB/s from and to memory, about what a channel of DDR4-3200 gives with read and write.
COPY_NS_PER_BYTE = 0.08

_WARM_UP_NS = 50_000  # time of the requests that fill the cards' instruction caches; the cards have booted
_START_NS = 250_000  # when the measured request starts
_RELAY_START_NS = 100.0  # networks of plain NICs need no warm-up
_WARM_UPS = 4  # one for each cluster: messages have their home clusters in turns
_COMPARED_BYTES = 2 << 20  # of host memory; no request reaches further

CLIENT = "10.0.0.1"
MEASURED = (
    f"spinet: preset pspin, links of {LINK_GBPS} Gbit/s with {WIRE_NS} ns, a switch with {SWITCH_NS} ns, packets with "
    f"{UNIT} B of data; warm caches."
)


_RING_AT, _RING_BYTES = 0x1000_0000, 4 << 20  # copies of all packets of a client's card
_COPYING = {
    "program": str(EXAMPLES / "copy_to_host.c"),
    "context": [{"match": "udp", "host_memory": {"addr": _RING_AT, "size": _RING_BYTES}}],
}


def nodes(count: int) -> list[str]:
    """Addresses of storage nodes; the client is node 0."""
    return [f"10.0.0.{2 + i}" for i in range(count)]


@dataclass(frozen=True, kw_only=True)
class Deliveries:
    """Frames of a network that arrived, by time."""

    node: np.ndarray[Any, np.dtype[np.int64]]
    sender: np.ndarray[Any, np.dtype[np.int64]]
    number: np.ndarray[Any, np.dtype[np.int64]]  # among the frames of the sender
    ns: np.ndarray[Any, np.dtype[np.float64]]  # last bit
    received: tuple[bytes, ...] = ()  # frames that a client's card copied to host memory

    def at(self, node: int, *, since: float = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Times at which frames arrived at a node, from `since` on."""
        times: np.ndarray[Any, np.dtype[np.float64]] = self.ns[(self.node == node) & (self.ns >= since)]
        return times


def run(
    sends: Mapping[int, Sequence[tuple[float, bytes]]],
    n_nodes: int,
    *,
    node: Mapping[str, Any] | None = None,
    gbps: int = LINK_GBPS,
    stored: Mapping[int, bytes] | None = None,
    copies: bool = False,
) -> Deliveries:
    """Run a network: a switch with nodes around it, whose hosts send these frames at these times, in order.

    Parameters
    ----------
    node
        Keys of all nodes that do not send. Default: plain NICs.
    gbps
        Rate of the links.
    stored
        Bytes that nodes must have at the start of their host memory after the run; the rest must be 0.
    copies
        The client's card copies what arrives to host memory, so that its bytes can be compared.
    """
    entries: list[dict[str, Any]] = []
    for sender, frames in sends.items():
        start = round(frames[0][0])  # a capture's first frame is sent at the start
        capture = storage.capture((round(ns) - start, frame) for ns, frame in frames)
        card = _COPYING if copies else {}
        entries.append({"name": f"n{sender}", "send": {"source": capture, "start": f"{start} ns"}, **card})
    if node is not None:
        entries.append({"name": "n*", **node})
    network = {
        "topology": {"name": "star", "nodes": n_nodes},
        "link": {"rate": f"{gbps}G", "delay": f"{round(1000 * WIRE_NS)} ps"},
        "switch": {"forwarding": "cut_through", "latency": f"{SWITCH_NS} ns", "buffer_bytes": 64 << 20},
        "nodes": entries,
    }
    result = spinet.run(network)
    assert result.complete and not result.summary["packets"]["dropped"], result.summary["ended"]["text"]
    for number, content in (stored or {}).items():
        check_stored(result, f"n{number}", content)
    table = result.table("frames")
    rows = table.filter(np.array(table["event"].to_pylist()) == "delivered")
    return Deliveries(
        node=rows["node"].to_numpy().astype(np.int64),
        sender=rows["frame_node"].to_numpy().astype(np.int64),
        number=rows["frame"].to_numpy().astype(np.int64),
        ns=rows["tail_ps"].to_numpy() / 1000,
        received=tuple(wire.arrived(result.nodes["n0"].host_memory(_RING_AT, _RING_BYTES), CLIENT)) if copies else (),
    )


def check_stored(result: spinet.Result, node: str, content: bytes) -> None:
    """Compare the first 2 MiB of a storage node with the bytes that it must have; the rest must be 0."""
    card = result.nodes[node]
    (context,) = card.summary["contexts"]
    memory = context["host_memory"]
    found = np.frombuffer(card.host_memory(memory["addr"], _COMPARED_BYTES), np.uint8)
    expected = np.zeros(len(found), np.uint8)
    expected[: len(content)] = np.frombuffer(content, np.uint8)
    wrong = np.flatnonzero(found != expected)
    assert not len(wrong), f"{node}: {len(wrong)} wrong bytes in host memory, the first one at {wrong[0]}"


def contents(requests: Sequence[storage.Request]) -> dict[int, bytes]:
    """Host memory of each node after these writes, by number of the node, if it was zero; computed without handlers."""
    made: dict[str, bytearray] = {}

    def put(node: str, address: int, data: bytes) -> None:
        memory = made.setdefault(node, bytearray())
        memory.extend(bytes(max(0, address + len(data) - len(memory))))
        memory[address : address + len(data)] = data

    for request in requests:
        parts = [(node, ask, data) for node, ask, data, _ in request.messages]
        for node, ask, data in parts:
            copies = ask.nodes if ask.policy in ("chain", "tree") else (node,)
            for copy in copies:
                put(copy, ask.address, data)
        _, ask, data = parts[0]
        if ask.policy == "code":
            blocks = np.stack([np.frombuffer(block, np.uint8) for _, _, block in parts])
            for node, parity in zip(ask.nodes, gf256.encode(blocks, ask.m), strict=True):
                put(node, ask.address, parity.tobytes())
        elif ask.policy == "raid":  # the other blocks of the stripe are zero
            put(ask.nodes[0], ask.address, data)
    return {int(node.rpartition(".")[2]) - 1: bytes(memory) for node, memory in made.items()}


@cache
def flight_ns(n_bytes: int, *, gbps: int = LINK_GBPS) -> float:
    """Time of one frame from a host to another one, on an idle network."""
    frame = wire.mac("10.0.0.2") + wire.mac(CLIENT) + bytes(n_bytes - 12)
    return float(run({0: [(_RELAY_START_NS, frame)]}, 2, gbps=gbps).ns[0]) - _RELAY_START_NS


Build = Callable[[storage.Client, int, int], storage.Request]
"""Makes a request of a client, at an address, with a number of bytes."""


def latency_ns(build: Build, size: int, n_nodes: int, *, parts: int = 1) -> float:
    """Time from the first bit of a request until the last reply is at the client. Checks all bytes of all nodes.

    Parameters
    ----------
    build
        Makes a request: of a client, at an address, with a number of bytes.
    parts
        Requests into which it is divided; their packets take turns.
    """
    client = storage.Client(CLIENT)
    frames = []
    for turn in range(_WARM_UPS):
        request = build(client, 0, min(size, 8 * UNIT))
        frames += [(_WARM_UP_NS * (1 + 0.5 * turn), frame) for frame in client.frames(request)]
    each = size // parts
    requests = [build(client, part * each, each) for part in range(parts)]
    turns = zip_longest(*(client.frames(request) for request in requests))
    frames += [(float(_START_NS), frame) for turn in turns for frame in turn if frame is not None]
    stored = contents(requests)
    assert len(stored) == n_nodes, stored.keys()
    replies = run({0: frames}, 1 + n_nodes, node=storage.node(), stored=stored).at(0, since=_START_NS)
    expected = sum(len(request.nodes) for request in requests)
    assert len(replies) == expected, (len(replies), expected)
    return float(replies.max()) - _START_NS


def read_ns(size: int, *, parts: int = 1, on_card: bool = False) -> float:
    """Time from the first bit of a read until its last bit is at the client. Compares all bytes.

    Parameters
    ----------
    parts
        Requests into which the read is divided.
    on_card
        The data are in the memory of the node's card, not in that of its host.
    """
    at = storage.CARD_AT if on_card else 0
    capability = storage.Metadata().grant(CLIENT, begin=at, n_bytes=1 << 30)
    client, (node_ip,) = storage.Client(CLIENT, capability=capability), nodes(1)
    content = data(size, 0)
    write = client.write(node_ip, at, content)
    frames: list[tuple[float, bytes]] = [(_WARM_UP_NS, frame) for frame in client.frames(write)]
    warm = [client.read(node_ip, at, min(size, 8 * UNIT)) for _ in range(_WARM_UPS)]
    for turn, read in enumerate(warm):
        frames += [(_WARM_UP_NS * (2 + 0.5 * turn), frame) for frame in client.frames(read)]
    each = size // parts
    reads = [client.read(node_ip, at + part * each, each) for part in range(parts)]
    frames += [(float(_START_NS), frame) for read in reads for frame in client.frames(read)]
    node, stored = storage.node(card_bytes=size if on_card else 0), b"" if on_card else content
    ran = run({0: frames}, 2, node=node, stored={1: stored}, copies=True)
    for frame in ran.received:
        assert client.receive(frame) is not None, frame.hex()
    assert write.is_done and all(read.is_done for read in (*warm, *reads)), "a reply is missing"
    assert b"".join(read.data for read in reads) == content, "a byte of the read is wrong"
    replies = ran.at(0, since=_START_NS)
    assert len(replies) == sum(-(-each // UNIT) for _ in reads), len(replies)
    return float(replies.max()) - _START_NS


def data(size: int, at: int) -> bytes:
    """Bytes of a write to an address; writes to other addresses have other bytes."""
    return np.random.default_rng([size, at]).bytes(size)


# Baselines: hosts with plain NICs on the same network. Their messages are packets of RoCE with `UNIT` bytes of data.

Steps = Generator[Any, Any, None]
_REPLY, _ASK = 1, 2  # tags of messages; chunks have no tag
_RDMA_READ_BYTES = 16  # InfiniBand's header of a read: address, key, length
_REPLY_BYTES, _ASK_BYTES = wire.constant("REPLY_BYTES"), wire.constant("ONLY_DATA_AT")


def _ns(time: float) -> str:
    return f"{round(1000 * time)} ps"


def hosts_ns(programs: Sequence[Callable[[RunningHost], Steps]]) -> float:
    """Time until the last program ends: node 0 is the client, which starts at once."""
    network = {
        "topology": {"name": "star", "nodes": len(programs)},
        "link": {"rate": f"{LINK_GBPS}G", "delay": f"{round(1000 * WIRE_NS)} ps"},
        "switch": {"forwarding": "cut_through", "latency": f"{SWITCH_NS} ns", "buffer_bytes": 64 << 20},
        "messages": {"mtu": UNIT},
    }
    net = spinet.Network(network, limit="1 s")
    end_ps: list[int] = []

    def client(host: RunningHost) -> Steps:
        yield from programs[0](host)
        end_ps.append(host.now_ps)

    for node, program in zip(net.nodes, (client, *programs[1:]), strict=True):
        node.host.program = program
    result = net.run()
    assert result.ended == "complete" and not result.summary["packets"]["dropped"], result.summary["ended"]["text"]
    return end_ps[0] / 1000


def written_ns(protocol: str, size: int) -> float:
    """Time of a write to a node by ``RDMA write``, ``RPC`` or ``RPC and RDMA``; the node compares all bytes."""
    content = data(size, 0)

    def client(host: RunningHost) -> Steps:
        if protocol == "RPC and RDMA":
            host.put(1, bytes(_ASK_BYTES), tag=_ASK)
            yield host.receive(1, tag=_ASK)  # the read of the node, which the NIC answers from host memory
            yield host.sleep(_ns(PCIE_NS))
        host.put(1, content)
        yield host.receive(1, tag=_REPLY)

    def node(host: RunningHost) -> Steps:
        if protocol == "RPC and RDMA":
            yield host.receive(0, tag=_ASK)
            yield from through_host(host, HOST_NS)
            host.put(0, bytes(_REPLY_BYTES), tag=_ASK)
        message = yield host.receive(0, tag=0)
        assert message.data == content, "a byte of the write is wrong"
        if protocol == "RPC":
            yield from through_host(host, HOST_NS + size * COPY_NS_PER_BYTE)
        elif protocol == "RPC and RDMA":
            yield from through_host(host, HOST_NS)
        host.put(0, bytes(_REPLY_BYTES), tag=_REPLY)

    return hosts_ns([client, node])


def served_ns(protocol: str, size: int) -> float:
    """Time of a read from a node by ``RDMA read`` or ``RPC, read``; the client compares all bytes.

    Either way the NIC reads the data from host memory. With RDMA nobody checks the request; with RPC the host does, and
    then posts the data where they are, without a copy.
    """
    content = data(size, 0)

    def client(host: RunningHost) -> Steps:
        host.put(1, bytes(_ASK_BYTES if protocol == "RPC, read" else _RDMA_READ_BYTES), tag=_ASK)
        message = yield host.receive(1, tag=0)
        assert message.data == content, "a byte of the read is wrong"

    def node(host: RunningHost) -> Steps:
        yield host.receive(0, tag=_ASK)
        if protocol == "RPC, read":
            yield from through_host(host, HOST_NS)
        yield host.sleep(_ns(HOST_READ_NS))
        host.put(0, content)

    return hosts_ns([client, node])


def through_host(host: RunningHost, core_ns: float) -> Steps:
    """A message goes over PCIe to a core, which works, and posts another one over PCIe."""
    yield host.sleep(_ns(PCIE_NS))
    yield host.compute(_ns(core_ns))
    yield host.sleep(_ns(PCIE_NS))


def until(host: RunningHost, time_ps: int) -> Steps:
    """Wait until a time that may have passed."""
    if time_ps > host.now_ps:
        yield host.sleep(f"{time_ps - host.now_ps} ps")


def relayed_ns(k: int, size: int, *, tree: bool, chunk: int, is_host: bool) -> float:
    """Time of a replicated write whose nodes forward whole chunks; each node compares all bytes.

    A chunk goes to host memory and is read from there, over PCIe. If `is_host`, the node's core forwards each chunk
    and sends the reply. Otherwise NICs do both, in no time.
    """
    content = data(size, 0)
    n_chunks = -(-size // chunk)

    def client(host: RunningHost) -> Steps:
        for at in range(0, size, chunk):
            host.put(1, content[at : at + chunk])
        yield [host.receive(tag=_REPLY) for _ in range(k)]

    def node(host: RunningHost) -> Steps:
        rank = host.number - 1
        children = [child for child in ([2 * rank + 1, 2 * rank + 2] if tree else [rank + 1]) if child < k]
        got = b""
        for number in range(n_chunks):
            message = yield host.receive(tag=0)
            got += message.data
            is_last = number == n_chunks - 1
            if is_last and not is_host:
                host.put(0, bytes(_REPLY_BYTES), tag=_REPLY)
            if children:
                yield from until(host, message.last_ps + round(2000 * PCIE_NS))
                if is_host:
                    yield host.compute(_ns(HOST_NS))
                for child in children:
                    host.put(1 + child, message.data)
            if is_last and is_host:
                yield from until(host, message.last_ps + round(1000 * PCIE_NS))
                yield host.compute(_ns(HOST_NS))
                host.put(0, bytes(_REPLY_BYTES), tag=_REPLY)
        assert got == content, f"replica {rank} has wrong bytes"

    return hosts_ns([client, *[node] * k])


def best_relayed_ns(k: int, size: int, *, tree: bool, is_host: bool) -> float:
    """The same with the fastest chunk of 4, 16 and 64 KiB."""
    chunks = [chunk for chunk in (4 << 10, 16 << 10, 64 << 10) if chunk <= size]
    return min(relayed_ns(k, size, tree=tree, chunk=chunk, is_host=is_host) for chunk in chunks)


def flat_ns(k: int, size: int) -> float:
    """Time of k plain RDMA writes by the client; a NIC acknowledges the last packet when it has it."""
    content = data(size, 0)

    def client(host: RunningHost) -> Steps:
        for target in range(k):
            host.put(1 + target, content)
        yield [host.receive(tag=_REPLY) for _ in range(k)]

    def node(host: RunningHost) -> Steps:
        message = yield host.receive(tag=0)
        assert message.data == content, "a byte of the write is wrong"
        host.put(0, bytes(_REPLY_BYTES), tag=_REPLY)

    return hosts_ns([client, *[node] * k])
