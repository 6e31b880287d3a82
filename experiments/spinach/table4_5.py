# SPDX-License-Identifier: Apache-2.0
"""Table 4.5: the time of the cores by task.

Six cores at 200 MHz, 1472-byte datagrams both ways at line rate, from 1 to 3 ms: cycles by function, as the simulator
counts them. The loop and its events, the queue, and posting what stands ready in the DMA rings are dispatch; slots of
the rings belong to the direction that asks for them. A lock is taken within a function, and the wait for it is part
of that function's time: so the thesis's rows are compared with their locking added. How often a lock was asked for in
vain is counted by the registers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.spinach.common import TENGIG, THESIS, Steady, shares, tengig
from spinet import plots
from spinet.reproduce import Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Time of the cores by task"
SOURCE = f"{THESIS}, Table 4.5, 4.5.3"

TASKS = ("dispatch", "send", "receive", "other")


def points() -> list[Point]:
    """One."""
    return [Point(name="6 cores, 200 MHz", settings={"cores": 6}, quick=True)]


def measure(*, cores: int) -> dict[str, float]:
    """Percent of the cycles of all cores by task, and vain asks for locks of a frame."""
    steady = Steady(*(tengig(cores=cores, limit_ms=ms, profile=True) for ms in (1, 3)))
    frames = steady.frames("sent") + steady.frames("received")
    return {
        **shares(steady.functions()),
        "vain asks for locks, a frame": steady.counter("registers.contended_locks") / frames,
    }


def plot(results: Results) -> Figure:
    """Two bars."""
    published = {task: row.value for task in TASKS for _, row in results.published(task)}
    bars = [
        plots.Stack(label="thesis", parts=published, published=True),
        *(
            plots.Stack(label=row.point.name, parts={task: row.measured[task] for task in TASKS})
            for row in results.rows
        ),
    ]
    return plots.stacks(bars, x_label="time of all cores (%)", title=TITLE, caption=f"Thesis: {SOURCE}. {TENGIG}")
