# SPDX-License-Identifier: Apache-2.0
"""SLMP: file transfers by window and threads.

The sender's software takes most of the time. `experiments/fpspin/host.py` states its two costs: the time of a send
comes from the authors' saturated rate with one thread, and the time until a thread knows of an acknowledgement is the
rest of their time for a packet at window 1. These two points agree by construction. The model predicts the rate with a
window of 4, the window above which the rate stays the same, and that the card is never the bottleneck. Threads share
nothing in the model, while the authors' share a socket, a kernel and a CPU, so with more than one thread their rates
are lower.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.fpspin import host
from experiments.fpspin.common import PAPER, measured
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "SLMP: goodput by window"
SOURCE = f"{PAPER}; spcl/FPsPIN f5feca1, examples/slmp/data"
SIZE = 819_200
WINDOWS = (1, 4, 16, 64, 256)


def points() -> list[Point]:
    """Windows of one thread, two threads, and short files."""
    sizes = [(12_800, 1, 1), (12_800, 4, 1)]
    runs = [*sizes, *((SIZE, window, 1) for window in WINDOWS), (SIZE, 16, 2), (SIZE, 64, 2)]
    return [
        Point(
            name=f"{size} B, window {window}, {threads} thread{'s' * (threads > 1)}",
            settings={"size": size, "window": window, "threads": threads},
            quick=size < SIZE,
        )
        for size, window, threads in runs
    ]


def measure(*, size: int, window: int, threads: int) -> dict[str, float]:
    """Goodput, and microseconds for each packet."""
    data = bytes((7 * i + i // 251) & 0xFF for i in range(size))
    sent = host.transfer(data, window=window, threads=threads)
    assert sent.complete and sent.received == data, "the file arrives"
    return {"goodput": size * 8 / sent.elapsed * 1000, "packet": sent.elapsed / sent.n_packets / 1000}


def claims(results: Results) -> Iterator[Claim]:
    """Claims about ratios of rates."""
    ours = {window: results.value(f"{SIZE} B, window {window}, 1 thread", "goodput") for window in WINDOWS}
    rows = {
        int(row["window"]): 1e3 * SIZE * 8 / float(row["median_us"]) / 1e3
        for row in measured("slmp")
        if row["bytes"] == str(SIZE) and row["threads"] == "1" and row["median_us"]
    }
    for low, high, slack in ((1, 4, 0.25), (16, 64, 0.1), (64, 256, 0.1)):
        wanted, found = rows[high] / rows[low], ours[high] / ours[low]
        yield Claim(
            text=f"Window {high} brings {wanted:.2f} times the goodput of window {low} (within {100 * slack:.0f} %)",
            holds=abs(found - wanted) <= slack * wanted,
            found=f"{found:.2f} times",
        )


def plot(results: Results) -> Figure:
    """Draws goodput by window."""
    curves = []
    for look, threads in enumerate((1, 2)):
        label = f"{threads} thread{'s' * (threads > 1)}"
        x, y = results.series("window", "goodput", size=SIZE, threads=threads)
        curves.append(plots.Curve(label=f"{label}: spinet", x=x, y=y, look=look))
        rows = sorted(
            (int(row["window"]), SIZE * 8 / float(row["median_us"]))
            for row in measured("slmp")
            if row["bytes"] == str(SIZE) and row["threads"] == str(threads) and row["median_us"]
        )
        curves.append(
            plots.Curve(
                label=f"{label}: FPGA",
                x=[row[0] for row in rows],
                y=[row[1] for row in rows],
                kind="published",
                look=look,
            )
        )
    panel = plots.Panel(x_label="window in packets", y_label="goodput in Mbit/s", curves=curves, x_base=2)
    caption = (
        f"FPGA: {SOURCE}; medians of 20. spinet: preset fpspin, with the sender's costs of experiments/fpspin/host.py."
    )
    return plots.curves([panel], title=f"{TITLE}, file of {SIZE:,} bytes", caption=caption)
