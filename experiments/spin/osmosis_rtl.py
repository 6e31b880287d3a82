# SPDX-License-Identifier: Apache-2.0
"""OSMOSIS: six kernels, and transfers of two tenants, against logs of PsPIN's RTL.

OSMOSIS's authors published logs of the RTL under Verilator. They do not contain OSMOSIS: message queues take turns. The
card here is the preset pspin-rtl.

*Kernels*: a message of two packets, 20 ns apart, on two HPUs of a cluster. The first runs with a cold instruction
cache. A handler's time runs from the assignment of its HPU to the grant of its doorbell.

*Contention*: two tenants, each with two messages of eight packets. Packets come 20 ns apart, messages 40 ns. The
congestor's packets come first; each handler does 16 transfers of the packet's size, 8 if it reads L2, one after the
other. The victim's handlers do one transfer of 64 bytes for a packet of 64 bytes. *Alone*: both tenants behave as
victims. Values are the median over a message's packets, and the mean of the tenant's two messages.

The handlers are our own, with PULP's hardware loops, for which PsPIN's examples are compiled. The kernels of the logs
are these examples; their sources are public, so `handlers/osmosis.c` does the same work for a packet. Their programs
are not: they were built with PULP's compiler, which was not available. So other instructions are around the loops, and
they are at other places in the lines of the instruction cache. The place alone matters: copies of our kernels that are
moved within a line differ by 10 to 12 cycles for a packet of 32 bytes, and by up to a cycle for each turn of a loop.
The logs print the address of each handler, so handlers without a loop over words are at the same place in a line here.
In the others the place of the loop matters most, and the logs do not contain it. They begin at the start of a line. The
histogram's loop takes 6 cycles a word there, as in the log; with its function at the log's address it takes 5. Three
quantities do not contain the cycles outside the loops: *growth* of a handler's time from a packet of 64 bytes,
*around*, the part of a packet's latency after its arrival in the queues and outside its handler, and *waiting*, the
part of a victim's latency outside its handler. Differences below 34 cycles are held to 1 cycle, others to 3 %.

The handlers with transfers (`handlers/osmosis_logs.c`) find their number of transfers in handler memory, as the
published ones do: a load from L2, 21 cycles. They take as long as in the logs, to 1 cycle alone; those that read L2
take 4 more. Under load, the moment at which a victim begins decides which of the congestor's transfers are before its
own, and the order in which the cores of a cluster ask decides the order in which they are served.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import spinet
from experiments.spin.osmosis import KERNELS, MESSAGE, PAPER, TENANT, packet
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Kernels and contention in the RTL"
SOURCE = f"{PAPER}; miharulidze/pspin, branch motivation: logs of the RTL under Verilator"

KERNEL_NAMES = ("aggregate", "histogram", "reduce", "copy_to_host", "copy_from_host", "filtering")
SIZES = (32, 64, 256, 1024, 2048)
TRANSFERS = ("to_host", "from_host", "send", "l2_read")
# Bytes of the congestor's packets and transfers; 0 for a victim in its place.
CONGESTORS = (0, 64, 256, 1024, 2048, 4096)
# Transfers of a congestor's handler. The driver of the L2 reads is not published. assumed: 8. With 16, a congestor took
# 1.7 to 2 times as long here as in the logs.
CONGESTOR_TRANSFERS = {"to_host": 16, "from_host": 16, "send": 16, "l2_read": 8}
LOGS = KERNELS.with_name("osmosis_logs.c")
START = 2000  # ns, after boot
HOST = 0xDEADBEEFDEADBEEF  # host memory of PsPIN's generic driver, which is not aligned: a write takes a beat more
HOST_BYTES = 1 << 29
MEMORY_BYTES = 1 << 19  # L2 handler memory of a tenant, as that driver divides it


def points() -> list[Point]:
    """Kernels by packet size, and transfers by the congestor's size."""
    kernels = [
        Point(name=f"{_words(kernel)}, {size} B", settings={"kernel": kernel, "size": size}, quick=True)
        for kernel in KERNEL_NAMES
        for size in SIZES
    ]
    return kernels + [
        Point(name=_name(kernel, size), settings={"kernel": kernel, "size": size}, quick=size <= 256)
        for kernel in TRANSFERS
        for size in CONGESTORS
        if (kernel, size) != ("send", 4096)  # no log has this point
    ]


def _words(kernel: str) -> str:
    return kernel.replace("_", " ").replace("l2", "L2")


def _name(kernel: str, size: int) -> str:
    return f"victim, {_words(kernel)}, " + (f"{size} B" if size else "alone")


def measure(*, kernel: str, size: int) -> dict[str, float]:
    """Times in cycles of 1 ns."""
    return _contention(kernel, size) if kernel in TRANSFERS else _kernel(kernel, size)


def _run(
    kernel: str, contexts: list[dict[str, Any]], traffic: list[tuple[int, bytes]], *, program: Path = KERNELS
) -> dict[str, np.ndarray]:
    """Cycles of each packet, in the order of arrival: its stages, its handler, and its latency."""
    for number, context in enumerate(contexts):
        context |= {"handler": kernel, "host_memory": {"addr": hex(HOST + number * HOST_BYTES), "size": HOST_BYTES}}
    result = spinet.run(
        {"nic": "pspin-rtl", "program": str(program), "context": contexts},
        traffic=[(START + time, data) for time, data in traffic],
    )
    assert result.complete and not result.summary["traps"], (kernel, result.summary["ended"]["text"])
    columns = result.columns
    order = np.argsort(columns["frame"])
    at = {name: columns[name][order] // 1000 for name in columns if name.endswith("_ps")}
    return {
        "L2 to L1": at["assigned_ps"] - at["accepted_ps"],
        "start": at["assigned_ps"] - at["her_ps"],
        "handler": at["end_ps"] - at["assigned_ps"],
        "latency": at["done_ps"] - at["arrival_ps"],
    }


def _kernel(kernel: str, size: int, *, with_growth: bool = True) -> dict[str, float]:
    random = np.random.default_rng(2023)
    traffic = [(20 * number, packet(size, payload=_integers(random, size))) for number in range(2)]
    times = _run(kernel, [{"message": "all last"}], traffic)
    names = ("first", "second")
    found = {f"{names[i]}, handler": float(times["handler"][i]) for i in range(2)}
    found |= {quantity: float(times[quantity][0]) for quantity in ("L2 to L1", "start")}
    for i in range(2):
        around = times["latency"][i] - times["start"][i] - times["handler"][i]
        found[f"{names[i]}, around"] = float(around)
    if with_growth:
        base = _kernel(kernel, 64, with_growth=False)
        for name in names:
            found[f"{name}, growth"] = found[f"{name}, handler"] - base[f"{name}, handler"]
    return found


def _integers(random: np.random.Generator, size: int) -> bytes:
    """Integers below 1,024, as PsPIN's driver of the histogram draws them."""
    words = (size - len(packet(28))) // 4
    return bytes(random.integers(0, 1024, words, dtype="<u4").tobytes())


def _contention(kernel: str, size: int) -> dict[str, float]:
    found = _medians(kernel, size)
    if size:
        found["growth"] = found["handler"] - _medians(kernel, 0)["handler"]
    return found


def _medians(kernel: str, size: int) -> dict[str, float]:
    """The victim's handler and latency, and the congestor's handler."""
    traffic, time = [], 0
    contexts: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for tenant, name in enumerate(("congestor", "victim")):
            n, n_bytes = (CONGESTOR_TRANSFERS[kernel], size) if size and tenant == 0 else (1, 64)
            for message in range(2):
                for number in range(8):
                    traffic.append((time, packet(n_bytes, tenant=tenant, message=message)))
                    time += 20 if number < 7 else 40
            parameters = Path(folder, name)
            parameters.write_bytes(struct.pack("<5i", n, 0, n, 0, n))
            context = {"name": name, "match": f"{TENANT} == {tenant}", "message": f"by {MESSAGE} count 8"}
            contexts.append(context | {"handler_memory": {"size": MEMORY_BYTES, "data": str(parameters)}})
        times = _run(kernel, contexts, traffic, program=LOGS)

    def median(quantity: str) -> float:
        return float(np.median(times[quantity][16:].reshape(2, 8), axis=1).mean())

    found = {"handler": median("handler"), "latency": median("latency")}
    found["waiting"] = found["latency"] - found["handler"]
    found["congestor"] = float(np.median(times["handler"][:16]))
    return found


def claims(results: Results) -> Iterator[Claim]:
    """Victims without a congestor, which meet nothing."""
    for kernel in TRANSFERS:
        (alone,) = results.select(kernel=kernel, size=0)
        (log,) = [
            expected.value
            for point, expected in results.published("handler", reference="RTL")
            if point.settings == {"kernel": kernel, "size": 0}
        ]
        yield Claim(
            text=f"{_words(kernel)}: a handler alone takes as long as in the log, to 1 cycle",
            holds=abs(alone.measured["handler"] - log) <= 1 if kernel != "l2_read" else None,
            found=f"{alone.measured['handler']:.0f} of {log:.0f} cycles",
        )


def plot(results: Results) -> Figure:
    """Handlers by packet size, and victims by the congestor's."""
    panels = []
    for title, kernels in (("words", KERNEL_NAMES[:3]), ("transfers", KERNEL_NAMES[3:])):
        curves = []
        for look, kernel in enumerate(kernels):
            x, y = results.series("size", "second, handler", kernel=kernel)
            logs = results.published_series("size", "second, handler", reference="RTL", kernel=kernel)
            curves.append(plots.Curve(label=_words(kernel), x=x, y=y, look=look))
            curves.append(plots.Curve(label="", kind="published", look=look, **logs))
        panels.append(
            plots.Panel(
                title=title, x_label="packet in bytes", y_label="warm handler (cycles)", curves=curves, x_base=2
            )
        )
    for quantity in ("handler", "latency"):
        curves = []
        for look, kernel in enumerate(TRANSFERS):
            # Without the first point, alone.
            x, y = results.series("size", quantity, kernel=kernel)
            logs = results.published_series("size", quantity, reference="RTL", kernel=kernel)
            curves.append(plots.Curve(label=_words(kernel), x=x[1:], y=y[1:], look=look))
            curves.append(
                plots.Curve(
                    label="", kind="published", look=look, x=logs["x"][1:], y=logs["y"][1:], slack=logs["slack"][1:]
                )
            )
        panels.append(
            plots.Panel(
                title=f"victim, {quantity}",
                x_label="congestor's transfers in bytes",
                y_label=f"median {quantity} (cycles)",
                curves=curves,
                x_base=2,
            )
        )
    caption = f"Hollow marks: {SOURCE}. spinet: preset pspin-rtl, own kernels compiled with zig cc."
    return plots.curves(panels, columns=2, title=TITLE, caption=caption)
