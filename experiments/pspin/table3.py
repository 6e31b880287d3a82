# SPDX-License-Identifier: Apache-2.0
"""Table III: area and power of the main components.

`spinet nic show pspin --area` prints the published synthesis in 22 nm, scaled to other shapes by a rule for each part
(`crates/pspin/src/cost.rs`). For the published shape the rows must equal the table, which checks the sums and the
parts that the table omits. For other shapes it is an estimate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import spinet
from experiments.pspin.common import NIC, PAPER
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Area and power of the components"
SOURCE = f"{PAPER}, Table III, IV-A"

CLUSTERS = (1, 2, 4, 8, 16)
SHOWN = (
    "L2 memories",
    "cluster: L1",
    "interconnect",
    "packet scheduler",
    "cluster: core",
    "cluster: instruction cache",
    "cluster: interconnect",
    "cluster: scheduler, DMA, drivers",
)
GATE_UM2 = 0.199  # a gate equivalent in 22 nm FDSOI, IV-A


def points() -> list[Point]:
    """Clusters of eight cores; four are published."""
    return [Point(name=f"{n} cluster" + "s" * (n > 1), settings={"clusters": n}, quick=True) for n in CLUSTERS]


def measure(*, clusters: int) -> dict[str, float]:
    """Area in mm² and power in W of each kind of part, all copies together."""
    found = {}
    for part in spinet.nic_cost(NIC, set=[f"n_clusters={clusters}"]):
        name = f"cluster: {part.name}" if part.depth == 2 else part.name
        found[f"{name}, area"] = part.area_mm2
        found[f"{name}, power"] = part.power_w
    return found


def claims(results: Results) -> Iterator[Claim]:
    """Statements of the text about the published shape."""

    def area(name: str) -> float:
        return results.value("4 clusters", f"{name}, area")

    def power(name: str) -> float:
        return results.value("4 clusters", f"{name}, power")

    memories = (area("L2 memories") + area("cluster: L1")) / area("PsPIN")
    drawn = (power("L2 memories") + power("cluster: L1")) / power("PsPIN")
    gates = area("PsPIN") * 1e6 / GATE_UM2 / 1e6
    yield _claim("memories are 87 % of the area (V)", memories * 100, 87, 1, "%")
    yield _claim("memories are 52 % of the power (V)", drawn * 100, 52, 1, "%")
    yield _claim("190 mW an HPU (IV-A)", power("PsPIN") / 32 * 1000, 190, 1, "mW")
    yield _claim("about 95 million gate equivalents (IV-A)", gates, 95, 3, "MGE")
    fetch = (area("cluster: instruction cache") + area("cluster: interconnect")) / 4 / GATE_UM2 * 1e3
    yield _claim("a cluster's instruction cache and interconnect are about 700 kGE (IV-A)", fetch, 700, 35, "kGE")
    core = area("cluster: core") / 32 / GATE_UM2 * 1e3
    yield _claim("a core is about 50 kGE (IV-A)", core, 50, 2.5, "kGE")


def _claim(text: str, found: float, wanted: float, within: float, unit: str) -> Claim:
    basis = "by construction: the model is made of this table"
    return Claim(text=text, holds=abs(found - wanted) <= within, found=f"{found:.1f} {unit}", basis=basis)


def _table(results: Results, what: str) -> dict[str, float]:
    """The table's parts; the parts that it does not list have the rest of its totals."""
    listed = {
        name: row.value for name in ("PsPIN", "cluster", *SHOWN) for _, row in results.published(f"{name}, {what}")
    }
    in_cluster = sum(value for name, value in listed.items() if name.startswith("cluster: "))
    listed["cluster: scheduler, DMA, drivers"] = listed["cluster"] - in_cluster
    listed["packet scheduler"] = sum(
        sign * listed[name] for name, sign in (("PsPIN", 1), ("L2 memories", -1), ("interconnect", -1), ("cluster", -1))
    )
    return {name: listed[name] for name in SHOWN}


def plot(results: Results) -> Figure:
    """Area and power of 1 to 16 clusters, by component."""
    bars = {
        what: [
            plots.Stack(
                label="4 clusters, paper",
                parts=_table(results, what),
                published=True,
            ),
            *(
                plots.Stack(label=row.point.name, parts={name: row.measured[f"{name}, {what}"] for name in SHOWN})
                for row in results.rows
            ),
        ]
        for what in ("area", "power")
    }
    return plots.stacks(
        bars["area"],
        x_label="area in 22 nm (mm²)",
        more=[(bars["power"], "power at 1 GHz, all cells toggling (W)")],
        title=TITLE,
        caption=f"4 clusters: {SOURCE}. Others: scaled by spinet. Hollow: the table, and the rest of its totals.",
    )
