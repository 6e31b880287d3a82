# SPDX-License-Identifier: Apache-2.0
"""Table 4.3: power of a core by its clock.

Intel's data of the XScale processor. spinet does not model power, so these four values are inputs: Figure 4.11 computes
the power of the cores from them, with the curve shown here. The rows check that the curve passes through them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spinach.common import THESIS
from experiments.spinach.fig4_11 import XSCALE, power
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Power of a core by its clock"
SOURCE = f"{THESIS}, Table 4.3, 4.1.3"

CLOCKS = (100, 150, 175, 200, 300, 400, 500, 600, 700, 800)


def points() -> list[Point]:
    """Clocks of the table, between them, and below them."""
    return [Point(name=f"{mhz} MHz", settings={"mhz": mhz}, quick=True) for mhz in CLOCKS]


def measure(*, mhz: int) -> dict[str, float]:
    """Power of a core in mW, as Figure 4.11 computes it."""
    return {"power": power(mhz)}


def claims(results: Results) -> Iterator[Claim]:
    """How power grows with the clock."""
    low, high = min(XSCALE), max(XSCALE)
    watts = [results.value(f"{mhz} MHz", "power") for mhz in (low, high)]
    exponent = math.log(watts[1] / watts[0]) / math.log(high / low)
    yield Claim(
        text="Power rises roughly quadratically with the clock (4.1.3): an exponent of 2, within 0.2",
        holds=abs(exponent - 2) <= 0.2,
        found=f"{exponent:.2f} from {low} to {high} MHz",
        basis="by construction: computed from the table alone",
    )


def plot(results: Results) -> Figure:
    """The curve through the table's values."""
    x, y = results.series("mhz", "power")
    square = [mhz**2 * XSCALE[200] / 200**2 for mhz in x]
    panel = plots.Panel(
        x_label="clock (MHz)",
        y_label="power of a core (mW)",
        curves=[
            plots.Curve(label="Figure 4.11's curve", x=x, y=y),
            plots.Curve(label="thesis", kind="published", **results.published_series("mhz", "power")),
            plots.Curve(label="quadratic from 200 MHz", x=x, y=square, kind="formula", look=1),
        ],
    )
    caption = f"Thesis: {SOURCE}. No simulation: Intel's values are inputs."
    return plots.curves([panel], title=TITLE, caption=caption)
