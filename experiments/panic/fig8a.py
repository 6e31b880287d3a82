# SPDX-License-Identifier: Apache-2.0
"""Figure 8a: throughput of a chain of three units, by packet size and credits.

Model 1 with N = 3 and X = 100: three delay units, each a service, which push packets to the next one. Packets arrive
as fast as the line of the prototype's generator allows: it is open in 102 of 128 cycles, and the descriptor takes one
cycle per packet.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from experiments.panic.common import MEASURED, PAPER, SIZES, delay, gbps, packets, run, service, within
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Throughput of a pipelined chain"
SOURCE = f"{PAPER}, Fig. 8a, 7.2"

CREDITS = (1, 2, 4, 8, 16)


def points() -> list[Point]:
    """One point for each packet size and number of credits."""
    return [
        Point(name=f"{size} B, {n} credits", settings={"size": size, "credits": n}, quick=size in (64, 1500) and n == 8)
        for n in CREDITS
        for size in SIZES
    ]


def measure(*, size: int, credits: int) -> dict[str, float]:
    """Gbit/s, and the part of the packets that found no room."""
    engine = delay(gbps=100, size=size)
    chain = [service(name, engine, credits=credits) for name in ("a", "b", "c")]
    result = run(services=chain, traffic=packets(size=size, count=3000))
    return {"throughput": gbps(result), "lost": result.summary["packets"]["dropped"] / 3000 * 100}


def claims(results: Results) -> Iterator[Claim]:
    """Claims about small packets and the number of credits."""
    curve = [results.value(f"64 B, {n} credits", "throughput") for n in CREDITS]
    shown = ", ".join(f"{n}: {value:.1f}" for n, value in zip(CREDITS, curve, strict=True))
    yield Claim(
        text="With few credits, the round trip limits small packets: twice the credits give twice the throughput (7.2)",
        holds=all(1.8 < b / a < 2.2 for a, b in pairwise(curve[:3])),
        found=f"64 B by credits, Gbit/s: {shown}",
    )
    yield Claim(
        text="More than 8 credits do not help: the delay unit is the limit (7.2)",
        holds=all(
            within([results.value(f"{size} B, {n} credits", "throughput") for n in (8, 16)], 1) for size in SIZES
        ),
        found=f"64 B at 8 and 16 credits: {curve[3]:.1f} and {curve[4]:.1f} Gbit/s, one packet every "
        f"{64 * 8 / curve[4] / 4:.1f} cycles",
    )
    yield Claim(
        text="The scheduling round trip is 14 cycles (7.2, which does not say from where to where)",
        holds=None,
        found=f"{64 * 8 / curve[0] / 4:.0f} cycles from one packet of a credit to the next, the unit's 3 among them; "
        "in the RTL's simulation 25 (three units of two credits, 64 B)",
    )


def plot(results: Results) -> Figure:
    """One curve for each number of credits."""
    drawn = []
    for look, n in enumerate(CREDITS):
        x, y = results.series("size", "throughput", credits=n)
        drawn.append(plots.Curve(label=f"{n} credit" + "s" * (n > 1), x=x, y=y, look=look))
    known = results.published_series("size", "throughput", credits=CREDITS[-1])
    drawn.append(plots.Curve(label="paper, from 2 credits on", **known, kind="published", look=3))
    panel = plots.Panel(
        x_label="packet size (B)", y_label="throughput (Gbit/s)", curves=drawn, x_base=2, x_ticks=SIZES,
        levels=[(100, "100 Gbit/s")], y_max=110,
    )  # fmt: skip
    caption = f"Paper: {SOURCE}; its curves are known by what the text says of them. {MEASURED}"
    return plots.curves([panel], title=TITLE, caption=caption, panel_inches=(6, 3.8))
