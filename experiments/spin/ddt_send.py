# SPDX-License-Identifier: Apache-2.0
"""SC 2019, senders: messages that the card gathers from host memory, or that the host packs first, by block size.

The message of 256 KiB is a vector. *Near* blocks have gaps of their own size; *far* blocks begin 4 KiB apart, as in a
column of a matrix. Packets have 1 KiB of the message, since handlers send at most 2 KiB. The host gives the card an
order of 60 bytes for each packet. Time is from the first order until the last packet has left. *Line rate* is that of
32 cores with the measured cycles; the card's reads of host memory are the tighter limit.

The host packs the message with one core and cold caches, by the model of `python/spinet/datatypes/host.py`; then the
card sends it at 400 Gbit/s. All bytes are compared with `datatypes.pack`.

PsPIN has at most two bursts of host memory under way, and each takes about 450 ns, so its throughput is that of a few
large reads or many small ones. Small near blocks are read together, in windows of 2 KiB; far blocks need a read each.
The paper's numbers for senders were not available.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from experiments.spin import ddt
from spinet import datatypes as dt
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Senders: gathered by the card or packed by the host"
SOURCE = f"{ddt.PAPER}, senders"

SIZE = 256 << 10
PAYLOAD = 1024
BLOCKS = (16, 64, 256, 1024, 4096)
STRATEGIES = ("vector", "ro_cp")
LAYOUTS = ("near", "far")
FAR = 4096
RATE = 400e9


def points() -> list[Point]:
    """One point for each strategy, layout and block size."""
    return [
        Point(
            name=f"{strategy}, {layout}, {block} B",
            settings={"strategy": strategy, "layout": layout, "block": block},
            quick=(strategy, block) == ("vector", 256),
        )
        for strategy in STRATEGIES
        for layout in LAYOUTS
        for block in BLOCKS
        if layout == "near" or block < FAR
    ]


def measure(*, strategy: str, layout: str, block: int) -> dict[str, float]:
    """Throughput of card and host, and cycles of the handler."""
    datatype = dt.vector(SIZE // block, block, 2 * block if layout == "near" else FAR, dt.BYTE)
    got = dt.send(datatype, strategy=strategy, payload=PAYLOAD)
    alone = dt.send(datatype, strategy=strategy, payload=PAYLOAD, rate="0.2G")
    for one in (got, alone):
        assert one.result.complete and not one.result.summary["traps"], strategy
        assert one.is_exact and all(done.is_whole for done in one.completions), strategy
    host = ddt.HOST.pack_ns(datatype) + SIZE // PAYLOAD * ddt.packet_ns(RATE, PAYLOAD)
    cycles = float(np.median(alone.handler_cycles[len(alone.handler_cycles) // 2 :]))
    return {
        "throughput": got.gbps,
        "host": SIZE * 8 / host,
        "cycles": cycles,
        "line rate": 32 * PAYLOAD * 8 / cycles,
        "reads": float(got.result.columns["host_dma_commands"].sum()) / got.compiled.packets,
    }


def claims(results: Results) -> Iterator[Claim]:
    """Claims about cards against the host."""
    found = {row.point.name: row.measured["throughput"] / row.measured["host"] for row in results.rows if row.measured}
    yield Claim(
        text="Throughput of the card over that of a host that packs, least and most",
        holds=None,
        found=f"{min(found.values()):.3f} ({min(found, key=lambda n: found[n])}) to "
        f"{max(found.values()):.2f} ({max(found, key=lambda n: found[n])})",
    )


def plot(results: Results) -> Figure:
    """Throughput over the block size."""
    panels = []
    for layout in LAYOUTS:
        curves = []
        for look, strategy in enumerate(STRATEGIES):
            x, y = results.series("block", "throughput", strategy=strategy, layout=layout)
            curves.append(plots.Curve(label=f"card, {strategy}", x=x, y=y, look=look))
        x, y = results.series("block", "host", strategy=STRATEGIES[0], layout=layout)
        curves.append(plots.Curve(label="host (model)", x=x, y=y, kind="formula"))
        axis: dict[str, Any] = {"x_label": "block (B)", "x_base": 2, "y_label": "throughput (Gbit/s)", "y_base": 10}
        panels.append(plots.Panel(title=f"{layout} blocks", curves=curves, **axis))
    return plots.curves(
        panels, title=TITLE, caption=f"{SOURCE}. spinet: preset pspin, {PAYLOAD} B of the message a packet."
    )
