# SPDX-License-Identifier: Apache-2.0
"""Table 2: properties of kinds of programmable NICs.

The paper has ticks and crosses. Here every cell is a measurement on the presets `pipeline`, `manycore`, `rmt` and
`panic`, with the same offloads, chains and packets of 1500 bytes, and a bound that defines a tick. Throughput counts
packets whose chains were served, from a third of the arrivals to the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from experiments.panic.common import PAPER, delay, packets, run
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from spinet import Result

TITLE = "Properties of programmable NICs"
SOURCE = f"{PAPER}, Table 2, 2.1 and 2.2"

CARDS = {"Pipeline": "pipeline", "Manycore": "manycore", "RMT": "rmt", "PANIC": "panic"}
SIZE = 1500


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """A column of the table.

    Attributes
    ----------
    quantity
        What is measured.
    least
        The least value that counts as a tick.
    ticks
        The paper's ticks for pipeline, manycore and RMT; PANIC has all of them.
    """

    quantity: str
    least: float
    ticks: str


# The bounds are chosen, because the paper gives no numbers for a tick.
REQUIREMENTS = {
    "Offload chaining": Requirement(quantity="other order", least=95, ticks="xvx"),
    "Multi-tenant isolation": Requirement(quantity="urgent flow", least=98, ticks="xxv"),
    "Variable performance": Requirement(quantity="beside a slow offload", least=98, ticks="xvx"),
    "High performance": Requirement(quantity="within 1 us", least=98, ticks="vxv"),
    "Offload variety": Requirement(quantity="beside a core", least=98, ticks="xvx"),
}


def points() -> list[Point]:
    """A card and a requirement each."""
    return [
        Point(
            name=f"{card}: {requirement}",
            settings={"card": card, "requirement": requirement},
            quick=requirement == "High performance",
        )
        for card in CARDS
        for requirement in REQUIREMENTS
    ]


def measure(*, card: str, requirement: str) -> dict[str, float]:
    """Percent, for a card and a requirement."""
    return {REQUIREMENTS[requirement].quantity: MEASURES[requirement](CARDS[card])}


def other_order(nic: str) -> float:
    """Throughput of a chain b -> a in percent of that of a -> b, the order of offloads in a line."""
    fast = {"a": 110.0, "b": 110.0}
    found = [
        served(on(nic, fast, {"it": (["a", "b"], 98.0)}), "it"),
        served(on(nic, fast, {"it": (["b", "a"], 98.0)}), "it"),
    ]
    return 100 * found[1] / found[0] if found[0] else 0.0


def urgent_flow(nic: str) -> float:
    """Percentage received by an urgent flow of 30 Gbit/s, beside one of 70 at an offload of 60."""
    flows = {"urgent": (["a"], 30.0), "other": (["a"], 70.0)}
    result = on(nic, {"a": 60.0}, flows)
    return 100 * received(result, "urgent") / 30


def beside_a_slow_offload(nic: str) -> float:
    """Percentage received by a tenant of 40 Gbit/s, beside one that sends 5 to an offload of 8.

    0 if that one is not served.
    """
    tenants = {"fast": (["a"], 40.0), "slow": (["b"], 5.0)}
    result = on(nic, {"a": 110.0, "b": 8.0}, tenants)
    return 100 * served(result, "fast") / 40 if served(result, "slow") > 4.9 else 0.0


def within_1_us(nic: str) -> float:
    """Percentage of packets without offloads at line rate that are received within 1 us."""
    result = on(nic, {"a": 110.0}, {"it": ([], 98.0)})
    latency = result.packets.column("latency_ps").fill_null(10**12).to_numpy()
    return float(100 * np.mean(latency < 1_000_000) * received(result, "it") / 98)


def beside_a_core(nic: str) -> float:
    """Percentage received by a tenant of 40 Gbit/s, beside one that sends 5 to a core of 20.

    0 if that one is not served. The core is a delay unit of the rate of Figure 10's Swap: not all cards have cores.
    """
    tenants = {"hardware": (["a"], 40.0), "software": (["b"], 5.0)}
    result = on(nic, {"a": 110.0, "b": 20.0}, tenants)
    return 100 * served(result, "hardware") / 40 if served(result, "software") > 4.9 else 0.0


MEASURES = {
    "Offload chaining": other_order,
    "Multi-tenant isolation": urgent_flow,
    "Variable performance": beside_a_slow_offload,
    "High performance": within_1_us,
    "Offload variety": beside_a_core,
}


def on(nic: str, offloads: Mapping[str, float], tenants: Mapping[str, tuple[list[str], float]]) -> Result:
    """Run these offloads (Gbit/s) and tenants (chain, Gbit/s; 16 flows each). The first tenant is urgent."""
    services = [{"name": name, "engine": delay(gbps=rate, size=SIZE)} for name, rate in offloads.items()]
    total = sum(rate for _, rate in tenants.values())
    chains: list[dict[str, Any]] = []
    traffic = []
    for port, (name, (visited, rate)) in enumerate(tenants.items(), 1):
        chains.append({"name": name, "match": f"udp.dst_port == {port}", "services": visited})
        more = f",dst_port={port},flows=16"
        traffic.append(packets(size=SIZE, count=round(4000 * rate / total), gbps=rate, more=more))
    who = [{"name": name, "priority": priority} for priority, name in enumerate(tenants)]
    policy = {"policy": "strict-priority"} if nic == "panic" else {}
    return run(nic=nic, services=services, chains=chains, tenants=who, traffic=traffic, **policy)


def received(result: Result, tenant: str) -> float:
    """Gbit/s of a tenant's packets that left."""
    return _rate(result, tenant, np.ones(result.packets.num_rows, bool))


def served(result: Result, tenant: str) -> float:
    """Rate in Gbit/s of packets whose chain was served; visits of a manycore's cores do not count as visits of
    offloads.
    """
    table, hops = result.packets, result.hops
    of_units = hops.column("done_ps").is_valid().to_numpy() & hops.column("unit").is_valid().to_numpy()
    done = hops.column("packet").to_numpy()[of_units]
    visits = np.bincount(done, minlength=table.num_rows)[table.column("packet").to_numpy()]
    chain = next(row for row in result.summary["chains"] if row["name"] == tenant)
    return _rate(result, tenant, visits >= len(chain["services"]))


def _rate(result: Result, tenant: str, counted: np.ndarray) -> float:
    table = result.packets
    mine = table.column("tenant").to_numpy() == list(result.tenants).index(tenant)
    arrival = table.column("arrival_ps").to_numpy() / 1000
    start, end = np.percentile(arrival, (33, 100))
    at = table.column("left_ps").fill_null(0).to_numpy() / 1000
    return float((mine & counted & (at >= start) & (at < end)).sum() * SIZE * 8 / (end - start))


def claims(results: Results) -> Iterator[Claim]:
    """Claims that ticks and crosses are those of the paper."""
    marks = {"v": "✓", "x": "✗"}
    for name, requirement in REQUIREMENTS.items():
        values = [results.value(f"{card}: {name}", requirement.quantity) for card in CARDS]
        found = "".join("v" if value >= requirement.least else "x" for value in values)
        wanted = requirement.ticks + "v"
        shown = " ".join(f"{card} {marks[mark]}" for card, mark in zip(CARDS, wanted, strict=True))
        yield Claim(
            text=f"{name}: {shown} (Table 2)",
            holds=found == wanted,
            found=f"{requirement.quantity}, from {requirement.least:g} % on ✓: "
            + ", ".join(f"{marks[mark]} {value:.0f} %" for mark, value in zip(found, values, strict=True)),
        )


def plot(results: Results) -> Figure:
    """A panel for each requirement."""
    panels = []
    for name, requirement in REQUIREMENTS.items():
        groups = [
            plots.Group(
                label=f"{card}\n(paper {'✓' if tick == 'v' else '✗'})",
                values={"spinet": results.value(f"{card}: {name}", requirement.quantity)},
            )
            for card, tick in zip(CARDS, requirement.ticks + "v", strict=True)
        ]
        panels.append(
            plots.BarPanel(
                title=name,
                y_label=f"{requirement.quantity} (%)",
                groups=groups,
                levels=[(requirement.least, "✓")],
            )
        )
    caption = f"Paper: {SOURCE}: ticks and crosses. spinet: the preset of each name; a ✓ from the line on."
    return plots.bars(panels, title=TITLE, caption=caption, columns=2, panel_inches=(4.6, 2.2))
