# SPDX-License-Identifier: Apache-2.0
"""OSMOSIS: HPUs shared by tenants that compute, use the host, or do both.

*Contention*: two tenants of equal weight get packets of 128 bytes. Their handlers run 256 and 512 iterations of a loop.
Tasks in turn give the second one twice the HPU time of the first. WLBVT gives both the same: it counts tasks in flight,
and limits a tenant to its part of what clusters hold.

*Mixes*: 500 packets of four tenants, each packet of a random tenant, as fast as the card takes them. Sizes are
log-normal within bounds, as published. The time of a tenant's flow runs from the first arrival to its last packet's
end. WRR is compared with WLBVT that also cuts transfers into 512 bytes.

The card is the preset pspin with one task more in a cluster than HPUs and a host without PCIe packets, as in OSMOSIS.
OSMOSIS's figures were not available, so their shape is not judged. Judged are the means of the sizes of the published
traces, and the shares that follow from the rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import spinet
from experiments.spin.osmosis import HEADERS, KERNELS, PAPER, TENANT, packet
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Tenants on the HPUs"
SOURCE = f"{PAPER}; miharulidze/pspin, branch osmosis_fmqs: workloads, rules, traces"

SCHEDULES = {"RR": "round_robin", "WRR": "weighted_round_robin", "WLBVT": "wlbvt"}
FRAGMENT = 512
CARD: dict[str, int | str | bool] = {
    "scheduler.max_tasks_per_cluster": 9,  # source: OSMOSIS's code: 1 buffered request for each cluster of 8 HPUs
    "pcie.model": "ideal",
    "iommu.enabled": False,
}


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A tenant: its kernel, its weight, and the sizes of its packets."""

    name: str
    kernel: str
    low: int
    high: int
    weight: int = 1

    def sizes(self, random: np.random.Generator, n: int) -> list[int]:
        """Log-normal within the bounds, in multiples of 8.

        Mean and deviation of the logarithm are 4.0 and 0.3 for small packets, 9.0 and 0.2 for large ones.
        """
        if self.low == self.high:
            return [self.low] * n
        normal = NormalDist(4.0, 0.3) if self.high <= 128 else NormalDist(9.0, 0.2)
        below, upto = normal.cdf(math.log(self.low)), normal.cdf(math.log(self.high))
        return [
            max(self.low, int(math.exp(normal.inv_cdf(below + (upto - below) * u))) // 8 * 8) for u in random.random(n)
        ]


MIXES = {
    "compute": (
        Flow(name="reduce, small", kernel="reduce", low=64, high=64),
        Flow(name="histogram, small", kernel="histogram", low=64, high=128),
        Flow(name="reduce, large", kernel="reduce", low=4096, high=4096),
        Flow(name="histogram, large", kernel="histogram", low=3072, high=4096),
    ),
    "I/O": (
        Flow(name="read, small", kernel="io_read", low=64, high=64),
        Flow(name="write, small", kernel="copy_to_host", low=64, high=128),
        Flow(name="read, large", kernel="io_read", low=4096, high=4096),
        Flow(name="write, large", kernel="copy_to_host", low=3072, high=4096),
    ),
    "I/O and compute": (
        Flow(name="reduce, large", kernel="reduce", low=4096, high=4096, weight=3),
        Flow(name="filtering, small", kernel="filtering", low=64, high=128),
        Flow(name="histogram, large", kernel="histogram", low=3072, high=4096, weight=2),
        Flow(name="write, large", kernel="copy_to_host", low=3072, high=4096),
    ),
}
SPINNERS = (
    Flow(name="victim", kernel="spinner", low=128, high=128),
    Flow(name="congestor", kernel="spinner", low=128, high=128),
)
TURNS = (256, 512)


def points() -> list[Point]:
    """Contention by number of packets, and the mixes, by rule."""
    contention = [
        Point(
            name=f"contention, {n} packets, {rule}",
            settings={"mix": "contention", "packets": n, "rule": rule},
            quick=n == 100,
        )
        for n in (100, 2000)
        for rule in ("RR", "WLBVT")
    ]
    return contention + [
        Point(name=f"{mix}, {rule}", settings={"mix": mix, "packets": 500, "rule": rule}, quick=mix == "compute")
        for mix in MIXES
        for rule in ("WRR", "WLBVT")
    ]


def measure(*, mix: str, packets: int, rule: str) -> dict[str, float]:
    """Fairness, and each tenant's HPU time, flow and latency."""
    flows = SPINNERS if mix == "contention" else MIXES[mix]
    random = np.random.default_rng(500)
    if mix == "contention":
        order = random.permutation(np.arange(packets) >= round(0.51 * packets)).astype(int)  # 51 and 49 of 100
    else:
        order = random.integers(0, len(flows), packets)
    sizes = [iter(flow.sizes(random, int((order == number).sum()))) for number, flow in enumerate(flows)]
    frames = []
    for number in order:
        size = next(sizes[number])
        words = random.integers(0, 1024, (size - HEADERS) // 4, dtype="<u4")
        if mix == "contention":
            words[0] = TURNS[number]
        frames.append(packet(size, tenant=int(number), payload=words.tobytes()))
    result = _run(flows, rule, frames)
    columns = result.columns
    times = {name: columns[name] / 1000 for name in ("arrival_ps", "dispatched_ps", "start_ps", "end_ps", "done_ps")}
    found: dict[str, float] = {"Jain's index": result.summary["fairness"]["jain"]}
    first = float(times["arrival_ps"].min())
    # All HPUs are busy from here until a tenant has nothing to send.
    begin = float(np.sort(times["start_ps"])[31])
    until = min(float(times["dispatched_ps"][columns["context"] == number].max()) for number in range(len(flows)))
    inside = np.clip(np.minimum(times["end_ps"], until) - np.maximum(times["start_ps"], begin), 0, None)
    for number, (flow, tenant) in enumerate(zip(flows, result.summary["tenants"], strict=True)):
        own = columns["context"] == number
        found |= {
            f"{flow.name}: HPU time": 100 * float(inside[own].sum() / inside.sum()),
            f"{flow.name}: flow": float(times["done_ps"][own].max()) - first,
            f"{flow.name}: mean size": float(columns["bytes"][own].mean()),
            **{f"{flow.name}: {tail}": tenant["latency_ns"][tail] for tail in ("median", "p99", "max")},
        }
    return found


def _run(flows: tuple[Flow, ...], rule: str, frames: list[bytes]) -> spinet.Result:
    changes = CARD | {"sharing.schedule": SCHEDULES[rule]}
    if rule == "WLBVT":
        changes["sharing.fragment_bytes"] = FRAGMENT
    # OSMOSIS's WRR serves a tenant with weight w for w + 1 tasks in a row.
    extra = 1 if rule == "WRR" else 0
    contexts: list[dict[str, Any]] = []
    for number, flow in enumerate(flows):
        context: dict[str, Any] = {
            "name": flow.name,
            "match": f"{TENANT} == {number}",
            "message": "all last",
            "handler": flow.kernel,
            "handler_memory": {"size": 1 << 18 if flow.kernel == "filtering" else 64},
        }
        contexts.append(context | ({"tenant": flow.name} if number else {}))
    result = spinet.run(
        {
            "nic": "pspin",
            "program": str(KERNELS),
            "weight": flows[0].weight + extra,
            "tenant": [
                {"name": flow.name, "program": str(KERNELS), "weight": flow.weight + extra} for flow in flows[1:]
            ],
            "context": contexts,
        },
        set=changes,
        traffic=frames,
        pacing="asap",
    )
    assert result.complete and not result.summary["traps"], result.summary["ended"]["text"]
    assert result.summary["packets"]["dropped"] == 0
    return result


def claims(results: Results) -> Iterator[Claim]:
    """Claims about shorter flows and fairer shares."""
    for mix, flows in MIXES.items():
        shorter = [
            100
            * (
                1
                - results.value(f"{mix}, WLBVT", f"{it.name}: flow") / results.value(f"{mix}, WRR", f"{it.name}: flow")
            )
            for it in flows
        ]
        yield Claim(
            text=f"{mix}: flows end up to 60 % earlier with WLBVT than with others (a summary of the paper)",
            holds=None,
            found=", ".join(f"{flow.name} {percent:.0f} %" for flow, percent in zip(flows, shorter, strict=True)),
        )
        index = [results.value(f"{mix}, {rule}", "Jain's index") for rule in ("WRR", "WLBVT")]
        yield Claim(
            text=f"{mix}: up to 83 % fairer by Jain's index (a summary of the paper)",
            holds=None,
            found=f"{index[0]:.2f} with WRR, {index[1]:.2f} with WLBVT",
        )


def plot(results: Results) -> Figure:
    """Flow times and tails of the mixes."""
    panels = []
    for mix, flows in MIXES.items():
        for quantity, label in (("flow", "time of the flow (µs)"), ("p99", "99th percentile (µs)")):
            groups = [
                plots.Group(
                    label=flow.name.replace(", ", "\n"),
                    values={
                        rule: results.value(f"{mix}, {rule}", f"{flow.name}: {quantity}") / 1000
                        for rule in ("WRR", "WLBVT")
                    },
                )
                for flow in flows
            ]
            panels.append(plots.BarPanel(title=mix, y_label=label, groups=groups, digits=2))
    caption = f"spinet, preset pspin as in the text. Workloads: {SOURCE}. No plot of these numbers was available."
    return plots.bars(panels, title=TITLE, caption=caption, columns=2)
