# SPDX-License-Identifier: Apache-2.0
"""SC 2019 and talk: types of applications, received by handlers or unpacked by the host.

The types are patterns of DDTBench. The host and the line are those of `spin/ddt_blocks`. `auto` is the specialised
handler that suits the type.

*Data moved* counts the bytes to and from host memory. Without handlers: the card's write of the message, the host's
read of it, and fetch and write-back of each cache line that the type touches. With handlers: the card's writes. The
talk does not say how it counts.

*Checkpoints* is the host's time to make them and to copy the description to the card: one walk over the type by the
host's model, and the transfer. *Reuses* is the number of messages after which the time that handlers save exceeds
this cost.

The paper's speed-up of each type, run time split of handlers, and memory use were not available.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spin import ddt
from spinet import datatypes as dt
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Types of applications"
SOURCE = f"{ddt.PAPER}, abstract; {ddt.TALK}, V"

RATE = 400e9
SIZES = {
    "NAS_LU_x": "1020",
    "NAS_LU_y": "1020",
    "NAS_MG_x": "130x66x66",
    "NAS_MG_y": "258x130x130",
    "NAS_MG_z": "258x130x130",
    "MILC_su3_zd": "16x16x16x16",
    "SPECFEM3D_mt": "7600",
    "SPECFEM3D_oc": "3225of88881",
    "SPECFEM3D_cm": "3801of152001+801of7209",
    "LAMMPS_full": "3062of3534",
    "LAMMPS_atomic": "243of4084",
    "WRF_x": "2x2",
    "WRF_y": "2x2",
    "FFT2D": "256x4",
}
STRATEGIES = ("auto", "hpu_local", "ro_cp", "rw_cp")


def points() -> list[Point]:
    """One point for each pattern and strategy."""
    return [
        Point(
            name=f"{pattern}, {strategy}",
            settings={"pattern": pattern, "strategy": strategy},
            quick=pattern in ("NAS_LU_y", "MILC_su3_zd"),
        )
        for pattern in SIZES
        for strategy in STRATEGIES
    ]


def measure(*, pattern: str, strategy: str) -> dict[str, float]:
    """Speed-up, bytes moved, memory on the card, cost of checkpoints."""
    datatype = dt.ddtbench(pattern, SIZES[pattern])
    got = ddt.run(datatype, strategy)
    made = got.compiled
    host = ddt.host_ns(datatype, rate=RATE)
    found = {
        "speed-up": host / got.ns,
        "throughput": got.gbps,
        "piece": datatype.size / made.pieces,
        "data moved": ddt.HOST.moved_bytes(datatype) / datatype.size,
        "NIC memory": made.nic_bytes / 1024,
        "cycles": ddt.warm_cycles(got),
    }
    if made.n_checkpoints:
        cost = ddt.HOST.checkpoints_ns(datatype, 1, made.n_checkpoints, len(made.handler_memory))
        found["checkpoints"] = cost / 1000
        if host > got.ns:
            found["reuses"] = math.ceil(cost / (host - got.ns))
    return found


def claims(results: Results) -> Iterator[Claim]:
    """The statements of abstract and talk."""
    best = {
        pattern: max(row.measured["speed-up"] for row in results.select(pattern=pattern) if row.measured)
        for pattern in SIZES
        if any(row.measured for row in results.select(pattern=pattern))
    }
    if not best:
        return
    most = max(best, key=lambda pattern: best[pattern])
    yield Claim(
        text="Handlers receive types of applications up to 10 times faster than the host unpacks them (V)",
        holds=None,
        found=f"up to {best[most]:.1f} times ({most}); other cores, other network, and a modelled host",
    )
    moved = {row.measured["data moved"] for row in results.rows if row.measured}
    yield Claim(
        text="They move up to 3.8 times less data (V)",
        holds=None,
        found=f"{min(moved):.1f} to {max(moved):.1f} times; the talk does not say what it counts",
    )
    rows = [row for row in results.select(strategy="rw_cp") if row.measured]
    paid = sum(row.measured.get("reuses", math.inf) <= 4 for row in rows)
    yield Claim(
        text="Checkpoints are amortised after 4 reuses for 75 % of the types (V)",
        holds=paid >= 0.75 * len(rows),
        found=f"{paid} of {len(rows)} types with rw_cp and the modelled host",
    )


def plot(results: Results) -> Figure:
    """Draws the speed-up of each type."""
    groups = [
        plots.Group(
            label=pattern.replace("_", "\n", 1),
            values={s: results.get(f"{pattern}, {s}", "speed-up") for s in STRATEGIES},
        )
        for pattern in SIZES
    ]
    panels = [
        plots.BarPanel(title=title, y_label="speed-up over the host", groups=part, digits=2)
        for title, part in (("", groups[:7]), ("", groups[7:]))
    ]
    return plots.bars(panels, title=TITLE, caption=f"{SOURCE}. {ddt.MEASURED}", columns=1, panel_inches=(9, 2.6))
