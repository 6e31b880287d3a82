# SPDX-License-Identifier: Apache-2.0
"""Figure 3.5: the Tigon-2 with two CPUs.

Kim's division: CPU A sends, CPU B receives. Both sides send as fast as the card accepts. The value for one CPU is
that of Figure 3.4, the best of several mixes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spinach import fig3_4
from experiments.spinach.common import GIGABIT, SIZES, THESIS, TIGON2, line_rate, payload_gbps, rates, tigon2
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Tigon-2, two CPUs: payload by datagram size"
SOURCE = f"{THESIS}, Fig. 3.5, 3.4"


def points() -> list[Point]:
    """Sizes with two CPUs, and the largest with one."""
    two = [Point(name=f"{size} B", settings={"size": size, "cpus": 2}, quick=size == 1472) for size in SIZES]
    return [*two, Point(name="1472 B, one CPU", settings={"size": 1472, "cpus": 1})]


def measure(*, size: int, cpus: int) -> dict[str, float]:
    """Frames a second each way, UDP payload, share of what the line carries."""
    if cpus == 1:
        found = fig3_4.measure(size=size, way="both ways")
        return {name: found[name] for name in ("sent", "received", "frames", "payload", "share")}
    return rates(tigon2(cpus=2, size=size), size, GIGABIT)


def claims(results: Results) -> Iterator[Claim]:
    """Claims about two CPUs against one."""
    gain = results.value("1472 B", "payload") / results.value("1472 B, one CPU", "payload") - 1
    yield Claim(
        text="Two CPUs move 23 % more than one at 1472 bytes (3.4), within 10 points",
        holds=abs(gain * 100 - 23) <= 10,
        found=f"{gain * 100:+.0f} %",
    )


def plot(results: Results) -> Figure:
    """Draws payload over datagram size."""
    x, y = results.series("size", "payload", cpus=2)
    line = [payload_gbps(round(size), 2 * line_rate(round(size), GIGABIT)) * 1000 for size in x]
    peak = line[-1]
    panel = plots.Panel(
        x_label="UDP datagram (bytes)",
        y_label="UDP payload, both ways (Mbit/s)",
        curves=[
            plots.Curve(label="line", x=x, y=line, kind="formula", look=1),
            plots.Curve(label="spinet", x=x, y=[1000 * value for value in y]),
            plots.Curve(
                label="thesis", **results.published_series("size", "share", scale=peak / 100), kind="published"
            ),
        ],
    )
    caption = f"Thesis: {SOURCE}; of its curve the text states what is shown. {TIGON2}"
    return plots.curves([panel], title=TITLE, caption=caption, panel_inches=(6.4, 3.8))
