# SPDX-License-Identifier: Apache-2.0
"""Table 4: FPGA resources of the parts.

`spinet.fpga_cost` returns percentages of the look-up tables and of the block memory of the prototype's FPGA, a Xilinx
VU3P-2. The model is made from this table, so its points hold by construction. It serves to estimate other shapes:
crossbars grow with the square of their ports, PIFOs with their entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import spinet
from experiments.panic.common import PAPER
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "FPGA resources"
SOURCE = f"{PAPER}, Table 4, 7.5"

KIB = 1024


def points() -> list[Point]:
    """The published shapes, and others."""
    shapes = [
        (ports, entries, 256) for ports, entries in ((8, 256), (16, 512), (4, 128), (12, 384), (24, 768), (32, 1024))
    ]
    shapes.append((8, 256, 126))  # the buffer of the published Verilog
    return [
        Point(
            name=f"{ports} ports, {entries} entries, {kib} KiB",
            settings={"ports": ports, "entries": entries, "kib": kib},
            quick=True,
        )
        for ports, entries, kib in shapes
    ]


def measure(*, ports: int, entries: int, kib: int) -> dict[str, float]:
    """Percent of LUTs and block memory, by part."""
    parts = spinet.fpga_cost(ports=ports, pifo_entries=entries, buffer_bytes=kib * KIB)
    names = {"PANIC": "total"}
    luts = {f"{names.get(part.name, part.name)}, LUTs": part.luts_percent for part in parts}
    return luts | {f"{names.get(part.name, part.name)}, BRAM": part.bram_percent for part in parts}


def claims(results: Results) -> Iterator[Claim]:
    """Claims about limits of the size."""
    largest = {row.point.name: row.measured["total, LUTs"] for row in results.rows}
    row = results.rows[0]
    yield Claim(
        text="Crossbar and PIFO occupy most of the logic (7.5)",
        basis="by construction: the model is made of this table",
        holds=row.measured["crossbar, LUTs"] + row.measured["PIFO, LUTs"] > 0.9 * row.measured["total, LUTs"],
        found="{crossbar, LUTs:.1f} and {PIFO, LUTs:.1f} of {total, LUTs:.1f} %".format(**row.measured),
    )
    name = "32 ports, 1024 entries, 256 KiB"
    yield Claim(
        text="PIFO and crossbar are less scalable on an FPGA (5, 7.5): 32 ports and 1024 entries",
        holds=None,
        found=f"{largest[name]:.0f} % of the look-up tables",
    )


def plot(results: Results) -> Figure:
    """LUTs by ports and entries."""
    rows = sorted((row for row in results.select(kib=256)), key=lambda row: int(row.point.settings["ports"]))
    left: list[plots.Curve] = []
    right: list[plots.Curve] = []
    for panel, part, setting in (
        (left, "crossbar", "ports"),
        (right, "scheduler", "entries"),
        (right, "PIFO", "entries"),
    ):
        x = [float(row.point.settings[setting]) for row in rows]
        y = [row.measured[f"{part}, LUTs"] for row in rows]
        look = len(panel) // 2
        panel.append(plots.Curve(label=part, x=x, y=y, look=look))
        known = [(float(p.settings[setting]), row.value) for p, row in results.published(f"{part}, LUTs")]
        label = f"paper: {part}"
        panel.append(
            plots.Curve(label=label, x=[k[0] for k in known], y=[k[1] for k in known], kind="published", look=look)
        )
    return plots.curves(
        [
            plots.Panel(x_label="ports of the crossbar", y_label="look-up tables (%)", curves=left),
            plots.Panel(x_label="entries of all PIFOs", y_label="look-up tables (%)", curves=right),
        ],
        title=TITLE,
        caption=f"Paper: {SOURCE}: Xilinx VU3P-2 with 394 thousand look-up tables and 3 MB of block memory.",
    )
