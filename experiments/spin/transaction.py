# SPDX-License-Identifier: Apache-2.0
"""Distributed transactions with two-phase commit on cards: latency of the phases, and commits under contention.

`sdk/services/transaction.c` locks records on the card, and writes its log to host memory before it votes. The latency
is that of the three phases of a transaction (lock, prepare, commit) at one participant, each from the first bit of the
request at the client to the last bit of the reply; participants work at the same time. *RPC* has plain NICs on the same
network: the host of the participant does the work, with stated costs (`experiments/spin/storage.py`), and its log is in
its own memory. The time of the client's host between the phases is not counted.

Under contention, four clients each perform 50 transactions with two records of two participants, without a pause. The
fewer records there are, the more transactions find a lock, and are aborted.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from statistics import median
from typing import TYPE_CHECKING, Any

import spinet
from experiments.spin import service, storage
from spinet import plots
from spinet.host_program import RunningHost
from spinet.reproduce import Claim, Point, Results
from spinet.services import Participant, transaction
from spinet.services.transaction import COMMIT, Outcome
from spinet.services.wire import DATA_AT, Packet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Distributed transactions"
SOURCE = "named in Hoefler et al., sPIN, SC 2017, as presented at the OFA Workshop 2022; no numbers are published"

WRITES = (1, 2, 4, 8)
RECORDS = (4, 16, 64, 256)
SERVERS = ("sPIN", "RPC")
_CLIENTS, _PARTICIPANTS, _TRANSACTIONS = 4, 2, 50
_MEASURED = 9


def points() -> list[Point]:
    """Latencies by number of records, then contention."""
    latencies = [
        Point(
            name=f"{server}, {n} records",
            settings={"kind": "latency", "server": server, "n": n},
            quick=n == 2,
        )
        for server in SERVERS
        for n in WRITES
    ]
    return latencies + [
        Point(name=f"contention, {n} records", settings={"kind": "contention", "server": "sPIN", "n": n})
        for n in RECORDS
    ]


def measure(*, kind: str, server: str, n: int) -> dict[str, float]:
    """Latency in microseconds, or commits a millisecond and the share of aborted transactions."""
    if kind == "contention":
        return _contention(n)
    if server == "RPC":
        data = (8 + 4 * n, 8 + 8 * n, 8)  # bytes of the three requests
        replies = (4 * n, 0, 0)
        ns = sum(
            storage.flight_ns(DATA_AT + asked) + storage.flight_ns(DATA_AT + found)
            for asked, found in zip(data, replies, strict=True)
        )
        return {"latency": (ns + 3 * (storage.PCIE_NS + storage.HOST_NS + storage.PCIE_NS)) / 1000}
    frames = []
    for number in range(1, 5 + _MEASURED):  # the first four fill the instruction caches of the clusters
        records = [(number * 8 + at) % 1024 for at in range(n)]
        phases = (
            transaction.lock(number, records),
            transaction.prepare(number, dict.fromkeys(records, number)),
            transaction.end(number, COMMIT),
        )
        for phase, (kind_, content) in enumerate(phases):
            packet = Packet(request=3 * number + phase - 2, client=0, kind=kind_, data=content)
            frames.append(packet.frame(source=service.CLIENT, target=service.SERVER, port=transaction.PORT))
    found = service.latencies_ns(Participant().node(), frames[:12], frames[12:])
    return {"latency": median(sum(found[at : at + 3]) for at in range(0, len(found), 3)) / 1000}


def _contention(n: int) -> dict[str, float]:
    participant = Participant(records=n // _PARTICIPANTS)
    net = spinet.Network(transaction.network(participant, _PARTICIPANTS, _CLIENTS), limit="100 ms")
    records = [(node, record) for node in range(_PARTICIPANTS) for record in range(participant.records)]
    done: list[Outcome] = []
    ends: list[int] = []
    begin_ps = 20_000_000  # the cards have booted

    def program(host: RunningHost) -> Generator[Any, Any, None]:
        own = random.Random(host.number)
        client = participant.connect(host, number=host.number - _PARTICIPANTS)
        yield host.sleep(f"{begin_ps} ps")
        for _ in range(_TRANSACTIONS):
            outcome = yield from client.transact(
                own.sample(records, 2), lambda values: {record: value + 1 for record, value in values.items()}
            )
            done.append(outcome)
        ends.append(host.now_ps)

    for node in net.nodes[_PARTICIPANTS:]:
        node.host.program = program
    assert net.run().ended == "complete"
    commits = sum(outcome.status == "committed" for outcome in done)
    return {"commits": commits / (max(ends) - begin_ps) * 1e9, "aborted": 1 - commits / len(done)}


def claims(results: Results) -> Iterator[Claim]:
    """Claims about which one is faster."""
    latency = {(server, n): results.value(f"{server}, {n} records", "latency") for server in SERVERS for n in WRITES}
    yield Claim(
        text="With one record, the phases on the card take less time than those of an RPC (ordering)",
        holds=latency["sPIN", 1] < latency["RPC", 1],
        found=", ".join(f"{latency['sPIN', n]:.2f}" for n in WRITES) + f" µs; RPC {latency['RPC', 1]:.2f} µs",
    )
    aborted = [results.value(f"contention, {n} records", "aborted") for n in RECORDS]
    yield Claim(
        text="The share of aborted transactions falls with the number of records",
        holds=aborted == sorted(aborted, reverse=True),
        found=", ".join(f"{share:.0%}" for share in aborted),
    )


def plot(results: Results) -> Figure:
    """Draws latencies, commits and aborts."""
    latencies = []
    for look, server in enumerate(SERVERS):
        x, y = results.series("n", "latency", server=server, kind="latency")
        latencies.append(plots.Curve(label=server, x=x, y=y, look=look))
    many: dict[str, Any] = {"x_label": "records at both participants", "x_base": 2, "x_ticks": RECORDS}
    panels = [
        plots.Panel(
            title="three phases", x_label="records of a transaction", y_label="latency (µs)", curves=latencies,
            x_base=2, x_ticks=WRITES,
        )
    ]  # fmt: skip
    for quantity, title, label in (
        ("commits", "commits", "commits a millisecond"),
        ("aborted", "aborts", "share of transactions"),
    ):
        x, y = results.series("n", quantity, kind="contention")
        panels.append(plots.Panel(title=title, y_label=label, curves=[plots.Curve(label="", x=x, y=y)], **many))
    return plots.curves(panels, columns=3, title=TITLE, caption=f"{service.MEASURED} RPC by stated costs.")
