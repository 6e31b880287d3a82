# SPDX-License-Identifier: Apache-2.0
"""The plot of a comparison: throughput, latency, where the time goes, packets lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from spinet.comparison.observed import PART_KINDS
from spinet.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from spinet.comparison.result import Comparison
    from spinet.comparison.rows import Row

_WORDS = {
    "waiting": "waiting",
    "transfers": "transfers",
    "computation": "computation",
    "unattributed": "unattributed",
}


def draw(comparison: Comparison) -> Figure:
    """Four panels, a bar for each NIC in each."""
    rows = comparison.rows
    inches = (4.5, 1.05 + 0.42 * len(rows))
    figure, axes = style.sheet(4, title=comparison.title, caption=_caption(comparison), columns=2, panel_inches=inches)
    _throughput(comparison, axes[0])
    _latency(rows, axes[1])
    _time(rows, axes[2])
    _packets(comparison, axes[3])
    for index, place in enumerate(axes):
        place.set_yticks(range(len(rows)), [_name(row) for row in rows] if index % 2 == 0 else [""] * len(rows))
        place.set_ylim(len(rows) - 0.4, -0.6)
        place.tick_params(axis="y", length=0)
        place.grid(False, axis="y")
    return figure


def _name(row: Row) -> str:
    return row.nic if row.is_simulated else f"{row.nic} *"


def _caption(comparison: Comparison) -> str:
    offered = comparison.offered
    sentences = [
        f"Offered: {len(offered.packets):,} packets of {offered.traffic}, the same bytes at the same times.",
        "Latency: first bit due on the line to last byte out; packets that came out.",
    ]
    if offered.cut_gaps:
        sentences.append(f"{offered.cut_gaps} gaps between packets cut to {offered.longest_gap_ps / 1e6:g} us.")
    if any(not row.is_simulated for row in comparison.rows):
        sentences.append(
            "* Measured on the computer that ran this: packets that handlers take from memory, at full speed."
        )
    absent = "; ".join(f"{nic}: {why}" for nic, why in comparison.not_run.items())
    return " ".join([*sentences, f"Not run: {absent}." if absent else ""]).strip()


def _throughput(comparison: Comparison, axes: Axes) -> None:
    offered = comparison.offered_rate.gbps
    for at, row in enumerate(comparison.rows):
        value = row.delivered.gbps
        if value is None:
            _say(axes, at, 0, "fewer than two packets came out")
            continue
        _bar(axes, at, value, 0 if row.is_simulated else 6, hollow=not row.is_simulated)
        _say(axes, at, value, f"{value:.4g}" + (f", line {row.line_gbps:g}" if row.is_line_the_limit else ""))
    if offered:
        axes.axvline(offered, color=style.INK, linewidth=1, linestyle=(0, (4, 2)), zorder=3)
        axes.annotate(
            f"offered {offered:.4g}", (offered, 1), xycoords=("data", "axes fraction"), xytext=(0, 2),
            textcoords="offset points", fontsize=7.3, color=style.INK, ha="center",
        )  # fmt: skip
    values = [row.delivered.gbps for row in comparison.rows if row.delivered.gbps] + ([offered] if offered else [])
    _logarithmic(axes, values, lambda gbps: f"{gbps:,.10g}")
    axes.set_xlabel("came out, Gbit/s of packets")


def _latency(rows: list[Row], axes: Axes) -> None:
    """Draw a bar from the least to the 99th percentile, a stroke at the median."""
    values = []
    for at, row in enumerate(rows):
        if row.latency_ns is None:
            axes.annotate("nothing came out", (0.02, at), xycoords=("axes fraction", "data"), fontsize=7.5, va="center")
            continue
        low, middle, high = (max(ns, 1.0) for ns in (row.latency_ns.min, row.latency_ns.median, row.latency_ns.p99))
        values += [low, high]
        axes.barh(
            at, max(high - low, high * 0.01), left=low, height=0.34, color="white", edgecolor=style.COLORS[0],
            linewidth=1, hatch="" if row.is_simulated else style.HATCHES[6], zorder=2,
        )  # fmt: skip
        axes.plot([middle, middle], [at - 0.26, at + 0.26], color=style.COLORS[1], linewidth=2.4, zorder=3)
        _say(axes, at, high, _ns(row.latency_ns.median))
    _logarithmic(axes, values, _ns)
    axes.set_xlabel("latency: least to 99 %, median marked and written")


def _time(rows: list[Row], axes: Axes) -> None:
    """Shares of the mean: NICs differ by orders of magnitude."""
    for index, kind in enumerate(PART_KINDS):
        left = [_share(row, PART_KINDS[:index]) for row in rows]
        widths = [_share(row, (kind,)) for row in rows]
        if any(widths):
            axes.barh(
                range(len(rows)), widths, left=left, height=0.62, color=style.COLORS[index] if index < 3 else "#bbbbbb",
                edgecolor="white", hatch=style.HATCHES[index], linewidth=0.6, label=_WORDS[kind],
            )  # fmt: skip
    for at, row in enumerate(rows):
        _say(axes, at, 100, _ns(row.latency_ns.mean) if row.latency_ns else "-")
    axes.set_xlim(0, 118)
    axes.set_xticks(range(0, 101, 25))
    axes.set_xlabel("where the time goes, % of the mean (written)")
    style.heading(axes, "")


def _share(row: Row, kinds: tuple[str, ...]) -> float:
    if row.time_ns is None or row.latency_ns is None or row.latency_ns.mean == 0:
        return 0.0
    return 100 * sum(row.time_ns[kind] for kind in kinds) / row.latency_ns.mean


def _packets(comparison: Comparison, axes: Axes) -> None:
    offered = len(comparison.offered.matched)
    for at, row in enumerate(comparison.rows):
        reasons = ", ".join(f"{why.replace('_', ' ')} {n:,}" for why, n in row.lost_by_reason.items())
        if row.lost:
            _bar(axes, at, 100 * row.lost / offered, 1)
        share = f"{100 * row.lost / offered:.3g} %: {reasons}" if row.lost else "0"
        _say(axes, at, 100 * row.lost / offered, share)
    most = max((100 * row.lost / offered for row in comparison.rows), default=0)
    axes.set_xlim(0, max(1.0, most * 1.75))
    axes.set_xticks([share for share in axes.get_xticks() if share <= 100])
    axes.set_xlabel(f"packets lost, % of {offered:,}")


def _bar(axes: Axes, at: float, width: float, look: int, *, hollow: bool = False) -> None:
    color = style.COLORS[look]
    axes.barh(
        at, width, height=0.62, color="white" if hollow else color, edgecolor=color if hollow else "white",
        hatch=style.HATCHES[look], linewidth=0.8, zorder=2,
    )  # fmt: skip


def _say(axes: Axes, at: float, x: float, text: str) -> None:
    axes.annotate(
        text, (x, at), xytext=(4, 0), textcoords="offset points", va="center", fontsize=7.5, zorder=4,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
    )  # fmt: skip


def _logarithmic(axes: Axes, values: list[float], tick: Callable[[float], str]) -> None:
    if not values:
        return
    from matplotlib.ticker import FuncFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _position: tick(value)))
    axes.set_xlim(min(values) / 3, max(values) * 8)
    axes.minorticks_off()


def _ns(value: float) -> str:
    if value < 1000:
        return f"{value:.3g} ns"
    if value < 1e6:
        return f"{value / 1000:.3g} us"
    return f"{value / 1e6:.3g} ms" if value < 1e9 else f"{value / 1e9:.3g} s"
