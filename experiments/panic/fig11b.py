# SPDX-License-Identifier: Apache-2.0
"""Figure 11b: tenants that share hash and AES units, weighted fair queueing.

Two hash units of 24 Gbit/s and two AES units of 32 Gbit/s; weighted fair queueing: IPSec 2, video 1. 100 Gbit/s of
1472-byte packets in all, which change their mix twice; what the text does not say of phases 2 and 3 is chosen:
video's other half, and the mix of Figure 11a's phase 3. The sender does not wait for the card. Intervals of 16.4 us
are drawn; the second half of each phase is judged: what waits from the phase before takes a while.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.panic import mix
from experiments.panic.common import MEASURED, PAPER
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Throughput of tenants under weighted fair queueing"
SOURCE = f"{PAPER}, Fig. 11b, 7.6"

# IPSec, video, background in Gbit/s.
PHASES = ((70, 30, 0), (50, 50, 0), (30, 30, 40))
PHASE_NAMES = tuple(f"phase {i + 1}" for i in range(len(PHASES)))


def points() -> list[Point]:
    """Phases, and intervals."""
    return mix.points(len(PHASES))


def measure(*, first: int, n: int) -> dict[str, float]:
    """Gbit/s of each kind over intervals."""
    return mix.measure(mix.run_phases(PHASES, policy="weighted-fair", gbps=100), first=first, n=n)


def claims(results: Results) -> Iterator[Claim]:
    """Who gets what."""
    ratios = [results.value(p, "IPSec") / results.value(p, "video") for p in PHASE_NAMES[:2]]
    yield Claim(
        text="IPSec receives exactly twice what video does, whatever is sent (7.6, phases 1 and 2)",
        holds=all(abs(ratio - 2) < 0.05 for ratio in ratios),
        found=" and ".join(f"{ratio:.2f}" for ratio in ratios) + " times",
    )
    sums = [results.value(p, "IPSec") + results.value(p, "video") for p in PHASE_NAMES[:2]]
    yield Claim(
        text="Both together receive 64 Gbit/s in phases 1 and 2 (7.6)",
        holds=all(abs(total - 64) < 1 for total in sums),
        found=" and ".join(f"{total:.1f} Gbit/s" for total in sums),
    )
    yield Claim(
        text="Where decryption is not the limit both receive what they send (7.6, phase 3)",
        holds=all(abs(results.value("phase 3", k) - results.value("phase 3", f"{k}, sent")) < 1 for k in mix.KINDS[:2]),
        found=" and ".join(f"{results.value('phase 3', k):.1f}" for k in mix.KINDS[:2]) + " Gbit/s",
    )


def plot(results: Results) -> Figure:
    """Received over time."""
    caption = f"Paper: {SOURCE}; phases are sent as IPSec / video / background in Gbit/s. {MEASURED}"
    return mix.draw(results, title=TITLE, caption=caption, phases=PHASES)
