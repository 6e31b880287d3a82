# SPDX-License-Identifier: Apache-2.0
"""Figure 4.11: power of the cores at line rate.

For each number of cores, the lowest clock, in steps of 25 MHz, that carries 1472-byte datagrams in both directions at
98.5 % of the line (the thesis counts 98.7 % as line rate). Power is the thesis's estimate for that clock: Intel's
XScale (Table 4.3: 55, 200, 450, 900 mW at 200, 400, 600, 800 MHz). Between these points it is the cubic through the
four. Below 200 MHz it is proportional to the clock, because voltage cannot fall further. Power at the thesis's own
clocks, computed in the same way, is shown for comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from experiments.spinach.common import TENGIG, THESIS, tengig_rates
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Power of the cores at line rate"
SOURCE = f"{THESIS}, Fig. 4.11, 4.5.4, Table 4.3"

CORES = (1, 2, 4, 6, 8)
THESIS_MHZ = {1: 800, 6: 200, 8: 175}
XSCALE = {200: 55.0, 400: 200.0, 600: 450.0, 800: 900.0}  # mW by MHz; thesis, Table 4.3
STEP = 25
LINE = 98.5


def points() -> list[Point]:
    """One point for each number of cores."""
    return [
        Point(name=f"{cores} core{'s' * (cores > 1)}", settings={"cores": cores}, quick=cores == 1) for cores in CORES
    ]


def power(mhz: float) -> float:
    """Power of an XScale core in mW."""
    least = min(XSCALE)
    if mhz < least:
        return XSCALE[least] * mhz / least
    cubic = np.polyfit(list(XSCALE), list(XSCALE.values()), 3)
    return float(np.polyval(cubic, mhz))


def measure(*, cores: int) -> dict[str, float]:
    """The lowest clock at line rate, found by halving, and power."""
    low, high = 0, 800 // STEP  # misses, but is taken to reach it
    while high - low > 1:
        middle = (low + high) // 2
        reached = tengig_rates(cores=cores, mhz=middle * STEP)["share"] >= LINE
        low, high = (low, middle) if reached else (middle, high)
    found = {"clock": float(high * STEP), "power": cores * power(high * STEP)}
    if cores in THESIS_MHZ:
        found["power at the thesis's clock"] = cores * power(THESIS_MHZ[cores])
    return found


def claims(results: Results) -> Iterator[Claim]:
    """Many slow cores draw less than one fast one."""
    one, six, eight = (results.value(name, "power") for name in ("1 core", "6 cores", "8 cores"))
    yield Claim(
        text="Six cores draw 63 % less than one (4.5.4), within 10 points",
        holds=abs((1 - six / one) * 100 - 63) <= 10,
        found=f"{(1 - six / one) * 100:.0f} % less, {six:.0f} mW for {one:.0f} mW",
        miss="One core needs 625 MHz here, not 800, at which it would draw 900 mW, and below 200 MHz six cores save by "
        "their clock alone, not by voltage",
    )
    yield Claim(text="Eight cores draw more than six (4.5.4)", holds=eight > six, found=f"{eight:.0f} mW, {six:.0f} mW")
    values = [
        results.value("8 cores", "power at the thesis's clock"),
        results.value("6 cores", "power at the thesis's clock"),
    ]
    yield Claim(
        text="The same at the clocks of the thesis, 175 and 200 MHz",
        holds=values[0] > values[1],
        found=f"{values[0]:.0f} mW, {values[1]:.0f} mW",
        basis="by construction: computed from Table 4.3 alone",
    )


def plot(results: Results) -> Figure:
    """Power by cores, here and in the thesis."""
    groups = [
        plots.Group(
            label=row.point.name,
            values={
                "thesis's clock": row.measured.get("power at the thesis's clock"),
                "spinet": row.measured["power"],
            },
        )
        for row in results.rows
    ]
    clocks = ", ".join(f"{row.point.name}: {row.measured['clock']:.0f} MHz" for row in results.rows)
    panel = plots.BarPanel(y_label="power of all cores (mW)", groups=groups, published=("thesis's clock",))
    caption = f"{SOURCE}. Lowest clocks here: {clocks}. {TENGIG}"
    return plots.bars([panel], title=TITLE, caption=caption, panel_inches=(6.8, 3.6))
