# SPDX-License-Identifier: Apache-2.0
"""Figure 11a: tenants that share hash and AES units, strict priority.

Two hash units have 24 Gbit/s each and two AES units 32 Gbit/s each. The policy is strict priority: IPSec before
video. The total is 100 Gbit/s of 1472-byte packets, whose mix changes twice. The patterns are those of the published
test bench, whose phase 2 sends 60 Gbit/s of video; the text says 50. The sender does not wait for the card, like the
paper's server. The plot shows intervals of 16.4 us. Only the second half of each phase is judged, because packets
that wait from the phase before take some time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.panic import mix
from experiments.panic.common import MEASURED, PAPER
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Throughput of tenants under strict priority"
SOURCE = f"{PAPER}, Fig. 11a, 7.6"

# IPSec, video, background in Gbit/s.
PHASES = ((30, 50, 20), (10, 60, 30), (30, 30, 40))
PHASE_NAMES = tuple(f"phase {i + 1}" for i in range(len(PHASES)))


def points() -> list[Point]:
    """The phases, and the intervals of the plot."""
    return mix.points(len(PHASES))


def measure(*, first: int, n: int) -> dict[str, float]:
    """Gbit/s of each kind over intervals."""
    return mix.measure(mix.run_phases(PHASES, policy="strict-priority", gbps=100), first=first, n=n)


def claims(results: Results) -> Iterator[Claim]:
    """Claims about the rates of the tenants."""
    sent = results.value("phase 3", "IPSec, sent")
    yield Claim(
        text="IPSec receives everything that it sends in every phase, video the rest of decryption (7.6)",
        holds=all(
            abs(results.value(p, "IPSec") - results.value(p, "IPSec, sent")) < 1
            and abs(min(results.value(p, "video, sent"), 64 - results.value(p, "IPSec")) - results.value(p, "video"))
            < 1
            for p in PHASE_NAMES
        ),
        found="IPSec and video: "
        + ", ".join(f"{results.value(p, 'IPSec'):.1f} and {results.value(p, 'video'):.1f}" for p in PHASE_NAMES),
    )
    yield Claim(
        text="Background is unaffected by the load on the engines (7.6)",
        holds=all(abs(results.value(p, "background") - results.value(p, "background, sent")) < 1 for p in PHASE_NAMES),
        found=", ".join(
            f"{results.value(p, 'background'):.1f} of {results.value(p, 'background, sent'):.1f}" for p in PHASE_NAMES
        )
        + " Gbit/s",
    )
    total = sum(results.value("phase 3", kind) for kind in mix.KINDS)
    lost = sum(int(results.value("phase 3", f"{kind}, dropped")) for kind in mix.KINDS)
    yield Claim(
        text="In phase 3 nothing is dropped and all 100 Gbit/s are received (7.6)",
        holds=abs(total - 100) < 1 and sent > 29 and not lost,
        found=f"{total:.1f} Gbit/s, {lost} dropped of the packets that arrived in its second half",
    )


def plot(results: Results) -> Figure:
    """Draws received rates over time."""
    caption = f"Paper: {SOURCE}; phases are sent as IPSec / video / background in Gbit/s. {MEASURED}"
    return mix.draw(results, title=TITLE, caption=caption, phases=PHASES)
