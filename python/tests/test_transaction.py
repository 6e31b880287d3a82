# SPDX-License-Identifier: Apache-2.0
"""Distributed transactions: serialisability of drawn schedules, logs, conflicts, lost and repeated packets."""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Generator
from graphlib import TopologicalSorter
from typing import Any

import pytest
import spinet
from spinet._core import UsageError
from spinet.host_program import RunningHost
from spinet.services import Participant, transaction
from spinet.services.transaction import ABORT, COMMIT, Outcome, Record
from spinet.services.wire import SOURCES, Packet

from rounds import Card

Steps = Generator[Any, Any, None]
BOOT = "20 us"


def seeded(seed: int) -> random.Random:
    print("seed", seed)
    return random.Random(seed)


class Node:
    """A participant without a network."""

    def __init__(self, participant: Participant) -> None:
        node = {**participant.node(), "program": str(SOURCES / "transaction.c"), "defines": participant.defines}
        self.card = Card(node, host=bytes(participant.log_bytes))
        self.participant = participant
        self.numbers: Counter[int] = Counter()

    def frame(self, request: tuple[int, bytes], client: int = 0) -> bytes:
        self.numbers[client] += 1
        kind, data = request
        packet = Packet(request=self.numbers[client], client=client, kind=kind, data=data)
        return packet.frame(source=1 + client, target=0, port=transaction.PORT)

    def process(self, *frames: bytes) -> list[Packet]:
        return [Packet.of_frame(frame) for frame in self.card.process(list(frames))]

    def ask(self, request: tuple[int, bytes], client: int = 0) -> tuple[str, list[int]]:
        """Status and values of the reply."""
        (reply,) = self.process(self.frame(request, client))
        return transaction.STATUS[reply.status], [value for (value,) in struct.iter_unpack("<I", reply.data)]

    @property
    def log(self) -> list[transaction.Entry]:
        self.card.machine.step("5 us")  # writes may still be on their way
        return transaction.log(self.card.host.read(size=self.participant.log_bytes))

    @property
    def events(self) -> dict[str, int]:
        return Participant.events(self.card.memory.read())


def test_a_transaction_locks_prepares_and_commits() -> None:
    node = Node(Participant(records=10))
    assert node.ask(transaction.lock(7, [3, 1])) == ("ok", [0, 0])
    assert node.ask(transaction.prepare(7, {1: 11, 3: 33})) == ("ok", [])
    assert [entry.state for entry in node.log] == ["prepared"]
    assert node.ask(transaction.end(7, COMMIT)) == ("ok", [])
    assert node.ask(transaction.lock(8, [1, 2, 3])) == ("ok", [11, 0, 33])
    assert node.ask(transaction.prepare(8, {2: 22})) == ("ok", [])
    assert node.ask(transaction.end(8, ABORT)) == ("ok", [])
    assert node.ask(transaction.lock(9, [1, 2, 3])) == ("ok", [11, 0, 33])
    assert node.ask(transaction.end(9, ABORT)) == ("ok", [])  # it was not prepared, so it is not in the log
    first, second = node.log
    assert (first.transaction, first.client, first.state, first.writes) == (7, 0, "committed", {1: 11, 3: 33})
    assert (second.transaction, second.state, second.writes) == (8, "aborted", {2: 22})
    assert node.events == {"logged": 2, "refused": 0, "duplicates": 0, "conflicts": 0}


def test_a_conflict_locks_nothing() -> None:
    node = Node(Participant(records=10))
    assert node.ask(transaction.lock(1, [5]), client=0) == ("ok", [0])
    assert node.ask(transaction.lock(2, [4, 5, 6]), client=1) == ("conflict", [])
    assert node.ask(transaction.lock(3, [4, 6]), client=2) == ("ok", [0, 0])
    assert node.ask(transaction.end(2, ABORT), client=1) == ("ok", [])
    assert node.ask(transaction.lock(4, [4]), client=1) == ("conflict", [])  # client 2 still has it
    assert node.events["conflicts"] == 2


@pytest.mark.parametrize("n_records", [1, 3])
def test_clients_that_lock_at_the_same_time_never_share_a_record(n_records: int) -> None:
    draw = seeded(n_records)
    node = Node(Participant(records=8))
    for turn in range(6):
        wanted = {client: draw.sample(range(8), n_records) for client in range(16)}
        frames = [node.frame(transaction.lock(100 * turn + client + 1, wanted[client]), client) for client in wanted]
        draw.shuffle(frames)
        won = [reply.client for reply in node.process(*frames) if transaction.STATUS[reply.status] == "ok"]
        locked = [record for client in won for record in wanted[client]]
        assert len(set(locked)) == len(locked)
        if n_records == 1:  # with more, all may conflict
            assert set(locked) == {record for records in wanted.values() for record in records}
        for client in won:
            assert node.ask(transaction.end(100 * turn + client + 1, ABORT), client) == ("ok", [])
        # All records are free again.
        assert node.ask(transaction.lock(100 * turn + 50, list(range(8))))[0] == "ok"
        assert node.ask(transaction.end(100 * turn + 50, ABORT))[0] == "ok"


def test_copies_of_requests_change_nothing() -> None:
    node = Node(Participant(records=4))
    requests = [transaction.lock(1, [2]), transaction.prepare(1, {2: 5}), transaction.end(1, COMMIT)]
    frames = [node.frame(request) for request in requests]
    for frame in frames:
        first, second = node.process(frame)[0], node.process(frame)[0]
        assert (first.status, first.data) == (second.status, second.data)
    assert node.ask(transaction.lock(2, [2]), client=1) == ("ok", [5])
    for frame in frames:  # late copies neither lock, nor commit the other transaction
        node.process(frame)
    assert node.ask(transaction.prepare(2, {2: 6}), client=1) == ("ok", [])
    assert node.ask(transaction.end(2, COMMIT), client=1) == ("ok", [])
    assert transaction.recover(node.card.host.read(size=1024)) == {2: 6}
    assert node.events == {"logged": 2, "refused": 0, "duplicates": 6, "conflicts": 0}


def test_a_request_behind_a_later_one_of_its_client_is_not_performed() -> None:
    node = Node(Participant(records=10))
    late = node.frame(transaction.lock(7, [3]))
    assert node.ask(transaction.end(7, ABORT))[0] == "malformed"  # the transaction is not known here
    assert node.process(late) == []
    assert node.ask(transaction.lock(8, [3])) == ("ok", [0])
    assert node.ask(transaction.lock(9, [3]), client=1)[0] == "conflict"


def test_entries_behind_one_that_is_not_written_are_recovered() -> None:
    """Places in the log are taken in order, but a core can be late with its entry."""
    (committed,) = (number for number, name in transaction.STATES.items() if name == "committed")
    written = struct.pack("<6I", 5, committed, 0, 1, 2, 42).ljust(128, b"\0")
    assert transaction.recover(bytes(128) + written) == {2: 42}


def test_a_full_log_makes_a_participant_vote_against_commits() -> None:
    node = Node(Participant(records=4, log_entries=2))
    votes = []
    for number in range(1, 5):
        node.ask(transaction.lock(number, [0]))
        votes.append(node.ask(transaction.prepare(number, {0: number}))[0])
        node.ask(transaction.end(number, COMMIT if votes[-1] == "ok" else ABORT))
    assert votes == ["ok", "ok", "full", "full"]
    assert node.ask(transaction.lock(9, [0])) == ("ok", [2])
    assert [entry.writes for entry in node.log] == [{0: 1}, {0: 2}]


def test_malformed_requests_are_counted_and_refused() -> None:
    node = Node(Participant(records=10, clients=2))
    kind, good = transaction.lock(1, [1, 2])
    wrong = [
        (kind, good[:-1]),
        (kind, good + b"x"),
        (kind, good[:4]),
        (5, good),
        (0, good),
        transaction.lock(0, [1]),
        transaction.lock(1, [1, 10]),
        transaction.lock(1, [1, 2, 1]),
        transaction.lock(1, range(9)),
        transaction.prepare(1, {1: 1}),
        transaction.end(1, COMMIT),
        (COMMIT, struct.pack("<II", 1, 1)),
    ]
    for number, request in enumerate(wrong, 1):
        assert node.ask(request)[0] == "malformed", number
        assert node.events["refused"] == number
    assert [reply.status for reply in node.process(node.frame((kind, good), client=2))] == [4]
    assert node.ask((kind, good)) == ("ok", [0, 0])  # nothing of the above has locked a record
    assert node.ask(transaction.lock(2, [3]))[0] == "malformed"  # the client has a transaction already
    assert node.ask(transaction.prepare(1, {3: 1}))[0] == "malformed"  # not locked
    assert node.ask(transaction.end(1, COMMIT))[0] == "malformed"  # not prepared
    assert node.ask(transaction.end(1, ABORT))[0] == "ok"
    assert node.log == []


def serial_order(done: list[Outcome]) -> list[Outcome]:
    """An order in which the committed transactions, one after the other, have the same reads.

    All values that transactions write are different. A transaction that writes a record has also read it, so each value
    has at most one successor.

    Raises
    ------
    graphlib.CycleError
        If there is no such order.
    """
    writer = {(record, value): one.number for one in done for record, value in one.writes.items()}
    successor: dict[tuple[Record, int], int] = {}
    for one in done:
        for record in one.writes:
            version = record, one.values[record]
            assert version not in successor, f"transactions {successor[version]} and {one.number} replace one value"
            successor[version] = one.number
    before: dict[int, set[int]] = {one.number: set() for one in done}
    for one in done:
        for version in one.values.items():
            if version[1] != 0:
                before[one.number].add(writer[version])  # the transaction that wrote the value comes first
            later = successor.get(version)
            if later not in (None, one.number):
                before[later].add(one.number)  # the transaction that replaces the value comes later
    by_number = {one.number: one for one in done}
    return [by_number[number] for number in TopologicalSorter(before).static_order()]


def test_the_check_finds_schedules_that_are_not_serialisable() -> None:
    """Write skew: both read two records, and each writes one of them."""
    x, y = (0, 0), (0, 1)
    skew = [
        Outcome(number=1, status="committed", values={x: 0, y: 0}, writes={x: 1}),
        Outcome(number=2, status="committed", values={x: 0, y: 0}, writes={y: 2}),
    ]
    with pytest.raises(ValueError, match="cycle"):
        serial_order(skew)
    skew[1] = Outcome(number=2, status="committed", values={x: 1, y: 0}, writes={y: 2})
    assert [one.number for one in serial_order(skew)] == [1, 2]


@pytest.mark.parametrize("faults", ["", "loss=0.03,duplicate=0.1,reorder=0.1:8"])
@pytest.mark.parametrize("seed", [1, 2])
def test_drawn_schedules_are_serialisable(seed: int, faults: str) -> None:
    draw = seeded(seed)
    participants, clients = 3, 4
    participant = Participant(records=draw.choice((3, 6)), log_entries=300)
    net = spinet.Network(
        transaction.network(participant, participants, clients, faults=faults), limit="100 ms", seed=seed
    )
    everything = [(node, record) for node in range(participants) for record in range(participant.records)]
    seeds = [draw.random() for _ in range(clients)]
    done: list[Outcome] = []

    def program(host: RunningHost) -> Steps:
        own = random.Random(seeds[host.number - participants])
        client = participant.connect(host, number=host.number - participants, timeout_ns=8000, poll_ns=200)
        yield host.sleep(BOOT)
        for number in range(30):
            records = own.sample(everything, own.randrange(1, 5))
            unique = host.number * 100_000 + number * 10
            new = {record: unique + at for at, record in enumerate(records, 1) if own.random() < 0.6}
            outcome: Outcome = yield from client.transact(records, lambda _, new=new: new)
            done.append(outcome)
            yield host.sleep(f"{own.randrange(1, 2000)} ns")

    for node in net.nodes[participants:]:
        node.host.program = program
    assert net.run().ended == "complete"
    counts = Counter(outcome.status for outcome in done)
    assert sum(counts.values()) == 30 * clients and counts["committed"] > 20 and counts["conflict"] > 5, counts
    committed = [outcome for outcome in done if outcome.status == "committed"]
    state = dict.fromkeys(everything, 0)
    for outcome in serial_order(committed):
        assert outcome.values == {record: state[record] for record in outcome.values}
        state.update(outcome.writes)
    # The logs have the same final values, and all transactions that wrote.
    logged = set()
    for number in range(participants):
        memory = net[number].host_memory(transaction.HOST_AT, participant.log_bytes)
        for record, value in transaction.recover(memory).items():
            assert state.pop((number, record)) == value
        entries = transaction.log(memory)
        assert {entry.state for entry in entries} <= {"committed"}
        logged |= {entry.transaction for entry in entries}
    assert not any(state.values())
    assert logged == {outcome.number for outcome in committed}


def test_transfers_between_accounts_keep_the_sum() -> None:
    """Clients repeat transfers that conflict. At the end, one client reads all accounts."""
    participant = Participant(records=4)
    net = spinet.Network(transaction.network(participant, 2, 3), limit="50 ms")
    accounts = [(node, record) for node in range(2) for record in range(4)]
    found: list[int] = []

    def program(host: RunningHost) -> Steps:
        own = random.Random(host.number)
        client = participant.connect(host, number=host.number - 2, poll_ns=200)
        yield host.sleep(BOOT)
        if host.number == 2:
            outcome = yield from client.transact(accounts, lambda values: dict.fromkeys(values, 100))
            assert outcome.status == "committed"
        yield host.sleep("10 us")
        for _ in range(10):
            giver, taker = own.sample(accounts, 2)
            amount = own.randrange(1, 10)
            status = "conflict"
            while status == "conflict":
                outcome = yield from client.transact(
                    [giver, taker], lambda values, a=giver, b=taker, n=amount: {a: values[a] - n, b: values[b] + n}
                )
                status = outcome.status
                yield host.sleep(f"{own.randrange(1, 3000)} ns")
            assert status == "committed"
        yield host.sleep("1 ms")
        if host.number == 2:
            outcome = yield from client.transact(accounts, lambda _: {})
            found.extend(outcome.values.values())

    for node in net.nodes[2:]:
        node.host.program = program
    assert net.run().ended == "complete"
    assert sum(found) == 800 and len(set(found)) > 3


def test_impossible_participants_and_transactions_are_refused() -> None:
    with pytest.raises(UsageError, match="records is 0, must be 1 to 65536"):
        Participant(records=0)
    with pytest.raises(UsageError, match="number is 16, must be 0 to 15"):
        Participant().connect(RunningHost(0, ["n0"]), number=16)
    coordinator = Participant().connect(RunningHost(0, ["n0"]), number=0)
    for records in ([(1, 1), (1, 1)], [(1, record) for record in range(9)]):
        with pytest.raises(UsageError, match="must be at most 8, each of them once"):
            next(coordinator.transact(records, dict))
