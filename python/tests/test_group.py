# SPDX-License-Identifier: Apache-2.0
"""Collective operations on NICs: every byte of every rank, against NumPy, for groups of many sizes."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest
import spinet
from spinet._core import UsageError
from spinet.collectives import Group, headers
from spinet.collectives.group import DATA, GO
from spinet.collectives.peers import constants

from rounds import Card, Rounds, check_barriers

WIRE = constants("group.h")
SEED = 11


def start(group: Group, vectors: list[bytes], dead: tuple[int, ...] = ()) -> tuple[Rounds, list[bytes]]:
    """The cards of a group, and its start packets."""
    ranks = [rank for rank in range(group.size) if rank not in dead]
    cards = {group.peers[r].ip: Card(group.node(r), host=group.host_memory(vectors[r])) for r in ranks}
    starter = group.peers[-1]
    return Rounds(cards), [headers(starter, group.peers[r], WIRE["GROUP_GO"], bytes(12)) for r in group.starts]


def shuffled() -> Callable[[list[bytes]], list[bytes]]:
    random = np.random.default_rng(SEED)
    return lambda queue: [queue[i] for i in random.permutation(len(queue))]


def memory(group: Group, rounds: Rounds, rank: int) -> bytes:
    return rounds.cards[group.peers[rank].ip].host.read(size=len(group.host_memory()))


def run(group: Group, vectors: list[bytes], dead: tuple[int, ...] = ()) -> tuple[list[bytes | None], Rounds]:
    """The result of each living rank, with packets in random order."""
    rounds, go = start(group, vectors, dead)
    rounds.run(go, shuffle=shuffled())
    return [group.result(memory(group, rounds, r)) for r in range(group.size) if r not in dead], rounds


def drawn(n: int, n_bytes: int) -> list[bytes]:
    random = np.random.default_rng(SEED)
    return [random.bytes(n_bytes) for _ in range(n)]


@pytest.mark.parametrize("operation", ["ring", "doubling"])
@pytest.mark.parametrize("size", [2, 3, 4, 6, 9])
def test_allreduce_has_exact_sums_at_all_ranks(operation: str, size: int) -> None:
    group = Group(operation=operation, size=size, n_bytes=6000, window=2)  # the last block is partial
    vectors = drawn(size, 6000)
    wanted = np.add.reduce([np.frombuffer(vector, "<i4") for vector in vectors], dtype="<i4").tobytes()
    results, rounds = run(group, vectors)
    assert results == [wanted] * size
    if operation == "ring":  # each block takes two rounds, without the last two hops
        assert rounds.frames == group.blocks * (2 * size - 2) + len(group.starts)


@pytest.mark.parametrize("operation", ["ring", "doubling"])
def test_float_results_are_bit_identical_at_all_ranks(operation: str) -> None:
    random = np.random.default_rng(SEED)
    vectors = [(random.standard_normal(700) * 10.0 ** random.integers(-6, 7, 700)).astype("<f4") for _ in range(5)]
    group = Group(operation=operation, size=5, n_bytes=2800, dtype="float32", window=2)
    results, _ = run(group, [vector.tobytes() for vector in vectors])
    if operation == "doubling":
        wanted = ((vectors[0] + vectors[4]) + vectors[1]) + (vectors[2] + vectors[3])
        assert results == [wanted.tobytes()] * 5
    assert len(set(results)) == 1 and results[0] is not None
    assert np.allclose(np.frombuffer(results[0], "<f4"), np.add.reduce(vectors, dtype="<f8"), rtol=1e-4, atol=1)


@pytest.mark.parametrize(("size", "root"), [(2, 0), (5, 3), (8, 7), (13, 0)])
def test_a_broadcast_reaches_all_ranks_once(size: int, root: int) -> None:
    group = Group(operation="broadcast", size=size, n_bytes=2500, root=root)
    vectors = drawn(size, 2500)
    results, rounds = run(group, vectors)
    assert results == [vectors[root]] * size
    assert rounds.frames == group.blocks * (size - 1) + len(group.starts)


def test_a_broadcast_reaches_more_ranks_than_the_usual_configuration_holds() -> None:
    group = Group(operation="broadcast", size=70, n_bytes=1500, root=69)
    (vector,) = drawn(1, 1500)
    result = spinet.run(group.network([*[b""] * 69, vector]))
    n_bytes = len(group.host_memory())
    assert {group.result(result.nodes[f"n{rank}"].host_memory(1 << 60, n_bytes)) for rank in range(70)} == {vector}


@pytest.mark.parametrize("dead", [(1, 2, 4), (3, 11, 12), (8, 9, 10), (15, 14, 12)])
def test_a_redundant_broadcast_survives_dead_ranks(dead: tuple[int, ...]) -> None:
    """Each of 16 ranks forwards over 4 distances, so any 3 other ranks may be dead."""
    group = Group(operation="broadcast", size=16, n_bytes=1500, redundant=True)
    vectors = drawn(16, 1500)
    results, _ = run(group, vectors, dead)
    assert results == [vectors[0]] * 13


def test_a_plain_broadcast_ends_at_dead_ranks() -> None:
    group = Group(operation="broadcast", size=8, n_bytes=1500)
    vectors = drawn(8, 1500)
    # Rank 1 forwards to ranks 3 and 5, and rank 3 to rank 7.
    results, _ = run(group, vectors, dead=(1,))
    assert results == [vectors[0], vectors[0], None, vectors[0], None, vectors[0], None]


@pytest.mark.parametrize("operation", ["broadcast", "alltoall"])
@pytest.mark.parametrize("n_bytes", [1, 1025])
def test_operations_that_move_bytes_take_any_number(operation: str, n_bytes: int) -> None:
    group = Group(operation=operation, size=3, n_bytes=n_bytes)
    vectors = drawn(3, group.vector_bytes)
    results, _ = run(group, vectors)
    if operation == "broadcast":
        assert results == [vectors[0]] * 3
    else:
        assert results[2] == vectors[0][2 * n_bytes :] + vectors[1][2 * n_bytes :] + bytes(n_bytes)


def test_vectors_are_arrays_or_bytes_one_for_each_rank() -> None:
    group = Group(operation="ring", size=3, n_bytes=8)
    assert group.host_memory(np.array([1, 2], "<i4")) == group.host_memory(struct.pack("<ii", 1, 2))  # type: ignore[arg-type]
    for network in (group.network, group.in_switch):
        with pytest.raises(UsageError, match="there are 2 vectors for 3 ranks"):
            network([bytes(8)] * 2)
    with pytest.raises(UsageError, match="the vector is 3, must be bytes"):
        group.host_memory(3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="the vector has 9 bytes, must have at most 8"):
        group.network([bytes(9)] * 3)


@pytest.mark.parametrize("size", [2, 3, 7])
def test_all_to_all_transposes(size: int) -> None:
    group = Group(operation="alltoall", size=size, n_bytes=1300, window=3)
    vectors = drawn(size, 1300 * size)
    results, _ = run(group, vectors)
    for rank, result in enumerate(results):
        assert result is not None
        for sender in range(size):
            wanted = vectors[sender][rank * 1300 : (rank + 1) * 1300] if sender != rank else bytes(1300)
            assert result[sender * 1300 : (sender + 1) * 1300] == wanted


def data_packet(group: Group, to: int, head: tuple[int, int, int, int], n_bytes: int) -> bytes:
    """A packet of rank 0 with `n_bytes` of data. `head` is block, origin, step and the bytes that it claims to have."""
    return headers(group.peers[0], group.peers[to], DATA, struct.pack("<IHHI", *head) + b"\xff" * n_bytes)


def answers(group: Group, to: int, packets: list[bytes]) -> list[bytes]:
    """The frames that the card of rank `to` sends for these packets. They must not change its host memory."""
    before = group.host_memory(bytes(group.vector_bytes))
    card = Card(group.node(to), host=before)
    sent = card.process(packets)
    assert card.host.read(size=len(before)) == before
    return sent


def test_malformed_packets_do_not_start_an_all_to_all() -> None:
    group = Group(operation="alltoall", size=3, n_bytes=1300)
    short = headers(group.peers[0], group.peers[1], DATA, b"")
    missing = data_packet(group, 1, (0, 0, 0, 1024), 1000)
    own, foreign = data_packet(group, 1, (0, 1, 0, 1024), 1024), data_packet(group, 1, (0, 3, 0, 1024), 1024)
    late, long = data_packet(group, 1, (2, 0, 0, 0), 0), data_packet(group, 1, (1, 0, 0, 1024), 1024)
    assert answers(group, 1, [short, missing, own, foreign, late, long]) == []


def test_a_ring_ignores_steps_that_it_does_not_have() -> None:
    group = Group(operation="ring", size=3, n_bytes=1024)
    assert answers(group, 1, [data_packet(group, 1, (0, 0, step, 1024), 1024) for step in (0, 5, 6, 0xFFFF)]) == []
    assert len(answers(group, 1, [data_packet(group, 1, (0, 0, 1, 1024), 1024)])) == 1


@pytest.mark.parametrize(("rank", "steps"), [(0, (0, 3, 6, 7, 100)), (1, (3, 99, 100)), (5, (0, 1, 2, 3, 6))])
def test_recursive_doubling_ignores_steps_that_a_rank_does_not_have(rank: int, steps: tuple[int, ...]) -> None:
    """Of 6 ranks, 0 to 3 have steps 1 and 2. Ranks 4 and 5 send to ranks 0 and 1, and get the result."""
    group = Group(operation="doubling", size=6 if rank != 0 else 4, n_bytes=1024)
    # Two packets complete a step; the second one must not make the rank send sums, or store a result.
    packets = [data_packet(group, rank, (0, 0, step, 1024), 1024) for step in steps for _ in range(2)]
    assert answers(group, rank, packets) == []


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_nobody_leaves_a_barrier_before_all_have_entered(size: int) -> None:
    group = Group(operation="barrier", size=size)
    rounds, go = start(group, [b""] * size)

    def passed() -> list[int]:
        return [struct.unpack("<Q", memory(group, rounds, rank)[:8])[0] for rank in range(size)]

    assert len(go) == size
    check_barriers(rounds, go, passed)


def test_ranks_may_enter_the_next_barrier_before_they_have_left_the_last_one() -> None:
    group = Group(operation="barrier", size=5)
    rounds, go = start(group, [b""] * 5)
    rounds.run([go[1], go[1], go[4], go[1], go[0], go[2], go[4]])  # all but rank 3, some of them several times
    rounds.run([go[3]])
    assert [struct.unpack("<Q", memory(group, rounds, rank)[:8])[0] for rank in range(5)] == [1] * 5
    rounds.run([go[3], go[0], go[2]])
    assert [struct.unpack("<Q", memory(group, rounds, rank)[:8])[0] for rank in range(5)] == [2] * 5


@pytest.mark.parametrize("operation", ["broadcast", "ring", "doubling", "alltoall"])
def test_blocks_have_any_size_that_a_packet_holds(operation: str) -> None:
    group = Group(operation=operation, size=3, n_bytes=6000, block_bytes=1984, window=2)
    assert group.blocks == 4
    vectors = drawn(3, group.vector_bytes)
    results, _ = run(group, vectors)
    if operation == "broadcast":
        assert results == [vectors[0]] * 3
    elif operation == "alltoall":
        assert results[1] == vectors[0][6000:12000] + bytes(6000) + vectors[2][6000:12000]
    else:
        wanted = np.add.reduce([np.frombuffer(vector, "<i4") for vector in vectors], dtype="<i4").tobytes()
        assert results == [wanted] * 3


def test_a_redundant_broadcast_accepts_faults_of_the_network() -> None:
    group = Group(operation="broadcast", size=8, n_bytes=30_000, redundant=True)
    (vector,) = drawn(1, 30_000)
    faults = "loss=0.01,duplicate=0.1,reorder=0.2:8"
    network = group.network([vector, *[b""] * 7], link={"rate": "100G", "delay": "300 ns", "faults": faults})
    network["nodes"][-1]["send"][0]["source"] = f"udp:size=64,dst_port={GO},rate=100G,count={2 * group.blocks}"
    one, two = (spinet.run(network, seed=SEED, threads=threads) for threads in (1, 2))
    assert one.summary["packets"]["dropped"] > 0 and one.digest == two.digest
    for rank in range(8):
        node = one.nodes[f"n{rank}"]
        assert group.result(node.host_memory(1 << 60, len(group.host_memory()))) == vector


@pytest.mark.parametrize(("size", "chunk", "sends"), [(2, 0, 1), (5, 0, 4), (8, 400, 7 * 3)])
def test_hosts_broadcast_over_the_same_tree(size: int, chunk: int, sends: int) -> None:
    group = Group(operation="broadcast", size=size, n_bytes=1000, root=size - 1)
    result = spinet.run(group.on_hosts(chunk_bytes=chunk))
    operations = result.table("operations").to_pylist()
    assert [row["kind"] for row in operations].count("send") == sends
    cards = spinet.run(group.network()).table("frames").to_pylist()
    data = {
        (row["frame_node"], row["node"]) for row in cards if row["event"] == "delivered" and row["frame_node"] < size
    }
    assert {(row["rank"], row["peer"]) for row in operations if row["kind"] == "send"} == data


def test_processors_of_hosts_pay_for_each_message() -> None:
    link = {"rate": "100G", "delay": "300 ns"}
    rows = spinet.compare_networks(
        {
            f"{operation}, {kind}": network
            for operation, n_bytes in (("broadcast", 4096), ("alltoall", 512), ("barrier", 0), ("accumulate", 512))
            for group in [Group(operation=operation, size=4, n_bytes=n_bytes)]
            for kind, network in (
                ("hosts", group.on_hosts(link=link, combine_ns=40)),
                ("NICs alone", group.on_hosts(link=link, o_ns=0)),
                *([("cards", group.network(link=link))] if operation != "accumulate" else []),
            )
        }
    )
    # 100 ns for each send and each receive: 3 and 3 in the tree, 12 and 12 to all, 2 rounds of 4, 3 and 3 to rank 0.
    assert rows["broadcast, hosts"].host_cpu_ns == 600 and rows["alltoall, hosts"].host_cpu_ns == 2400
    assert rows["barrier, hosts"].host_cpu_ns == 1600 and rows["accumulate, hosts"].host_cpu_ns == 600 + 3 * 40
    assert all(row.host_cpu_ns == 0 for row in rows.rows if not row.network.endswith("hosts"))
    assert all(row.handler_cycles > 0 for row in rows.rows if row.network.endswith("cards"))


def test_hosts_have_no_schedule_of_recursive_doubling() -> None:
    with pytest.raises(
        UsageError, match="no schedule for doubling, must be one of broadcast, ring, alltoall, barrier, accumulate"
    ):
        Group(operation="doubling", size=4, n_bytes=8).on_hosts()


def test_accumulate_multiplies_complex_numbers_of_several_origins() -> None:
    group = Group(operation="accumulate", size=4, n_bytes=2048, custom="operators/complex.h")
    random = np.random.default_rng(SEED)
    vector = random.standard_normal(512).astype("<f4")
    rounds, _ = start(group, [vector.tobytes(), b"", b"", b""])
    operand = random.choice(np.array([-2, -1, 0.5, 1], "<f4"), (3, 512))  # the order of such products has no effect
    frames = []
    for origin in range(3):
        for block in range(2):
            head = struct.pack("<IHHI", block, origin + 1, 0, 1024)
            data = operand[origin, block * 256 : block * 256 + 256].tobytes()
            frames.append(headers(group.peers[origin + 1], group.peers[0], WIRE["GROUP_DATA"], head + data))
    rounds.run(frames, shuffle=shuffled())
    wanted = vector.astype("<f8").view("<c16")
    for origin in range(3):
        wanted = wanted * operand[origin].astype("<f8").view("<c16")
    found = np.frombuffer(memory(group, rounds, 0)[:2048], "<f4").astype("<f8").view("<c16")
    assert np.allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("custom", "n_bytes"), [(None, (0, 2, 1023)), ("operators/complex.h", (0, 4, 1020))])
def test_accumulate_ignores_parts_of_elements(custom: str | None, n_bytes: tuple[int, ...]) -> None:
    group = Group(operation="accumulate", size=2, n_bytes=2048, custom=custom)
    assert answers(group, 1, [data_packet(group, 1, (0, 0, 0, n), n) for n in n_bytes]) == []


@pytest.mark.parametrize(
    ("operation", "data"), [("ring", 32 * 6), ("broadcast", 32 * 3), ("alltoall", 32 * 12), ("barrier", 4 * 2)]
)
def test_networks_lose_nothing_and_threads_do_not_change_them(operation: str, data: int) -> None:
    group = Group(operation=operation, size=4, n_bytes=0 if operation == "barrier" else 32768)
    one, two = (spinet.run(group.network(), threads=threads) for threads in (1, 2))
    packets = one.summary["packets"]
    assert packets["in"] == packets["out"] == data + len(group.starts)
    assert one.digest == two.digest


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"operation": "scan"}, "operation is 'scan', must be one of broadcast, ring, doubling, alltoall, barrier"),
        ({"size": 1}, "size is 1, must be 2 to 1023"),
        ({"size": 65, "operation": "doubling"}, "size is 65, must be 2 to 64"),
        ({"block_bytes": 2048}, "block_bytes is 2048, must be a multiple of 64, up to 1984"),
        ({"block_bytes": 100}, "block_bytes is 100, must be a multiple of 64, up to 1984"),
        ({"root": 4, "operation": "broadcast"}, "root is 4, must be a rank: 0 to 3"),
        ({"n_bytes": 6}, "n_bytes is 6, must be a multiple of 4, the size of int32"),
        ({"operation": "barrier"}, "n_bytes is 8, but a barrier has no data"),
        ({"root": 1}, "root and redundant are for broadcasts; the operation is ring"),
        ({"redundant": True}, "root and redundant are for broadcasts; the operation is ring"),
        ({"window": "x"}, "window is 'x', must be 0 to"),
        ({"root": 0.5}, r"root is 0\.5, must be 0 to"),
        (
            {"operation": "doubling", "window": 64, "block_bytes": 1984},
            "window is 64, must be 1 to 56 for doubling with blocks of 1984 bytes",
        ),
    ],
)
def test_impossible_groups_are_refused(wrong: dict[str, object], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        Group(**({"operation": "ring", "size": 4, "n_bytes": 8} | wrong))  # type: ignore[arg-type]
