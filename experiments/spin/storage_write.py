# SPDX-License-Identifier: Apache-2.0
"""SC 2022, Figure 8: latency of a write to one storage node, by protocol and size.

The latency ends when the client has the last bit of the reply; it begins with the first bit of the request. With sPIN,
the card checks the capability, writes each packet to host memory, waits until it is there, and acknowledges. The other
protocols are programs of hosts with plain NICs on the same network, with stated costs (`experiments/spin/storage.py`).
*RDMA write* has no validation, and its NIC acknowledges before the data are in memory, so it is a bound. *RPC* carries
the data in the request, and the host checks it and copies them. *RPC and RDMA* sends a small request; the host checks
it and reads the data from the client. In every run all bytes of all nodes are compared.

*RAID-5* is the update of one data block of sPIN's SC 2017 use case, with the reply of the parity node. The numbers of
Figure 8 were not available. The bound is arithmetic: bits on the line, and two passages of the network.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from experiments.spin import storage
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Latency of writes to a storage node"
SOURCE = f"{storage.PAPER}, Fig. 8"

SIZES = (1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 512 << 10)
PROTOCOLS = ("sPIN", "RDMA write", "RPC", "RPC and RDMA", "sPIN, RAID-5")


def points() -> list[Point]:
    """Sizes and protocols."""
    return [
        Point(
            name=f"{protocol}, {size >> 10} KiB",
            settings={"protocol": protocol, "size": size},
            quick=size == 4 << 10 or (protocol != PROTOCOLS[-1] and size == 16 << 10),
        )
        for protocol in PROTOCOLS
        for size in SIZES
    ]


def measure(*, protocol: str, size: int) -> dict[str, float]:
    """Latency in microseconds."""
    first, second = storage.nodes(2)
    if protocol == "sPIN":
        ns = storage.latency_ns(lambda client, at, n: client.write(first, at, storage.data(n, at)), size, 1)
    elif protocol == "sPIN, RAID-5":
        ns = storage.latency_ns(
            lambda client, at, n: client.update(first, second, at, storage.data(n, at), block=0), size, 2
        )
    else:
        ns = storage.written_ns(protocol, size)
    return {"latency": ns / 1000}


def claims(results: Results) -> Iterator[Claim]:
    """Orderings."""
    factors = {
        size: results.value(f"RPC and RDMA, {size >> 10} KiB", "latency")
        / results.value(f"sPIN, {size >> 10} KiB", "latency")
        for size in SIZES
    }
    yield Claim(
        text="Validated writes on the card take less time than validated writes by the host, for all sizes (ordering)",
        holds=all(
            results.value(f"sPIN, {size >> 10} KiB", "latency") < results.value(f"{other}, {size >> 10} KiB", "latency")
            for size in SIZES
            for other in ("RPC", "RPC and RDMA")
        ),
        found=f"{min(factors.values()):.2f} to {max(factors.values()):.2f} times faster than RPC and RDMA",
    )
    extra = [
        results.value(f"sPIN, {size >> 10} KiB", "latency") - results.value(f"RDMA write, {size >> 10} KiB", "latency")
        for size in SIZES
    ]
    yield Claim(
        text="Validation and waiting for host memory cost a constant time over RDMA writes, not a factor",
        holds=max(extra) < 2 * min(extra),
        found=f"{1000 * min(extra):.0f} to {1000 * max(extra):.0f} ns",
    )
    yield Claim(
        text="Writes are up to twice as fast (abstract); its baseline is not stated in what could be read",
        holds=None,
        found=f"up to {max(factors.values()):.1f} times, against RPC and RDMA with our costs of a host",
    )


def plot(results: Results) -> Figure:
    """One panel of latencies, one of the time over RDMA writes."""
    sizes = [size >> 10 for size in SIZES]
    curves, extra = [], []
    base = results.series("size", "latency", protocol="RDMA write")[1]
    for look, protocol in enumerate(PROTOCOLS):
        x, y = results.series("size", "latency", protocol=protocol)
        curves.append(plots.Curve(label=protocol, x=[value / 1024 for value in x], y=y, look=look))
        if protocol != "RDMA write":
            over = [value - rdma for value, rdma in zip(y, base, strict=True)]
            extra.append(plots.Curve(label=protocol, x=[value / 1024 for value in x], y=over, look=look))
    bound = [size * storage.NS_PER_BYTE / 1000 + 2 * storage.HOP_NS / 1000 for size in SIZES]
    curves.append(plots.Curve(label="bound of the network", x=sizes, y=bound, kind="formula"))
    axis: dict[str, Any] = {"x_label": "write (KiB)", "x_base": 2, "x_ticks": sizes, "y_base": 10}
    panels = [
        plots.Panel(title="latency", y_label="latency (µs)", curves=curves, **axis),
        plots.Panel(title="time over an RDMA write", y_label="time (µs)", curves=extra, **axis),
    ]
    return plots.curves(
        panels, columns=2, title=TITLE, caption=f"{storage.MEASURED} Hosts are programs with stated costs."
    )
