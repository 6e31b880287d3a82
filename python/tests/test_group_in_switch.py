# SPDX-License-Identifier: Apache-2.0
"""Collective operations by a switch that computes, and the folder with all versions of one operation."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spinet
from spinet import cli
from spinet._core import UsageError
from spinet.collectives import Group, headers, switches
from spinet.collectives.peers import Peer, constants

from rounds import Card, Rounds, check_barriers

WIRE = constants("group.h")
SEED = 5
LINK = {"rate": "100G", "delay": "300 ns"}


def start(group: Group, vectors: list[bytes], leaves: int = 1) -> tuple[Rounds, list[bytes]]:
    """The cards of the hosts and of the switches, and the start packets."""
    n, below = group.size, group.size // leaves
    n_switches = leaves + (leaves > 1)
    peers = [Peer(number=i) for i in range(n + n_switches + 1)]
    cards = {peers[r].ip: Card(switches.host(group, r, leaves), host=group.host_memory(vectors[r])) for r in range(n)}
    for number in range(n_switches):
        cards[peers[n + number].ip] = Card(switches.card(group, leaves, number))

    def divert(sender: str, frame: bytes) -> str | None:
        """As the switches do: packets of hosts with data go to the card of their leaf."""
        is_data = int.from_bytes(frame[36:38], "big") == WIRE["GROUP_DATA"]
        ranks = [rank for rank in range(n) if peers[rank].ip == sender]
        return peers[n + ranks[0] // below].ip if is_data and ranks else None

    go = [headers(peers[-1], peers[r], WIRE["GROUP_GO"], bytes(12)) for r in group.starts]
    return Rounds(cards, divert), go


def memory(group: Group, rounds: Rounds, rank: int) -> bytes:
    return rounds.cards[group.peers[rank].ip].host.read(size=len(group.host_memory()))


@pytest.mark.parametrize(("size", "root"), [(2, 1), (5, 0), (9, 4)])
def test_the_root_of_a_broadcast_sends_each_block_once(size: int, root: int) -> None:
    group = Group(operation="broadcast", size=size, n_bytes=2500, root=root)
    vectors = [np.random.default_rng(SEED + rank).bytes(2500) for rank in range(size)]
    rounds, go = start(group, vectors)
    rounds.run(go)
    assert [group.result(memory(group, rounds, rank)) for rank in range(size)] == [vectors[root]] * size
    assert rounds.lost == [] and rounds.frames == len(go) + group.blocks * (1 + size - 1)


@pytest.mark.parametrize(("size", "leaves", "root"), [(4, 2, 3), (6, 3, 0), (9, 3, 4), (8, 2, 5)])
def test_in_a_tree_a_block_crosses_each_link_once(size: int, leaves: int, root: int) -> None:
    group = Group(operation="broadcast", size=size, n_bytes=2500, root=root)
    vectors = [np.random.default_rng(SEED + rank).bytes(2500) for rank in range(size)]
    rounds, go = start(group, vectors, leaves)
    rounds.run(go)
    assert [group.result(memory(group, rounds, rank)) for rank in range(size)] == [vectors[root]] * size
    # From the root, up to the root switch, down to each other leaf, and to each other rank.
    assert rounds.lost == [] and rounds.frames == len(go) + group.blocks * (1 + 1 + (leaves - 1) + (size - 1))


@pytest.mark.parametrize(("size", "leaves"), [(2, 1), (3, 1), (8, 1), (4, 2), (6, 3), (9, 3), (8, 2)])
def test_nobody_leaves_a_barrier_before_all_have_entered(size: int, leaves: int) -> None:
    group = Group(operation="barrier", size=size)
    rounds, go = start(group, [b""] * size, leaves)

    def passed() -> list[int]:
        return [struct.unpack("<Q", memory(group, rounds, rank)[:8])[0] for rank in range(size)]

    assert len(go) == size
    check_barriers(rounds, go, passed)
    up_and_down = 2 * leaves if leaves > 1 else 0
    # Three barriers: start, to the switch, and back.
    assert rounds.lost == [] and rounds.frames == 3 * (3 * size + up_and_down)


@pytest.mark.parametrize("leaves", [1, 2])
def test_a_rank_may_enter_the_next_barrier_early(leaves: int) -> None:
    group = Group(operation="barrier", size=4)
    rounds, go = start(group, [b""] * 4, leaves)
    rounds.run([go[0], go[0], go[1], go[3]])
    rounds.run([go[2]])
    assert [struct.unpack("<Q", memory(group, rounds, rank)[:8])[0] for rank in range(4)] == [1] * 4
    rounds.run([go[1], go[2], go[3]])
    assert [struct.unpack("<Q", memory(group, rounds, rank)[:8])[0] for rank in range(4)] == [2] * 4


def test_a_switch_drops_packets_that_claim_more_than_the_vector() -> None:
    group = Group(operation="broadcast", size=3, n_bytes=64)
    rounds, _ = start(group, [bytes(64)] * 3)
    peers = group.peers
    head = struct.pack("<IHHI", 0, 0, 0, 128)
    rounds.run([headers(peers[0], peers[3], WIRE["GROUP_DATA"], head + bytes(128))])
    assert rounds.frames == 1


def test_an_allreduce_in_a_switch_has_the_sums_of_the_ring() -> None:
    group = Group(operation="ring", size=4, n_bytes=6000)
    random = np.random.default_rng(SEED)
    vectors = [random.integers(-(2**31), 2**31, 1500, dtype="<i8").astype("<i4") for _ in range(4)]
    wanted = np.add.reduce(vectors, dtype="<i4").tobytes()
    result = spinet.run(group.in_switch([vector.tobytes() for vector in vectors], link=LINK))
    for rank in range(4):
        node = result.nodes[f"host{rank}"]
        assert group.result(node.host_memory(1 << 60, len(group.host_memory()))) == wanted


def test_in_a_network_only_the_switch_multiplies_packets() -> None:
    group = Group(operation="broadcast", size=6, n_bytes=4096, root=2)
    vector = np.random.default_rng(SEED).bytes(4096)
    result = spinet.run(group.in_switch([b"", b"", vector, b"", b"", b""], link=LINK))
    for rank in range(6):
        node = result.nodes[f"host{rank}"]
        assert group.result(node.host_memory(1 << 60, len(group.host_memory()))) == vector
    frames = result.table("frames").to_pylist()
    entered = [row["frame_node"] for row in frames if row["event"] == "entered"]
    # Four start packets from node 7, four blocks from the root, and a copy for each other rank from the card, node 6.
    assert sorted(entered) == [2] * 4 + [6] * 4 * 5 + [7] * 4


@pytest.mark.parametrize("operation", ["broadcast", "barrier", "ring"])
def test_a_network_of_switches_does_it(operation: str) -> None:
    group = Group(
        operation=operation,
        size=8,
        n_bytes=0 if operation == "barrier" else 4096,
        root=6 if operation == "broadcast" else 0,
    )
    random = np.random.default_rng(SEED)
    vectors = [random.integers(-(2**31), 2**31, 1024, dtype="<i8").astype("<i4") for _ in range(8)]
    given = None if operation == "barrier" else [vector.tobytes() for vector in vectors]
    result = spinet.run(group.in_switch(given, leaves=4, link=LINK))
    assert result.complete and result.summary["packets"]["dropped"] == 0
    wanted = {
        "broadcast": vectors[6].tobytes(),
        "barrier": (1).to_bytes(8, "little"),  # the number of barriers that the rank has passed
        "ring": np.add.reduce(vectors, dtype="<i4").tobytes(),
    }[operation]
    for rank in range(8):
        memory = result.nodes[f"host{rank}"].host_memory(1 << 60, len(group.host_memory()))
        assert (memory[:8] if operation == "barrier" else group.result(memory)) == wanted
    frames = result.table("frames").to_pylist()
    entered = sorted(row["frame_node"] for row in frames if row["event"] == "entered")
    if operation == "barrier":
        # A packet of each rank. Each leaf sends one up and one to each of its two ranks, the root one to each leaf.
        assert entered == sorted([*range(8), *[8, 9, 10, 11] * 3, *[12] * 4, *[13] * 8])
    if operation == "broadcast":
        # Four blocks of rank 6. Its leaf sends each up and to rank 7, the root to three leaves, these to their ranks.
        assert entered == sorted([*[6] * 4, *[8, 9, 10] * 8, *[11] * 8, *[12] * 12, *[13] * 4])


def test_versions_in_a_tree_have_the_same_wires() -> None:
    rows = spinet.compare_networks(Group(operation="barrier", size=8).versions(leaves=2, link=LINK))
    assert [row.network for row in rows.rows] == ["hosts", "cards", "switch"]
    assert all(row.dropped == 0 for row in rows.rows)
    assert rows["switch"].completion_ns < rows["cards"].completion_ns
    for network in Group(operation="broadcast", size=8, n_bytes=8).versions(leaves=2, link=LINK).values():
        ends = {(link["from"], link["to"]) for link in network["links"]}
        assert {("leaf0", "root"), ("leaf1", "root")} <= ends
        assert sum(to.startswith("leaf") and "card" not in of for of, to in ends) == 8


def test_versions_of_one_operation_differ_in_who_works() -> None:
    for operation, n_bytes, host_ns in (
        ("broadcast", 64, 2 * 7 * 100),
        ("barrier", 0, 2 * 8 * 3 * 100),
        ("ring", 64, 2 * 8 * 14 * 100),
    ):
        rows = spinet.compare_networks(Group(operation=operation, size=8, n_bytes=n_bytes).versions(link=LINK))
        assert [row.network for row in rows.rows] == ["hosts", "cards", "switch"]
        assert rows["hosts"].host_cpu_ns == host_ns and rows["hosts"].handler_runs == 0
        assert rows["cards"].host_cpu_ns == rows["switch"].host_cpu_ns == 0
        assert rows["switch"].completion_ns < rows["cards"].completion_ns, operation
        assert all(row.dropped == 0 for row in rows.rows)


@pytest.mark.parametrize(("size", "n_bytes"), [(2, 4), (3, 4), (5, 4000)])
def test_hosts_pass_parts_of_an_allreduce_round(size: int, n_bytes: int) -> None:
    group = Group(operation="ring", size=size, n_bytes=n_bytes)
    result = spinet.run(group.on_hosts(link=LINK, combine_ns=1000))
    rows = result.table("operations").to_pylist()
    # Empty parts are not sent. Each other part visits all ranks twice, without the last hop of each turn.
    parts = min(size, n_bytes // 4)
    assert [row["kind"] for row in rows].count("send") == parts * (2 * size - 2)
    computed = sum(row["done_ps"] - row["started_ps"] for row in rows if row["kind"] == "calc")
    assert computed == pytest.approx((size - 1) * 1_000_000, abs=size * size * 1000)  # each is rounded up to 1 ns


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {"operation": "alltoall", "n_bytes": 4},
            "a switch cannot do the operation alltoall, must be one of broadcast",
        ),
        ({"operation": "broadcast", "n_bytes": 4, "redundant": True}, "a switch that computes is the only path"),
        ({"operation": "barrier", "size": 1023}, "size is 1023, must be 2 to 1022"),
        ({"operation": "ring", "n_bytes": 4, "size": 257}, "a switch must have 2 to 256 children"),
        ({"operation": "barrier", "size": 12, "leaves": 5}, "leaves is 5, must be one of 1, 2, 3, 4, 6: a divisor"),
        ({"operation": "barrier", "size": 12, "leaves": 12}, "leaves is 12, must be one of 1, 2, 3, 4, 6: a divisor"),
        ({"operation": "ring", "n_bytes": 64, "block_bytes": 64}, "block_bytes is 64, must be 1024 in a switch"),
        ({"operation": "ring", "n_bytes": 8, "custom": "operators/complex.h"}, "no size of an element"),
    ],
)
def test_impossible_requests_are_refused(given: dict[str, Any], text: str) -> None:
    keys = {"size": 4, "leaves": 1} | given
    leaves = keys.pop("leaves")
    with pytest.raises(UsageError, match=text):
        Group(**keys).in_switch(leaves=leaves)


def test_accumulate_has_no_versions() -> None:
    with pytest.raises(UsageError, match="accumulate has no start packets"):
        Group(operation="accumulate", size=4, n_bytes=64).versions()


def test_a_folder_of_versions_can_be_moved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tmp_path / "made"
    assert cli.main(["net", "make", "allreduce", "--ranks", "4", "--bytes", "4096", "-o", str(made)]) == 0
    assert capsys.readouterr().out.split() == [str(made / f"{name}.toml") for name in ("hosts", "cards", "switch")]
    moved = shutil.move(made, tmp_path / "moved")
    assert "/" not in "".join(path.read_text() for path in Path(moved).glob("*.toml")).replace("files/", "")
    assert cli.main(["compare", "--network", *map(str, sorted(Path(moved).glob("*.toml")))]) == 0
    table = capsys.readouterr().out
    assert [line.split()[0] for line in table.splitlines()[1:4]] == ["cards", "hosts", "switch"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["accumulate", "--ranks", "4"], "'accumulate' is not one of"),
        (["broadcast", "--ranks", "4"], "--bytes is 0, must be 1 or more"),
        (["allreduce", "--ranks", "4", "--bytes", "6"], "--bytes is 6, must be a multiple of 4"),
        (["barrier", "--ranks", "8", "--leaves", "3"], "leaves is 3, must be one of 1, 2, 4: a divisor of the 8 ranks"),
        (["barrier", "--ranks", "1"], "1 is not in the range 2<=x<=1022"),
        (["barrier", "--ranks", "3", "--rate", "fast"], "--rate: `fast` is not a rate above 0"),
        (["barrier", "--ranks", "4", "--bytes", "8"], "--bytes is 8, but a barrier has no data"),
        (["allreduce", "--ranks", "257", "--bytes", "64"], "a switch must have 2 to 256 children"),
    ],
)
def test_mistakes_make_no_folder(
    arguments: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["net", "make", *arguments, "-o", str(tmp_path / "made")]) == 2
    assert text in capsys.readouterr().err and list(tmp_path.iterdir()) == []


def test_an_existing_folder_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kept").write_text("mine")
    assert cli.main(["net", "make", "barrier", "--ranks", "2", "-o", str(tmp_path / "kept")]) == 2
    assert "exists" in capsys.readouterr().err and (tmp_path / "kept").read_text() == "mine"
