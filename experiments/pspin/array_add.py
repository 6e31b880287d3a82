# SPDX-License-Identifier: Apache-2.0
"""The talk's example: adding two arrays of bytes with PULP's extensions.

One handler runs the talk's four loops, with the same instructions, on one core with arrays in its own L1. The time of
an output is the time of 4096 outputs minus the time of 2048, divided by 2048.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import spinet
from experiments.pspin.common import HERE, MEASURED, NIC
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Adding two arrays of bytes"
SOURCE = "Di Girolamo, De Sensi, Hoefler et al., sPIN, OFA Virtual Workshop 2022, custom ISA extensions"

WAYS = ("RV32IM", "auto-increment", "hardware loop", "packed SIMD")
OUTPUTS = 4096


def points() -> list[Point]:
    """One point for each of the four loops."""
    return [Point(name=name, settings={"way": way}, quick=True) for way, name in enumerate(WAYS)]


def measure(*, way: int) -> dict[str, float]:
    """Cycles for each output."""
    return {"cycles an output": (_cycles(way, OUTPUTS) - _cycles(way, OUTPUTS // 2)) / (OUTPUTS // 2)}


def _cycles(way: int, outputs: int) -> int:
    result = spinet.run(
        nic=NIC,
        program=HERE / "handlers" / "array_add.c",
        defines={"WAY": way, "N": outputs},
        traffic="udp:size=64,count=4,rate=10kpps",
        message="all last",
    )
    assert result.complete and not result.summary["traps"]
    return int(result.columns["cycles"][-1])


def claims(results: Results) -> Iterator[Claim]:
    """The gain of each step."""
    found = [row.measured["cycles an output"] for row in results.rows]
    yield Claim(
        text="Each extension is faster than the one before",
        holds=found == sorted(found, reverse=True),
        found=f"{found[0] / found[-1]:.1f} times in all",
    )


def plot(results: Results) -> Figure:
    """A pair of bars for each loop."""
    expected = {row.point: row for row in results.experiment.expected}
    groups = [
        plots.Group(
            label=name,
            values={"talk": expected[name].value, "spinet": results.value(name, "cycles an output")},
            slack=expected[name].slack,
        )
        for name in WAYS
    ]
    panel = plots.BarPanel(y_label="cycles an output", groups=groups, published=("talk",))
    return plots.bars([panel], title=TITLE, caption=f"Talk: {SOURCE}. {MEASURED}", panel_inches=(6.4, 3.4))
