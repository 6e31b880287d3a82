# SPDX-License-Identifier: Apache-2.0
"""Quantization of gradients on the card: cycles of an element, and the rate of the card.

`sdk/services/quantize.c` receives gradients in float32, computes int8 with a scale for each block, and writes them to
host memory. Elements are normally distributed. *Cycles an element* are those of the payload handler in a warm core,
over the number of elements in its packet, with its waits for host memory. *Rate* is that of gradients in float32 if
packets come at 400 Gbit/s; the first tenth does not count. *Data* are the bytes in host memory relative to float32.

A core without a floating-point unit divides two integers for each element. The rates are far below the line's, so a
card of this kind cannot quantize at 400 Gbit/s.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import spinet
from experiments.spin import service
from spinet import plots, storage
from spinet.reproduce import Claim, Point, Results
from spinet.services import Quantizer, quantize
from spinet.services.wire import Packet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Quantization of gradients"
SOURCE = "named in Di Girolamo, De Sensi, Hoefler et al., sPIN, OFA Virtual Workshop 2022; no numbers are published"

BLOCKS = (4, 16, 64, 352)
CORES, CLOCK_GHZ = 32, 1
_PACKETS = 600


def points() -> list[Point]:
    """One point for each block size."""
    return [Point(name=f"blocks of {block}", settings={"block": block}, quick=block == 64) for block in BLOCKS]


def measure(*, block: int) -> dict[str, float]:
    """Cycles of an element, rate in Gbit/s, and the share of the data."""
    each = quantize.MAX_ELEMENTS // block * block
    quantizer = Quantizer(elements=each * _PACKETS, block=block)
    vector = np.random.default_rng(8).standard_normal(quantizer.elements).astype("<f4")
    frames = [
        Packet(request=number, client=0, kind=kind, data=data).frame(
            source=service.CLIENT, target=service.SERVER, port=quantize.PORT
        )
        for number, (kind, data) in enumerate(quantizer.requests(vector), 1)
    ]
    rate = service.rate_mhz(quantizer.node(), frames[:8], frames)
    # One packet at a time, for the cycles of a core.
    apart = storage.capture((10_000 * i, frame) for i, frame in enumerate(frames[:80]))
    result = spinet.run({**quantizer.node(), "traffic": [apart]})
    assert result.complete and not result.summary["traps"]
    cycles = float(np.median(result.columns["cycles"][40:]))
    return {
        "cycles an element": cycles / each,
        "rate": rate * each * 32 / 1000,
        "data": (1 + 4 / block) / 4,
    }


def claims(results: Results) -> Iterator[Claim]:
    """The rate of all cores."""
    shares = {
        block: results.value(f"blocks of {block}", "rate")
        / (CORES * CLOCK_GHZ * 32 / results.value(f"blocks of {block}", "cycles an element"))
        for block in BLOCKS
    }
    yield Claim(
        text="All cores work: the rate is that of 32 cores, within 20 %",
        holds=all(0.8 < share < 1.2 for share in shares.values()),
        found=", ".join(f"{share:.2f}" for share in shares.values()) + " of it",
    )


def plot(results: Results) -> Figure:
    """Draws cycles and rates."""

    def bars(quantity: str, label: str, **more: Any) -> plots.BarPanel:
        groups = [
            plots.Group(label=f"{block}", values={"measured": results.value(f"blocks of {block}", quantity)})
            for block in BLOCKS
        ]
        return plots.BarPanel(title="by elements of a block", y_label=label, groups=groups, **more)

    panels = [bars("cycles an element", "cycles an element"), bars("rate", "float32 gradients (Gbit/s)")]
    return plots.bars(panels, title=TITLE, caption=service.MEASURED, panel_inches=(4.2, 3.2))
