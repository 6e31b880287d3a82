# SPDX-License-Identifier: Apache-2.0
"""Figure 8d: scheduling latency by load.

Model 2 with packets of 1500 bytes, service times within 40 % and the default of two credits: latency without the time
in the engine. Load 1 is what the three units take, 102 Gbit/s; packets come evenly, on a line as wide as the
interconnect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from experiments.panic.common import MEASURED, PAPER, WIDE_LINE, column, delay, packets, run, service
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Scheduling latency"
SOURCE = f"{PAPER}, Fig. 8d, 7.2"

LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
LOW = 0.5  # assumed: what the text calls much smaller than 1
SIZE = 1500


def points() -> list[Point]:
    """Loads."""
    return [Point(name=f"load {load}", settings={"load": load}, quick=load in (0.1, 0.9)) for load in LOADS]


def measure(*, load: float) -> dict[str, float]:
    """Nanoseconds: mean, 5th and 99th percentile."""
    units = service("a", delay(gbps=34, size=SIZE, spread=40), units=3)
    result = run(services=[units], traffic=packets(size=SIZE, count=5000, gbps=102 * load), set=[WIDE_LINE])
    waited = column(result, "latency_ps") - column(result, "service_ps")
    low, high = np.percentile(waited, (5, 99))
    return {"scheduling": float(waited.mean()), "5 %": float(low), "99 %": float(high)}


def claims(results: Results) -> Iterator[Claim]:
    """Bounds of the text."""
    tails = {float(row.point.settings["load"]): row.measured["99 %"] for row in results.rows}
    low = max(tail for load, tail in tails.items() if load <= LOW)
    yield Claim(
        text=f"At loads much smaller than 1 (here up to {LOW}) the tail grows slowly and stays under 0.4 us (7.2)",
        holds=low < 400,
        found=f"99th percentile {tails[LOADS[0]]:.0f} ns at load {LOADS[0]}, {low:.0f} ns at most",
    )
    yield Claim(
        text="Near 1 it grows by queueing, and stays under 0.8 us (7.2)",
        holds=max(tails.values()) < 800,
        found=f"99th percentile {max(tails.values()):.0f} ns at most, at load {max(tails, key=tails.__getitem__)}",
    )


def plot(results: Results) -> Figure:
    """Mean and percentiles."""
    drawn = []
    for look, (quantity, label) in enumerate(
        (("scheduling", "mean"), ("5 %", "5 % are below"), ("99 %", "99 % are below"))
    ):
        x, y = results.series("load", quantity)
        drawn.append(plots.Curve(label=label, x=x, y=y, look=look))
    panel = plots.Panel(
        x_label="load (part of what the units take)", y_label="scheduling latency (ns)", curves=drawn, y_max=900,
        levels=[(400, "paper: 99 % at low load"), (800, "paper: 99 % near load 1")],
    )  # fmt: skip
    caption = f"Paper: {SOURCE}; its curve is known by what the text says of it. {MEASURED}"
    return plots.curves([panel], title=TITLE, caption=caption, panel_inches=(6, 3.8))
