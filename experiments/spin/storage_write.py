# SPDX-License-Identifier: Apache-2.0
"""SC 2022, Figure 8: latency of a write to one storage node, and of a read from it, by protocol and size.

The latency ends when the client has the last bit of the reply; it begins with the first bit of the request. With sPIN,
the card checks the capability, writes each packet to host memory, waits until it is there, and acknowledges. The other
protocols are programs of hosts with plain NICs on the same network, with stated costs (`experiments/spin/storage.py`).
*RDMA write* has no validation, and its NIC acknowledges before the data are in memory, so it is a bound. *RPC* carries
the data in the request, and the host checks it and copies them. *RPC and RDMA* sends a small request; the host checks
it and reads the data from the client. In every run all bytes of all nodes are compared.

*Reads*: with sPIN, the card checks the capability, and its handler sends 4 KiB of host memory while it reads the next
8. In *4 requests*, the client asks for each quarter, so cores of all clusters work. *Read of the card*: the data are in
the card's own memory. With an *RDMA read*, nobody checks the request; with *RPC*, the host does and posts the data
without a copy. Their NICs read the first byte in 400 ns, and the rest at the line rate. The client compares all bytes.

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

TITLE = "Latency of writes and reads of a storage node"
SOURCE = f"{storage.PAPER}, Fig. 8"

SIZES = (1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 512 << 10)
PROTOCOLS = ("sPIN", "RDMA write", "RPC", "RPC and RDMA", "sPIN, RAID-5")
PARTS = {"sPIN, read": 1, "sPIN, read in 4 requests": 4}
CARD = "sPIN, read of the card"
CARD_SIZES = SIZES[:4]  # sizes that fit the card's memory for objects
READS = (*PARTS, CARD, "RDMA read", "RPC, read")


def points() -> list[Point]:
    """One point for each size and protocol."""
    return [
        Point(
            name=f"{protocol}, {size >> 10} KiB",
            settings={"protocol": protocol, "size": size},
            quick=(size == 4 << 10 and protocol != READS[1]) or (protocol in PROTOCOLS[:-1] and size == 16 << 10),
        )
        for protocol in (*PROTOCOLS, *READS)
        for size in SIZES
        if size // PARTS.get(protocol, 1) >= storage.UNIT and (protocol != CARD or size in CARD_SIZES)
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
    elif protocol in PARTS:
        ns = storage.read_ns(size, parts=PARTS[protocol])
    elif protocol == CARD:
        ns = storage.read_ns(size, on_card=True)
    elif protocol in READS:
        ns = storage.served_ns(protocol, size)
    else:
        ns = storage.written_ns(protocol, size)
    return {"latency": ns / 1000}


def claims(results: Results) -> Iterator[Claim]:
    """Claims about which protocol is faster."""
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
    small, large = (
        {row.point.settings["protocol"]: row.measured["latency"] for row in results.select(size=size)}
        for size in (SIZES[0], SIZES[-1])
    )
    yield Claim(
        text="A validated read of 1 KiB on the card takes less time than one that the host serves (ordering)",
        holds=small["sPIN, read"] < small["RPC, read"],
        found=f"{small['sPIN, read']:.2f} and {small['RPC, read']:.2f} µs; {small['RDMA read']:.2f} µs with RDMA",
    )
    yield Claim(
        text="Large reads are limited by the host's link, which reads two pages at once, and one request by its core",
        holds=None,
        found=", ".join(f"{one}: {SIZES[-1] * 8e-3 / us:.0f} Gbit/s" for one, us in large.items() if one in READS),
    )


def plot(results: Results) -> Figure:
    """Draws, for writes and for reads, latencies and the time relative to RDMA."""
    ticks = [size >> 10 for size in SIZES]
    axis: dict[str, Any] = {"x_label": "size (KiB)", "x_base": 2, "x_ticks": ticks, "y_base": 10}
    panels = []
    for what, protocols, rdma in (("write", PROTOCOLS, "RDMA write"), ("read", READS, "RDMA read")):
        base = dict(zip(*results.series("size", "latency", protocol=rdma), strict=True))
        curves, extra = [], []
        for look, protocol in enumerate(protocols):
            sizes, y = results.series("size", "latency", protocol=protocol)
            x = [size / 1024 for size in sizes]
            curves.append(plots.Curve(label=protocol, x=x, y=y, look=look))
            if protocol != rdma:
                over = [value - base[size] for size, value in zip(sizes, y, strict=True)]
                extra.append(plots.Curve(label=protocol, x=x, y=over, look=look))
        bound = [size * storage.NS_PER_BYTE / 1000 + 2 * storage.HOP_NS / 1000 for size in SIZES]
        curves.append(plots.Curve(label="bound of the network", x=ticks, y=bound, kind="formula"))
        panels.append(plots.Panel(title=f"latency of a {what}", y_label="latency (µs)", curves=curves, **axis))
        panels.append(plots.Panel(title=f"time over an {rdma}", y_label="time (µs)", curves=extra, **axis))
    return plots.curves(
        panels, columns=2, title=TITLE, caption=f"{storage.MEASURED} Hosts are programs with stated costs."
    )
