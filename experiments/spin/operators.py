# SPDX-License-Identifier: Apache-2.0
"""Reduction operators: cycles an element on a core.

`sdk/collectives/combine.c` combines two vectors in a packet, on one core with its code in the instruction cache. The
time of an element is the time of vectors of 512 bytes minus that of 256 bytes, divided by the difference in elements.
Bits are random, so float values have all exponents. The cores have no floating-point unit. A word of integers takes two
loads, an operation and a store.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import spinet
from spinet import plots
from spinet.collectives.flare import TYPES
from spinet.collectives.peers import SOURCES
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Reduction operators on a core"
SOURCE = "Di Girolamo, De Sensi, Hoefler et al., sPIN, OFA Virtual Workshop 2022; De Sensi et al., Flare, SC 2021"

OPS = ("sum", "min", "max", "prod")
BYTES = 512


def points() -> list[Point]:
    """One point for each type and operator."""
    return [
        Point(name=f"{dtype} {op}", settings={"dtype": dtype, "op": op}, quick=op in ("sum", "prod"))
        for dtype in TYPES
        for op in OPS
    ]


def measure(*, dtype: str, op: str) -> dict[str, float]:
    """Cycles for each element."""
    more = _cycles(dtype, op, BYTES) - _cycles(dtype, op, BYTES // 2)
    return {"cycles an element": more / (BYTES // 2 // TYPES[dtype])}


def _cycles(dtype: str, op: str, n_bytes: int) -> int:
    result = spinet.run(
        program=SOURCES / "combine.c",
        defines={"TYPE": f"SPIN_{dtype.upper()}", "OP": f"SPIN_{op.upper()}"},
        traffic=f"udp:size={44 + 2 * n_bytes},count=12,rate=100kpps,payload=random",
        set={"n_clusters": 1, "cluster.n_cores": 1},
    )
    assert result.complete and not result.summary["traps"], (dtype, op)
    return int(result.columns["cycles"][4:].mean())


def claims(results: Results) -> Iterator[Claim]:
    """Claims about ratios of cycles."""
    cycles = {dtype: results.value(f"{dtype} sum", "cycles an element") for dtype in TYPES}
    ratios = [cycles["int32"] / cycles["int16"], cycles["int32"] / cycles["int8"]]
    yield Claim(
        text="Packed instructions combine two int16 and four int8 in the time of an int32",
        holds=abs(ratios[0] - 2) < 0.05 and abs(ratios[1] - 4) < 0.1,
        found=f"{ratios[0]:.2f} and {ratios[1]:.2f} times",
    )
    yield Claim(
        text="512 cores at 1 GHz combine 16.4 / c Tbit/s of 4-byte elements with c cycles each",
        holds=None,
        found=f"{16.384 / cycles['int32']:.1f} Tbit/s of int32, {16.384 / cycles['float32']:.2f} of float32",
    )


def plot(results: Results) -> Figure:
    """Draws bars for each type."""
    groups = [
        plots.Group(label=dtype, values={op: results.value(f"{dtype} {op}", "cycles an element") for op in OPS})
        for dtype in TYPES
    ]
    panel = plots.BarPanel(y_label="cycles an element", groups=groups)
    caption = "spinet: one core of the preset pspin, drawn bits. No plot of these numbers is published."
    return plots.bars([panel], title=TITLE, caption=caption, panel_inches=(7.4, 3.6))
