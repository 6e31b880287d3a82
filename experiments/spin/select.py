# SPDX-License-Identifier: Apache-2.0
"""SC 2017, use case of a conditional read: time and data by the share of rows that the predicate discards.

`sdk/services/select.c` reads a table of rows of 64 bytes in host memory, and sends the rows whose first column is
greater than a limit. The client divides the query into requests of 16 KiB of the table, at most 16 in flight. The time
begins with the first bit of the first request, and ends with the last bit of the last reply. *RDMA* reads the whole
table with a plain NIC on the same network: one request, then packets at the line rate after a read of host memory
(`service.py`); the time in which the client filters is not counted.

The data are the bytes that the client receives, with headers, relative to those of RDMA. By arithmetic, they are the
share of rows that remain. The published factors are read from a plot of the talk: at 512 KiB, 1.2 to 3.5 times faster.

PsPIN's engine for host memory reads one page of 4 KiB after the other, each with the latency of the host, so it reads
about 76 Gbit/s, and a card cannot win against RDMA on a faster line.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from experiments.spin import service, storage
from spinet import plots
from spinet.reproduce import Claim, Point, Results
from spinet.services import Table, select
from spinet.services.wire import DATA_AT, Packet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Conditional read"
SOURCE = "Hoefler et al., sPIN, SC 2017, as presented at the OFA Virtual Workshop 2022"

SIZES = (64 << 10, 512 << 10)
LINKS = (40, 400)  # Gbit/s
DISCARDED = (0, 20, 40, 60, 80)
_ROW_BYTES = 64
_PACKET_BYTES = DATA_AT + 1408
_BOOTED_NS = 50_000
_WARM_NS = 50_000  # between the requests that fill the instruction caches and the measured ones


def _name(size: int, gbps: int, discarded: int) -> str:
    return f"{size >> 10} KiB, {gbps} Gbit/s, {discarded} % discarded"


def points() -> list[Point]:
    """One point for each size, link and share of discarded rows."""
    return [
        Point(
            name=_name(size, gbps, discarded),
            settings={"size": size, "gbps": gbps, "discarded": discarded},
            quick=size == SIZES[0] and gbps == LINKS[0],
        )
        for size in SIZES
        for gbps in LINKS
        for discarded in DISCARDED
    ]


def _read_all(size: int, gbps: int) -> tuple[float, int]:
    """Time of an RDMA read of the table, and its bytes."""
    n_packets = -(-size // 1408)
    n_bytes = size + DATA_AT * n_packets
    # The first packet is a whole one; the line carries the bytes of the others, with FCS, preamble and gap.
    rest_ns = max(0, n_bytes + 24 * (n_packets - 1) - _PACKET_BYTES) * 8 / gbps
    ns = storage.flight_ns(70, gbps=gbps) + storage.HOST_READ_NS + rest_ns
    return ns + storage.flight_ns(min(_PACKET_BYTES, n_bytes), gbps=gbps), n_bytes


@cache
def _table(size: int) -> Table:
    rows = np.random.default_rng(2017).integers(0, 1 << 30, (size // _ROW_BYTES, _ROW_BYTES // 4)).astype("<i4")
    rows[:, 0] = np.random.default_rng(6).permutation(len(rows)) * 100 // len(rows)
    return Table(rows)


def measure(*, size: int, gbps: int, discarded: int) -> dict[str, float]:
    """Time of the query in microseconds, that of an RDMA read, and the share of the data."""
    table = _table(size)
    predicate = f"column[0] >= {discarded}"
    frames = [
        Packet(request=number, client=0, kind=kind, data=data).frame(
            source=service.CLIENT, target=service.SERVER, port=select.PORT
        )
        for number, (kind, data) in enumerate(table.requests(predicate), 1)
    ]
    warm = [(_BOOTED_NS + 20.0 * i, frames[0]) for i in range(32)]
    begin = _BOOTED_NS + _WARM_NS + 200_000.0
    # All at once: requests beyond the client's window would only wait at the engine for host memory.
    sends = {service.CLIENT: warm + [(begin, frame) for frame in frames]}
    arrived = storage.run(sends, 2, node=table.node(), gbps=gbps)
    ends = arrived.at(service.CLIENT, since=begin)
    wanted = len(table.select(predicate))
    each = [
        -(-len(np.flatnonzero(part[:, 0] >= discarded)) // 22) or 1
        for part in np.split(table.rows, range(256, len(table.rows), 256))
    ]
    assert len(ends) == sum(each), (len(ends), each)
    rdma_ns, rdma_bytes = _read_all(size, gbps)
    n_bytes = wanted * _ROW_BYTES + len(ends) * DATA_AT
    ns = float(ends.max()) - begin
    return {"time": ns / 1000, "RDMA": rdma_ns / 1000, "data": n_bytes / rdma_bytes}


def _factors(results: Results, size: int, gbps: int) -> list[float]:
    """Time of the RDMA read over that of the query, by share."""
    times = results.series("discarded", "time", size=size, gbps=gbps)[1]
    rdma = results.series("discarded", "RDMA", size=size, gbps=gbps)[1]
    return [all_ / one for one, all_ in zip(times, rdma, strict=True)]


def claims(results: Results) -> Iterator[Claim]:
    """The published factors, and orderings."""
    factors = {gbps: _factors(results, SIZES[1], gbps) for gbps in LINKS}
    for gbps in LINKS:
        yield Claim(
            text=f"Queries of 512 KiB are 1.2 to 3.5 times faster for 20 to 80 % (read from a plot); {gbps} Gbit/s",
            holds=None,
            found=", ".join(f"{factor:.2f}" for factor in factors[gbps][1:]) + " times",
        )
    yield Claim(
        text="No query is faster by more than 1/(1 - share), the factor in data",
        holds=all(
            factor <= 1 / (1 - discarded / 100)
            for size in SIZES
            for gbps in LINKS
            for factor, discarded in zip(_factors(results, size, gbps), DISCARDED, strict=True)
        ),
        found=f"up to {max(max(found) for found in factors.values()):.2f} times faster, at a bound of 5",
    )


def plot(results: Results) -> Figure:
    """One panel of factors in time, one of data."""
    times, data = [], []
    for look, (size, gbps) in enumerate((size, gbps) for size in SIZES for gbps in LINKS):
        label = f"{size >> 10} KiB"
        times.append(
            plots.Curve(label=f"{label}, {gbps} Gbit/s", x=DISCARDED, y=_factors(results, size, gbps), look=look)
        )
        if gbps == LINKS[0]:
            x, y = results.series("discarded", "data", size=size, gbps=gbps)
            data.append(plots.Curve(label=label, x=x, y=y, look=look))
    bound = [1 / (1 - one / 100) for one in DISCARDED]
    times.append(plots.Curve(label="data: all over remaining rows", x=DISCARDED, y=bound, kind="formula"))
    remaining = [1 - one / 100 for one in DISCARDED]
    data.append(plots.Curve(label="rows that remain", x=DISCARDED, y=remaining, kind="formula"))
    axis: dict[str, Any] = {"x_label": "rows discarded (%)", "x_ticks": DISCARDED}
    panels = [
        plots.Panel(title="time", y_label="times faster than RDMA read of all", curves=times, **axis),
        plots.Panel(title="data", y_label="data over RDMA read of all", curves=data, **axis),
    ]
    caption = "spinet: preset pspin; a switch with 50 ns; warm caches. RDMA by stated costs."
    return plots.curves(panels, columns=2, title=TITLE, caption=caption)
