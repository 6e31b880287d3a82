# SPDX-License-Identifier: Apache-2.0
"""Figure 9: moving data out of PsPIN.

Every packet goes back to the network (UDP ping-pong: addresses and ports swapped, one NIC command) or into host
memory (one DMA command), read from its copy in L1 or from L2 packet memory. Packets arrive as fast as the NIC accepts
them. Throughput is the rate of completions times the packet size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import spinet
from experiments.pspin.common import EXAMPLES, HERE, MEASURED, NIC, PAPER, steady_gbps
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Throughput of moving data out"
SOURCE = f"{PAPER}, Fig. 9, IV-B2"

SIZES = (64, 128, 256, 512, 1024, 2048)
HANDLERS = {"network": HERE / "handlers" / "swap.c", "host": EXAMPLES / "copy_to_host.c"}
COUNT = 4000
WHOLE = "pspin"  # with PCIe's packets and an IOMMU
MORE = 16  # commands in flight at a unit, to show the cost of the RTL's limit of 7


def points() -> list[Point]:
    """Sizes, where packets are read and where they go."""
    return (
        [
            Point(
                name=f"{size} B from {memory} to {target}",
                settings={"size": size, "memory": memory, "target": target, "commands": 0, "nic": NIC},
                quick=size in (64, 512),
            )
            for target in ("network", "host")
            for memory in ("L1", "L2")
            for size in SIZES
        ]
        + [
            Point(
                name=f"{size} B from L2 to host, {MORE} commands",
                settings={"size": size, "memory": "L2", "target": "host", "commands": MORE, "nic": NIC},
            )
            for size in SIZES[:3]
        ]
        + [
            Point(
                name=f"{size} B from L2 to host, preset {WHOLE}",
                settings={"size": size, "memory": "L2", "target": "host", "commands": 0, "nic": WHOLE},
            )
            for size in SIZES
        ]
    )


def measure(*, size: int, memory: str, target: str, commands: int, nic: str) -> dict[str, float]:
    """Throughput, and instructions of the handler; `commands` under way at a unit, or the card's own number."""
    result = spinet.run(
        nic=nic,
        program=HANDLERS[target],
        defines={"FROM_L2": 1} if memory == "L2" else {},
        traffic=f"udp:size={size},count={COUNT}",
        pacing="asap",
        set=[f"commands.in_flight_per_unit={commands}"] if commands else [],
    )
    summary = result.summary
    out = summary["packets"]["out"] if target == "network" else summary["output"]["host_writes"]
    assert out >= COUNT, "every packet goes out"
    return {
        "throughput": steady_gbps(result, bytes_each=size),
        "instructions": float(np.median(result.columns["instructions"])),
    }


def claims(results: Results) -> Iterator[Claim]:
    """The text's statements about the two memories."""
    for target in ("network", "host"):
        l1, l2 = (
            results.series("size", "throughput", memory=memory, target=target, commands=0, nic=NIC)[1]
            for memory in ("L1", "L2")
        )
        yield Claim(
            text=f"To the {target}: L2 (wide accesses) is faster than L1, especially for small packets (IV-B2)",
            holds=all(b > a for a, b in zip(l1, l2, strict=True)) and l2[1] / l1[1] > l2[-1] / l1[-1],
            found=" ".join(f"{b / a:.2f}" for a, b in zip(l1, l2, strict=True)) + " times L1",
            miss="The number of commands in flight limits small packets, and from L2 each command takes 2 cycles longer"
            * (target == "host"),
        )
    _, more = results.series("size", "throughput", commands=MORE)
    yield Claim(
        text=f"With {MORE} commands in flight, small packets from L2 reach the published rate (400, IV-B2)",
        holds=min(more) >= 400,
        found=" ".join(f"{value:.0f}" for value in more) + f" Gbit/s at {SIZES[0]} to {SIZES[2]} B",
    )


def plot(results: Results) -> Figure:
    """Draws throughput to the network on the left, to the host on the right."""
    panels = []
    for target in ("network", "host"):
        curves = []
        for look, memory in enumerate(("L1", "L2")):
            x, y = results.series("size", "throughput", memory=memory, target=target, commands=0, nic=NIC)
            curves.append(plots.Curve(label=f"from {memory}", x=x, y=y, look=look))
        curves.append(plots.Curve(label="paper: L1 hardly reaches 200", x=[64], y=[200], slack=[20], kind="published"))
        if target == "host":
            x, y = results.series("size", "throughput", commands=MORE)
            curves.append(plots.Curve(label=f"from L2, {MORE} commands under way", x=x, y=y, look=2))
            x, y = results.series("size", "throughput", nic=WHOLE)
            curves.append(plots.Curve(label=f"from L2, preset {WHOLE}", x=x, y=y, look=3))
        panels.append(
            plots.Panel(
                title=f"to the {target}",
                x_label="packet size (B)",
                y_label="throughput (Gbit/s)",
                curves=curves,
                x_base=2,
                x_ticks=SIZES,
                y_max=560,
                levels=[(400, "paper: L2, and L1 from 512 B on")],
            )
        )
    return plots.curves(panels, title=TITLE, caption=f"Paper: {SOURCE}. {MEASURED}")
