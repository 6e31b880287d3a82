# SPDX-License-Identifier: Apache-2.0
"""ICMP echo: cycles of the handler and of its checksum.

`swapped` turns each 16 bits of the message into the host's order and adds the carry immediately, as FPsPIN did in 2023.
`halves` adds them as they are, as FPsPIN did in 2024, when its authors recorded no cycles. `host` lets the host compute
the checksum. Everything else is as in `fpspin/udp_cycles`. Measurements of 2023 are repeated with the L2 of 2023, whose
SRAM took two cycles instead of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.fpspin.common import MEASURED, PAPER, QUICK, SIZES, echo, echoes, slope
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "ICMP echo: cycles of the handler"
SOURCE = f"{PAPER}; KireinaHoro/pspin 201c3d1, examples/icmp_ping/data"
WAYS = {
    "swapped": "HPU, 16 bits at a time, swapped",
    "halves": "HPU, 16 bits at a time",
    "host": "host, without its time",
}


def points() -> list[Point]:
    """Payloads, and who computes the checksum."""
    return [
        Point(name=f"{size} B, {way}", settings={"size": size, "way": way}, quick=size in QUICK)
        for way in WAYS
        for size in SIZES
    ]


def measure(*, size: int, way: str) -> dict[str, float]:
    """Cycles of the handler and of its visit to the host, and nanoseconds in the card."""
    return echo("icmp", size, on_host=way == "host", halves=way == "halves", year=2024 if way == "halves" else 2023)


def claims(results: Results) -> Iterator[Claim]:
    """Claims about the cycles for each byte."""
    theirs = [float(echoes("icmp", 2023, "fpspin")[size]["handler_cycles"]) for size in SIZES]
    wanted = slope(list(SIZES), theirs)
    found = slope(list(SIZES), [results.value(f"{size} B, swapped", "handler") for size in SIZES])
    yield Claim(
        text=f"A byte of the message costs {wanted:.2f} cycles, if halves are swapped (within 10 %)",
        holds=abs(found - wanted) <= 0.1 * wanted,
        found=f"{found:.2f} cycles",
    )
    trips = [float(echoes("icmp", 2024, "fpspin")[size]["rtt_median_us"]) for size in SIZES]
    found = slope(list(SIZES), [results.value(f"{size} B, halves", "handler") for size in SIZES])
    yield Claim(
        text="With 16 bits at a time, a byte lengthens the median round trip of 2024 by "
        f"{40 * slope(list(SIZES), trips):.2f} cycles of 25 ns",
        holds=None,
        found=f"{found:.2f} cycles of the handler, whose sum is unrolled",
    )


def plot(results: Results) -> Figure:
    """Draws cycles by payload."""
    curves = []
    for look, (way, label) in enumerate(WAYS.items()):
        x, y = results.series("size", "handler", way=way)
        curves.append(plots.Curve(label=f"{label}: spinet", x=x, y=y, look=look))
        series = results.published_series("size", "handler", reference="FPGA", way=way)
        if series["x"]:
            curves.append(plots.Curve(label=f"{label}: FPGA", kind="published", look=look, **series))
    panel = plots.Panel(x_label="payload in bytes", y_label="cycles at 40 MHz", curves=curves)
    return plots.curves([panel], title=TITLE, caption=f"FPGA: {SOURCE}. {MEASURED}")
