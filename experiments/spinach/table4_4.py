# SPDX-License-Identifier: Apache-2.0
"""Table 4.4: distribution of a core's cycles.

Six cores at 200 MHz, 1472-byte datagrams in both directions at line rate, from 1 to 3 ms. Values are parts of an
instruction per cycle, from the core's counters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spinach.common import TENGIG, THESIS, Steady, instructions_per_cycle, tengig
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Cycles of a core by cause"
SOURCE = f"{THESIS}, Table 4.4, 4.5.3"

CAUSES = {
    "execution": "execution",
    "instruction misses": "instruction_misses",
    "load stalls": "load_stalls",
    "bank conflicts": "conflicts",
    "pipeline": "pipeline",
}


def points() -> list[Point]:
    """A single point."""
    return [Point(name="6 cores, 200 MHz", settings={"cores": 6}, quick=True)]


def measure(*, cores: int) -> dict[str, float]:
    """Shares of the cycles, and accesses to the scratchpads."""
    steady = Steady(*(tengig(cores=cores, limit_ms=ms) for ms in (1, 3)))
    found = instructions_per_cycle(steady.causes())
    cpus = [f"cpu[{i}]" for i in range(cores)]
    mega = steady.seconds * 1e6
    return {
        **{name: found[cause] for name, cause in CAUSES.items()},
        "MIPS": steady.causes()["execution"] / mega,
        "loads": sum(steady.counter(f"{cpu}.loads.memory") for cpu in cpus) / mega,
        "stores": sum(steady.counter(f"{cpu}.stores.memory") for cpu in cpus) / mega,
    }


def claims(results: Results) -> Iterator[Claim]:
    """Consistency of the numbers, the table's and ours."""
    yield Claim(
        text="The table: 0.63 instructions a cycle on six cores at 200 MHz are 756 MIPS; here",
        holds=None,
        found=f"{results.value('6 cores, 200 MHz', 'MIPS'):.0f} MIPS",
    )
    parts = sum(results.value("6 cores, 200 MHz", cause) for cause in CAUSES)
    yield Claim(text="The parts are all there is: 1.00", holds=abs(parts - 1) < 1e-6, found=f"{parts:.4f}")


def plot(results: Results) -> Figure:
    """Draws two bars: the thesis and spinet."""
    published = {cause: row.value for cause in CAUSES for _, row in results.published(cause)}
    bars = [
        plots.Stack(label="thesis", parts=published, published=True),
        *(
            plots.Stack(label=row.point.name, parts={cause: row.measured[cause] for cause in CAUSES})
            for row in results.rows
        ),
    ]
    return plots.stacks(bars, x_label="part of a cycle", title=TITLE, caption=f"Thesis: {SOURCE}. {TENGIG}")
