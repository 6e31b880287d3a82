# SPDX-License-Identifier: Apache-2.0
"""Packet latency, unloaded, stage by stage.

One packet per microsecond, an empty payload handler, warm caches. Latency is from the handler execution request (HER)
to the completion notification, without the write into L2. The paper gives 7 ns for the runtime's call and nothing for
the empty handler's return. Here both are one stage, for which the paper's total leaves 8 ns.

The last two points are 4000 packets as fast as the NIC accepts them, so notifications wait for each other. The value is
the longest wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import spinet
from experiments.pspin.common import EXAMPLES, MEASURED, NIC, PAPER
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Packet latency, unloaded"
SOURCE = f"{PAPER}, IV-B1"

# Stage, and the columns of the packet table at its beginning and end.
STAGES = {
    "to cluster scheduler": ("her_ps", "accepted_ps"),
    "copy L2 to L1": ("accepted_ps", "copied_ps"),
    "assignment": ("copied_ps", "assigned_ps"),
    "call and return": ("assigned_ps", "end_ps"),
    "doorbell": ("end_ps", "task_done_ps"),
    "notification": ("task_done_ps", "done_ps"),
}
SIZES = (64, 128, 256, 512, 1024)


def points() -> list[Point]:
    """Packet sizes, on the machine of the paper and on the RTL as published; then small packets without a gap."""
    cards = ((NIC, ""), ("pspin-rtl", ", RTL preset"))
    return [
        Point(name=f"{size} B" + suffix, settings={"size": size, "nic": nic, "loaded": False}, quick=True)
        for nic, suffix in cards
        for size in SIZES
    ] + [
        Point(name="64 B, loaded" + suffix, settings={"size": 64, "nic": nic, "loaded": True}, quick=True)
        for nic, suffix in cards
    ]


def measure(*, size: int, nic: str, loaded: bool) -> dict[str, float]:
    """Nanoseconds of each stage, for the last packet of ten; under load the longest notification."""
    if loaded:
        result = spinet.run(program=EXAMPLES / "empty.c", traffic=f"udp:size={size},count=4000", nic=nic, pacing="asap")
        first, last = STAGES["notification"]
        return {"notification, longest": int((result.columns[last] - result.columns[first]).max()) / 1000}
    traffic = f"udp:size={size},count=10,rate=1Mpps"
    result = spinet.run(program=EXAMPLES / "empty.c", traffic=traffic, nic=nic)
    times = {name: int(column[-1]) for name, column in result.columns.items() if name.endswith("_ps")}
    stages = {stage: (times[last] - times[first]) / 1000 for stage, (first, last) in STAGES.items()}
    return {**stages, "total": sum(stages.values())}


def claims(results: Results) -> Iterator[Claim]:
    """The text's statements about all sizes."""
    growth = [results.value(f"{size} B", "total") - results.value("64 B", "total") for size in SIZES]
    beats = [size / 64 - 1 for size in SIZES]
    yield Claim(
        text="Each further 64 bytes cost a cycle, in the copy to L1 and nowhere else (IV-B1: 14 ns at 1024 B)",
        holds=growth == beats,
        found=" ".join(f"+{value:g}" for value in growth) + " ns",
    )


def plot(results: Results) -> Figure:
    """Lying bars in stages: the paper's, then spinet's."""
    bars = []
    for size in (64, 1024):
        parts = {
            stage: row.value for stage in STAGES for point, row in results.published(stage) if point.name == f"{size} B"
        }
        bars.append(plots.Stack(label=f"{size} B, paper", parts=parts, published=True))
    for row in results.select(nic=NIC, loaded=False):
        parts = {stage: row.measured[stage] for stage in STAGES}
        bars.append(plots.Stack(label=f"{row.point.name}, spinet", parts=parts))
    rtl = ", ".join(
        f"{row.value:g} ns at {point.settings['size']} B" for point, row in results.published("total", reference="RTL")
    )
    return plots.stacks(
        bars,
        x_label="ns from the handler execution request to the completion notification",
        title=TITLE,
        caption=f"Paper: {SOURCE}. The RTL under Verilator, in all: {rtl}. {MEASURED}",
    )
