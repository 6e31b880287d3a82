# SPDX-License-Identifier: Apache-2.0
"""Code that the experiments of this paper share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from spinet import Result

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "sdk" / "examples"
PAPER = "Di Girolamo et al., ISCA 2021"
NIC = "pspin-paper"  # the paper's machine with its simulation's host, a data sink
MEASURED = f"spinet: preset {NIC} unless it says otherwise, handlers compiled with zig cc for rv32imac."


def steady_gbps(result: Result, *, bytes_each: int, first: float = 0.3, last: float = 1.0) -> float:
    """Throughput from the rate at which packets are done, or their payload handlers if other handlers run too.

    Parameters
    ----------
    bytes_each
        Bytes that one packet counts for.
    first, last
        Part of the packets to begin and end with: instruction caches are cold at first, and completion handlers run
        at last.
    """
    assert result.complete, result.summary["ended"]["text"]
    done = np.sort(result.columns["task_done_ps" if last < 1 else "done_ps"])
    a, b = int(len(done) * first), int((len(done) - 1) * last)
    return float(bytes_each * 8 * (b - a) / (done[b] - done[a]) * 1000)


def in_flight(starts: np.ndarray, ends: np.ndarray, *, after: int) -> tuple[float, int]:
    """Mean and maximum number of overlapping intervals, from time `after` until the last group begins."""
    until = int(starts.max())
    times = np.concatenate([starts, ends])
    steps = np.concatenate([np.ones(len(starts), int), -np.ones(len(ends), int)])
    order = np.lexsort((steps, times))
    times, level = times[order], np.cumsum(steps[order])
    inside = (times >= after) & (times < until)
    busy = np.minimum(ends, until) - np.maximum(starts, after)
    return float(busy[busy > 0].sum() / (until - after)), int(level[inside].max())
