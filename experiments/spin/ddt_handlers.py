# SPDX-License-Identifier: Apache-2.0
"""SC 2019 and talk, handler analysis: cycles of payload handlers, their parts, and the line rate that they hold.

The message has 1 MiB in pieces of 2,048, 256 or 64 bytes: 1, 8 or 32 in a packet. *Cycles* is the median of a
handler at 20 Gbit/s, where no core waits for another, with code in the instruction caches and the type in L1.
*Throughput* is that of the message at 400 Gbit/s; headers leave 385.7 Gbit/s of it to the message.

The parts come from a profile of all runs of the payload handler, cold ones included: *init* finds the type and the
packet's part of the message, *set-up* finds its place in the type, *owner* takes and leaves checkpoints, *blocks*
is the loop that issues commands, and waits for them. The published split was not available.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from experiments.spin import ddt
from spinet import datatypes as dt
from spinet import plots
from spinet.datatypes import Datatype
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Cycles of handlers"
SOURCE = f"{ddt.PAPER}; {ddt.TALK}, handler analysis"

SIZE = 1 << 20
PIECES = (2048, 256, 64)


def points() -> list[Point]:
    """Handlers and bytes of a piece."""
    return [
        Point(name=f"{strategy}, {piece} B", settings={"strategy": strategy, "piece": piece}, quick=piece == 2048)
        for strategy in dt.STRATEGIES
        for piece in PIECES
    ]


def type_for(strategy: str, piece: int) -> Datatype:
    """A type with pieces of about one size that the handlers suit."""
    n = SIZE // piece
    if strategy == "blockindexed":  # every second block is shifted a little, so that no constant stride describes them
        return dt.hindexed_block(piece, 2 * piece * np.arange(n) + 8 * (np.arange(n) % 2), dt.BYTE)
    if strategy == "indexed":
        return dt.hindexed(np.where(np.arange(n) % 2, piece - 8, piece + 8), 3 * piece * np.arange(n), dt.BYTE)
    if strategy == "struct":
        half = ddt.vector(piece, SIZE // 2)
        return dt.struct([1, 1], [0, 2 * SIZE], [half, half])
    return ddt.vector(piece, SIZE)


def measure(*, strategy: str, piece: int) -> dict[str, float]:
    """Cycles of the payload handler, and throughput."""
    datatype = type_for(strategy, piece)
    interval = ddt.PAYLOAD if strategy in ("ro_cp", "rw_cp") else None
    alone = ddt.run(datatype, strategy, rate="20G", interval=interval, profile=True)
    fast = ddt.run(datatype, strategy, rate="400G", interval=interval)
    return {"cycles": ddt.warm_cycles(alone), "throughput": fast.gbps, **ddt.parts(alone)}


def claims(results: Results) -> Iterator[Claim]:
    """Claims about the line rate."""
    wire = 400 * ddt.PAYLOAD / (ddt.PAYLOAD + 76)
    found = {
        s: results.get(f"{s}, 256 B", "throughput") for s in dt.STRATEGIES if results.get(f"{s}, 256 B", "throughput")
    }
    yield Claim(
        text=f"Throughput with 8 pieces a packet, of {wire:.1f} Gbit/s on the line",
        holds=None,
        found=", ".join(f"{s} {value:.0f}" for s, value in found.items()),
    )


def plot(results: Results) -> Figure:
    """Cycles by handler, and the parts."""
    rows = [
        plots.Stack(
            label=f"{strategy}, {piece} B",
            parts={part: results.get(f"{strategy}, {piece} B", part) or 0.0 for part in ddt.PARTS},
        )
        for strategy in dt.STRATEGIES
        for piece in (2048, 256)
    ]
    return plots.stacks(
        rows, x_label="cycles of the payload handler, mean", title=TITLE, caption=f"{SOURCE}. {ddt.MEASURED}"
    )
