# SPDX-License-Identifier: Apache-2.0
"""Figure 10: throughput of six handlers.

The handlers of `sdk/examples` on the paper's workloads (`experiments/pspin/handlers.py`), packets as fast as the NIC
takes them; throughput by the rate at which payload handlers end, caches warm. Three of them work on every word. The
paper compiled with PULP's compiler, whose hardware loops and post-increment loads leave little besides the work; a
rolled loop of rv32imac takes about twice the cycles. So there are two curves of these: plain, and unrolled by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from experiments.pspin import handlers
from experiments.pspin.common import MEASURED, PAPER, steady_gbps
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Throughput of six handlers"
SOURCE = f"{PAPER}, Fig. 10, IV-C1"

SIZES = (64, 128, 256, 512, 1024, 2048)
FROM = 512  # bytes from which on the text makes statements


def points() -> list[Point]:
    """Handlers, plain and unrolled, by packet size; those that work on every word on eight clusters too."""
    found = []
    for name, handler in handlers.HANDLERS.items():
        for how in ("plain", "unrolled") if handler.per_word else ("plain",):
            for clusters in (4, 8) if handler.per_word else (4,):
                for size in SIZES if clusters == 4 else [size for size in SIZES if size >= FROM]:
                    more = f", {clusters} clusters" if clusters != 4 else ""
                    settings = {"handler": name, "how": how, "clusters": clusters, "size": size}
                    quick = size == FROM and clusters == 4 and (how == "unrolled") == handler.per_word
                    found.append(Point(name=f"{name}, {how}, {size} B{more}", settings=settings, quick=quick))
    return found


def measure(*, handler: str, how: str, clusters: int, size: int) -> dict[str, float]:
    """Throughput, and cycles of a payload handler."""
    result = handlers.run(handler, size=size, how=how, set=[f"n_clusters={clusters}"])
    return {
        "throughput": steady_gbps(result, bytes_each=size, last=0.95),
        "cycles": float(np.median(result.columns["cycles"])),
    }


def claims(results: Results) -> Iterator[Claim]:
    """Which handlers are bound by what."""
    for name, handler in handlers.HANDLERS.items():
        if handler.per_word:
            _, four = results.series("size", "throughput", handler=name, how="unrolled", clusters=4)
            _, eight = results.series("size", "throughput", handler=name, how="unrolled", clusters=8)
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
            x, y = results.series("size", "throughput", handler=name)
            right.append(plots.Curve(label=name, x=x, y=y, look=len(right)))
            continue
        for how in ("plain", "unrolled"):
            x, y = results.series("size", "throughput", handler=name, how=how, clusters=4)
            left.append(plots.Curve(label=f"{name}, {how}", x=x, y=y, look=len(left)))
    middle = []
    for look, name in enumerate(name for name, handler in handlers.HANDLERS.items() if handler.per_word):
        x, y = results.series("size", "throughput", handler=name, how="unrolled", clusters=8)
        middle.append(plots.Curve(label=f"{name}, unrolled", x=x, y=y, look=2 * look + 1))
    ends = [float(FROM), float(SIZES[-1])]
    left.append(plots.Curve(label="paper: more than 200", x=ends, y=[200, 200], kind="published", look=6))
    middle.append(plots.Curve(label="paper: 400", x=ends, y=[400, 400], kind="published", look=6))
    right.append(plots.Curve(label="paper: 400", x=ends, y=[400, 400], kind="published", look=6))
    names = ("every word", "every word, 8 clusters", "headers, requests, blocks")
    return plots.curves(
        [
            plots.Panel(
                title=title,
                x_label="packet size (B)",
                y_label="throughput (Gbit/s)",
                curves=curves,
                x_base=2,
                x_ticks=SIZES,
                y_max=560,
                legend={"loc": "upper left" if title == names[0] else "lower right"},
            )
            for title, curves in zip(names, (left, middle, right), strict=True)
        ],
        title=TITLE,
        caption=f"Paper: {SOURCE}; its curves are known by what the text says of them. {MEASURED}",
    )
