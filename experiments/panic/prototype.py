# SPDX-License-Identifier: Apache-2.0
"""Cycles of the prototype.

The authors' Verilog in simulation is compared with its preset, panic-rtl. The first rows are three delay units in
parallel. Service times are 0.06 cycles a byte, minus the cycles of forwarding and two more, uniform within a quarter.
Packets arrive at a rate on the line of the published generator. Latencies are in cycles of 4 ns from the first bytes
in to the first bytes out. Only this bench sets the Verilog's option for small packets (TEST_MODE 1), with which the
PIFO loses packets (`scheduler.pifo.crossing.small_packets`). `cargo test -p panic --test it paper` checks the same rows
with other random service times. The last rows are the published bench of hash and AES units (TEST_MODE 0, without that
option): the delivered rate of each kind, per pattern. The Verilog's values are the middle of its rates in intervals of
4096 cycles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from experiments.panic import mix
from experiments.panic.common import CYCLE_NS, column, gbps, packets, run, service
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Latencies of the prototype's Verilog"
SOURCE = "The PANIC prototype's Verilog, simulated (three delay units; the SHA and AES bench)"

# Bytes, Gbit/s offered, credits; 0 credits stand for an empty chain.
ROWS = (
    *((size, 5, 0) for size in (64, 1536)),
    *((size, 5, 6) for size in (64, 256, 1536)),
    *((1536, rate, 6) for rate in (26, 75, 100)),
    *((size, 100, 6) for size in (64, 256, 1024)),
    *((size, 100, 2) for size in (64, 256, 1024)),
)
# About the number of the measured run, which lost 13.7 %: the Verilog loses some 150 packets in a run of any length.
N_PACKETS = 1000
LINE = "ingress.line_bps=100_000_000_000"  # 64 bytes in 100 of 128 cycles
PATTERNS = ((30, 50, 20), (10, 60, 30), (60, 40, 0))  # percent of the packets, by kind
RTL = "panic-rtl"
SMALL_PACKETS = "scheduler.pifo.crossing.small_packets=true"


def points() -> list[Point]:
    """Rows of the table, then patterns of the bench."""
    found = []
    for size, rate, credits in ROWS:
        chain = f"{credits} credits" if credits else "empty chain"
        settings: dict[str, int | str] = {"size": size, "rate": rate, "credits": credits, "pattern": ""}
        found.append(Point(name=f"{size} B at {rate} Gbit/s, {chain}", settings=settings, quick=rate == 5))
    for pattern in PATTERNS:
        text = " ".join(map(str, pattern))
        settings = {"size": mix.SIZE, "rate": 100, "credits": 0, "pattern": text}
        found.append(Point(name=f"pattern {text}", settings=settings))
    return found


def engine(size: int) -> Mapping[str, Any]:
    """The bench's delay unit. Offsets from the mean are -m to m - 1 cycles, where m is a quarter of the mean."""
    mean = max(0, size * 6 // 100 - (-(-size // 64) + 2))
    least = mean - mean // 4
    times = {"kind": "uniform", "least_cycles": least, "most_cycles": max(least, mean + mean // 4 - 1)}
    return {"kind": "delay", "service": times, "gap_cycles": 1, "start_cycles": 1, "grant_cycles": 1}


def measure(*, size: int, rate: int, credits: int, pattern: str) -> dict[str, float]:
    """Gbit/s and cycles; or Gbit/s of each kind that left in the second half."""
    if pattern:
        shares = tuple(int(share) for share in pattern.split())
        result = mix.run_phases((shares,), policy="strict-priority", nic=RTL)
        return {kind: mix.rate_gbps(result, kind, mix.PHASE_NS / 2, mix.PHASE_NS) for kind in mix.KINDS}
    services = [service("a", engine(size), units=3, credits=credits)] if credits else []
    chains = [{"name": "all", "services": [entry["name"] for entry in services]}]
    traffic = packets(size=size, count=N_PACKETS, gbps=rate)
    result = run(services=services, chains=chains, traffic=traffic, nic=RTL, set=[LINE, SMALL_PACKETS])
    cycles = column(result, "latency_ps") / CYCLE_NS
    low, p99 = np.percentile(cycles, (0, 99), method="lower")
    lost = 100 * result.summary["packets"]["dropped"] / N_PACKETS
    return {"throughput": gbps(result), "least": low, "mean": float(cycles.mean()), "99 %": p99, "lost": lost}


def claims(results: Results) -> Iterator[Claim]:
    """The limit of the bench of hash and AES units."""
    sums = [sum(results.value(f"pattern {' '.join(map(str, p))}", kind) for kind in mix.KINDS[:2]) for p in PATTERNS]
    yield Claim(
        text="Decryption limits all patterns: 64 Gbit/s in all (7.6); the Verilog delivers 56 to 64",
        holds=all(60 < total < 64.6 for total in sums),
        found=", ".join(f"{total:.1f}" for total in sums) + " Gbit/s",
    )


def plot(results: Results) -> Figure:
    """Draws latencies beside those of the Verilog."""
    rows = [row for row in results.rows if row.point.settings["credits"]]
    published = {(point.name, row.quantity): row for point, row in _published(results)}
    panels = []
    for quantity in ("least", "mean", "99 %"):
        groups = [
            plots.Group(
                label="{size} B\n{rate} G\n{credits} cr.".format(**row.point.settings),
                values={"Verilog": published[(row.point.name, quantity)].value, "spinet": row.measured[quantity]},
                slack=published[(row.point.name, quantity)].slack,
            )
            for row in rows
        ]
        panels.append(plots.BarPanel(title=quantity, y_label="latency (cycles)", groups=groups, published=("Verilog",)))
    caption = f"{SOURCE}. spinet: preset {RTL}. Below the bars: packet size, offered Gbit/s, credits a unit."
    return plots.bars(panels, title=TITLE, caption=caption, columns=1, panel_inches=(8.6, 2.5))


def _published(results: Results) -> list[Any]:
    return [pair for quantity in ("least", "mean", "99 %") for pair in results.published(quantity, reference="RTL")]
