# SPDX-License-Identifier: Apache-2.0
"""Figure 4.10: the time of the cores, for cores and clocks.

1472-byte datagrams in both directions, as fast as line and card allow. Cycles are counted by function from 1 to 3 ms,
and divided as in Table 4.5.

Shares above 100 % have frames that waited in the card before the measured time, as in Figure 4.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spinach.common import LINE_RATE, TENGIG, THESIS, Steady, shares, tengig
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Time of the cores, for cores and clocks"
SOURCE = f"{THESIS}, Fig. 4.10, 4.5.3"

CORES = (1, 2, 4, 6, 8)
CLOCKS = (100, 150, 200, 250, 300)
TASKS = ("dispatch", "send", "receive", "other")


def points() -> list[Point]:
    """One point for each number of cores and clock."""
    return [
        Point(name=f"{cores} x {mhz} MHz", settings={"cores": cores, "mhz": mhz}, quick=(cores, mhz) == (2, 100))
        for cores in CORES
        for mhz in CLOCKS
    ]


def measure(*, cores: int, mhz: int) -> dict[str, float]:
    """Percent of the cycles of all cores by task; share of the line."""
    steady = Steady(*(tengig(cores=cores, mhz=mhz, limit_ms=ms, profile=True) for ms in (1, 3)))
    frames = steady.frames("sent") + steady.frames("received")
    return {**shares(steady.functions()), "share": frames / steady.seconds / (2 * LINE_RATE) * 100}


def claims(results: Results) -> Iterator[Claim]:
    """Claims about dispatch, which includes idle time."""
    for cores in (6, 8):
        reached = [row for row in results.select(cores=cores) if row.measured["share"] >= 98.5]  # as in Figure 4.11
        series = [row.measured["dispatch"] for row in reached]
        yield Claim(
            text=f"{cores} cores: beyond line rate a higher clock goes into dispatch, which is idle time (4.5.3)",
            holds=series == sorted(series),
            found=f"{series[0]:.0f} to {series[-1]:.0f} %",
        )
    low = results.value("1 x 100 MHz", "dispatch")
    full = results.value("8 x 300 MHz", "dispatch")
    yield Claim(
        text="Less dispatch where the card falls short of the line, more than 30 % where it idles (4.5.3)",
        holds=low < 30 < full,
        found=f"1 x 100 MHz: {low:.0f} %, 8 x 300 MHz: {full:.0f} %",
    )


def plot(results: Results) -> Figure:
    """Draws a bar for each point."""
    bars = [
        plots.Stack(label=row.point.name, parts={task: row.measured[task] for task in TASKS}) for row in results.rows
    ]
    caption = f"{SOURCE}, known only as a picture: dispatch beyond about 30 % is idle time. {TENGIG}"
    return plots.stacks(bars, x_label="time of all cores (%)", title=TITLE, caption=caption)
