# SPDX-License-Identifier: Apache-2.0
"""Figure 10: throughput of six handlers.

The handlers of `sdk/examples` on the paper's workloads (`experiments/pspin/handlers.py`), packets as fast as the NIC
takes them; throughput by the rate at which payload handlers end, caches warm. Three of them work on every word. The
paper compiled with PULP's compiler, whose hardware loops and post-increment loads leave little besides the work; a
rolled loop of rv32imac takes about twice the cycles. So there are two curves of these: plain, and with PULP's
instructions written by hand, which stands for the paper's. The others, whose data goes to the host, are shown on the
preset with PCIe's packets and an IOMMU too (dotted), where blocks of 256 bytes pay for both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from experiments.pspin import handlers
from experiments.pspin.common import MEASURED, NIC, PAPER, steady_gbps
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Throughput of six handlers"
SOURCE = f"{PAPER}, Fig. 10, IV-C1"

SIZES = (64, 128, 256, 512, 1024, 2048)
WHOLE = "pspin"  # with PCIe's packets and an IOMMU
FROM = 512  # bytes from which on the text makes statements


def points() -> list[Point]:
    """Handlers, plain and with extensions, by packet size; those that work on every word on eight clusters too."""
    found = []
    for name, handler in handlers.HANDLERS.items():
        for how in ("plain", "extensions") if handler.per_word else ("plain",):
            found += [_point(name, how, 4, size) for size in SIZES]
            if handler.per_word:
                found += [_point(name, how, 8, size) for size in SIZES if size >= FROM]
    # The others with PCIe's packets and an IOMMU too.
    others = [name for name, handler in handlers.HANDLERS.items() if not handler.per_word]
    return found + [_point(name, "plain", 4, size, nic=WHOLE) for name in others for size in SIZES]


def _point(name: str, how: str, clusters: int, size: int, *, nic: str = NIC) -> Point:
    more = (f", {clusters} clusters" if clusters != 4 else "") + (f", preset {nic}" if nic != NIC else "")
    return Point(
        name=f"{name}, {how}, {size} B{more}",
        settings={"handler": name, "how": how, "clusters": clusters, "size": size, "nic": nic},
        quick=not more and size == FROM and (how == "extensions") == handlers.HANDLERS[name].per_word,
    )


def measure(*, handler: str, how: str, clusters: int, size: int, nic: str) -> dict[str, float]:
    """Throughput, and cycles of a payload handler."""
    result = handlers.run(handler, size=size, how=how, nic=nic, set=[f"n_clusters={clusters}"])
    return {
        "throughput": steady_gbps(result, bytes_each=size, last=0.95),
        "cycles": float(np.median(result.columns["cycles"])),
    }


def claims(results: Results) -> Iterator[Claim]:
    """Which handlers are bound by what."""
    for name in (name for name, handler in handlers.HANDLERS.items() if handler.per_word):
        _, four = results.series("size", "throughput", handler=name, how="extensions", clusters=4)
        _, eight = results.series("size", "throughput", handler=name, how="extensions", clusters=8)
        gains = [b / a for a, b in zip(four[-len(eight) :], eight, strict=True)]
        yield Claim(
            text=f"{name}: twice the clusters bring twice the throughput, up to the interconnect's (IV-C1)",
            holds=all(gain > 1.8 or value > 450 for gain, value in zip(gains, eight, strict=True)),
            found=" ".join(f"{gain:.2f}" for gain in gains) + " times",
        )


def plot(results: Results) -> Figure:
    """Those that work on every word on the left, the others on the right."""
    left: list[plots.Curve] = []
    right: list[plots.Curve] = []
    for name, handler in handlers.HANDLERS.items():
        if not handler.per_word:
            x, y = results.series("size", "throughput", handler=name, nic=NIC)
            right.append(plots.Curve(label=name, x=x, y=y, look=len(right) // 2))
            x, y = results.series("size", "throughput", handler=name, nic=WHOLE)
            label = "" if right[1:] else f"on preset {WHOLE}"
            right.append(plots.Curve(label=label, x=x, y=y, kind="formula"))
            continue
        for how in ("plain", "extensions"):
            x, y = results.series("size", "throughput", handler=name, how=how, clusters=4)
            left.append(plots.Curve(label=f"{name}, {how}", x=x, y=y, look=len(left)))
    middle = []
    for look, name in enumerate(name for name, handler in handlers.HANDLERS.items() if handler.per_word):
        x, y = results.series("size", "throughput", handler=name, how="extensions", clusters=8)
        middle.append(plots.Curve(label=f"{name}, extensions", x=x, y=y, look=2 * look + 1))
    ends = [float(FROM), float(SIZES[-1])]
    left.append(plots.Curve(label="paper: more than", x=ends, y=[200, 200], kind="published", look=6))
    middle.append(plots.Curve(label="paper: at least", x=ends, y=[400, 400], kind="published", look=6))
    right.append(plots.Curve(label="paper: at least", x=ends, y=[400, 400], kind="published", look=6))
    names = ("every word", "every word, 8 clusters", "headers, requests, blocks")
    return plots.curves(
        [
            plots.Panel(
                title=title,
                x_label="packet size (B)",
                y_label="throughput (Gbit/s)",
                curves=curves,
                x_base=2,
                x_ticks=[size for size in SIZES if size >= (FROM if title == names[1] else 0)],
                y_max=560,
            )
            for title, curves in zip(names, (left, middle, right), strict=True)
        ],
        title=TITLE,
        caption=f"Paper: {SOURCE}; its curves are known by what the text says of them. {MEASURED}",
        columns=2,
    )
