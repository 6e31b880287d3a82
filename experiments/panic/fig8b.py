# SPDX-License-Identifier: Apache-2.0
"""Figure 8b: latency of a chain of three units.

Model 1 as in Figure 8a, with 8 credits, at 40 % of the chain's rate for each size. Latency is from the first bytes in
to the first bytes out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from experiments.panic.common import CYCLE_NS, MEASURED, PAPER, SIZES, column, delay, packets, period, run, service
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Latency of a pipelined chain"
SOURCE = f"{PAPER}, Fig. 8b, 7.2"

# Part of the time, in the order of a packet's stages.
PARTS = ("ingress", "interconnect", "queueing", "unit_wait", "service")


def points() -> list[Point]:
    """One point for each packet size."""
    return [Point(name=f"{size} B", settings={"size": size}, quick=size in (64, 1500)) for size in SIZES]


def measure(*, size: int) -> dict[str, float]:
    """Latency in nanoseconds: mean, extremes and parts."""
    engine = delay(gbps=100, size=size)
    chain = [service(name, engine, credits=8) for name in ("a", "b", "c")]
    load = 0.4 * size * 8 / (max(period(gbps=100, size=size), -(-size // 64) + 2) * CYCLE_NS)
    result = run(services=chain, traffic=packets(size=size, count=1000, gbps=load))
    latency = column(result, "latency_ps")
    parts = {part: float(column(result, f"{part}_ps").mean()) for part in PARTS}
    return {"latency": float(latency.mean()), "99 %": float(np.percentile(latency, 99)), **parts}


def claims(results: Results) -> Iterator[Claim]:
    """Claims about the scheduling latency of three units."""
    most = max(row.measured["99 %"] for row in results.rows)
    yield Claim(
        text="Packets are scheduled through three units within 0.5 us (7.2)",
        holds=most < 500,
        found=f"{most:.0f} ns at most, 99th percentile of the slowest size",
    )


def plot(results: Results) -> Figure:
    """Where the time goes, by size."""
    bars = [
        plots.Stack(
            label=f"{row.point.settings['size']} B",
            parts={part.replace("_", " "): row.measured[part] for part in PARTS},
        )
        for row in results.rows
    ]
    caption = f"Paper: {SOURCE}: within 0.5 us. {MEASURED}"
    levels = [(500, "paper: below 0.5 us")]
    return plots.stacks(bars, x_label="latency (ns)", title=TITLE, caption=caption, levels=levels)
