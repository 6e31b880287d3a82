# SPDX-License-Identifier: Apache-2.0
"""Figure 12: handlers on PsPIN and on a processor.

Packets of 1 KiB. On PsPIN all 32 cores are busy, and the handlers that process every word use PULP's instructions. On
this machine the same sources are compiled by its C compiler and run with one and four threads on packets in memory
(`spinet native`), like the paper's set-up for ault and zynq. The time of reading the clock is subtracted. Misses on
PsPIN are accesses to L2 or to another cluster's L1. Instructions and misses of this machine come from hardware
counters (Linux perf_event_open, user mode) if the system has them; values of multiplexed counters are scaled.

"This machine" differs from reader to reader, so its numbers are shown and not judged.

Instructions saved by AMOs: both variants use L2 handler memory, because L1 has no lr.w in the RTL either. All 32
cores access the same words, and loops are compiled for rv32imac.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import spinet
from experiments.pspin import handlers
from experiments.pspin.common import HERE, MEASURED, NIC, PAPER
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Handlers on PsPIN and on this machine"
SOURCE = f"{PAPER}, Fig. 12, IV-C2"

SIZE = 1024
ATOMICS = {"AMOs": {}, "lr.w and sc.w": {"LR_SC": 1}}
SHARED = {"reduce": {}, "histogram": {"COUNT": 1}}
# Throughput of a core of PsPIN over that of the better of ault and zynq, all cores at work. Source: IV-C2, Fig. 11; the
# last three as "up to".
RATIOS = {
    "histogram": 1.3,
    "kvstore": 1.9,
    "reduce": 5.3,
    "aggregate": 1 / 1.8,
    "filtering": 1 / 40,
    "strided_ddt": 1 / 36,
}
WHERE = {"PsPIN": 0, "this machine, 1 thread": 1, "this machine, 4 threads": 4}


def points() -> list[Point]:
    """Each handler on the card and on this machine, and those that share a sum with AMOs and without."""
    atomics = [
        Point(name=f"{handler} in L2, {how}", settings={"handler": handler, "threads": -1, "atomics": how})
        for handler in SHARED
        for how in ATOMICS
    ]
    return atomics + [
        Point(
            name=f"{handler}, {where}",
            settings={"handler": handler, "threads": threads},
            quick=handler == "filtering",
            on_host=threads > 0,
        )
        for handler in handlers.HANDLERS
        for where, threads in WHERE.items()
    ]


def measure(*, handler: str, threads: int, atomics: str = "") -> dict[str, float]:
    """Time of a payload handler, its instructions, and its cache misses; quantities that were not counted are left
    out.
    """
    if atomics:
        return {"instructions": _instructions(handler, atomics)}
    if threads:
        return _here(handler, threads)
    how = "extensions" if handlers.HANDLERS[handler].per_word else "plain"
    result = handlers.run(handler, size=SIZE, how=how)
    columns = result.columns
    cycles, instructions = columns["cycles"], columns["instructions"]
    misses = result.summary["counters"]["nic.memories.pe_accesses"] / len(cycles)
    rate = float(instructions.sum()) / float(cycles.sum()) * 1000
    return {**_spread(cycles), "instructions": float(np.median(instructions)), "MIPS": rate, "misses": misses}


def _instructions(handler: str, atomics: str) -> float:
    """A payload handler that adds in L2 handler memory."""
    result = spinet.run(
        nic=NIC,
        program=HERE / "handlers" / "lr_sc.c",
        defines=SHARED[handler] | ATOMICS[atomics],
        traffic=f"udp:size={SIZE},count=128,payload=ints:1024",
        pacing="asap",
    )
    assert result.complete and not result.summary["traps"], handler
    return float(np.mean(result.columns["instructions"]))


def _here(handler: str, threads: int) -> dict[str, float]:
    result = handlers.run_here(handler, size=SIZE, threads=threads)
    times = result.ns["payload"]
    found = _spread(np.maximum(times[times >= 0] - result.clock_ns, 0))
    n = int((times >= 0).sum())

    def counted(name: str) -> float:
        values = [worker.events.get(name) for worker in result.threads]
        return math.nan if None in values or not values else float(sum(value or 0 for value in values))

    instructions, ns = counted("instructions"), sum(worker.ns for worker in result.threads)
    more = {
        "instructions": instructions / n,
        "MIPS": instructions / ns * 1000,
        "misses": counted("l1_misses") / n,
    }
    return {**found, **{name: value for name, value in more.items() if not math.isnan(value)}}


def _spread(times: np.ndarray) -> dict[str, float]:
    """Quartiles, and whiskers at one and a half times their distance, as in the paper."""
    q1, median, q3 = (float(value) for value in np.percentile(times, (25, 50, 75)))
    reach = 1.5 * (q3 - q1)
    inside = times[(times >= q1 - reach) & (times <= q3 + reach)]
    return {"low": float(inside.min()), "q1": q1, "median": median, "q3": q3, "high": float(inside.max())}


def claims(results: Results) -> Iterator[Claim]:
    """PsPIN against this machine, and the paper's own statements."""
    for handler in handlers.HANDLERS:
        own = results.value(f"{handler}, PsPIN", "median")
        here = results.value(f"{handler}, this machine, 1 thread", "median")
        more = "over 30 times" if handler == "filtering" else "at most twice"
        yield Claim(
            text=f"{handler}: PsPIN takes {more} the time of the better of ault and zynq (IV-C2); here, this machine's",
            holds=None,
            found=f"{own:.0f} ns, {own / max(here, 1):.1f} times",
        )
    counted = any("instructions" in row.measured for row in results.rows if row.point.on_host)
    yield Claim(
        text="Hardware counters of this machine: instructions, MIPS, misses",
        holds=None,
        found="in the data" if counted else "the system offers none (perf_event_open), so only times are measured",
    )
    saved = [
        results.value(f"{handler} in L2, lr.w and sc.w", "instructions")
        / results.value(f"{handler} in L2, AMOs", "instructions")
        for handler in SHARED
    ]
    yield Claim(
        text="AMOs save up to 3 times the instructions of lr.w and sc.w, for reduce and histogram (IV-C2)",
        holds=all(1 < times <= 3 for times in saved),
        found=" and ".join(f"{times:.2f}" for times in saved) + " times, the loop with it",
    )
    rates = [row.measured["MIPS"] for row in results.select(threads=0)]
    yield Claim(
        text="A core of PsPIN executes at most an instruction a cycle: 1000 MIPS",
        holds=all(rate <= 1000 for rate in rates),
        basis="by construction: the cores are in order and issue one instruction a cycle",
        found=f"{min(rates):.0f} to {max(rates):.0f}",
    )


def plot(results: Results) -> Figure:
    """A panel for each handler."""
    panels = []
    for handler in handlers.HANDLERS:
        spreads = {
            where: plots.Spread(
                **{name: results.value(f"{handler}, {where}", name) for name in ("low", "q1", "median", "q3", "high")}
            )
            for where in WHERE
        }
        names = dict(zip(WHERE, ("PsPIN", "1 thread", "4"), strict=True))
        boxes = {names[where]: spread for where, spread in spreads.items()}
        published = {"by ratio": spreads["PsPIN"].median * RATIOS[handler]}
        panels.append(plots.BoxPanel(title=handler, y_label="payload handler (ns)", boxes=boxes, published=published))
    caption = (
        "Box: quartiles; whiskers: 1.5 times their distance. This machine, with one and four threads, is the one that "
        "measured: its numbers differ from reader to reader. By ratio: spinet's PsPIN times the paper's ratio of the "
        "better of ault and zynq, with all cores busy (IV-C2, Fig. 11); without contention the text says that PsPIN "
        "takes at most twice the time of the best for most handlers, and over 30 times for filtering. "
        f"{MEASURED}"
    )
    return plots.boxes(panels, title=TITLE, caption=caption, columns=3)
