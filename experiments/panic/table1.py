# SPDX-License-Identifier: Apache-2.0
"""Table 1: offloads by themselves.

One unit with many credits is in a card of 1 GHz with a line of 480 Gbit/s, so that only the engine takes time.
Throughput counts the bytes that the engine processes, with full packets back to back. Delay is the engine's, for
single packets, the shortest and the longest. Only AES does not take its parameters from this table: it has 128 bits a
cycle (7.6) and the 29 cycles of the Verilog's pipeline. The paper's cores of 1.5 GHz are Rocket cores with
unpublished programs. Here a core of Figure 10 in a card of 1.5 GHz runs `experiments/panic/programs`, plain C, and is
not judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from experiments.panic import fig10
from experiments.panic.common import HERE, PAPER, column, gbps, packets, run
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Offloads by themselves: throughput and delay"
SOURCE = f"{PAPER}, Table 1, 2.1"

SHORT, LONG = 60, 1514
CORE_SIZE = 1472  # whole blocks of SHA1
CREDITS = 256  # more than any engine has use for
FAST = ("clock_mhz=1000", "ingress.line_bps=480000000000", "ingress.descriptor_cycles=0")
LINE_GBPS = 100

# The prototype's unit at the clock of Table 1.
AES = {
    "kind": "aes-256-ctr",
    "clock": {"kind": "own", "khz": 300_000, "crossing_cycles": 1},
    "fifo_flits": 25,
    "pipeline_cycles": 29,
    "region": {"kind": "payload"},
    "headers": "keep",
    "trailer_bytes": 0,
    "keys": [
        {
            "of": {"kind": "all"},
            "key": "776beff2851db06f4c8a0542c8696f6c6a81af1eec96b4d37fc1d689e6c1c104",
            "counter": {"kind": "rfc3686", "nonce": "00000060"},
        }
    ],
}
NO_CROSSING = ["clock.crossing_cycles=1"]  # an engine alone has no other clock; 1 is the minimum
ENGINES: dict[str, dict[str, Any]] = {
    "compression (LZRW1)": {"engine": "lzrw1", "set": NO_CROSSING},
    "AES-256": {"engine": AES},
    "SHA1": {"engine": "sha-1", "set": NO_CROSSING},
    "inference": {"engine": "inference", "set": NO_CROSSING},
}
PROGRAMS = {"AES-256, core": "aes.c", "SHA1, core": "sha1.c"}
CORE_CLOCK = "clock_mhz=1500"
PATIENCE = 1_000_000  # cycles of the watchdog: a packet takes longer than the preset's


def points() -> list[Point]:
    """Offloads, in hardware and on a core."""
    hardware = [Point(name=name, settings={"offload": name}, quick=True) for name in ENGINES]
    return hardware + [Point(name=name, settings={"offload": name}) for name in PROGRAMS]


def measure(*, offload: str) -> dict[str, float]:
    """Gbit/s, and ns in the engine."""
    if offload in PROGRAMS:
        core = fig10.core(HERE / "programs" / PROGRAMS[offload], watchdog_cycles=PATIENCE)
        busy = run(services=[core], traffic=packets(size=CORE_SIZE, count=40, gbps=0.5), set=[CORE_CLOCK])
        return {"throughput": gbps(busy)}
    unit = {"name": "it", "units": 1, "credits": CREDITS, **ENGINES[offload]}
    busy = run(services=[unit], traffic=packets(size=LONG, count=1000, gbps=150), set=FAST)
    taken = busy.summary["packets"]["out"] * LONG / busy.summary["packets"]["out_bytes"]  # compressed ones are short
    found = {"throughput": gbps(busy) * taken}
    for quantity, size in (("delay, least", SHORT), ("delay, most", LONG)):
        alone = run(services=[unit], traffic=packets(size=size, count=20, gbps=0.1), set=FAST)
        found[quantity] = float(column(alone, "service_ps").mean())
    return found


def claims(results: Results) -> Iterator[Claim]:
    """Shows that load must be balanced and queued."""
    rates = {name: results.value(name, "throughput") for name in ENGINES if name != "SHA1"}
    slow = [name for name, rate in rates.items() if rate < LINE_GBPS]
    yield Claim(
        text="Compression and encryption run well below line rate, inference does not (2.1)",
        holds=set(slow) == {"compression (LZRW1)", "AES-256"},
        basis="by construction: compression and inference have the rates of this table as parameters",
        found=", ".join(f"{name} {rate:.1f}" for name, rate in rates.items()) + " Gbit/s",
    )

    for kind in ("AES-256", "SHA1"):
        hardware, core = (results.value(name, "throughput") for name in (kind, f"{kind}, core"))
        yield Claim(
            text=f"{kind} is a poor fit for a core and should be hardware (2.1)",
            holds=hardware > 50 * core,
            found=f"{hardware:.1f} against {core:.3f} Gbit/s",
        )


def plot(results: Results) -> Figure:
    """Throughput and delay beside the paper's."""
    panels = []
    for quantity, unit in (("throughput", "Gbit/s"), ("delay, least", "ns"), ("delay, most", "ns")):
        published = {point.name: row for point, row in results.published(quantity)}
        groups = [
            plots.Group(
                label=row.point.name.removesuffix(" (LZRW1)").replace(", ", "\n"),
                values={
                    "paper": published[row.point.name].value if row.point.name in published else None,
                    "spinet": row.measured[quantity],
                },
                slack=published[row.point.name].slack if row.point.name in published else 0,
            )
            for row in results.rows
            if quantity in row.measured
        ]
        label = quantity if quantity == "throughput" else f"{quantity} of a packet"
        panels.append(
            plots.BarPanel(
                y_label=f"{label} ({unit})", groups=groups, published=("paper",), log=quantity != "delay, least"
            )
        )
    caption = f"Paper: {SOURCE}. spinet: one unit on a card of 1 GHz."
    return plots.bars(panels, title=TITLE, caption=caption, columns=1, panel_inches=(7.6, 2.3))
