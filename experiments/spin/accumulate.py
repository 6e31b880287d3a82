# SPDX-License-Identifier: Apache-2.0
"""SC 2017: accumulate. Operands arrive and are combined with an array in the target's host memory.

*sPIN*: `sdk/collectives/accumulate.c`; for each packet of 1 KiB, the handler reads the array's part from host memory,
combines, and writes it back. *host*: the operands come by RDMA to a buffer, a core needs 100 ns to notice them, and
combines them with the array at 0.12 ns a byte (assumed: three streams of memory, where a copy of 12.5 GB/s has two).
PCIe takes 250 ns each way for the host; for sPIN, the preset pspin decides. The time runs from the origin's post until
the array is updated. The paper multiplies complex numbers. The cards have no floating-point unit, so sums of int32 are
here, too.

A card adds a read of host memory to the time of a small message: two crossings of PCIe. One point has PCIe as in the
paper: 250 ns for a crossing, and no other delay.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from experiments.spin import collective
from experiments.spin.collective import POST_NS, START_NS, WARM_NS
from experiments.spin.storage import COPY_NS_PER_BYTE, LINK_GBPS, flight_ns
from spinet import plots
from spinet.collectives import Group, headers
from spinet.collectives.group import BLOCK_BYTES, DATA
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Accumulate"
SOURCE = "Hoefler et al., sPIN, SC 2017; the numbers of its figure were not available"

SIZES = (8, 64, 1024, 4096, 16384, 65536, 262144)
KINDS = {"complex": "products of complex numbers", "int32": "sums of int32"}
WAYS = ("sPIN", "host")
COMBINE_NS_PER_BYTE = 1.5 * COPY_NS_PER_BYTE
_ROUND_TRIP = "PCIe of 250 ns"
_WARM_UPS = 8


def points() -> list[Point]:
    """One point for each operator and size."""
    made = [
        Point(name=_name(way, kind, size), settings={"way": way, "kind": kind, "size": size}, quick=size == 64)
        for kind in KINDS
        for size in SIZES
        for way in WAYS
    ]
    return [*made, Point(name=_ROUND_TRIP, settings={"way": _ROUND_TRIP, "kind": "int32", "size": 8}, quick=True)]


def _name(way: str, kind: str, size: int) -> str:
    return f"{way}, {kind}, {size} B"


def measure(*, way: str, kind: str, size: int) -> dict[str, float]:
    """Time in ns; for cards also cycles a packet, and the rate of operands."""
    if way == "host":
        group = Group(operation="accumulate", size=2, n_bytes=size)
        time = collective.on_hosts_ns(group, combine_ns=round(size * COMBINE_NS_PER_BYTE))
        return {"time": time, "rate": 8 * size / time}
    exact = {"pcie.link.latency_cycles": 250, "pcie.link.host_read_cycles": 0}
    nic: dict[str, Any] = {"preset": "pspin", "set": exact if way == _ROUND_TRIP else {}}
    time, cycles = _on_card(kind, size, nic)
    if way == _ROUND_TRIP:
        return {"beyond the network": time - POST_NS - flight_ns(collective.HEADERS + size)}
    return {"time": time, "rate": 8 * size / time, "cycles": cycles}


def _on_card(kind: str, size: int, nic: dict[str, Any]) -> tuple[float, float]:
    """Time in ns, and median cycles of a handler, with warm caches."""
    lead = _WARM_UPS * BLOCK_BYTES
    operator = {"custom": "operators/complex.h"} if kind == "complex" else {}
    group = Group(operation="accumulate", size=2, n_bytes=lead + size, **operator)  # type: ignore[arg-type]
    random = np.random.default_rng(size)
    if kind == "complex":
        array, operand = (random.standard_normal(group.n_bytes // 4).astype("<f4") for _ in range(2))
        wanted = (array.view("<c8").astype("<c16") * operand.view("<c8")).view("<f8")
    else:
        array, operand = (random.integers(-(1 << 31), 1 << 31, group.n_bytes // 4).astype("<i4") for _ in range(2))
        wanted = array + operand
    data = operand.tobytes()
    frames = []
    for block in range(group.blocks):
        part = data[block * BLOCK_BYTES : (block + 1) * BLOCK_BYTES]
        head = struct.pack("<IHHI", block, 1, 0, len(part))
        ns = WARM_NS + 20_000 * block if block < _WARM_UPS else START_NS
        frames.append((float(ns), headers(group.peers[-1], group.peers[0], DATA, head + part)))
    network = group.network([array.tobytes(), b""], link=collective.LINK, nic=nic)
    result = collective.run(network, frames, 2)
    found = np.frombuffer(collective.memory(result, 0)[: group.n_bytes], "<f4" if kind == "complex" else "<i4")
    assert np.allclose(found, wanted, rtol=1e-5, atol=1e-5) if kind == "complex" else (found == wanted).all()
    cycles = result.nodes["n0"].packets["cycles"].to_numpy()[_WARM_UPS : group.blocks]
    return collective.done_ns(result, 1) - START_NS + POST_NS, float(np.median(cycles))


def claims(results: Results) -> Iterator[Claim]:
    """Claims about cards against the host."""
    for kind, text in KINDS.items():
        times = {way: [results.value(_name(way, kind, size), "time") for size in SIZES] for way in WAYS}
        factors = [host / card for host, card in zip(times["host"], times["sPIN"], strict=True)]
        yield Claim(
            text=f"{', '.join(map(str, SIZES))} bytes, {text}: time of the host over that of the card",
            holds=None,
            found=", ".join(f"{factor:.2f}" for factor in factors),
        )
    rate = results.value(_name("sPIN", "int32", SIZES[-1]), "rate")
    yield Claim(
        text="The card accumulates sums of int32 at the rate of its host memory engine, far below the line rate",
        holds=rate < LINK_GBPS / 4,
        found=f"{rate:.1f} of {LINK_GBPS} Gbit/s",
    )


def plot(results: Results) -> Figure:
    """Time by size, for both operators."""
    panels = []
    for kind, text in KINDS.items():
        curves = []
        for look, way in enumerate(WAYS):
            x, y = results.series("size", "time", way=way, kind=kind)
            curves.append(plots.Curve(label=way, x=x, y=[value / 1000 for value in y], look=look))
        panels.append(
            plots.Panel(
                title=text, x_label="operands (B)", y_label="time (µs)", curves=curves, x_base=2, y_base=10,
                x_ticks=SIZES[::2],
            )
        )  # fmt: skip
    return plots.curves(panels, columns=2, title=TITLE, caption=collective.MEASURED)
