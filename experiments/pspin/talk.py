# SPDX-License-Identifier: Apache-2.0
"""The talk's example of PULP's extensions: adding two arrays of bytes.

The same loop for RV32IM, with post-increment, with a hardware loop besides, and with packed SIMD besides; by one core,
in its own L1, alone. Cycles an output are those of a handler that makes 4096, less those of one that makes 2048.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import spinet
from experiments.pspin.common import HERE, MEASURED, PAPER
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Adding two arrays of bytes with PULP's extensions"
SOURCE = f"the talk to {PAPER}"

WAYS = ("RV32IM", "post-increment", "hardware loop", "packed SIMD")
OUTPUTS = 4096


def points() -> list[Point]:
    """The four loops."""
    return [Point(name=way, settings={"way": number}, quick=True) for number, way in enumerate(WAYS)]


def measure(*, way: int) -> dict[str, float]:
    """Cycles an output."""
    cycles = _cycles(way, OUTPUTS) - _cycles(way, OUTPUTS // 2)
    return {"cycles an output": cycles / (OUTPUTS // 2)}


def _cycles(way: int, outputs: int) -> int:
    """Cycles of the handler, for the last of some packets."""
    result = spinet.run(
        program=HERE / "handlers" / "add_arrays.c",
        defines={"WAY": way, "OUTPUTS": outputs},
        traffic="udp:size=64,count=4,rate=10kpps",
        message="all last",
    )
    assert result.complete and not result.summary["traps"], "the arrays lie in the scratchpad"
    return int(result.columns["cycles"][-1])


def claims(results: Results) -> Iterator[Claim]:
    """What the extensions gain together."""
    gain = results.value("RV32IM", "cycles an output") / results.value("packed SIMD", "cycles an output")
    yield Claim(text="All together are 8.8 times as fast as RV32IM", holds=8.7 < gain < 8.9, found=f"{gain:.2f} times")


def plot(results: Results) -> Figure:
    """Cycles an output, by what the core may use."""
    x, y = results.series("way", "cycles an output")
    curves = [plots.Curve(label="spinet", x=x, y=y), plots.Curve(label="talk", x=x, y=[11, 8, 5, 1.25], kind="formula")]
    label = "; ".join(f"{number}: {way}" for number, way in enumerate(WAYS))
    panel = plots.Panel(x_label=label, y_label="cycles an output", curves=curves, x_ticks=(0, 1, 2, 3))
    return plots.curves([panel], title=TITLE, caption=f"Talk: {SOURCE}. {MEASURED}")
