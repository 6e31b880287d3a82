# SPDX-License-Identifier: Apache-2.0
"""Figure 3.6: the Tigon-2 with a faster SRAM.

Two CPUs at 88 MHz as in Figure 3.5, with the SRAM at 100 and at 250 MHz. Both sides send as fast as the card accepts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spinach.common import GIGABIT, SIZES, THESIS, TIGON2, line_rate, payload_gbps, rates, tigon2
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Tigon-2, SRAM of 250 MHz: payload and frames"
SOURCE = f"{THESIS}, Fig. 3.6, 3.5.1, 3.5.2"

CLOCKS = (100, 250)

MISS = (
    "The cores wait for the SRAM in only a fifth of their cycles: all hot code of firmware/tigon2 is in the "
    "scratchpads, and only references to descriptors and shared words go to the SRAM."
)


def points() -> list[Point]:
    """One point for each size and clock."""
    return [
        Point(
            name=f"{size} B, {mhz} MHz",
            settings={"size": size, "mhz": mhz},
            quick=size == 1472 and mhz == 250,
        )
        for mhz in CLOCKS
        for size in SIZES
    ]


def measure(*, size: int, mhz: int) -> dict[str, float]:
    """Frames a second each way, UDP payload, share of what the line carries."""
    return rates(tigon2(cpus=2, size=size, set=[f"clocks.memory='{mhz} MHz'"]), size, GIGABIT)


def claims(results: Results) -> Iterator[Claim]:
    """Claims about small frames."""
    gain = results.value("18 B, 250 MHz", "frames") / results.value("18 B, 100 MHz", "frames") - 1
    yield Claim(
        text="18-byte datagrams: 24 % more frames with 250 MHz (3.5.2), within 5 points",
        holds=abs(gain * 100 - 24) <= 5,
        found=f"{gain * 100:+.1f} %",
        miss=MISS,
    )


def plot(results: Results) -> Figure:
    """Payload, and frames a second."""
    x, _ = results.series("size", "payload", mhz=100)
    line = [2 * line_rate(round(size), GIGABIT) for size in x]

    def curve(quantity: str, mhz: int, scale: float, look: int) -> plots.Curve:
        a, b = results.series("size", quantity, mhz=mhz)
        return plots.Curve(label=f"{mhz} MHz", x=a, y=[scale * value for value in b], look=look)

    payload = [payload_gbps(round(size), frames) * 1000 for size, frames in zip(x, line, strict=True)]
    panels = [
        plots.Panel(
            x_label="UDP datagram (bytes)",
            y_label="UDP payload, both ways (Mbit/s)",
            curves=[
                plots.Curve(label="line", x=x, y=payload, kind="formula", look=2),
                *(curve("payload", mhz, 1000, look) for look, mhz in enumerate(CLOCKS)),
                plots.Curve(
                    label="thesis",
                    **results.published_series("size", "share", scale=payload[-1] / 100, mhz=250),
                    kind="published",
                    look=1,
                ),
            ],
        ),
        plots.Panel(
            x_label="UDP datagram (bytes)",
            y_label="frames, both ways (thousands/s)",
            curves=[
                *(curve("frames", mhz, 1e-3, look) for look, mhz in enumerate(CLOCKS)),
                plots.Curve(
                    label="thesis: 24 % above 100 MHz",
                    x=[18],
                    y=[1.24e-3 * results.value("18 B, 100 MHz", "frames")],
                    kind="published",
                    look=1,
                ),
            ],
        ),
    ]
    caption = (
        f"Thesis: {SOURCE}: the line's rate at 1472 bytes with 250 MHz, and 24 % more frames of 18 bytes. {TIGON2}"
    )
    return plots.curves(panels, title=TITLE, caption=caption)
