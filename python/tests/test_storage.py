# SPDX-License-Identifier: Apache-2.0
"""The storage example: bytes in the host memory of each node, and the answers that a client gets."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import reedsolo
from spinet import storage
from spinet._core import UsageError
from spinet.storage import client, gf256, metadata, wire
from spinet.storage.node import MAX_CARD_BYTES, TIMEOUT_CYCLES

from storage_cluster import HOST_BYTES, Cluster

SIZES = (1, 1023, 1024, 1025, 3000, 20_001)
AT = 0x2003  # addresses need no alignment


def seeded(seed: int) -> random.Random:
    print("seed", seed)
    return random.Random(seed)


def xor(*parts: bytes) -> bytes:
    return np.bitwise_xor.reduce([np.frombuffer(part, dtype=np.uint8) for part in parts]).tobytes()


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return Cluster(9)


@pytest.fixture(autouse=True)
def empty(request: pytest.FixtureRequest) -> Iterator[None]:
    """Clear the shared nodes' host memory before each test; check after it that cards have lost no packet."""
    if "cluster" in request.fixturenames:
        shared: Cluster = request.getfixturevalue("cluster")
        for node in shared.nodes.values():
            node.host.write(bytes(HOST_BYTES))
        yield
        assert all(node.finished == node.received for node in shared.nodes.values())
    else:
        yield


def holds(cluster: Cluster, ip: str, address: int, data: bytes) -> bool:
    """True if the node has these bytes there, and zeros everywhere else."""
    memory = cluster.host(ip, 0, HOST_BYTES)
    end = address + len(data)
    return memory[address:end] == data and not any(memory[:address]) and not any(memory[end:])


def test_tags_are_those_of_the_published_vectors() -> None:
    assert metadata.tag(bytes(range(8)), bytes(range(28))).hex() == "2d925ffb1e0016b5"


@pytest.mark.parametrize(("k", "m"), [(3, 2), (6, 3), (1, 1), (10, 4)])
def test_codes_are_those_of_reedsolo_and_any_k_blocks_suffice(k: int, m: int) -> None:
    data = np.frombuffer(seeded(7).randbytes(k * 64), dtype=np.uint8).reshape(k, 64)
    parity = gf256.encode(data, m)
    codec = reedsolo.RSCodec(m)
    for column in range(64):
        assert bytes(codec.encode(bytes(data[:, column])))[k:] == bytes(parity[:, column])
    every = dict(enumerate([*data, *parity]))
    for known in itertools.combinations(every, k):
        assert np.array_equal(gf256.decode({number: every[number] for number in known}, k, m), data)
    with pytest.raises(UsageError, match=f"{k - 1} blocks of"):
        gf256.decode(dict(itertools.islice(every.items(), k - 1)), k, m)


def test_data_are_in_host_memory_and_can_be_read(cluster: Cluster) -> None:
    draw = seeded(1)
    for size, ip in zip(SIZES, cluster.ips, strict=False):
        data = draw.randbytes(size)
        written = cluster.client.write(ip, AT, data)
        cluster.run(written)
        assert written.replies == {ip: "ok"}
        assert holds(cluster, ip, AT, data)
        read = cluster.client.read(ip, AT, size)
        cluster.run(read)
        assert read.data == data


@pytest.mark.parametrize("address", [0, 1, AT, 4095, 5000])
def test_reads_of_any_size_from_any_address_have_all_bytes(cluster: Cluster, address: int) -> None:
    """Sizes around whole packets, and around the three blocks that a handler has for a read."""
    draw = seeded(address)
    ip = cluster.ips[address % len(cluster.ips)]
    data = draw.randbytes(70_000)
    cluster.nodes[ip].host.write(data, offset=address)
    units = (0, 1, 2, 3, 4, 5, 8, 11, 12, 13, 60)
    reads = [cluster.client.read(ip, address, max(1, n * 1024 + more)) for n in units for more in (-1, 0, 1, 500)]
    cluster.run(*reads)
    for read in reads:
        assert read.data == data[: read.messages[0][1].n_bytes]


def test_more_large_reads_than_a_node_has_blocks_for_wait_and_end(cluster: Cluster) -> None:
    ip, data = cluster.ips[0], seeded(9).randbytes(100_000)
    cluster.nodes[ip].host.write(data)
    reads = [cluster.client.read(ip, 100 * n, 30_000) for n in range(3 * wire.constant("READS"))]
    cluster.run(*reads)
    assert all(read.data == data[100 * n :][:30_000] for n, read in enumerate(reads))


def test_objects_on_the_card_never_reach_the_host() -> None:
    draw, card_bytes = seeded(10), 40_000
    capability = storage.Metadata().grant("10.0.0.1", begin=storage.CARD_AT, n_bytes=1 << 20)
    cluster = Cluster(3, capability=capability, card_bytes=card_bytes)
    content = bytearray(card_bytes)
    for address, size in ((0, card_bytes), (1, 1), (1023, 1025), (30_000, 5000), (card_bytes - 1, 1)):
        content[address : address + size] = data = draw.randbytes(size)
        write = cluster.client.replicate(cluster.ips, storage.CARD_AT + address, data)
        cluster.run(write)
        assert write.replies == dict.fromkeys(cluster.ips, "ok")
        reads = [cluster.client.read(ip, storage.CARD_AT, card_bytes) for ip in cluster.ips]
        reads += [cluster.client.read(cluster.ips[0], storage.CARD_AT + address, size)]
        cluster.run(*reads)
        assert [read.data for read in reads[:-1]] == [content] * 3 and reads[-1].data == data
    for ip in cluster.ips:
        assert not any(cluster.host(ip, 0, HOST_BYTES))
    beyond = [
        cluster.client.read(cluster.ips[0], storage.CARD_AT + card_bytes, 1),
        cluster.client.read(cluster.ips[0], storage.CARD_AT, card_bytes + 1),
        cluster.client.write(cluster.ips[0], storage.CARD_AT + card_bytes - 1, b"xx"),
        cluster.client.update(cluster.ips[0], cluster.ips[1], storage.CARD_AT, b"x", block=0),  # the host's memory only
        cluster.client.encode(cluster.ips[:1], cluster.ips[1:2], storage.CARD_AT, b"x"),
    ]
    for request in beyond:
        cluster.run(request)
        assert request.refusal == "out_of_range", request
    read = cluster.client.read(cluster.ips[0], storage.CARD_AT, card_bytes)
    cluster.run(read)
    assert read.data == content


def test_a_node_without_memory_for_objects_refuses_them(cluster: Cluster) -> None:
    capability = grant(cluster, begin=storage.CARD_AT, n_bytes=1 << 20)
    read = cluster.client.read(cluster.ips[5], storage.CARD_AT, 1)
    cluster.run(client.changed(read, capability=capability))
    assert read.refusal == "out_of_range"
    with pytest.raises(UsageError, match="card_bytes is -1, must be 0 to"):
        storage.node(card_bytes=-1)


@pytest.mark.parametrize("strategy", ["chain", "tree"])
@pytest.mark.parametrize("k", range(1, 9))
def test_each_replica_has_the_data(cluster: Cluster, k: int, strategy: str) -> None:
    draw = seeded(k)
    size = SIZES[k % len(SIZES)]
    nodes, data = draw.sample(cluster.ips, k), draw.randbytes(size)
    before = {ip: cluster.nodes[ip].sent for ip in nodes}
    request = cluster.client.replicate(nodes, AT, data, strategy=strategy)
    cluster.run(request)
    assert request.replies == dict.fromkeys(nodes, "ok")
    assert all(holds(cluster, ip, AT, data) for ip in nodes)
    # Each node sends the message to its children and one reply to the client.
    n_frames = len(cluster.client.frames(request))
    for rank, ip in enumerate(nodes):
        children = [rank + 1] if strategy == "chain" else [2 * rank + 1, 2 * rank + 2]
        expected = 1 + n_frames * sum(child < k for child in children)
        assert cluster.nodes[ip].sent - before[ip] == expected


@pytest.mark.parametrize(("k", "m"), [(3, 2), (6, 3), (2, 1), (4, 4)])
@pytest.mark.parametrize("size", [5, 3000, 30_001])
def test_stripes_are_coded_by_the_cards(cluster: Cluster, k: int, m: int, size: int) -> None:
    draw = seeded(size)
    nodes, data = draw.sample(cluster.ips, k + m), draw.randbytes(size)
    request = cluster.client.encode(nodes[:k], nodes[k:], AT, data)
    cluster.run(request)
    assert request.replies == dict.fromkeys(nodes, "ok")
    blocks = storage.blocks(data, k)
    codec = reedsolo.RSCodec(m)
    parity = [bytes(codec.encode(bytes(column)))[k:] for column in zip(*blocks, strict=True)]
    stored = [*blocks, *(bytes(column) for column in zip(*parity, strict=True))]
    assert all(holds(cluster, ip, AT, block) for ip, block in zip(nodes, stored, strict=True))

    # `m` nodes fail; the client reads from the other ones.
    alive = sorted(draw.sample(range(k + m), k))
    reads = {number: cluster.client.read(nodes[number], AT, len(blocks[0])) for number in alive}
    cluster.run(*reads.values())
    assert storage.recover({number: read.data for number, read in reads.items()}, k, m, size) == data


def test_parity_of_raid_follows_updates_of_single_blocks(cluster: Cluster) -> None:
    draw = seeded(3)
    *nodes, parity_node = cluster.ips[:5]
    content = [bytes(3000)] * 4
    for blocks in ((0, 1, 2, 3), (2,), (0, 3)):
        updates = []
        for block in blocks:
            content[block] = draw.randbytes(3000)
            updates.append(cluster.client.update(nodes[block], parity_node, AT, content[block], block=block))
        cluster.run(*updates)
        assert all(update.is_done for update in updates)
        assert all(holds(cluster, ip, AT, data) for ip, data in zip(nodes, content, strict=True))
        assert holds(cluster, parity_node, AT, xor(*content))
    with pytest.raises(UsageError, match="cannot be repeated"):
        cluster.client.repeat(updates[0])


def test_updates_of_overlapping_parts_of_a_stripe_do_not_lose_parity(cluster: Cluster) -> None:
    """One range begins within a unit of 1 KiB and ends in the next, in which the other one begins."""
    draw = seeded(9)
    *nodes, parity_node = cluster.ips[:3]
    content = [bytearray(4096), bytearray(4096)]
    at = AT // 1024 * 1024
    for ip in (*nodes, parity_node):
        cluster.nodes[ip].host.write(bytes(4096), offset=at)
    for _ in range(8):
        updates = []
        for block, (first, size) in enumerate(((17 + draw.randrange(900), 1024), (1024, 1024))):
            data = draw.randbytes(size)
            content[block][first : first + size] = data
            updates.append(cluster.client.update(nodes[block], parity_node, at + first, data, block=block))
        cluster.run(*updates)
        assert all(update.is_done for update in updates)
        assert holds(cluster, parity_node, at, xor(*map(bytes, content)))


def grant(cluster: Cluster, **settings: object) -> bytes:
    return cluster.metadata.grant(cluster.client.ip, **settings)  # type: ignore[arg-type]


def test_nodes_refuse_what_a_capability_does_not_grant(cluster: Cluster) -> None:
    good = grant(cluster)
    cases = {
        "forged": [good[:-1] + bytes([good[-1] ^ 1]), cluster.metadata.grant("10.0.0.9")],
        "expired": [grant(cluster, expires=0)],
        "forbidden": [grant(cluster, rights=("read",))],
        "out_of_range": [
            grant(cluster, begin=AT + 1),
            grant(cluster, begin=AT, n_bytes=2999),
            grant(cluster, begin=0xFFFF_FFFF),
        ],
    }
    refused = 0
    for status, capabilities in cases.items():
        for capability in capabilities:
            request = cluster.client.replicate(cluster.ips[:2], AT, b"x" * 3000)
            cluster.run(client.changed(request, capability=capability))
            # The first node forwards nothing.
            assert (request.replies, request.refusal) == ({cluster.ips[0]: status}, status)
            refused += 1
    read = cluster.client.read(cluster.ips[0], AT, 10)
    cluster.run(client.changed(read, capability=grant(cluster, rights=("write",))))
    assert read.refusal == "forbidden"
    assert cluster.nodes[cluster.ips[0]].events["refused"] == refused + 1
    assert not any(cluster.host(cluster.ips[0], 0, HOST_BYTES))


def test_nodes_refuse_what_is_malformed_or_outside_their_memory(cluster: Cluster) -> None:
    ip = cluster.ips[1]
    for settings in ({"k": 0}, {"k": 9}, {"rank": 2}, {"n_bytes": wire.MAX_BYTES + 1}):
        request = cluster.client.replicate([ip, cluster.ips[2]], AT, b"x" * 3000)
        cluster.run(client.changed(request, **settings))
        assert request.replies == {ip: "malformed"}, settings
    request = cluster.client.write(ip, HOST_BYTES - 10, b"x" * 11)
    cluster.run(request)
    assert request.replies == {ip: "out_of_range"}
    assert not any(cluster.host(ip, 0, HOST_BYTES))


def test_random_packets_do_no_harm(cluster: Cluster) -> None:
    draw = seeded(11)
    ip = cluster.ips[3]
    capability = grant(cluster, begin=AT, n_bytes=3000)
    frames = []
    for _ in range(150):
        request = client.changed(
            cluster.client.write(ip, AT, draw.randbytes(draw.choice((20, 3000)))), capability=capability
        )
        for frame in cluster.client.frames(request):
            broken = bytearray(frame)
            for _ in range(draw.randrange(4)):
                broken[draw.randrange(42, min(len(broken), 160))] = draw.randrange(256)
            frames.append(bytes(broken[: draw.choice((len(broken), draw.randrange(44, len(broken))))]))
    cluster.nodes[ip].process(frames)  # fails if a handler has an error
    memory = cluster.host(ip, 0, HOST_BYTES)
    assert not any(memory[:AT]) and not any(memory[AT + 3000 :])
    again = cluster.client.write(ip, AT, b"still there")
    cluster.run(again)
    assert again.is_done


@pytest.mark.parametrize("missing", [1, 2, -1, 0])
def test_a_torn_write_is_not_acknowledged_and_succeeds_when_repeated(cluster: Cluster, missing: int) -> None:
    ip, data = cluster.ips[4], seeded(4).randbytes(4000)
    request = cluster.client.write(ip, AT, data)
    frames = cluster.client.frames(request)
    del frames[missing]
    cluster.run(request, frames=frames)
    # Without the first or the last packet, a node cannot know that the message has ended, so it does not reply.
    assert request.replies == ({ip: "torn"} if missing in (1, 2) else {})
    assert request.silent == (() if missing in (1, 2) else (ip,))
    cluster.nodes[ip].machine.step(f"{2 * TIMEOUT_CYCLES} ns")
    cluster.run(request, attempts=2)
    assert request.is_done and holds(cluster, ip, AT, data)


def test_a_dead_node_leaves_its_chain_silent_and_a_chain_without_it_works(cluster: Cluster) -> None:
    data = seeded(5).randbytes(3000)
    nodes = cluster.ips[:4]
    cluster.dead = {nodes[2]}
    try:
        request = cluster.client.replicate(nodes, AT, data)
        cluster.run(request, attempts=3)
        assert (request.is_done, request.silent) == (False, tuple(nodes[2:]))
        again = cluster.client.replicate([node for node in nodes if node not in cluster.dead], AT, data)
        cluster.run(again)
        assert again.is_done
        assert [holds(cluster, ip, AT, data) for ip in nodes] == [True, True, False, True]
    finally:
        cluster.dead = set()


@pytest.mark.parametrize(
    "faults", ["loss=0.02", "duplicate=0.2", "reorder=0.05:3", "loss=0.01,duplicate=0.1,reorder=0.02:4"]
)
def test_writes_survive_a_network_that_loses_copies_and_reorders(faults: str) -> None:
    draw = seeded(21)
    cluster = Cluster(5, faults=faults, seed=21)
    data = [draw.randbytes(9000) for _ in range(4)]
    requests = [
        cluster.client.write(cluster.ips[0], 0, data[0]),
        cluster.client.replicate(cluster.ips[:3], 10_000, data[1]),
        cluster.client.replicate(cluster.ips[:3], 20_000, data[2], strategy="tree"),
        cluster.client.encode(cluster.ips[:3], cluster.ips[3:], 30_000, data[3]),
    ]
    cluster.run(*requests, attempts=25)
    assert all(request.is_done for request in requests), requests
    assert cluster.host(cluster.ips[0], 0, 9000) == data[0]
    for ip in cluster.ips[:3]:
        assert cluster.host(ip, 10_000, 9000) == data[1]
        assert cluster.host(ip, 20_000, 9000) == data[2]
    known = {number: cluster.host(ip, 30_000, 3000) for number, ip in enumerate(cluster.ips)}
    for alive in itertools.combinations(known, 3):
        assert storage.recover({number: known[number] for number in alive}, 3, 2, 9000) == data[3]


@pytest.mark.parametrize("faults", ["duplicate=1", "duplicate=0.3,reorder=0.3:5"])
@pytest.mark.parametrize("size", [1, 600, 3 * 1024])
def test_parity_of_one_packet_is_right_if_the_packet_comes_twice(faults: str, size: int) -> None:
    """Each block fits into a packet, so a repeated packet is a message of its own."""
    draw = seeded(size)
    cluster = Cluster(5, faults=faults, seed=size)
    nodes, codec = cluster.ips, reedsolo.RSCodec(2)
    for _ in range(20):  # more stripes than a node computes at the same time
        data = draw.randbytes(size)
        request = cluster.client.encode(nodes[:3], nodes[3:], AT, data)
        cluster.run(request)
        assert request.replies == dict.fromkeys(nodes, "ok")
        blocks = storage.blocks(data, 3)
        columns = [bytes(codec.encode(bytes(column))) for column in zip(*blocks, strict=True)]
        assert [cluster.host(ip, AT, len(blocks[0])) for ip in nodes] == [
            bytes(row) for row in zip(*columns, strict=True)
        ]
    assert all(cluster.nodes[ip].events["duplicates"] > 0 for ip in nodes[3:])
    assert all(cluster.nodes[ip].events["stripes_lost"] == 0 for ip in nodes[3:])


def test_an_update_of_raid_in_one_packet_is_added_once_if_the_packet_comes_twice() -> None:
    draw = seeded(8)
    cluster = Cluster(4, faults="duplicate=0.5", seed=8)
    *nodes, parity_node = cluster.ips
    content = [bytes(700)] * 3
    for _ in range(12):
        content = [draw.randbytes(700) for _ in nodes]
        updates = [
            cluster.client.update(node, parity_node, AT, data, block=block)
            for block, (node, data) in enumerate(zip(nodes, content, strict=True))
        ]
        cluster.run(*updates)
        assert all(update.is_done for update in updates)
        assert [cluster.host(node, AT, 700) for node in nodes] == content
        assert cluster.host(parity_node, AT, 700) == xor(*content)
    assert cluster.nodes[parity_node].events["duplicates"] > 0


def test_a_node_without_free_accumulators_is_busy() -> None:
    cluster = Cluster(3, buffers=1)
    draw = seeded(6)
    request = cluster.client.encode(cluster.ips[:2], cluster.ips[2:], AT, draw.randbytes(2 * 8 * 1024))
    cluster.run(request)
    assert request.replies[cluster.ips[2]] == "busy"
    assert cluster.nodes[cluster.ips[2]].events["pool_empty"] > 0
    small = cluster.client.encode(cluster.ips[:2], cluster.ips[2:], AT, draw.randbytes(2 * 500))
    cluster.run(small)
    assert small.replies[cluster.ips[2]] == "busy"  # the unfinished stripe still has the accumulator


def test_the_guide_runs() -> None:
    guide = (Path(__file__).resolve().parents[2] / "docs/guides/storage.md").read_text()
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", guide, flags=re.DOTALL):
        exec(code, names)


def test_the_guide_states_the_limits_of_the_code() -> None:
    guide = (Path(__file__).resolve().parents[2] / "docs/guides/storage.md").read_text()
    stated = guide.partition("**Sizes.**")[2].partition("- **")[0]
    limits = [wire.MAX_BYTES >> 20, wire.MAX_NODES, wire.MAX_PARITY, wire.constant("STRIPES"), MAX_CARD_BYTES]
    assert [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", stated)] == limits


def test_replicas_and_parity_nodes_check_capabilities(cluster: Cluster) -> None:
    """Each node checks the request, not only the one that the client sends it to."""
    ip, forged = cluster.ips[6], cluster.metadata.grant("10.0.0.9")
    settings: list[dict[str, object]] = [
        {"policy": "chain", "k": 3, "rank": 2, "nodes": tuple(cluster.ips[:3])},
        {"policy": "code parity", "k": 3, "m": 2, "rank": 1},
        {"policy": "raid parity", "rank": 1},
    ]
    for one in settings:
        request = client.changed(cluster.client.write(ip, AT, b"x" * 3000), capability=forged, **one)
        cluster.run(request)
        assert request.replies == {ip: "forged"}, one
    assert not any(cluster.host(ip, 0, HOST_BYTES))


def test_arrays_are_data(cluster: Cluster) -> None:
    numbers = np.arange(1000, dtype="<u4")
    requests = [
        cluster.client.write(cluster.ips[0], AT, numbers),  # type: ignore[arg-type]
        cluster.client.encode(cluster.ips[1:3], cluster.ips[3:4], AT, numbers),  # type: ignore[arg-type]
    ]
    cluster.run(*requests)
    assert all(request.is_done for request in requests)
    assert holds(cluster, cluster.ips[0], AT, numbers.tobytes())
    assert holds(cluster, cluster.ips[2], AT, numbers.tobytes()[2000:])


def test_clients_refuse_what_no_request_can_say() -> None:
    some = storage.Client("10.0.0.1")
    with pytest.raises(UsageError, match="strategy is `ring`"):
        some.replicate(["10.0.0.2"], 0, b"x", strategy="ring")
    with pytest.raises(UsageError, match="9 replicas"):
        some.replicate([f"10.0.0.{n}" for n in range(2, 11)], 0, b"x")
    with pytest.raises(UsageError, match="5 parity nodes"):
        some.encode(["10.0.0.2"], [f"10.0.0.{n}" for n in range(3, 8)], 0, b"x")
    with pytest.raises(UsageError, match="0 bytes"):
        some.frames(some.write("10.0.0.2", 0, b""))
    with pytest.raises(UsageError, match="has no data"):
        _ = some.write("10.0.0.2", 0, b"x").data


def test_clients_name_arguments_that_cannot_be_right() -> None:
    some = storage.Client("10.0.0.1")
    node, data = "10.0.0.2", b"data"
    refused: dict[str, Callable[[], object]] = {
        "the address of a node is 'x', must be an IPv4 address": lambda: storage.Client("x"),
        "the key has 5 bytes, must be 8": lambda: storage.Metadata(key=b"short"),
        "the capability has 1 bytes, must be 32": lambda: storage.Client(node, capability=b"x").write(node, 0, data),
        "address is -1, must be 0 to 4294967295": lambda: some.write(node, -1, data),
        "address is 1.5, must be 0 to": lambda: some.write(node, 1.5, data),  # type: ignore[arg-type]
        "data is 3, must be bytes": lambda: some.write(node, 0, 3),  # type: ignore[arg-type]
        "n_bytes is 'x', must be 0 to": lambda: some.read(node, 0, "x"),  # type: ignore[arg-type]
        "nodes is '10.0.0.2', must be a list of addresses": lambda: some.replicate(node, 0, data),
        "a stripe of 1 blocks has 0 bytes, must be 1 to 1048576": lambda: some.encode([node], ["10.0.0.3"], 0, b""),
        "a stripe of 2 blocks has 2097153 bytes, must be 1 to 2097152": lambda: some.encode(
            [node, "10.0.0.4"], ["10.0.0.3"], 0, bytes((2 << 20) + 1)
        ),
        "a stripe of 0 blocks has 4 bytes": lambda: some.encode([], ["10.0.0.3"], 0, data),
        "block is -1, must be 0 to 255": lambda: some.update(node, "10.0.0.3", 0, data, block=-1),
        "request is None, must be what a method": lambda: some.frames(None),  # type: ignore[arg-type]
        "packet is None, must be bytes": lambda: some.receive(None),  # type: ignore[arg-type]
        "begin is -1, must be 0 to": lambda: storage.Metadata().grant(node, begin=-1),
        "rights has 'all', must be some of read, write": lambda: storage.Metadata().grant(node, rights=("all",)),
        "node 10.0.0.2 comes twice in nodes": lambda: some.replicate([node, node], 0, data),
        "node 10.0.0.3 comes twice in nodes": lambda: some.encode([node, "10.0.0.3"], ["10.0.0.3"], 0, data),
        "node 10.0.0.2 comes twice in nodes; ": lambda: some.update(node, node, 0, data, block=0),
        "block 0 has 2 bytes, must have 1 of 2 in 2": lambda: storage.recover({0: b"ab", 1: b"a"}, 2, 1, 2),
        "block 7 is not in RS(2,1), must be below 3": lambda: storage.recover({0: b"a", 7: b"a"}, 2, 1, 2),
        "card_bytes is 'x', must be": lambda: storage.node(card_bytes="x"),  # type: ignore[arg-type]
    }
    for text, call in refused.items():
        with pytest.raises(UsageError, match=f"^{re.escape(text)}"):
            call()
