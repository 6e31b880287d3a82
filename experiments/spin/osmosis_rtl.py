# SPDX-License-Identifier: Apache-2.0
"""OSMOSIS: six kernels, and transfers of two tenants, against logs of PsPIN's RTL.

OSMOSIS's authors published logs of the RTL under Verilator. They do not contain OSMOSIS: message queues take turns. The
card here is the preset pspin-rtl.

*Kernels*: a message of two packets, 20 ns apart, on two HPUs of a cluster. The first runs with a cold instruction
cache. A handler's time runs from the assignment of its HPU to the grant of its doorbell.

*Contention*: two tenants, each with two messages of eight packets. Packets come 20 ns apart, messages 40 ns. The
congestor's packets come first; each handler does 16 transfers of the packet's size, one after the other. The victim's
handlers do one transfer of 64 bytes for a packet of 64 bytes. *Alone*: both tenants behave as victims. Values are the
median over a message's packets, and the mean of the tenant's two messages.

The sources of the kernels were not available, so these are our own (`handlers/osmosis.c`), with PULP's hardware
loops, for which PsPIN's examples are compiled. Outside the loops they take 6 to 25 cycles less than in the logs, which
is the reason of most misses. Three quantities do not contain these cycles: *growth* of a handler's time from a packet
of 64 bytes, *around*, the part of a packet's latency after its arrival in the queues and outside its handler, and
*waiting*, the part of a victim's latency outside its handler. Differences below 34 cycles are held to 1 cycle, others
to 3 %.

When a victim meets the congestor's transfers depends on the cycles before its own. *Late handler* has as many cycles
more before the first transfer as the time alone lacks. It is not judged, because it uses that time of the log.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
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
# Cycles by which a victim's handler alone is shorter than in the log. An L2 read lacks 10, and 8 give 9, as the poll
# for its end takes 6 cycles a turn.
LEAD = {"to_host": 17, "from_host": 19, "send": 20, "l2_read": 8}
START = 2000  # ns, after boot
HOST = 0xDEADBEEFDEADBEEF  # host memory of PsPIN's generic driver, which is not aligned: a write takes a beat more
HOST_BYTES = 1 << 29


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
        if (kernel, size) != ("send", 4096)  # in no log
    ]


def _words(kernel: str) -> str:
    return kernel.replace("_", " ").replace("l2", "L2")


def _name(kernel: str, size: int) -> str:
    return f"victim, {_words(kernel)}, " + (f"{size} B" if size else "alone")


def measure(*, kernel: str, size: int) -> dict[str, float]:
    """Cycles, which are nanoseconds."""
    return _contention(kernel, size) if kernel in TRANSFERS else _kernel(kernel, size)


def _run(
    kernel: str, contexts: list[dict[str, Any]], traffic: list[tuple[int, bytes]], *, lead: int = 0
) -> dict[str, np.ndarray]:
    """Cycles of each packet, in the order of arrival: its stages, its handler, and its latency."""
    for number, context in enumerate(contexts):
        context |= {"handler": kernel, "host_memory": {"addr": hex(HOST + number * HOST_BYTES), "size": HOST_BYTES}}
    result = spinet.run(
        {"nic": "pspin-rtl", "program": str(KERNELS), "context": contexts},
        traffic=[(START + time, data) for time, data in traffic],
        defines={"LEAD": lead} if lead else {},
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
    found["late handler"] = _medians(kernel, size, lead=LEAD[kernel])["handler"]
    return found


def _medians(kernel: str, size: int, *, lead: int = 0) -> dict[str, float]:
    """The victim's handler and latency, and the congestor's handler."""
    traffic, time = [], 0
    for tenant in range(2):
        n, n_bytes = (16, size) if size and tenant == 0 else (1, 64)
        for message in range(2):
            for number in range(8):
                payload = struct.pack("<II", n, n_bytes)
                traffic.append((time, packet(n_bytes, tenant=tenant, message=message, payload=payload)))
                time += 20 if number < 7 else 40
    contexts: list[dict[str, Any]] = [
        {"name": name, "match": f"{TENANT} == {tenant}", "message": f"by {MESSAGE} count 8"}
        for tenant, name in enumerate(("congestor", "victim"))
    ]
    times = _run(kernel, contexts, traffic, lead=lead)

    def median(quantity: str) -> float:
        return float(np.median(times[quantity][16:].reshape(2, 8), axis=1).mean())

    found = {"handler": median("handler"), "latency": median("latency")}
    found["waiting"] = found["latency"] - found["handler"]
    found["congestor"] = float(np.median(times["handler"][:16]))
    return found


def claims(results: Results) -> Iterator[Claim]:
    """The reason of the victims' misses."""
    for kernel in TRANSFERS:
        found = [
            100 * (row.measured["late handler"] / expected.value - 1)
            for point, expected in results.published("handler", reference="RTL")
            for row in results.select(kernel=kernel, size=point.settings["size"])
            if point.settings["kernel"] == kernel
        ]
        yield Claim(
            text=f"{_words(kernel)}: victims with {LEAD[kernel]} cycles more before their transfer, against the log, "
            "from alone to the largest transfers",
            holds=None,
            found=", ".join(f"{percent:+.1f}" for percent in found) + " %",
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
