# SPDX-License-Identifier: Apache-2.0
"""Figure 11: throughput of a core, PsPIN against a processor.

Packets of 1 KiB, divided by the median time of a payload handler (Figure 12). The upper plot is per core, the lower
one per area; for PsPIN the area is `spinet nic show --area` divided by 32. The paper's bars of ault and zynq are
known as ratios to PsPIN, and are shown as these ratios times the measured PsPIN; per area the text gives only the
smallest of each. "This machine" is the machine that ran the experiment, with four threads; spinet does not know its
area.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import spinet
from experiments.pspin import fig12, handlers
from experiments.pspin.common import MEASURED, NIC, PAPER
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Throughput of a core, and of its area"
SOURCE = f"{PAPER}, Fig. 11, IV-C2"

# Per area: the smallest ratio to zynq, and the smallest ratio to ault. Source: IV-C2.
LEAST_PER_AREA = {"strided_ddt": 2.6, "filtering": 1.5}
PER_AREA = "zynq (strided_ddt) and ault (filtering), by the paper's ratio per area"


def points() -> list[Point]:
    """Each handler on PsPIN and on this machine."""
    return [
        Point(
            name=f"{handler}, {where}",
            settings={"handler": handler, "threads": threads},
            quick=handler == "filtering" and not threads,
            on_host=threads > 0,
        )
        for handler in handlers.HANDLERS
        for where, threads in (("PsPIN", 0), ("this machine", 4))
    ]


def measure(*, handler: str, threads: int) -> dict[str, float]:
    """Gbit/s of a core, and of a mm² of PsPIN."""
    time = fig12.measure(handler=handler, threads=threads)["median"]
    found = {"throughput": fig12.SIZE * 8 / max(time, 1)}
    if not threads:
        found["throughput per area"] = found["throughput"] / (spinet.nic_cost(NIC)[0].area_mm2 / 32)
    return found


def claims(results: Results) -> Iterator[Claim]:
    """PsPIN against this machine, beside the paper's ratio."""
    for handler, ratio in fig12.RATIOS.items():
        own, other = (results.value(f"{handler}, {where}", "throughput") for where in ("PsPIN", "this machine"))
        yield Claim(
            text=f"{handler}: {ratio:.2g} times a core of the better of ault and zynq (IV-C2); here, of this machine",
            holds=None,
            found=f"{own / other:.2g} times",
        )
    areas = [row.measured["throughput per area"] for row in results.select(threads=0)]
    yield Claim(
        text="Per area PsPIN has 2.6 to 10.7 times the throughput of zynq and 1.5 to 248 times that of ault (IV-C2)",
        holds=None,
        found=f"{min(areas):.0f} to {max(areas):.0f} Gbit/s a mm² of PsPIN",
    )


def plot(results: Results) -> Figure:
    """Per core above, per area below."""
    left, right = [], []
    for handler, ratio in fig12.RATIOS.items():
        own = results.value(f"{handler}, PsPIN", "throughput")
        values = {
            "PsPIN": own,
            "better of ault and zynq, by the paper's ratio": own / ratio,
            "this machine": results.value(f"{handler}, this machine", "throughput"),
        }
        left.append(plots.Group(label=handler, values=values))
        per_area = {"PsPIN": results.value(f"{handler}, PsPIN", "throughput per area")}
        if handler in LEAST_PER_AREA:
            per_area[PER_AREA] = per_area["PsPIN"] / LEAST_PER_AREA[handler]
        right.append(plots.Group(label=handler, values=per_area))
    published = ("better of ault and zynq, by the paper's ratio",)
    return plots.bars(
        [
            plots.BarPanel(y_label="Gbit/s a core", groups=left, published=published, log=True),
            plots.BarPanel(y_label="Gbit/s a mm²", groups=right, published=(PER_AREA,)),
        ],
        title=TITLE,
        caption=f"Paper: {SOURCE}. {MEASURED}",
        columns=1,
        panel_inches=(8.6, 2.7),
    )
