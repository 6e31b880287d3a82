# SPDX-License-Identifier: Apache-2.0
"""SC 2017, use case of a key-value store: latency and rate of gets, with values in host memory or on the card.

`sdk/services/kv.c` hashes the key, walks the chain in L2 and sends the value. A latency begins with the first bit of
the request at the client, and ends with the last bit of the reply. The baselines use plain NICs on the same network,
with stated costs of hosts (`experiments/spin/storage.py`, `service.py`): with *RPC*, the server's host looks the key
up. With *RDMA*, the client reads the entry of the table and then the value, so its host acts between two reads of the
server's memory.

The rate is that of replies if 2,000 gets of random keys come at the line rate. A host is assumed to answer one request
on each core in 200 ns.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING, Any

from experiments.spin import service, storage
from spinet import plots
from spinet.reproduce import Claim, Point, Results
from spinet.services import KeyValue, keyvalue
from spinet.services.wire import DATA_AT, Packet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Key-value store: gets by size of the value"
SOURCE = "Hoefler et al., sPIN, SC 2017, as presented at the OFA Virtual Workshop 2022"

SIZES = (16, 64, 256, 512, 1408)
SERVERS = ("card", "host memory", "RPC", "RDMA")
KEYS = 256
GETS = 2000
_LATENCIES = 25
_ROW_BYTES = 64  # an entry of the table that a client reads with RDMA


def points() -> list[Point]:
    """One point for each server and size."""
    return [
        Point(
            name=f"{server}, {size} B",
            settings={"server": server, "size": size},
            quick=size == 64 and server in ("card", "RPC"),
        )
        for server in SERVERS
        for size in SIZES
    ]


def _frame(number: int, request: tuple[int, bytes]) -> bytes:
    kind, data = request
    packet = Packet(request=number, client=0, kind=kind, data=data)
    return packet.frame(source=service.CLIENT, target=service.SERVER, port=keyvalue.PORT)


def measure(*, server: str, size: int) -> dict[str, float]:
    """Latency of a get in microseconds, and replies a microsecond."""
    request_bytes = DATA_AT + keyvalue.KEY_BYTES
    if server == "RPC":
        ns = storage.flight_ns(request_bytes) + storage.PCIE_NS + storage.HOST_NS + storage.PCIE_NS
        ns += storage.flight_ns(DATA_AT + size)
        return {"latency": ns / 1000, "rate": 1000 / storage.HOST_NS}
    if server == "RDMA":
        # A read request has headers of 58 bytes: Ethernet, IPv4, UDP and InfiniBand's BTH and RETH of 28 bytes.
        ns = sum(
            storage.flight_ns(70) + storage.HOST_READ_NS + storage.flight_ns(58 + n_bytes)
            for n_bytes in (_ROW_BYTES, size)
        )
        ns += storage.PCIE_NS + storage.HOST_NS + storage.PCIE_NS  # the client's host, between the reads
        return {"latency": ns / 1000}
    store = KeyValue(capacity=KEYS, values="card" if server == "card" else "host")
    draw = random.Random(2017)
    keys = [b"user%d" % number for number in range(KEYS)]
    puts = [_frame(number, keyvalue.put(key, draw.randbytes(size))) for number, key in enumerate(keys, 1)]
    gets = [_frame(number, keyvalue.get(draw.choice(keys))) for number in range(1, GETS + 1)]
    warm = puts + gets[:8]
    found = service.latencies_ns(store.node(), warm, gets[:_LATENCIES])
    return {"latency": median(found) / 1000, "rate": service.rate_mhz(store.node(), warm, gets)}


def claims(results: Results) -> Iterator[Claim]:
    """The published factor, and orderings."""
    less = {
        (server, size): 1
        - results.value(f"{server}, {size} B", "latency") / results.value(f"RDMA, {size} B", "latency")
        for server in ("card", "host memory")
        for size in SIZES
    }
    ranges = (f"{min(part):.0%} to {max(part):.0%} ({server})" for server, part in _by_server(less).items())
    yield Claim(
        text="A get takes 41 % less time (talk); its baseline and set-up are not stated",
        holds=None,
        found=f"{', '.join(ranges)} less than RDMA",
    )
    at = {server: results.value(f"{server}, 64 B", "latency") for server in ("card", "RPC")}
    yield Claim(
        text="Gets of values on the card take less time than those of an RPC, for all sizes (ordering)",
        holds=all(
            results.value(f"card, {size} B", "latency") < results.value(f"RPC, {size} B", "latency") for size in SIZES
        ),
        found=f"{at['card']:.2f} and {at['RPC']:.2f} µs at 64 B",
    )


def _by_server(values: dict[tuple[str, int], float]) -> dict[str, list[float]]:
    made: dict[str, list[float]] = {}
    for (server, _), value in values.items():
        made.setdefault(server, []).append(value)
    return made


def plot(results: Results) -> Figure:
    """One panel of latencies, one of rates."""
    latencies, rates = [], []
    for look, server in enumerate(SERVERS):
        label = {"card": "sPIN, values on the card", "host memory": "sPIN, values in host memory"}.get(server, server)
        x, y = results.series("size", "latency", server=server)
        latencies.append(plots.Curve(label=label, x=x, y=y, look=look))
        if server == "RPC":
            label = "RPC, one core"
        if server != "RDMA":
            x, y = results.series("size", "rate", server=server)
            rates.append(plots.Curve(label=label, x=x, y=y, look=look))
    bound = [service.line_rate_mhz(DATA_AT + size) for size in SIZES]
    asked = service.line_rate_mhz(DATA_AT + keyvalue.KEY_BYTES)
    rates.append(
        plots.Curve(label="line, 400 Gbit/s", x=SIZES, y=[min(asked, value) for value in bound], kind="formula")
    )
    axis: dict[str, Any] = {"x_label": "value (B)", "x_base": 2, "x_ticks": SIZES}
    panels = [
        plots.Panel(title="latency", y_label="latency (µs)", curves=latencies, **axis),
        plots.Panel(title="rate", y_label="gets a microsecond", curves=rates, y_base=10, **axis),
    ]
    return plots.curves(panels, columns=2, title=TITLE, caption=f"{service.MEASURED} RPC and RDMA by stated costs.")
