# SPDX-License-Identifier: Apache-2.0
"""Barrier by dissemination on cards and on hosts, and in switches, by number of ranks.

In round r, a rank sends a packet to the rank 2^r further, and waits for that of the rank 2^r before. *sPIN*:
`sdk/collectives/barrier.c`, the fifth barrier of a run. *triggered*: NICs send without handlers and without
processors, as with triggered operations of Portals 4; a packet goes to host memory and the next comes from there.
*hosts*: the same, and a core takes 100 ns to receive and 100 ns to send. PCIe takes 250 ns each way; for sPIN, the
preset pspin decides. *switch*: all ranks send to the card of their switch, which counts them and answers
(`group_switch.c`). *two levels*: the same with leaf switches, whose cards send one packet to that of a root switch.
With n ranks there are 2^floor(log2(n) / 2) leaves. All switches have the same latency. The time runs from the post of
the last rank until the last host sees the end. Hosts enter at the same time; cards get their start packets one after
the other, 1.7 ns apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spin import collective
from experiments.spin.collective import O_NS, POST_NS, START_NS, WARM_NS
from spinet import plots
from spinet.collectives import Group
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Barrier"
SOURCE = "Di Girolamo, De Sensi, Hoefler et al., sPIN, OFA Virtual Workshop 2022; no numbers are published"

NODES = (2, 4, 8, 16, 32, 64, 256)
WAYS = ("sPIN", "triggered", "hosts", "switch", "two levels")
_BARRIERS = 5  # the first four fill the instruction caches


def points() -> list[Point]:
    """Points by number of ranks. A tree of two levels has two ranks or more at each of its leaves."""
    return [
        Point(name=_name(way, n), settings={"way": way, "ranks": n}, quick=n in (2, 4))
        for n in NODES
        for way in WAYS
        if n > 2 or way != "two levels"
    ]


def _name(way: str, ranks: int) -> str:
    return f"{way}, {ranks} ranks"


def measure(*, way: str, ranks: int) -> dict[str, float]:
    """Time in ns, and packets of a rank."""
    group = Group(operation="barrier", size=ranks)
    if way in ("triggered", "hosts"):
        return {"time": collective.on_hosts_ns(group, o_ns=O_NS if way == "hosts" else 0)}
    times = [*(WARM_NS + 40_000 * number for number in range(_BARRIERS - 1)), START_NS]
    starts = [(float(ns), rank) for ns in times for rank in group.starts]
    leaves = collective.leaves(way, ranks)
    result = collective.on_cards(group, starts) if leaves is None else collective.in_switches(group, leaves, starts)
    for rank in range(ranks):
        passed = int.from_bytes(collective.memory(result, rank)[:8], "little")
        assert passed == _BARRIERS, f"rank {rank} has passed {passed} barriers"
    frames = collective.data_frames(result, ranks) / ranks / _BARRIERS
    last = float(collective.started_ns(result, collective.starter(ranks, leaves), since_ns=START_NS).max())
    return {"time": collective.done_ns(result, ranks) - last + POST_NS, "frames": frames}


def claims(results: Results) -> Iterator[Claim]:
    """Claims about the times of rounds."""
    nodes = {way: NODES if way != "two levels" else NODES[1:] for way in WAYS}
    times = {way: [results.value(_name(way, n), "time") for n in nodes[way]] for way in WAYS}
    each = {
        way: (times[way][-1] - times[way][0]) / (collective.rounds(NODES[-1]) - collective.rounds(NODES[0]))
        for way in WAYS[:3]
    }
    yield Claim(
        text="Each further round takes less time with sPIN than with triggered operations, and these less than hosts "
        "(ordering)",
        holds=each["sPIN"] < each["triggered"] < each["hosts"],
        found=", ".join(f"{way} {ns:.0f} ns" for way, ns in each.items()),
    )
    for way in WAYS[1:]:
        cards = times["sPIN"][-len(nodes[way]) :]
        yield Claim(
            text=f"{', '.join(map(str, nodes[way]))} ranks: time of {way} over that of sPIN",
            holds=None,
            found=", ".join(f"{a / b:.2f}" for a, b in zip(times[way], cards, strict=True)),
        )


def plot(results: Results) -> Figure:
    """Draws times by number of ranks."""
    curves = []
    for look, way in enumerate(WAYS):
        x, y = results.series("ranks", "time", way=way)
        curves.append(plots.Curve(label=way, x=x, y=[value / 1000 for value in y], look=look))
    bound = [collective.hops_ns(n) / 1000 for n in NODES]
    curves.append(plots.Curve(label="links and switch alone", x=list(NODES), y=bound, look=len(WAYS), kind="formula"))
    panel = plots.Panel(x_label="ranks", y_label="time (µs)", curves=curves, x_base=2, x_ticks=NODES)
    return plots.curves([panel], columns=1, title=TITLE, caption=collective.MEASURED)
