# SPDX-License-Identifier: Apache-2.0
"""sPIN talk: time of a message with read-write checkpoints, by their interval, and the formula for it.

The formula is T_C = T_pkt + ceil(interval / k) (P - 1) T_pkt + ceil(n / P) T_PH. The card has one cluster, so P = 8
and the cores are the bottleneck, as the formula supposes. The message of 1 MiB is a vector with blocks of 64 B at
200 Gbit/s, or of 256 B at 400 Gbit/s. T_PH is the mean time of the payload handlers with an interval of one packet,
where no packet waits for the owner of its checkpoint; the formula has no other parameter. Time is from the arrival
of the first packet until all bytes are in host memory.

Which term is wrong? Measured at each interval: the cycles of a payload handler by part, the time that cores are idle,
and the same with 16 rings instead of 4 in L1's packet buffer.

- The first two terms hold up to 4 packets: cores are idle for 1.6 to 3.9 µs, as long as these terms and the start say.
- The third term does not hold, because T_PH grows with the interval. In the talk, packets that wait for their virtual
  HPU cost nothing. PsPIN's scheduler has no virtual HPUs, so the core that gets such a packet copies it, appends it to
  the owner's queue, and competes with other cores for the lock of the interval. From 1 to 32 packets, T_PH grows by
  1,209 cycles with blocks of 256 B; 871 of these are spent at the lock, 280 on copies and free buffers, 85 on the walk
  to a packet that comes out of order, since cores append packets in any order. Checkpoints are copied less often, and
  blocks are not slower.
- With blocks of 64 B, cores are idle for 25 and 46 µs at 8 and 16 packets, where the second term is 5 and 10 µs. An
  owner keeps the place of its own packet in L1's packet buffer while it processes those in its queue, and places are
  freed in order. With 16 rings, 6.8 and 12.5 µs remain.

The last curve is the formula with T_PH measured at each interval. The inequalities of the talk's three conditions were
not available.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spin import ddt
from spinet import datatypes as dt
from spinet import plots
from spinet.datatypes import Received
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Interval of read-write checkpoints: formula and simulation"
SOURCE = f"{ddt.TALK}, checkpoint interval, V"

SIZE = 1 << 20
CASES = ((64, 200), (256, 400))  # bytes of a block, Gbit/s
INTERVALS = (1, 2, 4, 8, 16, 32)
HPUS = 8
CURVES = {"time": "measured", "formula, own T_PH": "formula with T_PH of the interval", "formula": "formula"}


def points() -> list[Point]:
    """Blocks and intervals in packets."""
    return [
        Point(
            name=f"{block} B, {packets} packets",
            settings={"block": block, "gbps": gbps, "packets": packets},
            quick=(block, packets) == (256, 4),
        )
        for block, gbps in CASES
        for packets in INTERVALS
    ]


def measure(*, block: int, gbps: int, packets: int) -> dict[str, float]:
    """Time of the message, and the formula's."""

    def run(interval: int, **more: object) -> Received:
        given = {"n_clusters": 1, **more}
        return ddt.run(
            ddt.vector(block, SIZE), "rw_cp", interval=interval * ddt.PAYLOAD, rate=f"{gbps}G", set=given, profile=True
        )

    def handler_ns(got: Received) -> float:
        return float(got.handler_cycles.sum()) / got.compiled.packets

    def idle_ns(got: Received) -> float:
        return got.ns - float(got.handler_cycles.sum()) / HPUS

    packet_ns = ddt.packet_ns(gbps * 1e9)

    def formula(handler_ns: float) -> float:
        of = dt.Setting(size=SIZE, payload=ddt.PAYLOAD, packet_ns=packet_ns, handler_ns=handler_ns, hpus=HPUS)
        return dt.message_ns(of, packets * ddt.PAYLOAD)

    alone, got = handler_ns(run(1)), run(packets)
    return {
        "time": got.ns / 1000,
        "formula": formula(alone) / 1000,
        "time over formula": got.ns / formula(alone),
        "formula, own T_PH": formula(handler_ns(got)) / 1000,
        "T_PH": handler_ns(got),
        **ddt.parts(got),
        "lock": ddt.cycles_in(got, "lock"),
        "second term": packets * (HPUS - 1) * packet_ns / 1000,
        "idle": idle_ns(got) / 1000,
        "idle, 16 rings": idle_ns(run(packets, **{"cluster.packet_buffer_rings": 16})) / 1000,
    }


def claims(results: Results) -> Iterator[Claim]:
    """The formula with a handler time that has the cost of waiting."""
    errors = [
        abs(row.measured["time"] / row.measured["formula, own T_PH"] - 1)
        for row in results.rows
        if row.measured and int(row.point.settings["packets"]) <= 4
    ]
    yield Claim(
        text="With T_PH measured at the interval, the formula holds within 10 % up to 4 packets (V)",
        holds=bool(errors) and max(errors) <= 0.1,
        found=f"within {max(errors, default=1):.1%}",
    )
    for block, _ in CASES:
        first, last = (f"{block} B, {packets} packets" for packets in (INTERVALS[0], INTERVALS[-1]))
        grown = {part: results.value(last, part) - results.value(first, part) for part in ("T_PH", "lock", *ddt.PARTS)}
        yield Claim(
            text=f"Blocks of {block} B: the third term grows with the interval, because taking a checkpoint does",
            holds=grown["owner"] > 0.9 * grown["T_PH"] > 0,
            found=f"T_PH by {grown['T_PH']:.0f} cycles from {INTERVALS[0]} to {INTERVALS[-1]} packets: owner "
            f"{grown['owner']:.0f}, of which the lock {grown['lock']:.0f}; set-up {grown['set-up']:.0f}; blocks "
            f"{grown['blocks']:.0f}",
        )


def plot(results: Results) -> Figure:
    """Draws the time of the message over the interval."""
    panels = []
    for block, gbps in CASES:
        curves = []
        for look, (quantity, label) in enumerate(CURVES.items()):
            x, y = results.series("packets", quantity, block=block)
            if quantity == "formula":
                curves.append(plots.Curve(label=label, x=x, y=y, kind="formula"))
            else:
                curves.append(plots.Curve(label=label, x=x, y=y, look=look))
        panels.append(
            plots.Panel(
                title=f"blocks of {block} B, {gbps} Gbit/s",
                x_label="interval (packets)",
                y_label="time of the message (µs)",
                curves=curves,
                x_base=2,
            )
        )
    return plots.curves(panels, title=TITLE, caption=f"{SOURCE}. {ddt.MEASURED}")
