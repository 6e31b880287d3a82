# SPDX-License-Identifier: Apache-2.0
"""Figure 3.4: the Tigon-2 with one CPU.

CPU A does all work, and CPU B is halted. Both directions (a): as in the thesis, several mixes of sent and received
frames are tried, and the best counts. Here the network's side is paced to 100, 75, 60, 50, 40 and 30 % of the line,
and the host sends as fast as the card accepts. Received only (b): at line rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spinach.common import GIGABIT, SIZES, THESIS, TIGON2, line_rate, payload_gbps, rates, tigon2
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Tigon-2, one CPU: payload by datagram size"
SOURCE = f"{THESIS}, Fig. 3.4 a, b, 3.4"

MIXES = (1, 0.75, 0.6, 0.5, 0.4, 0.3)
WAYS = ("both ways", "received only")


def points() -> list[Point]:
    """One point for each direction and size."""
    return [
        Point(
            name=f"{size} B, {way}",
            settings={"size": size, "way": way},
            quick=size == 1472 and way == "received only",
        )
        for way in WAYS
        for size in SIZES
    ]


def measure(*, size: int, way: str) -> dict[str, float]:
    """Frames a second each way, UDP payload, share of what the line carries."""
    if way == "received only":
        total = tigon2(cpus=1, size=size, sends=False).rates["total"].frames_per_s
        return {
            "received": total,
            "payload": payload_gbps(size, total),
            "share": total / line_rate(size, GIGABIT) * 100,
        }
    results = {mix: tigon2(cpus=1, size=size, receive_share=mix) for mix in MIXES}
    best = max(results, key=lambda mix: results[mix].rates["total"].frames_per_s)
    unpaced = results[1]
    return {
        **rates(results[best], size, GIGABIT),
        "mix": best * 100,
        "share, unpaced": rates(unpaced, size, GIGABIT)["share"],
        "received for one sent, unpaced": unpaced.rates["received"].frames_per_s / unpaced.rates["sent"].frames_per_s,
    }


def claims(results: Results) -> Iterator[Claim]:
    """Further statements of the text."""
    both = results.select(way="both ways")
    ratios = [row.measured["received for one sent, unpaced"] for row in both]
    yield Claim(
        text="Without pacing, one CPU sends about one frame for two that it receives (3.4)",
        holds=all(1.6 < ratio < 2.4 for ratio in ratios),
        found=f"1 to {min(ratios):.1f}..{max(ratios):.1f}",
    )
    best = [row.measured["received"] / row.measured["sent"] for row in both]
    yield Claim(
        text="The mix that moves most is typically 1 to 2 as well (3.4)",
        holds=None,
        found=", ".join(
            f"{row.point.settings['size']} B: 1 to {ratio:.1f}" for row, ratio in zip(both, best, strict=True)
        ),
    )
    payload = [row.measured["payload"] for row in both]
    yield Claim(
        text="Payload rises with the size of datagrams",
        holds=payload == sorted(payload),
        found=f"{payload[0] * 1000:.0f} to {payload[-1] * 1000:.0f} Mbit/s",
    )


def plot(results: Results) -> Figure:
    """A panel for each way."""
    panels = []
    for way in WAYS:
        x, y = results.series("size", "payload", way=way)
        ways = 2 if way == "both ways" else 1
        peak = [payload_gbps(round(size), ways * line_rate(round(size), GIGABIT)) * 1000 for size in x]
        panels.append(
            plots.Panel(
                title=way,
                x_label="UDP datagram (bytes)",
                y_label="UDP payload (Mbit/s)",
                curves=[
                    plots.Curve(label="line", x=x, y=peak, kind="formula", look=1),
                    plots.Curve(label="spinet", x=x, y=[1000 * value for value in y]),
                    plots.Curve(
                        label="thesis",
                        **results.published_series("size", "share", scale=peak[-1] / 100, way=way),
                        kind="published",
                    ),
                ],
            )
        )
    caption = f"Thesis: {SOURCE}; of its curves the text states what is shown. {TIGON2}"
    return plots.curves(panels, title=TITLE, caption=caption)
