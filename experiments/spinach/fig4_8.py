# SPDX-License-Identifier: Apache-2.0
"""Figure 4.8: cores and their clock.

1472-byte datagrams in both directions, as fast as line and card allow. Values are shares of the line's 812,744 frames
a second in each direction.

Frames that came in count when the host has them. Frames that waited in the card before the measured 4 ms count, too: up
to 0.3 % more than the line brings in that time, so shares of both directions can reach 100.13 %.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spinach.common import TENGIG, THESIS, tengig_rates
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "10 Gigabit NIC: share of the line by cores and clock"
SOURCE = f"{THESIS}, Fig. 4.8, 4.5.2"

CORES = (1, 2, 4, 6, 8)
CLOCKS = {
    1: (100, 200, 300, 400, 500, 600, 700, 800),
    2: (100, 150, 200, 250, 300, 400),
    4: (100, 150, 175, 200, 250),
    6: (75, 100, 125, 150, 175, 200),
    8: (75, 100, 125, 150, 175, 200),
}


def points() -> list[Point]:
    """One point for each number of cores and clock."""
    return [
        Point(
            name=f"{cores} core{'s' * (cores > 1)}, {mhz} MHz",
            settings={"cores": cores, "mhz": mhz},
            quick=(cores, mhz) == (6, 200),
        )
        for cores in CORES
        for mhz in CLOCKS[cores]
    ]


def measure(*, cores: int, mhz: int) -> dict[str, float]:
    """Frames a second each way, UDP payload, share of what the line carries."""
    return tengig_rates(cores=cores, mhz=mhz)


def claims(results: Results) -> Iterator[Claim]:
    """Claims of the text about cores and clocks."""

    def least(cores: int) -> int:
        reached = [row for row in results.select(cores=cores) if row.measured["share"] >= 99]
        return min(int(row.point.settings["mhz"]) for row in reached)

    found = {cores: least(cores) for cores in (1, 6, 8)}
    yield Claim(
        text="Parallel cores of a low clock reach what one core reaches only with a high one (4.5.2): 800 and 200 MHz",
        holds=found[6] * 3 <= found[1] and found[8] <= found[6],
        found=", ".join(f"{cores}: {mhz} MHz" for cores, mhz in found.items()),
    )


def plot(results: Results) -> Figure:
    """A curve for each number of cores."""
    curves = []
    for look, cores in enumerate(CORES):
        x, y = results.series("mhz", "share", cores=cores)
        curves.append(plots.Curve(label=f"{cores} core{'s' * (cores > 1)}", x=x, y=y, look=look))
        known = results.published_series("mhz", "share", cores=cores)
        if known["x"]:
            curves.append(plots.Curve(label=f"thesis: {cores}", **known, kind="published", look=look))
    panel = plots.Panel(x_label="clock of the cores (MHz)", y_label="share of the line, both ways (%)", curves=curves)
    caption = f"Thesis: {SOURCE}; of its curves the text states what is shown. {TENGIG}"
    return plots.curves([panel], title=TITLE, caption=caption, panel_inches=(7.2, 3.6))
