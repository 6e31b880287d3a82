# SPDX-License-Identifier: Apache-2.0
"""Figure 9: throughput by the length of a chain, without push.

Model 1 without push: N delay units of X Gbit/s in a row, eight credits each. 1500-byte packets are offered at X
Gbit/s on a line as wide as the interconnect. Every packet passes the scheduler N times, whose two ports carry 256
Gbit/s. X = 70 and 90 mean 69.8 and 90.0 Gbit/s, because periods are whole cycles. The formula counts bytes of
packets. On the ports a packet of 1500 bytes takes 25 beats of 64 bytes, including its descriptor, so 240 of 256
Gbit/s are left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.panic.common import MEASURED, PAPER, WIDE_LINE, delay, gbps, packets, run, service
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Throughput of chains without push"
SOURCE = f"{PAPER}, Fig. 9, 7.2"

RATES = (50, 70, 90, 100)
LENGTHS = (1, 2, 3, 4)
PORTS_GBPS = 256
SIZE = 1500


def points() -> list[Point]:
    """Lengths and rates; one with push."""
    found = [
        Point(
            name=f"N = {n}, X = {x}", settings={"length": n, "rate": x, "push": False}, quick=n == 3 and x in (70, 90)
        )
        for x in RATES
        for n in LENGTHS
    ]
    return [*found, Point(name="N = 4, X = 90, push", settings={"length": 4, "rate": 90, "push": True})]


def measure(*, length: int, rate: int, push: bool) -> dict[str, float]:
    """Rates in Gbit/s: packets that leave the card, and packets that enter the scheduler."""
    engine = delay(gbps=rate, size=SIZE)
    chain = [service(f"d{i}", engine, credits=8) for i in range(length)]
    settings = [WIDE_LINE, f"scheduler.chain_push={'true' if push else 'false'}"]
    result = run(services=chain, traffic=packets(size=SIZE, count=3000, gbps=rate), set=settings)
    entered = result.counter("scheduler.entered")
    per_packet = entered / result.summary["packets"]["out"]
    return {"throughput": gbps(result), "through the scheduler": per_packet * gbps(result)}


def bound(length: int, rate: int) -> float:
    """Formula of the paper's text: N times X is 256 Gbit/s at most."""
    return min(rate, PORTS_GBPS / length)


def claims(results: Results) -> Iterator[Claim]:
    """Claims about the length from which on throughput falls."""
    full, short = (results.value(f"N = 3, X = {x}", "throughput") for x in (70, 90))
    yield Claim(
        text="Without push three units of 70 Gbit/s work at full speed (210 < 256 Gbit/s), three of 90 do not (7.2)",
        holds=full > 0.98 * 70 and short < 0.95 * 90,
        found=f"{full:.1f} and {short:.1f} Gbit/s",
    )
    busiest = max(row.measured["through the scheduler"] for row in results.select(push=False))
    yield Claim(
        text="The scheduler's two ports carry 256 Gbit/s at most (7.2)",
        holds=0.9 * PORTS_GBPS < busiest <= PORTS_GBPS,
        found=f"{busiest:.0f} Gbit/s at most, beside a descriptor for every packet",
    )
    push = results.value("N = 4, X = 90, push", "throughput")
    yield Claim(
        text="With push the chain's length does not matter (7.2: push avoids extra traversals)",
        holds=push > 0.98 * 90,
        found=f"four units of 90 Gbit/s: {push:.1f} Gbit/s",
    )


def plot(results: Results) -> Figure:
    """One curve for each rate, and its formula."""
    drawn = []
    for look, x in enumerate(RATES):
        lengths, y = results.series("length", "throughput", rate=x, push=False)
        drawn.append(plots.Curve(label=f"X = {x} Gbit/s offered", x=lengths, y=y, look=look))
        exact = [bound(int(n), x) for n in lengths]
        drawn.append(plots.Curve(label="" if look else "paper: min(X, 256 / N)", x=lengths, y=exact, kind="formula"))
    panel = plots.Panel(
        x_label="units in the chain", y_label="throughput (Gbit/s)", curves=drawn, x_ticks=LENGTHS, y_max=115,
    )  # fmt: skip
    caption = f"Paper: {SOURCE}, and its formula. {MEASURED} Packets of {SIZE} B."
    return plots.curves([panel], title=TITLE, caption=caption, panel_inches=(6, 3.8))
