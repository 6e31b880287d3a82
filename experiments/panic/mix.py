# SPDX-License-Identifier: Apache-2.0
"""Traffic of three kinds through hash and AES units (7.6), in phases; for Figure 11, Table 5 and the prototype.

There are two hash units of four engines and four credits, and two AES units of two credits. IPSec is hashed and
decrypted, video is decrypted, and background traffic goes directly to the host. Packets of 1472 bytes come in
repeating patterns of ten, as in the published test bench; the order within a pattern is spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from experiments.panic.common import FRAMING_BYTES, NIC, WIDE_LINE, run
from spinet import plots
from spinet.reproduce import Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from spinet import Result

KINDS = ("IPSec", "video", "background")
CHAINS: dict[str, list[str]] = {"IPSec": ["sha", "aes"], "video": ["aes"], "background": []}
SIZE = 1472
PATTERN_PACKETS = 10  # packets in the repeated pattern
INTERVAL_NS = 4096 * 4.0  # the test bench's
PHASE_INTERVALS = 30
PHASE_NS = PHASE_INTERVALS * INTERVAL_NS
FIRST_PORT = 10000  # first port of the generator's flows
PHASE_PORT = 5000  # destination port of the first phase
WEIGHTS = {"IPSec": 2, "video": 1, "background": 1}
PRIORITIES = {"IPSec": 0, "video": 1, "background": 2}


def pattern(shares: Sequence[int]) -> list[str]:
    """Kinds of ten packets with these shares in percent, each spread as evenly as possible."""
    counts = [share * PATTERN_PACKETS // 100 for share in shares]
    assert sum(counts) == PATTERN_PACKETS, "shares are tenths and make up 100"
    owed = [0] * len(counts)
    found = []
    for _ in range(PATTERN_PACKETS):
        owed = [debt + count for debt, count in zip(owed, counts, strict=True)]
        most = max(range(len(counts)), key=lambda i: owed[i])
        owed[most] -= PATTERN_PACKETS
        found.append(KINDS[most])
    return found


@cache
def run_phases(
    phases: tuple[tuple[int, ...], ...],
    *,
    policy: str,
    gbps: float | None = None,
    phase_ns: float = PHASE_NS,
    nic: str = NIC,
) -> Result:
    """Phases of shares in percent, one after the other.

    Parameters
    ----------
    gbps
        Total rate, on a line as wide as the interconnect; by default, the limit of the prototype's generator.
    nic
        The card.
    """
    each_ns = SIZE * 8 / (gbps or line_gbps())
    count = PATTERN_PACKETS * round(phase_ns / each_ns / PATTERN_PACKETS)
    rate = round((SIZE + FRAMING_BYTES) * 8 / each_ns * 1e9)
    traffic = []
    matches: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for i, shares in enumerate(phases):
        port = PHASE_PORT + i
        spec = (
            f"udp:size={SIZE},count={count},rate={rate},flows={PATTERN_PACKETS},src_port={FIRST_PORT},dst_port={port}"
        )
        traffic.append({"source": spec} | ({"start": f"{round(i * phase_ns)} ns"} if i else {}))
        for position, kind in enumerate(pattern(shares)):
            matches[kind].append(f"(udp.dst_port == {port} && udp.src_port == {FIRST_PORT + position})")
    chains: list[dict[str, Any]] = [
        {"name": kind, "match": " || ".join(matches[kind]), "services": CHAINS[kind]} for kind in KINDS if matches[kind]
    ]
    tenants = [{"name": kind, "weight": WEIGHTS[kind], "priority": PRIORITIES[kind]} for kind in KINDS]
    # The paper's sender is another server, which does not wait for the card (7.6); the test bench's generator does.
    settings = [] if gbps is None else [WIDE_LINE, "ingress.when_full=drop"]
    return run(nic=nic, chains=chains, tenants=tenants, policy=policy, traffic=traffic, set=settings)


def line_gbps() -> float:
    """Time on the generator's line: 102 of 128 Gbit/s of packets, and one cycle each for the descriptor."""
    cycles = SIZE * 8 * 250e6 / 102e9 + 1
    return SIZE * 8 * 0.25 / cycles


def rate_gbps(result: Result, kind: str, start_ns: float, end_ns: float, *, sent: bool = False) -> float:
    """Rate in Gbit/s of a kind of packets that left (or arrived) between two times."""
    times = _times(result, kind, sent=sent)
    n = np.count_nonzero((times >= start_ns) & (times < end_ns))
    return float(n * SIZE * 8 / (end_ns - start_ns))


def _times(result: Result, kind: str, *, sent: bool) -> np.ndarray:
    table = result.packets
    times = table.column("arrival_ps" if sent else "left_ps")
    mine = table.column("tenant").to_numpy() == list(result.tenants).index(kind)
    found: np.ndarray = times.fill_null(0).to_numpy()[mine & times.is_valid().to_numpy()]
    return found / 1000


def points(n_phases: int) -> list[Point]:
    """Phases, whose second halves are judged; then intervals, which are drawn."""
    phases = [
        Point(
            name=f"phase {i + 1}",
            settings={"first": PHASE_INTERVALS * (2 * i + 1) // 2, "n": PHASE_INTERVALS // 2},
            quick=not i,
        )
        for i in range(n_phases)
    ]
    steps = [Point(name=f"interval {i}", settings={"first": i, "n": 1}) for i in range(n_phases * PHASE_INTERVALS)]
    return phases + steps


def measure(result: Result, *, first: int, n: int) -> dict[str, float]:
    """For each kind and interval: rates sent and received in Gbit/s, and drops among the packets that arrived in the
    interval.
    """
    span = first * INTERVAL_NS, (first + n) * INTERVAL_NS
    found: dict[str, float] = {}
    for kind in KINDS:
        sent, received = rate_gbps(result, kind, *span, sent=True), rate_gbps(result, kind, *span)
        found |= {kind: received, f"{kind}, sent": sent, f"{kind}, dropped": _dropped(result, kind, *span)}
    return found


def _dropped(result: Result, kind: str, start_ns: float, end_ns: float) -> int:
    """Packets of a kind that arrived between two times and never left; the run has ended, so none is still inside."""
    assert result.complete
    table = result.packets
    came = table.column("arrival_ps").to_numpy() / 1000
    mine = table.column("tenant").to_numpy() == list(result.tenants).index(kind)
    is_lost = ~table.column("left_ps").is_valid().to_numpy()
    return int(np.count_nonzero(mine & is_lost & (came >= start_ns) & (came < end_ns)))


def draw(results: Results, *, title: str, caption: str, phases: Sequence[Sequence[int]]) -> Figure:
    """Received rates over time; thin lines are sent rates."""
    rows = results.select(n=1)
    at_us = [(int(row.point.settings["first"]) + 0.5) * INTERVAL_NS / 1000 for row in rows]
    drawn = []
    for look, kind in enumerate(KINDS):
        drawn.append(plots.Curve(label=kind, x=at_us, y=[row.measured[kind] for row in rows], look=look))
        sent = [row.measured[f"{kind}, sent"] for row in rows]
        drawn.append(plots.Curve(label="" if look else "sent", x=at_us, y=sent, kind="formula"))
    for look, kind in enumerate(KINDS):
        known = results.published(kind)  # values of the text; the thin lines are the rates that the test bench sends
        middles = [(int(p.settings["first"]) + int(p.settings["n"]) / 2) * INTERVAL_NS / 1000 for p, _ in known]
        label = "" if look else "paper, second half of a phase"
        drawn.append(
            plots.Curve(
                label=label, x=middles, y=[r.value for _, r in known], kind="published", look=look,
                slack=[r.slack for _, r in known],
            )
        )  # fmt: skip
    starts = [i * PHASE_NS / 1000 for i in range(len(phases))]
    words = [f"sent {' / '.join(map(str, shares))}" for i, shares in enumerate(phases)]
    panel = plots.Panel(
        x_label="time (us)", y_label="received (Gbit/s)", curves=drawn, y_max=75,
        marks=list(zip(starts, words, strict=True)),
    )  # fmt: skip
    return plots.curves([panel], title=title, caption=caption, panel_inches=(9, 4))
