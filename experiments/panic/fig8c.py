# SPDX-License-Identifier: Apache-2.0
"""Figure 8c: throughput of three parallel units whose service times vary.

Model 2: three delay units of one service with 34 Gbit/s each on average, uniform within 20 or 40 %. Each unit has six
credits, as in the published test bench. Packets arrive as fast as the line of the prototype's generator allows. The
chain of Figure 8a with eight credits is shown for comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.panic import fig8a
from experiments.panic.common import MEASURED, PAPER, SIZES, delay, gbps, packets, run, service, within
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Throughput of parallel units"
SOURCE = f"{PAPER}, Fig. 8c, 7.2"

SPREADS = (20, 40)


def points() -> list[Point]:
    """Sizes and spreads, and model 1."""
    found = [
        Point(name=f"{size} B, {spread} %", settings={"size": size, "spread": spread}, quick=size in (64, 1500))
        for spread in SPREADS
        for size in SIZES
    ]
    return found + [Point(name=f"{size} B, model 1", settings={"size": size, "spread": 0}) for size in SIZES]


def measure(*, size: int, spread: int) -> dict[str, float]:
    """Gbit/s, and the part of the packets that found no room."""
    if not spread:
        return fig8a.measure(size=size, credits=8)
    units = service("a", delay(gbps=34, size=size, spread=spread), units=3, credits=6)
    result = run(services=[units], traffic=packets(size=size, count=3000))
    return {"throughput": gbps(result), "lost": result.summary["packets"]["dropped"] / 3000 * 100}


def claims(results: Results) -> Iterator[Claim]:
    """Variance costs nothing, and more units help small packets."""
    pairs = [tuple(results.value(f"{size} B, {spread} %", "throughput") for spread in SPREADS) for size in SIZES]
    ratios = [forty / twenty for twenty, forty in pairs]
    yield Claim(
        text="The same throughput at 40 % variance as at 20 % (7.2)",
        holds=all(within(pair, 1) for pair in pairs),
        found=f"{min(ratios):.3f} to {max(ratios):.3f} times, over all sizes",
    )
    two, one = (results.value(f"64 B, {what}", "throughput") for what in ("40 %", "model 1"))
    yield Claim(
        text="Small packets do better than in model 1: no single unit bounds them (7.2)",
        holds=two > one,
        found=f"64 B: {two:.1f} against {one:.1f} Gbit/s",
    )


def plot(results: Results) -> Figure:
    """One curve for each spread."""
    drawn = []
    for look, (spread, label) in enumerate(
        ((20, "service times within 20 %"), (40, "within 40 %"), (0, "model 1, 8 credits"))
    ):
        x, y = results.series("size", "throughput", spread=spread)
        drawn.append(plots.Curve(label=label, x=x, y=y, look=look))
    known = results.published_series("size", "throughput", spread=40)
    drawn.append(plots.Curve(label="paper, 20 and 40 %", **known, kind="published", look=1))
    panel = plots.Panel(
        x_label="packet size (B)", y_label="throughput (Gbit/s)", curves=drawn, x_base=2, x_ticks=SIZES,
        levels=[(100, "100 Gbit/s")], y_max=110,
    )  # fmt: skip
    caption = f"Paper: {SOURCE}; its curves are known by what the text says of them. {MEASURED}"
    return plots.curves([panel], title=TITLE, caption=caption, panel_inches=(6, 3.8))
