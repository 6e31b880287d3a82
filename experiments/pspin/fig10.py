# SPDX-License-Identifier: Apache-2.0
"""Figure 10: throughput of six handlers.

The handlers of `sdk/examples` run on the paper's workloads (`experiments/pspin/handlers.py`), with packets as fast as
the NIC accepts them. Throughput is the rate at which payload handlers end, with warm caches. Handlers end in groups,
so rates are off by up to one packet in 300: the interconnect's 512 Gbit/s may show as 514. Three of the handlers
process every word. The paper used PULP's compiler, whose hardware loops and post-increment loads leave little
overhead; a rolled loop of rv32imac takes about twice the cycles. These three therefore have two curves: plain, and
with handwritten PULP instructions, which corresponds to the paper. The others send data to the host. They are also
shown on the preset with PCIe's packets and an IOMMU (dotted), which slows down blocks of 256 bytes.

The histogram's payload handlers count its packets, so that the last of them writes it to the host. A variant with a
completion handler for each message is shown for comparison. The card copies one more packet to L1 for each completion
handler. Message queues take turns, so all 256 reach this point at once, and cores wait for the copies.
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

COMPLETION = "extensions, completion handlers"
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
    # The histogram with a completion handler for each message of one or two packets.
    found += [_point("histogram", COMPLETION, clusters, size) for clusters in (4, 8) for size in SIZES if size >= FROM]
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
    workload = handlers.histogram(size, completion=True) if how == COMPLETION else None
    how = how.partition(",")[0]
    shape = [f"n_clusters={clusters}"]
    result = handlers.run(handler, size=size, how=how, workload=workload, nic=nic, set=shape)
    return {
        "throughput": steady_gbps(result, bytes_each=size, last=0.95),
        "cycles": float(np.median(result.columns["cycles"])),
    }


def claims(results: Results) -> Iterator[Claim]:
    """The bottleneck of each handler."""
    for name in (name for name, handler in handlers.HANDLERS.items() if handler.per_word):
        _, four = results.series("size", "throughput", handler=name, how="extensions", clusters=4)
        _, eight = results.series("size", "throughput", handler=name, how="extensions", clusters=8)
        gains = [b / a for a, b in zip(four[-len(eight) :], eight, strict=True)]
        yield Claim(
            text=f"{name}: twice the clusters give twice the throughput, up to the interconnect's limit (IV-C1)",
            holds=all(gain > 1.8 or value > 450 for gain, value in zip(gains, eight, strict=True)),
            found=" ".join(f"{gain:.2f}" for gain in gains) + " times",
        )
    copies = []
    for clusters in (4, 8):
        x, y = results.series("size", "throughput", handler="histogram", how=COMPLETION, clusters=clusters)
        copies += [(value, _with_completion(int(size))) for size, value in zip(x, y, strict=True)]
    yield Claim(
        text="histogram with completion handlers: L2's port of 512 Gbit/s moves one more packet for each message",
        holds=all(value < 1.02 * most for value, most in copies),
        found=" ".join(f"{value:.0f}" for value, _ in copies)
        + " Gbit/s at 512 to 2048 B, 4 and 8 clusters; at most "
        + " ".join(f"{most:.0f}" for _, most in copies[len(copies) // 2 :]),
    )


def _with_completion(size: int) -> float:
    """Rate of L2's port if one more packet is copied to L1 for each message of 512 integers."""
    packets = max(1, round(512 / handlers.words(size)))
    return 512 * packets / (packets + 1)


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
    x, y = results.series("size", "throughput", handler="histogram", how=COMPLETION, clusters=8)
    middle.append(plots.Curve(label="histogram, completion handlers", x=x, y=y, look=7))
    from_200, from_400 = ((level, f"paper: above it from {FROM} B on") for level in (200, 400))
    panels = (
        ("those that work on every word, 4 clusters", left, SIZES, [from_200, (400, "paper: below it")]),
        ("the same, 8 clusters", middle, SIZES[SIZES.index(FROM) :], [(400, "paper: above it")]),
        ("those on headers, requests, blocks, 4 clusters", right, SIZES, [from_400]),
    )
    return plots.curves(
        [
            plots.Panel(
                title=title,
                x_label="packet size (B)",
                y_label="throughput (Gbit/s)",
                curves=curves,
                x_base=2,
                x_ticks=sizes,
                y_max=560,
                levels=levels,
            )
            for title, curves, sizes, levels in panels
        ],
        title=TITLE,
        caption=f"Paper: {SOURCE}; its curves are known by what the text says of them. {MEASURED}",
        columns=2,
    )
