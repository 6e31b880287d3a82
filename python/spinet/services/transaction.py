# SPDX-License-Identifier: Apache-2.0
"""Distributed transactions: participants of `sdk/services/transaction.c`, and the coordinator in a client's program."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spinet import _core
from spinet._core import UsageError
from spinet.host_program import RunningHost
from spinet.services import client, wire
from spinet.services.client import Answer, Steps
from spinet.services.wire import WINDOW

_NUMBERS = wire.numbers("transaction.c")
PORT = _NUMBERS["TX_PORT"]
LOCK, PREPARE, COMMIT, ABORT = (_NUMBERS[f"TX_{name}"] for name in ("LOCK", "PREPARE", "COMMIT", "ABORT"))
MOST = _NUMBERS["TX_MOST"]
STATUS = {_NUMBERS[f"TX_{name.upper()}"]: name for name in ("ok", "conflict", "full", "malformed")} | wire.DENIED
STATES = {_NUMBERS[f"TX_{name.upper()}"]: name for name in ("prepared", "committed", "aborted")}
EVENTS = ("refused", "duplicates", "conflicts")
HOST_AT = 0x2000_0000  # address of a participant's log in host memory

_ENTRY_BYTES = _NUMBERS["TX_ENTRY_BYTES"]
_CLIENT_BYTES = 128
_TRANSACTIONS = 1 << 20  # largest number of transactions of a client

Record = tuple[int, int]
"""The node of a participant, and the number of a record there."""


@dataclass(frozen=True, kw_only=True)
class Participant:
    """A participant of transactions, on the card of a network's node.

    Attributes
    ----------
    records
        Number of records; each is a number of 32 bits, at first 0.
    log_entries
        Most transactions in the log.
    clients
        Number of clients.
    access_key
        Key of 32 bits that requests need, as an rkey of RDMA; 0: none. Those without it get the status ``denied``.

    Examples
    --------
    >>> Participant(records=16).log_bytes
    524288
    """

    records: int = 1024
    log_entries: int = 4096
    clients: int = 16
    access_key: int = 0

    def __post_init__(self) -> None:
        """Refuse participants that the handler does not support."""
        wire.check_access_key(self.access_key)
        for name, most in (("records", 65536), ("log_entries", 1 << 24), ("clients", 1024)):
            value = _core.whole(name, getattr(self, name))
            if not 1 <= value <= most:
                raise UsageError(f"{name} is {value}, must be 1 to {most}")

    @property
    def memory_bytes(self) -> int:
        """Bytes of handler memory: `tx_t`."""
        return 64 + self.clients * (4 * WINDOW + _CLIENT_BYTES + 4) + 8 * self.records

    @property
    def log_bytes(self) -> int:
        """Bytes of the log in host memory, from `HOST_AT` on."""
        return self.log_entries * _ENTRY_BYTES

    @property
    def defines(self) -> dict[str, str | int]:
        """Macros for the handler."""
        made: dict[str, str | int] = {
            "TX_RECORDS": self.records,
            "TX_LOG_ENTRIES": self.log_entries,
            "TX_CLIENTS": self.clients,
            "TX_MEMORY_BYTES": self.memory_bytes,
        }
        return wire.with_access_key(made, self.access_key)

    def node(self) -> dict[str, Any]:
        """Keys of a participant's node."""
        context = {
            "name": "transaction",
            "match": f"ipv4.header_words == 5 && udp.dst_port == {PORT}",
            "handler_memory": {"size": self.memory_bytes},
            "host_memory": {"addr": HOST_AT, "size": self.log_bytes},
            "scratchpad_bytes": _NUMBERS["TX_SCRATCHPAD_BYTES"],
        }
        return {"program": wire.program("transaction.c", self.defines), "context": [context]}

    def connect(self, host: RunningHost, *, number: int, access_key: int | None = None, **settings: int) -> Coordinator:
        """A coordinator, for the program of a host whose node has the keys of `spinet.services.client.node`."""
        if not 0 <= number < self.clients:
            raise UsageError(f"number is {number}, must be 0 to {self.clients - 1}")
        key = wire.key_of_client(access_key, self.access_key)
        return Coordinator(host, number=number, server=0, port=PORT, access_key=key, **settings)

    @staticmethod
    def events(memory: bytes) -> dict[str, int]:
        """Number of entries in the log, and counters of events, from a participant's handler memory."""
        logged, *counts = struct.unpack_from(f"<i{len(EVENTS)}I", memory)
        return {"logged": logged, **dict(zip(EVENTS, counts, strict=True))}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An entry of a participant's log.

    Attributes
    ----------
    transaction, client
        Numbers of the transaction and its client.
    state
        ``prepared`` if the outcome is not known; ``committed`` or ``aborted``.
    writes
        New values by record.
    """

    transaction: int
    client: int
    state: str
    writes: dict[int, int]


def log(memory: bytes) -> list[Entry]:
    """The entries of a participant's log, from its host memory."""
    entries = []
    for at in range(0, len(memory), _ENTRY_BYTES):
        transaction, state, number, count = struct.unpack_from("<4I", memory, at)
        if transaction == 0:  # not written: places are taken in order, but entries may be written in another order
            continue
        pairs = struct.unpack_from(f"<{2 * count}I", memory, at + 16)
        writes = dict(zip(pairs[::2], pairs[1::2], strict=True))
        entries.append(Entry(transaction=transaction, client=number, state=STATES[state], writes=writes))
    return entries


def recover(memory: bytes, *others: bytes) -> dict[int, int]:
    """The values of all records that committed transactions wrote, from a participant's log.

    A client that dies between its commits leaves a transaction ``committed`` at some participants and ``prepared`` at
    others. It counts as committed at all of them: a client sends a commit only if all have voted for it.

    Parameters
    ----------
    memory
        The log of the participant whose records are wanted.
    others
        The logs of the other participants.

    Raises
    ------
    UsageError
        If one log has a transaction as committed and another one as aborted.
    """
    entries = [entry for part in (memory, *others) for entry in log(part)]
    committed = {entry.transaction for entry in entries if entry.state == "committed"}
    for entry in entries:
        if entry.state == "aborted" and entry.transaction in committed:
            raise UsageError(f"transaction {entry.transaction} is committed in one log and aborted in another")
    values: dict[int, int] = {}
    for entry in log(memory):
        if entry.transaction in committed:
            values.update(entry.writes)
    return values


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a transaction.

    Attributes
    ----------
    number
        Number of the transaction.
    status
        ``committed``; ``conflict``, if another transaction had locked a record; ``full``, if a log was full.
    values
        Values that the transaction read; empty after a conflict.
    writes
        Values that it wrote, if it was committed.
    """

    number: int
    status: str
    values: dict[Record, int]
    writes: dict[Record, int]


class Coordinator(client.Client):
    """A client that coordinates transactions, one at a time."""

    _count = 0

    def transact(self, records: Sequence[Record], change: Callable[[dict[Record, int]], Mapping[Record, int]]) -> Steps:
        """Perform a transaction: a generator for ``yield from`` that returns an `Outcome`.

        Parameters
        ----------
        records
            Records that it reads or writes: at most 8 at each participant.
        change
            Computes the new values of some of the records from the values of all.

        Raises
        ------
        UsageError
            If a participant refuses a request, or does not reply. Before the first commit, the transaction is aborted,
            and participants that reply have no locks of it. Later, it is committed wherever a commit arrives.
        """
        self._count += 1
        number = (self.number + 1) * _TRANSACTIONS + self._count
        own: dict[int, list[int]] = {}
        for node, record in records:
            own.setdefault(node, []).append(record)
        for node, numbers in own.items():
            if len(numbers) > MOST or len(set(numbers)) < len(numbers):
                raise UsageError(f"records of node {node}: {numbers}, must be at most {MOST}, each of them once")
        try:
            outcome: Outcome = yield from self._vote(number, own, change)
        except Exception:
            # No commit was sent. A request without a reply may have locked records, so all participants abort.
            yield from self._send(dict.fromkeys(own, end(number, ABORT)))
            raise
        if outcome.status != "conflict":
            yield from self._ask(dict.fromkeys(own, end(number, COMMIT if outcome.status == "committed" else ABORT)))
        return outcome

    def _vote(
        self,
        number: int,
        own: Mapping[int, Sequence[int]],
        change: Callable[[dict[Record, int]], Mapping[Record, int]],
    ) -> Steps:
        """Lock the records, compute the new values and collect the votes. Locks stay unless there is a conflict."""
        found = yield from self._ask({node: lock(number, numbers) for node, numbers in own.items()})
        locked = [node for node, answer in found.items() if _status(answer) == "ok"]
        if len(locked) < len(own):
            yield from self._ask(dict.fromkeys(locked, end(number, ABORT)))
            return Outcome(number=number, status="conflict", values={}, writes={})
        values = {
            (node, record): value
            for node, numbers in own.items()
            for record, (value,) in zip(numbers, struct.iter_unpack("<I", found[node].packets[0].data), strict=True)
        }
        writes = dict(change(dict(values)))
        if not writes.keys() <= values.keys():
            raise UsageError(f"the transaction writes {writes}, but has locked only {list(values)}")
        prepares = {
            node: prepare(number, {record: value for (at, record), value in writes.items() if at == node})
            for node in own
        }
        votes = yield from self._ask(prepares)
        is_committed = all(_status(answer) == "ok" for answer in votes.values())
        status = "committed" if is_committed else "full"
        return Outcome(number=number, status=status, values=values, writes=writes if is_committed else {})

    def _send(self, requests: Mapping[int, tuple[int, bytes]]) -> Steps:
        """Send a request to each participant, and wait for all replies or until the client gives up."""
        answers: list[Answer] = yield from self.perform(list(requests.values()), servers=list(requests))
        return dict(zip(requests, answers, strict=True))

    def _ask(self, requests: Mapping[int, tuple[int, bytes]]) -> Steps:
        """As `_send`, but an error if a participant refuses its request or does not reply."""
        answers: dict[int, Answer] = yield from self._send(requests)
        for node, answer in answers.items():
            if _status(answer) not in ("ok", "conflict", "full"):
                raise UsageError(f"participant {node}: {_status(answer)}: {answer}")
        return answers


def _status(answer: Answer) -> str:
    return STATUS[answer.packets[0].status] if answer.packets else "lost"


def lock(number: int, records: Sequence[int]) -> tuple[int, bytes]:
    """Kind and data of a request that locks records."""
    return LOCK, struct.pack(f"<II{len(records)}I", number, len(records), *records)


def prepare(number: int, writes: Mapping[int, int]) -> tuple[int, bytes]:
    """Kind and data of a request that prepares writes."""
    pairs = (part for pair in writes.items() for part in pair)
    return PREPARE, struct.pack(f"<II{2 * len(writes)}I", number, len(writes), *pairs)


def end(number: int, kind: int) -> tuple[int, bytes]:
    """Kind and data of a request that commits or aborts."""
    return kind, struct.pack("<II", number, 0)


def network(participant: Participant, participants: int, clients: int, *, faults: str = "") -> dict[str, Any]:
    """Keys of a star: the first nodes are participants, the others are clients. `faults` are those of all links."""
    made = client.network(participant.node(), participants + clients - 1, faults=faults)
    server, others = made["nodes"]
    made["nodes"] = [{**server, "name": f"n{number}"} for number in range(participants)] + [others]
    return made
