# SPDX-License-Identifier: Apache-2.0
"""Table 4.6: bandwidth of the memories.

Six cores at 200 MHz, 1472-byte datagrams in both directions at line rate, from 1 to 3 ms. Values are the bytes that
instruction memory, control memory (the scratchpads) and frame memory moved, from their counters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spinach.common import ARITHMETIC, TENGIG, THESIS, Steady, tengig
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Bandwidth of the memories"
SOURCE = f"{THESIS}, Table 4.6, 4.5.3"

POINT = "6 cores, 200 MHz"
MEMORIES = ("instruction memory", "scratchpads", "frame memory")


def points() -> list[Point]:
    """A single point."""
    return [Point(name=POINT, settings={"cores": 6}, quick=True)]


def measure(*, cores: int) -> dict[str, float]:
    """Gbit/s of each memory; accesses to the scratchpads; how idle the instruction memory is."""
    steady = Steady(*(tengig(cores=cores, limit_ms=ms) for ms in (1, 3)))
    seconds = steady.seconds

    def gbps(n_bytes: int) -> float:
        return float(n_bytes * 8 / seconds / 1e9)

    accesses = steady.counter("control_memory.reads") + steady.counter("control_memory.writes")
    cpus = [f"control_memory.requesters[{i}]" for i in range(cores)]
    by_cores = sum(steady.counter(f"{cpu}.{kind}") for cpu in cpus for kind in ("reads", "writes"))
    return {
        "instruction memory": gbps(steady.sum("instruction_memory.requesters[", "].words") * 16),
        "instruction memory, idle": 100 - steady.counter("instruction_memory.busy_cycles") / (seconds * 200e6) * 100,
        "scratchpads": gbps(accesses * 4),
        "accesses of the cores": by_cores / seconds / 1e6,
        "accesses of the assists": (accesses - by_cores) / seconds / 1e6,
        "frame memory": gbps(steady.counter("frame_memory.moved_bytes")),
        "frame memory, useful": gbps(steady.counter("frame_memory.useful_bytes")),
    }


def claims(results: Results) -> Iterator[Claim]:
    """Sums and conclusions of the text."""
    yield Claim(
        text="The text: (238.9 + 19.8) million accesses of 32 bits a second are 8.28 Gbit/s",
        holds=abs((238.9 + 19.8) * 32 / 1000 - 8.28) < 0.005,
        found=f"{(238.9 + 19.8) * 32 / 1000:.3f}",
        basis=ARITHMETIC,
    )
    used = results.value(POINT, "scratchpads") / 25.6
    yield Claim(
        text="Cores and assists use about a third of what four banks carry, 25.6 Gbit/s (4.5.3): at most 40 %",
        holds=used <= 0.4,
        found=f"{used * 100:.0f} %",
    )
    moved, useful = results.value(POINT, "frame memory"), results.value(POINT, "frame memory, useful")
    yield Claim(
        text="Frame memory moves a little more than is used, for frames do not begin at multiples of 8 (4.5.3)",
        holds=1 < moved / useful < 1.02,
        found=f"{(moved / useful - 1) * 100:.1f} %",
    )


def plot(results: Results) -> Figure:
    """Required, used in the thesis, used here."""
    required = {"scratchpads": 5.79, "frame memory": 39.5}
    groups = [
        plots.Group(
            label=memory,
            values={
                "thesis, required": required.get(memory),
                "thesis, used": next(row.value for _, row in results.published(memory)),
                "spinet": results.value(POINT, memory),
            },
        )
        for memory in MEMORIES
    ]
    panel = plots.BarPanel(y_label="Gbit/s", groups=groups, published=("thesis, required", "thesis, used"), log=True)
    return plots.bars([panel], title=TITLE, caption=f"Thesis: {SOURCE}. {TENGIG}", panel_inches=(6.4, 3.6))
