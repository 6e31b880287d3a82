# SPDX-License-Identifier: Apache-2.0
"""Table 4.5: the time of the cores by task.

Six cores at 200 MHz, 1472-byte datagrams in both directions at line rate, from 1 to 3 ms. Cycles are counted by
function. Dispatch is the loop with its events, the queue, and posting of finished slots in the DMA rings. Slots of
the rings count for the direction that requests them. Locks are separate, as in the thesis: from a core's first
attempt to its success, and the release, from accesses to the lock registers (docs/reference/summary.md).
Computing a lock's address counts as work.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spinach.common import TENGIG, THESIS, Steady, shares, tengig
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Time of the cores by task"
SOURCE = f"{THESIS}, Table 4.5, 4.5.3"

TASKS = ("dispatch", "send", "receive", "other")
LOCKS = tuple(f"{task}, locks" for task in TASKS)
PARTS = tuple(part for pair in zip(TASKS, LOCKS, strict=True) for part in pair)


def points() -> list[Point]:
    """A single point."""
    return [Point(name="6 cores, 200 MHz", settings={"cores": 6}, quick=True)]


def measure(*, cores: int) -> dict[str, float]:
    """Percent of the cycles of all cores by task, without locks and on locks; failed lock attempts by both counters."""
    steady = Steady(*(tengig(cores=cores, limit_ms=ms, profile=True) for ms in (1, 3)))
    frames = steady.frames("sent") + steady.frames("received")
    cycles, on_locks = steady.functions(), steady.functions("lock_cycles")
    whole, locks = shares(cycles), shares(on_locks, of=cycles)
    summary = steady.late.summary
    return {
        **{task: whole[task] - locks[task] for task in TASKS},
        **{name: locks[task] for task, name in zip(TASKS, LOCKS, strict=True)},
        "locks": sum(locks.values()),
        "vain asks for locks, a frame": steady.counter("registers.contended_locks") / frames,
        "vain asks, by registers": summary["counters"]["registers.contended_locks"],
        "vain asks, by cores": sum(core["locks"]["vain"] for core in summary["cores"]),
    }


def claims(results: Results) -> Iterator[Claim]:
    """Checks that locks are counted completely."""
    (row,) = results.rows
    asks = [row.measured[f"vain asks, by {who}"] for who in ("registers", "cores")]
    yield Claim(
        text="Failed attempts according to the profiles of the cores, and according to the locks' registers",
        holds=abs(asks[0] - asks[1]) <= 6,  # the answers of the last may be under way
        found=f"{asks[1]:.0f}, {asks[0]:.0f}",
    )


def plot(results: Results) -> Figure:
    """Draws two bars: the thesis and spinet."""
    published = {task: row.value for task in PARTS for _, row in results.published(task)}
    bars = [
        plots.Stack(label="thesis", parts=published, published=True),
        *(
            plots.Stack(label=row.point.name, parts={task: row.measured[task] for task in PARTS})
            for row in results.rows
        ),
    ]
    return plots.stacks(bars, x_label="time of all cores (%)", title=TITLE, caption=f"Thesis: {SOURCE}. {TENGIG}")
