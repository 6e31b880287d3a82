# SPDX-License-Identifier: Apache-2.0
"""Figure 10: a RISC-V core on packets.

The programs of `sdk/examples/panic` run on one core at 250 MHz with four credits. UDP packets of 1500 bytes in 32
flows arrive at 1.5 times the paper's rate, so the core always has one. Throughput is that of leaving packets. The
core's time, from its first packet on, is divided into network I/O at doorbells and descriptors, cache flushes, and
the rest. The authors' programs are not published. NAT is measured as they describe it, with replaced addresses and
ports, and also with correct checksums.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.panic.common import MEASURED, PAPER, ROOT, gbps, packets, run
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Where a RISC-V core's time goes"
SOURCE = f"{PAPER}, Fig. 10, 7.4"

FITTED = (
    "fitted: the cycles of a request, an answer and a refill (presets/units/riscv.toml) were chosen with all four "
    "programs in view"
)
EXAMPLES: Path = ROOT / "sdk" / "examples" / "panic"
CORE: Path = ROOT / "presets" / "units" / "riscv.toml"
SIZE = 1500
CREDITS = 4
# File, macros, Gbit/s in the paper, packets.
PROGRAMS: dict[str, tuple[str, dict[str, int], float, int]] = {
    "No-Touch": ("no_touch", {}, 61.4, 2000),
    "NAT": ("nat", {"CHECKSUMS": 0}, 21.3, 2000),
    "NAT with checksums": ("nat", {}, 21.3, 2000),
    "Swap OvS": ("swap", {}, 20.2, 2000),
    "Memcpy": ("memcpy", {}, 1.2, 120),
}
# Percent of the core's time in the paper, "about", in the order of PARTS; it gives Memcpy's computation only.
SHARES = {"No-Touch": (100, 0, 0), "NAT": (27, 20, 50), "Swap OvS": (27, 20, 50), "Memcpy": (0, 0, 97)}
PARTS = {"network I/O": "network_io", "flush": "flush", "computation": "compute"}


def points() -> list[Point]:
    """One point for each program."""
    return [Point(name=name, settings={"program": name}, quick=name == "NAT") for name in PROGRAMS]


def core(program: Path, **parameters: int) -> dict[str, Any]:
    """A service of one core that runs a program, with parameters of the engine that differ."""
    engine = tomllib.loads(CORE.read_text()) | parameters
    return {"name": "core", "engine": engine, "program": str(program), "credits": CREDITS}


def measure(*, program: str) -> dict[str, float]:
    """Gbit/s, nanoseconds a packet, and percent of the core's time."""
    file, defines, rate, count = PROGRAMS[program]
    traffic = packets(size=SIZE, count=count, gbps=1.5 * rate, more=",flows=32")
    result = run(services=[core(EXAMPLES / f"{file}.c")], traffic=traffic, defines=defines)
    spent = {part: result.counter(f"core[0].engine.cycles.{name}") for part, name in PARTS.items()}
    found = {part: 100 * cycles / sum(spent.values()) for part, cycles in spent.items()}
    return {"throughput": gbps(result), "time": SIZE * 8 / gbps(result), **found}


def claims(results: Results) -> Iterator[Claim]:
    """Claims about where the time goes."""

    def shares(program: str) -> list[float]:
        return [results.value(program, part) for part in PARTS]

    yield Claim(
        text="No-Touch spends all its time in network I/O (7.4)",
        holds=shares("No-Touch")[0] > 98,
        basis=FITTED,
        found=f"{shares('No-Touch')[0]:.0f} %",
    )
    for program in ("NAT", "Swap OvS"):
        found = shares(program)
        yield Claim(
            text=f"{program}: about 27 % network I/O, 20 % flush, 50 % computation (7.4); here within 10 points",
            holds=all(abs(a - b) < 10 for a, b in zip(found, SHARES[program], strict=True)),
            basis=FITTED,
            found=", ".join(f"{value:.0f} %" for value in found),
        )
    yield Claim(
        text="Memcpy: 97 % computation (7.4)",
        holds=abs(shares("Memcpy")[2] - 97) < 2,
        basis=FITTED,
        found=f"{shares('Memcpy')[2]:.0f} %",
    )


def plot(results: Results) -> Figure:
    """Time of a packet in parts, and throughput."""
    published = {point.name: f" (paper {row.value:g})" for point, row in results.published("throughput")}
    bars = []
    for row in results.rows:
        name, throughput = row.point.name, row.measured["throughput"]
        label = f"{name}\n{throughput:.3g} Gbit/s{published.get(name, '')}"
        bars.append(plots.Stack(label=label, parts={part: row.measured[part] for part in PARTS}))
        if name in SHARES:
            parts = dict(zip(PARTS, SHARES[name], strict=True))
            bars.append(plots.Stack(label=f"{name}, paper", parts=parts, published=True))
    caption = f"Paper: {SOURCE}. {MEASURED} Engine presets/units/riscv.toml; programs compiled for rv32i."
    return plots.stacks(bars, x_label="time of the core (%)", title=TITLE, caption=caption)
