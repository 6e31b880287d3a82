# SPDX-License-Identifier: Apache-2.0
"""Configurability: 1 to 16 clusters, 1 to 16 cores a cluster.

The aggregate of Figure 10, with PULP's instructions, on packets of 1024 bytes as fast as the card accepts them. The
cores limit it, and for large shapes the interconnect. Handlers and runtime are compiled for each shape. The area is
that of `spinet nic show --area`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import spinet
from experiments.pspin import handlers
from experiments.pspin.common import MEASURED, NIC, PAPER, steady_gbps
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Throughput by clusters and cores"
SOURCE = f"{PAPER}, IV-C1 and V: the number of clusters scales with the work of handlers"

COUNTS = (1, 2, 4, 8, 16)
SIZE = 1024


def points() -> list[Point]:
    """Clusters of eight cores, and four clusters of other sizes; and the smallest and the largest card."""
    shapes = [(n, 8) for n in COUNTS] + [(4, n) for n in COUNTS if n != 8] + [(1, 1), (16, 16)]
    return [
        Point(
            name=f"{clusters} x {cores}", settings={"clusters": clusters, "cores": cores}, quick=clusters * cores < 17
        )
        for clusters, cores in shapes
    ]


def measure(*, clusters: int, cores: int) -> dict[str, float]:
    """Throughput of the card, and its area."""
    shape = [f"n_clusters={clusters}", f"cluster.n_cores={cores}"]
    result = handlers.run("aggregate", size=SIZE, how="extensions", set=shape)
    return {
        "throughput": steady_gbps(result, bytes_each=SIZE, last=0.95),
        "area": spinet.nic_cost(NIC, set=shape)[0].area_mm2,
    }


def claims(results: Results) -> Iterator[Claim]:
    """Work grows with the cores, until the data path is full."""
    one = results.value("1 x 8", "throughput") / 8
    errors = [
        row.measured["throughput"]
        / min(512, one * int(row.point.settings["clusters"]) * int(row.point.settings["cores"]))
        for row in results.rows
    ]
    yield Claim(
        text="Throughput is that of a core times the cores, up to 512 Gbit/s (V: clusters scale up the work)",
        holds=all(0.9 < error < 1.1 for error in errors),
        found=f"{min(errors):.2f} to {max(errors):.2f} of it",
    )


def plot(results: Results) -> Figure:
    """Throughput over cores, and over area."""
    ways = {"clusters of 8 cores": {"cores": 8}, "4 clusters": {"clusters": 4}}
    left, right = [], []
    for look, (label, fixed) in enumerate(ways.items()):
        rows = sorted(
            (int(row.point.settings["clusters"]) * int(row.point.settings["cores"]), row.measured)
            for row in results.select(**fixed)
        )
        y = [measured["throughput"] for _, measured in rows]
        left.append(plots.Curve(label=label, x=[cores for cores, _ in rows], y=y, look=look))
        right.append(plots.Curve(label=label, x=[measured["area"] for _, measured in rows], y=y, look=look))
    levels = [(400.0, "paper: 8 x 8 above it, 4 x 8 below"), (200.0, "paper: 4 x 8 above it")]
    return plots.curves(
        [
            plots.Panel(
                x_label="cores in all",
                y_label="throughput (Gbit/s)",
                curves=left,
                x_base=2,
                x_ticks=(4, 8, 16, 32, 64, 128),
                y_max=560,
                levels=levels,
            ),
            plots.Panel(
                x_label="area in 22 nm (mm²)",
                y_label="throughput (Gbit/s)",
                curves=right,
                y_max=560,
                levels=levels,
            ),
        ],
        title=TITLE,
        caption=f"aggregate with PULP's instructions, packets of {SIZE} B. {MEASURED}",
    )
