# SPDX-License-Identifier: Apache-2.0
"""The Tigon-2 with a data cache that its cores share: `presets/tigon2-cached.toml`. The thesis has no such card.

The card of Figures 3.4 and 3.5 with the thesis's modules for caches between the cores and the SRAM. The firmware and
the load are those of Figure 3.4: datagrams both ways, as fast as the card accepts them, with one and with two CPUs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spinach.common import GIGABIT, THESIS, TIGON2, rates, tigon2
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Tigon-2, a shared data cache"
SOURCE = f"{THESIS}, 3.2.2, table 3.2 (modules only)"

CARDS = ("tigon2", "tigon2-cached")
SIZES = (18, 400, 800, 1472)


def points() -> list[Point]:
    """One point for each card, number of CPUs and size."""
    return [
        Point(
            name=f"{nic}, {cpus} CPU, {size} B",
            settings={"nic": nic, "cpus": cpus, "size": size},
            quick=size == 18 and cpus == 1,
        )
        for nic in CARDS
        for cpus in (1, 2)
        for size in SIZES
    ]


def measure(*, nic: str, cpus: int, size: int) -> dict[str, float]:
    """Frames a second each way; hits; invalidated lines; share of the cores' references that may be cached."""
    result = tigon2(cpus=cpus, size=size, nic=nic)
    found = {name: value for name, value in rates(result, size, GIGABIT).items() if name != "payload"}
    if nic == "tigon2":
        return found
    hits, misses = (result.counter(f"cache.read_{what}") for what in ("hits", "misses"))
    ways = [result.counter(f"cores.outputs[{output}].references") for output in range(3)]
    return {
        **found,
        "hits": hits / (hits + misses) * 100,
        "invalidated lines": result.counter("cache.lines_invalidated"),
        "cacheable": ways[1] / sum(ways) * 100,
    }


def claims(results: Results) -> Iterator[Claim]:
    """Effect of the cache, and use of snooping."""
    gains = {
        (cpus, size): results.value(f"tigon2-cached, {cpus} CPU, {size} B", "frames")
        / results.value(f"tigon2, {cpus} CPU, {size} B", "frames")
        - 1
        for cpus in (1, 2)
        for size in SIZES
    }
    worst, best = min(gains.values()), max(gains.values())
    yield Claim(
        text="Hot code and data are in scratchpads, so the cache does not pay: no gain above 5 %",
        holds=best <= 0.05,
        found=f"{worst * 100:+.1f} to {best * 100:+.1f} %",
    )
    hits = [row.measured["hits"] for row in results.select(nic="tigon2-cached")]
    yield Claim(
        text="Most cached reads hit",
        holds=min(hits) > 50,
        found=f"{min(hits):.0f} to {max(hits):.0f} %",
    )
    lines = [row.measured["invalidated lines"] for row in results.select(nic="tigon2-cached")]
    yield Claim(
        text="Writes of the assists invalidate lines in every run",
        holds=min(lines) > 0,
        found=f"{min(lines):.0f} to {max(lines):.0f} lines",
    )


def plot(results: Results) -> Figure:
    """Frames a second by size."""
    panels = []
    for cpus in (1, 2):
        curves = []
        for look, nic in enumerate(CARDS):
            x, y = results.series("size", "frames", nic=nic, cpus=cpus)
            curves.append(plots.Curve(label=nic, x=x, y=[value / 1000 for value in y], look=look))
        panels.append(
            plots.Panel(
                x_label="UDP datagram (bytes)",
                y_label=f"frames, both ways (thousands/s), {cpus} CPU",
                curves=curves,
            )
        )
    caption = f"Modules: {SOURCE}. {TIGON2}"
    return plots.curves(panels, title=TITLE, caption=caption)
