# SPDX-License-Identifier: Apache-2.0
"""SC 2017, use case 4: message matching and rendezvous on cards, against a host that matches.

`sdk/services/matching.c` keeps the lists of posted receives and unexpected messages on the card. A latency begins when
the sender's program sends, and ends when the receiver's program sees the record of its receive; the receive is posted
before. The baseline is a host with a plain NIC on the same network, with stated costs (`experiments/spin/storage.py`):
it searches the list, copies a short message from the NIC's buffer, and reads a long one by RDMA as soon as its program
calls the library.

*Depth* is the number of posted receives before the one that matches. *Overlap*: a message of 16 KiB is announced when
the receiver's program begins to compute; the time runs from then until the program has computed and has the message.
*Rate*: eight senders send 15 messages each, at the same time, to a rank with posted receives. A host is assumed to
match on one core.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from statistics import median
from typing import TYPE_CHECKING, Any

import spinet
from experiments.spin import service, storage
from spinet import plots
from spinet.host_program import RunningHost
from spinet.reproduce import Claim, Point, Results
from spinet.services import Matching
from spinet.services.matching import ANY_TAG, NUMBERS, UNIT, Receive, Send

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Message matching and rendezvous"
SOURCE = "Hoefler et al., sPIN, SC 2017, as presented at the OFA Virtual Workshop 2022"

SIZES = (8, 64, 256, 1024, 2048, 4096, 16384, 65536)
DEPTHS = (0, 4, 16, 64)
COMPUTE_US = (0, 2, 5, 10, 20, 40)
RATE_SIZES = (8, 256, 1024)
SERVERS = ("sPIN", "host")
_OVERLAP_BYTES = 16384
_SENDERS, _EACH = 8, 15
# assumed: a step in a list that is in the second-level cache: a load of 14 cycles that depends on the last one, 2.8 GHz
_ENTRY_NS = 5
_POLL_NS = 10  # the resolution of measured times
_WARM, _MEASURED = 8, 5
_BEGIN_NS, _APART_NS = 50_000, 200_000
_DATA_AT = NUMBERS["DATA_AT"]

Steps = Generator[Any, Any, None]


def points() -> list[Point]:
    """Latencies by size, by depth, with computation; rates."""
    kinds = {"latency": SIZES, "depth": DEPTHS, "overlap": COMPUTE_US, "rate": RATE_SIZES}
    units = {"latency": "B", "depth": "receives", "overlap": "µs", "rate": "B"}
    return [
        Point(
            name=f"{server}, {kind}, {n} {units[kind]}",
            settings={"kind": kind, "server": server, "n": n},
            quick=(kind, n) in (("latency", 64), ("overlap", 20)),
        )
        for kind, values in kinds.items()
        for server in SERVERS
        for n in values
    ]


def measure(*, kind: str, server: str, n: int) -> dict[str, float]:
    """Time in microseconds, or messages a microsecond."""
    if kind == "rate":
        return {"rate": 1000 / (storage.HOST_NS + n * storage.COPY_NS_PER_BYTE) if server == "host" else _rate(n)}
    size = {"latency": n, "depth": 8, "overlap": _OVERLAP_BYTES}[kind]
    depth = n if kind == "depth" else 0
    compute_ns = 1000 * n if kind == "overlap" else 0
    ns = _host_ns(size, depth, compute_ns) if server == "host" else _card_ns(size, depth, compute_ns)
    return {"time": ns / 1000}


def _host_ns(size: int, depth: int, compute_ns: int) -> float:
    """The stated costs of a host: arrival at its memory, then its work as soon as it does not compute."""
    search = storage.HOST_NS + depth * _ENTRY_NS
    if size <= UNIT:
        arrived = storage.flight_ns(_DATA_AT + size) + storage.PCIE_NS
        return max(arrived, compute_ns) + search + size * storage.COPY_NS_PER_BYTE
    announced = storage.flight_ns(_DATA_AT) + storage.PCIE_NS
    units = -(-size // UNIT)
    wire_ns = (UNIT + _DATA_AT + 24) * storage.NS_PER_BYTE  # FCS, preamble and gap
    read = storage.PCIE_NS + storage.flight_ns(_DATA_AT) + storage.HOST_READ_NS
    read += storage.flight_ns(_DATA_AT + UNIT) + (units - 1) * wire_ns + storage.PCIE_NS
    return max(announced, compute_ns) + search + read + storage.HOST_NS


def _card_ns(size: int, depth: int, compute_ns: int) -> float:
    service_ = Matching()
    net = spinet.Network(service_.network(2), limit="20 ms")
    count = _WARM + _MEASURED
    sent: list[int] = []
    ended: list[int] = []

    def at(host: RunningHost, number: int, ns: int) -> Any:
        return host.sleep(f"{(_BEGIN_NS + _APART_NS * number + ns) * 1000 - host.now_ps} ps")

    def sender(host: RunningHost) -> Steps:
        endpoint = service_.connect(host, poll_ns=_POLL_NS, timeout_ns=1_000_000)
        for number in range(count):
            yield at(host, number, 20_000)
            sent.append(host.now_ps)
            send: Send = endpoint.send(1, bytes(size), tag=1)
            yield from endpoint.wait(send)

    def receiver(host: RunningHost) -> Steps:
        endpoint = service_.connect(host, poll_ns=_POLL_NS, timeout_ns=1_000_000)
        yield at(host, 0, -20_000)
        for _ in range(depth):
            endpoint.post(8, tag=2)  # nobody sends this tag
        yield from endpoint.progress(15_000)
        for number in range(count):
            yield at(host, number, 0)
            receive: Receive = endpoint.post(size, source=0, tag=1)
            yield from endpoint.progress(15_000)  # the card takes it
            yield at(host, number, 20_000 + compute_ns + 1)
            yield from endpoint.wait(receive)
            assert receive.status == "ok" and receive.size == size, receive
            ended.append(receive.end_ps)

    net[0].host.program, net[1].host.program = sender, receiver
    assert net.run().ended == "complete"
    return median(end - begin for begin, end in list(zip(sent, ended, strict=True))[_WARM:]) / 1000


def _rate(size: int) -> float:
    """Messages a microsecond, from the first to the last end; the second round counts, with warm caches."""
    service_ = Matching()
    net = spinet.Network(service_.network(1 + _SENDERS), limit="20 ms")
    ended: list[int] = []

    def sender(host: RunningHost) -> Steps:
        endpoint = service_.connect(host, poll_ns=100, timeout_ns=1_000_000)
        for turn in range(3):
            yield host.sleep(f"{(_BEGIN_NS + _APART_NS + 2 * _APART_NS * turn) * 1000 - host.now_ps} ps")
            sends = [endpoint.send(0, bytes(size), tag=number) for number in range(_EACH)]
            yield from endpoint.wait(*sends)

    def receiver(host: RunningHost) -> Steps:
        endpoint = service_.connect(host, poll_ns=_POLL_NS, timeout_ns=1_000_000)
        for turn in range(3):
            yield host.sleep(f"{(_BEGIN_NS + 2 * _APART_NS * turn) * 1000 - host.now_ps} ps")
            receives = [endpoint.post(size, ignore=ANY_TAG) for _ in range(_SENDERS * _EACH)]
            yield from endpoint.wait(*receives)
            ended[:] = sorted(receive.end_ps for receive in receives)

    for node in net.nodes:
        node.host.program = sender if node.number else receiver
    assert net.run().ended == "complete"
    return (len(ended) - 1) / (ended[-1] - ended[0]) * 1e6


def claims(results: Results) -> Iterator[Claim]:
    """Overlap, and statements that are not judged."""
    latency = {(s, n): results.value(f"{s}, latency, {n} B", "time") for s in SERVERS for n in SIZES}
    yield Claim(
        text="A host that waits for a short message has it sooner; the card writes data and record one after the other",
        holds=None,
        found=", ".join(f"{n} B {latency['sPIN', n]:.2f} and {latency['host', n]:.2f} µs" for n in (8, 1024)),
    )
    overlap = {(s, n): results.value(f"{s}, overlap, {n} µs", "time") for s in SERVERS for n in COMPUTE_US}
    yield Claim(
        text="If the receiver computes for 20 µs or more, a card moves 16 KiB meanwhile; a host begins afterwards",
        holds=all(overlap["sPIN", n] < n + 1 < overlap["host", n] for n in (20, 40)),
        found=", ".join(f"{n} µs: {overlap['sPIN', n]:.1f} and {overlap['host', n]:.1f} µs" for n in (0, 20, 40)),
    )
    yield Claim(
        text="Cards take 22 to 65 % off the overhead of six applications (talk); their traces are not available",
        holds=None,
        found=f"{1 - overlap['sPIN', 20] / overlap['host', 20]:.0%} less time with 20 µs of computation",
    )


def plot(results: Results) -> Figure:
    """Draws latencies by size and by depth, overlap, and rates."""
    names = {"sPIN": "sPIN", "host": "host, stated costs"}

    def curves(kind: str, quantity: str) -> list[plots.Curve]:
        made = []
        for look, server in enumerate(SERVERS):
            x, y = results.series("n", quantity, kind=kind, server=server)
            made.append(plots.Curve(label=names[server], x=x, y=y, look=look))
        return made

    panels = [
        plots.Panel(
            title="latency", x_label="message (B)", y_label="time (µs)", curves=curves("latency", "time"), x_base=2,
            x_ticks=[n for n in SIZES if n != 2048], y_base=10,
        ),
        plots.Panel(title="depth", x_label="receives before", y_label="time (µs)", curves=curves("depth", "time")),
        plots.Panel(
            title="16 KiB while the receiver computes", x_label="computation (µs)", y_label="time (µs)",
            curves=curves("overlap", "time"),
        ),
        plots.Panel(
            title="rate", x_label="message (B)", y_label="messages a microsecond", curves=curves("rate", "rate"),
            x_base=2, x_ticks=RATE_SIZES,
        ),
    ]  # fmt: skip
    return plots.curves(panels, columns=2, title=TITLE, caption=f"{service.MEASURED} Hosts by stated costs.")
