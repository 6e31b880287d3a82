# SPDX-License-Identifier: Apache-2.0
"""Figure 4.7: the 10 Gigabit NIC's firmware, optimised and first version.

Eight cores at 200 MHz process datagrams of all sizes in both directions, as fast as the card accepts them. The first
version (`-D BASE`) has a DMA read ring of 32 entries, filled under a lock, one core that only keeps sent frames in
order, and locks in the loops over received frames and finished DMA writes. (a) shows UDP payload, (b) frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spinach.common import SIZES, TEN_GIGABIT, TENGIG, THESIS, line_rate, payload_gbps, tengig_rates
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "10 Gigabit NIC, two versions of the firmware: payload and frames"
SOURCE = f"{THESIS}, Fig. 4.7 a, b, 4.5.1"

FIRMWARE = ("optimised", "first")
TICKS = (0, 500, 1000)


def points() -> list[Point]:
    """One point for each size and version of the firmware."""
    return [
        Point(
            name=f"{size} B, {firmware}",
            settings={"size": size, "firmware": firmware},
            quick=(size, firmware) == (18, "optimised"),
        )
        for firmware in FIRMWARE
        for size in SIZES
    ]


def measure(*, size: int, firmware: str) -> dict[str, float]:
    """Frames a second each way, UDP payload, share of what the line carries."""
    found = tengig_rates(cores=8, size=size, base=firmware == "first")
    return {**found, "million frames": found["frames"] / 1e6}


def claims(results: Results) -> Iterator[Claim]:
    """Compares the two versions."""

    def least(quantity: str) -> float:
        return results.value("18 B, optimised", quantity) / results.value("18 B, first", quantity)

    small = results.value("18 B, optimised", "million frames")
    yield Claim(
        text="Optimised, saturated: at least 2.65 million frames/s (4.5.1)", holds=small >= 2.65, found=f"{small:.2f}"
    )
    first = max(row.measured["million frames"] for row in results.select(firmware="first"))
    yield Claim(
        text="The first version never exceeds 2.0 million frames/s (4.5.1)", holds=first <= 2.0, found=f"{first:.2f}"
    )
    yield Claim(
        text="Smallest frames: optimised moves 213 % more in all, within a quarter",
        holds=abs(least("frames") - 3.13) <= 3.13 / 4,
        found=f"{(least('frames') - 1) * 100:+.0f} %",
    )
    yield Claim(
        text="Smallest frames: optimised sends 854 % more, within a quarter",
        holds=abs(least("sent") - 9.54) <= 9.54 / 4,
        found=f"{(least('sent') - 1) * 100:+.0f} %",
    )
    pairs = [
        (results.value(f"{size} B, optimised", "frames"), results.value(f"{size} B, first", "frames")) for size in SIZES
    ]
    yield Claim(
        text="The optimised version is ahead or equal (1 %) at every size",
        holds=all(a >= 0.99 * b for a, b in pairs),
        found=f"{min(a / b for a, b in pairs):.2f} to {max(a / b for a, b in pairs):.2f} times",
    )


def plot(results: Results) -> Figure:
    """Payload; frames, both ways and each."""
    x = [float(size) for size in SIZES]
    line = [2 * line_rate(size, TEN_GIGABIT) for size in SIZES]

    def curve(quantity: str, firmware: str, scale: float, look: int, label: str = "") -> plots.Curve:
        a, b = results.series("size", quantity, firmware=firmware)
        return plots.Curve(label=label or firmware, x=a, y=[value * scale for value in b], look=look)

    panels = [
        plots.Panel(
            title="(a) payload",
            x_label="UDP datagram (bytes)",
            x_ticks=TICKS,
            y_label="UDP payload, both ways (Gbit/s)",
            curves=[
                plots.Curve(
                    label="line",
                    x=x,
                    y=[payload_gbps(size, frames) for size, frames in zip(SIZES, line, strict=True)],
                    kind="formula",
                    look=2,
                ),
                *(curve("payload", firmware, 1, look) for look, firmware in enumerate(FIRMWARE)),
            ],
        ),
        plots.Panel(
            title="(b) frames",
            x_label="UDP datagram (bytes)",
            x_ticks=TICKS,
            y_label="frames, both ways (millions/s)",
            y_max=6,
            curves=[
                plots.Curve(label="line", x=x, y=[frames / 1e6 for frames in line], kind="formula", look=2),
                *(curve("frames", firmware, 1e-6, look) for look, firmware in enumerate(FIRMWARE)),
            ],
            levels=[(2.65, "thesis, optimised"), (2.0, "thesis, first: below")],
        ),
        plots.Panel(
            title="(b), each way",
            x_label="UDP datagram (bytes)",
            x_ticks=TICKS,
            y_label="frames (millions/s)",
            y_max=4,
            curves=[
                curve(way, firmware, 1e-6, 2 * look + n, f"{firmware}, {way}")
                for look, firmware in enumerate(FIRMWARE)
                for n, way in enumerate(("sent", "received"))
            ],
        ),
    ]
    gains = {"sent": ("sent", 854.0), "in all": ("frames", 213.0)}
    gained = []
    for look, (label, (quantity, published)) in enumerate(gains.items()):
        y = [
            (results.value(f"{size} B, optimised", quantity) / results.value(f"{size} B, first", quantity) - 1) * 100
            for size in SIZES
        ]
        gained.append(plots.Curve(label=label, x=x, y=y, look=look))
        gained.append(plots.Curve(label=f"thesis: {label}", x=[18.0], y=[published], kind="published", look=look))
    panels.append(
        plots.Panel(
            title="optimised over first",
            x_label="UDP datagram (bytes)",
            x_ticks=TICKS,
            y_label="more frames (%)",
            curves=gained,
        )
    )
    return plots.curves(panels, title=TITLE, caption=f"Thesis: {SOURCE}. {TENGIG}")
