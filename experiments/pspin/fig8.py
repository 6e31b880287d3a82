# SPDX-License-Identifier: Apache-2.0
"""Figure 8: inbound throughput and HPUs against the length of handlers.

Handlers are x single-cycle instructions in a straight line. Each packet is a message, and packets arrive as fast as
the NIC accepts them. Throughput is the rate of completions times the packet size, with warm caches. The formula is
the text's: the smaller of the interconnect's 512 Gbit/s and the rate of 32 HPUs with x + 8 cycles a packet.

The figure does not say how HPUs are counted. *HPUs* here is the largest number with a task at the same time, from
assignment until the notification has left, including the cold start with its cache misses. *HPUs, steady* counts only
running handlers, with warm caches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import spinet
from experiments.pspin.common import EXAMPLES, MEASURED, NIC, PAPER, in_flight, steady_gbps
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Inbound throughput and HPUs against handler length"
SOURCE = f"{PAPER}, Fig. 8, IV-B2"

SIZES = (64, 512, 1024)
INSTRUCTIONS = (0, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
COUNT = 4000


def points() -> list[Point]:
    """Sizes, aligned and a byte longer, and lengths of handlers."""
    return [
        Point(
            name=f"{size}{'+1' * more} B, x = {x}",
            settings={"size": size, "more": more, "instructions": x},
            quick=x in (0, 128) and size != 512,
        )
        for size in SIZES
        for more in (0, 1)
        for x in INSTRUCTIONS
    ]


def measure(*, size: int, more: int, instructions: int) -> dict[str, float]:
    """Throughput, and HPUs at the same time."""
    result = spinet.run(
        nic=NIC,
        program=EXAMPLES / "empty.c",
        defines={"INSTRUCTIONS": instructions},
        traffic=f"udp:size={size + more},count={COUNT}",
        pacing="asap",
    )
    columns = result.columns
    warm = int(np.sort(columns["assigned_ps"])[COUNT * 3 // 10])
    _, most = in_flight(columns["assigned_ps"], columns["task_done_ps"], after=0)
    _, steady = in_flight(columns["start_ps"], columns["end_ps"], after=warm)
    n_hpus = result.summary["hpus"]["count"]
    return {
        "throughput": steady_gbps(result, bytes_each=size + more),
        "HPUs": min(most, n_hpus),  # an HPU that already has its next task counts once
        "HPUs, steady": min(steady, n_hpus),
    }


def bound(size: int, instructions: int) -> float:
    """The text's formula, in Gbit/s."""
    return min(512.0, 32 * size * 8 / (instructions + 8))


def claims(results: Results) -> Iterator[Claim]:
    """Claims about whole curves."""
    pairs = [
        (results.value(f"{size} B, x = {x}", "throughput"), results.value(f"{size}+1 B, x = {x}", "throughput"))
        for size in SIZES
        for x in INSTRUCTIONS
        if bound(size, x) == 512  # where the interconnect is the limit
    ]
    yield Claim(
        text="Misaligned packets stay below aligned ones of the same size at the interconnect limit (Fig. 8 left)",
        holds=all(misaligned < aligned for aligned, misaligned in pairs),
        found=f"{min(m / a for a, m in pairs):.0%} to {max(m / a for a, m in pairs):.0%} of the aligned throughput",
    )
    rate = results.value("64 B, x = 0", "throughput") / (64 * 8)
    yield Claim(
        text="A packet of 64 B can be scheduled each cycle (IV-B2)", holds=rate > 0.99, found=f"{rate:.3f} packets/ns"
    )


def plot(results: Results) -> Figure:
    """Throughput on the left, HPUs on the right."""
    left, right, last = [], [], []
    for look, size in enumerate(SIZES):
        for more in (0, 1):
            x, y = results.series("instructions", "throughput", size=size, more=more)
            label = f"{size} B" if not more else f"{size} + 1 B"
            left.append(plots.Curve(label=label, x=x, y=y, look=look + 3 * more))
        exact = [bound(size, int(value)) for value in x]
        left.append(plots.Curve(label="" if look else "paper: bound", x=x, y=exact, kind="formula"))
        x, y = results.series("instructions", "HPUs", size=size, more=0)
        right.append(plots.Curve(label=f"{size} B", x=x, y=y, look=look))
        x, y = results.series("instructions", "HPUs, steady", size=size, more=0)
        last.append(plots.Curve(label=f"{size} B", x=x, y=y, look=look))
        for quantity, curves in (("HPUs", right), ("HPUs, steady", last)):
            known = results.published_series("instructions", quantity, size=size, more=0)
            if known["x"]:
                curves.append(plots.Curve(label=f"paper: {size} B", **known, kind="published", look=look))
    ticks = (0, 4, 16, 64, 256, 1024)
    return plots.curves(
        [
            plots.Panel(
                title="throughput", x_label="instructions of a handler, or its ns", y_label="throughput (Gbit/s)",
                curves=left, x_base=2, x_ticks=ticks, levels=[(400, "400 Gbit/s")], y_max=560,
            ),
            plots.Panel(
                title="HPUs, at most", x_label="instructions of a handler", y_label="HPUs in use at once",
                curves=right, x_base=2, x_ticks=ticks, levels=[(32, "all")], y_max=36,
            ),
            plots.Panel(
                title="HPUs, at most in the steady state", x_label="instructions of a handler",
                y_label="HPUs in use at once", curves=last, x_base=2, x_ticks=ticks, levels=[(32, "all")], y_max=36,
            ),
        ],
        columns=2,
        title=TITLE,
        caption=f"Paper: {SOURCE}; its bound is min(512, 32 HPUs · size / (x + 8 cycles)). {MEASURED}",
    )  # fmt: skip
