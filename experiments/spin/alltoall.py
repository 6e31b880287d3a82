# SPDX-License-Identifier: Apache-2.0
"""All-to-all on cards and on hosts, by size of a part and by number of ranks.

*sPIN*: `sdk/collectives/alltoall.c`; each arrival makes a card send one more block, to each rank in turn. *hosts*: a
core sends the part of each rank, 100 ns each, and receives the parts of the others, 100 ns each; PCIe takes 250 ns each
way. All have the same links and packets of 1 KiB. The time runs from the first rank's post until the last byte is in
host memory, with cold caches. It includes the start packets, up to 16 for each rank, which come 1.7 ns apart. *Data* is
what a rank sends, in parts.

The card's engine for host memory ends each transfer before it begins the next, as in PsPIN's RTL. Each byte crosses it
twice, once at its sender and once at its receiver, so large parts travel far below the line rate, and hosts are faster.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from experiments.spin import collective
from experiments.spin.collective import START_NS
from spinet import plots
from spinet.collectives import Group
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "All-to-all"
SOURCE = "Di Girolamo, De Sensi, Hoefler et al., sPIN, OFA Virtual Workshop 2022; no numbers are published"

SIZES = (8, 256, 1024, 4096, 16384)
NODES = (2, 4, 8, 16, 32, 64)
RANKS, PART = 16, 256
WAYS = ("sPIN", "hosts")
_WINDOW = 16


def points() -> list[Point]:
    """Points by size of a part, and by number of ranks."""
    cases = [(RANKS, size) for size in SIZES] + [(n, PART) for n in NODES]
    return [
        Point(name=_name(way, *case), settings={"way": way, "ranks": case[0], "size": case[1]}, quick=case == (4, PART))
        for case in dict.fromkeys(cases)
        for way in WAYS
    ]


def _name(way: str, ranks: int, size: int) -> str:
    return f"{way}, {ranks} ranks, parts of {size} B"


def measure(*, way: str, ranks: int, size: int) -> dict[str, float]:
    """Time in ns, and parts that a rank sends."""
    group = Group(operation="alltoall", size=ranks, n_bytes=size, window=_WINDOW)
    if way == "hosts":
        return {"time": collective.on_hosts_ns(group)}
    random = np.random.default_rng([ranks, size])
    parts = random.integers(0, 256, (ranks, ranks, size), np.uint8)  # sender, receiver, byte
    result = collective.on_cards(
        group, [(float(START_NS), rank) for rank in group.starts], vectors=[rows.tobytes() for rows in parts]
    )
    for rank in range(ranks):
        wanted = parts[:, rank].copy()
        wanted[rank] = 0  # the processor copies this rank's own part
        assert group.result(collective.memory(result, rank)) == wanted.tobytes(), f"rank {rank} has wrong bytes"
    frames = result.table("frames")
    entered = (np.array(frames["event"].to_pylist()) == "entered") & (frames["frame_node"].to_numpy() == 0)
    data = frames["bytes"].to_numpy()[entered].astype(np.int64) - collective.HEADERS
    return {"time": collective.elapsed_ns(result, ranks, begin_ns=START_NS), "data": float(data.sum()) / size}


def claims(results: Results) -> Iterator[Claim]:
    """Claims about cards against hosts."""
    for cases, text in (
        ([(RANKS, size) for size in SIZES], f"parts of {', '.join(map(str, SIZES))} B, {RANKS} ranks"),
        ([(n, PART) for n in NODES], f"{', '.join(map(str, NODES))} ranks, parts of {PART} B"),
    ):
        factors = [
            results.value(_name("hosts", *case), "time") / results.value(_name("sPIN", *case), "time") for case in cases
        ]
        yield Claim(
            text=f"Time of hosts over that of cards: {text}",
            holds=None,
            found=", ".join(f"{factor:.2f}" for factor in factors),
        )


def plot(results: Results) -> Figure:
    """Time by size and by ranks."""
    panels = []
    for title, of, label, ticks, fixed in (
        (f"{RANKS} ranks", "size", "part for one rank (B)", SIZES, {"ranks": RANKS}),
        (f"parts of {PART} B", "ranks", "ranks", NODES, {"size": PART}),
    ):
        curves = []
        for look, way in enumerate(WAYS):
            x, y = results.series(of, "time", way=way, **fixed)
            curves.append(plots.Curve(label=way, x=x, y=[value / 1000 for value in y], look=look))
        panels.append(
            plots.Panel(
                title=title, x_label=label, y_label="time (µs)", curves=curves, x_base=2, y_base=10, x_ticks=ticks
            )
        )
    return plots.curves(panels, columns=2, title=TITLE, caption=collective.MEASURED)
