# SPDX-License-Identifier: Apache-2.0
"""Figure 4: latency and bandwidth of memories, from one core.

One core with warm caches copies a chunk into its own L1 by loads, out of it by stores, or into it by the cluster's
DMA engine and a wait for its end. Nothing else runs. The time is that of the handler minus that of the same handler
without the copy. The paper describes DMA from another cluster's L1. The RTL refuses it, because the address is
unmapped there, and so does spinet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import spinet
from experiments.pspin.common import HERE, MEASURED, NIC, PAPER
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Copying: latency and bandwidth of one core"
SOURCE = f"{PAPER}, Fig. 4, III-B1"

SIZES = (4, 16, 64, 256, 1024, 4096)
MEMORIES = {
    "own L1": "LOCAL",
    "another cluster's L1": "REMOTE",
    "handler memory": "HANDLER_MEMORY",
    "packet memory": "PACKET_MEMORY",
}


def points() -> list[Point]:
    """Memories, ways to copy, and sizes."""
    return [
        Point(
            name=f"{size} B {'to' if how == 'stores' else 'from'} {memory}, {how}",
            settings={"memory": memory, "how": how, "size": size},
            quick=size == 256,
        )
        for how in ("loads", "stores", "DMA")
        for memory in MEMORIES
        if (memory, how) not in (("another cluster's L1", "DMA"), ("own L1", "stores"))
        for size in SIZES
    ]


def measure(*, memory: str, how: str, size: int) -> dict[str, float]:
    """Latency of a copy, and what that is in bandwidth."""
    latency = _cycles(memory, how, size) - _cycles(memory, how, 0)
    return {"latency": latency, "bandwidth": size * 8 / latency, "time of a word": latency / (size / 4)}


def _cycles(memory: str, how: str, size: int) -> int:
    """Cycles of the handler, for the last of some packets; the packet has the length of the copied part."""
    result = spinet.run(
        nic=NIC,
        program=HERE / "handlers" / "copy.c",
        defines={"FROM": MEMORIES[memory], "BYTES": size, **({how.upper(): 1} if how != "loads" else {})},
        traffic=f"udp:size={max(64, size)},count=6,rate=10kpps",
        message="all last",
    )
    assert result.complete and not result.summary["traps"], "the handler may read what it copies"
    return int(result.columns["cycles"][-1])


def claims(results: Results) -> Iterator[Claim]:
    """The text's statements about both directions."""
    ways = [(name, how) for name in MEMORIES for how in ("loads", "stores")]
    times = [results.series("size", "latency", memory=name, how=how)[1] for name, how in ways]
    ratios = [after[-1] / after[-2] for after in times if after]
    yield Claim(
        text="Word by word, latency grows linearly with size (III-B1): four times from 1 to 4 KiB",
        holds=all(3.9 < ratio < 4.1 for ratio in ratios),
        found=f"{min(ratios):.2f} to {max(ratios):.2f} times",
    )
    words = max(row.measured["bandwidth"] for row in results.select(how="loads"))
    yield Claim(
        text="Words stay below the 32 Gbit/s of a core's port (III-C)", holds=words < 32, found=f"{words:.1f} Gbit/s"
    )
    for memory in ("handler memory", "packet memory"):
        gain = results.value(f"4096 B from {memory}, DMA", "bandwidth") / results.value(
            f"4096 B from {memory}, loads", "bandwidth"
        )
        yield Claim(
            text=f"DMA keeps words of {memory} in flight and is more than 10 times as fast for 4 KiB (III-B1)",
            holds=gain > 10,
            found=f"{gain:.0f} times",
        )


def plot(results: Results) -> Figure:
    """Latency on the left, bandwidth on the right: a color for each memory, a panel for each quantity and way."""
    panels = []
    for quantity, label in (("latency", "latency (ns)"), ("bandwidth", "bandwidth (Gbit/s)")):
        for how in ("loads", "stores", "DMA"):
            curves = []
            for look, memory in enumerate(MEMORIES):
                x, y = results.series("size", quantity, memory=memory, how=how)
                if x:
                    curves.append(plots.Curve(label=memory, x=x, y=y, look=look))
                known = results.published_series(
                    "size", "time of a word", reference="RTL", scale=SIZES[-1] / 4, memory=memory, how=how
                )
                if quantity == "latency" and known["x"]:
                    curves.append(
                        plots.Curve(label="" if look else "RTL under Verilator", **known, kind="published", look=look)
                    )
            panels.append(
                plots.Panel(
                    title=f"{quantity}, {how}",
                    x_label="bytes copied",
                    y_label=label,
                    curves=curves,
                    x_base=2,
                    y_base=10,
                    y_min=5 if quantity == "latency" else 0.5,
                    y_max=50_000 if quantity == "latency" else 600,
                    x_ticks=SIZES,
                )
            )
    caption = f"Paper: {SOURCE}; its curves are not known in numbers. RTL: by the times of a word. {MEASURED}"
    return plots.curves(panels, title=TITLE, caption=caption, columns=3, panel_inches=(3.1, 2.7))
