# SPDX-License-Identifier: Apache-2.0
"""Figure 4.9: sizes of datagrams.

Eight cores at 200 MHz with the optimised firmware, both directions as fast as line and card allow.

Shares above 100 % have frames that waited in the card before the measured time, as in Figure 4.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spinach.common import TEN_GIGABIT, TENGIG, THESIS, line_rate, payload_gbps, tengig_rates
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "10 Gigabit NIC: payload by datagram size"
SOURCE = f"{THESIS}, Fig. 4.9, 4.5.2"

SIZES = (18, 100, 200, 300, 400, 500, 600, 700, 800, 1000, 1200, 1472)


def points() -> list[Point]:
    """One point for each datagram size."""
    return [Point(name=f"{size} B", settings={"size": size}, quick=size == 800) for size in SIZES]


def measure(*, size: int) -> dict[str, float]:
    """Frames a second each way, UDP payload, share of what the line carries."""
    return tengig_rates(cores=8, size=size)


def claims(results: Results) -> Iterator[Claim]:
    """Claims about large and small datagrams."""
    large = [row.measured["share"] for row in results.rows if int(row.point.settings["size"]) >= 800]
    yield Claim(
        text="From 800 bytes up near the maximum (4.5.2); 2.65 million frames/s (4.5.1) are 92 % at 800: at least that",
        holds=min(large) >= 2.65e6 / (2 * line_rate(800, TEN_GIGABIT)) * 100,
        found=f"{min(large):.1f} %",
        miss="At 800 bytes the cores limit, at 2.52 million frames/s; from 1000 bytes up the line does",
    )
    small = results.value("18 B", "share")
    yield Claim(text="Small frames far below it (4.5.2): less than half", holds=small < 50, found=f"{small:.0f} %")


def plot(results: Results) -> Figure:
    """Draws payload over datagram size."""
    x = [float(size) for size in SIZES]
    line = [payload_gbps(size, 2 * line_rate(size, TEN_GIGABIT)) for size in SIZES]
    curves = [plots.Curve(label="line", x=x, y=line, kind="formula", look=1)]
    a, b = results.series("size", "payload")
    curves.append(plots.Curve(label="spinet", x=a, y=b))
    curves.append(plots.Curve(label="thesis", **results.published_series("size", "payload"), kind="published"))
    panel = plots.Panel(x_label="UDP datagram (bytes)", y_label="UDP payload, both ways (Gbit/s)", curves=curves)
    caption = f"Thesis: {SOURCE}; of its curve the text states what is shown. {TENGIG}"
    return plots.curves([panel], title=TITLE, caption=caption, panel_inches=(6.4, 3.8))
