# SPDX-License-Identifier: Apache-2.0
"""Transactions that fail: errors release locks, and logs of all participants give the outcome after a crash."""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator
from typing import Any

import pytest
import spinet
from spinet._core import UsageError
from spinet.host_program import RunningHost
from spinet.services import Participant, transaction
from spinet.services.transaction import COMMIT, Coordinator

Steps = Generator[Any, Any, Any]
A, B = (0, 1), (1, 2)  # records of two participants
NUMBER = 1 << 20 | 99  # of a transaction whose client dies


def run(program: Callable[[Coordinator], Steps], **settings: int) -> list[dict[int, int]]:
    """The records that `recover` finds for two participants, after a client's program."""
    participant = Participant(records=4, log_entries=4)
    net = spinet.Network(transaction.network(participant, 2, 1), limit="20 ms")

    def host_program(host: RunningHost) -> Steps:
        client = participant.connect(host, number=0, **settings)
        yield host.sleep("20 us")
        yield from program(client)

    net[2].host.program = host_program
    assert net.run().ended == "complete"
    logs = [net[node].host_memory(transaction.HOST_AT, participant.log_bytes) for node in range(2)]
    return [transaction.recover(logs[0], logs[1]), transaction.recover(logs[1], logs[0])]


def refuse_new_values(_: object) -> dict[transaction.Record, int]:
    raise ValueError("no new values")


@pytest.mark.parametrize(
    ("records", "change", "problem"),
    [
        ([A, B], refuse_new_values, "no new values"),
        ([A, B], lambda _: {(0, 3): 1}, "has locked only"),
        ([A, (1, 9)], dict, "participant 1: malformed"),
        ([A, (2, 0)], dict, "participant 2: lost"),  # the client's own node, which is not a participant
    ],
)
def test_a_failed_transaction_releases_its_locks(
    records: list[transaction.Record], change: Callable[[Any], Any], problem: str
) -> None:
    def program(client: Coordinator) -> Steps:
        with pytest.raises((UsageError, ValueError), match=problem):
            yield from client.transact(records, change)
        outcome = yield from client.transact([A, B], lambda _: {A: 5, B: 6})
        assert outcome.status == "committed"

    assert run(program, attempts=2) == [{1: 5}, {2: 6}]


@pytest.mark.parametrize("commits", [[], [0], [1], [0, 1]])
def test_logs_of_all_participants_give_the_outcome_after_a_crash(commits: list[int]) -> None:
    """A client dies after commits to some participants."""

    def program(client: Coordinator) -> Steps:
        yield from client._ask({0: transaction.lock(NUMBER, [1]), 1: transaction.lock(NUMBER, [2])})
        yield from client._ask({0: transaction.prepare(NUMBER, {1: 5}), 1: transaction.prepare(NUMBER, {2: 6})})
        yield from client._ask({node: transaction.end(NUMBER, COMMIT) for node in commits})

    assert run(program) == ([{1: 5}, {2: 6}] if commits else [{}, {}])


@pytest.mark.parametrize("prepared", [[], [0]])
def test_a_client_that_dies_before_all_votes_has_changed_nothing(prepared: list[int]) -> None:
    def program(client: Coordinator) -> Steps:
        yield from client._ask({0: transaction.lock(NUMBER, [1]), 1: transaction.lock(NUMBER, [2])})
        yield from client._ask({node: transaction.prepare(NUMBER, {1: 5}) for node in prepared})

    assert run(program) == [{}, {}]


def test_logs_that_contradict_each_other_are_refused() -> None:
    states = {name: number for number, name in transaction.STATES.items()}
    one, other = (
        struct.pack("<6I", 5, states[state], 0, 1, 2, 42).ljust(128, b"\0") for state in ("committed", "aborted")
    )
    with pytest.raises(UsageError, match="transaction 5 is committed in one log and aborted in another"):
        transaction.recover(one, other)
