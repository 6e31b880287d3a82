# SPDX-License-Identifier: Apache-2.0
"""SC 2017, use case 1: broadcast over a binomial tree, and use case 8: with redundant packets under losses.

*sPIN*: `sdk/collectives/broadcast.c`; a card forwards each packet when it arrives. *redundant*: each rank forwards the
first copy of a packet to the ranks at the distances 1, 2, 4, ... *triggered*: NICs forward without handlers and
without processors, as with triggered operations of Portals 4; a message goes to host memory and is read from there.
*hosts*: the same, and a core takes 100 ns to receive and 100 ns to send a message. The last two forward the whole
vector or parts of 4 or 16 KiB; the fastest counts. *switch*: the root sends each packet once, and the card of the
switch sends it to all other ranks (`group_switch.c`). *two levels*: the same with leaf switches and a root switch,
each with a card; n ranks are on 2^floor(log2(n) / 2) leaves. PCIe takes 250 ns each way; for sPIN, the preset pspin
decides. All have the same tree, links and packets of 1 KiB. The time runs from the root's post until the last byte is
in host memory.

*Delivered* is the part of all blocks of all ranks that arrived, if links lose frames at random. A frame crosses two
links. It is the mean of five runs with other seeds, of 15,000 blocks each. Without redundancy, it follows from the
depths of the tree: ((1 + q)^4 - 1) / 15 for 16 ranks, where q is the probability that a frame crosses both links.

The root reads the vector from host memory, and each rank writes it there, 1 KiB at a time. The card's engine for host
memory ends each transfer before it begins the next, as in PsPIN's RTL: long vectors travel with 24 Gbit/s, so whole
messages of hosts are faster. The paper has up to 1,024 ranks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from experiments.spin import collective
from experiments.spin.collective import O_NS, START_NS, WARM_NS
from spinet import plots
from spinet.collectives import Group
from spinet.collectives.group import BLOCK_BYTES
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Broadcast"
SOURCE = "Hoefler et al., sPIN, SC 2017; the numbers of its figures were not available"

SIZES = (8, 1024, 4096, 16384, 65536)
NODES = (2, 4, 8, 16, 32, 64)
MORE_NODES = (*NODES, 256)  # with vectors of 8 bytes
NODE_SIZES = (8, 65536)
LOSSES = (0.1, 1, 5, 10)  # % of the frames on each link
WAYS = ("sPIN", "redundant", "triggered", "hosts", "switch", "two levels")
RANKS = 16
_WARM_UPS = 8  # blocks: two for each cluster
_LOSSY_BLOCKS = 1024
SEEDS = range(1, 6)


def points() -> list[Point]:
    """Points by size, by number of ranks, and by losses."""
    cases = [(RANKS, size) for size in SIZES] + [(n, size) for n in NODES for size in NODE_SIZES] + [(256, 8)]
    made = [
        Point(
            name=_name(way, ranks, size),
            settings={"way": way, "ranks": ranks, "size": size, "loss": 0},
            quick=(ranks, size) == (4, 8),
        )
        for ranks, size in dict.fromkeys(cases)
        for way in WAYS
        if ranks > 2 or way != "two levels"
    ]
    return made + [
        Point(
            name=f"{way}, {loss} % lost",
            settings={"way": way, "ranks": RANKS, "size": _LOSSY_BLOCKS * BLOCK_BYTES, "loss": loss},
        )
        for loss in LOSSES
        for way in WAYS[:2]
    ]


def _name(way: str, ranks: int, size: int) -> str:
    return f"{way}, {ranks} ranks, {size} B"


def measure(*, way: str, ranks: int, size: int, loss: float) -> dict[str, float]:
    """Time in ns and frames; or the delivered part, of each seed and their mean."""
    if loss:
        parts = {f"seed {seed}": _delivered(way == "redundant", ranks, size, loss, seed) for seed in SEEDS}
        return {"delivered": float(np.mean(list(parts.values()))), **parts}
    if way in ("triggered", "hosts"):
        group = Group(operation="broadcast", size=ranks, n_bytes=size)
        o_ns = O_NS if way == "hosts" else 0
        chunks = [chunk for chunk in collective.HOST_CHUNKS if chunk < size]
        return {"time": min(collective.on_hosts_ns(group, o_ns=o_ns, chunk_bytes=chunk) for chunk in chunks)}
    lead = _WARM_UPS * BLOCK_BYTES
    group = Group(operation="broadcast", size=ranks, n_bytes=lead + size, redundant=way == "redundant")
    starts = [(WARM_NS + 10_000.0 * turn, 0) for turn in range(_WARM_UPS)]
    starts += [(float(START_NS), 0)] * (group.blocks - _WARM_UPS)
    vector = np.random.default_rng(size).bytes(group.n_bytes)
    vectors = [vector, *[b""] * (ranks - 1)]
    leaves = collective.leaves(way, ranks)
    if leaves is None:
        result = collective.on_cards(group, starts, vectors=vectors)
    else:
        result = collective.in_switches(group, leaves, starts, vectors=vectors)
    for rank in range(ranks):
        assert group.result(collective.memory(result, rank)) == vector, f"rank {rank} has wrong bytes"
    frames = collective.data_frames(result, ranks) / group.blocks
    time = collective.elapsed_ns(result, ranks, begin_ns=START_NS, n_leaves=leaves)
    return {"time": time, "frames": frames}


def _delivered(is_redundant: bool, ranks: int, size: int, loss: float, seed: int) -> float:
    """Share of the root's blocks that are complete in the memories of the other ranks."""
    group = Group(operation="broadcast", size=ranks, n_bytes=size, redundant=is_redundant)
    vector = np.random.default_rng(size).integers(1, 256, size, np.uint8)
    starts = [(WARM_NS + 500.0 * block, 0) for block in range(group.blocks)]
    result = collective.on_cards(
        group, starts, vectors=[vector.tobytes(), *[b""] * (ranks - 1)], faults=f"loss={loss / 100}", seed=seed
    )
    blocks = vector.reshape(-1, BLOCK_BYTES)
    complete = []
    for rank in range(ranks):
        own = np.frombuffer(collective.memory(result, rank), np.uint8)[group.result_at : group.result_at + size]
        own = own.reshape(-1, BLOCK_BYTES)
        has_come = (own == blocks).all(axis=1)
        assert not own[~has_come].any(), f"rank {rank} has wrong bytes"
        complete.append(has_come)
    begun = complete[0]  # start packets may be lost, too
    return float(np.mean([has_come[begun] for has_come in complete[1:]]))


def claims(results: Results) -> Iterator[Claim]:
    """Times of levels, and redundancy."""

    def factors(way: str, cases: list[tuple[int, int]]) -> list[float]:
        return [
            results.value(_name(way, *case), "time") / results.value(_name("sPIN", *case), "time") for case in cases
        ]

    ends = {way: [results.value(_name(way, n, 8), "time") for n in (MORE_NODES[0], MORE_NODES[-1])] for way in WAYS[:4]}
    levels = collective.rounds(MORE_NODES[-1]) - collective.rounds(MORE_NODES[0])
    each = {way: (last - first) / levels for way, (first, last) in ends.items()}
    yield Claim(
        text="Each further level of the tree takes less time with sPIN than with triggered operations, and these less "
        "than hosts (ordering)",
        holds=each["sPIN"] < each["triggered"] < each["hosts"],
        found=", ".join(f"{way} {ns:.0f} ns" for way, ns in each.items()),
    )
    for way in WAYS[2:]:
        nodes = MORE_NODES[1:] if way == "two levels" else MORE_NODES
        found = factors(way, [(n, 8) for n in nodes])
        yield Claim(
            text=f"8 bytes to {', '.join(map(str, nodes))} ranks: time of {way} over that of sPIN",
            holds=None,
            found=", ".join(f"{factor:.2f}" for factor in found),
        )
    found = factors("hosts", [(RANKS, size) for size in SIZES])
    yield Claim(
        text=f"{', '.join(map(str, SIZES))} bytes to {RANKS} ranks: time of hosts over that of sPIN",
        holds=None,
        found=", ".join(f"{factor:.2f}" for factor in found),
    )
    parts = {way: [_parts(results, way, loss) for loss in LOSSES] for way in WAYS[:2]}
    yield Claim(
        text="Redundant packets deliver more than the tree, and at 1 % and below all but 1 of 10,000 blocks, for each "
        f"of {len(SEEDS)} seeds (least to most)",
        holds=all(min(a) > max(b) for a, b in zip(parts["redundant"], parts["sPIN"], strict=True))
        and min(map(min, parts["redundant"][:2])) > 0.9999,
        found="; ".join(
            f"{loss} %: {min(a):.3%} to {max(a):.3%}, tree {min(b):.2%} to {max(b):.2%}"
            for loss, a, b in zip(LOSSES, parts["redundant"], parts["sPIN"], strict=True)
        ),
    )
    yield Claim(
        text="The same sizes without losses: time with redundant packets over that without",
        holds=None,
        found=", ".join(f"{factor:.2f}" for factor in factors("redundant", [(RANKS, size) for size in SIZES])),
    )


def _parts(results: Results, way: str, loss: float) -> list[float]:
    """The delivered part for each seed."""
    return [results.value(f"{way}, {loss} % lost", f"seed {seed}") for seed in SEEDS]


def plot(results: Results) -> Figure:
    """Time by size and by ranks; delivered blocks."""

    def curves(of: str, **fixed: int) -> list[plots.Curve]:
        made = []
        for look, way in enumerate(WAYS):
            x, y = results.series(of, "time", way=way, loss=0, **fixed)
            made.append(plots.Curve(label=way, x=x, y=[value / 1000 for value in y], look=look))
        return made

    label = "time (µs)"
    panels = [
        plots.Panel(
            title=f"{RANKS} ranks", x_label="vector (B)", y_label=label, curves=curves("size", ranks=RANKS), x_base=2,
            y_base=10, x_ticks=SIZES,
        ),
        *[
            plots.Panel(
                title=f"{size} B", x_label="ranks", y_label=label, curves=curves("ranks", size=size), x_base=2,
                x_ticks=MORE_NODES if size == 8 else NODES,
            )
            for size in NODE_SIZES
        ],
    ]  # fmt: skip
    lost = []
    for look, way in enumerate(WAYS[:2]):
        y = [100 * results.value(f"{way}, {loss} % lost", "delivered") for loss in LOSSES]
        lost.append(plots.Curve(label=way, x=list(LOSSES), y=y, look=look))
        x = [loss for loss in LOSSES for _ in SEEDS]
        each = [100 * part for loss in LOSSES for part in _parts(results, way, loss)]
        lost.append(plots.Curve(label="", x=x, y=each, look=look, kind="published"))
    panels.append(
        plots.Panel(title=f"losses, {RANKS} ranks", x_label="lost on a link (%)", y_label="delivered (%)", curves=lost)
    )
    caption = f"{collective.MEASURED} Losses: lines through the mean of {len(SEEDS)} seeds, which are the hollow marks."
    return plots.curves(panels, columns=2, title=TITLE, caption=caption)
