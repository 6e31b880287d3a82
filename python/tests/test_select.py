# SPDX-License-Identifier: Apache-2.0
"""Conditional reads on a card against a filter in NumPy."""

from __future__ import annotations

import struct
from collections.abc import Generator
from typing import Any

import numpy as np
import pytest
import spinet
from numpy.typing import NDArray
from spinet._core import UsageError
from spinet.host_program import RunningHost
from spinet.services import Table, select
from spinet.services.wire import SOURCES, Packet

from rounds import Card

Steps = Generator[Any, Any, None]
SEED = 17


def drawn(rows: int, columns: int) -> Table:
    print("seed", SEED)
    return Table(np.random.default_rng(SEED).integers(-50, 50, (rows, columns)).astype("<i4"))


def server(table: Table) -> Card:
    node = {**table.node(), "program": str(SOURCES / "select.c"), "defines": table.defines}
    return Card(node, host=table.rows.tobytes())


def ask(card: Card, *requests: tuple[int, bytes]) -> dict[int, list[Packet]]:
    """The packets of the reply to each request, by its number from 1. All requests come at the same time."""
    frames = [
        Packet(request=number, client=0, kind=kind, data=data).frame(source=1, target=0, port=select.PORT)
        for number, (kind, data) in enumerate(requests, 1)
    ]
    found: dict[int, list[Packet]] = {number: [] for number in range(1, len(frames) + 1)}
    for reply in map(Packet.of_frame, card.process(frames)):
        found[reply.request].append(reply)
    for packets in found.values():
        assert [packet.part for packet in packets] == list(range(len(packets)))
        assert [packet.more for packet in packets] == [True] * (len(packets) - 1) + [False]
    return found


def rows_of(table: Table, replies: dict[int, list[Packet]]) -> NDArray[np.int32]:
    content = b"".join(packet.data for packets in replies.values() for packet in packets)
    return np.frombuffer(content, "<i4").reshape(-1, table.rows.shape[1])


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1000, 1), (700, 16), (333, 5), (40, 352)])
def test_cards_send_what_a_filter_keeps(rows: int, columns: int) -> None:
    table = drawn(rows, columns)
    card = server(table)
    last = columns - 1
    predicates = [
        "",
        "column[0] < 0",
        f"column[{last}] >= 10 and column[0] != 3",
        f"column[0] > -20 and column[{last}] <= 30 and column[{columns // 2}] == 5",
        "column[0] > 2147483647",
        "column[0] >= -2147483648 and column[0] <= 2147483647",
    ]
    for predicate in predicates:
        found = rows_of(table, ask(card, *table.requests(predicate)))
        wanted = np.array([row for row in table.rows if holds(predicate, row)], "<i4").reshape(-1, columns)
        assert np.array_equal(found, wanted), predicate
        assert np.array_equal(table.select(predicate), wanted)


def holds(predicate: str, row: NDArray[np.int32]) -> bool:
    """The predicate is also an expression of Python."""
    return not predicate or bool(eval(predicate, {"column": row.tolist()}))


def test_a_reply_has_only_as_many_packets_as_the_rows_need() -> None:
    table = drawn(1408, 16)  # 22 rows a packet
    assert table.max_rows == 1408
    replies = ask(server(table), *table.requests("column[0] < 0", rows=1408))
    n_rows = len(table.select("column[0] < 0"))
    assert len(replies[1]) == -(-n_rows // 22)
    assert {len(packet.data) for packet in replies[1][:-1]} == {22 * 64}


@pytest.mark.parametrize("faults", ["", "loss=0.02,duplicate=0.1,reorder=0.1:8"])
def test_queries_on_a_network_have_all_rows_once(faults: str) -> None:
    table = drawn(1500, 16)
    net = spinet.Network(select.network(table, 2, faults=faults), limit="50 ms", seed=SEED)
    done: list[int] = []

    def program(host: RunningHost) -> Steps:
        client = table.connect(host, number=host.number - 1)
        yield host.sleep("20 us")
        for predicate in ("column[1] < -30", "column[2] != 0 and column[3] > 0", "column[0] < -50"):
            found = yield from client.select(predicate, rows=100 * host.number)
            assert np.array_equal(found, table.select(predicate))
            done.append(len(found))

    for node in net.nodes[1:]:
        node.host.program = program
    assert net.run().ended == "complete"
    assert len(done) == 6


def test_many_clients_do_not_overload_the_card_with_repetitions() -> None:
    """With a constant interval, requests of some clients have no reply after all attempts."""
    table, results = drawn(400, 352), []
    net = spinet.Network(select.network(table, clients=12), seed=5)

    def program(host: RunningHost) -> Generator[Any, Any, None]:
        client = table.connect(host, number=host.number - 1)
        yield host.sleep("20 us")
        results.append((yield from client.select("")))

    for number in range(12):
        net[number + 1].host.program = program
    result = net.run()
    assert len(results) == 12 and all(np.array_equal(rows, table.rows) for rows in results)
    assert result.nodes["n0"].summary["packets"]["in"] < 5 * 12 * len(table.requests(""))


def test_malformed_requests_are_counted_and_refused() -> None:
    table = drawn(100, 4)
    card = server(table)
    term = select.Term(column=3).pack()
    good = select.request(0, 100, select.terms("column[3] < 7"))
    wrong = [
        select.request(0, 0, []),
        select.request(1, 100, []),
        select.request(101, 1, []),
        select.request(1, 0xFFFF_FFFF, []),
        select.request(0, 100, [select.Term(column=4)]),
        good[:-1],
        good + b"x",
        b"",
        struct.pack("<III", 0, 100, 5) + 5 * term,
        struct.pack("<III", 0, 100, 1) + term[:2] + b"\2" + term[3:],
    ]
    for number, data in enumerate(wrong, 1):
        (reply,) = ask(card, (select.READ, data))[1]
        assert (select.STATUS[reply.status], reply.data) == ("malformed", b""), number
        assert card.memory.read()[:4] == number.to_bytes(4, "little")
    (reply,) = ask(card, (2, good))[1]
    assert select.STATUS[reply.status] == "malformed"
    assert np.array_equal(rows_of(table, ask(card, (select.READ, good))), table.select("column[3] < 7"))


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        ("column[0] = 5", "is not a term"),
        ("column[0] < 5 or column[1] > 3", "is not a term"),
        ("column[4] < 5", "there is no column 4, must be below 4"),
        ("column[0] < 2147483648", "is out of range"),
        (" and ".join(["column[0] < 5"] * 5), "has 5 terms, must have at most 4"),
    ],
)
def test_impossible_predicates_are_refused(predicate: str, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        drawn(10, 4).requests(predicate)


def test_impossible_tables_are_refused() -> None:
    with pytest.raises(UsageError, match="must have 2 of int32"):
        Table(np.zeros((3, 3), "<f4"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="1 to 352 columns"):
        Table(np.zeros((3, 353), "<i4"))
    with pytest.raises(UsageError, match="rows of a request: 1409, must be 1 to 1408"):
        drawn(2000, 16).requests("", rows=1409)
