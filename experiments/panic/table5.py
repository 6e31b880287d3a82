# SPDX-License-Identifier: Apache-2.0
"""Table 5: drops in phase 1 of Figure 11a.

IPSec 30, video 50, background 20 Gbit/s under strict priority, as in Figure 11a. Packets that arrive in the second half
of the phase count, and the drops among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.panic import fig11a, mix
from experiments.panic.common import MEASURED, PAPER
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Drops by tenant"
SOURCE = f"{PAPER}, Table 5, 7.6"


def points() -> list[Point]:
    """One point for each kind of traffic."""
    return [Point(name=kind, settings={"kind": kind}, quick=True) for kind in mix.KINDS]


def measure(*, kind: str) -> dict[str, float]:
    """Percent of the packets that are dropped."""
    result = mix.run_phases(fig11a.PHASES[:1], policy="strict-priority", gbps=100)
    table = result.packets
    arrival = table.column("arrival_ps").to_numpy() / 1000
    mine = (table.column("tenant").to_numpy() == list(result.tenants).index(kind)) & (arrival > mix.PHASE_NS / 2)
    left = table.column("left_ps").is_valid().to_numpy()
    return {"drop rate": float(100 * (mine & ~left).sum() / mine.sum())}


def claims(results: Results) -> Iterator[Claim]:
    """Packets of the lowest priority are dropped."""
    rates = {kind: results.value(kind, "drop rate") for kind in mix.KINDS}
    yield Claim(
        text="Only packets of the lowest priority at a full service are dropped (7.6)",
        holds=rates["IPSec"] == rates["background"] == 0 < rates["video"],
        found=", ".join(f"{kind} {rate:.1f} %" for kind, rate in rates.items()),
    )


def plot(results: Results) -> Figure:
    """Draws measured drops beside the paper's."""
    published = {point.name: row for point, row in results.published("drop rate")}
    groups = [
        plots.Group(
            label=kind,
            values={"paper": published[kind].value, "spinet": results.value(kind, "drop rate")},
            slack=published[kind].slack,
        )
        for kind in mix.KINDS
    ]
    panel = plots.BarPanel(y_label="dropped (%)", groups=groups, published=("paper",))
    return plots.bars([panel], title=TITLE, caption=f"Paper: {SOURCE}. {MEASURED}", panel_inches=(5.6, 3.2))
