# SPDX-License-Identifier: Apache-2.0
"""Allreduce in switches that compute: every byte of every host's result against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import spinet
from spinet._core import UsageError
from spinet.collectives import Flare, Group, SparseFlare, headers, sparse
from spinet.collectives.peers import constants

from rounds import Card, Rounds

WIRE = constants("flare.h")
SEED = 7


def divert(flare: Flare, sender: str, frame: bytes) -> str | None:
    """For frames towards the root: the card of the switch at which the frame arrives."""
    if int.from_bytes(frame[36:38], "big") != WIRE["FLARE_UP"]:
        return None
    ranks = [peer.ip for peer in flare.peers]
    rank = ranks.index(sender)
    return flare.root.ip if rank >= flare.hosts else ranks[flare.hosts + rank // (flare.hosts // flare.leaves)]


def start_all(flare: Flare, vectors: list[np.ndarray], *, shuffle_seed: int | None = None) -> Rounds:
    """Run the allreduce on cards without a network, and return these."""
    peers = flare.peers
    cards = {peers[r].ip: Card(flare.host(r), host=flare.host_memory(vectors[r])) for r in range(flare.hosts)}
    for number in range(flare.leaves + (flare.leaves > 1)):
        cards[peers[flare.hosts + number].ip] = Card(flare.switch(number))
    rounds = Rounds(cards, lambda sender, frame: divert(flare, sender, frame))
    in_flight = min(flare.window, flare.blocks)
    go = [headers(flare.starter, peers[r], WIRE["FLARE_GO"], bytes(12)) for r in range(flare.hosts)] * in_flight
    random = np.random.default_rng(shuffle_seed)

    def shuffled(queue: list[bytes]) -> list[bytes]:
        return [queue[i] for i in random.permutation(len(queue))] if shuffle_seed is not None else queue

    rounds.run(go, shuffle=shuffled)
    assert rounds.lost == []
    rounds.frames -= len(go)
    return rounds


def allreduce(flare: Flare, vectors: list[np.ndarray], *, shuffle_seed: int | None = None) -> list[np.ndarray | None]:
    """The result of each host."""
    peers, rounds = flare.peers, start_all(flare, vectors, shuffle_seed=shuffle_seed)
    assert rounds.frames == 2 * flare.blocks * (flare.hosts + (flare.leaves if flare.leaves > 1 else 0))
    size = flare.result_at + flare.n_bytes + 8
    return [flare.result(rounds.cards[peers[r].ip].host.read(size=size), vectors[r].dtype) for r in range(flare.hosts)]


def drawn(flare: Flare, dtype: str, low: int, high: int) -> list[np.ndarray]:
    random = np.random.default_rng(SEED)
    return [random.integers(low, high, flare.elements).astype(dtype) for _ in range(flare.hosts)]


@pytest.mark.parametrize("buffers", [1, 2, "tree"])
@pytest.mark.parametrize(("hosts", "leaves"), [(4, 1), (5, 1), (6, 3)])
def test_all_hosts_have_the_exact_sums(hosts: int, leaves: int, buffers: int | str) -> None:
    flare = Flare(hosts=hosts, leaves=leaves, elements=2500, buffers=buffers, window=4)  # the last block is partial
    vectors = drawn(flare, "<i4", -(2**31), 2**31)
    wanted = np.add.reduce(vectors, dtype="<i4").tolist()
    for result in allreduce(flare, vectors, shuffle_seed=SEED):
        assert result is not None and result.tolist() == wanted


@pytest.mark.parametrize("buffers", [1, 2, "tree"])
def test_repeated_frames_do_not_change_sums(buffers: int | str) -> None:
    flare = Flare(hosts=6, leaves=3, elements=5000, buffers=buffers, window=4)
    vectors = drawn(flare, "<i4", -(2**31), 2**31)
    wanted = np.add.reduce(vectors, dtype="<i4").tolist()
    link = {"rate": "100G", "delay": "300 ns", "faults": "duplicate=0.3,reorder=0.2:8"}
    result = spinet.run(flare.network(vectors, link=link), seed=SEED)
    for rank in range(6):
        memory = result.nodes[f"host{rank}"].host_memory(1 << 60, len(flare.host_memory(vectors[rank])))
        found = flare.result(memory, "<i4")
        assert found is not None and found.tolist() == wanted


@pytest.mark.parametrize("kind", [Flare, SparseFlare])
def test_a_switch_without_a_card_leaves_hosts_without_a_result(kind: type[Flare]) -> None:
    """Packets of its hosts reach the root's card, where their numbers are those of other leaves."""
    flare = kind(hosts=6, leaves=2, elements=500, window=2)
    vectors = drawn(flare, "<i4", 1, 100)
    network = flare.network(vectors)
    network["nodes"] = [node for node in network["nodes"] if node["name"] != "leaf0card"]
    network["links"] = [link for link in network["links"] if link["from"] != "leaf0card"]
    network["switches"][0].pop("compute")
    result = spinet.run(network)
    for rank in range(6):
        memory = result.nodes[f"host{rank}"].host_memory(1 << 60, len(flare.host_memory(vectors[rank])))
        assert flare.result(memory, "<i4") is None


def test_a_switch_adds_for_more_hosts_than_the_usual_configuration_holds() -> None:
    flare = Flare(hosts=67, elements=300, buffers="tree", window=2)
    vectors = drawn(flare, "<i4", -(2**31), 2**31)
    wanted = np.add.reduce(vectors, dtype="<i4").tolist()
    result = spinet.run(flare.network(vectors))
    size = len(flare.host_memory(vectors[0]))
    for rank in (0, 1, 66):
        found = flare.result(result.nodes[f"host{rank}"].host_memory(1 << 60, size), "<i4")
        assert found is not None and found.tolist() == wanted


@pytest.mark.parametrize(("dtype", "op"), [("int8", "sum"), ("int16", "max"), ("int32", "prod"), ("int8", "min")])
def test_integers_of_all_widths(dtype: str, op: str) -> None:
    flare = Flare(hosts=3, elements=1500, dtype=dtype, op=op, window=2)
    vectors = drawn(flare, f"<{dtype.replace('int', 'i')[0]}{flare.item_bytes}", -100, 100)
    combine = {"sum": np.add, "min": np.minimum, "max": np.maximum, "prod": np.multiply}[op]
    wanted = combine.reduce(vectors, dtype=vectors[0].dtype).tolist()
    for result in allreduce(flare, vectors):
        assert result is not None and result.tolist() == wanted


def test_a_tree_adds_float_in_the_same_order_however_packets_arrive() -> None:
    flare = Flare(hosts=5, elements=600, dtype="float32", buffers="tree", window=4)
    random = np.random.default_rng(SEED)
    vectors = [(random.standard_normal(600) * 10.0 ** random.integers(-6, 7, 600)).astype("<f4") for _ in range(5)]
    wanted = ((vectors[0] + vectors[1]) + (vectors[2] + vectors[3])) + vectors[4]
    assert wanted.tolist() != np.add.reduce(vectors).tolist()
    for seed in (1, 2):
        for result in allreduce(flare, vectors, shuffle_seed=seed):
            assert result is not None and result.tobytes() == wanted.tobytes()


def test_custom_operators_travel_through_switches() -> None:
    flare = Flare(hosts=4, elements=300, custom="operators/maxloc.h", element_bytes=8, window=2)
    random = np.random.default_rng(SEED)
    vectors = [np.stack([random.integers(0, 9, 300), np.full(300, r)], axis=1).astype("<i4") for r in range(4)]
    values = np.stack([vector[:, 0] for vector in vectors])
    wanted = np.stack([values.max(axis=0), values.argmax(axis=0)], axis=1)
    for result in allreduce(flare, vectors):
        assert result is not None and result.reshape(-1, 2).tolist() == wanted.tolist()


def test_the_path_of_a_custom_operator_is_relative_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "*(uint8_t *)to = *(const uint8_t *)a | *(const uint8_t *)b;"
    (tmp_path / "or.h").write_text(
        "#define SPIN_CUSTOM_BYTES 1\n"
        f"static inline void spin_custom(void *to, const void *a, const void *b) {{ {body} }}\n"
    )
    monkeypatch.chdir(tmp_path)
    flare = Flare(hosts=2, elements=64, custom=Path("or.h"), element_bytes=1)
    group = Group(operation="ring", size=2, n_bytes=64, custom="or.h")
    monkeypatch.chdir("/")  # the header stays the same
    vectors = drawn(flare, "u1", 0, 256)
    wanted = (vectors[0] | vectors[1]).tolist()
    for result in allreduce(flare, vectors):
        assert result is not None and result.tolist() == wanted
    assert group.custom == flare.custom == str(tmp_path / "or.h")
    for make in (
        lambda: Flare(hosts=2, elements=64, custom="or.h", element_bytes=1),
        lambda: Group(operation="ring", size=2, n_bytes=64, custom="or.h"),
    ):
        with pytest.raises(UsageError, match=r"custom is 'or.h', but there is no file /or.h or .*/collectives/or.h"):
            make()


def test_a_custom_operator_of_another_size_is_refused() -> None:
    flare = Flare(hosts=2, elements=8, custom="operators/maxloc.h", element_bytes=4)
    with pytest.raises(spinet.BuildError, match="SPIN_CUSTOM_BYTES differs from element_bytes of Flare"):
        flare.network()


def test_a_network_runs_to_its_end_with_half_the_traffic_of_a_ring() -> None:
    flare = Flare(hosts=4, elements=8192)
    summary = spinet.run(flare.network()).summary
    assert summary["ended"]["reason"] == "complete" and summary["packets"]["dropped"] == 0
    assert summary["packets"]["in"] == flare.hosts * (2 * flare.blocks + 32)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"dtype": "int4"}, "dtype is 'int4', must be one of int8, int16, int32, float16, bfloat16, float32"),
        ({"hosts": 257}, "257 hosts on 1 switches: a switch must have 2 to 256 children"),
        ({"leaves": 3}, "leaves is 3, must be a divisor of the 4 hosts"),
        ({"custom": "operators/maxloc.h"}, "element_bytes is None, must be 1, 2, 4 or 8 with custom"),
        ({"custom": "operators/maxloc.h", "element_bytes": 12}, "element_bytes is 12, must be 1, 2, 4 or 8"),
        ({"element_bytes": 2}, "element_bytes is 2, but dtype gives the size without custom"),
        ({"hosts": "4"}, "hosts is '4', must be 0 to"),
        ({"elements": 1.5}, r"elements is 1\.5, must be 0 to"),
        ({"buffers": 8}, "buffers is 8, must be 1 to 7, or 'tree'"),
        ({"hosts": 64, "buffers": "tree"}, "64 blocks need 8262656 bytes in a switch's card, which has 3145728"),
    ],
)
def test_impossible_requests_are_refused(wrong: dict[str, object], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        Flare(**({"hosts": 4, "elements": 100} | wrong))  # type: ignore[arg-type]


def test_vectors_of_another_number_or_size_are_refused() -> None:
    with pytest.raises(UsageError, match="there are 2 vectors for 3 hosts"):
        Flare(hosts=3, elements=5).network([np.zeros(5, "<i4")] * 2)
    with pytest.raises(UsageError, match="the vector has 40 bytes, must have 20"):
        Flare(hosts=3, elements=5).host_memory(np.zeros(5, "<i8"))
    with pytest.raises(UsageError, match="the vector has 5 elements of 8 bytes, must have 5 of 4"):
        SparseFlare(hosts=3, elements=5).host_memory(np.zeros(5, "<i8"))
    with pytest.raises(UsageError, match=r"ratio is 1\.5, must be 0 to"):
        SparseFlare(hosts=3, elements=5, ratio=1.5)  # type: ignore[arg-type]


def sparse_vectors(flare: SparseFlare, dtype: str) -> list[np.ndarray]:
    """Vectors in which each element is nonzero with probability 1 / `ratio`, independently."""
    random = np.random.default_rng(SEED)
    made = []
    for _ in range(flare.hosts):
        values = random.integers(1, 100, flare.elements) * random.choice([-1, 1], flare.elements)
        made.append(np.where(random.random(flare.elements) < 1 / flare.ratio, values, 0).astype(dtype))
    return made


def test_sparse_sums_of_bfloat16_are_exact_if_elements_come_several_times() -> None:
    flare = SparseFlare(
        hosts=4, elements=3000, dtype="bfloat16", ratio=17, storage="hash", packets=20, results=100, window=2
    )
    values = np.random.default_rng(SEED).integers(1, 5, (4, 3000))  # all sums are exact
    vectors = [(row.astype("<f4").view("<u4") >> 16).astype("<u2") for row in values]
    rounds = start_all(flare, vectors)
    result = flare.result(rounds.cards[flare.peers[3].ip].host.read(size=len(flare.host_memory(vectors[3]))), "<u2")
    assert result is not None
    assert (result.astype("<u4") << 16).view("<f4").tolist() == values.sum(axis=0).tolist()


def test_repeated_elements_of_bfloat16_are_rounded_one_by_one() -> None:
    sums = np.array([0, 0x3F80, 0x7F7F, 0x7F80, 1], np.uint16)
    places = np.array([1, 1, 2, 3, 4, 0])
    values = np.array([0x3B80, 0x3B80, 0x7F7F, 0xFF80, 0x8001, 0x8000], np.uint16)  # 2^-8 twice, ..., -0
    sparse._add_bfloat16(sums, places, values)
    assert sums.tolist() == [0, 0x3F80, 0x7F80, 0x7FC0, 0]


def test_repeated_elements_without_a_sum_become_the_usual_nan() -> None:
    sums = np.zeros(3, "<f4")
    sparse._add(sums, np.array([1, 1, 2]), np.array([np.inf, -np.inf, 1], "<f4"))
    assert sums.view("<u4").tolist() == [0, 0x7FC00000, 0x3F800000]


@pytest.mark.parametrize("storage", ["array", "hash"])
@pytest.mark.parametrize(
    ("dtype", "bits", "infinity", "one"),
    [
        ("float16", "<u2", 0x7C00, 0x3C00),
        ("bfloat16", "<u2", 0x7F80, 0x3F80),
        ("float32", "<u4", 0x7F800000, 0x3F800000),
    ],
)
def test_sparse_sums_that_are_no_numbers_have_the_same_bits_in_any_order(
    dtype: str, bits: str, infinity: int, one: int, storage: str
) -> None:
    flare = SparseFlare(hosts=3, elements=90, dtype=dtype, ratio=2, storage=storage, window=1)
    minus, quiet = 1 << 8 * flare.item_bytes - 1, infinity | (infinity & -infinity) >> 1
    rows = [
        [minus | quiet | 5, 0, 0],
        [minus | quiet | 5, one, minus | one],  # the other two may come first, and leave nothing
        [infinity, minus | infinity, 0],
        [one, infinity | 1, 0],
    ]
    vectors = np.zeros((3, 90), bits)
    wanted = np.zeros(90, bits)
    for at, row in enumerate(rows * 3):  # each host in each place of a row
        vectors[:, at * 3] = np.roll(row, at // len(rows))
        wanted[at * 3] = quiet
    rounds = start_all(flare, list(vectors), shuffle_seed=SEED)
    for rank in range(3):
        memory = rounds.cards[flare.peers[rank].ip].host.read(size=len(flare.host_memory(vectors[rank])))
        result = flare.result(memory, bits if dtype == "bfloat16" else bits.replace("u", "f"))
        assert result is not None and result.view(bits).tolist() == wanted.tolist()
        for other in (minus | quiet | 5, infinity | 1):
            assert other.to_bytes(flare.item_bytes, "little") not in memory[flare.result_at :]


@pytest.mark.parametrize("storage", ["array", "hash"])
@pytest.mark.parametrize(("dtype", "ratio"), [("int32", 1), ("int32", 8), ("int16", 2), ("int8", 2), ("float32", 4)])
@pytest.mark.parametrize(("hosts", "leaves"), [(5, 1), (6, 3)])
def test_sparse_vectors_have_exact_sums(hosts: int, leaves: int, dtype: str, ratio: int, storage: str) -> None:
    flare = SparseFlare(
        hosts=hosts, leaves=leaves, elements=2500, dtype=dtype, ratio=ratio, storage=storage, window=2, packets=2
    )
    kind = {"int32": "<i4", "int16": "<i2", "int8": "i1", "float32": "<f4"}[dtype]
    vectors = sparse_vectors(flare, kind)
    wanted = np.add.reduce(vectors, dtype=kind).tolist()  # sums of small integers are exact in float32
    rounds = start_all(flare, vectors)
    for rank in range(hosts):
        card = rounds.cards[flare.peers[rank].ip]
        result = flare.result(card.host.read(size=len(flare.host_memory(vectors[rank]))), kind)
        assert result is not None and result.tolist() == wanted


def test_a_full_table_spills_and_sums_stay_exact() -> None:
    """Eight children with about 148 elements each, in a table of 256 entries and a stash of 164."""
    flare = SparseFlare(hosts=8, elements=148 * 64, ratio=64, storage="hash", packets=2)
    vectors = sparse_vectors(flare, "<i4")
    rounds = start_all(flare, vectors)
    present = np.count_nonzero(np.abs(vectors).sum(axis=0))
    assert present > 256 + 2 * 164
    memory = rounds.cards[flare.peers[0].ip].host.read(size=len(flare.host_memory(vectors[0])))
    result = flare.result(memory, "<i4")
    assert result is not None and result.tolist() == np.add.reduce(vectors, dtype="<i4").tolist()
    with pytest.raises(UsageError, match="needs 38208 bytes in L1, must be 32768 or less"):
        SparseFlare(hosts=8, elements=148 * 64, ratio=64, storage="array")
