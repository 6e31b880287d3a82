# SPDX-License-Identifier: Apache-2.0
"""Table 3: throughput of two flows, PANIC against a pipeline of offloads.

Model 4 as in Figure 8f with 102 Gbit/s offered (the published generator is open in 102 of 128 cycles). The 30.7
Gbit/s of PANIC's flow 1 are 30 % of this load. Counted from a third of the run on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.panic import flows
from experiments.panic.common import PAPER
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Throughput under overload, PANIC and a pipeline"
SOURCE = f"{PAPER}, Table 3, 7.3"

OFFERED_GBPS = 102


def points() -> list[Point]:
    """One point for each card."""
    return [Point(name=card, settings={"card": card}, quick=True) for card in flows.CARDS]


def measure(*, card: str) -> dict[str, float]:
    """Gbit/s of each flow, and of both."""
    result = flows.model_4(card, OFFERED_GBPS)
    found = {flow: flows.steady(result, flow)[0] for flow in flows.SHARES}
    return found | {"total": sum(found.values())}


def claims(results: Results) -> Iterator[Claim]:
    """The flow that overload affects."""
    sent = OFFERED_GBPS * flows.SHARES["flow1"]
    one, other = (results.value(card, "flow1") for card in ("PANIC", "pipeline"))
    yield Claim(
        text="The urgent flow always has full throughput in PANIC (7.3), not in the pipeline",
        holds=one > 0.98 * sent > other,
        found=f"{one:.1f} of {sent:.1f} Gbit/s against {other:.1f}",
    )


def plot(results: Results) -> Figure:
    """Draws measured bars beside the paper's."""
    panels = []
    for card in flows.CARDS:
        published = {
            row.quantity: row
            for quantity in ("flow1", "flow2", "total")
            for point, row in results.published(quantity)
            if point.name == card
        }
        groups = [
            plots.Group(
                label=quantity, values={"paper": row.value, "spinet": results.value(card, quantity)}, slack=row.slack
            )
            for quantity, row in published.items()
        ]
        panels.append(plots.BarPanel(title=card, y_label="throughput (Gbit/s)", groups=groups, published=("paper",)))
    caption = f"Paper: {SOURCE}. spinet: presets panic and pipeline."
    return plots.bars(panels, title=TITLE, caption=caption)
