# SPDX-License-Identifier: Apache-2.0
"""Figure 13: packet buffer by Little's law.

Lines: the bytes in PsPIN at a line rate if each packet stays for a given time. This is a formula, as in the paper.
Points: packets arrive at the line rate, without FCS, preamble and gap, on a card whose clusters are scaled with the
rate (4 at 400 Gbit/s). Handlers take 10, 50, 90 and 115 % of the critical time, cores · packet size / line rate. The
buffer is the mean occupancy of packet memory. 800 Gbit/s exceeds the data path of 512 bits a cycle, so it is only a
formula here, as in the paper. The times of the six handlers are those of Figure 12 at 1 KiB.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import spinet
from experiments.pspin import fig12, handlers
from experiments.pspin.common import HERE, MEASURED, NIC, PAPER, in_flight, steady_gbps
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Packet buffer, and when handlers become the bottleneck"
SOURCE = f"{PAPER}, Fig. 13, V"

LINES = (200, 400)
FORMULA_LINE = 800
SIZES = (256, 1024, 4096)
SHARES = (10, 50, 90, 115)  # percent of the critical time
CORES_AT_400 = 32
COUNT = 3000


def points() -> list[Point]:
    """The measurable points, and the paper's example at 800 Gbit/s."""
    measured = [
        Point(
            name=f"{size} B at {line}, {share} %",
            settings={"size": size, "line": line, "share": share},
            quick=share == 10,
        )
        for line in LINES
        for size in SIZES
        for share in SHARES
    ]
    example = Point(name="3 us at 800", settings={"size": 0, "line": FORMULA_LINE, "share": 0}, quick=True)
    return [*measured, example, *(Point(name=name, settings={"handler": name}) for name in handlers.HANDLERS)]


def critical_ns(size: int) -> float:
    """Handlers that take longer are the bottleneck; because cores are scaled with the line, this time is the same for
    all rates.
    """
    return CORES_AT_400 * size * 8 / 400


def buffer_kib(line: int, stay_ns: float) -> float:
    """Size of the packet buffer by Little's law."""
    return line * stay_ns / 8 / 1024


def measure(*, size: int = 0, line: int = 0, share: int = 0, handler: str = "") -> dict[str, float]:
    """Time that packets stay, the buffer they take, and throughput; or the time of one of the six handlers."""
    if handler:
        return {"time of the handler": fig12.measure(handler=handler, threads=0)["median"]}
    if line == FORMULA_LINE:
        return {"time in PsPIN": 3000, "buffer": buffer_kib(line, 3000), "throughput": line}
    result = spinet.run(
        nic=NIC,
        program=HERE / "handlers" / "spin.c",
        defines={"CYCLES": round(critical_ns(size) * share / 100)},
        traffic=f"udp:size={size},count={COUNT},rate={line * 10**9 // (size * 8)}pps",
        set=[f"n_clusters={4 * line // 400}"],
    )
    start, end = result.columns["stored_ps"], result.columns["done_ps"]
    after = int(np.sort(start)[COUNT // 3])
    mean, _ = in_flight(start, end, after=after)
    return {
        "time in PsPIN": float(np.mean((end - start)[start >= after])) / 1000,
        "buffer": mean * size / 1024,
        "throughput": steady_gbps(result, bytes_each=size),
    }


def claims(results: Results) -> Iterator[Claim]:
    """Little's law, and the critical time."""
    kept = [row for row in results.rows if 0 < float(row.point.settings.get("share", 0)) < 100]
    errors = [
        row.measured["buffer"] / buffer_kib(int(row.point.settings["line"]), row.measured["time in PsPIN"]) - 1
        for row in kept
    ]
    yield Claim(
        text="The occupancy of packet memory is line rate times time in PsPIN, as long as handlers keep up (V)",
        holds=all(abs(error) < 0.01 for error in errors),
        found=f"within {max(abs(error) for error in errors):.2%}",
    )
    for share, keeps in ((90, True), (115, False)):
        rates = [row.measured["throughput"] / float(row.point.settings["line"]) for row in results.select(share=share)]
        how = "keep" if keeps else "do not keep"
        yield Claim(
            text=f"Handlers of {share} % of their critical time {how} up with the line (V)",
            holds=all((rate > 0.99) == keeps for rate in rates),
            found=" ".join(f"{rate:.0%}" for rate in rates) + " of the line",
        )
    room = max(row.measured["buffer"] for row in kept)
    yield Claim(text="The 4 MiB suffice for more (V)", holds=room < 4096, found=f"at most {room:.0f} KiB used")


def plot(results: Results) -> Figure:
    """Buffer over time, with measured points and critical times."""
    times = [float(10**exponent) for exponent in np.arange(1, 4.01, 0.25)]
    curves = []
    for look, line in enumerate((*LINES, FORMULA_LINE)):
        x, y = times, [buffer_kib(line, time) for time in times]
        curves.append(plots.Curve(label="line rate · time" if not look else "", x=x, y=y, kind="formula"))
        rows = [row for row in results.select(line=line) if row.point.settings["share"] != 115]
        if line in LINES:
            pairs = sorted((row.measured["time in PsPIN"], row.measured["buffer"]) for row in rows)
            x, y = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
            curves.append(plots.Curve(label=f"{line} Gbit/s, measured", x=x, y=y, look=look))
        x = [critical_ns(size) for size in SIZES]
        y = [buffer_kib(line, time) for time in x]
        label = f"{line} Gbit/s, critical: {', '.join(str(size) for size in SIZES)} B"
        curves.append(plots.Curve(label=label, x=x, y=y, kind="published", look=look))
    label = "paper: 3 µs at 800 Gbit/s"
    curves.append(plots.Curve(label=label, x=[3000], y=[300], slack=[30], kind="published", look=5))
    handler_times = [results.value(name, "time of the handler") for name in handlers.HANDLERS]
    panel = plots.Panel(
        marks=[
            (min(handler_times), "fastest handler"),
            (float(np.exp(np.mean(np.log(handler_times)))), "their mean"),
            (max(handler_times), "slowest of the six"),
        ],
        x_label="time in PsPIN, or handler time (ns)",
        y_label="packet buffer (KiB)",
        curves=curves,
        x_base=10,
        y_base=10,
    )
    return plots.curves([panel], title=TITLE, caption=f"Paper: {SOURCE}. {MEASURED}", panel_inches=(7.6, 3.6))
