# SPDX-License-Identifier: Apache-2.0
"""Multi-pattern matching on the card: cycles a byte, with the automaton in L2 and its first rows in L1.

`sdk/services/patterns.c` searches the payloads of `captures/http.pcap`, a page that curl fetches from a web server.
Patterns are random strings of 4 to 12 lower-case letters, which do not occur, and ten words of HTTP, which do. *L1
bytes* is the part of the automaton that each cluster keeps in L1: the states nearest to the root. At one cycle a byte,
32 cores at 1 GHz search 256 Gbit/s of payload.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import spinet
from spinet import examples, plots
from spinet.reproduce import Claim, Point, Results
from spinet.services import Patterns
from spinet.services.patterns import PROGRAM

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Multi-pattern matching"
SOURCE = "named in Di Girolamo, De Sensi, Hoefler et al., sPIN, OFA Virtual Workshop 2022; no numbers are published"

WORDS = [
    b"HTTP/1.",
    b"GET /",
    b"Host:",
    b"User-Agent",
    b"Content-Type",
    b"Server:",
    b"404",
    b"<html",
    b"\r\n\r\n",
    b"curl",
]
COUNTS = (16, 256)
L1_BYTES = (0, 65536)


def points() -> list[Point]:
    """Numbers of patterns, and bytes in L1."""
    return [
        Point(name=f"{n} patterns, {hot} bytes in L1", settings={"n": n, "hot": hot}, quick=n == 16)
        for n in COUNTS
        for hot in L1_BYTES
    ]


def _patterns(n: int) -> Patterns:
    random = np.random.default_rng(1975)
    drawn = {bytes(random.integers(97, 123, random.integers(4, 13)).astype("u1")) for _ in range(2 * n)}
    return Patterns(WORDS + sorted(drawn)[: n - len(WORDS)])


def measure(*, n: int, hot: int) -> dict[str, float]:
    """Cycles a byte of large payloads, and the size of the automaton."""
    patterns = _patterns(n)
    memory = patterns.memory()
    result = spinet.run(
        program=PROGRAM,
        defines={"HOT_BYTES": hot},
        handler_memory=memory,
        traffic=[str(examples.find("http.pcap").path)] * 4,
    )
    assert result.complete and not result.summary["traps"]
    sizes, cycles = result.columns["bytes"], result.columns["cycles"]
    large = sizes > 500
    large[: len(large) // 2] = False  # in the first half, clusters copy the first rows
    per_byte = float(cycles[large].sum() / (sizes[large] - 66).sum())  # 66 bytes of headers, as Linux sends TCP
    return {"cycles a byte": per_byte, "payload": 256 / per_byte, "automaton": len(memory) / 1024}


def claims(results: Results) -> Iterator[Claim]:
    """Claims about the use of L1."""
    gains = [
        results.value(f"{n} patterns, 0 bytes in L1", "cycles a byte")
        / results.value(f"{n} patterns, 65536 bytes in L1", "cycles a byte")
        for n in COUNTS
    ]
    yield Claim(
        text="The first rows in L1 save time for all numbers of patterns",
        holds=all(gain > 1.2 for gain in gains),
        found=", ".join(f"{gain:.2f}" for gain in gains) + " times faster",
    )


def plot(results: Results) -> Figure:
    """Bars for each number of patterns."""
    groups = [
        plots.Group(
            label=f"{n} patterns",
            values={
                f"{hot >> 10} KiB in L1": results.value(f"{n} patterns, {hot} bytes in L1", "cycles a byte")
                for hot in L1_BYTES
            },
        )
        for n in COUNTS
    ]
    panel = plots.BarPanel(y_label="cycles a byte", groups=groups)
    caption = (
        "captures/http.pcap; spinet: preset pspin, four times at once, with the captured times; the second half counts."
    )
    return plots.bars([panel], title=TITLE, caption=caption, panel_inches=(6.4, 3.4))
