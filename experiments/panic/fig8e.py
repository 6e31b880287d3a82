# SPDX-License-Identifier: Apache-2.0
"""Figure 8e: throughput and detours of a hybrid chain.

Model 3: two units of 52 Gbit/s, then two of 50 Gbit/s, service times within 30 %, two credits each. Packets arrive as
fast as the line of the prototype's generator allows. A detour is a packet that returns to the scheduler between the
two services, as 7.2 counts "detoured traffic" for Figure 9. In the prototype the chain names the next unit, and the
unit before always pushes, so a unit refused every returning packet. Here the scheduler chooses the next unit while it
has a credit (4.3.1). Most returning packets found no credit, so they do not go to a unit that would refuse them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from experiments.panic.common import MEASURED, PAPER, SIZES, delay, gbps, packets, run, service
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Detours of a hybrid chain"
SOURCE = f"{PAPER}, Fig. 8e, 7.2"

SPREAD = 30  # assumed: the text says that latencies vary, not by how much; between the 20 and 40 % of model 2

ROUND = (
    "A credit is used again after 24 cycles: 23 by the registers of the Verilog, and here PIFOs are "
    "popped at even cycles only. With 22 cycles the point hits."
)

HOWS = ("pushed", "detoured")


def points() -> list[Point]:
    """Sizes, with and without push."""
    return [
        Point(
            name=f"{size} B" + ("" if push else ", no push"),
            settings={"size": size, "push": push},
            quick=push and size in (128, 1500),
        )
        for push in (True, False)
        for size in SIZES
    ]


def measure(*, size: int, push: bool) -> dict[str, float]:
    """Gbit/s, percent of the packets, and ns of the path between the units."""
    chain = [
        service("a", delay(gbps=52, size=size, spread=SPREAD), units=2),
        service("b", delay(gbps=50, size=size, spread=SPREAD), units=2),
    ]
    settings = [f"scheduler.chain_push={'true' if push else 'false'}"]
    result = run(services=chain, traffic=packets(size=size, count=3000), set=settings)
    second = result.services["b"]
    hops = result.hops
    at_b = (hops.column("service").to_numpy() == 1) & hops.column("taken_ps").is_valid().to_numpy()
    pushed = hops.column("pushed").to_numpy()[at_b] == 1
    parts = [hops.column(f"{part}_ps").to_numpy() for part in ("interconnect", "queueing", "detours")]
    in_unit = hops.column("begun_ps").to_numpy() - hops.column("taken_ps").to_numpy()
    way = np.sum([*parts, in_unit], axis=0)[at_b] / 1000

    def told(of: np.ndarray, what: Callable[[np.ndarray], float]) -> float:
        return float(what(way[of])) if of.any() else 0.0

    return {
        "throughput": gbps(result),
        "detoured": 100 * (1 - second.pushed / second.packets) if second.packets else 0.0,
        "refused": 100 * second.detours / second.packets,
        "until B begins, pushed": told(pushed, np.mean),
        "until B begins, detoured": told(~pushed, np.mean),
        "round trip": told(~pushed, np.min),
    }


def claims(results: Results) -> Iterator[Claim]:
    """Which packets return, and the cost."""
    rates = {size: results.value(f"{size} B", "detoured") for size in SIZES}
    large = [rate for size, rate in rates.items() if size > 256]
    small = [rate for size, rate in rates.items() if size < 256]
    yield Claim(
        text="The detour rate is high for packets of more than 256 bytes (7.2)",
        holds=min(large) > 50 and max(small) < 10,
        found=", ".join(f"{size} B: {rate:.0f} %" for size, rate in rates.items()),
    )
    pairs = [[results.value(f"{size} B{how}", "throughput") for how in ("", ", no push")] for size in SIZES]
    yield Claim(
        text="Detours do not cost throughput (7.2): within 2 % of the rate if all packets return; full rate at MTU",
        holds=all(push >= 0.98 * no for push, no in pairs) and pairs[-1][0] > 98,
        miss=ROUND,
        found=f"{min(push / no for push, no in pairs):.2f} to {max(push / no for push, no in pairs):.2f} times; "
        f"{pairs[-1][0]:.1f} Gbit/s at MTU",
    )
    trips = [results.value(f"{size} B", "round trip") for size in SIZES if rates[size]]
    waits = {size: [results.value(f"{size} B", f"until B begins, {how}") for how in HOWS] for size in SIZES[2:]}
    yield Claim(
        text="The latency of a detour is the round trip between unit and scheduler, less than 0.5 us (7.2)",
        holds=max(trips) < 500,
        found=f"{max(trips):.0f} ns at most where a unit is free; until a unit begins, if pushed and if detoured: "
        + ", ".join(f"{size} B {pushed:.0f} and {detoured:.0f} ns" for size, (pushed, detoured) in waits.items()),
    )


def plot(results: Results) -> Figure:
    """Throughput on the left, detours on the right."""
    left, right = [], []
    for look, (push, label) in enumerate(((True, "push"), (False, "no push"))):
        x, y = results.series("size", "throughput", push=push)
        left.append(plots.Curve(label=label, x=x, y=y, look=look))
    known = results.published_series("size", "throughput", push=True)
    left.append(plots.Curve(label="paper", **known, kind="published"))
    for look, (quantity, label) in enumerate((("detoured", "back to the scheduler"), ("refused", "refused by a unit"))):
        x, y = results.series("size", quantity, push=True)
        right.append(plots.Curve(label=label, x=x, y=y, look=look))
    return plots.curves(
        [
            plots.Panel(
                x_label="packet size (B)", x_base=2, x_ticks=SIZES, y_label="throughput (Gbit/s)",
                curves=left, y_max=110, title="throughput",
            ),
            plots.Panel(
                x_label="packet size (B)", x_base=2, x_ticks=SIZES, y_label="detours (% of the packets)",
                curves=right, marks=[(256, "paper: high above 256 B")], y_max=105, title="detours",
            ),
        ],
        title=TITLE,
        caption=f"Paper: {SOURCE}; its curves are known by what the text says of them. {MEASURED}",
    )  # fmt: skip
