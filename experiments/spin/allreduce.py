# SPDX-License-Identifier: Apache-2.0
"""Allreduce in switches against a ring of hosts: bytes that a host sends, and bandwidth.

Sums of int32. *Flare*: cards in the switches combine blocks of 1 KiB in a fixed binary tree (`flare_switch.c`); 4 and
16 hosts on one switch, 64 on a tree of 8 switches and a root. *Ring*: the hosts' cards pass blocks round and add their
own (`ring.c`), on a star. Links have a delay of 300 ns, and 10 or 100 Gbit/s; the link to a switch's card has 400
Gbit/s, as has that of the node that starts all hosts. All cards are the preset pspin. The time runs from the first
block that a host sends to the last result. Bandwidth is the vector's bits over this time. Data are counted without
headers.

At 10 Gbit/s the links are the bottleneck, and half the traffic gives up to twice the bandwidth. At 100 Gbit/s the
bottleneck is the card's engine for host memory, which ends each transfer before it begins the next, as in the RTL: 24
Gbit/s for blocks of 1 KiB. Both ways read and write each block once, so neither is twice as fast.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np
import spinet
from spinet import plots
from spinet.collectives import Flare, Group
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Allreduce in switches and on a ring"
SOURCE = "Di Girolamo, De Sensi, Hoefler et al., sPIN, OFA Virtual Workshop 2022; De Sensi et al., Flare, SC 2021"

LEAVES = {4: 1, 16: 1, 64: 8}
CASES = ((4, 16), (4, 64), (4, 256), (16, 16), (16, 64), (16, 256), (64, 64), (64, 128))  # hosts, KiB
RATES = (10, 100)  # Gbit/s
TICKS = (16, 64, 256)
HEADERS = 56  # bytes of a frame in front of its data


def points() -> list[Point]:
    """Hosts, ways, sizes and rates of links."""
    return [
        Point(
            name=_name(way, hosts, size, rate),
            settings={"way": way, "hosts": hosts, "size": size, "rate": rate},
            quick=(hosts, size) == (4, 16),
        )
        for hosts, size in CASES
        for rate in RATES
        for way in ("Flare", "ring")
    ]


def _name(way: str, hosts: int, size: int, rate: int) -> str:
    return f"{way}, {hosts} hosts, {size} KiB, {rate} Gbit/s"


def measure(*, way: str, hosts: int, size: int, rate: int) -> dict[str, float]:
    """Data sent by a host over the vector's size, time and bandwidth."""
    n_bytes, link = size << 10, {"rate": f"{rate}G", "delay": "300 ns"}
    if way == "Flare":
        flare = Flare(hosts=hosts, leaves=LEAVES[hosts], elements=n_bytes // 4, buffers="tree", window=32)
        network = flare.network(link=link)
    else:
        group = Group(operation="ring", size=hosts, n_bytes=n_bytes, window=max(1, 64 // hosts))
        network = group.network(link=link)
    result = spinet.run(network)
    summary = result.summary
    assert result.complete and summary["packets"]["dropped"] == 0, summary["ended"]["text"]
    frames = result.table("frames")
    event, sender = frames["event"].to_numpy(zero_copy_only=False), frames["frame_node"].to_numpy()
    at, node = frames["at_ps"].to_numpy(), frames["node"].to_numpy()
    sent = (event == "entered") & (sender < hosts)
    arrived = (event == "delivered") & (node < hosts)
    tail = frames["tail_ps"].fill_null(-1).to_numpy()
    us = float(tail[arrived].max() - at[sent].min()) / 1e6
    data = float((frames["bytes"].to_numpy()[sent & (sender == 0)].astype(np.int64) - HEADERS).sum())
    return {"data a host": data / n_bytes, "time": us, "bandwidth": n_bytes * 8 / us / 1000}


def claims(results: Results) -> Iterator[Claim]:
    """Claims about traffic and bandwidth."""

    def ratios(first: str, second: str, name: str, rate: int) -> list[float]:
        return [
            results.value(_name(first, hosts, size, rate), name) / results.value(_name(second, hosts, size, rate), name)
            for hosts, size in CASES
        ]

    traffic = ratios("ring", "Flare", "data a host", 10)
    yield Claim(
        text="Switches that compute halve the traffic of hosts, ideally (talk)",
        holds=all(1.49 < factor < 2 for factor in traffic),
        found=", ".join(f"{factor:.2f}" for factor in traffic) + " times less",
    )
    for rate in RATES:
        bandwidth = ratios("Flare", "ring", "bandwidth", rate)
        found = ", ".join(f"{factor:.2f}" for factor in bandwidth) + " times"
        if rate == 10:
            ideal = [bandwidth[i] / (2 * (hosts - 1) / hosts) for i, (hosts, _) in enumerate(CASES)]
            yield Claim(
                text="They double the bandwidth, ideally (talk): links of 10 Gbit/s, parts of the ideal 2 (n - 1) / n: "
                "for 256 KiB at least 0.9",
                holds=all(part >= 0.9 for part, (_, size) in zip(ideal, CASES, strict=True) if size == 256),
                found=f"{found}; {', '.join(f'{part:.2f}' for part in ideal)} of the ideal",
            )
        else:
            yield Claim(text=f"The same with links of {rate} Gbit/s: host memory limits", holds=None, found=found)


def plot(results: Results) -> Figure:
    """Data and bandwidth by size."""
    panels = []
    for name, rate in (("data a host", 10), ("bandwidth", 10), ("bandwidth", 100)):
        label = "bandwidth (Gbit/s)" if name == "bandwidth" else "data sent by a host / vector"
        curves = []
        for look, hosts in enumerate(LEAVES):
            for way in ("Flare", "ring"):
                x, y = results.series("size", name, way=way, hosts=hosts, rate=rate)
                style: Literal["measured", "published"] = "measured" if way == "Flare" else "published"
                curves.append(plots.Curve(label=f"{way}, {hosts} hosts", x=x, y=y, look=look, kind=style))
        title = f"links of {rate} Gbit/s" if name == "bandwidth" else "traffic"
        axis = plots.Panel(title=title, x_label="vector (KiB)", y_label=label, curves=curves, x_base=2, x_ticks=TICKS)
        panels.append(axis)
    caption = "Filled marks: Flare; hollow marks: ring. Both are spinet: preset pspin on all nodes and in the switches."
    return plots.curves(panels, columns=3, title=TITLE, caption=caption)
