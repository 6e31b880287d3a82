# SPDX-License-Identifier: Apache-2.0
"""Figure 6: the time budget of handlers.

Left: the longest handler, in single-cycle instructions, with which packets of a size keep up with a line (at least 99
% of its rate), found by bisection. The paper's budget is 32 HPUs times the time of a packet. The runtime takes 8
cycles a packet of it (IV-B1); the rest is the expected value. Right: throughput of handlers of a given duration,
including call and return, behind a line of 200 or 400 Gbit/s.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import spinet
from experiments.pspin.common import EXAMPLES, MEASURED, NIC, PAPER, steady_gbps
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Time budget of handlers"
SOURCE = f"{PAPER}, Fig. 6, III-B2"

SIZES = (64, 128, 256, 512, 1024)
LINES = (200, 400)
DURATIONS = (16, 40, 80, 160, 320, 640, 1280)
RUNTIME = 8  # cycles a packet, IV-B1
COUNT = 4000


def points() -> list[Point]:
    """Budgets by size and line, and throughput by duration."""
    budgets = [
        Point(
            name=f"budget, {size} B at {line}", settings={"what": "budget", "size": size, "line": line, "duration": 0}
        )
        for line in LINES
        for size in SIZES
    ]
    curves = [
        Point(
            name=f"{size} B at {line}, {duration} ns",
            settings={"what": "throughput", "size": size, "line": line, "duration": duration},
            quick=size == 1024,
        )
        for line in LINES
        for size in (64, 512, 1024)
        for duration in DURATIONS
    ]
    return budgets + curves


def measure(*, what: str, size: int, line: int, duration: int) -> dict[str, float]:
    """The longest handler that keeps up, or the throughput of one."""
    if what == "throughput":
        return {"throughput": throughput(size, line, duration - RUNTIME)}
    low, high = 0, round(budget(size, line)) + 1  # keeps up, and is too long
    while high - low > 1:
        middle = (low + high) // 2
        keeps_up = throughput(size, line, middle) >= 0.99 * line
        low, high = (middle, high) if keeps_up else (low, middle)
    return {"longest handler": low}


def throughput(size: int, line: int, instructions: int) -> float:
    """Rate in Gbit/s of packets that arrive at the line rate, without gaps."""
    result = spinet.run(
        nic=NIC,
        program=EXAMPLES / "empty.c",
        defines={"INSTRUCTIONS": instructions},
        traffic=f"udp:size={size},count={COUNT},rate={line * 10**9 // (size * 8)}pps",
    )
    return steady_gbps(result, bytes_each=size)


def budget(size: int, line: int) -> float:
    """The paper's budget in ns: 32 HPUs times the time of a packet."""
    return 32 * size * 8 / line


def claims(results: Results) -> Iterator[Claim]:
    """Claims about the left panel."""
    pairs = [
        results.value(f"budget, {size} B at 200", "longest handler")
        / results.value(f"budget, {size} B at 400", "longest handler")
        for size in SIZES
    ]
    yield Claim(
        text="Twice the line rate leaves less than half of the instructions, after the runtime's share (Fig. 6 left)",
        holds=all(2 <= ratio < 2.6 for ratio in pairs),
        found=" ".join(f"{ratio:.2f}" for ratio in pairs),
    )


def plot(results: Results) -> Figure:
    """Budgets on the left, throughput on the right."""
    left, right = [], []
    for look, line in enumerate(LINES):
        x, y = results.series("size", "longest handler", what="budget", line=line)
        left.append(plots.Curve(label=f"{line} Gbit/s", x=x, y=y, look=look))
        exact = [budget(int(size), line) for size in x]
        left.append(plots.Curve(label="" if look else "paper: budget", x=x, y=exact, kind="formula"))
    for index, size in enumerate((64, 512, 1024)):
        for line in LINES:
            x, y = results.series("duration", "throughput", what="throughput", size=size, line=line)
            right.append(plots.Curve(label=f"{size} B, {line} Gbit/s", x=x, y=y, look=index + 3 * (line == 200)))
            known = results.published_series("duration", "throughput", what="throughput", size=size, line=line)
            label = "" if right[2:] else "paper: bound"
            right.append(plots.Curve(label=label, x=known["x"], y=known["y"], kind="formula"))
    return plots.curves(
        [
            plots.Panel(
                title="longest handler that keeps up", x_label="packet size (B)",
                y_label="handler (instructions, or ns)", curves=left, x_base=2, y_base=2, x_ticks=SIZES,
            ),
            plots.Panel(
                title="throughput", x_label="handler duration (ns)", y_label="throughput (Gbit/s)",
                curves=right, x_base=2, x_ticks=(16, 64, 256, 1024), y_max=450,
            ),
        ],
        title=TITLE,
        caption=f"Paper: {SOURCE}; budget: 32 HPUs · size / line, bound: min(line, 32 · size / duration). {MEASURED}",
    )  # fmt: skip
