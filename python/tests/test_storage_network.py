# SPDX-License-Identifier: Apache-2.0
"""Storage nodes on a timed network: bytes of all nodes and of a reader, with faults of links, and with a dead node."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import spinet
from spinet import storage, toolchain
from spinet.storage import wire
from spinet.storage.node import TIMEOUT_CYCLES

CLIENT = "10.0.0.1"
CLIENT_MEMORY = 0x1000_0000_0000_0000
RING_BYTES = 4 << 20
START_NS = 50_000  # the cards have booted
RETRY_NS = 2 * TIMEOUT_CYCLES
COMPARED = 1 << 20
ALL_FAULTS = "loss=0.01,duplicate=0.1,reorder=0.02:4"


def ips(n: int) -> list[str]:
    return [f"10.0.0.{2 + i}" for i in range(n)]


@dataclass(frozen=True, kw_only=True)
class Ran:
    result: spinet.Result
    replies: list[bytes]  # frames that reached the client's host

    def holds(self, ip: str, expected: dict[int, bytes]) -> bool:
        """True if the node has these bytes by address, and zeros elsewhere."""
        card = self.result.nodes[name(ip)]
        addr = card.summary["contexts"][0]["host_memory"]["addr"]
        memory = bytearray(COMPARED)
        for at, data in expected.items():
            memory[at : at + len(data)] = data
        return card.host_memory(addr, COMPARED) == bytes(memory)


def name(ip: str) -> str:
    return f"n{int(ip.rpartition('.')[2]) - 1}"


def run(
    frames: Sequence[tuple[int, bytes]], n: int, *, faults: str = "", dead: Sequence[str] = (), seed: int = 1
) -> Ran:
    """Send these frames at these times after the start; the client's card copies what arrives to host memory."""
    start = START_NS + frames[0][0]
    capture = storage.capture((ns - frames[0][0], frame) for ns, frame in frames)
    copy = {
        "program": str(toolchain.sdk_dir() / "examples" / "copy_to_host.c"),
        "context": [{"match": "udp", "host_memory": {"addr": CLIENT_MEMORY, "size": RING_BYTES}}],
    }
    link: dict[str, Any] = {"rate": "400G", "delay": "33 ns"}
    if faults:
        link |= {"faults": faults, "faults_back": faults}
    entries: list[dict[str, Any]] = [
        {"name": "n0", "send": {"source": capture, "start": f"{start} ns"}, **copy},
        *({"name": name(ip)} for ip in dead),  # a plain NIC, which takes frames and does not answer
        {"name": "n*", **storage.node()},
    ]
    network = {
        "topology": {"name": "star", "nodes": 1 + n}, "link": link, "switch": {"latency": "50 ns"},
        "nodes": entries, "seed": seed,
    }  # fmt: skip
    result = spinet.run(network)
    assert result.ended == "complete", result.summary["ended"]
    return Ran(result=result, replies=wire.arrived(result.nodes["n0"].host_memory(CLIENT_MEMORY, RING_BYTES), CLIENT))


def attempts(client: storage.Client, request: storage.Request, n: int, every_ns: int) -> list[tuple[int, bytes]]:
    """Frames of a client that repeats its request without regard to replies."""
    frames = [(0, frame) for frame in client.frames(request)]
    for turn in range(1, n):
        frames += [(turn * every_ns, frame) for frame in client.repeat(request)]
    return frames


@pytest.mark.parametrize("faults", ["", "loss=0.01", "duplicate=0.2", "reorder=0.05:3", ALL_FAULTS])
def test_writes_and_reads_are_exact_on_all_nodes_and_at_the_reader(faults: str) -> None:
    draw = random.Random(faults)
    client, nodes = storage.Client(CLIENT), ips(5)
    data = [draw.randbytes(9000) for _ in range(3)]
    writes = [
        client.replicate(nodes[:3], 0, data[0]),
        client.replicate(nodes[:3], 20_000, data[1], strategy="tree"),
        client.encode(nodes[:3], nodes[3:], 40_000, data[2]),
    ]
    # With reordering alone, at least 3 of 4 attempts succeed at each node, and one is enough.
    n = 16 if "loss" in faults else 6 if "reorder" in faults else 1
    frames = [frame for write in writes for frame in attempts(client, write, n, RETRY_NS // 4)]
    frames.sort(key=lambda frame: frame[0])
    end = frames[-1][0] + RETRY_NS
    reads = [client.read(node, at, 9000) for node in nodes[:3] for at in (0, 20_000) for _ in range(n)]
    blocks = [client.read(node, 40_000, 3000) for node in nodes for _ in range(n)]
    for turn, read in enumerate([*reads, *blocks]):
        frames += [(end + 20_000 * turn, frame) for frame in client.frames(read)]

    ran = run(frames, 5, faults=faults, seed=draw.randrange(1 << 30))
    assert bool(ran.result.summary["packets"]["dropped"]) == ("loss" in faults)
    for reply in ran.replies:
        assert client.receive(reply) is not None, reply.hex()
    assert all(write.is_done for write in writes), writes
    stored = [*storage.blocks(data[2], 3)]
    for ip, block in zip(nodes[:3], stored, strict=True):
        assert ran.holds(ip, {0: data[0], 20_000: data[1], 40_000: block}), ip

    asked = [(node, at) for node in nodes[:3] for at in (0, 20_000)]
    for place, (node, at) in enumerate(asked):
        done = [read for read in reads[place * n : (place + 1) * n] if read.is_done]
        assert done, f"no read of {node} at {at} came whole"
        assert all(read.data == data[0 if at == 0 else 1] for read in done)
    known = {}
    for number in range(5):
        done = [read for read in blocks[number * n : (number + 1) * n] if read.is_done]
        assert done and len({read.data for read in done}) == 1, number
        known[number] = done[0].data
        parity = {40_000: known[number]}
        assert number < 3 or ran.holds(nodes[number], parity), nodes[number]
    for alive in itertools.combinations(known, 3):
        assert storage.recover({number: known[number] for number in alive}, 3, 2, 9000) == data[2]


def test_a_dead_node_is_silent_and_a_chain_without_it_has_all_bytes() -> None:
    client, nodes = storage.Client(CLIENT), ips(4)
    data = random.Random(5).randbytes(5000)
    whole = client.replicate(nodes, 0, data)
    rest = client.replicate([node for node in nodes if node != nodes[2]], 0, data)
    frames = attempts(client, whole, 2, RETRY_NS)
    frames += [(2 * RETRY_NS, frame) for frame in client.frames(rest)]
    ran = run(frames, 4, dead=[nodes[2]])
    for reply in ran.replies:
        client.receive(reply)
    assert (whole.is_done, whole.silent) == (False, tuple(nodes[2:]))
    assert rest.is_done
    assert all(ran.holds(node, {0: data}) for node in nodes if node != nodes[2])


@pytest.mark.parametrize("wait_ns", [TIMEOUT_CYCLES // 2, RETRY_NS])
def test_a_message_without_its_end_times_out_and_its_repetition_succeeds(wait_ns: int) -> None:
    client, (node,) = storage.Client(CLIENT), ips(1)
    data = random.Random(6).randbytes(5000)
    torn = client.write(node, 0, data)
    frames = [(0, frame) for frame in client.frames(torn)[:-1]]
    frames += [(wait_ns, frame) for frame in client.repeat(torn)]
    ran = run(frames, 1)
    for reply in ran.replies:
        client.receive(reply)
    assert torn.replies == {node: "ok"} and ran.holds(node, {0: data})
    assert ran.result.nodes[name(node)].summary["events"]["message_timeout"] == 1
