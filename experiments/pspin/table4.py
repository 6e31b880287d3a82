# SPDX-License-Identifier: Apache-2.0
"""Table IV: area of a processing element, against two other processors.

The other processors' numbers are the paper's; spinet does not model them. The values that follow from spinet's area
of the published shape are checked. The paper scales the area of an element to equal memory in its own process, then
by the feature size: 14 and 16 nm count twice in 22 nm.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import spinet
from experiments.pspin.common import NIC, PAPER
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Area of a processing element"
SOURCE = f"{PAPER}, Table IV, IV-C2"

# Die mm², elements, mm² an element with equal memory, the same scaled to 22 nm. Source: Table IV.
OTHERS = {"ault": (485.0, 18, 17.978, 35.956), "zynq": (3.27, 4, 0.876, 1.752)}


def points() -> list[Point]:
    """One point: the published shape."""
    return [Point(name="PsPIN", settings={"nic": NIC}, quick=True)]


def measure(*, nic: str) -> dict[str, float]:
    """Area of the card and of an element, and memory."""
    area = spinet.nic_cost(nic)[0].area_mm2
    card = tomllib.loads(spinet.nic(nic))
    n_hpus = card["n_clusters"] * card["cluster"]["n_cores"]
    memory = card["n_clusters"] * card["cluster"]["l1_bytes"] + card["l2"]["handler_bytes"] + card["l2"]["packet_bytes"]
    return {"area": area, "area of an element": area / n_hpus, "memory": memory / 2**20}


def claims(results: Results) -> Iterator[Claim]:
    """The text's statements about the three processors."""
    area = results.value("PsPIN", "area")
    ratio = OTHERS["ault"][0] / area
    yield Claim(
        text="ault is 26 times larger than PsPIN (IV-C2)",
        holds=round(ratio) == 26,
        found=f"{ratio:.1f} times",
        basis="by construction: both areas are the paper's",
    )
    factors = {name: scaled / own for name, (_die, _n, own, scaled) in OTHERS.items()}
    yield Claim(
        text="14 and 16 nm count twice in 22 nm (Table IV; the talk: about half of the area)",
        holds=all(round(factor, 3) == 2 for factor in factors.values()),
        found=", ".join(f"{name} {factor:.3f}" for name, factor in factors.items()),
        basis="by construction: both columns are the paper's",
    )


def plot(results: Results) -> Figure:
    """Scaled area of an element."""
    own = results.value("PsPIN", "area of an element")
    groups = [plots.Group(label=name, values={"paper": OTHERS[name][3]}) for name in OTHERS]
    groups.append(plots.Group(label="PsPIN", values={"paper": 0.578, "spinet": own}))
    panel = plots.BarPanel(y_label="mm² an element, scaled to 22 nm", groups=groups, published=("paper",), log=True)
    return plots.bars([panel], title=TITLE, caption=f"Paper: {SOURCE}; memory of an element made equal.")
