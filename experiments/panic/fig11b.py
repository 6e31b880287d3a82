# SPDX-License-Identifier: Apache-2.0
"""Figure 11b: tenants that share hash and AES units, weighted fair queueing.

Two hash units have 24 Gbit/s each and two AES units 32 Gbit/s each. The policy is weighted fair queueing: IPSec 2,
video 1. The total is 100 Gbit/s of 1472-byte packets, whose mix changes twice. The text does not describe phases 2
and 3 completely: video as the other half of phase 2, and the mix of Figure 11a in phase 3, are our choice. The sender
does not wait for the card. The plot shows intervals of 16.4 us. Only the second half of each phase is judged, because
packets that wait from the phase before take some time.
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
    """The phases, and the intervals of the plot."""
    return mix.points(len(PHASES))


def measure(*, first: int, n: int) -> dict[str, float]:
    """Gbit/s of each kind over intervals."""
    return mix.measure(mix.run_phases(PHASES, policy="weighted-fair", gbps=100), first=first, n=n)


def claims(results: Results) -> Iterator[Claim]:
    """Claims about the rates of the tenants."""
    ratios = [results.value(p, "IPSec") / results.value(p, "video") for p in PHASE_NAMES[:2]]
    yield Claim(
        text="IPSec receives exactly twice the rate of video, for every mix (7.6, phases 1 and 2)",
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
        text="If decryption is not the limit, both receive all that they send (7.6, phase 3)",
        holds=all(abs(results.value("phase 3", k) - results.value("phase 3", f"{k}, sent")) < 1 for k in mix.KINDS[:2]),
        found=" and ".join(f"{results.value('phase 3', k):.1f}" for k in mix.KINDS[:2]) + " Gbit/s",
    )


def plot(results: Results) -> Figure:
    """Draws received rates over time."""
    caption = f"Paper: {SOURCE}; phases are sent as IPSec / video / background in Gbit/s. {MEASURED}"
    return mix.draw(results, title=TITLE, caption=caption, phases=PHASES)
