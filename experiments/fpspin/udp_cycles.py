# SPDX-License-Identifier: Apache-2.0
"""UDP echo: cycles of the handler.

One packet at a time, warm caches. `handler` is the time from the handler's first reading of the cycle counter to its
last, without the visit to the host. As on FPsPIN it contains two atomic additions to a counter in L2 (four with the
visit) and the wait until the packet has left. FPsPIN reads the counter by a system call of about 104 cycles, which
its authors subtract; here a handler reads it in one instruction. `host` is the visit: copy, call, copy back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.fpspin.common import MEASURED, PAPER, QUICK, SIZES, echo, echoes, slope
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "UDP echo: cycles of the handler"
SOURCE = f"{PAPER}; spcl/FPsPIN f5feca1, examples/icmp_ping/data"


def points() -> list[Point]:
    """Payloads, answered on the HPU and by the host."""
    return [
        Point(name=f"{size} B, {where}", settings={"size": size, "on_host": where == "host"}, quick=size in QUICK)
        for where in ("HPU", "host")
        for size in SIZES
    ]


def measure(*, size: int, on_host: bool) -> dict[str, float]:
    """Cycles of the handler and of its visit to the host, and nanoseconds in the card."""
    return echo("udp", size, on_host=on_host)


def claims(results: Results) -> Iterator[Claim]:
    """Slopes and differences, which depend on the machine more than on the compiler."""
    ours = [results.value(f"{size} B, HPU", "handler") for size in SIZES]
    theirs = [float(echoes("udp", 2024, "fpspin")[size]["handler_cycles"]) for size in SIZES]
    found, wanted = 100 * slope(list(SIZES), ours), 100 * slope(list(SIZES), theirs)
    yield Claim(
        text=f"100 bytes more cost {wanted:.2f} cycles: the packet leaves at 64 bytes a cycle (within 5 %)",
        holds=abs(found - wanted) <= 0.05 * wanted,
        found=f"{found:.2f} cycles",
    )
    visits = [results.value(f"{size} B, host", "handler") for size in SIZES]
    there = [float(echoes("udp", 2024, "host+fpspin")[size]["handler_cycles"]) for size in SIZES]
    ours_more = sum(a - b for a, b in zip(visits, ours, strict=True)) / len(SIZES)
    theirs_more = sum(a - b for a, b in zip(there, theirs, strict=True)) / len(SIZES)
    yield Claim(
        text=f"With the host's visit the handler takes {theirs_more:.1f} cycles more: two atomic additions to L2 "
        "and a check of host memory",
        holds=None,
        found=f"{ours_more:.1f} cycles",
    )


def plot(results: Results) -> Figure:
    """Draws cycles by payload."""
    curves = []
    for look, (on_host, label) in enumerate(
        [(False, "HPU alone"), (True, "with a visit to the host, without its time")]
    ):
        x, y = results.series("size", "handler", on_host=on_host)
        series = results.published_series("size", "handler", reference="FPGA", on_host=on_host)
        curves.append(plots.Curve(label=f"{label}: spinet", x=x, y=y, look=look))
        curves.append(plots.Curve(label=f"{label}: FPGA", kind="published", look=look, **series))
    panel = plots.Panel(x_label="payload in bytes", y_label="cycles at 40 MHz", curves=curves)
    return plots.curves([panel], title=TITLE, caption=f"FPGA: {SOURCE}. {MEASURED}")
