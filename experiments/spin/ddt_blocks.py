# SPDX-License-Identifier: Apache-2.0
"""SC 2019, microbenchmark: a vector received by handlers or unpacked by the host, by the size of its blocks.

Blocks have gaps of their own size. The message has 1 MiB, or 256 KiB for blocks below 64 B. It arrives at 400
Gbit/s. Time is from the arrival of the first packet until all bytes are in host memory.

The host receives the message at line rate into a buffer and unpacks it with one core and cold caches. Its cost is a
model of a Core i7-4770, whose parameters and sources are in `python/spinet/datatypes/host.py`; three are assumed.
*This machine* is the same specialised handler, compiled for the processor that ran this experiment, with warm
caches.

The paper's plot was not available, and its cores (32 Cortex-A15 at 800 MHz) and network (200 Gbit/s) differ. So
nothing is judged. For types of applications, the paper states a speed-up of up to 10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.spin import ddt
from spinet import _packets, native, plots
from spinet import datatypes as dt
from spinet.reproduce import Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "A vector received by handlers, by block size"
SOURCE = f"{ddt.PAPER}, microbenchmark, set-up as remembered"

BLOCKS = (4, 16, 64, 256, 1024, 4096, 16384)
STRATEGIES = ("vector", "hpu_local", "ro_cp", "rw_cp")
RATE = 400e9
HERE = "this machine"


def points() -> list[Point]:
    """One point for each block size and strategy."""
    return [
        *(
            Point(name=f"{strategy}, {block} B", settings={"strategy": strategy, "block": block}, quick=block == 4096)
            for strategy in STRATEGIES
            for block in BLOCKS
        ),
        *(Point(name=f"{HERE}, {b} B", settings={"strategy": HERE, "block": b}, on_host=True) for b in BLOCKS),
    ]


def measure(*, strategy: str, block: int) -> dict[str, float]:
    """Throughput, and the speed-up over the host."""
    size = 1 << 20 if block >= 64 else 1 << 18
    datatype = ddt.vector(block, size)
    host = ddt.host_ns(datatype, rate=RATE)
    if strategy == HERE:
        made = dt.compile(datatype, strategy="vector")
        traffic = _packets.capture("traffic", dt.packets(made, [bytes(size)]))
        result = native.run(experiment={**dt.experiment_of(made), "traffic": str(traffic)})
        return {"unpack": float(result.ns["payload"].sum()) / 1000, "throughput": size * 8 / result.ns["payload"].sum()}
    got = ddt.run(datatype, strategy)
    return {"throughput": got.gbps, "speed-up": host / got.ns, "host": size * 8 / host, "time": got.ns / 1000}


def plot(results: Results) -> Figure:
    """Throughput and speed-up over the block size."""
    through, faster = [], []
    for look, strategy in enumerate(STRATEGIES):
        x, y = results.series("block", "throughput", strategy=strategy)
        through.append(plots.Curve(label=strategy, x=x, y=y, look=look))
        x, y = results.series("block", "speed-up", strategy=strategy)
        faster.append(plots.Curve(label=strategy, x=x, y=y, look=look))
    x, y = results.series("block", "host", strategy=STRATEGIES[0])
    through.append(plots.Curve(label="host (model)", x=x, y=y, kind="formula"))
    x, y = results.series("block", "throughput", strategy=HERE)
    if x:
        through.append(plots.Curve(label=HERE, x=x, y=y, look=len(STRATEGIES)))
    labels = {"x_label": "block (B)", "x_base": 2}
    return plots.curves(
        [
            plots.Panel(y_label="throughput (Gbit/s)", y_base=10, curves=through, **labels),  # type: ignore[arg-type]
            plots.Panel(y_label="speed-up over the host", curves=faster, **labels),  # type: ignore[arg-type]
        ],
        title=TITLE,
        caption=f"{SOURCE}. {ddt.MEASURED}",
    )
