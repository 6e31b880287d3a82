# SPDX-License-Identifier: Apache-2.0
"""Figure 8f: latency by load, PANIC against a pipeline of offloads.

Model 4 with 64 KB of buffer in both, and strict priority in PANIC. The mean latency of each flow counts from a third
of the run on, from the first bytes in to the first bytes out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.panic import flows
from experiments.panic.common import PAPER, within
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Latency under overload, PANIC and a pipeline"
SOURCE = f"{PAPER}, Fig. 8f, 7.3"

LOADS = (10, 20, 30, 40, 50, 58, 65, 75, 85, 100)
LOW, HIGH = 50, 65  # load of unit A, which has 60 Gbit/s


def points() -> list[Point]:
    """One point for each load and card."""
    return [
        Point(
            name=f"{card}, {load} Gbit/s", settings={"card": card, "load": load}, quick=card == "PANIC" and load == 100
        )
        for card in flows.CARDS
        for load in LOADS
    ]


def measure(*, card: str, load: int) -> dict[str, float]:
    """Mean latency of each flow in nanoseconds."""
    result = flows.model_4(card, load)
    return {flow: flows.steady(result, flow)[1] for flow in flows.SHARES}


def claims(results: Results) -> Iterator[Claim]:
    """The flows that overload affects."""

    def of(card: str, flow: str, *, low: bool) -> list[float]:
        loads = [load for load in LOADS if (load <= LOW if low else load >= HIGH)]
        return [results.value(f"{card}, {load} Gbit/s", flow) for load in loads]

    line, panic = (max(of(card, "flow2", low=True)) for card in flows.CARDS)
    yield Claim(
        text="At low load both have low latency, and the pipeline's is slightly lower (7.3)",
        holds=line < panic < 1000,
        found=f"{line:.0f} and {panic:.0f} ns",
    )
    one, two = (of("pipeline", flow, low=False) for flow in flows.SHARES)
    yield Claim(
        text="At high load both flows have the same latency in the pipeline (7.3)",
        holds=all(within(pair, 5) for pair in zip(one, two, strict=True)),
        found=f"{min(one):.0f} to {max(one):.0f} and {min(two):.0f} to {max(two):.0f} ns",
    )
    one, two = (of("PANIC", flow, low=False) for flow in flows.SHARES)
    yield Claim(
        text="In PANIC the latency of the urgent flow is fixed and low (7.3)",
        holds=within(one, 10) and max(one) < 1000 < min(two),
        found=f"{min(one):.0f} to {max(one):.0f} ns, the other's {min(two):.0f} to {max(two):.0f} ns",
    )


def plot(results: Results) -> Figure:
    """Both flows of both cards."""
    drawn: list[plots.Curve] = []
    for card in flows.CARDS:
        for flow in flows.SHARES:
            x, y = results.series("load", flow, card=card)
            drawn.append(plots.Curve(label=f"{card}, {flow}", x=x, y=[value / 1000 for value in y], look=len(drawn)))
    panel = plots.Panel(
        x_label="load (Gbit/s)", y_label="mean latency (us)", curves=drawn, y_base=10,
        marks=[(60, "the maximum rate of unit A")],
    )  # fmt: skip
    caption = (
        f"Paper: {SOURCE}; its curves are known by what the text says of them. spinet: presets panic and pipeline."
    )
    return plots.curves([panel], title=TITLE, caption=caption, panel_inches=(6, 3.8))
